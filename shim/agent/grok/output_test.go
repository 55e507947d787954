package grok

import (
	"slices"
	"strings"
	"testing"
)

// outputs are contents of tool_result blocks, by the shapes of
// xai-grok-tools/src/types/output.rs.
var outputs = []struct {
	name    string
	content string
	text    string
	failed  bool
	files   []string
}{
	{"a sentence", "tool call did not complete", "tool call did not complete", false, nil},
	{"nothing", "", "", false, nil},
	{"text", `{"type":"Text","text":"ok"}`, "ok", false, nil},
	{"command", `{"type":"Bash","output":[104,105,10],"output_for_prompt":"exit: 0\nhi\n","exit_code":0,"signal":null,"timed_out":false}`, "exit: 0\nhi\n", false, nil},
	{"command that fails", `{"type":"Bash","output":[],"output_for_prompt":"exit: 1\n","exit_code":1}`, "exit: 1\n", true, nil},
	{"command without the text", `{"type":"Bash","output":[104,105,10],"exit_code":2}`, "exit: 2\nhi\n", true, nil},
	{"command that printed nothing", `{"type":"Bash","output":[],"exit_code":0}`, "", false, nil},
	{"command ended by a signal", `{"type":"Bash","output_for_prompt":"killed","exit_code":null,"signal":"SIGKILL"}`, "killed", true, nil},
	{"command timed out", `{"type":"Bash","output_for_prompt":"late","timed_out":true}`, "late", true, nil},
	{"bytes that are not UTF-8", `{"type":"Bash","output":[255,104]}`, "\uFFFDh", false, nil},
	{"file", `{"type":"ReadFile","FileContent":{"content":"1→x","absolute_path":"/repo/a.go","raw_output":"x"}}`, "1→x", false, nil},
	{"image", `{"type":"ReadFile","ImageContent":{"data":"iVBORw0KGgo=","mime_type":"image/png"}}`, "[image/png]", false, nil},
	{"edit", `{"type":"SearchReplace","EditsApplied":{"old_string":"x","new_string":"y","tool_output_for_prompt":"updated","edits":{"details":[]}}}`, "updated", false, nil},
	{"no match", `{"type":"SearchReplace","NoMatchesFound":{"message":"m","file_path":"/repo/a.go"}}`, "m", true, nil},
	{"variant that is a string", `{"type":"SearchReplace","FileNotFound":"no a.go"}`, "no a.go", true, nil},
	{"patch", `{"type":"ApplyPatch","Success":{"files":[{"path":"a","action":"moved","move_to":"b"}],"tool_output_for_prompt":"done"}}`, "done", false, []string{"a", "b"}},
	{"MCP", `{"type":"MCP","tool_name":"save","server_name":"linear","output":{"OkayOutput":"text"}}`, "text", false, nil},
	{"MCP with blocks", `{"type":"MCP","output":{"OkayOutput":[{"type":"text","text":"a"},{"type":"image","data":"x"}]}}`, "a\n[image]", false, nil},
	{"MCP error", `{"type":"MCP","tool_name":"save","server_name":"linear","output":{"Error":"boom"},"is_error":true}`, "boom", true, nil},
	{"background", `{"type":"BackgroundTaskStarted","task_id":"t","command":"c","summary":"s","retrieval_hint":"h"}`, "started in the background: s", false, nil},
	{"background without words", `{"type":"BackgroundTaskStarted","command":"c"}`, "started in the background: c", false, nil},
	{"execution error", `{"error":"tool_execution_failed","message":"boom"}`, "boom", true, nil},
	{"execution error without words", `{"error":"tool_execution_failed"}`, "tool_execution_failed", true, nil},
	{"blocks", `[{"type":"content","content":{"type":"text","text":"no"}},{"type":"diff","path":"a"}]`, "no\n[diff]", false, nil},
	{"an unknown shape", `{"type":"Later","n":1,"data":"x"}`, `{"data":"x","n":1,"type":"Later"}`, false, nil},
	{"a number for a string", `{"type":"Bash","output_for_prompt":7,"exit_code":"1"}`, `{"exit_code":"1","output_for_prompt":7,"type":"Bash"}`, false, nil},
	{"JSON of somebody else", `{"hello":"world"}`, `{"hello":"world"}`, false, nil},
	{"a list of somebody else", `[1,2]`, `[1,2]`, false, nil},
	{"cut JSON", `{"type":"Text","text":"o`, `{"type":"Text","text":"o`, false, nil},
	{"deep variants", `{"type":"A","B":{"C":{"D":{"E":{"text":"x"}}}}}`, `{"B":{"C":{"D":{"E":{"text":"x"}}}},"type":"A"}`, false, nil},
}

func TestUnwrap(t *testing.T) {
	for _, tt := range outputs {
		got := unwrap(tt.content)
		got.files = slices.DeleteFunc(got.files, func(s string) bool { return s == "" })
		if got.text != tt.text || got.failed != tt.failed || !slices.Equal(got.files, tt.files) {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

// What only a program can read is counted, not shown: pictures and bytes come
// by the megabyte.
func TestUnwrapElides(t *testing.T) {
	big := strings.Repeat("A", 2<<20)
	numbers := "[" + strings.Repeat("700,", 2000) + "700]"
	for _, content := range []string{
		`{"type":"ReadFile","ImageContent":{"data":"` + big + `","mime_type":"image/png"}}`,
		`{"type":"Later","blob":"` + big + `","list":` + numbers + `}`,
		`[{"type":"content","content":{"type":"image","data":"` + big + `"}}]`,
	} {
		if got := unwrap(content); len(got.text) == 0 || len(got.text) > 200 {
			t.Errorf("%.60s gives %d bytes: %.80q", content, len(got.text), got.text)
		}
	}
	bytes := "[" + strings.Repeat("65,", 1<<20) + "65]"
	if got := unwrap(`{"type":"Bash","output":` + bytes + `}`); len(got.text) != maxBytes {
		t.Errorf("a list of 1 MiB bytes gives %d", len(got.text))
	}
}

func TestOutputOfWebSearch(t *testing.T) {
	hits := []any{
		map[string]any{"type": "web_search_result", "url": "https://e.x", "title": "E"},
		map[string]any{"type": "web_search_result", "url": "https://f.x", "title": ""},
	}
	if got := outputOf(hits); got.text != "E https://e.x\nhttps://f.x" || got.failed {
		t.Errorf("%+v", got)
	}
	failed := map[string]any{"type": "web_search_tool_result_error", "error_code": "unavailable"}
	if got := outputOf(failed); got.text != "the search failed unavailable" || !got.failed {
		t.Errorf("%+v", got)
	}
	if got := outputOf(nil); got.text != "" || got.failed {
		t.Errorf("%+v", got)
	}
}
