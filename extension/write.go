package extension

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/cockroachdb/errors"
	"github.com/gofrs/flock"
)

// What is ours in a folder beside the extension's files. Chromium leaves
// files with a dot alone.
const (
	recordName = ".slidewrite.json" // what was written here, so that it can be told from the user's
	lockName   = ".slidewrite.lock" // held while the folder is written to
	stageName  = ".slidewrite-new"  // the files to come, before they take their places
)

// ours are those three.
var ours = []string{recordName, lockName, stageName}

// litter are files that systems leave in folders people look into. They are
// nobody's work, and are left alone.
var litter = []string{".DS_Store", "Thumbs.db", "desktop.ini"}

// ErrForeign marks the refusal of a folder that has files that are not the
// extension's as it was written, so that they might be the user's.
var ErrForeign = errors.New("the folder has files that are not the extension's")

// Written is what Write did.
type Written struct {
	Dir     string // real path
	Version string // the one that stands there now
	Was     string // the one that stood there before, "" = none
	Changed bool   // a file had to be written or removed
}

// record is the file recordName. A file counts as ours while its bytes are
// some that we wrote: of a version before, or of one that was being written
// when the process died.
type record struct {
	Version string              `json:"version"`
	Whole   bool                `json:"whole"` // written to its end
	Files   map[string][]string `json:"files"` // slash-separated path → SHA-256 of what we wrote there
}

// Write makes dir hold the extension of a binary of version, and nothing that
// an older version had beside. Every file is replaced in one step, the
// manifest last, after all of them were written next to their places: when it
// fails before that, nothing has changed. A folder with other files than ours
// is refused (ErrForeign), and nothing of it touched.
func Write(dir, version string) (Written, error) {
	w, err := open(dir)
	if err != nil {
		return Written{}, err
	}
	defer w.close()
	next, err := contents(version)
	if err != nil {
		return Written{}, err
	}
	if err := w.refuseForeign(); err != nil {
		return Written{}, err
	}
	done := Written{Dir: w.dir, Version: version, Was: w.old.Version}
	write, remove, err := w.compare(next)
	if err != nil {
		return Written{}, err
	}
	if len(write)+len(remove) == 0 && w.old.Whole && w.old.Version == version {
		return done, nil
	}
	done.Changed = true
	return done, cannotWrite(w.dir, w.replace(version, next, write, remove))
}

// writer is a folder that is being written to.
type writer struct {
	dir  string
	lock *flock.Flock
	old  record
}

