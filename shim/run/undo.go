package run

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/prompt"
	"github.com/slidewrite/slidewrite/shim/state"
)

// UndoReply is the answer to an undo.
type UndoReply struct {
	ID    string   `json:"id"`    // of the undo run, itself undoable
	Files []string `json:"files"` // paths taken back
	SHA   string   `json:"sha"`   // abbreviated, "" when nothing was committed

	Of     string `json:"of"`     // the run that was taken back
	Prompt string `json:"prompt"` // what that run had been asked

	// CommitError says why the files were taken back but not committed.
	CommitError string `json:"commitError,omitempty"`
}

// Undo takes the change of a run back, as a run of its own. It fails with
// *BusyError, ErrNotFound, gitrepo.ErrGone, or *gitrepo.Refusal with the
// paths that stand in the way, or none when its change is no longer there:
// then nothing was touched.
func (m *Manager) Undo(ctx context.Context, id string) (UndoReply, error) {
	_ = m.Recover(ctx) // what keeps it from the lock keeps us from it, too
	rec, err := m.stored(id)
	if err != nil {
		return UndoReply{}, err
	}
	r := &Run{
		m: m, id: state.NewRunID(), kind: state.KindUndo, undoOf: id, started: m.o.Now(),
		req:      prompt.Request{Prompt: "Undo: " + m.subject(rec)},
		stopping: make(chan struct{}), finished: make(chan struct{}),
	}
	lock, err := m.lock(r.id, r.req.Prompt, r.started)
	if err != nil {
		return UndoReply{}, err
	}
	r.lock = lock
	// What this run had changed is asked for again below, if it is not known.
	_ = m.settleAll(context.WithoutCancel(ctx), false)
	// The record may have changed while the lock was waited for.
	if rec, err = m.stored(id); err == nil {
		rec, err = m.late(ctx, rec)
	}
	if err == nil {
		err = m.undoable(rec)
	}
	if err == nil {
		err = m.open(r)
	}
	if err != nil {
		lock.Release()
		return UndoReply{}, err
	}
	reply, err := r.undo(ctx, rec)
	r.end()
	if errors.HasType(err, (*gitrepo.Refusal)(nil)) { // nothing was touched: it was no run
		m.forget(r.id)
	}
	return reply, err
}

// late finds out what a run had changed whose second snapshot had failed (a
// full disk, a git that was killed): now, that the cause may be gone.
func (m *Manager) late(ctx context.Context, rec state.Record) (state.Record, error) {
	if !unsettled(rec) {
		return rec, nil
	}
	repo, err := m.Repo(ctx)
	if err != nil {
		return rec, err
	}
	r := &Run{m: m, id: rec.ID, kind: rec.Kind, record: rec, journal: endedJournal(), died: rec.EndedAt}
	if j, err := openJournal(m.o.Store.JournalPath(rec.ID)); err == nil {
		r.journal = j
	}
	var before gitrepo.Snapshot
	if err := json.Unmarshal(rec.Before, &before); err != nil {
		return rec, errors.Wrap(err, "read the run's record")
	}
	_, err = r.change(context.WithoutCancel(ctx), repo, &before, gitrepo.ToolLog{Edited: r.editedPaths()})
	if errors.Is(err, gitrepo.ErrGone) {
		return rec, errors.WithHint(errors.Mark(errors.New(lostSnapshot), gitrepo.ErrGone), lostFix)
	}
	if err != nil {
		return rec, errors.Wrap(err, "find out what the run had changed")
	}
	return r.record, nil
}

// unsettled tells whether a run has ended without anybody knowing what it
// changed.
func unsettled(rec state.Record) bool {
	return rec.State != state.Running && rec.Kind != state.KindUndo && len(rec.Before) > 0 && len(rec.After) == 0
}

// forget takes a run that did nothing out of the ledger.
func (m *Manager) forget(id string) {
	m.mu.Lock()
	delete(m.active, id)
	m.mu.Unlock()
	if err := m.o.Store.Remove(id); err != nil {
		m.logf("the record of what was no run could not be removed: %v", err)
	}
}

// subject is the subject of the commit that a run made, or would have made.
func (m *Manager) subject(rec state.Record) string {
	if rec.Kind == state.KindUndo {
		return rec.Prompt
	}
	return "slide-write: " + prompt.Title(rec.Prompt)
}

