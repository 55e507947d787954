package cli

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/event"
)

func rendered(colour bool, events ...event.Event) (*renderer, string) {
	var out bytes.Buffer
	r := &renderer{out: &out, colour: colour}
	for _, e := range events {
		r.event(e)
	}
	return r, out.String()
}

// TestRendering tells a whole run as text.
func TestRendering(t *testing.T) {
	result := "all of it at once"
	r, got := rendered(false,
		event.Note{Message: "retrying in 2 s"},
		event.Start{SessionID: "5e55", Model: "opus", RunID: "r1", Provider: "anthropic"},
		event.ThinkingDelta{Text: "hm", MessageID: "m1"},
		event.Delta{Text: "I will ", MessageID: "m1"},
		event.Delta{Text: "try.", MessageID: "m1"},
		event.DeltaReset{MessageID: "m1"},
		event.Delta{Text: "Looking.", MessageID: "m2"},
		event.Tool{Tool: "Bash", Detail: "npm\n  test", ID: "t1"},
		event.ToolResult{Tool: "Bash", ID: "t1", Text: "exit 1\nnope", IsError: true},
		event.FileEdit{Tool: "Edit", Path: "src/Button.css", ID: "t2"},
		event.ToolResult{Tool: "Edit", ID: "t2", Text: "ok"},
		event.Delta{Text: "Done.\n", MessageID: "m3"},
		event.Result{Result: &result},
		event.Change{Added: 2, Removed: 1, Files: []event.ChangedFile{
			{Path: "src/Button.css", Status: "modified", Added: 2, Removed: 1},
			{Path: "a.png", Status: "added", Binary: true},
			{Path: "notes.txt", Status: "modified", Added: 1, Yours: true},
		}},
		event.Commit{SHA: "1a2b3c4", Count: 2, HooksSkipped: true},
		event.Unknown{Name: "news"},
		event.Done{},
	)
	want := `note: retrying in 2 s
anthropic, opus, session 5e55, run r1
I will try.
(withdrawn: the agent starts this answer over)
Looking.
* Bash npm test
  failed: exit 1 nope
* Edit src/Button.css
Done.
all of it at once
changed 3 files, +2 -1
  modified   src/Button.css  +2 -1
  added      a.png  binary
  modified   notes.txt  +1 -0  (your own edit, left alone)
committed 1a2b3c4 (2 files); the repo's hooks were skipped, --commit-verify runs them
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if r.failed || !r.ended {
		t.Errorf("failed %v, ended %v", r.failed, r.ended)
	}
}

// TestOutcome: the exit code reflects how the run ended.
func TestOutcome(t *testing.T) {
	for _, tc := range []struct {
		name   string
		events []event.Event
		end    error
		want   error  // nil = success
		says   string // part of what was printed
	}{
		{name: "done", events: []event.Event{event.Done{}}, end: io.EOF},
		{name: "failed", events: []event.Event{event.Error{Message: "not signed in", Fix: "claude auth login"}, event.Done{}}, end: io.EOF, want: errSaid, says: "error: not signed in\nfix: claude auth login\n"},
		{name: "stopped", events: []event.Event{event.Stopped{By: "user"}, event.Done{}}, end: io.EOF, want: errSaid, says: "stopped (user)\n"},
		{name: "not committed", events: []event.Event{event.CommitError{Message: "a merge is going on"}, event.Done{}}, end: io.EOF, want: errSaid, says: "error: not committed: a merge is going on\n"},
		{name: "cut", events: []event.Event{event.Delta{Text: "half"}}, end: io.EOF, want: errCut},
		{name: "cut inside a frame", events: []event.Event{event.Delta{Text: "half"}}, end: io.ErrUnexpectedEOF, want: io.ErrUnexpectedEOF},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, out := rendered(false, tc.events...)
			err := r.finish(tc.end)
			if (tc.want == nil) != (err == nil) || (tc.want != nil && !errors.Is(err, tc.want)) {
				t.Errorf("finish = %v, want %v", err, tc.want)
			}
			if !strings.Contains(out, tc.says) {
				t.Errorf("printed %q, want %q in it", out, tc.says)
			}
		})
	}
}

// TestNoControlCharacters: text from pages and files cannot steer the
// terminal.
func TestNoControlCharacters(t *testing.T) {
	_, got := rendered(false,
		event.Delta{Text: "a\x1b]0;title\x07b\x9b2J\rc\td\n"},
		event.FileEdit{Tool: "Edit", Path: "\x1b[2Jx"},
		event.Error{Message: "e\x1b[1m", Fix: "f\x08"},
	)
	if strings.ContainsAny(got, "\x1b\x07\x08\r\u009b") {
		t.Errorf("%q", got)
	}
	if want := "a·]0;title·b·2J·c\td\n"; !strings.HasPrefix(got, want) {
		t.Errorf("%q does not begin with %q", got, want)
	}
}

// TestColours: only where asked for, and each is ended.
func TestColours(t *testing.T) {
	_, got := rendered(true, event.Change{Added: 1, Files: []event.ChangedFile{{Path: "a", Status: "added", Added: 1}}})
	if strings.Count(got, green) != 2 || strings.Count(got, plain) != 4 {
		t.Errorf("%q", got)
	}
}

// TestTerminal: no colours in a file, on a dumb terminal, or under NO_COLOR.
func TestTerminal(t *testing.T) {
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a character device, as a terminal is
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, tc := range []struct {
		environ []string
		w       io.Writer
		want    bool
	}{
		{nil, device, true},
		{[]string{"NO_COLOR="}, device, true},
		{[]string{"NO_COLOR=1"}, device, false},
		{[]string{"TERM=dumb"}, device, false},
		{nil, file, false},
		{nil, io.Discard, false},
	} {
		a := &app{Process: Process{Environ: tc.environ}}
		if got := a.colours(tc.w); got != tc.want {
			t.Errorf("%v %T: %v", tc.environ, tc.w, got)
		}
	}
}

// TestProgress stands on a line of its own and is gone before text comes.
func TestProgress(t *testing.T) {
	var screen bytes.Buffer
	r := &renderer{out: &screen, progress: &progress{w: &screen, began: time.Now()}}
	r.progress.draw(r)
	r.event(event.Delta{Text: "half a line"})
	r.progress.draw(r) // the line is not finished: nothing may be drawn
	r.event(event.Done{})
	want := "\r\x1b[K0 s, 0 tokens; Ctrl-C stops the run\r\x1b[Khalf a line\n"
	if screen.String() != want {
		t.Errorf("got %q, want %q", screen.String(), want)
	}
}
