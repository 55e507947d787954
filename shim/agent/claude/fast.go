package claude

import (
	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// fast maps a plain text_delta line, or reports that it is not one.
func (m *mapper) fast(line []byte) ([]event.Event, bool) {
	text, index, apiMessageID, ok := agent.TextDelta(line)
	if !ok {
		return nil, false
	}
	if text == "" {
		return nil, true
	}
	var id string
	if m.current != nil && m.current.id == string(apiMessageID) {
		id = m.current.id // the same, without a copy per line
	} else {
		id = string(apiMessageID)
	}
	m.one[0] = m.textDelta(text, index, id)
	return m.one[:], true
}
