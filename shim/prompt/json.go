package prompt

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The functions here walk JSON that json.Valid has accepted, without copying:
// a body may be 64 MiB of screenshots, most of which are looked at once. Names
// of members match exactly, and of a repeated one the last counts.

// object calls visit for each member of the object b until it returns false.
func object(b []byte, visit func(key, value []byte) bool) {
	i := skipSpace(b, skipSpace(b, 0)+1)
	for b[i] != '}' {
		keyEnd := skipString(b, i)
		start := skipSpace(b, skipSpace(b, keyEnd)+1) // past the colon
		end := skipValue(b, start)
		if !visit(unquoteKey(b[i:keyEnd]), b[start:end]) {
			return
		}
		if i = skipSpace(b, end); b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
}

// array calls visit for each element of the array b until it returns false.
func array(b []byte, visit func(value []byte) bool) {
	i := skipSpace(b, skipSpace(b, 0)+1)
	for b[i] != ']' {
		end := skipValue(b, i)
		if !visit(b[i:end]) {
			return
		}
		if i = skipSpace(b, end); b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
}

// members returns the values of those names that the object b has. A null is
// the same as a missing member.
func members(b []byte, names ...string) map[string][]byte {
	known := make(map[string][]byte, len(names))
	for _, n := range names {
		known[n] = nil
	}
	object(b, func(key, value []byte) bool {
		if _, ok := known[string(key)]; ok {
			known[string(key)] = value
		}
		return true
	})
	for n, v := range known {
		if v == nil || kind(v) == "null" {
			delete(known, n)
		}
	}
	return known
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// skipString returns the index after the string that begins at i.
func skipString(b []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(b[i:], '"')
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

// skipValue returns the index after the value that begins at i. It does not
// recurse, so depth costs nothing.
func skipValue(b []byte, i int) int {
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	for i < len(b) && strings.IndexByte(" \n\r\t,]}", b[i]) < 0 {
		i++
	}
	return i
}

// skipNested returns the index after the object or array that begins at i.
func skipNested(b []byte, i int) int {
	for depth := 0; ; {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if i++; depth == 0 {
			return i
		}
	}
}

func unquoteKey(b []byte) []byte {
	if bytes.IndexByte(b, '\\') < 0 {
		return b[1 : len(b)-1]
	}
	s, _ := text(b)
	return []byte(s)
}

// kind names the type of a value for people.
func kind(b []byte) string {
	switch b[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// text decodes a string. Bytes that are not UTF-8 and halves of surrogate
// pairs become U+FFFD.
func text(b []byte) (string, bool) {
	if len(b) == 0 || kind(b) != "string" {
		return "", false
	}
	if inner := b[1 : len(b)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner), true
	}
	var s string
	return s, json.Unmarshal(b, &s) == nil
}

// number decodes a finite number.
func number(b []byte) (float64, bool) {
	if len(b) == 0 || len(b) > 64 || kind(b) != "number" {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(b), 64)
	return f, err == nil && !math.IsInf(f, 0)
}

// count decodes a whole number from 1 to 10^9; anything else is 0.
func count(b []byte) int {
	f, ok := number(b)
	if !ok || f < 1 || f > 1e9 || f != math.Trunc(f) {
		return 0
	}
	return int(f)
}

// yes tells whether a value is exactly true.
func yes(b []byte) bool { return string(b) == "true" }

// cut shortens s to n characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// fold trims s and makes one space of every run of white space.
func fold(s string) string { return strings.Join(strings.Fields(s), " ") }
