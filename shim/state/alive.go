package state

import (
	"os"

	"github.com/gofrs/flock"
)

// RunAlive tells whether the process that works on a run, of any repository,
// is alive: it holds the lock of the run's private folder.
func (s *Store) RunAlive(id string) bool {
	if !ValidRunID(id) {
		return false
	}
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
