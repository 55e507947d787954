package drift

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/golden"
	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// Verdict is what became of a scenario's events from one version to the next.
type Verdict string

// The verdicts.
const (
	Same    Verdict = "same"
	Added   Verdict = "added"   // all that was there, and more
	Lost    Verdict = "lost"    // less, and nothing new
	Changed Verdict = "changed" // both
)

// Row is one scenario in two versions.
type Row struct {
	Scenario string         `json:"scenario"`
	Verdict  Verdict        `json:"verdict"`
	Added    map[string]int `json:"added,omitempty"` // events by their type
	Lost     map[string]int `json:"lost,omitempty"`
}

// events is what a client is told in a scenario, one line an event.
func events(a agent.Agent, c *scenario) (lines []string, err error) {
	m := a.NewMapper(c.mapOptions())
	take := func(events []event.Event) {
		for _, e := range events {
			b, encodeErr := event.Encode(neutral(e))
			if encodeErr != nil {
				err = encodeErr
			}
			lines = append(lines, string(b))
		}
	}
	for _, st := range c.streams {
		for _, l := range st.lines {
			if !st.file {
				events, _ := m.Map(l.raw) // a line that is no JSON gives none
				take(events)
			}
		}
	}
	take(m.Finish(c.exit()))
	return lines, err
}

// neutral is an event without what differs between versions that tell the same:
// ids, how long it took, the model that is the default, and its price.
func neutral(e event.Event) event.Event {
	switch e := e.(type) {
	case event.Start:
		e.Model = ""
		return e
	case event.Delta:
		e.MessageID = ""
		return e
	case event.ThinkingDelta:
		e.MessageID = ""
		return e
	case event.DeltaReset:
		e.MessageID = ""
		return e
	case event.Tool:
		e.ID = ""
		return e
	case event.FileEdit:
		e.ID = ""
		return e
	case event.ToolResult:
		e.ID = ""
		return e
	case event.Result:
		e.DurationMs, e.TotalCostUSD = 0, 0
		return e
	}
	return e
}

// comparable are events as two runs of a CLI are compared elsewhere, too:
// golden has the rules.
func comparable(events []string) ([]string, error) {
	var stream strings.Builder
	for i, e := range events {
		fmt.Fprintf(&stream, "id: %d\ndata: %s\n\n", i+1, e)
	}
	normal, err := golden.Normalise(stream.String())
	return strings.Split(strings.TrimSuffix(golden.Comparable(normal), "\n"), "\n"), err
}

// compareEvents compares the events of one scenario in two versions.
func compareEvents(a agent.Agent, was, is *scenario) (Row, error) {
	row := Row{Scenario: was.key, Verdict: Same}
	before, errA := events(a, was)
	after, errB := events(a, is)
	if slices.Equal(before, after) {
		return row, errors.CombineErrors(errA, errB)
	}
	before, errA = comparable(before)
	after, errB = comparable(after)
	if err := errors.CombineErrors(errA, errB); err != nil {
		return row, errors.Wrapf(err, "compare the events of %s", was.key)
	}
	row.Lost, row.Added = byType(before, after), byType(after, before)
	switch {
	case len(row.Lost) > 0 && len(row.Added) > 0:
		row.Verdict = Changed
	case len(row.Lost) > 0:
		row.Verdict = Lost
	case len(row.Added) > 0:
		row.Verdict = Added
	}
	return row, nil
}

// byType counts the lines of a that are not in b, by type.
func byType(a, b []string) map[string]int {
	left := map[string]int{}
	for _, l := range b {
		left[l]++
	}
	found := map[string]int{}
	for _, l := range a {
		if left[l]--; left[l] < 0 {
			found[eventType(l)]++
		}
	}
	return found
}

// eventType is the type of an event as golden.Comparable writes it.
func eventType(l string) string {
	_, rest, isJSON := strings.Cut(l, `"type":"`)
	if strings.HasPrefix(l, "{") && isJSON {
		t, _, _ := strings.Cut(rest, `"`)
		return t
	}
	t, _, _ := strings.Cut(l, " ")
	return t
}

// Table is what clients are told in each recorded run, version by version.
type Table struct {
	Agent    string     `json:"agent"`
	Versions []string   `json:"versions"` // oldest first
	Rows     []TableRow `json:"scenarios"`
}

