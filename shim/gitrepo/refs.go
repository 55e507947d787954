package gitrepo

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// runRefs is where the snapshots of runs are kept alive: each ref points at a
// tree, so that no history viewer shows it.
const runRefs = "refs/slidewrite/runs/"

// keptRuns is how many runs keep their snapshots.
const keptRuns = 200

var runIDPattern = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)

// noReflog: our refs leave no trace in .git/logs even with core.logAllRefUpdates=always.
var noReflog = []string{"core.logAllRefUpdates=false"}

// Keep makes the snapshots of a run survive git gc: a ref to one tree with the
// entries "before" and "after" (after may be nil at first). Run ids sort by
// time; the last 200 are kept. Costs two git processes, and two more where, with
// after == nil, old runs may have to be dropped.
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
	var refs []string
	err = together(
		func() error {
			out, err := r.git(ctx, call{stdin: []byte(lines)}, "mktree", "-z")
			if err == nil {
				_, err = r.git(ctx, call{config: noReflog}, "update-ref", ref, strings.TrimSpace(string(out)))
			}
			return errors.Wrap(err, "keep the snapshots of the run")
		},
		func() (err error) {
			if after == nil && r.mayKeepTooMany() {
				refs, err = r.runRefs(ctx)
			}
			return err
		},
	)
	if err != nil || after != nil {
		return err
	}
	if !slices.Contains(refs, ref) { // listed before it was there
		refs = append(refs, ref)
		slices.Sort(refs)
	}
	return r.deleteRefs(ctx, refs[:max(0, len(refs)-keptRuns)])
}

// mayKeepTooMany tells whether one more run could be one too many: by the files
// alone, which is faster than git. It is true where they do not tell.
func (r *Repo) mayKeepTooMany() bool {
	if _, err := os.Stat(filepath.Join(r.common, "reftable")); !errors.Is(err, fs.ErrNotExist) {
		return true
	}
	loose, err := os.ReadDir(filepath.Join(r.common, filepath.FromSlash(runRefs)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return true
	}
	packed, err := os.ReadFile(filepath.Join(r.common, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return true
	}
	return len(loose)+bytes.Count(packed, []byte(" "+runRefs)) >= keptRuns
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

// DropAll lets the snapshots of all runs go, also of those that nobody knows
// any more, and returns how many; keep names runs whose snapshots stay. Linked
// worktrees have these refs in common. Costs two git processes.
func (r *Repo) DropAll(ctx context.Context, keep func(runID string) bool) (int, error) {
	all, err := r.runRefs(ctx)
	if err != nil {
		return 0, err
	}
	var refs []string
	for _, ref := range all {
		if !keep(strings.TrimPrefix(ref, runRefs)) {
			refs = append(refs, ref)
		}
	}
	if err := r.deleteRefs(ctx, refs); err != nil {
		return 0, err
	}
	broken, err := r.removeBroken(keep)
	return len(refs) + broken, errors.Wrap(err, "drop the broken refs of runs")
}

// removeBroken removes refs that git 2.39 neither lists nor deletes: files
// that a power cut left empty. Everything else is gone by now.
func (r *Repo) removeBroken(keep func(runID string) bool) (int, error) {
	root, err := os.OpenRoot(r.common) // what links elsewhere is not followed
	if err != nil {
		return 0, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), strings.TrimSuffix(runRefs, "/"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	n := 0
	for _, e := range entries {
		// A name that is none of ours may be the lock of a git at work.
		if !e.Type().IsRegular() || !runIDPattern.MatchString(e.Name()) || keep(e.Name()) {
			continue
		}
		if err := root.Remove(runRefs + e.Name()); err != nil {
			return n, err
		}
		n++
	}
	return n, err
}

// runRefs lists the refs of all runs, sorted by name.
func (r *Repo) runRefs(ctx context.Context) ([]string, error) {
	out, err := r.git(ctx, call{}, "for-each-ref", "--format=%(refname)", runRefs)
	return strings.Fields(string(out)), errors.Wrap(err, "list kept runs")
}

func (r *Repo) deleteRefs(ctx context.Context, refs []string) error {
	if len(refs) == 0 {
		return nil
	}
	var in strings.Builder
	for _, ref := range refs {
		fmt.Fprintf(&in, "delete %s\n", ref)
	}
	// no-deref: a symbolic ref that somebody put there must not take the
	// branch along that it names.
	_, err := r.git(ctx, call{stdin: []byte(in.String()), config: noReflog}, "update-ref", "--no-deref", "--stdin")
	return errors.Wrap(err, "drop the snapshots of runs")
}

// runRef is the ref of a run. Ids are ours, but one becomes a ref name here.
func runRef(runID string) (string, error) {
	if !runIDPattern.MatchString(runID) {
		return "", errors.Newf("run id %q cannot be part of a ref name", runID)
	}
	return runRefs + runID, nil
}
