package demoapp

import (
	"context"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"
)

// lookEvery is how often the files are looked at. It is a handful of them.
const lookEvery = 50 * time.Millisecond

// watcher keeps what has changed in a folder since it was made.
type watcher struct {
	tree fs.FS
	seen map[string]stamp

	mu      sync.Mutex
	changes []string      // paths as a browser has them, in order; one may be there twice
	more    chan struct{} // closed when there are more, and made anew
}

// stamp is what tells one state of a file from another.
type stamp struct {
	time time.Time
	size int64
}

func watch(tree fs.FS) *watcher {
	w := &watcher{tree: tree, more: make(chan struct{})}
	w.seen = w.look()
	return w
}

// run looks until ctx ends.
func (w *watcher) run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.compare(w.look())
		}
	}
}

// look is the state of every file. One that goes away meanwhile is not there.
func (w *watcher) look() map[string]stamp {
	now := map[string]stamp{}
	_ = fs.WalkDir(w.tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case hidden(name) && d.IsDir():
			return fs.SkipDir
		case hidden(name) || !d.Type().IsRegular():
			return nil
		}
		if info, err := d.Info(); err == nil {
			now[name] = stamp{info.ModTime(), info.Size()}
		}
		return nil
	})
	return now
}

// compare notes what is not as it was.
func (w *watcher) compare(now map[string]stamp) {
	var changed []string
	for name, s := range now {
		if w.seen[name] != s {
			changed = append(changed, "/"+name)
		}
	}
	for name := range w.seen {
		if _, there := now[name]; !there {
			changed = append(changed, "/"+name)
		}
	}
	w.seen = now
	if len(changed) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes = append(w.changes, changed...)
	close(w.more)
	w.more = make(chan struct{})
}

// since are the changes after the first n, and what tells of further ones.
func (w *watcher) since(n int) (changes []string, more <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changes[min(max(n, 0), len(w.changes)):], w.more
}

// count is how many changes there were.
func (w *watcher) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.changes)
}

// hidden are files that are no part of the page, such as git's.
func hidden(name string) bool {
	for name != "." && name != "" {
		if strings.HasPrefix(path.Base(name), ".") {
			return true
		}
		if name = path.Dir(name); name == "/" {
			break
		}
	}
	return false
}
