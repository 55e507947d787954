package agenttest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sebdah/goldie/v2"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// fixtureRoot is where the fixtures are, seen from an adapter's package.
const fixtureRoot = "../../../fakeagents/fixtures"

// Fixtures reads the fixtures of a CLI, with placeholders filled in. kind is
// real, captured, made or "*". What is read is kept: several tests want the
// same hundred files.
func Fixtures(t testing.TB, cli, kind string, fill *strings.Replacer) []*fakeagents.Fixture {
	t.Helper()
	key := cli + "/" + kind
	if read[key] == nil {
		read[key] = readFixtures(t, key, fill)
	}
	return slices.Clone(read[key])
}

var read = map[string][]*fakeagents.Fixture{}

func readFixtures(t testing.TB, folder string, fill *strings.Replacer) (out []*fakeagents.Fixture) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(fixtureRoot, folder, "*", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures in %s (%v)", folder, err)
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
		f.Stdout, f.Stderr = []byte(fill.Replace(string(f.Stdout))), []byte(fill.Replace(string(f.Stderr)))
		out = append(out, f)
	}
	return out
}

// Golden compares what a mapper makes of each case with
// testdata/golden/<version>/<case>.jsonl. Rewrite with GOLDIE_UPDATE=1 and
// read the diff.
func Golden(t *testing.T, a agent.Agent, cases []Case) {
	t.Helper()
	if len(cases) == 0 {
		t.Fatal("agenttest: no cases: a golden test that compares nothing proves nothing")
	}
	g := goldie.New(t, goldie.WithFixtureDir("testdata/golden"), goldie.WithNameSuffix(".jsonl"))
	for _, c := range cases {
		parts := strings.Split(c.Name, "/") // <cli>/<kind>/<version>/<case>
		name := strings.Join(parts[len(parts)-2:], "/")
		t.Run(name, func(t *testing.T) { g.Assert(t, name, story(t, a, c)) })
	}
}

// story is what a mapper makes of a case: the events, one JSON line each, and
// the facts after them. Lines that the decoder refuses are part of it.
func story(t *testing.T, a agent.Agent, c Case) []byte {
	t.Helper()
	m := a.NewMapper(c.Opts)
	var out bytes.Buffer
	write := func(events []event.Event) {
		for _, e := range events {
			b, err := event.Encode(summarised(e))
			if err != nil {
				t.Fatal(err)
			}
			out.Write(append(b, '\n'))
		}
	}
	for _, line := range c.Lines {
		events, err := m.Map(line)
		if err != nil {
			fmt.Fprintf(&out, "# %v: %.60q\n", err, line)
		}
		write(events)
	}
	out.WriteString("# finish\n")
	write(m.Finish(c.Exit))
	facts, err := json.Marshal(m.Facts())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&out, "# facts %s\n", facts)
	return out.Bytes()
}

// summarised replaces a text of more than 2,000 characters by its size and sum.
func summarised(e event.Event) event.Event {
	short := func(s string) string {
		if n := utf8.RuneCountInString(s); n > 2000 {
			return fmt.Sprintf("(%d characters, sha256 %x)", n, sha256.Sum256([]byte(s)))
		}
		return s
	}
	switch e := e.(type) {
	case event.Delta:
		e.Text = short(e.Text)
		return e
	case event.ThinkingDelta:
		e.Text = short(e.Text)
		return e
	case event.ToolResult:
		e.Text = short(e.Text)
		return e
	case event.Tool:
		e.Detail = short(e.Detail)
		return e
	}
	return e
}
