package shim_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/shimtest"
	"github.com/slidewrite/slidewrite/shim/state"
)

// storeOf is the state of the repository in dir as another process opens it.
func storeOf(s *shimtest.Stage, dir string) *state.Store {
	s.T.Helper()
	store, err := state.Open(filepath.Join(s.StateHome(), "slidewrite"), dir)
	if err != nil {
		s.T.Fatal(err)
	}
	return store
}

// forget wipes the repository in dir as another process does.
func forget(s *shimtest.Stage, dir string, extra ...string) (run.Forgotten, error) {
	s.T.Helper()
	m := run.NewManager(run.Options{Dir: dir, Store: storeOf(s, dir), Environ: s.Environ(extra...)})
	return m.Forget(context.Background())
}

func wantForgotten(s *shimtest.Stage, dir string, runs, refs int) {
	s.T.Helper()
	f, err := forget(s, dir)
	if err != nil || f.Runs != runs || f.Refs != refs {
		s.T.Fatalf("%+v, %v; want %d runs and %d refs", f, err, runs, refs)
	}
}

// runRefs are the refs of runs in the repository.
func runRefs(s *shimtest.Stage) []string {
	s.T.Helper()
	return strings.Fields(s.Git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/slidewrite"))
}

// noTrace wants the text nowhere in the state directory.
func noTrace(s *shimtest.Stage, text string) {
	s.T.Helper()
	err := filepath.WalkDir(s.StateHome(), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), text) {
			s.T.Errorf("%s still has %q", path, text)
		}
		return err
	})
	if err != nil {
		s.T.Fatal(err)
	}
}

// everything is the user's side of a repository, byte for byte.
func everything(s *shimtest.Stage) string {
	s.T.Helper()
	var b strings.Builder
	b.WriteString(s.Git("for-each-ref", "refs/heads", "refs/tags") + s.Git("rev-parse", "HEAD") + s.Git("ls-files", "--stage"))
	for _, p := range strings.Fields(s.Git("ls-files", "--cached", "--others")) {
		fmt.Fprintf(&b, "%s\n%s\n", p, s.Read(p))
	}
	return b.String()
}

