package gitrepo

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// TestProperties makes random repositories with random work of the user's,
// lets a random agent edit them, commits, undoes, and checks what must hold
// whatever happened:
//
//	(a) for every committed path, merging HEAD's old content, what was on disk
//	    before the run and HEAD's new content gives what the agent left;
//	(b) git diff and git diff --cached show what they showed, and staged blobs
//	    of other paths are byte-identical;
//	(c) undo restores the working tree;
//	(d) git fsck is clean, and no lock, temporary file or stray ref is left.
//
// SLIDEWRITE_PROPERTY=n runs n repositories instead of the default,
// SLIDEWRITE_PROPERTY_SEED=s begins with (and, without n, runs only) seed s.
func TestProperties(t *testing.T) {
	t.Parallel()
	eachSeed(t, 1, propertyRun)
}

// eachSeed runs one of so many parts of the seeds that are asked for, side by
// side.
func eachSeed(t *testing.T, parts uint64, run func(t *testing.T, seed uint64)) {
	first, count := propertyRange(t)
	for seed := first; seed < first+(count+parts-1)/parts; seed++ {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			run(t, seed)
		})
	}
}

// propertyRange reads the two variables.
func propertyRange(t *testing.T) (first, count uint64) {
	first, count = 1, 6
	if testing.Short() {
		count = 3
	}
	for name, into := range map[string]*uint64{"SLIDEWRITE_PROPERTY": &count, "SLIDEWRITE_PROPERTY_SEED": &first} {
		if value := os.Getenv(name); value != "" {
			n, err := strconv.ParseUint(value, 10, 32)
			if err != nil {
				t.Fatalf("%s=%q: %v", name, value, err)
			}
			*into = n
		}
	}
	if os.Getenv("SLIDEWRITE_PROPERTY_SEED") != "" && os.Getenv("SLIDEWRITE_PROPERTY") == "" {
		count = 1
	}
	return first, count
}

// propertyRun is one random repository from its first commit to the undo.
func propertyRun(t *testing.T, seed uint64) {
	w := newWorld(t, seed)
	defer w.logOnFailure()
	w.history()
	if seed%5 != 0 { // a clean tree has a path of its own through the commit
		w.userWork()
	}
	truth := w.truth()
	run := w.begin()
	w.agentWork()
	run.change = w.change(run.before)
	left := w.disk()
	after := truth
	if w.chance(15) {
		w.note("not committed")
		w.checkUndo(run, truth, after)
		return
	}
	run.tryCommit()
	if refused, ok := run.err.(*Refusal); ok {
		w.note("refused: %s", refused.Message)
		run.result = nil
	} else if run.err != nil {
		t.Fatalf("commit: %+v", run.err)
	} else {
		after = w.checkCommit(run, truth)
	}
	equal(t, "working tree after the commit", w.disk(), left)
	w.clean()
	w.checkUndo(run, truth, after)
}

// truth is what must not change: the user's work, HEAD, the staged entries and
// the files.
type truth struct {
	work
	head   map[string]string // path to "mode content"
	staged map[string]string // path to "mode id" (all stages)
	disk   map[string]string
}

func (w *world) truth() truth {
	return truth{work: w.testRepo.work(), head: w.contents("HEAD"), staged: w.stagedEntries(), disk: w.disk()}
}

// contents is every path of a tree as "mode content", with two processes.
func (r *testRepo) contents(treeish string) map[string]string {
	r.t.Helper()
	entries, err := parseTree([]byte(r.git("ls-tree", "-r", "-z", treeish)))
	if err != nil {
		r.t.Fatal(err)
	}
	m := r.open().merger(context.Background())
	for _, e := range entries {
		if e.Mode != "160000" {
			m.blobs[e.OID] = nil
		}
	}
	oids := slices.Sorted(maps.Keys(m.blobs))
	m.blobs = map[string][]byte{}
	if err := m.load(oids...); err != nil {
		r.t.Fatal(err)
	}
	files := map[string]string{}
	for path, e := range entries {
		files[path] = e.Mode + " " + string(m.blobs[e.OID])
	}
	return files
}

func (r *testRepo) stagedEntries() map[string]string {
	r.t.Helper()
	entries := map[string]string{}
	for _, rec := range splitNUL([]byte(r.git("ls-files", "-s", "-z"))) {
		meta, path, _ := strings.Cut(rec, "\t")
		entries[path] += meta + ";"
	}
	return entries
}

