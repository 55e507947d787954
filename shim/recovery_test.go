package shim_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/shimtest"
	"github.com/slidewrite/slidewrite/shim/state"
)

// stubborn keeps a fake agent alive when its shim has died, as claude does.
const stubborn = "ignore_signals=1,ignore_close=1"

// reattach reads what comes behind the last event that a client has seen.
func reattach(s *shimtest.Stage, id string, last int64) []event.Event {
	s.T.Helper()
	req := s.Request(context.Background(), "GET", "/runs/"+id+"/events", nil)
	req.Header.Set("Last-Event-ID", strconv.FormatInt(last, 10))
	return s.Follow(req).Rest()
}

// interrupted wants the run closed as the one of a shim that died.
func interrupted(s *shimtest.Stage, id string, last int64, want string) {
	s.T.Helper()
	events := reattach(s, id, last)
	if got := words(events); got != want {
		s.T.Errorf("the rest of the run is %q, want %q%s", got, want, shimtest.Words(events))
	}
	for _, e := range shimtest.All[event.Error](events) {
		if e.Fix != "slidewrite undo "+id && strings.Contains(want, "change") {
			s.T.Errorf("error %+v", e)
		}
	}
	if r := newest(s); r.ID != id || r.State != "interrupted" || r.EndedAt == nil {
		s.T.Errorf("listed as %+v", r)
	}
	s.Clean()
}

// crowded is a stage on which the user has work of every kind.
func crowded(t *testing.T) (s *shimtest.Stage, theirs func() string) {
	t.Helper()
	s = setup(t, edit, map[string]string{"a.txt": "hello\n" + numbered(30)})
	s.Write("a.txt", strings.Replace(s.Read("a.txt"), "line 10\n", "staged\n", 1))
	s.Git("add", "a.txt")
	s.Write("a.txt", strings.Replace(s.Read("a.txt"), "line 20\n", "not staged\n", 1))
	s.Write("b.txt", "mine\n")
	s.Write("new.txt", "untracked\n")
	return s, func() string { return work(s) }
}

func TestShimKilledBeforeThePrompt(t *testing.T) {
	s, theirs := crowded(t)
	before := theirs()
	s.PlayChild(edit, shim.Config{}, "hang=initialize", stubborn)
	stream := s.Open("POST", "/design", ask("detach", true))
	shimtest.Await(t, "snapshot and agent", func() bool {
		return s.Git("for-each-ref", "refs/slidewrite/runs") != "" && len(s.Turns()) > 0
	})
	id := newest(s).ID
	s.Kill()
	stream.Leave()
	s.Play(edit, shim.Config{Timing: quick})
	interrupted(s, id, 0, "error crashed, done")
	if after := theirs(); after != before {
		t.Errorf("work before\n%s\nafter\n%s", before, after)
	}
	if refs := s.Git("for-each-ref", "refs/slidewrite/runs"); refs != "" {
		t.Errorf("refs left behind: %s", refs)
	}
	refused(s, "POST", "/runs/"+id+"/undo", nil, 409, "conflict")
	wantWords(t, s.Design(ask()), "result, change, commit, done")
}

func TestShimKilledInTheMiddleOfARun(t *testing.T) {
	s, theirs := crowded(t)
	before, head := theirs(), s.Git("rev-parse", "HEAD")
	s.PlayChild(edit, shim.Config{}, "hang=48", stubborn)
	stream := s.Open("POST", "/design", pasted())
	for shimtest.Until[event.ToolResult](stream).Tool != "Edit" {
	}
	id := newest(s).ID
	if len(s.Marked()) == 0 && runtime.GOOS == "linux" {
		t.Error("no agent is there")
	}
	s.Kill()
	stream.Leave()
	s.Play(edit, shim.Config{Timing: quick})
	// The client comes back at once, with the last event it has seen.
	interrupted(s, id, stream.Last, "error crashed, change, done")
	if got := s.Read("a.txt"); !strings.HasPrefix(got, "goodbye\n") || s.Git("rev-parse", "HEAD") != head {
		t.Errorf("a.txt is %q", got)
	}
	if whole := reattach(s, id, 0); len(shimtest.All[event.Start](whole)) != 1 || len(shimtest.All[event.Delta](whole)) == 0 {
		t.Errorf("the journal has lost its beginning%s", shimtest.Words(whole))
	}
	if got := diffOf(s, id, ""); !strings.Contains(got.Diff, "+goodbye") {
		t.Errorf("diff %q", got.Diff)
	}
	undo(s, id)
	if after := theirs(); after != before {
		t.Errorf("work before\n%s\nafter\n%s", before, after)
	}
}

