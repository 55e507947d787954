package history

import (
	"reflect"
	"strings"

	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// hidden stands where a secret stood.
const hidden = "[secret hidden]"

// secrets are what is unmistakably one. One of markers is part of every match:
// most texts hold none and are not searched further.
var secrets = []struct {
	markers []string
	pattern *lazyregexp.Regexp
	certain func(match string) bool // nil = always
}{
	{[]string{"sk-"}, lazyregexp.New(`\bsk-[A-Za-z0-9_-]{20,}`), isKey}, // Anthropic, OpenAI and who copies them
	{[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, lazyregexp.New(`\bgh[pousr]_[A-Za-z0-9]{20,}`), nil},
	{[]string{"github_pat_"}, lazyregexp.New(`\bgithub_pat_[A-Za-z0-9_]{22,}`), nil},
	{[]string{"AKIA"}, lazyregexp.New(`\bAKIA[0-9A-Z]{16}\b`), nil},
	{[]string{"PRIVATE KEY"}, lazyregexp.New(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`), nil},
}

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

// mask hides the secrets in s.
func mask(s string) string {
	for _, k := range secrets {
		if !holdsOne(s, k.markers) {
			continue
		}
		s = string(k.pattern.ReplaceAllFunc([]byte(s), func(match []byte) []byte {
			if k.certain != nil && !k.certain(string(match)) {
				return match
			}
			return []byte(hidden)
		}))
	}
	return s
}

func holdsOne(s string, markers []string) bool {
	for _, m := range markers {
		if strings.Contains(s, m) {
			return true
		}
	}
	return false
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
		for _, k := range secrets {
			found = found || holdsOne(v.String(), k.markers)
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
		v.SetString(mask(v.String()))
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
