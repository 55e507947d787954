package shimtest

import (
	"os"
	"path/filepath"
	"slices"
)

// Proc is a living process of a run.
type Proc struct {
	PID     int
	Run     string // the run's id; the catalog's questions have one, too
	Command string
}

// Clean wants nothing of ours left: no lock, no private folder, no process
// of a run, and a sound repository.
func (s *Stage) Clean() {
	s.T.Helper()
	for _, pattern := range []string{"r/*", "repos/*/holder.json"} {
		found, err := filepath.Glob(filepath.Join(s.StateHome(), "slidewrite", filepath.FromSlash(pattern)))
		if err != nil {
			s.T.Fatal(err)
		}
		found = slices.DeleteFunc(found, func(p string) bool { return filepath.Base(p) == "lock" })
		if len(found) > 0 {
			s.T.Errorf("left behind: %q", found)
		}
	}
	if _, err := os.Stat(filepath.Join(s.Repo, ".git")); err == nil {
		s.Git("fsck", "--strict", "--no-dangling")
		if locks, _ := filepath.Glob(filepath.Join(s.Repo, ".git", "*.lock")); len(locks) > 0 {
			s.T.Errorf("locks left behind: %q", locks)
		}
	}
	if left := s.Marked(); len(left) > 0 {
		s.T.Errorf("processes left behind: %v", left)
	}
}
