package grok

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

const someUUID = "0198C0DE-7A3B-7288-8960-BF333D3405A8"

func spec() agent.Spec {
	return agent.Spec{Bin: "/opt/grok", Repo: "/repo", RunDir: "/run/1", System: "Be brief.\n", Prompt: "make it green", MaxTurns: 7}
}

// The whole command line, as spec'd: what tests and the fake hold it to.
func TestCommand(t *testing.T) {
	s := spec()
	s.Model, s.Effort, s.Resume = "grok-4.6", "high", someUUID
	inv := New(Options{Home: "/g"}).Command(s)
	want := "--prompt-file /run/1/prompt.txt --cwd /repo --output-format streaming-messages-json --include-partial-messages " +
		"--always-approve --permission-mode bypassPermissions --sandbox off --no-auto-update --no-wait-for-background " +
		"--max-turns 7 --verbatim -m grok-4.6 --effort high -r 0198c0de-7a3b-7288-8960-bf333d3405a8"
	if got := strings.Join(inv.Args, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if inv.Bin != s.Bin || inv.Dir != s.Repo || !slices.Equal(inv.Env, []string{"GROK_HOME=/g"}) {
		t.Errorf("%+v", inv)
	}
	if len(inv.Files) != 1 || inv.Files[0].Path != "/run/1/prompt.txt" {
		t.Fatalf("files %+v", inv.Files)
	}
}

func TestCommandLeavesOutWhatIsNotOne(t *testing.T) {
	tests := []struct {
		name string
		set  func(*agent.Spec)
		not  string
	}{
		{"no model", func(s *agent.Spec) {}, "-m"},
		{"model like a flag", func(s *agent.Spec) { s.Model = "--cwd" }, "-m"},
		{"default effort", func(s *agent.Spec) { s.Effort = "default" }, "--effort"},
		{"effort like a flag", func(s *agent.Spec) { s.Effort = "-high" }, "--effort"},
		{"a title to resume", func(s *agent.Spec) { s.Resume = "A greeting" }, "-r"},
	}
	for _, tt := range tests {
		s := spec()
		tt.set(&s)
		if inv := New(Options{}).Command(s); slices.Contains(inv.Args, tt.not) || inv.Env != nil {
			t.Errorf("%s: %q, %q", tt.name, inv.Args, inv.Env)
		}
	}
	s := spec()
	s.MaxTurns = 0
	if inv := New(Options{}).Command(s); !slices.Contains(inv.Args, "40") {
		t.Errorf("no limit of turns: %q", inv.Args)
	}
}

// The file is trimmed by grok before it looks for a "/" at the front: what it
// is delivered then must never begin with the user's text.
func TestPromptFile(t *testing.T) {
	tests := []struct{ name, system, prompt, want string }{
		{"usual", "Be brief.\n", "make it green", "\nBe brief.\n\n" + marker + "\n\nmake it green"},
		{"a slash command", "Be brief.", "/clear", "\nBe brief.\n\n" + marker + "\n\n/clear"},
		{"no system prompt", " \n", "/clear", "\n" + marker + "\n\n/clear"},
		{"a path", "Be brief.", "@a.txt", "\nBe brief.\n\n" + marker + "\n\n@a.txt"},
		{"nothing asked", "Be brief.", "", "\nBe brief.\n\n" + marker + "\n\n"},
		{"unicode and NUL", "", "\u2028\x00\ufeff", "\n" + marker + "\n\n\u2028\x00\ufeff"},
	}
	for _, tt := range tests {
		s := spec()
		s.System, s.Prompt = tt.system, tt.prompt
		got := string(New(Options{}).Command(s).Files[0].Data)
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		delivered := strings.TrimSpace(got)
		if strings.HasPrefix(delivered, "/") || strings.HasPrefix(delivered, "@") || delivered == "" {
			t.Errorf("%s: grok gets %q", tt.name, delivered)
		}
		if user := UserPart(delivered); user != strings.TrimRightFunc(tt.prompt, unicode.IsSpace) {
			t.Errorf("%s: the user's part is %q", tt.name, user)
		}
	}
}

func TestUserPart(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a session of somebody else", "fix the parser", "fix the parser"},
		{"the first marker counts", "S\n" + marker + "\n\na\n" + marker + "\nb", "a\n" + marker + "\nb"},
		{"a marker within a line is none", "see " + marker, "see " + marker},
		{"the marker alone", marker, ""},
		{"space before the user's words", "S\n" + marker + "\n\n\n  a", "\n  a"},
	}
	for _, tt := range tests {
		if got := UserPart(tt.text); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestRefuse(t *testing.T) {
	tests := []struct {
		name string
		set  func(*agent.Spec)
		code string // "" = taken
		fix  string
	}{
		{"usual", func(s *agent.Spec) {}, "", ""},
		{"no MCP", func(s *agent.Spec) { s.MCP = "none" }, event.CodeUnsupported, "start slidewrite without --mcp none"},
		{"not UTF-8", func(s *agent.Spec) { s.Prompt = "\xff" }, event.CodeBadRequest, "send the prompt as UTF-8"},
		{"NUL", func(s *agent.Spec) { s.Prompt = "\x00" }, "", ""},
		{"nothing asked", func(s *agent.Spec) { s.Prompt = "" }, "", ""},
	}
	for _, tt := range tests {
		s := spec()
		tt.set(&s)
		e := New(Options{}).Refuse(s)
		if e == nil && tt.code == "" {
			continue
		}
		if e == nil || e.Code != tt.code || e.Fix != tt.fix || e.Message == "" {
			t.Errorf("%s: %+v", tt.name, e)
		}
	}
}

// XAI_API_KEY is how people without a plan use grok.
func TestScrubKeepsTheKey(t *testing.T) {
	env, scrubbed := New(Options{}).Scrub([]string{"XAI_API_KEY=k", "ANTHROPIC_API_KEY=k", "OPENAI_API_KEY=k"}, false)
	if !slices.Contains(env, "XAI_API_KEY=k") || !slices.Equal(scrubbed, []string{"ANTHROPIC_API_KEY"}) {
		t.Errorf("%q without %q", env, scrubbed)
	}
}

func TestIdentity(t *testing.T) {
	g := New(Options{})
	if g.Provider() != "grok" || g.Label() != "Grok" || g.Name() != "grok" || !g.ActsBeforePrompt(spec()) {
		t.Errorf("%q %q %q", g.Provider(), g.Label(), g.Name())
	}
}
