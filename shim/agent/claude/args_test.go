package claude

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/prompt"
)

const resumeID = "6483722a-c7a3-4288-8960-bf333d3405a8"

func TestCommand(t *testing.T) {
	base := agent.Spec{Bin: "/opt/claude", Repo: "/repo", RunDir: "/run/r1", System: "SYS", Prompt: "make it green", Version: "2.1.332 (Claude Code)", MaxTurns: 40, ProjectSettings: true, MCP: "project"}
	head := []string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages", "--dangerously-skip-permissions", "--setting-sources", "project", "--system-prompt", "SYS", "--max-turns", "40"}
	noSettings := slices.Replace(slices.Clone(head), 9, 10, "")
	fiveTurns := slices.Replace(slices.Clone(head), 13, 14, "5")
	tests := []struct {
		name string
		with func(*agent.Spec)
		head []string
		tail []string
	}{
		{"plain", func(*agent.Spec) {}, head, []string{"--disable-slash-commands"}},
		{"skills", func(s *agent.Spec) { s.UseSkills = true }, head, nil},
		{"no mcp", func(s *agent.Spec) { s.MCP = "none" }, head, []string{"--strict-mcp-config", "--disable-slash-commands"}},
		{"no project settings", func(s *agent.Spec) { s.ProjectSettings = false }, noSettings, []string{"--disable-slash-commands"}},
		{"max turns", func(s *agent.Spec) { s.MaxTurns = 5 }, fiveTurns, []string{"--disable-slash-commands"}},
		{"max turns unset", func(s *agent.Spec) { s.MaxTurns = 0 }, head, []string{"--disable-slash-commands"}},
		{"model and effort", func(s *agent.Spec) { s.Model, s.Effort = "opus[1m]", "xhigh" }, head, []string{"--disable-slash-commands", "--model", "opus[1m]", "--effort", "xhigh"}},
		{"default effort adds no override", func(s *agent.Spec) { s.Model, s.Effort = "default", "default" }, head, []string{"--disable-slash-commands", "--model", "default"}},
		{"bedrock model", func(s *agent.Spec) { s.Model = "arn:aws:bedrock:eu-west-1:123:inference-profile/eu.anthropic.x-v1:0" }, head, []string{"--disable-slash-commands", "--model", "arn:aws:bedrock:eu-west-1:123:inference-profile/eu.anthropic.x-v1:0"}},
		{"resume 332", func(s *agent.Spec) { s.Resume = resumeID }, head, []string{"--disable-slash-commands", "--resume", resumeID, "--system-prompt-snapshot", "off"}},
		{"resume newer", func(s *agent.Spec) { s.Resume, s.Version = resumeID, "2.2.0" }, head, []string{"--disable-slash-commands", "--resume", resumeID, "--system-prompt-snapshot", "off"}},
		{"resume 197 lacks the flag", func(s *agent.Spec) { s.Resume, s.Version = resumeID, "2.1.197 (Claude Code)" }, head, []string{"--disable-slash-commands", "--resume", resumeID}},
		{"resume, version unknown", func(s *agent.Spec) { s.Resume, s.Version = resumeID, "" }, head, []string{"--disable-slash-commands", "--resume", resumeID}},
		{"everything", func(s *agent.Spec) { s.MCP, s.Model, s.Effort, s.Resume = "none", "opus", "low", resumeID }, head, []string{"--strict-mcp-config", "--disable-slash-commands", "--model", "opus", "--effort", "low", "--resume", resumeID, "--system-prompt-snapshot", "off"}},
		{"flags in disguise", func(s *agent.Spec) { s.Model, s.Effort, s.Resume = "-m", "--x", "--resume" }, head, []string{"--disable-slash-commands"}},
		{"upper-case id", func(s *agent.Spec) { s.Resume, s.Version = strings.ToUpper(resumeID), "2.1.197" }, head, []string{"--disable-slash-commands", "--resume", resumeID}},
		{"not a uuid", func(s *agent.Spec) { s.Resume = resumeID + "x" }, head, []string{"--disable-slash-commands"}},
		{"newlines", func(s *agent.Spec) { s.Model, s.Effort = "opus\n-x", "low\n" }, head, []string{"--disable-slash-commands"}},
	}
	env := []string{"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1", "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1", "CLAUDE_CODE_TMPDIR=/run/r1"}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := base
			tt.with(&s)
			got := New().Command(s)
			if want := slices.Concat(tt.head, tt.tail); !slices.Equal(got.Args, want) {
				t.Errorf("args\n got %q\nwant %q", got.Args, want)
			}
			if got.Bin != "/opt/claude" || got.Dir != "/repo" || !slices.Equal(got.Env, env) {
				t.Errorf("Bin %q, Dir %q, Env %q", got.Bin, got.Dir, got.Env)
			}
		})
	}
}

// What a request may name as a model reaches the command line as it is
// written; what it may not is left out.
func TestEveryModelOfARequestReachesTheCommandLine(t *testing.T) {
	names := []string{"a+b", "@cf/meta", "claude@20260101", "opus[1m]", "-m", "--model", strings.Repeat("a", 200), strings.Repeat("a", 201)}
	for c := rune(1); c < 0x100; c++ {
		names = append(names, string(c)+"x", "x"+string(c))
	}
	for _, name := range names {
		body, err := json.Marshal(map[string]string{"prompt": "make it green", "model": name})
		if err != nil {
			t.Fatal(err)
		}
		_, err = prompt.Decode(body)
		args := New().Command(agent.Spec{Model: name}).Args
		i := slices.Index(args, "--model")
		if passed := i >= 0 && args[i+1] == name; passed != (err == nil) {
			t.Errorf("%q: on the command line %v, but the request's error is %v", name, passed, err)
		}
	}
}

func TestParseVersion(t *testing.T) {
	tests := []struct {
		in   string
		want version
	}{
		{"2.1.332 (Claude Code)", version{2, 1, 332}},
		{"2.1.197", version{2, 1, 197}},
		{"claude 10.0.1-beta", version{10, 0, 1}},
		{"", version{}},
		{"dev", version{}},
		{"99999999999999999999.1.1", version{}},
	}
	for _, tt := range tests {
		if got := parseVersion(tt.in); got != tt.want {
			t.Errorf("parseVersion(%q) = %v, want %v", tt.in, got, tt.want)
		}
	}
	if (version{2, 1, 331}).atLeast(snapshotOff) || !(version{3, 0, 0}).atLeast(snapshotOff) {
		t.Error("atLeast compares part by part")
	}
}
