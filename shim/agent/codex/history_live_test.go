package codex

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/agenttest"
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
			got := agenttest.Diff(wire(t, live), wire(t, replayed[1:]))
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
		opts.Session = readEnds(t.Context(), bytes.NewReader(before), int64(len(before)))
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

// lastTurn is what follows the human's last words, with them.
func lastTurn(all []event.Event) []event.Event {
	for i, e := range slices.Backward(all) {
		if e.Type() == "user" {
			return all[i:]
		}
	}
	return all
}

// replayAll replays a whole rollout.
func replayAll(h agent.History, lines [][]byte) []event.Event {
	return agenttest.Replay(New(Options{}).NewReplay(h), lines)
}

// wire encodes events for comparison; stdout has no times.
func wire(t *testing.T, events []event.Event) []string {
	t.Helper()
	lines := agenttest.Wire(t, events, func(r *event.Result) { r.DurationMs = 0 })
	for i, line := range lines {
		if len(line) > 2000 {
			lines[i] = fmt.Sprintf("%s of %d bytes", events[i].Type(), len(line))
		}
	}
	return lines
}