// A shim that has run and now idles serves nothing of what was wiped, although
// it had it in memory, and goes on working.
func TestForgetWhileAShimServes(t *testing.T) {
	s, theirs := crowded(t)
	s.Play(edit, shim.Config{Timing: quick})
	s.Design(ask())
	first := newest(s).ID
	second := undo(s, first).ID
	before, user := everything(s), theirs()
	wantForgotten(s, s.Repo, 2, 2)
	if got := runRefs(s); len(got) > 0 {
		t.Errorf("refs left: %q", got)
	}
	noTrace(s, "hello to goodbye")
	if list := runs(s); len(list) != 0 {
		t.Errorf("runs %+v", list)
	}
	for _, id := range []string{first, second} {
		for _, what := range []string{"events", "diff"} {
			refused(s, "GET", "/runs/"+id+"/"+what, nil, 404, "not_found")
		}
		for _, what := range []string{"stop", "undo"} {
			if f := refused(s, "POST", "/runs/"+id+"/"+what, nil, 404, "not_found"); !strings.Contains(f.Error, "no such run") {
				t.Errorf("%s: %+v", what, f)
			}
		}
	}
	if after := everything(s); after != before || theirs() != user {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	s.Clean()

	// The token is as it was, and the next run is like any other.
	wantWords(t, s.Design(ask()), "result, change, commit, done")
	undo(s, newest(s).ID)
	wantForgotten(s, s.Repo, 2, 2)
	wantForgotten(s, s.Repo, 0, 0)
}

// Who was about to read an old run's events is told that they are gone.
func TestForgetWhileEventsAreRead(t *testing.T) {
	s, id := ran(t, edit, nil, ask())
	s.Stop()
	s.Play(text, shim.Config{Timing: quick}) // it has the journal in its file only
	old, err := s.Shim.Runs().Get(id)
	if err != nil {
		t.Fatal(err)
	}
	wantForgotten(s, s.Repo, 1, 1)
	if frames, err := old.Follow(0).Next(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%d events, %v", len(frames), err)
	}
	wantWords(t, s.Design(ask()), "result, done")
}

// While a run is on nothing is wiped, whoever's it is.
func TestForgetWhileARunIsOn(t *testing.T) {
	s, first := ran(t, edit, nil, ask())
	s.Stop()
	fixture, gate := hold(s, text, 5)
	s.Play(fixture, shim.Config{Timing: quick})
	stream := s.Open("POST", "/design", ask("prompt", "take your time"))
	gate.Reached()
	refs := runRefs(s)
	f, err := forget(s, s.Repo)
	var busy *run.BusyError
	if !errors.As(err, &busy) || busy.Prompt != "take your time" || busy.RunID != newest(s).ID || busy.StartedAt.IsZero() || f.Runs+f.Refs != 0 {
		t.Errorf("%+v, %v", f, err)
	}
	if got := runRefs(s); !slices.Equal(got, refs) || len(refs) != 2 {
		t.Errorf("refs %q, then %q", refs, got)
	}
	if list := runs(s); len(list) != 2 || list[1].ID != first {
		t.Errorf("runs %+v", list)
	}
	gate.Open()
	wantWords(t, stream.Rest(), "result, done")
	wantForgotten(s, s.Repo, 2, 1)
}

// What a killed shim left half done is finished before its record is wiped.
func TestForgetAfterAKilledUndo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("shell scripts as programs")
	}
	s, theirs := crowded(t)
	before := theirs()
	s.PlayChild(edit, shim.Config{Timing: quick})
	wantWords(t, s.Design(ask()), "result, change, commit, done")
	id := newest(s).ID
	killWhileItSigns(s, "/runs/"+id+"/undo", nil)

	// As long as git does not work here, it stays as it is.
	f, err := forget(s, s.Repo, "GIT_TEST_ASSUME_DIFFERENT_OWNER=1")
	if err == nil || !strings.Contains(err.Error(), "could not be finished or rolled back, so it is kept") || !strings.Contains(run.Hint(err), "safe.directory") || f.Runs != 1 || f.Refs != 0 {
		t.Fatalf("%+v, %v (%s)", f, err, run.Hint(err))
	}
	if _, err := os.Stat(filepath.Join(s.Repo, ".git", "index.lock")); err != nil {
		t.Errorf("the half-done undo: %v", err)
	}
	f, err = forget(s, s.Repo)
	if err != nil || f.Runs != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	if got := s.Read("a.txt"); !strings.HasPrefix(got, "hello\n") || theirs() != before {
		t.Errorf("a.txt is %q, work before\n%s\nafter\n%s", got, before, theirs())
	}
	if got := lines(s.Git("diff", "HEAD~2", "HEAD")); got != "" {
		t.Errorf("the undo's commit: %s", got)
	}
	if got := runRefs(s); len(got) > 0 {
		t.Errorf("refs left: %q", got)
	}
	noTrace(s, "hello to goodbye")
	s.Clean()
}

// A run whose intent nobody can read is kept; the others go.
func TestForgetKeepsWhatCannotBeFinished(t *testing.T) {
	s, id := ran(t, edit, nil, ask())
	store := storeOf(s, s.Repo)
	rec, err := store.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"half-1", "half-2"} {
		rec.ID, rec.State, rec.Intent = id, state.Interrupted, []byte(`{"kind":"a later version's","runId":"x"}`)
		if err := store.Put(rec); err != nil {
			t.Fatal(err)
		}
		s.Git("update-ref", "refs/slidewrite/runs/"+id, "HEAD^{tree}")
	}
	rec.State = state.Done // failed in a way that left nothing half done
	if err := store.Put(rec); err != nil {
		t.Fatal(err)
	}
	f, err := forget(s, s.Repo)
	if err == nil || !strings.Contains(err.Error(), "what run half-1 had begun") || !strings.Contains(run.Hint(err), "once more: slidewrite forget") || f.Runs != 2 || f.Refs != 2 {
		t.Errorf("%+v, %v (%s)", f, err, run.Hint(err))
	}
	wantPaths(t, runRefs(s), "half-1")
}

