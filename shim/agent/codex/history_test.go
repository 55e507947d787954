package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/agenttest"
	"github.com/slidewrite/slidewrite/shim/event"
)

// Rollouts of the two older generations, as codex-rs/core/src/rollout wrote
// them: the shapes are those of its protocol, the story is made.
const (
	eventsRollout = `{"timestamp":"2025-10-01T08:00:00.000Z","type":"session_meta","payload":{"id":"01a22b8d-870a-7ea0-bc32-05610cf63240","timestamp":"2025-10-01T08:00:00.000Z","cwd":"/p/app","originator":"codex_exec","cli_version":"0.44.0","instructions":"You are …","source":"exec","git":{"commit_hash":"abc","branch":"topic/x","repository_url":"u"}}}
{"timestamp":"2025-10-01T08:00:00.100Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\n  <cwd>/p/app</cwd>\n</environment_context>"}]}}
{"timestamp":"2025-10-01T08:00:00.150Z","type":"event_msg","payload":{"type":"user_message","message":"<user_instructions>be brief</user_instructions>","kind":"user_instructions"}}
{"timestamp":"2025-10-01T08:00:00.200Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"move a.txt"}]}}
{"timestamp":"2025-10-01T08:00:00.201Z","type":"event_msg","payload":{"type":"user_message","message":"move a.txt","kind":"plain"}}
{"timestamp":"2025-10-01T08:00:00.202Z","type":"turn_context","payload":{"cwd":"/p/app","model":"gpt-5-codex"}}
{"timestamp":"2025-10-01T08:00:01.000Z","type":"event_msg","payload":{"type":"agent_reasoning","text":"**Looking**"}}
{"timestamp":"2025-10-01T08:00:01.001Z","type":"response_item","payload":{"type":"reasoning","summary":[{"type":"summary_text","text":"**Looking**"}],"encrypted_content":"e"}}
{"timestamp":"2025-10-01T08:00:01.100Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"ls -1\"],\"workdir\":\"/p/app\"}","call_id":"call_1"}}
{"timestamp":"2025-10-01T08:00:01.200Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":20},"last_token_usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":20}}}}
{"timestamp":"2025-10-01T08:00:01.201Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":20},"last_token_usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":20}}}}
{"timestamp":"2025-10-01T08:00:01.300Z","type":"response_item","payload":{"type":"function_call_output","call_id":"call_1","output":"{\"output\":\"ls: no\\n\",\"metadata\":{\"exit_code\":2,\"duration_seconds\":0.1}}"}}
{"timestamp":"2025-10-01T08:00:02.000Z","type":"response_item","payload":{"type":"custom_tool_call","status":"completed","call_id":"call_2","name":"apply_patch","input":"*** Begin Patch\n*** Update File: a.txt\n*** Move to: c.txt\n@@\n-x\n+y\n*** Add File: /p/app/src/n.txt\n+n\n*** End Patch"}}
{"timestamp":"2025-10-01T08:00:02.100Z","type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"call_2","output":"{\"output\":\"Success.\",\"metadata\":{\"exit_code\":0}}"}}
{"timestamp":"2025-10-01T08:00:02.200Z","type":"response_item","payload":{"type":"function_call","name":"lab__echo","arguments":"{\"b\":1,\"a\":\"x\"}","call_id":"call_3"}}
{"timestamp":"2025-10-01T08:00:02.300Z","type":"response_item","payload":{"type":"function_call_output","call_id":"call_3","output":"{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"isError\":true}"}}
{"timestamp":"2025-10-01T08:00:02.400Z","type":"response_item","payload":{"type":"function_call","name":"update_plan","arguments":"{\"plan\":[{\"step\":\"look\",\"status\":\"completed\"},{\"step\":\"move\",\"status\":\"pending\"}]}","call_id":"call_4"}}
{"timestamp":"2025-10-01T08:00:02.500Z","type":"response_item","payload":{"type":"function_call_output","call_id":"call_4","output":"Plan updated"}}
{"timestamp":"2025-10-01T08:00:02.600Z","type":"response_item","payload":{"type":"web_search_call","status":"completed","action":{"type":"search","query":"golang sse"}}}
{"timestamp":"2025-10-01T08:00:02.700Z","type":"response_item","payload":{"type":"function_call","name":"shell_command","arguments":"{\"command\":\"make test\"}","call_id":"call_5"}}
{"timestamp":"2025-10-01T08:00:02.800Z","type":"response_item","payload":{"type":"function_call_output","call_id":"call_5","output":"Exit code: 0\nWall time: 1 seconds\nOutput:\nok\n"}}
{"timestamp":"2025-10-01T08:00:03.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":250,"cached_input_tokens":90,"output_tokens":50},"last_token_usage":{"input_tokens":150,"cached_input_tokens":50,"output_tokens":30}}}}
{"timestamp":"2025-10-01T08:00:03.100Z","type":"event_msg","payload":{"type":"agent_message","message":"Moved."}}
{"timestamp":"2025-10-01T08:00:03.101Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Moved."}]}}
{"timestamp":"2025-10-01T08:05:00.000Z","type":"event_msg","payload":{"type":"user_message","message":"thanks","kind":"plain"}}
{"timestamp":"2025-10-01T08:05:01.000Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"sleep\",\"9\"]}","call_id":"call_6"}}
{"timestamp":"2025-10-01T08:05:02.000Z","type":"event_msg","payload":{"type":"turn_aborted","reason":"interrupted"}}
`
	bareRollout = `{"id":"01a22b8d-870a-7ea0-bc32-05610cf63240","timestamp":"2025-06-01T08:00:00.000Z","instructions":null,"git":{"commit_hash":"abc","branch":"old"}}
{"record_type":"state"}
{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\n  <cwd>/p/app</cwd>\n</environment_context>"}]}
{"type":"message","role":"user","content":[{"type":"input_text","text":"list it"}]}
{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"**Listing**"}]}
{"type":"local_shell_call","id":null,"call_id":"call_1","status":"completed","action":{"type":"exec","command":["bash","-lc","ls"]}}
{"type":"function_call_output","call_id":"call_1","output":{"content":"a.txt","success":true}}
{"record_type":"state"}
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a.txt."}]}
`
)

