package gitrepo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors"
)

// merger merges tree entries three ways. Blobs it makes are stored in the
// repository at once; a blob nobody ends up using is git gc's business.
type merger struct {
	r     *Repo
	ctx   context.Context
	tmp   string            // folder for merge-file, made on first use
	blobs map[string][]byte // by id
}

func (r *Repo) merger(ctx context.Context) *merger {
	return &merger{r: r, ctx: ctx, blobs: map[string][]byte{}}
}

// close removes the temporary folder.
func (m *merger) close() {
	if m.tmp != "" {
		os.RemoveAll(m.tmp)
	}
}

// merge3 carries the step base → theirs over to ours. ok is false on overlap:
// both changed the same lines (or adjacent ones), or one is not a text file.
// Modes merge apart from content. Where both did the very same to one of the
// two but not to the other, that is overlap as well: whose it is cannot be told.
func (m *merger) merge3(base, ours, theirs Entry) (merged Entry, ok bool, err error) {
	switch {
	case ours == base:
		return theirs, true, nil
	case theirs == base, ours == theirs:
		return ours, true, nil
	case !base.regular() || !ours.regular() || !theirs.regular():
		return Entry{}, false, nil
	}
	mode := ours.Mode
	switch base.Mode {
	case ours.Mode:
		mode = theirs.Mode
	case theirs.Mode:
	default:
		return Entry{}, false, nil
	}
	oid, ok, err := m.mergeText(base.OID, ours.OID, theirs.OID)
	return Entry{Mode: mode, OID: oid}, ok, err
}

// regular tells whether the entry is a plain or executable file.
func (e Entry) regular() bool { return e.Mode == "100644" || e.Mode == "100755" }

// mergeText merges three blobs. Besides merging without a conflict, the step
// must come back: base → ours applied to the result's side has to give theirs
// again. Where lines repeat, a merge can be free of conflicts and still put
// lines in another place than they were; that counts as overlap.
func (m *merger) mergeText(base, ours, theirs string) (oid string, ok bool, err error) {
	switch {
	case ours == base:
		return theirs, true, nil
	case theirs == base:
		return ours, true, nil
	case ours == theirs:
		return "", false, nil
	}
	if err := m.load(base, ours, theirs); err != nil {
		return "", false, err
	}
	b, o, t := m.blobs[base], m.blobs[ours], m.blobs[theirs]
	if isBinary(b) || isBinary(o) || isBinary(t) {
		return "", false, nil
	}
	merged, ok, err := m.mergeFile(b, o, t)
	if err != nil || !ok {
		return "", false, err
	}
	back, ok, err := m.mergeFile(o, b, merged)
	if err != nil || !ok || !bytes.Equal(back, t) {
		return "", false, err
	}
	oid, err = m.store(merged)
	return oid, err == nil, err
}

// binaryPrefix is how much of a file git looks at for a NUL byte.
const binaryPrefix = 8000

// isBinary decides as git does where no attribute speaks.
func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), binaryPrefix)], 0) >= 0
}

// mergeFile runs `git merge-file -p` on temporary files, in a folder where no
// attribute and no merge driver of the repository can reach it.
func (m *merger) mergeFile(base, ours, theirs []byte) ([]byte, bool, error) {
	if m.tmp == "" {
		dir, err := os.MkdirTemp(m.r.temp, "slidewrite-merge-")
		if err != nil {
			return nil, false, errors.Wrap(err, "merge")
		}
		m.tmp = dir
	}
	for name, data := range map[string][]byte{"base": base, "ours": ours, "theirs": theirs} {
		if err := os.WriteFile(filepath.Join(m.tmp, name), data, 0o600); err != nil {
			return nil, false, errors.Wrap(err, "merge")
		}
	}
	out, code, err := m.r.gitExit(m.ctx, call{dir: m.tmp}, "merge-file", "-p", "-q", "ours", "base", "theirs")
	if err != nil && (code < 1 || code > 127) { // 1 to 127: so many conflicts
		return nil, false, err
	}
	return out, code == 0, nil
}

// load reads blobs that are not in memory yet with one git process.
func (m *merger) load(oids ...string) error {
	var want []string
	for _, oid := range oids {
		if _, ok := m.blobs[oid]; !ok && oid != "" {
			m.blobs[oid] = nil
			want = append(want, oid)
		}
	}
	if len(want) == 0 {
		return nil
	}
	out, err := m.r.git(m.ctx, call{stdin: []byte(strings.Join(want, "\n") + "\n")}, "cat-file", "--batch")
	if err != nil {
		return err
	}
	return parseBlobs(out, want, m.blobs)
}

// parseBlobs reads `git cat-file --batch`: "id type size", newline, content,
// newline, for each wanted object in turn.
func parseBlobs(out []byte, want []string, into map[string][]byte) error {
	for _, oid := range want {
		head, rest, ok := bytes.Cut(out, []byte("\n"))
		f := strings.Fields(string(head))
		if !ok || len(f) != 3 || f[0] != oid || f[1] != "blob" {
			return errors.Newf("git cat-file: no blob %s: %.80q", oid, head)
		}
		size, err := strconv.Atoi(f[2])
		if err != nil || size < 0 || size >= len(rest) || rest[size] != '\n' {
			return errors.Newf("git cat-file: unexpected size %.80q", head)
		}
		into[oid] = rest[:size:size]
		out = rest[size+1:]
	}
	return nil
}

// store writes a blob and returns its id.
func (m *merger) store(data []byte) (string, error) {
	if data == nil {
		data = []byte{}
	}
	out, err := m.r.git(m.ctx, call{stdin: data}, "hash-object", "-w", "--stdin", "--no-filters")
	oid := strings.TrimSpace(string(out))
	if err == nil {
		m.blobs[oid] = data
	}
	return oid, err
}

