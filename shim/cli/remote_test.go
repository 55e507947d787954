package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/errors"
)

// shimOf is a remote whose shim answers as handlers say.
func shimOf(t *testing.T, handlers map[string]http.HandlerFunc) *remote {
	t.Helper()
	mux := http.NewServeMux()
	for pattern, h := range handlers {
		mux.HandleFunc(pattern, h)
	}
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return &remote{base: srv.URL, token: "secret", http: srv.Client()}
}

func frames(w http.ResponseWriter, first int, events ...string) {
	for i, e := range events {
		fmt.Fprintf(w, "id: %d\ndata: %s\n\n", first+i, e)
	}
}

// testApp prints into two buffers.
func testApp(signals chan os.Signal) (a *app, stdout, stderr *bytes.Buffer) {
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	a = &app{Process: Process{Stdout: stdout, Stderr: stderr}, fromEnv: map[string]bool{}}
	if signals != nil {
		a.Signals = signals
	}
	return a, stdout, stderr
}

// TestDesignReattaches: a connection that the shim closed (it does so to a
// client that stopped reading) is made again from the last event on, and
// nothing is shown twice.
func TestDesignReattaches(t *testing.T) {
	var auth, lastID []string
	r := shimOf(t, map[string]http.HandlerFunc{
		"POST /design": func(w http.ResponseWriter, q *http.Request) {
			auth = append(auth, q.Header.Get("Authorization"))
			frames(w, 1, `{"type":"start","runId":"r7","sessionId":"s","provider":"anthropic","model":""}`, `{"type":"delta","text":"one ","messageId":"m"}`)
		},
		"GET /runs/r7/events": func(w http.ResponseWriter, q *http.Request) {
			lastID = append(lastID, q.Header.Get("Last-Event-ID"))
			if len(lastID) == 1 {
				frames(w, 3, `{"type":"delta","text":"two","messageId":"m"}`)
				return
			}
			frames(w, 4, `{"type":"done"}`)
		},
	})
	a, stdout, _ := testApp(nil)
	if err := a.design(t.Context(), r, designBody{Prompt: "x"}, false); err != nil {
		t.Fatal(err)
	}
	if want := "anthropic, session s, run r7\none two\n"; stdout.String() != want {
		t.Errorf("printed %q, want %q", stdout, want)
	}
	if fmt.Sprint(auth, lastID) != "[Bearer secret] [2 3]" {
		t.Errorf("token %v, Last-Event-ID %v", auth, lastID)
	}
}

// TestDesignThatIsCut: a stream that breaks off for good is a failure, never
// a clean-looking end, and asking again ends.
func TestDesignThatIsCut(t *testing.T) {
	asked := 0
	r := shimOf(t, map[string]http.HandlerFunc{
		"POST /design": func(w http.ResponseWriter, q *http.Request) {
			frames(w, 1, `{"type":"start","runId":"r7","sessionId":"s","provider":"anthropic","model":""}`)
		},
		"GET /runs/r7/events": func(http.ResponseWriter, *http.Request) { asked++ },
	})
	a, _, _ := testApp(nil)
	if err := a.design(t.Context(), r, designBody{Prompt: "x"}, false); !errors.Is(err, errCut) {
		t.Errorf("got %v, want %v", err, errCut)
	}
	if asked != 1 {
		t.Errorf("re-attached %d times to a stream that gave nothing", asked)
	}
}

// TestDesignRaw prints the events as they came, and nothing else.
func TestDesignRaw(t *testing.T) {
	lines := []string{`{"type":"news","x":[1, 2]}`, `{"type":"error","message":"m","code":"crashed"}`, `{"type":"done"}`}
	r := shimOf(t, map[string]http.HandlerFunc{
		"POST /design": func(w http.ResponseWriter, q *http.Request) { frames(w, 1, lines...) },
	})
	a, stdout, stderr := testApp(nil)
	err := a.design(t.Context(), r, designBody{Prompt: "x"}, true)
	if a.report(err) != exitFailed || stdout.String() != strings.Join(lines, "\n")+"\n" || stderr.Len() != 0 {
		t.Errorf("err %v\nstdout %s\nstderr %s", err, stdout, stderr)
	}
}

