package grok

import (
	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// tally is a count of tokens.
type tally struct{ input, output, cacheRead, cacheCreation float64 }

func (t *tally) add(u tally) {
	t.input += u.input
	t.output += u.output
	t.cacheRead += u.cacheRead
	t.cacheCreation += u.cacheCreation
}

func (t tally) max(u tally) tally {
	return tally{max(t.input, u.input), max(t.output, u.output), max(t.cacheRead, u.cacheRead), max(t.cacheCreation, u.cacheCreation)}
}

func (u wireUsage) tally() tally {
	value := func(f *float64) float64 {
		if f == nil {
			return 0
		}
		return *f
	}
	return tally{value(u.Input), value(u.Output), value(u.CacheRead), value(u.CacheCreation)}
}

// count takes the usage of a response, which comes twice when it streamed: in
// message_delta and on the assistant line.
func (m *mapper) count(msg *message, u wireUsage) {
	said := msg.usage.max(u.tally())
	before := msg.usage
	msg.usage = said
	m.sum.add(tally{said.input - before.input, said.output - before.output, said.cacheRead - before.cacheRead, said.cacheCreation - before.cacheCreation})
	m.sendUsage()
}

// total is the run's usage: what the responses showed, or what the result
// billed where that is more (it counts all of this process, and is 0 where grok
// does not know). Thinking is part of the output.
func (m *mapper) total() event.Usage {
	t := m.sum.max(m.billed)
	return event.Usage{
		InputTokens:         agent.Whole(t.input),
		OutputTokens:        agent.Whole(t.output),
		CacheReadTokens:     agent.Whole(t.cacheRead),
		CacheCreationTokens: agent.Whole(t.cacheCreation),
	}
}

// sendUsage sends the total when it changed.
func (m *mapper) sendUsage() {
	if u := m.total(); u != m.lastUsage {
		m.lastUsage = u
		m.emit(u)
	}
}
