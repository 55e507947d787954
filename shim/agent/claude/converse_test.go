package claude

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// only returns the one line that a step writes.
func only(t *testing.T, s agent.Step) string {
	t.Helper()
	if len(s.Write) != 1 {
		t.Fatalf("%d lines written, want 1", len(s.Write))
	}
	return string(s.Write[0])
}

func TestConversationLines(t *testing.T) {
	c := New().Converse(agent.Spec{
		Prompt: "/clear & <b> it\u2028now",
		Images: []agent.Image{{MIME: "image/png", Data: []byte("one")}, {MIME: "image/webp", Data: []byte("two")}},
	})
	want := `{"type":"control_request","request_id":"slidewrite-initialize","request":{"subtype":"initialize"}}` + "\n"
	if got := only(t, c.Open()); got != want {
		t.Errorf("Open wrote %s", got)
	}
	want = `{"type":"user","message":{"role":"user","content":[` +
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"b25l"}},` +
		`{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"dHdv"}},` +
		`{"type":"text","text":"\n/clear & <b> it\u2028now"}]},"parent_tool_use_id":null,"session_id":""}` + "\n"
	if got := only(t, c.Prompt()); got != want {
		t.Errorf("Prompt wrote\n%s\nwant\n%s", got, want)
	}
	if s := c.Prompt(); len(s.Write) != 0 {
		t.Error("a second Prompt wrote a second message")
	}
	first, ok := c.Interrupt()
	second, _ := c.Interrupt()
	if !ok || !strings.Contains(only(t, first), `"request":{"subtype":"interrupt"}`) || only(t, first) == only(t, second) {
		t.Errorf("interrupts: %q, %q", first.Write, second.Write)
	}
	if c.PromptAfter() != 2*time.Second || c.CloseAfterResult() != time.Second {
		t.Errorf("waits %v and %v", c.PromptAfter(), c.CloseAfterResult())
	}
}

// TestPromptBytes: the newline is the only byte that is added, and it is added
// always.
func TestPromptBytes(t *testing.T) {
	for _, prompt := range []string{"", "plain", "\nstarts with a newline", "/cost", "quote \" and \\ and \x00", "@file.txt"} {
		c := New().Converse(agent.Spec{Prompt: prompt})
		var m struct {
			Message struct {
				Content []struct{ Type, Text string }
			}
		}
		if err := json.Unmarshal([]byte(only(t, c.Prompt())), &m); err != nil {
			t.Fatal(err)
		}
		if b := m.Message.Content; len(b) != 1 || b[0].Type != "text" || b[0].Text != "\n"+prompt {
			t.Errorf("%q became %q", prompt, b)
		}
	}
}

func TestConversationReacts(t *testing.T) {
	idle := `{"type":"system","subtype":"session_state_changed","state":"idle","session_id":"s"}`
	tests := []struct {
		name     string
		prompted bool
		line     string
		want     agent.Step
	}{
		{"initialized", false, `{"type":"control_response","response":{"subtype":"success","request_id":"slidewrite-initialize","response":{"models":[]}}}`, agent.Step{Ready: true}},
		{"initialize refused", false, `{"type":"control_response","response":{"subtype":"error","request_id":"slidewrite-initialize","error":"no"}}`, agent.Step{Ready: true}},
		{"keys in another order", false, `{"response":{"request_id":"slidewrite-initialize","subtype":"success"},"type":"control_response"}`, agent.Step{Ready: true}},
		{"answer to an interrupt", true, `{"type":"control_response","response":{"subtype":"success","request_id":"slidewrite-interrupt-1"}}`, agent.Step{}},
		{"result", true, `{"duration_api_ms":93,"is_error":false,"type":"result"}`, agent.Step{Result: true}},
		{"result before the message", false, `{"type":"result","subtype":"error_during_execution"}`, agent.Step{Result: true}},
		{"idle", true, idle, agent.Step{Close: true}},
		{"idle before the message", false, idle, agent.Step{}},
		{"running", true, `{"type":"system","subtype":"session_state_changed","state":"running"}`, agent.Step{}},
		{"a tool prints a result line", true, `{"type":"user","message":{"content":[{"type":"tool_result","content":"{\"type\":\"result\"}"}]}}`, agent.Step{}},
		{"text", true, `{"type":"stream_event","event":{"type":"content_block_delta"}}`, agent.Step{}},
		{"wrong types", true, `{"type":["result"],"response":7,"state":{}}`, agent.Step{}},
		{"not JSON", true, `Warning: "type":"result"`, agent.Step{}},
		{"empty", true, ``, agent.Step{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := New().Converse(agent.Spec{})
			if tt.prompted {
				c.Prompt()
			}
			got := c.Line([]byte(tt.line))
			if len(got.Write) != 0 || got.Ready != tt.want.Ready || got.Result != tt.want.Result || got.Close != tt.want.Close {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestInterruptBeforePrompt: "no message sent yet: close stdin at once".
func TestInterruptBeforePrompt(t *testing.T) {
	c := New().Converse(agent.Spec{Prompt: "x"})
	c.Open()
	step, ok := c.Interrupt()
	if !ok || !step.Close || len(step.Write) != 0 {
		t.Errorf("got %+v, %v; want stdin closed", step, ok)
	}
	if s := c.Prompt(); len(s.Write) != 0 {
		t.Error("a message was sent after stdin was closed")
	}
}

// TestConversationOnFixtures: over every recorded run with states, stdin is
// closed once, after the last result.
func TestConversationOnFixtures(t *testing.T) {
	seen := 0
	for _, f := range loadFixtures(t, "*") {
		c := New().Converse(agent.Spec{})
		c.Prompt()
		closes, results, after := 0, 0, 0
		for _, line := range f.Lines() {
			s := c.Line(line)
			if s.Result {
				results++
				if closes > 0 {
					after++
				}
			}
			if s.Close {
				closes++
			}
		}
		if closes > 0 {
			seen++
		}
		if f.Provenance() != "made" && (after > 0 || closes > 1) {
			t.Errorf("%s: %d closes, %d of %d results after it", f.Name, closes, after, results)
		}
	}
	if seen == 0 {
		t.Error("no fixture with session states")
	}
}
