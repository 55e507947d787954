package gitrepo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestSnapshotOfADirtyTreeLeavesTheUsersWorkAlone(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n", "sub/c.txt": "c\n", "gone.txt": "g\n", ".gitignore": "*.log\n"})
	r.write("a.txt", "stashed\n")
	r.git("stash")
	r.write("a.txt", "unstaged\n")
	r.write("b.txt", "staged\n")
	r.git("add", "b.txt")
	r.write("b.txt", "staged, then edited\n")
	r.write("new.txt", "untracked\n")
	r.write("x.log", "ignored\n")
	r.remove("gone.txt")
	index, disk, refs := r.indexState(), r.disk(), r.git("for-each-ref")
	gitDir := listDir(t, r.path(".git"))

	s := r.snapshot()

	equal(t, "tree", r.tree(s.Tree), map[string]string{
		".gitignore": "100644 *.log\n", "a.txt": "100644 unstaged\n", "b.txt": "100644 staged, then edited\n",
		"new.txt": "100644 untracked\n", "sub/c.txt": "100644 c\n",
	})
	equal(t, "head", s.Head, Head{Ref: "refs/heads/main", Commit: r.git("rev-parse", "HEAD")})
	equal(t, "index", r.indexState(), index)
	equal(t, "files", r.disk(), disk)
	equal(t, "refs, stash", r.git("for-each-ref"), refs)
	equal(t, ".git", listDir(t, r.path(".git")), gitDir)
}

func TestSnapshotLeavesNoTemporaryFile(t *testing.T) {
	r := newRepoWith(t, map[string]string{"a.txt": "a\n", ".gitignore": "x\n"})
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	before := r.snapshot()
	r.write(".gitignore", "y\n")
	r.write("new.txt", "n\n")
	r.change(before)
	equal(t, "left in TMPDIR", listDir(t, tmp), []string{})
}

func listDir(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestSnapshotOfACleanTreeIsHeadsTree(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n", "d/b.txt": "b\n"})
	equal(t, "tree", r.snapshot().Tree, r.git("rev-parse", "HEAD^{tree}"))
}

// A staged file that equals the disk has a blank second column: its blob comes
// from the index.
func TestSnapshotTakesStagedFilesAndStagedDeletes(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n", "kept.txt": "k\n", "gone.txt": "g\n"})
	r.write(".gitignore", "kept.txt\n")
	r.write("a.txt", "staged\n")
	r.write("new.txt", "staged new\n")
	r.git("add", "a.txt", "new.txt")
	r.git("rm", "-q", "gone.txt")
	r.git("rm", "-q", "--cached", "kept.txt") // "D " with an ignored file on disk
	r.write("kept.txt", "edited\n")
	equal(t, "tree", r.tree(r.snapshot().Tree), map[string]string{
		".gitignore": "100644 kept.txt\n", "a.txt": "100644 staged\n", "new.txt": "100644 staged new\n", "kept.txt": "100644 edited\n",
	})
}

// awkwardNames are file names that break careless callers of git.
var awkwardNames = []string{
	"with space.txt", " leading and trailing ", `quote"double.txt`, "quote'single.txt", "new\nline.txt", "tab\there.txt",
	"glob*?[a-z].txt", "-leading-dash.txt", ":(top)colon.txt", ":!exclude.txt", "ünïcödé-日本語.txt", "e\u0301-decomposed.txt",
	"back\\slash.txt", "dollar$(id).txt", "bell\a.txt", "dir with space/ü/[x].txt", "#hash.txt", "!bang.txt", "latin1-\xe9.txt", "->", "a -> b.txt",
}

func TestNamesWithSpacesQuotesNewlinesGlobsAndNonASCII(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("this file system does not take any byte in a name")
	}
	r := newRepo(t)
	for _, name := range awkwardNames {
		r.write(name, "one\n")
	}
	r.commit("base")
	for _, name := range awkwardNames {
		r.write(name+".untracked", "user\n")
	}
	before := r.snapshot()
	for _, name := range awkwardNames {
		r.write(name, "one\ntwo\n")
		r.write(name+".new", "agent\n")
		r.write(name+".untracked", "user\nagent\n")
	}
	r.remove(awkwardNames[0])
	c := r.change(before)

	got := map[string]string{}
	for _, f := range c.Files {
		got[f.Path] = fmt.Sprintf("%s +%d -%d", f.Status, f.Added, f.Removed)
	}
	equal(t, "files", len(got), 3*len(awkwardNames))
	for i, name := range awkwardNames {
		status := "modified +1 -0"
		if i == 0 {
			status = "deleted +0 -1"
		}
		equal(t, name, []string{got[name], got[name+".new"], got[name+".untracked"]}, []string{status, "added +1 -0", "modified +1 -0"})
	}
	equal(t, "notes", c.Notes, []Note(nil))
	one, err := r.open().Diff(context.Background(), c.Before.Tree, c.After.Tree, []string{":(top)colon.txt"})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "files in the diff of one", strings.Count(string(one), "diff --git"), 1)
}

