package shim_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/shimtest"
	"github.com/slidewrite/slidewrite/shim/state"
)

// ownPath is a path in the repository's own part of the state directory.
func ownPath(s *shimtest.Stage, path ...string) string {
	s.T.Helper()
	journal := storeOf(s, s.Repo).JournalPath(state.NewRunID())
	return filepath.Join(append([]string{filepath.Dir(filepath.Dir(journal))}, path...)...)
}

// breakLedger makes that no record can be written, also by root; mend makes
// it as it was.
func breakLedger(s *shimtest.Stage) (mend func()) {
	s.T.Helper()
	if runtime.GOOS == "windows" {
		s.T.Skip("a folder in use cannot be moved away")
	}
	runs := ownPath(s, "runs")
	if err := os.Rename(runs, runs+".away"); err != nil {
		s.T.Fatal(err)
	}
	if err := os.WriteFile(runs, nil, 0o600); err != nil {
		s.T.Fatal(err)
	}
	return func() {
		s.T.Helper()
		if err := os.Remove(runs); err != nil {
			s.T.Fatal(err)
		}
		if err := os.Rename(runs+".away", runs); err != nil {
			s.T.Fatal(err)
		}
	}
}

// makes is a variant whose runs each make a new file, made-0.txt and so on, and
// then hold at a gate. The first one also spoils the index, if it should.
func makes(s *shimtest.Stage, spoil bool) (string, *shimtest.Gate) {
	s.T.Helper()
	script := `n=0; while [ -e made-$n.txt ]; do n=$((n+1)); done; echo new > made-$n.txt; `
	if spoil {
		script += `[ -e made-1.txt ] || { cp .git/index ../index; echo spoilt > .git/index; }; `
	}
	gate := s.Gate("made")
	return s.Variant(bashSed, func(f *fakeagents.Fixture) { // its one effect is that of its shell
		f.Effects = []fakeagents.Effect{{After: f.Effects[0].After, Run: []string{"sh", "-c", script + gate.Script()}}}
	}), gate
}

// unspoil brings back the index that makes spoilt.
func unspoil(s *shimtest.Stage) {
	s.T.Helper()
	good, err := os.ReadFile(filepath.Join(s.Root, "index"))
	if err != nil {
		s.T.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Repo, ".git", "index"), good, 0o644); err != nil {
		s.T.Fatal(err)
	}
}

// made wants the files of made runs to be there, and no others.
func made(s *shimtest.Stage, want string) {
	s.T.Helper()
	found, err := filepath.Glob(filepath.Join(s.Repo, "made-*.txt"))
	if err != nil {
		s.T.Fatal(err)
	}
	var names []string
	for _, path := range found {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "made-"), ".txt"))
	}
	if got := strings.Join(names, " "); got != want {
		s.T.Errorf("files made-N.txt are there for N = %q, want %q", got, want)
	}
}

// unnoted plays one run of which nothing could be noted from the agent's edit
// on.
func unnoted(t *testing.T, spoil bool) (s *shimtest.Stage, id string, events []event.Event) {
	t.Helper()
	s = setup(t, text, nil)
	fixture, gate := makes(s, spoil)
	s.Play(fixture, shim.Config{Timing: quick})
	stream := s.Open("POST", "/design", ask())
	id = shimtest.Until[event.Start](stream).RunID
	gate.Reached()
	mend := breakLedger(s)
	gate.Open()
	events = stream.Rest()
	refused(s, "GET", "/runs", nil, 500, "internal")
	mend()
	return s, id, events
}

// A run whose end could not be noted has ended all the same.
func TestEndThatCouldNotBeNoted(t *testing.T) {
	s, id, events := unnoted(t, false)
	wantWords(t, events, "result, change, commit_error, done")
	for _, when := range []string{"before", "after"} {
		r := newest(s)
		if r.ID != id || r.State != "done" || r.EndedAt == nil || !r.Undoable || len(r.Files) != 1 {
			t.Errorf("%s a restart listed as %+v", when, r)
		}
		var stopped struct{ State string }
		if s.JSON("POST", "/runs/"+id+"/stop", nil, &stopped); stopped.State != "done" {
			t.Errorf("stop says %q", stopped.State)
		}
		s.Stop()
		s.Play(text, shim.Config{Timing: quick})
	}
	undo(s, id)
	made(s, "")
	s.Clean()
}

