package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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
	equal(t, "short", r.git("rev-parse", result.Short), result.SHA)
	equal(t, "left out", len(result.LeftOut), 0)
	r.sameWork(work)
	equal(t, "working tree", r.disk(), disk)
	r.clean()

	undone := run.undo()
	r.swap("a.txt", "line p\n", "line p agent\n")
	r.write("new.txt", "agent\n")
	equal(t, "undo took back nothing else", r.disk(), disk)
	r.swap("a.txt", "line p agent\n", "line p\n")
	r.remove("new.txt")
	equal(t, "undo's commit", r.committed(), []string{"M a.txt", "D new.txt"})
	equal(t, "undo's sha", undone.Commit.SHA, r.git("rev-parse", "HEAD"))
	equal(t, "HEAD's tree", r.git("rev-parse", "HEAD^{tree}"), r.git("rev-parse", "HEAD~2^{tree}"))
	r.sameWork(work)
	r.clean()
}

// TestCommitObject: who, what and where in the log.
func TestCommitObject(t *testing.T) {
	t.Parallel()
	for _, asUser := range []bool{false, true} {
		r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
		run := r.begin()
		r.write("a.txt", "b\n")
		run.commitRun(func(req *CommitRequest) {
			req.AsUser = asUser
			req.Message = "slide-write: grün – “quotes”\n\nSlide-Write-Run: r1\nSlide-Write-Session: anthropic/1\n"
		})
		who := "Slide Write <slide-write@local>"
		if asUser {
			who = "Ada User <ada@example.com>"
		}
		equal(t, "author, committer", r.git("log", "-1", "--format=%an <%ae>|%cn <%ce>"), who+"|"+who)
		equal(t, "message", r.git("log", "-1", "--format=%B"), "slide-write: grün – “quotes”\n\nSlide-Write-Run: r1\nSlide-Write-Session: anthropic/1\n")
		equal(t, "trailer", r.git("log", "-1", "--format=%(trailers:key=Slide-Write-Run,valueonly)"), "r1\n")
		equal(t, "reflog", r.git("log", "-g", "-1", "--format=%gs"), "slide-write: grün – “quotes”")
		equal(t, "branch's reflog", r.git("log", "-g", "-1", "--format=%gs", "main"), "slide-write: grün – “quotes”")
		equal(t, "parent", r.git("rev-list", "--count", "HEAD"), "2")
	}
}