func recordsOf(text string) (lines [][]byte) {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		lines = append(lines, []byte(line))
	}
	return lines
}

// story writes events one a line; ids are numbered.
func story(t *testing.T, events []event.Event) string {
	t.Helper()
	return strings.Join(wire(t, events), "\n")
}

func TestReplayOfOlderGenerations(t *testing.T) {
	tests := []struct{ name, rollout, want string }{
		{"events", eventsRollout, `{"type":"user","text":"move a.txt"}
{"type":"thinking_delta","text":"**Looking**","messageId":"0"}
{"type":"tool","tool":"shell","detail":"ls -1","id":"1"}
{"type":"tool_result","tool":"shell","id":"1","text":"ls: no\n","isError":true,"truncated":false}
{"type":"file_edit","tool":"apply_patch","path":"a.txt","id":"2"}
{"type":"file_edit","tool":"apply_patch","path":"c.txt","id":"2"}
{"type":"file_edit","tool":"apply_patch","path":"src/n.txt","id":"2"}
{"type":"tool_result","tool":"apply_patch","id":"2","text":"Success.","isError":false,"truncated":false}
{"type":"tool","tool":"lab: echo","detail":"{\"a\":\"x\",\"b\":1}","id":"3"}
{"type":"tool_result","tool":"lab: echo","id":"3","text":"hi","isError":true,"truncated":false}
{"type":"tool","tool":"todo_list","detail":"[x] look\n[ ] move","id":"4"}
{"type":"tool_result","tool":"todo_list","id":"4","text":"[x] look\n[ ] move","isError":false,"truncated":false}
{"type":"tool","tool":"web_search","detail":"golang sse","id":"5"}
{"type":"tool_result","tool":"web_search","id":"5","text":"","isError":false,"truncated":false}
{"type":"tool","tool":"shell","detail":"make test","id":"6"}
{"type":"tool_result","tool":"shell","id":"6","text":"ok\n","isError":false,"truncated":false}
{"type":"delta","text":"Moved.","messageId":"7"}
{"type":"result","isError":false,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":{"inputTokens":160,"outputTokens":50,"cacheReadTokens":90,"cacheCreationTokens":0,"thinkingTokens":0},"result":null,"subtype":"success"}
{"type":"user","text":"thanks"}
{"type":"tool","tool":"shell","detail":"sleep 9","id":"8"}
{"type":"tool_result","tool":"shell","id":"8","text":"still running when codex ended","isError":false,"truncated":false}
{"type":"result","isError":false,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":null,"result":null,"subtype":"interrupted"}`},
		{"bare", bareRollout, `{"type":"user","text":"list it"}
{"type":"thinking_delta","text":"**Listing**","messageId":"0"}
{"type":"tool","tool":"shell","detail":"ls","id":"1"}
{"type":"tool_result","tool":"shell","id":"1","text":"a.txt","isError":false,"truncated":false}
{"type":"delta","text":"a.txt.","messageId":"2"}
{"type":"result","isError":false,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":null,"result":null,"subtype":"success"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := story(t, replayAll(agent.History{Repo: "/p/app"}, recordsOf(tt.rollout)))
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// What the rollout tells badly: a command that never got an item, a turn that
// failed before there was a task_complete.
func TestReplayOfFailures(t *testing.T) {
	const user = `{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"UserMessage","id":"u","content":[{"type":"text","text":"go"}]}}}` + "\n"
	const call = `{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"sed -i s/a/b/ a\"}","call_id":"c1"}}` + "\n"
	const output = `{"type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 4\nOutput:\nread-only\n"}}` + "\n"
	const done = `{"type":"event_msg","payload":{"type":"task_complete","last_agent_message":null,"duration_ms":1500}}` + "\n"
	const tool = `{"type":"user","text":"go"}
{"type":"tool","tool":"shell","detail":"sed -i s/a/b/ a","id":"0"}`
	tests := []struct{ name, rollout, want string }{
		{"no item, an output", user + call + output + done, tool + `
{"type":"tool_result","tool":"shell","id":"0","text":"read-only\n","isError":true,"truncated":false}
{"type":"result","isError":false,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":null,"result":null,"subtype":"success"}`},
		{"no item, no output", user + call + done, tool + `
{"type":"tool_result","tool":"shell","id":"0","text":"still running when codex ended","isError":false,"truncated":false}
{"type":"result","isError":false,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":null,"result":null,"subtype":"success"}`},
		{"killed", user + call + output, tool},
		{"an error of old", `{"type":"event_msg","payload":{"type":"user_message","message":"go"}}` + "\n" + `{"type":"event_msg","payload":{"type":"error","message":"You've hit your usage limit."}}`, `{"type":"user","text":"go"}
{"type":"result","isError":true,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":null,"result":null,"subtype":"error_during_execution"}
{"type":"error","message":"the usage limit of this OpenAI account is reached","code":"rate_limited","fix":"wait until the limit resets, then ask again"}`},
		{"a failure without words", user + `{"type":"event_msg","payload":{"type":"task_complete","error":{"message":""}}}`, `{"type":"user","text":"go"}
{"type":"result","isError":true,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":null,"result":null,"subtype":"error_during_execution"}
{"type":"error","message":"codex failed and gave no reason","code":"internal"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := story(t, replayAll(agent.History{Repo: "/p/app"}, recordsOf(tt.rollout))); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
	for _, e := range replayAll(agent.History{}, recordsOf(user+done)) {
		if r, ok := e.(event.Result); ok && r.DurationMs != 1500 {
			t.Errorf("the turn took %d ms", r.DurationMs)
		}
	}
}

// A page may begin at any turn: a turn's events do not depend on what came
// before it.
func TestReplayOfOneTurnAlone(t *testing.T) {
	for _, rollout := range []string{eventsRollout, bareRollout, twoTurns(t)} {
		lines := recordsOf(rollout)
		r := New(Options{}).NewReplay(agent.History{Repo: "/p/app"})
		var begins []int
		for i, line := range lines {
			if r.Begins(line) {
				begins = append(begins, i)
			}
		}
		all := replayAll(agent.History{Repo: "/p/app"}, lines)
		var joined []event.Event
		for n, from := range begins {
			to := len(lines)
			if n+1 < len(begins) {
				to = begins[n+1]
			}
			joined = append(joined, replayAll(agent.History{Repo: "/p/app"}, lines[from:to])...)
		}
		if len(begins) == 0 || !slices.EqualFunc(all, joined, sameEvent) {
			t.Errorf("%d turns:\n%s\nwhole:\n%s", len(begins), story(t, joined), story(t, all))
		}
	}
}

func sameEvent(a, b event.Event) bool {
	x, errX := event.Encode(a)
	y, errY := event.Encode(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// twoTurns is the rollout of a session that was resumed.
func twoTurns(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	for _, line := range ownRollout(loadFixture(t, fakeagents.Real, "resume")) {
		b.Write(append(line, '\n'))
	}
	return b.String()
}

// Torn lines and a half-written last one lose themselves only.
func TestReplayOfTornLines(t *testing.T) {
	for _, rollout := range []string{eventsRollout, bareRollout, twoTurns(t)} {
		lines := recordsOf(rollout)
		h := agent.History{Repo: "/p/app"}
		want := replayAll(h, lines)
		torn := slices.Clone(lines)
		for i := len(lines); i >= 0; i-- {
			cut := lines[max(0, i-1)]
			torn = slices.Insert(torn, i, cut[:len(cut)/2], []byte("no JSON"), nil, []byte(`{"type":"event_msg","payload":{"type":"user_message","message":"half`))
		}
		if got := replayAll(h, torn); !slices.EqualFunc(got, want, sameEvent) {
			t.Errorf("got\n%s\nwant\n%s", story(t, got), story(t, want))
		}
	}
}

// While the agent works, a turn has no result, and its tool no answer.
func TestReplayOfARunningTurn(t *testing.T) {
	lines := recordsOf(twoTurns(t))
	for n := range lines {
		events := lastTurn(replayAll(agent.History{Repo: testRepo}, lines[:n]))
		results := 0
		for _, e := range events {
			if e.Type() == "result" {
				results++
			}
		}
		ended := n > 0 && strings.Contains(string(lines[n-1]), `"task_complete"`)
		if ended && (results != 1 || events[len(events)-1].Type() != "result") {
			t.Errorf("%d lines: a turn that ended has %d results:\n%s", n, results, story(t, events))
		}
		if n > 0 && !ended && slices.ContainsFunc(events, func(e event.Event) bool { return e.Type() == "error" }) {
			t.Errorf("%d lines: an error in a turn that goes well", n)
		}
	}
}

// Said is asked for what a prompt was before we wrote around it, in rows and
// replays.
func TestPromptsGoThroughSaid(t *testing.T) {
	h := agent.History{Repo: testRepo, Said: func(p string) string { return "said: " + strings.TrimSpace(p) }}
	lines := recordsOf(twoTurns(t))
	s, err := New(Options{}).NewScan(h, agent.Transcript{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		s.Line(line)
	}
	const want = "said: Change hello to goodbye in a.txt."
	if got := s.Row().FirstPrompt; got != want {
		t.Errorf("first prompt %q", got)
	}
	if got := replayAll(h, lines)[0]; got != (event.User{Text: want}) {
		t.Errorf("replayed %v", got)
	}
}

func TestTranscripts(t *testing.T) {
	home := t.TempDir()
	const other = "01A22B8D-0000-7000-8000-00000000000F"
	a := writeRollout(t, home, "2026/11/30", testSession, rollout171)
	b := writeRollout(t, home, "2025/01/02", other, eventsRollout)
	for _, name := range []string{
		"2026/11/30/rollout-2026-11-30T08-23-45-not-a-uuid.jsonl", "2026/11/30/rollout-" + testSession + ".json",
		"2026/11/30/" + testSession + ".jsonl", "2026/11/rollout-x-" + testSession + ".jsonl", "2026/11/30/notes.txt",
		"2026/1/30/rollout-x-" + testSession + ".jsonl", "archive/11/30/rollout-x-" + testSession + ".jsonl",
		"2026/11/30/rollout-x-" + testSession[:35] + "g.jsonl", "2026/11/30/rollout-x-" + strings.ReplaceAll(testSession, "-", "0") + ".jsonl",
	} {
		path := filepath.Join(home, "sessions", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, "sessions", "2027"), nil, 0o600); err != nil { // no folder
		t.Fatal(err)
	}
	user := t.TempDir()
	if err := os.Rename(home, filepath.Join(user, ".codex")); err != nil {
		t.Fatal(err)
	}
	home = filepath.Join(user, ".codex")
	want := []agent.Transcript{
		{ID: strings.ToLower(other), Path: filepath.Join(home, strings.TrimPrefix(b, filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(b)))))))},
		{ID: testSession, Path: filepath.Join(home, strings.TrimPrefix(a, filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(a)))))))},
	}
	tests := []struct {
		name    string
		home    string
		environ []string
		want    []agent.Transcript
	}{
		{"--codex-home", home, []string{"CODEX_HOME=/nowhere"}, want},
		{"CODEX_HOME", "", []string{"HOME=/nowhere", "CODEX_HOME=" + home}, want},
		{"home of the user", "", []string{"HOME=" + user}, want},
		{"a home without sessions", t.TempDir(), nil, nil},
		{"no home", "", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := New(Options{Home: tt.home}).Transcripts(agent.History{Repo: "/p/app", Environ: tt.environ})
			slices.SortFunc(got, func(a, b agent.Transcript) int { return strings.Compare(a.Path, b.Path) })
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%v, %v; want %v", got, err, tt.want)
			}
		})
	}
}

