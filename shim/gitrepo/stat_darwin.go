package gitrepo

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime is a file's ctime: when its content, name or metadata last
// changed. No program can set it back.
func changeTime(info fs.FileInfo) (time.Time, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(st.Ctimespec.Unix()), true
}
