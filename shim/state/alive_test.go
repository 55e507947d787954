package state

import (
	"testing"
	"time"
)

// A run has died when nobody works on it although the ledger, of whichever
// repository, says so.
func TestRunDied(t *testing.T) {
	s := open(t)
	run := func(state string) string {
		id := NewRunID()
		check(t, s.Note(Record{ID: id, Kind: KindDesign, State: state, StartedAt: time.Now()}))
		return id
	}
	alive, died, ended, forgotten := run(Running), run(Running), run(Done), NewRunID()
	_, err := s.RunDir(alive)
	check(t, err)
	other, err := Open(s.Dir(), t.TempDir())
	check(t, err)
	for _, looks := range []*Store{s, other} {
		for id, want := range map[string]bool{alive: false, died: true, ended: false, forgotten: false, "../x": false} {
			if got := looks.RunDied(id); got != want {
				t.Errorf("run %s: died %v, want %v", id, got, want)
			}
		}
	}
	check(t, s.RemoveRunDir(alive))
	if !s.RunDied(alive) {
		t.Error("a run that let go of its folder without an end has not died")
	}
}
