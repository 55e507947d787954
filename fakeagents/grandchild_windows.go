package fakeagents

import (
	"os/exec"
	"syscall"
)

// ownSession starts the command in a process group of its own.
func ownSession(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
