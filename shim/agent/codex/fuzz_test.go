package codex

import (
	"bytes"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// FuzzMap: no transcript makes the mapper panic or break the order of events.
func FuzzMap(f *testing.F) {
	for _, fx := range append(loadFixtures(f, fakeagents.Captured), loadFixtures(f, fakeagents.Made)...) {
		if len(fx.Stdout) < 40<<10 {
			f.Add(fx.Stdout, fx.Exit, string(fx.Stderr))
		}
	}
	f.Fuzz(func(t *testing.T, stdout []byte, code int, stderr string) {
		m := New(Options{}).NewMapper(agent.MapOptions{Repo: testRepo, Resume: testSession})
		announced := map[string]bool{}
		starts, others := 0, 0
		check := func(e event.Event) {
			switch e := e.(type) {
			case event.Start:
				starts++
				if others > 0 {
					t.Fatal("start is not first")
				}
			case event.Note:
				others--
			case event.Tool:
				announced[e.ID] = true
			case event.FileEdit:
				announced[e.ID] = true
			case event.ToolResult:
				if !announced[e.ID] {
					t.Fatalf("tool_result %q was not announced", e.ID)
				}
			}
			others++
			if _, err := event.Encode(e); err != nil {
				t.Fatal(err)
			}
		}
		for _, line := range bytes.Split(stdout, []byte("\n")) {
			events, err := m.Map(line)
			if err != nil && err != agent.ErrNotJSON {
				t.Fatal(err)
			}
			for _, e := range events {
				check(e)
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

// FuzzSession: no rollout makes the reader panic, or gives a session without
// its folder.
func FuzzSession(f *testing.F) {
	for _, s := range []string{rollout171, rollout144, "", "\n\n", "{}\n{", `{"type":"session_meta","payload":{"cwd":1}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := readEnds(t.Context(), bytes.NewReader(b), int64(len(b)))
		if s.Folder == "" && s.Usage != nil {
			t.Errorf("%+v", s)
		}
		if u := s.Usage; u != nil && (u.InputTokens < 0 || u.OutputTokens < 0 || u.CacheReadTokens < 0 || u.CacheCreationTokens < 0) {
			t.Errorf("usage %+v", *u)
		}
	})
}
