package shim

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Where the network cannot be taken away, make offline runs the tests with it
// and says so, unless the network's absence is required.
func TestMakeOfflineWithoutTheRightTo(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}
	bin := t.TempDir()
	for name, does := range map[string]string{"unshare": "exit 1", "go": `echo "ran go $*"`} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+does+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		require string
		runs    bool
		says    string
	}{
		{"", true, "this user may not take the network away"},
		{"require", false, "this user may not take the network away: allow unshare -n"},
	} {
		cmd := exec.Command("make", "-C", "..", "offline")
		cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "SLIDEWRITE_E2E=" + tt.require}
		out, err := cmd.CombinedOutput()
		ran := strings.Contains(string(out), "ran go test -vet=off ./...")
		if ran != tt.runs || (err == nil) != tt.runs || !strings.Contains(string(out), tt.says) {
			t.Errorf("SLIDEWRITE_E2E=%q: %v\n%s", tt.require, err, out)
		}
	}
}