// TestCommitPaths: one row for each kind of change. setup is committed, user
// is the user's uncommitted work, agent the run; want the commit's paths. The
// user's work must survive, undo must bring the tree back.
func TestCommitPaths(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("names, modes and links that Windows does not have")
	}
	for name, row := range map[string]struct {
		setup, user, agent func(*testRepo)
		want, left         []string
	}{
		"strange names": {
			setup: func(r *testRepo) {
				for _, n := range strangeNames {
					r.write(n, numbered(9))
				}
			},
			user: func(r *testRepo) {
				for i, n := range strangeNames {
					r.swap(n, "line a\n", "line a mine\n")
					if i%2 == 0 {
						r.git("--literal-pathspecs", "add", "--", n)
					}
				}
			},
			agent: func(r *testRepo) {
				for _, n := range strangeNames {
					r.swap(n, "line f\n", "line f agent\n")
				}
			},
			want: prefixed("M ", strangeNames),
		},
		"rename": {
			setup: func(r *testRepo) { r.write("old name.txt", numbered(9)) },
			user:  func(r *testRepo) {},
			agent: func(r *testRepo) { os.Rename(r.path("old name.txt"), r.path("new name.txt")) },
			want:  []string{"A new name.txt", "D old name.txt"},
		},
		"delete, with the folder": {
			setup: func(r *testRepo) { r.write("d/e/f.txt", "f\n"); r.write("g.txt", "g\n") },
			user:  func(r *testRepo) { r.write("g.txt", "mine\n") },
			agent: func(r *testRepo) { r.remove("d") },
			want:  []string{"D d/e/f.txt"},
		},
		"mode of a file that the user edits": {
			setup: func(r *testRepo) { r.write("tool", numbered(9)) },
			user:  func(r *testRepo) { r.swap("tool", "line a\n", "line a mine\n") },
			agent: func(r *testRepo) { r.chmod("tool", 0o755) },
			want:  []string{"M tool"},
		},
		"text of a file whose mode the user staged": {
			setup: func(r *testRepo) { r.write("tool", numbered(9)) },
			user:  func(r *testRepo) { r.chmod("tool", 0o755); r.git("add", "tool") },
			agent: func(r *testRepo) { r.swap("tool", "line a\n", "line a agent\n") },
			want:  []string{"M tool"},
		},
		"symbolic link": {
			setup: func(r *testRepo) { r.symlink("a", "l"); r.symlink("a", "mine") },
			user:  func(r *testRepo) { r.remove("mine"); r.symlink("b", "mine") },
			agent: func(r *testRepo) { r.remove("l"); r.symlink("c", "l"); r.remove("mine"); r.symlink("c", "mine") },
			want:  []string{"M l"}, left: []string{"mine"},
		},
		"binary": {
			setup: func(r *testRepo) { r.write("p.png", "\x00a\n"); r.write("q.png", "\x00a\nb\nc\nd\n") },
			user:  func(r *testRepo) { r.write("q.png", "\x00mine\nb\nc\nd\n") },
			agent: func(r *testRepo) { r.write("p.png", "\x00b\n"); r.write("q.png", "\x00mine\nb\nc\nagent\n") },
			want:  []string{"M p.png"}, left: []string{"q.png"},
		},
		"CRLF kept in git": {
			setup: func(r *testRepo) { r.write("w.txt", strings.ReplaceAll(numbered(9), "\n", "\r\n")) },
			user:  func(r *testRepo) { r.swap("w.txt", "line a\r\n", "line a mine\r\n") },
			agent: func(r *testRepo) { r.swap("w.txt", "line f\r\n", "line f agent\r\n") },
			want:  []string{"M w.txt"},
		},
		"CRLF on disk only": {
			setup: func(r *testRepo) {
				r.write(".gitattributes", "*.txt text\n")
				r.write("w.txt", strings.ReplaceAll(numbered(9), "\n", "\r\n"))
			},
			user:  func(r *testRepo) { r.swap("w.txt", "line a\r\n", "line a mine\r\n") },
			agent: func(r *testRepo) { r.swap("w.txt", "line f\r\n", "line f agent\r\n") },
			want:  []string{"M w.txt"},
		},
		"merge=union and a custom driver do not speak": {
			setup: func(r *testRepo) {
				r.write(".gitattributes", "*.union merge=union\n*.mine merge=mine\n*.ours merge=ours\n")
				r.git("config", "merge.mine.driver", "echo driven > %A")
				r.git("config", "merge.ours.driver", "true")
				for _, n := range []string{"a.union", "b.mine", "c.ours", "d.union"} {
					r.write(n, numbered(9))
				}
			},
			user: func(r *testRepo) {
				for _, n := range []string{"a.union", "b.mine", "c.ours", "d.union"} {
					r.swap(n, "line a\n", "line a mine\n")
				}
				r.git("add", "b.mine")
			},
			agent: func(r *testRepo) {
				for _, n := range []string{"a.union", "b.mine", "c.ours"} {
					r.swap(n, "line f\n", "line f agent\n")
				}
				r.swap("d.union", "line a mine\n", "line a both\n")
			},
			want: []string{"M a.union", "M b.mine", "M c.ours"}, left: []string{"d.union"},
		},
		"adjacent lines overlap": {
			setup: func(r *testRepo) { r.write("a.txt", numbered(9)) },
			user:  func(r *testRepo) { r.swap("a.txt", "line c\n", "line c mine\n") },
			agent: func(r *testRepo) { r.swap("a.txt", "line d\n", "line d agent\n"); r.write("b.txt", "b\n") },
			want:  []string{"A b.txt"}, left: []string{"a.txt"},
		},
		"the user's untracked files": {
			setup: func(r *testRepo) { r.write("a.txt", "a\n") },
			user:  func(r *testRepo) { r.write("New.tsx", numbered(9)); r.write("gone.txt", "mine\n") },
			agent: func(r *testRepo) {
				r.swap("New.tsx", "line a\n", "agent\n")
				r.remove("gone.txt")
				r.write("a.txt", "agent\n")
			},
			want: []string{"M a.txt"}, left: []string{"New.tsx", "gone.txt"},
		},
		"intent to add": {
			setup: func(r *testRepo) { r.write("a.txt", "a\n") },
			user:  func(r *testRepo) { r.write("New.tsx", numbered(9)); r.git("add", "-N", "New.tsx") },
			agent: func(r *testRepo) { r.swap("New.tsx", "line a\n", "agent\n"); r.write("a.txt", "agent\n") },
			want:  []string{"M a.txt"}, left: []string{"New.tsx"},
		},
		"file to folder": {
			setup: func(r *testRepo) { r.write("x", "x\n") },
			user:  func(r *testRepo) {},
			agent: func(r *testRepo) { r.remove("x"); r.write("x/y.txt", "y\n") },
			want:  []string{"D x", "A x/y.txt"},
		},
		"folder to file": {
			setup: func(r *testRepo) { r.write("x/y.txt", "x\n"); r.write("x/z/w.txt", "x\n") },
			user:  func(r *testRepo) {},
			agent: func(r *testRepo) { r.remove("x"); r.write("x", "y\n") },
			want:  []string{"A x", "D x/y.txt", "D x/z/w.txt"},
		},
		"folder to symbolic link": {
			setup: func(r *testRepo) { r.write("x/y.txt", "x\n"); r.write("z/y.txt", "z\n") },
			user:  func(r *testRepo) {},
			agent: func(r *testRepo) { r.remove("x"); r.symlink("z", "x") },
			want:  []string{"A x", "D x/y.txt"},
		},
		"symbolic link to file": {
			setup: func(r *testRepo) { r.symlink("z", "x"); r.write("z", "z\n") },
			user:  func(r *testRepo) {},
			agent: func(r *testRepo) { r.remove("x"); r.write("x", "file\n") },
			want:  []string{"T x"},
		},
		"folder to file where the user changed a file of it": {
			setup: func(r *testRepo) { r.write("x/y.txt", "x\n"); r.write("x/z.txt", "z\n") },
			user:  func(r *testRepo) { r.write("x/y.txt", "mine\n") },
			agent: func(r *testRepo) { r.remove("x"); r.write("x", "agent\n") },
			want:  []string{"D x/z.txt"}, left: []string{"x/y.txt", "x"},
		},
		"file in the place of a folder that the user deleted": {
			setup: func(r *testRepo) { r.write("x/y.txt", "x\n"); r.write("b.txt", "b\n") },
			user:  func(r *testRepo) { r.remove("x") },
			agent: func(r *testRepo) { r.write("x", "agent\n"); r.write("b.txt", "agent\n") },
			want:  []string{"M b.txt"}, left: []string{"x"},
		},
		"file in the place of a folder that only the index has": {
			setup: func(r *testRepo) { r.write("b.txt", "b\n") },
			user:  func(r *testRepo) { r.write("x/y.txt", "x\n"); r.git("add", "x"); r.remove("x") },
			agent: func(r *testRepo) { r.write("x", "agent\n"); r.write("b.txt", "agent\n") },
			want:  []string{"M b.txt"}, left: []string{"x"},
		},
		"nested repository": {
			setup: func(r *testRepo) { r.write("a.txt", "a\n") },
			user:  func(r *testRepo) { r.git("init", "-q", "nested"); r.write("nested/n.txt", "n\n") },
			agent: func(r *testRepo) { r.write("nested/n.txt", "agent\n"); r.write("a.txt", "agent\n") },
			want:  []string{"M a.txt"},
		},
		"staged deletion of another file, staged rename": {
			setup: func(r *testRepo) { r.write("a.txt", "a\n"); r.write("b.txt", "b\n"); r.write("c.txt", "c\n") },
			user:  func(r *testRepo) { r.git("rm", "-q", "b.txt"); r.git("mv", "c.txt", "d.txt") },
			agent: func(r *testRepo) { r.write("a.txt", "agent\n") },
			want:  []string{"M a.txt"},
		},
	} {
		if !sampled(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			row.setup(r)
			r.commit("base")
			row.user(r)
			work, start := r.work(), r.disk()
			run := r.begin()
			row.agent(r)
			disk := r.disk()
			result := run.commitRun()
			equal(t, "committed", r.committed(), row.want)
			equal(t, "left out", fmt.Sprint(result.LeftOut), fmt.Sprint(row.left))
			equal(t, "working tree", r.disk(), disk)
			now := r.work()
			if len(row.left) == 0 {
				equal(t, "git diff", now.unstaged, work.unstaged)
			} else if len(notesWith(result.Notes, "overlap"))+len(notesWith(result.Notes, "left_out")) < len(row.left) {
				t.Errorf("no note for each left-out path: %+v", result.Notes)
			}
			equal(t, "git diff --cached", now.staged, work.staged)
			r.tidy()
			nested := r.disk()["nested/n.txt"]
			undone := run.undo()
			if nested != "" {
				start["nested/n.txt"] = nested // another repository's: not ours to undo
			}
			equal(t, "after undo", r.disk(), start)
			equal(t, "undo's commit", undone.CommitRefused, nil)
			r.sameWork(work)
			r.clean()
		})
	}
}

