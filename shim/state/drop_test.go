package state

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/errors"
)

// TestDropUnderWork: forget takes the empty folder of a repository away while
// others begin to work in it. Never do two hold the lock, and nobody is left
// without a folder for its run.
func TestDropUnderWork(t *testing.T) {
	dir, top := t.TempDir(), t.TempDir()
	stop := make(chan struct{})
	var dropping, working sync.WaitGroup
	dropping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			all, err := OpenAll(dir)
			if err != nil {
				t.Error(err)
				return
			}
			known, err := all.Repos()
			if err != nil {
				t.Error(err)
				return
			}
			for _, k := range known {
				if err := all.Drop(k); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	var holders atomic.Int32
	for range 4 {
		working.Go(func() {
			for range 100 {
				s, err := Open(dir, top)
				if err != nil {
					t.Error(err)
					return
				}
				l, err := s.Lock(top, Holder{RunID: NewRunID()})
				if errors.HasType(err, (*Held)(nil)) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if holders.Add(1) != 1 {
					t.Error("two hold the lock")
				}
				rec := Record{ID: NewRunID(), Kind: KindDesign, State: Running, StartedAt: time.Now()}
				if err := s.Put(rec); err != nil {
					t.Error(err)
				}
				if err := os.Remove(s.recordPath(rec.ID)); err != nil {
					t.Error(err)
				}
				holders.Add(-1)
				l.Release()
			}
		})
	}
	working.Wait()
	close(stop)
	dropping.Wait()
}
