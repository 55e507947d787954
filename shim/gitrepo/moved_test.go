package gitrepo

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// aged sets the times of files to long before the run.
func (r *testRepo) aged(names ...string) {
	r.t.Helper()
	for _, name := range names {
		r.setTime(name, time.Now().Add(-time.Hour))
	}
}

// rename moves a file or a folder as the agent's `mv` does.
func (r *testRepo) rename(from, to string) {
	r.t.Helper()
	must(os.Rename(r.path(from), r.path(to)))
}

// marked takes the second snapshot and marks what was moved.
func (r *testRun) marked() *Change {
	r.t.Helper()
	r.change = r.testRepo.change(r.before)
	if err := r.open().MarkMoved(context.Background(), r.change); err != nil {
		r.t.Fatal(err)
	}
	return r.change
}

// marks lists the marked files of a change.
func marks(c *Change) []string {
	list := []string{}
	for _, f := range c.Files {
		if f.Held {
			list = append(list, "held "+f.Path)
		}
		if f.Yours {
			list = append(list, "yours "+f.Path)
		}
	}
	return list
}

// TestMarkMoved: the run moves the user's own uncommitted, untracked and
// ignored files. The commit holds none of their lines, and undo brings back
// what git could see.
func TestMarkMoved(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{
		"a.txt": numbered(9), "b.txt": "committed\n", "other.txt": numbered(9), "c.txt": "c\n", ".gitignore": ".env\n",
	})
	r.swap("a.txt", "line c\n", "my secret plan\n")
	r.swap("other.txt", "line c\n", "my other work\n")
	r.write("un/x.txt", "my untracked file\n")
	r.write(".env", "KEY=my secret\n")
	r.write("staged.txt", "my staged file\n")
	r.git("add", "staged.txt")
	r.aged("a.txt", "b.txt", "un/x.txt", ".env", "other.txt", "staged.txt")
	start, work := r.disk(), r.work()
	run := r.begin()
	r.rename("a.txt", "moved.txt")
	r.rename("b.txt", "b2.txt")
	r.rename("un", "un2")
	r.rename(".env", "dotenv")
	r.rename("staged.txt", "staged2.txt")
	r.write("c.txt", "agent\n")
	r.write("new.txt", "agent\n")
	c := run.marked()
	equal(t, "marks", marks(c), []string{"yours dotenv", "held moved.txt", "held staged2.txt", "held un2/x.txt"})
	equal(t, "note", notesWith(c.Notes, "moved_in"), []string{"`dotenv` is older than the run and was not in git: moved or copied there; left alone"})

	result := run.commitRun()
	equal(t, "committed", r.committed(), []string{"D b.txt", "A b2.txt", "M c.txt", "A new.txt"})
	equal(t, "note", notesWith(result.Notes, "held")[0], "`moved.txt` holds uncommitted work of yours under a new name; commit it yourself")
	for name, content := range r.tree("HEAD") {
		if strings.Contains(content, "my ") {
			t.Errorf("the commit holds the user's lines, in %s: %s", name, content)
		}
	}
	now := r.work()
	for _, name := range []string{"other.txt", "staged.txt"} {
		head := "a/" + name + " b/" + name
		equal(t, "git diff --cached of "+name, now.staged[head], work.staged[head])
	}
	equal(t, "git diff of other.txt", now.unstaged["a/other.txt b/other.txt"], work.unstaged["a/other.txt b/other.txt"])

	run.undo()
	start["dotenv"] = start[".env"]
	delete(start, ".env")
	equal(t, "after undo", r.disk(), start)
	r.sameWork(work)
	r.clean()
}

// A copy with its times (cp -p) is as old as its source.
func TestMarkMovedOfCopies(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n"})
	r.write("a.txt", "mine\n")
	run := r.begin()
	for name, content := range map[string]string{"copy.txt": "mine\n", "b2.txt": "b\n", "outside.txt": "from elsewhere\n"} {
		r.write(name, content)
		r.aged(name)
	}
	r.write("young.txt", "mine\n")
	equal(t, "marks", marks(run.marked()), []string{"held copy.txt", "yours outside.txt"})
}

// Before the first commit there is no committed content.
func TestMarkMovedUnborn(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a.txt", "mine\n")
	r.aged("a.txt")
	run := r.begin()
	r.rename("a.txt", "b.txt")
	equal(t, "marks", marks(run.marked()), []string{"held b.txt"})
}

// TestMarkMovedAsksGitOnlyIfNeeded: with a context that has ended every git
// process fails, so there was none.
func TestMarkMovedAsksGitOnlyIfNeeded(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n", "old.txt": "o\n"})
	run := r.begin()
	r.write("a.txt", "agent\n")
	r.write("new.txt", "agent\n")
	c := r.change(run.before)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	equal(t, "nothing old", r.open().MarkMoved(ended, c), nil)
	r.aged("new.txt")
	if err := r.open().MarkMoved(ended, c); !errors.Is(err, context.Canceled) {
		t.Errorf("something old: %v", err)
	}
}

// TestMarkLater: edits after the run's end are the user's.
func TestMarkLater(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n", "gone.txt": "g\n", "c.txt": "c\n"})
	run := r.begin()
	r.write("a.txt", "agent\n")
	r.write("c.txt", "agent\n")
	awaitTick(r)
	end := r.open().fileTime()
	awaitTick(r)
	r.write("b.txt", "mine\n")
	r.write("new.txt", "mine\n")
	r.remove("gone.txt")
	r.aged("new.txt") // its ctime tells
	run.change = r.change(run.before)
	r.open().MarkLater(run.change, end)
	want := []string{"yours b.txt", "yours gone.txt", "yours new.txt"}
	if _, ok := changeTime(mustStat(r, "new.txt")); !ok {
		want = want[:2]
	}
	equal(t, "marks", marks(run.change), want)
	equal(t, "notes", len(notesWith(run.change.Notes, "after_crash")), 1)
	run.commitRun()
	equal(t, "b.txt in HEAD", r.inHead("b.txt"), "b\n")
	run.undo()
	equal(t, "a.txt", r.read("a.txt"), "a\n")
	equal(t, "b.txt", r.read("b.txt"), "mine\n")

	quiet := r.change(run.before)
	r.open().MarkLater(quiet, time.Now().Add(time.Hour))
	equal(t, "marks with an end in the future", marks(quiet), []string{})
	equal(t, "notes", notesWith(quiet.Notes, "after_crash"), nil)
}

func mustStat(r *testRepo, name string) os.FileInfo {
	r.t.Helper()
	info, err := os.Lstat(r.path(name))
	must(err)
	return info
}
