package codex

import (
	"maps"
	"slices"
	"strings"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// tools keeps the tool calls of a run.
type tools struct {
	calls map[string]*call // by item id
	order []string         // ids as they were announced
	open  int
	edits []string
}

type call struct {
	name     string // as shown
	paths    []string
	answered bool
}

// announce announces a tool call: a file_edit per path, or a tool.
func (m *mapper) announce(i *wireItem) {
	if m.tools.calls[i.ID] != nil {
		return
	}
	c := &call{name: toolName(i)}
	m.tools.calls[i.ID] = c
	m.tools.order = append(m.tools.order, i.ID)
	m.tools.open++
	if m.edit(c, i); len(c.paths) == 0 {
		detail, _ := agent.ToolText(toolDetail(i))
		m.emit(event.Tool{Tool: c.name, Detail: detail, ID: i.ID})
	}
}

// edit announces the paths of a file_change that are new.
func (m *mapper) edit(c *call, i *wireItem) {
	for _, file := range i.Changes {
		file = m.opts.Relative(file)
		if slices.Contains(c.paths, file) {
			continue
		}
		c.paths = append(c.paths, file)
		if !slices.Contains(m.tools.edits, file) {
			m.tools.edits = append(m.tools.edits, file)
		}
		m.emit(event.FileEdit{Tool: c.name, Path: file, ID: i.ID})
	}
}

// answer sends the result of a tool call, which may not have been announced.
func (m *mapper) answer(i *wireItem) {
	m.announce(i)
	c := m.tools.calls[i.ID]
	if c.answered {
		return
	}
	m.edit(c, i)
	text, isError := toolResult(i)
	m.close(c, i.ID, text, isError)
}

func (m *mapper) close(c *call, id, text string, isError bool) {
	c.answered = true
	m.tools.open--
	text, truncated := agent.ToolText(text)
	m.emit(event.ToolResult{Tool: c.name, ID: id, Text: text, IsError: isError, Truncated: truncated})
}

// closeOpen answers what is open at the end of a turn: codex says no more of a
// command that was still running, and ends it.
func (m *mapper) closeOpen() {
	for _, id := range m.tools.order {
		if c := m.tools.calls[id]; !c.answered {
			m.close(c, id, "still running when codex ended", false)
		}
	}
}

// toolName is a tool as it is shown.
func toolName(i *wireItem) string {
	switch i.kind() {
	case "command_execution":
		return "shell"
	case "file_change":
		return "apply_patch"
	case "mcp_tool_call":
		return i.Server + ": " + i.Tool
	case "collab_tool_call":
		if i.Tool != "" {
			return i.Tool
		}
	}
	return i.kind()
}

// toolDetail tells a reader what the call is about.
func toolDetail(i *wireItem) string {
	switch i.kind() {
	case "command_execution":
		return i.Command.String()
	case "mcp_tool_call":
		return agent.Compact(i.Arguments, nil)
	case "collab_tool_call":
		if i.Prompt != "" {
			return i.Prompt
		}
		return strings.Join(i.Receivers, " ")
	case "todo_list":
		return todoText(i.Items)
	}
	return i.Query
}

// toolResult is the output of a call and whether it failed.
func toolResult(i *wireItem) (text string, isError bool) {
	isError = i.Status == "failed" || i.Status == "declined"
	switch i.kind() {
	case "command_execution":
		return i.Output, isError
	case "file_change":
		if isError {
			return "the patch failed; a part of it may have been written", true
		}
		return i.Output, false
	case "mcp_tool_call":
		result, _ := i.Result.(map[string]any)
		text = agent.ContentText(result["content"])
	case "collab_tool_call":
		var said []string
		for _, id := range slices.Sorted(maps.Keys(i.Agents)) {
			if a := i.Agents[id]; a.Message != "" {
				said = append(said, a.Message)
			}
		}
		text = strings.Join(said, "\n")
	case "todo_list":
		text = todoText(i.Items)
	}
	if i.Error.Message != "" {
		return i.Error.Message, true
	}
	return text, isError
}

func todoText(items []todo) string {
	var b strings.Builder
	for _, t := range items {
		box := "[ ] "
		if t.Completed || t.Status == "completed" {
			box = "[x] "
		}
		b.WriteString(box + t.Text + t.Step + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// String is the command as a person would type it: codex hands each to a
// login shell (`/bin/bash -lc 'make test'`).
func (w words) String() string {
	list := w.list
	if list == nil {
		list, _ = shellWords(w.line)
	}
	if len(list) == 3 && isShell(list[0]) && (list[1] == "-lc" || list[1] == "-c") {
		return list[2]
	}
	if w.list != nil {
		return strings.Join(w.list, " ")
	}
	return w.line
}

func isShell(file string) bool {
	switch file[strings.LastIndexByte(file, '/')+1:] {
	case "bash", "zsh", "sh", "dash":
		return true
	}
	return false
}

// shellWords takes a line apart as a POSIX shell does, without expanding
// anything. ok is false when a quote is not closed.
func shellWords(line string) (list []string, ok bool) {
	var word strings.Builder
	inWord, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '\'' && c != '\'', quote == '"' && c != '"' && c != '\\':
			word.WriteByte(c)
		case c == quote:
			quote = 0
		case c == '\\' && i+1 < len(line):
			i++
			if quote == '"' && !strings.ContainsRune("$`\"\\\n", rune(line[i])) {
				word.WriteByte(c)
			}
			word.WriteByte(line[i])
			inWord = true
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if inWord {
				list = append(list, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		list = append(list, word.String())
	}
	return list, quote == 0
}
