package gitrepo

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/errors"
)

// Limits for untracked files. What lies beyond is known by size and mtime only:
// reported when it changes, never stored or committed.
const (
	maxUntrackedFile  = 20 << 20  // bytes, one file
	maxUntrackedBytes = 200 << 20 // bytes, all together
	maxUntrackedFiles = 20_000
)

// Snapshot records the working tree as it is: tracked and untracked-not-ignored
// files of the whole repository, as a git tree. The user's index, HEAD, stash
// and files stay as they are.
//
// Costs two git processes side by side (status and HEAD) where the working tree
// is HEAD's, else one to three more: write-tree, and what brings our copy of
// the index to what is on disk.
func (r *Repo) Snapshot(ctx context.Context) (*Snapshot, error) {
	return r.take(ctx, nil)
}

// SnapshotAfter is Snapshot at the end of a run that began with before. It
// keeps to what before could see: its ignore rules, its unknown paths and the
// files it knew by size only; so comparing the two shows what the run did.
//
// Costs one git process more than Snapshot when something changed (diff-tree,
// whose answer Change uses again), and four more when the run changed ignore
// rules or staged new files.
func (r *Repo) SnapshotAfter(ctx context.Context, before *Snapshot) (*Snapshot, error) {
	return r.take(ctx, before)
}

// taker is one snapshot in the making.
type taker struct {
	r      *Repo
	dir    string    // private temporary folder, removed at the end
	index  string    // our copy of the user's index
	mtime  time.Time // of the user's index when it was copied
	before *Snapshot // of the run, nil for its first snapshot

	entries   []statusEntry
	untracked map[string]bool // of entries
	unknown   map[string]bool
	large     map[string]Stat
	cleared   []string                  // assume-unchanged or skip-worktree, on disk
	exclude   string                    // patterns of info/exclude
	facts     indexFacts                // of the user's index; nothing where it cannot be read
	head      func() (headState, error) // asked for while we look at the files
	notes     []Note
	lax       []string // configuration under which failing filters do not end git

	count, bytes int64            // of untracked files stored so far
	known        map[string]Entry // the paths of before, once asked for
	folders      map[string]bool  // lstat-ed parents: is a real folder
}

func (r *Repo) take(ctx context.Context, before *Snapshot) (*Snapshot, error) {
	dir, err := os.MkdirTemp(r.temp, "slidewrite-git-") // 0700
	if err != nil {
		return nil, errors.Wrap(err, "snapshot: make a temporary folder")
	}
	defer os.RemoveAll(dir)
	t := &taker{
		r: r, dir: dir, index: filepath.Join(dir, "index"), before: before,
		untracked: map[string]bool{}, unknown: map[string]bool{}, large: map[string]Stat{}, folders: map[string]bool{"": true},
	}
	s, err := t.take(ctx)
	return s, errors.Wrap(err, "snapshot of the working tree")
}

func (t *taker) take(ctx context.Context) (*Snapshot, error) {
	t.head = sync.OnceValues(func() (headState, error) { return t.r.head(ctx) })
	go t.head()
	tree, err := t.workingTree(ctx)
	head, headErr := t.head() // waited for: it must not outlive us
	if err == nil {
		err = headErr
	}
	if err != nil {
		return nil, err
	}
	s := &Snapshot{Head: head.Head, Large: t.large, Cleared: t.cleared, Exclude: t.exclude, headTree: head.tree}
	if t.before != nil {
		if tree, s.diff, err = t.keepToBefore(ctx, tree); err != nil {
			return nil, err
		}
		if s.index, err = t.image(s.diff); err != nil {
			return nil, err
		}
	}
	s.Tree, s.Taken, s.clock = tree, t.r.fileTime(), time.Now()
	for p := range t.unknown {
		s.Unknown = append(s.Unknown, p)
	}
	sort.Strings(s.Unknown)
	s.Notes = append(t.notes, t.summary(s)...)
	return s, nil
}

