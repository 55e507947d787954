// Package state keeps everything of ours that is on disk: the token of each
// repository, the lock that lets one run at a time work in it, the ledger of
// runs with their journals, the private folder of each run, and the list of
// running shims. It leaves to others what any of it means: the ledger holds
// snapshots and changes as raw JSON.
//
// Layout of the state directory (folders 0700, files 0600):
//
//	repos/<key>/path            which repository this is, for people
//	repos/<key>/lock            held while a run works in it (a file lock)
//	repos/<key>/holder.json     who holds it
//	repos/<key>/runs/<id>.json  the ledger, one file per run
//	repos/<key>/journals/<id>.jsonl
//	repos/<key>/tmp/            temporary files of the holder of the lock
//	r/<id>/, r/<id>.lock        the private folder of a run that is going on
//	shims/<name>.json, .lock    shims that are running now
//	extension/                  the browser extension, as it was written out
//	.gitignore                  for who has the state directory in a repository
//	tmp/                        temporary files of no run
//
// <key> is a hash of the real path of the repository's top level. Whether
// something is still alive is told by a file lock wherever possible: the
// system lets go of it when its process dies, and numbers of processes are
// used again.
package state

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/errors"
	"github.com/gofrs/flock"

	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// Store is the state directory as one repository uses it. It is safe for
// concurrent use, and so are several Stores in several processes.
type Store struct {
	dir string // real path of the state directory
	top string // real path of the repository's top level
	own string // dir/repos/<key>

	mu      sync.Mutex
	runDirs map[string]*flock.Flock // locks of the run folders this Store made
}

// Open makes dir ready and returns its Store for the repository whose top
// level is repoTop (a folder that is in no repository is its own top level).
// Modes that are too wide are put right. It fails when dir belongs to another
// user, when another user could put something else in its place, or when the
// repository lies in it.
func Open(dir, repoTop string) (*Store, error) {
	real, err := secureDir(dir, "XDG_STATE_HOME")
	if err != nil {
		return nil, errors.Wrap(err, "state directory")
	}
	top, err := realPath(repoTop)
	if err != nil {
		return nil, errors.Wrap(err, "repository")
	}
	if err := refuseInside(real, top); err != nil {
		return nil, err
	}
	s := &Store{dir: real, top: top, runDirs: map[string]*flock.Flock{}}
	s.own = s.repoDir(top)
	if err := s.furnish(); err != nil {
		return nil, errors.Wrap(err, "state directory")
	}
	if err := hideFromGit(s.dir); err != nil {
		return nil, errors.Wrap(err, "state directory")
	}
	return s, nil
}

// furnish makes the folders, and says which repository they are of.
func (s *Store) furnish() error {
	for again := 10; ; again-- {
		err := s.furnishOnce()
		if again == 0 || !errors.Is(err, os.ErrNotExist) { // forget takes them away meanwhile
			return err
		}
	}
}

func (s *Store) furnishOnce() error {
	for _, d := range []string{s.runsDir(), s.journalsDir(), s.TempDir(), s.foldersDir(), s.shimsDir()} {
		if err := privateDir(d); err != nil {
			return err
		}
	}
	path := filepath.Join(s.own, "path")
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return noteFile(path, []byte(s.top+"\n"))
	}
	return nil
}

// DefaultDir is where the state directory is for a process with this
// environment ("KEY=VALUE" pairs, the last one of a name counts).
func DefaultDir(environ []string) (string, error) {
	return defaultDir(runtime.GOOS, environ)
}

func defaultDir(goos string, environ []string) (string, error) {
	const name = "slidewrite"
	if goos == "windows" {
		if d := lookup(environ, "LocalAppData", true); d != "" {
			return filepath.Join(d, name), nil
		}
		return "", errors.WithHint(errors.New("no place for the state directory: %LocalAppData% is not set"),
			"set LocalAppData")
	}
	// Also on macOS: it is no custom there, but who sets it means it.
	// A relative XDG path is to be ignored (XDG Base Directory Specification).
	if d := lookup(environ, "XDG_STATE_HOME", false); filepath.IsAbs(d) {
		return filepath.Join(d, name), nil
	}
	home := lookup(environ, "HOME", false)
	if home == "" {
		return "", errors.WithHint(errors.New("no place for the state directory: neither XDG_STATE_HOME nor HOME is set"),
			"set XDG_STATE_HOME to an absolute path")
	}
	if goos == "darwin" {
		return filepath.Join(home, "Library", "Application Support", name), nil
	}
	return filepath.Join(home, ".local", "state", name), nil
}

// lookup returns the value of an environment variable; fold ignores the case
// of its name, as Windows does.
func lookup(environ []string, name string, fold bool) string {
	value := ""
	for _, kv := range environ {
		k, v, _ := strings.Cut(kv, "=")
		if k == name || fold && strings.EqualFold(k, name) {
			value = v
		}
	}
	return value
}

// Dir is the real path of the state directory.
func (s *Store) Dir() string { return s.dir }

// Top is the real path of the repository's top level.
func (s *Store) Top() string { return s.top }

// Hash is a short name of this state directory: the first part of the marker
// that agents carry in their environment. 12 hexadecimal digits.
func (s *Store) Hash() string { return hashPath(s.dir)[:12] }

func (s *Store) repoDir(top string) string { return filepath.Join(s.dir, "repos", hashPath(top)[:24]) }
func (s *Store) runsDir() string           { return filepath.Join(s.own, "runs") }
func (s *Store) journalsDir() string       { return filepath.Join(s.own, "journals") }

func (s *Store) scratchDir() string { return filepath.Join(s.dir, "tmp") }

// ScratchDir is for temporary files that belong to no run; what a killed
// process left there is cleared away after an hour.
func (s *Store) ScratchDir() (string, error) { return s.scratchDir(), privateDir(s.scratchDir()) }

// TempDir is for temporary files of the run that holds the repository's lock.
func (s *Store) TempDir() string { return filepath.Join(s.own, "tmp") }

func (s *Store) shimsDir() string { return filepath.Join(s.dir, "shims") }

// foldersDir has a name of one letter because paths of sockets below it must
// stay short.
func (s *Store) foldersDir() string { return filepath.Join(s.dir, "r") }

func hashPath(real string) string {
	sum := sha256.Sum256([]byte(real))
	return hex.EncodeToString(sum[:])
}

// realPath is path without symlinks, absolute.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// NewRunID makes the id of a run: its time (UTC, to the second) and 32 random
// bits, for example 20261130t135301-9f2c01ab. Ids sort by time.
func NewRunID() string {
	return time.Now().UTC().Format("20060102t150405") + "-" + randomHex(4)
}

var runID = lazyregexp.New(`^[a-z0-9]+(-[a-z0-9]+)+$`)

// ValidRunID tells whether id may be looked up. Such an id is safe as the name
// of a file on every system: no separators, no dots, and the dash keeps it
// apart from the device names of Windows.
func ValidRunID(id string) bool { return len(id) <= 64 && runID.MatchString(id) }

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
