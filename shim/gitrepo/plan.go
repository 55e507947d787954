package gitrepo

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
)

// plan is a commit computed against one HEAD: what its tree and the user's
// index become, path by path.
type plan struct {
	head    Head
	treeish string           // HEAD's commit, or the empty tree before the first one
	tree    map[string]Entry // committed paths; Absent = removed
	old     map[string]Entry // the same paths in HEAD
	index   map[string]indexChange
	clean   bool        // the user's index was HEAD's tree
	plain   bool        // and git had noted so in it, and no entry hides its file from git
	image   *indexImage // what the user's index becomes; nil = it is made from a copy of it
	leftOut []string
	notes   []Note
}

// indexChange is one path of the user's index, before and after the commit.
type indexChange struct {
	Old    Entry `json:"old"`
	New    Entry `json:"new"`
	Assume bool  `json:"assume,omitempty"` // the bits that the new entry gets back
	Skip   bool  `json:"skip,omitempty"`
}

// facts are what a plan is computed from.
type facts struct {
	fromHead map[string]rawEntry   // HEAD → before, where they differ
	oldHead  map[string]rawEntry   // HEAD when the run began → before; only where the agent committed
	staged   map[string]Entry      // index entries that are not HEAD's
	index    map[string]indexEntry // of the changed paths
	plain    bool                  // see plan
}

