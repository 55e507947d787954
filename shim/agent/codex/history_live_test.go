package codex

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// notReplayed are the types of events that no history has: they are of a run,
// not of a session.
var notReplayed = []string{"start", "usage", "note", "commit", "commit_error", "change", "stopped", "done"}

// differences are all that a replay may have other than the live stream of the
// same turn: "-" is live only, "+" is of the replay. An entry must be needed.
var differences = map[string]struct {
	why  string
	diff []string
}{
	"big-answer": {
		"the fixture leaves the long text out of the rollout",
		[]string{`-delta of 2000047 bytes`, `+{"type":"delta","text":"{{ELIDED}}","messageId":"0"}`},
	},
	"big-output": {
		"the fixture leaves the long text out of the rollout",
		[]string{`-tool_result of 4089 bytes`, `+{"type":"tool_result","tool":"shell","id":"0","text":"{{ELIDED}}","isError":false,"truncated":false}`},
	},
	"break-after-edit": {whyFailed, failedUsage},
	"err-after-edit":   {whyFailed, failedUsage},
	"incomplete":       {whyFailed, failedUsage},
	"interrupt-bash": {
		"codex says no more on stdout when it is interrupted, and a run has its own stopped event",
		[]string{
			`+{"type":"tool_result","tool":"shell","id":"2","text":"started\n","isError":true,"truncated":false}`,
			`+{"type":"result","isError":false,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":{"inputTokens":101,"outputTokens":40,"cacheReadTokens":100,"cacheCreationTokens":0,"thinkingTokens":0},"result":null,"subtype":"interrupted"}`,
		},
	},
	"interrupt-text": {
		"codex says no more on stdout when it is interrupted, and a run has its own stopped event",
		[]string{`+{"type":"result","isError":false,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":null,"result":null,"subtype":"interrupted"}`},
	},
	"patch-all": {
		"stdout does not tell where a file was moved to",
		[]string{`+{"type":"file_edit","tool":"apply_patch","path":"moved.txt","id":"1"}`},
	},
	"yield": {
		"what a command had said that outlived its turn is in the rollout alone",
		[]string{
			`-{"type":"tool_result","tool":"shell","id":"0","text":"still running when codex ended","isError":false,"truncated":false}`,
			`+{"type":"tool_result","tool":"shell","id":"0","text":"a\n","isError":true,"truncated":false}`,
		},
	},
}

const whyFailed = "stdout has no usage of a turn that failed"

var failedUsage = []string{
	`-{"type":"result","isError":true,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":null,"result":null,"subtype":"error_during_execution"}`,
	`+{"type":"result","isError":true,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":{"inputTokens":50,"outputTokens":20,"cacheReadTokens":50,"cacheCreationTokens":0,"thinkingTokens":0},"result":null,"subtype":"error_during_execution"}`,
}

// TestReplayEqualsTheLiveStream compares, for every fixture that has stdout and
// a rollout, what a client was told with what it is told from history.
func TestReplayEqualsTheLiveStream(t *testing.T) {
	compared := 0
	for _, f := range loadFixtures(t, "*") {
		rollout := ownRollout(f)
		if rollout == nil || len(f.Stdout) == 0 {
			continue
		}
		compared++
		t.Run(f.Name, func(t *testing.T) {
			live := liveEvents(t, f)
			replayed := lastTurn(replayAll(agent.History{Repo: testRepo}, rollout))
			if len(replayed) == 0 || replayed[0] != (event.User{Text: string(f.Piped)}) {
				t.Fatalf("the turn does not begin with the prompt %q: %v", f.Piped, replayed)
			}
			got := diffOf(wire(t, live), wire(t, replayed[1:]))
			allowed := differences[f.Case()]
			if !slices.Equal(got, allowed.diff) {
				t.Errorf("the replay differs (allowed: %s)\n%s\nwant\n%s", allowed.why, strings.Join(got, "\n"), strings.Join(allowed.diff, "\n"))
			}
		})
	}
	if compared < 55 {
		t.Errorf("%d fixtures were compared, want at least 55", compared)
	}
	for name := range differences {
		loadFixture(t, fakeagents.Real, name)
	}
}

// values stand for the placeholders of both sides.
var values = fakeagents.Values{
	Repo: testRepo, Session: testSession, Home: "/home/dev", Tmp: "/tmp/t",
	Now: time.Date(2026, 11, 30, 8, 23, 45, 0, time.UTC),
}

// ownRollout is the rollout of the fixture's session, nil when it has none.
func ownRollout(f *fakeagents.Fixture) [][]byte {
	for _, file := range f.Disk {
		if !strings.HasSuffix(file.Path, "-{{SESSION}}.jsonl") {
			continue
		}
		lines := bytes.Split(bytes.TrimSuffix(file.Data, []byte("\n")), []byte("\n"))
		for i := range lines {
			lines[i] = values.Fill(lines[i])
		}
		return lines
	}
	return nil
}

// liveEvents is what a client is told while codex works, of a run that is
// stopped where codex was sent a signal.
func liveEvents(t *testing.T, f *fakeagents.Fixture) []event.Event {
	t.Helper()
	opts, exit := options(f), exitOf(f)
	for _, file := range f.Before {
		before := values.Fill(file.Data)
		opts.Session = readEnds(bytes.NewReader(before), int64(len(before)))
	}
	exit.Stopped = f.Interrupted()
	m := New(Options{}).NewMapper(opts)
	var all []event.Event
	for _, line := range f.Lines() {
		events, err := m.Map(values.Fill(line))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, events...)
	}
	all = append(all, m.Finish(exit)...)
	return slices.DeleteFunc(all, func(e event.Event) bool { return slices.Contains(notReplayed, e.Type()) })
}

// replayAll replays a whole rollout.
func replayAll(h agent.History, lines [][]byte) (all []event.Event) {
	r := New(Options{}).NewReplay(h)
	for _, line := range lines {
		if r.Begins(line) {
			all = append(all, r.End()...)
		}
		all = append(all, r.Map(line)...)
	}
	return append(all, r.End()...)
}

// lastTurn is what follows the human's last words, with them.
func lastTurn(all []event.Event) []event.Event {
	for i, e := range slices.Backward(all) {
		if e.Type() == "user" {
			return all[i:]
		}
	}
	return all
}

// wire encodes events for comparison. stdout has no times, and ids of its own:
// those are numbered as they come.
func wire(t *testing.T, events []event.Event) (out []string) {
	t.Helper()
	ids := map[string]string{}
	number := func(id string) string {
		if ids[id] == "" {
			ids[id] = strconv.Itoa(len(ids))
		}
		return ids[id]
	}
	for _, e := range events {
		switch d := e.(type) {
		case event.Delta:
			d.MessageID = number(d.MessageID)
			e = d
		case event.ThinkingDelta:
			d.MessageID = number(d.MessageID)
			e = d
		case event.Tool:
			d.ID = number(d.ID)
			e = d
		case event.FileEdit:
			d.ID = number(d.ID)
			e = d
		case event.ToolResult:
			d.ID = number(d.ID)
			e = d
		case event.Result:
			d.DurationMs = 0
			e = d
		}
		b, err := event.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 2000 {
			b = fmt.Appendf(nil, "%s of %d bytes", e.Type(), len(b))
		}
		out = append(out, string(b))
	}
	return out
}

// diffOf is the shortest edit from a to b, by the longest common subsequence.
func diffOf(a, b []string) (diff []string) {
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			diff = append(diff, "-"+a[i])
			i++
		default:
			diff = append(diff, "+"+b[j])
			j++
		}
	}
	return diff
}
