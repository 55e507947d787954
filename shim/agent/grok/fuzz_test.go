package grok

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// FuzzMap: no transcript makes the mapper panic or break the order of events.
func FuzzMap(f *testing.F) {
	for _, fx := range loadFixtures(f) {
		if len(fx.Stdout) < 40<<10 {
			f.Add(fx.Stdout, fx.Exit, string(fx.Stderr))
		}
	}
	f.Fuzz(func(t *testing.T, stdout []byte, code int, stderr string) {
		m := New(Options{}).NewMapper(agent.MapOptions{Repo: testRepo, Resume: testSession})
		announced := map[string]bool{}
		starts := 0
		for _, line := range bytes.Split(stdout, []byte("\n")) {
			events, err := m.Map(line)
			if err != nil && err != agent.ErrNotJSON {
				t.Fatal(err)
			}
			for _, e := range events {
				switch e := e.(type) {
				case event.Start:
					starts++
				case event.Tool:
					announced[e.ID] = true
				case event.FileEdit:
					announced[e.ID] = true
				case event.ToolResult:
					if !announced[e.ID] {
						t.Fatalf("tool_result %q was not announced", e.ID)
					}
				}
				if starts == 0 && e.Type() != "note" {
					t.Fatalf("%s before start", e.Type())
				}
				if _, err := event.Encode(e); err != nil {
					t.Fatal(err)
				}
			}
		}
		if starts > 1 {
			t.Fatalf("%d starts", starts)
		}
		closing := m.Finish(agent.Exit{Code: code, Stderr: stderr})
		if len(closing) == 0 || len(closing) > 2 {
			t.Fatalf("%d closing events", len(closing))
		}
		for _, e := range closing {
			if _, err := event.Encode(e); err != nil {
				t.Fatal(err)
			}
		}
		if open := m.Facts().ToolsOpen; open < 0 || open > len(announced) {
			t.Fatalf("%d of %d tools open", open, len(announced))
		}
	})
}

// deltaLine is a text_delta line as grok writes it.
func deltaLine(text string) string {
	return `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}},"parent_tool_use_id":null,"session_id":"` + testSession + `","uuid":"89d89e4c-4cf0-49cd-a9c9-fadf9254771e"}`
}

// sameBothWays maps line with and without the fast path, in three states, and
// what follows it: that shows whether both are in the same state afterwards.
func sameBothWays(t *testing.T, line []byte) {
	t.Helper()
	for name, before := range map[string][]string{"new": nil, "started": {initLine}, "streaming": {initLine, beginLine("a"), deltaLine("x")}} {
		fast, slow := newMapper(agent.MapOptions{}), newMapper(agent.MapOptions{})
		slow.slowOnly = true
		for _, l := range before {
			_, _ = fast.Map([]byte(l))
			_, _ = slow.Map([]byte(l))
		}
		for _, l := range [][]byte{line, []byte(saidLine("b", "kept")), []byte(saidLine("c", "end"))} {
			got, gotErr := fast.Map(bytes.Clone(l))
			want, wantErr := slow.Map(bytes.Clone(l))
			if gotErr != wantErr || len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
				t.Fatalf("%s, %q:\nfast %#v %v\nslow %#v %v", name, l, got, gotErr, want, wantErr)
			}
		}
		if got, want := fast.Facts(), slow.Facts(); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: facts %+v, want %+v", name, got, want)
		}
	}
}

// FuzzFastPath: the fast path and the decoder agree on every line.
func FuzzFastPath(f *testing.F) {
	for _, text := range []string{"", "x", "it\u2028works é", `\n\"\\`, `\u00e9`, `\ud83d\ude00`, `\ud800`, "\xff", `\x`, "a\nb"} {
		f.Add([]byte(deltaLine(text)))
	}
	f.Add([]byte(strings.Replace(deltaLine("x"), `"parent_tool_use_id":null`, `"parent_tool_use_id":"T"`, 1)))
	f.Add([]byte(strings.Replace(deltaLine("x"), `"uuid":`, `"type":"assistant","uuid":`, 1)))
	f.Add([]byte(strings.Replace(deltaLine("x"), `"uuid":`, `"api_message_id":"b","uuid":`, 1)))
	f.Fuzz(func(t *testing.T, line []byte) { sameBothWays(t, line) })
}

// TestFastPathOnFixtures: both ways agree on every line, and the fast path
// takes all text deltas.
func TestFastPathOnFixtures(t *testing.T) {
	taken, deltas := 0, 0
	for _, f := range loadFixtures(t) {
		fast, slow := newMapper(options(f)), newMapper(options(f))
		slow.slowOnly = true
		for _, line := range f.Lines() {
			got, gotErr := fast.Map(line)
			want, wantErr := slow.Map(line)
			if gotErr != wantErr || len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %.200q", f.Name, line)
			}
			if bytes.Contains(line, []byte(`"delta":{"type":"text_delta"`)) {
				deltas++
				if _, ok := newMapper(agent.MapOptions{}).fast(line); ok {
					taken++
				}
			}
		}
	}
	if taken != deltas || deltas < 60 {
		t.Errorf("the fast path took %d of %d text deltas", taken, deltas)
	}
}

// BenchmarkMapTextDelta: small deltas must leave room for 1,000,000 lines/s end
// to end.
func BenchmarkMapTextDelta(b *testing.B) {
	m := newMapper(agent.MapOptions{Repo: testRepo})
	for _, l := range []string{initLine, beginLine("msg_0")} {
		if _, err := m.Map([]byte(l)); err != nil {
			b.Fatal(err)
		}
	}
	line := []byte(deltaLine("Hello from t"))
	b.ReportAllocs()
	for b.Loop() {
		if events, err := m.Map(line); err != nil || len(events) != 1 {
			b.Fatalf("%d events, %v", len(events), err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}

// FuzzOutput: no output of a tool makes the reader panic.
func FuzzOutput(f *testing.F) {
	for _, tt := range outputs {
		f.Add(tt.content)
	}
	f.Fuzz(func(t *testing.T, content string) {
		if out := unwrap(content); content != "" && out.text == "" && out.failed && out.files != nil {
			t.Skip() // nothing to hold: it is looked for panics only
		}
	})
}