func TestRenamesDeletesModesSymlinksBinaries(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"old.txt": "same\n", "gone.txt": "g\n", "tool.sh": "#!/bin/sh\n", "pic.png": "\x89PNG\x00\x01", "f.txt": "f\n"})
	r.symlink("old.txt", "link")
	r.commit("link")
	before := r.snapshot()
	r.remove("gone.txt", "link", "f.txt")
	if err := os.Rename(r.path("old.txt"), r.path("renamed.txt")); err != nil {
		t.Fatal(err)
	}
	r.chmod("tool.sh", 0o755)
	r.write("pic.png", "\x89PNG\x00\x02\x03")
	r.symlink("renamed.txt", "link")
	r.symlink("nowhere", "f.txt")
	c := r.change(before)
	equal(t, "paths", paths(c), []string{"typechange f.txt", "deleted gone.txt", "modified link", "deleted old.txt", "modified pic.png", "added renamed.txt", "modified tool.sh"})
	modes := [][2]string{}
	for _, f := range c.Files {
		modes = append(modes, [2]string{f.Old.Mode, f.New.Mode})
	}
	equal(t, "modes", modes, [][2]string{{"100644", "120000"}, {"100644", ""}, {"120000", "120000"}, {"100644", ""}, {"100644", "100644"}, {"", "100644"}, {"100644", "100755"}})
	equal(t, "binary", []bool{c.Files[4].Binary, c.Files[5].Binary}, []bool{true, false})
}

func TestCRLFFilesAreComparedAsGitStoresThem(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{".gitattributes": "*.txt text eol=crlf\n*.bin -text\n", "a.txt": "1\r\n2\r\n", "b.bin": "1\r\n"})
	r.git("config", "core.safecrlf", "true") // would make git refuse mixed line ends
	r.write("untouched.txt", "x\r\ny\n")
	before := r.snapshot()
	r.write("a.txt", "1\r\n2\r\n3\n")
	r.write("b.bin", "1\n")
	c := r.change(before)
	equal(t, "paths", paths(c), []string{"modified a.txt", "modified b.bin"})
	equal(t, "a.txt lines", []int{c.Files[0].Added, c.Files[0].Removed}, []int{1, 0})
	equal(t, "a.txt", r.tree(c.After.Tree)["a.txt"], "100644 1\n2\n3\n")
}

