package shim_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/shimtest"
	"github.com/slidewrite/slidewrite/shim/state"
)

const write = "claude/real/2.1.332/write"

// ranTwo is a stage on which two runs have ended: one changed a.txt, the other
// made sub/new.txt. Their ids, oldest first.
func ranTwo(t *testing.T, more ...any) (s *shimtest.Stage, ids []string) {
	t.Helper()
	s, one := ran(t, edit, nil, ask(more...))
	s.Stop()
	s.Play(write, shim.Config{Timing: quick})
	s.Design(ask(append(more, "prompt", "Then write a file.\nIn a folder.")...))
	return s, []string{one, newest(s).ID}
}

// squash makes the commits of runs one and wants success.
func squash(s *shimtest.Stage, ids ...string) (reply run.SquashReply) {
	s.T.Helper()
	var answer struct {
		run.SquashReply
		Error string
	}
	if status := s.JSON("POST", "/runs/squash", map[string]any{"runs": ids}, &answer); status != 200 {
		s.T.Fatalf("squash: %d %s", status, answer.Error)
	}
	return answer.SquashReply
}

// commitAll commits the changes of runs and wants success.
func commitAll(s *shimtest.Stage, ids ...string) (reply run.CommitReply) {
	s.T.Helper()
	var answer struct {
		run.CommitReply
		Error string
	}
	if status := s.JSON("POST", "/runs/commit", map[string]any{"runs": ids}, &answer); status != 200 {
		s.T.Fatalf("commit: %d %s", status, answer.Error)
	}
	return answer.CommitReply
}

func those(ids ...string) map[string]any { return map[string]any{"runs": ids} }

func TestSquash(t *testing.T) {
	s, ids := ranTwo(t)
	s.Write("b.txt", "mine\n")
	s.Git("add", "b.txt")
	before, base := work(s), strings.TrimSpace(s.Git("rev-parse", "HEAD~2"))
	var old []string
	for _, r := range runs(s) {
		old = append([]string{r.SHA[:9]}, old...)
	}
	refused(s, "POST", "/runs/squash", those(ids[0], "nope"), 404, "not_found")
	if f := refused(s, "POST", "/runs/squash", those(ids[0]), 409, "conflict"); !strings.HasPrefix(f.Error, "there is only one commit") || f.Fix == "" {
		t.Errorf("one commit: %+v", f)
	}
	s.Git("update-ref", "refs/remotes/origin/main", "HEAD")
	if f := refused(s, "POST", "/runs/squash", those(ids...), 409, "conflict"); !strings.Contains(f.Error, "is pushed already: origin/main has it") || f.Fix == "" {
		t.Errorf("pushed: %+v", f)
	}
	s.Git("update-ref", "-d", "refs/remotes/origin/main")

	reply := squash(s, ids[1], ids[0], ids[1])
	head := strings.TrimSpace(s.Git("rev-parse", "HEAD"))
	if !strings.HasPrefix(head, reply.SHA) || !slices.Equal(reply.Runs, ids) || !slices.Equal(reply.Replaced, old) || reply.Count != 2 ||
		reply.Subject != "slide-write: Change hello to goodbye in a.txt." {
		t.Errorf("reply %+v, replaced %v", reply, old)
	}
	if got := strings.TrimSpace(s.Git("rev-parse", "HEAD^")); got != base {
		t.Errorf("the parent is %s, want %s", got, base)
	}
	list := runs(s)
	if len(list) != 2 || list[0].SHA != head || list[1].SHA != head {
		t.Errorf("runs %+v", list)
	}
	message := s.Git("log", "-1", "--format=%B")
	if want := reply.Subject + "\n\n- Change hello to goodbye in a.txt.\n- Then write a file.\n\nSlide-Write-Run: " + ids[0] + "\nSlide-Write-Run: " + ids[1] +
		"\nSlide-Write-Session: anthropic/"; !strings.HasPrefix(message, want) {
		t.Errorf("message %q, want %q", message, want)
	}
	if after := work(s); after != before {
		t.Errorf("work before\n%s\nafter\n%s", before, after)
	}
	if f := refused(s, "POST", "/runs/squash", those(ids...), 409, "conflict"); !strings.HasPrefix(f.Error, "there is only one commit") {
		t.Errorf("again: %+v", f)
	}

	// A run of the commit can be taken back, and what takes it back goes along.
	first := undo(s, ids[0])
	if got := s.Git("show", "--format=", "--name-only", "HEAD"); got != "a.txt\n" {
		t.Errorf("the undo's commit holds %q", got)
	}
	reply = squash(s, ids[1], first.ID) // the first run is in that commit, too
	if want := append(ids, first.ID); !slices.Equal(reply.Runs, want) || reply.Count != 1 {
		t.Errorf("reply %+v, want %v", reply, want)
	}
	undo(s, first.ID)
	if s.Read("a.txt") != "goodbye\nsecond line\n" || !strings.HasPrefix(s.Git("show", "--format=%s", "--name-only", "HEAD"), "Undo: Undo: ") {
		t.Errorf("the undo of the undo: %q, %s", s.Read("a.txt"), s.Git("show", "--stat", "HEAD"))
	}
	s.Clean()
}

