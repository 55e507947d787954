package server_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/server"
)

// Request lines that no client of ours sends are answered or hung up on, and
// the next client finds the shim as it was.
func TestOddRequestLines(t *testing.T) {
	s := start(t, nil)
	head := " HTTP/1.1\nHost: localhost\nAuthorization: Bearer " + testToken + "\nConnection: close\n\n"
	for _, c := range []struct {
		line string
		want string // statuses that will do, 0 = hung up without an answer
	}{
		{"GET //" + head, "404"},
		{"GET ///runs//x" + head, "404"},
		{"GET %zz" + head, "400"},
		{"GET /%zz" + head, "400"},
		{"GET /runs/%2e%2e%2f/diff" + head, "404"},
		{"GET /../../etc/passwd" + head, "404"},
		{"GET /%00" + head, "404"},
		{"GET /meta?%zz=%" + head, "200"},
		{"GET *" + head, "400 404"},
		{"OPTIONS *" + head, "204"},
		{"CONNECT evil.test:443 HTTP/1.1\nHost: localhost\n\n", "403"},
		{"CONNECT localhost:4040" + head, "404 405"},
		{"GET http://evil.test/health HTTP/1.1\nHost: localhost\n\n", "403"},
		{"GET http://localhost/health HTTP/1.1\nHost: evil.test\n\n", "200"},
		{"GET http://[::1/health" + head, "400"},
		{"get /health" + head, "405"},
		{"GET /health HTTP/1.0\n\n", "403"},
		{"GET /health HTTP/1.1\n\n", "400"},
		{"GET /health HTTP/1.1\nHost: localhost\nHost: evil.test\n\n", "400"},
		{"GET /health HTTP/9.9\nHost: localhost\n\n", "400 505"},
		{"GET /health\n\n", "400"},
		{"PRI * HTTP/2.0\n\nSM\n\n", "400 403 405 505"},
		{"GET  /health" + head, "400"},
		{"G@T /health" + head, "400"},
		{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\n", "400"},
		{"\x00\n\n", "400"},
		{"GET /health HTTP/1.1\nHost: localhost\nno colon here\n\n", "400"},
		{"GET /health HTTP/1.1\nHost: loc\x01alhost\n\n", "400"},
		{"POST /design" + strings.Replace(head, "Connection", "Content-Length: -5\nConnection", 1), "400"},
		{"POST /design" + strings.Replace(head, "Connection", "Content-Length: 5\nContent-Length: 6\nConnection", 1), "400"},
		{"POST /design" + strings.Replace(head, "Connection", "Content-Type: application/json\nTransfer-Encoding: chunked\nConnection", 1) + "zz\n", "400"},
		{"POST /design" + strings.Replace(head, "Connection", "Transfer-Encoding: gzip\nConnection", 1), "400 501"},
	} {
		t.Run(fmt.Sprintf("%.30q", c.line), func(t *testing.T) {
			w := Dial(t, s.URL)
			w.Say(c.line)
			if a := w.Hear(); !strings.Contains(c.want, fmt.Sprint(a.Status)) {
				t.Errorf("got %d %s, want %s", a.Status, a.Body, c.want)
			}
			if a := Do(t, s.URL, Call{Method: "GET", Path: "/health"}); a.Status != 200 {
				t.Errorf("afterwards: got %d", a.Status)
			}
		})
	}
}

// A client that leaves in the middle of anything harms nobody.
func TestClientsThatHangUp(t *testing.T) {
	s := start(t, nil)
	for _, part := range []string{
		"", "GET", "GET /health HTTP/1.1\n", "GET /health HTTP/1.1\nHost: local",
		"POST /design HTTP/1.1\nHost: localhost\nAuthorization: Bearer " + testToken + "\nContent-Type: application/json\nContent-Length: 100\n\n{\"prompt\"",
	} {
		w := Dial(t, s.URL)
		w.Say(part)
		w.Close()
	}
	if a := Do(t, s.URL, Call{Method: "GET", Path: "/health"}); a.Status != 200 || len(s.runs.requests) != 0 {
		t.Errorf("afterwards: got %d, %d runs", a.Status, len(s.runs.requests))
	}
}

func TestHeaderFloodIsBounded(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	w := Dial(t, s.URL)
	sent := 0
	for line := "X-Flood: " + strings.Repeat("x", 1000) + "\r\n"; sent < 16<<20; sent += len(line) {
		if sent == 0 {
			w.Say("GET /health HTTP/1.1\nHost: localhost\n")
		}
		if _, err := io.WriteString(w, line); err != nil {
			break // the server has had enough
		}
	}
	if sent >= 16<<20 {
		t.Errorf("the server took %d bytes of headers", sent)
	}
	w = Dial(t, s.URL)
	w.Say("GET /health HTTP/1.1\nHost: localhost\nX-Flood: " + strings.Repeat("x", 100<<10) + "\n\n")
	if a := w.Hear(); a.Status != 431 {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
}

// A body that stops arriving ends in an answer; meanwhile nothing is held.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *server.Options) { o.Limits.BodyIdle = 300 * time.Millisecond })
	s.runs.add("run-a", event.Done{})
	for _, path := range []string{"/design", "/prompt/preview", "/runs/run-a/undo", "/runs/run-a/stop"} {
		w := Dial(t, s.URL)
		w.Say("POST " + path + " HTTP/1.1\nHost: localhost\nAuthorization: Bearer " + testToken +
			"\nContent-Type: application/json\nContent-Length: 100\n\n{\"prompt\":")
		// Somebody else gets through while this one dawdles.
		a := Do(t, s.URL, Call{Method: "POST", Path: "/design", Header: authorized(), Body: `{"prompt":"x"}`})
		if a.Status != 200 {
			t.Errorf("%s: beside it got %d %s", path, a.Status, a.Body)
		}
		wantFault(t, w.Hear(), 408, "bad_request")
		w.Gone()
	}
	if n := len(s.runs.requests); n != 4 {
		t.Errorf("%d runs were started, want 4", n)
	}
}

// What counts is silence, not the whole time: a body that keeps coming is
// taken, and the connection is good for the next request, whose stream is not
// cut by the body's deadline.
func TestSteadySlowBody(t *testing.T) {
	t.Parallel()
	const idle = time.Second
	s := start(t, func(o *server.Options) { o.Limits.BodyIdle = idle })
	s.runs.started = func(r *shelfRun) { r.append(event.Start{}) }
	w := Dial(t, s.URL)
	body := `{"prompt":"slowly"}`
	w.Say(fmt.Sprintf("POST /design HTTP/1.1\nHost: localhost\nAuthorization: Bearer %s\nContent-Type: application/json\nContent-Length: %d\n\n", testToken, len(body)))
	began := time.Now()
	tick := time.NewTicker(idle / 8)
	defer tick.Stop()
	for i := range body {
		<-tick.C
		w.Say(body[i : i+1])
	}
	if took := time.Since(began); took < 2*idle {
		t.Fatalf("the body took %v only", took)
	}
	for line := ""; !strings.Contains(line, `"start"`); {
		var err error
		if line, err = w.Lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	r := s.runs.runs["run-1"]
	for range 12 { // longer than the body's deadline would have been
		<-tick.C
	}
	r.mu.Lock()
	attached := r.attached
	r.mu.Unlock()
	if attached != 1 {
		t.Error("the stream was cut after the body's deadline")
	}
}

// A caller without the token cannot make the shim wait for its body.
func TestRefusedBodyIsNotWaitedFor(t *testing.T) {
	s := start(t, nil)
	for _, c := range []struct {
		headers string
		status  int
	}{
		{"", 401},
		{"Authorization: Bearer " + testToken + "\nOrigin: http://evil.test\n", 403},
		{"Authorization: Bearer " + testToken + "\nContent-Type: text/plain\n", 415},
	} {
		w := Dial(t, s.URL)
		w.Say("POST /design HTTP/1.1\nHost: localhost\nContent-Length: 100\n" + c.headers + "\n{")
		if a := w.Hear(); a.Status != c.status || !a.Closes {
			t.Errorf("got %d %v, want %d", a.Status, a.Header, c.status)
		}
	}
	w := Dial(t, s.URL)
	w.Say("GET /meta HTTP/1.1\nHost: localhost\nContent-Length: 100\nAuthorization: Bearer " + testToken + "\n\n{")
	if a := w.Hear(); a.Status != 200 {
		t.Errorf("GET with a body that does not come: got %d", a.Status)
	}
}

// A client that asks before it sends a body is told to go on only when the
// body is wanted.
func TestExpectContinue(t *testing.T) {
	s := start(t, nil)
	ask := func(host, size string) *Wire {
		w := Dial(t, s.URL)
		w.Say("POST /design HTTP/1.1\nHost: " + host + "\nAuthorization: Bearer " + testToken +
			"\nContent-Type: application/json\nExpect: 100-continue\nContent-Length: " + size + "\n\n")
		return w
	}
	w := ask("localhost", "14")
	if line, err := w.Lines.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("got %q, %v", line, err)
	}
	if _, err := w.Lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	w.Say(`{"prompt":"x"}`)
	if a := w.Hear(); a.Status != 200 {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
	for _, c := range []struct {
		host, size string
		status     int
	}{{"evil.test", "14", 403}, {"localhost", "67108865", 413}} {
		w := ask(c.host, c.size)
		if a := w.Hear(); a.Status != c.status {
			t.Errorf("got %d %s, want %d", a.Status, a.Body, c.status)
		}
		w.Gone()
	}
}

// An oversize body that was sent whole does not lose its answer to a reset
// connection.
func TestOversizeBodyStillHearsWhy(t *testing.T) {
	s := start(t, func(o *server.Options) { o.Limits.Body = 1 << 20 })
	for range 5 {
		a := Do(t, s.URL, Call{Method: "POST", Path: "/design", Header: authorized(), Body: strings.Repeat(" ", 8<<20)})
		wantFault(t, a, 413, "too_large")
	}
}

// One connection serves request after request.
func TestKeepAlive(t *testing.T) {
	s := start(t, nil)
	w := Dial(t, s.URL)
	auth := "Host: localhost\nAuthorization: Bearer " + testToken + "\n"
	for range 3 {
		w.Say("GET /meta HTTP/1.1\n" + auth + "\n")
		if a := w.Hear(); a.Status != 200 {
			t.Fatalf("meta: got %d", a.Status)
		}
		w.Say("POST /design HTTP/1.1\n" + auth + "Content-Type: application/json\nContent-Length: 14\n\n{\"prompt\":\"x\"}")
		if a := w.Hear(); a.Status != 200 || Types(t, a.Body) != "start, done" {
			t.Fatalf("design: got %d %q", a.Status, a.Body)
		}
		w.Say("POST /design HTTP/1.1\n" + auth + "Content-Type: application/json\nContent-Length: 2\n\n[]")
		if a := w.Hear(); a.Status != 400 {
			t.Fatalf("bad body: got %d", a.Status)
		}
	}
}
