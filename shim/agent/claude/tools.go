package claude

import (
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// maxToolText is how much of a tool's output, or of its detail, is forwarded,
// in characters (spec "forwarded tool output").
const maxToolText = 4000

// tools keeps the tool calls of a run.
type tools struct {
	repo, top string           // "/" separators
	calls     map[string]*call // by tool use id
	open      int
	edits     []string
}

type call struct {
	name     string // as shown
	parentID string
	answered bool
}

func newTools(o agent.MapOptions) tools {
	top := o.Top
	if top == "" {
		top = o.Repo
	}
	return tools{repo: slashed(o.Repo), top: slashed(top), calls: map[string]*call{}}
}

// editTools are the tools that write a file, with the input that names it.
// MultiEdit is gone in 332; NotebookEdit has its own name for the path.
var editTools = map[string]func(toolInput) string{
	"Edit":         func(in toolInput) string { return in.FilePath },
	"Write":        func(in toolInput) string { return in.FilePath },
	"MultiEdit":    func(in toolInput) string { return in.FilePath },
	"NotebookEdit": func(in toolInput) string { return in.NotebookPath },
}

// announceAll announces the tool calls of an assistant line.
func (t *tools) announceAll(m *mapper, l *wireLine) {
	for _, b := range l.Message.Content {
		if b.Type == "tool_use" {
			t.announce(m, b, l.Parent.id)
		}
	}
}

func (t *tools) announce(m *mapper, b wireBlock, parentID string) {
	if t.calls[b.ID] != nil {
		return
	}
	name := shownName(b.Name)
	t.calls[b.ID] = &call{name: name, parentID: parentID}
	t.open++
	if pathOf := editTools[b.Name]; pathOf != nil && pathOf(b.Input) != "" {
		t.edit(m, name, b.ID, parentID, pathOf(b.Input))
		return
	}
	m.emit(event.Tool{Tool: name, Detail: t.detail(b.Input), ID: b.ID, ParentID: parentID})
}

func (t *tools) edit(m *mapper, tool, id, parentID, file string) {
	file = t.relative(file)
	if !slices.Contains(t.edits, file) {
		t.edits = append(t.edits, file)
	}
	m.emit(event.FileEdit{Tool: tool, Path: file, ID: id, ParentID: parentID})
}

// shownName writes mcp__server__tool as "server: tool".
func shownName(name string) string {
	rest, isMCP := strings.CutPrefix(name, "mcp__")
	server, tool, whole := strings.Cut(rest, "__")
	if !isMCP || !whole {
		return name
	}
	return server + ": " + tool
}

// detail is the one input that tells a reader what the call is about.
func (t *tools) detail(in toolInput) string {
	for _, file := range []string{in.FilePath, in.NotebookPath} {
		if file != "" {
			return t.relative(file)
		}
	}
	for _, s := range []string{in.Command, in.Pattern, in.URL, in.Query, in.Description, in.Skill} {
		if s != "" {
			s, _ = cut(s, maxToolText)
			return s
		}
	}
	if in.Path != "" {
		return t.relative(in.Path)
	}
	for _, s := range []string{in.Name, in.Prompt, in.Text} {
		if s != "" {
			s, _ = cut(s, maxToolText)
			return s
		}
	}
	return ""
}

// results sends the tool results of a user line, in the order they completed.
func (t *tools) results(m *mapper, l *wireLine) {
	for _, b := range l.Message.Content {
		if b.Type == "tool_result" {
			t.answer(m, b, l)
		}
	}
}

func (t *tools) answer(m *mapper, b wireBlock, l *wireLine) {
	c := t.calls[b.ToolUseID]
	if c == nil { // a call this stream did not show
		t.announce(m, wireBlock{ID: b.ToolUseID, Name: "tool"}, l.Parent.id)
		c = t.calls[b.ToolUseID]
	}
	if c.answered {
		return
	}
	c.answered = true
	t.open--
	for _, file := range l.ToolUseResult.BashEditDiff.ChangedFiles {
		if file != "" {
			t.edit(m, c.name, b.ToolUseID, c.parentID, file)
		}
	}
	text, truncated := cut(resultText(b.Content), maxToolText)
	m.emit(event.ToolResult{Tool: c.name, ID: b.ToolUseID, Text: text, IsError: b.IsError == true, Truncated: truncated})
}

// resultText is the text of a tool result's content: a string, or a list of
// blocks of which anything but text is named only (images are base64).
func resultText(content any) string {
	blocks, isList := content.([]any)
	if !isList {
		s, _ := content.(string)
		return s
	}
	var parts []string
	for _, b := range blocks {
		fields, _ := b.(map[string]any)
		kind, _ := fields["type"].(string)
		switch text, isText := fields["text"].(string); {
		case isText:
			parts = append(parts, text)
		case kind != "":
			parts = append(parts, "["+kind+"]")
		}
	}
	return strings.Join(parts, "\n")
}

// cut returns the first n characters of s, and whether there were more.
func cut(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	end := 0
	for range n {
		if end == len(s) {
			return s, false
		}
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	if end == len(s) {
		return s, false
	}
	return strings.Clone(s[:end]), true // a copy: s may be megabytes
}

// relative is a path as clients see it: relative to the repository's top level
// with "/" separators, or absolute when outside. A relative path of the agent's
// is relative to its working directory. It is text only: nothing is looked up.
func (t *tools) relative(file string) string {
	file = slashed(file)
	if !isAbs(file) {
		file = path.Join(t.repo, file)
	}
	file = path.Clean(file)
	if t.top == "" || !isAbs(t.top) {
		return file
	}
	rest, inside := cutDir(file, path.Clean(t.top))
	if !inside {
		return file
	}
	return rest
}

// cutDir removes the directory dir from the front of file.
func cutDir(file, dir string) (string, bool) {
	if sameFile(file, dir) {
		return ".", true
	}
	dir = strings.TrimSuffix(dir, "/") + "/"
	if len(file) > len(dir) && sameFile(file[:len(dir)], dir) {
		return file[len(dir):], true
	}
	return file, false
}

// sameFile compares paths as the system does: Windows ignores case.
func sameFile(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

func slashed(file string) string { return filepath.ToSlash(file) }

func isAbs(file string) bool {
	return path.IsAbs(file) || filepath.IsAbs(filepath.FromSlash(file))
}
