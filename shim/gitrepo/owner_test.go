package gitrepo

import (
	"os"
	"testing"
	"time"
)

// Each case marks one file that was edited now; times are relative to that.
func TestMarkYours(t *testing.T) {
	t.Parallel()
	window := func(from, to time.Duration) []Window {
		return []Window{{Start: time.Now().Add(from), End: time.Now().Add(to)}}
	}
	for _, tc := range []struct {
		name  string
		tools func() ToolLog
		yours bool
	}{
		{"outside every window, named by nobody", func() ToolLog { return ToolLog{Complete: true, Windows: window(5*time.Second, 9*time.Second)} }, true},
		{"no tool at all", func() ToolLog { return ToolLog{Complete: true} }, true},
		{"before the tool", func() ToolLog { return ToolLog{Complete: true, Windows: window(-9*time.Second, -5*time.Second)} }, true},
		{"not every tool call is known", func() ToolLog { return ToolLog{Windows: window(5*time.Second, 9*time.Second)} }, false},
		{"a shell command ran then", func() ToolLog { return ToolLog{Complete: true, Windows: window(-time.Second, time.Second)} }, false},
		{"within a second of a tool", func() ToolLog {
			return ToolLog{Complete: true, Windows: window(500*time.Millisecond, 9*time.Second)}
		}, false},
		{"a tool that never ended", func() ToolLog {
			return ToolLog{Complete: true, Windows: []Window{{Start: time.Now().Add(-time.Minute)}}}
		}, false},
		{"named", func() ToolLog { return ToolLog{Complete: true, Paths: []string{"d/a.txt"}} }, false},
		{"its folder named", func() ToolLog { return ToolLog{Complete: true, Paths: []string{"./d/"}} }, false},
		{"the whole repository named", func() ToolLog { return ToolLog{Complete: true, Paths: []string{"."}} }, false},
		{"another file named", func() ToolLog { return ToolLog{Complete: true, Paths: []string{"d/a", "d/a.txt.bak", "x/d/a.txt"}} }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRepoWith(t, map[string]string{"d/a.txt": "a\n"})
			before := r.snapshot()
			r.write("d/a.txt", "b\n")
			tools := tc.tools()
			c := r.change(before)
			r.open().MarkYours(c, tools)
			equal(t, "paths", paths(c), []string{"modified d/a.txt"})
			equal(t, "yours", c.Files[0].Yours, tc.yours)
		})
	}
}

// In doubt a path is the run's: a deleted one always, a new one as an edited
// one, by its true time.
func TestMarkYoursNeedsThePathAndItsTrueTime(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"gone.txt": "g\n", "backdated.txt": "b\n"})
	awaitTick(r)
	before := r.snapshot()
	awaitTick(r)
	began := time.Now()
	r.remove("gone.txt")
	r.write("new.txt", "n\n")
	// mtime can be set back; ctime tells when
	r.write("backdated.txt", "agent\n")
	r.setTime("backdated.txt", time.Now().Add(-time.Hour))
	c := r.change(before)
	r.open().MarkYours(c, ToolLog{Complete: true, Windows: []Window{{Start: began, End: time.Now()}}})
	equal(t, "paths", paths(c), []string{"modified backdated.txt", "deleted gone.txt", "added new.txt"})
	for _, f := range c.Files {
		equal(t, f.Path+" yours", f.Yours, false)
	}
	r.open().MarkYours(c, ToolLog{Complete: true}) // no tool ran: what is there can be the user's
	equal(t, "yours", []bool{c.Files[0].Yours, c.Files[1].Yours, c.Files[2].Yours}, []bool{true, false, true})
}

// A file that the user creates while a run is on is neither committed nor
// deleted by undo.
func TestMarkYoursOfANewFile(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	run := r.begin()
	r.write("a.txt", "agent\n")
	r.write("mine.txt", "mine\n")
	r.write("d/agent.txt", "agent\n")
	run.change = r.change(run.before)
	r.open().MarkYours(run.change, ToolLog{Complete: true, Paths: []string{"a.txt", "d/agent.txt"}})
	run.commitRun()
	equal(t, "committed", r.committed(), []string{"M a.txt", "A d/agent.txt"})
	run.undo()
	equal(t, "disk", sorted(r.disk()), []string{"a.txt", "mine.txt"})
	equal(t, "status", r.git("status", "--porcelain"), "?? mine.txt")
}

// The folder of an old file takes the place of another: the file's times are
// older than the run, so they say nothing.
func TestMarkYoursOfAFileMovedWithItsFolder(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"old/a.txt": "1\n", "new/a.txt": "2\n", "new/b.txt": "3\n"})
	awaitTick(r)
	before := r.snapshot()
	awaitTick(r)
	r.remove("old")
	must(os.Rename(r.path("new"), r.path("old")))
	c := r.change(before)
	r.open().MarkYours(c, ToolLog{Complete: true})
	equal(t, "paths", paths(c), []string{"deleted new/a.txt", "deleted new/b.txt", "modified old/a.txt", "added old/b.txt"})
	for _, f := range c.Files {
		equal(t, f.Path+" yours", f.Yours, false)
	}
}

// A time in the future is not in the window, but ctime says when it was set.
func TestMarkYoursTakesTheLaterTime(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	before := r.snapshot()
	r.write("a.txt", "b\n")
	r.setTime("a.txt", time.Now().Add(-time.Hour))
	c := r.change(before)
	r.open().MarkYours(c, ToolLog{Complete: true, Windows: []Window{{Start: time.Now().Add(-2 * time.Hour), End: time.Now().Add(-30 * time.Minute)}}})
	equal(t, "yours: touched after the window although mtime lies in it", c.Files[0].Yours, true)
}
