package codex

import (
	"bytes"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

const (
	threadLine = `{"type":"thread.started","thread_id":"` + testSession + `"}`
	turnLine   = `{"type":"turn.started"}`
	doneLine   = `{"type":"turn.completed","usage":{"input_tokens":201,"cached_input_tokens":100,"cache_write_input_tokens":1,"output_tokens":40,"reasoning_output_tokens":10}}`
)

func itemLine(state, fields string) string {
	return `{"type":"item.` + state + `","item":{` + fields + `}}`
}

// encoded maps lines and returns every event as it goes out, Finish's too.
func encoded(t *testing.T, o agent.MapOptions, exit agent.Exit, lines ...string) []string {
	t.Helper()
	m := New(Options{}).NewMapper(o)
	var out []string
	add := func(events []event.Event) {
		for _, e := range events {
			b, err := event.Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(b))
		}
	}
	for _, l := range lines {
		events, err := m.Map([]byte(l))
		if err != nil {
			t.Fatalf("%v: %s", err, l)
		}
		add(events)
	}
	add(m.Finish(exit))
	return out
}

func compare(t *testing.T, got []string, want ...string) {
	t.Helper()
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

const (
	startEvent  = `{"type":"start","sessionId":"` + testSession + `","model":"","runId":"","provider":"openai"}`
	usageFields = `"inputTokens":100,"outputTokens":40,"cacheReadTokens":100,"cacheCreationTokens":1,"thinkingTokens":0}`
	usageEvent  = `{"type":"usage",` + usageFields
	resultEvent = `{"type":"result","isError":false,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":{` + usageFields + `,"result":null,"subtype":"success"}`
)

func TestMapItems(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
		want  []string
	}{
		{"text and thinking", []string{
			itemLine("completed", `"id":"item_0","type":"reasoning","text":"**Hm**"`),
			itemLine("completed", "\"id\":\"item_1\",\"type\":\"agent_message\",\"text\":\"a\u2028b\\u0000\""),
			itemLine("completed", `"id":"item_2","type":"agent_message","text":""`),
		}, []string{
			`{"type":"thinking_delta","text":"**Hm**","messageId":"item_0"}`,
			`{"type":"delta","text":"a\u2028b\u0000","messageId":"item_1"}`,
		}},
		{"a command that fails", []string{
			itemLine("started", `"id":"item_0","type":"command_execution","command":"/bin/bash -lc 'exit 3'","aggregated_output":"","exit_code":null,"status":"in_progress"`),
			itemLine("completed", `"id":"item_0","type":"command_execution","command":"/bin/bash -lc 'exit 3'","aggregated_output":"no","exit_code":3,"status":"failed"`),
		}, []string{
			`{"type":"tool","tool":"shell","detail":"exit 3","id":"item_0"}`,
			`{"type":"tool_result","tool":"shell","id":"item_0","text":"no","isError":true,"truncated":false}`,
		}},
		{"a command that still runs at the end of the turn", []string{
			itemLine("started", `"id":"item_0","type":"command_execution","command":"sleep 30","status":"in_progress"`),
		}, []string{
			`{"type":"tool","tool":"shell","detail":"sleep 30","id":"item_0"}`,
			`{"type":"tool_result","tool":"shell","id":"item_0","text":"still running when codex ended","isError":false,"truncated":false}`,
		}},
		{"a patch over several files, a move among them", []string{
			itemLine("started", `"id":"i","type":"file_change","changes":[{"path":"/repo/a.txt","kind":"update"}],"status":"in_progress"`),
			itemLine("completed", `"id":"i","type":"file_change","changes":[{"path":"/repo/a.txt","kind":{"type":"update","move_path":"/repo/sub/b.txt"}},{"path":"/etc/x","kind":"add"},{"path":"rel.txt","kind":"add"}],"status":"completed"`),
		}, []string{
			`{"type":"file_edit","tool":"apply_patch","path":"a.txt","id":"i"}`,
			`{"type":"file_edit","tool":"apply_patch","path":"sub/b.txt","id":"i"}`,
			`{"type":"file_edit","tool":"apply_patch","path":"/etc/x","id":"i"}`,
			`{"type":"file_edit","tool":"apply_patch","path":"rel.txt","id":"i"}`,
			`{"type":"tool_result","tool":"apply_patch","id":"i","text":"","isError":false,"truncated":false}`,
		}},
		{"a patch without a start that fails", []string{
			itemLine("completed", `"id":"i","type":"file_change","changes":{"/repo/b":{"type":"add"},"/repo/a":{"type":"update","move_path":null}},"status":"failed"`),
		}, []string{
			`{"type":"file_edit","tool":"apply_patch","path":"a","id":"i"}`,
			`{"type":"file_edit","tool":"apply_patch","path":"b","id":"i"}`,
			`{"type":"tool_result","tool":"apply_patch","id":"i","text":"the patch failed; a part of it may have been written","isError":true,"truncated":false}`,
		}},
		{"an MCP tool, and one that fails", []string{
			itemLine("started", `"id":"a","type":"mcp_tool_call","server":"lab","tool":"echo","arguments":{"z":1,"a":"<x>"},"result":null,"error":null,"status":"in_progress"`),
			itemLine("completed", `"id":"a","type":"mcp_tool_call","server":"lab","tool":"echo","arguments":{},"result":{"content":[{"type":"text","text":"hi"},{"type":"image","data":"AAAA"}]},"error":null,"status":"completed"`),
			itemLine("completed", `"id":"b","type":"mcp_tool_call","server":"lab","tool":"gone","arguments":null,"result":null,"error":{"message":"no such tool"},"status":"failed"`),
		}, []string{
			`{"type":"tool","tool":"lab: echo","detail":"{\"a\":\"<x>\",\"z\":1}","id":"a"}`,
			`{"type":"tool_result","tool":"lab: echo","id":"a","text":"hi\n[image]","isError":false,"truncated":false}`,
			`{"type":"tool","tool":"lab: gone","detail":"","id":"b"}`,
			`{"type":"tool_result","tool":"lab: gone","id":"b","text":"no such tool","isError":true,"truncated":false}`,
		}},
		{"a web search has two ids", []string{
			itemLine("started", `"id":"item_0","type":"web_search","id":"ws_1","query":"golang sse"`),
			itemLine("completed", `"id":"item_0","type":"web_search","id":"ws_1","query":"golang sse"`),
		}, []string{
			`{"type":"tool","tool":"web_search","detail":"golang sse","id":"ws_1"}`,
			`{"type":"tool_result","tool":"web_search","id":"ws_1","text":"","isError":false,"truncated":false}`,
		}},
		{"sub-agents", []string{
			itemLine("started", `"id":"a","type":"collab_tool_call","tool":"spawn_agent","receiver_thread_ids":[],"prompt":"look","agents_states":{},"status":"in_progress"`),
			itemLine("completed", `"id":"a","type":"collab_tool_call","tool":"spawn_agent","receiver_thread_ids":["t2"],"prompt":"look","agents_states":{"t2":{"status":"completed","message":"seen"}},"status":"completed"`),
			itemLine("started", `"id":"b","type":"collab_tool_call","tool":"wait","receiver_thread_ids":["t2","t3"],"prompt":null,"agents_states":{},"status":"in_progress"`),
		}, []string{
			`{"type":"tool","tool":"spawn_agent","detail":"look","id":"a"}`,
			`{"type":"tool_result","tool":"spawn_agent","id":"a","text":"seen","isError":false,"truncated":false}`,
			`{"type":"tool","tool":"wait","detail":"t2 t3","id":"b"}`,
			`{"type":"tool_result","tool":"wait","id":"b","text":"still running when codex ended","isError":false,"truncated":false}`,
		}},
		{"a to-do list", []string{
			itemLine("started", `"id":"a","type":"todo_list","items":[{"text":"one","completed":false}]`),
			itemLine("updated", `"id":"a","type":"todo_list","items":[{"text":"one","completed":true}]`),
			itemLine("completed", `"id":"a","type":"todo_list","items":[{"text":"one","completed":true},{"text":"two","completed":false}]`),
		}, []string{
			`{"type":"tool","tool":"todo_list","detail":"[ ] one","id":"a"}`,
			`{"type":"tool_result","tool":"todo_list","id":"a","text":"[x] one\n[ ] two","isError":false,"truncated":false}`,
		}},
		{"warnings, retries and an error that was got over", []string{
			itemLine("completed", `"id":"a","type":"error","message":"Model metadata for x not found.\n  more"`),
			itemLine("completed", `"id":"b","type":"error","message":"Model metadata for x not found.\n  more"`),
			`{"type":"error","message":"Reconnecting... 1/5 (unexpected status 401 Unauthorized: Missing bearer, url: ws://x)"}`,
			`{"type":"error","message":"Reconnecting... 2/5"}`,
			`{"type":"error","message":"Reconnecting... 3/5 (something new)"}`,
			`{"type":"error","message":"odd"}`,
		}, []string{
			`{"type":"note","message":"Model metadata for x not found. more","level":"warning","code":"agent"}`,
			`{"type":"note","message":"retrying: codex is not signed in (401 Unauthorized), attempt 1 of 5","level":"warning","code":"retry"}`,
			`{"type":"note","message":"retrying: the connection to the model broke, attempt 2 of 5","level":"warning","code":"retry"}`,
			`{"type":"note","message":"retrying: something new, attempt 3 of 5","level":"warning","code":"retry"}`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lines := append(append([]string{threadLine, turnLine}, tt.lines...), doneLine)
			want := append([]string{startEvent}, tt.want...)
			// What a turn left open is answered before its usage is told.
			want = append(want, usageEvent)
			if strings.HasPrefix(tt.name, "warnings") {
				want = append(want, `{"type":"note","message":"odd","level":"warning","code":"agent"}`)
			}
			compare(t, encoded(t, agent.MapOptions{Repo: testRepo}, agent.Exit{}, lines...), append(want, resultEvent)...)
		})
	}
}

