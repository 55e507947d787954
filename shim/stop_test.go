package shim_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// stop stops the run that is going on.
func stop(s *shimtest.Stage) {
	s.T.Helper()
	var reply struct{ ID, State string }
	if status := s.JSON("POST", "/runs/"+newest(s).ID+"/stop", nil, &reply); status != 200 || reply.State != "stopping" {
		s.T.Fatalf("stop: %d %+v", status, reply)
	}
}

// edited waits until the agent has edited a file.
func edited(st *shimtest.Stream) {
	id := shimtest.Until[event.FileEdit](st).ID
	for shimtest.Until[event.ToolResult](st).ID != id {
	}
}

// swept is when nothing of a stopped run is left (5 s), and what a busy
// machine may add.
const swept = 8 * time.Second

func TestStop(t *testing.T) {
	const stubborn = ",ignore_signals=1,ignore_close=1"
	delta := func(_ *shimtest.Stage, st *shimtest.Stream) { shimtest.Until[event.Delta](st) }
	tool := func(_ *shimtest.Stage, st *shimtest.Stream) { shimtest.Until[event.Tool](st) }
	result := func(_ *shimtest.Stage, st *shimtest.Stream) { edited(st) }
	prompted := func(s *shimtest.Stage, _ *shimtest.Stream) {
		shimtest.Await(s.T, "the prompt", func() bool { return len(s.Prompts()) > 0 })
	}
	greeted := func(s *shimtest.Stage, _ *shimtest.Stream) {
		shimtest.Await(s.T, "initialize", func() bool {
			for _, e := range s.Agents() {
				if strings.Contains(e.Stdin, "initialize") {
					return true
				}
			}
			return false
		})
	}
	for _, tt := range []struct {
		name, fixture, knobs string
		when                 func(*shimtest.Stage, *shimtest.Stream)
		want                 string
	}{
		{"in the middle of text", edit, "hang=17", delta, "stopped user, done"},
		{"in the middle of a command", bashSed, "hang=20", tool, "stopped user, done"},
		{"before the first line", edit, "hang=first", prompted, "stopped user, done"},
		{"during initialize", edit, "hang=initialize", greeted, "stopped user, done"},
		{"after the edit", edit, "hang=48", result, "stopped user, change, done"},
		{"a stubborn agent", edit, "hang=48" + stubborn, result, "stopped user, change, done"},
		{"a stubborn agent during initialize", edit, "hang=initialize" + stubborn, greeted, "stopped user, done"},

		{"codex in the middle of text", codexEdit, "hang=4", delta, "stopped user, done"},
		{"codex in the middle of a command", openai.fixtures + "bash-sed", "hang=4", tool, "stopped user, done"},
		{"codex before the first line", codexEdit, "hang=first", prompted, "stopped user, done"},
		{"codex after the edit", codexEdit, "hang=9", result, "stopped user, change, done"},
		{"a stubborn codex", codexEdit, "hang=9" + stubborn, result, "stopped user, change, done"},

		{"grok in the middle of text", grokEdit, "hang=5", delta, "stopped user, done"},
		{"grok in the middle of a command", xai.fixtures + "command-edits", "hang=5", tool, "stopped user, done"},
		{"grok before the first line", grokEdit, "hang=first", prompted, "stopped user, done"},
		{"grok after the edit", grokEdit, "hang=13", result, "stopped user, change, done"},
		{"a stubborn grok", grokEdit, "hang=13" + stubborn, result, "stopped user, change, done"},
	} {
		if !sampled(tt.name) {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			s := setup(t, tt.fixture, nil)
			s.Write("b.txt", "mine\n")
			before, head := s.Read("a.txt"), s.Git("rev-parse", "HEAD")
			s.Play(tt.fixture, shim.Config{Timing: quick}, tt.knobs)
			asked := time.Now()
			stream := s.Open("POST", "/design", askFor(tt.fixture))
			tt.when(s, stream)
			busy := time.Since(asked) // as long as this machine takes for anything at the moment
			stop(s)
			begin := time.Now()
			events := stream.Rest()
			if took := time.Since(begin); took > swept+busy {
				t.Errorf("done came %v after the stop", took)
			}
			if got := strings.TrimPrefix(words(events), "result, "); got != tt.want {
				t.Fatalf("the run went %q, want %q%s", got, tt.want, shimtest.Words(events))
			}
			s.Clean()
			if s.Git("rev-parse", "HEAD") != head {
				t.Error("a stopped run was committed")
			}
			r := newest(s)
			if r.State != "stopped" {
				t.Errorf("listed as %+v", r)
			}
			if strings.Contains(tt.want, "change") {
				undo(s, r.ID)
			}
			if s.Read("a.txt") != before || s.Read("b.txt") != "mine\n" {
				t.Error("the files are not as they were before the run")
			}
			// The lock is free.
			refused(s, "POST", "/runs/"+r.ID+"/undo", nil, 409, "conflict")
		})
	}
}

