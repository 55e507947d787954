package gitrepo

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/cockroachdb/errors"
)

// Recover finishes or rolls back a commit or an undo whose process died,
// from the last Intent it recorded. A commit whose ref had moved is finished
// (the index is brought up to date), one whose ref had not is rolled back. An
// undo whose plan was recorded is finished, its commit included. It may be
// called again if it is itself cut short.
func (r *Repo) Recover(ctx context.Context, in Intent) (Recovery, error) {
	if !runIDPattern.MatchString(in.RunID) {
		return Recovery{}, errors.Newf("run id %.80q cannot be part of a file name", in.RunID)
	}
	in = r.latestIntent(in)
	var done Recovery
	var err error
	switch in.Kind {
	case "commit":
		var data commitIntent
		if err := json.Unmarshal(in.Data, &data); err != nil {
			return Recovery{}, errors.Wrap(err, "recover the commit")
		}
		done, err = r.recoverCommit(ctx, in.RunID, data)
	case "undo":
		done, err = r.recoverUndo(ctx, in)
	default:
		return Recovery{}, errors.Newf("recover: unknown kind %.80q", in.Kind)
	}
	if err == nil {
		os.Remove(r.intentFile(in.RunID))
	}
	return done, err
}

// recoverCommit finishes a commit whose ref has moved, and rolls back one
// whose ref has not.
func (r *Repo) recoverCommit(ctx context.Context, run string, in commitIntent) (Recovery, error) {
	lock, err := r.lockFor(run)
	if err != nil {
		return Recovery{}, err
	}
	if in.Index, err = fromRawKeys(in.Index); err != nil {
		return Recovery{}, err
	}
	ref := in.Head.Ref
	if ref == "" {
		ref = "HEAD"
	}
	if in.New == "" || !r.contains(ctx, ref, in.New) {
		lock.release()
		return Recovery{}, nil
	}
	done := Recovery{Finished: true, SHA: in.New, Short: Short(in.New), Count: in.Count, HooksSkipped: in.HooksSkipped, Runs: in.Runs}
	if err := r.recoverIndex(ctx, lock, in); err != nil {
		return Recovery{}, err
	}
	return done, nil
}

// contains tells whether a commit is part of a ref's history.
func (r *Repo) contains(ctx context.Context, ref, commit string) bool {
	_, err := r.git(ctx, call{}, "merge-base", "--is-ancestor", commit, ref)
	return err == nil
}

// recoverIndex does what was left to do after the ref had moved.
func (r *Repo) recoverIndex(ctx context.Context, lock *indexLock, in commitIntent) error {
	head, err := r.head(ctx)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(lock.copyFile()); err == nil && lock.held() && head.Commit == in.New {
		return r.finishIndex(ctx, lock, in)
	}
	if !r.contains(ctx, "HEAD", in.New) { // another branch is checked out by now
		lock.release()
		return nil
	}
	return r.redoIndex(ctx, lock, in)
}

// redoIndex makes the commit's update of the user's index anew, path by path:
// the lock had gone and the index may have changed. A path is touched only
// where HEAD still has the committed entry and the index still has the entry
// that the update was computed for.
func (r *Repo) redoIndex(ctx context.Context, lock *indexLock, in commitIntent) error {
	defer lock.release()
	if len(in.Index) == 0 {
		return nil
	}
	if err := lock.take(ctx); err != nil {
		return err
	}
	paths := make([]string, 0, len(in.Index))
	for path := range in.Index {
		paths = append(paths, path)
	}
	var moved map[string]rawEntry
	var now map[string]indexEntry
	err := together(
		func() (err error) { moved, err = r.differences(ctx, in.New, "HEAD"); return },
		func() (err error) { now, err = r.indexEntries(ctx, paths); return },
	)
	if err != nil {
		return err
	}
	left := map[string]indexChange{}
	for path, change := range in.Index {
		if _, ok := moved[path]; !ok && now[path].Entry == change.Old && !now[path].unmerged && change.Old != change.New {
			left[path] = change
		}
	}
	if len(left) == 0 {
		return nil
	}
	if err := lock.copyIndex(); err != nil {
		return err
	}
	if err := r.editCopy(ctx, lock, left, in.New); err != nil {
		return err
	}
	if err := r.finishCopy(ctx, lock, left); err != nil {
		return err
	}
	atStep("index redone")
	return lock.install()
}

