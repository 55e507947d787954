package gitrepo

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

// TestUndoLaterEdits: edits made after the run, by anyone, to other lines and
// other files survive.
func TestUndoLaterEdits(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": numbered(20), "b.txt": "b\n"})
	r.swap("a.txt", "line c\n", "mine before\n")
	run := r.begin()
	r.swap("a.txt", "line h\n", "agent\n")
	run.commitRun()
	r.swap("a.txt", "line p\n", "mine after\n")
	r.write("b.txt", "mine after\n")
	r.write("later.txt", "mine\n")
	r.git("add", "b.txt")
	work := r.work()
	result := run.undo()
	want := strings.NewReplacer("line c\n", "mine before\n", "line p\n", "mine after\n").Replace(numbered(20))
	equal(t, "a.txt", r.read("a.txt"), want)
	equal(t, "b.txt", r.read("b.txt"), "mine after\n")
	equal(t, "undo's change", paths(result.Change), []string{"modified a.txt"})
	equal(t, "undo's commit", r.committed(), []string{"M a.txt"})
	equal(t, "HEAD", r.inHead("a.txt"), numbered(20))
	r.sameWork(work)
	r.clean()
}

// TestUndoAnyOrder: three runs in the same file, undone in every order.
func TestUndoAnyOrder(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		r := newRepoWith(t, map[string]string{"a.txt": numbered(20)})
		var runs []*testRun
		for i, line := range []string{"line c\n", "line j\n", "line r\n"} {
			run := r.begin()
			run.id = "r" + string(rune('1'+i))
			r.swap("a.txt", line, "agent\n")
			run.commitRun()
			runs = append(runs, run)
		}
		for _, i := range order {
			runs[i].undo()
		}
		equal(t, "a.txt", r.read("a.txt"), numbered(20))
		equal(t, "status", r.git("status", "--porcelain"), "")
		equal(t, "commits", r.git("rev-list", "--count", "HEAD"), "7")
		r.clean()
	}
}

// TestUndoOfUndo: an undo is itself a run that can be undone.
func TestUndoOfUndo(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": numbered(9)})
	run := r.begin()
	r.swap("a.txt", "line f\n", "agent\n")
	r.write("new.txt", "n\n")
	run.commitRun()
	left := r.disk()
	undone := run.undo()
	again, err := r.open().Undo(context.Background(), UndoRequest{RunID: "r3", Of: "ur1", Before: undone.Change.Before.Tree, After: undone.Change.After.Tree,
		Files: undone.Change.Files, Committed: true, Message: "Undo: Undo: make it green\n\nSlide-Write-Run: r3\n"})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "refused", again.CommitRefused, nil)
	equal(t, "files", r.disk(), left)
	equal(t, "HEAD", r.git("rev-parse", "HEAD^{tree}"), r.git("rev-parse", "HEAD~2^{tree}"))
	r.clean()
}

