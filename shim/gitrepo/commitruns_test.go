package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// runsMessage is the message of a commit of several runs.
func runsMessage(ids []string) string {
	m := "slide-write: make it green\n\n"
	for _, id := range ids {
		m += "Slide-Write-Run: " + id + "\n"
	}
	return m
}

// leave makes a run that is not committed; agent does its work.
func (r *testRepo) leave(id string, agent func()) *testRun {
	r.t.Helper()
	run := r.begin()
	run.id = id
	agent()
	run.change = r.change(run.before)
	return run
}

func commitRunsRequest(runs ...*testRun) CommitRunsRequest {
	req := CommitRunsRequest{RunID: "c1", Message: runsMessage}
	for _, run := range runs {
		req.Runs = append(req.Runs, RunChange{ID: run.id, Change: run.change})
	}
	return req
}

func (r *testRepo) commitAll(runs ...*testRun) *CommitRunsResult {
	r.t.Helper()
	result, err := r.open().CommitRuns(context.Background(), commitRunsRequest(runs...))
	if err != nil {
		var refused *Refusal
		if errors.As(err, &refused) {
			r.t.Fatalf("refused: %v %v", refused, refused.Notes)
		}
		r.t.Fatalf("commit: %+v", err)
	}
	for _, run := range runs {
		run.result = &result.CommitResult
		for _, held := range result.Runs {
			if held.ID == run.id {
				held.Mark(run.change.Files)
			}
		}
	}
	return result
}

// TestCommitRuns: two runs in one file, the user's lines before, between and
// after them; the commit has the runs' lines only.
func TestCommitRuns(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": numbered(20), "b.txt": numbered(5)})
	old := r.inHead("a.txt")
	r.swap("a.txt", "line a\n", "line a staged\n")
	r.swap("b.txt", "line a\n", "line a staged\n")
	r.git("add", "a.txt", "b.txt")
	r.swap("a.txt", "line d\n", "line d before\n")
	one := r.leave("r1", func() {
		r.swap("a.txt", "line g\n", "line g agent\n")
		r.write("new.txt", "one\n")
		r.write("brief.txt", "for a moment\n")
	})
	r.swap("a.txt", "line j\n", "line j between\n")
	r.write("mine.txt", "mine\n")
	two := r.leave("r2", func() {
		r.swap("a.txt", "line m\n", "line m agent\n")
		r.swap("a.txt", "line g agent\n", "line g agent again\n")
		r.write("new.txt", "one\ntwo\n")
		r.remove("brief.txt")
	})
	r.swap("a.txt", "line p\n", "line p after\n")
	disk := r.disk()
	result := r.commitAll(one, two)
	equal(t, "committed", r.committed(), []string{"M a.txt", "A new.txt"})
	want := strings.NewReplacer("line g\n", "line g agent again\n", "line m\n", "line m agent\n").Replace(old)
	equal(t, "a.txt in HEAD", r.inHead("a.txt"), want)
	equal(t, "staged a.txt", r.git("show", ":a.txt")+"\n", strings.Replace(want, "line a\n", "line a staged\n", 1))
	equal(t, "staged b.txt", r.git("show", ":b.txt")+"\n", strings.Replace(numbered(5), "line a\n", "line a staged\n", 1))
	equal(t, "files", result.Count, 2)
	equal(t, "left out", result.LeftOut, []string(nil))
	equal(t, "notes", result.Notes, []Note(nil))
	equal(t, "runs", idsOf(result.Runs), []string{"r1", "r2"})
	equal(t, "message", r.git("log", "-1", "--format=%B"), "slide-write: make it green\n\nSlide-Write-Run: r1\nSlide-Write-Run: r2\n")
	equal(t, "working tree", r.disk(), disk)
	diff := r.work().unstaged["a/a.txt b/a.txt"]
	for _, mine := range []string{"before", "between", "after"} {
		if !strings.Contains(diff, "+line "+map[string]string{"before": "d", "between": "j", "after": "p"}[mine]+" "+mine) {
			t.Errorf("git diff lost the line from %s:\n%s", mine, diff)
		}
	}
	if strings.Contains(diff, "agent") {
		t.Errorf("git diff still has the runs' lines:\n%s", diff)
	}
	r.clean()

	// What one run made and the next removed comes back, and into a commit.
	two.undo()
	equal(t, "undo of the second", r.committed(), []string{"M a.txt", "A brief.txt", "M new.txt"})
	one.undo()
	equal(t, "undo of both", r.git("rev-parse", "HEAD^{tree}"), r.git("rev-parse", "HEAD~3^{tree}"))
	r.clean()
}

