package agent

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
			out = append(out, VariableName(kv))
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
			env, scrubbed := Scrub("claude", tt.environ, tt.keepEnv)
			if !slices.Equal(env, tt.env) {
				t.Errorf("env\n got %q\nwant %q", env, tt.env)
			}
			if !slices.Equal(scrubbed, tt.scrubbed) {
				t.Errorf("scrubbed\n got %q\nwant %q", scrubbed, tt.scrubbed)
			}
		})
	}
}

// Another vendor's key is no business of a CLI; its own would bill silently.
func TestScrubForOneCLI(t *testing.T) {
	environ := []string{"OPENAI_API_KEY=o", "CODEX_API_KEY=c", "XAI_API_KEY=x", "CODEX_HOME=/c"}
	for cli, want := range map[string][]string{
		"claude": nil,
		"codex":  {"OPENAI_API_KEY", "CODEX_API_KEY"},
		"grok":   nil,
	} {
		if _, scrubbed := Scrub(cli, environ, false); !slices.Equal(scrubbed, want) {
			t.Errorf("%s: scrubbed %q, want %q", cli, scrubbed, want)
		}
		if env, _ := Scrub(cli, environ, true); !slices.Equal(env, environ) {
			t.Errorf("%s with keepEnv: %q", cli, env)
		}
	}
}
