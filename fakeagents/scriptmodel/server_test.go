package scriptmodel_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents/scriptmodel"
)

const repo = "/repo with space/x"

// model starts a server for a scenario given as JSON.
func model(t *testing.T, scenario string) *scriptmodel.Server {
	t.Helper()
	sc, err := scriptmodel.Parse("test", []byte(scenario))
	if err != nil {
		t.Fatal(err)
	}
	s, err := scriptmodel.Start(sc, scriptmodel.Options{Repo: repo})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

type turn struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

// ask posts a conversation as the CLI does.
func ask(t *testing.T, s *scriptmodel.Server, stream bool, turns ...turn) *http.Response {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": "m1", "stream": stream, "messages": turns})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, s.URL()+"/v1/messages?beta=true", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", "k")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// event is one server-sent event.
type event struct {
	name string
	data map[string]any
}

// events reads a stream; err is how it ended, nil for a clean end.
func events(t *testing.T, r io.Reader) (out []event, err error) {
	t.Helper()
	sc := bufio.NewReader(r)
	var e event
	for {
		line, err := sc.ReadString('\n')
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return out, err
		}
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			e.name = name
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(data), &e.data); err != nil {
				t.Fatal(err)
			}
			if e.data["type"] != e.name {
				t.Errorf("event %q carries type %v", e.name, e.data["type"])
			}
			out = append(out, e)
			e = event{}
		}
	}
}

func names(events []event) []string {
	var out []string
	for _, e := range events {
		out = append(out, e.name)
	}
	return slices.Compact(out)
}

// joined is the text of all deltas with that key.
func joined(events []event, key string) string {
	var b strings.Builder
	for _, e := range events {
		if d, ok := e.data["delta"].(map[string]any); ok {
			if s, ok := d[key].(string); ok {
				b.WriteString(s)
			}
		}
	}
	return b.String()
}

var user = turn{"user", "\nplease"}

const twoSteps = `{"about":"a","guards":"g","prompt":"please","steps":[
 {"blocks":[{"thinking":"hm"},{"text":"I look."},{"tool":"Read","input":{"file_path":"{{REPO}}/a.txt"}}]},
 {"blocks":[{"text":"Done."}]}]}`

func TestStream(t *testing.T) {
	s := model(t, twoSteps)
	res := ask(t, s, true, user)
	if ct := res.Header.Get("Content-Type"); !strings.HasPrefix(ct, "text/event-stream") {
		t.Errorf("content type %q", ct)
	}
	got, err := events(t, res.Body)
	if err != nil {
		t.Fatal(err)
	}
	block := []string{"content_block_start", "content_block_delta", "content_block_stop"}
	want := slices.Concat([]string{"message_start", "ping"}, block, block, block, []string{"message_delta", "message_stop"})
	if n := names(got); !slices.Equal(n, want) {
		t.Errorf("events %v, want %v", n, want)
	}
	if input := joined(got, "partial_json"); input != `{"file_path":"`+repo+`/a.txt"}` {
		t.Errorf("tool input %s", input)
	}
	if joined(got, "thinking") != "hm" || joined(got, "text") != "I look." {
		t.Errorf("thinking %q, text %q", joined(got, "thinking"), joined(got, "text"))
	}
	stop := got[len(got)-2].data
	if stop["delta"].(map[string]any)["stop_reason"] != "tool_use" || stop["usage"].(map[string]any)["output_tokens"].(float64) < 8 {
		t.Errorf("message_delta %v", stop)
	}
}

// A recording puts a placeholder for the repository's path: no delta may
// split it.
func TestRepoPathIsNeverSplit(t *testing.T) {
	s := model(t, `{"about":"a","guards":"g","prompt":"please","steps":[{"blocks":[{"text":"in {{REPO}}/ü and {{REPO}}","chunk":1}]}]}`)
	got, err := events(t, ask(t, s, true, user).Body)
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for _, e := range got {
		if d, ok := e.data["delta"].(map[string]any); ok && d["text"] == repo {
			whole++
		}
	}
	if whole != 2 || joined(got, "text") != "in "+repo+"/ü and "+repo {
		t.Errorf("%d whole paths in %q", whole, joined(got, "text"))
	}
}

