package gitrepo

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/cockroachdb/errors"
)

// ErrGone: the snapshots of the run are no longer in the repository.
var ErrGone = errors.New("the snapshots of this run are gone")

// Undo takes the change of a run back in the working tree: path by path, the
// step after → before is carried over to what the file is now, so later edits
// to other lines survive. With Committed, one commit "Undo: …" follows by the
// rules of Commit. The index is touched by that commit alone.
//
// A *Refusal names the paths that overlap with later edits, or none when the
// change is no longer there, and then nothing was touched. ErrGone: the snapshots were dropped. What Undo did is itself a
// change and is kept alive under req.RunID.
func (r *Repo) Undo(ctx context.Context, req UndoRequest) (*UndoResult, error) {
	if req.Record == nil {
		req.Record = func(Intent) error { return nil }
	}
	if !runIDPattern.MatchString(req.RunID) {
		return nil, errors.Newf("run id %.80q cannot be part of a file name", req.RunID)
	}
	if err := r.Present(ctx, req.Before, req.After, req.Files); err != nil {
		return nil, errors.Wrapf(err, "run %s", req.Of)
	}
	root, err := os.OpenRoot(r.top)
	if err != nil {
		return nil, errors.Wrap(err, "undo")
	}
	defer root.Close()
	u := &undoer{r: r, req: req, root: root, intent: undoIntent{
		Of: req.Of, Committed: req.Committed, Message: req.Message, AsUser: req.AsUser, Verify: req.Verify,
		LeftOut: leftOutOf(req.Files),
	}}
	if err := u.compute(ctx); err != nil {
		return nil, err
	}
	if err := u.write(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	return u.conclude(ctx)
}

// undoIntent is what recovery needs of an undo, the Data of an Intent.
type undoIntent struct {
	Of        string        `json:"of"`
	Now       *Snapshot     `json:"now,omitempty"`  // the working tree before the undo
	Tree      string        `json:"tree,omitempty"` // and after it
	Ops       []undoOp      `json:"ops,omitempty"`
	Committed bool          `json:"committed"`
	Message   string        `json:"message"`
	AsUser    bool          `json:"asUser"`
	Verify    bool          `json:"verify"`
	LeftOut   [][]byte      `json:"leftOut,omitempty"` // paths marked so in the change that is undone; raw bytes
	Commit    *commitIntent `json:"commit,omitempty"`  // of the commit under way
}

// undoOp is one path that undo writes or deletes.
type undoOp struct {
	Path  []byte `json:"path"`  // raw bytes
	Write bool   `json:"write"` // false = delete
	Was   string `json:"was"`   // print of what was on disk, "" = nothing
	New   string `json:"new"`   // print of what the undo writes
}

// undoer is one Undo under way.
type undoer struct {
	r      *Repo
	req    UndoRequest
	root   *os.Root // the working tree's top level
	intent undoIntent
	target map[string]Entry // by path
	from   map[string]Entry // the same paths in the snapshot of now
}

// Present tells by ErrGone that an object of a change, given by its trees and
// paths, is not in the repository any more. Costs one git process.
func (r *Repo) Present(ctx context.Context, before, after string, files []File) error {
	ids := []string{before, after}
	for _, f := range files {
		for _, e := range []Entry{f.Old, f.New} {
			if e.regular() || e.Mode == "120000" {
				ids = append(ids, e.OID)
			}
		}
	}
	out, err := r.git(ctx, call{stdin: []byte(strings.Join(ids, "\n") + "\n")}, "cat-file", "--batch-check=%(objecttype)")
	if err != nil {
		return err
	}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if line != "tree" && line != "blob" { // "<id> missing"
			return ErrGone
		}
	}
	return nil
}

// compute decides what every path becomes, and refuses on overlap.
func (u *undoer) compute(ctx context.Context) error {
	prints := map[string]string{}
	after := &Snapshot{Tree: u.req.After, Exclude: u.r.excludePatterns()}
	for _, f := range u.req.Files {
		prints[f.Path] = u.print(f.Path)
		// A file that the run deleted is gone, though git was told to look away.
		after.Cleared = append(after.Cleared, f.Path)
	}
	now, err := u.r.SnapshotAfter(ctx, after)
	if err != nil {
		return err
	}
	now.Notes = nil // they speak of the run that is undone
	u.intent.Now = now
	overlap, err := u.decide(ctx, prints)
	if err != nil {
		return err
	}
	overlap = append(overlap, u.blocked()...)
	if len(overlap) > 0 {
		sort.Strings(overlap)
		return u.overlapRefusal(overlap)
	}
	if len(u.target) == 0 {
		return &Refusal{Message: "its change is no longer there: there is nothing to undo, and nothing was touched"}
	}
	u.plan(prints)
	return nil
}

