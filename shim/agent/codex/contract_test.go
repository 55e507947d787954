package codex

import (
	"bytes"
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent/agenttest"
)

// TestContract runs the suite that every adapter passes over all transcripts.
func TestContract(t *testing.T) {
	cases := casesOf(loadFixtures(t, "*"))
	agenttest.Run(t, agenttest.Suite{
		Agent:       New(Options{}),
		Cases:       cases,
		Closing:     func(line []byte) bool { return bytes.HasPrefix(line, []byte(`{"type":"turn.completed"`)) },
		PlainPrompt: true,
	})
}