// TestUndoOverlap: one row for each thing in the way; the paths are named and
// nothing at all is touched (undoRefused compares the working tree).
func TestUndoOverlap(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		agent, later func(r *testRepo)
		paths        []string
	}{
		"same line": {
			func(r *testRepo) { r.swap("a.txt", "line c\n", "agent\n"); r.write("b.txt", "agent\n") },
			func(r *testRepo) { r.swap("a.txt", "agent\n", "mine\n") }, []string{"a.txt"},
		},
		"adjacent line": {
			func(r *testRepo) { r.swap("a.txt", "line c\n", "agent\n") },
			func(r *testRepo) { r.swap("a.txt", "line d\n", "mine\n") }, []string{"a.txt"},
		},
		"new file edited": {
			func(r *testRepo) { r.write("new.txt", "agent\n") },
			func(r *testRepo) { r.write("new.txt", "mine\n") }, []string{"new.txt"},
		},
		"deleted file written again": {
			func(r *testRepo) { r.remove("b.txt") },
			func(r *testRepo) { r.write("b.txt", "mine\n") }, []string{"b.txt"},
		},
		"deleted file written again and ignored": {
			func(r *testRepo) { r.remove("b.txt"); r.write(".gitignore", "b.txt\n") },
			func(r *testRepo) { r.write("b.txt", "mine\n") }, []string{"b.txt"},
		},
		"binary": {
			func(r *testRepo) { r.write("p.png", "\x00agent\n") },
			func(r *testRepo) { r.write("p.png", "\x00mine\n") }, []string{"p.png"},
		},
		"parent is a symbolic link now": {
			func(r *testRepo) { r.write("d/x.txt", "agent\n") },
			func(r *testRepo) {
				must(os.Rename(r.path("d"), r.path("elsewhere")))
				r.symlink("elsewhere", "d")
			}, []string{"d/x.txt"},
		},
		"parent is a file now": {
			func(r *testRepo) { r.remove("d") },
			func(r *testRepo) { r.write("d", "mine\n") }, []string{"d/x.txt"},
		},
		"folder with something in it in the way": {
			func(r *testRepo) { r.remove("b.txt") },
			func(r *testRepo) { r.write("b.txt/mine.txt", "mine\n") }, []string{"b.txt"},
		},
		"folder with something ignored in the way": {
			func(r *testRepo) {
				r.write(".git/info/exclude", "*.log\n")
				r.remove("b.txt")
				r.write("b.txt/new.txt", "agent\n")
			},
			func(r *testRepo) { r.write("b.txt/mine.log", "mine\n") }, []string{"b.txt"},
		},
		"new file has grown too large to be stored": {
			func(r *testRepo) { r.write("new.txt", "agent\n") },
			func(r *testRepo) { r.write("new.txt", strings.Repeat("mine\n", maxUntrackedFile/5+1)) }, []string{"new.txt"},
		},
		"nested repository in the way": {
			func(r *testRepo) { r.remove("b.txt") },
			func(r *testRepo) { r.git("init", "-q", "b.txt") }, []string{"b.txt"},
		},
	} {
		if !sampled(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepoWith(t, map[string]string{"a.txt": numbered(9), "b.txt": "b\n", "d/x.txt": "x\n", "p.png": "\x00p\n"})
			run := r.begin()
			row.agent(r)
			run.commitRun()
			row.later(r)
			index, head := r.stagedEntries(), r.git("rev-parse", "HEAD")
			refused := run.undoRefused()
			equal(t, "paths", refused.Paths, row.paths)
			equal(t, "index", r.stagedEntries(), index)
			equal(t, "HEAD", r.git("rev-parse", "HEAD"), head)
			r.clean()
		})
	}
}

// TestUndoSymlinkedParent: a link in the place of a folder is never written
// through, not even one that leads out of the repository.
func TestUndoSymlinkedParent(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"d/x.txt": "x\n"})
	outside := realTempDir(t)
	run := r.begin()
	r.write("d/x.txt", "agent\n")
	run.commitRun()
	r.remove("d")
	r.symlink(outside, "d")
	must(os.WriteFile(outside+"/x.txt", []byte("agent\n"), 0o600))
	run.undoRefused()
	data, err := os.ReadFile(outside + "/x.txt")
	if err != nil || string(data) != "agent\n" {
		t.Errorf("outside the repository: %q %v", data, err)
	}
}

// TestUndoGitlink: a submodule that the run moved is not ours to move back.
func TestUndoGitlink(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	change := &Change{Before: r.snapshot(), After: r.snapshot(), Files: []File{{
		Path: "sub", Status: "modified", Old: Entry{"160000", r.git("rev-parse", "HEAD")}, New: Entry{"160000", strings.Repeat("1", 40)},
	}}}
	run := &testRun{testRepo: r, id: "r1", before: change.Before, change: change}
	equal(t, "paths", run.undoRefused().Paths, []string{"sub"})
}

// TestUndoGone: the snapshots were dropped and collected.
func TestUndoGone(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	run := r.begin()
	r.write("a.txt", "agent\n")
	run.request()
	r.write("a.txt", "a\n")
	r.git("gc", "-q", "--prune=now")
	if _, err := r.open().Undo(context.Background(), run.undoRequest()); !errors.Is(err, ErrGone) {
		t.Errorf("undo: %v", err)
	}
	r.clean()
}

// TestUndoKept: what an undo did survives git gc, under its own id.
func TestUndoKept(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	run := r.begin()
	r.write("a.txt", "agent\n")
	run.request()
	result := run.undo()
	r.git("gc", "-q", "--prune=now")
	equal(t, "before", r.git("rev-parse", runRefs+"ur1:before"), result.Change.Before.Tree)
	equal(t, "after", r.git("rev-parse", runRefs+"ur1:after"), result.Change.After.Tree)
	equal(t, "commit", result.Commit, nil)
}