// strangeNames break programs that split on white space, parse quoted paths or
// hand names to git as patterns.
var strangeNames = []string{
	"*", "-dash.txt", ":(top)a", "[a].txt", "back\\slash", "new\nline", "quo\"te", "sp ace", "tab\tbed", "ümläut", "日本.txt", "\xff\xfe.bin",
}

func prefixed(prefix string, names []string) []string {
	var list []string
	for _, n := range names {
		list = append(list, prefix+n)
	}
	return list
}

// TestCommitHiddenEntries: the bits that make git look away stay with the
// user's index, and what they hide is not swept into the commit.
func TestCommitHiddenEntries(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"assumed.txt": numbered(9), "skipped.txt": numbered(9), "both.txt": numbered(9), "c.txt": "c\n"})
	r.git("update-index", "--assume-unchanged", "assumed.txt", "both.txt")
	r.git("update-index", "--skip-worktree", "skipped.txt", "both.txt")
	r.swap("assumed.txt", "line a\n", "line a mine\n")
	r.swap("skipped.txt", "line a\n", "line a mine\n")
	bits := func() string { return r.git("ls-files", "-v") }
	was, work := bits(), r.work()
	run := r.begin()
	for _, n := range []string{"assumed.txt", "skipped.txt", "both.txt"} {
		r.swap(n, "line f\n", "line f agent\n")
	}
	run.commitRun()
	equal(t, "committed", r.committed(), []string{"M assumed.txt", "M both.txt", "M skipped.txt"})
	equal(t, "HEAD", r.inHead("assumed.txt"), strings.Replace(numbered(9), "line f\n", "line f agent\n", 1))
	equal(t, "bits", bits(), was)
	r.sameWork(work)
	r.clean()
}

