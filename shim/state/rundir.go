package state

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/cockroachdb/errors"
	"github.com/gofrs/flock"
)

// maxRunDir is how long the path of a run's folder may be, in bytes. claude
// 2.1.332 makes the Unix socket cc-socks/<pid>.sock in it, and such a path has
// 103 usable bytes on macOS (107 on Linux).
const maxRunDir = 79

// RunDir makes the private folder of a run (mode 0700) and returns its path:
// absolute, real, hidden from git, short enough for sockets. It lives
// until RemoveRunDir, or, when this process dies, until the next sweep.
func (s *Store) RunDir(id string) (string, error) {
	if !ValidRunID(id) {
		return "", errors.Newf("not the id of a run: %q", id)
	}
	unlock, err := s.lockFolders()
	if err != nil {
		return "", err
	}
	defer unlock()
	l := flock.New(s.folderFile(id, ".lock"))
	switch ok, err := l.TryLock(); {
	case err != nil:
		return "", cannotLock(l.Path(), err)
	case !ok:
		return "", errors.Newf("the folder of run %s is in use", id)
	}
	dir, err := s.makeRunDir(id)
	if err != nil {
		l.Unlock()
		return "", errors.Wrap(err, "make the run's private folder")
	}
	s.mu.Lock()
	s.runDirs[id] = l
	s.mu.Unlock()
	return dir, nil
}

func (s *Store) makeRunDir(id string) (string, error) {
	dir := filepath.Join(s.foldersDir(), id)
	if len(dir) > maxRunDir && runtime.GOOS != "windows" {
		if short, ok := shortDir(); ok {
			// The pointer first, so that a sweep can find the folder whatever
			// happens.
			if err := noteFile(s.folderFile(id, ".at"), []byte(short)); err != nil {
				return "", err
			}
			dir = short
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", cannotWrite(dir, err)
	}
	if filepath.Dir(dir) != s.foldersDir() { // the temporary folder may lie in a repository, too
		return dir, hideFromGit(dir)
	}
	return dir, nil
}

// shortPrefix starts the names of run folders in the system's temp folder.
const shortPrefix = "sw-"

// shortDir names a folder that does not exist, in the system's temp folder, of
// a name nobody can guess.
func shortDir() (string, bool) {
	for _, temp := range []string{os.TempDir(), "/tmp"} {
		real, err := realPath(temp)
		if err != nil {
			continue
		}
		dir := filepath.Join(real, shortPrefix+randomHex(8))
		if len(dir) <= maxRunDir && checkWay(dir) == nil {
			return dir, true
		}
	}
	return "", false
}

// RemoveRunDir removes the private folder of a run, wherever it is.
func (s *Store) RemoveRunDir(id string) error {
	if !ValidRunID(id) {
		return nil
	}
	s.mu.Lock()
	l := s.runDirs[id]
	delete(s.runDirs, id)
	s.mu.Unlock()
	unlock, err := s.lockFolders()
	if err != nil {
		return err
	}
	defer unlock()
	if l == nil {
		// Of another process: only a dead one's.
		l = flock.New(s.folderFile(id, ".lock"))
		if ok, err := l.TryLock(); err != nil || !ok {
			return errors.Newf("the folder of run %s is in use (%v)", id, err)
		}
	}
	return s.removeFolder(id, l)
}

// removeFolder removes the folder of a run and what belongs to it, and lets go
// of its lock. What cannot be removed stays findable for the next sweep.
func (s *Store) removeFolder(id string, l *flock.Flock) error {
	dirs := []string{filepath.Join(s.foldersDir(), id)}
	if b, err := readFile(s.folderFile(id, ".at")); err == nil {
		if at := string(b); strings.HasPrefix(filepath.Base(at), shortPrefix) && filepath.IsAbs(at) {
			dirs = append(dirs, at)
		}
	}
	for _, dir := range dirs {
		if err := removeTree(dir); err != nil {
			l.Unlock()
			return errors.Wrap(err, "remove the run's private folder")
		}
	}
	os.Remove(s.folderFile(id, ".at"))
	l.Unlock() // before the removal: Windows keeps open files
	os.Remove(s.folderFile(id, ".lock"))
	return nil
}

// SweepRunDirs removes the folders of runs whose process is dead, of every
// repository, and returns their ids. held names runs to leave alone even so;
// nil = none.
func (s *Store) SweepRunDirs(held func(id string) bool) ([]string, error) {
	unlock, err := s.lockFolders()
	if err != nil {
		return nil, err
	}
	defer unlock()
	entries, err := os.ReadDir(s.foldersDir())
	if err != nil {
		return nil, errors.Wrap(err, "read the run folders")
	}
	var swept []string
	var failed error
	seen := map[string]bool{}
	for _, e := range entries {
		id, _, _ := strings.Cut(e.Name(), ".")
		if !ValidRunID(id) || seen[id] || held != nil && held(id) {
			continue
		}
		seen[id] = true
		l := flock.New(s.folderFile(id, ".lock"))
		if ok, err := l.TryLock(); err != nil || !ok {
			continue // alive
		}
		if err := s.removeFolder(id, l); err != nil {
			failed = errors.CombineErrors(failed, err)
			continue
		}
		swept = append(swept, id)
	}
	return swept, failed
}

// lockFolders keeps other processes from making or sweeping run folders: a
// folder and its lock come and go together.
func (s *Store) lockFolders() (unlock func(), err error) {
	l := flock.New(filepath.Join(s.foldersDir(), "lock"))
	if err := l.Lock(); err != nil {
		return nil, errors.Wrap(cannotLock(l.Path(), err), "lock the run folders")
	}
	return func() { l.Unlock() }, nil
}

func (s *Store) folderFile(id, suffix string) string {
	return filepath.Join(s.foldersDir(), id+suffix)
}
