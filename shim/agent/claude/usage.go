package claude

import (
	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// entry is the usage of one message. The same numbers repeat on every block of
// a message, so entries are keyed by message id and summed.
type entry struct{ input, output, cacheRead, cacheCreation float64 }

// correct calls set for each number that a line names, and keeps the sum of
// all entries in step.
func (m *mapper) correct(id string, u wireUsage, set func(have, said float64) float64) {
	e := m.usage[id]
	if e == nil {
		e = &entry{}
		m.usage[id] = e
	}
	for _, f := range []struct{ have, sum, said *float64 }{
		{&e.input, &m.sum.input, u.Input},
		{&e.output, &m.sum.output, u.Output},
		{&e.cacheRead, &m.sum.cacheRead, u.CacheRead},
		{&e.cacheCreation, &m.sum.cacheCreation, u.CacheCreation},
	} {
		if f.said != nil {
			before := *f.have
			*f.have = set(before, *f.said)
			*f.sum += *f.have - before
		}
	}
}

// raiseUsage is message_start's, where the input is right and the output 1, and
// the assistant lines', which repeat it after message_delta gave the real
// numbers too: it never lowers an entry. It is authoritative only when the
// message did not stream.
func (m *mapper) raiseUsage(id string, u wireUsage, authoritative bool) {
	m.correct(id, u, func(have, said float64) float64 { return max(have, said) })
	if authoritative {
		m.thinking = 0
	}
	m.sendUsage(false)
}

// correctUsage is message_delta's: what it names is true. Its output counts
// the thinking, so the estimate ends.
func (m *mapper) correctUsage(id string, u wireUsage) {
	m.correct(id, u, func(_, said float64) float64 { return said })
	m.thinking = 0
	m.sendUsage(false)
}

// thinkingTokens adds an estimate of the CLI's.
func (m *mapper) thinkingTokens(l *wireLine) {
	if l.Parent.set {
		return
	}
	m.thinking += max(l.EstimatedTokensDelta, 0)
	m.sendUsage(true)
}

// bill adds what a result says was used and spent. Only this run's own part
// counts: 332 tells it per result (its totals go back over all resumes), 197
// counts per process. Both include sub-agents, of which the lines show only a
// part.
func (m *mapper) bill(l *wireLine) {
	switch {
	case l.SinceLast != nil:
		m.billed.add(l.SinceLast)
	case len(l.ModelUsage) > 0:
		m.billed = modelUsage{}
		m.billed.add(l.ModelUsage)
		m.billed.CostUSD = l.TotalCostUSD
	default:
		m.billed.CostUSD = max(m.billed.CostUSD, l.TotalCostUSD)
	}
}

func (u *modelUsage) add(models map[string]modelUsage) {
	for _, v := range models {
		u.Input += v.Input
		u.Output += v.Output
		u.CacheRead += v.CacheRead
		u.CacheCreation += v.CacheCreation
		u.CostUSD += v.CostUSD
	}
}

// total is the run's usage: what the lines showed, or what the results billed
// where that is more.
func (m *mapper) total() event.Usage {
	return event.Usage{
		InputTokens:         agent.Whole(max(m.sum.input, m.billed.Input)),
		OutputTokens:        agent.Whole(max(m.sum.output, m.billed.Output)),
		CacheReadTokens:     agent.Whole(max(m.sum.cacheRead, m.billed.CacheRead)),
		CacheCreationTokens: agent.Whole(max(m.sum.cacheCreation, m.billed.CacheCreation)),
		ThinkingTokens:      agent.Whole(m.thinking),
	}
}

// sendUsage sends the total when it changed.
func (m *mapper) sendUsage(estimate bool) {
	u := m.total()
	if u == m.lastUsage {
		return
	}
	m.lastUsage = u
	u.Estimate = estimate
	m.emit(u)
}
