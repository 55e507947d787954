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

// TestGreetingIsShort: at most eight lines with the two above it, whatever has
// to be said, and nothing of it is lost.
func TestGreetingIsShort(t *testing.T) {
	all := []catalog.Provider{
		{Label: "Anthropic", Enabled: true, Billing: "plan"},
		{Label: "OpenAI", Enabled: true, Error: "not signed in", Fix: "codex login"},
		{Label: "Grok", Enabled: true, Pending: true},
	}
	for agents := range len(all) + 1 {
		for _, fix := range []string{"", "git init"} {
			for _, others := range [][]state.Shim{nil, {{PID: 7, Addr: "127.0.0.1:1"}, {PID: 8, Addr: "[::]:2"}}} {
				t.Run(fmt.Sprintf("%d agents, fix %q, %d others", agents, fix, len(others)), func(t *testing.T) {
					lines := greeting(shim.Facts{
						Project: "shop", Git: gitrepo.State{State: "none", Detail: "not a git repository", Fix: fix},
						Agents: append(slices.Clone(all[:agents]), catalog.Provider{Label: "Google"}),
					}, others, someLink)
					if n := len(lines) + 2; n > 8 {
						t.Errorf("%d lines: %q", n, lines)
					}
					text := fmt.Sprint(lines)
					want := []string{"shop (no git", someLink + " (once", "Ctrl-C"}
					if fix != "" {
						want = append(want, "not a git repository: git init")
					}
					if len(others) > 0 {
						want = append(want, "http://127.0.0.1:1 (pid 7)", "http://localhost:2 (pid 8)")
					}
					for i, said := range []string{"Anthropic (plan)", "OpenAI: not signed in; fix: codex login", "Grok: has not answered yet"} {
						if i < agents {
							want = append(want, said)
						}
					}
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
