package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// commitRuns makes n commits of runs, each of which changes a line of a.txt and
// adds a file, and returns their ids, oldest first.
func (r *testRepo) commitRuns(n int) []string {
	r.t.Helper()
	var commits []string
	for i := 1; i <= n; i++ {
		run := r.begin()
		run.id = fmt.Sprintf("r%d", i)
		line := "line " + string(rune('a'+4*i)) + "\n"
		r.swap("a.txt", line, strings.TrimSpace(line)+" agent\n")
		r.write(fmt.Sprintf("new%d.txt", i), "agent\n")
		commits = append(commits, run.commitRun().SHA)
	}
	return commits
}

// squashRequest squashes commits of the runs r1, r2, … or of these.
func squashRequest(commits []string, runs ...string) SquashRequest {
	req := SquashRequest{RunID: "s1", Commits: commits, Message: "slide-write: make it green\n\n- make it green\n- make it round\n\n"}
	for i := len(runs); i < len(commits); i++ {
		runs = append(runs, fmt.Sprintf("r%d", i+1))
	}
	for _, id := range runs {
		req.Runs = append(req.Runs, HeldRun{ID: id})
		req.Message += "Slide-Write-Run: " + id + "\n"
	}
	return req
}

func (r *testRepo) squash(commits []string, edit ...func(*SquashRequest)) *SquashResult {
	r.t.Helper()
	req := squashRequest(commits)
	for _, fn := range edit {
		fn(&req)
	}
	result, err := r.open().Squash(context.Background(), req)
	if err != nil {
		r.t.Fatalf("squash: %+v", err)
	}
	return result
}

// TestSquash: one commit in the place of three, and nothing else changes.
func TestSquash(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{false, true} {
		r := newRepo(t)
		r.write("a.txt", numbered(20))
		if !first {
			r.write("b.txt", numbered(5))
			r.commit("base")
			r.swap("a.txt", "line c\n", "line c mine\n")
			r.swap("b.txt", "line c\n", "line c staged\n")
			r.git("add", "b.txt")
			r.write("mine.txt", "mine\n")
		} else { // the first commit of all is a run's
			r.remove("a.txt")
			run := r.begin()
			r.write("a.txt", numbered(20))
			run.id = "r0"
			run.commitRun()
		}
		commits := r.commitRuns(3)
		if first {
			commits = append([]string{r.git("rev-list", "--max-parents=0", "HEAD")}, commits...)
		}
		work, disk, index, tree := r.work(), r.disk(), r.indexState(), r.git("rev-parse", "HEAD^{tree}")
		shuffled := slices.Clone(commits)
		slices.Reverse(shuffled)
		result := r.squash(shuffled)
		equal(t, "HEAD", r.git("rev-parse", "HEAD"), result.SHA)
		equal(t, "replaced", result.Replaced, commits)
		equal(t, "tree", r.git("rev-parse", "HEAD^{tree}"), tree)
		equal(t, "files", result.Count, 4)
		equal(t, "short", r.git("rev-parse", result.Short), result.SHA)
		log := "slide-write: make it green"
		if !first {
			log += "\nbase"
		}
		equal(t, "log", r.git("log", "--format=%s"), log)
		equal(t, "trailers", strings.Count(r.git("log", "-1", "--format=%(trailers:key=Slide-Write-Run,valueonly)"), "r"), len(commits))
		equal(t, "identity", r.git("log", "-1", "--format=%an <%ae>|%cn <%ce>"), "Slide Write <slide-write@local>|Slide Write <slide-write@local>")
		equal(t, "reflog", r.git("log", "-g", "-1", "--format=%gs"), "slide-write: make it green")
		equal(t, "working tree", r.disk(), disk)
		equal(t, "index", r.indexState(), index)
		r.sameWork(work)
		r.clean()
	}
}

