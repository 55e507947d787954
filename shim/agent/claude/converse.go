package claude

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// Times of the conversation. 332 answers initialize after 0.25 s and 197 after
// 0.4 s; a CLI that sends states says "idle" 2–5 ms after its last result.
const (
	promptAfter      = 2 * time.Second
	closeAfterResult = time.Second
)

// initializeID is the request id of our initialize.
const initializeID = "slidewrite-initialize"

// conversation is the stdin side of one run: initialize, one user message,
// perhaps an interrupt, end of file.
type conversation struct {
	spec       agent.Spec
	prompted   bool
	closed     bool
	interrupts int
}

// Converse returns the stdin side of one run.
func (Claude) Converse(s agent.Spec) agent.Conversation {
	return &conversation{spec: s}
}

func (c *conversation) PromptAfter() time.Duration      { return promptAfter }
func (c *conversation) CloseAfterResult() time.Duration { return closeAfterResult }
func (c *conversation) Linger() time.Duration           { return 0 }

// Open asks for initialize; its answer means that claude takes messages.
func (c *conversation) Open() agent.Step {
	return agent.Step{Write: [][]byte{controlRequest(initializeID, "initialize")}}
}

// Prompt sends the one user message of the run.
func (c *conversation) Prompt() agent.Step {
	if c.prompted || c.closed {
		return agent.Step{}
	}
	c.prompted = true
	return agent.Step{Write: [][]byte{userMessage(c.spec)}}
}

// Interrupt stops what claude is doing, commands included. Before a message
// was sent there is nothing to interrupt: end of input ends the process.
func (c *conversation) Interrupt() (agent.Step, bool) {
	if !c.prompted {
		c.closed = true
		return agent.Step{Close: true}, true
	}
	c.interrupts++
	id := "slidewrite-interrupt-" + strconv.Itoa(c.interrupts)
	return agent.Step{Write: [][]byte{controlRequest(id, "interrupt")}}, true
}

// chatter are the starts of lines that mean nothing to a conversation; they
// are nearly all lines, and may be megabytes long.
var chatter = [][]byte{
	[]byte(`{"type":"stream_event",`),
	[]byte(`{"type":"assistant",`),
	[]byte(`{"type":"user",`),
}

// Line reacts to the answer to initialize, to a result, and to "idle".
func (c *conversation) Line(line []byte) agent.Step {
	for _, prefix := range chatter {
		if bytes.HasPrefix(line, prefix) {
			return agent.Step{}
		}
	}
	var m struct {
		Type     string `json:"type"`
		Subtype  string `json:"subtype"`
		State    string `json:"state"`
		Response struct {
			RequestID string `json:"request_id"`
		} `json:"response"`
	}
	if !agent.Decode(line, &m) {
		return agent.Step{}
	}
	switch {
	case m.Type == "control_response" && m.Response.RequestID == initializeID:
		// An error answers too: a CLI without initialize still takes a message.
		return agent.Step{Ready: true}
	case m.Type == "result":
		return agent.Step{Result: true}
	case m.Type == "system" && m.Subtype == "session_state_changed" && m.State == "idle" && c.prompted:
		c.closed = true
		return agent.Step{Close: true}
	}
	return agent.Step{}
}

func controlRequest(id, subtype string) []byte {
	type request struct {
		Subtype string `json:"subtype"`
	}
	return jsonLine(struct {
		Type      string  `json:"type"`
		RequestID string  `json:"request_id"`
		Request   request `json:"request"`
	}{"control_request", id, request{subtype}})
}

// userMessage is the prompt as content blocks: each image first, the text last
// (claude expands "@path" and "/command" only in the last block). The newline
// before the text keeps a prompt that starts with "/" from being swallowed as
// a command, which --disable-slash-commands does not.
func userMessage(s agent.Spec) []byte {
	type source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	}
	type block struct {
		Type   string  `json:"type"`
		Source *source `json:"source,omitempty"`
		Text   string  `json:"text,omitempty"`
	}
	var content []block
	for _, im := range s.Images {
		data := base64.StdEncoding.EncodeToString(im.Data)
		content = append(content, block{Type: "image", Source: &source{"base64", im.MIME, data}})
	}
	content = append(content, block{Type: "text", Text: "\n" + s.Prompt})

	type message struct {
		Role    string  `json:"role"`
		Content []block `json:"content"`
	}
	return jsonLine(struct {
		Type            string  `json:"type"`
		Message         message `json:"message"`
		ParentToolUseID *string `json:"parent_tool_use_id"`
		SessionID       string  `json:"session_id"`
	}{Type: "user", Message: message{"user", content}})
}

// jsonLine encodes v, which is made of strings only, on one line.
func jsonLine(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // strings always encode
	}
	return buf.Bytes()
}
