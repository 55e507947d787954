package history

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim/agent"
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

		// In a string of a string, a URL, a name, a terminal's colours.
		`printf 'A\nsk-ant-api03-` + rand + `'`:               `printf 'A\n#'`,
		`{"env":"X=1\nsk-ant-api03-` + rand + `\ty"}`:         `{"env":"X=1\n#\ty"}`,
		`"\tghp_` + rand + `", "\r\ngithub_pat_` + rand + `"`: `"\t#", "\r\n#"`,
		`\u000ask-` + rand + ` \x1bAKIAIOSFODNN7EXAMPLE\n`:    `\u000a# \x1b#\n`,
		"TOKEN_sk-ant-" + rand + " _ghp_" + rand:              "TOKEN_# _#",
		"aws_key_AKIAIOSFODNN7EXAMPLE_x":                      "aws_key_#_x",
		"\x1b[1;32msk-ant-" + rand + "\x1b[0m":                "\x1b[1;32m#\x1b[0m",
		"q=a%0Ask-ant-" + rand + "%26":                        "q=a%0A#%26",
		"risk-sk-ant-" + rand:                                 "risk-#",
		"cut here: sk-ant-api03-Ab3…":                         "cut here: #…",
		"cut here: xghp_Ab3d… ghp_Ab3":                        "cut here: xghp_Ab3d… ghp_Ab3",

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
		if got := Mask(in); got != strings.ReplaceAll(want, "#", hidden) {
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

// TestMaskOfACutText has a key stand where a tool's text is cut.
func TestMaskOfACutText(t *testing.T) {
	for _, key := range []string{"sk-ant-api03-Ab3dEf6hIj9LmN0pQrStUvWxYz", "ghp_Ab3dEf6hIj9LmN0pQrStUvWxYz", "AKIAIOSFODNN7EXAMPLE"} {
		for n := range len(key) + 1 {
			before := strings.Repeat("é ", (4000-n)/2) + strings.Repeat(" ", n%2) // n characters of the key fit
			text, cut := agent.ToolText(before + key + " and more")
			if !cut {
				t.Fatal("not cut")
			}
			got := masked(event.ToolResult{Text: text, Truncated: true}).(event.ToolResult).Text
			if left := strings.TrimLeft(got, "é "); len(left) > 8 && left != hidden {
				t.Errorf("%d characters of %s became %q", n, key, left)
			}
		}
	}
}

// TestMaskIsLinear has many starts of keys, and none.
func TestMaskIsLinear(t *testing.T) {
	for _, part := range []string{"sk-", "xsk-", "ghp_ghp_", "AKIA", "\\nsk-a"} {
		start := time.Now()
		Mask(strings.Repeat(part, 1<<18))
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%q: %v", part, took)
		}
	}
}