// signer makes git sign with a program that stands at a gate and then fails:
// a commit waits there, with the index locked.
func signer(s *shimtest.Stage) *shimtest.Gate {
	s.T.Helper()
	gate := s.Gate("gpg")
	path := filepath.Join(s.Root, "gpg.sh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+gate.Script()+"\nexit 1\n"), 0o755); err != nil {
		s.T.Fatal(err)
	}
	s.Git("config", "commit.gpgSign", "true")
	s.Git("config", "gpg.program", path)
	return gate
}

// killWhileItSigns posts what makes a commit, and kills the shim while git
// waits for the signature.
func killWhileItSigns(s *shimtest.Stage, path string, body any) {
	s.T.Helper()
	gate := signer(s)
	answer := make(chan error, 1)
	go func() {
		res, err := http.DefaultClient.Do(s.Request(context.Background(), "POST", path, body))
		if err == nil {
			res.Body.Close()
		}
		answer <- err
	}()
	gate.Reached()
	s.Kill()
	if err := <-answer; err == nil {
		s.T.Error("the killed shim answered")
	}
	unsign(s, gate)
}

// unsign takes signer back.
func unsign(s *shimtest.Stage, gate *shimtest.Gate) {
	s.T.Helper()
	gate.Open()
	s.Git("config", "--unset", "commit.gpgSign")
}

func TestShimKilledDuringTheCommit(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("shell scripts as programs")
	}
	for _, where := range []string{"pre-commit", "index locked"} {
		t.Run(where, func(t *testing.T) {
			s, theirs := crowded(t)
			before, head := theirs(), s.Git("rev-parse", "HEAD")
			blocked := map[string]func(*shimtest.Stage) *shimtest.Gate{"pre-commit": hook, "index locked": signer}
			gate := blocked[where](s)
			s.PlayChild(edit, shim.Config{CommitVerify: where == "pre-commit"})
			stream := s.Open("POST", "/design", ask())
			shimtest.Until[event.Change](stream)
			gate.Reached()
			id := newest(s).ID
			if _, err := os.Stat(filepath.Join(s.Repo, ".git", "index.lock")); (err == nil) != (where == "index locked") {
				t.Errorf("index.lock: %v", err)
			}
			s.Kill()
			stream.Leave()
			gate.Open()
			if where == "index locked" {
				unsign(s, gate)
			}
			s.Play(edit, shim.Config{Timing: quick})
			interrupted(s, id, stream.Last, "error crashed, change, done")
			if s.Git("rev-parse", "HEAD") != head {
				t.Error("HEAD moved")
			}
			undo(s, id)
			if after := theirs(); after != before {
				t.Errorf("work before\n%s\nafter\n%s", before, after)
			}
		})
	}
}

// An undo whose shim dies is carried through by the next one.
func TestShimKilledDuringAnUndo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("shell scripts as programs")
	}
	s, theirs := crowded(t)
	before := theirs()
	s.PlayChild(edit, shim.Config{Timing: quick})
	wantWords(t, s.Design(ask()), "result, change, commit, done")
	id := newest(s).ID
	killWhileItSigns(s, "/runs/"+id+"/undo", nil)
	s.Play(edit, shim.Config{Timing: quick})
	list := runs(s)
	if len(list) != 2 || list[0].Kind != "undo" || list[0].State != "interrupted" || !list[1].Undone {
		t.Fatalf("runs %+v", list)
	}
	if got := s.Read("a.txt"); !strings.HasPrefix(got, "hello\n") {
		t.Errorf("a.txt is %q", got)
	}
	if after := theirs(); after != before {
		t.Errorf("work before\n%s\nafter\n%s", before, after)
	}
	if got := lines(s.Git("diff", "HEAD~2", "HEAD")); got != "" {
		t.Errorf("the undo's commit: %s", got)
	}
	s.Clean()
	undo(s, list[0].ID) // and is itself undoable
	if got := s.Read("a.txt"); !strings.HasPrefix(got, "goodbye\n") {
		t.Errorf("a.txt is %q", got)
	}
}

