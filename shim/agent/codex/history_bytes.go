package codex

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// What follows finds members of a JSON object without decoding it: of a line
// of megabytes only the beginning is looked at. It trusts no byte of the line
// and ends at whatever is no JSON; a line that was cut serves up to the cut.

// member returns the line from the value of the object's member on, nil where
// there is no such member. The first of that name counts.
func member(b []byte, name string) (found []byte) {
	s := agent.Skim{B: b}
	s.Members(func(key []byte) bool {
		if string(key) == name && s.I < len(b) {
			found = b[s.I:]
		}
		return found == nil
	})
	return found
}

// at follows a path of names.
func at(b []byte, names ...string) []byte {
	for _, name := range names {
		if b = member(b, name); b == nil {
			return nil
		}
	}
	return b
}

// is tells whether the value at the beginning of b is the string s, which
// needs no escapes.
func is(b []byte, s string) bool {
	return len(b) >= len(s)+2 && b[0] == '"' && b[len(s)+1] == '"' && string(b[1:len(s)+1]) == s
}

// text is the string at the beginning of b, "" where there is none. One that
// was cut comes as far as it goes.
func text(b []byte) string {
	if len(b) == 0 || b[0] != '"' {
		return ""
	}
	s := agent.Skim{B: b}
	raw, whole := s.Text()
	if !whole {
		return cutText(b)
	}
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw)
	}
	var decoded string
	if json.Unmarshal(b[:s.I], &decoded) != nil {
		return ""
	}
	return decoded
}

// cutText is a string without its end. An escape may be cut too: \uD83D\uDE00
// has twelve bytes.
func cutText(b []byte) string {
	const longest = 12
	for n := len(b); n >= max(1, len(b)-longest); n-- {
		var s string
		if json.Unmarshal(append(bytes.Clone(b[:n]), '"'), &s) == nil {
			return strings.TrimSuffix(s, "\uFFFD") // half of a character
		}
	}
	return ""
}

// elements calls f with the line from each element of the array at the
// beginning of b on, until f returns false.
func elements(b []byte, f func(element []byte) bool) {
	s := agent.Skim{B: b}
	s.Elements(func() bool { return s.I < len(b) && f(b[s.I:]) })
}

// value cuts b, which begins with a value of a whole record, behind it.
func value(b []byte) []byte {
	s := agent.Skim{B: b}
	if !s.Skip() {
		return nil
	}
	return b[:s.I]
}
