package run

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/prompt"
	"github.com/slidewrite/slidewrite/shim/state"
)

// Run is one prompt carried out, going on or ended.
type Run struct {
	m       *Manager
	agent   agent.Agent
	req     prompt.Request
	id      string
	kind    string
	undoOf  string
	started time.Time
	dir     string // private folder, mode 0700, gone when the run has ended
	lock    *state.Lock
	journal *journal

	stopOnce sync.Once
	stopBy   string        // valid once stopping is closed; "" = we gave up ourselves
	stopping chan struct{} // closed when somebody wants the run to end
	finished chan struct{} // closed after done

	failed atomic.Bool // an error event was emitted
	died   time.Time   // of a run whose second snapshot comes late: when it had ended

	mu      sync.Mutex
	record  state.Record
	stopped bool // the agent was ended by a stop
	clients int
	leaving *time.Timer // ends the run when no client comes back
}

// ID is the run's id.
func (r *Run) ID() string { return r.id }

// Follow reads the run's events after the one numbered after (0 = all).
func (r *Run) Follow(after int64) *Follower { return r.journal.follow(after) }

// Finished is closed when the run has ended and everything of it is cleaned
// up.
func (r *Run) Finished() <-chan struct{} { return r.finished }

// Attach says that a client is there; the returned function that it went
// away. When the last one has been gone for a while (5 s) a run that was not asked to
// be detached is stopped.
func (r *Run) Attach() (release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clients++
	if r.leaving != nil {
		r.leaving.Stop()
		r.leaving = nil
	}
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.clients--
		if r.clients == 0 && !r.req.Detach && !r.journal.ended() {
			r.leaving = time.AfterFunc(r.m.o.Timing.Grace, func() { r.stop("disconnect") })
		}
	})
}

// stop asks the run to end. The first reason counts.
func (r *Run) stop(by string) {
	r.stopOnce.Do(func() {
		r.stopBy = by
		close(r.stopping)
	})
}

func (r *Run) isStopping() bool {
	select {
	case <-r.stopping:
		return true
	default:
		return false
	}
}

func (r *Run) provider() string {
	if r.agent == nil {
		return ""
	}
	return r.agent.Provider()
}

func (r *Run) note(code, level, message string) {
	r.journal.append(event.Note{Message: message, Level: level, Code: code})
}

func (r *Run) notes(notes []gitrepo.Note) {
	for _, n := range notes {
		r.note(n.Code, event.Warning, n.Message)
	}
}

func (r *Run) fail(e event.Error) {
	r.failed.Store(true)
	r.journal.append(e)
}

// update changes the run's record and notes it in the ledger, which owes what
// cannot be written. A power cut can take the note: what must survive one is in
// the record of the snapshot before and of each intent, from which recovery
// finds out the rest.
func (r *Run) update(f func(*state.Record)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.record)
	if err := r.m.ledger.note(r.record); err != nil {
		r.journal.append(event.Note{Code: "ledger", Level: event.Warning, Message: "the run could not be noted in the ledger: " + err.Error()})
	}
}

// began is called when the agent reported its session.
func (r *Run) began(e event.Start) {
	r.update(func(rec *state.Record) { rec.Session = e.SessionID })
}

// execute is the run, from the lock that Start took to done.
func (r *Run) execute() {
	// Stopping ends the agent, not our own bookkeeping: git works on a
	// context of its own, so that a run that was stopped still has its change.
	ctx := context.Background()
	defer r.end()
	defer r.rescue()
	for _, n := range r.req.Notes {
		r.note(n.Code, event.Warning, n.Message)
	}
	repo, err := r.openRepo(ctx)
	if err != nil {
		r.fail(snapshotError(err))
		return
	}
	if limit := r.m.o.RunTimeout; limit > 0 {
		defer time.AfterFunc(limit, func() { r.stop("timeout") }).Stop()
	}
	before, tools, ok := r.converse(ctx, repo)
	// A stop that comes from here on is too late: the run ends as it would.
	stopping := r.isStopping()
	if r.stopped = stopping && r.stopBy != ""; r.stopped {
		if r.stopBy == "timeout" {
			r.note("timeout", event.Warning, fmt.Sprintf("the run was stopped because it took longer than %v, the limit that --run-timeout sets", r.m.o.RunTimeout))
		}
		r.journal.append(event.Stopped{By: r.stopBy})
	}
	if before != nil {
		r.settle(ctx, repo, before, tools, ok && !r.failed.Load() && !stopping)
	}
}

// rescue ends the run when something of ours panics: with a word, and without
// its agent. It is deferred in every goroutine of a run.
func (r *Run) rescue() {
	if p := recover(); p != nil {
		fmt.Fprintf(os.Stderr, "slidewrite: run %s: %v\n%s", r.id, p, debug.Stack())
		r.fail(event.Error{Message: fmt.Sprintf("slidewrite failed: %v", p), Code: event.CodeInternal})
		r.stop("")
	}
}

// openRepo returns the repository; where there is none that git takes, nil
// with a note that says what that means. Any other failure is an error: the
// agent must not work where we cannot see what it does.
func (r *Run) openRepo(ctx context.Context) (*gitrepo.Repo, error) {
	repo, err := r.m.Repo(ctx)
	if err == nil || !errors.IsAny(err, gitrepo.ErrNone, gitrepo.ErrBare, gitrepo.ErrUnsafe) {
		return repo, err
	}
	git := gitrepo.StateOf(err)
	msg := git.Detail
	if git.Fix != "" {
		msg += " (" + git.Fix + ")"
	}
	r.note("no_repo", event.Warning, msg)
	return nil, nil
}

// end closes the run: the ledger, the private folder, the lock, done. The
// lock goes before done, so that a client that has seen done can start the
// next run.
func (r *Run) end() {
	r.journal.flushNow() // the ledger must not say done before the events are there
	r.update(func(rec *state.Record) {
		rec.EndedAt = r.m.o.Now()
		rec.State = state.Done
		switch {
		case r.stopped:
			rec.State = state.Stopped
		case r.failed.Load():
			rec.State = state.Failed
		}
	})
	if err := r.m.o.Store.RemoveRunDir(r.id); err != nil {
		r.note("temp", event.Warning, "the run's private folder could not be removed: "+err.Error())
	}
	r.m.ripen(context.Background())
	r.lock.Release()
	r.journal.append(event.Done{})
	r.m.ended(r)
	close(r.finished)
}
