package prompt

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cockroachdb/errors"
)

// Pictures as small as a signature allows.
var (
	png  = "\x89PNG\r\n\x1a\n rest"
	jpeg = "\xff\xd8\xff\xe0 rest"
	webp = "RIFF\x10\x00\x00\x00WEBPVP8 "
)

func dataURL(mime, data string) string {
	return "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString([]byte(data))
}

// TestBadInput has one row per sentence of the contract that says what bad
// input gets. Rows quote it.
func TestBadInput(t *testing.T) {
	five := strings.Repeat(`{"tag":"a"},`, 5)
	uuid := "0B9A6C3E-1D2F-4A5B-8C7D-9E0F1A2B3C4D"
	tests := []struct {
		says string
		body string
		err  string   // want this error …
		note []string // … or these notes,
		ok   func(Request) bool
	}{
		{says: "400 naming the field: not an object", body: `[1]`, err: "body must be a JSON object, not an array"},
		{says: "400 naming the field: not an object", body: `"x"`, err: "body must be a JSON object, not a string"},
		{says: "400 naming the field: not an object", body: `null`, err: "body must be a JSON object, not null"},
		{says: "400 naming the field: not an object", body: ``, err: "body must be a JSON object: unexpected end of JSON input"},
		{says: "400 naming the field: not an object", body: `{"prompt":"a"`, err: "body must be a JSON object: unexpected end"},
		{says: "400 naming the field: not an object", body: `{"prompt":"a"} x`, err: "body must be a JSON object: invalid character 'x'"},
		{says: "400 naming the field: wrong type", body: `{"prompt":7}`, err: "prompt must be a string, not a number"},
		{says: "400 naming the field: wrong type", body: `{"prompt":{}}`, err: "prompt must be a string, not an object"},
		{says: "400 naming the field: wrong type", body: `{"prompt":"a","provider":true}`, err: "provider must be a string, not a boolean"},
		{says: "400 naming the field: wrong type", body: `{"prompt":"a","model":[]}`, err: "model must be a string, not an array"},
		{says: "400 naming the field: wrong type", body: `{"prompt":"a","screen":1}`, err: "screen must be a string, not a number"},
		{says: "400 naming the field: wrong type", body: `{"prompt":"a","elements":{}}`, err: "elements must be an array, not an object"},
		{says: "400 naming the field: wrong type", body: `{"prompt":"a","resume":1}`, err: "resume must be a string, not a number"},
		{says: "400 naming the field: wrong type", body: `{"prompt":"a","detach":"yes"}`, err: "detach must be true or false, not a string"},
		{says: "400 naming the field: no prompt", body: `{}`, err: "prompt is missing"},
		{says: "400 naming the field: no prompt", body: `{"prompt":null}`, err: "prompt is missing"},
		{says: "empty after trimming is 400 unless captures are present", body: `{"prompt":" \n\t\u00a0"}`, err: "prompt is missing"},
		{says: "empty after trimming is 400 unless captures are present", body: `{"prompt":"","elements":[7,{}]}`, err: "prompt is missing"},
		{says: "empty after trimming is 400 unless captures are present", body: `{"prompt":" ","elements":[{"tag":"a"}]}`,
			ok: func(r Request) bool { return len(r.Elements) == 1 }},
		{says: "unknown fields ignored", body: `{"prompt":"a","x":{"prompt":"b"},"Prompt":"c"}`,
			ok: func(r Request) bool { return r.Prompt == "a" }},
		{says: "provider: anthropic (default)", body: `{"prompt":"a"}`,
			ok: func(r Request) bool { return r.Provider == "anthropic" }},
		{says: "anything else: error unsupported, never a silent fall-through", body: `{"prompt":"a","provider":"Anthropic "}`,
			ok: func(r Request) bool { return r.Provider == "Anthropic " }},
		{says: "effort:\"default\" or absent adds no override", body: `{"prompt":"a","effort":"default"}`,
			ok: func(r Request) bool { return r.Effort == "" }},
		{says: "effort must match [a-z][a-z0-9_-]{0,31}", body: `{"prompt":"a","effort":"x-high_2"}`,
			ok: func(r Request) bool { return r.Effort == "x-high_2" }},
		{says: "effort must match [a-z][a-z0-9_-]{0,31}", body: `{"prompt":"a","effort":"High"}`, err: "effort must match"},
		{says: "effort must match [a-z][a-z0-9_-]{0,31}", body: `{"prompt":"a","effort":"-x"}`, err: "effort must match"},
		{says: "effort must match [a-z][a-z0-9_-]{0,31}", body: `{"prompt":"a","effort":"low\n"}`, err: "effort must match"},
		{says: "effort must match [a-z][a-z0-9_-]{0,31}", body: `{"prompt":"a","effort":"` + strings.Repeat("a", 33) + `"}`, err: "effort must match"},
		{says: "models and efforts … cannot start with -", body: `{"prompt":"a","model":"--help"}`, err: "model must be"},
		{says: "models are matched against a pattern", body: `{"prompt":"a","model":"a b"}`, err: "model must be"},
		{says: "models are matched against a pattern", body: `{"prompt":"a","model":"a\u0000"}`, err: "model must be"},
		{says: "models are matched against a pattern", body: `{"prompt":"a","model":"opus\n"}`, err: "model must be"},
		{says: "models are matched against a pattern", body: `{"prompt":"a","model":"` + strings.Repeat("m", 201) + `"}`, err: "model must be"},
		{says: "model is passed to the agent", body: `{"prompt":"a","model":"claude-opus-5-5[1m]"}`,
			ok: func(r Request) bool { return r.Model == "claude-opus-5-5[1m]" }},
		{says: "model is passed to the agent", body: `{"prompt":"a","model":"arn:aws:bedrock:eu-1:12:profile/anthropic.x@2026"}`,
			ok: func(r Request) bool { return strings.HasPrefix(r.Model, "arn:") }},
		{says: "at most 5 are used (the first five), extra ones dropped with a note",
			body: `{"prompt":"a","elements":[` + five + `{"tag":"b"},9,{"tag":"b"}]}`, note: []string{"elements_dropped", "capture_skipped"},
			ok: func(r Request) bool {
				return len(r.Elements) == 5 && r.Elements[4].Tag == "a" && strings.HasPrefix(r.Notes[1].Message, "2 of")
			}},
		{says: "element: legacy single form", body: `{"prompt":"a","element":{"tag":"i"}}`,
			ok: func(r Request) bool { return len(r.Elements) == 1 && r.Elements[0].Tag == "i" }},
		{says: "element: legacy single form", body: `{"prompt":"a","element":{"tag":"i"},"elements":[{"tag":"b"}]}`,
			ok: func(r Request) bool { return len(r.Elements) == 1 && r.Elements[0].Tag == "b" }},
		{says: "element: legacy single form", body: `{"prompt":"a","element":{"tag":"i"},"elements":[]}`,
			ok: func(r Request) bool { return len(r.Elements) == 1 && r.Elements[0].Tag == "i" }},
		{says: "a capture that is not an object is skipped", body: `{"prompt":"a","element":"#id"}`, note: []string{"capture_skipped"},
			ok: func(r Request) bool { return len(r.Elements) == 0 }},
		{says: "a capture that is not an object is skipped", body: `{"prompt":"a","elements":[null,[{"tag":"x"}],{"tag":"b"}]}`,
			note: []string{"capture_skipped", "capture_skipped"}, ok: func(r Request) bool { return len(r.Elements) == 1 }},
		{says: "continue that session", body: `{"prompt":"a","resume":"` + uuid + `"}`,
			ok: func(r Request) bool { return r.Resume == strings.ToLower(uuid) }},
		{says: "not a UUID → starts fresh with a note", body: `{"prompt":"a","resume":"../../etc"}`, note: []string{"session_new"},
			ok: func(r Request) bool { return r.Resume == "" }},
		{says: "not a UUID → starts fresh with a note", body: `{"prompt":"a","resume":"` + uuid + `\n"}`, note: []string{"session_new"},
			ok: func(r Request) bool { return r.Resume == "" }},
		{says: "continue that session", body: `{"prompt":"a","resume":""}`, ok: func(r Request) bool { return r.Resume == "" }},
		{says: "exactly false leaves the edits uncommitted", body: `{"prompt":"a","autoCommit":false}`,
			ok: func(r Request) bool { return !r.AutoCommit }},
		{says: "exactly false leaves the edits uncommitted", body: `{"prompt":"a","autoCommit":"false"}`,
			ok: func(r Request) bool { return r.AutoCommit }},
		{says: "exactly false leaves the edits uncommitted", body: `{"prompt":"a","autoCommit":0}`,
			ok: func(r Request) bool { return r.AutoCommit }},
		{says: "detach: run survives this client", body: `{"prompt":"a","detach":true}`,
			ok: func(r Request) bool { return r.Detach }},
		{says: "/design ignores imageDataUrl", body: `{"prompt":"a","element":{"tag":"img","imageDataUrl":7}}`,
			ok: func(r Request) bool { return len(r.Elements) == 1 && r.Elements[0].Shot == nil }},
		{says: "a bad one is skipped with a note, never a failed run", body: `{"prompt":"a","element":{"tag":"img","screenshotDataUrl":"` + dataURL("image/png", "GIF89a") + `"}}`,
			note: []string{"image_skipped"}, ok: func(r Request) bool { return len(r.Elements) == 1 && r.Elements[0].Shot == nil }},
		{says: "a bad one is skipped with a note, never a failed run", body: `{"prompt":"a","element":{"pasted":true,"screenshotDataUrl":7}}`,
			note: []string{"image_skipped"}, ok: func(r Request) bool { return len(r.Elements) == 0 }},
		{says: "duplicate keys are normal", body: `{"prompt":"a","prompt":"b","element":{"tag":"i","tag":"b"}}`,
			ok: func(r Request) bool { return r.Prompt == "b" && r.Elements[0].Tag == "b" }},
		{says: "a null is a missing member", body: `{"prompt":"a","provider":null,"model":null,"effort":null,"screen":null,"elements":null,"element":null,"resume":null,"autoCommit":null,"detach":null}`,
			ok: func(r Request) bool {
				return reflect.DeepEqual(r, Request{Prompt: "a", Provider: "anthropic", AutoCommit: true})
			}},
		{says: "bytes that are not UTF-8 become U+FFFD", body: "{\"prompt\":\"a\xff\",\"element\":{\"tag\":\"\xc3\",\"id\":\"\\ud800\"}}",
			ok: func(r Request) bool {
				return r.Prompt == "a\uFFFD" && r.Elements[0].Tag == "\uFFFD" && r.Elements[0].ID == "\uFFFD"
			}},
		{says: "escaped names and values", body: `{"\u0070rompt":"a\/\"b\\","element":{"\u0074ag":"i"}}`,
			ok: func(r Request) bool { return r.Prompt == `a/"b\` && r.Elements[0].Tag == "i" }},
		{says: "white space anywhere", body: " \n{ \"prompt\" : \"a\" ,\t\"elements\" : [ { \"tag\" : \"b\" } , { } ]\r\n} ",
			note: []string{"capture_skipped"}, ok: func(r Request) bool { return r.Prompt == "a" && len(r.Elements) == 1 }},
	}
	for i, tt := range tests {
		t.Run(fmt.Sprintf("%02d %s", i, tt.says), func(t *testing.T) {
			r, err := Decode([]byte(tt.body))
			if tt.err != "" {
				var fe *FieldError
				if !errors.As(err, &fe) || !strings.HasPrefix(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var codes []string
			for _, n := range r.Notes {
				codes = append(codes, n.Code)
			}
			if len(codes) != len(tt.note) {
				t.Errorf("notes %v, want %v", r.Notes, tt.note)
			}
			for _, want := range tt.note {
				if !strings.Contains(strings.Join(codes, " "), want) {
					t.Errorf("notes %v, want %v", codes, tt.note)
				}
			}
			if !tt.ok(r) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestCapture shows what is taken from one capture, and what is left out.
func TestCapture(t *testing.T) {
	long := strings.Repeat("ä", 2000)
	rule := `{"selector":".a","props":{"a":"b"}},`
	props := make([]string, 30)
	for i := range props {
		props[i] = fmt.Sprintf(`"p%02d":"v"`, i)
	}
	tests := []struct {
		says, capture, want string // want is the element's JSON
	}{
		{"the whole of it", `{"tag":"button","id":null,"className":"btn btn-primary","text":"New","domPath":"div.topbar > button","rect":{"x":1180,"y":16,"w":64,"h":32},` +
			`"matchedStyles":[{"selector":".btn-primary","source":"/src/Button.module.css","line":42,"sourceMapURL":"/x.map","props":{"color":"red"}}],` +
			`"component":{"name":"Toolbar","file":"src/Toolbar.tsx","line":18,"stack":["Toolbar","App"],"framework":"react"},"attrs":{"data-testid":"new"},"role":"button","name":"New","frame":"https://x"}`,
			`{"tag":"button","class":"btn btn-primary","text":"New","domPath":"div.topbar \u003e button","rect":{"x":1180,"y":16,"w":64,"h":32},"role":"button","name":"New",` +
				`"component":{"name":"Toolbar","file":"src/Toolbar.tsx","line":18,"stack":["Toolbar","App"],"framework":"react"},` +
				`"matchedStyles":[{"selector":".btn-primary","source":"/src/Button.module.css","line":42,"sourceMapURL":"/x.map","props":{"color":"red"}}],"attrs":{"data-testid":"new"},"frame":"https://x"}`},
		{"strings are cut: class 500", `{"className":"` + long + `"}`, `{"class":"` + long[:2*500] + `"}`},
		{"strings are cut: text 120", `{"text":"` + long + `"}`, `{"text":"` + long[:2*120] + `"}`},
		{"strings are cut: path 1,000", `{"domPath":"` + long + `"}`, `{"domPath":"` + long[:2*1000] + `"}`},
		{"attrs ≤ 120 characters", `{"attrs":{"href":"` + long + `"}}`, `{"attrs":{"href":"` + long[:2*120] + `"}}`},
		{"text is trimmed, white space folded", `{"text":"  a\n\t b\u00a0 c "}`, `{"text":"a b c"}`},
		{"only those attributes", `{"tag":"a","attrs":{"value":"secret","onclick":"x","style":"x","srcdoc":"x","data-testid":"t","aria-label":"l","href":"/","name":"n","type":"t","placeholder":"p",` +
			`"data-astro-source-file":"f","data-source":"s","data-resource":"no","data-user":"no"}}`,
			`{"tag":"a","attrs":{"aria-label":"l","data-astro-source-file":"f","data-source":"s","data-testid":"t","href":"/","name":"n","placeholder":"p","type":"t"}}`},
		{"≤ 12 rules", `{"matchedStyles":[` + strings.Repeat(rule, 13) + `{}]}`,
			`{"matchedStyles":[` + strings.TrimSuffix(strings.Repeat(rule, 12), ",") + `]}`},
		{"≤ 24 properties each", `{"matchedStyles":[{"props":{` + strings.Join(props, ",") + `}}]}`,
			`{"matchedStyles":[{"props":{` + strings.Join(props[:24], ",") + `}}]}`},
		{"stack is capped", `{"component":{"stack":["x"` + strings.Repeat(`,"x"`, 50) + `]}}`,
			`{"component":{"stack":["x"` + strings.Repeat(`,"x"`, 19) + `]}}`},
		{"a wrong type skips the field", `{"tag":"a","id":7,"className":{"baseVal":"x"},"text":["x"],"rect":"1","matchedStyles":{},"component":[],"attrs":"x","repeat":1,"click":null,"hiddenText":"true","disabled":1}`,
			`{"tag":"a"}`},
		{"a wrong type skips the field within", `{"tag":"a","rect":{"x":"1","y":2,"w":3,"h":4},"component":{"name":"A","file":7,"line":3,"stack":[1,"B"]},"matchedStyles":[1,{"selector":".a","line":"7","props":{"a":1,"b":"c"}}],"attrs":{"href":1,"name":"n"}}`,
			`{"tag":"a","component":{"name":"A","stack":["B"]},"matchedStyles":[{"selector":".a","props":{"b":"c"}}],"attrs":{"name":"n"}}`},
		{"numbers of a rect are made sane", `{"tag":"a","rect":{"x":-0.001,"y":1e300,"w":0.126,"h":-5}}`, `{"tag":"a","rect":{"x":0,"y":1000000,"w":0.13,"h":-5}}`},
		{"numbers of a rect are made sane", `{"tag":"a","rect":{"x":1e999,"y":1,"w":1,"h":1}}`, `{"tag":"a"}`},
		{"a rect lacks a side", `{"tag":"a","rect":{"x":1,"y":1,"w":1}}`, `{"tag":"a"}`},
		{"flags are exactly true", `{"tag":"a","hiddenText":true,"disabled":true,"closedShadow":true,"clipped":true}`,
			`{"tag":"a","hiddenText":true,"disabled":true,"closedShadow":true,"clipped":true}`},
		{"repeat:{index,of,key}", `{"tag":"li","repeat":{"index":2,"of":9,"key":"k"}}`, `{"tag":"li","repeat":{"index":2,"of":9,"key":"k"}}`},
		{"repeat out of range", `{"tag":"li","repeat":{"index":10,"of":9}}`, `{"tag":"li","repeat":{"of":9}}`},
		{"repeat of one is none", `{"tag":"li","repeat":{"index":1,"of":1}}`, `{"tag":"li"}`},
		{"click:{x,y} inside a canvas", `{"tag":"canvas","click":{"x":3.5,"y":4}}`, `{"tag":"canvas","click":{"x":3.5,"y":4}}`},
		{"an address that is data says nothing", `{"matchedStyles":[{"selector":"a","source":"blob:x","sourceMapURL":"data:application/json,x"}]}`, `{"matchedStyles":[{"selector":"a"}]}`},
		{"screenshotW/H are not forwarded", `{"tag":"a","screenshotW":1,"screenshotH":2,"shape":"x"}`, `{"tag":"a"}`},
	}
	for _, tt := range tests {
		t.Run(tt.says, func(t *testing.T) {
			r, err := Decode([]byte(`{"prompt":"x","element":` + tt.capture + `}`))
			if err != nil || len(r.Elements) != 1 {
				t.Fatalf("%v, %+v", err, r)
			}
			got, err := json.Marshal(r.Elements[0])
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestShot(t *testing.T) {
	big := png + strings.Repeat("x", MaxShot-len(png))
	tests := []struct {
		name, url, mime string // mime "" = skipped
	}{
		{"png", dataURL("image/png", png), "image/png"},
		{"jpeg", dataURL("image/jpeg", jpeg), "image/jpeg"},
		{"webp", dataURL("image/webp", webp), "image/webp"},
		{"the signature decides", dataURL("image/png", jpeg), "image/jpeg"},
		{"the case of the head does not matter", "DATA:image/PNG;Base64," + base64.StdEncoding.EncodeToString([]byte(png)), "image/png"},
		{"no padding", "data:image/png;base64," + base64.RawStdEncoding.EncodeToString([]byte(png)), "image/png"},
		{"exactly 4 MiB", dataURL("image/png", big), "image/png"},
		{"one byte more", dataURL("image/png", big+"x"), ""},
		{"svg", dataURL("image/svg+xml", "<svg/>"), ""},
		{"gif", dataURL("image/gif", "GIF89a"), ""},
		{"a declared png that is html", dataURL("image/png", "<html>"), ""},
		{"empty data", dataURL("image/png", ""), ""},
		{"not base64", "data:image/png," + png[1:4], ""},
		{"damaged base64", "data:image/png;base64,iVBORw0*", ""},
		{"an address", "https://example.org/a.png", ""},
		{"a file", "file:///etc/passwd", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url, err := json.Marshal(tt.url)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Decode([]byte(`{"prompt":"x","element":{"tag":"a","screenshotDataUrl":` + string(url) + `}}`))
			if err != nil || len(r.Elements) != 1 {
				t.Fatalf("%v, %+v", err, r.Notes)
			}
			if s := r.Elements[0].Shot; tt.mime != "" && (s == nil || s.MIME != tt.mime || len(r.Notes) > 0) {
				t.Errorf("got %v and notes %v, want %s", s != nil, r.Notes, tt.mime)
			} else if tt.mime == "" && (s != nil || len(r.Notes) != 1 || r.Notes[0].Code != "image_skipped") {
				t.Errorf("got %v and notes %v, want it skipped with a note", s != nil, r.Notes)
			}
		})
	}
}

func TestDeepNesting(t *testing.T) {
	for _, depth := range []int{9000, 5_000_000} {
		deep := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		r, err := Decode([]byte(`{"x":` + deep + `,"prompt":"a"}`))
		var fe *FieldError
		if err != nil && !errors.As(err, &fe) {
			t.Errorf("depth %d: %v", depth, err)
		}
		if depth < 10_000 && r.Prompt != "a" {
			t.Errorf("depth %d: %+v, %v", depth, r, err)
		}
	}
}

func TestTitle(t *testing.T) {
	tests := []struct{ prompt, want string }{
		{"make it green", "make it green"},
		{"\n \t\r\n  make\tit  green \nand blue", "make it green"},
		{"one\u2028two", "one"},
		{"a\x1b[31mred\x00\u202eabc\u0085x", "a[31mredabc"},
		{"\u200b\n\u202e\nreal", "real"},
		{"👩\u200d🚀 héllo", "👩\u200d🚀 héllo"},
		{strings.Repeat("é", 72), strings.Repeat("é", 72)},
		{strings.Repeat("é", 73), strings.Repeat("é", 71) + "…"},
		{"bad \xff utf8", "bad \uFFFD utf8"},
		{"", "change what the user picked"},
		{" \n ", "change what the user picked"},
	}
	for _, tt := range tests {
		if got := Title(tt.prompt); got != tt.want {
			t.Errorf("Title(%q) = %q, want %q", tt.prompt, got, tt.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"prompt":"make it green"}`, `{}`, `[]`, `null`, `{"prompt":"a","elements":[{"tag":"b"},1,{}]}`, " { \"prompt\" :\t\"a\" } ",
		`{"prompt":"a\"\\","element":{"tag":"\u0074","rect":{"x":1e3,"y":-0,"w":1.5,"h":2},"click":{"x":1,"y":1}}}`,
		`{"prompt":"a","element":{"component":{"stack":["a","b"]},"matchedStyles":[{"props":{"a":"b"}}],"attrs":{"href":"x"},"repeat":{"index":1,"of":2}}}`,
		`{"prompt":"a","element":{"screenshotDataUrl":"data:image/png;base64,iVBORw0KGgo="},"resume":"x","autoCommit":false,"detach":true}`,
		"{\"prompt\":\"\xff\",\"x\":[[[{}]],[],{\"a\":[]}]}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Decode(body)
		if err != nil {
			var fe *FieldError
			if !errors.As(err, &fe) || fe.Field == "" {
				t.Fatalf("%v is not about a field", err)
			}
			return
		}
		if strings.TrimSpace(r.Prompt) == "" && len(r.Elements) == 0 || len(r.Elements) > MaxElements || !utf8.ValidString(r.Prompt) {
			t.Fatalf("%+v", r)
		}
		// The walker and encoding/json read the same (but for the case of names,
		// which json.Unmarshal into a map keeps apart as well).
		var m map[string]any
		if err := json.Unmarshal(body, &m); err != nil {
			t.Fatal(err)
		}
		if p, _ := m["prompt"].(string); p != r.Prompt {
			t.Fatalf("prompt %q, encoding/json reads %q", r.Prompt, p)
		}
		if v, ok := m["autoCommit"].(bool); r.AutoCommit == (ok && !v) {
			t.Fatalf("autoCommit %v, encoding/json reads %v", r.AutoCommit, m["autoCommit"])
		}
		for _, el := range r.Elements {
			if n := utf8.RuneCountInString(el.Text); n > maxText || utf8.RuneCountInString(el.Class) > maxClass {
				t.Fatalf("%+v", el)
			}
		}
		Build(r, BuildOptions{Nonce: "n"})
	})
}

func BenchmarkDecode64MiB(b *testing.B) {
	shot := dataURL("image/png", png+strings.Repeat("x", 12<<20-100))
	one := `{"tag":"img","imageDataUrl":"` + shot + `","screenshotDataUrl":"` + dataURL("image/png", png+strings.Repeat("y", 3<<20)) + `"}`
	body := []byte(`{"prompt":"a","elements":[` + one + "," + one + "," + one + `]}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if r, err := Decode(body); err != nil || len(r.Elements) != 3 {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecodeHostile is a body of captures and members that hold nothing.
func BenchmarkDecodeHostile(b *testing.B) {
	body := []byte(`{"prompt":"a","elements":[{"matchedStyles":[{}` + strings.Repeat(`,{}`, 4<<20) + `]}` + strings.Repeat(`,{}`, 4<<20) +
		`],"x":{"":0` + strings.Repeat(`,"":0`, 4<<20) + `}}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := Decode(body); err != nil {
			b.Fatal(err)
		}
	}
}