func TestStopOfARunThatHasEnded(t *testing.T) {
	s := setup(t, text, nil)
	s.Play(text, shim.Config{Timing: quick})
	s.Design(ask())
	var reply struct{ ID, State string }
	if status := s.JSON("POST", "/runs/"+newest(s).ID+"/stop", nil, &reply); status != 200 || reply.State != "done" {
		t.Errorf("stop: %d %+v", status, reply)
	}
	if got := newest(s).State; got != "done" {
		t.Errorf("state %q", got)
	}
}

// A stop that arrives during the commit is too late: the commit completes and
// the run is done, not stopped.
func TestStopDuringTheCommitIsTooLate(t *testing.T) {
	s := setup(t, edit, nil)
	gate := hook(s)
	s.Play(edit, shim.Config{Timing: quick, CommitVerify: true})
	stream := s.Open("POST", "/design", ask())
	gate.Reached()
	stop(s)
	gate.Open()
	wantWords(t, stream.Rest(), "result, change, commit, done")
	if r := newest(s); r.State != "done" || r.SHA == "" {
		t.Errorf("listed as %+v", r)
	}
	s.Clean()
}

// hook makes a pre-commit hook that stands at a gate.
func hook(s *shimtest.Stage) *shimtest.Gate {
	s.T.Helper()
	gate := s.Gate("pre-commit")
	path := filepath.Join(s.Repo, ".git", "hooks", "pre-commit")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+gate.Script()+"\n"), 0o755); err != nil {
		s.T.Fatal(err)
	}
	return gate
}

func TestClientThatLeaves(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		fixture := d.fixtures + "edit"
		s := setup(t, fixture, nil)
		s.Play(fixture, shim.Config{Timing: quick}, fmt.Sprintf("hang=%d", editedAt[d.name]+1))
		stream := s.Open("POST", "/design", askFor(fixture))
		shimtest.Until[event.Start](stream)
		stream.Leave()
		shimtest.Await(t, "the run stopped", func() bool { return newest(s).State == "stopped" })
		events := s.Open("GET", "/runs/"+newest(s).ID+"/events", nil).Rest()
		if by := shimtest.One[event.Stopped](t, events).By; by != "disconnect" {
			t.Errorf("stopped by %q", by)
		}
		s.Clean()
	})
}

func TestClientThatComesBackWithinTheGrace(t *testing.T) {
	s := setup(t, edit, nil)
	fixture, gate := hold(s, edit, 20)
	timing := quick
	timing.Grace = 2 * time.Second
	s.Play(fixture, shim.Config{Timing: timing})
	stream := s.Open("POST", "/design", ask())
	shimtest.Until[event.Start](stream)
	gate.Reached()
	stream.Leave()
	left := time.Now()
	again := s.Open("GET", "/runs/"+newest(s).ID+"/events", nil)
	shimtest.Until[event.Start](again)
	shimtest.Await(t, "the grace is over", func() bool { return time.Since(left) > timing.Grace+300*time.Millisecond })
	gate.Open()
	wantWords(t, again.Rest(), "result, change, commit, done")
}

func TestDetachedRunSurvivesItsClient(t *testing.T) {
	s := setup(t, edit, nil)
	fixture, gate := hold(s, edit, 20)
	timing := quick
	timing.Grace = time.Millisecond
	s.Play(fixture, shim.Config{Timing: timing})
	stream := s.Open("POST", "/design", ask("detach", true))
	shimtest.Until[event.Start](stream)
	gate.Reached()
	stream.Leave()
	gate.Open()
	shimtest.Await(t, "the run is done", func() bool { return newest(s).State == "done" })
	wantWords(t, s.Open("GET", "/runs/"+newest(s).ID+"/events", nil).Rest(), "result, change, commit, done")
}

