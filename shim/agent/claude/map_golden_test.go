package claude

import (
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/agent/agenttest"
)

// TestMapGolden maps every captured fixture and compares the events.
func TestMapGolden(t *testing.T) {
	cases := casesOf(loadFixtures(t, fakeagents.Captured))
	if len(cases) < 60 {
		t.Errorf("%d captured fixtures, want at least 60", len(cases))
	}
	agenttest.Golden(t, New(), cases)
}