// workingTree is the tree of what is on disk, by today's ignore rules.
func (t *taker) workingTree(ctx context.Context) (string, error) {
	t.exclude = t.r.excludePatterns()
	index, mtime, err := copyIndex(filepath.Join(t.r.gitDir, "index"), t.index)
	if err != nil {
		return "", err
	}
	t.mtime = mtime
	if err := t.clearHidden(ctx, index); err != nil {
		return "", err
	}
	if err := t.status(ctx); err != nil {
		return "", err
	}
	add, remove, err := t.plan(ctx)
	if err != nil {
		return "", err
	}
	if len(add)+len(remove) == 0 && t.facts.tree != "" {
		// The index is what is on disk. Its tree is there for sure where HEAD has it.
		if head, err := t.head(); err == nil && head.tree == t.facts.tree {
			return t.facts.tree, nil
		}
	}
	if err := t.apply(ctx, add, remove); err != nil {
		return "", err
	}
	return t.writeTree(ctx)
}

// unhashed: our copy of the index need not end with a checksum (git 2.40 and
// later), which is a good part of the time it takes to write a large one.
var unhashed = []string{"index.skipHash=true"}

// env points a git command at our copy of the index.
func (t *taker) env() []string { return []string{"GIT_INDEX_FILE=" + t.index} }

// excludePatterns are the patterns of the repository's own info/exclude, "" if
// it has nothing but comments (git's template).
func (r *Repo) excludePatterns() string {
	data, err := os.ReadFile(filepath.Join(r.common, "info", "exclude"))
	if err != nil || len(data) > 1<<20 {
		return ""
	}
	var patterns []string
	for _, line := range strings.Split(string(data), "\n") {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
			patterns = append(patterns, line+"\n")
		}
	}
	return strings.Join(patterns, "")
}

// clearHidden takes the assume-unchanged and skip-worktree bits from the
// entries of our copy whose file is on disk, or was at the run's start: status
// would not look at them.
func (t *taker) clearHidden(ctx context.Context, index []byte) error {
	var err error
	if t.facts, err = scanIndex(index, t.r.hashLen()); len(index) == 0 || err == nil && !t.facts.hides {
		return nil
	}
	out, err := t.r.git(ctx, call{env: t.env()}, "ls-files", "-v", "-z")
	if err != nil {
		return errors.Wrap(err, "list the index")
	}
	assumed, skipped := t.hidden(splitNUL(out))
	for _, set := range []struct {
		option string
		paths  []string
	}{{"--no-assume-unchanged", assumed}, {"--no-skip-worktree", skipped}} {
		if len(set.paths) == 0 {
			continue
		}
		if _, err := t.lenient(ctx, joinNUL(set.paths), "update-index", "-z", set.option, "--stdin"); err != nil {
			return errors.Wrap(err, "clear index bits in the copy")
		}
		t.cleared = append(t.cleared, set.paths...)
	}
	// Written anew, the copy would be younger than the user's index (see copyIndex).
	return errors.Wrap(os.Chtimes(t.index, t.mtime, t.mtime), "keep the index's time")
}

// hidden picks from the lines of `ls-files -v` ("T path"; a lower-case letter
// is assume-unchanged, S is skip-worktree) those whose file is on disk now or
// was at the run's start.
func (t *taker) hidden(lines []string) (assumed, skipped []string) {
	before := map[string]bool{}
	if t.before != nil {
		for _, p := range t.before.Cleared {
			before[p] = true
		}
	}
	for _, line := range lines {
		if len(line) < 3 {
			continue
		}
		tag, p := line[0], line[2:]
		lower, skip := tag >= 'a' && tag <= 'z', tag == 'S' || tag == 's'
		if !lower && !skip || t.r.isPrivate(p) || !before[p] && !t.onDisk(p) {
			continue
		}
		if lower {
			assumed = append(assumed, p)
		}
		if skip {
			skipped = append(skipped, p)
		}
	}
	return assumed, skipped
}

// status asks git which paths differ.
func (t *taker) status(ctx context.Context) error {
	out, err := t.lenient(ctx, nil, "status", "--porcelain=v1", "-z", "-uall", "--no-renames", "--ignore-submodules=dirty")
	if err != nil {
		return err
	}
	t.entries, err = parseStatus(out)
	t.entries = slices.DeleteFunc(t.entries, func(e statusEntry) bool { return t.r.isPrivate(e.path) })
	for _, e := range t.entries {
		if e.x == '?' {
			t.untracked[e.path] = true
		}
	}
	return err
}

