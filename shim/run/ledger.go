package run

import (
	"slices"
	"sync"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/state"
)

// ledger is the stored ledger as this process knows it. What could not be
// written (a full disk) is owed: it counts at once in all that is read, and is
// written as soon as the ledger takes it. Else a run whose end could not be
// noted would be going on for as long as this process lives.
type ledger struct {
	store *state.Store

	mu   sync.Mutex
	owed []owed // in the order in which they came
}

// owed is a change of one record that the ledger does not have yet.
type owed struct {
	id     string
	whole  bool // it brings all that the ones before it brought
	change func(*state.Record)
}

// note writes the record of a run, without waiting for the disk. On an error
// it is owed.
func (l *ledger) note(rec state.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.store.Note(rec)
	l.forgive(rec.ID)
	if err != nil {
		l.owed = append(l.owed, owed{id: rec.ID, whole: true, change: func(cur *state.Record) {
			// Another shim may have found out meanwhile what became of the run,
			// and may even have undone it: then it knows better.
			if cur.State == state.Running || unsettled(*cur) {
				pid := cur.PID
				*cur = rec
				cur.PID = pid
			}
		}})
	}
	return err
}

// put writes the record of a run and waits for the disk. On an error nothing
// is owed: the caller must not go on.
func (l *ledger) put(rec state.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.store.Put(rec); err != nil {
		return err
	}
	l.forgive(rec.ID)
	return nil
}

// update changes the record of a run that has ended, now or as soon as that
// can be, and returns it. The error is state.ErrNoRecord, or that it cannot be
// read.
func (l *ledger) update(id string, change func(*state.Record)) (state.Record, error) {
	l.mu.Lock()
	l.pay()
	l.owed = append(l.owed, owed{id: id, change: change})
	l.mu.Unlock()
	return l.get(id)
}

// get returns the record of a run, or state.ErrNoRecord.
func (l *ledger) get(id string) (state.Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pay()
	rec, err := l.store.Get(id)
	l.apply(&rec)
	return rec, err
}

// list returns all records, newest first.
func (l *ledger) list() ([]state.Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pay()
	records, err := l.store.List()
	for i := range records {
		l.apply(&records[i])
	}
	return records, err
}

// pay writes what is owed, as far as the ledger takes it. A run that is no
// longer in it was forgotten: it does not come back. l.mu is held.
func (l *ledger) pay() {
	var still []owed
	for _, o := range l.owed {
		waits := slices.ContainsFunc(still, func(earlier owed) bool { return earlier.id == o.id })
		if !waits {
			if err := l.store.Update(o.id, o.change); err == nil || errors.Is(err, state.ErrNoRecord) {
				continue
			}
		}
		still = append(still, o)
	}
	l.owed = still
}

// apply changes a record that was read into what it would be if nothing were
// owed; l.mu is held.
func (l *ledger) apply(rec *state.Record) {
	for _, o := range l.owed {
		if o.id == rec.ID {
			o.change(rec)
		}
	}
}

// forgive drops the whole records owed for a run, of which a newer one has
// come; l.mu is held.
func (l *ledger) forgive(id string) {
	l.owed = slices.DeleteFunc(l.owed, func(o owed) bool { return o.id == id && o.whole })
}
