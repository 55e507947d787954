//go:build unix

package gitrepo

import (
	"os/exec"
	"syscall"
)

// endAsGroup puts a command into a process group of its own. Ctrl-C in the
// terminal does not reach it: whether it goes on is our decision. The end of
// its context ends all that it started (git does not end its hooks and filters)
// with SIGTERM, so that they can still tidy up.
func endAsGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