// TestCommitIndexFormats: whatever extension the user's index has, it stays
// usable and says the same.
func TestCommitIndexFormats(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string]func(*testRepo){
		"version 4":       func(r *testRepo) { r.git("update-index", "--index-version", "4") },
		"split index":     func(r *testRepo) { r.git("config", "core.splitIndex", "true"); r.git("update-index", "--split-index") },
		"untracked cache": func(r *testRepo) { r.git("config", "core.untrackedCache", "true"); r.git("status") },
		"sparse":          func(r *testRepo) { r.git("sparse-checkout", "set", "--cone", "--sparse-index", "src") },
		"no trust of modes": func(r *testRepo) {
			r.git("config", "core.fileMode", "false")
		},
	} {
		if !sampled(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepoWith(t, map[string]string{"src/a.txt": numbered(9), "far/b.txt": numbered(9), "c.txt": "c\n"})
			setup(r)
			r.swap("src/a.txt", "line a\n", "line a mine\n")
			r.write("c.txt", "mine\n")
			r.git("add", "c.txt")
			work := r.work()
			run := r.begin()
			r.swap("src/a.txt", "line f\n", "line f agent\n")
			r.write("src/new.txt", "agent\n")
			run.commitRun()
			equal(t, "committed", r.committed(), []string{"M src/a.txt", "A src/new.txt"})
			r.sameWork(work)
			equal(t, "status", r.git("status", "--porcelain"), "M  c.txt\n M src/a.txt")
			r.clean()
		})
	}
}