// Where the disk was full the second snapshot fails, too: when there is room
// again the run can be taken back, at once and after another run.
func TestUndoOfARunThatEndedUnknown(t *testing.T) {
	for _, next := range []string{"undo", "design", "design, kill"} {
		t.Run(next, func(t *testing.T) {
			s, id, events := unnoted(t, true)
			wantWords(t, events, "result, error internal, done")
			unspoil(s)
			left := ""
			if next != "undo" {
				wantWords(t, s.Design(ask()), "result, change, commit, done")
				left = "1"
				made(s, "0 1")
			}
			if next == "design, kill" {
				s.Stop()
				s.Play(text, shim.Config{Timing: quick})
			}
			undo(s, id)
			made(s, left)
			if got := s.Git("status", "--porcelain"); got != "" {
				t.Errorf("status %q", got)
			}
			s.Clean()
		})
	}
}

// What an earlier run changed is found out before the next one commits: the
// user may wait for days with the undo, and the shim be another one by then.
func TestEarlierRunIsSettledBeforeTheNext(t *testing.T) {
	s := setup(t, text, nil)
	fixture, gate := makes(s, true)
	gate.Open()
	s.Play(fixture, shim.Config{Timing: quick})
	wantWords(t, s.Design(ask()), "result, error internal, done")
	id := newest(s).ID
	s.Stop()
	unspoil(s)
	s.Play(fixture, shim.Config{Timing: quick})
	wantWords(t, s.Design(ask()), "result, change, commit, done")
	if r := runs(s)[1]; r.ID != id || r.State != "failed" || len(r.Files) != 1 || r.Files[0] != "made-0.txt" {
		t.Errorf("listed as %+v", r)
	}
	undo(s, id)
	made(s, "1")
}

// An undo that could not be noted is not offered again.
func TestUndoThatCouldNotBeNoted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("shell scripts as programs")
	}
	s := setup(t, edit, nil)
	s.Play(edit, shim.Config{Timing: quick})
	s.Design(ask())
	id := newest(s).ID
	gate := signer(s)
	answered := make(chan int, 1)
	go func() { answered <- s.JSON("POST", "/runs/"+id+"/undo", nil, nil) }()
	gate.Reached() // the files are taken back, the commit waits
	mend := breakLedger(s)
	unsign(s, gate)
	if status := <-answered; status != 200 {
		t.Errorf("undo: %d", status)
	}
	mend()
	list := runs(s)
	if len(list) != 2 || list[0].Kind != "undo" || list[0].State != "done" || !list[1].Undone || list[1].Undoable {
		t.Errorf("runs %+v", list)
	}
	s.Stop()
	s.Play(edit, shim.Config{Timing: quick})
	if list := runs(s); len(list) != 2 || list[0].State != "done" || !list[1].Undone {
		t.Errorf("after a restart: %+v", list)
	}
}

// A run that was forgotten does not come back because its end was owed.
func TestForgottenRunIsNotNotedLater(t *testing.T) {
	s, id, _ := unnoted(t, false)
	if err := os.Remove(ownPath(s, "runs", id+".json")); err != nil {
		t.Fatal(err)
	}
	if list := runs(s); len(list) != 0 {
		t.Errorf("listed: %+v", list)
	}
	refused(s, "POST", "/runs/"+id+"/undo", nil, 404, "not_found")
}

// A shim that dies beside one that lives: the living one closes its run.
func TestRunOfAShimThatDiedBesideALivingOne(t *testing.T) {
	s := setup(t, edit, nil)
	s.Play(text, shim.Config{Timing: quick})
	runs(s) // it has put in order what there was
	second := s.Beside(s.Repo)
	second.PlayChild(edit, shim.Config{}, "hang=48", stubborn)
	stream := second.Open("POST", "/design", ask("detach", true))
	for shimtest.Until[event.ToolResult](stream).Tool != "Edit" {
	}
	id := newest(s).ID
	attached := s.Open("GET", "/runs/"+id+"/events", nil) // while it is on
	shimtest.Until[event.ToolResult](attached)
	second.Kill()
	stream.Leave()
	wantWords(t, attached.Rest(), "error crashed, change, done")
	interrupted(s, id, 0, "error crashed, change, done")
	undo(s, id)
	if got := s.Read("a.txt"); !strings.HasPrefix(got, "hello") {
		t.Errorf("a.txt is %q", got)
	}
}