// differences returns the paths that differ between two trees.
func (r *Repo) differences(ctx context.Context, from, to string) (map[string]rawEntry, error) {
	if from == to {
		return nil, nil
	}
	out, err := r.git(ctx, call{env: r.noIndex()}, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=none", from, to, "--")
	if err != nil {
		return nil, err
	}
	list, _, err := parseRaw(out)
	diff := make(map[string]rawEntry, len(list))
	for _, e := range list {
		diff[e.path] = e
	}
	return diff, err
}

// indexDiff returns the paths whose index entry is not that of a tree:
// staged, intent-to-add and unmerged ones (an Entry that is not Absent).
func (r *Repo) indexDiff(ctx context.Context, tree string) (map[string]Entry, error) {
	out, err := r.git(ctx, call{}, "diff-index", "--cached", "-z", "--raw", "--no-renames", "--no-abbrev",
		"--ita-visible-in-index", "--ignore-submodules=none", tree, "--")
	if err != nil {
		return nil, err
	}
	return parseIndexDiff(out)
}

// unmergedMode stands for an index entry with conflict stages.
const unmergedMode = "unmerged"

// parseIndexDiff reads `git diff-index --cached -z --raw`: as parseRaw, plus
// the status U of an unmerged path, which has no mode and no id.
func parseIndexDiff(out []byte) (map[string]Entry, error) {
	diff := map[string]Entry{}
	fields := splitNUL(out)
	if len(fields)%2 != 0 {
		return nil, errors.Newf("git diff-index: %d fields", len(fields))
	}
	for i := 0; i < len(fields); i += 2 {
		f := strings.Split(strings.TrimPrefix(fields[i], ":"), " ")
		if len(f) != 5 || fields[i+1] == "" {
			return nil, errors.Newf("git diff-index: unexpected record %.80q", fields[i])
		}
		if f[4] == "U" {
			diff[fields[i+1]] = Entry{Mode: unmergedMode}
		} else if _, seen := diff[fields[i+1]]; !seen { // an unmerged path comes twice
			diff[fields[i+1]] = entryOf(f[1], f[3])
		}
	}
	return diff, nil
}

// indexEntry is one path of the user's index.
type indexEntry struct {
	Entry
	unmerged     bool
	intentToAdd  bool // `git add -N`: a promise, no content
	assume, skip bool // assume-unchanged, skip-worktree
}

// Flags as `git ls-files --debug` prints them (cache.h, git 2.39).
const (
	debugAssume      = 1 << 15
	debugIntentToAdd = 1 << 29
	debugSkip        = 1 << 30
)

// argvLimit is how many bytes of paths are passed as arguments (Windows allows
// 32 KiB for the whole command line); beyond, the whole index is listed.
const argvLimit = 16 << 10

// indexEntries reads the entries of some paths from the user's index.
func (r *Repo) indexEntries(ctx context.Context, paths []string) (map[string]indexEntry, error) {
	args := []string{"ls-files", "-s", "-z", "--debug", "--"}
	size := 0
	for _, p := range paths {
		size += len(p) + 3
	}
	if size <= argvLimit {
		args = append(args, paths...)
	}
	out, err := r.git(ctx, call{}, args...)
	if err != nil {
		return nil, err
	}
	return parseIndexEntries(out)
}

// parseIndexEntries reads `git ls-files -s -z --debug`: "mode id stage TAB
// path", NUL, then five lines of which the last ends in "flags: <hex>".
func parseIndexEntries(out []byte) (map[string]indexEntry, error) {
	entries := map[string]indexEntry{}
	for len(out) > 0 {
		rec, rest, ok := bytes.Cut(out, []byte{0})
		meta, path, ok2 := strings.Cut(string(rec), "\t")
		f := strings.Fields(meta)
		if !ok || !ok2 || len(f) != 3 || path == "" {
			return nil, errors.Newf("git ls-files: unexpected record %.80q", rec)
		}
		var debug []byte
		for range 5 {
			if debug, rest, ok = bytes.Cut(rest, []byte("\n")); !ok {
				return nil, errors.Newf("git ls-files: debug lines of %.80q end early", path)
			}
		}
		_, hex, _ := strings.Cut(string(debug), "flags: ")
		flags, err := strconv.ParseUint(hex, 16, 64)
		if err != nil {
			return nil, errors.Newf("git ls-files: unexpected flags %.80q", debug)
		}
		e := entries[path]
		e.Entry = Entry{Mode: f[0], OID: f[1]}
		e.unmerged = e.unmerged || f[2] != "0"
		e.intentToAdd = flags&debugIntentToAdd != 0
		e.assume, e.skip = flags&debugAssume != 0, flags&debugSkip != 0
		entries[path] = e
		out = rest
	}
	return entries, nil
}

// indexInfo is the input of `git update-index -z --index-info` that sets
// entries; an absent one is removed. Removals come first, so that a file can
// take the place of a folder and the other way round.
func indexInfo(entries map[string]Entry, hashLike string) []byte {
	var removed, set bytes.Buffer
	zero := zeroID(hashLike)
	for path, e := range entries {
		if e.Absent() {
			fmt.Fprintf(&removed, "0 %s\t%s\x00", zero, path)
		} else {
			fmt.Fprintf(&set, "%s %s 0\t%s\x00", e.Mode, e.OID, path)
		}
	}
	return append(removed.Bytes(), set.Bytes()...)
}

// zeroID is the id of nothing in the hash of another id.
func zeroID(like string) string { return strings.Repeat("0", max(len(like), 40)) }