func TestMapUsageIsTheRunsOwn(t *testing.T) {
	o := agent.MapOptions{Resume: strings.ToUpper(testSession), Session: agent.Session{Usage: &event.Usage{InputTokens: 60, CacheReadTokens: 50, OutputTokens: 20}}}
	own := `{"type":"usage","inputTokens":40,"outputTokens":20,"cacheReadTokens":50,"cacheCreationTokens":1,"thinkingTokens":0}`
	if got := encoded(t, o, agent.Exit{}, threadLine, turnLine, doneLine); got[1] != own {
		t.Errorf("resumed: %s", got[1])
	}
	// Of a session whose past is not known nothing is said, rather than too much.
	o.Session = agent.Session{}
	got := encoded(t, o, agent.Exit{}, threadLine, turnLine, doneLine)
	if len(got) != 2 || !strings.Contains(got[1], `"usage":null`) {
		t.Errorf("unknown past: %v", got)
	}
	// A new session has none.
	got = encoded(t, agent.MapOptions{Resume: "6483722a-c7a3-4288-8960-bf333d3405a8", Session: agent.Session{Usage: &event.Usage{InputTokens: 60}}}, agent.Exit{}, threadLine, turnLine, doneLine)
	if !strings.Contains(got[1], `"code":"session_new"`) || got[2] != usageEvent {
		t.Errorf("a new session: %v", got)
	}
}