// lenient runs git on our index. A required filter that fails ends any command
// that looks at the file, and also one that only writes the index (git looks
// once more at files as young as the index): the command is repeated without
// insisting on that filter. Nothing may be stored this way.
func (t *taker) lenient(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	for {
		out, err := t.r.git(ctx, call{env: t.env(), config: append(t.lax, unhashed...), stdin: stdin}, args...)
		if _, driver := failedFilter(err); err == nil || !t.relax(driver) {
			return out, err
		}
	}
}

// relax stops insisting on a filter; it is false if that is so already.
func (t *taker) relax(driver string) bool {
	option := "filter." + driver + ".required=false"
	if driver == "" || slices.Contains(t.lax, option) {
		return false
	}
	t.lax = append(t.lax, option)
	return true
}

// plan sorts the paths that differ from the index into those to add and those
// to remove, and puts aside what cannot be stored.
func (t *taker) plan(ctx context.Context) (add, remove []string, err error) {
	for _, e := range t.entries {
		if e.y == ' ' && e.x != 'D' {
			continue // staged, and the file is as staged
		}
		p := strings.TrimSuffix(e.path, "/")
		info := t.lstat(p)
		switch {
		case e.x == '?' && strings.HasSuffix(e.path, "/"):
			t.unknown[p] = true // a nested repository
		case info != nil && isStorable(info):
			keep := e.x != '?'
			if !keep {
				if keep, err = t.admit(ctx, p, info); err != nil {
					return nil, nil, err
				}
			}
			if keep {
				add = append(add, p)
			}
		case e.x == '?' || e.y == ' ':
			// gone again, or deleted in the index and on disk alike
		case info != nil && info.IsDir() && e.y == 'M':
			// a submodule on another commit: its entry stays as staged
		default:
			remove = append(remove, p)
		}
	}
	return add, remove, nil
}

// isStorable tells whether git can hold it: a regular file or a symbolic link.
func isStorable(info fs.FileInfo) bool {
	return info.Mode().IsRegular() || info.Mode()&fs.ModeSymlink != 0
}

// lstat looks at a path of the repository, nil if it is not there: also when a
// parent is no real folder, for git never looks through a symbolic link.
func (t *taker) lstat(p string) fs.FileInfo {
	if !t.isFolder(parentOf(p)) {
		return nil
	}
	info, err := os.Lstat(t.r.file(p))
	if err != nil {
		return nil
	}
	return info
}

func (t *taker) onDisk(p string) bool {
	info := t.lstat(p)
	return info != nil && isStorable(info)
}

// isFolder tells whether a path and all its parents are real folders.
func (t *taker) isFolder(p string) bool {
	is, seen := t.folders[p]
	if !seen {
		info, err := os.Lstat(t.r.file(p))
		is = err == nil && info.IsDir() && t.isFolder(parentOf(p))
		t.folders[p] = is
	}
	return is
}

// parentOf is the folder of a path, "" for the top level.
func parentOf(p string) string {
	if dir := path.Dir(p); dir != "." {
		return dir
	}
	return ""
}

// file is where a path of the repository lies on disk.
func (r *Repo) file(p string) string { return filepath.Join(r.top, filepath.FromSlash(p)) }

// admit decides whether an untracked file is stored, within the limits. A file
// that before stored is stored again, one that it knew by size stays so.
func (t *taker) admit(ctx context.Context, p string, info fs.FileInfo) (bool, error) {
	size := info.Size()
	stored := size <= maxUntrackedFile && t.count < maxUntrackedFiles && t.bytes+size <= maxUntrackedBytes
	if t.before != nil {
		if _, was := t.before.Large[p]; was {
			stored = false
		} else if !stored && size <= maxUntrackedFile {
			known, err := t.paths(ctx)
			if err != nil {
				return false, err
			}
			_, stored = known[p]
		}
	}
	if stored {
		t.count++
		t.bytes += size
	} else {
		t.large[p] = statOf(info)
	}
	return stored, nil
}

