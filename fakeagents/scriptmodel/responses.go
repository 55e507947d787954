package scriptmodel

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"
)

// responsesBody is a request of the Responses API, as far as a script needs it.
type responsesBody struct {
	Model string         `json:"model"`
	Input []responseItem `json:"input"`
}

// responseItem is one item of a conversation.
type responseItem struct {
	Type    string        `json:"type"` // absent for a message
	Role    string        `json:"role"`
	Content []contentPart `json:"content"`
}

// contentPart is a part of a message; what agents tell each other is
// "encrypted": by the API, and here not at all.
type contentPart struct {
	Text      string `json:"text"`
	Encrypted string `json:"encrypted_content"`
}

func (i responseItem) text() string {
	var all []string
	for _, part := range i.Content {
		all = append(all, part.Text, part.Encrypted)
	}
	return strings.Join(all, "\n")
}

// said is whether the item is the model's own.
func (i responseItem) said() bool {
	switch i.Type {
	case "reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call":
		return true
	case "", "message":
		return i.Role == "assistant"
	}
	return false
}

func (s *Server) responsesRoute(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") == "" {
		s.note(Request{Method: r.Method, Path: r.URL.Path})
		replyOpenAI(w, APIError{Status: 401, Type: "invalid_request_error", Message: "Missing bearer or basic authentication in header"})
		return
	}
	if r.Method != http.MethodPost { // a WebSocket, for which codex has another way
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var b responsesBody
	if err == nil {
		err = json.Unmarshal(raw, &b)
	}
	if err != nil {
		replyOpenAI(w, APIError{Status: 400, Type: "invalid_request_error", Message: err.Error()})
		return
	}
	script, step := s.spoken(b.Input)
	var said []string
	for _, i := range b.Input {
		if len(i.Content) > 0 {
			said = append(said, strings.TrimSpace(i.text()))
		}
	}
	s.note(Request{Method: r.Method, Path: r.URL.Path, Stream: true, Script: script, Step: step, Said: said})
	blocks := s.answer(script, step)
	for _, blk := range blocks {
		if blk.Error != nil {
			replyOpenAI(w, *blk.Error)
			return
		}
	}
	a := &answer{s: s, ctx: r.Context(), out: &sse{w: w}, usage: responseUsage(step, blocks)}
	a.head = response{ID: a.next("resp"), Object: "response", CreatedAt: time.Now().Unix(), Status: "in_progress", Model: b.Model, Output: []any{}}
	a.stream(w, blocks)
}

// spoken tells which script a conversation is in and at which step: the number
// of the model's answers since the user spoke. What tools gave ends an answer;
// so does what comes in between (the words of another agent).
func (s *Server) spoken(items []responseItem) (script string, step int) {
	open := false // an answer began and has not ended
	for _, i := range items {
		if i.said() {
			open = true
			continue
		}
		text := i.text()
		if _, after, ok := strings.Cut(text, "SCN:"); ok && i.Role != "developer" {
			script, step, open = strings.Fields(after + " ")[0], 0, false
		} else if i.Role == "user" && s.scenario.Prompt != "" && strings.Contains(text, s.scenario.Prompt) {
			script, step, open = "", 0, false
		} else if open {
			step, open = step+1, false
		}
	}
	if open {
		step++
	}
	return script, step
}

type openAIError struct {
	Error map[string]any `json:"error"`
}

func replyOpenAI(w http.ResponseWriter, e APIError) {
	status := e.Status
	if status == 0 {
		status = 500
	}
	body := map[string]any{"message": e.Message, "type": e.Type, "param": nil, "code": e.Type}
	maps.Copy(body, e.Fields)
	w.Header().Set("X-Request-Id", "req_script")
	reply(w, status, openAIError{body}, e.Headers)
}

// The structs below keep the field order of the real API.

type response struct {
	ID         string         `json:"id"`
	Object     string         `json:"object"`
	CreatedAt  int64          `json:"created_at"`
	Status     string         `json:"status"`
	Error      any            `json:"error"`
	Incomplete any            `json:"incomplete_details"`
	Model      string         `json:"model"`
	Output     []any          `json:"output"`
	Usage      map[string]any `json:"usage"`
}

