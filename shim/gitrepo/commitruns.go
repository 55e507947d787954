package gitrepo

import (
	"bytes"
	"context"
	"maps"
	"slices"
)

// CommitRuns makes one commit of the changes of several runs that were not
// committed, by the rules of Commit: as if each had been committed after the
// other on top of the HEAD of now, and these commits then been made one. HEAD
// may have moved since the runs, to wherever; what does not go onto it is left
// out, and so is what is not in the working tree any more.
//
// A *Refusal: nothing was committed, and all is as it was.
func (r *Repo) CommitRuns(ctx context.Context, req CommitRunsRequest) (*CommitRunsResult, error) {
	newest := req.Runs[len(req.Runs)-1].Change
	c, err := r.committer(ctx, CommitRequest{
		RunID: req.RunID, Change: newest, AsUser: req.AsUser, Verify: req.Verify, Record: req.Record,
	})
	if err != nil {
		return nil, err
	}
	after := &Snapshot{Tree: newest.After.Tree, Exclude: r.excludePatterns()}
	for _, run := range req.Runs {
		for _, f := range run.Change.Files {
			after.Cleared = append(after.Cleared, f.Path)
		}
	}
	now, err := r.SnapshotAfter(ctx, after)
	if err != nil {
		return nil, err
	}
	c.several = &several{runs: slices.Clone(req.Runs), message: req.Message, now: now}
	result, err := c.commit(ctx)
	if err != nil {
		return nil, err
	}
	return &CommitRunsResult{CommitResult: *result, Runs: c.several.held}, nil
}

// several are the runs of one commit.
type several struct {
	runs    []RunChange // oldest first; one without an id is what a hook rewrote
	message func(ids []string) string
	now     *Snapshot // the working tree

	// As planned last.
	held  []HeldRun
	paths map[string]bool // that the commit changes
}

// planSeveral decides what goes into the commit: path by path the steps before →
// after of each run, one onto the other, from HEAD on.
func (c *committer) planSeveral(ctx context.Context) (*plan, []Note, error) {
	head, err := c.r.head(ctx)
	if err != nil {
		return nil, nil, err
	}
	s := c.several
	f, inNow, err := s.gather(ctx, c.r, head.treeish(s.now.Tree))
	if err != nil {
		return nil, nil, err
	}
	p := &plan{head: head.Head, treeish: head.treeish(s.now.Tree), clean: len(f.staged) == 0,
		tree: map[string]Entry{}, old: map[string]Entry{}, index: map[string]indexChange{}}
	m := c.r.merger(ctx)
	defer m.close()
	var notes []Note
	if ref := s.runs[0].Change.Before.Head.Ref; ref != head.Ref {
		notes = append(notes, Note{Code: "head_moved", Message: "the commit is on " + describe(head.Head) + ", the runs were made on " + describe(Head{Ref: ref, Commit: s.runs[0].Change.Before.Head.Commit})})
	}
	files, steps, err := p.stack(m, f, s.runs)
	if err != nil {
		return nil, nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(p.tree)) {
		stays, err := p.land(m, f, files[path], inNow)
		if err != nil {
			return nil, nil, err
		}
		if !stays {
			delete(steps, path)
		}
	}
	wanted := slices.Collect(maps.Keys(p.tree))
	all := &Change{}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		all.Files = append(all.Files, files[path])
	}
	p.dropBlocked(f, all)
	for _, path := range wanted {
		if _, ok := p.tree[path]; !ok {
			delete(steps, path)
		}
	}
	p.once()
	notes = append(notes, p.notes...)
	if len(p.tree) == 0 {
		return nil, nil, nothingLeft(p, notes)
	}
	before := idsOf(s.held)
	s.hold(p, steps)
	if ids := idsOf(s.held); !slices.Equal(ids, before) { // else a hook may have edited the message
		c.message = withoutNUL(s.message(ids))
	}
	return p, notes, nil
}

// gather asks git for the facts: those of a plan, where HEAD differs from any of
// the first snapshots, and the entries of the working tree that are not HEAD's.
func (s *several) gather(ctx context.Context, r *Repo, treeish string) (f facts, inNow map[string]rawEntry, err error) {
	f.fromHead = map[string]rawEntry{}
	var paths []string
	for _, run := range s.runs {
		for _, file := range run.Change.Files {
			paths = append(paths, file.Path)
		}
	}
	err = together(
		func() error {
			for _, run := range s.runs {
				diff, err := r.differences(ctx, treeish, run.Change.Before.Tree)
				if err != nil {
					return err
				}
				maps.Copy(f.fromHead, diff) // only HEAD's side of it is looked at
			}
			return nil
		},
		func() (err error) { inNow, err = r.differences(ctx, treeish, s.now.Tree); return },
		func() (err error) { f.staged, err = r.indexDiff(ctx, treeish); return },
		func() (err error) { f.index, err = r.indexEntries(ctx, paths); return },
	)
	return f, inNow, err
}

