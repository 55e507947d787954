package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/server"
	"github.com/slidewrite/slidewrite/shim/sse"
)

func TestDesignStreams(t *testing.T) {
	s := start(t, nil)
	a := Do(t, s.URL, Call{Method: "POST", Path: "/design", Header: authorized(), Body: `{"prompt":"make it green","detach":true}`})
	if a.Status != 200 || Types(t, a.Body) != "start, done" {
		t.Fatalf("got %d %q", a.Status, a.Body)
	}
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	again := Do(t, s.URL, Call{Method: "GET", Path: "/" + a.Header.Get("Content-Location"), Header: authorized()})
	if again.Status != 200 || again.Body != a.Body {
		t.Errorf("Content-Location %q has %d %q, want the same stream", a.Header.Get("Content-Location"), again.Status, again.Body)
	}
	for i, f := range Frames(t, a.Body) {
		if f.ID != int64(i+1) {
			t.Errorf("frame %d has id %d", i+1, f.ID)
		}
	}
	if req := s.runs.requests[0]; req.Prompt != "make it green" || !req.Detach {
		t.Errorf("the run was asked for %+v", req)
	}
	r := s.runs.runs["run-1"]
	r.await(t, "the client to be let go", func() bool { return r.attaches == 2 && r.attached == 0 && r.closed == 2 })
}

// The stream's headers are there before the first event.
func TestDesignAnswersAtOnce(t *testing.T) {
	s := start(t, nil)
	s.runs.started = func(*shelfRun) {}
	resp := open(t, s, Call{Method: "POST", Path: "/design", Body: `{"prompt":"x"}`})
	s.runs.runs["run-1"].append(event.Done{})
	if b, err := io.ReadAll(resp.Body); err != nil || Types(t, string(b)) != "done" {
		t.Errorf("got %q, %v", b, err)
	}
}

// open sends a call and returns the answer with its body unread.
func open(t *testing.T, s *shim, c Call) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	c.Header = authorized()
	resp, err := http.DefaultTransport.RoundTrip(c.Request(t, s.URL).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != 200 {
		t.Fatalf("got %s", resp.Status)
	}
	return resp
}

func TestDesignClientGoneIsReleased(t *testing.T) {
	s := start(t, nil)
	s.runs.started = func(r *shelfRun) { r.append(event.Start{}) }
	resp := open(t, s, Call{Method: "POST", Path: "/design", Body: `{"prompt":"x"}`})
	r := s.runs.runs["run-1"]
	r.await(t, "the client to be there", func() bool { return r.attached == 1 })
	resp.Body.Close()
	r.await(t, "the client to be let go", func() bool { return r.attached == 0 && r.closed == 1 })
}

func TestEventsReplayAndFollow(t *testing.T) {
	s := start(t, nil)
	r := s.runs.add("run-a")
	for i := range 10 {
		r.append(event.Delta{Text: fmt.Sprint(i)})
	}
	for _, c := range []struct {
		query, header string
		first         int64
	}{{"", "", 1}, {"?after=0", "", 1}, {"?after=4", "", 5}, {"", "7", 8}, {"?after=2", "9", 10}, {"?after=11", "", 12}} {
		resp := open(t, s, Call{Method: "GET", Path: "/runs/run-a/events" + c.query})
		if c.header != "" {
			resp.Body.Close()
			req := Call{Method: "GET", Path: "/runs/run-a/events" + c.query, Header: authorized("Last-Event-ID", c.header)}.Request(t, s.URL)
			var err error
			if resp, err = http.DefaultTransport.RoundTrip(req); err != nil {
				t.Fatal(err)
			}
		}
		r.append(event.Delta{Text: "live"}, event.Delta{Text: "live"})
		for f, err := range sse.Read(resp.Body) {
			if err != nil || f.ID != c.first {
				t.Errorf("%+v: first frame is %d, %v", c, f.ID, err)
			}
			break
		}
		resp.Body.Close()
	}
}

func TestEventsAfterTheEnd(t *testing.T) {
	s := start(t, nil)
	s.runs.add("run-a", event.Start{}, event.Delta{Text: "x"}, event.Done{})
	for query, want := range map[string]string{"": "start, delta, done", "?after=2": "done", "?after=3": "", "?after=9223372036854775807": ""} {
		a := Do(t, s.URL, Call{Method: "GET", Path: "/runs/run-a/events" + query, Header: authorized()})
		if a.Status != 200 || Types(t, a.Body) != want {
			t.Errorf("%s: got %d %q", query, a.Status, a.Body)
		}
	}
}

