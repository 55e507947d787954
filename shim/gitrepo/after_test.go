package gitrepo

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"
)

// Each case: what is there and ignored, what the run does, what the change is.
func TestIgnoreRulesAreThoseOfTheRunsStart(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		start func(r *testRepo)
		run   func(r *testRepo)
		want  []string
		code  string // of the note
	}{
		{"the agent drops the .env line and .env shows up",
			func(r *testRepo) { r.write(".env", "SECRET=1\n") },
			func(r *testRepo) { r.write(".gitignore", "*.log\n"); r.write("new.txt", "n\n") },
			[]string{"modified .gitignore", "added new.txt"}, "ignored_before"},
		{"… even if .env was written during the run",
			func(r *testRepo) {},
			func(r *testRepo) { r.write(".gitignore", "*.log\n"); r.write(".env", "SECRET=1\n") },
			[]string{"modified .gitignore"}, "ignored_before"},
		{"… and if the agent forces it into the index",
			func(r *testRepo) { r.write(".env", "SECRET=1\n") },
			func(r *testRepo) { r.git("add", "-f", ".env"); r.write("new.txt", "n\n") },
			[]string{"added new.txt"}, "ignored_before"},
		{"a nested .gitignore is deleted",
			func(r *testRepo) {
				r.write("pkg/.gitignore", "build/\n!build/keep\n")
				r.write("pkg/build/out.js", "o\n")
				r.write(":(top) [x]/.gitignore", "*.tmp\n")
				r.write(":(top) [x]/a.tmp", "t\n")
			},
			func(r *testRepo) { r.remove("pkg/.gitignore", ":(top) [x]/.gitignore") },
			[]string{"deleted :(top) [x]/.gitignore", "deleted pkg/.gitignore"}, "ignored_before"},
		{"the agent ignores the user's notes: they do not vanish",
			func(r *testRepo) { r.write("notes/today.md", "n\n"); r.write("notes/old.md", "o\n") },
			func(r *testRepo) { r.write(".gitignore", ".env\n*.log\nnotes/\n") },
			[]string{"modified .gitignore"}, "ignored_now"},
		{"… and edits to them still count",
			func(r *testRepo) { r.write("notes/today.md", "n\n"); r.write("notes/old.md", "o\n") },
			func(r *testRepo) {
				r.write(".gitignore", ".env\n*.log\nnotes/\n")
				r.write("notes/today.md", "agent\n")
				r.remove("notes/old.md")
			},
			[]string{"modified .gitignore", "deleted notes/old.md", "modified notes/today.md"}, "ignored_now"},
		{"info/exclude is changed",
			func(r *testRepo) { r.write(".git/info/exclude", "*.local\n"); r.write("a.local", "l\n") },
			func(r *testRepo) { r.write(".git/info/exclude", ""); r.write("b.local", "agent\n") },
			[]string{}, "ignored_before"},
		{"a new file under rules that did not change",
			func(r *testRepo) {},
			func(r *testRepo) { r.write("new.txt", "n\n"); r.write("x.log", "l\n"); r.git("add", "new.txt") },
			[]string{"added new.txt"}, ""},
		{"a tracked file that the rules ignore is followed",
			func(r *testRepo) {
				r.write("tracked.log", "l\n")
				r.git("add", "-f", "tracked.log")
			},
			func(r *testRepo) { r.write("tracked.log", "agent\n"); r.write(".gitignore", "*.log\n") },
			[]string{"modified .gitignore", "modified tracked.log"}, ""},
		{"the agent takes a file out of git but leaves it",
			func(r *testRepo) {},
			func(r *testRepo) {
				r.git("rm", "-q", "--cached", "a.txt")
				r.write(".gitignore", "a.txt\n.env\n*.log\n")
			},
			[]string{"modified .gitignore"}, ""},
		{"… and commits that",
			func(r *testRepo) {},
			func(r *testRepo) {
				r.git("rm", "-q", "--cached", "a.txt")
				r.write(".gitignore", "a.txt\n.env\n*.log\n")
				r.commit("by the agent")
			},
			[]string{"modified .gitignore"}, "ignored_now"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRepoWith(t, map[string]string{"a.txt": "a\n", ".gitignore": ".env\n*.log\n"})
			tc.start(r)
			before := r.snapshot()
			tc.run(r)
			index := r.indexState()
			c := r.change(before)
			equal(t, "change", paths(c), tc.want)
			codes := []string{}
			for _, n := range c.Notes {
				codes = append(codes, n.Code)
			}
			if tc.code == "" {
				equal(t, "notes", codes, []string{})
			} else {
				equal(t, "notes", codes, []string{tc.code})
			}
			equal(t, "index", r.indexState(), index)
		})
	}
}