// undoable tells why a run cannot be undone.
func (m *Manager) undoable(rec state.Record) error {
	switch {
	case rec.State == state.Running:
		return &BusyError{RunID: rec.ID, Prompt: rec.Prompt, StartedAt: rec.StartedAt, PID: rec.PID}
	case rec.Undone:
		r := &gitrepo.Refusal{Message: "this run has been undone already"}
		if by := m.undoneBy(rec.ID); by != "" {
			r.Fix = "to get its change back, undo the undo: slidewrite undo " + by
		}
		return r
	case len(rec.Files) == 0:
		return &gitrepo.Refusal{Message: "this run changed nothing"}
	case !slices.ContainsFunc(filesOf(rec), func(f gitrepo.File) bool { return !f.Yours && !f.Large }):
		return &gitrepo.Refusal{Message: "this run changed nothing that can be undone: its files are your own edits, or too large to be kept"}
	}
	return nil
}

// undoneBy is the newest run that took another one back.
func (m *Manager) undoneBy(id string) string {
	records, err := m.ledger.list()
	if err != nil {
		return ""
	}
	for _, rec := range records {
		if rec.UndoOf == id && !rec.Undone && len(rec.Files) > 0 {
			return rec.ID
		}
	}
	return ""
}

func (r *Run) undo(ctx context.Context, rec state.Record) (UndoReply, error) {
	fail := func(err error) (UndoReply, error) {
		r.fail(event.Error{Message: err.Error(), Code: event.CodeInternal, Fix: Hint(err)})
		return UndoReply{}, err
	}
	repo, err := r.m.Repo(ctx)
	if err != nil {
		return fail(err)
	}
	req, err := undoRequest(r, rec)
	if err != nil {
		return fail(err)
	}
	// From here on the undo is carried through, whatever the client does.
	ctx = context.WithoutCancel(ctx)
	res, commitErr := repo.Undo(ctx, req)
	if commitErr != nil && (res == nil || res.Change == nil) {
		return fail(commitErr)
	}
	// From here on the files are taken back, whatever became of the commit.
	reply := UndoReply{ID: r.id, Files: []string{}, Of: rec.ID, Prompt: rec.Prompt}
	for _, f := range res.Change.Files {
		reply.Files = append(reply.Files, changedFile(f).Path)
	}
	if err := r.keep(ctx, repo, res.Change); err != nil {
		return fail(err)
	}
	r.m.markUndone(rec.ID, true)
	r.notes(res.Change.Notes)
	r.journal.append(changeEvent(res.Change))
	if commitErr == nil && res.CommitRefused != nil {
		commitErr = res.CommitRefused
	}
	switch {
	case commitErr != nil:
		r.committed(nil, commitErr)
		reply.CommitError = commitErr.Error()
	case res.Commit != nil:
		r.committed(res.Commit, nil)
		reply.SHA = res.Commit.Short
	}
	return reply, nil
}

// undoRequest reads back what the run had changed.
func undoRequest(r *Run, rec state.Record) (gitrepo.UndoRequest, error) {
	var before, after gitrepo.Snapshot
	var files []gitrepo.File
	for _, part := range []struct {
		raw json.RawMessage
		to  any
	}{{rec.Before, &before}, {rec.After, &after}, {rec.Files, &files}} {
		if err := json.Unmarshal(part.raw, part.to); err != nil {
			return gitrepo.UndoRequest{}, errors.Wrap(err, "read the run's record")
		}
	}
	return gitrepo.UndoRequest{
		RunID: r.id, Of: rec.ID, Before: before.Tree, After: after.Tree, Files: files,
		Committed: rec.SHA != "", Message: undoMessage(r),
		AsUser: r.m.o.CommitAsUser, Verify: r.m.o.CommitVerify, Record: r.intent,
	}, nil
}

func undoMessage(r *Run) string {
	return r.req.Prompt + "\n\nSlide-Write-Run: " + r.id + "\n"
}

// markUndone notes that a run's change was taken back, or brought back by the
// undo of its undo.
func (m *Manager) markUndone(id string, undone bool) {
	rec, err := m.ledger.update(id, func(r *state.Record) { r.Undone = undone })
	if err != nil { // pruned meanwhile: nothing lists it any more
		return
	}
	if rec.Kind == state.KindUndo && rec.UndoOf != "" {
		m.markUndone(rec.UndoOf, !undone)
	}
}
