//go:build unix

package gitrepo

import (
	"os/exec"
	"syscall"
)

// endAsGroup makes the end of a command's context end all that it started,
// with SIGTERM, so that a hook can still tidy up.
func endAsGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