func TestFileDirectoryAndSymlinkSwitches(t *testing.T) {
	t.Parallel()
	base := map[string]string{"file": "f\n", "dir/one": "1\n", "dir/two": "2\n", "other/x": "x\n"}
	for _, tc := range []struct {
		name string
		do   func(r *testRepo)
		want []string
	}{
		{"file to directory", func(r *testRepo) { r.remove("file"); r.write("file/in", "i\n") }, []string{"deleted file", "added file/in"}},
		{"file to empty directory", func(r *testRepo) { r.remove("file"); must(os.Mkdir(r.path("file"), 0o755)) }, []string{"deleted file"}},
		{"directory to file", func(r *testRepo) { r.remove("dir"); r.write("dir", "d\n") }, []string{"added dir", "deleted dir/one", "deleted dir/two"}},
		{"file to symlink", func(r *testRepo) { r.remove("file"); r.symlink("dir", "file") }, []string{"typechange file"}},
		// the link shows a tree like the one it hides: git does not look through it
		{"directory to symlink", func(r *testRepo) {
			must(os.Rename(r.path("dir"), r.path("moved")))
			r.symlink("moved", "dir")
		}, []string{"added dir", "deleted dir/one", "deleted dir/two", "added moved/one", "added moved/two"}},
		{"untracked file to directory", func(r *testRepo) { r.remove("untracked"); r.write("untracked/in", "i\n") }, []string{"deleted untracked", "added untracked/in"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRepoWith(t, base)
			r.write("untracked", "u\n")
			before := r.snapshot()
			tc.do(r)
			index := r.indexState()
			equal(t, "change", paths(r.change(before)), tc.want)
			equal(t, "index", r.indexState(), index)
		})
	}
}

func TestNestedRepositoryIsUnknown(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	r.write("nested/in.txt", "i\n")
	r.git("init", "-q", "nested")
	before := r.snapshot()
	equal(t, "unknown", before.Unknown, []string{"nested"})
	r.write("nested/in.txt", "edited\n")
	r.write("a.txt", "b\n")
	r.write("app/package.json", "{}\n")
	r.git("init", "-q", "app") // as project generators do
	c := r.change(before)
	equal(t, "change", paths(c), []string{"modified a.txt"})
	equal(t, "one note", notesWith(c.Notes, "unknown_path"),
		[]string{"`app`, `nested` cannot be read (or is a repository of its own): not part of the change, cannot be undone"})

	r.remove("nested/.git") // its files show up: they were there before the run, unseen
	c = r.change(before)
	equal(t, "change", paths(c), []string{"modified a.txt"})
	equal(t, "files in the tree", sorted(r.tree(c.After.Tree)), []string{"a.txt"})

	c, err := r.open().Change(context.Background(), before, r.snapshot()) // not taken for this run
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "change", paths(c), []string{"modified a.txt"})
}

func TestTrackedFilesInADirectoryThatBecomesARepositoryStayFollowed(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	r.write("pkg/draft.txt", "d\n")
	before := r.snapshot()
	r.git("init", "-q", "pkg")
	r.write("pkg/draft.txt", "edited\n")
	equal(t, "change", paths(r.change(before)), []string{"modified pkg/draft.txt"})
}

func TestSubmoduleEntriesAreLeftAlone(t *testing.T) {
	t.Parallel()
	sub := newRepoWith(t, map[string]string{"s.txt": "s\n"})
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	r.git("submodule", "--quiet", "add", sub.dir, "sub")
	r.commit("sub")
	before := r.snapshot()
	r.write("sub/s.txt", "edited\n")
	r.write("sub/new.txt", "new\n")
	r.write("a.txt", "b\n")
	equal(t, "edits inside", paths(r.change(before)), []string{"modified a.txt"})
	r.git("-C", "sub", "commit", "-q", "-a", "-m", "in sub")
	equal(t, "commit inside", paths(r.change(before)), []string{"modified a.txt"})
}