// TestUndoFolders: folders that the undo empties go, others stay.
func TestUndoFolders(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"keep/a.txt": "a\n"})
	run := r.begin()
	r.write("new/deep/b.txt", "agent\n")
	r.write("keep/new/c.txt", "agent\n")
	run.commitRun()
	run.undo()
	for _, gone := range []string{"new", "keep/new"} {
		if _, err := os.Lstat(r.path(gone)); err == nil {
			t.Errorf("%s is still there", gone)
		}
	}
	equal(t, "keep/a.txt", r.read("keep/a.txt"), "a\n")
}

// TestUndoLineEndings: one row per sentence about line endings.
func TestUndoLineEndings(t *testing.T) {
	t.Parallel()
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	for name, row := range map[string]struct{ attributes, config, before, after, want string }{
		"CRLF on disk, LF in git, no conversion at checkout": {"*.txt text", "core.autocrlf=false", crlf(numbered(9)), crlf(numbered(8)), crlf(numbered(9))},
		"CRLF on disk, LF in git, autocrlf=input":            {"", "core.autocrlf=input", crlf(numbered(9)), crlf(numbered(8)), crlf(numbered(9))},
		"CRLF on disk, LF in git, eol=crlf":                  {"*.txt eol=crlf", "core.autocrlf=false", crlf(numbered(9)), crlf(numbered(8)), crlf(numbered(9))},
		"CRLF in git":                                        {"", "core.autocrlf=false", crlf(numbered(9)), crlf(numbered(8)), crlf(numbered(9))},
		"the run flipped every line ending":                  {"", "core.autocrlf=false", numbered(9), crlf(numbered(9)), numbered(9)},
		"the run flipped every line ending back":             {"", "core.autocrlf=false", crlf(numbered(9)), numbered(9), crlf(numbered(9))},
		"mixed":                                              {"", "core.autocrlf=false", "a\r\nb\nc\r\n", "a\r\nb\nd\r\n", "a\r\nb\nc\r\n"},
	} {
		if !sampled(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			key, value, _ := strings.Cut(row.config, "=")
			r.git("config", key, value)
			r.write(".gitattributes", row.attributes+"\n")
			r.write("w.txt", row.before)
			r.commit("base")
			run := r.begin()
			r.write("w.txt", row.after)
			run.commitRun()
			run.undo()
			equal(t, "w.txt", r.read("w.txt"), row.want)
			equal(t, "status", r.git("status", "--porcelain"), "")
			r.clean()
		})
	}
}

// TestUndoFilters: a file with a smudge filter comes back as git checkout
// would write it, by the attributes of the state that is restored.
func TestUndoFilters(t *testing.T) {
	t.Parallel()
	skipWithoutShell(t)
	r := newRepo(t)
	r.git("config", "filter.rot.clean", "tr a-z b-za")
	r.git("config", "filter.rot.smudge", "tr b-za a-z")
	r.write(".gitattributes", "*.rot filter=rot\n")
	r.write("x.rot", "hello\n")
	r.commit("base")
	equal(t, "in git", r.inHead("x.rot"), "ifmmp\n")
	start := r.disk()
	run := r.begin()
	r.write("x.rot", "agent\n")
	r.remove(".gitattributes")
	run.commitRun()
	run.undo()
	equal(t, "files", r.disk(), start)
	r.clean()
}

// TestUndoModes: permissions beyond git's own stay, the execute bits follow.
func TestUndoModes(t *testing.T) {
	t.Parallel()
	skipWithoutShell(t)
	r := newRepo(t)
	r.write("tool", "t\n")
	r.write("private", "p\n")
	r.chmod("private", 0o600)
	r.commit("base")
	start := r.disk()
	run := r.begin()
	r.chmod("tool", 0o755)
	r.write("private", "agent\n")
	run.commitRun()
	run.undo()
	equal(t, "files", r.disk(), start)
}

// TestUndoIgnoredSince: a file that the run deleted and made ignored comes
// back, and so does its place in git.
func TestUndoIgnoredSince(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"notes.txt": "n\n"})
	r.write("mine.txt", "mine\n")
	start := r.disk()
	run := r.begin()
	r.write(".gitignore", "*.txt\n")
	r.remove("notes.txt", "mine.txt")
	run.commitRun()
	run.undo()
	equal(t, "files", r.disk(), start)
	equal(t, "status", r.git("status", "--porcelain"), "?? mine.txt")
	r.clean()
}

