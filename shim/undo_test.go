package shim_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// ran is a stage on which one run has ended, and that run's id.
func ran(t *testing.T, fixture string, files map[string]string, body map[string]any) (*shimtest.Stage, string) {
	t.Helper()
	s := setup(t, fixture, files)
	s.Play(fixture, shim.Config{Timing: quick})
	s.Design(body)
	return s, newest(s).ID
}

func TestUndo(t *testing.T) {
	s, id := ran(t, edit, nil, ask())
	head := s.Git("rev-parse", "HEAD")
	reply := undo(s, id)
	wantPaths(t, reply.Files, "a.txt")
	if reply.ID == id || reply.ID == "" || !strings.HasPrefix(s.Git("rev-parse", "HEAD"), reply.SHA) || reply.SHA == "" {
		t.Errorf("reply %+v", reply)
	}
	if got := s.Read("a.txt"); got != "hello\nsecond line\n" {
		t.Errorf("a.txt is %q", got)
	}
	if s.Git("rev-parse", "HEAD^") != head || s.Git("status", "--porcelain") != "" {
		t.Error("undo must be one commit on top, never a reset")
	}
	if got, want := s.Git("log", "-1", "--format=%an: %s"), "Slide Write: Undo: slide-write: Change hello to goodbye in a.txt.\n"; got != want {
		t.Errorf("commit %q, want %q", got, want)
	}
	list := runs(s)
	if len(list) != 2 || list[0].Kind != "undo" || list[0].ID != reply.ID || list[0].State != "done" || list[0].Undone ||
		!list[1].Undone || !slices.Equal(list[0].Files, []string{"a.txt"}) || list[0].SHA == "" {
		t.Errorf("runs %+v", list)
	}
	// An undo has events of its own.
	wantWords(t, s.Open("GET", "/runs/"+reply.ID+"/events", nil).Rest(), "change, commit, done")
	s.Clean()
}

func TestUndoKeepsLaterEdits(t *testing.T) {
	s, id := ran(t, edit, map[string]string{"a.txt": "hello\n" + numbered(20)}, ask())
	s.Write("a.txt", strings.Replace(s.Read("a.txt"), "line 15\n", "mine\n", 1))
	s.Write("b.txt", "mine too\n")
	before := work(s)
	undo(s, id)
	if got := s.Read("a.txt"); !strings.HasPrefix(got, "hello\n") || !strings.Contains(got, "mine\n") {
		t.Errorf("a.txt is %q", got)
	}
	if after := work(s); after != before {
		t.Errorf("work before\n%s\nafter\n%s", before, after)
	}
}

func TestUndoThatOverlapsTouchesNothing(t *testing.T) {
	s, id := ran(t, multiFile, nil, ask())
	s.Write("a.txt", "my own first line\nsecond line\n")
	before, head := work(s), s.Git("rev-parse", "HEAD")
	f := refused(s, "POST", "/runs/"+id+"/undo", nil, 409, "conflict")
	wantPaths(t, f.Files, "a.txt")
	if work(s) != before || s.Git("rev-parse", "HEAD") != head {
		t.Error("a refused undo touched something")
	}
	if r := runs(s); r[len(r)-1].Undone {
		t.Error("the run counts as undone")
	}
	// Once the way is free it can be undone.
	s.Write("a.txt", "goodbye\nsecond line\n")
	undo(s, id)
	if got := s.Git("status", "--porcelain"); got != "" {
		t.Errorf("status %q", got)
	}
	s.Clean()
}

func TestUndoOfUndo(t *testing.T) {
	s, id := ran(t, multiFile, nil, ask())
	tree := s.Git("rev-parse", "HEAD^{tree}")
	first := undo(s, id)
	f := refused(s, "POST", "/runs/"+id+"/undo", nil, 409, "conflict")
	if !strings.Contains(f.Error, "undone already") || f.Fix == "" {
		t.Errorf("second undo: %+v", f)
	}
	undo(s, first.ID)
	if s.Git("rev-parse", "HEAD^{tree}") != tree || s.Git("status", "--porcelain") != "" {
		t.Error("the undo of the undo is not the run's state")
	}
	list := runs(s)
	if list[2].Undone || !list[1].Undone || list[0].Undone {
		t.Errorf("undone: %+v", list)
	}
	undo(s, id) // again
	if got := s.Read("a.txt"); got != "hello\nsecond line\n" {
		t.Errorf("a.txt is %q", got)
	}
}

func TestUndoOfAnUncommittedRun(t *testing.T) {
	s, id := ran(t, multiFile, nil, ask("autoCommit", false))
	head := s.Git("rev-parse", "HEAD")
	if reply := undo(s, id); reply.SHA != "" || len(reply.Files) != 3 {
		t.Errorf("reply %+v", reply)
	}
	if s.Git("rev-parse", "HEAD") != head || s.Git("status", "--porcelain") != "" {
		t.Errorf("status %q", s.Git("status", "--porcelain"))
	}
}

// Runs can be undone in any order.
func TestUndoOfAnEarlierRun(t *testing.T) {
	s, first := ran(t, edit, nil, ask())
	s.Stop()
	const other = "claude/real/2.1.332/write"
	s.Play(other, shim.Config{Timing: quick})
	wantWords(t, s.Design(ask()), "result, change, commit, done")
	undo(s, first)
	if s.Read("a.txt") != "hello\nsecond line\n" || s.Read("sub/new.txt") == "" {
		t.Error("undoing the first run must leave the second one's file")
	}
}