// TestSquashUndo: each run can be taken back afterwards, in any order.
func TestSquashUndo(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": numbered(20)})
	start := r.git("rev-parse", "HEAD^{tree}")
	var runs []*testRun
	var commits []string
	for i := 1; i <= 2; i++ {
		run := r.begin()
		run.id = fmt.Sprintf("r%d", i)
		line := "line " + string(rune('a'+4*i)) + "\n"
		r.swap("a.txt", line, "agent\n")
		commits = append(commits, run.commitRun().SHA)
		runs = append(runs, run)
	}
	r.squash(commits)
	for _, run := range runs {
		equal(t, "committed files", run.undo().Commit.Count, 1)
	}
	equal(t, "tree", r.git("rev-parse", "HEAD^{tree}"), start)
	equal(t, "commits", r.git("rev-list", "--count", "HEAD"), "4")
	r.clean()
}

// TestSquashRefused: what keeps commits from being made one; then nothing has
// changed. The rows share a repository, and leave it as it was.
func TestSquashRefused(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": numbered(20), "b.txt": "b\n"})
	r.write("mine.txt", "mine\n")
	own := r.commitRuns(3)
	const gitLog, byHand, leave = "git log shows what is there now", "git rebase -i OLDEST^", "leave them as they are"
	ref := func(name, at string) (func(), func()) {
		return func() { r.git("update-ref", name, at) }, func() { r.git("update-ref", "-d", name) }
	}
	file := func(name, content string) (func(), func()) {
		return func() { r.write(name, content) }, func() { r.remove(strings.Join(strings.Split(name, "/")[:2], "/")) }
	}
	head := func(args ...string) (func(), func()) {
		return func() { r.git(args...) }, func() { r.git("reset", "-q", "--soft", own[2]) }
	}
	type row struct {
		name            string
		prepare, repair func()
		commits         []string
		says, fix       string
	}
	rows := []row{
		{name: "a commit between", commits: []string{own[0], own[2]}, says: "“slide-write: make it green” is between them", fix: byHand},
		{name: "the newest left out", commits: own[:2], says: "is newer than these", fix: byHand},
		{name: "gone from the repository", commits: []string{own[2], strings.Repeat("1", 40)}, says: "the commit 111111111 is not in the repository any more", fix: gitLog},
	}
	add := func(name, says, fix string, prepare, repair func()) {
		rows = append(rows, row{name: name, commits: own, says: says, fix: fix, prepare: prepare, repair: repair})
	}
	for name, does := range map[string]func() (says, fix string, prepare, repair func()){
		"a newer commit": func() (string, string, func(), func()) {
			p, q := head("commit", "-q", "--allow-empty", "-m", "my own")
			return "“my own” is newer than these", byHand, p, q
		},
		"reset": func() (string, string, func(), func()) {
			p, q := head("reset", "-q", "--soft", own[0])
			return "is not in the history of main any more", gitLog, p, q
		},
		"amended": func() (string, string, func(), func()) {
			p, q := head("commit", "-q", "--amend", "-m", "my words")
			return "is not in the history of main any more", gitLog, p, q
		},
		"pushed": func() (string, string, func(), func()) {
			p, q := ref("refs/remotes/origin/main", own[1])
			return "is pushed already: origin/main has it", leave, p, q
		},
		"fetched into a place of its own": func() (string, string, func(), func()) {
			p, q := ref("refs/prefetch/remotes/origin/main", own[0])
			return "is pushed already: prefetch/remotes/origin/main has it", leave, p, q
		},
		"another branch": func() (string, string, func(), func()) {
			p, q := ref("refs/heads/topic/x", own[1])
			return "is on the branch topic/x, too", "git branch -d topic/x", p, q
		},
		"a tag": func() (string, string, func(), func()) {
			_, q := ref("refs/tags/v1", "")
			return "has the tag v1", "git tag -d v1", func() { r.git("tag", "-a", "-m", "one", "v1", own[2]) }, q
		},
		"a merge": func() (string, string, func(), func()) {
			p, q := file(".git/MERGE_HEAD", own[0]+"\n")
			return "a merge is in progress", "finish or abort it, then try again", p, q
		},
		"a rebase": func() (string, string, func(), func()) {
			p, q := file(".git/rebase-merge/done", "")
			return "a rebase is in progress", "finish or abort it, then try again", p, q
		},
		"an index that is held": func() (string, string, func(), func()) {
			p, q := file(".git/index.lock", "")
			return "another git command holds the index", "index.lock", p, q
		},
		"a key that does not sign": func() (string, string, func(), func()) {
			return "could not be signed", "commit.gpgSign", func() {
				r.git("config", "commit.gpgSign", "true")
				r.git("config", "gpg.program", "false")
			}, func() { r.git("config", "--unset", "commit.gpgSign") }
		},
	} {
		says, fix, prepare, repair := does()
		add(name, says, fix, prepare, repair)
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if row.prepare != nil {
				row.prepare()
				defer row.repair()
			}
			head, index, disk, refs := r.git("rev-parse", "HEAD"), r.indexState(), r.disk(), r.git("for-each-ref")
			r.squashRefused(t, row.commits, row.says, strings.ReplaceAll(row.fix, "OLDEST", Short(own[0])))
			equal(t, "HEAD", r.git("rev-parse", "HEAD"), head)
			equal(t, "index", r.indexState(), index)
			equal(t, "working tree", r.disk(), disk)
			equal(t, "refs", r.git("for-each-ref"), refs)
		})
	}
	r.clean()

	r.git("read-tree", "-u", "-m", own[0]+"^")
	r.git("commit", "-q", "-m", "Undo: all of it")
	r.squashRefused(t, append(own, r.git("rev-parse", "HEAD")), "together these commits change nothing", "git reset --soft "+Short(r.git("rev-parse", own[0]+"^")))
	r.git("reset", "-q", "--hard", own[2])
	r.git("merge", "-q", "--no-ff", "-m", "a merge", r.git("commit-tree", "-p", own[0], "-m", "aside", "HEAD^{tree}"))
	r.squashRefused(t, []string{own[2], r.git("rev-parse", "HEAD")}, "is a merge", leave)
	r.clean()
}