// scanOf scans lines in one go.
func scanOf(t testing.TB, repo string, lines [][]byte) agent.Scan {
	t.Helper()
	s, err := New(Options{}).NewScan(agent.History{Repo: repo}, agent.Transcript{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		s.Line(line)
	}
	return s
}

func utc(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t.UTC()
}

func TestScan(t *testing.T) {
	meta := func(members string) string {
		return `{"timestamp":"2026-11-30T08:00:00.000Z","ordinal":0,"type":"session_meta","payload":{"id":"01a22b8d-870a-7ea0-bc32-05610cf63240",` + members + `"base_instructions":{"text":"\"cwd\":\"/else\""}}}` + "\n"
	}
	user := func(text string) string {
		return `{"timestamp":"2026-11-30T08:00:01.000Z","ordinal":1,"type":"event_msg","payload":{"type":"item_completed","thread_id":"t","item":{"type":"UserMessage","id":"u","content":[{"type":"local_image","path":"/i.png"},{"type":"text","text":"` + text + `","text_elements":[]}]}}}` + "\n"
	}
	const answer = `{"timestamp":"2026-11-30T08:00:09.000Z","ordinal":2,"type":"event_msg","payload":{"type":"item_completed","item":{"type":"AgentMessage","id":"m","content":[{"type":"Text","text":"ok"}]}}}` + "\n"
	const quoting = `{"timestamp":"2026-11-30T08:00:08.000Z","ordinal":2,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"\"type\":\"event_msg\",\"payload\":{\"type\":\"user_message\",\"message\":\"no\"}"}]}}` + "\n"
	const named = `{"timestamp":"2026-11-30T08:00:10.000Z","type":"event_msg","payload":{"type":"thread_name_updated","thread_id":"t","thread_name":"Green button"}}` + "\n"
	here := `"cwd":"/p/app",`
	start, said, end := utc("2026-11-30T08:00:00Z"), utc("2026-11-30T08:00:01Z"), utc("2026-11-30T08:00:09Z")
	tests := []struct {
		name, rollout string
		verdict       agent.Verdict
		row           agent.Row
	}{
		{"a session", meta(here+`"git":{"branch":"main"},`) + quoting + user("make it green") + answer, agent.Ours,
			agent.Row{FirstPrompt: "make it green", StartedAt: start, EndedAt: end, Branch: "main", Messages: 2}},
		{"with a name", meta(here) + user("a") + answer + named, agent.Ours,
			agent.Row{Title: "Green button", FirstPrompt: "a", StartedAt: start, EndedAt: utc("2026-11-30T08:00:10Z"), Messages: 2}},
		{"events", eventsRollout, agent.Ours,
			agent.Row{FirstPrompt: "move a.txt", StartedAt: utc("2025-10-01T08:00:00Z"), EndedAt: utc("2025-10-01T08:05:02Z"), Branch: "topic/x", Messages: 3}},
		{"bare", bareRollout, agent.Ours,
			agent.Row{FirstPrompt: "list it", StartedAt: utc("2025-06-01T08:00:00Z"), EndedAt: utc("2025-06-01T08:00:00Z"), Branch: "old", Messages: 2}},
		{"spaces in its JSON", strings.NewReplacer(`":`, `" : `, `,"`, `, "`).Replace(meta(here) + user("x") + answer), agent.Ours,
			agent.Row{FirstPrompt: "x", StartedAt: start, EndedAt: end, Messages: 2}},
		{"escapes", meta(`"cwd":"\/p\u002fapp",`) + user(`\"a\"\nb \ud83d\ude00`), agent.Ours,
			agent.Row{FirstPrompt: "\"a\"\nb 😀", StartedAt: start, EndedAt: said, Messages: 1}},
		{"no human yet", meta(here) + quoting, agent.Undecided, agent.Row{StartedAt: start, EndedAt: utc("2026-11-30T08:00:08Z")}},
		{"nothing yet", "", agent.Undecided, agent.Row{}},
		{"a torn first line", meta(here)[:60] + "\n" + user("x"), agent.Undecided, agent.Row{}},
		{"a first line without its end", strings.TrimSuffix(meta(here), "}}\n") + "\n" + user("x"), agent.Undecided, agent.Row{}},
		{"torn lines within", meta(here) + user("x") + `{"timestamp":"2026-11-30T08:00:03Z","type":"event_msg","payl` + "\n\n" + "no JSON\n" +
			user("y")[:150] + "\n" + answer + answer[:170], agent.Ours,
			agent.Row{FirstPrompt: "x", StartedAt: start, EndedAt: end, Messages: 2}},
		{"another folder", meta(`"cwd":"/p/other",`) + user("x"), agent.Foreign, agent.Row{}},
		{"a folder below", meta(`"cwd":"/p/app/src",`) + user("x"), agent.Foreign, agent.Row{}},
		{"a folder whose name goes on", meta(`"cwd":"/p/app2",`) + user("x"), agent.Foreign, agent.Row{}},
		{"the old folder of a bare one", strings.ReplaceAll(bareRollout, "/p/app", "/p/q"), agent.Foreign,
			agent.Row{StartedAt: utc("2025-06-01T08:00:00Z"), EndedAt: utc("2025-06-01T08:00:00Z"), Branch: "old"}},
		{"a sub-agent", meta(here+`"source":{"subagent":{"thread_spawn":{"depth":1}}},"thread_source":"subagent",`) + user("x"), agent.Hidden, agent.Row{}},
		{"a sub-agent by its source", meta(here+`"source":{"subagent":"review"},`) + user("x"), agent.Hidden, agent.Row{}},
		{"an app's", meta(here+`"source":"vscode",`) + user("x"), agent.Ours, agent.Row{FirstPrompt: "x", StartedAt: start, EndedAt: said, Messages: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lines := recordsOf(tt.rollout)
			s := scanOf(t, "/p/app", lines)
			if s.Verdict() != tt.verdict || s.Row() != tt.row {
				t.Errorf("verdict %d, row %+v\nwant %d, %+v", s.Verdict(), s.Row(), tt.verdict, tt.row)
			}
			// Going on from any line comes to the same.
			for n := range lines {
				first := scanOf(t, "/p/app", lines[:n])
				second, err := New(Options{}).NewScan(agent.History{Repo: "/p/app"}, agent.Transcript{}, first.Save())
				if err != nil {
					t.Fatal(err)
				}
				for _, line := range lines[n:] {
					second.Line(line)
				}
				if second.Verdict() != tt.verdict || second.Row() != tt.row {
					t.Errorf("from line %d on: verdict %d, row %+v", n, second.Verdict(), second.Row())
				}
			}
		})
	}
}

// A folder that was a symbolic link is known by its real path, and one that
// only looks the same is not.
func TestScanOfASymlinkedFolder(t *testing.T) {
	root, repo, link, other := agenttest.LinkedFolders(t, "häuser [x]%20'")
	for cwd, want := range map[string]agent.Verdict{
		repo: agent.Ours, repo + "/": agent.Ours, link: agent.Ours, link + "/../link": agent.Ours,
		other: agent.Foreign, filepath.Join(root, "gone"): agent.Foreign, filepath.Base(repo): agent.Foreign, ".": agent.Foreign,
	} {
		line := fmt.Sprintf(`{"timestamp":"2026-11-30T08:00:00Z","type":"session_meta","payload":{"cwd":%q}}`, cwd)
		const user = `{"type":"event_msg","payload":{"type":"user_message","message":"x"}}`
		if got := scanOf(t, repo, [][]byte{[]byte(line), []byte(user)}).Verdict(); got != want {
			t.Errorf("cwd %q: verdict %d, want %d", cwd, got, want)
		}
	}
}

// Lines that were cut are counted, and give what they have.
func TestScanOfCutLines(t *testing.T) {
	meta := `{"timestamp":"2026-11-30T08:00:00Z","type":"session_meta","payload":{"id":"x","cwd":"/p/app","base_instructions":{"text":"` + strings.Repeat("b", agent.ScanLimit)
	user := `{"timestamp":"2026-11-30T08:00:01Z","type":"event_msg","payload":{"type":"item_completed","item":{"type":"UserMessage","id":"u","content":[{"type":"text","text":"` + strings.Repeat(`\ud83d\ude00`, agent.ScanLimit/12)
	s := scanOf(t, "/p/app", [][]byte{[]byte(meta[:agent.ScanLimit]), []byte(user[:agent.ScanLimit])})
	row := s.Row()
	if s.Verdict() != agent.Ours || row.Messages != 1 || !strings.HasPrefix(row.FirstPrompt, "😀😀") || strings.ContainsRune(row.FirstPrompt, '\uFFFD') {
		t.Errorf("verdict %d, %d messages, first prompt %.20q of %d bytes", s.Verdict(), row.Messages, row.FirstPrompt, len(row.FirstPrompt))
	}
}

// What was kept by another version, or is broken, is an error: the file is
// read anew.
func TestScanFromBrokenState(t *testing.T) {
	for _, saved := range []string{"", "{", "[]", "{}", `{"Version":99}`, `{"Version":1,"Row":7}`} {
		if s, err := New(Options{}).NewScan(agent.History{}, agent.Transcript{}, []byte(saved)); err == nil {
			t.Errorf("%q gives %+v", saved, s)
		}
	}
}

// Every rollout of a fixture is listed, but for those of sub-agents.
func TestScanOfFixtures(t *testing.T) {
	ours, hidden := 0, 0
	for _, f := range loadFixtures(t, "*") {
		for _, file := range f.Disk {
			s := scanOf(t, testRepo, recordsOf(string(values.Fill(file.Data))))
			row := s.Row()
			own := strings.HasSuffix(file.Path, "-{{SESSION}}.jsonl")
			switch {
			case own && s.Verdict() == agent.Ours:
				ours++
				if row.Messages == 0 || row.FirstPrompt == "" || row.StartedAt.IsZero() || row.EndedAt.Before(row.StartedAt) {
					t.Errorf("%s: %+v", f.Name, row)
				}
			case !own && s.Verdict() == agent.Hidden:
				hidden++
			default:
				t.Errorf("%s: %s: verdict %d", f.Name, file.Path, s.Verdict())
			}
		}
	}
	if ours < 55 || hidden < 1 {
		t.Errorf("%d sessions, %d of sub-agents", ours, hidden)
	}
}

// TestSessionsThatAreNoFolder has a file where codex keeps its sessions.
func TestSessionsThatAreNoFolder(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "sessions"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := New(Options{Home: home}).Transcripts(agent.History{Repo: testRepo}); len(got) > 0 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}
