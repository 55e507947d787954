package record

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/fakeagents/scriptmodel"
	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/claude"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// claudeCLI is Anthropic's.
type claudeCLI struct{}

func (claudeCLI) adapter() agent.Agent { return claude.New() }

func (claudeCLI) pipes() bool { return false }

// environ sends claude to the model. SCRIPT_MODEL is for a repository's
// .mcp.json, which may name variables.
func (claudeCLI) environ(_ *scriptmodel.Scenario, url string) map[string]string {
	return map[string]string{
		"IS_SANDBOX": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": dummyKey, "SCRIPT_MODEL": url,
	}
}

func (claudeCLI) setUp(string, *scriptmodel.Scenario, string) error { return nil }

func (claudeCLI) elide(stdout []byte, _ bool) []byte { return Elide(stdout) }

func (claudeCLI) literals(w *workshop) map[string]string {
	return map[string]string{encodeFolder(w.repo): "{{REPO_ENC}}", encodeFolder(w.root): "{{TMP}}"}
}

func (claudeCLI) ends(line []byte) bool { return bytes.Contains(line, []byte(`"type":"result"`)) }

// encodeFolder is how claude names a project's folder. Paths of a workshop
// are short and ASCII, so the rule for long ones is not needed here.
func encodeFolder(path string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, filepath.ToSlash(path))
}

var (
	toolUse    = lazyregexp.New(`\{"type":"tool_use","id":"([^"]+)","name":"([^"]+)"`)
	toolResult = lazyregexp.New(`"tool_use_id":"([^"]+)"`)
)

// readers are tools whose result names files that they did not change.
var readers = map[string]bool{"Read": true, "Glob": true, "Grep": true}

// toolNames maps the ids of tool calls to the tools' names.
func toolNames(lines [][]byte) map[string]string {
	names := map[string]string{}
	for _, line := range lines {
		for _, m := range toolUse.FindAllSubmatch(line, -1) {
			names[string(m[1])] = string(m[2])
		}
	}
	return names
}

// reporter finds, from where a change was seen on, the first result of a tool
// that names the file, else the first result at all.
func (claudeCLI) reporter(lines [][]byte) func(sighting) int {
	tools := toolNames(lines)
	return func(s sighting) int { return resultFor(s, lines, tools) }
}

func resultFor(s sighting, lines [][]byte, tools map[string]string) int {
	first := 0
	for n := max(s.lines, 1); n <= len(lines); n++ {
		line := lines[n-1]
		id := toolResult.FindSubmatch(line)
		if id == nil || !bytes.Contains(line, []byte(`"type":"tool_result"`)) || readers[tools[string(id[1])]] {
			continue
		}
		if first == 0 {
			first = n
		}
		if s.path != "" && bytes.Contains(line, []byte(jsonText(s.path))) {
			return n
		}
	}
	return first
}

// disk reads the CLI's own transcripts, without the parts that are the
// vendor's.
func (claudeCLI) disk(w *workshop) ([]fakeagents.File, error) {
	projects := filepath.Join(w.home, ".claude", "projects")
	folders, err := os.ReadDir(projects)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var files []fakeagents.File
	for _, folder := range folders {
		t, err := readFolder(filepath.Join(projects, folder.Name()), ElideDisk)
		if err != nil {
			return nil, err
		}
		files = append(files, t...)
	}
	return files, nil
}

// maxOutput is how much stays of a tool's output that the CLI keeps in a file
// of its own, in bytes.
const maxOutput = 4096

// readFolder reads the files below a folder, lines of JSON shortened by elide.
func readFolder(dir string, elide func([]byte) []byte) ([]fakeagents.File, error) {
	t := tree{files: map[string]fakeagents.File{}}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() {
			return err
		}
		return t.add(dir, path)
	})
	files := t.list()
	for i := range files {
		files[i].Mode = 0o644 // as the fake writes it
		if strings.HasSuffix(files[i].Path, ".jsonl") {
			files[i].Data = elide(files[i].Data)
		} else if len(files[i].Data) > maxOutput {
			files[i].Data = append(files[i].Data[:maxOutput:maxOutput], "{{ELIDED}}\n"...)
		}
	}
	return files, err
}

// kept are the kinds of records on disk that make up a chat; of the others
// (prompts, tool schemas, requests: the vendor's text, hundreds of kilobytes)
// only the frame stays.
var kept = map[string]bool{
	"user": true, "assistant": true, "system": true, "queue-operation": true, "last-prompt": true, "summary": true,
	"custom-title": true, "ai-title": true, "agent-name": true, "cost-state": true, "mode": true, "tools-used": true,
}

// keptAttachments are the attachments that carry something the user said.
var keptAttachments = map[string]bool{"queued_command": true, "file": true, "max_turns_reached": true}

// frame are the keys that stay of a record that is not kept.
var frame = []string{"parentUuid", "isSidechain", "agentId", "type", "uuid", "timestamp", "sessionId", "cwd", "version", "gitBranch"}

// ElideDisk shortens a transcript as the CLI writes it on disk to what tells
// the chat.
func ElideDisk(data []byte) []byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	for i, line := range lines {
		var rec map[string]json.RawMessage
		if json.Unmarshal(line, &rec) != nil {
			continue // a cut last line, or the end
		}
		lines[i] = elideRecord(line, rec)
	}
	return bytes.Join(lines, nil)
}

func elideRecord(line []byte, rec map[string]json.RawMessage) []byte {
	var kind string
	var attachment struct{ Type string }
	if json.Unmarshal(rec["type"], &kind) != nil || kept[kind] {
		return line
	}
	if rec["attachment"] != nil {
		if json.Unmarshal(rec["attachment"], &attachment) == nil && keptAttachments[attachment.Type] {
			return line
		}
	}
	var out bytes.Buffer
	out.WriteByte('{')
	for _, key := range frame {
		if v, ok := rec[key]; ok {
			out.WriteString(`"` + key + `":`)
			out.Write(v)
			out.WriteByte(',')
		}
	}
	if attachment.Type != "" {
		out.WriteString(`"attachment":{"type":"` + attachment.Type + `","content":"{{ELIDED}}"}}`)
	} else {
		out.WriteString(`"content":"{{ELIDED}}"}`)
	}
	out.WriteByte('\n')
	return out.Bytes()
}
