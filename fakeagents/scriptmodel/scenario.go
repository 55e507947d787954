package scriptmodel

import (
	"bytes"
	"embed"
	"encoding/json"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/cockroachdb/errors"
)

//go:embed scenarios/*.json scenarios/codex/*.json
var scenarioFiles embed.FS

// Agents whose CLIs a scenario can be played to.
const (
	Claude = "claude"
	Codex  = "codex"
)

// Scenario is one script.
type Scenario struct {
	Name   string `json:"-"` // of its file
	About  string `json:"about"`
	Guards string `json:"guards"` // what a fixture made from it protects

	// What the recorder does.
	Prompt   string            `json:"prompt"`
	Repo     string            `json:"repo,omitempty"`     // sample repository, "sample" when absent
	Images   []string          `json:"images,omitempty"`   // files of the repository that go with the prompt as images
	Env      map[string]string `json:"env,omitempty"`      // added to the CLI's environment; "" removes
	MaxTurns int               `json:"maxTurns,omitempty"` // 40 when absent
	Model    string            `json:"model,omitempty"`
	Effort   string            `json:"effort,omitempty"`
	Before   string            `json:"before,omitempty"` // scenario to run first in the same session, which is then resumed
	Lost     bool              `json:"lost,omitempty"`   // resume a session that does not exist
	Stop     *Stop             `json:"stop,omitempty"`
	Exec     []string          `json:"exec,omitempty"`     // run this command line of the CLI instead of a turn
	OnlyInit bool              `json:"onlyInit,omitempty"` // initialize and no turn
	NoResult bool              `json:"noResult,omitempty"` // the CLI ends without a result line; else that is a failed recording

	// What the recorder does with codex alone.
	Login bool     `json:"login,omitempty"` // the usual provider, without a login, sent to this server
	MCP   bool     `json:"mcp,omitempty"`   // the user has the MCP server echo, which is this one
	Input []string `json:"input,omitempty"` // lines written to the stdin of Exec
	Until string   `json:"until,omitempty"` // it stays open until a stdout line holds this text

	// What the model says.
	Steps []Step            `json:"steps,omitempty"`
	Sub   map[string][]Step `json:"sub,omitempty"` // scripts of sub-agents, picked by "SCN:name" in their prompt
}

// Stop makes the recorder interrupt the turn.
type Stop struct {
	Line  string `json:"line"`            // when a stdout line holds this text
	After string `json:"after,omitempty"` // that much later
}

// Step is one answer of the model.
type Step struct {
	First  []Block `json:"first,omitempty"` // the answer to the first Times requests at this step
	Times  int     `json:"times,omitempty"` // 1 when absent
	Blocks []Block `json:"blocks"`
}

// Block is one part of an answer. Exactly one of Text, Thinking, Hidden,
// Redacted, Tool, Custom, Search, Error, StreamError, Break, Pause, Stop and
// Usage is set. Hidden and Redacted are of the Messages API alone; Custom,
// Search, Phase and Namespace of the Responses API.
type Block struct {
	Text  *string `json:"text,omitempty"`
	Count int     `json:"count,omitempty"` // Text that many times, 1 when absent
	Tail  string  `json:"tail,omitempty"`  // once after that
	Phase string  `json:"phase,omitempty"` // commentary or final_answer

	Thinking string `json:"thinking,omitempty"`
	Hidden   []int  `json:"hidden,omitempty"` // thinking whose text is not shown: estimated tokens of each delta
	Redacted string `json:"redacted,omitempty"`

	Tool  string         `json:"tool,omitempty"`
	Input map[string]any `json:"input,omitempty"`
	Raw   string         `json:"raw,omitempty"` // input as it is sent, for input that is no JSON

	Namespace string `json:"namespace,omitempty"` // of Tool
	Custom    string `json:"custom,omitempty"`    // a tool that takes free text, which is Raw
	Search    string `json:"search,omitempty"`    // a web search that the API itself makes

	Error       *APIError      `json:"error,omitempty"`       // instead of the whole answer
	StreamError *APIError      `json:"streamError,omitempty"` // an error event in the stream (response.failed); a 500 without streaming
	Break       bool           `json:"break,omitempty"`       // cut the connection here
	Pause       string         `json:"pause,omitempty"`       // a duration
	Stop        string         `json:"stop,omitempty"`        // stop_reason of the answer; the reason of an incomplete response
	Usage       map[string]any `json:"usage,omitempty"`       // instead of the usual numbers

	Chunk int    `json:"chunk,omitempty"` // characters per delta, 12 for text and 20 for input when absent
	Delay string `json:"delay,omitempty"` // between deltas
}

