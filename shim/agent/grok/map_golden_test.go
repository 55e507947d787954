package grok

import (
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent/agenttest"
)

// TestMapGolden maps every fixture and compares the events.
func TestMapGolden(t *testing.T) {
	cases := casesOf(loadFixtures(t))
	if len(cases) < 50 {
		t.Errorf("%d fixtures, want at least 50", len(cases))
	}
	agenttest.Golden(t, New(Options{}), cases)
}
