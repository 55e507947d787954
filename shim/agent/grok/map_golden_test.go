package grok

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/sebdah/goldie/v2"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/event"
)

// TestMapGolden maps every fixture and compares the events, one JSON line each,
// and the facts after them. Rewrite with GOLDIE_UPDATE=1 and read the diff.
func TestMapGolden(t *testing.T) {
	fixtures := loadFixtures(t)
	if len(fixtures) < 50 {
		t.Errorf("%d fixtures, want at least 50", len(fixtures))
	}
	g := goldie.New(t, goldie.WithFixtureDir("testdata/golden"), goldie.WithNameSuffix(".jsonl"))
	for _, f := range fixtures {
		t.Run(f.Case(), func(t *testing.T) { g.Assert(t, f.Version()+"/"+f.Case(), render(t, f)) })
	}
}

// render maps a fixture.
func render(t *testing.T, f *fakeagents.Fixture) []byte {
	t.Helper()
	m := newMapper(options(f))
	var out bytes.Buffer
	write := func(events []event.Event) {
		for _, e := range events {
			if r, ok := e.(event.ToolResult); ok && len(r.Text) > 2000 {
				r.Text = fmt.Sprintf("(%d bytes, sha256 %x)", len(r.Text), sha256.Sum256([]byte(r.Text)))
				e = r
			}
			b, err := event.Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			out.Write(append(b, '\n'))
		}
	}
	for _, line := range f.Lines() {
		events, err := m.Map(line)
		if err != nil {
			fmt.Fprintf(&out, "# %v: %.60q\n", err, line)
		}
		write(events)
	}
	out.WriteString("# finish\n")
	write(m.Finish(exitOf(f)))
	facts, err := json.Marshal(m.Facts())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&out, "# facts %s\n", facts)
	return out.Bytes()
}
