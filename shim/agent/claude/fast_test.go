package claude

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// prelude brings a mapper to where deltas are expected.
var prelude = []string{initLine, beginLine("a")}

// delta332 and delta197 are the shapes of the two versions.
func delta332(text string) string {
	return `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}},"session_id":"6483722a-c7a3-4288-8960-bf333d3405a8","parent_tool_use_id":null,"uuid":"89d89e4c-4cf0-49cd-a9c9-fadf9254771e","api_message_id":"msg_lab_6519b7d414d54d65"}`
}

func delta197(text string) string {
	return `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}},"session_id":"6483722a-c7a3-4288-8960-bf333d3405a8","parent_tool_use_id":null,"uuid":"89d89e4c-4cf0-49cd-a9c9-fadf9254771e"}`
}

// fastSeeds are lines that are, or nearly are, plain text deltas.
func fastSeeds() []string {
	seeds := []string{
		textLine("12", "x"), textLine("012", "x"), textLine("1.0", "x"), textLine("-1", "x"), textLine("1234", "x"), textLine("", "x"),
		strings.Replace(delta332("x"), `"parent_tool_use_id":null`, `"parent_tool_use_id":"T"`, 1),
		strings.Replace(delta332("x"), `"parent_tool_use_id":null`, `"parent_tool_use_id":""`, 1),
		strings.Replace(delta332("x"), `,"parent_tool_use_id":null`, ``, 1),
		strings.Replace(delta332("x"), `"uuid":`, `"Parent_Tool_Use_ID":"T","uuid":`, 1),
		strings.Replace(delta332("x"), `"uuid":`, `"type":"assistant","uuid":`, 1),
		strings.Replace(delta332("x"), `"uuid":`, `"event":{"type":"ping"},"uuid":`, 1),
		strings.Replace(delta332("x"), `"uuid":"89d8`, `"uuid":"\u0038`, 1),
		strings.Replace(delta332("x"), `"text":"x"`, `"text":"x","text":"y"`, 1),
		strings.Replace(delta332("x"), `}},`, `} },`, 1),
		delta332("x") + " ", delta332("x") + "x", delta332("x")[:60], delta332("x")[:len(delta332("x"))-1],
	}
	for _, text := range []string{
		"", "x", "it\u2028works \U0001F600 é", `\n\t\r\b\f\/\\\"`, `\u00e9\u2028`, `\ud83d\ude00`, `\ud800`, `\udc00x`, `\ud83dx`,
		`\x`, `\u12`, `\u+123`, `\uD7FF\uE000`, "\x01", "\xff\xfe", "\xed\xa0\x80", `\`, `<b>&</b>`, "a\\\nb", `\u0000`, "\u007f",
	} {
		seeds = append(seeds, delta332(text), delta197(text))
	}
	return seeds
}

// sameBothWays maps line with and without the fast path, in three states.
func sameBothWays(t *testing.T, line []byte) {
	t.Helper()
	for name, before := range map[string][]string{"new": nil, "started": {initLine}, "streaming": prelude} {
		fast, slow := newMapper(agent.MapOptions{}), newMapper(agent.MapOptions{})
		slow.slowOnly = true
		for _, l := range before {
			_, _ = fast.Map([]byte(l))
			_, _ = slow.Map([]byte(l))
		}
		// What follows shows whether both are in the same state afterwards.
		for _, l := range [][]byte{line, []byte(saidLine("a", "1", "kept")), []byte(abandonLine("1")), []byte(saidLine("z", "1", "end"))} {
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
	for _, s := range fastSeeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) { sameBothWays(t, line) })
}

// FuzzFastPathText does the same with the line's frame kept, so that the text
// and the tail are what varies.
func FuzzFastPathText(f *testing.F) {
	const (
		head = `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`
		end  = `"}}`
	)
	f.Add(`x\n`, `,"uuid":"u"`)
	f.Add("\u2028", `,"parent_tool_use_id":null`)
	f.Add(`\u00e9`, `,"parent_tool_use_id":null,"parent_tool_use_id":"T"`)
	f.Add(`"`, `,"api_message_id":"b","api_message_id":"c"`)
	f.Fuzz(func(t *testing.T, text, tail string) {
		sameBothWays(t, []byte(head+text+end+tail+`}`))
	})
}

// TestFastPathOnFixtures: both ways agree on every recorded line, and the fast
// path takes nearly all text deltas of both versions.
func TestFastPathOnFixtures(t *testing.T) {
	taken, deltas := map[string]int{}, map[string]int{}
	for _, f := range loadFixtures(t, "*") {
		fast, slow := newMapper(options(f)), newMapper(options(f))
		slow.slowOnly = true
		for _, line := range f.Lines() {
			got, gotErr := fast.Map(line)
			want, wantErr := slow.Map(line)
			if gotErr != wantErr || len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %.200q", f.Name, line)
			}
			if bytes.Contains(line, []byte(`"delta":{"type":"text_delta"`)) && f.Provenance() != "made" {
				deltas[f.Version()]++
				probe := newMapper(agent.MapOptions{})
				if _, ok := probe.fast(line); ok {
					taken[f.Version()]++
				}
			}
		}
	}
	for v, n := range deltas {
		if taken[v]*100 < n*99 {
			t.Errorf("%s: the fast path took %d of %d text deltas", v, taken[v], n)
		}
	}
	if len(deltas) < 2 {
		t.Errorf("text deltas of %d versions", len(deltas))
	}
}

// FuzzMap: no transcript makes the mapper panic or break the order of events.
func FuzzMap(f *testing.F) {
	for _, fx := range loadFixtures(f, "captured") {
		if len(fx.Stdout) < 40<<10 {
			f.Add(fx.Stdout, fx.Exit, string(fx.Stderr))
		}
	}
	f.Fuzz(func(t *testing.T, stdout []byte, code int, stderr string) {
		m := New().NewMapper(agent.MapOptions{Repo: testRepo, Resume: testSession})
		announced := map[string]bool{}
		starts, total := 0, 0
		for _, line := range bytes.Split(stdout, []byte("\n")) {
			events, err := m.Map(line)
			if err != nil && err != agent.ErrNotJSON {
				t.Fatal(err)
			}
			for _, e := range events {
				total++
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
	})
}

// TestSeedsAreCommitted keeps the committed seeds of the fast path's fuzzer in step
// with fastSeeds.
func TestSeedsAreCommitted(t *testing.T) {
	const dir = "testdata/fuzz/FuzzFastPath"
	for i, s := range fastSeeds() {
		name := fmt.Sprintf("%s/seed-%02d", dir, i)
		want := fmt.Sprintf("go test fuzz v1\n[]byte(%q)\n", s)
		if os.Getenv("GOLDIE_UPDATE") != "" {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(name)
		if err != nil || string(got) != want {
			t.Errorf("%s is missing or old: run GOLDIE_UPDATE=1 go test ./shim/agent/claude", name)
		}
	}
}