func TestMapModelIsTheOneThatWasAsked(t *testing.T) {
	for _, tt := range []struct {
		o    agent.MapOptions
		want string
	}{
		{agent.MapOptions{Model: "gpt-5.5", Session: agent.Session{Model: "gpt-6.2-sol"}}, "gpt-5.5"},
		{agent.MapOptions{Session: agent.Session{Model: "gpt-6.2-sol"}}, "gpt-6.2-sol"},
		{agent.MapOptions{}, ""},
	} {
		m := newMapper(tt.o)
		events, err := m.Map([]byte(threadLine))
		if err != nil || len(events) != 1 || events[0].(event.Start).Model != tt.want || m.Facts().Model != tt.want {
			t.Errorf("%+v: %+v, %v", tt.o, events, err)
		}
	}
}

// linesOf are the lines of a made fixture.
func linesOf(t *testing.T, name string) (lines []string) {
	t.Helper()
	for _, line := range loadFixture(t, fakeagents.Made, name).Lines() {
		lines = append(lines, string(line))
	}
	return lines
}

// TestMapLegacy: what versions up to 0.44 printed.
func TestMapLegacy(t *testing.T) {
	usage := `"inputTokens":6,"outputTokens":2,"cacheReadTokens":4,"cacheCreationTokens":0,"thinkingTokens":0}`
	result := `{"type":"result","isError":false,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":{` + usage + `,"result":null,"subtype":"success"}`
	compare(t, encoded(t, agent.MapOptions{Repo: testRepo}, agent.Exit{}, linesOf(t, "legacy")...),
		strings.Replace(startEvent, `"model":""`, `"model":"gpt-5-codex"`, 1),
		`{"type":"thinking_delta","text":"**Looking**","messageId":"message_1"}`,
		`{"type":"tool","tool":"shell","detail":"ls -1","id":"c1"}`,
		`{"type":"tool_result","tool":"shell","id":"c1","text":"a.txt\n","isError":false,"truncated":false}`,
		`{"type":"file_edit","tool":"apply_patch","path":"a.txt","id":"c2"}`,
		`{"type":"file_edit","tool":"apply_patch","path":"c.txt","id":"c2"}`,
		`{"type":"file_edit","tool":"apply_patch","path":"n.txt","id":"c2"}`,
		`{"type":"tool_result","tool":"apply_patch","id":"c2","text":"Success","isError":false,"truncated":false}`,
		`{"type":"tool","tool":"lab: echo","detail":"{\"a\":\"x\",\"b\":1}","id":"c3"}`,
		`{"type":"tool_result","tool":"lab: echo","id":"c3","text":"hi","isError":false,"truncated":false}`,
		`{"type":"note","message":"retrying: the connection to the model broke, attempt 1 of 5","level":"warning","code":"retry"}`,
		`{"type":"delta","text":"Done.","messageId":"message_2"}`,
		`{"type":"usage",`+usage,
		result,
	)
	compare(t, encoded(t, agent.MapOptions{Repo: testRepo}, agent.Exit{}, linesOf(t, "item-type")...),
		startEvent,
		`{"type":"tool","tool":"shell","detail":"ls","id":"item_0"}`,
		`{"type":"tool_result","tool":"shell","id":"item_0","text":"a.txt\n","isError":false,"truncated":false}`,
		`{"type":"file_edit","tool":"apply_patch","path":"a.txt","id":"item_1"}`,
		`{"type":"tool_result","tool":"apply_patch","id":"item_1","text":"","isError":false,"truncated":false}`,
		`{"type":"delta","text":"Done.","messageId":"item_2"}`,
		`{"type":"usage",`+usage,
		result,
	)
	// The oldest named no session and failed with an error alone.
	compare(t, encoded(t, agent.MapOptions{Scrubbed: []string{"OPENAI_API_KEY"}}, agent.Exit{Code: 1},
		`{"id":"1","msg":{"type":"task_started"}}`,
		"{\"id\":\"1\",\"msg\":{\"type\":\"error\",\"message\":\"Missing environment variable: `OPENAI_API_KEY`. Create an API key\"}}"),
		`{"type":"error","message":"codex needs the variable OPENAI_API_KEY, which is not set","code":"not_signed_in","fix":"start slidewrite with --keep-env"}`,
	)
}