// What git cannot take: a file that this user may not read, and one whose
// required filter fails.
func TestUnreadableFileIsUnknownInBothSnapshots(t *testing.T) {
	t.Parallel()
	t.Run("no permission", func(t *testing.T) {
		if asNobody(t) {
			return
		}
		r := newRepoWith(t, map[string]string{"a.txt": "a\n", "secret.txt": "s\n"})
		before := r.snapshot()
		r.write("secret.txt", "t\n")
		r.chmod("secret.txt", 0)
		r.write("a.txt", "b\n")
		c := r.change(before)
		equal(t, "change", paths(c), []string{"modified a.txt"})
		equal(t, "unknown", c.After.Unknown, []string{"secret.txt"})
	})
	t.Run("filter fails", func(t *testing.T) {
		r := newRepoWith(t, map[string]string{"a.txt": "a\n", "m.locked": "m\n", "z.txt": "z\n"})
		at := time.Now().Add(-time.Minute).Truncate(time.Second)
		r.setTime("m.locked", at)
		r.git("config", "core.trustctime", "false")
		r.git("config", "core.checkStat", "minimal")
		r.git("add", "m.locked")
		r.write(".gitattributes", "*.locked filter=vault\n")
		r.git("config", "filter.vault.clean", "test -e "+r.path(".git/open")+" && cat")
		r.git("config", "filter.vault.required", "true")
		r.write(".git/open", "")
		must(os.Chtimes(r.path(".git/index"), at, at)) // git looks into m.locked even when it only writes the index
		before := r.snapshot()
		r.remove(".git/open")
		r.write("m.locked", "n\n")
		r.setTime("m.locked", at) // same size and time: status itself runs the filter
		r.write("q.locked", "new\n")
		r.write("a.txt", "b\n")
		r.write("z.txt", "y\n")
		c := r.change(before)
		equal(t, "change", paths(c), []string{"modified a.txt", "modified z.txt"})
		equal(t, "unknown", c.After.Unknown, []string{"m.locked", "q.locked"})
		equal(t, "one note", len(notesWith(c.Notes, "unknown_path")), 1)
		equal(t, "diff of the trees has it neither", strings.Contains(r.git("diff-tree", "-r", "--name-only", before.Tree, c.After.Tree), "locked"), false)
	})
	t.Run("unknown at the start, readable at the end", func(t *testing.T) {
		r := newRepoWith(t, map[string]string{"a.txt": "a\n", "m.locked": "m\n"})
		r.write(".gitattributes", "*.locked filter=vault\n")
		r.git("config", "filter.vault.clean", "test -e "+r.path(".git/open")+" && cat")
		r.git("config", "filter.vault.required", "true")
		r.write("m.locked", "edited\n")
		before := r.snapshot()
		equal(t, "unknown", before.Unknown, []string{"m.locked"})
		r.write(".git/open", "")
		r.write("a.txt", "b\n")
		equal(t, "change", paths(r.change(before)), []string{"modified a.txt"})
	})
	t.Run("many at once, named by nobody", func(t *testing.T) {
		r := newRepo(t)
		r.write(".gitattributes", "*.u16 working-tree-encoding=UTF-16\n")
		for i := range 9 {
			r.write(fmt.Sprintf("%d.u16", i), "x") // odd length: cannot be UTF-16
			r.write(fmt.Sprintf("%d.txt", i), "x")
		}
		s := r.snapshot()
		equal(t, "unknown", len(s.Unknown), 9)
		equal(t, "stored", len(r.tree(s.Tree)), 10)
	})
}

// The filter of one file removes another one between status and update-index.
func TestFileThatVanishesWhileRead(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.rm": "a\n", "z.txt": "z\n", "y.txt": "y\n"})
	r.write(".gitattributes", "*.rm filter=remover\n")
	r.git("config", "filter.remover.clean", "rm -f z.txt; cat")
	r.write("z.txt", "edited\n")
	r.write("y.txt", "edited\n")
	r.write("a.rm", "longer than before\n") // another size: status need not filter it
	s := r.snapshot()
	equal(t, "tree", sorted(r.tree(s.Tree)), []string{".gitattributes", "a.rm", "y.txt"})
	equal(t, "unknown", s.Unknown, []string(nil))
}

func TestAssumeUnchangedAndSkipWorktreeFilesAreSeen(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"assumed.txt": "a\n", "skipped.txt": "s\n", "both.txt": "b\n", "absent.txt": "x\n", "gone.txt": "g\n"})
	r.git("update-index", "--assume-unchanged", "assumed.txt", "both.txt", "gone.txt")
	r.git("update-index", "--skip-worktree", "skipped.txt", "both.txt", "absent.txt")
	r.remove("absent.txt")
	r.write("assumed.txt", "the user's hidden edit\n")
	index := r.indexState()
	before := r.snapshot()
	equal(t, "tree", r.tree(before.Tree), map[string]string{"assumed.txt": "100644 the user's hidden edit\n",
		"skipped.txt": "100644 s\n", "both.txt": "100644 b\n", "absent.txt": "100644 x\n", "gone.txt": "100644 g\n"})
	r.write("assumed.txt", "the user's hidden edit\nagent\n")
	r.write("skipped.txt", "agent\n")
	r.write("both.txt", "agent\n")
	r.remove("gone.txt")
	c := r.change(before)
	equal(t, "change", paths(c), []string{"modified assumed.txt", "modified both.txt", "deleted gone.txt", "modified skipped.txt"})
	equal(t, "index with its bits", r.indexState(), index)
}