// squashRefused wants a refusal that says this.
func (r *testRepo) squashRefused(t *testing.T, commits []string, says, fix string) {
	t.Helper()
	result, err := r.open().Squash(context.Background(), squashRequest(commits))
	var refused *Refusal
	if !errors.As(err, &refused) {
		t.Fatalf("want a refusal, got %+v %+v", result, err)
	}
	if !strings.Contains(refused.Message, says) || !strings.Contains(refused.Fix, fix) || fix == "" {
		t.Errorf("refused with %q, fix %q", refused.Message, refused.Fix)
	}
}

// TestSquashPlaces: where it is done all the same.
func TestSquashPlaces(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(r *testRepo){
		"detached":        func(r *testRepo) { r.git("checkout", "-q", "--detach"); r.git("branch", "-q", "-f", "main", "HEAD~2") },
		"a stash on top":  func(r *testRepo) { r.write("a.txt", "mine\n"); r.git("stash", "-q") },
		"pushed below":    func(r *testRepo) { r.git("update-ref", "refs/remotes/origin/main", "HEAD~2") },
		"a branch below":  func(r *testRepo) { r.git("branch", "-q", "old", "HEAD~2") },
		"kept runs":       func(r *testRepo) { r.git("update-ref", "refs/slidewrite/runs/r1", "HEAD^{tree}") },
		"a commit as ref": func(r *testRepo) { r.git("update-ref", "refs/slidewrite/runs/r1", "HEAD") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepoWith(t, map[string]string{"a.txt": numbered(20)})
			commits := r.commitRuns(2)
			prepare(r)
			disk, index := r.disk(), r.indexState()
			result := r.squash(commits)
			equal(t, "HEAD", r.git("rev-parse", "HEAD"), result.SHA)
			equal(t, "commits", r.git("rev-list", "--count", "HEAD"), "2")
			equal(t, "working tree", r.disk(), disk)
			equal(t, "index", r.indexState(), index)
			r.clean()
		})
	}
	t.Run("replaced parent", func(t *testing.T) { // what git is told to take for the parent is not it
		r := newRepoWith(t, map[string]string{"a.txt": numbered(20)})
		parent := r.git("rev-parse", "HEAD")
		commits := r.commitRuns(2)
		r.git("replace", "--graft", commits[0])
		r.squash(commits)
		equal(t, "parent", r.git("--no-replace-objects", "rev-parse", "HEAD^"), parent)
	})
}

