package benchrepo_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/shimtest/benchrepo"
)

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// What is made is clean, is dirty as long as a test wants it so, and clean
// again for the next one.
func TestRepo(t *testing.T) {
	t.Setenv(benchrepo.Env, "")
	dir := benchrepo.Open(t, 2000)
	if n := strings.Count(git(t, dir, "ls-files"), "\n"); n != 2000 {
		t.Errorf("%d files, want 2000", n)
	}
	clean := func() {
		t.Helper()
		if out := git(t, dir, "status", "--porcelain", "-uall"); out != "" {
			t.Errorf("it is not clean: %.300s", out)
		}
	}
	clean()
	t.Run("dirty", func(t *testing.T) {
		benchrepo.Dirty(t, dir)
		out := git(t, dir, "status", "--porcelain", "-uall")
		if edited, untracked := strings.Count(out, " M "), strings.Count(out, "?? "); edited != 2 || untracked != 100 {
			t.Errorf("%d files edited and %d untracked, want 2 and 100", edited, untracked)
		}
	})
	clean()
	t.Setenv(benchrepo.Env, dir)
	if again := benchrepo.Open(t, 7); again != dir {
		t.Errorf("%s instead of the one that was named", again)
	}
}
