package grok

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
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

// chatHistory has every kind of record of
// xai-grok-sampling-types/src/conversation.rs; the story is made.
const chatHistory = `{"type":"system","content":"You are Grok."}
{"type":"user","content":[{"type":"text","text":"<user_info>\nOS Version: linux\n</user_info>"}]}
{"type":"user","content":[{"type":"text","text":"# AGENTS.md"}],"synthetic_reason":"project_instructions"}
{"type":"user","content":[{"type":"text","text":"<user_query>\nfix it\n</user_query>"},{"type":"image","url":"data:image/png;base64,iVBORw0KGgo="}],"prompt_index":0}
{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Look."}],"encrypted_content":"e"}
{"type":"assistant","content":"Editing.","tool_calls":[{"id":"call_1","name":"read_file","arguments":"{\"target_file\":\"/repo/a.png\"}"},{"id":"call_2","name":"search_replace","arguments":"{\"file_path\":\"src/a.go\",\"old_string\":\"x\",\"new_string\":\"y\"}"}],"model_id":"grok-4.6"}
{"type":"tool_result","tool_call_id":"call_1","content":"Read image file: a.png","images":[{"type":"image","url":"data:image/png;base64,iVBORw0KGgo="}]}
{"type":"tool_result","tool_call_id":"call_2","content":"The file src/a.go has been updated successfully."}
{"type":"backend_tool_call","kind":{"tool_type":"web_search","id":"ws_1","status":"completed","action":{"type":"search","query":"q","sources":[{"url":"https://e.x","title":"E"}]}}}
{"type":"user","content":[{"type":"text","text":"keep going"}],"synthetic_reason":"auto_continue"}
{"type":"assistant","content":"","tool_calls":[{"id":"call_3","name":"run_terminal_command","arguments":"{\"command\":\"make\"}"},{"id":"call_4","name":"use_tool","arguments":"{\"tool_name\":\"linear__save\",\"tool_input\":{\"b\":1,\"a\":2}}"},{"id":"call_5","name":"list_dir","arguments":"not JSON"}],"model_id":"grok-4.6"}
{"type":"tool_result","tool_call_id":"call_3","content":"exit: 2\nno rule\n"}
{"type":"tool_result","tool_call_id":"call_4","content":[{"type":"text","text":"saved"}]}
{"type":"tool_result","tool_call_id":"call_9","content":"of a call that is gone"}
{"type":"user","content":[{"type":"text","text":"also the header"}],"synthetic_reason":"interjection"}
{"type":"assistant","content":"Done.","model_id":"grok-4.6"}
{"type":"user","content":"<user_query>\n  thanks\n</user_query>","prompt_index":1}
{"type":"backend_tool_call","kind":{"tool_type":"web_search","status":"failed","action":{"type":"open_page","url":"https://e.x"}}}
{"type":"tool_result","tool_call_id":"call_10","content":"exit: 0\nok"}
`

func recordsOf(text string) [][]byte {
	return bytes.Split(bytes.TrimSuffix([]byte(text), []byte("\n")), []byte("\n"))
}

// replayAll replays a whole conversation.
func replayAll(h agent.History, lines [][]byte) []event.Event {
	return agenttest.Replay(New(Options{}).NewReplay(h), lines)
}

// wire encodes events for comparison; a result is without what
// chat_history.jsonl does not keep: time, tokens and price.
func wire(t *testing.T, events []event.Event) []string {
	t.Helper()
	return agenttest.Wire(t, events, func(r *event.Result) { r.DurationMs, r.TotalCostUSD, r.Usage = 0, 0, nil })
}

