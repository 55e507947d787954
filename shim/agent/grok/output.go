package grok

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// output is the result of a tool call as people see it.
type output struct {
	text   string
	failed bool
	files  []string // that a patch touched
}

// outputOf unwraps the content of a result. Of a client tool it is a string
// that holds grok's internal output as JSON (xai-grok-tools/src/types/output.rs
// through xai-grok-shell/src/session/acp_conversion.rs), a list of blocks where
// there is none (denied, cancelled), or a sentence. Of a web search it is a
// list, or an error.
func outputOf(content any) output {
	switch v := content.(type) {
	case string:
		return unwrap(v)
	case map[string]any: // {"type":"web_search_tool_result_error","error_code":"unavailable"}
		code, _ := v["error_code"].(string)
		return output{text: strings.TrimSpace("the search failed " + code), failed: true}
	case []any:
		return output{text: blocksText(v)}
	}
	return output{}
}

// blocksText is the text of a list of blocks: those of ACP wrap another one,
// search results have an address and a title; anything else is named only.
func blocksText(blocks []any) string {
	var inner []any
	for _, b := range blocks {
		fields, _ := b.(map[string]any)
		if wrapped, ok := fields["content"].(map[string]any); ok {
			fields = wrapped
		}
		if url, ok := fields["url"].(string); ok && fields["type"] == "web_search_result" {
			title, _ := fields["title"].(string)
			fields = map[string]any{"type": "text", "text": strings.TrimSpace(title + " " + url)}
		}
		inner = append(inner, fields)
	}
	return agent.ContentText(inner)
}

func unwrap(s string) output {
	switch {
	case strings.HasPrefix(s, "["):
		var blocks []any
		if json.Unmarshal([]byte(s), &blocks) == nil {
			if text := blocksText(blocks); text != "" {
				return output{text: text}
			}
		}
	case strings.HasPrefix(s, "{"):
		var fields object
		if json.Unmarshal([]byte(s), &fields) == nil && (fields["type"] != nil || fields["error"] != nil) {
			return fields.output(s)
		}
	}
	return output{text: s}
}

// object is a JSON object whose members are looked at one by one.
type object map[string]json.RawMessage

// failures are the variants of an output that say why nothing was done.
var failures = []string{
	"NoMatchesFound", "MultipleMatchesFound", "FileNotFound", "FileAlreadyExists", "FilenameTooLong", "InvalidInput", "Error",
}

func (o object) output(whole string) output {
	var head struct {
		Type     string   `json:"type"`
		Error    string   `json:"error"`
		IsError  bool     `json:"is_error"` // MCP
		ExitCode *float64 `json:"exit_code"`
		TimedOut bool     `json:"timed_out"`
		Signal   any      `json:"signal"`
		Summary  string   `json:"summary"` // BackgroundTaskStarted
		Command  string   `json:"command"`
		Output   object   `json:"output"` // of MCP; of a command a list of bytes
		Success  struct { // ApplyPatch
			Files []struct {
				Path   string `json:"path"`
				MoveTo string `json:"move_to"`
			} `json:"files"`
		} `json:"Success"`
	}
	agent.Decode([]byte(whole), &head)
	out := output{failed: head.Error != "" || head.IsError || head.TimedOut || head.Signal != nil}
	for _, name := range failures {
		out.failed = out.failed || o[name] != nil || head.Output[name] != nil
	}
	for _, f := range head.Success.Files {
		out.files = append(out.files, f.Path, f.MoveTo)
	}
	var found bool
	switch out.text, found = o.text(0); {
	case head.Type == "BackgroundTaskStarted":
		if out.text = head.Summary; out.text == "" {
			out.text = head.Command
		}
		out.text = "started in the background: " + out.text
	case !found && head.Error != "":
		out.text = head.Error
	case !found:
		out.text = agent.Compact(json.RawMessage(whole), shortened)
	}
	// A command that ended with another code than 0 is no error to grok. It is
	// one to a reader, and with the other agents.
	if code := head.ExitCode; code != nil && *code != 0 {
		out.failed = true
		if !strings.HasPrefix(out.text, "exit:") {
			out.text = fmt.Sprintf("exit: %.0f\n%s", *code, out.text)
		}
	}
	return out
}

// textKeys are the members that hold what is to be read, the best first.
var textKeys = []string{"output_for_prompt", "tool_output_for_prompt", "message", "text", "content", "output"}

// text finds the text of an output: a member that holds it, here or in the
// variant below ({"type":"ReadFile","FileContent":{"content":…}}).
func (o object) text(depth int) (string, bool) {
	const deepest = 4
	if depth == deepest {
		return "", false
	}
	for _, key := range textKeys {
		if text, ok := textOf(o[key], depth); ok {
			return text, true
		}
	}
	if mime := o["mime_type"]; mime != nil && o["data"] != nil { // base64, megabytes
		kind, _ := textOf(mime, depth)
		return "[" + kind + "]", true
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if key == "" || key[0] < 'A' || key[0] > 'Z' {
			continue // no variant: those have Rust names
		}
		if text, ok := textOf(o[key], depth); ok {
			return text, true
		}
	}
	return "", false
}

func textOf(raw json.RawMessage, depth int) (string, bool) {
	switch {
	case len(raw) == 0:
		return "", false
	case raw[0] == '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err == nil
	case raw[0] == '{':
		var o object
		if json.Unmarshal(raw, &o) != nil {
			return "", false
		}
		return o.text(depth + 1)
	case raw[0] == '[':
		if text, ok := bytesText(raw); ok {
			return text, true
		}
		var blocks []any
		if json.Unmarshal(raw, &blocks) != nil {
			return "", false
		}
		text := blocksText(blocks)
		return text, text != ""
	}
	return "", false
}

// maxBytes is how much of a list of bytes is read: 4,000 characters are shown.
const maxBytes = 64 << 10

// bytesText reads a list of byte values, which is how Rust writes bytes as
// JSON: [104,105,10] is "hi\n". An empty list is empty text.
func bytesText(raw json.RawMessage) (string, bool) {
	raw = bytes.TrimSuffix(bytes.TrimPrefix(raw, []byte("[")), []byte("]"))
	var text []byte
	for n := range bytes.SplitSeq(raw, []byte(",")) {
		n = bytes.TrimSpace(n)
		if len(n) == 0 && len(text) == 0 {
			break
		}
		b, err := strconv.ParseUint(string(n), 10, 8)
		if err != nil {
			return "", false
		}
		if text = append(text, byte(b)); len(text) == maxBytes {
			break
		}
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), true
}

// shortened counts long strings (pictures as base64) and lists of bytes instead
// of keeping them.
func shortened(v any) any {
	const longest = 1000 // characters of a string, members of a list
	switch v := v.(type) {
	case string:
		if len(v) > longest {
			return fmt.Sprintf("(%d bytes)", len(v))
		}
	case []any:
		if len(v) > longest {
			return fmt.Sprintf("(%d members)", len(v))
		}
		for i := range v {
			v[i] = shortened(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = shortened(v[key])
		}
	}
	return v
}
