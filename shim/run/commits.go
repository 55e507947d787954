package run

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/prompt"
	"github.com/slidewrite/slidewrite/shim/state"
)

// SquashReply is the commit that took the place of several.
type SquashReply struct {
	SHA          string   `json:"sha"`      // abbreviated
	Subject      string   `json:"subject"`  // of its message
	Runs         []string `json:"runs"`     // whose commit it is now, oldest first
	Replaced     []string `json:"replaced"` // the commits that were, oldest first, abbreviated
	Count        int      `json:"count"`    // files in it
	HooksSkipped bool     `json:"hooksSkipped"`
}

// Squash makes the commits of runs one, while they are the newest and nobody
// else has them. Every other run that one of the commits holds, too, goes along.
// It fails with *BusyError, ErrNotFound, or *gitrepo.Refusal: then nothing has
// changed.
func (m *Manager) Squash(ctx context.Context, ids []string) (SquashReply, error) {
	var reply SquashReply
	err := m.withRuns(ctx, state.KindSquash, fmt.Sprintf("Make the commits of %d runs one", len(ids)), ids, func(ctx context.Context, r *Run, repo *gitrepo.Repo, recs []state.Record) (err error) {
		reply, err = r.squash(ctx, repo, recs)
		return err
	})
	return reply, err
}

func (r *Run) squash(ctx context.Context, repo *gitrepo.Repo, recs []state.Record) (SquashReply, error) {
	var commits []string
	for _, rec := range recs {
		if rec.SHA == "" {
			return SquashReply{}, &gitrepo.Refusal{Message: named(rec.Prompt) + " has no commit", Fix: "leave it out, or commit its change first"}
		}
		if !slices.Contains(commits, rec.SHA) {
			commits = append(commits, rec.SHA)
		}
	}
	if len(commits) < 2 {
		return SquashReply{}, &gitrepo.Refusal{Message: "there is only one commit: " + gitrepo.Short(commits[0]), Fix: "leave it as it is"}
	}
	all, err := r.m.ledger.list()
	if err != nil {
		return SquashReply{}, err
	}
	recs = slices.DeleteFunc(all, func(rec state.Record) bool { return !slices.Contains(commits, rec.SHA) })
	slices.Reverse(recs) // oldest first
	req := gitrepo.SquashRequest{
		RunID: r.id, Commits: commits, Message: r.m.messageOf(recs),
		AsUser: r.m.o.CommitAsUser, Verify: r.m.o.CommitVerify, Record: r.intent,
	}
	reply := SquashReply{Subject: r.m.subject(recs[0])}
	for _, rec := range recs {
		held, err := r.m.held(ctx, repo, rec)
		if err != nil {
			return SquashReply{}, err
		}
		req.Runs = append(req.Runs, held)
		reply.Runs = append(reply.Runs, rec.ID)
	}
	res, err := repo.Squash(ctx, req)
	if err != nil {
		return SquashReply{}, err
	}
	r.m.landed(req.Runs, res.SHA)
	reply.SHA, reply.Count, reply.HooksSkipped = res.Short, res.Count, res.HooksSkipped
	for _, commit := range res.Replaced {
		reply.Replaced = append(reply.Replaced, gitrepo.Short(commit))
	}
	return reply, nil
}

// held is what a run's commit holds of its change: once that is one with others,
// it cannot be told any more.
func (m *Manager) held(ctx context.Context, repo *gitrepo.Repo, rec state.Record) (gitrepo.HeldRun, error) {
	held, files := gitrepo.HeldRun{ID: rec.ID}, filesOf(rec)
	if err := repo.MarkLeftOut(ctx, rec.ID, files); err != nil {
		return held, errors.Wrap(err, "find out what the commit holds")
	}
	for _, f := range files {
		if f.LeftOut {
			held.LeftOut = append(held.LeftOut, []byte(f.Path))
		}
	}
	return held, nil
}

// CommitReply is one commit of several changes.
type CommitReply struct {
	SHA          string       `json:"sha"`     // abbreviated
	Subject      string       `json:"subject"` // of its message
	Runs         []string     `json:"runs"`    // that are in it, oldest first
	Count        int          `json:"count"`   // files in it
	HooksSkipped bool         `json:"hooksSkipped"`
	Left         []LeftRun    `json:"left"`    // the other runs that were asked for
	LeftOut      []string     `json:"leftOut"` // paths that are not in it, or not with all that was asked for
	Notes        []event.Note `json:"notes"`
}

// LeftRun is a run that is not in the commit, and why: "it was undone".
type LeftRun struct {
	ID     string `json:"id"`
	Prompt string `json:"prompt"` // what it had been asked
	Reason string `json:"reason"`
}