// TestSquashHooks: only with --commit-verify, and then commit-msg alone.
func TestSquashHooks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("hooks are shell scripts")
	}
	r := newRepoWith(t, map[string]string{"a.txt": numbered(20)})
	commits := r.commitRuns(2)
	hook := func(name, script string) {
		r.write(".git/hooks/"+name, "#!/bin/sh\n"+script)
		r.chmod(".git/hooks/"+name, 0o755)
	}
	hook("pre-commit", "exit 1\n")
	hook("commit-msg", "git ls-files >.git/seen; echo 'do not' >&2; exit 1\n")
	_, err := r.open().Squash(context.Background(), func() SquashRequest { req := squashRequest(commits); req.Verify = true; return req }())
	var refused *Refusal
	if !errors.As(err, &refused) || !strings.Contains(refused.Message, "the commit-msg hook rejected the commit: do not") || refused.Fix == "" {
		t.Fatalf("a hook that rejects: %+v", err)
	}
	equal(t, "the index that the hook saw", r.read(".git/seen"), "a.txt\nnew1.txt\nnew2.txt\n")
	r.remove(".git/seen")
	r.clean()

	hook("commit-msg", "echo 'Reviewed-By: hook' >>\"$1\"\n")
	result := r.squash(commits, func(req *SquashRequest) { req.Verify = true })
	equal(t, "hooks skipped", result.HooksSkipped, false)
	if got := r.git("log", "-1", "--format=%B"); !strings.HasSuffix(strings.TrimSpace(got), "Reviewed-By: hook") {
		t.Errorf("message %q", got)
	}
	r.clean()
}

// TestSquashProperties: random repositories with random work, and runs whose
// commits are made one. Nothing but the history changes, and taking a run back
// afterwards does what it would have done before. Counted and seeded as
// TestProperties, a third of it.
func TestSquashProperties(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the control is a copy made by cp")
	}
	eachSeed(t, 3, squashProperties)
}

