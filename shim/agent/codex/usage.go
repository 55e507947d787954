package codex

import (
	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// total is what codex counts, in the words of events: there input is without
// what came from the cache or went into it, and thinking is part of the output
// (thinkingTokens are estimates, and codex gives none).
func (u wireUsage) total() event.Usage {
	return event.Usage{
		InputTokens:         agent.Whole(u.Input - u.Cached - u.CacheWrite),
		OutputTokens:        agent.Whole(u.Output),
		CacheReadTokens:     agent.Whole(u.Cached),
		CacheCreationTokens: agent.Whole(u.CacheWrite),
	}
}

// countUsage sends the run's own part of the thread's total: what the session
// had used before is taken off. It is not known when a session goes on of
// which nothing was found; then nothing is said.
func (m *mapper) countUsage(u *wireUsage) {
	if u == nil {
		return
	}
	own := u.total()
	if m.continued {
		before := m.opts.Session.Usage
		if before == nil {
			return
		}
		own.InputTokens = max(0, own.InputTokens-before.InputTokens)
		own.OutputTokens = max(0, own.OutputTokens-before.OutputTokens)
		own.CacheReadTokens = max(0, own.CacheReadTokens-before.CacheReadTokens)
		own.CacheCreationTokens = max(0, own.CacheCreationTokens-before.CacheCreationTokens)
	}
	if m.usage != nil && *m.usage == own {
		return
	}
	m.usage = &own
	m.emit(own)
}