// Commit makes one commit of the changes of runs that were not committed. It
// fails with *BusyError, ErrNotFound, gitrepo.ErrGone when the snapshots of all
// are gone, or *gitrepo.Refusal: then nothing was committed.
func (m *Manager) Commit(ctx context.Context, ids []string) (CommitReply, error) {
	var reply CommitReply
	err := m.withRuns(ctx, state.KindCommit, fmt.Sprintf("Commit the changes of %d runs", len(ids)), ids, func(ctx context.Context, r *Run, repo *gitrepo.Repo, recs []state.Record) (err error) {
		reply, err = r.commitRuns(ctx, repo, recs)
		return err
	})
	return reply, err
}

func (r *Run) commitRuns(ctx context.Context, repo *gitrepo.Repo, recs []state.Record) (CommitReply, error) {
	reply := CommitReply{Runs: []string{}, Left: []LeftRun{}, LeftOut: []string{}, Notes: []event.Note{}}
	req := gitrepo.CommitRunsRequest{
		RunID: r.id, AsUser: r.m.o.CommitAsUser, Verify: r.m.o.CommitVerify, Record: r.intent,
	}
	in := map[string]state.Record{}
	gone := 0
	for _, rec := range recs {
		change, reason, err := r.m.uncommitted(ctx, repo, &rec)
		if errors.Is(err, gitrepo.ErrGone) {
			reason, gone = "its snapshots are gone", gone+1
		} else if err != nil {
			return reply, err
		}
		if reason != "" {
			reply.Left = append(reply.Left, LeftRun{ID: rec.ID, Prompt: rec.Prompt, Reason: reason})
			continue
		}
		req.Runs, in[rec.ID] = append(req.Runs, gitrepo.RunChange{ID: rec.ID, Change: change}), rec
	}
	if len(req.Runs) == 0 {
		if gone == len(recs) {
			return reply, errors.Wrap(gitrepo.ErrGone, "nothing to commit")
		}
		return reply, nothingToCommit(reply.Left)
	}
	committed := func(ids []string) (recs []state.Record) {
		for _, id := range ids {
			recs = append(recs, in[id])
		}
		return recs
	}
	req.Message = func(ids []string) string { return r.m.messageOf(committed(ids)) }
	res, err := repo.CommitRuns(ctx, req)
	if err != nil {
		return reply, err
	}
	r.m.landed(res.Runs, res.SHA)
	for _, held := range res.Runs {
		reply.Runs = append(reply.Runs, held.ID)
	}
	for _, run := range req.Runs {
		if slices.Contains(reply.Runs, run.ID) {
			continue
		}
		reason := "HEAD has its change already"
		if slices.ContainsFunc(run.Change.Files, func(f gitrepo.File) bool { return slices.Contains(res.LeftOut, f.Path) }) {
			reason = "all that it changed is left out"
		}
		reply.Left = append(reply.Left, LeftRun{ID: run.ID, Prompt: in[run.ID].Prompt, Reason: reason})
	}
	reply.SHA, reply.Count, reply.HooksSkipped = res.Short, res.Count, res.HooksSkipped
	reply.Subject = r.m.subject(in[reply.Runs[0]])
	for _, path := range res.LeftOut {
		reply.LeftOut = append(reply.LeftOut, strings.ToValidUTF8(path, "\uFFFD"))
	}
	for _, n := range res.Notes {
		reply.Notes = append(reply.Notes, event.Note{Message: n.Message, Level: event.Warning, Code: n.Code})
	}
	return reply, nil
}

// uncommitted is the change of a run, if it waits to be committed, else the
// reason why not. What a run changed may only be found out now: rec is brought
// up to date.
func (m *Manager) uncommitted(ctx context.Context, repo *gitrepo.Repo, rec *state.Record) (c *gitrepo.Change, reason string, err error) {
	if *rec, err = m.late(ctx, *rec); err != nil {
		return nil, "", err
	}
	files := filesOf(*rec)
	switch {
	case rec.Undone:
		return nil, "it was undone", nil
	case rec.SHA != "":
		return nil, "it is committed already, as " + gitrepo.Short(rec.SHA), nil
	case len(files) == 0:
		return nil, "it changed nothing", nil
	case !slices.ContainsFunc(files, func(f gitrepo.File) bool { return !f.Yours && !f.Large }):
		return nil, "its files are your own edits, or too large to be kept", nil
	}
	if rec.Kind == state.KindUndo {
		if of, err := m.stored(rec.UndoOf); err != nil || of.SHA == "" {
			return nil, "it takes back a run that was not committed", nil
		}
	}
	c = &gitrepo.Change{Before: &gitrepo.Snapshot{}, After: &gitrepo.Snapshot{}, Files: files}
	if err := errors.Join(json.Unmarshal(rec.Before, c.Before), json.Unmarshal(rec.After, c.After)); err != nil {
		return nil, "", errors.Wrap(err, "read the run's record")
	}
	if c.HeadMoved() {
		return nil, "HEAD moved while it was on, so what it did cannot be told from that; commit its edits yourself", nil
	}
	return c, "", repo.Present(ctx, c.Before.Tree, c.After.Tree, files)
}

