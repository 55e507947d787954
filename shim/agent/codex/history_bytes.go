package codex

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// What follows finds members of a JSON object without decoding it: of a line
// of megabytes only the beginning is looked at. It trusts no byte of the line
// and ends at whatever is no JSON; a line that was cut serves up to the cut.

// member returns the line from the value of the object's member on, nil where
// there is no such member. The first of that name counts.
func member(b []byte, name string) []byte {
	i := space(b, 0)
	if i >= len(b) || b[i] != '{' {
		return nil
	}
	for i++; ; i++ {
		i = space(b, i)
		if i >= len(b) || b[i] != '"' {
			return nil
		}
		end := stringEnd(b, i)
		if end < 0 {
			return nil
		}
		key := b[i+1 : end-1]
		if i = space(b, end); i >= len(b) || b[i] != ':' {
			return nil
		}
		if i = space(b, i+1); i >= len(b) {
			return nil
		}
		if string(key) == name {
			return b[i:]
		}
		if i = valueEnd(b, i); i < 0 {
			return nil
		}
		if i = space(b, i); i >= len(b) || b[i] != ',' {
			return nil
		}
	}
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
	end := stringEnd(b, 0)
	if end < 0 {
		return cutText(b)
	}
	if raw := b[1 : end-1]; bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw)
	}
	var s string
	if json.Unmarshal(b[:end], &s) != nil {
		return ""
	}
	return s
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
	if len(b) == 0 || b[0] != '[' {
		return
	}
	for i := 1; ; i++ {
		i = space(b, i)
		if i >= len(b) || b[i] == ']' || !f(b[i:]) {
			return
		}
		if i = valueEnd(b, i); i < 0 {
			return
		}
		if i = space(b, i); i >= len(b) || b[i] != ',' {
			return
		}
	}
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// stringEnd is the index behind the string that begins at i, -1 when it has no
// end.
func stringEnd(b []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		from := i
		i += n
		slashes := 0
		for j := i - 1; j >= from && b[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

// valueEnd is the index behind the value that begins at i, -1 when it has no
// end.
func valueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
	default:
		for i < len(b) && bytes.IndexByte([]byte(",]} \t\r\n"), b[i]) < 0 {
			i++
		}
		return i
	}
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			if i = stringEnd(b, i); i < 0 {
				return -1
			}
			i--
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
