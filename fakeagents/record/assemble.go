package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slidewrite/slidewrite/fakeagents"
)

// fixture completes f from a transcript, everything scrubbed.
func (w *workshop) fixture(f *fakeagents.Fixture, t *transcript, resume string) (*fakeagents.Fixture, error) {
	stdout := bytes.Join(t.lines, nil)
	session := resume
	if session == "" || session == lostSession {
		session = firstSession(stdout)
	}
	if session == "" {
		session = resume
	}
	s := NewScrubber(map[string]string{
		w.repo: "{{REPO}}", w.home: "{{HOME}}", w.run: "{{TMP}}", w.tmp: "{{TMP}}", w.root: "{{TMP}}",
		encodeFolder(w.repo): "{{REPO_ENC}}", encodeFolder(w.root): "{{TMP}}", dummyKey: "{{KEY}}",
		"127.0.0.1:" + strconv.Itoa(t.port): "127.0.0.1:{{PORT}}",
		w.bin:                               "{{BIN}}",
	}, session)
	f.Plain = t.plain
	f.Stdout = s.Scrub(Elide(stdout))
	f.Stderr = s.Scrub(t.stderr)
	f.Exit, f.Signal = t.exit, t.signal
	for _, arg := range t.args {
		f.Argv = append(f.Argv, string(s.Scrub([]byte(arg))))
	}
	for _, in := range t.stdin {
		if in.Line != nil {
			in.Line = s.Scrub(in.Line)
		}
		f.Stdin = append(f.Stdin, in)
	}
	for _, files := range [][]fakeagents.File{f.Before, f.Disk} {
		for i := range files {
			files[i].Path = string(s.Scrub([]byte(files[i].Path)))
			files[i].Data = s.Scrub(files[i].Data)
		}
	}
	f.Effects = placed(t.seen, t.lines)
	return f, nil
}

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

// placed turns sightings into effects, each right before the line that
// reports it. Recording again then gives the same numbers although the moment
// of seeing differs; a file that was seen half written is one effect.
func placed(seen []sighting, lines [][]byte) []fakeagents.Effect {
	tools := toolNames(lines)
	var merged []sighting
	for _, s := range seen {
		s.lines = resultFor(s, lines, tools) - 1
		if i := sameSpot(merged, s); i >= 0 {
			merged[i].after = s.after
			continue
		}
		merged = append(merged, s)
	}
	slices.SortStableFunc(merged, func(a, b sighting) int {
		if a.lines != b.lines || a.run != nil && b.run != nil {
			return cmp.Compare(a.lines, b.lines)
		}
		if (a.run == nil) != (b.run == nil) { // a commit comes after the files it holds
			return cmp.Compare(len(a.run), len(b.run))
		}
		return cmp.Compare(a.path, b.path)
	})
	var out []fakeagents.Effect
	for _, s := range merged {
		if s.run == nil && sameFile(s.before, s.after) {
			continue // it came and went
		}
		e := s.effect()
		e.After = s.lines
		out = append(out, e)
	}
	return out
}

// sameSpot finds an earlier sighting of the path at the same line.
func sameSpot(merged []sighting, s sighting) int {
	for i, m := range merged {
		if s.run == nil && m.run == nil && m.path == s.path && m.lines == s.lines {
			return i
		}
	}
	return -1
}

var (
	toolUse    = regexp.MustCompile(`\{"type":"tool_use","id":"([^"]+)","name":"([^"]+)"`)
	toolResult = regexp.MustCompile(`"tool_use_id":"([^"]+)"`)
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

// resultFor returns the number of the line, counted from 1, that reports the
// change: from where it was seen on, the first result of a tool that names
// the file, else the first result at all. Without one it is where it was seen.
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
	if first == 0 {
		return max(s.lines, 1)
	}
	return first
}

func jsonText(s string) string {
	q, err := quoteJSON(s)
	if err != nil {
		return s
	}
	return string(q[1 : len(q)-1])
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
