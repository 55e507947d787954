package grok

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

const initLine = `{"type":"system","subtype":"init","session_id":"` + testSession + `","model":"grok-4.6","cwd":"/repo"}`

func streamLine(e string) string { return `{"type":"stream_event","event":` + e + `}` }

func beginLine(id string) string {
	return streamLine(`{"type":"message_start","message":{"id":"` + id + `"}}`)
}

func textLine(text string) string {
	return streamLine(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}}`)
}

func saidLine(id, text string) string {
	return `{"type":"assistant","message":{"id":"` + id + `","content":[{"type":"text","text":"` + text + `"}]}}`
}

// mapAll maps lines and returns the events as one line each.
func mapAll(t *testing.T, o agent.MapOptions, lines ...string) (*mapper, []string) {
	t.Helper()
	m := newMapper(o)
	var got []string
	for _, line := range lines {
		events, err := m.Map([]byte(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for _, e := range events {
			got = append(got, short(e))
		}
	}
	return m, got
}

func short(e event.Event) string {
	switch e := e.(type) {
	case event.Start:
		return "start " + e.Model
	case event.Delta:
		return "delta " + e.MessageID + " " + e.Text
	case event.ThinkingDelta:
		return "thinking " + e.MessageID + " " + e.Text
	case event.Tool:
		return "tool " + e.Tool + " " + e.Detail
	case event.FileEdit:
		return "edit " + e.Tool + " " + e.Path
	case event.ToolResult:
		return fmt.Sprintf("result %s %v %s", e.Tool, e.IsError, e.Text)
	case event.Note:
		return "note " + e.Code
	case event.Usage:
		return fmt.Sprintf("usage %d %d", e.InputTokens, e.OutputTokens)
	}
	return e.Type()
}

func TestText(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
		want  []string
	}{
		{"streamed, then repeated", []string{initLine, beginLine("msg_0"), textLine("a"), textLine("b"), saidLine("msg_0", "ab")},
			[]string{"start grok-4.6", "delta msg_0 a", "delta msg_0 b"}},
		{"without partials", []string{initLine, saidLine("msg_0", "ab"), saidLine("msg_1", "c")},
			[]string{"start grok-4.6", "delta msg_0 ab", "delta msg_1 c"}},
		{"the ids of stream and lines part", []string{initLine, beginLine("msg_0"), beginLine("msg_1"), textLine("a"), saidLine("msg_0", "a")},
			[]string{"start grok-4.6", "delta msg_1 a"}},
		{"an id that was given out", []string{initLine, beginLine("msg_0"), textLine("a"), saidLine("msg_0", "a"), saidLine("msg_0", "b")},
			[]string{"start grok-4.6", "delta msg_0 a", "delta msg_0-2 b"}},
		{"deltas without a beginning", []string{initLine, textLine("a")}, []string{"start grok-4.6", "delta msg a"}},
		{"before init", []string{textLine("a"), initLine}, []string{"start ", "delta msg a"}},
		{"thinking on the line alone", []string{initLine, `{"type":"assistant","message":{"id":"m","content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"a"}]}}`},
			[]string{"start grok-4.6", "thinking m t", "delta m a"}},
		{"a model that is not known", []string{strings.Replace(initLine, "grok-4.6", "unknown", 1)}, []string{"start asked"}},
	}
	for _, tt := range tests {
		o := agent.MapOptions{Repo: testRepo}
		if strings.Contains(tt.name, "model") {
			o.Model = "asked"
		}
		if _, got := mapAll(t, o, tt.lines...); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

func toolLine(id, name, input string) string {
	return `{"type":"assistant","message":{"id":"m` + id + `","content":[{"type":"tool_use","id":"` + id + `","name":"` + name + `","input":` + input + `}]}}`
}

func TestTools(t *testing.T) {
	tests := []struct{ name, tool, input, want string }{
		{"edit", "search_replace", `{"file_path":"src/a.css"}`, "edit search_replace src/a.css"},
		{"edit with an absolute path", "write", `{"file_path":"/repo/src/a.css"}`, "edit write src/a.css"},
		{"edit outside", "write", `{"file_path":"/etc/hosts"}`, "edit write /etc/hosts"},
		{"edit without a path", "write", `{}`, "tool write "},
		{"hashline", "hashline_edit", `{"file_path":"./a"}`, "edit hashline_edit a"},
		{"patch that names nothing", "apply_patch", `{"patch":"x"}`, "tool apply_patch "},
		{"command", "run_terminal_command", `{"command":"ls -l","description":"List"}`, "tool run_terminal_command ls -l"},
		{"read", "read_file", `{"target_file":"/repo/a.png"}`, "tool read_file a.png"},
		{"list", "list_dir", `{"target_directory":"."}`, "tool list_dir ."},
		{"grep", "grep", `{"pattern":"x","path":"src"}`, "tool grep x"},
		{"MCP", "use_tool", `{"tool_name":"linear__save_it","tool_input":{"b":"<2>","a":1}}`, `tool linear: save_it {"a":1,"b":"<2>"}`},
		{"MCP without a server", "use_tool", `{"tool_name":"save"}`, "tool use_tool "},
		{"sub-agent", "spawn_subagent", `{"prompt":"p","description":"Find it"}`, "tool spawn_subagent Find it"},
		{"X search", "X search:", `{"query":"q"}`, "tool X search q"},
		{"arguments that could not be read", "write", `"no"`, "tool write "},
	}
	for _, tt := range tests {
		_, got := mapAll(t, agent.MapOptions{Repo: testRepo}, initLine, toolLine("1", tt.tool, tt.input))
		if len(got) != 2 || got[1] != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got[1:], tt.want)
		}
	}
}

