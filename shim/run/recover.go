package run

import (
	"context"
	"encoding/json"
	"os"
	"slices"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent/process"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/state"
)

// Recover puts in order what a shim that died left behind: its agents are
// ended, private folders removed, half-done commits and undos finished or
// rolled back, and each run that was going on is closed as interrupted, with
// its change. It does so once; while another shim works in the repository
// there is nothing to recover and it is tried again at the next call. It fails
// when the lock cannot be taken or the ledger not be read.
func (m *Manager) Recover(ctx context.Context) error { return m.recover(ctx, false) }

// recover is Recover; again = also where it has been done: another shim may
// have died since.
func (m *Manager) recover(ctx context.Context, again bool) error {
	ctx = context.WithoutCancel(ctx) // whoever comes first may go away before it is done
	m.recovering.Lock()
	defer m.recovering.Unlock()
	if m.recovered && !again {
		return nil
	}
	lock, err := m.lock(state.NewRunID(), "", m.o.Now())
	if errors.HasType(err, (*BusyError)(nil)) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := m.putInOrder(ctx); err != nil {
		return err
	}
	m.recovered = true
	m.prune(ctx)
	return nil
}

// putInOrder is Recover for the holder of the lock. It fails when the ledger
// cannot be read; what cannot be put in order for other reasons is logged, and
// tried again before the next run.
func (m *Manager) putInOrder(ctx context.Context) error {
	err := m.settleAll(ctx, true)
	if errors.Is(err, errUnsettled) {
		return nil
	}
	return err
}

// sweep ends the agents of dead shims and removes their folders.
func (m *Manager) sweep(ctx context.Context) {
	process.SweepOrphans(m.o.Store.Hash(), m.o.Store.RunDied)
	if _, err := m.o.Store.SweepRunDirs(nil); err != nil {
		m.logf("run folders of an earlier shim could not be removed: %v", err)
	}
	if repo, err := m.Repo(ctx); err == nil {
		if err := repo.Sweep(); err != nil {
			m.logf("temporary files of an earlier shim could not be removed: %v", err)
		}
	}
}

// errUnsettled marks the error of a run that could not be settled.
var errUnsettled = errors.New("a run is not settled")

// settleAll settles every earlier run, for the holder of the lock: one whose
// shim died is closed; of one that ended without anybody knowing what it
// changed that is found out; a commit or undo that was cut short is finished or
// rolled back. Only runs that it has not seen settled before cost more than
// their names. The error is that of the newest run that failed, and logged.
func (m *Manager) settleAll(ctx context.Context, sweep bool) error {
	ids, err := m.o.Store.IDs()
	if err != nil {
		return err
	}
	m.mu.Lock()
	known := m.settled
	m.mu.Unlock()
	settled := map[string]bool{}
	var open []state.Record
	for _, id := range ids {
		if known[id] {
			settled[id] = true
			continue
		}
		rec, err := m.ledger.get(id)
		switch {
		case err != nil: // damaged or pruned: nothing of it can be settled
		case rec.State == state.Running || pending(rec):
			open = append(open, rec)
		default:
			settled[id] = true
		}
	}
	isRunning := func(rec state.Record) bool { return rec.State == state.Running }
	if sweep || slices.ContainsFunc(open, isRunning) {
		m.sweep(ctx)
	}
	var failed error
	for _, rec := range open {
		err := m.settle(ctx, rec)
		if err != nil {
			m.logf("run %s could not be put in order: %v", rec.ID, err)
		}
		switch {
		case errors.Is(err, gitrepo.ErrGone): // for good
			settled[rec.ID] = true
		case err != nil:
			failed = errors.Mark(errors.Wrapf(err, "the earlier run %s could not be put in order", rec.ID), errUnsettled)
		}
	}
	m.mu.Lock()
	m.settled = settled
	m.mu.Unlock()
	return failed
}

// pending tells whether something of a run that has ended waits for git.
func pending(rec state.Record) bool {
	return unsettled(rec) || rec.State == state.Interrupted && len(rec.Intent) > 0
}

// settle settles one run; without a repository it is left as it is.
func (m *Manager) settle(ctx context.Context, rec state.Record) error {
	if rec.State == state.Running {
		return m.recoverRun(ctx, rec)
	}
	repo, err := m.Repo(ctx)
	if err != nil {
		return nil
	}
	if rec, err = m.late(ctx, rec); err != nil {
		return err
	}
	if rec.State != state.Interrupted || len(rec.Intent) == 0 {
		return nil
	}
	// Its journal has ended; what is done now is in the ledger alone.
	r := &Run{m: m, id: rec.ID, kind: rec.Kind, undoOf: rec.UndoOf, record: rec, journal: endedJournal()}
	if err := r.recoverIntent(ctx, repo); err != nil {
		return err
	}
	r.update(func(rec *state.Record) { rec.Intent = nil })
	m.passed(rec)
	return nil
}

// passed takes a record out of the ledger that is there only while something is
// done with other runs.
func (m *Manager) passed(rec state.Record) {
	if rec.Kind == state.KindSquash || rec.Kind == state.KindCommit {
		m.forget(rec.ID)
	}
}

// prune lets go of runs that are too old or too many, and of their snapshots.
func (m *Manager) prune(ctx context.Context) {
	gone, err := m.o.Store.Prune(m.o.Now())
	if err != nil {
		m.logf("old runs could not be removed: %v", err)
	}
	if len(gone) == 0 {
		return
	}
	repo, err := m.Repo(ctx)
	if err != nil {
		return
	}
	if _, err := repo.DropAll(ctx, func(id string) bool { return !slices.Contains(gone, id) }); err != nil {
		m.logf("the snapshots of old runs could not be dropped: %v", err)
	}
}