func TestUndoOfARunWhoseSnapshotsAreGone(t *testing.T) {
	s, id := ran(t, edit, nil, ask("autoCommit", false))
	s.Git("update-ref", "-d", "refs/slidewrite/runs/"+id)
	s.Write("a.txt", "written anew\n") // the tree of before is HEAD's; that of after is nobody's
	s.Git("-c", "gc.reflogExpire=now", "gc", "--quiet", "--prune=now")
	f := refused(s, "POST", "/runs/"+id+"/undo", nil, 410, "gone")
	if f.Error == "" || s.Read("a.txt") != "written anew\n" {
		t.Errorf("%+v", f)
	}
	refused(s, "GET", "/runs/"+id+"/diff", nil, 410, "gone")
	s.Clean()
}

func TestUndoOfWhatIsNotThere(t *testing.T) {
	s, _ := ran(t, text, nil, ask())
	for _, id := range []string{"nope", "20200101t000000-00000000", "..%2f..%2fx"} {
		refused(s, "POST", "/runs/"+id+"/undo", nil, 404, "not_found")
		refused(s, "GET", "/runs/"+id+"/diff", nil, 404, "not_found")
		refused(s, "GET", "/runs/"+id+"/events", nil, 404, "not_found")
		refused(s, "POST", "/runs/"+id+"/stop", nil, 404, "not_found")
	}
}

// What shells and tools do: binaries, links, modes, new folders.
func TestUndoOfEveryKindOfFile(t *testing.T) {
	for _, fixture := range []string{"bash-kinds", "delete-rename", "unicode-file", "crlf", "notebook", "write"} {
		t.Run(fixture, func(t *testing.T) {
			s, id := ran(t, "claude/real/2.1.332/"+fixture, nil, ask())
			if s.Git("status", "--porcelain") != "" {
				t.Errorf("after the run: %q", s.Git("status", "--porcelain"))
			}
			undo(s, id)
			if s.Git("status", "--porcelain") != "" || s.Git("diff", "HEAD~2", "HEAD") != "" {
				t.Errorf("after undo: %q %q", s.Git("status", "--porcelain"), s.Git("diff", "HEAD~2", "HEAD"))
			}
			s.Clean()
		})
	}
}

func TestDiff(t *testing.T) {
	s := setup(t, edit, nil)
	write := func(path, text string) fakeagents.Effect {
		return fakeagents.Effect{After: 47, Path: path, Write: &text}
	}
	binary := "AAEC/w=="
	fixture := s.Variant(edit, func(f *fakeagents.Fixture) {
		f.Effects = append(f.Effects, write("sub/größe 😀.txt", "neu\n"), fakeagents.Effect{After: 47, Path: "data.bin", Base64: &binary})
	})
	s.Play(fixture, shim.Config{Timing: quick})
	events := s.Design(ask())
	id := newest(s).ID
	whole := diffOf(s, id, "")
	var names []string
	for _, f := range whole.Files {
		names = append(names, f.Path)
	}
	wantPaths(t, names, "a.txt", "data.bin", "sub/größe 😀.txt")
	change := shimtest.One[event.Change](t, events)
	if whole.Added != change.Added || whole.Removed != change.Removed || whole.Added != 2 || whole.Removed != 1 {
		t.Errorf("+%d -%d, the event says +%d -%d", whole.Added, whole.Removed, change.Added, change.Removed)
	}
	for _, want := range []string{"-hello", "+goodbye", "+neu", "größe 😀.txt", "data.bin"} {
		if !strings.Contains(whole.Diff, want) {
			t.Errorf("the diff lacks %q:\n%s", want, whole.Diff)
		}
	}
	one := diffOf(s, id, "sub/größe 😀.txt")
	if len(one.Files) != 1 || one.Files[0].Status != "added" || one.Added != 1 || strings.Contains(one.Diff, "hello") || !strings.Contains(one.Diff, "+neu") {
		t.Errorf("one file: %+v", one)
	}
	bin := diffOf(s, id, "data.bin")
	if len(bin.Files) != 1 || !bin.Files[0].Binary || strings.Contains(bin.Diff, "\x00") {
		t.Errorf("binary: %+v", bin)
	}
	if f := refused(s, "GET", "/runs/"+id+"/diff?path=b.txt", nil, 404, "not_found"); f.Error != "this run did not change b.txt" || f.Fix != "GET /runs/"+id+"/diff names what it changed" {
		t.Errorf("a path it did not change: %+v", f)
	}
	// The diff of an undo is the other way round.
	reply := undo(s, id)
	if back := diffOf(s, reply.ID, "a.txt"); !strings.Contains(back.Diff, "-goodbye") || !strings.Contains(back.Diff, "+hello") {
		t.Errorf("undo: %s", back.Diff)
	}
}

// A run during which only the user edited something has nothing to undo.
func TestUndoOfUsersOwnEdits(t *testing.T) {
	s := setup(t, text, nil)
	fixture, gate := hold(s, text, 3)
	s.Play(fixture, shim.Config{Timing: quick})
	stream := s.Open("POST", "/design", ask())
	gate.Reached()
	s.Write("b.txt", "mine\n")
	gate.Open()
	change := shimtest.One[event.Change](t, stream.Rest())
	if len(change.Files) != 1 || !change.Files[0].Yours {
		t.Fatalf("change %+v", change)
	}
	refused(s, "POST", "/runs/"+newest(s).ID+"/undo", nil, 409, "conflict")
	if got := s.Read("b.txt"); got != "mine\n" || newest(s).Kind != "design" {
		t.Errorf("b.txt is %q, newest run %+v", got, newest(s))
	}
}
