package state

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/errors"
	"github.com/gofrs/flock"
)

// Kinds of a run.
const (
	KindDesign = "design"
	KindUndo   = "undo"
	// What is done with runs that have ended is in the ledger only while it goes
	// on, so that it can be finished if its shim dies.
	KindSquash = "squash" // makes the commits of several runs one
	KindCommit = "commit" // commits the changes of several runs
)

// States of a run.
const (
	Running     = "running"
	Done        = "done"
	Failed      = "failed"
	Stopped     = "stopped"
	Interrupted = "interrupted" // its shim died
)

// Limits of the ledger: what is older or beyond is pruned.
const (
	MaxAge  = 30 * 24 * time.Hour
	MaxRuns = 200
)

// scratchAge is when a temporary file of no run is nobody's any more.
const scratchAge = time.Hour

// ErrNoRecord: the ledger has no run of that id.
var ErrNoRecord = errors.New("no such run in the ledger")

// Record is what the ledger knows of one run.
type Record struct {
	ID        string          `json:"id"`
	Kind      string          `json:"kind"`
	State     string          `json:"state"`
	Provider  string          `json:"provider,omitempty"`
	Session   string          `json:"session,omitempty"` // the agent's session id
	Prompt    string          `json:"prompt,omitempty"`
	StartedAt time.Time       `json:"startedAt"`
	EndedAt   time.Time       `json:"endedAt,omitzero"`
	Before    json.RawMessage `json:"before,omitempty"` // snapshot
	After     json.RawMessage `json:"after,omitempty"`  // snapshot
	Files     json.RawMessage `json:"files,omitempty"`  // the change, path by path
	SHA       string          `json:"sha,omitempty"`    // of the commit
	Undone    bool            `json:"undone,omitempty"`
	UndoOf    string          `json:"undoOf,omitempty"` // the run this one takes back
	Intent    json.RawMessage `json:"intent,omitempty"` // a commit, undo or squash that has begun
	PID       int             `json:"pid"`              // of the shim; filled in by Put when 0
}

// DecodeRecord reads a record as Put wrote it.
func DecodeRecord(b []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(b, &r); err != nil {
		return Record{}, errors.Wrap(err, "decode a ledger record")
	}
	if !ValidRunID(r.ID) || r.Kind == "" || r.State == "" {
		return Record{}, errors.Newf("decode a ledger record: no id, kind or state in %.80q", b)
	}
	return r, nil
}

// Put writes a record, replacing the one of the same id. It is on disk when
// Put returns.
func (s *Store) Put(r Record) error { return s.put(r, writeFile) }

// Note is Put without waiting for the disk: what it writes survives the end
// of this process, but not a power cut.
func (s *Store) Note(r Record) error { return s.put(r, noteFile) }

func (s *Store) put(r Record, write func(string, []byte) error) error {
	if !ValidRunID(r.ID) {
		return errors.Newf("not the id of a run: %q", r.ID)
	}
	if r.PID == 0 {
		r.PID = os.Getpid()
	}
	b, err := json.Marshal(r)
	if err != nil {
		return errors.Wrapf(err, "encode the record of run %s", r.ID)
	}
	if _, err := DecodeRecord(b); err != nil {
		return err
	}
	return errors.WithHint(errors.Wrapf(write(s.recordPath(r.ID), b), "write the record of run %s", r.ID),
		"make sure there is room on the disk of "+s.dir)
}

// Update changes the record of a run: nobody else who uses Update gets in
// between.
func (s *Store) Update(id string, change func(*Record)) error {
	l := flock.New(filepath.Join(s.own, "ledger.lock"))
	if err := l.Lock(); err != nil {
		return errors.Wrap(cannotLock(l.Path(), err), "lock the ledger")
	}
	defer l.Unlock()
	r, err := s.Get(id)
	if err != nil {
		return err
	}
	change(&r)
	r.ID = id
	return s.Put(r)
}

// Get returns the record of a run, or ErrNoRecord.
func (s *Store) Get(id string) (Record, error) {
	if !ValidRunID(id) {
		return Record{}, ErrNoRecord
	}
	r, err := s.read(id)
	if errors.Is(err, os.ErrNotExist) {
		return Record{}, ErrNoRecord
	}
	return r, err
}

// errCorrupt marks a ledger file that is not a record.
var errCorrupt = errors.New("a damaged ledger file")

