package gitrepo

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cockroachdb/errors"
)

func TestState(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(r *testRepo) // in a repository with branches main and side that conflict in a.txt
		want State             // Detail and Fix are not compared
	}{
		{"ok", func(r *testRepo) {}, State{State: "ok", Branch: "main"}},
		{"dirty", func(r *testRepo) { r.write("a.txt", "x\n") }, State{State: "ok", Branch: "main", Dirty: true}},
		{"untracked", func(r *testRepo) { r.write("n.txt", "x\n") }, State{State: "ok", Branch: "main", Dirty: true}},
		{"branch with a slash", func(r *testRepo) { r.git("checkout", "-q", "-b", "feat/ü") }, State{State: "ok", Branch: "feat/ü"}},
		{"detached", func(r *testRepo) { r.git("checkout", "-q", "--detach") }, State{State: "detached"}},
		{"merging", func(r *testRepo) { r.tryGit("merge", "side") }, State{State: "merging", Branch: "main", Dirty: true}},
		{"cherry-pick", func(r *testRepo) { r.tryGit("cherry-pick", "side") }, State{State: "merging", Branch: "main", Dirty: true}},
		{"between two cherry-picks", func(r *testRepo) {
			r.tryGit("cherry-pick", "side~1", "side")
			r.git("checkout", "-q", "--ours", "a.txt")
			r.write("a.txt", "resolved\n")
			r.git("add", "a.txt")
			r.git("commit", "-q", "-m", "picked")
		}, State{State: "merging", Branch: "main"}},
		{"reverting", func(r *testRepo) { r.tryGit("revert", "--no-edit", "HEAD~1") }, State{State: "reverting", Branch: "main", Dirty: true}},
		{"rebasing", func(r *testRepo) { r.tryGit("rebase", "side") }, State{State: "rebasing", Dirty: true}},
		{"rebasing with apply", func(r *testRepo) { r.tryGit("rebase", "--apply", "side") }, State{State: "rebasing", Dirty: true}},
		{"am", func(r *testRepo) {
			r.write(".git/p.mbox", r.git("format-patch", "--stdout", "side~1..side"))
			r.tryGit("am", ".git/p.mbox")
		}, State{State: "am", Branch: "main"}},
		{"bisecting", func(r *testRepo) { r.git("bisect", "start"); r.git("bisect", "bad") }, State{State: "bisecting", Branch: "main"}},
		{"locked", func(r *testRepo) { r.write(".git/index.lock", "") }, State{State: "locked", Branch: "main"}},
		{"hook", func(r *testRepo) {
			r.write(".git/hooks/pre-commit", "#!/bin/sh\n")
			r.chmod(".git/hooks/pre-commit", 0o755)
		}, State{State: "ok", Branch: "main", Hooks: true}},
		{"core.hooksPath", func(r *testRepo) {
			r.git("config", "core.hooksPath", ".git/husky")
			r.write(".git/husky/commit-msg", "#!/bin/sh\n")
			r.chmod(".git/husky/commit-msg", 0o755)
		}, State{State: "ok", Branch: "main", Hooks: true}},
		{"a hook of another kind", func(r *testRepo) {
			r.write(".git/hooks/pre-push", "#!/bin/sh\n")
			r.chmod(".git/hooks/pre-push", 0o755)
		}, State{State: "ok", Branch: "main"}},
		{"a sample and a hook that cannot run", func(r *testRepo) {
			r.write(".git/hooks/pre-commit.sample", "#!/bin/sh\n")
			r.write(".git/hooks/pre-commit", "#!/bin/sh\n")
		}, State{State: "ok", Branch: "main", Hooks: runtime.GOOS == "windows"}},
	} {
		if !sampled(tc.name) {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRepoWith(t, map[string]string{"a.txt": "base\n"})
			r.git("checkout", "-q", "-b", "side")
			r.write("a.txt", "side 1\n")
			r.commit("side 1")
			r.write("a.txt", "side 2\n")
			r.commit("side 2")
			r.git("checkout", "-q", "main")
			r.write("a.txt", "main 1\n")
			r.commit("main 1")
			r.write("a.txt", "main 2\n")
			r.commit("main 2")
			tc.do(r)
			got := r.open().State(context.Background())
			if (got.State == "ok") != (got.Detail == "") {
				t.Errorf("state %q has detail %q", got.State, got.Detail)
			}
			got.Detail = ""
			equal(t, "state", got, tc.want)
		})
	}
}