// TestCommitRunsLeftOut: what does not go onto HEAD as it is now, or is not in
// the working tree any more, is left out and named.
func TestCommitRunsLeftOut(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		user   func(*testRepo) // before the runs
		after  func(*testRepo) // after them
		commit []string        // nil = refused
		runs   []string
		left   []string
		says   string // in a note or in the refusal
	}{
		"all of it": {commit: []string{"M a.txt", "M b.txt"}, runs: []string{"r1", "r2"}},
		"taken out by hand": {
			after:  func(r *testRepo) { r.git("checkout", "-q", "--", "b.txt") },
			commit: []string{"M a.txt"}, runs: []string{"r1"}, left: []string{"b.txt"}, says: "`b.txt` does not have the change any more",
		},
		"taken out beside work of the user's": {
			user:   func(r *testRepo) { r.swap("b.txt", "line s\n", "line s mine\n") },
			after:  func(r *testRepo) { r.swap("b.txt", "line c agent\n", "line c\n") },
			commit: []string{"M a.txt"}, runs: []string{"r1"}, left: []string{"b.txt"}, says: "`b.txt` does not have the change any more",
		},
		"changed on": { // later edits are the user's
			after:  func(r *testRepo) { r.swap("b.txt", "line c agent\n", "line c mine\n") },
			commit: []string{"M a.txt", "M b.txt"}, runs: []string{"r1", "r2"},
		},
		"overlap with work of the user's": {
			user:   func(r *testRepo) { r.swap("b.txt", "line c\n", "line c\nmine\n") },
			commit: []string{"M a.txt"}, runs: []string{"r1"}, left: []string{"b.txt"}, says: "`b.txt` has other work where the run changed it",
		},
		"committed by the user": {
			after:  func(r *testRepo) { r.git("commit", "-q", "-m", "mine", "b.txt") },
			commit: []string{"M a.txt"}, runs: []string{"r1"},
		},
		"all committed by the user": {
			after: func(r *testRepo) { r.git("commit", "-q", "-a", "-m", "mine") },
			says:  "nothing left to commit: HEAD has the change already",
		},
		"all taken out": {
			after: func(r *testRepo) { r.git("checkout", "-q", "--", ".") },
			left:  []string{"a.txt", "b.txt"}, says: "nothing left to commit: every changed path is left out",
		},
		"HEAD moved on in the same file": {
			after: func(r *testRepo) {
				r.git("stash", "-q")
				r.swap("a.txt", "line s\n", "line s committed\n")
				r.git("commit", "-q", "-a", "-m", "mine")
				r.git("stash", "pop", "-q")
			},
			commit: []string{"M a.txt", "M b.txt"}, runs: []string{"r1", "r2"},
		},
		"another branch": {
			after:  func(r *testRepo) { r.git("checkout", "-q", "-b", "topic") },
			commit: []string{"M a.txt", "M b.txt"}, runs: []string{"r1", "r2"}, says: "the commit is on topic",
		},
		"staged by the user": {
			after:  func(r *testRepo) { r.git("add", "-A") },
			commit: []string{"M a.txt", "M b.txt"}, runs: []string{"r1", "r2"},
		},
		"a conflict in the index": {
			after: func(r *testRepo) {
				blob := r.git("rev-parse", "HEAD:b.txt")
				r.git("update-index", "--force-remove", "b.txt")
				r.gitIn("100644 "+blob+" 1\tb.txt\n100644 "+blob+" 2\tb.txt\n", "update-index", "--index-info")
			},
			commit: []string{"M a.txt"}, runs: []string{"r1"}, left: []string{"b.txt"}, says: "`b.txt` has merge conflicts",
		},
		"a merge in progress": {
			after: func(r *testRepo) { r.write(".git/MERGE_HEAD", r.git("rev-parse", "HEAD")+"\n") },
			says:  "a merge is in progress",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !sampled(name) {
				return
			}
			r := newRepoWith(t, map[string]string{"a.txt": numbered(20), "b.txt": numbered(20)})
			if row.user != nil {
				row.user(r)
			}
			one := r.leave("r1", func() { r.swap("a.txt", "line c\n", "line c agent\n") })
			two := r.leave("r2", func() { r.swap("b.txt", "line c\n", "line c agent\n") })
			if row.after != nil {
				row.after(r)
			}
			disk, head, index := r.disk(), r.git("rev-parse", "HEAD"), r.indexState()
			result, err := r.open().CommitRuns(context.Background(), commitRunsRequest(one, two))
			equal(t, "working tree", r.disk(), disk)
			r.remove(".git/MERGE_HEAD")
			r.clean()
			var refused *Refusal
			if row.commit == nil {
				if !errors.As(err, &refused) || !strings.Contains(refused.Message, row.says) || refused.Fix == "" {
					t.Fatalf("want a refusal, got %+v %+v", result, err)
				}
				equal(t, "HEAD", r.git("rev-parse", "HEAD"), head)
				equal(t, "index", r.indexState(), index)
				equal(t, "notes", len(refused.Notes), len(row.left))
				return
			}
			if err != nil {
				t.Fatalf("%+v", err)
			}
			equal(t, "parent", r.git("rev-parse", "HEAD^"), head)
			equal(t, "committed", r.committed(), row.commit)
			equal(t, "runs", idsOf(result.Runs), row.runs)
			equal(t, "left out", result.LeftOut, row.left)
			if notes := fmt.Sprint(result.Notes); !strings.Contains(notes, row.says) || row.says == "" && len(result.Notes) > 0 {
				t.Errorf("notes %s", notes)
			}
			for _, path := range []string{"a.txt", "b.txt"} {
				if head := r.inHead(path); strings.Contains(head, "mine") || strings.Contains(head, "agent") != !strings.Contains(strings.Join(row.left, " "), path) {
					t.Errorf("%s in HEAD: %q", path, head)
				}
			}
		})
	}
}

