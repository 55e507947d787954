package gitrepo

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hook writes an executable hook.
func (r *testRepo) hook(name, script string) {
	r.t.Helper()
	r.write(name, "#!/bin/sh\n"+script)
	r.chmod(name, 0o755)
}

func verified(req *CommitRequest) { req.Verify = true }

// TestHooksSkipped: unless asked for, hooks do not run, and the result says
// that they were skipped.
func TestHooksSkipped(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		setup func(r *testRepo)
		want  bool
	}{
		"none":        {func(r *testRepo) {}, false},
		"sample only": {func(r *testRepo) { r.hook(".git/hooks/pre-commit.sample", "exit 1\n") }, false},
		"pre-commit":  {func(r *testRepo) { r.hook(".git/hooks/pre-commit", "touch ran; exit 1\n") }, true},
		"commit-msg":  {func(r *testRepo) { r.hook(".git/hooks/commit-msg", "touch ran; exit 1\n") }, true},
		"in core.hooksPath": {func(r *testRepo) {
			r.git("config", "core.hooksPath", "my hooks")
			r.hook("my hooks/pre-commit", "touch ran; exit 1\n")
		}, true},
		"of other operations": {func(r *testRepo) { r.hook(".git/hooks/reference-transaction", "touch ran; exit 1\n") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
			row.setup(r)
			run := r.begin()
			r.write("a.txt", "agent\n")
			equal(t, "hooksSkipped", run.commitRun().HooksSkipped, row.want)
			if _, err := os.Stat(r.path("ran")); err == nil {
				t.Error("the hook ran")
			}
		})
	}
}

// TestHooksInTheHome: a hooks folder in the home that git's environment names
// is found.
func TestHooksInTheHome(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	home := t.TempDir()
	r.git("config", "core.hooksPath", "~/hooks")
	repo, err := OpenEnv(context.Background(), r.dir, append(os.Environ(), "HOME="+home))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "hooks before there are any", repo.State(context.Background()).Hooks, false)
	if err := os.Mkdir(filepath.Join(home, "hooks"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "hooks", "pre-commit"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	equal(t, "hooks", repo.State(context.Background()).Hooks, true)
}

// TestHooksVerify: with Verify the hooks see exactly the commit's tree, in a
// temporary index, and their own git commands work as in `git commit`.
func TestHooksVerify(t *testing.T) {
	t.Parallel()
	skipWithoutShell(t)
	r := newRepoWith(t, map[string]string{"a.txt": numbered(9), "b.txt": "b\n", "c.js": "c\n"})
	r.hook(".git/hooks/pre-commit", `git diff --cached --name-only HEAD -- '*.txt' >"$(git rev-parse --git-dir)/seen"; pwd >>"$(git rev-parse --git-dir)/seen"`+"\n")
	r.hook(".git/hooks/commit-msg", `echo "Signed-off-by: hook" >>"$1"`+"\n")
	r.swap("a.txt", "line a\n", "mine\n")
	r.write("b.txt", "staged\n")
	r.git("add", "b.txt")
	work := r.work()
	run := r.begin()
	r.swap("a.txt", "line f\n", "agent\n")
	result := run.commitRun(verified)
	equal(t, "hooksSkipped", result.HooksSkipped, false)
	equal(t, "seen by the hook", r.read(".git/seen"), "a.txt\n"+r.dir+"\n")
	equal(t, "message", r.git("log", "-1", "--format=%(trailers:key=Signed-off-by,valueonly)"), "hook\n")
	equal(t, "committed", r.committed(), []string{"M a.txt"})
	r.sameWork(work)
	r.clean()
}

// TestHooksReject: the commit is refused with the hook's last lines, and
// nothing has changed.
func TestHooksReject(t *testing.T) {
	t.Parallel()
	skipWithoutShell(t)
	for _, name := range []string{"pre-commit", "commit-msg"} {
		r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
		r.hook(".git/hooks/"+name, "seq 1 50; echo 'no good: a.txt' >&2; exit 3\n")
		run := r.begin()
		r.write("a.txt", "agent\n")
		index, head := r.indexState(), r.git("rev-parse", "HEAD")
		refused := run.refused(verified)
		if !strings.HasPrefix(refused.Message, "the "+name+" hook rejected the commit: ") || !strings.HasSuffix(refused.Message, "\nno good: a.txt") {
			t.Errorf("message %q", refused.Message)
		}
		if strings.Contains(refused.Message, "\n40\n") {
			t.Errorf("more than the last lines: %q", refused.Message)
		}
		equal(t, "index", r.indexState(), index)
		equal(t, "HEAD", r.git("rev-parse", "HEAD"), head)
		equal(t, "a.txt", r.read("a.txt"), "agent\n")
		r.clean()
	}
}

// TestHooksRewrite: a formatter's rewrite of the run's files is committed,
// whether it then passes or fails the first time; the user's work is not swept
// in, and undo still brings everything back.
func TestHooksRewrite(t *testing.T) {
	t.Parallel()
	skipWithoutShell(t)
	for name, script := range map[string]string{
		"adds and passes":       "sed -i 's/agent/AGENT/' a.txt && git add a.txt\n",
		"fails when it rewrote": "if grep -q agent a.txt; then sed -i 's/agent/AGENT/' a.txt; echo rewritten; exit 1; fi\n",
		"rewrites others too":   "sed -i 's/agent/AGENT/' a.txt; echo hook >other.txt; git add -A\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepoWith(t, map[string]string{"a.txt": numbered(9), "b.txt": "b\n"})
			r.hook(".git/hooks/pre-commit", script)
			r.swap("a.txt", "line a\n", "mine\n")
			r.write("b.txt", "staged\n")
			r.git("add", "b.txt")
			work, start := r.work(), r.disk()
			run := r.begin()
			r.swap("a.txt", "line f\n", "agent\n")
			run.commitRun(verified)
			equal(t, "committed", r.committed(), []string{"M a.txt"})
			equal(t, "HEAD", r.inHead("a.txt"), strings.Replace(numbered(9), "line f\n", "AGENT\n", 1))
			r.sameWork(work)
			equal(t, "kept", r.git("rev-parse", runRefs+"r1:after"), run.change.After.Tree)
			r.remove("other.txt")
			run.undo()
			equal(t, "after undo", r.disk(), start)
			r.sameWork(work)
			r.clean()
		})
	}
}

