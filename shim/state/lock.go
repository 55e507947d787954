package state

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cockroachdb/errors"
	"github.com/gofrs/flock"
)

// Holder says who works in a repository.
type Holder struct {
	RunID     string    `json:"runId"`
	Prompt    string    `json:"prompt"`
	StartedAt time.Time `json:"startedAt"`
	PID       int       `json:"pid"` // filled in by Lock
}

// Held is the error of Lock when another run has the lock, in this process or
// another one. The Holder is empty when it has not said who it is.
type Held struct{ Holder }

func (h *Held) Error() string {
	if h.RunID == "" {
		return "another run works in this repository"
	}
	return fmt.Sprintf("run %s of process %d works in this repository", h.RunID, h.PID)
}

// Lock is the right to change a repository. It is let go of by Release, or by
// the system when the process dies; children do not inherit it.
type Lock struct {
	once sync.Once
	lock *flock.Flock
	note string // path of holder.json
}

// Lock takes the lock of the repository whose top level is top, without
// waiting. The error is a *Held when somebody else has it.
func (s *Store) Lock(top string, h Holder) (*Lock, error) {
	h.PID = os.Getpid()
	note, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	for {
		dir, err := s.lockDir(top)
		if errors.Is(err, os.ErrNotExist) && !errors.Is(err, errNoTop) {
			continue // as below
		}
		if err != nil {
			return nil, err
		}
		l := &Lock{lock: flock.New(filepath.Join(dir, "lock")), note: filepath.Join(dir, "holder.json")}
		err = l.take()
		if errors.Is(err, os.ErrNotExist) || err == nil && l.dropped() {
			l.Release() // forget took the folder away meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		if dir == s.own {
			err = s.furnish()
		}
		if err == nil {
			err = noteFile(l.note, note)
		}
		if err != nil {
			l.Release()
			return nil, errors.Wrap(err, "take the lock")
		}
		return l, nil
	}
}

// dropped tells whether the file that is locked is no longer the one that the
// next to come would lock.
func (l *Lock) dropped() bool {
	mine, err := l.lock.Stat()
	if err != nil {
		return true
	}
	now, err := os.Lstat(l.lock.Path())
	return err != nil || !os.SameFile(mine, now)
}

// errNoTop marks the failure to find the repository itself.
var errNoTop = errors.New("no such repository")

// lockDir is the folder with the lock of top.
func (s *Store) lockDir(top string) (string, error) {
	real, err := realPath(top)
	if err != nil {
		return "", errors.Mark(errors.Wrap(err, "repository"), errNoTop)
	}
	dir := s.repoDir(real)
	return dir, privateDir(dir)
}

// take tries to get the lock. When it is held but the note beside it does not
// name a living process, the holder has just begun (or somebody only looked
// whether the lock is free): then it looks again for a moment.
func (l *Lock) take() error {
	for patience := 20; ; patience-- {
		ok, err := l.lock.TryLock()
		if err != nil {
			return cannotLock(l.lock.Path(), err)
		}
		if ok {
			return nil
		}
		h := readHolder(l.note)
		if patience == 0 || h.RunID != "" && alive(h.PID) {
			return &Held{h}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// cannotLock is the failure to lock a file: its folder takes no new file, or
// its file system no locks.
func cannotLock(path string, err error) error {
	if _, there := os.Lstat(path); there != nil {
		return cannotWrite(path, err)
	}
	return errors.WithHint(errors.Wrapf(err, "%s cannot be locked", path), "set XDG_STATE_HOME to a folder on a local disk")
}

// readHolder reads the note beside a lock; a missing or broken one is empty.
func readHolder(path string) (h Holder) {
	if b, err := readFile(path); err != nil || json.Unmarshal(b, &h) != nil {
		return Holder{}
	}
	return h
}

// Release lets go of the lock. Calling it again does nothing.
func (l *Lock) Release() {
	l.once.Do(func() {
		// The note first: without the lock it could be the next holder's.
		os.Remove(l.note)
		l.lock.Unlock()
	})
}

// Working tells who works in this Store's repository; held is false when
// nobody does.
func (s *Store) Working() (h Holder, held bool, err error) { return s.holder() }

// holder tells who has the lock of this Store's repository.
func (s *Store) holder() (h Holder, held bool, err error) {
	// A shared lock, so that two who look do not see each other.
	l := flock.New(filepath.Join(s.own, "lock"))
	ok, err := l.TryRLock()
	if err != nil {
		return Holder{}, false, errors.Wrap(err, "look at the repository's lock")
	}
	if ok {
		return Holder{}, false, l.Unlock()
	}
	return readHolder(filepath.Join(s.own, "holder.json")), true, nil
}
