package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/sse"
)

// stub is a shim that says what a test wants it to: for states of the panel
// that the real one comes to only by accidents. It has what the panel asks
// for, and one run at a time.
type stub struct {
	mu   sync.Mutex
	news *sync.Cond // of any change

	meta    map[string]any      // GET /meta; nil: it never answers
	refuse  map[string]*refusal // by route
	running map[string]any      // an entry of GET /runs
	answers map[string]any      // JSON by route; diffs, history, …
	down    bool                // nobody is there: connections break
	asked   []asked             // bodies of POST /design

	id     string // of the run
	events [][]byte
	over   bool
}

// asked is what a test looks at of a request for a run.
type asked struct {
	Prompt   string
	Elements []map[string]any
}

// refusal is an error body with its status.
type refusal struct {
	status int
	body   map[string]any
}

func refused(status int, code, message, fix string, more ...any) *refusal {
	body := map[string]any{"error": message, "code": code, "fix": fix}
	for i := 0; i+1 < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return &refusal{status, body}
}

// newStub is a shim where all is well.
func newStub() *stub {
	s := &stub{refuse: map[string]*refusal{}, answers: map[string]any{}}
	s.news = sync.NewCond(&s.mu)
	model := func(id, label string) map[string]any {
		return map[string]any{"id": id, "label": label, "description": "", "defaultEffort": "default", "efforts": []any{
			map[string]any{"id": "default", "label": "Default"}, map[string]any{"id": "high", "label": "High"},
		}}
	}
	s.meta = map[string]any{
		"project": "cafe", "repoDir": "/home/ada/cafe", "version": version(), "branch": "main", "dirty": false,
		"defaultProvider": "anthropic", "defaultModel": "opus", "git": map[string]any{"state": "ok", "hooks": "skipped", "detail": ""},
		"capabilities": []string{"runs", "undo", "diff", "preview", "pair"},
		"providers": []any{
			map[string]any{"id": "anthropic", "label": "Anthropic", "enabled": true, "defaultModel": "opus", "billing": "plan", "models": []any{model("opus", "Opus"), model("sonnet", "Sonnet")}},
			map[string]any{"id": "openai", "label": "OpenAI", "enabled": true, "defaultModel": "gpt", "models": []any{model("gpt", "GPT")}},
		},
	}
	return s
}

// provider is the entry of /meta that the panel has chosen.
func (s *stub) provider() map[string]any { return s.meta["providers"].([]any)[0].(map[string]any) }

// Say adds events to the run; the last one of a run is event.Done.
func (s *stub) Say(events ...event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		data, err := event.Encode(e)
		if err != nil {
			panic(err)
		}
		s.events = append(s.events, data)
		_, done := e.(event.Done)
		s.over = s.over || done
	}
	s.news.Broadcast()
}

// Go breaks every connection, and takes no new one.
func (s *stub) Go() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = true
	s.news.Broadcast()
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		panic(http.ErrAbortHandler)
	}
	path := r.URL.Path
	if refusal := s.refuse[path]; refusal != nil {
		answer(w, refusal.status, refusal.body)
		return
	}
	switch {
	case path == "/health":
		answer(w, 200, map[string]any{"ok": true})
	case path == "/meta":
		if s.meta == nil {
			for s.meta == nil && !s.down && r.Context().Err() == nil {
				s.news.Wait()
			}
			panic(http.ErrAbortHandler)
		}
		answer(w, 200, s.meta)
	case path == "/runs":
		list := []any{}
		if s.running != nil {
			list = append(list, s.running)
		}
		answer(w, 200, map[string]any{"runs": list})
	case path == "/design":
		var body asked
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			answer(w, 400, map[string]any{"error": err.Error(), "code": "bad_request"})
			return
		}
		s.asked = append(s.asked, body)
		n, _ := strconv.Atoi(strings.TrimPrefix(s.id, "run-"))
		s.id, s.events, s.over = fmt.Sprintf("run-%d", n+1), nil, false
		w.Header().Set("Content-Location", "runs/"+s.id+"/events")
		s.stream(w, r, 0)
	case strings.HasSuffix(path, "/events"):
		after, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
		s.stream(w, r, after)
	case strings.HasSuffix(path, "/stop"):
		answer(w, 200, map[string]any{"id": s.id, "state": "stopping"})
	default:
		body, ok := s.answers[path]
		if !ok {
			answer(w, 404, map[string]any{"error": "the test has no answer for " + path, "code": "not_found"})
			return
		}
		answer(w, 200, body)
	}
}

// stream writes the run's events from one on, to its end.
func (s *stub) stream(w http.ResponseWriter, r *http.Request, next int) {
	id := s.id
	sse.SetHeader(w.Header())
	rc := http.NewResponseController(w)
	stop := contextDone(r, s)
	defer stop()
	for {
		for ; id == s.id && next < len(s.events); next++ {
			fmt.Fprintf(w, "id: %d\ndata: %s\n\n", next+1, s.events[next])
		}
		_ = rc.Flush()
		if s.down {
			panic(http.ErrAbortHandler)
		}
		if s.over || id != s.id || r.Context().Err() != nil {
			return
		}
		s.news.Wait()
	}
}

// contextDone wakes those who wait when a client has gone.
func contextDone(r *http.Request, s *stub) (stop func()) {
	left := make(chan struct{})
	go func() {
		select {
		case <-r.Context().Done():
			s.mu.Lock()
			s.news.Broadcast()
			s.mu.Unlock()
		case <-left:
		}
	}()
	return func() { close(left) }
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
