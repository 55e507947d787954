package claude

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/agenttest"
)

// Values that stand in for placeholders of the fixtures.
const (
	testRepo    = "/repo"
	testSession = "6483722a-c7a3-4288-8960-bf333d3405a8"
)

// loadFixtures reads the fixtures of claude whose output is a stream. kind is
// real, captured, made or "*".
func loadFixtures(t testing.TB, kind string) []*fakeagents.Fixture {
	t.Helper()
	return slices.DeleteFunc(agenttest.Fixtures(t, "claude", kind, placeholders), func(f *fakeagents.Fixture) bool { return f.Plain })
}

var placeholders = strings.NewReplacer(
	"{{REPO}}", testRepo, "{{SESSION}}", testSession, "{{HOME}}", "/home/dev", "{{TMP}}", "/tmp/t", "{{LAB}}", "/lab",
	"{{EPOCH}}", "1796025190257", "{{TIME}}", "2026-11-30T07:53:01.214Z", "{{PORT}}", "8787",
)

// options are the mapper's for a fixture: what it was asked to resume is on
// its command line.
func options(f *fakeagents.Fixture) agent.MapOptions {
	o := agent.MapOptions{Repo: testRepo, RunID: "run-1"}
	if i := slices.Index(f.Argv, "--resume"); i >= 0 && i+1 < len(f.Argv) {
		o.Resume = placeholders.Replace(f.Argv[i+1])
	}
	return o
}

// exitOf is how a fixture's process ended. It was stopped on purpose when an
// interrupt went in last.
func exitOf(f *fakeagents.Fixture) agent.Exit {
	e := agent.Exit{Code: f.Exit, Signal: f.Signal, Stderr: string(f.Stderr)}
	for _, in := range f.Stdin {
		if bytes.Contains(in.Line, []byte(`"interrupt"`)) {
			e.Stopped = true
		}
		if bytes.Contains(in.Line, []byte(`"user"`)) {
			e.Stopped = false
		}
	}
	return e
}

// casesOf makes what agenttest takes of fixtures.
func casesOf(fixtures []*fakeagents.Fixture) (cases []agenttest.Case) {
	for _, f := range fixtures {
		cases = append(cases, agenttest.Case{Name: f.Name, Lines: f.Lines(), Exit: exitOf(f), Opts: options(f)})
	}
	return cases
}