func statOf(info fs.FileInfo) Stat { return Stat{Size: info.Size(), MTime: info.ModTime().UnixNano()} }

// paths are the entries of before's tree.
func (t *taker) paths(ctx context.Context) (map[string]Entry, error) {
	if t.known == nil {
		var err error
		if t.known, err = t.r.lsTree(ctx, t.before.Tree); err != nil {
			return nil, err
		}
	}
	return t.known, nil
}

// lsTree lists a whole tree.
func (r *Repo) lsTree(ctx context.Context, tree string) (map[string]Entry, error) {
	out, err := r.git(ctx, call{}, "ls-tree", "-r", "-z", "--full-tree", tree)
	if err != nil {
		return nil, errors.Wrap(err, "list a snapshot")
	}
	return parseTree(out)
}

// apply brings our copy of the index to what is on disk.
func (t *taker) apply(ctx context.Context, add, remove []string) error {
	if err := t.setEntries(ctx, remove, nil); err != nil {
		return err
	}
	failed, err := t.add(ctx, add)
	if err != nil {
		return err
	}
	for _, p := range failed {
		if t.folders = map[string]bool{"": true}; t.onDisk(p) {
			t.unknown[p] = true // else it vanished while we read
		}
	}
	return t.setEntries(ctx, failed, nil)
}

// setEntries gives paths of our index the entry they have in entries, or none.
func (t *taker) setEntries(ctx context.Context, paths []string, entries map[string]Entry) error {
	if len(paths) == 0 {
		return nil
	}
	var in strings.Builder
	zero := strings.Repeat("0", 2*t.r.hashLen())
	for _, p := range paths {
		e := entries[p]
		if e.Absent() {
			e = Entry{Mode: "0", OID: zero}
		}
		fmt.Fprintf(&in, "%s %s\t%s\x00", e.Mode, e.OID, p)
	}
	_, err := t.lenient(ctx, []byte(in.String()), "update-index", "-z", "--index-info")
	return errors.Wrap(err, "change the copied index")
}

// add puts files into our index and returns those that git cannot take: it
// cannot read or filter them. git stops at the first of them and changes
// nothing; that one is dropped and the rest tried again. Where git does not
// name it, halves are tried.
func (t *taker) add(ctx context.Context, paths []string) (failed []string, err error) {
	for len(paths) > 0 {
		_, err := t.r.git(ctx, call{env: t.env(), config: unhashed, stdin: joinNUL(paths)}, "update-index", "-z", "--add", "--replace", "--stdin")
		var gitErr *Error
		switch {
		case err == nil:
			return failed, nil
		case !errors.As(err, &gitErr) || gitErr.Exit < 0 || cannotStore(gitErr.Stderr):
			return nil, errors.Wrap(err, "store the files")
		}
		if bad := namedPath(gitErr.Stderr, paths); bad >= 0 {
			failed = append(failed, paths[bad])
			paths = slices.Delete(slices.Clone(paths), bad, bad+1)
			continue
		}
		if again, err := t.dropUnfiltered(ctx, gitErr); err != nil {
			return nil, err
		} else if again {
			continue
		}
		if len(paths) == 1 {
			return append(failed, paths[0]), nil
		}
		half := len(paths) / 2
		first, err := t.add(ctx, paths[:half])
		if err != nil {
			return nil, err
		}
		failed, paths = append(failed, first...), paths[half:]
	}
	return failed, nil
}

// dropUnfiltered takes the path out of our index whose filter failed although
// we did not add it: git, when it writes an index, looks once more at files
// that are as young as the index. It is false if that was tried already.
func (t *taker) dropUnfiltered(ctx context.Context, failure *Error) (bool, error) {
	p, driver := failedFilter(failure)
	if driver == "" || t.unknown[p] {
		return false, nil
	}
	t.relax(driver)
	t.unknown[p] = true
	return true, t.setEntries(ctx, []string{p}, nil)
}

// storeTrouble are git's words (2.39) when the object database, not a file, is
// the trouble.
var storeTrouble = []string{
	"error: insufficient permission for adding an object",
	"error: unable to create temporary file",
	"error: unable to write",
	"error: file write error",
	"fatal: unable to write",
}

