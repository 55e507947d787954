package grok

import (
	"bytes"
	"time"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// conversation is the stdin side of one run: there is none. grok has its prompt
// from a file and no request to interrupt it; it is sent SIGINT, which it has
// no handler for (default death, no result).
type conversation struct{ spec agent.Spec }

// Converse returns the stdin side of one run.
func (Grok) Converse(s agent.Spec) agent.Conversation { return conversation{s} }

func (conversation) PromptAfter() time.Duration            { return 0 }
func (conversation) CloseAfterResult() time.Duration       { return 0 }
func (conversation) Linger() time.Duration                 { return 0 }
func (conversation) Open() agent.Step                      { return agent.Step{Close: true} }
func (conversation) Prompt() agent.Step                    { return agent.Step{} }
func (conversation) Interrupt() (step agent.Step, ok bool) { return agent.Step{}, false }

// chatter are the starts of lines that mean nothing to a conversation; they
// are nearly all lines, and may be megabytes long.
var chatter = [][]byte{
	[]byte(`{"type":"stream_event",`),
	[]byte(`{"type":"assistant",`),
	[]byte(`{"type":"user",`),
}

// Line reacts to the result, the last line there is, and ends a grok that works
// in another folder than it was told. init comes before the first content, so
// that no tool has run by then as far as the lines tell.
func (c conversation) Line(line []byte) agent.Step {
	for _, prefix := range chatter {
		if bytes.HasPrefix(line, prefix) {
			return agent.Step{}
		}
	}
	var l struct {
		Type    string `json:"type"`
		Subtype string `json:"subtype"`
		Cwd     string `json:"cwd"`
	}
	if !agent.Decode(line, &l) {
		return agent.Step{}
	}
	switch {
	case l.Type == "result":
		return agent.Step{Result: true, Close: true}
	case l.Type == "system" && l.Subtype == "init":
		return agent.Step{Abort: elsewhere(c.spec.Repo, c.spec.Session, l.Cwd)}
	}
	return agent.Step{}
}