// TestCommitNoPhantoms: right after the commit, before any command has
// refreshed the index, the plumbing sees no modified file, and an edit of the
// same second and size is seen.
func TestCommitNoPhantoms(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "aaaa\n", "b.txt": "b\n"})
	run := r.begin()
	r.write("a.txt", "bbbb\n")
	run.commitRun()
	equal(t, "git diff-files", r.git("diff-files", "--name-only"), "")
	equal(t, "git diff-index", r.git("diff-index", "--name-only", "HEAD"), "")
	r.write("a.txt", "cccc\n")
	equal(t, "git diff", r.git("diff", "--name-only"), "a.txt")
}

// TestCommitStagedByAgent: an agent that stages its own work is committed all
// the same.
func TestCommitStagedByAgent(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": numbered(9)})
	run := r.begin()
	r.swap("a.txt", "line a\n", "agent\n")
	r.write("new.txt", "one\n")
	r.git("add", "-A")
	r.write("later.txt", "two\n")
	r.git("add", "-N", "later.txt")
	run.commitRun()
	equal(t, "committed", r.committed(), []string{"M a.txt", "A later.txt", "A new.txt"})
	equal(t, "status", r.git("status", "--porcelain"), "")
	r.clean()
}

// TestCommitStagedOverlap: a staged part where the agent edited stays as it
// was, with a note.
func TestCommitStagedOverlap(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": numbered(9)})
	r.swap("a.txt", "line c\n", "line c staged\n")
	r.git("add", "a.txt")
	r.write("a.txt", numbered(9)) // the file is as in HEAD again
	staged := r.stagedEntries()
	run := r.begin()
	r.swap("a.txt", "line c\n", "line c agent\n")
	result := run.commitRun()
	equal(t, "committed", r.committed(), []string{"M a.txt"})
	equal(t, "staged", r.stagedEntries(), staged)
	equal(t, "notes", notesWith(result.Notes, "overlap"), []string{"what you had staged of `a.txt` overlaps with the commit and stays as it was"})
	r.clean()
}

// TestCommitConflictedStashPop: unmerged index entries are left out and never
// touched.
func TestCommitConflictedStashPop(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": numbered(9), "b.txt": "b\n"})
	r.swap("a.txt", "line a\n", "stashed\n")
	r.git("stash", "-q")
	r.swap("a.txt", "line a\n", "committed\n")
	r.commit("other")
	if _, err := r.tryGit("stash", "pop"); err == nil {
		t.Fatal("the stash popped without a conflict")
	}
	unmerged := r.git("ls-files", "-u")
	run := r.begin()
	r.swap("a.txt", "line f\n", "agent\n")
	r.write("b.txt", "agent\n")
	result := run.commitRun()
	equal(t, "committed", r.committed(), []string{"M b.txt"})
	equal(t, "left out", result.LeftOut, []string{"a.txt"})
	equal(t, "unmerged entries", r.git("ls-files", "-u"), unmerged)
	equal(t, "stash", r.git("stash", "list"), "stash@{0}: WIP on main: "+r.git("log", "-1", "--format=%h %s", "HEAD~2"))
	r.clean()
}

// TestCommitUnborn: the first commit is made, of the run's files only.
func TestCommitUnborn(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("mine.txt", "mine\n")
	r.write("staged.txt", "mine\n")
	r.git("add", "staged.txt")
	run := r.begin()
	r.write("src/agent.txt", "agent\n")
	run.commitRun()
	equal(t, "committed", r.committed(), []string{"A src/agent.txt"})
	equal(t, "parents", r.git("log", "--format=%P"), "")
	equal(t, "status", r.git("status", "--porcelain"), "A  staged.txt\n?? mine.txt")
	run.undo()
	equal(t, "after undo", sorted(r.disk()), []string{"mine.txt", "staged.txt"})
	equal(t, "tree after undo", sorted(r.tree("HEAD")), []string{})
	r.clean()
}