func squashProperties(t *testing.T, seed uint64) {
	w := newWorld(t, seed+1<<33)
	defer w.logOnFailure()
	w.history()
	if seed%5 != 0 {
		w.userWork()
	}
	base := w.git("rev-parse", "HEAD")
	var runs []*testRun
	var commits, ids []string
	for i := 1; i <= 2+w.rand.IntN(2); i++ {
		run := w.begin()
		run.id = fmt.Sprintf("r%d", i)
		w.agentWork()
		run.change = w.change(run.before)
		if run.tryCommit(); run.result == nil {
			continue
		}
		runs, commits, ids = append(runs, run), append(commits, run.result.SHA), append(ids, run.id)
		if w.chance(40) {
			w.touch("user between")
		}
	}
	if w.chance(25) && len(runs) > 0 { // one of them was taken back, which is a commit, too
		if undone, err := w.open().Undo(context.Background(), runs[len(runs)-1].undoRequest()); err == nil && undone.Commit != nil {
			commits, ids = append(commits, undone.Commit.SHA), append(ids, "u"+runs[len(runs)-1].id)
			runs = runs[:len(runs)-1]
		}
	}
	w.git("gc", "-q") // the control shares no object file with it
	control := &testRepo{t: t, dir: filepath.Join(realTempDir(t), "control")}
	if out, err := exec.Command("cp", "-a", w.dir, control.dir).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v %s", err, out)
	}
	before, index, tree := w.truth(), w.indexState(), w.git("rev-parse", "HEAD^{tree}")
	if len(commits) < 2 || tree == w.git("rev-parse", base+"^{tree}") {
		return // the table of refusals has that
	}
	for _, run := range runs {
		if err := w.open().MarkLeftOut(context.Background(), run.id, run.change.Files); err != nil {
			t.Fatal(err)
		}
	}
	result := w.squash(commits, func(req *SquashRequest) { *req = squashRequest(commits, ids...) })
	now := w.truth()
	equal(t, "working tree", now.disk, before.disk)
	equal(t, "index", w.indexState(), index)
	equal(t, "HEAD's tree", w.git("rev-parse", "HEAD^{tree}"), tree)
	equal(t, "parent", w.git("rev-parse", "HEAD^"), base)
	equal(t, "work", now.work, before.work)
	equal(t, "files in it", result.Count, len(differing(w.contents(base), now.head)))
	w.clean()
	if len(runs) == 0 {
		return
	}
	run := pick(w, runs)
	w.note("undo %s", run.id)
	got, gotErr := w.open().Undo(context.Background(), run.undoRequest())
	want, wantErr := control.open().Undo(context.Background(), run.undoRequest())
	equal(t, "undo failed", fmt.Sprint(gotErr), fmt.Sprint(wantErr))
	equal(t, "working tree after undo", w.disk(), control.disk())
	equal(t, "staged after undo", w.stagedEntries(), control.stagedEntries())
	equal(t, "tree after undo", w.git("rev-parse", "HEAD^{tree}"), control.git("rev-parse", "HEAD^{tree}"))
	if gotErr == nil {
		equal(t, "a commit", got.Commit != nil, want.Commit != nil)
	}
	w.clean()
}

// TestKillSquash: killed at any step, the commits are one after the next start,
// or as they were.
func TestKillSquash(t *testing.T) {
	t.Parallel()
	for at := 1; ; at += max(1, stride()/4) {
		r := newRepoWith(t, map[string]string{"a.txt": numbered(20), "b.txt": "b\n"})
		r.write("mine.txt", "mine\n")
		r.write("b.txt", "staged\n")
		r.git("add", "b.txt")
		commits := r.commitRuns(2)
		head, index, disk, tree := r.git("rev-parse", "HEAD"), r.indexState(), r.disk(), r.git("rev-parse", "HEAD^{tree}")
		job := killJob{Dir: r.dir, Kind: "squash", At: at, Ledger: filepath.Join(t.TempDir(), "ledger.json"), RunID: "s1", Commits: commits, Message: squashRequest(commits).Message}
		killed := job.child(t)
		finished := !killed
		if _, err := os.Stat(job.Ledger); err == nil && killed {
			recovery, _ := job.recoverTwice(t, &world{testRepo: r})
			if finished = recovery.Finished; finished {
				equal(t, "recovered sha", recovery.SHA, r.git("rev-parse", "HEAD"))
				equal(t, "recovered runs", recovery.Runs, []HeldRun{{ID: "r1"}, {ID: "r2"}})
			}
		}
		if finished {
			equal(t, "commits", r.git("rev-list", "--count", "HEAD"), "2")
		} else {
			equal(t, "HEAD", r.git("rev-parse", "HEAD"), head)
		}
		equal(t, "tree", r.git("rev-parse", "HEAD^{tree}"), tree)
		equal(t, "index", r.indexState(), index)
		equal(t, "working tree", r.disk(), disk)
		r.clean()
		if !killed {
			if at < 7 {
				t.Errorf("only %d steps: the kill test tests little", at)
			}
			return
		}
	}
}