// decide decides what every path becomes and returns those that overlap.
func (u *undoer) decide(ctx context.Context, prints map[string]string) (overlap []string, err error) {
	now := u.intent.Now
	later, err := u.r.differences(ctx, u.req.After, now.Tree)
	if err != nil {
		return nil, err
	}
	u.target, u.from = map[string]Entry{}, map[string]Entry{}
	m := u.r.merger(ctx)
	defer m.close()
	unseen := newBlindSpots(now, now)
	for _, f := range u.req.Files {
		if f.Yours || f.Large {
			continue
		}
		if unseen.covers(f.Path) { // unreadable by now, or too large to be stored
			overlap = append(overlap, f.Path)
			continue
		}
		ok, err := u.add(m, f, later, prints[f.Path])
		if err != nil {
			return nil, err
		}
		if !ok {
			overlap = append(overlap, f.Path)
		}
	}
	return overlap, nil
}

// overlapRefusal lists the paths that cannot be taken back, and says why. What
// git cannot hold (a pipe) the run itself may have put there.
func (u *undoer) overlapRefusal(paths []string) *Refusal {
	const edited = "later edits are in the same place"
	var reasons []string
	fix := "move it away and undo again"
	for _, path := range paths {
		reason := edited
		if kind := u.oddKind(path); kind != "" {
			reason = "a " + kind + " is in the way"
		} else {
			fix = "take it back by hand; the diff of the run shows what it did"
		}
		if !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	return &Refusal{Message: strings.Join(reasons, "; "), Fix: fix, Paths: paths}
}

// oddKind names what is on disk in the place of a path if git cannot hold it as
// a file, else "".
func (u *undoer) oddKind(path string) string {
	info, err := u.root.Lstat(filepath.FromSlash(path))
	if err != nil {
		return ""
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return "folder"
	case mode&fs.ModeNamedPipe != 0:
		return "named pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&fs.ModeDevice != 0:
		return "device"
	}
	return ""
}

// add decides what one path becomes. false = overlap.
func (u *undoer) add(m *merger, f File, later map[string]rawEntry, print string) (bool, error) {
	now := f.New
	if d, ok := later[f.Path]; ok {
		now = d.new
	}
	if f.Old.Mode == "160000" || f.New.Mode == "160000" || now.Mode == "160000" {
		return false, nil // a submodule's checkout is not ours to move
	}
	target, ok, err := m.merge3(f.New, now, f.Old)
	if err != nil || !ok {
		return false, err
	}
	if target == now {
		return true, nil // taken back already
	}
	// What the snapshot could not see (ignored, a nested repository, a pipe) is
	// in the way of what we would write.
	if now.Absent() != (print == "") && !isFolderPrint(print) {
		return false, nil
	}
	u.target[f.Path], u.from[f.Path] = target, now
	return true, nil
}

// blocked returns the paths whose place on disk is taken by something that the
// undo does not delete: a symbolic link or a file where a folder is needed, or
// a folder with something of the user's in it.
func (u *undoer) blocked() []string {
	var blocked []string
	for path, e := range u.target {
		if !u.parentsFree(path, e.Absent()) || (!e.Absent() && !u.folderFree(path)) {
			blocked = append(blocked, path)
		}
	}
	return blocked
}

// deletes tells whether the undo deletes a path.
func (u *undoer) deletes(path string) bool {
	e, ok := u.target[path]
	return ok && e.Absent()
}

// parentsFree tells whether every parent is a real folder or becomes one.
func (u *undoer) parentsFree(path string, deleting bool) bool {
	for i := strings.IndexByte(path, '/'); i >= 0; i = nextSlash(path, i) {
		info, err := u.root.Lstat(filepath.FromSlash(path[:i]))
		if err != nil {
			return !deleting
		}
		if !info.IsDir() && (deleting || !u.deletes(path[:i])) {
			return false
		}
		if !info.IsDir() {
			return true
		}
	}
	return true
}

// nextSlash is the index of the next slash after i, -1 if there is none.
func nextSlash(path string, i int) int {
	j := strings.IndexByte(path[i+1:], '/')
	if j < 0 {
		return -1
	}
	return i + 1 + j
}

// folderFree tells whether path is no folder, or one that the undo empties.
func (u *undoer) folderFree(path string) bool {
	info, err := u.root.Lstat(filepath.FromSlash(path))
	if err != nil || !info.IsDir() {
		return true
	}
	dir, err := u.root.Open(filepath.FromSlash(path))
	if err != nil {
		return false
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return false
	}
	for _, entry := range entries {
		inside := path + "/" + entry.Name()
		if !u.deletes(inside) && (!entry.IsDir() || !u.folderFree(inside)) {
			return false
		}
	}
	return true
}

// plan lists the operations: deletions before writes, so that a file can take
// the place of a folder and the other way round.
func (u *undoer) plan(prints map[string]string) {
	paths := make([]string, 0, len(u.target))
	for path := range u.target {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	var writes []undoOp
	for _, path := range paths {
		op := undoOp{Path: []byte(path), Was: prints[path]}
		if u.deletes(path) {
			u.intent.Ops = append(u.intent.Ops, op)
			continue
		}
		if isFolderPrint(op.Was) {
			op.Was = "" // gone by then
		}
		op.Write = true
		writes = append(writes, op)
	}
	u.intent.Ops = append(u.intent.Ops, writes...)
}

// conclude makes the change of the undo and, where wanted, its commit.
func (u *undoer) conclude(ctx context.Context) (*UndoResult, error) {
	steady := context.WithoutCancel(ctx)
	change, err := u.change(steady)
	if err != nil {
		return nil, err
	}
	result := &UndoResult{Change: change}
	if !u.intent.Committed {
		return result, nil
	}
	result.Commit, err = u.commit(ctx, change)
	if errors.As(err, &result.CommitRefused) {
		return result, nil
	}
	return result, err
}

// change is what the undo did. Its second snapshot is what it wrote, not
// another look at the disk: a restored file may be ignored by now.
func (u *undoer) change(ctx context.Context) (*Change, error) {
	return u.r.Change(ctx, u.intent.Now, u.after())
}

// after is the second snapshot of the undo.
func (u *undoer) after() *Snapshot {
	after := *u.intent.Now
	after.Tree, after.Taken, after.Notes, after.diff = u.intent.Tree, time.Now(), nil, nil
	return &after
}

// commit makes the undo's commit: of the paths that the run's own commit
// holds, no others. What that commit had left out was the user's, and is left
// out again. The undo's intents hold those of the commit.
func (u *undoer) commit(ctx context.Context, change *Change) (*CommitResult, error) {
	commit, err := u.r.commitOf(ctx, u.intent.Of)
	if err != nil {
		return nil, err
	}
	if commit == nil {
		if lacks, err := u.headLacksIt(ctx); lacks || err != nil {
			return nil, err
		}
		return nil, &Refusal{
			Message: "the commit of run " + u.intent.Of + " is not in the history of HEAD",
			Fix:     "look at `git status` and commit what you want",
		}
	}
	only := map[string]bool{}
	if commit.shared {
		for _, f := range change.Files {
			only[f.Path] = true
		}
		for _, path := range u.intent.LeftOut {
			delete(only, string(path))
		}
	} else if only, err = u.r.pathsOf(ctx, commit.id); err != nil {
		return nil, err
	}
	return u.r.commit(ctx, CommitRequest{
		RunID: u.req.RunID, Change: change, Message: u.intent.Message,
		AsUser: u.intent.AsUser, Verify: u.intent.Verify, Record: u.recordCommit,
	}, only)
}

// headLacksIt tells whether HEAD holds what the undo wrote: after a reset there
// is nothing to commit.
func (u *undoer) headLacksIt(ctx context.Context) (bool, error) {
	head, err := u.r.head(ctx)
	if err != nil {
		return false, err
	}
	differ, err := u.r.differences(ctx, head.treeish(u.intent.Tree), u.intent.Tree)
	for path := range u.target {
		if _, ok := differ[path]; ok {
			return false, err
		}
	}
	return err == nil, err
}

// runTrailer names the run in the message of its commit.
const runTrailer = "Slide-Write-Run: "

// runCommit is the commit of a run.
type runCommit struct {
	id     string
	shared bool // it holds other runs, too: what it changed is not what each of them did
}

// commitOf returns the newest commit of HEAD's history that carries the run's
// trailer, nil if there is none.
func (r *Repo) commitOf(ctx context.Context, run string) (*runCommit, error) {
	if !runIDPattern.MatchString(run) {
		return nil, errors.Newf("run id %.80q cannot be part of a trailer", run)
	}
	out, err := r.git(ctx, call{}, "log", "-1", "--no-show-signature", "--format=%H%n%B", "--basic-regexp", "--grep=^"+runTrailer+run+"$", "HEAD", "--")
	id, message, _ := strings.Cut(string(out), "\n")
	var failed *Error
	if errors.As(err, &failed) || err == nil && id == "" { // unborn, or none
		return nil, nil
	}
	return &runCommit{id: id, shared: strings.Count("\n"+message, "\n"+runTrailer) > 1}, err
}

// pathsOf are the paths that a commit changed.
func (r *Repo) pathsOf(ctx context.Context, commit string) (map[string]bool, error) {
	out, err := r.git(ctx, call{}, "diff-tree", "--root", "-r", "-z", "--name-only", "--no-renames", "--no-commit-id", "--ignore-submodules=none", commit)
	if err != nil {
		return nil, err
	}
	paths := map[string]bool{}
	for _, path := range splitNUL(out) {
		paths[path] = true
	}
	return paths, nil
}

// MarkLeftOut marks the files of a run's change that its commit does not hold,
// while that can be told: before the commit becomes one with those of others.
func (r *Repo) MarkLeftOut(ctx context.Context, run string, files []File) error {
	commit, err := r.commitOf(ctx, run)
	if err != nil || commit == nil || commit.shared {
		return err
	}
	paths, err := r.pathsOf(ctx, commit.id)
	for i := range files {
		files[i].LeftOut = err == nil && !paths[files[i].Path]
	}
	return err
}

// leftOutOf are the paths of a change that are marked so.
func leftOutOf(files []File) [][]byte {
	var paths [][]byte
	for _, f := range files {
		if f.LeftOut {
			paths = append(paths, []byte(f.Path))
		}
	}
	return paths
}
