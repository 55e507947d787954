// Package agent says what an agent CLI is to the shim: a command line that is
// data, a conversation on its stdin, and a pure mapper from the lines of its
// stdout to events. Adapters (agent/claude …) do no I/O in those three; what
// needs a process (models, sign-in) is an optional interface.
//
// Flow of one run: Command → process → Conversation.Open → Prompt (when the
// snapshot is ready) → each stdout line through Mapper.Map and
// Conversation.Line → Mapper.Finish.
package agent

import (
	"context"
	"time"

	"github.com/slidewrite/slidewrite/shim/event"
)

// Image is one picture that goes with the prompt.
type Image struct {
	Path string // absolute, in the run's private folder; named in the prompt text
	MIME string // image/png, image/jpeg or image/webp
	Data []byte
}

// Spec is what one run asks of an agent. All paths are absolute and real.
type Spec struct {
	Bin     string // path of the CLI
	Version string // as its --version says, "" when unknown; decides which flags exist
	Repo    string // working directory of the agent
	RunDir  string // private folder of the run, mode 0700, outside the repo
	System  string // our system prompt
	Prompt  string // what the user and the captures say
	Images  []Image
	Model   string  // "" = the agent's own
	Effort  string  // "" = the agent's own
	Resume  string  // session UUID, "" = a new session
	Session Session // what the agent's files say about Resume; the zero value = nothing

	MaxTurns        int
	UseSkills       bool   // load the repo's skills and slash commands
	MCP             string // "project" or "none"
	ProjectSettings bool   // load the repo's own agent settings (hooks, env)
}

// Invocation is a command line, ready to start and ready to compare in a test.
type Invocation struct {
	Bin  string
	Args []string // without Bin
	Env  []string // KEY=VALUE pairs set on top of the scrubbed environment
	Dir  string
	// Files are written before the start, mode 0600, inside Spec.RunDir: for
	// an agent that reads its prompt from a file.
	Files []File
}

// File is one file that an agent needs at its start.
type File struct {
	Path string // absolute
	Data []byte
}

// Agent is one provider's CLI.
type Agent interface {
	Provider() string // what a request names: "anthropic"
	Label() string    // for people: "Anthropic"
	Name() string     // of the CLI: "claude"
	// Command returns the command line for s. It starts nothing.
	Command(s Spec) Invocation
	// Converse returns the stdin side of one run.
	Converse(s Spec) Conversation
	// NewMapper returns the stdout side of one run.
	NewMapper(o MapOptions) Mapper
	// Scrub lists the environment variables of the shim that the agent must
	// not see; keepEnv keeps all but our own secrets.
	Scrub(environ []string, keepEnv bool) (env []string, scrubbed []string)
}

// MapOptions is what a mapper needs to know beside the lines.
type MapOptions struct {
	Repo     string   // real path of the agent's working directory
	Top      string   // real path of the repository's top level ("" = Repo): tool paths are relative to it
	RunID    string   // for the start event
	Resume   string   // the session asked for, "" for none
	Session  Session  // what is known of it
	Model    string   // the model asked for, "" for the agent's own
	Scrubbed []string // variables that were taken away, for the fix of "not signed in"
	Stopping func() bool
}

// Mapper turns the stdout lines of one run into events. It does no I/O and
// reads no clock: a transcript is its whole test. It is used by one goroutine.
type Mapper interface {
	// Map maps one line (without its newline). An unknown type gives no
	// events and no error; a line that is not JSON is an error of kind
	// ErrNotJSON and changes nothing. The slice is valid until the next Map.
	Map(line []byte) ([]event.Event, error)
	// Finish is called once, when the process has ended, and returns the
	// closing events: result, or error.
	Finish(exit Exit) []event.Event
	// Facts tells what the run needs to know of what was mapped so far.
	Facts() Facts
}

// Facts is what a mapper learned that is not an event.
type Facts struct {
	Session     string // the agent's session id, "" before it reported one
	Model       string
	SessionLost bool // the session to resume does not exist; nothing was done
	Succeeded   bool // the last result said so; meaningful after Finish
	Unknown     int  // lines of a type or subtype the mapper does not know
	// ToolsOpen is the number of tool calls announced and not yet answered.
	ToolsOpen int
	// EditPaths are paths that edit tools named: repo-relative, or absolute
	// when outside.
	EditPaths []string
	// ShowsEveryTool is whether the stream shows every tool call there was;
	// false makes every changed path the run's own.
	ShowsEveryTool bool
}

