package gitrepo

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
)

// Uncovered returns those of the paths, relative to the top level or absolute,
// that no snapshot can hold: outside the repository, in a submodule or nested
// repository, behind a symbolic link, or ignored by git and not tracked. They
// are neither part of a change nor can an edit of them be undone.
func (r *Repo) Uncovered(ctx context.Context, paths []string) ([]string, error) {
	var uncovered, inside []string
	for _, p := range unique(paths) {
		switch {
		case filepath.IsAbs(p) || p == ".." || strings.HasPrefix(p, "../"):
			uncovered = append(uncovered, p)
		case r.elsewhere(p) || r.isPrivate(p):
			uncovered = append(uncovered, p)
		default:
			inside = append(inside, p)
		}
	}
	if len(inside) > 0 {
		// Without --no-index: a tracked file is never ignored.
		in := []byte(strings.Join(inside, "\x00") + "\x00")
		out, _, err := r.gitExit(ctx, call{stdin: in, globs: true, okExits: []int{1}}, "check-ignore", "-z", "--stdin")
		if err != nil {
			return nil, err
		}
		uncovered = append(uncovered, splitNUL(out)...)
	}
	sort.Strings(uncovered)
	return uncovered, nil
}

// elsewhere tells whether a folder above p, below the top level, is a
// repository of its own or a symbolic link.
func (r *Repo) elsewhere(p string) bool {
	for dir := path.Dir(p); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if info, err := os.Lstat(r.file(dir)); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return true
		}
		if _, err := os.Lstat(r.file(dir + "/.git")); err == nil {
			return true
		}
	}
	return false
}

func unique(list []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
