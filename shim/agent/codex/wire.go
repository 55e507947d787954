package codex

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// wireLine is every field of a stdout line that is read here, whatever the
// line's type. Numbers are float64 and fields whose type varies between
// versions are any or have a reader of their own. Sources: the captures of
// 0.171.0 under fakeagents/fixtures/codex, and for older shapes
// codex-rs/exec/src of the versions named.
type wireLine struct {
	Type      string     `json:"type"`
	ThreadID  string     `json:"thread_id"`
	SessionID string     `json:"session_id"` // session.created of 0.40–0.44 (--experimental-json)
	Item      wireItem   `json:"item"`
	Usage     *wireUsage `json:"usage"`   // turn.completed: cumulative over the thread
	Message   string     `json:"message"` // error
	Error     wireError  `json:"error"`   // turn.failed

	Msg *legacyMsg `json:"msg"` // the whole line of codex exec --json up to 0.44
}

// endsTurn tells whether codex has nothing more to do after the line.
func (l *wireLine) endsTurn() bool {
	switch l.Type {
	case "turn.completed", "turn.failed":
		return true
	}
	return l.Type == "" && l.Msg != nil && (l.Msg.Type == "task_complete" || l.Msg.Type == "turn_aborted")
}

// wireItem is a thread item. A web_search has two ids in one object, the
// second being the call's; the last one counts, at its start and its end.
type wireItem struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	ItemType string `json:"item_type"` // instead of type, up to 0.44
	Status   string `json:"status"`    // in_progress, completed, failed, declined

	Text    string `json:"text"`    // agent_message, reasoning, plan
	Message string `json:"message"` // error

	// command_execution
	Command  words    `json:"command"`
	Output   string   `json:"aggregated_output"` // at most 1 MiB
	ExitCode *float64 `json:"exit_code"`         // null while it runs

	Changes changes `json:"changes"` // file_change

	// mcp_tool_call; collab_tool_call has a tool too
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    any             `json:"result"` // null or {content, structured_content}
	Error     wireError       `json:"error"`

	Query string `json:"query"` // web_search

	// collab_tool_call
	Prompt    string                `json:"prompt"`
	Receivers []string              `json:"receiver_thread_ids"`
	Agents    map[string]agentState `json:"agents_states"`

	Items []todo `json:"items"` // todo_list
}

func (i *wireItem) kind() string {
	if i.Type == "" {
		return i.ItemType
	}
	return i.Type
}

// agentState is what a sub-agent last said.
type agentState struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

type todo struct {
	Text      string `json:"text"`
	Step      string `json:"step"` // instead of text, plan_update up to 0.44
	Completed bool   `json:"completed"`
	Status    string `json:"status"` // instead of completed, plan_update up to 0.44
}

// wireUsage is in tokens; cached and reasoning tokens are part of input and
// output.
type wireUsage struct {
	Input      float64 `json:"input_tokens"`
	Cached     float64 `json:"cached_input_tokens"`
	CacheWrite float64 `json:"cache_write_input_tokens"`
	Output     float64 `json:"output_tokens"`
}

// wireError is an object with a message, or the message itself.
type wireError struct{ Message string }

// UnmarshalJSON never fails: an error here would lose the rest of the line.
func (e *wireError) UnmarshalJSON(b []byte) error {
	*e = wireError{}
	var object struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(b, &e.Message) != nil && json.Unmarshal(b, &object) == nil {
		e.Message = object.Message
	}
	return nil
}

// words is a command: one string as a shell would read it, or a list of words.
type words struct {
	line string
	list []string
}

// UnmarshalJSON never fails: an error here would lose the rest of the line.
func (w *words) UnmarshalJSON(b []byte) error {
	*w = words{}
	if json.Unmarshal(b, &w.line) != nil && json.Unmarshal(b, &w.list) != nil {
		*w = words{}
	}
	return nil
}

// changes are the paths of a file_change in the order they come: a list of
// objects, or (as in rollouts, and up to 0.44) an object by path. A move's new
// path is not in the list of 0.171; where move_path is there, it counts too.
type changes []string

// UnmarshalJSON never fails: an error here would lose the rest of the line.
func (c *changes) UnmarshalJSON(b []byte) error {
	*c = nil
	type change struct {
		Path     string          `json:"path"`
		MovePath string          `json:"move_path"`
		Kind     json.RawMessage `json:"kind"` // a word, or an object with the move's path
		Update   struct {
			MovePath string `json:"move_path"`
		} `json:"update"`
	}
	add := func(path string, ch change) {
		var kind struct {
			MovePath string `json:"move_path"`
		}
		_ = json.Unmarshal(ch.Kind, &kind) // a word has none
		for _, p := range []string{path, ch.MovePath, ch.Update.MovePath, kind.MovePath} {
			if p != "" && !slices.Contains(*c, p) {
				*c = append(*c, p)
			}
		}
	}
	switch b = bytes.TrimSpace(b); {
	case bytes.HasPrefix(b, []byte("[")):
		var list []json.RawMessage
		_ = json.Unmarshal(b, &list) // b is valid JSON
		for _, raw := range list {
			var ch change
			_ = json.Unmarshal(raw, &ch) // what has another type is skipped
			add(ch.Path, ch)
		}
	case bytes.HasPrefix(b, []byte("{")):
		var byPath map[string]json.RawMessage
		_ = json.Unmarshal(b, &byPath)
		for _, path := range slices.Sorted(maps.Keys(byPath)) {
			var ch change
			_ = json.Unmarshal(byPath[path], &ch)
			add(path, ch)
		}
	}
	return nil
}