func TestPatchPaths(t *testing.T) {
	patch := "*** Begin Patch\r\n*** Update File: a b.txt \r\n*** Move to: c.txt\n+*** Add File: not one\n*** Add File: d\n*** Delete File: e\n*** End Patch"
	if got, want := patchPaths(patch), []string{"a b.txt", "c.txt", "d", "e"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A call is announced when its block ends in the stream: grok runs the tool
// after that, and prints the assistant line when it has run.
func TestToolIsAnnouncedBeforeItRuns(t *testing.T) {
	m, got := mapAll(t, agent.MapOptions{Repo: testRepo}, initLine, beginLine("msg_0"),
		streamLine(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"1","name":"write","input":{}}}`),
		streamLine(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"file_path\":\"a\","}}`),
		streamLine(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\"content\":\"b\"}"}}`),
		streamLine(`{"type":"content_block_stop","index":0}`),
	)
	if want := []string{"start grok-4.6", "edit write a"}; !reflect.DeepEqual(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	if f := m.Facts(); f.ToolsOpen != 1 || !reflect.DeepEqual(f.EditPaths, []string{"a"}) || f.ShowsEveryTool {
		t.Errorf("facts %+v", f)
	}
	for _, line := range []string{toolLine("1", "write", `{"file_path":"a"}`), streamLine(`{"type":"content_block_stop","index":9}`)} {
		if events, err := m.Map([]byte(line)); err != nil || len(events) > 0 {
			t.Errorf("%s gives %v, %v", line, events, err)
		}
	}
	events, _ := m.Map([]byte(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"1","content":"x"},{"type":"tool_result","tool_use_id":"1","content":"y"},{"type":"tool_result","tool_use_id":"2","content":"z"}]}}`))
	var words []string
	for _, e := range events {
		words = append(words, short(e))
	}
	if want := []string{"result write false x", "tool tool ", "result tool false z"}; !reflect.DeepEqual(words, want) {
		t.Errorf("%q, want %q", words, want)
	}
}