func TestSparseCheckout(t *testing.T) {
	t.Parallel()
	for _, sparseIndex := range []string{"--no-sparse-index", "--sparse-index"} {
		r := newRepoWith(t, map[string]string{"in/a.txt": "a\n", "out/b.txt": "b\n", "out/deep/c.txt": "c\n", "top.txt": "t\n"})
		r.git("sparse-checkout", "set", "--cone", sparseIndex, "in")
		before := r.snapshot()
		equal(t, "tree", before.Tree, r.git("rev-parse", "HEAD^{tree}"))
		r.write("in/a.txt", "agent\n")
		r.write("out/b.txt", "written outside the cone\n")
		r.write("out/new.txt", "new\n")
		equal(t, "change", paths(r.change(before)), []string{"modified in/a.txt", "modified out/b.txt", "added out/new.txt"})
	}
}

// The edit has the size, the second and (set back) the mtime of what the index
// knows: only an index with its own mtime makes git read the file.
func TestSameSecondSameSizeEditIsSeen(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	at := time.Now().Add(-time.Minute).Truncate(time.Second)
	r.git("config", "core.trustctime", "false")
	r.git("config", "core.checkStat", "minimal")
	r.write("a.txt", "aaaa\n")
	r.setTime("a.txt", at)
	r.commit("base")
	must(os.Chtimes(r.path(".git/index"), at, at))
	before := r.snapshot()
	r.write("a.txt", "bbbb\n")
	r.setTime("a.txt", at)
	equal(t, "change", paths(r.change(before)), []string{"modified a.txt"})

	r.git("update-index", "--assume-unchanged", "a.txt") // now our copy is rewritten first
	must(os.Chtimes(r.path(".git/index"), at, at))
	equal(t, "change", paths(r.change(before)), []string{"modified a.txt"})
}

func TestConflictedStashPopShowsTheFileOnDisk(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n"})
	r.write("a.txt", "stashed\n")
	r.git("stash")
	r.write("a.txt", "other\n")
	r.commit("other")
	if _, err := r.tryGit("stash", "pop"); err == nil {
		t.Fatal("stash pop did not conflict")
	}
	index := r.indexState()
	before := r.snapshot()
	equal(t, "a.txt", r.tree(before.Tree)["a.txt"], "100644 "+r.read("a.txt"))
	r.write("b.txt", "agent\n")
	r.write("a.txt", "resolved\n")
	equal(t, "change", paths(r.change(before)), []string{"modified a.txt", "modified b.txt"})
	equal(t, "index", r.indexState(), index)
	equal(t, "still unmerged", r.git("diff", "--name-only", "--diff-filter=U"), "a.txt")
}

func TestUnmergedPathThatCannotBeFiltered(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	r.write("a.txt", "stashed\n")
	r.git("stash")
	r.write("a.txt", "other\n")
	r.commit("other")
	r.tryGit("stash", "pop")
	r.write(".git/info/attributes", "a.txt filter=broken\n")
	r.git("config", "filter.broken.clean", "false")
	r.git("config", "filter.broken.required", "true")
	s := r.snapshot()
	equal(t, "unknown", s.Unknown, []string{"a.txt"})
	equal(t, "tree", sorted(r.tree(s.Tree)), []string{})
}