// TableRow is one scenario: what each version tells compared with the version
// before it that has the scenario. The first one is compared with nothing.
type TableRow struct {
	Scenario string         `json:"scenario"`
	Against  map[string]Row `json:"against"` // by version; none where it was not recorded
	since    string         // the first version that has it
}

// Versions makes the table of an agent's recorded runs.
func Versions(name, fixtures string, adapters []agent.Agent) (*Table, error) {
	all, err := VersionsIn(fixtures, name)
	if err != nil {
		return nil, err
	}
	if _, err := adapterOf(name, adapters); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, noFixtures(name, fixtures)
	}
	var sides []*Side
	for _, version := range all {
		s, err := Open(name+"@"+version, fixtures)
		if err != nil {
			return nil, err
		}
		sides = append(sides, s)
	}
	return newTable(name, sides, adapters)
}

// newTable makes the table of versions, the oldest first.
func newTable(name string, sides []*Side, adapters []agent.Agent) (*Table, error) {
	adapter, err := adapterOf(name, adapters)
	if err != nil {
		return nil, err
	}
	t := &Table{Agent: name}
	last := map[string]*scenario{}
	rows := map[string]*TableRow{}
	for _, s := range sides {
		found := false
		for _, c := range s.scenarios {
			if c.fixture.Provenance() != fakeagents.Real || !c.fixture.IsRun() || c.fixture.Plain {
				continue
			}
			found = true
			key := c.fixture.Case()
			if row := rows[key]; row == nil {
				rows[key] = &TableRow{Scenario: key, Against: map[string]Row{}, since: s.Version}
			} else if row.Against[s.Version], err = compareEvents(adapter, last[key], c); err != nil {
				return nil, err
			}
			last[key] = c
		}
		if found {
			t.Versions = append(t.Versions, s.Version)
		}
	}
	if len(t.Versions) < 2 {
		return nil, wrong("record another version first, docs/fixtures.md says how",
			"a table needs two recorded versions, of %s there is %s", name, counted(len(t.Versions), "version"))
	}
	for _, key := range sortedKeys(rows) {
		t.Rows = append(t.Rows, *rows[key])
	}
	return t, nil
}

func counted(n int, of string) string {
	if n != 1 {
		of += "s"
	}
	return fmt.Sprintf("%d %s", n, of)
}

// differs tells whether a row has anything but the same.
func (r TableRow) differs(versions []string) bool {
	return slices.ContainsFunc(versions[1:], func(v string) bool {
		row, recorded := r.Against[v]
		return !recorded || row.Verdict != Same
	})
}

// Markdown writes the table as docs/versions.md has it.
func (t *Table) Markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "# What clients are told, by version of %s\n\n", t.Agent)
	fmt.Fprintf(&out, "Made by `slidewrite drift --table %s`; a test holds it to the fixtures. Each recorded run goes through\n"+
		"the real mapper; its events are compared with those of the version before. What differs for no reason of\n"+
		"the CLI's is left out: times, ids, where deltas are cut, the default model and its price.\n\n", t.Agent)
	fmt.Fprintf(&out, "| scenario | %s |\n| --- |%s\n", strings.Join(t.Versions, " | "), strings.Repeat(" --- |", len(t.Versions)))
	var same []string
	for _, r := range t.Rows {
		if !r.differs(t.Versions) {
			same = append(same, "`"+r.Scenario+"`")
			continue
		}
		fmt.Fprintf(&out, "| `%s` |", r.Scenario)
		for _, v := range t.Versions {
			row, recorded := r.Against[v]
			switch {
			case v == r.since:
				out.WriteString(" recorded |")
			case !recorded:
				out.WriteString(" not recorded |")
			default:
				fmt.Fprintf(&out, " %s |", row)
			}
		}
		out.WriteString("\n")
	}
	fmt.Fprintf(&out, "\nThe same in all of them (%d): %s.\n", len(same), strings.Join(same, ", "))
	return out.String()
}

// String is the verdict with what came and went: "changed: +1 note, -2 delta".
func (r Row) String() string {
	var parts []string
	for _, t := range sortedKeys(r.Added) {
		parts = append(parts, fmt.Sprintf("+%d %s", r.Added[t], t))
	}
	for _, t := range sortedKeys(r.Lost) {
		parts = append(parts, fmt.Sprintf("-%d %s", r.Lost[t], t))
	}
	if len(parts) == 0 {
		return string(r.Verdict)
	}
	return string(r.Verdict) + ": " + strings.Join(parts, ", ")
}