// Killed as soon as a client has seen an event, whatever the shim was doing by
// then: the next shim reaches a state in which the run is committed whole or
// not at all, and can be undone.
func TestShimKilledAnywhere(t *testing.T) {
	for _, at := range []string{"start", "tool", "file_edit", "result", "change", "commit"} {
		if !sampled(at) {
			continue
		}
		t.Run(at, func(t *testing.T) {
			s, theirs := crowded(t)
			before, head := theirs(), strings.TrimSpace(s.Git("rev-parse", "HEAD"))
			s.PlayChild(edit, shim.Config{Timing: quick})
			stream := s.Open("POST", "/design", ask())
			for e := stream.Next(); e == nil || e.Type() != at; e = stream.Next() {
				if e == nil {
					t.Fatal("the stream ended")
				}
			}
			s.Kill()
			stream.Leave()
			s.Play(edit, shim.Config{Timing: quick})
			id := newest(s).ID
			events := reattach(s, id, 0)
			s.Clean()
			r := newest(s)
			if !slices.Contains([]string{"interrupted", "done"}, r.State) {
				t.Errorf("listed as %+v%s", r, shimtest.Words(events))
			}
			now := strings.TrimSpace(s.Git("rev-parse", "HEAD"))
			if (r.SHA == "") != (now == head) || r.SHA != "" && r.SHA != now {
				t.Errorf("HEAD is %s, was %s, the run's commit is %q", now, head, r.SHA)
			}
			if got := theirs(); r.SHA != "" && got != before {
				t.Errorf("work before\n%s\nafter\n%s", before, got)
			}
			if len(r.Files) > 0 {
				undo(s, id)
			}
			if after := theirs(); after != before || !strings.HasPrefix(s.Read("a.txt"), "hello\n") {
				t.Errorf("work before\n%s\nafter\n%s", before, after)
			}
		})
	}
}

// A shim that starts does not take the runs of one that lives for dead.
func TestSecondShimLeavesALivingRunAlone(t *testing.T) {
	s := setup(t, edit, nil)
	fixture, gate := hold(s, edit, 20)
	s.PlayChild(fixture, shim.Config{Timing: quick})
	stream := s.Open("POST", "/design", ask())
	gate.Reached()
	second := s.Beside(s.Repo)
	second.Play(text, shim.Config{Timing: quick})
	if r := newest(second); r.State != "running" {
		t.Errorf("listed as %+v", r)
	}
	refused(second, "POST", "/design", ask(), 409, "busy")
	gate.Open()
	wantWords(t, stream.Rest(), "result, change, commit, done")
	wantWords(t, second.Design(ask()), "result, done")
}

// A shim that only looks whether there is anything to put in order does not
// make another one refuse a request.
func TestStartOfASecondShimIsNotARun(t *testing.T) {
	s := setup(t, text, nil)
	s.Play(text, shim.Config{Timing: quick})
	runs(s) // it has looked itself
	store, err := state.Open(filepath.Join(s.StateHome(), "slidewrite"), s.Repo)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := store.Lock(s.Repo, state.Holder{RunID: state.NewRunID(), StartedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(300*time.Millisecond, lock.Release)
	wantWords(t, s.Design(ask()), "result, done")
}

// Old runs go while a shim works, too: it may not be restarted for months.
func TestOldRunsGoWithoutARestart(t *testing.T) {
	s := setup(t, text, nil)
	s.Start(shim.Config{ClaudeBin: filepath.Join(s.Root, "no-such-claude")})
	runs(s) // what is done at the start is done
	store, err := state.Open(filepath.Join(s.StateHome(), "slidewrite"), s.Repo)
	if err != nil {
		t.Fatal(err)
	}
	old := state.Record{ID: state.NewRunID(), Kind: state.KindDesign, State: state.Done, StartedAt: time.Now().Add(-state.MaxAge - time.Hour)}
	if err := store.Put(old); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(store.JournalPath(old.ID), []byte(`{"type":"done"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ref := "refs/slidewrite/runs/" + old.ID
	s.Git("update-ref", ref, "HEAD^{tree}")
	for range 20 {
		wantWords(t, s.Design(ask()), "error not_found, done")
	}
	if _, err := store.Get(old.ID); !errors.Is(err, state.ErrNoRecord) {
		t.Errorf("the record is still there: %v", err)
	}
	if _, err := os.Stat(store.JournalPath(old.ID)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the journal is still there: %v", err)
	}
	if refs := s.Git("for-each-ref", ref); refs != "" {
		t.Errorf("the ref is still there: %s", refs)
	}
	if list := runs(s); len(list) != 20 {
		t.Errorf("%d runs are listed, want 20", len(list))
	}
}
