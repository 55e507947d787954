package gitrepo

import (
	"context"
	"fmt"
	"os"
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
	refs := strings.Fields(r.git("for-each-ref", "--format=%(refname:lstrip=3)", runRefs))
	equal(t, "count, first, last", []string{fmt.Sprint(len(refs)), refs[0], refs[len(refs)-1]}, []string{"200", "00003", "00500"})
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
