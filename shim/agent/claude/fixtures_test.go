package claude

import (
	"bytes"
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
	testSession = "6483722a-c7a3-4288-8960-bf333d3405a8"
)

const fixtureRoot = "../../../fakeagents/fixtures"

// loadFixtures reads the fixtures of claude whose output is a stream, with
// placeholders filled in. kind is real, captured, made or "*".
func loadFixtures(t testing.TB, kind string) []*fakeagents.Fixture {
	t.Helper()
	if loaded[kind] == nil {
		loaded[kind] = readFixtures(t, kind)
	}
	return slices.Clone(loaded[kind])
}

// loaded keeps what was read: a dozen tests want the same 200 files.
var loaded = map[string][]*fakeagents.Fixture{}

func readFixtures(t testing.TB, kind string) []*fakeagents.Fixture {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(fixtureRoot, "claude", kind, "*", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures of kind %s (%v)", kind, err)
	}
	corpus := fakeagents.NewCorpus(os.DirFS(fixtureRoot))
	var out []*fakeagents.Fixture
	for _, p := range paths {
		rel, err := filepath.Rel(fixtureRoot, p)
		if err != nil {
			t.Fatal(err)
		}
		f, err := corpus.Load(strings.TrimSuffix(filepath.ToSlash(rel), ".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		if f.Plain {
			continue
		}
		f.Stdout = fill(f.Stdout)
		f.Stderr = fill(f.Stderr)
		out = append(out, f)
	}
	return out
}

var placeholders = strings.NewReplacer(
	"{{REPO}}", testRepo, "{{SESSION}}", testSession, "{{HOME}}", "/home/dev", "{{TMP}}", "/tmp/t", "{{LAB}}", "/lab",
	"{{EPOCH}}", "1796025190257", "{{TIME}}", "2026-11-30T07:53:01.214Z", "{{PORT}}", "8787",
)

func fill(b []byte) []byte { return []byte(placeholders.Replace(string(b))) }

// options are the mapper's for a fixture: what it was asked to resume is on
// its command line.
func options(f *fakeagents.Fixture) agent.MapOptions {
	o := agent.MapOptions{Repo: testRepo, RunID: "run-1"}
	if i := slices.Index(f.Argv, "--resume"); i >= 0 && i+1 < len(f.Argv) {
		o.Resume = string(fill([]byte(f.Argv[i+1])))
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