func TestSquashOfWhatHasNoCommit(t *testing.T) {
	s, ids := ranTwo(t, "autoCommit", false)
	f := refused(s, "POST", "/runs/squash", those(ids...), 409, "conflict")
	if f.Error != "the run “Change hello to goodbye in a.txt.” has no commit" || f.Fix == "" {
		t.Errorf("%+v", f)
	}
	if len(runs(s)) != 2 {
		t.Errorf("runs %+v", runs(s))
	}
	s.Clean()
}

func TestCommitAll(t *testing.T) {
	s, ids := ranTwo(t, "autoCommit", false)
	s.Write("b.txt", "mine\n")
	s.Git("add", "b.txt")
	reply := commitAll(s, ids[1], ids[0])
	head := strings.TrimSpace(s.Git("rev-parse", "HEAD"))
	if !strings.HasPrefix(head, reply.SHA) || !slices.Equal(reply.Runs, ids) || reply.Count != 2 || len(reply.Left)+len(reply.LeftOut)+len(reply.Notes) > 0 ||
		reply.Subject != "slide-write: Change hello to goodbye in a.txt." {
		t.Errorf("reply %+v", reply)
	}
	if got := s.Git("show", "--format=%an", "--name-only", "HEAD"); got != "Slide Write\n\na.txt\nsub/new.txt\n" {
		t.Errorf("the commit: %q", got)
	}
	if got := s.Git("status", "--porcelain"); got != "M  b.txt\n" {
		t.Errorf("status %q", got)
	}
	list := runs(s)
	if len(list) != 2 || list[0].SHA != head || list[1].SHA != head {
		t.Errorf("runs %+v", list)
	}
	f := refused(s, "POST", "/runs/commit", those(ids...), 409, "conflict")
	if !strings.HasPrefix(f.Error, "nothing to commit: the run “Change hello to goodbye in a.txt.”: it is committed already, as "+reply.SHA+"; the run “Then write a file.”: ") || f.Fix == "" {
		t.Errorf("again: %+v", f)
	}
	if first := undo(s, ids[0]); first.SHA == "" || s.Git("show", "--format=", "--name-only", "HEAD") != "a.txt\n" {
		t.Errorf("undo %+v: %s", first, s.Git("show", "--stat", "HEAD"))
	}
	s.Clean()
}

// What cannot be committed is named, run by run, and the rest is.
func TestCommitAllLeavesOut(t *testing.T) {
	s, ids := ranTwo(t, "autoCommit", false)
	undo(s, ids[0])
	undone := newest(s).ID
	s.Design(ask("autoCommit", false, "prompt", "Say nothing new.")) // it writes the same
	same := newest(s).ID
	refused(s, "POST", "/runs/commit", those(ids[1], "nope"), 404, "not_found")
	reply := commitAll(s, append(ids, undone, same)...)
	asked := ask()["prompt"].(string)
	want := []run.LeftRun{
		{ID: ids[0], Prompt: asked, Reason: "it was undone"}, {ID: undone, Prompt: "Undo: slide-write: " + asked, Reason: "it takes back a run that was not committed"},
		{ID: same, Prompt: "Say nothing new.", Reason: "it changed nothing"},
	}
	if !slices.Equal(reply.Left, want) || !slices.Equal(reply.Runs, ids[1:]) {
		t.Errorf("reply %+v\nwant %+v", reply, want)
	}
	if got := s.Git("show", "--format=%s", "--name-only", "HEAD"); got != "slide-write: Then write a file.\n\nsub/new.txt\n" {
		t.Errorf("the commit: %q", got)
	}
	s.Clean()
}

