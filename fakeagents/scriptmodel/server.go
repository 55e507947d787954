package scriptmodel

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/errors"
)

// Options is what a server needs beside its scenario.
type Options struct {
	// Repo is the working directory that {{REPO}} in tool input stands for.
	// No delta splits it, so that a recording can put the placeholder back.
	Repo string
	// Listener is where to listen; a free port of 127.0.0.1 when nil.
	Listener net.Listener
	// IDs is how many ids of the Responses API were given before: a thread
	// that goes on does not use one twice.
	IDs int
}

// Server plays one scenario.
type Server struct {
	scenario *Scenario
	repo     string
	listener net.Listener
	http     *http.Server

	mu       sync.Mutex
	requests []Request
	before   int            // Options.IDs
	ids      map[string]int // given so far, by prefix
	asked    map[string]int // requests so far, by script and step
}

// Request is what came in, without its headers (they hold keys).
type Request struct {
	Method string
	Path   string
	Stream bool
	Script string // "" is the scenario's own
	Step   int
	Said   []string // texts of the conversation so far, of both sides, the oldest first
}

// Start serves the scenario until Close.
func Start(sc *Scenario, o Options) (*Server, error) {
	ln := o.Listener
	if ln == nil {
		var err error
		if ln, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return nil, errors.Wrap(err, "script model")
		}
	}
	s := &Server{scenario: sc, repo: o.Repo, listener: ln, asked: map[string]int{}, ids: map[string]int{}, before: o.IDs}
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.http.Serve(ln) }() // ends with Close
	return s, nil
}

// URL is the base URL to give to a CLI.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Port is the port of URL.
func (s *Server) Port() int {
	addr, ok := s.listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0
	}
	return addr.Port
}

// Requests returns what came in so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request{}, s.requests...)
}

// Close ends the server and its open connections.
func (s *Server) Close() error { return s.http.Close() }

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.messagesRoute)
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, r *http.Request) {
		s.note(Request{Method: r.Method, Path: r.URL.Path})
		reply(w, 200, map[string]int{"input_tokens": 1000}, nil)
	})
	mux.HandleFunc("/v1/responses", s.responsesRoute)
	mux.HandleFunc("/mcp", s.mcpRoute)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.note(Request{Method: r.Method, Path: r.URL.Path})
		if r.Method == http.MethodHead { // 2.1.197 looks whether the host is there
			w.WriteHeader(200)
			return
		}
		replyError(w, APIError{Status: 404, Type: "not_found_error", Message: "no such route"})
	})
	return mux
}

func (s *Server) note(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
}

// body is a request of the Messages API, as far as a script needs it.
type body struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	Messages []requestMessage  `json:"messages"`
	Tools    []json.RawMessage `json:"tools"`
}

type requestMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// texts are the text blocks of a message.
func (m requestMessage) texts() []string {
	var one string
	if json.Unmarshal(m.Content, &one) == nil {
		return []string{one}
	}
	var blocks []struct{ Type, Text string }
	if json.Unmarshal(m.Content, &blocks) != nil {
		return nil
	}
	var out []string
	for _, b := range blocks {
		if b.Type == "text" {
			out = append(out, b.Text)
		}
	}
	return out
}

// maxBody bounds a request, in bytes; conversations with images are large.
const maxBody = 64 << 20

func (s *Server) messagesRoute(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Api-Key") == "" && r.Header.Get("Authorization") == "" {
		replyError(w, APIError{Status: 401, Type: "authentication_error", Message: "x-api-key header is required"})
		return
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var b body
	if err == nil {
		err = json.Unmarshal(raw, &b)
	}
	if err != nil {
		replyError(w, APIError{Status: 400, Type: "invalid_request_error", Message: err.Error()})
		return
	}
	script, step := s.position(b.Messages)
	var said []string
	for _, m := range b.Messages {
		said = append(said, m.texts()...)
	}
	s.note(Request{Method: r.Method, Path: r.URL.Path, Stream: b.Stream, Script: script, Step: step, Said: said})
	blocks := s.answer(script, step)
	for _, blk := range blocks {
		if blk.Error != nil {
			replyError(w, *blk.Error)
			return
		}
	}
	m := s.message(b.Model, step, blocks)
	if b.Stream {
		s.stream(r.Context(), w, m, blocks)
	} else {
		s.whole(w, m, blocks)
	}
}

// position tells which script a conversation is in and at which step: the
// number of the model's answers since the user spoke.
func (s *Server) position(messages []requestMessage) (script string, step int) {
	for _, m := range messages {
		if m.Role == "assistant" {
			step++
			continue
		}
		if m.Role != "user" {
			continue
		}
		text := strings.Join(m.texts(), "\n")
		if _, after, ok := strings.Cut(text, "SCN:"); ok {
			script, step = strings.Fields(after + " ")[0], 0
		} else if s.scenario.Prompt != "" && strings.Contains(text, s.scenario.Prompt) {
			script, step = "", 0
		}
	}
	return script, step
}

// answer returns the blocks of a step, {{REPO}} filled in.
func (s *Server) answer(script string, step int) []Block {
	steps := s.scenario.Steps
	if script != "" {
		steps = s.scenario.Sub[script]
	}
	if step >= len(steps) {
		over := fmt.Sprintf("The script %q has no step %d.", script, step)
		return []Block{{Text: &over}}
	}
	key := fmt.Sprintf("%s %d", script, step)
	s.mu.Lock()
	n := s.asked[key]
	s.asked[key]++
	s.mu.Unlock()
	st := steps[step]
	if st.First != nil && n < max(st.Times, 1) {
		return st.First
	}
	return st.Blocks
}

// next returns the next id of a kind: msg_000001.
func (s *Server) next(prefix string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids[prefix]++
	return fmt.Sprintf("%s_%06d", prefix, s.ids[prefix])
}

func reply(w http.ResponseWriter, status int, v any, headers map[string]string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", "req_script")
	for k, val := range headers {
		w.Header().Set(k, val)
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that left is no failure of ours
}

func replyError(w http.ResponseWriter, e APIError) {
	status := e.Status
	if status == 0 {
		status = 500
	}
	reply(w, status, errorBody(e), e.Headers)
}

type errorMessage struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	RequestID string `json:"request_id,omitempty"`
}

func errorBody(e APIError) errorMessage {
	m := errorMessage{Type: "error", RequestID: "req_script"}
	m.Error.Type, m.Error.Message = e.Type, e.Message
	return m
}

// wait pauses for a duration a script names, or until the client is gone.
func wait(ctx context.Context, d string) error {
	if d == "" {
		return nil
	}
	dur, err := time.ParseDuration(d)
	if err != nil {
		return err // checked when the scenario was read
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(dur):
		return nil
	}
}
