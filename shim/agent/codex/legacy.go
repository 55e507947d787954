package codex

import (
	"encoding/json"
	"strconv"
	"strings"
)

// legacyMsg is the "msg" of a line of `codex exec --json` up to 0.44, which
// printed the internal protocol: {"id":"1","msg":{"type":…}}. Its first lines,
// the configuration and the prompt, have no type and count as unknown.
// Source: codex-rs/protocol of 0.40 and transcripts that others published.
type legacyMsg struct {
	Type      string `json:"type"`
	SessionID string `json:"session_id"`
	Model     string `json:"model"`

	Message string `json:"message"` // agent_message, error, stream_error
	Text    string `json:"text"`    // agent_reasoning
	Last    string `json:"last_agent_message"`

	CallID     string   `json:"call_id"`
	Command    words    `json:"command"`
	Output     string   `json:"aggregated_output"`
	Stdout     string   `json:"stdout"`
	Stderr     string   `json:"stderr"`
	ExitCode   *float64 `json:"exit_code"`
	Changes    changes  `json:"changes"`
	Success    *bool    `json:"success"`
	Query      string   `json:"query"`
	Plan       []todo   `json:"plan"`
	Invocation struct {
		Server    string          `json:"server"`
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"invocation"`
	Result struct {
		OK  any    `json:"Ok"`
		Err string `json:"Err"`
	} `json:"result"`

	wireUsage // token_count up to 0.3x
	Info      *struct {
		Total *wireUsage `json:"total_token_usage"`
	} `json:"info"`
}

// legacyItems says which item a begin or end belongs to.
var legacyItems = map[string]struct {
	kind string
	end  bool
}{
	"exec_command_begin":  {"command_execution", false},
	"exec_command_end":    {"command_execution", true},
	"patch_apply_begin":   {"file_change", false},
	"patch_apply_end":     {"file_change", true},
	"mcp_tool_call_begin": {"mcp_tool_call", false},
	"mcp_tool_call_end":   {"mcp_tool_call", true},
	"web_search_begin":    {"web_search", false},
	"web_search_end":      {"web_search", true},
}

// legacy maps a line of the old protocol as if it were the line of today.
func (m *mapper) legacy(msg *legacyMsg) {
	if t, ok := legacyItems[msg.Type]; ok {
		m.item(msg.item(t.kind), t.end)
		return
	}
	switch msg.Type {
	case "session_configured":
		if msg.Model != "" {
			m.model = msg.Model
		}
		m.threadStarted(&wireLine{ThreadID: msg.SessionID})
	case "task_started":
		m.turnStarted(nil)
	case "agent_message":
		m.message(&wireItem{ID: m.nextLegacyID(), Text: msg.Message})
	case "agent_reasoning":
		m.reasoning(&wireItem{ID: m.nextLegacyID(), Text: msg.Text})
	case "plan_update":
		m.answer(&wireItem{ID: m.nextLegacyID(), Type: "todo_list", Items: msg.Plan})
	case "token_count":
		usage := &msg.wireUsage
		if msg.Info != nil && msg.Info.Total != nil {
			usage = msg.Info.Total
		}
		if *usage != (wireUsage{}) {
			m.countUsage(usage)
		}
	case "error", "stream_error":
		m.streamError(msg.Message)
	case "task_complete":
		m.lastWords = msg.Last
		if m.said != "" && !m.spoken && msg.Last == "" {
			m.turnFailed(&wireLine{Message: m.said})
			return
		}
		m.turnCompleted(&wireLine{})
	case "turn_aborted":
		m.turnFailed(&wireLine{Message: "codex was interrupted from outside"})
	case "agent_message_delta", "agent_reasoning_delta", "agent_reasoning_section_break", "agent_reasoning_raw_content",
		"agent_reasoning_raw_content_delta", "background_event", "exec_command_output_delta", "turn_diff", "shutdown_complete", "user_message":
	default:
		m.unknown++
	}
}

// item is a begin or an end as the item of today.
func (msg *legacyMsg) item(kind string) *wireItem {
	i := &wireItem{
		ID: msg.CallID, Type: kind, Status: "completed",
		Command: msg.Command, Output: msg.Output, Changes: msg.Changes, Query: msg.Query,
		Server: msg.Invocation.Server, Tool: msg.Invocation.Tool, Arguments: msg.Invocation.Arguments,
		Result: msg.Result.OK, Error: wireError{msg.Result.Err},
	}
	if i.Output == "" {
		i.Output = strings.TrimPrefix(msg.Stdout+"\n"+msg.Stderr, "\n")
		i.Output = strings.TrimSuffix(i.Output, "\n")
	}
	if msg.ExitCode != nil && *msg.ExitCode != 0 || msg.Success != nil && !*msg.Success {
		i.Status = "failed"
	}
	return i
}

// nextLegacyID numbers messages, which had no id.
func (m *mapper) nextLegacyID() string {
	m.legacyIDs++
	return "message_" + strconv.Itoa(m.legacyIDs)
}