func TestCommitAllSaysWhyNot(t *testing.T) {
	s, id := ran(t, edit, nil, ask("autoCommit", false))
	s.Git("checkout", "-q", "--", "a.txt")
	f := refused(s, "POST", "/runs/commit", those(id), 409, "conflict")
	if f.Error != "nothing left to commit: every changed path is left out: `a.txt` does not have the change any more: it was taken out of the working tree" {
		t.Errorf("%+v", f)
	}
	s.Git("update-ref", "-d", "refs/slidewrite/runs/"+id)
	s.Git("-c", "gc.reflogExpire=now", "gc", "--quiet", "--prune=now")
	refused(s, "POST", "/runs/commit", those(id), 410, "gone")
	if r := newest(s); r.ID != id || r.SHA != "" {
		t.Errorf("%+v", r)
	}
	s.Clean()
}

func TestSquashAndCommitWhileARunIsOn(t *testing.T) {
	s, id := ran(t, edit, nil, ask())
	s.Stop()
	fixture, gate := hold(s, text, 3)
	s.Play(fixture, shim.Config{Timing: quick})
	stream := s.Open("POST", "/design", ask("prompt", "Wait."))
	gate.Reached()
	for _, path := range []string{"/runs/squash", "/runs/commit"} {
		if f := refused(s, "POST", path, those(id), 409, "busy"); f.Run.Prompt != "Wait." {
			t.Errorf("%s: %+v", path, f)
		}
	}
	gate.Open()
	stream.Rest()
}

// A shim that dies in the middle of it: the next one finishes it, or takes it
// back, and nothing of it is listed.
func TestShimKilledDuringASquash(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("shell scripts as programs")
	}
	s, ids := ranTwo(t)
	head := s.Git("rev-parse", "HEAD")
	s.Stop()
	s.PlayChild(edit, shim.Config{Timing: quick})
	killWhileItSigns(s, "/runs/squash", those(ids...))
	s.Play(edit, shim.Config{Timing: quick})
	if list := runs(s); len(list) != 2 || list[0].SHA == list[1].SHA || s.Git("rev-parse", "HEAD") != head {
		t.Errorf("runs %+v", list)
	}
	s.Clean()
	s.Stop()

	// Killed when the branch had moved, but the ledger not.
	store, err := state.Open(filepath.Join(s.StateHome(), "slidewrite"), s.Repo)
	if err != nil {
		t.Fatal(err)
	}
	repo, err := gitrepo.OpenEnv(context.Background(), s.Repo, s.Environ())
	if err != nil {
		t.Fatal(err)
	}
	rec := state.Record{ID: state.NewRunID(), Kind: state.KindSquash, State: state.Running, StartedAt: time.Now(), PID: 1 << 30}
	record := func(in gitrepo.Intent) error {
		rec.Intent, _ = json.Marshal(in)
		return store.Put(rec)
	}
	commits := strings.Fields(s.Git("rev-list", "-n", "2", "HEAD"))
	res, err := repo.Squash(context.Background(), gitrepo.SquashRequest{RunID: rec.ID, Commits: commits, Runs: []gitrepo.HeldRun{{ID: ids[0]}, {ID: ids[1]}}, Message: "slide-write: one\n", Record: record})
	if err != nil {
		t.Fatal(err)
	}
	s.Play(edit, shim.Config{Timing: quick})
	if list := runs(s); len(list) != 2 || list[0].SHA != res.SHA || list[1].SHA != res.SHA {
		t.Errorf("runs %+v, want %s", list, res.SHA)
	}
	s.Clean()
}