// together runs functions at the same time and returns their first error.
func together(fns ...func() error) error {
	errs := make([]error, len(fns))
	var wg sync.WaitGroup
	for i, fn := range fns {
		wg.Go(func() { errs[i] = fn() })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// treeish names the tree of the HEAD that a snapshot saw.
func (s *Snapshot) treeish() string {
	if s.headTree != "" {
		return s.headTree
	}
	return s.Head.treeish(s.Tree)
}

// treeish names the tree of a HEAD: its commit, or the empty tree (in the hash
// of another id) before the first one.
func (h Head) treeish(hashLike string) string {
	if h.Commit == "" {
		return emptyTree(hashLike)
	}
	return h.Commit
}

// planCommit decides, for every path of the change, what becomes of it in a
// commit on top of head, by facts gathered for that HEAD. agent tells that the
// agent made commits of its own during the run; only limits the commit to some
// paths (nil = all).
func (r *Repo) planCommit(ctx context.Context, c *Change, head Head, f facts, agent bool, only map[string]bool) (*plan, error) {
	p := &plan{head: head, treeish: head.treeish(c.Before.Tree), clean: len(f.staged) == 0, plain: f.plain,
		tree: map[string]Entry{}, old: map[string]Entry{}, index: map[string]indexChange{}}
	m := r.merger(ctx)
	defer m.close()
	for _, file := range c.Files {
		if only != nil && !only[file.Path] {
			p.leave(file.Path, "left_out", "`"+file.Path+"` was not in the run's commit, so it is not in this one")
			continue
		}
		if err := p.add(m, f, c, file, agent); err != nil {
			return nil, err
		}
	}
	p.dropBlocked(f, c)
	return p, nil
}

// gather asks git for the facts, all at once. Where nothing is staged and no
// entry is hidden, the index says what HEAD says and is not asked for more.
// treeish is HEAD's commit or tree; only of a tree can be seen that the index
// stands for it.
func (r *Repo) gather(ctx context.Context, c *Change, treeish string, agent bool) (f facts, err error) {
	hides := true
	err = together(
		func() (err error) { f.fromHead, err = r.differences(ctx, treeish, c.Before.Tree); return },
		func() (err error) {
			var index indexFacts
			index, hides = r.indexFacts()
			if f.plain = !hides && index.tree == treeish; f.plain {
				return nil
			}
			f.staged, err = r.indexDiff(ctx, treeish)
			return
		},
		func() (err error) {
			if !agent {
				return nil
			}
			f.oldHead, err = r.differences(ctx, c.Before.treeish(), c.Before.Tree)
			return
		},
	)
	if err != nil {
		return f, err
	}
	if len(f.staged) > 0 || hides {
		paths := make([]string, 0, len(c.Files))
		for _, file := range c.Files {
			paths = append(paths, file.Path)
		}
		f.index, err = r.indexEntries(ctx, paths)
		return f, err
	}
	f.index = map[string]indexEntry{}
	for _, file := range c.Files {
		if head := inTree(f.fromHead, file); !head.Absent() {
			f.index[file.Path] = indexEntry{Entry: head}
		}
	}
	return f, nil
}

// indexFacts reads the user's index. In doubt it may hide a file.
func (r *Repo) indexFacts() (facts indexFacts, mayHide bool) {
	data, err := os.ReadFile(r.indexPath())
	if err != nil {
		return facts, !os.IsNotExist(err)
	}
	facts, err = scanIndex(data, r.hashLen())
	return facts, err != nil || facts.hides
}

// inTree is a path's entry in the tree that diff leads from to `before`.
func inTree(diff map[string]rawEntry, file File) Entry {
	if d, ok := diff[file.Path]; ok {
		return d.old
	}
	return file.Old
}

// add puts one path of the change into the plan, or leaves it out with a note.
func (p *plan) add(m *merger, f facts, c *Change, file File, agent bool) error {
	head, idx := inTree(f.fromHead, file), f.index[file.Path]
	name := "`" + file.Path + "`"
	if code, why := neverCommitted(file, idx); code != "" {
		p.leave(file.Path, code, name+why)
		return nil
	}
	switch {
	case head == file.New && head.Absent() && !agent:
		p.leave(file.Path, "left_out", name+" was not in git, so there is no deletion to commit")
		return nil
	case head == file.New && !agent && p.head == c.Before.Head:
		p.leave(file.Path, "overlap", name+" was uncommitted work of yours, and the run took it back: there is nothing to commit")
		return nil
	case head == file.New: // HEAD has it already: the agent's own commit, or the user's
		return nil
	case head.Absent() && !file.Old.Absent():
		p.leave(file.Path, "left_out", name+" is not in git yet; commit it yourself")
		return nil
	}
	target, ok := file.New, true
	if head != file.Old && !(agent && inTree(f.oldHead, file) == file.Old) {
		var err error
		if target, ok, err = m.merge3(file.Old, head, file.New); err != nil {
			return err
		}
	}
	if !ok {
		p.leave(file.Path, "overlap", name+" has uncommitted work of yours where the run changed it; commit it yourself")
		return nil
	}
	if target == head {
		return nil
	}
	p.tree[file.Path], p.old[file.Path] = target, head
	return p.addIndex(m, file.Path, head, target, idx)
}

// neverCommitted says why a path is in no commit of ours, whatever HEAD has;
// code "" = it may be.
func neverCommitted(file File, idx indexEntry) (code, why string) {
	switch {
	case file.Yours:
		return "yours", " was changed by you during the run; commit it yourself"
	case file.Held:
		return "held", " holds uncommitted work of yours under a new name; commit it yourself"
	case file.Large:
		return "large_file", " is too large to be committed"
	case idx.unmerged:
		return "left_out", " has merge conflicts in the index; resolve them and commit it yourself"
	}
	return "", ""
}

// addIndex carries the committed step head → target over to the user's index
// entry.
func (p *plan) addIndex(m *merger, path string, head, target Entry, idx indexEntry) error {
	entry, ok := target, true
	switch {
	case idx.intentToAdd:
		ok = head.Absent() // a promise of a file that HEAD has: leave it
	case idx.Entry != head:
		var err error
		if entry, ok, err = m.merge3(head, idx.Entry, target); err != nil {
			return err
		}
	}
	if !ok {
		p.notes = append(p.notes, Note{Code: "overlap",
			Message: "what you had staged of `" + path + "` overlaps with the commit and stays as it was"})
		return nil
	}
	if entry != idx.Entry || idx.intentToAdd {
		p.index[path] = indexChange{Old: idx.Entry, New: entry, Assume: idx.assume, Skip: idx.skip}
	}
	return nil
}

// leave keeps a path out of the commit.
func (p *plan) leave(path, code, message string) {
	p.leftOut = append(p.leftOut, path)
	p.notes = append(p.notes, Note{Code: code, Message: message})
}

// dropBlocked leaves out every file whose place (a file where it needs a
// folder, or the other way round) is held in HEAD or in the index by a path
// that this commit does not remove.
func (p *plan) dropBlocked(f facts, c *Change) {
	held := map[string]bool{}
	hold := func(path string, inHead, inIndex bool) {
		if target, ok := p.tree[path]; inHead && !(ok && target.Absent()) {
			held[path] = true
		}
		if change, ok := p.index[path]; inIndex && !(ok && change.New.Absent()) {
			held[path] = true
		}
	}
	for path, d := range f.fromHead {
		hold(path, !d.old.Absent(), false)
	}
	for path, e := range f.staged {
		hold(path, false, !e.Absent())
	}
	for _, file := range c.Files {
		_, indexed := f.index[file.Path]
		hold(file.Path, !inTree(f.fromHead, file).Absent(), indexed)
	}
	sorted := make([]string, 0, len(held))
	for path := range held {
		sorted = append(sorted, path)
	}
	sort.Strings(sorted)
	for _, file := range c.Files {
		if target, ok := p.tree[file.Path]; !ok || target.Absent() {
			continue
		}
		if by := blocker(file.Path, held, sorted); by != "" {
			delete(p.tree, file.Path)
			delete(p.old, file.Path)
			delete(p.index, file.Path)
			p.leave(file.Path, "left_out", fmt.Sprintf("`%s` is left out: `%s` is in its place; commit it yourself", file.Path, by))
		}
	}
}

// blocker returns a held path that is a folder's file name or a file inside
// what path names, "" for none. sorted holds the keys of held in order.
func blocker(path string, held map[string]bool, sorted []string) string {
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		if held[path[:i]] {
			return path[:i]
		}
	}
	i := sort.SearchStrings(sorted, path+"/")
	if i < len(sorted) && strings.HasPrefix(sorted[i], path+"/") {
		return sorted[i]
	}
	return ""
}

// indexTargets are the plan's changes of the user's index.
func indexTargets(index map[string]indexChange) map[string]Entry {
	entries := make(map[string]Entry, len(index))
	for path, change := range index {
		entries[path] = change.New
	}
	return entries
}