func TestEventsBadNumbers(t *testing.T) {
	s := start(t, nil)
	s.runs.add("run-a", event.Done{})
	for _, value := range []string{"-1", "x", "1.5", "0x10", "99999999999999999999", "1 2", "%20"} {
		a := Do(t, s.URL, Call{Method: "GET", Path: "/runs/run-a/events?after=" + strings.ReplaceAll(value, " ", "+"), Header: authorized()})
		wantFault(t, a, 400, "bad_request")
		if !strings.Contains(a.Fault.Error, "after") {
			t.Errorf("%q: the field is not named: %s", value, a.Body)
		}
		a = Do(t, s.URL, Call{Method: "GET", Path: "/runs/run-a/events", Header: authorized("Last-Event-ID", value)})
		wantFault(t, a, 400, "bad_request")
	}
	wantFault(t, Do(t, s.URL, Call{Method: "GET", Path: "/runs/run-a/events?after=", Header: authorized()}), 400, "bad_request")
	// An unknown run comes before a bad number.
	wantFault(t, Do(t, s.URL, Call{Method: "GET", Path: "/runs/run-b/events?after=x", Header: authorized()}), 404, "not_found")
}

func TestStreamPingsInSilence(t *testing.T) {
	s := start(t, func(o *server.Options) { o.Limits.Ping = 10 * time.Millisecond })
	r := s.runs.add("run-a", event.Start{})
	resp := open(t, s, Call{Method: "GET", Path: "/runs/run-a/events"})
	var seen strings.Builder
	buf := make([]byte, 1024)
	for strings.Count(seen.String(), ": ping\n\n") < 3 {
		n, err := resp.Body.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		seen.Write(buf[:n])
	}
	r.append(event.Done{})
	rest, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	seen.Write(rest)
	if got := Types(t, seen.String()); got != "start, done" {
		t.Errorf("got %q", got)
	}
}

// A journal that cannot be read on ends the stream with words.
func TestStreamTroubleIsSaid(t *testing.T) {
	s := start(t, nil)
	r := s.runs.add("run-a", event.Start{})
	// Wrapping io.EOF must not pass for the end.
	r.fail(errors.WithHint(errors.Wrap(io.EOF, "read the journal back"), "look at the disk"))
	a := Do(t, s.URL, Call{Method: "GET", Path: "/runs/run-a/events", Header: authorized()})
	if Types(t, a.Body) != "start, error internal, done" || !strings.Contains(a.Body, "look at the disk") {
		t.Errorf("got %s", a.Body)
	}
}

// A client that stops reading is cut off without done, is let go of, and
// holds nobody else up.
func TestStreamSlowReader(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *server.Options) { o.Limits.Stall = 3 * time.Second })
	r := s.runs.add("run-a")
	slow := Dial(t, s.URL)
	slow.Say("GET /runs/run-a/events HTTP/1.1\nHost: localhost\nAuthorization: Bearer " + testToken + "\n\n")
	r.await(t, "the slow client to be there", func() bool { return r.attached == 1 })
	quick := open(t, s, Call{Method: "GET", Path: "/runs/run-a/events"})

	const total = 400
	text := strings.Repeat("x", 64<<10)
	go func() {
		for range total {
			r.append(event.Delta{Text: text})
		}
		r.append(event.Done{})
	}()
	n := 0
	for f, err := range sse.Read(quick.Body) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if f.ID != int64(n) {
			t.Fatalf("frame %d came as %d", f.ID, n)
		}
	}
	if n != total+1 {
		t.Errorf("the quick client got %d frames, want %d", n, total+1)
	}
	r.await(t, "the slow client to be let go", func() bool { return r.attached == 0 })
	rest, err := io.ReadAll(slow.Lines)
	if strings.Contains(string(rest), `"done"`) {
		t.Errorf("the slow client got done (%v)", err)
	}
	if strings.HasSuffix(string(rest), "\r\n0\r\n\r\n") {
		t.Error("the slow client's stream ended as if it were whole")
	}
}

