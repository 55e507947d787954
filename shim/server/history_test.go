package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/history"
	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/server"
)

const oldSession = "5e551011-0000-4000-8000-000000000001"

// past is a History in memory: the routes are under test here, not the files.
type past struct {
	mu     sync.Mutex
	rows   []history.Session
	events []event.Event
	at     history.Cursors
	err    error // what Events fails with, behind the events
	asked  []string
}

func (p *past) Knows(provider string) bool { return provider == "anthropic" || provider == "openai" }

func (p *past) List(_ context.Context, provider string) ([]history.Session, error) {
	p.note("list %s", provider)
	return p.rows, nil
}

func (p *past) Events(_ context.Context, provider, id string, page history.Page, emit func(event.Event) error) (history.Cursors, error) {
	p.note("%s %s limit=%d before=%s after=%s", provider, id, page.Limit, page.Before, page.After)
	if id != oldSession {
		return history.Cursors{}, history.ErrNotFound
	}
	if page.Before == "bad" || page.After == "bad" {
		return history.Cursors{}, errors.Wrap(history.ErrBadCursor, "before")
	}
	for _, e := range p.events {
		if err := emit(e); err != nil {
			return history.Cursors{}, err
		}
	}
	return p.at, p.err
}

func (p *past) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, fmt.Sprintf(format, args...))
}

func get(t *testing.T, s *shim, path string) Answer {
	t.Helper()
	return Do(t, s.URL, Call{Method: "GET", Path: path, Header: authorized()})
}

