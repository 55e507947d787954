//go:build unix

package gitrepo

import (
	"io/fs"
	"os"
	"syscall"
)

// giveTo gives a file the owner and group of another, as far as this process
// may: it tries only as root.
func giveTo(root *os.Root, name string, like fs.FileInfo) {
	st, ok := like.Sys().(*syscall.Stat_t)
	if ok && os.Geteuid() == 0 {
		_ = root.Lchown(name, int(st.Uid), int(st.Gid))
	}
}