// recoverUndo finishes an undo whose plan was recorded; before that nothing
// had been touched.
func (r *Repo) recoverUndo(ctx context.Context, in Intent) (Recovery, error) {
	root, err := os.OpenRoot(r.top)
	if err != nil {
		return Recovery{}, errors.Wrap(err, "recover the undo")
	}
	defer root.Close()
	u := &undoer{r: r, root: root, req: UndoRequest{RunID: in.RunID, Record: r.keepIntent}}
	if err := json.Unmarshal(in.Data, &u.intent); err != nil {
		return Recovery{}, errors.Wrap(err, "recover the undo")
	}
	if u.intent.Tree == "" {
		return Recovery{}, errors.Wrap(u.cleanUp(), "recover the undo")
	}
	notes := u.resume()
	atStep("undo resumed")
	if err := u.cleanUp(); err != nil {
		return Recovery{}, errors.Wrap(err, "recover the undo")
	}
	change, err := u.change(ctx)
	if err != nil {
		return Recovery{}, err
	}
	done, err := u.recoverCommit(ctx, change)
	if err != nil {
		return Recovery{}, err
	}
	done.Finished, done.Change, done.Notes = true, change, append(notes, done.Notes...)
	return done, nil
}

// resume does the operations that are left. A path that somebody changed
// since the undo was cut short is left as it is, with a note.
func (u *undoer) resume() []Note {
	var notes []Note
	if u.printOf(u.folder()) == "" {
		return nil // all done: the folder goes last
	}
	for n, op := range u.intent.Ops {
		path := string(op.Path)
		if op.Write && u.printOf(u.fresh(path)) == "" || !op.Write && u.printOf(u.old(n)) != "" {
			continue // done
		}
		if err := u.apply(n); err != nil {
			notes = append(notes, Note{Code: "overlap", Message: "`" + path + "` was not taken back: " + err.Error()})
		}
		atStep("undo step")
	}
	for _, op := range u.intent.Ops { // the kill may have come before its folder went
		if !op.Write {
			u.removeEmptied(string(op.Path))
		}
	}
	return notes
}

// recoverCommit finishes the undo's commit, or makes it if there is none yet.
func (u *undoer) recoverCommit(ctx context.Context, change *Change) (Recovery, error) {
	if in := u.intent.Commit; in != nil {
		done, err := u.r.recoverCommit(ctx, u.req.RunID, *in)
		if err != nil || done.Finished {
			return done, err
		}
	}
	if !u.intent.Committed || len(change.Files) == 0 {
		return Recovery{}, nil
	}
	commit, err := u.commit(ctx, change)
	var refused *Refusal
	switch {
	case errors.As(err, &refused):
		return Recovery{Notes: append(refused.Notes, Note{Code: "commit_refused", Message: refused.Message})}, nil
	case err != nil:
		return Recovery{}, err
	}
	return Recovery{SHA: commit.SHA, Short: commit.Short, Count: commit.Count, HooksSkipped: commit.HooksSkipped, Notes: commit.Notes}, nil
}

// intentFile keeps the intents that Recover itself records, while it makes an
// undo's commit: it has no ledger.
func (r *Repo) intentFile(run string) string {
	return filepath.Join(r.gitDir, "slidewrite-intent-"+run)
}

// keepIntent writes an intent of Recover's own.
func (r *Repo) keepIntent(in Intent) error {
	data, err := json.Marshal(in)
	if err != nil {
		return err
	}
	file := r.intentFile(in.RunID)
	if err := os.WriteFile(file+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// latestIntent is the intent that an earlier Recover recorded, or the given one.
func (r *Repo) latestIntent(in Intent) Intent {
	data, err := os.ReadFile(r.intentFile(in.RunID))
	if err != nil {
		return in
	}
	var own Intent
	if json.Unmarshal(data, &own) != nil || own.RunID != in.RunID {
		return in
	}
	return own
}
