package gitrepo

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"github.com/cockroachdb/errors"
)

// Flags of an index entry (gitformat-index(5)).
const (
	flagAssumeValid  = 0x8000 // in the 16-bit flags
	flagExtended     = 0x4000 // 16 more bits follow (version 3 and later)
	flagNameLength   = 0x0fff
	flagSkipWorktree = 0x4000 // in the further bits
)

// indexFacts are what an index file says without git.
type indexFacts struct {
	// hides: some entry has the assume-unchanged or skip-worktree bit, which
	// `git status` does not look at. Nothing else is filled in then.
	hides bool
	// tree is the tree that git noted for the whole index (its TREE extension;
	// gone as soon as any entry changes, is unmerged or a mere intent to add),
	// "" where there is none.
	tree string
	// attributes are the paths of the .gitattributes files; those of a version
	// 4 index, whose names are compressed, are not known.
	attributes      []string
	attributesKnown bool
}

// scanIndex reads an index file. What it tells saves git processes; any
// surprise is an error, and the caller asks git. hashLen is 20 (SHA-1) or 32
// (SHA-256).
func scanIndex(data []byte, hashLen int) (indexFacts, error) {
	if len(data) < 12+hashLen || string(data[:4]) != "DIRC" {
		return indexFacts{}, errors.New("not an index file")
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return indexFacts{}, errors.Newf("index version %d", version)
	}
	facts := indexFacts{attributesKnown: version < 4}
	body, at := data[:len(data)-hashLen], 12
	for range count {
		flagsAt := at + 40 + hashLen // ten 32-bit stat fields, then the object id
		if flagsAt+2 > len(body) {
			return indexFacts{}, errors.New("index ends early")
		}
		flags := binary.BigEndian.Uint16(body[flagsAt:])
		nameAt := flagsAt + 2
		if flags&flagExtended != 0 {
			if nameAt+2 > len(body) {
				return indexFacts{}, errors.New("index ends early")
			}
			if binary.BigEndian.Uint16(body[nameAt:])&flagSkipWorktree != 0 {
				return indexFacts{hides: true}, nil
			}
			nameAt += 2
		}
		if flags&flagAssumeValid != 0 {
			return indexFacts{hides: true}, nil
		}
		end, next, err := nextIndexEntry(body, at, nameAt, int(flags&flagNameLength), version)
		if err != nil {
			return indexFacts{}, err
		}
		if name := body[nameAt:end]; version < 4 && bytes.HasSuffix(name, attributesName) && (len(name) == len(attributesName) || name[len(name)-len(attributesName)-1] == '/') {
			facts.attributes = append(facts.attributes, string(name))
		}
		at = next
	}
	var err error
	facts.tree, err = indexTree(body[at:], int(count), hashLen)
	return facts, err
}

var attributesName = []byte(".gitattributes")

// nextIndexEntry is where the name of an entry ends and where the entry after
// it begins. The entry begins at `at`, its name at nameAt.
func nextIndexEntry(body []byte, at, nameAt, nameLen int, version uint32) (end, next int, err error) {
	if version == 4 { // a variable-length number, then the rest of the name
		for nameAt < len(body) && body[nameAt]&0x80 != 0 {
			nameAt++
		}
		nameAt++
	}
	end = nameAt + nameLen
	if version == 4 || nameLen == flagNameLength { // v4: prefix-compressed; else too long for the field
		if nameAt > len(body) {
			return 0, 0, errors.New("index ends early")
		}
		n := bytes.IndexByte(body[nameAt:], 0)
		if n < 0 {
			return 0, 0, errors.New("index ends early")
		}
		end = nameAt + n
	}
	next = end + 1
	if version < 4 { // padded with 1 to 8 NULs to a multiple of eight
		next = at + (end-at+8)&^7
	}
	if next > len(body) {
		return 0, 0, errors.New("index ends early")
	}
	return end, next, nil
}

// indexTree finds the tree of the whole index in its extensions: each is a
// name of four bytes, a length and its content. In TREE the whole comes first:
// an empty name, NUL, "<entries> <subtrees>", newline, the id. entries is -1,
// and no id follows, where git does not know it.
func indexTree(extensions []byte, count, hashLen int) (string, error) {
	tree := ""
	for len(extensions) > 0 {
		if len(extensions) < 8 {
			return "", errors.New("index ends early")
		}
		name, size := string(extensions[:4]), binary.BigEndian.Uint32(extensions[4:])
		if uint64(size) > uint64(len(extensions)-8) {
			return "", errors.New("index ends early")
		}
		content := extensions[8 : 8+size]
		extensions = extensions[8+size:]
		switch {
		case name == "link": // a split index keeps most entries in another file
			return "", errors.New("split index")
		case name[0] < 'A' || name[0] > 'Z': // such must be understood
			return "", errors.Newf("index extension %q", name)
		case name != "TREE":
			continue
		}
		line, id, ok := bytes.Cut(content, []byte("\n"))
		entries, _, ok2 := bytes.Cut(bytes.TrimPrefix(line, []byte{0}), []byte(" "))
		n, err := strconv.Atoi(string(entries))
		if !ok || !ok2 || err != nil || n >= 0 && (n != count || len(id) < hashLen) {
			return "", errors.New("index with an unexpected tree")
		}
		if n >= 0 {
			tree = hex.EncodeToString(id[:hashLen])
		}
	}
	return tree, nil
}