// TestHooksKeepRejecting: a hook that rewrites and still rejects is asked once
// more, not for ever.
func TestHooksKeepRejecting(t *testing.T) {
	t.Parallel()
	skipWithoutShell(t)
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	r.hook(".git/hooks/pre-commit", "echo x >>a.txt; echo x >>.git/runs; exit 1\n")
	run := r.begin()
	r.write("a.txt", "agent\n")
	run.refused(verified)
	equal(t, "hook runs", r.read(".git/runs"), "x\nx\n")
	r.clean()
}

// TestHooksStopped: a stop ends a hook that hangs, the hook's process too.
func TestHooksStopped(t *testing.T) {
	t.Parallel()
	skipWithoutShell(t)
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	r.hook(".git/hooks/pre-commit", "exec >/dev/null 2>&1; echo $$ >.git/pid; mv .git/pid .git/started; exec sleep 600\n")
	run := r.begin()
	r.write("a.txt", "agent\n")
	req := run.request()
	req.Verify = true
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(r.dir, ".git", "started")); err == nil {
				cancel()
				return
			}
			runtime.Gosched()
		}
	}()
	if _, err := r.open().Commit(ctx, req); !errors.Is(err, context.Canceled) {
		t.Errorf("commit: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(r.read(".git/started")))
	if err != nil {
		t.Fatal(err)
	}
	hook, err := os.FindProcess(pid)
	for deadline := time.Now().Add(10 * time.Second); err == nil; { // until it is gone
		if err = hook.Signal(syscall.Signal(0)); err == nil && time.Now().After(deadline) {
			hook.Kill()
			t.Fatal("the hook outlives the stop")
		}
		runtime.Gosched()
	}
	equal(t, "commits", r.git("rev-list", "--count", "HEAD"), "1")
	r.remove(".git/started")
	r.clean()
}

// TestHooksLeaveAProcess: a hook that passes has passed, even if it leaves a
// process behind that holds its output. Not parallel: it changes a variable.
func TestHooksLeaveAProcess(t *testing.T) {
	skipWithoutShell(t)
	patience := pipePatience
	pipePatience = 50 * time.Millisecond
	t.Cleanup(func() { pipePatience = patience })
	for _, name := range []string{"pre-commit", "commit-msg"} {
		r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
		r.hook(".git/hooks/"+name, "sleep 30 & echo $! >.git/pid; exit 0\n")
		run := r.begin()
		r.write("a.txt", "agent\n")
		run.tryCommit(verified)
		pid, err := strconv.Atoi(strings.TrimSpace(r.read(".git/pid")))
		if err != nil {
			t.Fatal(err)
		}
		left, err := os.FindProcess(pid)
		if err != nil || left.Signal(syscall.Signal(0)) != nil {
			t.Errorf("%s: the process did not outlive the hook: nothing was tested", name)
		} else if err := left.Kill(); err != nil {
			t.Error(err)
		}
		if run.err != nil {
			t.Fatalf("%s: %v", name, run.err)
		}
		equal(t, "committed", r.committed(), []string{"M a.txt"})
		r.clean()
	}
}

// TestSign: commit.gpgSign is honoured; a signing program that fails leaves
// the edits uncommitted with the fix.
func TestSign(t *testing.T) {
	t.Parallel()
	skipWithoutShell(t)
	const good = "cat >/dev/null\nprintf '[GNUPG:] SIG_CREATED x\\n' >&2\nprintf -- '-----BEGIN PGP SIGNATURE-----\\nkey %s\\n-----END PGP SIGNATURE-----\\n' \"$3\"\n"
	for name, row := range map[string]struct{ script, signature, refused string }{
		"signed": {good, "key ada@example.com", ""},
		"failed": {"echo 'gpg: no pinentry' >&2; exit 2\n", "", "the commit could not be signed (commit.gpgSign): "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
			r.hook(".git/gpg", row.script)
			r.git("config", "gpg.program", r.path(".git/gpg"))
			r.git("config", "commit.gpgSign", "true")
			run := r.begin()
			r.write("a.txt", "agent\n")
			if row.refused == "" {
				run.commitRun()
				if commit := r.git("cat-file", "commit", "HEAD"); !strings.Contains(commit, row.signature) {
					t.Errorf("not signed as the user: %q", commit)
				}
				return
			}
			refused := run.refused()
			if !strings.HasPrefix(refused.Message, row.refused) {
				t.Errorf("message %q", refused.Message)
			}
			equal(t, "a.txt", r.read("a.txt"), "agent\n")
			equal(t, "commits", r.git("rev-list", "--count", "HEAD"), "1")
			r.clean()
		})
	}
}