// checkCommit checks (a) and (b) and returns the truth after the commit.
func (w *world) checkCommit(run *testRun, before truth) truth {
	w.t.Helper()
	now := w.truth()
	left := map[string]bool{}
	for _, path := range run.result.LeftOut {
		left[path] = true
	}
	changed := map[string]File{}
	for _, f := range run.change.Files {
		changed[f.Path] = f
	}
	was, is := w.contents(run.before.Tree), w.contents(run.change.After.Tree)
	for _, path := range differing(before.head, now.head) {
		if _, ok := changed[path]; !ok || left[path] {
			w.t.Errorf("%q is in the commit, but not the run's or left out", path)
			continue
		}
		w.checkPath(path, before.head[path], was[path], now.head[path], is[path])
	}
	w.checkWork(run.result, before, now, changed, left)
	for path := range before.staged {
		if _, ok := changed[path]; !ok {
			equal(w.t, "staged entry of "+path, now.staged[path], before.staged[path])
		}
	}
	return now
}

// checkPath checks (a) for one path; each side is "mode content".
func (w *world) checkPath(path, headOld, before, headNew, after string) {
	w.t.Helper()
	if headOld == before {
		equal(w.t, "HEAD's "+path, headNew, after)
		return
	}
	mode := func(s string) string { m, _, _ := strings.Cut(s, " "); return m }
	text := func(s string) string { _, c, _ := strings.Cut(s, " "); return c }
	merged, ok := "", true
	switch text(headOld) {
	case text(headNew): // the run changed the mode alone
		merged = text(before)
	case text(before): // the user did
		merged = text(headNew)
	default:
		merged, ok = w.mergeFile(text(headOld), text(before), text(headNew))
	}
	if !ok || merged != text(after) {
		w.t.Errorf("(a) fails for %q:\nHEAD old %q\nbefore %q\nHEAD new %q\nafter %q\nmerged %q", path, headOld, before, headNew, after, merged)
	}
	wantMode := mode(before)
	if mode(headNew) != mode(headOld) {
		wantMode = mode(headNew)
	}
	equal(w.t, "mode of "+path, wantMode, mode(after))
}

// checkWork checks (b): every file's diff is what it was, but for the paths
// that are left out, and for --cached those whose staged part overlaps, or is
// what the agent did too (so that it is committed now: whether the user or the
// agent staged it cannot be told).
func (w *world) checkWork(result *CommitResult, before, now truth, changed map[string]File, left map[string]bool) {
	w.t.Helper()
	overlap := strings.Join(notesWith(result.Notes, "overlap"), "\n")
	exempt := func(header string) bool {
		for path := range changed {
			named := header == "a/"+path+" b/"+path || strings.Contains(header, strconv.Quote("a/"+path))
			coincides := before.staged[path] == now.staged[path] && now.work.staged[header] == ""
			if named && (left[path] || coincides || strings.Contains(overlap, "`"+path+"`")) {
				return true
			}
		}
		return false
	}
	for what, pair := range map[string][2]map[string]string{
		"git diff": {before.unstaged, now.unstaged}, "git diff --cached": {before.work.staged, now.work.staged},
	} {
		for _, header := range differing(pair[0], pair[1]) {
			if !exempt(header) {
				w.t.Errorf("(b) %s changed for %s:\nwas %q\nnow %q", what, header, pair[0][header], pair[1][header])
			}
		}
	}
}

// checkUndo checks (c), and that the undo's own commit keeps (b) and (d).
func (w *world) checkUndo(run *testRun, start, before truth) {
	w.t.Helper()
	result, err := w.open().Undo(context.Background(), run.undoRequest())
	if err != nil {
		w.t.Fatalf("undo: %+v", err)
	}
	w.sameDisk(start.disk)
	if result.Commit != nil {
		changed, left := map[string]File{}, map[string]bool{}
		for _, f := range result.Change.Files {
			changed[f.Path] = f
		}
		for _, path := range result.Commit.LeftOut {
			left[path] = true
		}
		now := w.truth()
		w.checkWork(result.Commit, before, now, changed, left)
		for _, path := range differing(start.head, now.head) {
			if !left[path] {
				w.t.Errorf("undo's commit does not bring HEAD's %q back:\nwas %q\nnow %q", path, start.head[path], now.head[path])
			}
		}
		for _, path := range differing(before.head, now.head) {
			if !differs(start.head, before.head, path) {
				w.t.Errorf("undo's commit holds %q, which the run's does not", path)
			}
		}
	}
	w.clean()
}

