package gitrepo

import (
	"bytes"
	"encoding/binary"

	"github.com/cockroachdb/errors"
)

// Flags of an index entry (gitformat-index(5)).
const (
	flagAssumeValid  = 0x8000 // in the 16-bit flags
	flagExtended     = 0x4000 // 16 more bits follow (version 3 and later)
	flagNameLength   = 0x0fff
	flagSkipWorktree = 0x4000 // in the further bits
)

// indexHides tells whether an index file has an entry with the assume-unchanged
// or skip-worktree bit, which `git status` does not look at. Reading the bits
// here saves a git process per snapshot; any surprise is an error, and the
// caller asks git. hashLen is 20 (SHA-1) or 32 (SHA-256).
func indexHides(data []byte, hashLen int) (bool, error) {
	if len(data) < 12+hashLen || string(data[:4]) != "DIRC" {
		return false, errors.New("not an index file")
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return false, errors.Newf("index version %d", version)
	}
	body, at := data[:len(data)-hashLen], 12
	for ; count > 0; count-- {
		flagsAt := at + 40 + hashLen // ten 32-bit stat fields, then the object id
		if flagsAt+2 > len(body) {
			return false, errors.New("index ends early")
		}
		flags := binary.BigEndian.Uint16(body[flagsAt:])
		nameAt := flagsAt + 2
		if flags&flagExtended != 0 {
			if nameAt+2 > len(body) {
				return false, errors.New("index ends early")
			}
			if binary.BigEndian.Uint16(body[nameAt:])&flagSkipWorktree != 0 {
				return true, nil
			}
			nameAt += 2
		}
		if flags&flagAssumeValid != 0 {
			return true, nil
		}
		next, err := nextIndexEntry(body, at, nameAt, int(flags&flagNameLength), version)
		if err != nil {
			return false, err
		}
		at = next
	}
	// A split index keeps most entries in another file.
	if bytes.HasPrefix(body[at:], []byte("link")) {
		return false, errors.New("split index")
	}
	return false, nil
}

// nextIndexEntry is where the entry after the one at `at` begins, whose name
// begins at nameAt.
func nextIndexEntry(body []byte, at, nameAt, nameLen int, version uint32) (int, error) {
	if version == 4 { // a variable-length number, then the rest of the name
		for nameAt < len(body) && body[nameAt]&0x80 != 0 {
			nameAt++
		}
		nameAt++
	}
	end := nameAt + nameLen
	if version == 4 || nameLen == flagNameLength { // v4: prefix-compressed; else too long for the field
		if nameAt > len(body) {
			return 0, errors.New("index ends early")
		}
		n := bytes.IndexByte(body[nameAt:], 0)
		if n < 0 {
			return 0, errors.New("index ends early")
		}
		end = nameAt + n
	}
	next := end + 1
	if version < 4 { // padded with 1 to 8 NULs to a multiple of eight
		next = at + (end-at+8)&^7
	}
	if next > len(body) {
		return 0, errors.New("index ends early")
	}
	return next, nil
}
