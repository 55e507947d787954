package codex

import (
	"bytes"
	"time"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// linger is how long codex gets to end after its turn: 50 ms are usual.
const linger = time.Second

// conversation is the stdin side of one run: the prompt, then end of file.
// codex does nothing before that.
type conversation struct {
	spec     agent.Spec
	prompted bool
	closed   bool
}

// Converse returns the stdin side of one run.
func (Codex) Converse(s agent.Spec) agent.Conversation { return &conversation{spec: s} }

func (c *conversation) PromptAfter() time.Duration      { return 0 }
func (c *conversation) CloseAfterResult() time.Duration { return 0 }
func (c *conversation) Linger() time.Duration           { return linger }

// Open has nothing to say.
func (c *conversation) Open() agent.Step { return agent.Step{} }

// Prompt writes the prompt as it is and closes stdin: codex starts its turn at
// end of file.
func (c *conversation) Prompt() agent.Step {
	if c.prompted || c.closed {
		return agent.Step{}
	}
	c.prompted = true
	return agent.Step{Write: [][]byte{[]byte(promptText(c.spec))}, Close: true}
}

// promptText is what codex reads: the prompt byte for byte after the one
// newline that stands before every agent's. (It also keeps a prompt that
// begins with a byte order mark from being read as UTF-16.)
func promptText(s agent.Spec) string { return "\n" + s.Prompt }

// Interrupt before the prompt ends the process: empty input is none. After it
// there is no such request.
func (c *conversation) Interrupt() (agent.Step, bool) {
	if c.prompted {
		return agent.Step{}, false
	}
	c.closed = true
	return agent.Step{Close: true}, true
}

// chatter is the start of lines that mean nothing to a conversation; they are
// nearly all lines, and may be megabytes long.
var chatter = []byte(`{"type":"item.`)

// Line reacts to the end of the turn.
func (c *conversation) Line(line []byte) agent.Step {
	if bytes.HasPrefix(line, chatter) {
		return agent.Step{}
	}
	var l wireLine
	if agent.Decode(line, &l) && l.endsTurn() {
		return agent.Step{Result: true, Close: true}
	}
	return agent.Step{}
}
