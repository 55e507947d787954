// Package servertest tries a shim from outside, over HTTP, as clients and
// attackers do. BadInput holds the sentences of the specification that say
// what bad input gets; it runs against anything that listens.
package servertest

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/sse"
)

// Call is one request; header values of "" are left out.
type Call struct {
	Method, Path, Host string
	Header             map[string]string
	Body               string
}

// Answer is what came back.
type Answer struct {
	Status int
	Header http.Header
	Body   string
	Closes bool // the connection is not used again
	Fault  struct {
		Error string
		Code  string
		Fix   string
		Run   *struct{ ID, Prompt, StartedAt string }
		Files []string
	}
}

// Request makes the http.Request of a call.
func (c Call) Request(t *testing.T, base string) *http.Request {
	t.Helper()
	req, err := http.NewRequest(c.Method, base+c.Path, strings.NewReader(c.Body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range c.Header {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	req.Host = c.Host
	return req
}

// Do sends a call and reads the whole answer.
func Do(t *testing.T, base string, c Call) Answer {
	t.Helper()
	resp, err := http.DefaultTransport.RoundTrip(c.Request(t, base))
	if err != nil {
		t.Fatalf("%s %s: %v", c.Method, c.Path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", c.Method, c.Path, err)
	}
	a := Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(b)}
	if resp.StatusCode >= 400 && c.Method != http.MethodHead {
		if err := json.Unmarshal(b, &a.Fault); err != nil {
			t.Errorf("%s %s: an error that is not JSON: %q", c.Method, c.Path, b)
		}
	}
	return a
}

// Frames reads a stream to its end.
func Frames(t *testing.T, body string) []sse.Frame {
	t.Helper()
	var list []sse.Frame
	for f, err := range sse.Read(strings.NewReader(body)) {
		if err != nil {
			t.Fatalf("stream %q: %v", body, err)
		}
		list = append(list, f)
	}
	return list
}

// Types are the event types of a stream, with their code where they have one.
func Types(t *testing.T, body string) string {
	t.Helper()
	var list []string
	for _, f := range Frames(t, body) {
		var e struct{ Type, Code string }
		if err := json.Unmarshal(f.Data, &e); err != nil {
			t.Fatalf("frame %q: %v", f.Data, err)
		}
		list = append(list, strings.TrimSpace(e.Type+" "+e.Code))
	}
	return strings.Join(list, ", ")
}

// Wire is a raw connection to the server.
type Wire struct {
	net.Conn
	Lines *bufio.Reader
	t     *testing.T
}

// Dial connects; every wait on the connection ends after 20 s.
func Dial(t *testing.T, base string) *Wire {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &Wire{Conn: conn, Lines: bufio.NewReader(conn), t: t}
}

// Say writes text as it is, with lines ended by CRLF.
func (w *Wire) Say(text string) {
	w.t.Helper()
	if _, err := io.WriteString(w, strings.ReplaceAll(text, "\n", "\r\n")); err != nil {
		w.t.Fatalf("write: %v", err)
	}
}

// Hear reads one answer.
func (w *Wire) Hear() Answer {
	w.t.Helper()
	resp, err := http.ReadResponse(w.Lines, nil)
	if err != nil {
		w.t.Fatalf("no answer: %v", err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatalf("answer: %v", err)
	}
	a := Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(b), Closes: resp.Close}
	_ = json.Unmarshal(b, &a.Fault) // net/http's own refusals are plain text
	return a
}

// Gone waits until the server has closed the connection.
func (w *Wire) Gone() {
	w.t.Helper()
	var timeout net.Error
	if _, err := io.Copy(io.Discard, w.Lines); errors.As(err, &timeout) && timeout.Timeout() {
		w.t.Fatal("the server keeps the connection open")
	}
}
