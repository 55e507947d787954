package gitrepo

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// home is a repository that holds our own folders, as a home folder does.
const (
	privateState  = ".local/state/ours"
	privateTokens = ".config/ours/tokens"
)

// objects are the contents of all blobs in the object database.
func (r *testRepo) objects() string {
	r.t.Helper()
	var all strings.Builder
	for _, line := range strings.Split(r.git("cat-file", "--batch-check", "--batch-all-objects"), "\n") {
		if id, rest, _ := strings.Cut(line, " "); strings.HasPrefix(rest, "blob") {
			all.WriteString(r.git("cat-file", "blob", id) + "\n")
		}
	}
	return all.String()
}

// TestPrivateFolders: what lies in our own folders is never stored, never part
// of a change and in nobody's way, whatever the run does to the index; only
// what has a similar name is the user's.
func TestPrivateFolders(t *testing.T) {
	t.Parallel()
	const journal, token = privateState + "/repos/x/journals/1.jsonl", privateTokens + "/x"
	for _, tc := range []struct {
		name string
		mine func(r *testRepo) // the user's doing before the run
		run  func(r *testRepo) // the agent's doing, besides an edit
		kept bool              // the run put the secrets into the object database itself
	}{
		{name: "untracked"},
		{name: "tracked", mine: func(r *testRepo) { r.commit("with the state") }},
		{name: "tracked and edited", mine: func(r *testRepo) {
			r.commit("with the state")
			r.write(journal, "edited\n")
		}},
		{name: "staged before", mine: func(r *testRepo) { r.git("add", "-A") }},
		{name: "hidden", mine: func(r *testRepo) {
			r.commit("with the state")
			r.git("update-index", "--assume-unchanged", journal)
		}},
		{name: "staged by the run", run: func(r *testRepo) { r.git("add", "-A") }, kept: true},
		{name: "untracked by the run", mine: func(r *testRepo) { r.commit("with the state") },
			run: func(r *testRepo) { r.git("rm", "-q", "-r", "--cached", privateState, privateTokens) }},
		{name: "deleted by the run", mine: func(r *testRepo) { r.commit("with the state") },
			run: func(r *testRepo) { r.remove(privateState) }},
		{name: "a repository of its own", mine: func(r *testRepo) { r.git("init", "-q", privateState) }},
		{name: "too large", run: func(r *testRepo) { r.write(privateState+"/large", strings.Repeat("x", maxUntrackedFile+1)) }},
	} {
		if !sampled(tc.name) {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRepoWith(t, map[string]string{"a.txt": numbered(9)})
			r.write(journal, "before\n")
			r.write(token, "token\n")
			if tc.mine != nil {
				tc.mine(r)
			}
			repo := r.open()
			repo.SetPrivate(r.path(privateState), r.path(privateTokens), r.dir, filepath.Dir(r.dir), r.path("not there"))
			run := &testRun{testRepo: r, id: "r1"}
			var err error
			if run.before, err = repo.Snapshot(context.Background()); err != nil {
				t.Fatal(err)
			}
			r.swap("a.txt", "line c\n", "agent\n")
			r.write(privateState+"-of-mine", "agent's\n")
			for _, p := range []string{journal, token, privateState + "/repos/x/runs/1.json"} {
				r.write(p, "THE SECRET\n")
			}
			if tc.run != nil {
				tc.run(r)
			}
			after, err := repo.SnapshotAfter(context.Background(), run.before)
			if err != nil {
				t.Fatal(err)
			}
			if run.change, err = repo.Change(context.Background(), run.before, after); err != nil {
				t.Fatal(err)
			}
			equal(t, "change", paths(run.change), []string{"added " + privateState + "-of-mine", "modified a.txt"})
			equal(t, "notes", run.change.Notes, nil)
			equal(t, "unknown", append(run.before.Unknown, after.Unknown...), nil)
			if run.result, err = repo.Commit(context.Background(), run.request()); err != nil {
				t.Fatal(err)
			}
			equal(t, "commit", r.committed(), []string{"A " + privateState + "-of-mine", "M a.txt"})
			if !tc.kept && strings.Contains(r.objects(), "THE SECRET") {
				t.Error("the content of our folders is in the object database")
			}
			r.write(token, "THE SECRET, once more\n")
			disk := r.disk()
			undone, err := repo.Undo(context.Background(), run.undoRequest())
			if err != nil {
				t.Fatalf("undo: %+v", err)
			}
			equal(t, "undo's change", paths(undone.Change), []string{"deleted " + privateState + "-of-mine", "modified a.txt"})
			delete(disk, privateState+"-of-mine")
			disk["a.txt"] = r.disk()["a.txt"]
			equal(t, "working tree", r.disk(), disk)
			equal(t, "a.txt", r.read("a.txt"), numbered(9))
			r.clean()
		})
	}
}

// TestUncoveredPrivate: an edit of our own files is not part of a change, and
// said not to be, tracked or not.
func TestUncoveredPrivate(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n", privateState + "/x": "x\n"})
	repo := r.open()
	repo.SetPrivate(r.path(privateState))
	got, err := repo.Uncovered(context.Background(), []string{"a.txt", privateState + "/x", privateState + "y"})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "uncovered", got, []string{privateState + "/x"})
}

// TestFolderGone: a working tree that was removed is said to be gone; it is
// not git that is missing.
func TestFolderGone(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	repo, before := r.open(), r.snapshot()
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	_, snapErr := repo.Snapshot(context.Background())
	_, afterErr := repo.SnapshotAfter(context.Background(), before)
	_, undoErr := repo.Undo(context.Background(), UndoRequest{RunID: "u1", Of: "r1", Before: before.Tree, After: before.Tree})
	for what, err := range map[string]error{"snapshot": snapErr, "snapshot after": afterErr, "undo": undoErr} {
		if err == nil || !strings.Contains(err.Error(), "the folder "+r.dir+" is gone") || strings.Contains(err.Error(), "fork/exec") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if s := repo.State(context.Background()); s.State != "none" || !strings.Contains(s.Detail, "is gone") || s.Fix == "" {
		t.Errorf("state: %+v", s)
	}
}