func (s *Store) read(id string) (Record, error) {
	b, err := readFile(s.recordPath(id))
	if err != nil {
		return Record{}, err
	}
	r, err := DecodeRecord(b)
	if err == nil && r.ID != id {
		err = errors.Newf("the file of run %s is about run %s", id, r.ID)
	}
	if err != nil {
		return Record{}, errors.Mark(err, errCorrupt)
	}
	return r, nil
}

// List returns all records, newest first. A file that is not a record is
// renamed to <id>.json.bad, so that a person can look at it, and skipped.
func (s *Store) List() ([]Record, error) {
	entries, err := os.ReadDir(s.runsDir())
	if err != nil {
		return nil, errors.Wrap(err, "read the ledger")
	}
	var records []Record
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || !ValidRunID(id) {
			continue
		}
		r, err := s.read(id)
		if errors.Is(err, errCorrupt) {
			rename(s.recordPath(id), s.recordPath(id)+".bad")
			continue
		}
		if err != nil {
			continue // pruned meanwhile, or unreadable: not ours to judge
		}
		records = append(records, r)
	}
	slices.SortFunc(records, func(a, b Record) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), strings.Compare(b.ID, a.ID))
	})
	return records, nil
}

// Interrupted lists the runs whose shim died while they were running. Take the
// repository's lock first, for a Holder of another run id: then no run can
// begin while they are put in order.
func (s *Store) Interrupted() ([]Record, error) {
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	// The lock is looked at after the list: a run that begins in between is
	// not in the list, and one that ends is done when it is looked at again.
	h, held, err := s.holder()
	if err != nil {
		return nil, err
	}
	var dead []Record
	for _, r := range all {
		if r.State != Running || held && h.RunID == r.ID {
			continue
		}
		// The lock is held by nobody knows whom: only the process can tell.
		if held && h.RunID == "" && alive(r.PID) {
			continue
		}
		if now, err := s.Get(r.ID); err == nil && now.State == Running {
			dead = append(dead, now)
		}
	}
	return dead, nil
}

// Prune removes runs that began more than MaxAge before now, and those beyond
// the newest MaxRuns, with their journals; a run that is going on stays. It
// returns the ids of the removed ones, whose refs can go too, and clears away
// what dead processes left half-written.
func (s *Store) Prune(now time.Time) ([]string, error) {
	records, err := s.List()
	if err != nil {
		return nil, err
	}
	var gone []string
	for i, r := range records {
		if r.State == Running || i < MaxRuns && now.Sub(r.StartedAt) <= MaxAge {
			continue
		}
		if err := s.Remove(r.ID); err != nil {
			return gone, err
		}
		gone = append(gone, r.ID)
	}
	s.removeOld(s.runsDir(), now, MaxAge, func(name string) bool {
		return strings.HasPrefix(name, tempPrefix) || strings.HasSuffix(name, ".bad")
	})
	s.removeOld(s.journalsDir(), now, MaxAge, func(name string) bool {
		_, err := os.Lstat(s.recordPath(strings.TrimSuffix(name, ".jsonl")))
		return errors.Is(err, os.ErrNotExist)
	})
	s.removeOld(s.scratchDir(), now, scratchAge, func(string) bool { return true })
	return gone, nil
}

// Remove takes one run out of the ledger, with its journal.
func (s *Store) Remove(id string) error {
	if !ValidRunID(id) {
		return ErrNoRecord
	}
	// The journal first: a record without one is found again by Prune.
	for _, path := range []string{s.JournalPath(id), s.recordPath(id)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return errors.Wrapf(err, "remove run %s", id)
		}
	}
	return nil
}

// removeOld removes the files and folders in dir that match and were last
// written more than age ago.
func (s *Store) removeOld(dir string, now time.Time, age time.Duration, match func(name string) bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if fi, err := e.Info(); err == nil && now.Sub(fi.ModTime()) > age && match(e.Name()) {
			_ = removeTree(filepath.Join(dir, e.Name()))
		}
	}
}

func (s *Store) recordPath(id string) string { return filepath.Join(s.runsDir(), id+".json") }

// JournalPath is where the journal of a run is kept; "" (a file that cannot
// be) for what is not a run id.
func (s *Store) JournalPath(id string) string {
	if !ValidRunID(id) {
		return ""
	}
	return filepath.Join(s.journalsDir(), id+".jsonl")
}
