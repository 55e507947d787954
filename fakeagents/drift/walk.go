package drift

import (
	"strings"

	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// place is a value's place: in which stream it stands, and on which path.
//
// A path begins with the label of the line: its type, and of a system line its
// subtype. After a colon come members, with dots between them. [] is any element of a list; [text] an
// object whose own type is text; (Edit) the data of the tool Edit; * any key
// of an object whose keys are data.
type place struct{ where, path string }

// Labels of lines that have none.
const (
	notJSON = "(not JSON)"
	noType  = "(no type)"
)

// wholeFile is the path of a stream itself, which its lines are in.
const wholeFile = "(file)"

var (
	labelPattern = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_.-]{0,47}$`)
	namePattern  = lazyregexp.New(`^[A-Za-z_$][A-Za-z0-9_$]*$`)
)

// opaque are members whose inside is data of a tool's or of the model's, in the
// agents' own words for them: they have no shape of the CLI's.
var opaque = map[string]bool{
	"arguments": true, "structuredContent": true, "structured_content": true,
	"input_schema": true, "inputSchema": true, "properties": true, "_meta": true,
}

// walker goes over the lines of one stream in their order.
type walker struct {
	maps  map[string]bool   // paths of objects whose keys are data
	tools map[string]string // tool calls by their ids
	visit func(path, parent string, n *node)
}

// label is what a line is.
func label(n *node) string {
	if n == nil {
		return notJSON
	}
	kind := typeOf(n, "")
	if kind == "" {
		return noType
	}
	// system is a bag of messages of every kind. Other subtypes are variants of
	// one: endings of a result.
	if sub := n.get("subtype").text(); kind == "system" && labelPattern.MatchString(sub) {
		return kind + "/" + sub
	}
	return kind
}

// typeOf is an object's own type. One that only repeats the key says nothing.
func typeOf(n *node, key string) string {
	t := n.get("type").text()
	if n.kind != object || t == key || !labelPattern.MatchString(t) {
		return ""
	}
	return t
}

// line visits all places of one line.
func (w *walker) line(n *node) {
	at := label(n)
	w.visit(at, wholeFile, n)
	if n == nil {
		return
	}
	w.object(at, n, w.answered(n))
}

// answered is the tool whose result a line carries, "" when it carries none.
func (w *walker) answered(n *node) string {
	content := n.get("message").get("content")
	if content == nil {
		return ""
	}
	for _, block := range content.items {
		if id := block.get("tool_use_id").text(); id != "" {
			return w.tools[id]
		}
	}
	return ""
}

// object visits the members of an object. tool is whose result the line is.
func (w *walker) object(at string, n *node, tool string) {
	isMap := w.maps[at]
	for _, m := range n.members {
		isMap = isMap || !namePattern.MatchString(m.key)
	}
	if isMap {
		w.maps[at] = true
	}
	below := at + "."
	if _, isLine := lineOf(at); isLine {
		below = at + ":"
	}
	for _, m := range n.members {
		path := below + m.key
		if isMap {
			path = below + "*"
		}
		switch {
		case opaque[m.key]:
			w.visit(path, at, m.value)
		case m.key == "input" && n.get("type").text() == "tool_use":
			name := toolName(n.get("name").text())
			w.tools[n.get("id").text()] = name
			w.ofTool(path, at, m.value, name)
		case m.key == "tool_use_result" || m.key == "toolUseResult":
			w.ofTool(path, at, m.value, tool)
		default:
			w.value(path, at, m.key, m.value, tool)
		}
	}
}

// ofTool visits the input or the result of a tool. What goes to and comes from
// an MCP server is data.
func (w *walker) ofTool(path, parent string, n *node, tool string) {
	w.visit(path, parent, n)
	if tool == "" || n.kind != object {
		return
	}
	own := path + "(" + tool + ")"
	w.visit(own, path, n)
	if tool != mcpTool {
		w.inside(own, own, "", n, tool)
	}
}

// mcpTool stands for all tools of MCP servers.
const mcpTool = "mcp"

func toolName(name string) string {
	if strings.HasPrefix(name, "mcp__") {
		return mcpTool
	}
	return name
}

// value visits a value and what is in it.
func (w *walker) value(path, parent, key string, n *node, tool string) {
	w.visit(path, parent, n)
	w.inside(path, path, key, n, tool)
}

// inside visits what is in the value at base; typed objects in it get a place
// of their own, which begins with path.
func (w *walker) inside(base, path, key string, n *node, tool string) {
	switch n.kind {
	case object:
		if t := typeOf(n, key); t != "" {
			path += "[" + t + "]"
			w.visit(path, base, n)
			base = path
		}
		w.object(base, n, tool)
	case array:
		for _, item := range n.items {
			w.visit(path+"[]", path, item)
			w.inside(path+"[]", path, key, item, tool)
		}
	}
}
