package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/server"
)

func TestMeta(t *testing.T) {
	s := start(t, func(o *server.Options) {
		o.Unknown = func() int { return 3 }
		o.GeminiEnv = true
		o.Git = func(context.Context) gitrepo.State {
			return gitrepo.State{State: "merging", Branch: "main", Dirty: true, Hooks: true, Detail: "a merge is going on", Fix: "git merge --continue"}
		}
	})
	a := Do(t, s.URL, Call{Method: "GET", Path: "/meta", Header: authorized()})
	want := `{"project":"shop","repoDir":"/repos/shop","version":"0.1.0","branch":"main","dirty":true,` +
		`"providers":[{"id":"anthropic"},{"id":"openai"}],"defaultProvider":"anthropic","models":[{"id":"opus","label":"Opus"}],"defaultModel":"opus",` +
		`"geminiModel":"gemini-2.5-flash-image","geminiEnv":true,` +
		`"git":{"state":"merging","hooks":"skipped","detail":"a merge is going on","fix":"git merge --continue"},` +
		`"drift":{"unknown":3},"capabilities":["runs","undo","squash","commit","diff","preview","history","pair"]}`
	var got map[string]any
	if err := json.Unmarshal([]byte(a.Body), &got); err != nil || a.Status != 200 {
		t.Fatalf("%d %s: %v", a.Status, a.Body, err)
	}
	for _, p := range got["providers"].([]any) { // the rest of an entry is the catalog's
		for name := range p.(map[string]any) {
			if name != "id" {
				delete(p.(map[string]any), name)
			}
		}
	}
	if b, _ := json.Marshal(got); !sameJSON(t, string(b), want) {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := errors.CombineErrors(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)); err != nil {
		t.Fatal(err)
	}
	ja, _ := json.Marshal(x)
	jb, _ := json.Marshal(y)
	return bytes.Equal(ja, jb)
}

func TestMetaHooks(t *testing.T) {
	for _, c := range []struct {
		has, verify bool
		want        string
	}{{false, false, "none"}, {false, true, "none"}, {true, false, "skipped"}, {true, true, "run"}} {
		s := start(t, func(o *server.Options) {
			o.CommitVerify = c.verify
			o.Git = func(context.Context) gitrepo.State { return gitrepo.State{State: "ok", Hooks: c.has} }
		})
		a := Do(t, s.URL, Call{Method: "GET", Path: "/meta", Header: authorized()})
		if !strings.Contains(a.Body, `"hooks":"`+c.want+`"`) {
			t.Errorf("%+v: got %s", c, a.Body)
		}
	}
}

func TestMetaParameters(t *testing.T) {
	s := start(t, nil)
	for path, want := range map[string]string{
		"/meta":                       "only= refresh=false",
		"/meta?only=openai":           "only=openai refresh=false",
		"/meta?refresh=1":             "only= refresh=true",
		"/meta?only=openai&refresh=0": "only=openai refresh=false",
	} {
		a := Do(t, s.URL, Call{Method: "GET", Path: path, Header: authorized()})
		if got := s.menu.asked[len(s.menu.asked)-1]; a.Status != 200 || got != want {
			t.Errorf("%s: %d, asked %q, want %q", path, a.Status, got, want)
		}
		if only := strings.Contains(path, "only"); strings.Contains(a.Body, `"defaultProvider":"anthropic","models":[],"defaultModel":""`) != only {
			t.Errorf("%s: the top-level models are Anthropic's: %s", path, a.Body)
		}
	}
	for _, path := range []string{"/meta?only=nobody", "/meta?refresh=please"} {
		wantFault(t, Do(t, s.URL, Call{Method: "GET", Path: path, Header: authorized()}), 400, "bad_request")
	}
}

func TestRuns(t *testing.T) {
	s := start(t, nil)
	a := Do(t, s.URL, Call{Method: "GET", Path: "/runs", Header: authorized()})
	if a.Status != 200 || strings.TrimSpace(a.Body) != `{"runs":[]}` {
		t.Errorf("no runs: got %d %s", a.Status, a.Body)
	}
	s.runs.add("run-a", event.Done{})
	a = Do(t, s.URL, Call{Method: "GET", Path: "/runs", Header: authorized()})
	if !strings.Contains(a.Body, `"id":"run-a"`) || !strings.Contains(a.Body, `"endedAt":null`) {
		t.Errorf("got %s", a.Body)
	}
}

