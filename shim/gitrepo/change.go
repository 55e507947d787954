package gitrepo

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/cockroachdb/errors"
)

// Change compares two snapshots of a run: what it did, nothing else. Files are
// sorted by path and never hold a path that either snapshot could not see.
// Notes are those of both snapshots; nobody else need report them.
//
// Costs one git process, none when SnapshotAfter has compared already.
func (r *Repo) Change(ctx context.Context, before, after *Snapshot) (*Change, error) {
	diff := after.diff
	if diff == nil || diff.from != before.Tree || diff.to != after.Tree {
		var err error
		if diff, err = r.diffTrees(ctx, before.Tree, after.Tree); err != nil {
			return nil, err
		}
	}
	c := &Change{Before: before, After: after, Notes: mergeNotes(before.Notes, after.Notes)}
	blind := newBlindSpots(before, after)
	for _, f := range diff.files {
		if !blind.covers(f.Path) {
			c.Files = append(c.Files, f)
		}
	}
	large, err := r.largeChanges(ctx, before, after)
	if err != nil {
		return nil, err
	}
	c.Files = append(c.Files, large...)
	sort.Slice(c.Files, func(i, j int) bool { return c.Files[i].Path < c.Files[j].Path })
	if flipped, err := r.flippedEOLs(ctx, c); err != nil {
		return nil, err
	} else if len(flipped) > 0 {
		c.Notes = append(c.Notes, Note{Code: "eol", Message: nameSome(flipped) + ": every line end changed (LF to CRLF or back) around a small edit"})
	}
	return c, nil
}

// maxEOLFile is the largest file whose lines are counted, in bytes.
const maxEOLFile = 4 << 20

// flippedEOLs lists the files of a change of which every line is new, but few
// but for the line ends. It asks git only where every line is new.
func (r *Repo) flippedEOLs(ctx context.Context, c *Change) ([]string, error) {
	var whole []string
	lines := map[string]int{} // that differ
	for _, f := range c.Files {
		if f.Status == "modified" && !f.Binary && !f.Large && f.Removed > 1 && f.Added > 1 && f.Added >= r.countEOLs(f.Path) {
			whole = append(whole, f.Path)
			lines[f.Path] = f.Added + f.Removed
		}
	}
	if len(whole) == 0 {
		return nil, nil
	}
	var flipped []string
	for _, some := range chunks(whole, maxPathArgs) {
		args := []string{"diff-tree", "-r", "-z", "--numstat", "--ignore-cr-at-eol", "--no-renames", "--no-ext-diff", "--no-textconv", c.Before.Tree, c.After.Tree, "--"}
		out, err := r.git(ctx, call{}, append(args, some...)...)
		if err != nil {
			return nil, errors.Wrap(err, "compare line ends")
		}
		rest, err := parseNumstat(out)
		if err != nil {
			return nil, err
		}
		for _, p := range some {
			if (rest[p].added+rest[p].removed)*2 < lines[p] {
				flipped = append(flipped, p)
			}
		}
	}
	return flipped, nil
}

// countEOLs counts the line ends of a file on disk; of one that cannot be read
// or is very large there are more than any change has.
func (r *Repo) countEOLs(p string) int {
	info, err := os.Lstat(r.file(p))
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxEOLFile {
		return math.MaxInt
	}
	data, err := os.ReadFile(r.file(p))
	if err != nil {
		return math.MaxInt
	}
	return bytes.Count(data, []byte{'\n'})
}

// noIndex is the environment for a git command that would read the whole index
// for nothing.
func (r *Repo) noIndex() []string {
	return []string{"GIT_INDEX_FILE=" + filepath.Join(r.gitDir, "slidewrite-no-index")}
}

// diffTrees compares two trees, line counts included. env goes on top of the
// usual environment.
func (r *Repo) diffTrees(ctx context.Context, from, to string, env ...string) (*treeDiff, error) {
	d := &treeDiff{from: from, to: to}
	if from == to {
		return d, nil
	}
	out, err := r.git(ctx, call{env: env}, "diff-tree", "-r", "-z", "--raw", "--numstat", "--no-renames",
		"--no-ext-diff", "--no-textconv", "--ignore-submodules=none", from, to)
	if err != nil {
		return nil, r.goneOr(ctx, errors.Wrap(err, "compare two snapshots"), from, to)
	}
	entries, rest, err := parseRaw(out)
	if err != nil {
		return nil, err
	}
	stats, err := parseNumstat(rest)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		s := stats[e.path]
		d.files = append(d.files, File{Path: e.path, Status: statusWords[e.status], Old: e.old, New: e.new,
			Added: s.added, Removed: s.removed, Binary: s.binary})
	}
	return d, nil
}

