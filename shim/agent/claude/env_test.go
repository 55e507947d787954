package claude

import (
	"slices"
	"testing"
)

func TestScrub(t *testing.T) {
	nestedAndBilling := []string{
		"CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_SSE_PORT=1", "CLAUDE_CODE_SESSION_ID=x", "CLAUDE_PID=1",
		"ANTHROPIC_API_KEY=k", "ANTHROPIC_AUTH_TOKEN=k", "ANTHROPIC_BASE_URL=u",
	}
	ours := []string{"SLIDEWRITE_TOKEN=t", "SLIDEWRITE_ANYTHING=t", "GEMINI_API_KEY=g"}
	kept := []string{
		"PATH=/bin", "CLAUDE_CODE_OAUTH_TOKEN=o", "XAI_API_KEY=x", "OPENAI_API_KEY=o", "CODEX_API_KEY=c", "CLAUDE_CONFIG_DIR=/c",
		"HTTPS_PROXY=p", "IS_SANDBOX=1", "CLAUDE_CODE_GIT_BASH_PATH=b", "ANTHROPIC_MODEL=m", "SLIDEWRITE_RUN=marker", "ODD", "=C:=C:\\",
	}
	names := func(lists ...[]string) (out []string) {
		for _, kv := range slices.Concat(lists...) {
			out = append(out, variableName(kv))
		}
		return out
	}
	bedrock := []string{"CLAUDE_CODE_USE_BEDROCK=1"}
	vertex := []string{"CLAUDE_CODE_USE_VERTEX=true"}
	off := []string{"CLAUDE_CODE_USE_BEDROCK=0", "CLAUDE_CODE_USE_VERTEX="}
	tests := []struct {
		name     string
		environ  []string
		keepEnv  bool
		env      []string
		scrubbed []string
	}{
		{"scrubbed", slices.Concat(nestedAndBilling, ours, kept), false, kept, names(nestedAndBilling, ours)},
		{"kept but for our secrets", slices.Concat(nestedAndBilling, ours, kept), true, slices.Concat(nestedAndBilling, kept), names(ours)},
		{"bedrock keeps ANTHROPIC_*", slices.Concat(bedrock, nestedAndBilling), false, slices.Concat(bedrock, nestedAndBilling[5:]), names(nestedAndBilling[:5])},
		{"vertex keeps ANTHROPIC_*", slices.Concat(vertex, nestedAndBilling), false, slices.Concat(vertex, nestedAndBilling[5:]), names(nestedAndBilling[:5])},
		{"switches that are off", slices.Concat(off, nestedAndBilling), false, off, names(nestedAndBilling)},
		{"set twice, named once", []string{"GEMINI_API_KEY=a", "GEMINI_API_KEY=b"}, false, nil, []string{"GEMINI_API_KEY"}},
		{"empty", nil, false, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env, scrubbed := New().Scrub(tt.environ, tt.keepEnv)
			if !slices.Equal(env, tt.env) {
				t.Errorf("env\n got %q\nwant %q", env, tt.env)
			}
			if !slices.Equal(scrubbed, tt.scrubbed) {
				t.Errorf("scrubbed\n got %q\nwant %q", scrubbed, tt.scrubbed)
			}
		})
	}
}