// TestCommitDetached: on a detached HEAD the commit is made there.
func TestCommitDetached(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	r.git("checkout", "-q", "--detach")
	run := r.begin()
	r.write("a.txt", "agent\n")
	run.commitRun()
	equal(t, "HEAD", r.git("rev-parse", "HEAD~1"), r.git("rev-parse", "main"))
	equal(t, "status", r.git("status", "--porcelain", "-b"), "## HEAD (no branch)")
}

// TestCommitInOperation: in the middle of the user's merge, rebase and so on
// nothing is committed, and nothing is touched.
func TestCommitInOperation(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(r *testRepo){
		"merge":       func(r *testRepo) { r.tryGit("merge", "side") },
		"rebase":      func(r *testRepo) { r.tryGit("rebase", "side") },
		"cherry-pick": func(r *testRepo) { r.tryGit("cherry-pick", "side") },
		"revert":      func(r *testRepo) { r.tryGit("revert", "--no-edit", "HEAD~1") },
		"bisect":      func(r *testRepo) { r.git("bisect", "start"); r.git("bisect", "bad") },
		"am": func(r *testRepo) {
			r.write("../"+filepath.Base(r.dir)+".patch", r.git("format-patch", "-1", "--stdout", "side"))
			r.tryGit("am", "../"+filepath.Base(r.dir)+".patch")
			os.Remove(r.dir + ".patch")
		},
	} {
		if !sampled(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepoWith(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n"})
			r.git("checkout", "-q", "-b", "side")
			r.write("a.txt", "side\n")
			r.commit("side")
			r.git("checkout", "-q", "main")
			r.write("a.txt", "main\n")
			r.commit("main")
			r.write("a.txt", "again\n")
			r.commit("again")
			start(r)
			run := r.begin()
			r.write("b.txt", "agent\n")
			index, head := r.indexState(), r.git("rev-parse", "HEAD")
			refused := run.refused()
			if !strings.Contains(refused.Message, "in progress") {
				t.Errorf("message %q", refused.Message)
			}
			equal(t, "index", r.indexState(), index)
			equal(t, "HEAD", r.git("rev-parse", "HEAD"), head)
			equal(t, "b.txt", r.read("b.txt"), "agent\n")
			r.clean()
			run.undo()
			equal(t, "b.txt after undo", r.read("b.txt"), "b\n")
		})
	}
}

// TestCommitFromSubfolder: opened below the top level, the whole repository is
// the run's ground.
func TestCommitFromSubfolder(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"app/a.txt": "a\n", "lib/b.txt": "b\n"})
	repo, err := Open(t.Context(), r.path("app"))
	if err != nil {
		t.Fatal(err)
	}
	run := r.begin()
	r.write("app/a.txt", "agent\n")
	r.write("lib/b.txt", "agent\n")
	if _, err := repo.Commit(t.Context(), run.request()); err != nil {
		t.Fatal(err)
	}
	equal(t, "committed", r.committed(), []string{"M app/a.txt", "M lib/b.txt"})
	if _, err := repo.Undo(t.Context(), run.undoRequest()); err != nil {
		t.Fatal(err)
	}
	equal(t, "after undo", r.read("lib/b.txt"), "b\n")
	r.clean()
}

