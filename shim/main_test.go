package shim_test

import (
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

func TestMain(m *testing.M) {
	// Most of a test's time here is waiting for processes.
	if err := flag.Set("test.parallel", "10"); err != nil {
		panic(err)
	}
	shimtest.Main(m)
}

// Fixtures that the tests play. edit replaces hello by goodbye in a.txt after
// line 47 of 60: Read is open from 25 to 29, Edit from 43 to 47.
const (
	edit      = "claude/real/2.1.332/edit"
	text      = "claude/real/2.1.332/text"
	bashSed   = "claude/real/2.1.332/bash-sed"
	multiFile = "claude/real/2.1.332/multi-file"
)

// quick is what a test waits where a person has time.
var quick = shim.Timing{Grace: 50 * time.Millisecond, Stray: 50 * time.Millisecond}

// setup lays out a fixture's repository, with files written over it, and
// commits it.
func setup(t *testing.T, fixture string, files map[string]string) *shimtest.Stage {
	t.Helper()
	t.Parallel()
	s := shimtest.New(t)
	s.Lay(fixture)
	for path, data := range files {
		s.Write(path, data)
	}
	s.Commit()
	return s
}

// ask is the body of a plain request.
func ask(more ...any) map[string]any {
	body := map[string]any{"prompt": "Change hello to goodbye in a.txt."}
	for i := 0; i+1 < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return body
}

// fault is the body of a refusal.
type fault struct {
	Error, Code, Fix string
	Files            []string
	Run              struct {
		ID, Prompt string
		StartedAt  time.Time
	}
}

// runs lists the runs, newest first.
func runs(s *shimtest.Stage) []run.Summary {
	s.T.Helper()
	var list struct{ Runs []run.Summary }
	if status := s.JSON("GET", "/runs", nil, &list); status != 200 {
		s.T.Fatalf("GET /runs: %d", status)
	}
	return list.Runs
}

// newest is the run started last.
func newest(s *shimtest.Stage) run.Summary {
	s.T.Helper()
	list := runs(s)
	if len(list) == 0 {
		s.T.Fatal("no run is listed")
	}
	return list[0]
}

// undo undoes a run and wants success.
func undo(s *shimtest.Stage, id string) run.UndoReply {
	s.T.Helper()
	var reply struct {
		run.UndoReply
		Error string
	}
	if status := s.JSON("POST", "/runs/"+id+"/undo", nil, &reply); status != 200 {
		s.T.Fatalf("undo: %d %s", status, reply.Error)
	}
	return reply.UndoReply
}

// refused sends a request and wants it refused.
func refused(s *shimtest.Stage, method, path string, body any, status int, code string) fault {
	s.T.Helper()
	var f fault
	if got := s.JSON(method, path, body, &f); got != status || f.Code != code {
		s.T.Fatalf("%s %s: %d %s (%s), want %d %s", method, path, got, f.Code, f.Error, status, code)
	}
	return f
}

// diffOf reads a run's change as a diff.
func diffOf(s *shimtest.Stage, id, path string) run.DiffReply {
	s.T.Helper()
	var reply run.DiffReply
	target := "/runs/" + id + "/diff"
	if path != "" {
		target += "?path=" + url.QueryEscape(path)
	}
	if status := s.JSON("GET", target, nil, &reply); status != 200 {
		s.T.Fatalf("GET %s: %d", target, status)
	}
	return reply
}

// lines is what git diff shows but for line numbers, object ids and context.
func lines(diff string) string {
	var kept []string
	for line := range strings.SplitSeq(diff, "\n") {
		if line != "" && !strings.HasPrefix(line, "@@") && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "index ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// work is all that the user has not committed, as the user sees it.
func work(s *shimtest.Stage) string {
	s.T.Helper()
	return "unstaged\n" + lines(s.Git("diff")) + "\nstaged\n" + lines(s.Git("diff", "--cached")) +
		"\nuntracked\n" + s.Git("ls-files", "--others", "--exclude-standard")
}

// words counts the events of each type that say how a run went.
func words(events []event.Event) string {
	var said []string
	for _, e := range events {
		switch e := e.(type) {
		case event.Result, event.Change, event.Commit, event.CommitError, event.Done:
			said = append(said, e.Type())
		case event.Error:
			said = append(said, "error "+e.Code)
		case event.Stopped:
			said = append(said, "stopped "+e.By)
		}
	}
	return strings.Join(said, ", ")
}

func wantWords(t *testing.T, events []event.Event, want string) {
	t.Helper()
	if got := words(events); got != want {
		t.Fatalf("the run went %q, want %q%s", got, want, shimtest.Words(events))
	}
}

// note returns the note of a code.
func note(t *testing.T, events []event.Event, code string) event.Note {
	t.Helper()
	var found []event.Note
	for _, n := range shimtest.All[event.Note](events) {
		if n.Code == code {
			found = append(found, n)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d notes %s, want one%s", len(found), code, shimtest.Words(events))
	}
	return found[0]
}

// paths are the paths of a change.
func paths(c event.Change) []string {
	var names []string
	for _, f := range c.Files {
		names = append(names, f.Path)
	}
	return names
}

func wantPaths(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("paths %q, want %q", got, want)
	}
}

// get is a request whose answer is not JSON.
func get(s *shimtest.Stage, path string, header http.Header) (int, string) {
	s.T.Helper()
	req := s.Request(s.T.Context(), "GET", path, nil)
	for name := range header {
		req.Header.Set(name, header.Get(name))
	}
	res := s.Do(req)
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.T.Fatal(err)
	}
	return res.StatusCode, strings.ReplaceAll(string(b), ": ping\n\n", "") // there is one when the machine is slow
}

// numbered is a file of n lines, "line 1" …
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

// hold makes a variant of a fixture that stops at a gate after n lines.
func hold(s *shimtest.Stage, fixture string, n int) (string, *shimtest.Gate) {
	s.T.Helper()
	g := s.Gate(fmt.Sprintf("gate-%d", n))
	return s.Variant(fixture, func(f *fakeagents.Fixture) {
		f.Effects = append(f.Effects, g.After(n))
	}), g
}

// sampled tells whether a row of a table is tried: all are, but with -short,
// which the round with the race detector has, only a third.
func sampled(name string) bool {
	return !testing.Short() || crc32.ChecksumIEEE([]byte(name))%3 == 0
}
