package claude

import (
	"slices"
	"strings"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// tools keeps the tool calls of a run.
type tools struct {
	calls map[string]*call // by tool use id
	open  int
	edits []string
}

type call struct {
	name     string // as shown
	parentID string
	answered bool
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
	m.emit(event.Tool{Tool: name, Detail: detail(m.opts, b.Input), ID: b.ID, ParentID: parentID})
}

func (t *tools) edit(m *mapper, tool, id, parentID, file string) {
	file = m.opts.Relative(file)
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
func detail(o agent.MapOptions, in toolInput) string {
	for _, file := range []string{in.FilePath, in.NotebookPath} {
		if file != "" {
			return o.Relative(file)
		}
	}
	for _, s := range []string{in.Command, in.Pattern, in.URL, in.Query, in.Description, in.Skill} {
		if s != "" {
			s, _ = agent.ToolText(s)
			return s
		}
	}
	if in.Path != "" {
		return o.Relative(in.Path)
	}
	for _, s := range []string{in.Name, in.Prompt, in.Text} {
		if s != "" {
			s, _ = agent.ToolText(s)
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
	text, truncated := agent.ToolText(agent.ContentText(b.Content))
	// claude marks what failed for its model (2.1.332).
	text = strings.TrimSuffix(strings.TrimPrefix(text, "<tool_use_error>"), "</tool_use_error>")
	m.emit(event.ToolResult{Tool: c.name, ID: b.ToolUseID, Text: text, IsError: b.IsError == true, Truncated: truncated})
}