// TestCommitPlaces: where .git is not a plain folder of the working tree.
func TestCommitPlaces(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(r *testRepo) *testRepo{
		"linked worktree": func(r *testRepo) *testRepo {
			dir := filepath.Join(realTempDir(r.t), "linked")
			r.git("worktree", "add", "-q", "-b", "linked", dir)
			return &testRepo{t: r.t, dir: dir}
		},
		"symlinked .git": func(r *testRepo) *testRepo {
			dir := filepath.Join(realTempDir(r.t), "moved.git")
			if err := os.Rename(r.path(".git"), dir); err != nil {
				r.t.Fatal(err)
			}
			r.symlink(dir, ".git")
			return r
		},
		"separate git dir": func(r *testRepo) *testRepo {
			r.git("init", "-q", "--separate-git-dir", filepath.Join(realTempDir(r.t), "sep.git"))
			return r
		},
		"symlinked index": func(r *testRepo) *testRepo {
			if err := os.Rename(r.path(".git/index"), r.path(".git/real-index")); err != nil {
				r.t.Fatal(err)
			}
			r.symlink("real-index", ".git/index")
			return r
		},
		"plain": func(r *testRepo) *testRepo { return r },
	} {
		if !sampled(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := move(newRepoWith(t, map[string]string{"a.txt": numbered(9), "b.txt": "b\n"}))
			r.swap("a.txt", "line a\n", "mine\n")
			r.write("b.txt", "mine\n")
			r.git("add", "b.txt")
			work, start := r.work(), r.disk()
			run := r.begin()
			r.swap("a.txt", "line f\n", "agent\n")
			run.commitRun()
			equal(t, "committed", r.committed(), []string{"M a.txt"})
			r.sameWork(work)
			r.clean()
			run.undo()
			equal(t, "after undo", r.disk(), start)
			r.sameWork(work)
			r.clean()
		})
	}
}

// TestCommitSHA256: the other object format.
func TestCommitSHA256(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "--object-format=sha256")
	run := r.begin()
	r.write("a.txt", numbered(9))
	run.commitRun()
	r.swap("a.txt", "line a\n", "mine\n")
	r.write("s.txt", "staged\n")
	r.git("add", "s.txt")
	work := r.work()
	run = r.begin()
	run.id = "r2"
	r.swap("a.txt", "line f\n", "agent\n")
	result := run.commitRun()
	equal(t, "id length", len(result.SHA), 64)
	equal(t, "committed", r.committed(), []string{"M a.txt"})
	r.sameWork(work)
	run.undo()
	r.sameWork(work)
	r.clean()
}

// TestCommitIndexLockHeld: another git command holds the index for longer than
// we wait.
func TestCommitIndexLockHeld(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	run := r.begin()
	r.write("a.txt", "agent\n")
	run.request()
	r.write(".git/index.lock", "")
	head := r.git("rev-parse", "HEAD")
	refused := run.refused()
	equal(t, "message", refused.Message, "another git command holds the index")
	equal(t, "lock", r.read(".git/index.lock"), "")
	equal(t, "HEAD", r.git("rev-parse", "HEAD"), head)
	os.Remove(r.path(".git/index.lock"))
	r.clean()
	run.commitRun()
}

// TestCommitLockNamesRun: while the commit is under way the index is locked in
// the run's name, and git refuses to commit and to check out.
func TestCommitLockNamesRun(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	r.git("branch", "other")
	run := r.begin()
	r.write("a.txt", "agent\n")
	var steps []string
	run.commitRun(func(req *CommitRequest) {
		req.Record = func(in Intent) error {
			steps = append(steps, in.Kind+" "+in.Step)
			if in.Step == "ref" {
				equal(t, "lock", r.read(".git/index.lock"), "slidewrite r1")
				if _, err := r.tryGit("checkout", "-q", "other"); err == nil {
					t.Error("git checked out under the lock")
				}
				if _, err := r.tryGit("commit", "-q", "-a", "-m", "user"); err == nil {
					t.Error("git committed under the lock")
				}
			}
			return nil
		}
	})
	equal(t, "steps", steps, []string{"commit lock", "commit ref"})
	r.clean()
}

// TestCommitRecordFails: no step is taken that could not be recorded.
func TestCommitRecordFails(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"lock", "ref"} {
		r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
		run := r.begin()
		r.write("a.txt", "agent\n")
		index, head := r.indexState(), r.git("rev-parse", "HEAD")
		full := errors.New("disk full")
		run.tryCommit(func(req *CommitRequest) {
			req.Record = func(in Intent) error {
				if in.Step == step {
					return full
				}
				return nil
			}
		})
		if !errors.Is(run.err, full) {
			t.Errorf("step %s: %v", step, run.err)
		}
		equal(t, "index", r.indexState(), index)
		equal(t, "HEAD", r.git("rev-parse", "HEAD"), head)
		r.clean()
	}
}

