package event

// All lists one zero value of every event type, in the order of the README
// table.
func All() []Event {
	return []Event{
		Start{}, Delta{}, DeltaReset{}, ThinkingDelta{}, Usage{}, Tool{}, FileEdit{}, ToolResult{},
		Result{}, Change{}, Commit{}, CommitError{}, ImageStatus{}, ImageGenerated{}, Note{},
		Stopped{}, Error{}, Done{}, User{},
	}
}

// Start says that the agent reported its session. Emitted once per run, first
// but for notes and image events.
type Start struct {
	SessionID string `json:"sessionId"`
	Model     string `json:"model"` // "" when the agent does not say
	RunID     string `json:"runId"`
	Provider  string `json:"provider"`
}

// Delta is a piece of the assistant's text, as it streams.
type Delta struct {
	Text      string `json:"text"`
	MessageID string `json:"messageId"`
}

// DeltaReset withdraws all text streamed for a message: the attempt was
// retried or abandoned.
type DeltaReset struct {
	MessageID string `json:"messageId"`
}

// ThinkingDelta is a piece of the agent's thinking text.
type ThinkingDelta struct {
	Text      string `json:"text"`
	MessageID string `json:"messageId"`
}

// Usage is in tokens, cumulative for the run.
type Usage struct {
	InputTokens         int64 `json:"inputTokens"`
	OutputTokens        int64 `json:"outputTokens"`
	CacheReadTokens     int64 `json:"cacheReadTokens"`
	CacheCreationTokens int64 `json:"cacheCreationTokens"`
	ThinkingTokens      int64 `json:"thinkingTokens"` // estimate since the last authoritative usage

	// Estimate marks a usage that only moved ThinkingTokens. The run sends
	// such events at most every 250 ms; it is not on the wire.
	Estimate bool `json:"-"`
}

// Tool is a tool call that is not a file edit.
type Tool struct {
	Tool     string `json:"tool"`
	Detail   string `json:"detail"` // command, file or pattern; repo-relative where it is a path
	ID       string `json:"id"`
	ParentID string `json:"parentId,omitempty"` // the tool call whose sub-agent made this one
}

// FileEdit says that an edit tool of the agent touched Path. What really
// changed is in Change, from the snapshots.
type FileEdit struct {
	Tool     string `json:"tool"`
	Path     string `json:"path"` // repo-relative, "/" separators; absolute when outside the repo
	ID       string `json:"id"`
	ParentID string `json:"parentId,omitempty"`
}

// ToolResult is the output of a tool call, at most 4,000 characters.
type ToolResult struct {
	Tool      string `json:"tool"`
	ID        string `json:"id"`
	Text      string `json:"text"`
	IsError   bool   `json:"isError"`
	Truncated bool   `json:"truncated"`
}

// Result says that the agent finished.
type Result struct {
	IsError      bool    `json:"isError"`
	NumTurns     int     `json:"numTurns"`
	DurationMs   int64   `json:"durationMs"`
	TotalCostUSD float64 `json:"totalCostUsd"` // this run's own part
	Usage        *Usage  `json:"usage"`        // null when the agent gave none
	Result       *string `json:"result"`       // null when text already streamed
	Subtype      string  `json:"subtype"`
}

// Change is what the run really changed, from the two snapshots.
type Change struct {
	Files   []ChangedFile `json:"files"`
	Added   int           `json:"added"`   // lines
	Removed int           `json:"removed"` // lines
}

// ChangedFile is one path of a Change.
type ChangedFile struct {
	Path    string `json:"path"`   // repo-relative, "/" separators
	Status  string `json:"status"` // added, modified, deleted, typechange
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Binary  bool   `json:"binary"`
	Yours   bool   `json:"yours"` // the user's own edit, made while the run was on
}

// Commit says that the change was committed.
type Commit struct {
	SHA          string `json:"sha"`   // abbreviated
	Count        int    `json:"count"` // files in the commit
	HooksSkipped bool   `json:"hooksSkipped"`
}

// CommitError says that it was not; the edits are still in the working tree.
type CommitError struct {
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

// ImageStatus is sent by image generation only: "generating".
type ImageStatus struct {
	State string `json:"state"`
}

// ImageGenerated is metadata of a generated image; never its bytes.
type ImageGenerated struct {
	TmpPath  string `json:"tmpPath"`
	MimeType string `json:"mimeType"`
	Bytes    int64  `json:"bytes"`
}

// Levels of a Note.
const (
	Info    = "info"
	Warning = "warning"
)

// Note is something the user should know.
type Note struct {
	Message  string `json:"message"`
	Level    string `json:"level"`              // info or warning
	Code     string `json:"code,omitempty"`     // machine word, for example retry, session_new, rate_limit
	ResetsAt string `json:"resetsAt,omitempty"` // RFC 3339, where a limit says when
}

// Stopped says who ended the run early: user, disconnect, shutdown, timeout.
type Stopped struct {
	By string `json:"by"`
}

// Codes of an Error event.
const (
	CodeNotFound      = "not_found"
	CodeNotSignedIn   = "not_signed_in"
	CodeBilling       = "billing"
	CodeRateLimited   = "rate_limited"
	CodeOverloaded    = "overloaded"
	CodeModelNotFound = "model_not_found"
	CodePromptTooLong = "prompt_too_long"
	CodeMaxTurns      = "max_turns"
	CodeRefused       = "refused"
	CodeCrashed       = "crashed"
	CodeTimeout       = "timeout"
	CodeBadRequest    = "bad_request"
	CodeUnsupported   = "unsupported"
	CodeInternal      = "internal"
)

// Error says that the run failed.
type Error struct {
	Message  string `json:"message"`
	Code     string `json:"code"`
	Fix      string `json:"fix,omitempty"`      // the one command or action that cures it
	ResetsAt string `json:"resetsAt,omitempty"` // RFC 3339
}

// Done is always last, exactly once.
type Done struct{}

// User is what the user had asked; history only.
type User struct {
	Text string `json:"text"`
}

// Type methods: the "type" member of each event.
func (Start) Type() string          { return "start" }
func (Delta) Type() string          { return "delta" }
func (DeltaReset) Type() string     { return "delta_reset" }
func (ThinkingDelta) Type() string  { return "thinking_delta" }
func (Usage) Type() string          { return "usage" }
func (Tool) Type() string           { return "tool" }
func (FileEdit) Type() string       { return "file_edit" }
func (ToolResult) Type() string     { return "tool_result" }
func (Result) Type() string         { return "result" }
func (Change) Type() string         { return "change" }
func (Commit) Type() string         { return "commit" }
func (CommitError) Type() string    { return "commit_error" }
func (ImageStatus) Type() string    { return "image_status" }
func (ImageGenerated) Type() string { return "image_generated" }
func (Note) Type() string           { return "note" }
func (Stopped) Type() string        { return "stopped" }
func (Error) Type() string          { return "error" }
func (Done) Type() string           { return "done" }
func (User) Type() string           { return "user" }
