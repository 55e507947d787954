package server_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/catalog"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/prompt"
	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/server"
	"github.com/slidewrite/slidewrite/shim/server/servertest"
	"github.com/slidewrite/slidewrite/shim/sse"
)

const testToken = "3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAA"

// shelf is a Runs that keeps runs in memory: the guard, the status table and
// the streams are under test here, not what a run does.
type shelf struct {
	mu       sync.Mutex
	runs     map[string]*shelfRun
	requests []prompt.Request
	started  func(*shelfRun) // fills a new run; nil = start, the notes, done
	startErr error
	undo     map[string]error // what POST …/undo of that id fails with
	diff     map[string]error
	panics   bool
	listed   []run.Summary // what List answers beside
	listErr  error
}

func newShelf() *shelf {
	return &shelf{runs: map[string]*shelfRun{}, undo: map[string]error{}, diff: map[string]error{}}
}

// add puts a run on the shelf.
func (s *shelf) add(id string, events ...event.Event) *shelfRun {
	r := &shelfRun{id: id, wake: make(chan struct{})}
	r.append(events...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[id] = r
	return r
}

func (s *shelf) Start(_ context.Context, req prompt.Request) (server.Run, error) {
	if s.panics {
		panic(errBug)
	}
	s.mu.Lock()
	s.requests = append(s.requests, req)
	id, err := fmt.Sprintf("run-%d", len(s.requests)), s.startErr
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	r := s.add(id)
	switch {
	case req.Provider != "anthropic":
		r.append(event.Error{Message: "unknown provider", Code: event.CodeUnsupported}, event.Done{})
	case s.started != nil:
		s.started(r)
	default:
		for _, n := range req.Notes {
			r.append(event.Note{Message: n.Message, Code: n.Code, Level: event.Warning})
		}
		r.append(event.Start{RunID: id, Provider: req.Provider}, event.Done{})
	}
	return r, nil
}

func (s *shelf) Get(id string) (server.Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.runs[id]
	if !ok {
		return nil, run.ErrNotFound
	}
	return r, nil
}

func (s *shelf) Stop(id, by string) error {
	r, err := s.Get(id)
	if err == nil {
		r.(*shelfRun).append(event.Stopped{By: by})
	}
	return err
}

func (s *shelf) List(context.Context) ([]run.Summary, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listErr != nil {
		return nil, s.listErr
	}
	list := append([]run.Summary(nil), s.listed...)
	for id, r := range s.runs {
		summary := run.Summary{ID: id, Kind: "design", State: "running", Files: []string{}}
		if r.ended() {
			summary.State = "done"
		}
		list = append(list, summary)
	}
	return list, nil
}

func (s *shelf) Diff(_ context.Context, id, path string) (run.DiffReply, error) {
	if _, err := s.Get(id); err != nil {
		return run.DiffReply{}, err
	}
	if err := s.diff[id]; err != nil {
		return run.DiffReply{}, err
	}
	if path != "" && path != "a.css" {
		return run.DiffReply{}, run.ErrNotFound
	}
	return run.DiffReply{Diff: "diff --git a/a.css b/a.css\n", Files: []event.ChangedFile{{Path: "a.css"}}, Added: 1, Removed: 1}, nil
}

func (s *shelf) Undo(_ context.Context, id string) (run.UndoReply, error) {
	if _, err := s.Get(id); err != nil {
		return run.UndoReply{}, err
	}
	if err := s.undo[id]; err != nil {
		return run.UndoReply{}, err
	}
	return run.UndoReply{ID: "undo-1", Files: []string{"a.css"}, SHA: "abc1234", Of: id, Prompt: "make it green"}, nil
}

// those fails where one of the runs is not there, or cannot be undone.
func (s *shelf) those(ids []string) error {
	for _, id := range ids {
		if _, err := s.Undo(context.Background(), id); err != nil {
			return err
		}
	}
	return nil
}

func (s *shelf) Squash(_ context.Context, ids []string) (run.SquashReply, error) {
	return run.SquashReply{SHA: "abc1234", Subject: "make it green", Runs: ids, Replaced: []string{"1", "2"}, Count: 2, HooksSkipped: true}, s.those(ids)
}

func (s *shelf) Commit(_ context.Context, ids []string) (run.CommitReply, error) {
	return run.CommitReply{
		SHA: "abc1234", Subject: "make it green", Runs: ids, Count: 2, Left: []run.LeftRun{}, LeftOut: []string{"b.css"},
		Notes: []event.Note{{Message: "b.css is yours", Level: event.Warning, Code: "yours"}},
	}, s.those(ids)
}

func (s *shelf) Preview(req prompt.Request) run.Preview {
	o := prompt.BuildOptions{Nonce: "fresh-per-run"}
	p := run.Preview{Attachments: []run.Attachment{}}
	for i, el := range req.Elements {
		if el.Shot != nil {
			name := fmt.Sprintf("shot-%d.png", i+1)
			o.ShotPaths = append(o.ShotPaths, "/private/"+name)
			p.Attachments = append(p.Attachments, run.Attachment{Name: name, Bytes: len(el.Shot.Data)})
		}
	}
	built := prompt.Build(req, o)
	p.System, p.Prompt = built.System, built.User
	return p
}

// shelfRun is a run in memory.
type shelfRun struct {
	id string

	mu       sync.Mutex
	frames   []run.Frame
	wake     chan struct{} // closed at the next append
	done     bool
	broken   error // what Next fails with behind the last frame
	attached int   // clients now
	attaches int   // clients ever
	closed   int   // followers that were closed
}

func (r *shelfRun) ID() string { return r.id }

func (r *shelfRun) append(events ...event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		data, err := event.Encode(e)
		if err != nil {
			panic(err)
		}
		r.frames = append(r.frames, run.Frame{Seq: int64(len(r.frames) + 1), Data: data})
		_, done := e.(event.Done)
		r.done = r.done || done
	}
	r.awaken()
}

