package testscripts

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim/state"
)

// TestKilledDemoLeavesNoShim: the demo starts a shim of its own; kill -9 of
// the demo ends that, too.
func TestKilledDemoLeavesNoShim(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	bin, err := exec.LookPath("slidewrite")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "demo", "--terminal")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tmp, "TMPDIR=" + tmp}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "listening") {
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	// Held, it cannot come to its end and stop the shim itself.
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	pid := demoShim(t, tmp)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if cmd.Wait() == nil {
		t.Error("the demo ended well before it was killed")
	}
	eventually(t, fmt.Sprintf("the end of the shim, pid %d", pid), func() bool { return !runs(pid) })
}

// demoShim is the process id of the shim of the demo below tmp, which runs.
func demoShim(t *testing.T, tmp string) int {
	t.Helper()
	var found state.Shim
	eventually(t, "the shim of the demo", func() bool {
		dirs, err := filepath.Glob(filepath.Join(tmp, "slidewrite-demo-*"))
		if err != nil || len(dirs) != 1 {
			return false
		}
		repo := filepath.Join(dirs[0], "cafe")
		store, err := state.Open(filepath.Join(dirs[0], "home", "state", "slidewrite"), repo)
		if err != nil {
			return false
		}
		var ok bool
		found, ok = store.FindShim(repo)
		return ok
	})
	if !runs(found.PID) {
		t.Fatalf("the shim, pid %d, does not run", found.PID)
	}
	return found.PID
}

// runs tells whether a process has not ended. One that nobody has waited for
// yet has (state Z, proc_pid_stat(5)).
// eventually waits for a fact that another process makes.
func eventually(t *testing.T, what string, fact func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(patience)
	for !fact() {
		select {
		case <-timeout:
			t.Fatalf("waited %v in vain for %s", patience, what)
		case <-tick.C:
		}
	}
}
