package grok

import (
	"bytes"
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
