//go:build unix

package gitrepo

import (
	"os"
	"syscall"
	"testing"
)

func TestFifo(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"tracked": "t\n", "a.txt": "a\n"})
	must(syscall.Mkfifo(r.path("untracked-fifo"), 0o600))
	before := r.snapshot()
	equal(t, "tree", sorted(r.tree(before.Tree)), []string{"a.txt", "tracked"})
	r.remove("tracked")
	must(syscall.Mkfifo(r.path("tracked"), 0o600))
	r.write("a.txt", "b\n")
	equal(t, "change", paths(r.change(before)), []string{"modified a.txt", "deleted tracked"})
}

// What the run itself put in the place of a file has not "changed since".
func TestUndoNamesWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": numbered(9), "b.txt": "b\n"})
	run := r.begin()
	r.remove("b.txt")
	must(syscall.Mkfifo(r.path("b.txt"), 0o600))
	r.swap("a.txt", "line c\n", "agent\n")
	run.change = r.change(run.before)
	refused := run.undoRefused()
	equal(t, "message", refused.Message, "a named pipe is in the way")
	equal(t, "fix", refused.Fix, "move it away and undo again")
	equal(t, "paths", refused.Paths, []string{"b.txt"})
	r.swap("a.txt", "agent\n", "mine\n")
	refused = run.undoRefused()
	equal(t, "message", refused.Message, "later edits are in the same place; a named pipe is in the way")
	equal(t, "paths", refused.Paths, []string{"a.txt", "b.txt"})
}

// TestUndoKeepsTheOwner: what root restores belongs to whom it belonged, or to
// the owner of its folder; what anybody else restores is their own.
func TestUndoKeepsTheOwner(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n", "d/gone.txt": "g\n", "d/e/deep.txt": "d\n", "mine.txt": "m\n"})
	root := os.Geteuid() == 0
	give := func(uid, gid int, names ...string) {
		for _, name := range names {
			if root {
				must(os.Chown(r.path(name), uid, gid))
			}
		}
	}
	give(1234, 2345, "d", "d/gone.txt")
	run := r.begin()
	r.write("a.txt", "agent\n")
	r.write("mine.txt", "agent\n")
	give(1235, 2346, "a.txt")
	r.remove("d/gone.txt", "d/e")
	run.commitRun()
	run.undo()
	me := [2]int{os.Geteuid(), os.Getegid()}
	for name, want := range map[string][2]int{
		"a.txt": {1235, 2346}, "d/gone.txt": {1234, 2345}, "d/e": {1234, 2345}, "d/e/deep.txt": {1234, 2345}, "mine.txt": me,
	} {
		if !root {
			want = me
		}
		info, err := os.Lstat(r.path(name))
		must(err)
		st := info.Sys().(*syscall.Stat_t)
		equal(t, "owner of "+name, [2]int{int(st.Uid), int(st.Gid)}, want)
	}
	r.clean()
}
