package cli

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// rssFile is how much of mapped files is in this process's memory, in KiB.
func rssFile(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "RssFile:")
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]), " kB"))
	if err != nil {
		t.Skipf("this system does not tell RssFile: %v", err)
	}
	return n
}

func TestDropBinaryShrinksTheProcess(t *testing.T) {
	before := rssFile(t)
	dropBinary()
	if after := rssFile(t); after > before*3/4 {
		t.Errorf("%d KiB of files are mapped, before it were %d", after, before)
	}
}

func TestAddresses(t *testing.T) {
	for in, want := range map[string][2]uintptr{
		"00400000-00a26000": {0x400000, 0xa26000}, "VmFlags:": {}, "": {}, "x-y": {}, "10": {},
	} {
		if from, to := addresses(in); from != want[0] || to != want[1] {
			t.Errorf("%q: %x-%x", in, from, to)
		}
	}
}
