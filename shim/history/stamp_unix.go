//go:build unix

package history

import (
	"os"
	"syscall"
)

func stampOf(info os.FileInfo) stamp {
	s := stamp{size: info.Size(), mtime: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode, s.dev = uint64(st.Ino), uint64(st.Dev) // of other types elsewhere
		s.ctime = changed(st)
	}
	return s
}
