//go:build unix

package agent

import (
	"os"
	"syscall"
)

const (
	openFlags   = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOFOLLOW
	folderFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_DIRECTORY
)