// Nor is a running agent left behind by a shim that was killed.
func TestForgetAfterAKilledRun(t *testing.T) {
	s, _ := crowded(t)
	s.PlayChild(edit, shim.Config{}, "hang=48", stubborn)
	stream := s.Open("POST", "/design", ask())
	for shimtest.Until[event.ToolResult](stream).Tool != "Edit" {
	}
	s.Kill()
	stream.Leave()
	before := everything(s)
	wantForgotten(s, s.Repo, 1, 1)
	if after := everything(s); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	s.Clean()
}

// Without a repository that git opens all but the refs is wiped.
func TestForgetWithoutGit(t *testing.T) {
	s, _ := ran(t, edit, nil, ask())
	f, err := forget(s, s.Repo, "GIT_TEST_ASSUME_DIFFERENT_OWNER=1")
	if err == nil || !strings.HasPrefix(err.Error(), "the refs under refs/slidewrite/runs, if there are any, are left: ") ||
		!strings.Contains(err.Error(), "git does not trust this repository") || !strings.Contains(run.Hint(err), "safe.directory") || f.Runs != 1 || f.Refs != 0 {
		t.Errorf("%+v, %v (%s)", f, err, run.Hint(err))
	}
	noTrace(s, "hello to goodbye")
	wantForgotten(s, s.Repo, 0, 1)

	plain := t.TempDir()
	store := storeOf(s, plain)
	rec := state.Record{ID: state.NewRunID(), Kind: state.KindDesign, State: state.Running, Intent: []byte(`{"kind":"commit"}`)}
	if err := store.Put(rec); err != nil {
		t.Fatal(err)
	}
	wantForgotten(s, plain, 1, 0)
}

// Linked worktrees have their refs in common, but each forgets its own runs,
// and what nobody knows.
func TestForgetInALinkedWorktree(t *testing.T) {
	s, id := ran(t, edit, nil, ask())
	s.Git("worktree", "add", "-q", "../linked")
	s.Git("update-ref", "refs/slidewrite/runs/nobody-1", "HEAD^{tree}")
	linked := s.Beside(filepath.Join(s.Root, "linked"))
	linked.Play(edit, shim.Config{Timing: quick})
	linked.Write("a.txt", "hello\nsecond line\n")
	linked.Git("commit", "-q", "-m", "back", "a.txt")
	wantWords(t, linked.Design(ask()), "result, change, commit, done")
	wantForgotten(s, linked.Repo, 1, 2)
	wantPaths(t, runRefs(s), id)
	undo(s, id)
}

// Runs that are too old go at a start, with their snapshots.
func TestPruneDropsTheRefs(t *testing.T) {
	s, kept := ran(t, edit, nil, ask())
	s.Stop()
	store := storeOf(s, s.Repo)
	tree := strings.TrimSpace(s.Git("rev-parse", "HEAD^{tree}"))
	for i := range 3 {
		rec := state.Record{
			ID: fmt.Sprintf("old-%d", i), Kind: state.KindDesign, State: state.Done,
			StartedAt: time.Now().Add(-state.MaxAge - time.Hour),
		}
		if err := store.Put(rec); err != nil {
			t.Fatal(err)
		}
		s.Git("update-ref", "refs/slidewrite/runs/"+rec.ID, tree)
	}
	s.Git("pack-refs", "--all")
	s.Git("update-ref", "refs/slidewrite/runs/of-another-1", tree) // of another state directory, say
	s.Play(edit, shim.Config{Timing: quick})
	if list := runs(s); len(list) != 1 || list[0].ID != kept {
		t.Errorf("runs %+v", list)
	}
	wantPaths(t, runRefs(s), kept, "of-another-1")
}