type messageItem struct {
	ID      string       `json:"id"`
	Type    string       `json:"type"`
	Status  string       `json:"status"`
	Role    string       `json:"role"`
	Content []outputText `json:"content"`
	Phase   string       `json:"phase,omitempty"`
}

type outputText struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Annotations []any  `json:"annotations"`
}

type reasoningItem struct {
	ID        string        `json:"id"`
	Type      string        `json:"type"`
	Summary   []summaryText `json:"summary"`
	Encrypted *string       `json:"encrypted_content"`
}

type summaryText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type functionItem struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Status    string `json:"status"`
	Arguments string `json:"arguments"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
}

type customItem struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Status string `json:"status"`
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	Input  string `json:"input"`
}

type searchItem struct {
	ID     string       `json:"id"`
	Type   string       `json:"type"`
	Status string       `json:"status"`
	Action searchAction `json:"action"`
}

type searchAction struct {
	Type  string `json:"type"`
	Query string `json:"query"`
}

// streamEvent is any event of the stream; a field that an event does not have
// is left out.
type streamEvent struct {
	Type     string    `json:"type"`
	Sequence int       `json:"sequence_number"`
	Response *response `json:"response,omitempty"`

	Item      any    `json:"item,omitempty"`
	ItemID    string `json:"item_id,omitempty"`
	Output    *int   `json:"output_index,omitempty"`
	Content   *int   `json:"content_index,omitempty"`
	Summary   *int   `json:"summary_index,omitempty"`
	Part      any    `json:"part,omitempty"`
	Delta     string `json:"delta,omitempty"`
	Text      string `json:"text,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Input     string `json:"input,omitempty"`
}

// answer is one response while it is streamed.
type answer struct {
	s        *Server
	ctx      context.Context
	out      *sse
	head     response
	usage    map[string]any
	sequence int
	items    []any // complete
}

// responseUsage is in tokens, as a script says or the usual numbers.
func responseUsage(step int, blocks []Block) map[string]any {
	usage := map[string]any{
		"input_tokens": 100 + step, "input_tokens_details": map[string]any{"cached_tokens": 50},
		"output_tokens": 20, "output_tokens_details": map[string]any{"reasoning_tokens": 5},
		"total_tokens": 120 + step,
	}
	for _, b := range blocks {
		maps.Copy(usage, b.Usage)
	}
	return usage
}

// next returns the next id of a kind, also of those before this server.
func (a *answer) next(prefix string) string {
	a.s.mu.Lock()
	a.s.ids[prefix] = max(a.s.ids[prefix], a.s.before)
	a.s.mu.Unlock()
	return a.s.next(prefix)
}

func (a *answer) send(e streamEvent) {
	e.Sequence = a.sequence
	a.sequence++
	a.out.send(e.Type, e)
}

// end sends the last event: the response as it stands.
func (a *answer) end(status string, set func(*response)) {
	r := a.head
	r.Status = status
	set(&r)
	a.send(streamEvent{Type: "response." + status, Response: &r})
}

func (a *answer) stream(w http.ResponseWriter, blocks []Block) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Request-Id", "req_script")
	for _, t := range []string{"response.created", "response.in_progress"} {
		a.send(streamEvent{Type: t, Response: &a.head})
	}
	for i, b := range blocks {
		switch b.kind() {
		case "break":
			settle(a.ctx)
			panic(http.ErrAbortHandler)
		case "streamError":
			settle(a.ctx)
			a.end("failed", func(r *response) {
				r.Error = map[string]string{"code": b.StreamError.Type, "message": b.StreamError.Message}
			})
			return
		case "stop":
			a.end("incomplete", func(r *response) {
				r.Incomplete, r.Output, r.Usage = map[string]string{"reason": b.Stop}, a.items, a.usage
			})
			return
		case "pause":
			if wait(a.ctx, b.Pause) != nil {
				return
			}
		case "usage":
		default:
			cut := i+1 < len(blocks) && (blocks[i+1].Break || blocks[i+1].StreamError != nil)
			if a.block(b, cut) != nil {
				return
			}
		}
	}
	a.end("completed", func(r *response) { r.Output, r.Usage = append([]any{}, a.items...), a.usage })
}

