package gitrepo

import (
	"path/filepath"
	"strings"
)

// SetPrivate names folders of ours (absolute real paths; they need not exist)
// that may lie in the working tree, as where a home folder is a repository: no
// snapshot looks at them. What git does not track there is never stored. What
// somebody has tracked there keeps its entry and is never part of a change: it
// is our own work in progress, and to commit it or take it back would break
// it. Folders that do not lie below the top level do not matter. Call it
// before anything else.
func (r *Repo) SetPrivate(dirs ...string) {
	for _, dir := range dirs {
		rel, err := filepath.Rel(r.top, dir)
		if err == nil && filepath.IsLocal(rel) && rel != "." {
			r.private = append(r.private, filepath.ToSlash(rel))
		}
	}
}

// isPrivate tells whether a path of the repository is a private folder or lies
// in one.
func (r *Repo) isPrivate(p string) bool {
	for _, dir := range r.private {
		if rest, ok := strings.CutPrefix(p, dir); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// splitPrivate takes the paths in private folders out of a difference: what the
// run staged there, or took out of the index. It returns them with the entry
// that before has.
func (t *taker) splitPrivate(diff *treeDiff) (others *treeDiff, private map[string]Entry) {
	if len(t.r.private) == 0 {
		return diff, nil
	}
	others, private = &treeDiff{from: diff.from, to: diff.to}, map[string]Entry{}
	for _, f := range diff.files {
		if t.r.isPrivate(f.Path) {
			private[f.Path] = f.Old
		} else {
			others.files = append(others.files, f)
		}
	}
	return others, private
}
