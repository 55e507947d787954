package state

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/errors"
)

func wantHeld(t *testing.T, s *Store, want Holder) {
	t.Helper()
	l, err := s.Lock(s.Top(), Holder{RunID: "other-run"})
	var held *Held
	if !errors.As(err, &held) {
		if l != nil {
			l.Release()
		}
		t.Fatalf("%v, want it held", err)
	}
	if held.RunID != want.RunID || held.Prompt != want.Prompt || held.PID != want.PID {
		t.Errorf("held by %+v, want %+v", held.Holder, want)
	}
}

func lockNow(t *testing.T, s *Store) *Lock {
	t.Helper()
	l, err := s.Lock(s.Top(), Holder{RunID: "my-run", Prompt: "p", StartedAt: time.Unix(7, 0)})
	check(t, err)
	return l
}

func TestLockWithinOneProcess(t *testing.T) {
	s := open(t)
	l := lockNow(t, s)
	again, err := Open(s.Dir(), s.Top())
	check(t, err)
	for _, store := range []*Store{s, again} {
		wantHeld(t, store, Holder{RunID: "my-run", Prompt: "p", PID: os.Getpid()})
	}
	elsewhere, err := Open(s.Dir(), t.TempDir())
	check(t, err)
	lockNow(t, elsewhere).Release()

	l.Release()
	second := lockNow(t, again)
	l.Release() // must not let go of the second one's
	wantHeld(t, s, Holder{RunID: "my-run", Prompt: "p", PID: os.Getpid()})
	second.Release()
	if _, err := os.Stat(second.note); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the note is still there: %v", err)
	}
}

func TestLockAcrossProcesses(t *testing.T) {
	s := open(t)
	o := second(t, "lock", s.Dir(), s.Top(), "helper-run")
	wantHeld(t, s, Holder{RunID: "helper-run", Prompt: "from the helper", PID: o.cmd.Process.Pid})
	o.end()
	lockNow(t, s).Release()
}

// "Released automatically when the process dies", also while a child of it,
// such as an agent, lives on.
func TestLockOfDeadProcess(t *testing.T) {
	s := open(t)
	o := second(t, "run", s.Dir(), s.Top(), "helper-run")
	wantHeld(t, s, Holder{RunID: "helper-run", PID: o.cmd.Process.Pid})
	o.kill()
	lockNow(t, s).Release()
}

// A note that a dead process left is not taken for the holder's.
func TestStaleNote(t *testing.T) {
	s := open(t)
	o := second(t, "lock", s.Dir(), s.Top(), "dead-run")
	o.kill()
	l := lockNow(t, s)
	defer l.Release()
	wantHeld(t, s, Holder{RunID: "my-run", Prompt: "p", PID: os.Getpid()})

	check(t, os.WriteFile(filepath.Join(s.own, "holder.json"), []byte("{half"), 0o600))
	wantHeld(t, s, Holder{})
}

func TestLockRace(t *testing.T) {
	s := open(t)
	var wg sync.WaitGroup
	var got, inside atomic.Int32
	for range 8 {
		wg.Go(func() {
			for range 20 {
				l, err := s.Lock(s.Top(), Holder{RunID: "my-run"})
				var held *Held
				if errors.As(err, &held) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two have the lock")
				}
				got.Add(1)
				inside.Add(-1)
				l.Release()
			}
		})
	}
	wg.Wait()
	if got.Load() == 0 {
		t.Error("nobody ever got the lock")
	}
}
