package codex

import (
	"slices"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/agenttest"
	"github.com/slidewrite/slidewrite/shim/event"
)

// Values that stand in for placeholders of the fixtures.
const (
	testRepo    = "/repo"
	testSession = "01a22b8d-870a-7ea0-bc32-05610cf63240"
)

// loadFixtures reads the runs of codex. kind is real, captured, made or "*".
func loadFixtures(t testing.TB, kind string) []*fakeagents.Fixture {
	t.Helper()
	return slices.DeleteFunc(agenttest.Fixtures(t, "codex", kind, placeholders), func(f *fakeagents.Fixture) bool {
		return len(f.Argv) == 0 || f.Argv[0] != "exec" || f.Plain
	})
}

// loadFixture reads one fixture of a kind.
func loadFixture(t testing.TB, kind, name string) *fakeagents.Fixture {
	t.Helper()
	for _, f := range agenttest.Fixtures(t, "codex", kind, placeholders) {
		if f.Case() == name {
			return f
		}
	}
	t.Fatalf("no fixture %s", name)
	return nil
}

var placeholders = strings.NewReplacer(
	"{{REPO}}", testRepo, "{{SESSION}}", testSession, "{{HOME}}", "/home/dev", "{{TMP}}", "/tmp/t", "{{LAB}}", "/lab",
	"{{UUID:1}}", "01a22b8d-0000-7000-8000-000000000001", "{{TIME}}", "2026-11-30T07:53:01.214Z", "{{PORT}}", "8787",
)

// options are the mapper's for a fixture: the model and what it was asked to
// resume are on its command line. Of a session that goes on, 100 tokens in
// (50 of them from the cache) and 20 out had been used.
func options(f *fakeagents.Fixture) agent.MapOptions {
	o := agent.MapOptions{Repo: testRepo, RunID: "run-1"}
	args := f.Argv
	if i := slices.Index(args, "-m"); i >= 0 && i+1 < len(args) {
		o.Model = args[i+1]
	}
	if i := slices.Index(args, "resume"); i >= 0 {
		for _, arg := range args[i+1:] {
			if arg = placeholders.Replace(arg); agent.UUIDPattern.MatchString(arg) || arg == "garbage" {
				o.Resume = arg
			}
		}
		if f.Case() == "r-16-resume-upper" { // its placeholder is another one
			o.Resume = strings.ToUpper(testSession)
		}
		o.Session = agent.Session{Folder: testRepo, Model: "gpt-5.5", Usage: &event.Usage{InputTokens: 50, CacheReadTokens: 50, OutputTokens: 20}}
	}
	return o
}

// exitOf is how a fixture's process ended. A signal in a capture was a stop.
func exitOf(f *fakeagents.Fixture) agent.Exit {
	return agent.Exit{
		Code: f.Exit, Signal: f.Signal, Stderr: string(f.Stderr),
		Stopped: f.Signal != "" || strings.HasPrefix(f.Case(), "k-") && strings.HasSuffix(f.Case(), "-int"),
	}
}

// casesOf makes what agenttest takes of fixtures.
func casesOf(fixtures []*fakeagents.Fixture) (cases []agenttest.Case) {
	for _, f := range fixtures {
		cases = append(cases, agenttest.Case{Name: f.Name, Lines: f.Lines(), Exit: exitOf(f), Opts: options(f)})
	}
	return cases
}
