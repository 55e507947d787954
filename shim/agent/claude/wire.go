package claude

import (
	"bytes"
	"encoding/json"
)

// wireLine is every field of a stdout line that is read here, whatever the
// line's type. Numbers are float64 because 197 sends fractions where 332 sends
// integers (retry_delay_ms); fields whose type varies are any. Sources: the
// captures of 332 and 197 under fakeagents/fixtures/claude.
type wireLine struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`
	UUID      string `json:"uuid"`
	Parent    parent `json:"parent_tool_use_id"` // the call whose sub-agent sent the line

	// system/init
	Model string `json:"model"`

	// system/api_retry; assistant lines carry error too
	Attempt      float64 `json:"attempt"`
	MaxRetries   float64 `json:"max_retries"`
	RetryDelayMs float64 `json:"retry_delay_ms"`
	ErrorStatus  float64 `json:"error_status"` // HTTP status; null when there was no answer
	Error        string  `json:"error"`        // authentication_failed, overloaded, unknown …

	// system/thinking_tokens
	EstimatedTokens      float64 `json:"estimated_tokens"` // since the block began
	EstimatedTokensDelta float64 `json:"estimated_tokens_delta"`

	// system/informational (332)
	Content string `json:"content"`
	Level   string `json:"level"`

	// stream_event
	Event           wireEvent  `json:"event"`
	APIMessageID    string     `json:"api_message_id"` // 332
	AbandonedBlocks *abandoned `json:"abandoned_blocks"`

	// assistant and user
	Message       wireMessage   `json:"message"`
	ToolUseResult toolUseResult `json:"tool_use_result"`
	Retracted     []string      `json:"retracted_message_uuids"` // 332: uuids of assistant lines

	// rate_limit_event
	RateLimit rateLimit `json:"rate_limit_info"`

	// result
	IsError        any                   `json:"is_error"`
	NumTurns       float64               `json:"num_turns"`
	DurationMs     float64               `json:"duration_ms"`
	TotalCostUSD   float64               `json:"total_cost_usd"` // 332: whole session, earlier runs included
	Usage          wireUsage             `json:"usage"`          // this result, without sub-agents
	ModelUsage     map[string]modelUsage `json:"modelUsage"`     // 197: this process; 332: whole session
	SinceLast      map[string]modelUsage `json:"model_usage_since_last_result"`
	Result         *string               `json:"result"`
	Errors         []string              `json:"errors"`
	TerminalReason string                `json:"terminal_reason"`
	StopReason     string                `json:"stop_reason"`
	APIErrorStatus float64               `json:"api_error_status"`
	APIError       string                `json:"api_error"`      // 332: connection_failed
	APIErrorType   string                `json:"api_error_type"` // 332: the API's own word, overloaded_error
}

// parent is parent_tool_use_id; set is whether it was neither null nor "".
type parent struct {
	id  string
	set bool
}

// UnmarshalJSON never fails: an error here would lose the rest of the line.
func (p *parent) UnmarshalJSON(b []byte) error {
	*p = parent{set: !bytes.Equal(b, []byte("null")) && !bytes.Equal(b, []byte(`""`))}
	if json.Unmarshal(b, &p.id) != nil {
		p.id = "" // a sub-agent's line all the same
	}
	return nil
}

// wireEvent is the API's own stream event inside a stream_event line.
type wireEvent struct {
	Type    string  `json:"type"`
	Index   float64 `json:"index"` // of the content block
	Message struct {
		ID    string    `json:"id"`
		Usage wireUsage `json:"usage"` // output_tokens is 1: nothing is written yet
	} `json:"message"`
	ContentBlock struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Thinking string `json:"thinking"`
	} `json:"content_block"`
	Delta struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Thinking string `json:"thinking"`
	} `json:"delta"`
	Usage wireUsage `json:"usage"` // message_delta: authoritative
}

// abandoned says from which block on a message was given up (332).
type abandoned struct {
	FromBlockIndex float64 `json:"from_block_index"`
}

// wireMessage is the message of an assistant or user line. An assistant line
// carries one block of it; several lines share one id.
type wireMessage struct {
	ID      string      `json:"id"`
	Content []wireBlock `json:"content"` // a plain string on some user lines
	Usage   wireUsage   `json:"usage"`   // message_start's, not the final one
}

type wireBlock struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Thinking string `json:"thinking"`

	// tool_use
	ID    string    `json:"id"`
	Name  string    `json:"name"`
	Input toolInput `json:"input"`

	// tool_result
	ToolUseID string `json:"tool_use_id"`
	Content   any    `json:"content"` // string or list of blocks
	IsError   any    `json:"is_error"`
}

// toolInput is what a tool's detail can be taken from.
type toolInput struct {
	Command      string `json:"command"`
	FilePath     string `json:"file_path"`
	NotebookPath string `json:"notebook_path"`
	Path         string `json:"path"`
	Pattern      string `json:"pattern"`
	URL          string `json:"url"`
	Query        string `json:"query"`
	Description  string `json:"description"`
	Skill        string `json:"skill"`
	Name         string `json:"name"`
	Prompt       string `json:"prompt"`
	Text         string `json:"text"`
}

// toolUseResult is an object, a list (MCP) or a string (any error); only the
// object of a shell command matters (332).
type toolUseResult struct {
	BashEditDiff struct {
		ChangedFiles []string `json:"changedFiles"`
	} `json:"bashEditDiff"`
}

// wireUsage is usage as the API prints it, in tokens. Absent members are nil:
// a message_delta corrects only what it names.
type wireUsage struct {
	Input         *float64 `json:"input_tokens"`
	Output        *float64 `json:"output_tokens"`
	CacheRead     *float64 `json:"cache_read_input_tokens"`
	CacheCreation *float64 `json:"cache_creation_input_tokens"`
}

// modelUsage is one model's part, sub-agents included.
type modelUsage struct {
	Input         float64 `json:"inputTokens"`
	Output        float64 `json:"outputTokens"`
	CacheRead     float64 `json:"cacheReadInputTokens"`
	CacheCreation float64 `json:"cacheCreationInputTokens"`
	CostUSD       float64 `json:"costUSD"`
}

// rateLimit is the body of a rate_limit_event. It could not be triggered with
// a scripted model; the shape is the one the CLI's schema documents.
type rateLimit struct {
	Status   string `json:"status"`        // allowed, allowed_warning, rejected
	Kind     string `json:"rateLimitType"` // five_hour, seven_day …
	ResetsAt any    `json:"resetsAt"`      // seconds since 1970
}