// sameDisk checks (c): byte for byte, or as git checkout would write it where
// the clean filter does not round-trip.
func (w *world) sameDisk(want map[string]string) {
	w.t.Helper()
	got := w.disk()
	for _, path := range differing(got, want) {
		same := has(got, path) && has(want, path) && strings.ReplaceAll(got[path], "\r\n", "\n") == strings.ReplaceAll(want[path], "\r\n", "\n")
		if !w.converts || !same {
			w.t.Errorf("(c) %q after undo:\ngot %q\nwant %q", path, got[path], want[path])
		}
	}
}

// differing are the keys whose values differ, in order.
func differing(a, b map[string]string) []string {
	keys := map[string]bool{}
	for k := range a {
		keys[k] = true
	}
	for k := range b {
		keys[k] = true
	}
	var list []string
	for k := range keys {
		if differs(a, b, k) {
			list = append(list, k)
		}
	}
	sort.Strings(list)
	return list
}

// differs tells whether a key's values differ.
func differs(a, b map[string]string, k string) bool { return a[k] != b[k] || has(a, k) != has(b, k) }

func has(m map[string]string, k string) bool { _, ok := m[k]; return ok }

// world is a repository made by chance.
type world struct {
	*testRepo
	rand     *rand.Rand
	seed     uint64
	fresh    int  // numbers lines, so that most are unique
	converts bool // line endings are converted: a restored file may come back with others
	log      []string
}

func newWorld(t testing.TB, seed uint64) *world {
	return &world{testRepo: newRepo(t), seed: seed, rand: rand.New(rand.NewPCG(seed, 30))}
}