func TestReplayOfAConversation(t *testing.T) {
	const want = `{"type":"user","text":"fix it"}
{"type":"thinking_delta","text":"Look.","messageId":"0"}
{"type":"delta","text":"Editing.","messageId":"0"}
{"type":"tool","tool":"read_file","detail":"a.png","id":"1"}
{"type":"file_edit","tool":"search_replace","path":"src/a.go","id":"2"}
{"type":"tool_result","tool":"read_file","id":"1","text":"Read image file: a.png","isError":false,"truncated":false}
{"type":"tool_result","tool":"search_replace","id":"2","text":"The file src/a.go has been updated successfully.","isError":false,"truncated":false}
{"type":"tool","tool":"web_search","detail":"q","id":"3"}
{"type":"tool_result","tool":"web_search","id":"3","text":"E https://e.x","isError":false,"truncated":false}
{"type":"tool","tool":"run_terminal_command","detail":"make","id":"4"}
{"type":"tool","tool":"linear: save","detail":"{\"a\":2,\"b\":1}","id":"5"}
{"type":"tool","tool":"list_dir","detail":"","id":"6"}
{"type":"tool_result","tool":"run_terminal_command","id":"4","text":"exit: 2\nno rule\n","isError":true,"truncated":false}
{"type":"tool_result","tool":"linear: save","id":"5","text":"saved","isError":false,"truncated":false}
{"type":"tool","tool":"tool","detail":"","id":"7"}
{"type":"tool_result","tool":"tool","id":"7","text":"of a call that is gone","isError":false,"truncated":false}
{"type":"user","text":"also the header"}
{"type":"delta","text":"Done.","messageId":"8"}
{"type":"result","isError":false,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":null,"result":null,"subtype":"success"}
{"type":"user","text":"  thanks"}
{"type":"tool","tool":"web_search","detail":"https://e.x","id":"9"}
{"type":"tool_result","tool":"web_search","id":"9","text":"the search failed","isError":true,"truncated":false}
{"type":"tool","tool":"tool","detail":"","id":"10"}
{"type":"tool_result","tool":"tool","id":"10","text":"exit: 0\nok","isError":false,"truncated":false}`
	lines := recordsOf(chatHistory)
	h := agent.History{Repo: testRepo}
	all := replayAll(h, lines)
	if got := strings.Join(wire(t, all), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	// Torn lines and a half-written last one lose themselves only.
	torn := slices.Clone(lines)
	for i := len(torn); i >= 0; i-- {
		torn = slices.Insert(torn, i, []byte(`{"type":"user","content":[{"type":"te`), []byte("no JSON"), []byte(""), []byte(`{"type":"assistant","content":"x"`))
	}
	if got := strings.Join(wire(t, replayAll(h, torn)), "\n"); got != want {
		t.Errorf("with torn lines: %s", got)
	}

	// A page may begin at any turn, and its ids are those of the whole.
	r := New(Options{}).NewReplay(h)
	var alone []event.Event
	for from := range lines {
		if !r.Begins(lines[from]) {
			continue
		}
		to := from + 1
		for to < len(lines) && !r.Begins(lines[to]) {
			to++
		}
		alone = append(alone, replayAll(h, lines[from:to])...)
	}
	if !slices.Equal(wire(t, alone), wire(t, all)) {
		t.Errorf("turn by turn: %v", wire(t, alone))
	}
}

// A prompt with a picture in it may be longer than what Begins is given.
func TestBeginsOfCutLines(t *testing.T) {
	image := `{"type":"image","url":"data:image/png;base64,` + strings.Repeat("A", 2*agent.ScanLimit) + `"}`
	text := `{"type":"text","text":"<user_query>\nlook\n</user_query>"}`
	info := `{"type":"text","text":"<user_info>\nlinux\n</user_info>"}`
	tests := []struct {
		name, line string
		want       string // the human's words, "" = none
	}{
		{"text first", `{"type":"user","content":[` + text + `,` + image + `],"prompt_index":3}`, "look"},
		{"picture first", `{"type":"user","content":[` + image + `,` + text + `],"prompt_index":3}`, "\nlook"},
		{"long words", `{"type":"user","content":"` + strings.Repeat("a", 2*agent.ScanLimit) + `"}`, strings.Repeat("a", 2*agent.ScanLimit)},
		{"synthetic", `{"type":"user","synthetic_reason":"auto_continue","content":[` + text + `,` + image + `]}`, ""},
		{"user info", `{"type":"user","content":[` + info + `],"x":` + image + `}`, ""},
		{"a tool's", `{"type":"tool_result","tool_call_id":"user","content":"","images":[` + image + `]}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := New(Options{}).NewReplay(agent.History{Repo: testRepo})
			if got := r.Begins([]byte(tt.line)[:agent.ScanLimit]); got != (tt.want != "") {
				t.Errorf("begins: %v", got)
			}
			words := ""
			for _, e := range r.Map([]byte(tt.line)) {
				if u, ok := e.(event.User); ok {
					words = u.Text
				}
			}
			if strings.TrimSpace(words) != strings.TrimSpace(tt.want) {
				t.Errorf("words %.40q", words)
			}
		})
	}
}

// differences are all that a replay may have other than the live stream: "-"
// is live only, "+" is of the replay. An entry must be needed. None is for time,
// tokens and price, which are never kept.
var differences = map[string]struct {
	why  string
	diff []string
}{
	"apply-patch-unread": {"what a patch touched is in grok's own output of the tool, which the conversation does not keep", []string{
		`-{"type":"file_edit","tool":"apply_patch","path":"a.txt","id":"0"}`,
	}},
	"cancelled": {whyFailed, []string{
		"-{\"type\":\"tool_result\",\"tool\":\"write\",\"id\":\"0\",\"text\":\"User cancelled the execution for tool `write`\",\"isError\":true,\"truncated\":false}",
		`-{"type":"result","isError":true,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":null,"result":null,"subtype":"error_during_execution"}`,
		`-{"type":"error","message":"grok cancelled the turn: a rule or a hook of its own configuration forbade a tool","code":"crashed","fix":"look at the rules in ~/.grok and in the project's .grok folder"}`,
		"+{\"type\":\"tool_result\",\"tool\":\"write\",\"id\":\"0\",\"text\":\"User cancelled the execution for tool `write`\",\"isError\":false,\"truncated\":false}",
	}},
	"command-timeout": {whyTool, []string{
		`-{"type":"tool_result","tool":"run_terminal_command","id":"0","text":"Command timed out after 1 s.","isError":true,"truncated":false}`,
		`+{"type":"tool_result","tool":"run_terminal_command","id":"0","text":"Command timed out after 1 s.","isError":false,"truncated":false}`,
	}},
	"edit-nomatch": {whyTool, []string{
		`-{"type":"tool_result","tool":"search_replace","id":"0","text":"The string to replace was not found in a.txt.","isError":true,"truncated":false}`,
		`+{"type":"tool_result","tool":"search_replace","id":"0","text":"The string to replace was not found in a.txt.","isError":false,"truncated":false}`,
	}},
	"empty-response": {"a response without content leaves no record", []string{
		`-{"type":"result","isError":false,"numTurns":2,"durationMs":0,"totalCostUsd":0,"usage":null,"result":null,"subtype":"success"}`,
		`+{"type":"result","isError":false,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":null,"result":null,"subtype":"success"}`,
	}},
	"err-500": {whyFailed, []string{
		`-{"type":"result","isError":true,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":null,"result":null,"subtype":"error_during_execution"}`,
		`-{"type":"error","message":"xAI's servers have a problem","code":"overloaded","fix":"wait a little, then ask again"}`,
		`+{"type":"result","isError":false,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":null,"result":null,"subtype":"success"}`,
	}},
	"err-max-tokens": {whyFailed, []string{
		`-{"type":"result","isError":true,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":null,"result":null,"subtype":"error_during_execution"}`,
		`-{"type":"error","message":"the answer was cut off at the model's longest output","code":"internal","fix":"ask for less at once"}`,
		`+{"type":"result","isError":false,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":null,"result":null,"subtype":"success"}`,
	}},
	"interrupt-command": {"the response that was under way when grok was ended leaves no record", []string{
		`-{"type":"delta","text":"Now the command.","messageId":"1"}`,
		`-{"type":"tool","tool":"run_terminal_command","detail":"sleep 600","id":"2"}`,
	}},
	"max-turns": {whyFailed, []string{
		`-{"type":"result","isError":true,"numTurns":40,"durationMs":0,"totalCostUsd":0,"usage":null,"result":null,"subtype":"error_max_turns"}`,
		`-{"type":"error","message":"the limit of turns is reached; what was done so far is kept","code":"max_turns","fix":"continue the session to let it go on, or raise --max-turns"}`,
	}},
	"mcp-error": {whyTool, []string{
		`-{"type":"tool_result","tool":"linear: save","id":"0","text":"boom","isError":true,"truncated":false}`,
		`+{"type":"tool_result","tool":"linear: save","id":"0","text":"boom","isError":false,"truncated":false}`,
	}},
	"outside": {whyTool, []string{
		`-{"type":"tool_result","tool":"write","id":"0","text":"/outside does not exist","isError":true,"truncated":false}`,
		`+{"type":"tool_result","tool":"write","id":"0","text":"/outside does not exist","isError":false,"truncated":false}`,
	}},
	"preflight-split": {whyTool, []string{
		"-{\"type\":\"tool_result\",\"tool\":\"search_replace\",\"id\":\"1\",\"text\":\"Invalid arguments for tool `search_replace`\",\"isError\":true,\"truncated\":false}",
		"+{\"type\":\"tool_result\",\"tool\":\"search_replace\",\"id\":\"1\",\"text\":\"Invalid arguments for tool `search_replace`\",\"isError\":false,\"truncated\":false}",
	}},
	"refusal": {whyFailed, []string{
		`-{"type":"result","isError":true,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":null,"result":null,"subtype":"error_during_execution"}`,
		`-{"type":"error","message":"The model refused to continue","code":"refused","fix":"put the request differently, or choose another model"}`,
		`+{"type":"result","isError":false,"numTurns":1,"durationMs":0,"totalCostUsd":0,"usage":null,"result":null,"subtype":"success"}`,
	}},
	"tool-error": {whyTool, []string{
		`-{"type":"tool_result","tool":"list_dir","id":"0","text":"boom","isError":true,"truncated":false}`,
		`+{"type":"tool_result","tool":"list_dir","id":"0","text":"boom","isError":false,"truncated":false}`,
	}},
	"unfinished": {"no record ends a turn: the last one is of a tool, and nothing says that grok gave up", []string{
		`-{"type":"tool_result","tool":"run_terminal_command","id":"0","text":"tool call did not complete","isError":true,"truncated":false}`,
		`-{"type":"result","isError":false,"numTurns":2,"durationMs":0,"totalCostUsd":0,"usage":null,"result":null,"subtype":"success"}`,
		`+{"type":"tool_result","tool":"run_terminal_command","id":"0","text":"tool call did not complete","isError":false,"truncated":false}`,
	}},
	"web-search-error": {"the reason of a failed search is not kept", []string{
		`-{"type":"tool_result","tool":"web_search","id":"0","text":"the search failed unavailable","isError":true,"truncated":false}`,
		`+{"type":"tool_result","tool":"web_search","id":"0","text":"the search failed","isError":true,"truncated":false}`,
	}},
	"write-exists": {whyTool, []string{
		`-{"type":"tool_result","tool":"write","id":"0","text":"a.txt already exists; read it first.","isError":true,"truncated":false}`,
		`+{"type":"tool_result","tool":"write","id":"0","text":"a.txt already exists; read it first.","isError":false,"truncated":false}`,
	}},
}

const (
	whyTool   = "the conversation has the words of a failed tool, and nothing that says it failed"
	whyFailed = "the conversation has no record of how a turn ended: an answer that asks for no tool looks like success"
)

// TestReplayEqualsTheLiveStream compares, for every fixture, what a client was
// told with what it is told from history. No chat_history.jsonl of a real grok
// is there, so what it presumably keeps is made of the lines of stdout.
func TestReplayEqualsTheLiveStream(t *testing.T) {
	notReplayed := []string{"start", "usage", "note"}
	compared, unused := 0, maps.Clone(differences)
	for _, f := range loadFixtures(t) {
		chat := chatOf(t, f)
		if len(chat) < 2 {
			continue
		}
		compared++
		delete(unused, f.Case())
		t.Run(f.Case(), func(t *testing.T) {
			m := New(Options{}).NewMapper(options(f))
			var live []event.Event
			for _, line := range f.Lines() {
				events, err := m.Map(line)
				if err != nil {
					t.Fatal(err)
				}
				live = append(live, slices.Clone(events)...)
			}
			live = append(live, m.Finish(exitOf(f))...)
			live = slices.DeleteFunc(live, func(e event.Event) bool { return slices.Contains(notReplayed, e.Type()) })
			replayed := replayAll(agent.History{Repo: testRepo}, chat)
			if len(replayed) == 0 || replayed[0] != (event.User{Text: string(f.Piped)}) {
				t.Fatalf("the turn does not begin with %q: %v", f.Piped, wire(t, replayed))
			}
			got := agenttest.Diff(wire(t, joined(live)), wire(t, replayed[1:]))
			if allowed := differences[f.Case()]; !slices.Equal(got, allowed.diff) {
				t.Errorf("the replay differs (allowed: %s)\n%s\nwant\n%s", allowed.why, strings.Join(got, "\n"), strings.Join(allowed.diff, "\n"))
			}
		})
	}
	if compared < 35 || len(unused) > 0 {
		t.Errorf("%d fixtures were compared, want at least 35; none is of %v", compared, unused)
	}
}

// joined puts deltas of a message that follow each other together: a replay has
// whole texts.
func joined(events []event.Event) (out []event.Event) {
	for _, e := range events {
		if len(out) > 0 {
			switch last := out[len(out)-1].(type) {
			case event.Delta:
				if d, ok := e.(event.Delta); ok && d.MessageID == last.MessageID {
					last.Text += d.Text
					out[len(out)-1] = last
					continue
				}
			case event.ThinkingDelta:
				if d, ok := e.(event.ThinkingDelta); ok && d.MessageID == last.MessageID {
					last.Text += d.Text
					out[len(out)-1] = last
					continue
				}
			}
		}
		out = append(out, e)
	}
	return out
}

// chatOf is what grok presumably keeps of a run.
func chatOf(t *testing.T, f *fakeagents.Fixture) (chat [][]byte) {
	t.Helper()
	type object = map[string]any
	write := func(v object) {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		chat = append(chat, b)
	}
	write(object{"type": "user", "content": []object{{"type": "text", "text": "System.\n\n" + marker + "\n\n" + string(f.Piped)}}, "prompt_index": 0})
	for _, line := range f.Lines() {
		var l wireLine
		var raw struct {
			Message struct {
				Content []struct {
					Input json.RawMessage `json:"input"`
				} `json:"content"`
			} `json:"message"`
		}
		if !agent.Decode(line, &l) || !agent.Decode(line, &raw) {
			continue
		}
		text, calls := "", []object{}
		for i, b := range l.Message.Content {
			switch b.Type {
			case "thinking":
				write(object{"type": "reasoning", "id": "rs", "summary": []object{{"type": "summary_text", "text": b.Thinking}}})
			case "text":
				text += b.Text
			case "tool_use":
				calls = append(calls, object{"id": b.ID, "name": b.Name, "arguments": string(raw.Message.Content[i].Input)})
			case "server_tool_use":
				kind := object{"tool_type": b.Name, "id": b.ID, "status": "completed"}
				var sources []object
				for _, r := range l.Message.Content {
					if list, ok := r.Content.([]any); ok && r.ToolUseID == b.ID {
						for _, s := range list {
							sources = append(sources, object{"url": s.(object)["url"], "title": s.(object)["title"]})
						}
					} else if r.ToolUseID == b.ID {
						kind["status"] = "failed"
					}
				}
				kind["action"] = object{"type": "search", "query": b.Input.Query, "sources": sources}
				write(object{"type": "backend_tool_call", "kind": kind})
			case "tool_result":
				write(object{"type": "tool_result", "tool_call_id": b.ToolUseID, "content": outputOf(b.Content).text})
			}
		}
		if l.Type == "assistant" {
			write(object{"type": "assistant", "content": text, "tool_calls": calls, "model_id": "grok-4.6"})
		}
	}
	return chat
}

// writeTranscript writes the files of a session into folder, and returns the
// session as it is listed.
func writeTranscript(t testing.TB, folder, id, summary, chat string) agent.Transcript {
	t.Helper()
	dir := filepath.Join(folder, id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	tr := agent.Transcript{ID: strings.ToLower(id), Path: filepath.Join(dir, summaryFile), Events: filepath.Join(dir, chatFile), Whole: true}
	for path, text := range map[string]string{tr.Path: summary, tr.Events: chat} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return tr
}

func TestTranscripts(t *testing.T) {
	user := t.TempDir()
	home := filepath.Join(user, ".grok")
	root := filepath.Join(home, "sessions")
	long := "/p/" + strings.Repeat("höhle/", 40) + "My App!"
	const second, third = "0198C0DE-7A3B-7288-8960-BF333D3405A9", "0198c0de-7a3b-7288-8960-bf333d3405aa"
	odd := writeTranscript(t, filepath.Join(root, "%2Fp%2Fa%20b%21%27%28%29%2A-._~%C3%A9"), testSession, "{}", "{}")
	upper := writeTranscript(t, filepath.Join(root, "%2Fp%2Fapp"), second, "{}", "")
	hashed := writeTranscript(t, filepath.Join(root, fakeagents.GrokFolder(long)), third, "{}", "{}")
	if err := os.Mkdir(filepath.Join(root, "%2Fp%2Fapp", "not-a-session"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "%2Fp%2Fapp", testSession), nil, 0o600); err != nil { // no folder
		t.Fatal(err)
	}
	environ := []string{"HOME=" + user}
	tests := []struct {
		name, home, repo string
		environ          []string
		want             []agent.Transcript
	}{
		{"odd characters", "", "/p/a b!'()*-._~é", environ, []agent.Transcript{odd}},
		{"upper case", "", "/p/app", environ, []agent.Transcript{upper}},
		{"a path that is too long", "", long, environ, []agent.Transcript{hashed}},
		{"GROK_HOME", "", "/p/app", []string{"HOME=/nowhere", "GROK_HOME=" + home}, []agent.Transcript{upper}},
		{"--grok-home", home, "/p/app", []string{"GROK_HOME=/nowhere"}, []agent.Transcript{upper}},
		{"a folder without sessions", "", "/p/ap", environ, nil},
		{"a home without sessions", t.TempDir(), "/p/app", nil, nil},
		{"a home without sessions, a long path", t.TempDir(), long, nil, nil},
		{"no home", "", "/p/app", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := New(Options{Home: tt.home}).Transcripts(agent.History{Repo: tt.repo, Environ: tt.environ})
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%v, %v; want %v", got, err, tt.want)
			}
		})
	}
}

func scanOf(t testing.TB, h agent.History, tr agent.Transcript, summary string) agent.Scan {
	t.Helper()
	s, err := New(Options{}).NewScan(h, tr, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Line([]byte(summary))
	return s
}

func TestScan(t *testing.T) {
	summary := func(members string) string {
		return `{
  "info": {"id": "` + testSession + `", "cwd": "/repo"},
  "created_at": "2026-08-19T00:00:00.123456789Z",
  "updated_at": "2026-08-19T00:03:00Z",
  "last_active_at": "2026-08-19T02:01:00+02:00",
  "num_messages": 9, "num_chat_messages": 7, "head_branch": "main"` + members + `
}`
	}
	row := agent.Row{
		StartedAt: time.Date(2026, 8, 19, 0, 0, 0, 123456789, time.UTC), EndedAt: time.Date(2026, 8, 19, 0, 1, 0, 0, time.UTC),
		Branch: "main", Messages: 7,
	}
	with := func(title, prompt string) agent.Row {
		r := row
		r.Title, r.FirstPrompt = title, prompt
		return r
	}
	bare := func(r agent.Row) agent.Row { r.Branch, r.Messages = "", 0; return r }
	ours := `{"type":"user","content":[{"type":"text","text":"You edit  web pages.\n\n` + marker + `\n\nmake it green"}]}` + "\n"
	tests := []struct {
		name, summary, chat string
		verdict             agent.Verdict
		row                 agent.Row
	}{
		{"with a title", summary(`,"session_summary":"fix it","generated_title":"Fix parser"`), chatHistory, agent.Ours, with("Fix parser", "fix it")},
		{"a title of its own in the summary", summary(`,"session_summary":"Parser repair"`), chatHistory, agent.Ours, with("Parser repair", "fix it")},
		{"the prompt's beginning is no title", summary(`,"session_summary":"You edit web pages."`), ours, agent.Ours, with("", "make it green")},
		{"no conversation", summary(`,"session_summary":"fix it"`), "", agent.Ours, with("fix it", "fix it")},
		{"a conversation without a human", summary(`,"session_summary":"fix it"`), strings.Join(strings.SplitAfter(chatHistory, "\n")[:3], ""), agent.Ours, with("fix it", "fix it")},
		{"wrong types", summary(`,"session_summary":7,"hidden":"no","head_branch":[]`), ours, agent.Ours, with("", "make it green")},
		{"not active", `{"info":{"cwd":"/repo"},"created_at":"2026-08-19T00:00:00.123456789Z","updated_at":"2026-08-19T00:01:00Z"}`, ours, agent.Ours, bare(with("", "make it green"))},
		{"no times", `{"info":{"cwd":"/repo"},"created_at":"soon"}`, ours, agent.Ours, agent.Row{FirstPrompt: "make it green"}},
		{"a sub-agent", summary(`,"session_kind":"subagent_fork"`), chatHistory, agent.Hidden, agent.Row{}},
		{"hidden", summary(`,"hidden":true`), chatHistory, agent.Hidden, agent.Row{}},
		{"another folder", strings.ReplaceAll(summary(""), "/repo", "/repo2"), chatHistory, agent.Foreign, agent.Row{}},
		{"no folder", `{"info":{"id":"x"}}`, chatHistory, agent.Undecided, agent.Row{}},
		{"being written", summary("")[:80], chatHistory, agent.Undecided, agent.Row{}},
		{"empty", "", chatHistory, agent.Undecided, agent.Row{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := writeTranscript(t, t.TempDir(), testSession, tt.summary, tt.chat)
			s := scanOf(t, agent.History{Repo: testRepo}, tr, tt.summary)
			if s.Verdict() != tt.verdict || s.Row() != tt.row {
				t.Errorf("verdict %d, row %+v\nwant %d, %+v", s.Verdict(), s.Row(), tt.verdict, tt.row)
			}
		})
	}
	if s, err := New(Options{}).NewScan(agent.History{}, agent.Transcript{}, []byte("{}")); err == nil {
		t.Errorf("going on behind a summary: %+v", s)
	}
}

// Said is asked for what a prompt was before we wrote around it, without our
// marker and what stands above it.
// TestScanWaitsForTheConversation lists a session whose conversation is not
// there yet: our system prompt is no title of it, and it is read again.
func TestScanWaitsForTheConversation(t *testing.T) {
	dir := filepath.Join(t.TempDir(), testSession)
	tr := writeTranscript(t, filepath.Dir(dir), testSession, "{}", "")
	h := agent.History{Repo: "/repo", System: "You edit web pages. They  say what they want."}
	sum := `{"info":{"cwd":"/repo"},"session_summary":"You edit web pages. They say what"}`
	s := scanOf(t, h, tr, sum)
	if s.Verdict() != agent.Ours || s.Row().Title != "" || s.Row().FirstPrompt != "" || !s.(agent.Waiting).Waits() {
		t.Errorf("%v, %+v", s.Verdict(), s.Row())
	}
	chat := `{"type":"user","content":[{"type":"text","text":"You edit web pages.\n\n` + marker + `\n\nmake it green"}]}` + "\n"
	if err := os.WriteFile(tr.Events, []byte(chat), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := scanOf(t, h, tr, sum); s.Row().FirstPrompt != "make it green" || s.(agent.Waiting).Waits() {
		t.Errorf("%+v", s.Row())
	}
}

func TestPromptsGoThroughSaid(t *testing.T) {
	var asked []string
	h := agent.History{Repo: testRepo, Said: func(p string) string { asked = append(asked, p); return "said" }}
	chat := fmt.Sprintf(`{"type":"user","content":[{"type":"text","text":"System.\n\n%s\n\n\n  make it green"}]}`, marker)
	tr := writeTranscript(t, t.TempDir(), testSession, "{}", chat)
	if s := scanOf(t, h, tr, `{"info":{"cwd":"/repo"}}`); s.Row().FirstPrompt != "said" {
		t.Errorf("row %+v", s.Row())
	}
	if got := replayAll(h, recordsOf(chat)); len(got) != 1 || got[0] != (event.User{Text: "said"}) {
		t.Errorf("replayed %v", got)
	}
	if !slices.Equal(asked, []string{"\n  make it green", "\n  make it green"}) {
		t.Errorf("asked for %q", asked)
	}
}

// A folder that was a symbolic link is known by its real path; the file of a
// conversation is not followed out of its folder.
func TestScanOfSymlinks(t *testing.T) {
	root, repo, link, other := agenttest.LinkedFolders(t, "repo")
	for cwd, want := range map[string]agent.Verdict{repo: agent.Ours, link: agent.Ours, other: agent.Foreign, filepath.Join(repo, "src"): agent.Foreign} {
		summary := fmt.Sprintf(`{"info":{"cwd":%q}}`, cwd)
		if got := scanOf(t, agent.History{Repo: repo}, agent.Transcript{}, summary).Verdict(); got != want {
			t.Errorf("cwd %q: verdict %d, want %d", cwd, got, want)
		}
	}
	tr := writeTranscript(t, root, testSession, "{}", "")
	secret := filepath.Join(root, "elsewhere.jsonl")
	if err := os.WriteFile(secret, []byte(chatHistory), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, tr.Events); err != nil {
		t.Fatal(err)
	}
	s := scanOf(t, agent.History{Repo: repo}, tr, fmt.Sprintf(`{"info":{"cwd":%q},"session_summary":"mine"}`, repo))
	if s.Row().FirstPrompt != "mine" {
		t.Errorf("read through a link: %+v", s.Row())
	}
}

// TestSessionsThatAreNoFolder has files where grok keeps its sessions.
func TestSessionsThatAreNoFolder(t *testing.T) {
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	long := "/" + strings.Repeat("long/", 60) + "x"
	for _, name := range []string{"%2Frepo", fakeagents.GrokFolder(long)} {
		if err := os.WriteFile(filepath.Join(home, "sessions", name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, repo := range []string{"/repo", long} {
		if got, err := New(Options{Home: home}).Transcripts(agent.History{Repo: repo}); len(got) > 0 || err != nil {
			t.Errorf("%s: %v, %v", repo, got, err)
		}
	}
}