// Exit is how the agent's process ended.
type Exit struct {
	Code    int    // exit code, -1 when ended by a signal
	Signal  string // "SIGKILL" …, "" when none
	Stderr  string // its last lines
	Stopped bool   // we ended it on purpose
}

// Conversation is the stdin side of one run. Its methods return what to do
// and do nothing themselves; they are called by one goroutine.
type Conversation interface {
	// Open is called when the process has started.
	Open() Step
	// Line is called for each stdout line, after Mapper.Map.
	Line(line []byte) Step
	// Prompt is called once: when the snapshot is ready and the agent is
	// (Step.Ready, or PromptAfter has passed).
	Prompt() Step
	// Interrupt asks the agent to stop what it is doing. ok is false when it
	// has no such request (the process is sent SIGINT instead).
	Interrupt() (step Step, ok bool)
	// PromptAfter is how long to wait for Ready; 0 = do not wait.
	PromptAfter() time.Duration
	// CloseAfterResult is how long after a result stdin is closed when the
	// agent did not say it was idle; 0 = never.
	CloseAfterResult() time.Duration
	// Linger is how long an agent that has finished gets to end; 0 = as long
	// as the shim thinks right.
	Linger() time.Duration
}

// Step is what a conversation wants done.
type Step struct {
	Write  [][]byte // to write to stdin; the lines of a protocol have their newline
	Ready  bool     // the agent can take the prompt now
	Result bool     // the line was a result: start the CloseAfterResult clock
	Close  bool     // close stdin
	Abort  bool     // end the agent at once: it works where it must not
}

// ErrNotJSON marks a stdout line that is not JSON: a banner or a warning. It
// goes to the diagnostics ring.
var ErrNotJSON = errNotJSON{}

type errNotJSON struct{}

func (errNotJSON) Error() string { return "not a JSON object" }

// Model is one entry of a provider's model list, as /meta shows it.
type Model struct {
	ID            string   `json:"id"`
	Label         string   `json:"label"`
	Description   string   `json:"description,omitempty"`
	Efforts       []Effort `json:"efforts,omitempty"`
	DefaultEffort string   `json:"defaultEffort,omitempty"`
}

// Effort is one reasoning effort a model takes.
type Effort struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// Info is what discovery found out about a provider on this machine.
type Info struct {
	Models       []Model
	DefaultModel string
	Billing      string // "plan", "api key …abcd", "" when the CLI does not tell
	Error        string // why the list is empty, "" when healthy
	Fix          string // the one command that cures it, "" when there is none
}

// Session is what an agent's own files say about a session.
type Session struct {
	Folder string       // absolute path it was recorded in, "" = there is no such session, or Unknown
	Model  string       // of its last turn, "" = not known
	Usage  *event.Usage // its total so far, where the agent counts on from there; nil = not known
	// Unknown: there is such a session, and its files do not tell whose it is.
	Unknown bool
}

// SessionFinder is an Agent that can look a session up before it is resumed.
type SessionFinder interface {
	// FindSession looks for the session s.Resume in the agent's own files. It
	// waits for nobody, and ends with ctx: what it then returns means nothing.
	FindSession(ctx context.Context, s Spec, environ []string) Session
}

// Eager is an Agent that may touch files before it is given its prompt: the
// snapshot then comes before its start, not beside it.
type Eager interface {
	ActsBeforePrompt(s Spec) bool
}

// Documented is an Agent that leaves the project's instructions unread where
// the project's settings are not to be loaded.
type Documented interface {
	// ProjectDoc is the file, relative to the repository, that we then put
	// into the prompt.
	ProjectDoc() string
}

// Refuser is an Agent that cannot take every request.
type Refuser interface {
	// Refuse returns why s cannot be run, with its fix, or nil. Nothing is
	// started then.
	Refuse(s Spec) *event.Error
}

// Discoverer is an Agent that can be asked what it offers on this machine.
type Discoverer interface {
	// Discover runs the CLI (no model turn is consumed). It returns within
	// ctx's deadline and puts every failure into Info.Error and Info.Fix.
	Discover(ctx context.Context, d Discovery) Info
}

// Discovery is what Discover needs.
type Discovery struct {
	Bin      string
	Repo     string
	Env      []string // complete environment of the child, already scrubbed
	Scrubbed []string // names taken away
	TempDir  string   // private, removed by the caller
}