func TestStateUnborn(t *testing.T) {
	t.Parallel()
	s := newRepo(t).open().State(context.Background())
	equal(t, "state", []string{s.State, s.Branch}, []string{"unborn", "main"})
}

// A repository can be taken away while the shim serves it.
func TestStateAfterTheRepositoryIsGone(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	repo := r.open()
	r.remove(".git")
	equal(t, "state", repo.State(context.Background()).State, "none")
}

func TestNoRepository(t *testing.T) {
	t.Parallel()
	_, err := Open(context.Background(), realTempDir(t))
	if !errors.Is(err, ErrNone) {
		t.Fatalf("got %v", err)
	}
	s := StateOf(err)
	equal(t, "state, fix", []string{s.State, s.Fix}, []string{"none", "git init"})
}

func TestBareRepository(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "--bare")
	_, err := Open(context.Background(), r.dir)
	if !errors.Is(err, ErrBare) {
		t.Fatalf("got %v", err)
	}
	s := StateOf(err)
	equal(t, "state, fix", []string{s.State, s.Fix}, []string{"bare", "open a folder with a working tree: git worktree add ../work"})
}

func TestInsideTheGitFolder(t *testing.T) {
	t.Parallel()
	_, err := Open(context.Background(), newRepo(t).path(".git"))
	if !errors.Is(err, ErrNone) {
		t.Fatalf("got %v", err)
	}
}

func TestNoSuchFolder(t *testing.T) {
	t.Parallel()
	_, err := Open(context.Background(), filepath.Join(realTempDir(t), "missing"))
	if !errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrNone) {
		t.Fatalf("got %v", err)
	}
}

func TestGitMissing(t *testing.T) {
	r := newRepo(t)
	t.Setenv("PATH", t.TempDir())
	_, err := Open(context.Background(), r.dir)
	if err == nil || !strings.HasPrefix(err.Error(), "git is not installed or not on PATH") {
		t.Fatalf("got %v", err)
	}
	equal(t, "hint", errors.GetAllHints(err), []string{"install git (https://git-scm.com/downloads)"})
	equal(t, "state", StateOf(err).State, "none")
}

// Somebody else's repository: git's own test switch stands in for another owner.
func TestSafeDirectory(t *testing.T) {
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	spaced := filepath.Join(r.dir, "sub folder")
	must(os.Mkdir(spaced, 0o755))
	must(os.Rename(r.path(".git"), filepath.Join(spaced, ".git")))
	t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
	_, err := Open(context.Background(), spaced)
	if !errors.Is(err, ErrUnsafe) {
		t.Fatalf("got %v", err)
	}
	s := StateOf(err)
	equal(t, "state, fix", []string{s.State, s.Fix}, []string{"unsafe", "git config --global --add safe.directory '" + spaced + "'"})

	// The user's GIT_CONFIG_COUNT variables carry safe.directory to us.
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "safe.directory")
	t.Setenv("GIT_CONFIG_VALUE_0", spaced)
	repo, err := Open(context.Background(), spaced)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repo.Snapshot(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestForeignOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	t.Parallel()
	r := newRepo(t)
	for _, p := range []string{r.dir, r.path(".git")} {
		if err := os.Chown(p, 12345, 12345); err != nil {
			t.Skip(err)
		}
	}
	_, err := Open(context.Background(), r.dir)
	if !errors.Is(err, ErrUnsafe) {
		t.Fatalf("got %v", err)
	}
	equal(t, "fix", StateOf(err).Fix, "git config --global --add safe.directory "+r.dir)
}

func TestPathWithANewline(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(realTempDir(t), "new\nline")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip(err)
	}
	r := &testRepo{t: t, dir: dir}
	r.git("init", "-q")
	r.write("a.txt", "a\n")
	equal(t, "top", r.open().Top(), dir)
	equal(t, "tree", sorted(r.tree(r.snapshot().Tree)), []string{"a.txt"})
}

func TestHeadThatPointsAtABrokenRef(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	r.write(".git/refs/heads/main", strings.Repeat("1", 40)+"\n") // no such object
	if h, err := r.open().head(context.Background()); err == nil {
		t.Fatalf("a broken branch reads as %+v", h)
	}
}

func TestShellQuote(t *testing.T) {
	for in, want := range map[string]string{"/a/b-c_d.e": "/a/b-c_d.e", "/a b": "'/a b'", "/it's": `'/it'\''s'`, "": "''", "/ü": "'/ü'"} {
		equal(t, in, shellQuote(in), want)
	}
}