// Text that did not stream is the result's.
func TestMapLegacyResult(t *testing.T) {
	got := encoded(t, agent.MapOptions{}, agent.Exit{}, `{"id":"1","msg":{"type":"task_complete","last_agent_message":"words"}}`)
	if len(got) != 1 || !strings.Contains(got[0], `"result":"words"`) {
		t.Errorf("%v", got)
	}
}

func TestMapLongOutputIsCut(t *testing.T) {
	long := strings.Repeat("é", 5000)
	got := encoded(t, agent.MapOptions{}, agent.Exit{}, threadLine, turnLine,
		itemLine("completed", `"id":"a","type":"command_execution","command":"x","aggregated_output":"`+long+`","exit_code":0,"status":"completed"`), doneLine)
	want := `{"type":"tool_result","tool":"shell","id":"a","text":"` + long[:8000] + `","isError":false,"truncated":true}`
	if got[2] != want {
		t.Errorf("%.200s …", got[2])
	}
}

// Fields of a type that no version has sent lose nothing else of the line.
func TestMapOddTypes(t *testing.T) {
	got := encoded(t, agent.MapOptions{}, agent.Exit{},
		threadLine, turnLine,
		itemLine("started", `"id":"a","type":"command_execution","command":{"x":1},"aggregated_output":7,"exit_code":"3"`),
		itemLine("completed", `"id":"a","type":"command_execution","command":["a","b"],"status":["failed"],"changes":"none","error":[]`),
		itemLine("completed", `"id":"b","type":"file_change","changes":[7,{"path":1},{"kind":"add"}],"status":"completed"`),
		`{"type":"turn.failed","error":"plain"}`)
	compare(t, got, startEvent,
		`{"type":"tool","tool":"shell","detail":"","id":"a"}`,
		`{"type":"tool_result","tool":"shell","id":"a","text":"","isError":false,"truncated":false}`,
		`{"type":"tool","tool":"apply_patch","detail":"","id":"b"}`,
		`{"type":"tool_result","tool":"apply_patch","id":"b","text":"","isError":false,"truncated":false}`,
		`{"type":"result","isError":true,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":null,"result":null,"subtype":"error_during_execution"}`,
		`{"type":"error","message":"plain","code":"internal"}`)
}

