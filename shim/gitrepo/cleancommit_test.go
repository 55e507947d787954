package gitrepo

import (
	"bytes"
	"context"
	"crypto/sha1"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// cleanRun is a run in a clean repository that edits, adds and deletes files.
func cleanRun(t *testing.T) *testRun {
	t.Helper()
	r := newRepoWith(t, map[string]string{"a.txt": numbered(9), "b.txt": "b\n", "gone/c.txt": "c\n", "src/d.txt": "d\n", ".gitattributes": "*.bin binary\n"})
	run := r.begin()
	r.write("a.txt", numbered(12))
	r.write("new/folder/e.txt", "e\n")
	r.remove("gone")
	return run
}

// The index of the second snapshot becomes the user's own: same entries as
// HEAD, with stat data, a checksum, and the tree of the whole.
func TestCommitOfACleanTree(t *testing.T) {
	t.Parallel()
	r := cleanRun(t)
	r.commitRun()
	if r.change.After.index == nil {
		t.Fatal("no index was kept for the commit")
	}
	equal(t, "committed", r.committed(), []string{"M a.txt", "D gone/c.txt", "A new/folder/e.txt"})
	equal(t, "status", r.git("status", "--porcelain", "-uall"), "")
	equal(t, "files that git has to read again", r.git("diff-files", "--name-only"), "")
	equal(t, "index", r.git("write-tree"), r.git("rev-parse", "HEAD^{tree}"))
	data := []byte(r.read(".git/index"))
	sum := sha1.Sum(data[:len(data)-sha1.Size])
	equal(t, "checksum", bytes.Equal(data[len(data)-sha1.Size:], sum[:]), true)
	facts, err := scanIndex(data, sha1.Size)
	equal(t, "tree in the index", []string{facts.tree, fmt.Sprint(err)}, []string{r.git("rev-parse", "HEAD^{tree}"), "<nil>"})
	r.clean()
	r.undo()
	equal(t, "status after the undo", r.git("status", "--porcelain", "-uall"), "")
	equal(t, "a.txt after the undo", r.read("a.txt"), numbered(9))
}

// What the user does between the second snapshot and the commit stays theirs.
func TestCommitOfACleanTreeThatIsNoMore(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		do     func(r *testRun)
		status string
	}{
		{"edits a file of the run", func(r *testRun) { r.swap("a.txt", "line a\n", "mine\n") }, " M a.txt\n"},
		{"edits another", func(r *testRun) { r.write("b.txt", "mine\n") }, " M b.txt\n"},
		{"stages another", func(r *testRun) { r.write("b.txt", "mine\n"); r.git("add", "b.txt") }, "M  b.txt\n"},
		{"hides another", func(r *testRun) { r.git("update-index", "--assume-unchanged", "b.txt") }, ""},
		{"promises a file", func(r *testRun) { r.write("n.txt", "n\n"); r.git("add", "-N", "n.txt") }, " A n.txt\n"},
		{"commits another", func(r *testRun) { r.write("b.txt", "mine\n"); r.git("commit", "-qm", "mine", "b.txt") }, ""},
		{"looks", func(r *testRun) { r.git("status") }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := cleanRun(t)
			r.request() // the second snapshot
			tc.do(r)
			bits, other := r.git("ls-files", "-v", "b.txt"), r.git("ls-files", "-s", "b.txt")
			r.commitRun()
			equal(t, "committed", r.committed(), []string{"M a.txt", "D gone/c.txt", "A new/folder/e.txt"})
			equal(t, "a.txt", r.inHead("a.txt"), numbered(12))
			status, err := r.tryGit("status", "--porcelain", "-uall")
			equal(t, "status", []string{status, fmt.Sprint(err)}, []string{tc.status, "<nil>"})
			equal(t, "bits of b.txt", r.git("ls-files", "-v", "b.txt"), bits)
			equal(t, "entry of b.txt", r.git("ls-files", "-s", "b.txt"), other)
			r.clean()
		})
	}
}

// TestGitProcessesOfARun holds the number of git processes of a run that edits
// one file: each costs as much as half the other work in a small repository.
func TestGitProcessesOfARun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("counts with a shell script in the place of git")
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	list := filepath.Join(bin, "list")
	script := fmt.Sprintf("#!/bin/sh\necho x >>'%s'\nexec '%s' \"$@\"\n", list, git)
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	r := newRepoWith(t, map[string]string{"a.txt": numbered(9), "b.txt": "b\n"})
	repo, ctx := r.open(), context.Background()
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	count := func(what string, want int, do func() error) {
		t.Helper()
		if err := os.WriteFile(list, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := do(); err != nil {
			t.Fatalf("%s: %+v", what, err)
		}
		calls, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "git processes: "+what, strings.Count(string(calls), "x"), want)
	}
	var before, after *Snapshot
	var change *Change
	count("snapshot of a clean tree", 2, func() (err error) { before, err = repo.Snapshot(ctx); return })
	count("keep it", 2, func() error { return repo.Keep(ctx, "r1", before, nil) })
	r.write("a.txt", numbered(10))
	count("second snapshot", 5, func() (err error) { after, err = repo.SnapshotAfter(ctx, before); return })
	count("change", 0, func() (err error) { change, err = repo.Change(ctx, before, after); return })
	count("whose", 0, func() error {
		repo.MarkYours(change, ToolLog{Complete: true, Paths: []string{"a.txt"}})
		return repo.MarkMoved(ctx, change)
	})
	count("keep both", 2, func() error { return repo.Keep(ctx, "r1", before, after) })
	count("commit", 4, func() error {
		_, err := repo.Commit(ctx, CommitRequest{RunID: "r1", Change: change, Message: "slide-write: edit\n"})
		return err
	})
	count("snapshot after it", 2, func() (err error) { before, err = repo.Snapshot(ctx); return })
	count("nothing changed", 2, func() (err error) { _, err = repo.SnapshotAfter(ctx, before); return })
}
