package cli

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPortOwner finds this very process behind a port it listens on, over
// IPv4 and IPv6, and nobody behind a port that is free again.
func TestPortOwner(t *testing.T) {
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		pid, name, ok := portOwner(port)
		if !ok || pid != os.Getpid() || name != strings.TrimSpace(string(comm)) {
			t.Errorf("%s: pid %d (%s), %v; want %d (%s)", addr, pid, name, ok, os.Getpid(), comm)
		}
		l.Close()
		if pid, name, ok := portOwner(port); ok {
			t.Errorf("%s: pid %d (%s) is said to have the closed port", addr, pid, name)
		}
	}
}

// TestShown: a folder is named the short way where that is easy to follow.
func TestShown(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	here := filepath.Join(dir, "mine")
	if err := os.Mkdir(here, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(here)
	for full, want := range map[string]string{
		filepath.Join(dir, "other"): "../other",
		here:                        ".",
		"/":                         "/",
	} {
		if got := shown(full); got != want {
			t.Errorf("shown(%q) = %q, want %q", full, got, want)
		}
	}
}