// 200 clients follow one run, at different places, and every one of them gets
// every frame in order.
func TestStream200Followers(t *testing.T) {
	s := start(t, nil)
	r := s.runs.add("run-a", event.Start{})
	const clients, deltas = 200, 300
	var wg sync.WaitGroup
	failures := make(chan string, clients)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for i := range clients {
		after := int64(i % 3)
		wg.Go(func() {
			req := Call{Method: "GET", Path: fmt.Sprintf("/runs/run-a/events?after=%d", after), Header: authorized()}.Request(t, s.URL)
			resp, err := transport.RoundTrip(req)
			if err != nil {
				failures <- err.Error()
				return
			}
			defer resp.Body.Close()
			want := after
			for f, err := range sse.Read(resp.Body) {
				want++
				if err != nil || f.ID != want {
					failures <- fmt.Sprintf("client %d: frame %d, want %d: %v", i, f.ID, want, err)
					return
				}
			}
			if want != deltas+2 {
				failures <- fmt.Sprintf("client %d: ended after frame %d", i, want)
			}
		})
	}
	for i := range deltas {
		if i == deltas/2 { // half of it is replay, half is live, for all
			r.await(t, "all clients to be there", func() bool { return r.attaches == clients })
		}
		r.append(event.Delta{Text: fmt.Sprint(i)})
	}
	r.append(event.Done{})
	wg.Wait()
	close(failures)
	for f := range failures {
		t.Error(f)
	}
	r.await(t, "all clients to be let go", func() bool { return r.attached == 0 && r.closed == clients })
}

func TestStreamsAreCounted(t *testing.T) {
	const most = 4
	s := start(t, func(o *server.Options) { o.Limits.Streams = most })
	r := s.runs.add("run-a", event.Start{})
	var open4 []*http.Response
	for range most {
		open4 = append(open4, open(t, s, Call{Method: "GET", Path: "/runs/run-a/events"}))
	}
	for _, c := range []Call{{Method: "GET", Path: "/runs/run-a/events"}, {Method: "POST", Path: "/design", Body: `{"prompt":"x"}`}} {
		c.Header = authorized()
		wantFault(t, Do(t, s.URL, c), 503, "too_many_streams")
	}
	if n := len(s.runs.requests); n != 0 {
		t.Errorf("%d runs were started that nobody could follow", n)
	}
	if a := Do(t, s.URL, Call{Method: "GET", Path: "/runs", Header: authorized()}); a.Status != 200 {
		t.Errorf("other routes: got %d", a.Status)
	}
	open4[0].Body.Close()
	r.await(t, "one client to be let go", func() bool { return r.attached == most-1 })
	// The place is free a moment after the run was told: ask until it is.
	for deadline := time.Now().Add(20 * time.Second); ; {
		resp, err := http.DefaultTransport.RoundTrip(Call{Method: "GET", Path: "/runs/run-a/events", Header: authorized()}.Request(t, s.URL))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode == 200 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the place is not free: %s", resp.Status)
		}
	}
}

func TestDefaultLimitOfStreams(t *testing.T) {
	s := start(t, nil)
	s.runs.add("run-a", event.Start{})
	for range 256 {
		open(t, s, Call{Method: "GET", Path: "/runs/run-a/events"})
	}
	wantFault(t, Do(t, s.URL, Call{Method: "GET", Path: "/runs/run-a/events", Header: authorized()}), 503, "too_many_streams")
}

// From an event's append to the client's socket, one at a time.
func BenchmarkEventToClient(b *testing.B) {
	runs := newShelf()
	r := runs.add("run-a", event.Start{})
	srv := server.NewHTTPServer(server.New(server.Options{Runs: runs, Token: testToken}), nil)
	base := listen(b, srv)
	next := follow(b, base)
	next()
	b.ResetTimer()
	for b.Loop() {
		r.append(event.Delta{Text: "a few words ", MessageID: "msg_01"})
		next()
	}
}

// Events through a stream, as many as go.
func BenchmarkStreamThroughput(b *testing.B) {
	runs := newShelf()
	r := runs.add("run-a", event.Start{})
	data, err := event.Encode(event.Delta{Text: "a few words ", MessageID: "msg_01"})
	if err != nil {
		b.Fatal(err)
	}
	srv := server.NewHTTPServer(server.New(server.Options{Runs: runs, Token: testToken}), nil)
	base := listen(b, srv)
	next := follow(b, base)
	next()
	b.SetBytes(int64(len(data)))
	b.ResetTimer()
	go func() {
		for range b.N {
			r.append(event.Delta{Text: "a few words ", MessageID: "msg_01"})
		}
	}()
	for range b.N {
		next()
	}
}
