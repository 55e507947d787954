package scriptmodel

import (
	"bytes"
	"embed"
	"encoding/json"
	"io/fs"
	"path"
	"sort"
	"strings"
	"time"

	"github.com/cockroachdb/errors"
)

//go:embed scenarios/*.json
var scenarioFiles embed.FS

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

	// What the model says.
	Steps []Step            `json:"steps,omitempty"`
	Sub   map[string][]Step `json:"sub,omitempty"` // scripts of sub-agents, picked by "SCN:name" in their prompt
}

// Stop makes the recorder interrupt the turn.
type Stop struct {
	Line string `json:"line"` // when a stdout line holds this text
}

// Step is one answer of the model.
type Step struct {
	First  []Block `json:"first,omitempty"` // the answer to the first Times requests at this step
	Times  int     `json:"times,omitempty"` // 1 when absent
	Blocks []Block `json:"blocks"`
}

// Block is one part of an answer. Exactly one of Text, Thinking, Hidden,
// Redacted, Tool, Error, StreamError, Break, Pause, Stop and Usage is set.
type Block struct {
	Text  *string `json:"text,omitempty"`
	Count int     `json:"count,omitempty"` // Text that many times, 1 when absent
	Tail  string  `json:"tail,omitempty"`  // once after that

	Thinking string `json:"thinking,omitempty"`
	Hidden   []int  `json:"hidden,omitempty"` // thinking whose text is not shown: estimated tokens of each delta
	Redacted string `json:"redacted,omitempty"`

	Tool  string         `json:"tool,omitempty"`
	Input map[string]any `json:"input,omitempty"`
	Raw   string         `json:"raw,omitempty"` // input as it is sent, for input that is no JSON

	Error       *APIError      `json:"error,omitempty"`       // instead of the whole answer
	StreamError *APIError      `json:"streamError,omitempty"` // an error event in the stream; a 500 without streaming
	Break       bool           `json:"break,omitempty"`       // cut the connection here
	Pause       string         `json:"pause,omitempty"`       // a duration
	Stop        string         `json:"stop,omitempty"`        // stop_reason of the answer
	Usage       map[string]any `json:"usage,omitempty"`       // instead of the usual numbers

	Chunk int    `json:"chunk,omitempty"` // characters per delta, 12 for text and 20 for input when absent
	Delay string `json:"delay,omitempty"` // between deltas
}

// APIError is an error answer of the Messages API.
type APIError struct {
	Status  int               `json:"status,omitempty"`
	Type    string            `json:"type"`
	Message string            `json:"message"`
	Headers map[string]string `json:"headers,omitempty"`
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

// Names lists the scenarios, sorted.
func Names() ([]string, error) {
	files, err := fs.Glob(scenarioFiles, "scenarios/*.json")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(path.Base(f), ".json"))
	}
	sort.Strings(names)
	return names, nil
}

// Load reads a scenario by its name.
func Load(name string) (*Scenario, error) {
	data, err := scenarioFiles.ReadFile("scenarios/" + name + ".json")
	if err != nil {
		return nil, errors.Newf("no scenario %q", name)
	}
	s, err := Parse(name, data)
	return s, errors.Wrapf(err, "scenario %s", name)
}

// Parse reads a scenario from its file's content.
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