// stack puts the steps of the runs one onto the other. It fills the plan's tree
// with where each path ends, and returns the paths of all runs, each as the
// first run has it, and which runs took part in each.
func (p *plan) stack(m *merger, f facts, runs []RunChange) (files map[string]File, steps map[string][]int, err error) {
	files, steps = map[string]File{}, map[string][]int{}
	for i, run := range runs {
		for _, file := range run.Change.Files {
			if _, ok := files[file.Path]; !ok {
				files[file.Path] = file
			}
			on, ok := p.tree[file.Path]
			if !ok {
				on = inTree(f.fromHead, file)
			}
			target, ok, err := p.step(m, on, file, f.index[file.Path])
			if err != nil {
				return nil, nil, err
			}
			if ok && target != on {
				p.tree[file.Path] = target
				steps[file.Path] = append(steps[file.Path], i)
			}
		}
	}
	return files, steps, nil
}

// step puts the change of one path onto an entry; false = it is left out.
func (p *plan) step(m *merger, on Entry, file File, idx indexEntry) (target Entry, ok bool, err error) {
	name := "`" + file.Path + "`"
	if code, why := neverCommitted(file, idx); code != "" {
		p.leave(file.Path, code, name+why)
		return on, false, nil
	}
	switch {
	case on == file.New, on == file.Old:
		return file.New, true, nil
	case on.Absent() && !file.Old.Absent():
		p.leave(file.Path, "left_out", name+" is not in git yet; commit it yourself")
		return on, false, nil
	}
	target, ok, err = m.merge3(file.Old, on, file.New)
	if err == nil && !ok {
		p.leave(file.Path, "overlap", name+" has other work where the run changed it: yours, or what is committed by now; commit it yourself")
	}
	return target, ok, err
}

// land finishes one path of the plan's tree: what comes to what HEAD has is
// taken out, and so is, with false, what is not in the working tree any more; the
// index follows the rest.
func (p *plan) land(m *merger, f facts, file File, inNow map[string]rawEntry) (stays bool, err error) {
	path := file.Path
	head, target := inTree(f.fromHead, file), p.tree[path]
	if target == head {
		delete(p.tree, path)
		return true, nil
	}
	now := head
	if d, ok := inNow[path]; ok {
		now = d.new
	}
	gone, err := m.gone(head, target, now)
	if err != nil {
		return false, err
	}
	if gone {
		delete(p.tree, path)
		p.leave(path, "left_out", "`"+path+"` does not have the change any more: it was taken out of the working tree")
		return false, nil
	}
	p.old[path] = head
	return true, p.addIndex(m, path, head, target, f.index[path])
}

// gone tells whether nothing of the step from → to is left in now: to take it
// back would change nothing.
func (m *merger) gone(from, to, now Entry) (bool, error) {
	switch {
	case now == from:
		return true, nil
	case now == to || !from.regular() || !to.regular() || !now.regular() || from.OID == to.OID:
		return false, nil
	}
	if err := m.load(from.OID, to.OID, now.OID); err != nil {
		return false, err
	}
	f, t, n := m.blobs[from.OID], m.blobs[to.OID], m.blobs[now.OID]
	if isBinary(f) || isBinary(t) || isBinary(n) {
		return false, nil
	}
	back, ok, err := m.mergeFile(t, n, f)
	return ok && bytes.Equal(back, n), err
}

// once drops what several runs said of the same path.
func (p *plan) once() {
	slices.Sort(p.leftOut)
	p.leftOut = slices.Compact(p.leftOut)
	seen := map[Note]bool{}
	p.notes = slices.DeleteFunc(p.notes, func(n Note) bool {
		again := seen[n]
		seen[n] = true
		return again
	})
}

// hold notes which runs have a part in a plan, and in what of it.
func (s *several) hold(p *plan, steps map[string][]int) {
	s.held, s.paths = nil, map[string]bool{}
	for path := range p.tree {
		s.paths[path] = true
	}
	for i, run := range s.runs {
		held, part := HeldRun{ID: run.ID}, false
		for _, f := range run.Change.Files {
			if slices.Contains(steps[f.Path], i) {
				part = true
			} else {
				held.LeftOut = append(held.LeftOut, []byte(f.Path))
			}
		}
		if part && run.ID != "" {
			s.held = append(s.held, held)
		}
	}
}

func idsOf(runs []HeldRun) []string {
	var ids []string
	for _, run := range runs {
		ids = append(ids, run.ID)
	}
	return ids
}

// takeRewrite tells whether the hooks have rewritten files of the commit. What
// they did is one more step, on top of those of the runs, and no run's.
func (s *several) takeRewrite(ctx context.Context, r *Repo) (bool, error) {
	after, err := r.SnapshotAfter(ctx, s.now)
	if err != nil {
		return false, err
	}
	change, err := r.Change(ctx, s.now, after)
	if err != nil {
		return false, err
	}
	change.Files = slices.DeleteFunc(change.Files, func(f File) bool { return !s.paths[f.Path] })
	if len(change.Files) == 0 {
		return false, nil
	}
	s.runs, s.now = append(s.runs, RunChange{Change: change}), after
	return true, nil
}
