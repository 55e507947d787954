package shim

import (
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// TestEveryKeyTakenAwayIsInTheREADME: who signs in with a key has to find out
// why the agent does not see it, and what --keep-env changes.
func TestEveryKeyTakenAwayIsInTheREADME(t *testing.T) {
	names := []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "GEMINI_API_KEY", "SLIDEWRITE_TOKEN",
		"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID",
		"OPENAI_API_KEY", "CODEX_API_KEY", // taken from codex alone, so that it lacks all
	}
	var environ []string
	for _, name := range names {
		environ = append(environ, name+"=x")
	}
	kept, scrubbed := agent.Scrub("codex", environ, false)
	if len(kept) != 0 || len(scrubbed) != len(names) {
		t.Fatalf("kept %q, took away %q", kept, scrubbed)
	}
	_, always := agent.Scrub("codex", environ, true)
	_, table, ok := strings.Cut(readme(t), "### Keys the agent does not get\n")
	table, _, _ = strings.Cut(table, "\n## ")
	if !ok {
		t.Fatal("README.md has no such section")
	}
	for _, name := range names {
		shown := "`" + name + "`"
		if name == "SLIDEWRITE_TOKEN" {
			shown = "`SLIDEWRITE_*`"
		}
		stays := "| yes"
		for _, a := range always {
			if a == name {
				stays = "| no"
			}
		}
		found := false
		for row := range strings.Lines(table) {
			found = found || strings.Contains(row, shown) && strings.Contains(row, stays)
		}
		if !found {
			t.Errorf("no row of the table has %s and %q", shown, stays)
		}
	}
}