// TestUndoHidden: the run deleted files that git was told to look away from.
func TestUndoHidden(t *testing.T) {
	t.Parallel()
	for _, bit := range []string{"--assume-unchanged", "--skip-worktree"} {
		r := newRepoWith(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n"})
		r.git("update-index", bit, "a.txt", "b.txt")
		start, bits := r.disk(), r.git("ls-files", "-v")
		run := r.begin()
		r.remove("a.txt")
		r.write("b.txt", "agent\n")
		run.request()
		run.undo()
		equal(t, "files", r.disk(), start)
		equal(t, "bits", r.git("ls-files", "-v"), bits)
		r.clean()
	}
}

// TestUndoUncommitted: the run made no commit, so undo makes none.
func TestUndoUncommitted(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	run := r.begin()
	r.write("a.txt", "agent\n")
	run.request()
	result := run.undo()
	equal(t, "commit", result.Commit, nil)
	equal(t, "refused", result.CommitRefused, nil)
	equal(t, "a.txt", r.read("a.txt"), "a\n")
	equal(t, "commits", r.git("rev-list", "--count", "HEAD"), "1")
	r.clean()
}

// TestUndoCommitRefused: the files are back though no commit is possible.
func TestUndoCommitRefused(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	run := r.begin()
	r.write("a.txt", "agent\n")
	run.commitRun()
	r.git("commit", "-q", "--amend", "-m", "under another name")
	head := r.git("rev-parse", "HEAD")
	result := run.undo()
	if result.CommitRefused == nil {
		t.Fatalf("committed: %+v", result.Commit)
	}
	equal(t, "message", result.CommitRefused.Message, "the commit of run r1 is not in the history of HEAD")
	equal(t, "a.txt", r.read("a.txt"), "a\n")
	equal(t, "HEAD", r.git("rev-parse", "HEAD"), head)
	r.clean()
}

// TestUndoAfterReset: the commit is gone and the files are not: they are taken
// back, and there is nothing to commit.
func TestUndoAfterReset(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	run := r.begin()
	r.write("a.txt", "agent\n")
	run.commitRun()
	r.git("reset", "-q", "HEAD~1")
	head := r.git("rev-parse", "HEAD")
	result := run.undo()
	equal(t, "commit", result.Commit, nil)
	equal(t, "refused", result.CommitRefused, nil)
	equal(t, "a.txt", r.read("a.txt"), "a\n")
	equal(t, "HEAD", r.git("rev-parse", "HEAD"), head)
	r.clean()
}

// TestUndoOfWhatIsNoLongerThere: nothing is touched, whoever took it back.
func TestUndoOfWhatIsNoLongerThere(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		committed bool
		later     func(r *testRepo)
	}{
		"reset away":         {true, func(r *testRepo) { r.git("reset", "-q", "--hard", "HEAD~1") }},
		"taken back by hand": {true, func(r *testRepo) { r.write("a.txt", "a\n") }},
		"reverted by git":    {true, func(r *testRepo) { r.git("revert", "--no-edit", "HEAD") }},
		"checked out":        {false, func(r *testRepo) { r.git("checkout", "-q", "a.txt") }},
	} {
		if !sampled(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
			run := r.begin()
			r.write("a.txt", "agent\n")
			if row.committed {
				run.commitRun()
			} else {
				run.request()
			}
			row.later(r)
			head := r.git("rev-parse", "HEAD")
			refused := run.undoRefused()
			equal(t, "message", refused.Message, "its change is no longer there: there is nothing to undo, and nothing was touched")
			equal(t, "HEAD", r.git("rev-parse", "HEAD"), head)
			r.clean()
		})
	}
}

// TestUndoCannotWrite: a folder that cannot be written: the paths before it
// are put back.
func TestUndoCannotWrite(t *testing.T) {
	t.Parallel()
	skipWithoutShell(t)
	r := newRepoWith(t, map[string]string{"a.txt": "a\n", "b/x.txt": "x\n", "z.txt": "z\n"})
	run := r.begin()
	r.write("a.txt", "agent\n")
	r.write("a-new.txt", "agent\n")
	r.write("b/x.txt", "agent\n")
	r.remove("z.txt")
	run.commitRun()
	req := run.undoRequest()
	req.Record = func(in Intent) error {
		if in.Step == "write" { // somebody edits between the look and the write
			r.write("b/x.txt", "mine, at the last moment\n")
		}
		return nil
	}
	_, err := r.open().Undo(context.Background(), req)
	var refused *Refusal
	if !errors.As(err, &refused) {
		t.Fatalf("undo: %v", err)
	}
	equal(t, "paths", refused.Paths, []string{"b/x.txt"})
	equal(t, "files", r.disk(), map[string]string{"a.txt": "644 agent\n", "a-new.txt": "644 agent\n", "b/x.txt": "644 mine, at the last moment\n"})
	r.clean()
}
