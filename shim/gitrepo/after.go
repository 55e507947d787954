package gitrepo

import (
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/cockroachdb/errors"
)

// treeDiff is what diff-tree said of two trees, kept for Change.
type treeDiff struct {
	from, to string
	files    []File
}

// keepToBefore corrects a tree by today's rules to what the run's first
// snapshot could see, and returns it with its difference from that one.
func (t *taker) keepToBefore(ctx context.Context, tree string) (string, *treeDiff, error) {
	var env []string
	if t.attributesOnDisk() {
		env = t.r.noIndex()
	}
	diff, err := t.r.diffTrees(ctx, t.before.Tree, tree, env...)
	if err != nil {
		return "", nil, err
	}
	diff, private := t.splitPrivate(diff)
	kept, err := t.ignoredNow(ctx, diff)
	if err != nil {
		return "", nil, err
	}
	foreign, err := t.notOfTheRun(ctx, diff)
	if err != nil {
		return "", nil, err
	}
	same, gone, err := t.outOfSight(ctx)
	if err != nil {
		return "", nil, err
	}
	if !kept && len(foreign)+len(same)+len(gone)+len(private) == 0 {
		return tree, diff, nil
	}
	if err := t.setEntries(ctx, sortedKeys(private), private); err != nil {
		return "", nil, err
	}
	if err := t.setEntries(ctx, append(foreign, gone...), nil); err != nil {
		return "", nil, err
	}
	if err := t.setEntries(ctx, same, t.known); err != nil {
		return "", nil, err
	}
	tree, err = t.writeTree(ctx)
	return tree, nil, err
}