// The user's own excludes file and core.ignoreCase count, too.
func TestRulesOfTheUsersConfiguration(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n", ".gitignore": "*.LOG\n"})
	excludes := r.path(".git/my excludes")
	r.git("config", "core.excludesFile", excludes)
	r.git("config", "core.ignoreCase", "true")
	r.write(".git/my excludes", "*.mine\n")
	before := r.snapshot()
	r.write("x.mine", "m\n")
	r.write("x.log", "l\n")
	r.git("add", "-f", "x.mine", "x.log")
	r.write(".gitignore", "")
	equal(t, "change", paths(r.change(before)), []string{"modified .gitignore"})
}

// A snapshot comes back from the ledger as JSON.
func TestSnapshotSurvivesTheLedger(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n", "hidden.txt": "h\n", ".gitignore": ".env\n"})
	r.git("update-index", "--assume-unchanged", "hidden.txt")
	r.write(".git/info/exclude", "*.local\n")
	r.write(".env", "SECRET\n")
	data, err := json.Marshal(r.snapshot())
	if err != nil {
		t.Fatal(err)
	}
	var before Snapshot
	if err := json.Unmarshal(data, &before); err != nil {
		t.Fatal(err)
	}
	r.remove("hidden.txt")
	r.write(".gitignore", "")
	r.write(".git/info/exclude", "")
	r.write("x.local", "l\n")
	equal(t, "change", paths(r.change(&before)), []string{"modified .gitignore", "deleted hidden.txt"})
}

// awaitTick waits until the clock that stamps files has moved on.
func awaitTick(r *testRepo) {
	repo := r.open()
	for start := repo.fileTime(); !repo.fileTime().After(start); {
	}
}

func TestFileOlderThanTheRunIsNotTheRuns(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n", "d/x.txt": "x\n"})
	before := r.snapshot()
	r.write("d/late.txt", "made by the user while the snapshot was taken\n")
	awaitTick(r)
	before.Taken = r.open().fileTime()
	awaitTick(r)
	r.write("a.txt", "agent\n")
	r.write("d/new.txt", "agent\n")
	c := r.change(before)
	equal(t, "change", paths(c), []string{"modified a.txt", "added d/new.txt"})
	equal(t, "note", notesWith(c.Notes, "older_than_run"), []string{"`d/late.txt` is older than the run: not part of the change"})
}

// A clock that is set back makes new files look older than the run.
func TestClockSetBackDuringTheRun(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	before := r.snapshot()
	before.Taken = before.Taken.Add(time.Minute)
	r.write("new.txt", "agent\n")
	r.write("a.txt", "agent\n")
	c := r.change(before)
	equal(t, "change", paths(c), []string{"modified a.txt", "added new.txt"})
	before.Taken = before.Taken.Add(-2 * time.Minute) // a.txt alone would be the user's now
	c.After.Taken = c.After.Taken.Add(-4 * time.Minute)
	r.open().MarkYours(c, ToolLog{Complete: true})
	equal(t, "yours", c.Files[0].Yours, false)
}

// Files in a folder that is renamed keep their times.
func TestRenamedFolderIsTheRuns(t *testing.T) {
	t.Parallel()
	for _, alsoNew := range []bool{false, true} {
		r := newRepoWith(t, map[string]string{"src/old/a.txt": "a\n", "src/old/deep/b.txt": "b\n", ".gitignore": "dist/\n"})
		r.write("dist/out.js", "built before\n")
		awaitTick(r)
		before := r.snapshot()
		awaitTick(r)
		must(os.Rename(r.path("src/old"), r.path("src/new")))
		must(os.Rename(r.path("dist"), r.path("public")))
		want := []string{"added public/out.js", "added src/new/a.txt", "added src/new/deep/b.txt", "deleted src/old/a.txt", "deleted src/old/deep/b.txt"}
		if alsoNew { // hides the folder's own trace of the rename
			awaitTick(r)
			r.write("src/new/c.txt", "c\n")
			want = []string{want[0], want[1], "added src/new/c.txt", want[2], want[3], want[4]}
		}
		equal(t, "change", paths(r.change(before)), want)
	}
}