// recoverRun closes one run whose shim died.
func (m *Manager) recoverRun(ctx context.Context, rec state.Record) error {
	died := rec.StartedAt
	if info, err := os.Stat(m.o.Store.JournalPath(rec.ID)); err == nil {
		died = info.ModTime() // its last event
	}
	j, err := reopenJournal(m.o.Store.JournalPath(rec.ID))
	if err != nil {
		return err
	}
	r := &Run{m: m, id: rec.ID, kind: rec.Kind, undoOf: rec.UndoOf, started: rec.StartedAt, record: rec, journal: j}
	r.req.Prompt, r.died = rec.Prompt, died
	settled := len(rec.Intent) == 0 // without git it waits for the next start
	if repo, err := m.Repo(ctx); err == nil {
		if settled, err = r.recoverGit(ctx, repo); err != nil {
			r.note("recovery", event.Warning, err.Error())
		}
	} else {
		r.crashed()
	}
	r.update(func(rec *state.Record) {
		rec.State, rec.EndedAt = state.Interrupted, m.o.Now()
		if settled {
			rec.Intent = nil
		}
	})
	r.journal.append(event.Done{})
	if settled {
		m.passed(rec)
	}
	return nil
}

// crashed is the error event of an interrupted run.
func (r *Run) crashed() {
	e := event.Error{Message: "slidewrite ended in the middle of this run", Code: event.CodeCrashed}
	if len(filesOf(r.record)) > 0 && r.kind == state.KindDesign {
		e.Message += "; what it had changed can be undone"
		e.Fix = "slidewrite undo " + r.id
	}
	r.journal.append(e)
}

// recoverGit finds out what the run had changed where that was not known yet,
// and finishes or rolls back a commit or undo that had begun; settled tells
// that nothing of that is left to do.
func (r *Run) recoverGit(ctx context.Context, repo *gitrepo.Repo) (settled bool, err error) {
	change, err := r.recoverChange(ctx, repo)
	r.crashed()
	if err != nil {
		return len(r.record.Intent) == 0, errors.Wrap(err, "find out what the run had changed")
	}
	if change != nil {
		r.notes(change.Notes)
		if len(change.Files) > 0 {
			r.journal.append(changeEvent(change))
		}
	}
	if len(r.record.Intent) == 0 {
		return true, nil
	}
	err = r.recoverIntent(ctx, repo)
	return err == nil, err
}

// recoverIntent finishes or rolls back what the run was about to do.
func (r *Run) recoverIntent(ctx context.Context, repo *gitrepo.Repo) error {
	var in gitrepo.Intent
	if err := json.Unmarshal(r.record.Intent, &in); err != nil {
		return errors.Wrap(err, "read what the run was about to do")
	}
	done, err := repo.Recover(ctx, in)
	if err != nil {
		return errors.Wrapf(err, "finish the %s that had begun", in.Kind)
	}
	r.notes(done.Notes)
	if !done.Finished {
		return nil
	}
	if done.Change != nil { // of an undo
		if err := r.keep(ctx, repo, done.Change); err != nil {
			return errors.Wrap(err, "keep what the undo did")
		}
		r.journal.append(changeEvent(done.Change))
	}
	if len(done.Runs) > 0 { // it is the commit of others
		r.m.landed(done.Runs, done.SHA)
		return nil
	}
	if done.SHA != "" {
		r.update(func(rec *state.Record) { rec.SHA = done.SHA })
		r.journal.append(event.Commit{SHA: done.Short, Count: done.Count, HooksSkipped: done.HooksSkipped})
	}
	if r.kind == state.KindUndo {
		r.m.markUndone(r.undoOf, true)
	}
	return nil
}

// recoverChange returns the change of the run, nil when there can be none;
// where the run died before its second snapshot, that is taken now.
func (r *Run) recoverChange(ctx context.Context, repo *gitrepo.Repo) (*gitrepo.Change, error) {
	if files := filesOf(r.record); len(files) > 0 {
		return &gitrepo.Change{Files: files}, nil
	}
	if r.kind != state.KindDesign {
		return nil, nil
	}
	if len(r.record.Before) == 0 { // the agent had not been asked anything
		return nil, repo.Drop(ctx, r.id)
	}
	var before gitrepo.Snapshot
	if err := json.Unmarshal(r.record.Before, &before); err != nil {
		return nil, err
	}
	// When its tools ran died with the shim, what they named is in the journal.
	return r.change(ctx, repo, &before, gitrepo.ToolLog{Edited: r.editedPaths()})
}

// editedPaths are the paths that the run's events say were edited.
func (r *Run) editedPaths() []string {
	var paths []string
	f := r.journal.follow(0)
	defer f.Close()
	for r.journal.last > f.after {
		frames, err := f.Next(context.Background())
		if err != nil {
			return paths
		}
		for _, frame := range frames {
			if e, err := event.Decode(frame.Data); err == nil {
				if edit, ok := e.(event.FileEdit); ok {
					paths = append(paths, edit.Path)
				}
			}
		}
	}
	return paths
}

// reopenJournal opens the journal of a dead run for its last events. A line
// that was half written is cut off.
func reopenJournal(path string) (*journal, error) {
	old, err := openJournal(path)
	if errors.Is(err, os.ErrNotExist) {
		return newJournal(path), nil
	}
	if err != nil {
		return nil, err
	}
	if err := os.Truncate(path, old.size); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	old.done = false
	old.write(f)
	return old, nil
}
