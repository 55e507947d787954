package scriptmodel_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents/scriptmodel"
)

type item = map[string]any

// said is a message of a role.
func said(role, text string) item {
	return item{"type": "message", "role": role, "content": []item{{"type": "input_text", "text": text}}}
}

// respond posts a conversation as codex does.
func respond(t *testing.T, s *scriptmodel.Server, items ...item) *http.Response {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": "m1", "stream": true, "input": items})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, s.URL()+"/v1/responses", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "k")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// answered is the events of an answer that ends cleanly, and its last one's
// response.
func answered(t *testing.T, s *scriptmodel.Server, items ...item) (all []event, last map[string]any) {
	t.Helper()
	all, err := events(t, respond(t, s, items...).Body)
	if err != nil || len(all) == 0 {
		t.Fatalf("%d events, %v", len(all), err)
	}
	for i, e := range all {
		if e.data["sequence_number"] != float64(i) {
			t.Errorf("event %d has the number %v", i, e.data["sequence_number"])
		}
	}
	last, _ = all[len(all)-1].data["response"].(map[string]any)
	return all, last
}

const codexSteps = `{"about":"a","guards":"g","prompt":"please","steps":[
 {"blocks":[{"thinking":"hm hm hm hm"},{"text":"I look around first.","phase":"commentary"},{"tool":"exec_command","namespace":"ns","input":{"cmd":"cat {{REPO}}/a.txt"}},
  {"custom":"apply_patch","raw":"*** Add File: {{REPO}}/b.txt"},{"search":"golang"}]},
 {"blocks":[{"text":"Done."},{"usage":{"input_tokens":7}}]}]}`

func TestResponsesStream(t *testing.T) {
	s := model(t, codexSteps)
	all, last := answered(t, s, said("developer", "please be good"), said("user", "\nplease"))
	want := []string{
		"response.created", "response.in_progress", "response.output_item.added",
		"response.reasoning_summary_part.added", "response.reasoning_summary_text.delta", "response.reasoning_summary_text.done", "response.reasoning_summary_part.done",
		"response.output_item.done", "response.output_item.added",
		"response.content_part.added", "response.output_text.delta", "response.output_text.done",
		"response.output_item.done", "response.output_item.added",
		"response.function_call_arguments.delta", "response.function_call_arguments.done",
		"response.output_item.done", "response.output_item.added",
		"response.custom_tool_call_input.delta", "response.custom_tool_call_input.done",
		"response.output_item.done", "response.output_item.added", "response.output_item.done", "response.completed",
	}
	if got := names(all); !slices.Equal(got, want) {
		t.Errorf("events %q", got)
	}
	text := ""
	for _, e := range all {
		if e.name == "response.output_text.delta" {
			text += e.data["delta"].(string)
		}
	}
	if text != "I look around first." {
		t.Errorf("deltas say %q", text)
	}
	var items []item
	for _, o := range last["output"].([]any) {
		items = append(items, o.(item))
	}
	if len(items) != 5 || items[1]["phase"] != "commentary" || items[2]["namespace"] != "ns" ||
		items[2]["arguments"] != `{"cmd":"cat `+repo+`/a.txt"}` || items[3]["input"] != "*** Add File: "+repo+"/b.txt" ||
		items[2]["call_id"] == items[3]["call_id"] || items[4]["status"] != "completed" {
		t.Errorf("items %v", items)
	}
	usage := last["usage"].(map[string]any)
	if usage["input_tokens"] != 100.0 || usage["total_tokens"] != 120.0 || last["status"] != "completed" {
		t.Errorf("last %v", last)
	}
}

// The step is the number of the model's answers since the user spoke.
func TestResponsesSteps(t *testing.T) {
	first := []item{said("user", "please"), {"type": "reasoning"}, {"type": "function_call"}, {"type": "custom_tool_call"}}
	outputs := []item{{"type": "function_call_output"}, {"type": "custom_tool_call_output"}}
	conversation := append(slices.Clone(first), outputs...)
	tests := []struct {
		name  string
		items []item
		want  scriptmodel.Request
	}{
		{"begin", first[:1], scriptmodel.Request{Step: 0, Said: []string{"please"}}},
		{"after its tools", conversation, scriptmodel.Request{Step: 1, Said: []string{"please"}}},
		{"asked to go on", first, scriptmodel.Request{Step: 1, Said: []string{"please"}}},
		{"an agent spoke in between", append(slices.Clone(conversation), said("assistant", "x"), item{"type": "agent_message"}), scriptmodel.Request{Step: 2, Said: []string{"please", "x"}}},
		{"the user again", append(slices.Clone(conversation), said("user", "please")), scriptmodel.Request{Step: 0, Said: []string{"please", "please"}}},
		{"another's words", append(slices.Clone(conversation), said("user", "env")), scriptmodel.Request{Step: 1, Said: []string{"please", "env"}}},
		{"a sub-agent", []item{said("user", "env"), {"type": "agent_message", "content": []item{{"type": "encrypted_content", "encrypted_content": "SCN:sub now"}}}, first[1], outputs[0]}, scriptmodel.Request{Script: "sub", Step: 1, Said: []string{"env", "SCN:sub now"}}},
	}
	for _, tt := range tests {
		s := model(t, codexSteps)
		respond(t, s, tt.items...)
		tt.want.Method, tt.want.Path, tt.want.Stream = http.MethodPost, "/v1/responses", true
		if got := s.Requests(); len(got) != 1 || !reflect.DeepEqual(got[0], tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
	_, last := answered(t, model(t, codexSteps), conversation...)
	if usage := last["usage"].(map[string]any); usage["input_tokens"] != 7.0 {
		t.Errorf("usage %v", usage)
	}
}

// How an answer can end otherwise.
func TestResponsesFailures(t *testing.T) {
	scenario := func(blocks string) *scriptmodel.Server {
		return model(t, `{"about":"a","guards":"g","prompt":"please","steps":[{"blocks":[`+blocks+`]}]}`)
	}
	all, last := answered(t, scenario(`{"text":"half"},{"streamError":{"type":"server_error","message":"no"}}`), said("user", "please"))
	if got := last["error"].(map[string]any); got["code"] != "server_error" || got["message"] != "no" || slices.Contains(names(all), "response.output_item.done") {
		t.Errorf("failed: %v %q", last, names(all))
	}
	if _, last = answered(t, scenario(`{"text":"cut"},{"stop":"max_output_tokens"}`), said("user", "please")); last["status"] != "incomplete" {
		t.Errorf("incomplete: %v", last)
	}
	all, err := events(t, respond(t, scenario(`{"text":"cut off in the middle"},{"break":true}`), said("user", "please")).Body)
	if got := names(all); err == nil || !slices.Contains(got, "response.output_text.delta") || slices.Contains(got, "response.output_text.done") {
		t.Errorf("broken: %q, %v", got, err)
	}
	res := respond(t, scenario(`{"error":{"status":429,"type":"usage_limit_reached","message":"full","headers":{"retry-after":"1"},"fields":{"plan_type":"plus"}}}`), said("user", "please"))
	var body struct {
		Error map[string]any `json:"error"`
	}
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil || res.StatusCode != 429 || res.Header.Get("Retry-After") != "1" ||
		body.Error["code"] != "usage_limit_reached" || body.Error["message"] != "full" || body.Error["plan_type"] != "plus" {
		t.Errorf("refused: %d %v (%v)", res.StatusCode, body, err)
	}
}

// Without a key there is no answer, a WebSocket has none either, and a thread
// that goes on has ids of its own.
func TestResponsesRoute(t *testing.T) {
	s := model(t, codexSteps)
	for _, tt := range []struct {
		method, key, body string
		status            int
	}{{http.MethodPost, "", "{}", 401}, {http.MethodGet, "", "", 401}, {http.MethodGet, "k", "", 405}, {http.MethodPost, "k", "{", 400}} {
		req, err := http.NewRequest(tt.method, s.URL()+"/v1/responses", strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		if tt.key != "" {
			req.Header.Set("Authorization", tt.key)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != tt.status {
			t.Errorf("%s with key %q: %d, want %d", tt.method, tt.key, res.StatusCode, tt.status)
		}
	}
	sc, err := scriptmodel.Parse("test", []byte(codexSteps))
	if err != nil {
		t.Fatal(err)
	}
	again, err := scriptmodel.Start(sc, scriptmodel.Options{IDs: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, last := answered(t, again, said("user", "please")); last["id"] != "resp_000101" {
		t.Errorf("id %v", last["id"])
	}
}

// A scenario of codex is claude's with what differs in it, or its own.
func TestCodexScenarios(t *testing.T) {
	all, err := scriptmodel.Names(scriptmodel.Codex)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Errorf("only %d scenarios", len(all))
	}
	prompts := map[string]string{}
	for _, name := range all {
		sc, err := scriptmodel.Load(scriptmodel.Codex, name)
		if err != nil {
			t.Error(err)
			continue
		}
		for other, prompt := range prompts {
			if sc.Prompt != "" && (strings.Contains(prompt, sc.Prompt) || strings.Contains(sc.Prompt, prompt)) {
				t.Errorf("%s and %s have prompts that cannot be told apart", name, other)
			}
		}
		if sc.Prompt != "" {
			prompts[name] = sc.Prompt
		}
	}
	for agent, tool := range map[string]string{scriptmodel.Claude: "Edit", scriptmodel.Codex: ""} {
		sc, err := scriptmodel.Load(agent, "story")
		if err != nil {
			t.Fatal(err)
		}
		found := ""
		for _, step := range sc.Steps {
			for _, b := range step.Blocks {
				if b.Tool == "Edit" {
					found = b.Tool
				}
			}
		}
		if found != tool {
			t.Errorf("%s edits with %q", agent, found)
		}
	}
	for agent, name := range map[string]string{scriptmodel.Claude: "patch-all", scriptmodel.Codex: "notebook"} {
		if _, err := scriptmodel.Load(agent, name); err == nil {
			t.Errorf("%s has the scenario %s of the other", agent, name)
		}
	}
}
