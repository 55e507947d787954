package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"

	"github.com/cockroachdb/errors"
)

// ErrEnded is the answer to every call after the browser has ended, or has let
// go of the pipe.
var ErrEnded = errors.New("the browser has ended")

// Refused is a call that the browser did not carry out.
type Refused struct {
	Method  string `json:"-"`
	Code    int    `json:"code"` // of JSON-RPC; -32601: it has no such method
	Message string `json:"message"`
}

func (r *Refused) Error() string { return r.Method + ": " + r.Message }

// Conn speaks the DevTools protocol over a pipe: JSON messages, each with a
// NUL behind it. Events are read and dropped: who waits for a fact asks.
type Conn struct {
	ended chan struct{} // closed when nothing more comes

	mu      sync.Mutex
	w       io.Writer
	last    int64
	waiting map[int64]chan<- answer
}

type answer struct {
	ID     int64           `json:"id"` // 0 = an event
	Result json.RawMessage `json:"result"`
	Error  *Refused        `json:"error"`
}

// NewConn reads from r until it ends.
func NewConn(r io.Reader, w io.Writer) *Conn {
	c := &Conn{ended: make(chan struct{}), w: w, waiting: map[int64]chan<- answer{}}
	go c.read(bufio.NewReaderSize(r, 1<<16))
	return c
}

// Ended is closed when the other side has let go.
func (c *Conn) Ended() <-chan struct{} { return c.ended }

func (c *Conn) read(r *bufio.Reader) {
	defer close(c.ended)
	for {
		message, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var a answer
		if json.Unmarshal(bytes.TrimSuffix(message, []byte{0}), &a) != nil || a.ID == 0 {
			continue
		}
		c.mu.Lock()
		to := c.waiting[a.ID]
		delete(c.waiting, a.ID)
		c.mu.Unlock()
		if to != nil {
			to <- a
		}
	}
}

// Call calls a method of a session ("" = of the browser itself) and decodes
// what it answers into result, unless that is nil. No answer within Patience
// is an error.
func (c *Conn) Call(ctx context.Context, session, method string, params, result any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, Patience, errPatience)
	defer cancel()
	if params == nil {
		params = struct{}{}
	}
	to := make(chan answer, 1)
	id, err := c.send(session, method, params, to)
	if err != nil {
		return errors.Wrap(err, method)
	}
	defer func() {
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
	}()
	select {
	case <-ctx.Done():
		return errors.Wrap(context.Cause(ctx), method)
	case <-c.ended:
		return errors.Wrap(ErrEnded, method)
	case a := <-to:
		switch {
		case a.Error != nil:
			a.Error.Method = method
			return a.Error
		case result == nil:
			return nil
		}
		return errors.Wrap(json.Unmarshal(a.Result, result), method)
	}
}

func (c *Conn) send(session, method string, params any, to chan<- answer) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	message, err := json.Marshal(struct {
		ID      int64  `json:"id"`
		Session string `json:"sessionId,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{c.last, session, method, params})
	if err != nil {
		return 0, err
	}
	c.waiting[c.last] = to
	if _, err := c.w.Write(append(message, 0)); err != nil {
		delete(c.waiting, c.last)
		return 0, errors.Mark(err, ErrEnded)
	}
	return c.last, nil
}