// TestDesignRefused: what the shim refuses is said with its fix.
func TestDesignRefused(t *testing.T) {
	for _, tc := range []struct {
		status int
		body   string
		want   string
	}{
		{409, `{"error":"busy","code":"busy","run":{"id":"r1","prompt":"make it\n green","startedAt":"2026-01-02T03:04:05Z"}}`,
			`slidewrite: error: run r1 ("make it green"), started `},
		{409, `{"error":"busy","code":"busy"}`, "slidewrite: error: another run is still going on in this repo\nslidewrite: fix: wait until it has ended"},
		{401, `{"error":"the token is missing or wrong","code":"unauthorized"}`, "slidewrite: error: the token is missing or wrong\nslidewrite: fix: pass the token the shim was started with"},
		{400, `{"error":"effort is wrong","code":"bad_request","fix":"use low"}`, "slidewrite: error: effort is wrong\nslidewrite: fix: use low\n"},
		{502, `<html>`, "slidewrite: error: the shim answered 502 Bad Gateway\n"},
	} {
		t.Run(tc.body, func(t *testing.T) {
			r := shimOf(t, map[string]http.HandlerFunc{"POST /design": func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
				fmt.Fprint(w, tc.body)
			}})
			a, _, stderr := testApp(nil)
			if code := a.report(a.design(t.Context(), r, designBody{Prompt: "x"}, false)); code != exitFailed {
				t.Errorf("exit code %d", code)
			}
			if !strings.HasPrefix(stderr.String(), tc.want) {
				t.Errorf("got %s\nwant %s…", stderr, tc.want)
			}
		})
	}
}

