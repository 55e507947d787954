package grok

import "encoding/json"

// wireLine is every field of a stdout line that is read here, whatever the
// line's type (xai-grok-pager/src/headless/reducer/messages/wire.rs). Numbers
// are float64 and fields whose type varies are any.
type wireLine struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"` // "" before there is a session

	// system/init
	Model string `json:"model"` // as asked for, else the session's, else "unknown"
	Cwd   string `json:"cwd"`

	// system/compact_boundary
	Compact struct {
		PreTokens float64 `json:"pre_tokens"`
	} `json:"compact_metadata"`

	Event   wireEvent   `json:"event"`   // stream_event
	Message wireMessage `json:"message"` // assistant and user

	// result
	IsError      any                   `json:"is_error"`
	NumTurns     float64               `json:"num_turns"`
	DurationMs   float64               `json:"duration_ms"`
	TotalCostUSD float64               `json:"total_cost_usd"` // 0 when not known
	Usage        wireUsage             `json:"usage"`
	ModelUsage   map[string]modelUsage `json:"modelUsage"` // {} when not known
	Result       *string               `json:"result"`     // text of the last response; absent on errors
	Errors       []string              `json:"errors"`     // on errors only
	StopReason   string                `json:"stop_reason"`
}

// wireEvent is a stream event (reducer/messages/partial.rs). Its message has
// an id of its own, msg_N, which may run ahead of that of the assistant line.
type wireEvent struct {
	Type    string  `json:"type"`
	Index   float64 `json:"index"` // of the content block
	Message struct {
		ID string `json:"id"`
	} `json:"message"`
	ContentBlock wireBlock `json:"content_block"`
	Delta        struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		PartialJSON string `json:"partial_json"` // the whole input, in one delta
	} `json:"delta"`
	Usage wireUsage `json:"usage"` // message_delta
}

// wireMessage is one response of the model, or the results of its tools.
type wireMessage struct {
	ID      string      `json:"id"` // msg_N, counted anew in every process
	Content []wireBlock `json:"content"`
	Usage   wireUsage   `json:"usage"`
}

type wireBlock struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Thinking string `json:"thinking"`

	// tool_use, server_tool_use
	ID    string    `json:"id"`
	Name  string    `json:"name"`
	Input toolInput `json:"input"`

	// tool_result, web_search_tool_result
	ToolUseID string `json:"tool_use_id"`
	Content   any    `json:"content"` // a string; of a web search a list, or an error
	IsError   any    `json:"is_error"`
}

// toolInput is what a call's detail and paths are taken from: the arguments of
// the tools of xai-grok-tools.
type toolInput struct {
	FilePath  string `json:"file_path"` // search_replace, write, hashline_edit
	Patch     string `json:"patch"`     // apply_patch
	Command   string `json:"command"`
	Pattern   string `json:"pattern"`
	Query     string `json:"query"`
	URL       string `json:"url"`
	File      string `json:"target_file"`
	Directory string `json:"target_directory"`
	Path      string `json:"path"`

	Description string `json:"description"`
	Prompt      string `json:"prompt"`

	// use_tool: every call of an MCP server
	ToolName  string          `json:"tool_name"` // server__tool
	ToolInput json.RawMessage `json:"tool_input"`
}

// wireUsage is in tokens. Absent members are nil: only what is named counts.
type wireUsage struct {
	Input         *float64 `json:"input_tokens"`
	Output        *float64 `json:"output_tokens"`
	CacheRead     *float64 `json:"cache_read_input_tokens"`
	CacheCreation *float64 `json:"cache_creation_input_tokens"`
}

// modelUsage is one model's part of the process, in tokens.
type modelUsage struct {
	Input         float64 `json:"inputTokens"`
	Output        float64 `json:"outputTokens"`
	CacheRead     float64 `json:"cacheReadInputTokens"`
	CacheCreation float64 `json:"cacheCreationInputTokens"`
}
