package codex

import (
	"math"

	"github.com/slidewrite/slidewrite/shim/event"
)

// total is what codex counts, in the words of events: there input is without
// what came from the cache or went into it, and thinking is part of the output
// (thinkingTokens are estimates, and codex gives none).
func (u wireUsage) total() event.Usage {
	return event.Usage{
		InputTokens:         whole(u.Input - u.Cached - u.CacheWrite),
		OutputTokens:        whole(u.Output),
		CacheReadTokens:     whole(u.Cached),
		CacheCreationTokens: whole(u.CacheWrite),
	}
}

// whole rounds a count to an integer; nonsense becomes 0.
func whole(f float64) int64 {
	if math.IsNaN(f) || f < 0 || f > 1<<53 {
		return 0
	}
	return int64(f)
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
