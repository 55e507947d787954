//go:build unix

package fakeagents

import (
	"os/exec"
	"syscall"
)

// ownSession starts the command in a session of its own, as the real CLIs
// start every shell command.
func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