func TestIntentToAdd(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	r.write("ita.txt", "content\n")
	r.write("ita-gone.txt", "content\n")
	r.git("add", "-N", "ita.txt", "ita-gone.txt")
	r.remove("ita-gone.txt")
	before := r.snapshot()
	equal(t, "tree", r.tree(before.Tree), map[string]string{"a.txt": "100644 a\n", "ita.txt": "100644 content\n"})
	r.write("ita.txt", "content\nagent\n")
	equal(t, "change", paths(r.change(before)), []string{"modified ita.txt"})
}

func TestLargeUntrackedFilesAreKnownBySizeAndTimeOnly(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	big := func(name string, size int64) {
		r.write(name, "")
		must(os.Truncate(r.path(name), size))
	}
	big("still.bin", maxUntrackedFile+1)
	big("edited.bin", maxUntrackedFile+1)
	big("gone.bin", maxUntrackedFile+1)
	big("staged.bin", maxUntrackedFile+1)
	big("grows.bin", maxUntrackedFile-1)
	before := r.snapshot()
	equal(t, "large", sortedKeys(before.Large), []string{"edited.bin", "gone.bin", "staged.bin", "still.bin"})
	equal(t, "stored", sorted(r.tree(before.Tree)), []string{"a.txt", "grows.bin"})

	big("edited.bin", 10)
	r.remove("gone.bin")
	big("new.bin", maxUntrackedFile+1)
	big("grows.bin", maxUntrackedFile+1)
	r.git("add", "staged.bin")
	c := r.change(before)
	equal(t, "change", paths(c), []string{"modified edited.bin", "deleted gone.bin", "modified grows.bin", "added new.bin"})
	for _, f := range c.Files {
		equal(t, f.Path+" large", f.Large, true)
	}
	equal(t, "one note", len(notesWith(c.Notes, "large_file")), 1)
	equal(t, "trees", c.After.Tree, before.Tree)
}

// A Snapshot goes through the ledger as JSON; the limits by count are tested on
// plan alone, for 20,000 files take long to write.
func TestUntrackedFilesBeyondTheCount(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	r.write("one.txt", "1\n")
	r.write("two.txt", "2\n")
	tk := &taker{r: r.open(), large: map[string]Stat{}, count: maxUntrackedFiles - 1, folders: map[string]bool{"": true},
		entries: []statusEntry{{'?', '?', "one.txt"}, {'?', '?', "two.txt"}, {' ', 'M', "a.txt"}}}
	add, remove, err := tk.plan(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "added", add, []string{"one.txt", "a.txt"})
	equal(t, "removed", remove, []string(nil))
	equal(t, "large", sortedKeys(tk.large), []string{"two.txt"})
}

func TestUnbornHead(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := r.snapshot()
	equal(t, "head", s.Head, Head{Ref: "refs/heads/main"})
	equal(t, "tree", sorted(r.tree(s.Tree)), []string{})
	r.write("a.txt", "a\n")
	r.write("staged.txt", "s\n")
	r.git("add", "staged.txt")
	equal(t, "change", paths(r.change(s)), []string{"added a.txt", "added staged.txt"})
}

func TestDetachedHead(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	r.git("checkout", "-q", "--detach")
	equal(t, "head", r.snapshot().Head, Head{Commit: r.git("rev-parse", "HEAD")})
}

func TestSubfolderSnapshotsTheWholeRepository(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"top.txt": "t\n", "web/app/a.txt": "a\n"})
	repo, err := Open(context.Background(), r.path("web/app"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "top, dir", []string{repo.Top(), repo.Dir()}, []string{r.dir, r.path("web/app")})
	before, err := repo.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r.write("top.txt", "edited\n")
	r.write("web/app/b.txt", "new\n")
	equal(t, "change", paths(r.change(before)), []string{"modified top.txt", "added web/app/b.txt"})
}

func TestLinkedWorktree(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	tree := &testRepo{t: t, dir: filepath.Join(realTempDir(t), "linked")}
	r.git("worktree", "add", "-q", "-b", "side", tree.dir)
	r.write("a.txt", "main tree\n")
	before := tree.snapshot()
	equal(t, "head", before.Head.Ref, "refs/heads/side")
	tree.write("a.txt", "linked\n")
	tree.git("add", "a.txt")
	equal(t, "change", paths(tree.change(before)), []string{"modified a.txt"})
	equal(t, "a.txt", tree.tree(tree.after(before).Tree)["a.txt"], "100644 linked\n")
}

