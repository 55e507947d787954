package claude

import (
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// Shorthands for lines in the shapes of 332 and 197.
const initLine = `{"type":"system","subtype":"init","session_id":"S","model":"M"}`

func beginLine(id string) string {
	return `{"type":"stream_event","event":{"type":"message_start","message":{"id":"` + id + `","usage":{"input_tokens":100,"cache_creation_input_tokens":20,"cache_read_input_tokens":3000,"output_tokens":1}}},"session_id":"S","parent_tool_use_id":null,"uuid":"u"}`
}

func textLine(block, text string) string {
	return `{"type":"stream_event","event":{"type":"content_block_delta","index":` + block + `,"delta":{"type":"text_delta","text":"` + text + `"}},"session_id":"S","parent_tool_use_id":null,"uuid":"u"}`
}

func endLine(output string) string {
	return `{"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":` + output + `}},"parent_tool_use_id":null}`
}

const stopLine = `{"type":"stream_event","event":{"type":"message_stop"},"parent_tool_use_id":null}`

func abandonLine(block string) string {
	return `{"type":"stream_event","event":{"type":"message_stop"},"parent_tool_use_id":null,"abandoned_blocks":{"api_message_id":"x","from_block_index":` + block + `}}`
}

func saidLine(id, uuid, text string) string {
	return `{"type":"assistant","message":{"id":"` + id + `","content":[{"type":"text","text":"` + text + `"}],"usage":{"input_tokens":100,"output_tokens":1}},"parent_tool_use_id":null,"uuid":"` + uuid + `"}`
}

func callLine(id, name, input string) string {
	return `{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"` + id + `","name":"` + name + `","input":` + input + `}]},"parent_tool_use_id":null}`
}

func answerLine(id, content, rest string) string {
	return `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"` + id + `","content":` + content + `}]},"parent_tool_use_id":null` + rest + `}`
}

const (
	retryLine   = `{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":617.792195597373,"error_status":null,"error":"unknown"}`
	successLine = `{"type":"result","subtype":"success","is_error":false,"num_turns":1,"duration_ms":12,"total_cost_usd":0.5,"result":"words","usage":{},"modelUsage":{}}`
)

// encoded maps lines and returns every event as it goes out, Finish's too.
func encoded(t *testing.T, o agent.MapOptions, exit agent.Exit, lines ...string) []string {
	t.Helper()
	m := New().NewMapper(o)
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

// without drops the events of the given types.
func without(events []string, types ...string) []string {
	var out []string
next:
	for _, e := range events {
		for _, typ := range types {
			if strings.HasPrefix(e, `{"type":"`+typ+`"`) {
				continue next
			}
		}
		out = append(out, e)
	}
	return out
}

func compare(t *testing.T, got []string, want ...string) {
	t.Helper()
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

// TestText: text once; what an attempt showed is withdrawn when it is retried
// or abandoned.
func TestText(t *testing.T) {
	delta := func(id, text string) string { return `{"type":"delta","text":"` + text + `","messageId":"` + id + `"}` }
	reset := func(id string) string { return `{"type":"delta_reset","messageId":"` + id + `"}` }
	note := `{"type":"note","message":"retrying: the connection to the model failed, attempt 1 of 10, next try in 600ms","level":"warning","code":"retry"}`
	tests := []struct {
		name  string
		lines []string
		want  []string
	}{
		{"streamed text is not repeated", []string{beginLine("a"), textLine("0", "hel"), textLine("0", "lo"), saidLine("a", "1", "hello"), endLine("5"), stopLine},
			[]string{delta("a", "hel"), delta("a", "lo")}},
		{"no partials: one delta per block", []string{saidLine("a", "1", "hello"), saidLine("a", "2", "again")},
			[]string{delta("a", "hello"), delta("a", "again")}},
		{"a block that starts with text", []string{beginLine("a"), `{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"he"}},"parent_tool_use_id":null}`, textLine("0", "llo"), saidLine("a", "1", "hello")},
			[]string{delta("a", "he"), delta("a", "llo")}},
		{"197: retried without an end", []string{beginLine("a"), textLine("0", "hel"), retryLine, beginLine("b"), textLine("0", "hello"), saidLine("b", "1", "hello"), endLine("5")},
			[]string{delta("a", "hel"), note, reset("a"), delta("b", "hello")}},
		{"197: non-streaming request took its place", []string{beginLine("a"), textLine("0", "hel"), saidLine("b", "1", "hello")},
			[]string{delta("a", "hel"), reset("a"), delta("b", "hello")}},
		{"332: abandoned, then retried", []string{beginLine("a"), textLine("0", "hel"), abandonLine("0"), retryLine, beginLine("b"), textLine("0", "hello"), saidLine("b", "1", "hello")},
			[]string{delta("a", "hel"), reset("a"), note, delta("b", "hello")}},
		{"332: abandoned, then non-streaming", []string{beginLine("a"), textLine("0", "hel"), abandonLine("0"), saidLine("b", "1", "hello")},
			[]string{delta("a", "hel"), reset("a"), delta("b", "hello")}},
		{"stopped without a message_delta", []string{beginLine("a"), textLine("0", "hel"), stopLine, beginLine("b"), textLine("0", "hello")},
			[]string{delta("a", "hel"), reset("a"), delta("b", "hello")}},
		{"a new attempt without any end", []string{beginLine("a"), textLine("0", "hel"), beginLine("b"), textLine("0", "hello")},
			[]string{delta("a", "hel"), reset("a"), delta("b", "hello")}},
		{"332: only later blocks abandoned", []string{beginLine("a"), textLine("0", "kept"), saidLine("a", "1", "kept"), abandonLine("1")},
			[]string{delta("a", "kept")}},
		{"332: text of a later block abandoned", []string{beginLine("a"), textLine("0", "kept"), saidLine("a", "1", "kept"), textLine("1", "lost"), abandonLine("1")},
			[]string{delta("a", "kept"), delta("a", "lost"), reset("a"), delta("a", "kept")}},
		{"a finished message survives a retry of the next", []string{beginLine("a"), textLine("0", "one"), saidLine("a", "1", "one"), endLine("5"), stopLine, retryLine, beginLine("b"), textLine("0", "two")},
			[]string{delta("a", "one"), note, delta("b", "two")}},
		{"retry before any text", []string{beginLine("a"), retryLine, beginLine("b"), textLine("0", "two")},
			[]string{note, delta("b", "two")}},
		{"332: an assistant line is taken back", []string{beginLine("a"), textLine("0", "keep"), saidLine("a", "1", "keep"), textLine("1", "drop"), saidLine("a", "2", "drop"), `{"type":"user","isSynthetic":true,"message":{"content":[{"type":"text","text":"no"}]},"retracted_message_uuids":["2","unknown"]}`},
			[]string{delta("a", "keep"), delta("a", "drop"), reset("a"), delta("a", "keep")}},
		{"synthetic user lines are not shown", []string{`{"type":"user","isSynthetic":true,"message":{"content":[{"type":"text","text":"Resume directly"}]},"parent_tool_use_id":null}`, `{"type":"user","message":{"content":"plain string"}}`}, nil},
		{"sub-agents do not answer", []string{
			`{"type":"assistant","message":{"id":"s","content":[{"type":"text","text":"mine"},{"type":"thinking","thinking":"t"}]},"parent_tool_use_id":"T"}`,
			`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"mine"}},"parent_tool_use_id":"T"}`,
			`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"mine"}},"parent_tool_use_id":["odd"]}`,
		}, nil},
		{"an error's text belongs to the error event", []string{`{"type":"assistant","error":"unknown","message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"API Error: 400"}]}}`}, nil},
		{"332 names the message on each line", []string{beginLine("a"), strings.Replace(textLine("0", "x"), `"uuid":"u"`, `"uuid":"u","api_message_id":"b"`, 1), saidLine("b", "1", "x")},
			[]string{delta("b", "x")}},
		{"thinking, once", []string{beginLine("a"), `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}}`, `{"type":"assistant","message":{"id":"a","content":[{"type":"thinking","thinking":"hm"}]}}`, `{"type":"assistant","message":{"id":"b","content":[{"type":"thinking","thinking":"so"}]}}`},
			[]string{`{"type":"thinking_delta","text":"hm","messageId":"a"}`, `{"type":"thinking_delta","text":"so","messageId":"b"}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lines := append([]string{initLine}, tt.lines...)
			compare(t, without(encoded(t, agent.MapOptions{}, agent.Exit{Stopped: true}, lines...), "start", "usage"), tt.want...)
		})
	}
}

// TestUsage: one entry per message id, summed; estimates until the real usage.
func TestUsage(t *testing.T) {
	u := func(in, out, read, made, think string) string {
		return `{"type":"usage","inputTokens":` + in + `,"outputTokens":` + out + `,"cacheReadTokens":` + read + `,"cacheCreationTokens":` + made + `,"thinkingTokens":` + think + `}`
	}
	estimate := func(n string) string {
		return `{"type":"system","subtype":"thinking_tokens","estimated_tokens":99,"estimated_tokens_delta":` + n + `}`
	}
	result := func(fields string) string {
		return `{"type":"result","subtype":"success","is_error":false,"num_turns":1,"duration_ms":1,"result":"",` + fields + `}`
	}
	tests := []struct {
		name  string
		lines []string
		want  []string
	}{
		{"seeded, corrected, not lowered", []string{beginLine("a"), saidLine("a", "1", "x"), endLine("37"), saidLine("a", "1", "x")},
			[]string{u("100", "1", "3000", "20", "0"), u("100", "37", "3000", "20", "0")}},
		{"message_delta may lower", []string{beginLine("a"), `{"type":"stream_event","event":{"type":"message_delta","usage":{"input_tokens":90,"output_tokens":5}}}`},
			[]string{u("100", "1", "3000", "20", "0"), u("90", "5", "3000", "20", "0")}},
		{"messages sum", []string{beginLine("a"), endLine("10"), beginLine("b"), endLine("20")},
			[]string{u("100", "1", "3000", "20", "0"), u("100", "10", "3000", "20", "0"), u("200", "11", "6000", "40", "0"), u("200", "30", "6000", "40", "0")}},
		{"estimates accrue and reset", []string{beginLine("a"), estimate("50"), estimate("40"), saidLine("a", "1", "x"), endLine("120")},
			[]string{u("100", "1", "3000", "20", "0"), u("100", "1", "3000", "20", "50"), u("100", "1", "3000", "20", "90"), u("100", "120", "3000", "20", "0")}},
		{"a message that did not stream is authoritative", []string{estimate("50"), saidLine("a", "1", "x")},
			[]string{u("0", "0", "0", "0", "50"), u("100", "1", "0", "0", "0")}},
		{"sub-agents count", []string{beginLine("a"), endLine("10"), `{"type":"assistant","message":{"id":"s","usage":{"input_tokens":7,"output_tokens":1}},"parent_tool_use_id":"T"}`},
			[]string{u("100", "1", "3000", "20", "0"), u("100", "10", "3000", "20", "0"), u("107", "11", "3000", "20", "0")}},
		{"332: each result bills its own part", []string{beginLine("a"), endLine("10"),
			result(`"total_cost_usd":9,"modelUsage":{"m":{"inputTokens":9000}},"model_usage_since_last_result":{"m":{"inputTokens":100,"outputTokens":30,"costUSD":0.25},"n":{"inputTokens":5,"costUSD":0.25}}`),
			result(`"total_cost_usd":10,"model_usage_since_last_result":{"m":{"inputTokens":1,"costUSD":0.5}}`)},
			[]string{u("100", "1", "3000", "20", "0"), u("100", "10", "3000", "20", "0"), u("105", "30", "3000", "20", "0"), u("106", "30", "3000", "20", "0")}},
		{"197: the process's total", []string{result(`"total_cost_usd":0.25,"modelUsage":{"m":{"inputTokens":10}}`), result(`"total_cost_usd":1,"modelUsage":{"m":{"inputTokens":15}}`)},
			[]string{u("10", "0", "0", "0", "0"), u("15", "0", "0", "0", "0")}},
		{"nonsense", []string{`{"type":"assistant","message":{"id":"a","usage":{"input_tokens":-5,"output_tokens":1e300,"cache_read_input_tokens":"7"}}}`}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var usage []string
			for _, e := range encoded(t, agent.MapOptions{}, agent.Exit{Stopped: true}, append([]string{initLine}, tt.lines...)...) {
				if strings.HasPrefix(e, `{"type":"usage"`) {
					usage = append(usage, e)
				}
			}
			compare(t, usage, tt.want...)
		})
	}
	t.Run("only estimates are marked", func(t *testing.T) {
		m := newMapper(agent.MapOptions{})
		for line, want := range map[string]bool{estimate("5"): true, beginLine("a"): false} {
			events, _ := m.Map([]byte(line))
			if got := events[len(events)-1].(event.Usage).Estimate; got != want {
				t.Errorf("Estimate = %v for %s", got, line)
			}
		}
	})
}

// TestResult: the last result counts; success is is_error:false.
func TestResult(t *testing.T) {
	usage := `"usage":{"inputTokens":0,"outputTokens":0,"cacheReadTokens":0,"cacheCreationTokens":0,"thinkingTokens":0}`
	result := func(isError, turns, cost, text, subtype string) string {
		return `{"type":"result","isError":` + isError + `,"numTurns":` + turns + `,"durationMs":12,"totalCostUsd":` + cost + `,` + usage + `,"result":` + text + `,"subtype":"` + subtype + `"}`
	}
	aborted := `{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":2,"duration_ms":12,"terminal_reason":"aborted_tools","errors":["[ede_diagnostic] x"]}`
	failed := `{"type":"result","subtype":"success","is_error":true,"num_turns":1,"duration_ms":12,"result":"API Error: 400 bad","api_error_status":400}`
	tests := []struct {
		name      string
		exit      agent.Exit
		lines     []string
		want      []string
		succeeded bool
	}{
		{"text did not stream", agent.Exit{}, []string{successLine}, []string{result("false", "1", "0.5", `"words"`, "success")}, true},
		{"text streamed", agent.Exit{}, []string{beginLine("a"), textLine("0", "words"), saidLine("a", "1", "words"), successLine}, []string{`null`}, true},
		{"text streamed and was withdrawn", agent.Exit{}, []string{beginLine("a"), textLine("0", "words"), stopLine, successLine}, []string{`"words"`}, true},
		{"the last result counts", agent.Exit{}, []string{failed, successLine}, []string{result("false", "1", "0.5", `"words"`, "success")}, true},
		{"is_error is missing", agent.Exit{}, []string{`{"type":"result","subtype":"success","num_turns":1,"duration_ms":12}`},
			[]string{result("true", "1", "0", "null", "success"), `{"type":"error","message":"claude failed and gave no reason (success)","code":"internal"}`}, false},
		{"subtype success, is_error true", agent.Exit{Code: 1}, []string{failed},
			[]string{result("true", "1", "0", "null", "success"), `{"type":"error","message":"API Error: 400 bad","code":"bad_request"}`}, false},
		{"an interrupt of ours is a stop", agent.Exit{Code: 1, Stopped: true}, []string{aborted}, []string{result("false", "2", "0", "null", "error_during_execution")}, false},
		{"somebody else's is not", agent.Exit{Code: 0}, []string{aborted},
			[]string{result("true", "2", "0", "null", "error_during_execution"), `{"type":"error","message":"claude was interrupted from outside","code":"crashed"}`}, false},
		{"stopped without a result", agent.Exit{Code: -1, Signal: "SIGKILL", Stopped: true}, nil, nil, false},
		{"killed", agent.Exit{Code: -1, Signal: "SIGKILL"}, nil, []string{`{"type":"error","message":"claude ended early: SIGKILL without a result","code":"crashed"}`}, false},
		{"exit 0 without a result", agent.Exit{Code: 0, Stderr: "one\ntwo\n"}, nil, []string{`{"type":"error","message":"claude ended early: exit code 0 without a result: one\ntwo","code":"crashed"}`}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := New().NewMapper(agent.MapOptions{})
			for _, l := range append([]string{initLine}, tt.lines...) {
				if _, err := m.Map([]byte(l)); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, e := range m.Finish(tt.exit) {
				b, _ := event.Encode(e)
				got = append(got, string(b))
			}
			if len(tt.want) == 1 && !strings.HasPrefix(tt.want[0], "{") {
				if len(got) != 1 || !strings.Contains(got[0], `"result":`+tt.want[0]) {
					t.Errorf("got %s, want a result of %s", got, tt.want[0])
				}
			} else {
				compare(t, got, tt.want...)
			}
			if m.Facts().Succeeded != tt.succeeded {
				t.Errorf("Succeeded = %v", m.Facts().Succeeded)
			}
			if again := m.Finish(tt.exit); len(again) != 0 {
				t.Errorf("a second Finish gave %d events", len(again))
			}
		})
	}
}

// TestStoppingInFlight: while the run is being stopped nothing is a failure,
// even before the exit says so.
func TestStoppingInFlight(t *testing.T) {
	stopping := agent.MapOptions{Stopping: func() bool { return true }}
	compare(t, without(encoded(t, stopping, agent.Exit{Code: 1}, initLine), "start"))
}

// TestStart: once, first, and made up when the CLI forgets it.
func TestStart(t *testing.T) {
	start := `{"type":"start","sessionId":"S","model":"M","runId":"R","provider":"anthropic"}`
	o := agent.MapOptions{RunID: "R"}
	stopped := agent.Exit{Stopped: true}
	t.Run("two inits", func(t *testing.T) {
		compare(t, encoded(t, o, stopped, initLine, strings.Replace(initLine, `"S"`, `"S2"`, 1)), start)
	})
	t.Run("lines before it", func(t *testing.T) {
		compare(t, encoded(t, o, stopped, `{"type":"system","subtype":"hook_started"}`, `{"type":"system","subtype":"session_state_changed","state":"running"}`, initLine), start)
	})
	t.Run("none at all", func(t *testing.T) {
		compare(t, encoded(t, o, stopped, strings.Replace(saidLine("a", "1", "x"), `{`, `{"session_id":"S",`, 1)),
			`{"type":"start","sessionId":"S","model":"","runId":"R","provider":"anthropic"}`,
			`{"type":"usage","inputTokens":100,"outputTokens":1,"cacheReadTokens":0,"cacheCreationTokens":0,"thinkingTokens":0}`,
			`{"type":"delta","text":"x","messageId":"a"}`)
	})
	t.Run("another session than the one asked for", func(t *testing.T) {
		got := encoded(t, agent.MapOptions{RunID: "R", Resume: "OTHER"}, stopped, initLine)
		if len(got) != 2 || got[0] != start || !strings.Contains(got[1], `"code":"session_new"`) {
			t.Errorf("got %s", got)
		}
	})
	t.Run("the session asked for", func(t *testing.T) {
		compare(t, encoded(t, agent.MapOptions{RunID: "R", Resume: "s"}, stopped, initLine), start)
	})
}

// TestTools: names, details, paths, results.
func TestTools(t *testing.T) {
	o := agent.MapOptions{Repo: "/repo/web", Top: "/repo"}
	long := strings.Repeat("é", 4001)
	tests := []struct {
		name  string
		lines []string
		want  []string
	}{
		{"edit", []string{callLine("t", "Edit", `{"file_path":"/repo/web/a b.txt"}`)}, []string{`{"type":"file_edit","tool":"Edit","path":"web/a b.txt","id":"t"}`}},
		{"write, relative to the working directory", []string{callLine("t", "Write", `{"file_path":"src/x.ts"}`)}, []string{`{"type":"file_edit","tool":"Write","path":"web/src/x.ts","id":"t"}`}},
		{"old MultiEdit", []string{callLine("t", "MultiEdit", `{"file_path":"/repo/x"}`)}, []string{`{"type":"file_edit","tool":"MultiEdit","path":"x","id":"t"}`}},
		{"notebook", []string{callLine("t", "NotebookEdit", `{"notebook_path":"/repo/n.ipynb"}`)}, []string{`{"type":"file_edit","tool":"NotebookEdit","path":"n.ipynb","id":"t"}`}},
		{"outside", []string{callLine("t", "Edit", `{"file_path":"/repository/x"}`)}, []string{`{"type":"file_edit","tool":"Edit","path":"/repository/x","id":"t"}`}},
		{"dots", []string{callLine("t", "Edit", `{"file_path":"/repo/web/../../etc/x"}`)}, []string{`{"type":"file_edit","tool":"Edit","path":"/etc/x","id":"t"}`}},
		{"edit without a path", []string{callLine("t", "Edit", `{"wrong":1}`)}, []string{`{"type":"tool","tool":"Edit","detail":"","id":"t"}`}},
		{"command", []string{callLine("t", "Bash", `{"command":"ls -la","description":"List"}`)}, []string{`{"type":"tool","tool":"Bash","detail":"ls -la","id":"t"}`}},
		{"file", []string{callLine("t", "Read", `{"file_path":"/repo/web/x","limit":5}`)}, []string{`{"type":"tool","tool":"Read","detail":"web/x","id":"t"}`}},
		{"pattern", []string{callLine("t", "Grep", `{"pattern":"a.*b","path":"/repo"}`)}, []string{`{"type":"tool","tool":"Grep","detail":"a.*b","id":"t"}`}},
		{"directory", []string{callLine("t", "LS", `{"path":"/repo"}`)}, []string{`{"type":"tool","tool":"LS","detail":".","id":"t"}`}},
		{"mcp", []string{callLine("t", "mcp__my_server__do__it", `{"query":"q"}`)}, []string{`{"type":"tool","tool":"my_server: do__it","detail":"q","id":"t"}`}},
		{"not quite mcp", []string{callLine("t", "mcp__x", `[]`)}, []string{`{"type":"tool","tool":"mcp__x","detail":"","id":"t"}`}},
		{"announced twice", []string{callLine("t", "Bash", `{"command":"ls"}`), callLine("t", "Bash", `{"command":"ls"}`)}, []string{`{"type":"tool","tool":"Bash","detail":"ls","id":"t"}`}},
		{"shell edit", []string{callLine("t", "Bash", `{"command":"sed"}`), answerLine("t", `"out"`, `,"tool_use_result":{"stdout":"out","bashEditDiff":{"changedFiles":["/repo/a","","/repo/b"]}}`)},
			[]string{`{"type":"tool","tool":"Bash","detail":"sed","id":"t"}`, `{"type":"file_edit","tool":"Bash","path":"a","id":"t"}`, `{"type":"file_edit","tool":"Bash","path":"b","id":"t"}`, `{"type":"tool_result","tool":"Bash","id":"t","text":"out","isError":false,"truncated":false}`}},
		{"result as list, details as string", []string{callLine("t", "Bash", `{}`), answerLine("t", `[{"type":"text","text":"one"},{"type":"image","source":{"data":"QUJD"}},{"type":"text","text":"two"},{"type":"tool_reference"},7]`, `,"tool_use_result":"Error: x"`)},
			[]string{`{"type":"tool","tool":"Bash","detail":"","id":"t"}`, `{"type":"tool_result","tool":"Bash","id":"t","text":"one\n[image]\ntwo\n[tool_reference]","isError":false,"truncated":false}`}},
		{"details as list", []string{callLine("t", "mcp__a__b", `{}`), answerLine("t", `"x"`, `,"tool_use_result":[{"type":"text"}]`)},
			[]string{`{"type":"tool","tool":"a: b","detail":"","id":"t"}`, `{"type":"tool_result","tool":"a: b","id":"t","text":"x","isError":false,"truncated":false}`}},
		{"failed", []string{callLine("t", "Bash", `{}`), `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"Exit code 3"}]}}`},
			[]string{`{"type":"tool","tool":"Bash","detail":"","id":"t"}`, `{"type":"tool_result","tool":"Bash","id":"t","text":"Exit code 3","isError":true,"truncated":false}`}},
		{"cut at a character", []string{callLine("t", "Bash", `{}`), answerLine("t", `"`+long+`"`, ``)},
			[]string{`{"type":"tool","tool":"Bash","detail":"","id":"t"}`, `{"type":"tool_result","tool":"Bash","id":"t","text":"` + long[:8000] + `","isError":false,"truncated":true}`}},
		{"exactly the limit", []string{callLine("t", "Bash", `{}`), answerLine("t", `"`+long[2:]+`"`, ``)},
			[]string{`{"type":"tool","tool":"Bash","detail":"","id":"t"}`, `{"type":"tool_result","tool":"Bash","id":"t","text":"` + long[2:] + `","isError":false,"truncated":false}`}},
		{"answered twice", []string{callLine("t", "Bash", `{}`), answerLine("t", `"x"`, ``), answerLine("t", `"x"`, ``)},
			[]string{`{"type":"tool","tool":"Bash","detail":"","id":"t"}`, `{"type":"tool_result","tool":"Bash","id":"t","text":"x","isError":false,"truncated":false}`}},
		{"an answer to nothing", []string{answerLine("t", `"x"`, ``)},
			[]string{`{"type":"tool","tool":"tool","detail":"","id":"t"}`, `{"type":"tool_result","tool":"tool","id":"t","text":"x","isError":false,"truncated":false}`}},
		{"sub-agent", []string{`{"type":"assistant","message":{"id":"s","content":[{"type":"tool_use","id":"t","name":"Edit","input":{"file_path":"/repo/a"}}]},"parent_tool_use_id":"P"}`, `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]},"parent_tool_use_id":"P"}`},
			[]string{`{"type":"file_edit","tool":"Edit","path":"a","id":"t","parentId":"P"}`, `{"type":"tool_result","tool":"Edit","id":"t","text":"ok","isError":false,"truncated":false}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lines := append([]string{initLine}, tt.lines...)
			compare(t, without(encoded(t, o, agent.Exit{Stopped: true}, lines...), "start", "usage"), tt.want...)
		})
	}
}

// TestEditPaths: what edit tools and shell edits named, once each.
func TestEditPaths(t *testing.T) {
	m := New().NewMapper(agent.MapOptions{Repo: "/repo"})
	for _, l := range []string{initLine, callLine("1", "Edit", `{"file_path":"/repo/a"}`), callLine("2", "Edit", `{"file_path":"/repo/a"}`), callLine("3", "Write", `{"file_path":"/else/b"}`), callLine("4", "Read", `{"file_path":"/repo/c"}`), answerLine("1", `"ok"`, ``)} {
		if _, err := m.Map([]byte(l)); err != nil {
			t.Fatal(err)
		}
	}
	f := m.Facts()
	if got := strings.Join(f.EditPaths, " "); got != "a /else/b" || f.ToolsOpen != 3 || !f.ShowsEveryTool {
		t.Errorf("facts %+v", f)
	}
}

// TestNotes: retries, limits, sentences of the CLI.
func TestNotes(t *testing.T) {
	limit := func(status, kind, resets string) string {
		return `{"type":"rate_limit_event","rate_limit_info":{"status":"` + status + `","rateLimitType":"` + kind + `","resetsAt":` + resets + `}}`
	}
	note := func(message, level, code, resets string) string {
		if resets != "" {
			resets = `,"resetsAt":"` + resets + `"`
		}
		return `{"type":"note","message":"` + message + `","level":"` + level + `","code":"` + code + `"` + resets + `}`
	}
	tests := []struct {
		name  string
		lines []string
		want  []string
	}{
		{"retry with a status", []string{`{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"retry_delay_ms":1155,"error_status":529,"error":"overloaded"}`},
			[]string{note("retrying: overloaded (529), attempt 2 of 10, next try in 1.2s", "warning", "retry", "")}},
		{"retry, cause unknown", []string{`{"type":"system","subtype":"api_retry","attempt":1,"max_retries":1,"retry_delay_ms":500,"error_status":500,"error":"unknown"}`},
			[]string{note("retrying: error 500, attempt 1 of 1, next try in 500ms", "warning", "retry", "")}},
		{"allowed", []string{limit("allowed", "five_hour", "1796025190")}, nil},
		{"warned once, then reached", []string{limit("allowed_warning", "five_hour", "1796025190"), limit("allowed_warning", "five_hour", "1796025190"), limit("rejected", "five_hour", "1796025190000")},
			[]string{note("the usage limit is nearly reached (five hour)", "warning", "rate_limit", "2026-11-30T07:53:10Z"), note("the usage limit is reached (five hour)", "warning", "rate_limit", "2026-11-30T07:53:10Z")}},
		{"reset time as text", []string{limit("rejected", "", `"2026-11-30T08:53:10+01:00"`)}, []string{note("the usage limit is reached", "warning", "rate_limit", "2026-11-30T07:53:10Z")}},
		{"reset time is nonsense", []string{limit("rejected", "", `{"at":1}`)}, []string{note("the usage limit is reached", "warning", "rate_limit", "")}},
		{"informational", []string{`{"type":"system","subtype":"informational","content":"be careful","level":"warning"}`, `{"type":"system","subtype":"informational"}`},
			[]string{note("be careful", "warning", "agent", "")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			compare(t, encoded(t, agent.MapOptions{}, agent.Exit{Stopped: true}, tt.lines...), tt.want...)
		})
	}
}

// TestOddLines: another type than expected loses that field only.
func TestOddLines(t *testing.T) {
	usage := `{"type":"usage","inputTokens":0,"outputTokens":3,"cacheReadTokens":0,"cacheCreationTokens":0,"thinkingTokens":0}`
	tests := []struct {
		name, line string
		want       []string
		unknown    int
	}{
		{"wrong types around the text", `{"type":"assistant","uuid":7,"error":{},"parent_tool_use_id":null,"tool_use_result":[1],"message":{"id":"a","role":[],"content":["x",{"type":"text","text":"kept","input":"str"},{"type":"text","text":9}],"usage":{"input_tokens":"many","output_tokens":3}}}`,
			[]string{usage, `{"type":"delta","text":"kept","messageId":"a"}`}, 0},
		{"duplicate keys: the last counts", `{"type":"grease","type":"assistant","message":{"id":"a","id":"b","content":[{"type":"text","text":"no"}],"content":[{"type":"text","text":"yes"}]}}`,
			[]string{`{"type":"delta","text":"yes","messageId":"b"}`}, 0},
		{"raw U+2028 and NUL", "{\"type\":\"assistant\",\"message\":{\"id\":\"a\",\"content\":[{\"type\":\"text\",\"text\":\"a\u2028b\\u0000c\"}]}}",
			[]string{`{"type":"delta","text":"a\u2028b\u0000c","messageId":"a"}`}, 0},
		{"lone surrogate", `{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"\ud800x"}]}}`, []string{"{\"type\":\"delta\",\"text\":\"\ufffdx\",\"messageId\":\"a\"}"}, 0},
		{"leading space", "  \t" + `{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"x"}]}}`, []string{`{"type":"delta","text":"x","messageId":"a"}`}, 0},
		{"no message", `{"type":"assistant"}`, nil, 0},
		{"content is an object", `{"type":"user","message":{"content":{"type":"tool_result"}}}`, nil, 0},
		{"unknown type", `{"type":"brand_new","message":{"content":[{"type":"text","text":"x"}]}}`, nil, 1},
		{"unknown subtype", `{"type":"system","subtype":"brand_new"}`, nil, 1},
		{"unknown stream event", `{"type":"stream_event","event":{"type":"brand_new"}}`, nil, 1},
		{"unknown delta", `{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"brand_new"}}}`, nil, 1},
		{"no type", `{"text":"x"}`, nil, 1},
		{"type is a number", `{"type":1}`, nil, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMapper(agent.MapOptions{})
			if _, err := m.Map([]byte(initLine)); err != nil {
				t.Fatal(err)
			}
			events, err := m.Map([]byte(tt.line))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range events {
				b, _ := event.Encode(e)
				got = append(got, string(b))
			}
			compare(t, got, tt.want...)
			if m.Facts().Unknown != tt.unknown {
				t.Errorf("Unknown = %d, want %d", m.Facts().Unknown, tt.unknown)
			}
		})
	}
}

// TestFixturesAreKnown: every line type the two versions sent is in a table.
func TestFixturesAreKnown(t *testing.T) {
	for _, f := range loadFixtures(t, "captured") {
		m := newMapper(options(f))
		for _, line := range f.Lines() {
			before := m.unknown
			_, _ = m.Map(line)
			if m.unknown != before {
				t.Errorf("%s: unknown line %.200s", f.Name, line)
			}
		}
	}
}
