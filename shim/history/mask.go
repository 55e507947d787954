package history

import (
	"reflect"
	"strings"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// hidden stands where a secret stood.
const hidden = "[secret hidden]"

// keys are what is unmistakably one. A key begins with one of starts, where no
// word goes on.
var keys = []struct {
	starts  []string
	rest    *lazyregexp.Regexp      // what follows start, in all but a piece of a key
	any     func(c byte) bool       // what may be in it
	certain func(match string) bool // nil = always
}{
	{[]string{"sk-"}, lazyregexp.New(`^[A-Za-z0-9_-]{20,}`), isNamed, isKey}, // Anthropic, OpenAI and who copies them
	{[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, lazyregexp.New(`^[A-Za-z0-9]{20,}`), isAlnum, nil},
	{[]string{"github_pat_"}, lazyregexp.New(`^[A-Za-z0-9_]{22,}`), isNamed, nil},
	{[]string{"AKIA"}, lazyregexp.New(`^[0-9A-Z]{16}(?:[^A-Za-z0-9]|$)`), isAlnum, nil},
}

// pem is a private key, whole or without its end.
var pem = lazyregexp.New(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`)

const pemMarker = "PRIVATE KEY"

// startsWord tells whether a word may begin at s[i:].
func startsWord(s string, i int) bool {
	const longest = 16 // bytes of an escape
	return i == 0 || !isAlnum(s[i-1]) || endsEscape(s[max(0, i-longest):i])
}

// endsEscape tells of text before a letter or a digit at its end whether a word
// begins behind it all the same: it ends an escape of a string (\n, \t, \u000a,
// \x1b, \033), of a URL (%0A), or of a terminal's colours ([1;32m).
func endsEscape(s string) bool {
	n := len(s)
	for _, e := range []struct {
		start  string
		digits int
		is     func(c byte) bool
	}{
		{`\`, 1, func(c byte) bool { return c >= 'a' && c <= 'z' }},
		{`\u`, 4, isHex}, {`\x`, 2, isHex}, {`%`, 2, isHex},
		{`\`, 3, func(c byte) bool { return c >= '0' && c <= '7' }},
	} {
		if at := n - e.digits; at >= 0 && strings.HasSuffix(s[:at], e.start) && all(s[at:], e.is) {
			return true
		}
	}
	return strings.HasSuffix(s, "m") && strings.HasSuffix(strings.TrimRight(s[:n-1], "0123456789;"), "[")
}

func all(s string, is func(c byte) bool) bool {
	for i := range len(s) {
		if !is(s[i]) {
			return false
		}
	}
	return true
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func isAlnum(c byte) bool { return c >= '0' && c <= '9' || isLetter(rune(c)) }

func isNamed(c byte) bool { return isAlnum(c) || c == '_' || c == '-' }

// isKey tells a key from a name in a stylesheet (sk-folding-cube-wrapper): it
// has a long part of letters and digits both.
func isKey(match string) bool {
	for _, part := range strings.FieldsFunc(match[len("sk-"):], func(r rune) bool { return r == '-' || r == '_' }) {
		if len(part) >= 12 && strings.ContainsAny(part, "0123456789") && strings.ContainsFunc(part, isLetter) {
			return true
		}
	}
	return false
}

func isLetter(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' }

// Mask hides the secrets in s. An ellipsis at its end tells that it was cut.
func Mask(s string) string {
	const ellipsis = "…"
	if before, cut := strings.CutSuffix(s, ellipsis); cut {
		return mask(before, true) + ellipsis
	}
	return mask(s, false)
}

// mask is Mask; cut is whether s may go on behind its end, so that a piece of a
// key may stand there.
func mask(s string, cut bool) string {
	for _, k := range keys {
		for _, start := range k.starts {
			if strings.Contains(s, start) {
				s = maskKeys(s, start, cut, k.rest, k.any, k.certain)
			}
		}
	}
	if strings.Contains(s, pemMarker) {
		s = string(pem.ReplaceAllFunc([]byte(s), func([]byte) []byte { return []byte(hidden) }))
	}
	return s
}

// maskKeys hides the keys of one kind. It looks at no byte twice, but for the
// few before a start.
func maskKeys(s, start string, cut bool, rest *lazyregexp.Regexp, any func(byte) bool, certain func(string) bool) string {
	const fewest = 4 // characters of a key that are worth to be hidden
	var b strings.Builder
	done := 0
	for from := 0; ; {
		i := strings.Index(s[from:], start)
		if i < 0 {
			break
		}
		i += from
		from = i + len(start)
		if !startsWord(s, i) {
			continue
		}
		n := 0
		for from+n < len(s) && any(s[from+n]) {
			n++
		}
		end := from + n
		piece := cut && end == len(s) && n >= fewest
		whole := rest.MatchString(s[from:min(len(s), end+1)]) && (certain == nil || certain(s[i:end]))
		from = end
		if !piece && !whole {
			continue
		}
		b.WriteString(s[done:i])
		b.WriteString(hidden)
		done = end
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// masked is e with mask over each of its strings.
func masked(e event.Event) event.Event {
	if !holdsMarker(reflect.ValueOf(e)) {
		return e
	}
	v := reflect.New(reflect.TypeOf(e)).Elem()
	v.Set(reflect.ValueOf(e))
	maskIn(v)
	return v.Interface().(event.Event)
}

// holdsMarker tells whether a string below v may hold a secret.
func holdsMarker(v reflect.Value) (found bool) {
	switch v.Kind() {
	case reflect.String:
		found = strings.Contains(v.String(), pemMarker)
		for _, k := range keys {
			for _, start := range k.starts {
				found = found || strings.Contains(v.String(), start)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			found = found || holdsMarker(v.Field(i))
		}
	case reflect.Pointer:
		found = !v.IsNil() && holdsMarker(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			found = found || holdsMarker(v.Index(i))
		}
	}
	return found
}

// maskIn masks the strings below v. What a pointer or a slice leads to is
// copied first: it is the adapter's.
func maskIn(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(mask(v.String(), agent.MayBeCut(v.String())))
	case reflect.Struct:
		for i := range v.NumField() {
			maskIn(v.Field(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			own := reflect.New(v.Type().Elem())
			own.Elem().Set(v.Elem())
			maskIn(own.Elem())
			v.Set(own)
		}
	case reflect.Slice:
		if v.Len() > 0 {
			own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(own, v)
			for i := range own.Len() {
				maskIn(own.Index(i))
			}
			v.Set(own)
		}
	}
}
