package run

import (
	"context"
	"slices"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/state"
)

// Forgotten is what was wiped of one repository.
type Forgotten struct {
	Runs int // with their prompts and journals
	Refs int // to the snapshots of runs, also of runs nobody knew any more

	Undoable int // runs that could have been undone
}

// Forget wipes all that is kept of the runs in this repository: ledger,
// journals, temporary files, and the refs to their snapshots. The working
// tree, the index and all commits stay. What a dead shim left half done is
// finished or rolled back first; a run for which that fails is kept.
//
// It fails with *BusyError while a run is on. On any other error the rest has
// been wiped all the same; calling it again goes on where it ended.
func (m *Manager) Forget(ctx context.Context) (Forgotten, error) {
	lock, err := m.lock(state.NewRunID(), "", m.o.Now())
	if err != nil {
		return Forgotten{}, err
	}
	defer lock.Release()
	if err := m.putInOrder(context.WithoutCancel(ctx)); err != nil {
		return Forgotten{}, err
	}
	repo, gitErr := m.Repo(ctx)
	noGit := errors.Is(gitErr, gitrepo.ErrNone)
	var halfDone []string
	if !noGit { // nothing can be finished where there is no repository any more
		if halfDone, err = m.halfDone(); err != nil {
			return Forgotten{}, err
		}
	}
	keep := func(id string) bool { return slices.Contains(halfDone, id) }

	// The prompts first, the refs are of no use without them.
	var f Forgotten
	if f.Undoable, err = m.countUndoable(); err != nil {
		m.logf("how many runs could be undone is not known: %v", err)
	}
	f.Runs, err = m.o.Store.Forget(keep)
	if gitErr == nil {
		var dropErr error
		f.Refs, dropErr = m.dropAll(ctx, repo, keep)
		err = errors.CombineErrors(err, dropErr)
	} else if !noGit {
		err = errors.CombineErrors(err, errors.Wrap(gitErr, "the refs under refs/slidewrite/runs, if there are any, are left"))
	}
	if len(halfDone) > 0 {
		const kept = "what run %s had begun could not be finished or rolled back, so it is kept"
		if gitErr != nil {
			return f, errors.Wrapf(gitErr, kept, halfDone[0])
		}
		err = errors.CombineErrors(errors.WithHint(errors.Newf(kept, halfDone[0]), "look at `git status`, then once more: slidewrite forget"), err)
	}
	return f, err
}

// countUndoable is how many runs an undo would do something to.
func (m *Manager) countUndoable() (n int, err error) {
	records, err := m.ledger.list()
	for _, rec := range records {
		if summary(rec).Undoable {
			n++
		}
	}
	return n, err
}

// halfDone are the runs of dead shims that were about to change the
// repository, as far as they could not be put in order.
func (m *Manager) halfDone() ([]string, error) {
	records, err := m.ledger.list()
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, rec := range records {
		if len(rec.Intent) > 0 && (rec.State == state.Running || rec.State == state.Interrupted) {
			ids = append(ids, rec.ID)
		}
	}
	return ids, nil
}

// dropAll drops the refs of all runs but those to keep and those of linked
// worktrees, which have ledgers of their own.
func (m *Manager) dropAll(ctx context.Context, repo *gitrepo.Repo, keep func(id string) bool) (int, error) {
	elsewhere, err := m.o.Store.RunsElsewhere()
	if err != nil {
		return 0, err
	}
	n, err := repo.DropAll(ctx, func(id string) bool { return keep(id) || elsewhere[id] })
	return n, errors.WithHint(err, "see to it that "+repo.Top()+" can be written to and no other git works in it, then once more: slidewrite forget")
}

// wiped tells whether a run that has ended was forgotten meanwhile, perhaps
// by another process, and then lets go of it here, too.
func (m *Manager) wiped(r *Run) bool {
	select {
	case <-r.finished:
	default:
		return false
	}
	if _, err := m.o.Store.Get(r.id); !errors.Is(err, state.ErrNoRecord) {
		return false
	}
	m.forget(r.id)
	return true
}
