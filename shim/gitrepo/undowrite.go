package gitrepo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors"
)

// errMoved: a path is not what it was when the undo was computed.
var errMoved = errors.New("changed while it was being undone")

// undoFolder is where an undo keeps its files, relative to the top level: the
// new contents in tree/, what they replace in old/. In .git where that is a
// folder of the working tree, so that no file watcher sees it.
func (u *undoer) folder() string {
	name := "slidewrite-undo-" + u.req.RunID
	if info, err := u.root.Lstat(".git"); err == nil && info.IsDir() {
		return filepath.Join(".git", name)
	}
	return "." + name
}

// fresh is where the new content of a path waits; old where the content that
// the nth operation replaces is kept for going back.
func (u *undoer) fresh(path string) string {
	return filepath.Join(u.folder(), "tree", filepath.FromSlash(path))
}
func (u *undoer) old(n int) string { return filepath.Join(u.folder(), "old", strconv.Itoa(n)) }

// cleanUp removes the undo's folder; at once, by a rename, so that recovery
// never finds half of it.
func (u *undoer) cleanUp() error {
	done := u.folder() + ".done"
	if err := u.root.Rename(u.folder(), done); err != nil && !os.IsNotExist(err) {
		return err
	}
	atStep("undo folder renamed")
	return u.root.RemoveAll(done)
}

// Kinds of a print.
const folderPrint = "folder"

func isFolderPrint(print string) bool { return print == folderPrint }

// print tells what is on disk in one comparable word: "" for nothing (also
// where a parent is no real folder), a link's target, a file's mode, size and
// mtime.
func (u *undoer) print(path string) string {
	for i := strings.IndexByte(path, '/'); i >= 0; i = nextSlash(path, i) {
		if info, err := u.root.Lstat(filepath.FromSlash(path[:i])); err != nil || !info.IsDir() {
			return ""
		}
	}
	return u.printOf(filepath.FromSlash(path))
}

// printOf is print without the look at the parents.
func (u *undoer) printOf(name string) string {
	info, err := u.root.Lstat(name)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		return folderPrint
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := u.root.Readlink(name)
		return "link " + target
	}
	return fmt.Sprintf("%v %d %d", info.Mode(), info.Size(), info.ModTime().UnixNano())
}

// write carries the plan out: new contents to temporary files first, then the
// plan into the ledger, then the renames. If one of these fails, those before
// it are taken back.
func (u *undoer) write(ctx context.Context) error {
	if len(u.intent.Ops) == 0 {
		u.intent.Tree = u.intent.Now.Tree
		return u.r.Keep(ctx, u.req.RunID, u.intent.Now, u.after())
	}
	if err := u.record("prepare"); err != nil {
		return err
	}
	defer u.cleanUp()
	if err := u.prepare(ctx); err != nil {
		return errors.Wrap(err, "undo")
	}
	if err := u.r.Keep(ctx, u.req.RunID, u.intent.Now, u.after()); err != nil {
		return err
	}
	atStep("undo prepared")
	if err := u.record("write"); err != nil {
		return err
	}
	atStep("undo recorded")
	for n := range u.intent.Ops {
		if err := u.apply(n); err != nil {
			u.rollBack(n)
			return u.failed(n, err)
		}
		atStep("undo step")
	}
	return nil
}

// failed puts an operation that could not be done into words.
func (u *undoer) failed(n int, err error) error {
	path := string(u.intent.Ops[n].Path)
	if errors.Is(err, errMoved) {
		return u.overlapRefusal([]string{path})
	}
	return &Refusal{
		Message: fmt.Sprintf("cannot be undone: `%s` cannot be written: %v", path, errors.UnwrapAll(err)),
		Fix:     "make the file and its folder writable, then undo again",
		Paths:   []string{path},
	}
}

