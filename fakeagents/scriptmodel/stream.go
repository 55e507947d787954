package scriptmodel

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// The structs below keep the field order of the real API: the CLI passes the
// events on as they came.

type message struct {
	ID           string         `json:"id"`
	Type         string         `json:"type"`
	Role         string         `json:"role"`
	Model        string         `json:"model"`
	Content      []any          `json:"content"`
	StopReason   *string        `json:"stop_reason"`
	StopSequence *string        `json:"stop_sequence"`
	Usage        map[string]any `json:"usage"`
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type thinkingBlock struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

type redactedBlock struct {
	Type string `json:"type"`
	Data string `json:"data"`
}

type toolBlock struct {
	Type  string `json:"type"`
	ID    string `json:"id"`
	Name  string `json:"name"`
	Input any    `json:"input"`
}

type textDelta struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type thinkingDelta struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Estimated int    `json:"estimated_tokens,omitempty"`
}

type signatureDelta struct {
	Type      string `json:"type"`
	Signature string `json:"signature"`
}

type inputDelta struct {
	Type string `json:"type"`
	JSON string `json:"partial_json"`
}

// signature is what thinking blocks are signed with: base64, as the real
// ones are.
const signature = "c2lnbmVk"

// message makes the head of an answer: id, usage, and why it stops.
func (s *Server) message(model string, step int, blocks []Block) message {
	usage := map[string]any{"input_tokens": 100 + step, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 3000, "output_tokens": 1, "service_tier": "standard"}
	stop := "end_turn"
	for _, b := range blocks {
		if b.Tool != "" {
			stop = "tool_use"
		}
	}
	for _, b := range blocks {
		if b.Stop != "" {
			stop = b.Stop
		}
		for k, v := range b.Usage {
			usage[k] = v
		}
	}
	return message{ID: s.next("msg"), Type: "message", Role: "assistant", Model: model, Content: []any{}, StopReason: &stop, Usage: usage}
}

// whole answers without streaming. What breaks a stream breaks it too.
func (s *Server) whole(w http.ResponseWriter, m message, blocks []Block) {
	for _, b := range blocks {
		switch b.kind() {
		case "break":
			panic(http.ErrAbortHandler)
		case "streamError":
			replyError(w, APIError{Status: 500, Type: b.StreamError.Type, Message: b.StreamError.Message})
			return
		case "text":
			m.Content = append(m.Content, textBlock{"text", s.text(b)})
		case "thinking":
			m.Content = append(m.Content, thinkingBlock{"thinking", b.Thinking, signature})
		case "redacted":
			m.Content = append(m.Content, redactedBlock{"redacted_thinking", b.Redacted})
		case "tool":
			m.Content = append(m.Content, toolBlock{"tool_use", s.next("toolu"), b.Tool, json.RawMessage(s.input(b))})
		}
	}
	reply(w, 200, m, nil)
}

// sse writes server-sent events and flushes each.
type sse struct {
	w   http.ResponseWriter
	err error
}

func (e *sse) send(event string, v any) {
	if e.err != nil {
		return
	}
	var data []byte
	if data, e.err = marshal(v); e.err != nil {
		return
	}
	if _, e.err = fmt.Fprintf(e.w, "event: %s\ndata: %s\n\n", event, data); e.err != nil {
		return
	}
	e.err = http.NewResponseController(e.w).Flush()
}

type startEvent struct {
	Type    string  `json:"type"`
	Message message `json:"message"`
}

type blockStartEvent struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
	Block any    `json:"content_block"`
}

type deltaEvent struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
	Delta any    `json:"delta"`
}

type blockStopEvent struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
}

type messageDeltaEvent struct {
	Type  string         `json:"type"`
	Delta stopDelta      `json:"delta"`
	Usage map[string]any `json:"usage"`
}