var statusWords = map[byte]string{'A': "added", 'M': "modified", 'D': "deleted", 'T': "typechange"}

// blindSpots are the paths that a snapshot could not see.
type blindSpots struct {
	exact map[string]bool
	below []string // with a trailing slash: what lies in it was unseen at the start
}

func newBlindSpots(before, after *Snapshot) blindSpots {
	b := blindSpots{exact: map[string]bool{}}
	for _, p := range before.Unknown {
		b.exact[p] = true
		b.below = append(b.below, p+"/")
	}
	for _, p := range after.Unknown {
		b.exact[p] = true
	}
	for _, s := range []*Snapshot{before, after} {
		for p := range s.Large {
			b.exact[p] = true
		}
	}
	return b
}

func (b blindSpots) covers(p string) bool {
	if b.exact[p] {
		return true
	}
	for _, dir := range b.below {
		if strings.HasPrefix(p, dir) {
			return true
		}
	}
	return false
}

// largeChanges compares what is known by size and time only. A file that the
// first snapshot stored and that is too large now keeps its old entry in the
// second tree.
func (r *Repo) largeChanges(ctx context.Context, before, after *Snapshot) ([]File, error) {
	var files []File
	var grown []string
	for p, now := range after.Large {
		if was, ok := before.Large[p]; !ok {
			grown = append(grown, p)
		} else if was != now {
			files = append(files, File{Path: p, Status: "modified", Large: true})
		}
	}
	for p := range before.Large {
		if _, ok := after.Large[p]; !ok {
			files = append(files, File{Path: p, Status: "deleted", Large: true})
		}
	}
	if len(grown) == 0 {
		return files, nil
	}
	known, err := r.lsTree(ctx, before.Tree)
	if err != nil {
		return nil, err
	}
	for _, p := range grown {
		f := File{Path: p, Status: "added", Large: true}
		if old, ok := known[p]; ok {
			f.Status, f.Old = "modified", old
		}
		files = append(files, f)
	}
	return files, nil
}

// mergeNotes joins the notes of two snapshots of a run: what the second says
// of a kind holds for both.
func mergeNotes(before, after []Note) []Note {
	said := map[string]bool{}
	for _, n := range after {
		said[n.Code] = true
	}
	var all []Note
	for _, n := range before {
		if !said[n.Code] {
			all = append(all, n)
		}
	}
	return append(all, after...)
}

// maxPathArgs is how many bytes of paths go on one command line.
const maxPathArgs = 16 << 10

// Diff is the unified diff of two trees for people: "a/" and "b/" prefixes,
// three lines of context, no renames, no colour, no external diff or text
// conversion, whatever the user's configuration says; "Binary files differ"
// for binaries. paths limits it, none means all; trees that were dropped are
// ErrGone. Costs one git process (more for very many paths).
func (r *Repo) Diff(ctx context.Context, beforeTree, afterTree string, paths []string) ([]byte, error) {
	args := []string{"diff-tree", "-r", "-p", "-U3", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv",
		"--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--ignore-submodules=none", beforeTree, afterTree, "--"}
	var diff bytes.Buffer
	for _, some := range chunks(paths, maxPathArgs) {
		out, err := r.git(ctx, call{}, append(args[:len(args):len(args)], some...)...)
		if err != nil {
			return nil, r.goneOr(ctx, errors.Wrap(err, "show the change"), beforeTree, afterTree)
		}
		diff.Write(out)
	}
	return diff.Bytes(), nil
}

// goneOr is ErrGone when one of the trees no longer exists, else err.
func (r *Repo) goneOr(ctx context.Context, err error, trees ...string) error {
	out, checkErr := r.git(ctx, call{stdin: []byte(strings.Join(trees, "\n") + "\n")}, "cat-file", "--batch-check=%(objecttype)")
	if checkErr == nil && strings.Count(string(out), "tree\n") < len(trees) { // "<id> missing"
		return ErrGone
	}
	return err
}

// chunks splits sorted paths into lists of at most size bytes each; no paths
// are one empty list.
func chunks(paths []string, size int) [][]string {
	sorted := append([]string(nil), paths...)
	sort.Strings(sorted)
	lists := [][]string{nil}
	used := 0
	for _, p := range sorted {
		last := len(lists) - 1
		if used += len(p) + 1; used > size && len(lists[last]) > 0 {
			lists, last, used = append(lists, nil), last+1, len(p)+1
		}
		lists[last] = append(lists[last], p)
	}
	return lists
}
