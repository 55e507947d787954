package gitrepo

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors"
)

// statusEntry is one record of `git status --porcelain=v1 -z`.
type statusEntry struct {
	x, y byte   // index against HEAD, working tree against index; '?' twice = untracked
	path string // raw bytes; a trailing slash = a folder git does not look into
}

// parseStatus reads `git status --porcelain=v1 -z --no-renames`: "XY path"
// records, each ended by NUL. X may be a space: nothing is trimmed.
func parseStatus(out []byte) ([]statusEntry, error) {
	var entries []statusEntry
	for len(out) > 0 {
		rec, rest, ended := bytes.Cut(out, []byte{0})
		if !ended || len(rec) < 4 || rec[2] != ' ' {
			return nil, errors.Newf("git status: unexpected record %.80q", rec)
		}
		entries = append(entries, statusEntry{x: rec[0], y: rec[1], path: string(rec[3:])})
		out = rest
		if isRename(rec[0]) || isRename(rec[1]) { // a second field: where it came from
			if _, out, ended = bytes.Cut(rest, []byte{0}); !ended {
				return nil, errors.Newf("git status: rename without origin %.80q", rec)
			}
		}
	}
	return entries, nil
}

func isRename(c byte) bool { return c == 'R' || c == 'C' }

// rawEntry is one path that differs between two trees.
type rawEntry struct {
	old, new Entry
	status   byte // A D M T
	path     string
}

// parseRaw reads the records of `git diff-tree -r -z --raw --no-renames`:
// ":oldmode newmode oldid newid S", NUL, path, NUL. It stops at the first
// record of another kind and returns what is left: the numstat part.
func parseRaw(out []byte) (entries []rawEntry, rest []byte, err error) {
	for len(out) > 0 && out[0] == ':' {
		meta, tail, ok := bytes.Cut(out, []byte{0})
		path, next, ok2 := bytes.Cut(tail, []byte{0})
		f := strings.Split(string(meta[1:]), " ")
		if !ok || !ok2 || len(f) != 5 || len(f[4]) != 1 || !strings.Contains("ADMT", f[4]) || len(path) == 0 {
			return nil, nil, errors.Newf("git diff-tree: unexpected record %.80q", meta)
		}
		entries = append(entries, rawEntry{old: entryOf(f[0], f[2]), new: entryOf(f[1], f[3]), status: f[4][0], path: string(path)})
		out = next
	}
	return entries, out, nil
}

// entryOf is a tree entry as git prints it: mode 000000 is absent.
func entryOf(mode, oid string) Entry {
	if strings.Trim(mode, "0") == "" {
		return Entry{}
	}
	return Entry{Mode: mode, OID: oid}
}

// lineStat is the size of a path's difference.
type lineStat struct {
	added, removed int // lines
	binary         bool
}

// parseNumstat reads `--numstat -z --no-renames`: "added TAB removed TAB
// path", NUL; "-" for both counts of a binary file.
func parseNumstat(out []byte) (map[string]lineStat, error) {
	stats := map[string]lineStat{}
	for len(out) > 0 {
		rec, rest, ended := bytes.Cut(out, []byte{0})
		f := strings.SplitN(string(rec), "\t", 3)
		if !ended || len(f) != 3 || f[2] == "" {
			return nil, errors.Newf("git diff-tree --numstat: unexpected record %.80q", rec)
		}
		if f[0] == "-" && f[1] == "-" {
			stats[f[2]] = lineStat{binary: true}
		} else {
			added, err := strconv.ParseUint(f[0], 10, 31)
			removed, err2 := strconv.ParseUint(f[1], 10, 31)
			if err != nil || err2 != nil {
				return nil, errors.Newf("git diff-tree --numstat: unexpected counts %.80q", rec)
			}
			stats[f[2]] = lineStat{added: int(added), removed: int(removed)}
		}
		out = rest
	}
	return stats, nil
}

// parseTree reads `git ls-tree -r -z`: "mode type id TAB path", NUL.
func parseTree(out []byte) (map[string]Entry, error) {
	entries := map[string]Entry{}
	for len(out) > 0 {
		rec, rest, ended := bytes.Cut(out, []byte{0})
		meta, path, ok := strings.Cut(string(rec), "\t")
		f := strings.Split(meta, " ")
		if !ended || !ok || len(f) != 3 || path == "" {
			return nil, errors.Newf("git ls-tree: unexpected record %.80q", rec)
		}
		entries[path] = Entry{Mode: f[0], OID: f[2]}
		out = rest
	}
	return entries, nil
}

// splitNUL splits NUL-ended records.
func splitNUL(out []byte) []string {
	if len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// joinNUL ends each path with NUL, as `-z --stdin` wants it.
func joinNUL(paths []string) []byte {
	var b bytes.Buffer
	for _, p := range paths {
		b.WriteString(p)
		b.WriteByte(0)
	}
	return b.Bytes()
}
