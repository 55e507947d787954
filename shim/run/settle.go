package run

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/prompt"
	"github.com/slidewrite/slidewrite/shim/state"
)

// lateSlack is how long after a run's last sign of life a file may have been
// touched and still count as touched by it.
const lateSlack = 2 * time.Second

// settle takes the second snapshot, tells what changed, and commits it.
func (r *Run) settle(ctx context.Context, repo *gitrepo.Repo, before *gitrepo.Snapshot, tools gitrepo.ToolLog, commit bool) {
	change, err := r.change(ctx, repo, before, tools)
	if err != nil {
		e := event.Error{
			Message: "what the run changed could not be found out: " + err.Error(), Code: event.CodeInternal,
			Fix: "when the cause is gone, it can still be taken back: slidewrite undo " + r.id,
		}
		if errors.Is(err, gitrepo.ErrGone) {
			e.Message, e.Fix = lostSnapshot, lostFix
		}
		r.fail(e)
		return
	}
	r.notes(change.Notes)
	r.noteUncovered(ctx, repo, change, tools)
	if len(change.Files) == 0 {
		return
	}
	r.journal.append(changeEvent(change))
	if !commit || !r.req.AutoCommit {
		return
	}
	res, err := repo.Commit(ctx, gitrepo.CommitRequest{
		RunID: r.id, Change: change, Tools: tools, Message: r.message(),
		AsUser: r.m.o.CommitAsUser, Verify: r.m.o.CommitVerify, Record: r.intent,
	})
	if err == nil && r.m.o.CommitVerify { // a hook may have rewritten files of the change
		if err := r.remember(change); err != nil {
			r.note("ledger", event.Warning, "what the hooks rewrote could not be noted: "+err.Error())
		}
	}
	r.committed(res, err)
}

// What gitrepo.ErrGone means for a run whose change is not known yet.
const (
	lostSnapshot = "what the run changed cannot be found out, nor taken back: the snapshot from before it is no longer in the repository (was .git made anew?)"
	lostFix      = "look at the files yourself: git status"
)

// noteUncovered names the edits that no snapshot can hold.
func (r *Run) noteUncovered(ctx context.Context, repo *gitrepo.Repo, change *gitrepo.Change, tools gitrepo.ToolLog) {
	held := map[string]bool{}
	for _, f := range change.Files {
		held[f.Path] = true
	}
	var others []string
	for _, p := range tools.Edited {
		if !held[p] {
			others = append(others, p)
		}
	}
	if len(others) == 0 {
		return
	}
	uncovered, err := repo.Uncovered(ctx, others)
	if err != nil || len(uncovered) == 0 {
		return
	}
	r.note("uncovered", event.Warning, "edited, but not part of the change and cannot be undone (outside the repository, ignored, or in a repository of its own): "+strings.Join(uncovered, ", "))
}

// change is before → now, kept and noted in the ledger.
func (r *Run) change(ctx context.Context, repo *gitrepo.Repo, before *gitrepo.Snapshot, tools gitrepo.ToolLog) (*gitrepo.Change, error) {
	after, err := repo.SnapshotAfter(ctx, before)
	if err != nil {
		return nil, err
	}
	change, err := repo.Change(ctx, before, after)
	if err != nil {
		return nil, err
	}
	limited, err := repo.LimitToEdits(ctx, change, tools)
	if err != nil {
		return nil, err
	}
	if limited {
		change.Notes = append(change.Notes, gitrepo.Note{Code: "head_moved", Message: "the branch was switched during the run: only files that the agent's edit tools named count as its change"})
	}
	repo.MarkYours(change, tools)
	if !r.died.IsZero() {
		repo.MarkLater(change, r.died.Add(lateSlack))
	}
	if err := repo.MarkMoved(ctx, change); err != nil {
		return nil, err
	}
	if len(change.Files) == 0 && !limited {
		r.update(func(rec *state.Record) { rec.Before = nil }) // there is nothing to find out later
		return change, repo.Drop(ctx, r.id)
	}
	return change, r.keep(ctx, repo, change)
}

// keep holds on to a change, so that it can be read and undone: its snapshots
// in the repository, the rest in the ledger.
func (r *Run) keep(ctx context.Context, repo *gitrepo.Repo, change *gitrepo.Change) error {
	if err := repo.Keep(ctx, r.id, change.Before, change.After); err != nil {
		return err
	}
	return r.remember(change)
}

// remember is keep for a change whose snapshots are kept already.
func (r *Run) remember(change *gitrepo.Change) error {
	var parts [3]json.RawMessage
	for i, part := range []any{change.Before, change.After, change.Files} {
		raw, err := json.Marshal(part)
		if err != nil {
			return err
		}
		parts[i] = raw
	}
	r.update(func(rec *state.Record) { rec.Before, rec.After, rec.Files = parts[0], parts[1], parts[2] })
	return nil
}

// message is the commit's message.
func (r *Run) message() string {
	subject := "slide-write: " + prompt.Title(r.req.Prompt)
	msg := subject + "\n\nSlide-Write-Run: " + r.id + "\n"
	if s := r.record.Session; s != "" {
		msg += "Slide-Write-Session: " + r.provider() + "/" + s + "\n"
	}
	return msg
}

// intent makes what recovery needs durable before an irreversible step.
func (r *Run) intent(in gitrepo.Intent) error {
	raw, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.record.Intent = raw
	return r.m.ledger.put(r.record)
}

// committed tells how the commit went.
func (r *Run) committed(res *gitrepo.CommitResult, err error) {
	var refusal *gitrepo.Refusal
	switch {
	case err == nil:
		r.notes(res.Notes)
		r.update(func(rec *state.Record) { rec.SHA, rec.Intent = res.SHA, nil })
		r.journal.append(event.Commit{SHA: res.Short, Count: res.Count, HooksSkipped: res.HooksSkipped})
	case errors.As(err, &refusal):
		r.notes(refusal.Notes)
		r.update(func(rec *state.Record) { rec.Intent = nil })
		r.journal.append(event.CommitError{Message: refusal.Message, Fix: refusal.Fix})
	default:
		r.journal.append(event.CommitError{Message: err.Error(), Fix: Hint(err)})
	}
}

// changeEvent is a change as clients are told.
func changeEvent(c *gitrepo.Change) event.Change {
	e := event.Change{Files: []event.ChangedFile{}}
	for _, f := range c.Files {
		e.Files = append(e.Files, changedFile(f))
		e.Added += f.Added
		e.Removed += f.Removed
	}
	return e
}

func changedFile(f gitrepo.File) event.ChangedFile {
	return event.ChangedFile{
		Path: strings.ToValidUTF8(f.Path, "\uFFFD"), Status: f.Status,
		Added: f.Added, Removed: f.Removed, Binary: f.Binary, Yours: f.Yours,
	}
}
