package history

import (
	"reflect"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/event"
)

func TestMask(t *testing.T) {
	const (
		pem  = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----"
		rand = "Ab3dEf6hIj9LmN0pQrStUvWxYz0123456789"
	)
	for in, want := range map[string]string{
		"key sk-ant-api03-" + rand + "-" + rand + " end": "key # end",
		"OPENAI=sk-" + rand + "\n":                       "OPENAI=#\n",
		"sk-proj-" + rand + "_x":                         "#",
		"\"ghp_" + rand + "\"":                           `"#"`,
		"gho_" + rand + " ghu_" + rand + " ghs_" + rand:  "# # #",
		"ghr_" + rand:                                    "#",
		"github_pat_11ABCDEFG0" + rand + "_" + rand:      "#",
		"id AKIAIOSFODNN7EXAMPLE.":                       "id #.",
		"1\t" + pem + "\n2\t" + pem:                      "1\t#\n2\t#",
		"-----BEGIN PRIVATE KEY-----\nMIIE cut":          "#",
		"-----BEGIN PGP PRIVATE KEY BLOCK-----\nx\n-----END PGP PRIVATE KEY BLOCK-----": "#",

		// What only looks like one.
		".sk-folding-cube-wrapper-container { }":          ".sk-folding-cube-wrapper-container { }",
		"risk-" + rand:                                    "risk-" + rand,
		"task-ant-api03-" + rand:                          "task-ant-api03-" + rand,
		"sk-short ghp_short AKIASHORT":                    "sk-short ghp_short AKIASHORT",
		"AKIAIOSFODNN7EXAMPLEANDMORE":                     "AKIAIOSFODNN7EXAMPLEANDMORE",
		"-----BEGIN CERTIFICATE-----\nMIIE\n-----END":     "-----BEGIN CERTIFICATE-----\nMIIE\n-----END",
		"-----BEGIN PUBLIC KEY-----\nMIIE\n-----END":      "-----BEGIN PUBLIC KEY-----\nMIIE\n-----END",
		"password=hunter2 token 0123456789abcdef01234567": "password=hunter2 token 0123456789abcdef01234567",
	} {
		if got := mask(in); got != strings.ReplaceAll(want, "#", hidden) {
			t.Errorf("%q became %q", in, got)
		}
	}
}

// TestMaskReachesEveryString puts a secret into each string of each event.
func TestMaskReachesEveryString(t *testing.T) {
	const secret = "AKIAIOSFODNN7EXAMPLE"
	for _, e := range event.All() {
		v := reflect.New(reflect.TypeOf(e)).Elem()
		n := fill(v, secret)
		before, err := event.Encode(v.Interface().(event.Event))
		if err != nil || strings.Count(string(before), secret) != n {
			t.Fatalf("%s has not %d secrets: %s, %v", e.Type(), n, before, err)
		}
		after, err := event.Encode(masked(v.Interface().(event.Event)))
		if err != nil || strings.Contains(string(after), secret) || strings.Count(string(after), hidden) != n {
			t.Errorf("%s: %s, %v", e.Type(), after, err)
		}
		if again, _ := event.Encode(v.Interface().(event.Event)); string(again) != string(before) {
			t.Errorf("%s: the adapter's own event was changed: %s", e.Type(), again)
		}
	}
}

// fill puts s into each string below v and returns their number.
func fill(v reflect.Value, s string) (n int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
		return 1
	case reflect.Struct:
		for i := range v.NumField() {
			n += fill(v.Field(i), s)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return fill(v.Elem(), s)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			n += fill(v.Index(i), s)
		}
	}
	return n
}
