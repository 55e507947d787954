//go:build unix

package browser

import (
	"os"
	"os/exec"
	"syscall"
)

// apart keeps the terminal's Ctrl-C from the browser, which is asked to end.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// kill ends a browser that has not been waited for, and its group.
func kill(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
