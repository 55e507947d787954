package run

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim/state"
)

// obstructed is a ledger with one running record, and what makes that no
// record of it can be written, though all can be read.
func obstructed(t *testing.T) (l *ledger, rec state.Record, obstruct func(on bool)) {
	t.Helper()
	store, err := state.Open(t.TempDir(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	rec = state.Record{ID: state.NewRunID(), Kind: state.KindDesign, State: state.Running, StartedAt: time.Now()}
	l = &ledger{store: store}
	if err := l.note(rec); err != nil {
		t.Fatal(err)
	}
	own := filepath.Dir(filepath.Dir(store.JournalPath(rec.ID)))
	record, lock := filepath.Join(own, "runs", rec.ID+".json"), filepath.Join(own, "ledger.lock")
	return l, rec, func(on bool) {
		t.Helper()
		if !on {
			if err := os.Remove(lock); err != nil {
				t.Fatal(err)
			}
			return
		}
		// The end of the run meets a folder in the place of its record …
		if err := os.Rename(record, record+".away"); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(record, 0o700); err != nil {
			t.Fatal(err)
		}
		ended := rec
		ended.State, ended.EndedAt = state.Done, time.Now()
		if err := l.note(ended); err == nil {
			t.Fatal("it was noted")
		}
		if err := os.Remove(record); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(record+".away", record); err != nil {
			t.Fatal(err)
		}
		// … and what is to be made good later one in the place of the lock.
		if err := os.RemoveAll(lock); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(lock, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// What is owed counts at once, and is written when that can be.
func TestLedgerOwes(t *testing.T) {
	l, rec, obstruct := obstructed(t)
	obstruct(true)
	if stored, err := l.store.Get(rec.ID); err != nil || stored.State != state.Running {
		t.Fatalf("stored as %s, %v", stored.State, err)
	}
	marked, err := l.update(rec.ID, func(r *state.Record) { r.Undone = true })
	if err != nil || marked.State != state.Done || !marked.Undone {
		t.Errorf("marked: %+v, %v", marked, err)
	}
	list, err := l.list()
	if err != nil || len(list) != 1 || list[0].State != state.Done || !list[0].Undone || list[0].PID != os.Getpid() {
		t.Errorf("listed: %+v, %v", list, err)
	}
	obstruct(false)
	if got, err := l.get(rec.ID); err != nil || got.State != state.Done || !got.Undone {
		t.Errorf("read: %+v, %v", got, err)
	}
	if stored, err := l.store.Get(rec.ID); err != nil || stored.State != state.Done || !stored.Undone || len(l.owed) != 0 {
		t.Errorf("stored as %+v, %v; %d owed", stored, err, len(l.owed))
	}
}

// Another shim that found out meanwhile what became of the run knows better.
func TestOwedRecordYieldsToAnotherShims(t *testing.T) {
	l, rec, obstruct := obstructed(t)
	obstruct(true)
	theirs := rec
	theirs.State, theirs.Undone, theirs.SHA = state.Interrupted, true, "c0ffee"
	if err := l.store.Note(theirs); err != nil {
		t.Fatal(err)
	}
	obstruct(false)
	if got, err := l.get(rec.ID); err != nil || got.State != state.Interrupted || !got.Undone || got.SHA != "c0ffee" {
		t.Errorf("read: %+v, %v", got, err)
	}
}

// A newer record that could be written is not replaced by one that is owed.
func TestOwedRecordYieldsToANewerOne(t *testing.T) {
	for name, write := range map[string]func(*ledger, state.Record) error{"note": (*ledger).note, "put": (*ledger).put} {
		t.Run(name, func(t *testing.T) {
			l, rec, obstruct := obstructed(t)
			obstruct(true)
			newer := rec
			newer.Before = json.RawMessage(`{"tree":"x"}`)
			if err := write(l, newer); err != nil {
				t.Fatal(err)
			}
			obstruct(false)
			if got, err := l.get(rec.ID); err != nil || got.State != state.Running || string(got.Before) != `{"tree":"x"}` {
				t.Errorf("read: %+v, %v", got, err)
			}
		})
	}
}
