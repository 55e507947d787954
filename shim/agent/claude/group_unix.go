//go:build unix

package claude

import (
	"os/exec"
	"syscall"
)

// ownGroup makes cmd the leader of a new process group and lets its
// cancellation kill the group: hooks and helpers are in it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
