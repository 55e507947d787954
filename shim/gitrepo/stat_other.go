//go:build !linux && !darwin

package gitrepo

import (
	"io/fs"
	"time"
)

// changeTime is not known here (Windows has no ctime in its file attributes):
// without it there is never positive evidence that a change is the user's.
func changeTime(fs.FileInfo) (time.Time, bool) { return time.Time{}, false }
