package shim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// onlyGit is a PATH on which there is no agent.
func onlyGit(t *testing.T, s *shimtest.Stage) string {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(s.Root, "only-git")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(git, filepath.Join(dir, filepath.Base(git))); err != nil {
		t.Fatal(err)
	}
	return dir
}
