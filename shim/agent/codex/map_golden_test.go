package codex

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"
	"unicode/utf8"

	"github.com/sebdah/goldie/v2"
	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/event"
)

// TestMapGolden maps every captured fixture and compares the events, one JSON
// line each, and the facts after them. Rewrite with GOLDIE_UPDATE=1 and read
// the diff.
func TestMapGolden(t *testing.T) {
	fixtures := loadFixtures(t, fakeagents.Captured)
	if len(fixtures) < 90 {
		t.Errorf("%d captured fixtures, want at least 90", len(fixtures))
	}
	g := goldie.New(t, goldie.WithFixtureDir("testdata/golden"), goldie.WithNameSuffix(".jsonl"))
	for _, f := range fixtures {
		t.Run(f.Version()+"/"+f.Case(), func(t *testing.T) {
			g.Assert(t, f.Version()+"/"+f.Case(), render(t, f))
		})
	}
}

// render maps a fixture. Lines that the decoder refuses are part of the story.
func render(t *testing.T, f *fakeagents.Fixture) []byte {
	t.Helper()
	m := newMapper(options(f))
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
