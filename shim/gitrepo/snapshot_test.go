package gitrepo

import (
	"testing"
)

func TestSnapshotOfADirtyTree(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n", "sub/c.txt": "c\n", "gone.txt": "g\n", ".gitignore": "*.log\n"})
	r.write("a.txt", "unstaged\n")
	r.write("b.txt", "staged\n")
	r.git("add", "b.txt")
	r.write("b.txt", "staged, then edited\n")
	r.write("new.txt", "untracked\n")
	r.write("x.log", "ignored\n")
	r.remove("gone.txt")
	index, disk := r.indexState(), r.disk()

	s := r.snapshot()

	equal(t, "tree", r.tree(s.Tree), map[string]string{
		".gitignore": "100644 *.log\n", "a.txt": "100644 unstaged\n", "b.txt": "100644 staged, then edited\n",
		"new.txt": "100644 untracked\n", "sub/c.txt": "100644 c\n",
	})
	equal(t, "head", s.Head, Head{Ref: "refs/heads/main", Commit: r.git("rev-parse", "HEAD")})
	equal(t, "index", r.indexState(), index)
	equal(t, "files", r.disk(), disk)
}

func TestChangeIsWhatTheRunDid(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n"})
	r.write("a.txt", "the user's\n")
	r.write("notes.txt", "the user's\n")
	before := r.snapshot()

	r.write("a.txt", "the user's\nthe agent's\n")
	r.write("new.txt", "1\n2\n")
	r.remove("b.txt")

	c := r.change(before)
	equal(t, "paths", paths(c), []string{"modified a.txt", "deleted b.txt", "added new.txt"})
	equal(t, "lines", []int{c.Files[0].Added, c.Files[0].Removed, c.Files[2].Added}, []int{1, 0, 2})
	equal(t, "notes", len(c.Notes), 0)
}
