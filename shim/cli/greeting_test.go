package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/catalog"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/state"
)

const someLink = "http://127.0.0.1:4040/pair#AAAAAAAAAAAAAAAAAAAAAA"

var (
	ready     = catalog.Provider{ID: "anthropic", Label: "Anthropic", Enabled: true, Billing: "plan"}
	signedOut = catalog.Provider{ID: "openai", Label: "OpenAI", Enabled: true, Error: "codex is not signed in", Fix: "codex login"}
	late      = catalog.Provider{ID: "grok", Label: "Grok", Enabled: true, Pending: true}
	noCodex   = catalog.Provider{ID: "openai", Label: "OpenAI", Enabled: true, Missing: "codex", Error: "codex not found; searched /bin", Fix: "npm install codex"}
	noGrok    = catalog.Provider{ID: "grok", Label: "Grok", Enabled: true, Missing: "grok", Error: "grok not found; searched /bin", Fix: "pass its path"}
	google    = catalog.Provider{ID: "google", Label: "Google"}
)

// TestGreetingIsShort: at most eight lines with the two above it, none of them
// long, whatever has to be said, and nothing of it is lost.
func TestGreetingIsShort(t *testing.T) {
	all := []catalog.Provider{ready, signedOut, late}
	for agents := range len(all) + 1 {
		for _, fix := range []string{"", "git init"} {
			for _, others := range [][]state.Shim{nil, {{PID: 7, Addr: "127.0.0.1:1"}, {PID: 8, Addr: "[::]:2"}}} {
				t.Run(fmt.Sprintf("%d agents, fix %q, %d others", agents, fix, len(others)), func(t *testing.T) {
					lines := greeting(shim.Facts{
						Project: "shop", Git: gitrepo.State{State: "none", Detail: "not a git repository", Fix: fix},
						Agents: append(slices.Clone(all[:agents]), google),
					}, others, someLink)
					if n := len(lines) + 2; n > 8 {
						t.Errorf("%d lines: %q", n, lines)
					}
					for _, l := range lines {
						if len(l.text) > 160 {
							t.Errorf("a line of %d characters: %s", len(l.text), l.text)
						}
					}
					text := fmt.Sprint(lines)
					want := []string{"shop (no git", someLink + " (open it once", "Ctrl-C"}
					if fix != "" {
						want = append(want, "not a git repository: git init")
					}
					if len(others) > 0 {
						want = append(want, "http://127.0.0.1:1 (pid 7)", "http://localhost:2 (pid 8)")
					}
					why := "OpenAI: codex is not signed in; fix: codex login"
					if strings.Contains(text, "{agents ") {
						why = "not usable: OpenAI (slidewrite doctor tells why)"
					}
					want = append(want, []string{"Anthropic (plan)", why, "Grok: has not answered yet"}[:agents]...)
					for _, w := range want {
						if strings.Count(text, w) != 1 {
							t.Errorf("%q is not there once: %q", w, lines)
						}
					}
					if strings.Contains(text, "Google") {
						t.Errorf("a provider that is switched off: %q", lines)
					}
					if last := lines[len(lines)-1]; last.name != "stop" || lines[len(lines)-2].name != "connect" {
						t.Errorf("it ends with %q", lines[len(lines)-2:])
					}
				})
			}
		}
	}
}

// TestGreetingOfMissingAgents: those that are not installed share a short line
// where another one may work, and are told of at length where none does.
func TestGreetingOfMissingAgents(t *testing.T) {
	const short = "not found: codex, grok; slidewrite doctor tells where it looked"
	for _, c := range []struct {
		agents []catalog.Provider
		want   []greetingLine
	}{
		{[]catalog.Provider{ready, noCodex, noGrok, google}, []greetingLine{{"agent", "Anthropic (plan)"}, {"", short}}},
		{[]catalog.Provider{{Label: "Anthropic", Enabled: true, Pending: true}, noCodex, noGrok}, []greetingLine{{"agent", "Anthropic: has not answered yet; what it says follows"}, {"", short}}},
		{[]catalog.Provider{ready, signedOut, noGrok}, []greetingLine{{"agent", "Anthropic (plan)"}, {"agent", "OpenAI: codex is not signed in; fix: codex login"}, {"", "not found: grok; slidewrite doctor tells where it looked"}}},
		{[]catalog.Provider{signedOut, noGrok}, []greetingLine{{"agent", "OpenAI: codex is not signed in; fix: codex login"}, {"agent", "Grok: grok not found; searched /bin; fix: pass its path"}}},
	} {
		if got := agentLines(c.agents); !slices.Equal(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestLateAnswers: what was awaited is told once it is there.
func TestLateAnswers(t *testing.T) {
	if got := pending([]catalog.Provider{ready, signedOut, late, google}); !slices.Equal(got, []string{"grok"}) {
		t.Fatalf("pending: %q", got)
	}
	for _, c := range []struct {
		of    []string
		now   []catalog.Provider
		lines []greetingLine
		late  []string
	}{
		{[]string{"grok"}, []catalog.Provider{ready, signedOut, late}, nil, []string{"grok"}},
		{[]string{"anthropic", "openai", "grok"}, []catalog.Provider{ready, signedOut, late}, []greetingLine{{"agent", "Anthropic (plan)"}, {"agent", "OpenAI: codex is not signed in; fix: codex login"}}, []string{"grok"}},
		{[]string{"openai"}, []catalog.Provider{ready, signedOut}, []greetingLine{{"agent", "OpenAI: codex is not signed in; fix: codex login"}}, nil},
	} {
		if lines, late := answers(c.of, c.now); !slices.Equal(lines, c.lines) || !slices.Equal(late, c.late) {
			t.Errorf("of %q: %q, %q late; want %q, %q", c.of, lines, late, c.lines, c.late)
		}
	}
}

// TestGreetingHasALineEach: as long as there is room.
func TestGreetingHasALineEach(t *testing.T) {
	names := func(lines []greetingLine) (names []string) {
		for _, l := range lines {
			names = append(names, l.name)
		}
		return names
	}
	two := []catalog.Provider{{Label: "A", Enabled: true}, {Label: "B", Enabled: true}}
	git := gitrepo.State{State: "none", Detail: "no git", Fix: "git init"}
	beside := []state.Shim{{PID: 7, Addr: "127.0.0.1:1"}}
	for _, c := range []struct {
		facts  shim.Facts
		others []state.Shim
		want   string
	}{
		{shim.Facts{Agents: two}, nil, "project agent agent connect stop"},
		{shim.Facts{Agents: two, Git: git}, nil, "project  agent agent connect stop"},
		{shim.Facts{Agents: two}, beside, "project beside agent agent connect stop"},
		{shim.Facts{Agents: two, Git: git}, beside, "project  beside agents connect stop"},
		{shim.Facts{Agents: append(two, two[0])}, nil, "project agent agent agent connect stop"},
		{shim.Facts{Agents: append(two, two[0])}, beside, "project beside agents connect stop"},
	} {
		if got := strings.Join(names(greeting(c.facts, c.others, someLink)), " "); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