func cannotStore(stderr string) bool {
	for _, words := range storeTrouble {
		if strings.Contains("\n"+stderr, "\n"+words) {
			return true
		}
	}
	return false
}

// namedPath is the index of the path that git's last words name, -1 if they
// name none: "fatal: Unable to process path P" (git 2.39), "fatal: P: clean
// filter 'F' failed".
func namedPath(stderr string, paths []string) int {
	at := strings.LastIndex(stderr, "fatal: ")
	if at < 0 {
		return -1
	}
	last := stderr[at+len("fatal: "):]
	for i, p := range paths {
		shown := asShown(p)
		if last == "Unable to process path "+shown || strings.HasPrefix(last, shown+": clean filter '") {
			return i
		}
	}
	return -1
}

// asShown is a path as git prints it in an error: control characters masked.
func asShown(p string) string {
	return strings.Map(func(c rune) rune {
		if (c < 0x20 || c == 0x7f) && c != '\t' && c != '\n' {
			return '?'
		}
		return c
	}, p)
}

// failedFilter is the path and the driver of the required filter that ended a
// git command: "fatal: P: clean filter 'F' failed".
func failedFilter(err error) (path, driver string) {
	var gitErr *Error
	if !errors.As(err, &gitErr) || !strings.HasSuffix(gitErr.Stderr, "' failed") {
		return "", ""
	}
	const mark = ": clean filter '"
	end := strings.LastIndex(gitErr.Stderr, mark)
	if end < 0 {
		return "", ""
	}
	path = gitErr.Stderr[:end]
	if at := strings.LastIndex(path, "fatal: "); at >= 0 {
		path = path[at+len("fatal: "):]
	}
	return path, strings.TrimSuffix(gitErr.Stderr[end+len(mark):], "' failed")
}

// writeTree is the tree of our index. Every object of it was stored by
// update-index or is the user's: git need not look for each (in a partial
// clone it would even fetch them).
func (t *taker) writeTree(ctx context.Context) (string, error) {
	out, err := t.lenient(ctx, nil, "write-tree", "--missing-ok")
	return strings.TrimSpace(string(out)), errors.Wrap(err, "write the snapshot")
}

// hashLen is the length of an object id in bytes.
func (r *Repo) hashLen() int {
	if r.sha256 {
		return 32
	}
	return 20
}

// fileTime is now by the clock that stamps files here (it runs a few ms behind,
// and a network file system has its own): the ctime of a file made after this
// moment is never earlier.
func (r *Repo) fileTime() time.Time {
	f, err := os.CreateTemp(r.gitDir, "slidewrite-clock-")
	if err != nil {
		return time.Now().Add(-time.Second).UTC()
	}
	defer os.Remove(f.Name())
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return time.Now().Add(-time.Second).UTC()
	}
	return info.ModTime().UTC()
}

// clockWentBack tells whether the clock was set back between two snapshots of
// one process: file times of the run say nothing then.
func clockWentBack(before, after *Snapshot) bool {
	if before.clock.IsZero() || after.clock.IsZero() {
		return false
	}
	return after.Taken.Sub(before.Taken) < after.clock.Sub(before.clock)-time.Second
}

// summary is one note for all unknown paths and one for all large files.
func (t *taker) summary(s *Snapshot) []Note {
	var notes []Note
	if len(s.Unknown) > 0 {
		notes = append(notes, Note{Code: "unknown_path", Message: nameSome(s.Unknown) + " cannot be read (or is a repository of its own): not part of the change, cannot be undone"})
	}
	if len(s.Large) > 0 {
		notes = append(notes, Note{Code: "large_file", Message: nameSome(sortedKeys(s.Large)) + " is not in git and over the size limits: known by size and time only, never committed"})
	}
	return notes
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// nameSome names up to three paths and counts the rest.
func nameSome(paths []string) string {
	const most = 3
	var quoted []string
	for _, p := range paths[:min(most, len(paths))] {
		quoted = append(quoted, fmt.Sprintf("`%s`", p))
	}
	s := strings.Join(quoted, ", ")
	if more := len(paths) - most; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}
