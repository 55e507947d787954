package gitrepo

import (
	"strings"
	"testing"
)

// TestCommitLineExact is the main promise: unstaged, staged and untracked work
// of the user's, also in the very file the agent edits, stays what it was, and
// the commit holds the agent's lines only.
func TestCommitLineExact(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": numbered(20), "b.txt": numbered(5), "c.txt": numbered(5)})
	r.swap("a.txt", "line c\n", "line c staged\n")
	r.swap("b.txt", "line b\n", "line b staged\n")
	r.git("add", "a.txt", "b.txt")
	r.swap("a.txt", "line h\n", "line h unstaged\n")
	r.swap("c.txt", "line a\n", "line a unstaged\n")
	r.write("notes.md", "mine\n")
	work, old := r.work(), r.inHead("a.txt")
	run := r.begin()
	r.swap("a.txt", "line p\n", "line p agent\n")
	r.write("new.txt", "agent\n")
	disk := r.disk()
	result := run.commitRun()
	equal(t, "committed", r.committed(), []string{"M a.txt", "A new.txt"})
	equal(t, "a.txt in HEAD", r.inHead("a.txt"), strings.Replace(old, "line p\n", "line p agent\n", 1))
	equal(t, "count", result.Count, 2)
	equal(t, "sha", result.SHA, r.git("rev-parse", "HEAD"))
	equal(t, "short", result.Short, r.git("rev-parse", "--short", "HEAD"))
	equal(t, "left out", len(result.LeftOut), 0)
	r.sameWork(work)
	equal(t, "working tree", r.disk(), disk)
	r.clean()

	undone := run.undo()
	equal(t, "a.txt after undo", r.read("a.txt"), strings.Replace(disk["a.txt"], "line p agent\n", "line p\n", 1)[len("644 "):])
	equal(t, "undo's commit", r.committed(), []string{"M a.txt", "D new.txt"})
	equal(t, "undo's sha", undone.Commit.SHA, r.git("rev-parse", "HEAD"))
	equal(t, "HEAD's tree", r.git("rev-parse", "HEAD^{tree}"), r.git("rev-parse", "HEAD~2^{tree}"))
	r.sameWork(work)
	r.clean()
}