// note keeps a line of what happened, shown when the property fails.
func (w *world) note(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

func (w *world) logOnFailure() {
	if w.t.Failed() {
		w.t.Logf("seed %d (SLIDEWRITE_PROPERTY_SEED=%d):\n%s", w.seed, w.seed, strings.Join(w.log, "\n"))
	}
}

func (w *world) chance(percent int) bool { return w.rand.IntN(100) < percent }

func pick[T any](w *world, list []T) T { return list[w.rand.IntN(len(list))] }

// line is a new line; now and then one that the text has already.
func (w *world) line() string {
	if w.chance(20) {
		return pick(w, []string{"", "}", "end", "  return"})
	}
	w.fresh++
	return fmt.Sprintf("line %d", w.fresh)
}

// text is a new file: mostly LF, some CRLF, some without a last newline, some
// binary, some empty.
func (w *world) text() string {
	if w.chance(8) {
		return fmt.Sprintf("\x00\x01bin%d\n\x02", w.rand.IntN(1000))
	}
	if w.chance(4) {
		return ""
	}
	eol := "\n"
	if w.chance(12) {
		eol = "\r\n"
	}
	var b strings.Builder
	for range 3 + w.rand.IntN(25) {
		b.WriteString(w.line() + eol)
	}
	if w.chance(10) {
		b.WriteString("no newline")
	}
	return b.String()
}

// edited changes some lines of a text.
func (w *world) edited(content string) string {
	if strings.Contains(content, "\x00") || content == "" {
		return w.text()
	}
	parts := strings.SplitAfter(content, "\n")
	eol := ""
	if strings.HasSuffix(parts[0], "\r\n") {
		eol = "\r"
	}
	for range 1 + w.rand.IntN(3) {
		at := w.rand.IntN(len(parts))
		line := w.line() + eol + "\n"
		switch w.rand.IntN(4) {
		case 0:
			parts = slices.Insert(parts, at, line)
		case 1:
			if len(parts) > 2 {
				parts = slices.Delete(parts, at, at+1)
			}
		default:
			parts[at] = line
		}
	}
	return strings.Join(parts, "")
}

// names the files get: plain ones, and those that break careless programs.
var worldNames = []string{
	"a.txt", "b.txt", "src/c.txt", "src/d.txt", "src/deep/e.txt", "f.txt", "g.union", "h.driver",
	"sp ace.txt", "quo\"te.txt", "gl*b[1].txt", ":colon.txt", "ümläut.txt", "src/new\nline.txt", "-dash.txt", "x/y/z/w.txt",
}

// history makes the first commit: files, a symlink, an executable, attributes.
func (w *world) history() {
	attributes := "*.union merge=union\n*.driver merge=mine\n"
	if w.converts = w.chance(20); w.converts {
		attributes += pick(w, []string{"*.txt text\n", "* text=auto\n", "*.txt text eol=crlf\n"})
	}
	w.write(".gitattributes", attributes)
	w.git("config", "merge.mine.driver", "false")
	for _, name := range worldNames {
		if w.chance(70) {
			w.write(name, w.text())
		}
	}
	w.write("tool.sh", w.text())
	w.chmod("tool.sh", 0o755)
	w.symlink("a.txt", "link")
	w.write(".gitignore", "ignored/\n*.log\n")
	w.write("ignored/secret", "mine\n")
	w.commit("base")
}

// files are the paths on disk, in order, without .git and ignored ones.
func (w *world) files() []string {
	var list []string
	for path := range maps.Keys(w.disk()) {
		if !strings.HasPrefix(path, "ignored/") && path != ".gitignore" && path != ".gitattributes" && !strings.HasPrefix(path, "nested/") {
			list = append(list, path)
		}
	}
	sort.Strings(list)
	return list
}

// userWork is what the user left uncommitted.
func (w *world) userWork() {
	for range w.rand.IntN(10) {
		w.touch("user")
		if w.chance(45) {
			path := pick(w, w.files())
			w.note("user: add %q", path)
			w.git("--literal-pathspecs", "add", "-A", "--", path)
		}
	}
	if w.chance(15) {
		path := pick(w, w.files())
		w.note("user: rm --cached %q", path)
		w.tryGit("--literal-pathspecs", "rm", "-q", "--cached", "--", path)
	}
	if w.chance(15) {
		path := pick(w, w.files())
		w.note("user: mv %q", path)
		w.tryGit("mv", "--", path, "renamed.txt")
	}
	if w.chance(20) {
		w.note("user: add -A")
		w.git("add", "-A")
	}
	if w.chance(15) {
		w.write("promised.txt", w.text())
		w.git("add", "-N", "promised.txt")
	}
	if w.chance(10) {
		w.git("init", "-q", "nested")
		w.write("nested/inner.txt", "theirs\n")
	}
	if w.chance(10) {
		w.hide("--assume-unchanged")
	}
	if w.chance(10) {
		w.hide("--skip-worktree")
	}
	for range w.rand.IntN(3) {
		w.touch("user")
	}
}

// hide sets a bit that makes git look away from a file on disk. (What is
// hidden and absent counts as there, as in a sparse checkout.)
func (w *world) hide(bit string) {
	disk := w.disk()
	for _, rec := range splitNUL([]byte(w.git("ls-files", "-z"))) {
		if has(disk, rec) && w.chance(30) {
			w.note("user: %s %q", bit, rec)
			w.tryGit("update-index", bit, "--", rec)
		}
	}
}

// agentWork is what the run does.
func (w *world) agentWork() {
	for range 1 + w.rand.IntN(7) {
		w.touch("agent")
	}
}

// touch does one random thing to one random file.
func (w *world) touch(who string) {
	files := w.files()
	path := pick(w, files)
	info, err := os.Lstat(w.path(path))
	if err != nil {
		w.t.Fatal(err)
	}
	regular := info.Mode().IsRegular()
	kind := w.rand.IntN(20)
	w.note("%s: %d %q", who, kind, path)
	switch {
	case kind < 10 && regular:
		w.rewrite(path, w.edited(w.read(path)))
	case kind < 12:
		w.place(pick(w, worldNames), w.text())
	case kind == 12:
		w.fresh++
		w.place(fmt.Sprintf("fresh%d.txt", w.fresh), w.text())
	case kind == 13 && len(files) > 4:
		w.remove(path)
	case kind == 14 && len(files) > 4:
		w.remove(path)
		w.place(path+"/inside.txt", w.text()) // a folder in a file's place
	case kind == 15 && regular:
		w.chmod(path, info.Mode().Perm()^0o111)
	case kind == 16:
		w.remove(path)
		w.symlink("b.txt", path)
	case kind == 17 && strings.HasPrefix(path, "src/"):
		w.remove("src")
		w.write("src", w.text()) // a file in a folder's place
	case kind == 18 && regular:
		content := w.read(path)
		w.remove(path)
		w.fresh++
		w.place(fmt.Sprintf("moved%d.txt", w.fresh), content)
	}
}

// rewrite keeps a file's mode.
func (w *world) rewrite(path, content string) {
	if err := os.WriteFile(w.path(path), []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// place writes a file if nothing is in the way of its folders.
func (w *world) place(path, content string) {
	for i := range path {
		if path[i] == '/' {
			if info, err := os.Lstat(w.path(path[:i])); err == nil && !info.IsDir() {
				return
			}
		}
	}
	if info, err := os.Lstat(w.path(path)); err == nil && !info.Mode().IsRegular() {
		return
	}
	w.note("  %q = %q", path, content)
	w.write(path, content)
}
