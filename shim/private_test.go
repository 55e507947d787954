package shim_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// homely is a stage where our own folders lie in the repository: all of a home
// folder, or the state alone. What the agents keep in the home folder is
// theirs, and here ignored.
func homely(t *testing.T, environ func(s *shimtest.Stage) []string) (*shimtest.Stage, shim.Config) {
	t.Helper()
	s := setup(t, edit, map[string]string{".gitignore": "/.claude*\n/.codex\n/.grok\n"})
	return s, shim.Config{Timing: quick, Environ: environ(s)}
}

// dirty is what /meta says.
func dirty(s *shimtest.Stage) bool {
	s.T.Helper()
	var meta struct{ Git struct{ Dirty bool } }
	if status := s.JSON("GET", "/meta", nil, &meta); status != 200 {
		s.T.Fatalf("GET /meta: %d", status)
	}
	return meta.Git.Dirty
}

// TestStateInTheRepository: where the state directory, or all of the home
// folder, lies in the repository, a run is like any other: nothing of ours is
// in its change, its commit, its notes or git's objects, and undo works. So it
// is where somebody has added all of it to git.
func TestStateInTheRepository(t *testing.T) {
	for name, environ := range map[string]func(s *shimtest.Stage) []string{
		"XDG_STATE_HOME": func(s *shimtest.Stage) []string {
			return []string{"XDG_STATE_HOME=" + filepath.Join(s.Repo, ".state")}
		},
		"HOME": func(s *shimtest.Stage) []string {
			return []string{"HOME=" + s.Repo, "XDG_STATE_HOME=", "XDG_CONFIG_HOME="}
		},
	} {
		for _, added := range []bool{false, true} {
			sub := name
			if added {
				sub += ", all added"
			}
			if !sampled(sub) {
				continue
			}
			t.Run(sub, func(t *testing.T) {
				s, cfg := homely(t, environ)
				s.Play(edit, cfg)
				if dirty(s) {
					t.Error("/meta says that there are changes")
				}
				if got := s.Git("status", "--porcelain", "-uall"); got != "" {
					t.Errorf("status %q", got)
				}
				if added {
					s.Git("add", "-f", "-A", ".")
					s.Git("commit", "-q", "-m", "everything")
				}
				for range 2 {
					events := s.Design(ask())
					wantWords(t, events, "result, change, commit, done")
					wantOnly(t, shimtest.One[event.Change](t, events), "a.txt")
					for _, n := range shimtest.All[event.Note](events) {
						if n.Level != event.Info {
							t.Errorf("note %+v", n)
						}
					}
					if got := s.Git("show", "--format=", "--name-only", "HEAD"); got != "a.txt\n" {
						t.Errorf("the commit holds %q", got)
					}
					undo(s, newest(s).ID)
					if got := s.Read("a.txt"); !strings.HasPrefix(got, "hello\n") {
						t.Errorf("a.txt is %q", got)
					}
				}
				if !added {
					noneOfOurs(s)
				}
				s.Stop()
				s.Clean()
			})
		}
	}
}

func wantOnly(t *testing.T, c event.Change, path string) {
	t.Helper()
	if len(c.Files) != 1 || c.Files[0].Path != path {
		t.Errorf("change %+v", c)
	}
}

// noneOfOurs wants no file of ours in the object database.
func noneOfOurs(s *shimtest.Stage) {
	s.T.Helper()
	for _, line := range strings.Split(s.Git("cat-file", "--batch-check", "--batch-all-objects"), "\n") {
		id, kind, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(kind, "tree"):
			if got := s.Git("ls-tree", "--name-only", id); strings.Contains(got, ".state") || strings.Contains(got, "slidewrite") {
				s.T.Errorf("tree %s: %q", id, got)
			}
		case strings.HasPrefix(kind, "blob"):
			if got := s.Git("cat-file", "blob", id); strings.Contains(got, s.Token) || strings.Contains(got, "hello to goodbye") {
				s.T.Errorf("blob %s: %.200q", id, got)
			}
		}
	}
}

// TestRepositoryInTheState: all files of such a repository would be ours.
func TestRepositoryInTheState(t *testing.T) {
	s := shimtest.New(t)
	repo := filepath.Join(s.StateHome(), "slidewrite", "repo")
	if err := os.MkdirAll(repo, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := shim.New(t.Context(), shim.Config{Repo: repo, Environ: s.Environ()})
	if err == nil || !strings.Contains(err.Error(), "own state directory") {
		t.Errorf("%v", err)
	}
}
