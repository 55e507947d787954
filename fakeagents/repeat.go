package fakeagents

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// minRepeat is how many times a character must stand in a row before a
// fixture stores the run as a placeholder.
const minRepeat = 2000

// maxRepeat bounds what a fixture may expand to, in bytes.
const maxRepeat = 64 << 20

var repeat = lazyregexp.New(`\{\{REPEAT:([A-Za-z0-9 .]):([0-9]+)\}\}`)

// expandRepeats replaces {{REPEAT:x:n}} by n times x.
func expandRepeats(b []byte) (out []byte, err error) {
	out = repeat.ReplaceAllFunc(b, func(m []byte) []byte {
		sub := repeat.FindSubmatch(m)
		n, convErr := strconv.Atoi(string(sub[2]))
		if convErr != nil || n > maxRepeat {
			err = errors.Newf("%s is too long", m)
			return nil
		}
		return bytes.Repeat(sub[1], n)
	})
	return out, err
}

// collapseRepeats is the inverse of expandRepeats.
func collapseRepeats(b []byte) []byte {
	var out []byte
	kept := 0 // b[:kept] is in out
	for i := 0; i+minRepeat <= len(b); {
		// A run of minRepeat must cover b[i+minRepeat-1]; looking there first
		// skips over ordinary text in large steps.
		c := b[i+minRepeat-1]
		start := i + minRepeat - 1
		for start > i && b[start-1] == c {
			start--
		}
		if start > i || !repeatable(c) {
			i = max(start, i+1)
			continue
		}
		end := i + minRepeat
		for end < len(b) && b[end] == c {
			end++
		}
		out = append(out, b[kept:i]...)
		out = fmt.Appendf(out, "{{REPEAT:%c:%d}}", c, end-i)
		kept, i = end, end
	}
	if kept == 0 {
		return b
	}
	return append(out, b[kept:]...)
}

func repeatable(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == ' ' || c == '.'
}

func isUTF8(b []byte) bool { return utf8.Valid(b) }