// The step is the number of the model's answers since the user spoke.
func TestStepsFollowTheConversation(t *testing.T) {
	s := model(t, `{"about":"a","guards":"g","prompt":"please","steps":[{"blocks":[{"text":"one"}]},{"blocks":[{"text":"two"}]}],
	 "sub":{"helper":[{"blocks":[{"text":"sub one"}]},{"blocks":[{"text":"sub two"}]}]}}`)
	said := turn{"assistant", "one"}
	result := turn{"user", []map[string]any{{"type": "tool_result", "tool_use_id": "x", "content": "ok"}}}
	sub := turn{"user", []map[string]any{{"type": "text", "text": "SCN:helper in /r"}}}
	tests := []struct {
		name  string
		turns []turn
		want  string
	}{
		{"first", []turn{user}, "one"},
		{"after a tool", []turn{user, said, result}, "two"},
		{"resumed", []turn{{"user", "\nearlier"}, said, {"assistant", "x"}, user}, "one"},
		{"sub-agent", []turn{sub}, "sub one"},
		{"sub-agent goes on", []turn{sub, said, result}, "sub two"},
		{"past the end", []turn{user, said, said, said}, `The script "" has no step 3.`},
	}
	for _, tt := range tests {
		got, err := events(t, ask(t, s, true, tt.turns...).Body)
		if err != nil {
			t.Fatal(err)
		}
		if text := joined(got, "text"); text != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, text, tt.want)
		}
	}
}

func TestWithoutStreaming(t *testing.T) {
	s := model(t, twoSteps)
	var m struct {
		ID         string `json:"id"`
		Model      string `json:"model"`
		StopReason string `json:"stop_reason"`
		Content    []struct {
			Type  string
			Text  string
			Input map[string]string
		}
	}
	if err := json.NewDecoder(ask(t, s, false, user).Body).Decode(&m); err != nil {
		t.Fatal(err)
	}
	if m.Model != "m1" || m.StopReason != "tool_use" || len(m.Content) != 3 || m.Content[2].Input["file_path"] != repo+"/a.txt" {
		t.Errorf("%+v", m)
	}
}

// Ids are counters, so that a second recording gives the same bytes.
func TestIdsAreCounters(t *testing.T) {
	read := func() string {
		s := model(t, twoSteps)
		var all strings.Builder
		for _, turns := range [][]turn{{user}, {user, {"assistant", "x"}}} {
			if _, err := io.Copy(&all, ask(t, s, true, turns...).Body); err != nil {
				t.Fatal(err)
			}
		}
		return all.String()
	}
	first, second := read(), read()
	if first != second {
		t.Error("two runs of one script differ")
	}
	for _, id := range []string{"msg_000001", "msg_000002", "toolu_000001"} {
		if !strings.Contains(first, id) {
			t.Errorf("no id %s", id)
		}
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		scenario string
		status   int
		kind     string
	}{
		{"err-400", 400, "invalid_request_error"}, {"err-401", 401, "authentication_error"}, {"err-403", 403, "permission_error"},
		{"err-404", 404, "not_found_error"}, {"err-429", 429, "rate_limit_error"}, {"err-500", 500, "api_error"}, {"err-529", 529, "overloaded_error"},
	}
	for _, tt := range tests {
		sc, err := scriptmodel.Load("claude", tt.scenario)
		if err != nil {
			t.Fatal(err)
		}
		s, err := scriptmodel.Start(sc, scriptmodel.Options{})
		if err != nil {
			t.Fatal(err)
		}
		res := ask(t, s, true, turn{"user", sc.Prompt})
		var body struct{ Error struct{ Type string } }
		if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != tt.status || body.Error.Type != tt.kind {
			t.Errorf("%s: %d %s", tt.scenario, res.StatusCode, body.Error.Type)
		}
		if tt.status == 429 && res.Header.Get("Retry-After") == "" {
			t.Error("429 without retry-after")
		}
		_ = s.Close()
	}
}

