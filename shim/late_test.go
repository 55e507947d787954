package shim_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// killedAfterTheEdit is a run whose shim is killed when the agent has edited
// a.txt.
func killedAfterTheEdit(t *testing.T) (s *shimtest.Stage, id string) {
	t.Helper()
	s = setup(t, edit, map[string]string{"b.txt": "one\ntwo\n"})
	s.PlayChild(edit, shim.Config{}, "hang=48", stubborn)
	stream := s.Open("POST", "/design", ask("detach", true))
	for shimtest.Until[event.ToolResult](stream).Tool != "Edit" {
	}
	id = newest(s).ID
	s.Kill()
	stream.Leave()
	return s, id
}

// later makes a file one that was touched a while after now.
func later(s *shimtest.Stage, path, text string) {
	s.T.Helper()
	s.Write(path, text)
	at := time.Now().Add(time.Minute)
	if err := os.Chtimes(filepath.Join(s.Repo, path), at, at); err != nil {
		s.T.Fatal(err)
	}
}

// The second snapshot of a killed run is taken when slidewrite comes back:
// what the user did in between is theirs.
func TestWorkAfterACrashStaysTheUsers(t *testing.T) {
	s, id := killedAfterTheEdit(t)
	later(s, "mine.txt", "hours of work\n")
	later(s, "b.txt", "one\ntwo\nmine\n")
	s.Play(edit, shim.Config{Timing: quick})
	undo(s, id)
	if got := s.Read("a.txt"); !strings.HasPrefix(got, "hello") {
		t.Errorf("the agent's edit is still there: %q", got)
	}
	if s.Read("mine.txt") != "hours of work\n" || s.Read("b.txt") != "one\ntwo\nmine\n" {
		t.Error("the undo took the user's own work along")
	}
}

// A commit by the user between crash and restart must not lose the change.
func TestUserCommitsAfterACrash(t *testing.T) {
	s, id := killedAfterTheEdit(t)
	s.Write("b.txt", "committed by the user\n")
	s.Git("commit", "-q", "-m", "mine", "b.txt")
	s.Play(edit, shim.Config{Timing: quick})
	events := reattach(s, id, 0)
	if change := shimtest.One[event.Change](t, events); len(change.Files) != 1 || change.Files[0].Path != "a.txt" {
		t.Errorf("change: %+v", change)
	}
	undo(s, id)
	if got := s.Read("a.txt"); !strings.HasPrefix(got, "hello") {
		t.Errorf("the agent's edit is still there: %q", got)
	}
	if s.Read("b.txt") != "committed by the user\n" {
		t.Error("the user's commit was touched")
	}
}

// Whoever asks first may go away before the recovery is done.
func TestRecoveryOutlivesWhoAskedForIt(t *testing.T) {
	s, id := killedAfterTheEdit(t)
	sh, err := shim.New(context.Background(), shim.Config{Repo: s.Repo, Environ: s.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	defer sh.Close()
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	list, err := sh.Runs().List(gone)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || list[0].ID != id || list[0].State != "interrupted" || !list[0].Undoable || len(list[0].Files) != 1 {
		t.Errorf("listed: %+v", list)
	}
}

// A session that claude says it does not know on stderr alone is begun anew
// like any other: no error, and the change is committed.
func TestSessionLostOnStderrOnly(t *testing.T) {
	s := setup(t, edit, nil)
	fake, err := exec.LookPath("claude")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(s.Root, "claude")
	script := "#!/bin/sh\ncase \"$*\" in *--resume*) echo 'No conversation found with session ID: x' >&2; exit 1;; esac\nexec '" + fake + "' \"$@\"\n"
	if err := os.WriteFile(bin, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	s.Play(edit, shim.Config{ClaudeBin: bin, Timing: quick})
	events := s.Design(ask("resume", "5e551011-0000-4000-8000-00000000dead"))
	wantWords(t, events, "result, change, commit, done")
	note(t, events, "session_new")
}

// A second snapshot that fails does not lose the undo: when the cause is gone
// the change can still be found out.
func TestUndoAfterTheSecondSnapshotFailed(t *testing.T) {
	s := setup(t, edit, nil)
	index := filepath.Join(s.Repo, ".git", "index")
	good, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	garbage := "not an index"
	fixture := s.Variant(edit, func(f *fakeagents.Fixture) {
		f.Effects = append(f.Effects, fakeagents.Effect{After: 50, Path: ".git/index", Write: &garbage})
	})
	s.Play(fixture, shim.Config{Timing: quick})
	events := s.Design(ask())
	wantWords(t, events, "result, error internal, done")
	refused(s, "POST", "/runs/"+newest(s).ID+"/undo", nil, 500, "internal")
	if err := os.WriteFile(index, good, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, r := range runs(s) {
		if r.Kind == "design" {
			undo(s, r.ID)
		}
	}
	if got := s.Read("a.txt"); !strings.HasPrefix(got, "hello") {
		t.Errorf("the agent's edit is still there: %q", got)
	}
}

// An agent that has finished and does not end is ended; the run is a success.
func TestAgentThatLingersIsEnded(t *testing.T) {
	s := setup(t, edit, nil)
	timing := quick
	timing.Linger = 50 * time.Millisecond
	s.Play(edit, shim.Config{Timing: timing}, stubborn)
	events := s.Design(ask())
	wantWords(t, events, "result, change, commit, done")
	note(t, events, "lingers")
	s.Clean()
}

// An undo whose commit fails has taken the files back all the same: it says
// so, and can itself be undone.
func TestUndoWhoseCommitFails(t *testing.T) {
	s := setup(t, edit, nil)
	s.Play(edit, shim.Config{Timing: quick})
	id := shimtest.One[event.Start](t, s.Design(ask())).RunID
	lock := filepath.Join(s.Repo, ".git", "refs", "heads", "main.lock")
	if err := os.WriteFile(lock, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var reply run.UndoReply
	if status := s.JSON("POST", "/runs/"+id+"/undo", nil, &reply); status != 200 {
		t.Fatalf("undo: %d", status)
	}
	if len(reply.Files) != 1 || reply.CommitError == "" || !strings.HasPrefix(s.Read("a.txt"), "hello") {
		t.Errorf("reply %+v, a.txt %q", reply, s.Read("a.txt"))
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	undo(s, reply.ID)
	if got := s.Read("a.txt"); !strings.HasPrefix(got, "goodbye") {
		t.Errorf("the undo of the undo: %q", got)
	}
}

// An undo that is refused did nothing and is not listed as a run.
func TestRefusedUndoIsNoRun(t *testing.T) {
	s := setup(t, edit, nil)
	s.Play(edit, shim.Config{Timing: quick})
	id := shimtest.One[event.Start](t, s.Design(ask())).RunID
	s.Write("a.txt", "hi\nsecond line\n")
	refused(s, "POST", "/runs/"+id+"/undo", nil, 409, "conflict")
	if list := runs(s); len(list) != 1 {
		t.Errorf("listed: %+v", list)
	}
	s.Clean()
}
