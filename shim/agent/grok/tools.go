package grok

import (
	"slices"
	"strings"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// tools keeps the tool calls of a run.
type tools struct {
	calls map[string]*call // by tool use id
	open  int
	edits []string
}

type call struct {
	name     string // as shown
	paths    []string
	answered bool
}

// editPaths tells which paths a call of an edit tool names, as grok writes
// them: relative to its folder, or absolute.
var editPaths = map[string]func(*toolInput) []string{
	"search_replace": onePath,
	"write":          onePath,
	"hashline_edit":  onePath,
	"apply_patch":    func(in *toolInput) []string { return patchPaths(in.Patch) },
}

func onePath(in *toolInput) []string { return []string{in.FilePath} }

// patchHeader is a line of a patch that names a file.
var patchHeader = lazyregexp.New(`(?m)^\*\*\* (?:(?:Add|Update|Delete) File|Move to): ([^\r\n]+?)[ \t]*\r?$`)

func patchPaths(patch string) []string {
	var paths []string
	for _, found := range patchHeader.FindAllStringSubmatch(patch, -1) {
		paths = append(paths, found[1])
	}
	return paths
}

// announce announces a tool call: a file_edit per path, or a tool. It may have
// been announced by the stream already.
func (m *mapper) announce(id, name string, in *toolInput) {
	if m.tools.calls[id] != nil {
		return
	}
	c := &call{name: shownName(name, in)}
	m.tools.calls[id] = c
	m.tools.open++
	if paths := editPaths[name]; paths != nil {
		m.edit(c, id, paths(in))
	}
	if len(c.paths) == 0 {
		text, _ := agent.ToolText(m.detail(name, in))
		m.emit(event.Tool{Tool: c.name, Detail: text, ID: id})
	}
}

// edit announces the paths of a call that are new.
func (m *mapper) edit(c *call, id string, paths []string) {
	for _, file := range paths {
		if file == "" {
			continue
		}
		file = m.opts.Relative(plain(file))
		if slices.Contains(c.paths, file) {
			continue
		}
		c.paths = append(c.paths, file)
		if !slices.Contains(m.tools.edits, file) {
			m.tools.edits = append(m.tools.edits, file)
		}
		m.emit(event.FileEdit{Tool: c.name, Path: file, ID: id})
	}
}

// shownName is a tool as it is shown. MCP tools are all called through use_tool
// and shown as "server: tool"; an X search has its title, with a colon, for a
// name.
func shownName(name string, in *toolInput) string {
	if server, tool, whole := strings.Cut(in.ToolName, "__"); name == "use_tool" && whole {
		return server + ": " + tool
	}
	return strings.TrimSuffix(name, ":")
}

// detail is the one input that tells a reader what the call is about.
func (m *mapper) detail(name string, in *toolInput) string {
	if name == "use_tool" {
		return agent.Compact(in.ToolInput, shortened)
	}
	if in.Command != "" {
		return in.Command
	}
	for _, file := range []string{in.FilePath, in.File} {
		if file != "" {
			return m.opts.Relative(plain(file))
		}
	}
	for _, s := range []string{in.Pattern, in.Query, in.URL, in.Description} {
		if s != "" {
			return s
		}
	}
	for _, dir := range []string{in.Directory, in.Path} {
		if dir != "" {
			return m.opts.Relative(plain(dir))
		}
	}
	return in.Prompt
}

// answer sends the result of a tool call, which may not have been announced.
// A web search has its result in the response itself, in the stream and once
// more on the assistant line.
func (m *mapper) answer(b *wireBlock) {
	m.announce(b.ToolUseID, "tool", &toolInput{})
	c := m.tools.calls[b.ToolUseID]
	if c.answered {
		return
	}
	c.answered = true
	m.tools.open--
	out := outputOf(b.Content)
	m.edit(c, b.ToolUseID, out.files)
	text, truncated := agent.ToolText(out.text)
	m.emit(event.ToolResult{Tool: c.name, ID: b.ToolUseID, Text: text, IsError: b.IsError == true || out.failed, Truncated: truncated})
}