// prepare makes the undo's folder: the tree as it will be, checked out by git
// (filters, line endings, modes as `git checkout` would write them) for the
// paths to write.
func (u *undoer) prepare(ctx context.Context) error {
	for _, dir := range []string{"", "tree", "old"} {
		if err := u.root.Mkdir(filepath.Join(u.folder(), dir), 0o700); err != nil && !os.IsExist(err) {
			return err
		}
	}
	atStep("undo folder made")
	folder := filepath.Join(u.r.top, u.folder())
	index := filepath.Join(folder, "index")
	tree, err := u.r.editTree(ctx, index, u.intent.Now.Tree, u.target, u.intent.Now.Tree)
	if err != nil {
		return err
	}
	u.intent.Tree = tree
	var written []string
	for _, op := range u.intent.Ops {
		if op.Write {
			written = append(written, string(op.Path))
		}
	}
	if len(written) == 0 {
		return nil
	}
	workTree := filepath.Join(folder, "tree")
	env := []string{"GIT_DIR=" + u.r.gitDir, "GIT_WORK_TREE=" + workTree, "GIT_INDEX_FILE=" + index}
	if _, err := u.r.git(ctx, call{dir: workTree, env: env, stdin: joinNUL(written)}, "checkout-index", "-q", "-f", "-z", "--stdin"); err != nil {
		return err
	}
	return u.finish(ctx)
}

// finish gives the new files the line endings, permissions and owner of those
// they replace, and notes what they look like.
func (u *undoer) finish(ctx context.Context) error {
	m := u.r.merger(ctx)
	defer m.close()
	for n := range u.intent.Ops {
		op := &u.intent.Ops[n]
		if !op.Write {
			continue
		}
		path := string(op.Path)
		if u.target[path].regular() && u.from[path].regular() {
			if err := u.keepEOL(m, path); err != nil {
				return err
			}
			if err := u.keepMode(path); err != nil {
				return err
			}
		}
		u.keepOwner(u.fresh(path), path)
		op.New = u.printOf(u.fresh(path))
	}
	return nil
}

// keepOwner gives what undo makes for a path the owner of what is there now, or
// of the nearest folder above: an undo that root runs must not leave files of
// root's. Best effort: such a file is better than none.
func (u *undoer) keepOwner(name, path string) {
	for at := path; ; at = parentOf(at) {
		info, err := u.root.Lstat(filepath.FromSlash(cmp.Or(at, ".")))
		if err == nil && (info.IsDir() || at == path) {
			giveTo(u.root, name, info)
			return
		}
		if at == "" {
			return
		}
	}
}

// makeFolders makes the folders above a path.
func (u *undoer) makeFolders(path string) error {
	dir := parentOf(path)
	if dir == "" {
		return nil
	}
	if info, err := u.root.Lstat(filepath.FromSlash(dir)); err == nil && info.IsDir() {
		return nil
	}
	if err := u.makeFolders(dir); err != nil {
		return err
	}
	if err := u.root.Mkdir(filepath.FromSlash(dir), 0o777); err != nil && !os.IsExist(err) {
		return err
	}
	u.keepOwner(filepath.FromSlash(dir), parentOf(dir))
	return nil
}

// keepEOL writes CRLF where the file on disk is CRLF throughout, git holds it
// with LF, and the restored text is LF throughout: a checkout would change
// every line of it.
func (u *undoer) keepEOL(m *merger, path string) error {
	disk, err := u.root.ReadFile(filepath.FromSlash(path))
	if err != nil || !crlfThroughout(disk) {
		return err
	}
	fresh, err := u.root.ReadFile(u.fresh(path))
	if err != nil || bytes.IndexByte(fresh, '\r') >= 0 || isBinary(fresh) {
		return err
	}
	oid := u.from[path].OID
	if err := m.load(oid); err != nil {
		return err
	}
	if bytes.IndexByte(m.blobs[oid], '\r') >= 0 {
		return nil // git holds the CRLF: it is content, and the restored LF is too
	}
	info, err := u.root.Stat(u.fresh(path))
	if err != nil {
		return err
	}
	return u.root.WriteFile(u.fresh(path), bytes.ReplaceAll(fresh, []byte("\n"), []byte("\r\n")), info.Mode().Perm())
}

// crlfThroughout tells whether every line ends in CRLF, and there is one.
func crlfThroughout(data []byte) bool {
	lines := bytes.Count(data, []byte("\n"))
	return lines > 0 && bytes.Count(data, []byte("\r\n")) == lines
}