func TestDiff(t *testing.T) {
	s := start(t, nil)
	s.runs.add("run-a", event.Done{})
	s.runs.add("run-gone", event.Done{})
	s.runs.diff["run-gone"] = errors.Wrap(gitrepo.ErrGone, "read the snapshots")
	for path, status := range map[string]int{
		"/runs/run-a/diff": 200, "/runs/run-a/diff?path=a.css": 200, "/runs/run-a/diff?path=": 200,
		"/runs/run-a/diff?path=b.css": 404, "/runs/run-a/diff?path=../../etc/passwd": 404, "/runs/run-b/diff": 404, "/runs/run-gone/diff": 410,
	} {
		a := Do(t, s.URL, Call{Method: "GET", Path: path, Header: authorized()})
		if a.Status != status {
			t.Errorf("%s: got %d %s", path, a.Status, a.Body)
		}
		if status == 200 && !strings.Contains(a.Body, `"diff":"diff --git a/a.css b/a.css\n","files":[{"path":"a.css"`) {
			t.Errorf("%s: got %s", path, a.Body)
		}
	}
}

func TestUndo(t *testing.T) {
	s := start(t, nil)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for id, err := range map[string]error{
		"fine":     nil,
		"busy":     errors.Wrap(&run.BusyError{RunID: "run-0", Prompt: "make it green", StartedAt: at}, "undo"),
		"conflict": errors.Wrap(&gitrepo.Refusal{Message: "the files moved on", Fix: "undo the later runs first", Paths: []string{"a.css", "b c.css"}}, "undo"),
		"refused":  &gitrepo.Refusal{Message: "this run has been undone already"},
		"gone":     gitrepo.ErrGone,
		"none":     errors.WithHint(errors.Wrap(gitrepo.ErrNone, "/repos/shop"), "git init"),
		"unsafe":   errors.WithHint(errors.Wrap(gitrepo.ErrUnsafe, "/repos/shop"), "git config --global --add safe.directory /repos/shop"),
		"bare":     errors.WithHint(errors.Wrap(gitrepo.ErrBare, "/repos/shop.git"), "open a folder with a working tree"),
		"bug":      errors.New("disk on fire"),
		"closing":  run.ErrClosed,
	} {
		s.runs.add(id, event.Done{})
		s.runs.undo[id] = err
	}
	post := func(id, body string) Answer {
		return Do(t, s.URL, Call{Method: "POST", Path: "/runs/" + id + "/undo", Header: authorized(), Body: body})
	}
	for _, body := range []string{"", "{}"} {
		if a := post("fine", body); a.Status != 200 || strings.TrimSpace(a.Body) != `{"id":"undo-1","files":["a.css"],"sha":"abc1234","of":"fine","prompt":"make it green"}` {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	}
	a := post("busy", "")
	wantFault(t, a, 409, "busy")
	if r := a.Fault.Run; r == nil || r.ID != "run-0" || r.Prompt != "make it green" || r.StartedAt != "2026-03-01T12:00:00Z" {
		t.Errorf("busy: got %s", a.Body)
	}
	a = post("conflict", "")
	wantFault(t, a, 409, "conflict")
	if got := strings.Join(a.Fault.Files, "|"); got != "a.css|b c.css" || a.Fault.Fix != "undo the later runs first" {
		t.Errorf("conflict: got %s", a.Body)
	}
	a = post("refused", "")
	wantFault(t, a, 409, "conflict")
	if !strings.Contains(a.Body, `"files":[]`) {
		t.Errorf("refused: got %s", a.Body)
	}
	for id, fix := range map[string]string{"none": "git init", "unsafe": "git config --global --add safe.directory /repos/shop", "bare": "open a folder with a working tree"} {
		a = post(id, "")
		wantFault(t, a, 409, "conflict")
		if a.Fault.Fix != fix {
			t.Errorf("%s: the fix is %q, want %q", id, a.Fault.Fix, fix)
		}
	}
	wantFault(t, post("gone", ""), 410, "gone")
	wantFault(t, post("bug", ""), 500, "internal")
	wantFault(t, post("closing", ""), 503, "internal")
	wantFault(t, post("nope", ""), 404, "not_found")
}

func TestSquashAndCommit(t *testing.T) {
	s := start(t, nil)
	for _, id := range []string{"a", "b"} {
		s.runs.add(id, event.Done{})
	}
	post := func(path, body string) Answer {
		return Do(t, s.URL, Call{Method: "POST", Path: "/runs/" + path, Header: authorized(), Body: body})
	}
	for path, want := range map[string]string{
		"squash": `{"sha":"abc1234","subject":"make it green","runs":["a","b"],"replaced":["1","2"],"count":2,"hooksSkipped":true}`,
		"commit": `{"sha":"abc1234","subject":"make it green","runs":["a","b"],"count":2,"hooksSkipped":false,"left":[],"leftOut":["b.css"],"notes":[{"message":"b.css is yours","level":"warning","code":"yours"}]}`,
	} {
		if a := post(path, `{"runs":["a","b"],"more":1}`); a.Status != 200 || strings.TrimSpace(a.Body) != want {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
		for body, field := range map[string]string{
			"": "body", "nonsense": "body", "[]": "body", "null": "body", `{"runs":["a"]}{}`: "body",
			"{}": "runs", `{"runs":null}`: "runs", `{"runs":"a"}`: "runs", `{"runs":[1]}`: "runs", `{"runs":[]}`: "runs",
			`{"runs":["a"` + strings.Repeat(`,"a"`, 200) + `]}`: "runs",
		} {
			a := post(path, body)
			wantFault(t, a, 400, "bad_request")
			if !strings.HasPrefix(a.Fault.Error, field+" ") || !strings.Contains(a.Fault.Fix, `{"runs":`) {
				t.Errorf("%s %.40s: %s", path, body, a.Body)
			}
		}
		for _, id := range []string{"nope", "../a", "", strings.Repeat("a", 65), "a b"} {
			wantFault(t, post(path, `{"runs":["a","`+id+`"]}`), 404, "not_found")
		}
		s.runs.undo["b"] = &gitrepo.Refusal{Message: "they are pushed", Fix: "leave them"}
		a := post(path, `{"runs":["a","b"]}`)
		wantFault(t, a, 409, "conflict")
		if a.Fault.Error != "they are pushed" || a.Fault.Fix != "leave them" {
			t.Errorf("%s: %s", path, a.Body)
		}
		s.runs.undo["b"] = errors.Wrap(gitrepo.ErrGone, "nothing to commit")
		wantFault(t, post(path, `{"runs":["b"]}`), 410, "gone")
		s.runs.undo["b"] = &run.BusyError{RunID: "run-0"}
		wantFault(t, post(path, `{"runs":["b"]}`), 409, "busy")
		delete(s.runs.undo, "b")
	}
}

func TestStop(t *testing.T) {
	s := start(t, nil)
	going := s.runs.add("going", event.Start{})
	s.runs.add("over", event.Done{})
	for id, want := range map[string]string{"going": `{"id":"going","state":"stopping"}`, "over": `{"id":"over","state":"done"}`} {
		a := Do(t, s.URL, Call{Method: "POST", Path: "/runs/" + id + "/stop", Header: authorized()})
		if a.Status != 200 || strings.TrimSpace(a.Body) != want {
			t.Errorf("got %d %s, want %s", a.Status, a.Body, want)
		}
	}
	if n := len(going.frames); n != 2 || !strings.Contains(string(going.frames[1].Data), `"user"`) {
		t.Errorf("the run was not stopped for the user: %d frames", n)
	}
	wantFault(t, Do(t, s.URL, Call{Method: "POST", Path: "/runs/nope/stop", Header: authorized()}), 404, "not_found")
}

// What is not an id of ours never reaches the layers below.
func TestRunIDsAreChecked(t *testing.T) {
	s := start(t, nil)
	s.runs.add("a.b", event.Done{})
	s.runs.add("..", event.Done{})
	s.runs.add(strings.Repeat("a", 65), event.Done{})
	for _, id := range []string{"a.b", "..", "%2e%2e", "a%2Fb", "..%2f..%2fetc%2fpasswd", "%00", "a%20b", strings.Repeat("a", 65), "--help"} {
		for _, c := range []Call{{Method: "GET", Path: "/events"}, {Method: "GET", Path: "/diff"}, {Method: "POST", Path: "/undo"}, {Method: "POST", Path: "/stop"}} {
			c.Path, c.Header = "/runs/"+id+c.Path, authorized()
			wantFault(t, Do(t, s.URL, c), 404, "not_found")
		}
	}
}

func TestUnknownRoutesAndMethods(t *testing.T) {
	s := start(t, nil)
	s.runs.add("a", event.Done{})
	for _, c := range []struct {
		method, path string
		status       int
		code, allow  string
	}{
		{"GET", "/", 404, "not_found", ""},
		{"GET", "//", 404, "not_found", ""},
		{"GET", "/health/", 404, "not_found", ""},
		{"POST", "/history", 405, "bad_request", "GET,HEAD"},
		{"DELETE", "/history/5e551011-0000-4000-8000-000000000001", 405, "bad_request", "GET,HEAD"},
		{"GET", "/history/", 404, "not_found", ""},
		{"POST", "/generate-image", 404, "not_found", ""},
		{"GET", "/pair/", 404, "not_found", ""},
		{"DELETE", "/pair", 405, "bad_request", "GET,HEAD,POST"},
		{"GET", "/pair/new", 405, "bad_request", "POST"},
		{"GET", "/design", 405, "bad_request", "POST"},
		{"POST", "/meta", 405, "bad_request", "GET,HEAD"},
		{"DELETE", "/runs/a/undo", 405, "bad_request", "POST"},
		{"BREW", "/health", 405, "bad_request", "GET,HEAD"},
	} {
		a := Do(t, s.URL, Call{Method: c.method, Path: c.path, Header: authorized()})
		wantFault(t, a, c.status, c.code)
		if got := strings.Join(a.Header.Values("Allow"), ","); got != c.allow {
			t.Errorf("%s %s: Allow %q, want %q", c.method, c.path, got, c.allow)
		}
	}
}

func TestHead(t *testing.T) {
	s := start(t, nil)
	s.runs.add("going", event.Start{})
	for path, want := range map[string]string{
		"/health": "application/json", "/meta": "application/json", "/runs": "application/json", "/runs/going/diff": "application/json",
		"/pair":              "text/html; charset=utf-8",
		"/runs/going/events": "text/event-stream", // and it does not follow
	} {
		a := Do(t, s.URL, Call{Method: "HEAD", Path: path, Header: authorized()})
		if a.Status != 200 || a.Body != "" || a.Header.Get("Content-Type") != want {
			t.Errorf("%s: got %d %q %v", path, a.Status, a.Body, a.Header)
		}
	}
	if a := Do(t, s.URL, Call{Method: "HEAD", Path: "/meta"}); a.Status != 401 {
		t.Errorf("HEAD without a token: got %d", a.Status)
	}
}

func TestPreview(t *testing.T) {
	s := start(t, nil)
	a := Do(t, s.URL, Call{Method: "POST", Path: "/prompt/preview", Header: authorized(), Body: `{"prompt":"make it green"}`})
	var p run.Preview
	if err := json.Unmarshal([]byte(a.Body), &p); err != nil || a.Status != 200 {
		t.Fatalf("%d %s: %v", a.Status, a.Body, err)
	}
	if p.System == "" || !strings.Contains(p.Prompt, "make it green") || !strings.Contains(a.Body, `"attachments":[]`) {
		t.Errorf("got %s", a.Body)
	}
	if n := len(s.runs.requests); n != 0 {
		t.Errorf("%d runs were started", n)
	}
}

// A bug in a handler is a 500 without its details; the log has them.
func TestPanicIsAnInternalError(t *testing.T) {
	var log bytes.Buffer
	s := start(t, func(o *server.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	s.runs.panics = true
	a := Do(t, s.URL, Call{Method: "POST", Path: "/design", Header: authorized(), Body: `{"prompt":"x"}`})
	wantFault(t, a, 500, "internal")
	if strings.Contains(a.Body, "secret") || strings.Contains(a.Body, ".go:") {
		t.Errorf("the client got %s", a.Body)
	}
	if !strings.Contains(log.String(), "a bug with a secret in it") || strings.Contains(log.String(), testToken) {
		t.Errorf("the log has %s", log.String())
	}
	s.runs.panics = false
	if a := Do(t, s.URL, Call{Method: "GET", Path: "/health"}); a.Status != 200 {
		t.Errorf("afterwards: got %d", a.Status)
	}
}

// A bug in the middle of a stream cuts it: a client can tell that from an end.
func TestPanicInAStreamCutsIt(t *testing.T) {
	s := start(t, nil)
	r := s.runs.add("run-a", event.Start{})
	resp := open(t, s, Call{Method: "GET", Path: "/runs/run-a/events"})
	r.fail(errBug)
	b, err := io.ReadAll(resp.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the stream ended as if it were whole: %v", err)
	}
	if types := Types(t, string(b)); types != "start" {
		t.Errorf("got %s", types)
	}
	r.await(t, "the client to be let go", func() bool { return r.attached == 0 && r.closed == 1 })
}

func TestHTTPServerLimits(t *testing.T) {
	srv := server.NewHTTPServer(http.NotFoundHandler(), nil)
	if srv.ReadHeaderTimeout != 10*time.Second || srv.IdleTimeout != 60*time.Second || srv.WriteTimeout != 0 || srv.ReadTimeout != 0 || srv.MaxHeaderBytes != 64<<10 {
		t.Errorf("got %+v", srv)
	}
}

// Each address that is not loopback is logged, once.
func TestRemoteAddressesAreLogged(t *testing.T) {
	var log bytes.Buffer
	srv := server.NewHTTPServer(http.NotFoundHandler(), slog.New(slog.NewTextHandler(&log, nil)))
	for _, addr := range []string{"127.0.0.1:1", "[::1]:1", "192.168.1.9:1", "192.168.1.9:2", "[fe80::1]:1"} {
		tcp, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		srv.ConnState(from{addr: tcp}, http.StateNew)
		srv.ConnState(from{addr: tcp}, http.StateActive)
	}
	got := log.String()
	if strings.Count(got, "\n") != 2 || !strings.Contains(got, "address=192.168.1.9") || !strings.Contains(got, "address=fe80::1") {
		t.Errorf("got %s", got)
	}
}

// from is a connection that only has a remote address.
type from struct {
	net.Conn
	addr net.Addr
}

func (c from) RemoteAddr() net.Addr { return c.addr }

// TestFixes: a refusal says what to send instead.
func TestFixes(t *testing.T) {
	s := start(t, nil)
	for _, c := range []struct{ method, path, body, code, fix string }{
		{"GET", "/nowhere", "", "not_found", "GET /meta, GET /runs or POST /design; the README lists all addresses"},
		{"GET", "/design", "", "bad_request", "POST /design"},
		{"POST", "/runs", "{}", "bad_request", "GET /runs"},
		{"POST", "/design", `{}`, "bad_request", `send a JSON object with a prompt: {"prompt":"make the button green"}`},
		{"POST", "/design", `{"prompt":`, "bad_request", `send a JSON object with a prompt: {"prompt":"make the button green"}`},
		{"POST", "/runs/none/undo", "", "not_found", "GET /runs lists the runs there are"},
	} {
		a := Do(t, s.URL, Call{Method: c.method, Path: c.path, Header: authorized(), Body: c.body})
		if a.Fault.Code != c.code || a.Fault.Fix != c.fix {
			t.Errorf("%s %s: %s, want code %s and fix %q", c.method, c.path, a.Body, c.code, c.fix)
		}
	}
}
