package claude

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/agenttest"
	"github.com/slidewrite/slidewrite/shim/event"
)

// diskOf is the session of a fixture as it lies on disk, and as it lay before
// the run; nil where the fixture has none.
func diskOf(f *fakeagents.Fixture) (before, after []byte) {
	return sessionIn(f.Before), sessionIn(f.Disk)
}

func sessionIn(files []fakeagents.File) []byte {
	for _, file := range files {
		if strings.HasSuffix(file.Path, ".jsonl") && !strings.Contains(file.Path, "/") {
			return []byte(placeholders.Replace(string(file.Data)))
		}
	}
	return nil
}

// replayed are the events of a transcript.
func replayed(data []byte) []event.Event {
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	return agenttest.Replay(Claude{}.NewReplay(agent.History{Repo: testRepo}), lines)
}

// streamed are the events of the live run.
func streamed(t *testing.T, f *fakeagents.Fixture) (out []event.Event) {
	m := newMapper(options(f))
	for _, line := range f.Lines() {
		events, err := m.Map(line)
		if err != nil && err != agent.ErrNotJSON {
			t.Fatal(err)
		}
		out = append(out, slices.Clone(events)...)
	}
	return append(out, m.Finish(exitOf(f))...)
}

// comparable takes away what differs everywhere: the life of a run (start,
// usage, notes) is not replayed, what the human said is not streamed; text
// that streamed in pieces is whole on disk, text that was withdrawn is not
// there; how long a turn took and what it cost is told on stdout only.
func comparable(events []event.Event) (kept []event.Event) {
	for _, e := range events {
		switch e := e.(type) {
		case event.Start, event.Usage, event.Note, event.User:
			continue
		case event.DeltaReset:
			kept = slices.DeleteFunc(kept, func(k event.Event) bool {
				d, isDelta := k.(event.Delta)
				th, isThinking := k.(event.ThinkingDelta)
				return isDelta && d.MessageID == e.MessageID || isThinking && th.MessageID == e.MessageID
			})
			continue
		case event.Delta:
			if n := len(kept); n > 0 {
				if before, ok := kept[n-1].(event.Delta); ok && before.MessageID == e.MessageID {
					kept[n-1] = event.Delta{Text: before.Text + e.Text, MessageID: e.MessageID}
					continue
				}
			}
		case event.ThinkingDelta:
			if n := len(kept); n > 0 {
				if before, ok := kept[n-1].(event.ThinkingDelta); ok && before.MessageID == e.MessageID {
					kept[n-1] = event.ThinkingDelta{Text: before.Text + e.Text, MessageID: e.MessageID}
					continue
				}
			}
		case event.Result:
			e.DurationMs, e.TotalCostUSD = 0, 0
			kept = append(kept, e)
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

// differences is everything else that a session on disk tells otherwise than
// its live stream, with the reason. live makes of the live events what the
// disk has. An entry that changes nothing fails.
var differences = []struct {
	cases  []string // <version>/<case>
	reason string
	usage  bool                              // the result's usage is not compared
	live   func([]event.Event) []event.Event // nil = nothing else differs
}{
	{
		[]string{
			"2.1.332/break-after-edit", "2.1.332/break-always", "2.1.332/break-once", "2.1.332/sse-error", "2.1.332/interrupt-text",
			"2.1.197/break-after-edit", "2.1.197/break-always", "2.1.197/break-once", "2.1.197/sse-error",
		},
		"attempts that broke off are billed, and not on disk", true, nil,
	},
	{
		[]string{"2.1.332/subagent", "2.1.197/subagent"},
		"a sub-agent has a transcript of its own, which is not replayed", true, func(events []event.Event) []event.Event {
			var subs []string
			return slices.DeleteFunc(events, func(e event.Event) bool {
				switch e := e.(type) {
				case event.Tool:
					if e.ParentID != "" {
						subs = append(subs, e.ID)
					}
					return e.ParentID != ""
				case event.FileEdit:
					if e.ParentID != "" {
						subs = append(subs, e.ID)
					}
					return e.ParentID != ""
				case event.ToolResult:
					return slices.Contains(subs, e.ID)
				}
				return false
			})
		},
	},
	{
		[]string{"2.1.332/empty", "2.1.197/empty"},
		"an answer without content leaves no record, so nothing tells that the turn ended", false, func(events []event.Event) []event.Event {
			return slices.DeleteFunc(events, func(e event.Event) bool { return e.Type() == "result" })
		},
	},
	{
		[]string{"2.1.197/sse-error"},
		"197 tells that a 500 was an overload only while it retries", false, func(events []event.Event) []event.Event {
			for i, e := range events {
				if e, ok := e.(event.Error); ok {
					e.Code, e.Fix = event.CodeInternal, ""
					events[i] = e
				}
			}
			return events
		},
	},
}

// results are the results among the events, as they are compared.
func results(events []event.Event) []event.Event {
	return slices.DeleteFunc(comparable(events), func(e event.Event) bool { return e.Type() != "result" })
}

// anyUsage takes the usage out of results.
func anyUsage(events []event.Event) []event.Event {
	for i, e := range events {
		if r, ok := e.(event.Result); ok {
			r.Usage = nil
			events[i] = r
		}
	}
	return events
}

// TestReplayEqualsTheLiveStream replays every session that a fixture left on
// disk and compares the events with those of its stdout.
func TestReplayEqualsTheLiveStream(t *testing.T) {
	compared := 0
	used := make([]int, len(differences))
	for _, f := range loadFixtures(t, "*") {
		before, after := diskOf(f)
		if after == nil {
			continue
		}
		compared++
		parts := strings.Split(f.Name, "/")
		name := strings.Join(parts[len(parts)-2:], "/")
		t.Run(name, func(t *testing.T) {
			live := streamed(t, f)
			whole, old := replayed(after), replayed(before)
			disk := whole[len(old):]
			if n := count(disk, "user"); n != 1 {
				t.Errorf("%d prompts of a user in the replay, want 1", n)
			}
			for i, d := range differences {
				if !slices.Contains(d.cases, name) {
					continue
				}
				used[i]++
				was := lined(t, live)
				if d.live != nil {
					live = d.live(slices.Clone(live))
				}
				if d.usage {
					if slices.Equal(lined(t, results(live)), lined(t, results(disk))) {
						t.Errorf("the usage is the same: the difference %q is none here", d.reason)
					}
					live, disk = anyUsage(slices.Clone(live)), anyUsage(slices.Clone(disk))
				}
				if slices.Equal(lined(t, live), was) {
					t.Errorf("the difference %q is none here", d.reason)
				}
			}
			got, want := lined(t, comparable(disk)), lined(t, comparable(live))
			if !slices.Equal(got, want) {
				t.Errorf("the replay\n\t%s\nis not the live stream\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
			}
		})
	}
	if compared < 100 {
		t.Errorf("%d fixtures have both, want at least 100", compared)
	}
	for i, d := range differences {
		if used[i] != len(d.cases) {
			t.Errorf("the difference %q met %d of its %d cases", d.reason, used[i], len(d.cases))
		}
	}
}

func count(events []event.Event, kind string) (n int) {
	for _, e := range events {
		if e.Type() == kind {
			n++
		}
	}
	return n
}

func lined(t *testing.T, events []event.Event) (out []string) {
	t.Helper()
	for _, e := range events {
		b, err := event.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

// TestReplayCanBeTakenUp replays the turns of every fixture from the middle on,
// wherever an answer begins: what follows is the same, and so is the end.
func TestReplayCanBeTakenUp(t *testing.T) {
	taken := 0
	for _, f := range loadFixtures(t, "*") {
		_, data := diskOf(f)
		var turn [][]byte
		newReplay := func() *replay { return Claude{}.NewReplay(agent.History{Repo: testRepo}).(*replay) }
		check := func() {
			var mapped [][]event.Event
			whole := newReplay()
			for _, line := range turn {
				mapped = append(mapped, whole.Map(line))
			}
			end := lined(t, whole.End())
			answer := ""
			for at, line := range turn {
				id := whole.Step(line)
				if id == "" || id == answer {
					continue
				}
				if answer == "" {
					answer = id
					continue
				}
				answer = id
				taken++
				r := newReplay()
				for _, line := range turn[:at] {
					r.Pass(line)
				}
				r.Part()
				alone := newReplay() // its end is not known
				for i, line := range turn[at:] {
					want := lined(t, mapped[at+i])
					for _, r := range []*replay{r, alone} {
						if got := lined(t, r.Map(line)); !slices.Equal(got, want) {
							t.Errorf("%s: taken up at %s\n%q\nwant\n%q", f.Name, id, got, want)
						}
					}
				}
				if got := lined(t, r.End()); !slices.Equal(got, end) {
					t.Errorf("%s: taken up at %s it ends\n%q\nwant\n%q", f.Name, id, got, end)
				}
			}
		}
		for _, line := range bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) {
			if newReplay().Begins(line) {
				check()
				turn = nil
			}
			turn = append(turn, line)
		}
		check()
	}
	if taken < 100 {
		t.Errorf("taken up %d times", taken)
	}
}