func TestHistoryList(t *testing.T) {
	s := start(t, nil)
	if a := get(t, s, "/history"); a.Status != 200 || strings.TrimSpace(a.Body) != `{"sessions":[]}` {
		t.Errorf("none: got %d %s", a.Status, a.Body)
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s.past.rows = []history.Session{
		{ID: oldSession, Title: "<b>Green</b>", FirstPrompt: "make it green", StartedAt: at, EndedAt: at.Add(time.Minute), Branch: "main", Messages: 2},
		{ID: "5e551011-0000-4000-8000-000000000002"},
	}
	s.runs.listed = []run.Summary{
		{ID: "run-2", Provider: "anthropic", Session: strings.ToUpper(oldSession), State: "done", SHA: "abc1234", Undone: true, Files: []string{}},
		{ID: "run-1", Provider: "anthropic", Session: oldSession, State: "failed", Files: []string{}},
		{ID: "run-0", Provider: "openai", Session: oldSession, Files: []string{}},
		{ID: "run-x", Provider: "anthropic", Files: []string{}},
	}
	const runs = `[{"id":"run-2","kind":"","state":"done","provider":"anthropic","session":"` + "5E551011-0000-4000-8000-000000000001" + `","prompt":"","startedAt":"0001-01-01T00:00:00Z","endedAt":null,"files":[],"sha":"abc1234","undone":true,"undoable":false},` +
		`{"id":"run-1","kind":"","state":"failed","provider":"anthropic","session":"` + oldSession + `","prompt":"","startedAt":"0001-01-01T00:00:00Z","endedAt":null,"files":[],"sha":"","undone":false,"undoable":false}]`
	want := `{"sessions":[{"id":"` + oldSession + `","title":"<b>Green</b>","firstPrompt":"make it green","startedAt":"2026-03-01T12:00:00Z","endedAt":"2026-03-01T12:01:00Z","branch":"main","messageCount":2,"runs":` + runs + `},` +
		`{"id":"5e551011-0000-4000-8000-000000000002","title":"","firstPrompt":"","startedAt":null,"endedAt":null,"branch":"","messageCount":0,"runs":[]}]}`
	if a := get(t, s, "/history?provider=anthropic"); a.Status != 200 || strings.TrimSpace(a.Body) != want {
		t.Errorf("got  %s\nwant %s", a.Body, want)
	}
	get(t, s, "/history?provider=openai")
	if got := strings.Join(s.past.asked, "|"); got != "list anthropic|list anthropic|list openai" {
		t.Errorf("asked %s", got)
	}
}

// What is masked in a session is masked beside it, too.
func TestHistoryListHidesSecretsInPromptsOfRuns(t *testing.T) {
	s := start(t, nil)
	s.past.rows = []history.Session{{ID: oldSession, Title: "use [secret hidden]"}}
	key := "sk-ant-api03-Ab3dEf6hIj9LmN0pQrStUvWxYz0123456789"
	s.runs.listed = []run.Summary{
		{ID: "run-2", Provider: "anthropic", Session: oldSession, Prompt: "use " + key + " here"},
		{ID: "run-1", Provider: "anthropic", Session: oldSession, Prompt: "use " + key[:16] + "…"},
	}
	a := get(t, s, "/history")
	for _, want := range []string{`"prompt":"use [secret hidden] here"`, `"prompt":"use [secret hidden]…"`} {
		if !strings.Contains(a.Body, want) {
			t.Errorf("no %s in %s", want, a.Body)
		}
	}
	if s.runs.listed[0].Prompt != "use "+key+" here" {
		t.Error("the ledger's own was changed")
	}
}

// A ledger that cannot be read takes the runs away, not the sessions.
func TestHistoryListWithoutRuns(t *testing.T) {
	var log bytes.Buffer
	s := start(t, func(o *server.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	s.past.rows = []history.Session{{ID: oldSession}}
	s.runs.listErr = errors.New("disk on fire")
	if a := get(t, s, "/history"); a.Status != 200 || !strings.Contains(a.Body, oldSession) || !strings.Contains(a.Body, `"runs":[]`) {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
	if !strings.Contains(log.String(), "disk on fire") {
		t.Errorf("the log has %q", log.String())
	}
}

func TestHistoryDetail(t *testing.T) {
	s := start(t, nil)
	if a := get(t, s, "/history/"+oldSession); a.Status != 200 || strings.TrimSpace(a.Body) != `{"id":"`+oldSession+`","events":[],"before":"","after":""}` {
		t.Errorf("none: got %d %s", a.Status, a.Body)
	}
	s.past.events = []event.Event{event.User{Text: "make it <green> & \"bold\"\n"}, event.Delta{Text: "ok\u2028", MessageID: "m"}, event.FileEdit{Tool: "Edit", Path: "a.css", ID: "t"}}
	s.past.at = history.Cursors{Before: `a"b`, After: "12-3"}
	a := get(t, s, "/history/"+strings.ToUpper(oldSession)+"?provider=openai&limit=7&before=99-1")
	var got struct {
		ID            string
		Events        []json.RawMessage
		Before, After string
	}
	if err := json.Unmarshal([]byte(a.Body), &got); err != nil || a.Status != 200 {
		t.Fatalf("%d %s: %v", a.Status, a.Body, err)
	}
	if got.ID != oldSession || got.Before != `a"b` || got.After != "12-3" || len(got.Events) != len(s.past.events) {
		t.Errorf("got %s", a.Body)
	}
	for i, e := range s.past.events {
		want, err := event.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		if string(got.Events[i]) != string(want) {
			t.Errorf("event %d is %s, want %s", i, got.Events[i], want)
		}
	}
	if ct := a.Header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("Content-Type %q", ct)
	}
	for path, asked := range map[string]string{
		"?limit=1000":   "limit=1000 before= after=",
		"?after=1-2":    "limit=0 before= after=1-2",
		"?before=&x=1":  "limit=0 before= after=",
		"?provider=":    "limit=0 before= after=",
		"?limit=1&z=%2": "limit=1 before= after=",
	} {
		get(t, s, "/history/"+oldSession+path)
		if last := s.past.asked[len(s.past.asked)-1]; last != "anthropic "+oldSession+" "+asked {
			t.Errorf("%s asked %q", path, last)
		}
	}
	if a := Do(t, s.URL, Call{Method: "HEAD", Path: "/history/" + oldSession, Header: authorized()}); a.Status != 200 || a.Body != "" {
		t.Errorf("HEAD: %d %q", a.Status, a.Body)
	}
	if last := s.past.asked[len(s.past.asked)-1]; !strings.Contains(last, "limit=1 ") {
		t.Errorf("HEAD asked for %q", last)
	}
}

func TestHistoryRefusals(t *testing.T) {
	s := start(t, nil)
	s.past.rows = []history.Session{{ID: oldSession}}
	for _, path := range []string{
		"?provider=google", "?provider=nobody", "?provider=Anthropic", "?provider=..%2f..", "?provider=%00", "?provider=a&provider=anthropic",
		"/" + oldSession + "?provider=nobody", "/nonsense?provider=nobody",
	} {
		wantFault(t, get(t, s, "/history"+path), 400, "bad_request")
	}
	for _, query := range []string{
		"limit=0", "limit=-1", "limit=", "limit=x", "limit=1001", "limit=1e2", "limit=99999999999999999999", "limit=+1%00",
		"before=bad", "after=bad", "before=1-1&after=1-2", "limit=5&before=bad",
	} {
		wantFault(t, get(t, s, "/history/"+oldSession+"?"+query), 400, "bad_request")
	}
	asked := len(s.past.asked)
	for _, id := range []string{
		"..", "%2e%2e", "..%2f" + oldSession, oldSession + "%2f..", oldSession + ".jsonl", oldSession + "%00", "%00", "a b", "-", "--help",
		"5e55101100004000800000000000000001", "{" + oldSession + "}", oldSession[:35], oldSession + "0", "..%2f..%2f..%2fetc%2fpasswd", "..%5c..%5cx", oldSession + "%0a", strings.Repeat("a", 5000),
	} {
		wantFault(t, get(t, s, "/history/"+id), 404, "not_found")
	}
	if len(s.past.asked) != asked {
		t.Errorf("what is no id was looked for: %q", s.past.asked[asked:])
	}
	for _, path := range []string{"/history/" + strings.Replace(oldSession, "1", "2", 1), "/history/" + oldSession + "/", "/history/" + oldSession + "/events", "/history/../history", "/history//" + oldSession} {
		wantFault(t, get(t, s, path), 404, "not_found")
	}
}

// The guard stands before these routes as before the others.
func TestHistoryIsGuarded(t *testing.T) {
	s := start(t, nil)
	s.past.rows, s.past.events = []history.Session{{ID: oldSession}}, []event.Event{event.User{Text: "secret"}}
	for _, path := range []string{"/history", "/history/" + oldSession} {
		for _, c := range []struct {
			header []string
			host   string
			status int
			code   string
		}{
			{[]string{"Authorization", ""}, "", 401, "unauthorized"},
			{[]string{"Authorization", "Bearer wrong"}, "", 401, "unauthorized"},
			{[]string{"Origin", "http://localhost:9999"}, "", 403, "bad_origin"},
			{[]string{"Sec-Fetch-Site", "same-site"}, "", 403, "bad_origin"},
			{nil, "evil.test", 403, "bad_host"},
		} {
			a := Do(t, s.URL, Call{Method: "GET", Path: path, Host: c.host, Header: authorized(c.header...)})
			wantFault(t, a, c.status, c.code)
			if strings.Contains(a.Body, "secret") || strings.Contains(a.Body, oldSession) {
				t.Errorf("%s: the refused got %s", path, a.Body)
			}
		}
	}
	if len(s.past.asked) != 0 {
		t.Errorf("asked %q", s.past.asked)
	}
}

// What fails before the first event has a status; later the answer is cut,
// which nobody can take for a whole one.
func TestHistoryThatBreaksOff(t *testing.T) {
	s := start(t, nil)
	s.past.err = errors.New("disk on fire")
	wantFault(t, get(t, s, "/history/"+oldSession), 500, "internal")
	for range 2000 {
		s.past.events = append(s.past.events, event.Delta{Text: strings.Repeat("x", 100)})
	}
	resp := open(t, s, Call{Method: "GET", Path: "/history/" + oldSession})
	if b, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%d bytes, %v: the answer ended as if it were whole", len(b), err)
	}
}

// flood is a history that never ends by itself.
type flood struct {
	past
	ended chan error
}

func (f *flood) Events(_ context.Context, _, _ string, _ history.Page, emit func(event.Event) error) (history.Cursors, error) {
	e := event.ToolResult{Text: strings.Repeat("x", 4000)}
	for {
		if err := emit(e); err != nil {
			f.ended <- err
			return history.Cursors{}, err
		}
	}
}

// A client that goes away, or does not read, ends the reading of the file.
func TestHistoryClientThatGoesAway(t *testing.T) {
	f := &flood{ended: make(chan error, 1)}
	s := start(t, func(o *server.Options) { o.History, o.Limits.Stall = f, 300*time.Millisecond })
	for _, leave := range []bool{true, false} {
		resp := open(t, s, Call{Method: "GET", Path: "/history/" + oldSession})
		if leave {
			resp.Body.Close()
		}
		select {
		case <-f.ended:
		case <-time.After(20 * time.Second):
			t.Fatalf("leave=%v: the file is still being read", leave)
		}
	}
}

// long is a history of many events, made while they are asked for.
type long struct {
	past
	events int
}

func (l *long) Events(_ context.Context, _, _ string, _ history.Page, emit func(event.Event) error) (history.Cursors, error) {
	e := event.ToolResult{Text: strings.Repeat("x", 4000)}
	for range l.events {
		if err := emit(e); err != nil {
			return history.Cursors{}, err
		}
	}
	return history.Cursors{}, nil
}

// A long session passes through: memory does not grow with it.
func TestHistoryDetailIsStreamed(t *testing.T) {
	s := start(t, func(o *server.Options) { o.History = &long{events: 40_000} }) // 160 MB
	var before, peak runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	resp := open(t, s, Call{Method: "GET", Path: "/history/" + oldSession})
	total, buf := 0, make([]byte, 1<<20)
	var most uint64
	for {
		n, err := resp.Body.Read(buf)
		total += n
		if total%(32<<20) < n {
			runtime.ReadMemStats(&peak)
			most = max(most, peak.HeapAlloc)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if total < 160_000_000 || most == 0 {
		t.Fatalf("%d bytes came", total)
	}
	if grown := int64(most) - int64(before.HeapAlloc); grown > 48<<20 { // garbage that waits for its collection
		t.Errorf("%d MiB for %d MiB", grown>>20, total>>20)
	}
	if resp.Header.Get("Content-Length") != "" || resp.StatusCode != http.StatusOK {
		t.Errorf("%d, Content-Length %q", resp.StatusCode, resp.Header.Get("Content-Length"))
	}
}

func BenchmarkHistoryRoute(b *testing.B) {
	const events = 10_000
	o := server.Options{Runs: newShelf(), Catalog: &menu{}, History: &long{events: events}, Token: testToken}
	base := listen(b, server.NewHTTPServer(server.New(o), nil))
	b.ReportAllocs()
	for b.Loop() {
		req, err := http.NewRequest("GET", base+"/history/"+oldSession, nil)
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+testToken)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		if err != nil || n < events*4000 {
			b.Fatalf("%d bytes, %v", n, err)
		}
		resp.Body.Close()
		b.SetBytes(n)
	}
}