// keepMode gives a file the permissions of the one it replaces; where git's
// mode changes, the execute bits follow it.
func (u *undoer) keepMode(path string) error {
	info, err := u.root.Stat(filepath.FromSlash(path))
	if err != nil {
		return err
	}
	perm := info.Mode().Perm()
	if target := u.target[path].Mode; target != u.from[path].Mode {
		perm &^= 0o111
		if target == "100755" {
			perm |= perm & 0o444 >> 2
		}
	}
	return u.root.Chmod(u.fresh(path), perm)
}

// apply does one operation, if the path is still what it was.
func (u *undoer) apply(n int) error {
	op := u.intent.Ops[n]
	path := string(op.Path)
	name := filepath.FromSlash(path)
	if !op.Write {
		if u.print(path) != op.Was {
			return errMoved
		}
		if err := u.root.Rename(name, u.old(n)); err != nil {
			return err
		}
		u.removeEmptied(path)
		return nil
	}
	if now := u.print(path); isFolderPrint(now) && op.Was == "" {
		if err := u.removeEmpty(name); err != nil {
			return errMoved
		}
	} else if now != op.Was {
		return errMoved
	}
	if !u.parentsFree(path, false) {
		return errMoved
	}
	if err := u.makeFolders(path); err != nil {
		return err
	}
	if op.Was != "" {
		if err := u.backUp(name, u.old(n)); err != nil {
			return err
		}
	}
	return u.root.Rename(u.fresh(path), name)
}

// backUp keeps what is about to be replaced: a hard link, a copy where the
// file system has none.
func (u *undoer) backUp(name, backup string) error {
	err := u.root.Link(name, backup)
	if err == nil || os.IsExist(err) {
		return nil
	}
	info, err := u.root.Lstat(name)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := u.root.Readlink(name)
		if err != nil {
			return err
		}
		return u.root.Symlink(target, backup)
	}
	data, err := u.root.ReadFile(name)
	if err == nil {
		err = u.root.WriteFile(backup, data, info.Mode().Perm())
	}
	if err == nil {
		giveTo(u.root, backup, info)
		err = u.root.Chtimes(backup, info.ModTime(), info.ModTime())
	}
	return err
}

// removeEmptied removes the folders that a deletion left empty.
func (u *undoer) removeEmptied(path string) {
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		dir := filepath.FromSlash(path[:i])
		// Recovery comes here a second time, after the writes: the folder may
		// be gone, or a file may have taken its place.
		info, err := u.root.Lstat(dir)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil || !info.IsDir() || u.root.Remove(dir) != nil {
			return // not empty
		}
	}
}

// removeEmpty removes a folder that holds nothing but empty folders.
func (u *undoer) removeEmpty(name string) error {
	dir, err := u.root.Open(name)
	if err != nil {
		return err
	}
	entries, err := dir.ReadDir(-1)
	dir.Close()
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			return errMoved
		}
		if err := u.removeEmpty(filepath.Join(name, entry.Name())); err != nil {
			return err
		}
	}
	return u.root.Remove(name)
}

// rollBack takes the first n operations back, the last one first. What
// somebody changed since is left alone.
func (u *undoer) rollBack(n int) {
	for n--; n >= 0; n-- {
		op := u.intent.Ops[n]
		path := string(op.Path)
		name := filepath.FromSlash(path)
		switch {
		case u.print(path) != op.New:
		case op.Write && op.Was == "":
			if u.root.Remove(name) == nil {
				u.removeEmptied(path)
			}
		default:
			_ = u.makeFolders(path)
			_ = u.root.Rename(u.old(n), name)
		}
	}
}

// record makes the undo's intent durable.
func (u *undoer) record(step string) error {
	raw, err := json.Marshal(u.intent)
	if err == nil {
		err = u.req.Record(Intent{Kind: "undo", Step: step, RunID: u.req.RunID, Data: raw})
	}
	return errors.Wrap(err, "record the undo")
}

// recordCommit records a step of the undo's commit as part of the undo.
func (u *undoer) recordCommit(in Intent) error {
	var data commitIntent
	if err := json.Unmarshal(in.Data, &data); err != nil {
		return errors.Wrap(err, "record the undo")
	}
	u.intent.Commit = &data
	return u.record("commit " + in.Step)
}