// grok counts a response twice where it streams, and the whole once more at the
// end; what it does not know is 0.
func TestUsage(t *testing.T) {
	delta := streamLine(`{"type":"message_delta","usage":{"input_tokens":10,"output_tokens":2}}`)
	said := `{"type":"assistant","message":{"id":"msg_0","content":[],"usage":{"input_tokens":10,"output_tokens":2}}}`
	result := func(in, out string) string {
		return `{"type":"result","is_error":false,"usage":{"input_tokens":` + in + `,"output_tokens":` + out + `},"modelUsage":{"a":{"inputTokens":1},"b":{"inputTokens":3}}}`
	}
	for _, tt := range []struct {
		in, out string
		want    []string
	}{
		{"0", "0", []string{"start grok-4.6", "usage 10 2", "usage 20 4"}},
		{"20", "9", []string{"start grok-4.6", "usage 10 2", "usage 20 4", "usage 20 9"}},
	} {
		_, got := mapAll(t, agent.MapOptions{Repo: testRepo}, initLine, beginLine("msg_0"), delta, said,
			beginLine("msg_1"), delta, strings.Replace(said, "msg_0", "msg_1", 1), result(tt.in, tt.out))
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// Paths of tools are relative to where grok works, which may be below or above
// the folder it was told, in the same repository.
func TestPathsAreRelativeToGroksFolder(t *testing.T) {
	edit := toolLine("1", "write", `{"file_path":"a.txt"}`)
	in := func(cwd string) string { return strings.Replace(initLine, `"/repo"`, `"`+cwd+`"`, 1) }
	for _, tt := range []struct {
		o    agent.MapOptions
		cwd  string
		want string
	}{
		{agent.MapOptions{Repo: "/repo"}, "/repo/app", "edit write app/a.txt"},
		{agent.MapOptions{Repo: "/repo/app", Top: "/repo"}, "/repo/app", "edit write app/a.txt"},
		{agent.MapOptions{Repo: "/repo/app", Top: "/repo", Session: agent.Session{Folder: "/repo"}}, "/repo", "edit write a.txt"},
	} {
		if _, got := mapAll(t, tt.o, in(tt.cwd), edit); got[1] != tt.want {
			t.Errorf("%+v in %s: %q, want %q", tt.o, tt.cwd, got[1], tt.want)
		}
	}
}

// A resumed id that is found elsewhere runs there: nothing of it is shown, and
// the run fails, whatever grok makes of it.
func TestElsewhere(t *testing.T) {
	m, got := mapAll(t, agent.MapOptions{Repo: testRepo, Resume: testSession},
		strings.Replace(initLine, `"/repo"`, `"/elsewhere"`, 1), saidLine("msg_0", "a"), toolLine("1", "write", `{"file_path":"a"}`),
		`{"type":"grease"}`, `{"type":"result","subtype":"success","is_error":false,"result":"a","usage":{"output_tokens":1}}`)
	if len(got) > 0 {
		t.Errorf("it shows %q", got)
	}
	if f := m.Facts(); f.ToolsOpen != 0 || f.Unknown != 1 || f.Session != "" {
		t.Errorf("facts %+v", f)
	}
	closing := m.Finish(agent.Exit{Code: 0})
	e, ok := closing[0].(event.Error)
	if len(closing) != 1 || !ok || e.Code != event.CodeBadRequest || !strings.Contains(e.Message, "/elsewhere") || e.Fix == "" || m.Facts().Succeeded {
		t.Errorf("%+v", closing)
	}
	stopped, _ := mapAll(t, agent.MapOptions{Repo: testRepo}, strings.Replace(initLine, `"/repo"`, `"/elsewhere"`, 1))
	if closing := stopped.Finish(agent.Exit{Signal: "SIGINT", Code: -1, Stopped: true}); len(closing) > 0 {
		t.Errorf("stopped: %+v", closing)
	}
}

func TestAnotherSessionThanAsked(t *testing.T) {
	const other = "0198c0de-7a3b-7288-8960-000000000000"
	if _, got := mapAll(t, agent.MapOptions{Repo: testRepo, Resume: other}, initLine); !reflect.DeepEqual(got, []string{"start grok-4.6", "note session_new"}) {
		t.Errorf("%q", got)
	}
	if _, got := mapAll(t, agent.MapOptions{Repo: testRepo, Resume: strings.ToUpper(testSession)}, initLine); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// Our own stop is no failure, even when grok managed to say something.
func TestStopping(t *testing.T) {
	const cancelled = `{"type":"result","subtype":"error_during_execution","is_error":true,"stop_reason":"cancelled","errors":["cancelled"]}`
	m, _ := mapAll(t, agent.MapOptions{Repo: testRepo, Stopping: func() bool { return true }}, initLine, cancelled)
	closing := m.Finish(agent.Exit{})
	if r, ok := closing[0].(event.Result); len(closing) != 1 || !ok || r.IsError {
		t.Errorf("%+v", closing)
	}
	if again := m.Finish(agent.Exit{}); again != nil {
		t.Errorf("a second end: %+v", again)
	}
}