// Re-attaching behind any event gives exactly the rest: during the run, after
// it, and from a new shim.
func TestReattachAnywhere(t *testing.T) {
	s := setup(t, edit, nil)
	fixture, gate := hold(s, edit, 47)
	s.Play(fixture, shim.Config{Timing: quick})
	stream := s.Open("POST", "/design", ask())
	gate.Reached()
	target := "/runs/" + newest(s).ID + "/events"
	live := make([]chan string, 8)
	for len(stream.Events) < 2*len(live) { // what the clients say that they have seen
		stream.Next()
	}
	for i := range live {
		live[i] = make(chan string, 1)
		go func() {
			status, body := get(s, target, http.Header{"Last-Event-Id": {fmt.Sprint(i * 2)}})
			if status != 200 {
				t.Errorf("re-attach: %d", status)
			}
			live[i] <- body
		}()
	}
	gate.Open()
	events := stream.Rest()
	_, whole := get(s, target, nil)
	frames := strings.SplitAfter(strings.TrimSuffix(whole, "\n\n"), "\n\n")
	if len(frames) != len(events) {
		t.Fatalf("%d frames replayed, %d events seen", len(frames), len(events))
	}
	rest := func(after int) string { return strings.Join(frames[after:], "") }
	for i, body := range live {
		if got := strings.TrimSuffix(<-body, "\n\n"); got != rest(i*2) {
			t.Errorf("live, behind %d:\n%s\nwant\n%s", i*2, got, rest(i*2))
		}
	}
	everywhere := func(when string) {
		for after := range len(frames) + 1 {
			_, body := get(s, target, http.Header{"Last-Event-Id": {fmt.Sprint(after)}})
			if got := strings.TrimSuffix(body, "\n\n"); got != rest(after) {
				t.Errorf("%s, behind %d:\n%s\nwant\n%s", when, after, got, rest(after))
			}
		}
	}
	everywhere("after the end")
	s.Stop()
	s.Play(fixture, shim.Config{Timing: quick})
	everywhere("from a new shim")
	if _, body := get(s, target+"?after=3", nil); strings.TrimSuffix(body, "\n\n") != rest(3) {
		t.Errorf("?after=3: %s", body)
	}
}

// Shutting down stops the run, and the client hears it to the end.
func TestShutdownDuringARun(t *testing.T) {
	s := setup(t, edit, nil)
	s.Play(edit, shim.Config{Timing: quick}, "hang=48")
	stream := s.Open("POST", "/design", ask("detach", true))
	for shimtest.Until[event.ToolResult](stream).Tool != "Edit" {
	}
	go s.Stop()
	events := stream.Rest()
	if got := strings.TrimPrefix(words(events), "result, "); got != "stopped shutdown, change, done" {
		t.Fatalf("the run went %q", got)
	}
	s.Stop() // waits for the one above
	s.Clean()
	s.Play(edit, shim.Config{Timing: quick})
	undo(s, newest(s).ID)
	if got := s.Read("a.txt"); got != "hello\nsecond line\n" {
		t.Errorf("a.txt is %q", got)
	}
}

func TestBusy(t *testing.T) {
	s := setup(t, edit, nil)
	fixture, gate := hold(s, edit, 20)
	s.Play(fixture, shim.Config{Timing: quick})
	second := s.Beside(s.Repo)
	second.Play(edit, shim.Config{Timing: quick})
	other := s.Beside(filepath.Join(s.Root, "another"))
	if err := os.Mkdir(other.Repo, 0o700); err != nil {
		t.Fatal(err)
	}
	other.Fixture(grokEdit)
	other.Play(grokEdit, shim.Config{Timing: quick})

	stream := s.Open("POST", "/design", ask("prompt", "the first one"))
	start := shimtest.Until[event.Start](stream)
	gate.Reached()
	for name, shim := range map[string]*shimtest.Stage{"the same shim": s, "a second shim": second} {
		for _, d := range drivers {
			f := refused(shim, "POST", "/design", ask("provider", d.provider), 409, "busy")
			if f.Run.ID != start.RunID || f.Run.Prompt != "the first one" || time.Since(f.Run.StartedAt) > time.Minute || f.Fix == "" {
				t.Errorf("%s says %+v", name, f)
			}
		}
		refused(shim, "POST", "/runs/"+start.RunID+"/undo", nil, 409, "busy")
	}
	wantWords(t, other.Design(askFor(grokEdit)), "result, change, commit, done")
	// The second shim cannot stop the run of the first one and says so; it
	// shows its events as they come.
	f := refused(second, "POST", "/runs/"+start.RunID+"/stop", nil, 409, "conflict")
	if !strings.Contains(f.Error, "another slidewrite") || f.Fix == "" {
		t.Errorf("%+v", f)
	}
	beside := second.Open("GET", "/runs/"+start.RunID+"/events", nil)
	shimtest.Until[event.Start](beside)
	gate.Open()
	wantWords(t, beside.Rest(), "result, change, commit, done")
	wantWords(t, stream.Rest(), "result, change, commit, done")
	// It can undo the run when that has ended.
	undo(second, start.RunID)
	if got := s.Read("a.txt"); got != "hello\nsecond line\n" {
		t.Errorf("a.txt is %q", got)
	}
	if got := runs(s); len(got) != 2 || !got[1].Undone {
		t.Errorf("runs %+v", got)
	}
}

