package shim_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// vitals is what a process holds.
type vitals struct {
	RSS, Peak  int // bytes of memory: now, and at most since its start
	FDs        int
	Children   int // processes, dead ones too
	Goroutines int // 0 = not known: of another process
}

func (v vitals) String() string {
	return fmt.Sprintf("RSS %.1f MiB, peak %.1f MiB, %d descriptors, %d children, %d goroutines",
		mib(v.RSS), mib(v.Peak), v.FDs, v.Children, v.Goroutines)
}

func mib(bytes int) float64 { return float64(bytes) / (1 << 20) }

// vitalsOf looks at a process.
func vitalsOf(t testing.TB, pid int) (v vitals) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/", pid)
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		t.Fatal(err)
	}
	v.RSS, v.Peak = kilobytes(t, status, "VmRSS:"), kilobytes(t, status, "VmHWM:")
	fds, err := os.ReadDir(dir + "fd")
	if err != nil {
		t.Fatal(err)
	}
	v.FDs = len(fds)
	for _, p := range processes() {
		stat, err := os.ReadFile(p + "/stat")
		if err != nil {
			continue // gone meanwhile
		}
		var parent int
		if _, err := fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+len(") S"):]), &parent); err == nil && parent == pid {
			v.Children++
		}
	}
	return v
}

// kilobytes reads a row of /proc/<pid>/status.
func kilobytes(t testing.TB, status []byte, row string) (n int) {
	t.Helper()
	_, rest, _ := strings.Cut(string(status), row)
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatalf("%s %v", row, err)
	}
	return n << 10
}

// processes are the folders of all processes.
func processes() []string {
	all, _ := filepath.Glob("/proc/[0-9]*")
	return all
}