// gitIn is git with an input.
func (r *testRepo) gitIn(stdin string, args ...string) {
	r.t.Helper()
	if _, err := r.open().git(context.Background(), call{stdin: []byte(stdin)}, args...); err != nil {
		r.t.Fatal(err)
	}
}

// TestCommitRunsFirst: the first commit of all.
func TestCommitRunsFirst(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("mine.txt", "mine\n")
	one := r.leave("r1", func() { r.write("a.txt", "a\n") })
	two := r.leave("r2", func() { r.write("a.txt", "a\nb\n"); r.write("mine.txt", "mine\nagent\n") })
	result := r.commitAll(one, two)
	equal(t, "tree", r.tree("HEAD"), map[string]string{"a.txt": "100644 a\nb\n"})
	equal(t, "left out", result.LeftOut, []string{"mine.txt"})
	equal(t, "left out of the second run", fmt.Sprintf("%s", result.Runs[1].LeftOut), "[mine.txt]")
	r.clean()
}

// TestCommitRunsHooks: with --commit-verify the hooks see what will be
// committed, and what pre-commit rewrites goes into the commit.
func TestCommitRunsHooks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("hooks are shell scripts")
	}
	r := newRepoWith(t, map[string]string{"a.txt": numbered(20), "b.txt": numbered(20)})
	r.swap("a.txt", "line s\n", "line s mine\n")
	one := r.leave("r1", func() { r.swap("a.txt", "line c\n", "line c agent\n") })
	two := r.leave("r2", func() { r.swap("b.txt", "line c\n", "line c agent\n") })
	hook := func(name, script string) {
		r.write(".git/hooks/"+name, "#!/bin/sh\n"+script)
		r.chmod(".git/hooks/"+name, 0o755)
	}
	hook("pre-commit", "git diff --cached --name-only >>.git/seen\nsed -i 's/line f/LINE F/' a.txt b.txt\n")
	hook("commit-msg", "echo 'Reviewed-By: hook' >>\"$1\"\n")
	req := commitRunsRequest(one, two)
	req.Verify = true
	if _, err := r.open().CommitRuns(context.Background(), req); err != nil {
		t.Fatalf("%+v", err)
	}
	equal(t, "seen by the hook", r.read(".git/seen"), strings.Repeat("a.txt\nb.txt\n", 2))
	equal(t, "a.txt in HEAD", r.inHead("a.txt"), strings.NewReplacer("line c\n", "line c agent\n", "line f\n", "LINE F\n").Replace(numbered(20)))
	equal(t, "message", r.git("log", "-1", "--format=%B"), "slide-write: make it green\n\nSlide-Write-Run: r1\nSlide-Write-Run: r2\nReviewed-By: hook\n")
	equal(t, "status", r.git("status", "--porcelain"), " M a.txt")
	r.clean()
}

// TestCommitRunsProperties: several runs that are committed in the end come to
// what they come to when each is committed at once, whatever the user does
// between them. Counted and seeded as TestProperties, a third of it.
func TestCommitRunsProperties(t *testing.T) {
	t.Parallel()
	eachSeed(t, 3, commitRunsProperties)
}

