package run

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim/state"
)

// Where git cannot be asked now, what a dead run was about to do is kept for
// the next start.
func TestRecoveryWithoutGitKeepsTheIntent(t *testing.T) {
	store, err := state.Open(t.TempDir(), t.TempDir()) // not a repository
	if err != nil {
		t.Fatal(err)
	}
	dead := state.Record{
		ID: state.NewRunID(), Kind: state.KindDesign, State: state.Running, StartedAt: time.Now(),
		Intent: json.RawMessage(`{"kind":"commit","runId":"x","step":"lock"}`),
	}
	if err := store.Put(dead); err != nil {
		t.Fatal(err)
	}
	m := NewManager(Options{Dir: store.Top(), Store: store})
	if err := m.Recover(context.Background()); err != nil {
		t.Fatal(err)
	}
	rec, err := store.Get(dead.ID)
	if err != nil {
		t.Fatal(err)
	}
	if rec.State != state.Interrupted || len(rec.Intent) == 0 {
		t.Errorf("state %s, intent %s", rec.State, rec.Intent)
	}
}
