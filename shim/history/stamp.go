package history

import (
	"os"
	"time"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// stamp is what the file system tells of a file without reading it. Any
// change of the file changes it, but for two within one tick of the clock.
type stamp struct {
	size  int64  // bytes
	mtime int64  // ns since 1970
	ctime int64  // ns since 1970, 0 where the system has none
	inode uint64 // 0 where the system has none
	dev   uint64
}

// unsettled tells whether the file changed so shortly before now (ns since
// 1970) that a further change may have left the stamp as it is. File systems
// without fractions of a second tick every two.
func (s stamp) unsettled(now int64) bool {
	const second = int64(time.Second)
	tick := int64(20 * time.Millisecond) // the kernel's is 1 to 10 ms
	if s.mtime%second == 0 && s.ctime%second == 0 {
		tick = 2 * second
	}
	changed := s.ctime
	if changed == 0 {
		changed = s.mtime
	}
	return now-changed < tick && changed-now < tick
}

// open opens the regular file at path to read, and stamps it.
func open(path string) (*os.File, stamp, error) {
	f, info, err := agent.Open(path)
	if err != nil {
		return nil, stamp{}, err
	}
	return f, stampOf(info), nil
}
