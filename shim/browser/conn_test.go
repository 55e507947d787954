package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/errors"
)

// far is the browser's end of a pipe.
type far struct {
	t   *testing.T
	in  *bufio.Reader
	out io.WriteCloser
}

// request is what the browser gets.
type request struct {
	ID        int64
	SessionID string
	Method    string
	Params    json.RawMessage
}

func pipe(t *testing.T) (*Conn, *far) {
	t.Helper()
	commands, w := io.Pipe()
	r, answers := io.Pipe()
	t.Cleanup(func() { answers.Close(); commands.Close() })
	return NewConn(r, w), &far{t, bufio.NewReader(commands), answers}
}

// next is the next request; nothing may stand between two.
func (f *far) next() request {
	message, err := f.in.ReadBytes(0)
	if err != nil {
		f.t.Errorf("read a request: %v", err)
		return request{}
	}
	var r request
	if err := json.Unmarshal(message[:len(message)-1], &r); err != nil {
		f.t.Errorf("%q: %v", message, err)
	}
	return r
}

func (f *far) say(messages ...string) {
	if _, err := io.WriteString(f.out, strings.Join(messages, "\x00")+"\x00"); err != nil {
		f.t.Errorf("answer: %v", err)
	}
}

// called calls in the background.
func called(c *Conn, ctx context.Context, session, method string, params, result any) <-chan error {
	ch := make(chan error, 1)
	go func() { ch <- c.Call(ctx, session, method, params, result) }()
	return ch
}

func ended(t *testing.T, ch <-chan error) error {
	t.Helper()
	select {
	case err := <-ch:
		return err
	case <-time.After(10 * time.Second):
		t.Fatal("the call does not return")
		return nil
	}
}

func TestCall(t *testing.T) {
	t.Parallel()
	c, browser := pipe(t)
	var got struct{ Product string }
	ch := called(c, t.Context(), "S1", "Browser.getVersion", map[string]int{"n": 1}, &got)
	r := browser.next()
	if r.SessionID != "S1" || r.Method != "Browser.getVersion" || string(r.Params) != `{"n":1}` || r.ID == 0 {
		t.Errorf("the browser was asked %+v", r)
	}
	// An event, an answer to nobody, something that is not JSON, and the answer.
	browser.say(`{"method":"Target.targetCreated","params":{}}`, `{"id":77,"result":{}}`, `what`, `{"id":1,"result":{"product":"Chrome/1"}}`)
	if err := ended(t, ch); err != nil || got.Product != "Chrome/1" {
		t.Errorf("%+v, %v", got, err)
	}
}

// Answers come in any order.
func TestCallsCross(t *testing.T) {
	t.Parallel()
	c, browser := pipe(t)
	var a, b struct{ N int }
	first := called(c, t.Context(), "", "A.a", nil, &a)
	one := browser.next()
	second := called(c, t.Context(), "", "B.b", nil, &b)
	two := browser.next()
	if string(one.Params) != "{}" || one.SessionID != "" || one.ID == two.ID {
		t.Errorf("asked %+v, then %+v", one, two)
	}
	browser.say(`{"id":2,"result":{"n":2}}`, `{"id":1,"result":{"n":1}}`)
	if err := errors.Join(ended(t, first), ended(t, second)); err != nil || a.N != 1 || b.N != 2 {
		t.Errorf("%+v, %+v, %v", a, b, err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	c, browser := pipe(t)
	ch := called(c, t.Context(), "", "Extensions.loadUnpacked", nil, nil)
	browser.next()
	browser.say(`{"id":1,"error":{"code":-32601,"message":"Method not available."}}`)
	err := ended(t, ch)
	var refused *Refused
	if !errors.As(err, &refused) || refused.Code != -32601 || err.Error() != "Extensions.loadUnpacked: Method not available." {
		t.Errorf("%v", err)
	}
}

// TestTheBrowserGoes: every call that waits, and every later one, is told.
func TestTheBrowserGoes(t *testing.T) {
	t.Parallel()
	c, browser := pipe(t)
	ch := called(c, t.Context(), "", "A.a", nil, nil)
	browser.next()
	browser.out.Close()
	if err := ended(t, ch); !errors.Is(err, ErrEnded) {
		t.Errorf("waiting: %v", err)
	}
	<-c.Ended()
	ch = called(c, t.Context(), "", "A.a", nil, nil)
	browser.next()
	if err := ended(t, ch); !errors.Is(err, ErrEnded) {
		t.Errorf("later: %v", err)
	}
}

func TestCallGivenUp(t *testing.T) {
	t.Parallel()
	c, browser := pipe(t)
	ctx, cancel := context.WithCancel(t.Context())
	ch := called(c, ctx, "", "A.a", nil, nil)
	browser.next()
	cancel()
	if err := ended(t, ch); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) != 0 {
		t.Errorf("%d calls wait", len(c.waiting))
	}
}

// TestAwait asks until it is so; what a page throws meanwhile is not the end.
func TestAwait(t *testing.T) {
	t.Parallel()
	c, browser := pipe(t)
	p := &Page{conn: c, session: "S"}
	ch := make(chan error, 1)
	go func() { ch <- p.Await(t.Context(), "a thing", "thing") }()
	if r := browser.next(); r.SessionID != "S" || r.Method != "Runtime.evaluate" {
		t.Errorf("asked %+v", r)
	}
	browser.say(`{"id":1,"result":{"result":{"type":"object"},"exceptionDetails":{"text":"Uncaught","exception":{"description":"no thing"}}}}`)
	browser.next()
	browser.say(`{"id":2,"result":{"result":{"value":false}}}`)
	browser.next()
	browser.say(`{"id":3,"result":{"result":{"value":true}}}`)
	if err := ended(t, ch); err != nil {
		t.Error(err)
	}
	go func() { ch <- p.Await(t.Context(), "a thing", "thing") }()
	browser.next()
	browser.out.Close()
	if err := ended(t, ch); !errors.Is(err, ErrEnded) || !strings.HasPrefix(err.Error(), "wait for a thing: ") {
		t.Errorf("%v", err)
	}
}

// TestArgs: nothing of the user's, and no sandbox only where there is none.
func TestArgs(t *testing.T) {
	t.Parallel()
	has := func(all []string, flag string) bool {
		return strings.Contains(" "+strings.Join(all, " ")+" ", " "+flag+" ")
	}
	user := args(Options{Program: "/usr/bin/chromium", Profile: "/p", URL: "about:blank"}, 1000)
	for _, flag := range []string{"--no-sandbox", "--headless=new", "--enable-unsafe-extension-debugging"} {
		if has(user, flag) {
			t.Errorf("%s for a user of Chromium", flag)
		}
	}
	if !has(user, "--user-data-dir=/p") || !has(user, "--remote-debugging-pipe") || user[len(user)-1] != "about:blank" {
		t.Errorf("%q", user)
	}
	root := args(Options{Program: "/opt/Google Chrome", Headless: true}, 0)
	for _, flag := range []string{"--no-sandbox", "--headless=new", "--enable-unsafe-extension-debugging"} {
		if !has(root, flag) {
			t.Errorf("no %s for root, Chrome, headless", flag)
		}
	}
}