func TestSymlinkedGitFolderAndSymlinkedPath(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	elsewhere := filepath.Join(realTempDir(t), "git-folder")
	must(os.Rename(r.path(".git"), elsewhere))
	r.symlink(elsewhere, ".git")
	link := filepath.Join(realTempDir(t), "link")
	must(os.Symlink(r.dir, link))
	repo, err := Open(context.Background(), link)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "top", repo.Top(), r.dir)
	before := r.snapshot()
	r.write("a.txt", "b\n")
	equal(t, "change", paths(r.change(before)), []string{"modified a.txt"})
}

func TestSeparateWorkTree(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	work := realTempDir(t)
	r.git("config", "core.worktree", work)
	must(os.WriteFile(filepath.Join(work, "a.txt"), []byte("over there\n"), 0o644))
	s := r.snapshot()
	equal(t, "top", r.open().Top(), work)
	equal(t, "tree", r.tree(s.Tree), map[string]string{"a.txt": "100644 over there\n"})
}

func TestSHA256Repository(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "--object-format=sha256")
	r.write("a.txt", "a\n")
	r.write("gone.txt", "g\n")
	r.write("hidden.txt", "h\n")
	r.commit("base")
	r.git("update-index", "--assume-unchanged", "hidden.txt")
	before := r.snapshot()
	equal(t, "id length", len(before.Tree), 64)
	r.write("a.txt", "b\n")
	r.write("hidden.txt", "i\n")
	r.remove("gone.txt")
	equal(t, "change", paths(r.change(before)), []string{"modified a.txt", "deleted gone.txt", "modified hidden.txt"})
}

// The environment and the configuration of the user must not change what we see.
func TestForeignEnvironmentAndConfiguration(t *testing.T) {
	other := newRepoWith(t, map[string]string{"other.txt": "o\n"})
	r := newRepoWith(t, map[string]string{"a.txt": "a\n", "d/b.txt": "b\n"})
	for _, kv := range [][2]string{{"status.showUntrackedFiles", "no"}, {"status.relativePaths", "false"}, {"status.renames", "copies"},
		{"diff.renames", "copies"}, {"diff.noprefix", "true"}, {"diff.external", "false"}, {"color.ui", "always"}, {"core.quotePath", "true"},
		{"core.fsmonitor", "false; touch fsmonitor-ran"}, {"core.hooksPath", "hooks"}, {"core.splitIndex", "true"}, {"diff.ignoreSubmodules", "all"},
		{"core.logAllRefUpdates", "always"}, {"status.branch", "true"}, {"column.ui", "always"}, {"core.untrackedCache", "true"}} {
		r.git("config", kv[0], kv[1])
	}
	r.write("d/b.txt", "staged\n")
	r.git("add", "d/b.txt") // writes a split index
	t.Setenv("GIT_DIR", other.path(".git"))
	t.Setenv("GIT_INDEX_FILE", "nowhere")
	t.Setenv("GIT_DIFF_OPTS", "--unified=0")
	t.Setenv("GIT_EXTERNAL_DIFF", "false")
	t.Setenv("LC_ALL", "de_DE.UTF-8")
	repo := r.open()
	before, err := repo.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r.write("a.txt", "a\nagent\n")
	r.write("new.txt", "n\n")
	after, err := repo.SnapshotAfter(context.Background(), before)
	if err != nil {
		t.Fatal(err)
	}
	c, err := repo.Change(context.Background(), before, after)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "change", paths(c), []string{"modified a.txt", "added new.txt"})
	diff, err := repo.Diff(context.Background(), before.Tree, after.Tree, []string{"a.txt"})
	if err != nil {
		t.Fatal(err)
	}
	_, hunk, _ := strings.Cut(string(diff), "\n--- ")
	equal(t, "diff", hunk, "a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n a\n+agent\n")
}