// APIError is an error answer of either API. Type is the code of an error of
// the Responses API too.
type APIError struct {
	Status  int               `json:"status,omitempty"`
	Type    string            `json:"type"`
	Message string            `json:"message"`
	Headers map[string]string `json:"headers,omitempty"`
	Fields  map[string]any    `json:"fields,omitempty"` // more of the error object of the Responses API
}

func (b Block) kind() string {
	switch {
	case b.Text != nil:
		return "text"
	case b.Thinking != "":
		return "thinking"
	case b.Hidden != nil:
		return "hidden"
	case b.Redacted != "":
		return "redacted"
	case b.Tool != "":
		return "tool"
	case b.Custom != "":
		return "custom"
	case b.Search != "":
		return "search"
	case b.Error != nil:
		return "error"
	case b.StreamError != nil:
		return "streamError"
	case b.Break:
		return "break"
	case b.Pause != "":
		return "pause"
	case b.Stop != "":
		return "stop"
	case b.Usage != nil:
		return "usage"
	}
	return ""
}

// Names lists the scenarios of an agent's CLI, sorted.
func Names(agent string) ([]string, error) {
	var names []string
	for _, pattern := range []string{"scenarios/*.json", "scenarios/" + agent + "/*.json"} {
		files, err := fs.Glob(scenarioFiles, pattern)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			name := strings.TrimSuffix(path.Base(f), ".json")
			if data, err := read(agent, name); err != nil {
				return nil, err
			} else if data != nil {
				names = append(names, name)
			}
		}
	}
	sort.Strings(names)
	return slices.Compact(names), nil
}

// Load reads a scenario of an agent's CLI by its name.
func Load(agent, name string) (*Scenario, error) {
	data, err := read(agent, name)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, errors.Newf("no scenario %q of %s", name, agent)
	}
	s, err := Parse(name, data)
	return s, errors.Wrapf(err, "scenario %s", name)
}

// read returns the scenario as the agent's CLI is to see it, nil when it is
// not for that one. A file in the agent's own folder is for it alone. One
// beside that is claude's, and another agent's when it has a key of that name,
// whose fields then take the place of claude's.
func read(agent, name string) ([]byte, error) {
	own, err := scenarioFiles.ReadFile("scenarios/" + agent + "/" + name + ".json")
	if err == nil {
		return own, nil
	}
	data, err := scenarioFiles.ReadFile("scenarios/" + name + ".json")
	if err != nil {
		return nil, nil // the agent has none of that name
	}
	var fields, over map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, errors.Wrapf(err, "scenario %s", name)
	}
	theirs, shared := fields[agent]
	delete(fields, Codex)
	if agent != Claude {
		if !shared {
			return nil, nil
		}
		if err := json.Unmarshal(theirs, &over); err != nil {
			return nil, errors.Wrapf(err, "scenario %s: %s", name, agent)
		}
		maps.Copy(fields, over)
	}
	return json.Marshal(fields)
}

// Parse reads a scenario from its file's content, which is one agent's.
func Parse(name string, data []byte) (*Scenario, error) {
	s := &Scenario{Name: name}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return nil, err
	}
	if s.About == "" || s.Guards == "" {
		return nil, errors.New("about and guards must say what it is for")
	}
	turn := len(s.Exec) == 0 && !s.OnlyInit
	if turn && (s.Prompt == "" || len(s.Steps) == 0 && !s.Lost) {
		return nil, errors.New("prompt and steps must be there")
	}
	for _, steps := range append([][]Step{s.Steps}, values(s.Sub)...) {
		for _, step := range steps {
			if err := checkBlocks(append(append([]Block{}, step.First...), step.Blocks...)); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

func checkBlocks(blocks []Block) error {
	for _, b := range blocks {
		if b.kind() == "" {
			return errors.Newf("a block says nothing: %+v", b)
		}
		for _, d := range []string{b.Pause, b.Delay} {
			if d == "" {
				continue
			}
			if _, err := time.ParseDuration(d); err != nil {
				return err
			}
		}
	}
	return nil
}

func values(m map[string][]Step) [][]Step {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var out [][]Step
	for _, k := range keys {
		out = append(out, m[k])
	}
	return out
}