// nothingToCommit refuses where no run waits for a commit.
func nothingToCommit(left []LeftRun) *gitrepo.Refusal {
	var reasons []string
	for _, run := range left {
		reasons = append(reasons, named(run.Prompt)+": "+run.Reason)
	}
	return &gitrepo.Refusal{Message: "nothing to commit: " + strings.Join(reasons, "; "), Fix: "look at `git status` and commit what you want"}
}

// landed notes the commit that runs have now.
func (m *Manager) landed(runs []gitrepo.HeldRun, sha string) {
	for _, held := range runs {
		_, _ = m.ledger.update(held.ID, func(rec *state.Record) { // pruned meanwhile: nothing lists it any more
			rec.SHA = sha
			files := filesOf(*rec)
			held.Mark(files)
			if raw, err := json.Marshal(files); err == nil && len(files) > 0 {
				rec.Files = raw
			}
		})
	}
}

// messageOf is the message of a commit of runs, oldest first: the first one's
// subject, a list of all, and the trailers of all.
func (m *Manager) messageOf(recs []state.Record) string {
	msg := m.subject(recs[0]) + "\n\n"
	if len(recs) > 1 {
		for _, rec := range recs {
			msg += "- " + prompt.Title(rec.Prompt) + "\n"
		}
		msg += "\n"
	}
	var sessions []string
	for _, rec := range recs {
		msg += "Slide-Write-Run: " + rec.ID + "\n"
		if line := "Slide-Write-Session: " + rec.Provider + "/" + rec.Session + "\n"; rec.Session != "" && !slices.Contains(sessions, line) {
			sessions = append(sessions, line)
		}
	}
	return msg + strings.Join(sessions, "")
}

// named is the run of a prompt for people.
func named(text string) string { return "the run " + quote(prompt.Title(text)) }

// withRuns does something with runs that have ended, with the repository's lock
// held. It is no run itself, but has a record while it goes on, so that the next
// shim can finish it. The runs come oldest first, each once.
func (m *Manager) withRuns(ctx context.Context, kind, what string, ids []string, do func(context.Context, *Run, *gitrepo.Repo, []state.Record) error) error {
	_ = m.Recover(ctx) // what keeps it from the lock keeps us from it, too
	if _, err := m.storedAll(ids); err != nil {
		return err
	}
	repo, err := m.Repo(ctx)
	if err != nil {
		return err
	}
	r := &Run{
		m: m, id: state.NewRunID(), kind: kind, started: m.o.Now(), req: prompt.Request{Prompt: what},
		stopping: make(chan struct{}), finished: make(chan struct{}),
	}
	if r.lock, err = m.lock(r.id, what, r.started); err != nil {
		return err
	}
	_ = m.settleAll(context.WithoutCancel(ctx), false)
	recs, err := m.storedAll(ids) // the lock may have been waited for
	if err == nil {
		err = m.open(r)
	}
	if err != nil {
		r.lock.Release()
		return err
	}
	// From here on it is carried through, whatever the client does.
	ctx = context.WithoutCancel(ctx)
	err = do(ctx, r, repo, recs)
	var refusal *gitrepo.Refusal
	switch {
	case errors.As(err, &refusal):
		err = withNotes(refusal)
	case err != nil && len(r.record.Intent) > 0: // how far it came, recovery can tell
		err = errors.CombineErrors(err, r.recoverIntent(ctx, repo))
	}
	r.end()
	m.forget(r.id)
	return err
}

// storedAll returns the records of runs, oldest first, each once.
func (m *Manager) storedAll(ids []string) ([]state.Record, error) {
	var recs []state.Record
	for _, id := range ids {
		rec, err := m.stored(id)
		if err != nil {
			return nil, errors.Wrapf(err, "%.80q", id)
		}
		if !slices.ContainsFunc(recs, func(other state.Record) bool { return other.ID == id }) {
			recs = append(recs, rec)
		}
	}
	slices.SortStableFunc(recs, func(a, b state.Record) int { return a.StartedAt.Compare(b.StartedAt) })
	return recs, nil
}

// withNotes is a refusal that says in its sentence what its notes say: there is
// no stream of events to say it in.
func withNotes(refusal *gitrepo.Refusal) *gitrepo.Refusal {
	const most = 5
	var more []string
	for _, n := range refusal.Notes[:min(len(refusal.Notes), most)] {
		more = append(more, n.Message)
	}
	if len(refusal.Notes) > most {
		more = append(more, fmt.Sprintf("and %d more", len(refusal.Notes)-most))
	}
	if len(more) == 0 {
		return refusal
	}
	with := *refusal
	with.Message += ": " + strings.Join(more, "; ")
	return &with
}
