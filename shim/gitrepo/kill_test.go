package gitrepo

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The kill test runs a commit or an undo in a child process (this test binary
// again) that ends itself with SIGKILL at the nth step, for every n until the
// child lives to the end. Then recovery must reach a state for which the
// properties of TestProperties hold.

// killJob is what the child is told, as JSON in a file: an undo's or a
// commit's request without its Record, or the intent to recover from.
type killJob struct {
	Dir     string
	Kind    string // commit, undo, squash, runs, recover
	At      int    // the step to die at, counted from 1
	Ledger  string // file that holds the last recorded intent
	RunID   string
	Change  *Change // commit; undo: of the run that is undone
	Clean   bool    // commit: the run began with HEAD's files, and the child takes the second snapshot
	Message string
	Undo    bool // undo: the run was committed
	Intent  Intent
	Commits []string    // squash
	Runs    []RunChange // runs
}

// killVariable names the job file to the child.
const killVariable = "SLIDEWRITE_KILL_JOB"

// TestKillChild is the child's side of the tests below, no test of its own.
func TestKillChild(t *testing.T) {
	name := os.Getenv(killVariable)
	if name == "" {
		return
	}
	var job killJob
	readJSON(t, name, &job)
	steps := 0
	atStep = func(string) {
		if steps++; steps == job.At {
			die()
		}
	}
	record := func(in Intent) error {
		atStep("before recording")
		writeJSON(t, job.Ledger, in)
		atStep("after recording")
		return nil
	}
	repo, err := Open(context.Background(), job.Dir)
	if err != nil {
		t.Fatal(err)
	}
	switch job.Kind {
	case "commit":
		if job.Clean { // what a snapshot knows besides its JSON makes another path of the commit
			job.Change = cleanChange(t, repo, job.Change.Before)
		}
		_, err = repo.Commit(context.Background(), CommitRequest{RunID: job.RunID, Change: job.Change, Message: job.Message, Record: record})
	case "undo":
		_, err = repo.Undo(context.Background(), UndoRequest{RunID: job.RunID, Of: "r1", Before: job.Change.Before.Tree, After: job.Change.After.Tree,
			Files: job.Change.Files, Committed: job.Undo, Message: job.Message, Record: record})
	case "squash":
		_, err = repo.Squash(context.Background(), SquashRequest{RunID: job.RunID, Commits: job.Commits, Runs: []HeldRun{{ID: "r1"}, {ID: "r2"}}, Message: job.Message, Record: record})
	case "runs":
		_, err = repo.CommitRuns(context.Background(), CommitRunsRequest{RunID: job.RunID, Runs: job.Runs, Message: runsMessage, Record: record})
	case "recover":
		_, err = repo.Recover(context.Background(), job.Intent)
	}
	var refused *Refusal
	if err != nil && !errors.As(err, &refused) {
		t.Fatalf("%s: %+v", job.Kind, err)
	}
}

// cleanChange is the change since before, a first snapshot that was HEAD's tree.
func cleanChange(t testing.TB, repo *Repo, before *Snapshot) *Change {
	t.Helper()
	before.headTree = before.Tree
	after, err := repo.SnapshotAfter(context.Background(), before)
	if err != nil {
		t.Fatal(err)
	}
	change, err := repo.Change(context.Background(), before, after)
	if err != nil {
		t.Fatal(err)
	}
	if after.index == nil {
		t.Fatal("the second snapshot kept no index for the commit")
	}
	return change
}

// die ends this process at once, as kill -9 does.
func die() {
	signal.Reset()
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {}
}

func readJSON(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func writeJSON(t testing.TB, name string, value any) {
	t.Helper()
	data, err := json.Marshal(value)
	if err == nil {
		err = os.WriteFile(name, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// child runs a job; killed tells that it died at its step, else it ended well.
func (job killJob) child(t testing.TB) (killed bool) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "job.json")
	writeJSON(t, file, job)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestKillChild$", "-test.v")
	cmd.Env = append(os.Environ(), killVariable+"="+file)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return false
	case errors.As(err, &exit) && exit.ExitCode() == -1 || exit != nil && killedExit(exit):
		return true
	}
	t.Fatalf("child: %v\n%s", err, out)
	return false
}

// killedExit tells, on Windows, a process that ended itself.
func killedExit(exit *exec.ExitError) bool {
	return exit.ExitCode() == 1 && !exit.Success() && os.PathSeparator == '\\'
}

// lastIntent is what the ledger holds; false = nothing was recorded.
func (job killJob) lastIntent(t testing.TB) (in Intent, ok bool) {
	t.Helper()
	if _, err := os.Stat(job.Ledger); err != nil {
		return in, false
	}
	readJSON(t, job.Ledger, &in)
	return in, true
}

// killWorld is a small repository with every kind of the user's work (none of
// it if clean), and a run that touches all of it.
func killWorld(t *testing.T, seed uint64, clean bool) (*world, truth, *testRun) {
	t.Helper()
	w := newWorld(t, seed)
	w.write("a.txt", numbered(20))
	w.write("b.txt", numbered(5))
	w.write("c.txt", numbered(5))
	w.write("gone/d.txt", numbered(3))
	w.write("dir/e.txt", numbered(3))
	w.write("deep/file", numbered(3))
	w.commit("base")
	if !clean {
		w.swap("a.txt", "line c\n", "line c staged\n")
		w.swap("c.txt", "line a\n", "line a staged\n")
		w.git("add", "a.txt", "c.txt")
		w.swap("a.txt", "line h\n", "line h unstaged\n")
		w.write("untracked.txt", "mine\n")
	}
	start := w.truth()
	run := w.begin()
	w.swap("a.txt", "line p\n", "line p agent\n")
	w.swap("b.txt", "line b\n", "line b agent\n")
	w.remove("gone")
	w.remove("dir")
	w.write("dir", "a file now\n")
	w.remove("deep/file")
	w.write("deep/file/inside", "a folder now\n")
	w.write("new/f.txt", "agent\n")
	run.change = w.change(run.before)
	return w, start, run
}

// stride is how many steps lie between two kills. Every step is tried where
// SLIDEWRITE_PROPERTY asks for more than usual; with -short, which the round
// with the race detector has, few are.
func stride() int {
	switch {
	case os.Getenv("SLIDEWRITE_PROPERTY") != "":
		return 1
	case testing.Short():
		return 16
	}
	return 12
}

// TestKillCommit: killed at any step of a commit, the next start reaches a
// state for which (a) to (d) hold.
func TestKillCommit(t *testing.T) {
	t.Parallel()
	t.Run("dirty", func(t *testing.T) { t.Parallel(); killCommit(t, false) })
	t.Run("clean", func(t *testing.T) { t.Parallel(); killCommit(t, true) })
}

// lanes calls kill for every step until it says that the step was not reached,
// in two subtests side by side.
func lanes(t *testing.T, kill func(t *testing.T, at int) (killed bool)) {
	for lane := range 2 {
		t.Run("lane "+strconv.Itoa(lane), func(t *testing.T) {
			t.Parallel()
			for at := 1 + lane*stride(); kill(t, at); at += 2 * stride() {
			}
		})
	}
}

func killCommit(t *testing.T, clean bool) {
	for at := 1; ; at += stride() {
		w, start, run := killWorld(t, uint64(at), clean)
		job := killJob{Dir: w.dir, Kind: "commit", At: at, Ledger: filepath.Join(t.TempDir(), "ledger.json"),
			RunID: run.id, Change: run.change, Clean: clean, Message: "slide-write: green\n\nSlide-Write-Run: r1\n"}
		left := w.disk()
		killed := job.child(t)
		finished := !killed
		if in, ok := job.lastIntent(t); ok && killed {
			recovery, err := w.open().Recover(context.Background(), in)
			if err != nil {
				t.Fatalf("step %d: recover: %+v", at, err)
			}
			finished = recovery.Finished
			if finished {
				equal(t, "recovered sha", recovery.SHA, w.git("rev-parse", "HEAD"))
			}
		}
		checkKilled(t, w, run, start, left, at, finished)
		if !killed {
			if at < 10 {
				t.Errorf("only %d steps: the kill test tests little", at)
			}
			return
		}
	}
}

// checkKilled checks the state after recovery: the commit is made in full, or
// not at all.
func checkKilled(t *testing.T, w *world, run *testRun, start truth, left map[string]string, at int, finished bool) {
	t.Helper()
	step := "step " + strconv.Itoa(at)
	equal(t, step+": working tree", w.disk(), left)
	w.clean()
	if finished {
		run.result = &CommitResult{SHA: w.git("rev-parse", "HEAD")}
		w.checkCommit(run, start)
	} else {
		equal(t, step+": HEAD", w.contents("HEAD"), start.head)
		equal(t, step+": index", w.stagedEntries(), start.staged)
		run.result = nil
	}
	w.checkUndo(run, start, w.truth())
}

// recoverTwice recovers as two next starts do, the first of which is killed
// too, somewhere.
func (job killJob) recoverTwice(t *testing.T, w *world) (recovery Recovery, recorded bool) {
	t.Helper()
	in, ok := job.lastIntent(t)
	if !ok {
		return Recovery{}, false
	}
	again := killJob{Dir: w.dir, Kind: "recover", At: job.At%9 + 1, Ledger: job.Ledger + ".unused", RunID: job.RunID, Intent: in}
	again.child(t)
	recovery, err := w.open().Recover(context.Background(), in)
	if err != nil {
		t.Fatalf("step %d: recover: %+v", job.At, err)
	}
	return recovery, true
}

// TestKillUndo: killed at any step of an undo (and of the recovery after it),
// the working tree is in the end as before the undo or as after it, and so are
// HEAD and the user's work.
func TestKillUndo(t *testing.T) {
	t.Parallel()
	lanes(t, func(t *testing.T, at int) bool {
		w, start, run := killWorld(t, uint64(at), false)
		run.commitRun()
		done := w.truth()
		job := killJob{Dir: w.dir, Kind: "undo", At: at, Ledger: filepath.Join(t.TempDir(), "ledger.json"),
			RunID: "u1", Change: run.change, Message: "Undo: green\n", Undo: true}
		killed := job.child(t)
		finished := !killed
		var recovery Recovery
		if killed {
			var recorded bool
			recovery, recorded = job.recoverTwice(t, w)
			finished = recorded && recovery.Finished
			equal(t, "notes", recovery.Notes, nil)
		}
		w.clean()
		now := w.truth()
		want := done
		if finished {
			want = start
		}
		if finished && killed {
			equal(t, "undone", len(recovery.Change.Files), len(run.change.Files))
		}
		step := "undo killed at step " + strconv.Itoa(at)
		equal(t, step+": working tree", now.disk, want.disk)
		equal(t, step+": HEAD", now.head, want.head)
		equal(t, step+": index", now.staged, want.staged)
		equal(t, step+": work", now.work, want.work)
		if !killed && at < 20 {
			t.Errorf("only %d steps: the kill test tests little", at)
		}
		return killed
	})
}

// TestRecoverLockRemoved: the user found the dead run's lock, removed it and
// went on working; the commit's update of the index is made anew around that.
func TestRecoverLockRemoved(t *testing.T) {
	t.Parallel()
	lanes(t, func(t *testing.T, at int) bool {
		w, start, run := killWorld(t, uint64(at), false)
		job := killJob{Dir: w.dir, Kind: "commit", At: at, Ledger: filepath.Join(t.TempDir(), "ledger.json"),
			RunID: run.id, Change: run.change, Message: "slide-write: green\n\nSlide-Write-Run: r1\n"}
		killed := job.child(t)
		os.Remove(w.path(".git/index.lock"))
		w.git("add", "untracked.txt")
		start.staged["untracked.txt"] = w.stagedEntries()["untracked.txt"]
		in, ok := job.lastIntent(t)
		if ok && killed {
			recovery, err := w.open().Recover(context.Background(), in)
			if err != nil {
				t.Fatalf("step %d: recover: %+v", at, err)
			}
			if recovery.Finished {
				for _, header := range []string{"a/a.txt b/a.txt", "a/c.txt b/c.txt"} {
					equal(t, "staged "+header, w.work().staged[header], start.work.staged[header])
					equal(t, "unstaged "+header, w.work().unstaged[header], start.work.unstaged[header])
				}
				equal(t, "staged", len(w.work().staged), 3)
				equal(t, "unstaged", len(w.work().unstaged), 1)
			} else {
				equal(t, "index", w.stagedEntries(), start.staged)
			}
		}
		w.clean()
		return killed
	})
}

// TestRecoverForeignLock: a lock that does not name the run is not touched.
func TestRecoverForeignLock(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	r.write(".git/index.lock", "slidewrite r2")
	data, err := json.Marshal(commitIntent{Head: Head{Ref: "refs/heads/main"}})
	if err != nil {
		t.Fatal(err)
	}
	recovery, err := r.open().Recover(context.Background(), Intent{Kind: "commit", Step: "lock", RunID: "r1", Data: data})
	if err != nil || recovery.Finished {
		t.Fatalf("recover: %+v %v", recovery, err)
	}
	equal(t, "foreign lock", r.read(".git/index.lock"), "slidewrite r2")
}

// TestKillRandom: random repositories, random work, a kill somewhere in the
// commit and another in the undo. Counted and seeded as TestProperties, a
// tenth of it.
func TestKillRandom(t *testing.T) {
	t.Parallel()
	eachSeed(t, 10, killRandom)
}

func killRandom(t *testing.T, seed uint64) {
	w := newWorld(t, seed+1<<32)
	defer w.logOnFailure()
	w.history()
	w.userWork()
	start := w.truth()
	run := w.begin()
	w.agentWork()
	run.change = w.change(run.before)
	left := w.disk()
	job := killJob{Dir: w.dir, Kind: "commit", At: 1 + w.rand.IntN(14), Ledger: filepath.Join(t.TempDir(), "ledger.json"),
		RunID: run.id, Change: run.change, Message: "slide-write: green\n\nSlide-Write-Run: r1\n"}
	w.note("commit killed at step %d", job.At)
	if job.child(t) {
		job.recoverTwice(t, w)
	}
	equal(t, "working tree after the commit", w.disk(), left)
	w.clean()
	committed := differing(start.head, w.contents("HEAD"))
	if len(committed) == 0 {
		equal(t, "index after no commit", w.stagedEntries(), start.staged)
	} else {
		// What was left out, and where the index overlapped, died with the
		// child: the paths that are in the commit have to be right.
		was, is, now := w.contents(run.before.Tree), w.contents(run.change.After.Tree), w.contents("HEAD")
		for _, path := range committed {
			w.checkPath(path, start.head[path], was[path], now[path], is[path])
		}
	}

	job.Kind, job.RunID, job.Undo, job.Message = "undo", "ur1", len(committed) > 0, "Undo: green\n\nSlide-Write-Run: ur1\n"
	job.At, job.Ledger = 1+w.rand.IntN(40), job.Ledger+".undo"
	w.note("undo killed at step %d", job.At)
	finished := true
	if job.child(t) {
		recovery, recorded := job.recoverTwice(t, w)
		finished = recorded && recovery.Finished
		for _, n := range recovery.Notes {
			if strings.Contains(n.Message, "was not taken back") {
				t.Errorf("recovery left a path: %s", n.Message)
			}
		}
	}
	if finished {
		w.sameDisk(start.disk)
	} else {
		equal(t, "working tree after no undo", w.disk(), left)
	}
	w.clean()
}