type stopDelta struct {
	StopReason   string  `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
}

type bare struct {
	Type string `json:"type"`
}

// stream answers with server-sent events, one block after the other.
func (s *Server) stream(ctx context.Context, w http.ResponseWriter, m message, blocks []Block) {
	stop := *m.StopReason
	m.StopReason = nil
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("Request-Id", "req_script")
	out := &sse{w: w}
	out.send("message_start", startEvent{"message_start", m})
	out.send("ping", bare{"ping"})
	index, tokens := 0, 7
	for i, b := range blocks {
		switch b.kind() {
		case "break":
			settle(ctx)
			panic(http.ErrAbortHandler)
		case "streamError":
			settle(ctx)
			out.send("error", errorBody(*b.StreamError))
			return
		case "pause":
			if wait(ctx, b.Pause) != nil {
				return
			}
		case "stop", "usage":
		default:
			cut := i+1 < len(blocks) && (blocks[i+1].Break || blocks[i+1].StreamError != nil)
			n, err := s.streamBlock(ctx, out, index, b, cut)
			if err != nil {
				return
			}
			tokens += n
			index++
		}
	}
	usage := map[string]any{}
	for k, v := range m.Usage {
		usage[k] = v
	}
	usage["output_tokens"] = tokens
	out.send("message_delta", messageDeltaEvent{"message_delta", stopDelta{StopReason: stop}, usage})
	out.send("message_stop", bare{"message_stop"})
}

// breakDelay is how long the client has to read what was sent before the
// connection is cut: it must have seen the beginning, or a recording would
// differ from time to time.
const breakDelay = 200 * time.Millisecond

func settle(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(breakDelay):
	}
}

// streamBlock sends one content block; cut leaves its end out. It returns
// the tokens it counts for: three per delta.
func (s *Server) streamBlock(ctx context.Context, out *sse, index int, b Block, cut bool) (tokens int, err error) {
	start, deltas := s.parts(b)
	out.send("content_block_start", blockStartEvent{"content_block_start", index, start})
	for _, d := range deltas {
		out.send("content_block_delta", deltaEvent{"content_block_delta", index, d})
		if err := wait(ctx, b.Delay); err != nil {
			return 0, err
		}
	}
	if !cut {
		out.send("content_block_stop", blockStopEvent{"content_block_stop", index})
	}
	return 3 * len(deltas), out.err
}

// parts returns the opening of a content block and its deltas.
func (s *Server) parts(b Block) (start any, deltas []any) {
	switch b.kind() {
	case "text":
		for _, c := range s.chunks(s.text(b), b.Chunk, 12) {
			deltas = append(deltas, textDelta{"text_delta", c})
		}
		return textBlock{"text", ""}, deltas
	case "thinking":
		for _, c := range s.chunks(b.Thinking, b.Chunk, 12) {
			deltas = append(deltas, thinkingDelta{Type: "thinking_delta", Thinking: c})
		}
		return thinkingBlock{Type: "thinking"}, append(deltas, signatureDelta{"signature_delta", signature})
	case "hidden":
		for _, n := range b.Hidden {
			deltas = append(deltas, thinkingDelta{Type: "thinking_delta", Estimated: n})
		}
		return thinkingBlock{Type: "thinking"}, append(deltas, signatureDelta{"signature_delta", signature})
	case "redacted":
		return redactedBlock{"redacted_thinking", b.Redacted}, nil
	}
	deltas = append(deltas, inputDelta{"input_json_delta", ""})
	for _, c := range s.chunks(s.input(b), b.Chunk, 20) {
		deltas = append(deltas, inputDelta{"input_json_delta", c})
	}
	return toolBlock{"tool_use", s.next("toolu"), b.Tool, struct{}{}}, deltas
}

func (s *Server) text(b Block) string {
	return s.fill(strings.Repeat(*b.Text, max(b.Count, 1)) + b.Tail)
}

// input is the tool input as JSON text, or whatever the script says instead.
func (s *Server) input(b Block) string {
	if b.Raw != "" {
		return s.fill(b.Raw)
	}
	in := b.Input
	if in == nil {
		in = map[string]any{}
	}
	data, err := marshal(in)
	if err != nil {
		panic(err) // it was JSON when the scenario was read
	}
	quoted, err := marshal(s.repo)
	if err != nil {
		panic(err) // a string always encodes
	}
	return strings.ReplaceAll(string(data), "{{REPO}}", string(quoted[1:len(quoted)-1]))
}

func (s *Server) fill(text string) string {
	return strings.ReplaceAll(text, "{{REPO}}", s.repo)
}

// chunks cuts text into pieces of n characters and never inside the path of
// the repository.
func (s *Server) chunks(text string, n, usual int) []string {
	if n == 0 {
		n = usual
	}
	if text == "" {
		return nil
	}
	var out []string
	var piece strings.Builder
	count := 0
	for i := 0; i < len(text); {
		step := 1
		if s.repo != "" && strings.HasPrefix(text[i:], s.repo) {
			step = len(s.repo)
		} else {
			for i+step < len(text) && text[i+step]&0xC0 == 0x80 {
				step++ // the rest of one UTF-8 character
			}
		}
		piece.WriteString(text[i : i+step])
		i += step
		if count++; count == n {
			out = append(out, piece.String())
			piece.Reset()
			count = 0
		}
	}
	if count > 0 {
		out = append(out, piece.String())
	}
	return out
}

// marshal is JSON without HTML escapes, as the real API writes it.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
