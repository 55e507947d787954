package grok

import (
	"bytes"
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/agenttest"
)

// FuzzHistoryScan: no summary and no conversation make the scan panic or list a
// session of another folder, and a second line changes nothing.
func FuzzHistoryScan(f *testing.F) {
	f.Add([]byte(`{"info":{"id":"S","cwd":"/repo"},"session_summary":"Fix parser","created_at":"2026-08-19T00:00:00.123456789Z","updated_at":"2026-08-19T00:01:00Z","num_chat_messages":7,"head_branch":"main","generated_title":"Fix parser"}`), []byte(chatHistory))
	f.Add([]byte("{\n  \"info\": {\"cwd\": \"/repo\"},\n  \"session_summary\": \"fix\",\n  \"num_chat_messages\": 1e99}"), []byte(`{"type":"user","content":"fix"`))
	f.Add([]byte(`{"info":{"cwd":"/other"}}`), []byte(nil))
	f.Add([]byte(`{"info":{"cwd":"/repo"},"session_kind":"subagent"}`), []byte("\n\n"))
	f.Fuzz(func(t *testing.T, summary, chat []byte) {
		tr := writeTranscript(t, t.TempDir(), testSession, string(summary), string(chat))
		s := scanOf(t, agent.History{Repo: testRepo}, tr, string(summary))
		verdict, row := s.Verdict(), s.Row()
		if verdict != agent.Ours && row != (agent.Row{}) {
			t.Fatalf("verdict %d with the row %+v", verdict, row)
		}
		if verdict == agent.Ours && !bytes.Contains(summary, []byte("repo")) && !bytes.ContainsRune(summary, '\\') {
			t.Fatal("a session of nowhere is ours")
		}
		for _, at := range []interface{ MarshalJSON() ([]byte, error) }{row.StartedAt, row.EndedAt} {
			if _, err := at.MarshalJSON(); err != nil {
				t.Fatal(err)
			}
		}
		if row.Messages < 0 {
			t.Fatalf("%d messages", row.Messages)
		}
		if s.Line([]byte(`{"info":{"cwd":"/other"}}`)); verdict != agent.Undecided && s.Verdict() != verdict {
			t.Fatal("the verdict changed")
		}
	})
}

// FuzzHistoryReplay: no file makes the replay panic or break the order of
// events.
func FuzzHistoryReplay(f *testing.F) {
	f.Add([]byte(chatHistory))
	f.Add([]byte(`{"type":"user","content":[{"type":"image"}]}` + "\n" + `{"type":"assistant","content":null,"tool_calls":[{"id":"","name":"apply_patch","arguments":"{\"patch\":\"*** Add File: a\"}"}]}` + "\n" + `{"type":"tool_result"}`))
	f.Add([]byte(`{"type":"user","content":"a"}` + "\n" + `{"type":"reasoning","summary":"x"}` + "\n" + `{"type":"backend_tool_call","kind":{}}` + "\n" + `{"type":"backend_tool_call","kind":{"id":"call_1"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		agenttest.CheckReplay(t, New(Options{}).NewReplay(agent.History{Repo: testRepo}), b)
	})
}