// block streams one item; cut leaves its end out.
func (a *answer) block(b Block, cut bool) error {
	index, zero := len(a.items), 0
	var opened, done any
	var deltas []streamEvent
	switch b.kind() {
	case "text":
		text, id := a.s.text(b), a.next("msg")
		whole := outputText{"output_text", text, []any{}}
		opened = messageItem{id, "message", "in_progress", "assistant", []outputText{}, b.Phase}
		done = messageItem{id, "message", "completed", "assistant", []outputText{whole}, b.Phase}
		deltas = append(deltas, streamEvent{Type: "response.content_part.added", ItemID: id, Content: &zero, Part: outputText{"output_text", "", []any{}}})
		for _, c := range a.s.chunks(text, b.Chunk, 12) {
			deltas = append(deltas, streamEvent{Type: "response.output_text.delta", ItemID: id, Content: &zero, Delta: c})
		}
		if !cut {
			deltas = append(deltas, streamEvent{Type: "response.output_text.done", ItemID: id, Content: &zero, Text: text})
		}
	case "thinking":
		id, sealed := a.next("rs"), signature
		whole := summaryText{"summary_text", b.Thinking}
		opened = reasoningItem{id, "reasoning", []summaryText{}, nil}
		done = reasoningItem{id, "reasoning", []summaryText{whole}, &sealed}
		deltas = append(deltas, streamEvent{Type: "response.reasoning_summary_part.added", ItemID: id, Summary: &zero, Part: summaryText{"summary_text", ""}})
		for _, c := range a.s.chunks(b.Thinking, b.Chunk, 12) {
			deltas = append(deltas, streamEvent{Type: "response.reasoning_summary_text.delta", ItemID: id, Summary: &zero, Delta: c})
		}
		deltas = append(deltas,
			streamEvent{Type: "response.reasoning_summary_text.done", ItemID: id, Summary: &zero, Text: b.Thinking},
			streamEvent{Type: "response.reasoning_summary_part.done", ItemID: id, Summary: &zero, Part: whole})
	case "tool":
		input, id, call := a.s.input(b), a.next("fc"), a.next("call")
		opened = functionItem{id, "function_call", "in_progress", "", call, b.Tool, b.Namespace}
		done = functionItem{id, "function_call", "completed", input, call, b.Tool, b.Namespace}
		for _, c := range a.s.chunks(input, b.Chunk, 4096) {
			deltas = append(deltas, streamEvent{Type: "response.function_call_arguments.delta", ItemID: id, Delta: c})
		}
		deltas = append(deltas, streamEvent{Type: "response.function_call_arguments.done", ItemID: id, Arguments: input})
	case "custom":
		input, id, call := a.s.input(b), a.next("ctc"), a.next("call")
		opened = customItem{id, "custom_tool_call", "in_progress", call, b.Custom, ""}
		done = customItem{id, "custom_tool_call", "completed", call, b.Custom, input}
		for _, c := range a.s.chunks(input, b.Chunk, 4096) {
			deltas = append(deltas, streamEvent{Type: "response.custom_tool_call_input.delta", ItemID: id, Delta: c})
		}
		deltas = append(deltas, streamEvent{Type: "response.custom_tool_call_input.done", ItemID: id, Input: input})
	case "search":
		id, action := a.next("ws"), searchAction{"search", b.Search}
		opened = searchItem{id, "web_search_call", "in_progress", action}
		done = searchItem{id, "web_search_call", "completed", action}
	}
	a.send(streamEvent{Type: "response.output_item.added", Output: &index, Item: opened})
	for _, d := range deltas {
		d.Output = &index
		a.send(d)
		if err := wait(a.ctx, b.Delay); err != nil {
			return err
		}
	}
	if !cut {
		a.send(streamEvent{Type: "response.output_item.done", Output: &index, Item: done})
		a.items = append(a.items, done)
	}
	return a.out.err
}