// TestFixturesAreKnown: every line type that 0.171.0 sent is in a table.
func TestFixturesAreKnown(t *testing.T) {
	for _, f := range loadFixtures(t, "captured") {
		m := newMapper(options(f))
		for _, line := range f.Lines() {
			_, _ = m.Map(line)
		}
		if m.unknown > 0 || m.Facts().ShowsEveryTool {
			t.Errorf("%s: %d unknown lines", f.Name, m.unknown)
		}
	}
}

func TestShellWords(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{`/bin/bash -lc 'cat a.txt'`, `cat a.txt`},
		{`bash -lc ls`, `ls`},
		{`/bin/zsh -lc "echo \"\$HOME\" it's \\d"`, `echo "$HOME" it's \d`},
		{`bash -c 'it'"'"'s'`, `it's`},
		{"/bin/bash -lc \"cat <<'EOF'\nx\nEOF\"", "cat <<'EOF'\nx\nEOF"},
		{`bash -lc a\ b`, `a b`},
		{`git status`, `git status`},
		{`bash -lc a b`, `bash -lc a b`},
		{`bash -lc 'open`, `open`},
		{`powershell.exe -Command "ls"`, `powershell.exe -Command "ls"`},
		{``, ``},
	} {
		if got := (words{line: tt.line}).String(); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.line, got, tt.want)
		}
	}
	if got := (words{list: []string{"git", "add", "a b"}}).String(); got != "git add a b" {
		t.Errorf("a list: %q", got)
	}
}

func BenchmarkMapLargeOutput(b *testing.B) {
	line := []byte(itemLine("completed", `"id":"a","type":"command_execution","command":"x","aggregated_output":"`+strings.Repeat(`a line of some text\n`, 50_000)+`","exit_code":0,"status":"completed"`))
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		m := newMapper(agent.MapOptions{})
		if events, err := m.Map(bytes.Clone(line)); err != nil || len(events) != 3 {
			b.Fatalf("%d events, %v", len(events), err)
		}
	}
}