// TestCommitNothingLeft: says why and what to do.
func TestCommitNothingLeft(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	r.write("mine.txt", "mine\n")
	run := r.begin()
	r.write("mine.txt", "agent\n")
	refused := run.refused()
	equal(t, "message", refused.Message, "nothing left to commit: every changed path is left out")
	equal(t, "fix", refused.Fix, "look at `git status` and commit the edits yourself") // which shows untracked files, too
	equal(t, "notes", refused.Notes, []Note{{"left_out", "`mine.txt` is not in git yet; commit it yourself"}})
	r.clean()
}

// TestCommitYoursAndLarge: what is the user's or too large is left out.
func TestCommitYoursAndLarge(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n"})
	run := r.begin()
	r.write("a.txt", "agent\n")
	r.write("b.txt", "mine\n")
	run.request()
	run.change.Files[1].Yours = true
	run.change.Files = append(run.change.Files, File{Path: "huge.bin", Status: "added", Large: true})
	result := run.commitRun()
	equal(t, "committed", r.committed(), []string{"M a.txt"})
	equal(t, "left out", result.LeftOut, []string{"b.txt", "huge.bin"})
	run.undo()
	equal(t, "a.txt after undo", r.read("a.txt"), "a\n")
	equal(t, "b.txt after undo", r.read("b.txt"), "mine\n")
}

// TestCommitRefLocked: the ref cannot be moved, and everything stays.
func TestCommitRefLocked(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	run := r.begin()
	r.write("a.txt", "agent\n")
	index := r.indexState()
	r.write(".git/refs/heads/main.lock", "")
	refused := run.refused()
	if !strings.Contains(refused.Message, "git did not move the branch") {
		t.Errorf("message %q", refused.Message)
	}
	equal(t, "index", r.indexState(), index)
	os.Remove(r.path(".git/refs/heads/main.lock"))
	r.clean()
}

// TestCommitStopTooLate: a stop that arrives during the commit does not end
// it.
func TestCommitStopTooLate(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	run := r.begin()
	r.write("a.txt", "agent\n")
	req := run.request()
	ctx, cancel := context.WithCancel(context.Background())
	req.Record = func(Intent) error { cancel(); return nil }
	if _, err := r.open().Commit(ctx, req); err != nil {
		t.Fatal(err)
	}
	equal(t, "committed", r.committed(), []string{"M a.txt"})
	equal(t, "status", r.git("status", "--porcelain"), "")
	r.clean()
}

// TestCommitWaitsForLock: another git command that ends soon is waited for.
func TestCommitWaitsForLock(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	run := r.begin()
	r.write("a.txt", "agent\n")
	run.request()
	r.write(".git/index.lock", "")
	released := make(chan error)
	go func() {
		for { // until the run waits for the lock
			if _, err := os.Stat(r.path(".git/index.slidewrite-r1.name")); err == nil {
				released <- os.Remove(r.path(".git/index.lock"))
				return
			}
			runtime.Gosched()
		}
	}()
	run.commitRun()
	if err := <-released; err != nil {
		t.Fatal(err)
	}
	equal(t, "committed", r.committed(), []string{"M a.txt"})
	r.clean()
}

// TestCommitWithoutIdentity: --commit-author user where git does not know the
// user; our own identity needs none.
func TestCommitWithoutIdentity(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	r.git("config", "user.name", "")
	run := r.begin()
	r.write("a.txt", "agent\n")
	refused := run.refused(func(req *CommitRequest) { req.AsUser = true })
	if !strings.HasPrefix(refused.Message, "git does not know your name: ") || !strings.Contains(refused.Fix, "user.email") {
		t.Errorf("%+v", refused)
	}
	r.clean()
	run.commitRun()
}

// TestCommitLockTaken: the user removed our lock and staged something while
// the commit was under way: the index is not overwritten, the update is made
// anew.
func TestCommitLockTaken(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n"})
	run := r.begin()
	r.write("a.txt", "agent\n")
	run.commitRun(func(req *CommitRequest) {
		req.Record = func(in Intent) error {
			if in.Step == "ref" {
				r.remove(".git/index.lock")
				r.write("b.txt", "mine\n")
				r.git("add", "b.txt")
			}
			return nil
		}
	})
	equal(t, "status", r.git("status", "--porcelain"), "M  b.txt")
	r.clean()
}
