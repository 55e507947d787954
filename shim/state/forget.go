package state

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/errors"
	"github.com/gofrs/flock"

	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// Forget removes the ledger of this repository (damaged records, too), its
// journals and its temporary files, but for the runs that keep names. Only the
// holder of the lock may call it; called again, it goes on where it was ended.
// It returns how many runs it removed.
func (s *Store) Forget(keep func(id string) bool) (runs int, err error) {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return 0, errors.Wrap(err, "state directory")
	}
	defer root.Close()
	return forgetRuns(root, filepath.Join("repos", filepath.Base(s.own)), keep)
}

// RunsElsewhere are the ids of the runs in the ledgers of other repositories
// that still exist: linked worktrees share their refs, but not their ledgers.
func (s *Store) RunsElsewhere() (map[string]bool, error) {
	known, err := (&All{s.dir}).Repos()
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for _, k := range known {
		if k.Gone || k.key == filepath.Base(s.own) {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(s.dir, "repos", k.key, "runs"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, errors.Wrap(err, "read the ledger of another repository")
		}
		for _, e := range entries {
			id, _, _ := strings.Cut(e.Name(), ".")
			ids[id] = true
		}
	}
	return ids, nil
}

// forgetRuns is Forget for the repository whose folder is own. The journals go
// first: a record without one is still found.
func forgetRuns(root *os.Root, own string, keep func(id string) bool) (runs int, err error) {
	gone := map[string]bool{}
	for _, name := range []string{"journals", "runs", "tmp", "."} {
		dir := filepath.Join(own, name)
		entries, readErr := readFolder(root, dir)
		err = errors.CombineErrors(err, readErr)
		for _, e := range entries {
			id, _, _ := strings.Cut(e.Name(), ".")
			ofRun := (name == "journals" || name == "runs") && ValidRunID(id)
			// Beside the folders lie half-written notes of who holds the lock.
			if ofRun && keep(id) || name == "." && !strings.HasPrefix(e.Name(), tempPrefix) {
				continue
			}
			if removeErr := root.RemoveAll(filepath.Join(dir, e.Name())); removeErr != nil {
				err = errors.CombineErrors(err, errors.Wrap(removeErr, "state directory"))
				continue
			}
			if ofRun {
				gone[id] = true
			}
		}
	}
	return len(gone), err
}

// readFolder lists a folder of the state directory; none when it does not
// exist. A link on the way is refused: what lies behind it is not ours.
func readFolder(root *os.Root, dir string) ([]fs.DirEntry, error) {
	at := ""
	for _, name := range strings.Split(filepath.ToSlash(dir), "/") {
		at = filepath.Join(at, name)
		fi, err := root.Lstat(at)
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		if err == nil && !fi.IsDir() {
			full := filepath.Join(root.Name(), at)
			err = errors.WithHintf(errors.Newf("%s is not a folder", full), "move %s away", full)
		}
		if err != nil {
			return nil, errors.Wrap(err, "state directory")
		}
	}
	f, err := root.Open(dir)
	if err != nil {
		return nil, errors.Wrap(err, "state directory")
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	return entries, errors.Wrap(err, "state directory")
}

// All is the state directory as a whole, with what all repositories have in it.
type All struct {
	dir string // real path
}

// OpenAll makes dir ready, as Open does for one repository.
func OpenAll(dir string) (*All, error) {
	real, err := secureDir(dir, "XDG_STATE_HOME")
	if err != nil {
		return nil, errors.Wrap(err, "state directory")
	}
	s := &Store{dir: real}
	for _, d := range []string{filepath.Join(real, "repos"), s.foldersDir(), s.shimsDir()} {
		if err := privateDir(d); err != nil {
			return nil, err
		}
	}
	return &All{real}, nil
}

// Known is a repository that has state.
type Known struct {
	Path string // real path of its top level; "" = its note is lost
	Gone bool   // there is no such folder any more: it was removed or moved
	key  string
}

var repoKey = lazyregexp.New(`^[0-9a-f]{24}$`)

// Repos lists the repositories that have state, those that are gone first.
func (a *All) Repos() ([]Known, error) {
	entries, err := os.ReadDir(filepath.Join(a.dir, "repos"))
	if err != nil {
		return nil, errors.Wrap(err, "read the list of repositories")
	}
	var known []Known
	for _, e := range entries {
		if e.IsDir() && repoKey.MatchString(e.Name()) {
			known = append(known, a.read(e.Name()))
		}
	}
	slices.SortStableFunc(known, func(x, y Known) int {
		switch {
		case x.Gone == y.Gone:
			return strings.Compare(x.Path, y.Path)
		case x.Gone:
			return -1
		}
		return 1
	})
	return known, nil
}

// read tells which repository a key stands for, and whether it is there.
func (a *All) read(key string) Known {
	k := Known{key: key}
	b, err := readFile(filepath.Join(a.dir, "repos", key, "path"))
	path := strings.TrimSuffix(string(b), "\n")
	if err != nil || hashPath(path)[:len(key)] != key {
		return k
	}
	k.Path = path
	real, err := realPath(path)
	if err == nil {
		fi, statErr := os.Stat(real)
		k.Gone = real != path || statErr == nil && !fi.IsDir()
	} else {
		k.Gone = errors.IsAny(err, os.ErrNotExist, syscall.ENOTDIR)
	}
	return k
}

// Forget removes the state of a repository that cannot be opened, mostly one
// that is gone: its runs, and its folder unless somebody may still use it. It
// returns how many runs it removed; the error is a *Held while a run is on.
func (a *All) Forget(k Known) (runs int, err error) {
	root, err := os.OpenRoot(a.dir)
	if err != nil {
		return 0, errors.Wrap(err, "state directory")
	}
	defer root.Close()
	own := filepath.Join("repos", k.key)
	full := filepath.Join(a.dir, own)
	l := &Lock{lock: flock.New(filepath.Join(full, "lock")), note: filepath.Join(full, "holder.json")}
	if err := l.take(); err != nil {
		return 0, err
	}
	defer l.Release()
	if runs, err = forgetRuns(root, own, func(string) bool { return false }); err != nil {
		return runs, err
	}
	if !k.Gone || a.served(k) {
		return runs, nil
	}
	return runs, drop(root, own, l)
}

// Drop removes the folder of a repository of which nothing is stored any more,
// unless a shim serves it or somebody works in it. Whoever comes next makes it
// anew.
func (a *All) Drop(k Known) error {
	root, err := os.OpenRoot(a.dir)
	if err != nil {
		return errors.Wrap(err, "state directory")
	}
	defer root.Close()
	own := filepath.Join("repos", k.key)
	full := filepath.Join(a.dir, own)
	l := &Lock{lock: flock.New(filepath.Join(full, "lock")), note: filepath.Join(full, "holder.json")}
	if ok, err := l.lock.TryLock(); err != nil || !ok {
		return errors.Wrap(err, "state directory")
	}
	defer l.Release()
	if runs, err := readFolder(root, filepath.Join(own, "runs")); err != nil || len(runs) > 0 || a.served(k) {
		return err
	}
	return drop(root, own, l)
}

// drop removes the folder own of a repository, whose lock is l.
func drop(root *os.Root, own string, l *Lock) error {
	entries, err := readFolder(root, own)
	for _, e := range entries {
		if e.Name() != "path" && e.Name() != "lock" {
			err = errors.CombineErrors(err, root.RemoveAll(filepath.Join(own, e.Name())))
		}
	}
	if err != nil {
		return errors.Wrap(err, "state directory")
	}
	// The lock goes while it is held: who waits for it then sees that it is no
	// longer the lock. As long as its path is known the folder is found again
	// by the next call.
	if runtime.GOOS == "windows" { // an open file stays there
		l.Release()
	}
	for _, name := range []string{"lock", "path"} {
		if err := root.Remove(filepath.Join(own, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return errors.Wrap(err, "state directory")
		}
	}
	l.Release()
	err = root.Remove(own)
	if errors.IsAny(err, os.ErrNotExist, syscall.ENOTEMPTY) { // somebody makes it anew already
		err = nil
	}
	return errors.Wrap(err, "state directory")
}

// served tells whether a shim is running for a repository, also for one that
// is gone: it may come back.
func (a *All) served(k Known) bool {
	_, ok := (&Store{dir: a.dir}).find(func(sh Shim) bool { return sh.Repo == k.Path })
	return ok
}

// Sweep removes what dead processes left: entries of shims, private folders
// of runs, and temporary files of no run that are older than an hour.
func (a *All) Sweep(now time.Time) error {
	s := &Store{dir: a.dir}
	_, err := s.Shims()
	_, sweepErr := s.SweepRunDirs(nil)
	scratch, scratchErr := s.ScratchDir() // refuses a link
	if scratchErr == nil {
		s.removeOld(scratch, now, scratchAge, func(string) bool { return true })
	}
	return errors.CombineErrors(errors.CombineErrors(err, sweepErr), scratchErr)
}