// attributesOnDisk tells whether every .gitattributes file of the index is on
// disk: then git need not read the index to find the attributes.
func (t *taker) attributesOnDisk() bool {
	if !t.facts.attributesKnown || len(t.unknown) > 0 {
		return false
	}
	for _, p := range t.facts.attributes {
		if info := t.lstat(p); info == nil || !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}

// maxImage is the largest index that is kept in memory for the commit, in
// bytes: some 150,000 files.
const maxImage = 16 << 20

// indexImage is an index file that git wrote for a snapshot.
type indexImage struct {
	data  []byte
	mtime time.Time
	tree  string // that it stands for
}

// image is our copy of the index, which git has just written for the tree that
// diff leads to, if it can become the user's own when that tree is committed:
// the run began with a working tree and an index that were HEAD's, and no
// entry was set for other reasons than that its file is so. (nil = it cannot.)
func (t *taker) image(diff *treeDiff) (*indexImage, error) {
	clean := t.before.headTree != "" && t.before.headTree == t.before.Tree && t.facts.tree == t.before.Tree
	if !clean || diff == nil || len(diff.files) == 0 || len(t.unknown)+len(t.lax) > 0 {
		return nil, nil
	}
	info, err := os.Stat(t.index)
	if err != nil || info.Size() > maxImage {
		return nil, errors.Wrap(err, "read our copy of the index")
	}
	data, err := os.ReadFile(t.index)
	return &indexImage{data: data, mtime: info.ModTime(), tree: diff.to}, errors.Wrap(err, "read our copy of the index")
}

// ignoredNow puts back the paths of before that are still on disk but that
// status no longer shows: the run's new ignore rules hide them.
func (t *taker) ignoredNow(ctx context.Context, diff *treeDiff) (bool, error) {
	var hidden []string
	for _, f := range diff.files {
		_, isLarge := t.large[f.Path]
		if f.New.Absent() && !isLarge && !t.unknown[f.Path] && t.onDisk(f.Path) && !t.onlyRecased(f.Path, diff) {
			hidden = append(hidden, f.Path)
		}
	}
	if len(hidden) == 0 {
		return false, nil
	}
	if err := t.apply(ctx, hidden, nil); err != nil {
		return false, err
	}
	t.notes = append(t.notes, Note{Code: "ignored_now", Message: nameSome(hidden) + " is ignored by git now and was not before: still followed in this change"})
	return true, nil
}

// onlyRecased tells whether a path that went is the same file as one that came
// with another case: on a case-insensitive file system both names are on disk.
func (t *taker) onlyRecased(p string, diff *treeDiff) bool {
	for _, f := range diff.files {
		if f.Old.Absent() && strings.EqualFold(f.Path, p) {
			return os.SameFile(t.lstat(f.Path), t.lstat(p))
		}
	}
	return false
}

// notOfTheRun lists the paths that appeared although the run did not make
// them: before's rules ignored them, or they are older than the run.
func (t *taker) notOfTheRun(ctx context.Context, diff *treeDiff) ([]string, error) {
	added := t.appeared(diff)
	if len(added) == 0 {
		return nil, nil
	}
	ignored, err := t.ignoredBefore(ctx, t.doubtful(diff, added))
	if err != nil {
		return nil, err
	}
	now := &Snapshot{Taken: t.r.fileTime(), clock: time.Now()}
	timesHold := !clockWentBack(t.before, now)
	var unseen, wasIgnored, older []string
	blind := newBlindSpots(t.before, &Snapshot{})
	for _, p := range added {
		switch {
		case blind.covers(p):
			unseen = append(unseen, p)
		case ignored[p]:
			wasIgnored = append(wasIgnored, p)
		case timesHold && t.isOlder(p, diff):
			older = append(older, p)
		default:
			continue
		}
		delete(t.large, p)
	}
	if len(wasIgnored) > 0 {
		t.notes = append(t.notes, Note{Code: "ignored_before", Message: nameSome(wasIgnored) + " was ignored by git when the run began: not part of the change"})
	}
	if len(older) > 0 {
		t.notes = append(t.notes, Note{Code: "older_than_run", Message: nameSome(older) + " is older than the run: not part of the change"})
	}
	return append(append(unseen, wasIgnored...), older...), nil
}

// appeared lists the paths absent from before, large files included.
func (t *taker) appeared(diff *treeDiff) []string {
	var added []string
	for _, f := range diff.files {
		if f.Old.Absent() {
			added = append(added, f.Path)
		}
	}
	for p := range t.large {
		if _, was := t.before.Large[p]; !was {
			added = append(added, p)
		}
	}
	sort.Strings(added)
	return added
}

// doubtful picks from the appeared paths those that before's rules may have
// ignored: all when the run changed the rules, else those that status does not
// list as untracked (forced into the index).
func (t *taker) doubtful(diff *treeDiff, added []string) []string {
	rulesChanged := t.exclude != t.before.Exclude
	for _, f := range diff.files {
		rulesChanged = rulesChanged || path.Base(f.Path) == ".gitignore"
	}
	if rulesChanged {
		return added
	}
	var list []string
	for _, p := range added {
		if !t.untracked[p] {
			list = append(list, p)
		}
	}
	return list
}

// isOlder tells whether a path that appeared was on disk, under this name,
// before the run: its ctime says so. A file inside a folder that was renamed
// keeps its ctime: it is the run's if the folder shows the rename, or if the
// change has the same content vanishing elsewhere.
func (t *taker) isOlder(p string, diff *treeDiff) bool {
	info := t.lstat(p)
	if info == nil {
		return false
	}
	ctime, ok := changeTime(info)
	if !ok || !ctime.Before(t.before.Taken) || t.parentMoved(p) {
		return false
	}
	oid := ""
	for _, f := range diff.files {
		if f.Path == p {
			oid = f.New.OID
		}
	}
	for _, f := range diff.files {
		if oid != "" && f.New.Absent() && f.Old.OID == oid {
			return false
		}
	}
	return true
}

// parentMoved tells whether a folder above p was renamed during the run: that
// moves a folder's ctime but not its mtime.
func (t *taker) parentMoved(p string) bool {
	for dir := parentOf(p); dir != ""; dir = parentOf(dir) {
		info, err := os.Lstat(t.r.file(dir))
		if err != nil {
			return false
		}
		ctime, ok := changeTime(info)
		if ok && !ctime.Before(t.before.Taken) && ctime.After(info.ModTime()) {
			return true
		}
	}
	return false
}

// outOfSight lists the paths whose entry is none of our business: those that
// get before's entry (unknown now, or now too large to store), and those that
// get none (unknown or known by size then).
func (t *taker) outOfSight(ctx context.Context) (same, gone []string, err error) {
	now := map[string]bool{}
	for p := range t.unknown {
		now[p] = true
	}
	for p := range t.large {
		now[p] = true
	}
	for _, p := range t.before.Unknown {
		t.unknown[p] = true
		delete(now, p)
		gone = append(gone, p)
	}
	for p := range t.before.Large {
		delete(now, p)
		gone = append(gone, p)
		if info := t.lstat(p); info != nil && info.Mode().IsRegular() { // staged or ignored by now
			t.large[p] = statOf(info)
		}
	}
	if len(now) == 0 {
		return nil, gone, nil
	}
	known, err := t.paths(ctx)
	for p := range now {
		if _, ok := known[p]; ok {
			same = append(same, p)
		}
	}
	return same, gone, err
}

// ignoredBefore tells which of the paths the ignore rules of before ignored:
// the .gitignore files of its tree, the repository's info/exclude as it was,
// and the user's own excludes file. It asks check-ignore in a temporary
// working tree that holds nothing but those files.
func (t *taker) ignoredBefore(ctx context.Context, paths []string) (map[string]bool, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	gitDir, workTree := filepath.Join(t.dir, "rules.git"), filepath.Join(t.dir, "rules")
	if err := t.writeRules(ctx, gitDir, workTree); err != nil {
		return nil, errors.Wrap(err, "rebuild the ignore rules of the run's start")
	}
	var in strings.Builder
	for _, p := range paths {
		in.WriteString("./" + p + "\x00") // "./": a leading colon would be pathspec magic
	}
	c := call{dir: workTree, globs: true, stdin: []byte(in.String()), okExits: []int{1},
		env: []string{"GIT_DIR=" + gitDir, "GIT_WORK_TREE=" + workTree}}
	out, err := t.r.git(ctx, c, "check-ignore", "--no-index", "-z", "--stdin")
	if err != nil {
		return nil, errors.Wrap(err, "check the ignore rules of the run's start")
	}
	ignored := map[string]bool{}
	for _, p := range splitNUL(out) {
		ignored[strings.TrimPrefix(p, "./")] = true
	}
	return ignored, nil
}

// writeRules makes a repository of ours with the ignore rules of before. It
// includes the user's repository configuration, for core.excludesFile and
// core.ignoreCase.
func (t *taker) writeRules(ctx context.Context, gitDir, workTree string) error {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)
	config := "[core]\n\trepositoryformatversion = 0\n[include]\n\tpath = \"" + quote.Replace(filepath.Join(t.r.common, "config")) + "\"\n"
	for _, dir := range []string{"objects", "refs", "info"} {
		if err := os.MkdirAll(filepath.Join(gitDir, dir), 0o700); err != nil {
			return err
		}
	}
	for name, content := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": config, "info/exclude": t.before.Exclude} {
		if err := os.WriteFile(filepath.Join(gitDir, filepath.FromSlash(name)), []byte(content), 0o600); err != nil {
			return err
		}
	}
	if err := os.Mkdir(workTree, 0o700); err != nil {
		return err
	}
	return t.writeIgnoreFiles(ctx, workTree)
}

// writeIgnoreFiles writes the .gitignore files of before's tree into a folder.
// Symbolic links are left out: git does not follow them.
func (t *taker) writeIgnoreFiles(ctx context.Context, dir string) error {
	known, err := t.paths(ctx)
	if err != nil {
		return err
	}
	files := map[string]string{} // path → id
	for p, e := range known {
		if path.Base(p) == ".gitignore" && strings.HasPrefix(e.Mode, "100") {
			files[p] = e.OID
		}
	}
	blobs, err := t.r.readBlobs(ctx, slices.Collect(maps.Values(files)))
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for p, oid := range files {
		name := filepath.FromSlash(p)
		if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := root.WriteFile(name, blobs[oid], 0o600); err != nil {
			return err
		}
	}
	return nil
}

// readBlobs reads blobs with one git process.
func (r *Repo) readBlobs(ctx context.Context, oids []string) (map[string][]byte, error) {
	blobs := map[string][]byte{}
	if len(oids) == 0 {
		return blobs, nil
	}
	out, err := r.git(ctx, call{stdin: []byte(strings.Join(oids, "\n") + "\n")}, "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	return blobs, parseBlobs(out, oids, blobs)
}