func skipWithoutShell(t testing.TB) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("hooks here are shell scripts")
	}
}

// A list that git did not get to finish writing is no answer: taken for one, it
// would leave changes out. What is held may be only the error output: that list
// is whole. Not parallel: it changes a variable.
func TestOutputThatMayBeCutShortIsNoAnswer(t *testing.T) {
	skipWithoutShell(t)
	patience := pipePatience
	pipePatience = 50 * time.Millisecond
	t.Cleanup(func() { pipePatience = patience })
	r := newRepo(t)
	repo := r.open()
	run := func(held string) (string, error) {
		alias := "alias.held=!printf list; sleep 60 " + held + " & echo $! >" + filepath.Join(r.dir, "pid") + "; :"
		out, err := repo.git(t.Context(), call{config: []string{alias}}, "held")
		pid, readErr := os.ReadFile(filepath.Join(r.dir, "pid"))
		if readErr != nil {
			t.Fatal(readErr)
		}
		if out, err := exec.Command("kill", strings.TrimSpace(string(pid))).CombinedOutput(); err != nil {
			t.Errorf("kill: %v: %s", err, out)
		}
		return string(out), err
	}
	if out, err := run(">/dev/null"); err != nil || out != "list" {
		t.Errorf("with stderr held: %q, %v", out, err)
	}
	if out, err := run("2>/dev/null"); err == nil {
		t.Errorf("with stdout held: %q was taken for all", out)
	}
}