// A run that was cut short and cannot be put in order is no reason to say
// that there is none.
func TestRecoveryThatFailsIsSaid(t *testing.T) {
	s, id := killedAfterTheEdit(t)
	note := ownPath(s, "holder.json")
	if err := os.RemoveAll(note); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(note, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Play(edit, shim.Config{Timing: quick})
	if f := refused(s, "GET", "/runs", nil, 500, "internal"); !strings.Contains(f.Error, "cut short") {
		t.Errorf("%+v", f)
	}
	if err := os.RemoveAll(note); err != nil {
		t.Fatal(err)
	}
	interrupted(s, id, 0, "error crashed, change, done")
	undo(s, id)
}

// An agent that makes .git anew takes our snapshots along: that is said in
// plain words, and no fix is named that cannot work.
func TestRepositoryMadeAnewDuringARun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("shell scripts as programs")
	}
	for name, script := range map[string]string{
		"with a commit": `rm -rf .git; git init -q -b main; git add -A; git -c user.name=a -c user.email=a@example.invalid commit -q -m anew`,
		"empty":         `rm -rf .git; git init -q -b main`,
	} {
		t.Run(name, func(t *testing.T) { madeAnew(t, script) })
	}
}

func madeAnew(t *testing.T, script string) {
	s := setup(t, edit, nil)
	fixture := s.Variant(edit, func(f *fakeagents.Fixture) {
		f.Effects = append(f.Effects, fakeagents.Effect{After: 50, Run: []string{"sh", "-c", script}})
	})
	s.Play(fixture, shim.Config{Timing: quick})
	events := s.Design(ask())
	wantWords(t, events, "result, error internal, done")
	e := shimtest.One[event.Error](t, events)
	f := refused(s, "POST", "/runs/"+newest(s).ID+"/undo", nil, 410, "gone")
	for _, said := range []struct{ text, fix string }{{e.Message, e.Fix}, {f.Error, f.Fix}} {
		if !strings.Contains(said.text, "no longer in the repository") || strings.Contains(said.text, "diff-tree") ||
			strings.Contains(said.text, "fatal") || said.fix == "" || strings.Contains(said.fix, "undo") {
			t.Errorf("said: %+v", said)
		}
	}
	s.Clean()
}

// A client that has seen more than the journal still holds is told everything:
// it must get to done.
func TestAttachPastTheEnd(t *testing.T) {
	s := setup(t, edit, nil)
	fixture, gate := hold(s, edit, 20)
	s.Play(fixture, shim.Config{Timing: quick})
	stream := s.Open("POST", "/design", ask())
	id := shimtest.Until[event.Start](stream).RunID
	gate.Reached()
	req := s.Request(context.Background(), "GET", "/runs/"+id+"/events", nil)
	req.Header.Set("Last-Event-ID", "999999")
	again := s.Follow(req)
	shimtest.Until[event.Start](again)
	gate.Open()
	wantWords(t, again.Rest(), "result, change, commit, done")
	whole := stream.Rest()
	if len(again.Events) != len(whole) {
		t.Errorf("%d events of %d", len(again.Events), len(whole))
	}
	if got := words(reattach(s, id, 999999)); got != "result, change, commit, done" {
		t.Errorf("after the end: %q", got)
	}
	s.Stop()
	path := storeOf(s, s.Repo).JournalPath(id)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	kept := strings.Join(strings.SplitAfter(string(data), "\n")[:5], "")
	if err := os.WriteFile(path, []byte(kept), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Play(edit, shim.Config{Timing: quick})
	if events := reattach(s, id, stream.Last); len(events) != 6 || words(events) != "done" {
		t.Errorf("a truncated journal gives %d events%s", len(events), shimtest.Words(events))
	}
}
