package state

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/errors"
	"github.com/gofrs/flock"
)

// Shim is a shim that is running.
type Shim struct {
	PID       int       `json:"pid"`
	Addr      string    `json:"addr"` // host:port it listens on
	Repo      string    `json:"repo"` // real path of the repository's top level
	StartedAt time.Time `json:"startedAt"`
}

// Announce lets other processes of this user find a shim until remove is
// called or this process dies.
func (s *Store) Announce(sh Shim) (remove func(), err error) {
	if sh.Repo, err = realPath(sh.Repo); err != nil {
		return nil, err
	}
	b, err := json.Marshal(sh)
	if err != nil {
		return nil, err
	}
	base := filepath.Join(s.shimsDir(), strconv.Itoa(sh.PID)+"-"+randomHex(4))
	l := flock.New(base + ".lock")
	// The lock before the entry: an entry without one counts as dead.
	switch ok, err := l.TryLock(); {
	case err != nil:
		return nil, errors.Wrap(cannotLock(l.Path(), err), "announce the shim")
	case !ok:
		return nil, errors.Newf("announce the shim: %s is locked", l.Path())
	}
	remove = func() {
		os.Remove(base + ".json")
		l.Unlock()
		os.Remove(base + ".lock")
	}
	if err := noteFile(base+".json", b); err != nil {
		remove()
		return nil, errors.Wrap(err, "announce the shim")
	}
	return remove, nil
}

// Shims lists the running shims of this user, the one started last first.
// Entries of dead ones are removed.
func (s *Store) Shims() ([]Shim, error) {
	entries, err := os.ReadDir(s.shimsDir())
	if err != nil {
		return nil, errors.Wrap(err, "read the list of running shims")
	}
	var shims []Shim
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		if sh, ok := s.readShim(filepath.Join(s.shimsDir(), name)); ok {
			shims = append(shims, sh)
		}
	}
	slices.SortFunc(shims, func(a, b Shim) int { return b.StartedAt.Compare(a.StartedAt) })
	return shims, nil
}

// readShim reads one entry, or removes it when its process is dead.
func (s *Store) readShim(base string) (sh Shim, ok bool) {
	// A shared lock, so that two who look do not take each other for the shim.
	l := flock.New(base + ".lock")
	free, err := l.TryRLock()
	if err != nil {
		return Shim{}, false
	}
	if free {
		os.Remove(base + ".json")
		l.Unlock()
		os.Remove(base + ".lock")
		return Shim{}, false
	}
	b, err := readFile(base + ".json")
	return sh, err == nil && json.Unmarshal(b, &sh) == nil
}

// FindShim returns the running shim of a repository, the one started last when
// there are several.
func (s *Store) FindShim(repo string) (Shim, bool) {
	real, err := realPath(repo)
	if err != nil {
		return Shim{}, false
	}
	return s.find(func(sh Shim) bool { return sh.Repo == real })
}

// ShimsOf lists the running shims of a repository, the one started last first.
func (s *Store) ShimsOf(repo string) ([]Shim, error) {
	real, err := realPath(repo)
	if err != nil {
		return nil, errors.Wrap(err, "repository")
	}
	shims, err := s.Shims()
	return slices.DeleteFunc(shims, func(sh Shim) bool { return sh.Repo != real }), err
}

// ShimOnPort returns the running shim that listens on a port.
func (s *Store) ShimOnPort(port int) (Shim, bool) {
	return s.find(func(sh Shim) bool {
		_, p, err := net.SplitHostPort(sh.Addr)
		return err == nil && p == strconv.Itoa(port)
	})
}

func (s *Store) find(match func(Shim) bool) (Shim, bool) {
	shims, err := s.Shims()
	if err != nil {
		return Shim{}, false
	}
	if i := slices.IndexFunc(shims, match); i >= 0 {
		return shims[i], true
	}
	return Shim{}, false
}
