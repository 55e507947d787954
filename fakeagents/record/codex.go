package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/fakeagents/scriptmodel"
	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/codex"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// codexCLI is OpenAI's.
type codexCLI struct{}

func (codexCLI) adapter() agent.Agent { return codex.New(codex.Options{}) }

func (codexCLI) pipes() bool { return true }

// keyVariable is where config.toml says the key is.
const keyVariable = "SCRIPT_KEY"

func (codexCLI) environ(sc *scriptmodel.Scenario, _ string) map[string]string {
	if sc.Login {
		return nil
	}
	return map[string]string{keyVariable: dummyKey}
}

// scriptedModel is the model of a turn that names none: one with plain tools.
// The CLI's own default has one tool, in which the model writes JavaScript.
const scriptedModel = "gpt-5.5"

// setUp writes the config.toml that leads codex to the model: the command line
// stays the shim's, which knows no provider but the user's own.
func (codexCLI) setUp(home string, sc *scriptmodel.Scenario, url string) error {
	if sc.Exec != nil {
		return nil // a command asks no model
	}
	provider := fmt.Sprintf("model_provider = \"script\"\n\n[model_providers.script]\nname = \"script\"\nbase_url = \"%s/v1\"\nenv_key = \"%s\"\nwire_api = \"responses\"\n",
		url, keyVariable)
	if sc.Login {
		provider = fmt.Sprintf("openai_base_url = \"%s/v1\"\n", url)
	}
	config := fmt.Sprintf("model = \"%s\"\n%s", scriptedModel, provider)
	if sc.MCP {
		config += fmt.Sprintf("\n[mcp_servers.echo]\nurl = \"%s/mcp\"\n", url)
	}
	dir := filepath.Join(home, ".codex")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "config.toml"), []byte(config), 0o600)
}

// literals tell the folder of the repository, where a turn may write beside it.
func (codexCLI) literals(w *workshop) map[string]string {
	return map[string]string{w.root: "{{PARENT}}"}
}

func (codexCLI) ends(line []byte) bool {
	return bytes.HasPrefix(line, []byte(`{"type":"turn.completed"`)) || bytes.HasPrefix(line, []byte(`{"type":"turn.failed"`))
}

// rolloutName is a rollout: day folders, local time, thread id (0.171.0).
var rolloutName = lazyregexp.New(`^\d{4}/\d\d/\d\d/rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-([0-9a-f-]{36}\.jsonl)$`)

func (codexCLI) disk(w *workshop) ([]fakeagents.File, error) {
	dir := filepath.Join(w.home, ".codex", "sessions")
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	files, err := readFolder(dir, elideRollout)
	for i, f := range files {
		m := rolloutName.FindStringSubmatch(f.Path)
		if m == nil {
			return nil, errors.Newf("%s is not named as a rollout is", f.Path)
		}
		files[i].Path = "{{DAY}}/rollout-{{STAMP}}-" + m[1]
	}
	return files, err
}

// vendorText is how long a text may be, in bytes of JSON, where the vendor
// speaks: instructions, tool schemas, the catalogue.
const vendorText = 300

// chatText is how long a text may be that a tool or the model gave.
const chatText = 2048

// elide shortens what a command such as "debug models" answers. Lines of a
// turn stay as they are.
func (codexCLI) elide(stdout []byte, plain bool) []byte {
	if !plain {
		return stdout
	}
	return elideTexts(stdout, vendorText)
}

// elideRollout shortens a rollout to what tells the chat, and puts fixed
// values for what differs each time.
func elideRollout(data []byte) []byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	for i, line := range lines {
		var rec struct {
			Type    string
			Payload struct{ Role string }
		}
		if json.Unmarshal(line, &rec) != nil {
			continue // a cut last line, or the end
		}
		limit := chatText
		if rec.Type == "session_meta" || rec.Type == "world_state" || rec.Type == "turn_context" || rec.Payload.Role == "developer" {
			limit = vendorText
		}
		line = elideTexts(line, limit)
		for _, f := range rolloutFixed {
			line = f.re.ReplaceAll(line, []byte(f.with))
		}
		lines[i] = line
	}
	return bytes.Join(lines, nil)
}

var jsonString = lazyregexp.New(`"(?:[^"\\]|\\.)*"`)

// elideTexts replaces each JSON string of more bytes than that.
func elideTexts(b []byte, limit int) []byte {
	return jsonString.ReplaceAllFunc(b, func(s []byte) []byte {
		if len(s) <= limit+2 {
			return s
		}
		return []byte(`"{{ELIDED}}"`)
	})
}

var rolloutFixed = []struct {
	re   *lazyregexp.Regexp
	with string
}{
	{lazyregexp.New(`"(started_at|completed_at|create_time|created_at)":1[78]\d{8}(\.\d+)?`), `"${1}":1764500000`},
	{lazyregexp.New(`"commit_hash":"[0-9a-f]{40}"`), `"commit_hash":"` + strings.Repeat("0", 40) + `"`},
	{lazyregexp.New(`Wall time: [0-9.]+ seconds`), `Wall time: 0.1 seconds`},
	{lazyregexp.New(`Wall time [0-9.]+ seconds`), `Wall time 0.1 seconds`},
	{lazyregexp.New(`Chunk ID: [0-9a-f]+`), `Chunk ID: 000000`},
	{lazyregexp.New(`with session ID \d+`), `with session ID 1`},
	{lazyregexp.New(`"process_id":"\d+"`), `"process_id":"1"`},
	{lazyregexp.New(`/root/sub\b`), `/main/sub`}, // how codex names an agent's agent: no home of anybody's
	{lazyregexp.New(`"secs":\d+,"nanos":\d+`), `"secs":0,"nanos":100000000`},
}

// reporter finds, from where a change was seen on, the first item.completed
// that reports it: a patch that names the file, else a command that does, else
// the first item that can have made it.
func (codexCLI) reporter(lines [][]byte) func(sighting) int {
	return func(s sighting) int {
		best, at := 0, 0
		for n := max(s.lines, 1); n <= len(lines); n++ {
			if rank := reports(lines[n-1], s.path); rank > best {
				best, at = rank, n
			}
		}
		return at
	}
}

// reports is how much an item says that it changed the path: 0 not at all, 3
// by a patch.
func reports(line []byte, path string) int {
	if !bytes.HasPrefix(line, []byte(`{"type":"item.completed"`)) {
		return 0
	}
	names := path != "" && bytes.Contains(line, []byte(jsonText(path)))
	switch {
	case bytes.Contains(line, []byte(`"type":"file_change"`)) && names:
		return 3
	case bytes.Contains(line, []byte(`"type":"command_execution"`)) && names:
		return 2
	case bytes.Contains(line, []byte(`"type":"agent_message"`)), bytes.Contains(line, []byte(`"type":"reasoning"`)), bytes.Contains(line, []byte(`"type":"error"`)):
		return 0
	}
	return 1
}
