package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/sse"
)

// remote carries runs out in the shim that serves the repository.
type remote struct {
	base  string // http://127.0.0.1:4040
	token string
	http  *http.Client
	at    string // flag that says which repo it is, see repoArg
}

func (r *remote) close() error {
	r.http.CloseIdleConnections()
	return nil
}

// refused is an HTTP error of the shim, as its JSON body tells it.
type refused struct {
	status  int
	Message string   `json:"error"`
	Code    string   `json:"code"`
	Fix     string   `json:"fix"`
	Files   []string `json:"files"` // conflict: the paths in the way
	Run     struct { // busy: what holds the repository
		ID        string    `json:"id"`
		Prompt    string    `json:"prompt"`
		StartedAt time.Time `json:"startedAt"`
	} `json:"run"`
}

func (e *refused) Error() string { return e.Message }

// do sends one request; body nil means GET. A status other than 200 is
// returned as an error in words for people.
func (r *remote) do(ctx context.Context, path string, body any, header ...string) (*http.Response, error) {
	method, reader := http.MethodGet, io.Reader(nil)
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		method, reader = http.MethodPost, bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.base+path, reader)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := r.http.Do(req)
	if err != nil {
		return nil, errors.Wrap(err, "ask the shim")
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer res.Body.Close()
	return nil, readRefusal(res, r.at)
}

func readRefusal(res *http.Response, at string) error {
	e := &refused{status: res.StatusCode}
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(e); err != nil || e.Message == "" {
		e.Message = "the shim answered " + res.Status
	}
	switch {
	case e.Code == "busy":
		return busyWith(e.Run.ID, e.Run.Prompt, e.Run.StartedAt, at)
	case e.Code == "conflict":
		return &conflict{message: e.Message, fix: e.Fix, files: e.Files}
	case e.Code == "unauthorized":
		e.Fix = "pass the token the shim was started with: --token @FILE or SLIDEWRITE_TOKEN"
	}
	if e.Fix != "" {
		return errors.WithHint(e, e.Fix)
	}
	return e
}

// json sends a request and decodes the answer.
func (r *remote) json(ctx context.Context, path string, body, into any) error {
	res, err := r.do(ctx, path, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return errors.Wrap(json.NewDecoder(res.Body).Decode(into), "read the shim's answer")
}

func (r *remote) design(ctx context.Context, body designBody) (stream, error) {
	res, err := r.do(ctx, "/design", body)
	if err != nil {
		return nil, err
	}
	s := &remoteStream{shim: r}
	s.read(res)
	return s, nil
}

func (r *remote) runs(ctx context.Context) ([]run.Summary, error) {
	var list struct {
		Runs []run.Summary `json:"runs"`
	}
	err := r.json(ctx, "/runs", nil, &list)
	return list.Runs, err
}

func (r *remote) undo(ctx context.Context, id string) (run.UndoReply, error) {
	var reply run.UndoReply
	err := r.json(ctx, "/runs/"+url.PathEscape(id)+"/undo", struct{}{}, &reply)
	var e *refused
	if errors.As(err, &e) && e.status == http.StatusNotFound {
		return reply, noSuchRun(id)
	}
	return reply, err
}

// remoteStream follows a run over HTTP, and comes back after a cut: the shim
// closes the connection of a client that stopped reading for long (a terminal
// on hold), and replays from where it was.
type remoteStream struct {
	shim   *remote
	body   io.Closer
	pull   func() (sse.Frame, error, bool)
	finish func()

	last int64 // id of the last frame
	done bool  // done was delivered
	held bool  // this connection has delivered a frame

	mu  sync.Mutex
	run string // id of the run, "" until start told it
}

// id is the run's id, "" as long as it is not known.
func (s *remoteStream) id() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

func (s *remoteStream) read(res *http.Response) {
	s.body, s.held = res.Body, false
	s.pull, s.finish = iter.Pull2(sse.Read(res.Body))
}

func (s *remoteStream) next(ctx context.Context) ([]run.Frame, error) {
	for !s.done {
		f, err, ok := s.pull()
		if ok && err == nil {
			s.took(f)
			return []run.Frame{{Seq: f.ID, Data: f.Data}}, nil
		}
		s.finish()
		s.body.Close()
		if s.id() == "" || !s.held || ctx.Err() != nil {
			return nil, cut(err)
		}
		res, err := s.shim.do(ctx, "/runs/"+url.PathEscape(s.id())+"/events", nil, "Last-Event-ID", fmt.Sprint(s.last))
		if err != nil {
			return nil, cut(err)
		}
		s.read(res)
	}
	s.finish()
	s.body.Close()
	return nil, io.EOF
}

// took remembers what a re-attach needs.
func (s *remoteStream) took(f sse.Frame) {
	s.last, s.held = f.ID, true
	e, err := event.Decode(f.Data)
	if err != nil {
		return
	}
	switch e := e.(type) {
	case event.Start:
		s.mu.Lock()
		s.run = e.RunID
		s.mu.Unlock()
	case event.Done:
		s.done = true
	}
}

// cut is a stream that ended before done.
func cut(err error) error {
	if err == nil {
		return io.EOF
	}
	return err
}

// stop asks the shim to end the run. Before the run has told its id, the one
// that is running in this repo is it.
func (s *remoteStream) stop(ctx context.Context) error {
	id := s.id()
	if id == "" {
		list, err := s.shim.runs(ctx)
		if err != nil {
			return err
		}
		for _, r := range list {
			if r.State == "running" {
				id = r.ID
			}
		}
	}
	res, err := s.shim.do(ctx, "/runs/"+url.PathEscape(id)+"/stop", struct{}{})
	if err != nil {
		return err
	}
	return res.Body.Close()
}
