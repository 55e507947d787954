package event

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// sample is a value of e's type with every field set.
func sample(e Event) Event {
	p := reflect.New(reflect.TypeOf(e)).Elem()
	fillValue(p)
	return p.Interface().(Event)
}

func fillValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				fillValue(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillValue(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fillValue(v.Index(0))
		fillValue(v.Index(1))
	case reflect.String:
		v.SetString("<b> & \u2028 é")
	case reflect.Int, reflect.Int64:
		v.SetInt(42)
	case reflect.Float64:
		v.SetFloat(0.125)
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic("no sample for " + v.Kind().String())
	}
}

func TestEveryTypeRoundTrips(t *testing.T) {
	seen := map[string]bool{}
	for _, zero := range All() {
		if seen[zero.Type()] {
			t.Errorf("two types are called %s", zero.Type())
		}
		seen[zero.Type()] = true
		for _, e := range []Event{zero, sample(zero)} {
			b, err := Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(b, []byte(`{"type":"`+e.Type()+`"`)) {
				t.Errorf("type is not first: %s", b)
			}
			if bytes.ContainsAny(b, "\n\r\u2028\u2029") {
				t.Errorf("more than one line: %q", b)
			}
			back, err := Decode(b)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(back, e) {
				t.Errorf("%s: got %+v, want %+v", e.Type(), back, e)
			}
		}
	}
}

// The names below are the contract: clients of the original and the panel
// read them. A name that goes missing here must not.
func TestFieldNamesOfTheContract(t *testing.T) {
	want := map[string]string{
		"start": "sessionId model runId provider", "delta": "text messageId", "delta_reset": "messageId",
		"thinking_delta": "text messageId",
		"usage":          "inputTokens outputTokens cacheReadTokens cacheCreationTokens thinkingTokens",
		"tool":           "tool detail id parentId", "file_edit": "tool path id parentId",
		"tool_result": "tool id text isError truncated",
		"result":      "isError numTurns durationMs totalCostUsd usage result subtype",
		"change":      "files added removed", "commit": "sha count hooksSkipped", "commit_error": "message fix",
		"image_status": "state", "image_generated": "tmpPath mimeType bytes",
		"note": "message level code resetsAt", "stopped": "by", "error": "message code fix resetsAt", "done": "", "user": "text",
	}
	for _, e := range All() {
		b, err := Encode(sample(e))
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		names := strings.Fields(want[e.Type()])
		for _, name := range names {
			if _, ok := got[name]; !ok {
				t.Errorf("%s has no %s: %s", e.Type(), name, b)
			}
		}
		if len(got) != len(names)+1 {
			t.Errorf("%s has other fields than %v: %s", e.Type(), names, b)
		}
	}
	if len(want) != len(All()) {
		t.Errorf("%d types, %d expected", len(All()), len(want))
	}
}

// A client must be able to tell "no text" from "text already streamed".
func TestResultIsNullWhenTextStreamed(t *testing.T) {
	b, _ := Encode(Result{})
	if !bytes.Contains(b, []byte(`"result":null`)) || !bytes.Contains(b, []byte(`"usage":null`)) {
		t.Errorf("got %s", b)
	}
}

func TestDecodeOfWhatIsUnknownOrBroken(t *testing.T) {
	e, err := Decode([]byte(`{"type":"question","id":"q1"}`))
	if u, ok := e.(Unknown); err != nil || !ok || u.Name != "question" {
		t.Errorf("an unknown type gave %#v, %v", e, err)
	}
	for _, bad := range []string{``, `{`, `[]`, `{"text":"x"}`, `{"type":"delta","text":1}`} {
		if e, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%q was decoded as %#v", bad, e)
		}
	}
}

func FuzzEncodeTextAgreesWithTheEncoder(f *testing.F) {
	for _, s := range []string{"", "plain", "quote \" back \\ tab \t", "<&>", "é \u2028 \x00 \x7f", "\xff\xfe broken"} {
		f.Add(s, "msg_1")
	}
	f.Fuzz(func(t *testing.T, text, id string) {
		for _, e := range []Event{Delta{text, id}, ThinkingDelta{text, id}} {
			fast, err := Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			slow, err := encode(e)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(fast, slow) {
				t.Errorf("fast %s\nslow %s", fast, slow)
			}
		}
	})
}
