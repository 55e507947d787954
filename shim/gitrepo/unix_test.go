//go:build unix

package gitrepo

import (
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