// fail makes the journal unreadable behind its last frame.
func (r *shelfRun) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = err
	r.awaken()
}

// errBug as the failure makes Next panic.
var errBug = errors.New("a bug with a secret in it")

// awaken tells everybody who waits that something changed; r.mu is held.
func (r *shelfRun) awaken() {
	close(r.wake)
	r.wake = make(chan struct{})
}

func (r *shelfRun) ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done
}

func (r *shelfRun) Attach() func() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attached++
	r.attaches++
	r.awaken()
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.attached--
		r.awaken()
	})
}

// await waits until ok holds; ok is called with r.mu held.
func (r *shelfRun) await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		r.mu.Lock()
		holds, wake := ok(), r.wake
		r.mu.Unlock()
		if holds {
			return
		}
		select {
		case <-wake:
		case <-timeout:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func (r *shelfRun) Follow(after int64) server.Follower {
	return &shelfFollower{r: r, after: after}
}

type shelfFollower struct {
	r     *shelfRun
	after int64
}

func (f *shelfFollower) Close() {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	f.r.closed++
	f.r.awaken()
}

func (f *shelfFollower) Next(ctx context.Context) ([]run.Frame, error) {
	for {
		f.r.mu.Lock()
		frames, wake, done, broken := f.r.frames, f.r.wake, f.r.done, f.r.broken
		f.r.mu.Unlock()
		switch {
		case f.after < int64(len(frames)):
			next := frames[f.after:min(int64(len(frames)), f.after+100)]
			f.after += int64(len(next))
			return next, nil
		case broken == errBug:
			panic(broken)
		case broken != nil:
			return nil, broken
		case done:
			return nil, io.EOF
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// menu is a Catalog that is always ready.
type menu struct {
	mu    sync.Mutex
	asked []string
}

func (m *menu) Providers(_ context.Context, only string, refresh bool) []catalog.Provider {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, fmt.Sprintf("only=%s refresh=%v", only, refresh))
	var list []catalog.Provider
	for _, p := range []catalog.Provider{
		{ID: "anthropic", Label: "Anthropic", Enabled: true, Models: []agent.Model{{ID: "opus", Label: "Opus"}}, DefaultModel: "opus"},
		{ID: "openai", Label: "OpenAI"},
	} {
		if only == "" || only == p.ID {
			list = append(list, p)
		}
	}
	return list
}

// shim is a server that listens, with what stands behind it.
type shim struct {
	*httptest.Server
	runs *shelf
	menu *menu
	past *past
}

// start listens on loopback; change may adjust the options.
func start(t *testing.T, change func(*server.Options)) *shim {
	t.Helper()
	s := &shim{runs: newShelf(), menu: &menu{}, past: &past{}}
	o := server.Options{
		Runs: s.runs, Catalog: s.menu, History: s.past, Token: testToken,
		Git:     func(context.Context) gitrepo.State { return gitrepo.State{State: "ok", Branch: "main", Hooks: true} },
		Project: "shop", RepoDir: "/repos/shop", Version: "0.1.0",
	}
	if change != nil {
		change(&o)
	}
	s.Server = httptest.NewUnstartedServer(nil)
	s.Config = server.NewHTTPServer(server.New(o), nil)
	s.Start()
	t.Cleanup(func() { // followers of runs that never end
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// The requests are servertest's.
type (
	Call   = servertest.Call
	Answer = servertest.Answer
	Wire   = servertest.Wire
)

var (
	Do     = servertest.Do
	Dial   = servertest.Dial
	Frames = servertest.Frames
	Types  = servertest.Types
)

// authorized are the headers of a client that is let in.
func authorized(more ...string) map[string]string {
	h := map[string]string{"Authorization": "Bearer " + testToken, "Content-Type": "application/json"}
	for i := 0; i < len(more); i += 2 {
		h[more[i]] = more[i+1]
	}
	return h
}

// wantFault checks status and code of a refusal, and that it has words.
func wantFault(t *testing.T, a Answer, status int, code string) {
	t.Helper()
	if a.Status != status || a.Fault.Code != code || a.Fault.Error == "" {
		t.Errorf("got %d %s, want %d with code %s", a.Status, a.Body, status, code)
	}
	if got := a.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type: got %q", got)
	}
	if got := a.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control: got %q", got)
	}
	if got := a.Header.Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("X-Content-Type-Options: got %q", got)
	}
}

// listen starts srv on loopback for a benchmark.
func listen(b *testing.B, srv *http.Server) (base string) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = srv.Serve(l) }()
	b.Cleanup(func() { srv.Close() })
	return "http://" + l.Addr().String()
}

// follow attaches to run-a and returns a function that waits for a frame.
func follow(b *testing.B, base string) (next func()) {
	b.Helper()
	req, err := http.NewRequest("GET", base+"/runs/run-a/events", nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		b.Fatal(err)
	}
	pull, stop := iter.Pull2(sse.Read(resp.Body))
	b.Cleanup(func() { stop(); resp.Body.Close() })
	return func() {
		if _, err, ok := pull(); err != nil || !ok {
			b.Fatalf("the stream ended: %v", err)
		}
	}
}