// open makes the folder where it is missing, locks it and reads its record.
func open(dir string) (*writer, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	switch info, err := os.Stat(abs); {
	case err == nil && !info.IsDir():
		return nil, errors.WithHint(errors.Newf("%s is a file, not a folder", dir), "name a folder that is empty or not there yet: slidewrite extension --dir FOLDER")
	case err == nil:
		// Before a lock is left in it.
		if err := refuseUnknown(abs); err != nil {
			return nil, err
		}
	default:
		if err := os.MkdirAll(abs, 0o755); err != nil {
			return nil, cannotWrite(dir, err)
		}
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, err
	}
	w := &writer{dir: real, lock: flock.New(filepath.Join(real, lockName))}
	if err := w.lock.Lock(); err != nil {
		return nil, cannotWrite(real, err)
	}
	w.old, err = readRecord(real)
	if err == nil {
		// A process that died left it; who is alive holds the lock.
		err = os.RemoveAll(w.at(stageName))
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *writer) close() { _ = w.lock.Unlock() }

func (w *writer) at(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

// refuseUnknown refuses a folder that has something in it and no record of
// ours.
func refuseUnknown(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return cannotWrite(dir, err)
	}
	var foreign []string
	for _, e := range entries {
		switch {
		case e.Name() == recordName:
			return nil
		case !slices.Contains(ours, e.Name()) && !slices.Contains(litter, e.Name()):
			foreign = append(foreign, e.Name())
		}
	}
	return refuse(dir, foreign, "are not the extension's")
}

// readRecord returns an empty record where there is none.
func readRecord(dir string) (record, error) {
	var r record
	data, err := os.ReadFile(filepath.Join(dir, recordName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, nil
	case err != nil:
		return r, cannotWrite(dir, err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, refuse(dir, []string{recordName}, "cannot be read: "+err.Error())
	}
	for name := range r.Files {
		if at := filepath.FromSlash(name); !filepath.IsLocal(at) || filepath.Clean(at) != at || slices.Contains(ours, name) {
			return r, refuse(dir, []string{recordName}, "was not written by slidewrite")
		}
	}
	return r, nil
}

// refuseForeign refuses a folder in which something stands that we did not
// write, or that was changed since.
func (w *writer) refuseForeign() error {
	var foreign, changed []string
	err := filepath.WalkDir(w.dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(w.dir, at)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		sums, wrote := w.old.Files[name]
		switch {
		case d.IsDir() && (name == "." || w.old.has(name+"/")):
			return nil
		case d.IsDir():
			foreign = append(foreign, name)
			return fs.SkipDir
		case slices.Contains(ours, name), slices.Contains(litter, d.Name()):
			return nil
		case !wrote || !d.Type().IsRegular():
			foreign = append(foreign, name)
			return nil
		}
		sum, err := sumOf(at)
		if err == nil && !slices.Contains(sums, sum) {
			changed = append(changed, name)
		}
		return err
	})
	if err != nil {
		return cannotWrite(w.dir, err)
	}
	if err := refuse(w.dir, foreign, "are not the extension's"); err != nil {
		return err
	}
	return refuse(w.dir, changed, "were changed since slidewrite wrote them")
}

// has tells whether a file of the record lies in the folder prefix.
func (r record) has(prefix string) bool {
	for name := range r.Files {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// refuse is the refusal of a folder for some of its files; nil for none.
func refuse(dir string, names []string, what string) error {
	if len(names) == 0 {
		return nil
	}
	const most = 3
	said := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		said += fmt.Sprintf(" and %d more", more)
	}
	if len(names) == 1 {
		what = strings.NewReplacer("are not", "is not", "were changed", "was changed", "wrote them", "wrote it").Replace(what)
	}
	err := errors.Newf("%s is left as it is: %s in it %s", dir, said, what)
	return errors.Mark(errors.WithHint(err, "move it away, or name a folder that is empty or not there yet: slidewrite extension --dir FOLDER"), ErrForeign)
}

// compare says what has to be written and what removed.
func (w *writer) compare(next map[string][]byte) (write, remove []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(next)) {
		sum, err := sumOf(w.at(name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, nil, cannotWrite(w.dir, err)
		case sum == hash(next[name]):
			continue
		}
		write = append(write, name)
	}
	for _, name := range slices.Sorted(maps.Keys(w.old.Files)) {
		if _, stays := next[name]; !stays {
			remove = append(remove, name)
		}
	}
	// With the manifest it is the new version.
	if i := slices.Index(write, manifestName); i >= 0 {
		write = append(slices.Delete(write, i, i+1), manifestName)
	}
	return write, remove, nil
}

// replace puts the new files in the places of the old ones.
func (w *writer) replace(version string, next map[string][]byte, write, remove []string) error {
	if err := os.Mkdir(w.at(stageName), 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(w.at(stageName))
	staged := func(name string) string { return filepath.Join(w.at(stageName), filepath.FromSlash(name)) }
	for _, name := range write {
		if err := put(staged(name), next[name]); err != nil {
			return err
		}
	}
	// From here on, and should this process die, both versions are ours.
	both := record{Version: w.old.Version, Files: maps.Clone(w.old.Files)}
	if both.Files == nil {
		both.Files = map[string][]string{}
	}
	after := record{Version: version, Whole: true, Files: map[string][]string{}}
	for name, data := range next {
		after.Files[name] = []string{hash(data)}
		both.Files[name] = append(slices.Clone(both.Files[name]), hash(data))
	}
	if err := w.note(both); err != nil {
		return err
	}
	for _, name := range write {
		if err := os.MkdirAll(filepath.Dir(w.at(name)), 0o755); err != nil {
			return err
		}
		if err := os.Rename(staged(name), w.at(name)); err != nil {
			return err
		}
	}
	for _, name := range remove {
		if err := os.Remove(w.at(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		w.removeEmpty(filepath.Dir(w.at(name)))
	}
	return w.note(after)
}

// put writes a new file, with the folders above it.
func put(at string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	return os.WriteFile(at, data, 0o644)
}

// note replaces the record.
func (w *writer) note(r record) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	next := filepath.Join(w.at(stageName), recordName)
	if err := os.WriteFile(next, append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(next, w.at(recordName))
}

// removeEmpty removes folders of ours in which nothing is left; one that is
// not empty stays.
func (w *writer) removeEmpty(dir string) {
	for dir != w.dir && os.Remove(dir) == nil {
		dir = filepath.Dir(dir)
	}
}

// cannotWrite says what helps when a folder cannot be written to, or read.
func cannotWrite(dir string, err error) error {
	if err == nil || errors.Is(err, ErrForeign) {
		return err
	}
	fix := "name a folder you can write to: slidewrite extension --dir FOLDER"
	if errors.IsAny(err, syscall.ENOSPC, syscall.EDQUOT) {
		fix = "make room on the disk, or " + fix
	}
	return errors.WithHint(errors.Wrapf(err, "write the extension to %s", dir), fix)
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func sumOf(path string) (string, error) {
	data, err := os.ReadFile(path)
	return hash(data), err
}

// State is what stands in a folder, as Look found it.
type State struct {
	Version string // "" = the extension is not there
	Whole   bool   // it was written to its end, and is all there
	Current bool   // and its files are those of this binary
}

// Look tells what Write left in dir, against a binary of version. It changes
// nothing.
func Look(dir, version string) (State, error) {
	r, err := readRecord(dir)
	if err != nil || r.Version == "" {
		return State{}, err
	}
	next, err := contents(version)
	if err != nil {
		return State{}, err
	}
	s := State{Version: r.Version, Whole: r.Whole, Current: r.Whole && len(r.Files) == len(next)}
	for name := range r.Files {
		sum, err := sumOf(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			s.Whole = false
		}
		s.Current = s.Current && err == nil && sum == hash(next[name])
	}
	return s, nil
}