func commitRunsProperties(t *testing.T, seed uint64) {
	// Two worlds of one seed, step by step the same.
	at, end := newWorld(t, seed+1<<34), newWorld(t, seed+1<<34)
	defer at.logOnFailure()
	worlds := []*world{at, end}
	both := func(do func(w *world)) {
		for _, w := range worlds {
			do(w)
		}
		equal(t, "the worlds", end.disk(), at.disk())
	}
	both((*world).history)
	if seed%5 != 0 {
		both((*world).userWork)
	}
	start := end.truth()
	var left []*testRun
	leftAt := map[string]bool{}
	for i := 1; i <= 2+int(seed%2); i++ {
		runs := map[*world]*testRun{}
		both(func(w *world) {
			runs[w] = w.begin()
			runs[w].id = fmt.Sprintf("r%d", i)
			w.agentWork()
			runs[w].change = w.change(runs[w].before)
		})
		run := runs[at]
		if run.tryCommit(); run.err != nil {
			var refused *Refusal
			if !errors.As(run.err, &refused) {
				t.Fatalf("commit: %+v", run.err)
			}
			for _, f := range run.change.Files {
				leftAt[f.Path] = true
			}
		} else {
			for _, path := range run.result.LeftOut {
				leftAt[path] = true
			}
		}
		left = append(left, runs[end])
		both(func(w *world) {
			if w.chance(40) {
				w.touch("user between")
			}
		})
	}
	disk := end.disk()
	result, err := end.open().CommitRuns(context.Background(), commitRunsRequest(left...))
	equal(t, "working tree", end.disk(), disk)
	end.clean()
	out := map[string]bool{}
	var refused *Refusal
	switch {
	case errors.As(err, &refused):
		at.note("refused: %s %v", refused.Message, refused.Notes)
		equal(t, "HEAD", end.contents("HEAD"), start.head)
		equal(t, "staged", end.stagedEntries(), start.staged)
		for _, run := range left {
			for _, f := range run.change.Files {
				out[f.Path] = strings.Contains(fmt.Sprint(refused.Notes), "`"+f.Path+"`")
			}
		}
		result = &CommitRunsResult{}
	case err != nil:
		t.Fatalf("commit: %+v", err)
	}
	for _, path := range result.LeftOut {
		out[path] = true
	}
	at.note("left out in the end: %v, at once: %v; %v", sorted(out), sorted(leftAt), result.Notes)
	got, want := end.contents("HEAD"), at.contents("HEAD")
	for _, path := range differing(got, want) {
		if !out[path] {
			t.Errorf("HEAD's %q:\n in the end %q\nat once %q", path, got[path], want[path])
		}
	}
	notes := fmt.Sprint(result.Notes)
	gotStaged, wantStaged := end.stagedEntries(), at.stagedEntries()
	for _, path := range differing(gotStaged, wantStaged) {
		if !out[path] && !strings.Contains(notes, "`"+path+"`") && !leftAt[path] {
			t.Errorf("staged %q:\n in the end %q\nat once %q", path, gotStaged[path], wantStaged[path])
		}
	}
	changed := map[string]bool{}
	for _, run := range left {
		for _, f := range run.change.Files {
			changed[f.Path] = true
		}
	}
	for _, path := range differing(gotStaged, start.staged) {
		if !changed[path] {
			t.Errorf("staged %q, which is none of the runs': was %q, is %q", path, start.staged[path], gotStaged[path])
		}
	}
}

// TestKillCommitRuns: killed at any step, the runs are committed after the next
// start, or as they were.
func TestKillCommitRuns(t *testing.T) {
	t.Parallel()
	for at := 1; ; at += max(1, stride()/2) {
		r := newRepoWith(t, map[string]string{"a.txt": numbered(20), "b.txt": numbered(20)})
		r.swap("a.txt", "line s\n", "line s staged\n")
		r.git("add", "a.txt")
		one := r.leave("r1", func() { r.swap("a.txt", "line c\n", "line c agent\n") })
		two := r.leave("r2", func() { r.swap("b.txt", "line c\n", "line c agent\n"); r.write("new.txt", "new\n") })
		head, staged, disk := r.git("rev-parse", "HEAD"), r.stagedEntries(), r.disk()
		job := killJob{Dir: r.dir, Kind: "runs", At: at, Ledger: filepath.Join(t.TempDir(), "ledger.json"), RunID: "c1", Runs: commitRunsRequest(one, two).Runs}
		killed := job.child(t)
		finished := !killed
		if _, err := os.Stat(job.Ledger); err == nil && killed {
			recovery, _ := job.recoverTwice(t, &world{testRepo: r})
			if finished = recovery.Finished; finished {
				equal(t, "recovered sha", recovery.SHA, r.git("rev-parse", "HEAD"))
				equal(t, "recovered runs", idsOf(recovery.Runs), []string{"r1", "r2"})
			}
		}
		if finished {
			equal(t, "committed", r.committed(), []string{"M a.txt", "M b.txt", "A new.txt"})
			equal(t, "status", r.git("status", "--porcelain"), "M  a.txt")
		} else {
			equal(t, "HEAD", r.git("rev-parse", "HEAD"), head)
			equal(t, "index", r.stagedEntries(), staged)
		}
		equal(t, "working tree", r.disk(), disk)
		r.clean()
		if !killed {
			if at < 10 {
				t.Errorf("only %d steps: the kill test tests little", at)
			}
			return
		}
	}
}
