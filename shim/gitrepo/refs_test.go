package gitrepo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeepAndDrop(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	r.git("config", "core.logAllRefUpdates", "always")
	repo := r.open()
	log := r.git("log", "--all", "--format=%H")
	r.write("a.txt", "user\n")
	before := r.snapshot()
	must(repo.Keep(ctx, "20260102T030405-ab12", before, nil))
	equal(t, "entries", r.git("ls-tree", "refs/slidewrite/runs/20260102T030405-ab12"), "040000 tree "+before.Tree+"\tbefore")

	r.write("a.txt", "agent\n")
	after := r.after(before)
	must(repo.Keep(ctx, "20260102T030405-ab12", before, after))
	equal(t, "entries", r.git("ls-tree", "refs/slidewrite/runs/20260102T030405-ab12"), "040000 tree "+after.Tree+"\tafter\n040000 tree "+before.Tree+"\tbefore")
	r.git("gc", "-q", "--prune=now")
	equal(t, "after gc", r.tree(before.Tree)["a.txt"]+r.tree(after.Tree)["a.txt"], "100644 user\n100644 agent\n")
	equal(t, "history", r.git("log", "--all", "--format=%H"), log)
	if _, err := os.Stat(r.path(".git/logs/refs/slidewrite")); err == nil {
		t.Error("our ref has a reflog")
	}
	r.git("fsck", "--strict")

	must(repo.Drop(ctx, "20260102T030405-ab12"))
	must(repo.Drop(ctx, "20260102T030405-ab12")) // again: nothing to do
	equal(t, "refs", r.git("for-each-ref", "refs/slidewrite"), "")
}

func TestKeepAnEmptyTree(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	before := r.snapshot()
	must(r.open().Keep(context.Background(), "1", before, nil))
	r.git("gc", "-q", "--prune=now")
	equal(t, "tree", sorted(r.tree(before.Tree)), []string{})
}

func TestOnlyTheLast200RunsAreKept(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	before := r.snapshot()
	var in strings.Builder
	for i := range keptRuns + 2 {
		fmt.Fprintf(&in, "create %s%05d %s\n", runRefs, i, before.Tree)
	}
	if _, err := r.open().git(context.Background(), call{stdin: []byte(in.String())}, "update-ref", "--stdin"); err != nil {
		t.Fatal(err)
	}
	must(r.open().Keep(context.Background(), "00500", before, nil))
	kept := func() []string {
		refs := strings.Fields(r.git("for-each-ref", "--format=%(refname:lstrip=3)", runRefs))
		return []string{fmt.Sprint(len(refs)), refs[0], refs[len(refs)-1]}
	}
	equal(t, "count, first, last", kept(), []string{"200", "00003", "00500"})
	r.git("pack-refs", "--all", "--prune")
	must(r.open().Keep(context.Background(), "00501", before, nil))
	equal(t, "count, first, last of packed ones", kept(), []string{"200", "00004", "00501"})
}

// All refs of runs go, wherever and in whatever state they are, and nothing
// else does.
func TestDropAll(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, packed := range []bool{false, true} {
		t.Run(fmt.Sprintf("packed %v", packed), func(t *testing.T) {
			t.Parallel()
			r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
			r.git("config", "core.logAllRefUpdates", "always")
			r.git("branch", "other")
			r.git("update-ref", "refs/slidewrite-of-mine/x", "HEAD")
			others := r.git("for-each-ref")
			repo, before := r.open(), r.snapshot()
			var in strings.Builder
			for i := range 250 {
				fmt.Fprintf(&in, "create %srun-%d %s\n", runRefs, i, before.Tree)
			}
			fmt.Fprintf(&in, "create %sdeep/er-1 %s\n", runRefs, before.Tree)
			if _, err := repo.git(ctx, call{stdin: []byte(in.String()), config: noReflog}, "update-ref", "--stdin"); err != nil {
				t.Fatal(err)
			}
			if packed {
				r.git("pack-refs", "--all", "--prune")
			}
			files, head, status := sorted(r.tree("HEAD")), r.git("rev-parse", "HEAD"), r.git("status", "--porcelain=v2", "--branch")
			// One of a tree that is not there, one that names a branch, one that a
			// power cut left empty, and two of a worktree that keeps its runs.
			r.write(".git/refs/slidewrite/runs/lost-1", strings.Repeat("1", len(before.Tree))+"\n")
			r.git("symbolic-ref", runRefs+"link-1", "refs/heads/other")
			r.write(".git/refs/slidewrite/runs/empty-1", "")
			r.write(".git/refs/slidewrite/runs/empty-2", "")
			keep := func(id string) bool { return id == "run-7" || id == "empty-2" }
			n, err := repo.DropAll(ctx, keep)
			must(err)
			equal(t, "dropped", n, 249+1+1+1+1)
			equal(t, "kept", r.git("for-each-ref", "--format=%(refname:lstrip=3)", runRefs), "run-7")
			if _, err := os.Stat(r.path(".git/refs/slidewrite/runs/empty-2")); err != nil {
				t.Error(err)
			}

			n, err = repo.DropAll(ctx, func(string) bool { return false })
			must(err)
			equal(t, "dropped", n, 2)
			n, err = repo.DropAll(ctx, func(string) bool { return false })
			must(err)
			equal(t, "dropped again", n, 0)
			equal(t, "refs", r.git("for-each-ref"), others)
			if left, err := os.ReadDir(r.path(".git/refs/slidewrite/runs")); err == nil && len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if logs, _ := filepath.Glob(r.path(".git/logs/refs/slidewrite/runs/*")); len(logs) > 0 {
				t.Errorf("reflogs left behind: %v", logs)
			}
			equal(t, "files", sorted(r.tree("HEAD")), files)
			equal(t, "HEAD and status", r.git("rev-parse", "HEAD")+r.git("status", "--porcelain=v2", "--branch"), head+status)
			r.git("fsck", "--strict")
		})
	}
}

// A transaction that git refuses leaves all refs as they are.
func TestDropAllThatGitRefuses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	repo, before := r.open(), r.snapshot()
	must(repo.Keep(ctx, "run-1", before, nil))
	must(repo.Keep(ctx, "run-2", before, nil))
	r.write(".git/refs/slidewrite/runs/run-2.lock", "")
	if n, err := repo.DropAll(ctx, func(string) bool { return false }); n != 0 || err == nil || !strings.Contains(err.Error(), "run-2.lock") {
		t.Errorf("%d, %v", n, err)
	}
	equal(t, "kept", r.git("for-each-ref", "--format=%(refname:lstrip=3)", runRefs), "run-1\nrun-2")
}

func TestRunIDsThatAreNoRefNames(t *testing.T) {
	t.Parallel()
	repo, s := newRepo(t).open(), &Snapshot{}
	for _, id := range []string{"", "..", "a/b", "-x", "a b", "a..b", "x.lock", "a\nb", "@{1}", strings.Repeat("a", 200)} {
		if err := repo.Keep(context.Background(), id, s, nil); err == nil || !strings.Contains(err.Error(), "cannot be part of a ref name") {
			t.Errorf("Keep(%q): %v", id, err)
		}
		if err := repo.Drop(context.Background(), id); err == nil {
			t.Errorf("Drop(%q) was accepted", id)
		}
	}
}
