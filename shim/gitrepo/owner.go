package gitrepo

import (
	"io/fs"
	"os"
	"strings"
	"time"
)

// toolSlack is how far a file's time may lie from a tool's window and still count
// as inside it.
const toolSlack = time.Second

// MarkYours marks the files of a change that the user edited during the run.
// In doubt a path is the run's. It is the user's only with positive evidence:
// every tool call is known, none named the path (or a folder above it), it
// exists at the end (edited or new), and the later of its mtime and ctime lies
// in the run but outside every tool window. A shell command names no path, so
// its window covers everything. A deleted path has no time: it is the run's.
// No git process.
func (r *Repo) MarkYours(c *Change, tools ToolLog) {
	if !tools.Complete || !r.clocksAgree() || clockWentBack(c.Before, c.After) {
		return
	}
	for i := range c.Files {
		f := &c.Files[i]
		if f.Status != "deleted" && !names(tools.Paths, f.Path) && r.editedOutside(f.Path, c.Before.Taken, tools.Windows) {
			f.Yours = true
		}
	}
}

// clocksAgree tells whether file times can be compared with ours: not on a
// network file system with a clock of its own.
func (r *Repo) clocksAgree() bool {
	diff := time.Since(r.fileTime())
	return diff > -toolSlack/2 && diff < toolSlack/2
}

// names tells whether a tool named the path, or a folder that it lies in.
func names(named []string, p string) bool {
	for _, n := range named {
		n = strings.Trim(strings.TrimPrefix(strings.ReplaceAll(n, `\`, "/"), "./"), "/")
		if n == "" || n == "." || n == p || strings.HasPrefix(p, n+"/") || strings.EqualFold(n, p) {
			return true
		}
	}
	return false
}

// editedOutside tells whether the file on disk was last touched during the run
// and outside every window.
func (r *Repo) editedOutside(p string, began time.Time, windows []Window) bool {
	info, err := os.Lstat(r.file(p))
	if err != nil {
		return false
	}
	at, ok := lastTouched(info)
	if !ok || at.Before(began) {
		return false // older than the run and yet changed: moved there with its folder
	}
	for _, w := range windows {
		if !at.Before(w.Start.Add(-toolSlack)) && (w.End.IsZero() || !at.After(w.End.Add(toolSlack))) {
			return false
		}
	}
	return true
}

// lastTouched is the later of mtime and ctime.
func lastTouched(info fs.FileInfo) (time.Time, bool) {
	at, ok := changeTime(info)
	if mtime := info.ModTime(); mtime.After(at) {
		at = mtime
	}
	return at, ok
}