// TestCtrlC: the first one stops the run through the shim and waits for its
// end; the second one does not wait.
func TestCtrlC(t *testing.T) {
	for _, tc := range []struct {
		name    string
		started bool // the run had told its id
		signals int
		want    error
	}{
		{"once", true, 1, errSaid},
		{"once, before the run told its id", false, 1, errSaid},
		{"twice", true, 2, errQuit},
	} {
		t.Run(tc.name, func(t *testing.T) {
			signals := make(chan os.Signal, 2)
			stopped, over := make(chan struct{}), make(chan struct{})
			defer close(over)
			r := shimOf(t, map[string]http.HandlerFunc{
				"POST /design": func(w http.ResponseWriter, q *http.Request) {
					if tc.started {
						frames(w, 1, `{"type":"start","runId":"r7","sessionId":"s","provider":"anthropic","model":""}`)
					}
					w.(http.Flusher).Flush()
					signals <- os.Interrupt
					select {
					case <-stopped:
					case <-over:
						return
					}
					if tc.signals == 2 {
						pressUntil(over, signals)
						return
					}
					frames(w, 2, `{"type":"stopped","by":"user"}`, `{"type":"done"}`)
				},
				"GET /runs": func(w http.ResponseWriter, q *http.Request) {
					fmt.Fprint(w, `{"runs":[{"id":"r7","state":"running"},{"id":"r6","state":"done"}]}`)
				},
				"POST /runs/r7/stop": func(w http.ResponseWriter, q *http.Request) { close(stopped) },
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			a, stdout, _ := testApp(signals)
			err := a.design(ctx, r, designBody{Prompt: "x"}, false)
			if !errors.Is(err, tc.want) {
				t.Fatalf("got %v, want %v", err, tc.want)
			}
			if tc.signals == 1 && !strings.HasSuffix(stdout.String(), "stopped (user)\n") {
				t.Errorf("printed %q", stdout)
			}
		})
	}
}

// TestNobodyReads: when stdout takes nothing any more, the run is stopped.
func TestNobodyReads(t *testing.T) {
	stopped := make(chan struct{})
	r := shimOf(t, map[string]http.HandlerFunc{
		"POST /design": func(w http.ResponseWriter, q *http.Request) {
			frames(w, 1, `{"type":"start","runId":"r7","sessionId":"s","provider":"anthropic","model":""}`, `{"type":"delta","text":"x","messageId":"m"}`)
			w.(http.Flusher).Flush()
			<-stopped
		},
		"POST /runs/r7/stop": func(w http.ResponseWriter, q *http.Request) { close(stopped) },
	})
	for _, raw := range []bool{false, true} {
		stopped = make(chan struct{})
		a, _, stderr := testApp(nil)
		read, write := io.Pipe()
		read.Close() // as head does once it has enough
		a.Stdout = write
		err := a.design(t.Context(), r, designBody{Prompt: "x"}, raw)
		if !errors.Is(err, io.ErrClosedPipe) || a.report(err) != exitUnread || stderr.Len() > 0 {
			t.Errorf("got %v, said %s", err, stderr)
		}
		if !closed(stopped) {
			t.Error("the run was not stopped")
		}
	}
}

// pressUntil presses Ctrl-C again and again: presses right after the first
// one count as that one.
func pressUntil(over <-chan struct{}, signals chan<- os.Signal) {
	press := time.NewTicker(20 * time.Millisecond)
	defer press.Stop()
	for {
		select {
		case <-over:
			return
		case <-press.C:
			select {
			case signals <- os.Interrupt:
			default:
			}
		}
	}
}

// TestUndoPicksTheLastOne: the newest run that an undo would do something to;
// undos are passed over, and the rest is for the shim to say.
func TestUndoPicksTheLastOne(t *testing.T) {
	list := `{"runs":[
		{"id":"r5","kind":"undo","state":"done","files":["a"],"undoable":true},
		{"id":"r4","kind":"design","state":"done","files":["a"],"undoable":false},
		{"id":"r3","kind":"design","state":"done","files":["a"],"undone":true},
		{"id":"r2","kind":"design","state":"failed","files":["a","b"],"undoable":true},
		{"id":"r1","kind":"design","state":"done","files":["a"],"undoable":true}]}`
	var undone string
	r := shimOf(t, map[string]http.HandlerFunc{
		"GET /runs": func(w http.ResponseWriter, q *http.Request) { fmt.Fprint(w, list) },
		"POST /runs/{id}/undo": func(w http.ResponseWriter, q *http.Request) {
			undone = q.PathValue("id")
			if undone == "r1" {
				w.WriteHeader(http.StatusConflict)
				json.NewEncoder(w).Encode(map[string]any{"error": "later edits overlap", "code": "conflict", "fix": "edit by hand", "files": []string{"a", "b c"}})
				return
			}
			fmt.Fprint(w, `{"id":"r6","files":["a","b"],"sha":"abc1234","of":"r2","prompt":"make it green"}`)
		},
	})
	a, stdout, stderr := testApp(nil)
	if err := a.undo(t.Context(), r, "", false); err != nil {
		t.Fatal(err)
	}
	if want := "passed over: run r4 changed nothing that could be undone\nundone: run r2 (\"make it green\"), 2 files\n  a\n  b\ncommitted abc1234\nto get it back: slidewrite undo r6\n"; undone != "r2" || stdout.String() != want {
		t.Errorf("undid %s and printed\n%swant\n%s", undone, stdout, want)
	}
	if code := a.report(a.undo(t.Context(), r, "r1", false)); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	if want := "slidewrite: error: run r1 was not undone: later edits overlap:\n  a\n  b c\nslidewrite: fix: edit by hand\n"; stderr.String() != want {
		t.Errorf("got %s\nwant %s", stderr, want)
	}
}

func TestDialable(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:4040": "127.0.0.1:4040", "0.0.0.0:1": "localhost:1", "[::]:2": "localhost:2", "[::1]:3": "[::1]:3",
	} {
		if got := dialable(addr); got != want {
			t.Errorf("dialable(%q) = %q, want %q", addr, got, want)
		}
	}
}