func TestNoKeyIsRefused(t *testing.T) {
	s := model(t, twoSteps)
	res, err := http.Post(s.URL()+"/v1/messages", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != 401 || len(s.Requests()) != 0 {
		t.Errorf("status %d", res.StatusCode)
	}
}

func TestBreakOnceThenAnswer(t *testing.T) {
	s := model(t, `{"about":"a","guards":"g","prompt":"please","steps":[{"first":[{"text":"This breaks off in the midd"},{"break":true}],"blocks":[{"text":"Second try."}]}]}`)
	got, err := events(t, ask(t, s, true, user).Body)
	if err == nil {
		t.Error("the first answer ended cleanly")
	}
	if joined(got, "text") != "This breaks off in the midd" || slices.Contains(names(got), "content_block_stop") {
		t.Errorf("events %v", names(got))
	}
	got, err = events(t, ask(t, s, true, user).Body)
	if err != nil || joined(got, "text") != "Second try." {
		t.Errorf("%q, %v", joined(got, "text"), err)
	}
	if reqs := s.Requests(); len(reqs) != 2 || !reqs[0].Stream || reqs[1].Step != 0 || !strings.Contains(strings.Join(reqs[1].Said, ""), "please") {
		t.Errorf("requests %+v", reqs)
	}
}

func TestStreamError(t *testing.T) {
	s := model(t, `{"about":"a","guards":"g","prompt":"please","steps":[{"blocks":[{"text":"Some. "},{"streamError":{"type":"overloaded_error","message":"Overloaded"}}]}]}`)
	got, err := events(t, ask(t, s, true, user).Body)
	if err != nil || got[len(got)-1].name != "error" {
		t.Errorf("events %v, %v", names(got), err)
	}
	if res := ask(t, s, false, user); res.StatusCode != 500 {
		t.Errorf("without streaming: %d", res.StatusCode)
	}
}

func TestOtherRoutes(t *testing.T) {
	s := model(t, twoSteps)
	tests := []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"HEAD", "/", "", 200, ""},
		{"GET", "/nowhere", "", 404, "not_found_error"},
		{"POST", "/v1/messages/count_tokens", "{}", 200, `"input_tokens":1000`},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`, 200, `"protocolVersion":"2025-06-18"`},
		{"POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, ""},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, 200, `"name":"say"`},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"fail","arguments":{"text":"no"}}}`, 200, `"isError":true`},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":4,"method":"bogus"}`, 200, "method not found"},
		{"GET", "/mcp", "", 405, ""},
	}
	for _, tt := range tests {
		req, err := http.NewRequest(tt.method, s.URL()+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != tt.status || !strings.Contains(string(body), tt.want) {
			t.Errorf("%s %s: %d %s (%v)", tt.method, tt.path, res.StatusCode, body, err)
		}
	}
}

// Every scenario file loads and says what it is for, and no prompt stands
// within another: the fake finds the fixture by the prompt.
func TestScenarios(t *testing.T) {
	all, err := scriptmodel.Names("claude")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 40 {
		t.Errorf("only %d scenarios", len(all))
	}
	prompts := map[string]string{}
	for _, name := range all {
		sc, err := scriptmodel.Load("claude", name)
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
		if sc.Before != "" && !slices.Contains(all, sc.Before) {
			t.Errorf("%s: no scenario %q to run before", name, sc.Before)
		}
		for sub := range sc.Sub {
			if text, err := json.Marshal(sc.Steps); err != nil || !strings.Contains(string(text), "SCN:"+sub) {
				t.Errorf("%s: nothing starts the sub-agent %q", name, sub)
			}
		}
	}
}

func TestBadScenarios(t *testing.T) {
	tests := []struct{ name, text, reason string }{
		{"unknown field", `{"about":"a","guards":"g","prompt":"p","stepz":[]}`, "unknown field"},
		{"no purpose", `{"prompt":"p","steps":[{"blocks":[]}]}`, "about and guards"},
		{"no steps", `{"about":"a","guards":"g","prompt":"p"}`, "prompt and steps"},
		{"empty block", `{"about":"a","guards":"g","prompt":"p","steps":[{"blocks":[{}]}]}`, "says nothing"},
		{"bad pause", `{"about":"a","guards":"g","prompt":"p","steps":[{"blocks":[{"pause":"long"}]}]}`, "invalid duration"},
	}
	for _, tt := range tests {
		if _, err := scriptmodel.Parse("x", []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
