package state

import (
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// RunDied tells whether the process that worked on a run, of any repository,
// died in the middle of it. A run that has ended did not, nor one that was
// forgotten since: what it left running (a dev server) is the user's.
func (s *Store) RunDied(id string) bool {
	if !ValidRunID(id) || s.runAlive(id) {
		return false
	}
	// Read after the look at its folder: a run notes its end before it lets go
	// of that.
	repos, err := os.ReadDir(filepath.Join(s.dir, "repos"))
	if err != nil {
		return false
	}
	for _, repo := range repos {
		b, err := readFile(filepath.Join(s.dir, "repos", repo.Name(), "runs", id+".json"))
		if err != nil {
			continue
		}
		r, err := DecodeRecord(b)
		return err == nil && r.State == Running
	}
	return false
}

// runAlive tells whether the process that works on a run is alive: it holds
// the lock of the run's private folder.
func (s *Store) runAlive(id string) bool {
	// Folders and their locks come and go together, so that looking here does
	// not get in the way of a run that begins.
	unlock, err := s.lockFolders()
	if err != nil {
		return true // in doubt nothing is taken from anybody
	}
	defer unlock()
	path := s.folderFile(id, ".lock")
	if _, err := os.Lstat(path); err != nil {
		return !os.IsNotExist(err)
	}
	l := flock.New(path)
	ok, err := l.TryLock()
	if ok {
		l.Unlock()
	}
	return err != nil || !ok
}
