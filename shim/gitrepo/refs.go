package gitrepo

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/cockroachdb/errors"
)

// runRefs is where the snapshots of runs are kept alive: each ref points at a
// tree, so that no history viewer shows it.
const runRefs = "refs/slidewrite/runs/"

// keptRuns is how many runs keep their snapshots.
const keptRuns = 200

var runIDPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)

// noReflog: our refs leave no trace in .git/logs even with core.logAllRefUpdates=always.
var noReflog = []string{"core.logAllRefUpdates=false"}

// Keep makes the snapshots of a run survive git gc: a ref to one tree with the
// entries "before" and "after" (after may be nil at first). Run ids sort by
// time; the last 200 are kept. Costs two git processes, a third with after ==
// nil, and a fourth where old runs are dropped.
func (r *Repo) Keep(ctx context.Context, runID string, before, after *Snapshot) error {
	ref, err := runRef(runID)
	if err != nil {
		return err
	}
	lines := ""
	if after != nil {
		lines = fmt.Sprintf("040000 tree %s\tafter\x00", after.Tree)
	}
	lines += fmt.Sprintf("040000 tree %s\tbefore\x00", before.Tree)
	out, err := r.git(ctx, call{stdin: []byte(lines)}, "mktree", "-z")
	if err != nil {
		return errors.Wrap(err, "keep the snapshots of the run")
	}
	if _, err := r.git(ctx, call{config: noReflog}, "update-ref", ref, strings.TrimSpace(string(out))); err != nil {
		return errors.Wrap(err, "keep the snapshots of the run")
	}
	if after == nil {
		return r.prune(ctx)
	}
	return nil
}

// Drop lets the snapshots of a run go; a run that has none is no error. Costs
// one git process.
func (r *Repo) Drop(ctx context.Context, runID string) error {
	ref, err := runRef(runID)
	if err != nil {
		return err
	}
	return r.deleteRefs(ctx, []string{ref})
}

// prune drops the oldest runs beyond keptRuns.
func (r *Repo) prune(ctx context.Context) error {
	out, err := r.git(ctx, call{}, "for-each-ref", "--format=%(refname)", runRefs)
	if err != nil {
		return errors.Wrap(err, "list kept runs")
	}
	refs := strings.Fields(string(out)) // sorted by name
	if len(refs) <= keptRuns {
		return nil
	}
	return r.deleteRefs(ctx, refs[:len(refs)-keptRuns])
}

func (r *Repo) deleteRefs(ctx context.Context, refs []string) error {
	var in strings.Builder
	for _, ref := range refs {
		fmt.Fprintf(&in, "delete %s\n", ref)
	}
	_, err := r.git(ctx, call{stdin: []byte(in.String()), config: noReflog}, "update-ref", "--stdin")
	return errors.Wrap(err, "drop the snapshots of old runs")
}

// runRef is the ref of a run. Ids are ours, but one becomes a ref name here.
func runRef(runID string) (string, error) {
	if !runIDPattern.MatchString(runID) {
		return "", errors.Newf("run id %q cannot be part of a ref name", runID)
	}
	return runRefs + runID, nil
}