func TestCaseOnlyRename(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"Readme.md": "r\n", "a.txt": "a\n"})
	r.git("config", "core.ignoreCase", "true")
	before := r.snapshot()
	r.git("mv", "-f", "Readme.md", "README.md")
	equal(t, "change", paths(r.change(before)), []string{"added README.md", "deleted Readme.md"})
}

func TestAgentThatCommitsItself(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	r.write("a.txt", "user\n")
	before := r.snapshot()
	r.write("b.txt", "b\n")
	r.commit("by the agent") // sweeps the user's edit along
	commit := r.git("rev-parse", "HEAD")
	c := r.change(before)
	equal(t, "change", paths(c), []string{"added b.txt"})
	equal(t, "head", []string{c.Before.Head.Commit, c.After.Head.Commit}, []string{before.Head.Commit, commit})
}

func TestNothingChanged(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	r.write("a.txt", "user\n")
	r.write("b.txt", "user\n")
	before := r.snapshot()
	r.setTime("a.txt", time.Now().Add(time.Hour))
	c := r.change(before)
	equal(t, "files", len(c.Files), 0)
	equal(t, "trees", c.After.Tree, before.Tree)
}

func TestFlippedLineEndsGiveANote(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, before, after string
		note                bool
	}{
		{"LF to CRLF around an edit", "1\n2\n3\n4\n5\n", "1\r\n2\r\nx\r\n4\r\n5\r\n", true},
		{"CRLF to LF around an edit", "1\r\n2\r\n3\r\n4\r\n5", "1\n2\nx\n4\n5", true},
		{"rewritten", "1\n2\n3\n", "a\nb\nc\n", false},
		{"rewritten with other line ends", "1\n2\n3\n", "a\r\nb\r\nc\r\n", false},
		{"an edit", "1\n2\n3\n4\n5\n", "1\nx\ny\n4\n5\n", false},
		{"one line flipped", "1\n2\n3\n4\n5\n", "1\n2\r\n3\n4\n5\n", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRepoWith(t, map[string]string{"a.txt": tc.before, "b.txt": "b\n"})
			before := r.snapshot()
			r.write("a.txt", tc.after)
			r.write("b.txt", "edited\n")
			notes := notesWith(r.change(before).Notes, "eol")
			want := []string(nil)
			if tc.note {
				want = []string{"`a.txt`: every line end changed (LF to CRLF or back) around a small edit"}
			}
			equal(t, "notes", notes, want)
		})
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n", "pic.bin": "\x00\x01", "ü \"q\".txt": "u\n", ".gitattributes": "*.txt diff=up\n"})
	r.git("config", "diff.up.textconv", "tr a-z A-Z <")
	r.git("config", "diff.up.command", "false")
	r.git("config", "diff.mnemonicPrefix", "true")
	before := r.snapshot()
	r.write("a.txt", "b\n")
	r.write("pic.bin", "\x00\x02")
	r.write("ü \"q\".txt", "v\n")
	c := r.change(before)
	diff := func(paths ...string) string {
		out, err := r.open().Diff(context.Background(), c.Before.Tree, c.After.Tree, paths)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	equal(t, "one file", diff("a.txt"), "diff --git a/a.txt b/a.txt\nindex 7898192..6178079 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n")
	equal(t, "binary", diff("pic.bin"), "diff --git a/pic.bin b/pic.bin\nindex bdc955b..8835708 100644\nBinary files a/pic.bin and b/pic.bin differ\n")
	all := []string{}
	for _, f := range c.Files {
		all = append(all, f.Path)
	}
	equal(t, "all, named or not", diff(), diff(all...))
	equal(t, "no such path", diff("nowhere"), "")
}

func TestDiffOfMorePathsThanACommandLineTakes(t *testing.T) {
	t.Parallel()
	lists := chunks([]string{"ccc", "a", "bb"}, 5)
	equal(t, "chunks", lists, [][]string{{"a", "bb"}, {"ccc"}})
	equal(t, "none", chunks(nil, 5), [][]string{nil})
	equal(t, "one too long", chunks([]string{"123456789"}, 5), [][]string{{"123456789"}})
}
