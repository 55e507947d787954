package grok

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/agent"
)

// Values that stand in for placeholders of the fixtures.
const (
	testRepo    = "/repo"
	testSession = "0198c0de-7a3b-7288-8960-bf333d3405a8"
)

const fixtureRoot = "../../../fakeagents/fixtures"

// loaded keeps what was read: several tests want the same files.
var loaded []*fakeagents.Fixture

// loadFixtures reads the fixtures of grok whose output is a stream, with
// placeholders filled in. There are none but made ones.
func loadFixtures(t testing.TB) []*fakeagents.Fixture {
	t.Helper()
	if loaded == nil {
		loaded = readFixtures(t)
	}
	return slices.Clone(loaded)
}

func readFixtures(t testing.TB) (out []*fakeagents.Fixture) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(fixtureRoot, "grok", "made", "*", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures (%v)", err)
	}
	corpus := fakeagents.NewCorpus(os.DirFS(fixtureRoot))
	for _, p := range paths {
		rel, err := filepath.Rel(fixtureRoot, p)
		if err != nil {
			t.Fatal(err)
		}
		f, err := corpus.Load(strings.TrimSuffix(filepath.ToSlash(rel), ".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		if !f.Plain {
			f.Stdout, f.Stderr = fill(f.Stdout), fill(f.Stderr)
			out = append(out, f)
		}
	}
	return out
}

var placeholders = strings.NewReplacer(
	"{{REPO}}", testRepo, "{{SESSION}}", testSession, "{{HOME}}", "/home/dev", "{{TMP}}", "/tmp/t",
)

func fill(b []byte) []byte { return []byte(placeholders.Replace(string(b))) }

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