// Who has seen done can start the next run, always.
func TestNextRunRightAfterDone(t *testing.T) {
	s := setup(t, text, nil)
	s.Play(text, shim.Config{Timing: quick})
	for range 8 {
		wantWords(t, s.Design(ask()), "result, done")
	}
}

// --run-timeout: a run is stopped that long after its start, says which limit
// it was, and is like any other stopped run.
func TestRunTimeout(t *testing.T) {
	for _, hang := range []string{"initialize", "first", "48" + ",ignore_signals=1,ignore_close=1"} {
		t.Run(hang, func(t *testing.T) {
			s := setup(t, edit, nil)
			head := s.Git("rev-parse", "HEAD")
			s.Play(edit, shim.Config{Timing: quick, RunTimeout: time.Second}, "hang="+hang)
			events := s.Design(ask())
			want := "stopped timeout, done"
			if strings.HasPrefix(s.Read("a.txt"), "goodbye") {
				want = "stopped timeout, change, done"
			} else if strings.HasPrefix(hang, "48") {
				t.Log("this machine was too slow for the edit")
			}
			if got := strings.TrimPrefix(words(events), "result, "); got != want {
				t.Fatalf("the run went %q, want %q%s", got, want, shimtest.Words(events))
			}
			if n := note(t, events, "timeout"); !strings.Contains(n.Message, "1s") || !strings.Contains(n.Message, "--run-timeout") {
				t.Errorf("note %q", n.Message)
			}
			r := newest(s)
			if took := r.EndedAt.Sub(r.StartedAt); r.State != "stopped" || took < time.Second {
				t.Errorf("listed as %+v", r)
			}
			if s.Git("rev-parse", "HEAD") != head {
				t.Error("a stopped run was committed")
			}
			if strings.Contains(want, "change") {
				undo(s, r.ID)
			}
			if got := s.Read("a.txt"); got != "hello\nsecond line\n" {
				t.Errorf("a.txt is %q", got)
			}
			s.Clean()
		})
	}
}

func TestRunThatEndsInTimeIsNotStopped(t *testing.T) {
	s := setup(t, edit, nil)
	s.Play(edit, shim.Config{Timing: quick, RunTimeout: time.Minute})
	wantWords(t, s.Design(ask()), "result, change, commit, done")
}

// A stop that comes together with the limit: one of the two counts.
func TestStopRacesTheRunTimeout(t *testing.T) {
	const limit = 300 * time.Millisecond
	for _, at := range []time.Duration{limit - 10*time.Millisecond, limit, limit + 10*time.Millisecond} {
		t.Run(at.String(), func(t *testing.T) {
			s := setup(t, text, nil)
			s.Play(text, shim.Config{Timing: quick, RunTimeout: limit}, "hang=first")
			stream := s.Open("POST", "/design", ask())
			id := newest(s).ID
			time.Sleep(at) // what is raced is a clock
			s.JSON("POST", "/runs/"+id+"/stop", nil, nil)
			events := stream.Rest()
			by := shimtest.One[event.Stopped](t, events).By
			if by != "user" && by != "timeout" {
				t.Errorf("stopped by %q", by)
			}
			// Interrupted, claude may get to say a result before it is ended.
			if got := words(events); strings.TrimPrefix(got, "result, ") != "stopped "+by+", done" {
				t.Errorf("the run went %q%s", got, shimtest.Words(events))
			}
			if by == "timeout" {
				note(t, events, "timeout")
			} else if notes := shimtest.All[event.Note](events); len(notes) > 0 {
				t.Errorf("notes %+v", notes)
			}
			s.Clean()
		})
	}
}
