package grok

import (
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
	testSession = "0198c0de-7a3b-7288-8960-bf333d3405a8"
)

// loadFixtures reads the fixtures of grok whose output is a stream. There are
// none but made ones.
func loadFixtures(t testing.TB) []*fakeagents.Fixture {
	t.Helper()
	return slices.DeleteFunc(agenttest.Fixtures(t, "grok", "made", placeholders), func(f *fakeagents.Fixture) bool { return f.Plain })
}

var placeholders = strings.NewReplacer(
	"{{REPO}}", testRepo, "{{SESSION}}", testSession, "{{HOME}}", "/home/dev", "{{TMP}}", "/tmp/t",
)

// options are the mapper's for a fixture: what it was asked to resume is on
// its command line.
func options(f *fakeagents.Fixture) agent.MapOptions {
	o := agent.MapOptions{Repo: testRepo, RunID: "run-1"}
	if slices.Contains(f.Argv, "-r") {
		o.Resume = testSession
	}
	return o
}

// exitOf is how a fixture's process ended, by ourselves where it was stopped.
func exitOf(f *fakeagents.Fixture) agent.Exit {
	return agent.Exit{Code: f.Exit, Signal: f.Signal, Stderr: string(f.Stderr), Stopped: f.Interrupted()}
}

// casesOf makes what agenttest takes of fixtures.
func casesOf(fixtures []*fakeagents.Fixture) (cases []agenttest.Case) {
	for _, f := range fixtures {
		cases = append(cases, agenttest.Case{Name: f.Name, Lines: f.Lines(), Exit: exitOf(f), Opts: options(f)})
	}
	return cases
}
