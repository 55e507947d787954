// Package server speaks HTTP: it lets requests in or refuses them, decodes
// bodies, and writes answers and event streams. Nothing is decided here: what
// a run, an undo or a provider list is comes from the packages below.
//
// Flow of a request: ServeHTTP → guard (Host, token, Origin, body; guard.go)
// → the route's handler → JSON, an error of the status table (error.go), or a
// stream (stream.go).
package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/errors"
	"github.com/go-chi/chi/v5"

	"github.com/slidewrite/slidewrite/shim/catalog"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/pair"
	"github.com/slidewrite/slidewrite/shim/prompt"
	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/sse"
)

// Runs is what the server needs of a run.Manager; see FromManager.
type Runs interface {
	Start(ctx context.Context, req prompt.Request) (Run, error)
	Get(id string) (Run, error)
	Stop(id, by string) error
	List(ctx context.Context) ([]run.Summary, error)
	Diff(ctx context.Context, id, path string) (run.DiffReply, error)
	Undo(ctx context.Context, id string) (run.UndoReply, error)
	Squash(ctx context.Context, ids []string) (run.SquashReply, error)
	Commit(ctx context.Context, ids []string) (run.CommitReply, error)
	Preview(req prompt.Request) run.Preview
}

// Run is one run, going on or ended.
type Run interface {
	ID() string
	// Attach says that a client is there, release that it went away.
	Attach() (release func())
	// Follow reads the events after the one numbered after.
	Follow(after int64) Follower
}

// Follower reads a run's events; see run.Follower.
type Follower interface {
	Next(ctx context.Context) ([]run.Frame, error)
	Close()
}

// Catalog lists the providers; only = "" asks all.
type Catalog interface {
	Providers(ctx context.Context, only string, refresh bool) []catalog.Provider
}

// Options configure a server. Runs, Catalog, Git and Token are needed.
type Options struct {
	Runs    Runs
	Catalog Catalog
	History History                             // nil = there is none of any provider
	Git     func(context.Context) gitrepo.State // for /meta
	Unknown func() int                          // agent lines of unknown type since the start; nil = none

	Project      string // name for people
	RepoDir      string // real path
	Version      string // of the shim
	CommitVerify bool   // the repo's commit hooks are run
	GeminiModel  string // "" = gemini-2.5-flash-image
	GeminiEnv    bool   // the shim has a Gemini key of its own

	Pair  *pair.Codes // nil = codes of its own, which only POST /pair/new makes
	Token string      // empty = nobody gets in

	Bind            string   // address listened on, without port; "" = loopback
	AllowHosts      []string // further Host names: exact, or *.suffix
	Origins         []string // web origins allowed by CORS; * = every one
	AllowExtensions []string // extension ids beside ExtensionID

	Log    *slog.Logger // nil = silent
	Limits Limits
}

// Limits are bounds in time and size; 0 means the default.
type Limits struct {
	Body     int64         // bytes of a request body; 64 MiB
	BodyIdle time.Duration // silence within a request body; 10 s
	Streams  int64         // event streams open at once; 256
	Ping     time.Duration // silence within a stream; sse.PingEvery
	Stall    time.Duration // a client that does not read; sse.StallAfter

	bodyTime time.Duration // from the first to the last byte of a body; 0 = no limit
}

func (l Limits) withDefaults() Limits {
	if l.Body == 0 {
		l.Body = 64 << 20
	}
	if l.BodyIdle == 0 {
		l.BodyIdle = 10 * time.Second
	}
	if l.Streams == 0 {
		l.Streams = 256
	}
	if l.Ping == 0 {
		l.Ping = sse.PingEvery
	}
	if l.Stall == 0 {
		l.Stall = sse.StallAfter
	}
	return l
}

// of is the limits of one request: who has shown no token sends little, and
// soon.
func (l Limits) of(r *http.Request) Limits {
	if isPublic(r) {
		l.Body = min(l.Body, publicBody)
		l.bodyTime = l.BodyIdle
	}
	return l
}

// publicBody is what a request without a token may send, in bytes.
const publicBody = 4 << 10

// server is the handler of New.
type server struct {
	o       Options
	guard   guard
	router  *chi.Mux
	streams atomic.Int64 // open event streams
}

// New returns the shim's HTTP handler. HostPattern, WebOrigin and
// IsExtensionID tell beforehand which names are not understood; here they
// match nothing.
func New(o Options) http.Handler {
	o.Limits = o.Limits.withDefaults()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.GeminiModel == "" {
		o.GeminiModel = "gemini-2.5-flash-image"
	}
	if o.Pair == nil {
		o.Pair = pair.NewCodes(nil)
	}
	s := &server{o: o, guard: newGuard(o), router: chi.NewRouter()}
	s.router.NotFound(s.handle(func(http.ResponseWriter, *http.Request) error { return errNoRoute }))
	s.router.MethodNotAllowed(s.handle(s.methodNotAllowed))
	s.registerHealthRoutes()
	s.registerMetaRoutes()
	s.registerDesignRoutes()
	s.registerPreviewRoutes()
	s.registerRunsRoutes()
	s.registerEventsRoutes()
	s.registerUndoRoutes()
	s.registerCommitsRoutes()
	s.registerHistoryRoutes()
	s.registerPairRoutes()
	return s
}

// get registers a handler for GET, and for HEAD: net/http leaves the body out.
func (s *server) get(pattern string, h handler) {
	s.router.Get(pattern, s.handle(h))
	s.router.Head(pattern, s.handle(h))
}

func (s *server) post(pattern string, h handler) {
	s.router.Post(pattern, s.handle(h))
}

// handler is a route. The error it returns is answered by the status table,
// or, once the answer has begun, by cutting the connection.
type handler func(w http.ResponseWriter, r *http.Request) error

func (s *server) handle(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.answer(w, r, err)
		}
	}
}

// ServeHTTP lets the request in or answers why not.
func (s *server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w := &response{ResponseWriter: rw}
	defer s.recoverPanic(w, r)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	body := newBody(w, r, s.o.Limits.of(r))
	r.Body = body
	err := s.guard.admit(w, r)
	body.patient = !isPublic(r) && (err == nil || !isAny(err, errBadHost, errUnauthorized, errBadOrigin))
	switch {
	case err != nil:
		s.answer(w, r, err)
	case r.Method == http.MethodOptions:
		w.WriteHeader(http.StatusNoContent)
	default:
		s.router.ServeHTTP(w, r)
	}
	body.drain()
}

// recoverPanic turns a bug of ours into a 500, or, in the middle of an
// answer, into a cut connection. What happened goes to the log only.
func (s *server) recoverPanic(w *response, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	s.o.Log.Error("panic in a handler", "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
	s.answer(w, r, errPanic)
}

// methodNotAllowed answers a route that exists with other methods.
func (s *server) methodNotAllowed(w http.ResponseWriter, r *http.Request) error {
	fix := ""
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		if s.router.Match(chi.NewRouteContext(), m, routePath(r)) {
			w.Header().Add("Allow", m)
			switch {
			case m == http.MethodHead: // as GET
			case fix == "":
				fix = m + " " + routePath(r)
			default:
				fix += " or " + m + " " + routePath(r)
			}
		}
	}
	return errors.WithHint(errMethod, fix)
}

// response remembers whether the answer has begun.
type response struct {
	http.ResponseWriter
	begun bool
}

func (w *response) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(b []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// FromManager makes a run.Manager usable here.
func FromManager(m *run.Manager) Runs { return managerRuns{m} }

type managerRuns struct{ *run.Manager }

func (m managerRuns) Start(ctx context.Context, req prompt.Request) (Run, error) {
	r, err := m.Manager.Start(ctx, req)
	if err != nil {
		return nil, err
	}
	return managedRun{r}, nil
}

func (m managerRuns) Get(id string) (Run, error) {
	r, err := m.Manager.Get(id)
	if err != nil {
		return nil, err
	}
	return managedRun{r}, nil
}

type managedRun struct{ *run.Run }

func (r managedRun) Follow(after int64) Follower { return r.Run.Follow(after) }

// NewHTTPServer returns the http.Server that h needs: bounds on headers and
// idle connections, and no write timeout, which would cut streams. log, which
// may be nil, gets the server's own trouble and each address that is not
// loopback, once.
func NewHTTPServer(h http.Handler, log *slog.Logger) *http.Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ConnState:         remoteLogger(log),
		// OPTIONS * must pass the guard like everything else.
		DisableGeneralOptionsHandler: true,
	}
}

// remoteLogger logs each remote address that is not loopback once.
func remoteLogger(log *slog.Logger) func(net.Conn, http.ConnState) {
	const most = 4096 // addresses remembered; beyond it, each connection is logged
	var mu sync.Mutex
	seen := map[string]bool{}
	return func(c net.Conn, state http.ConnState) {
		addr, ok := c.RemoteAddr().(*net.TCPAddr)
		if state != http.StateNew || !ok || addr.IP.IsLoopback() {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		ip := addr.IP.String()
		if seen[ip] {
			return
		}
		if len(seen) < most {
			seen[ip] = true
		}
		log.Info("connection from another machine", "address", ip)
	}
}

// isAny tells whether err is one of targets.
func isAny(err error, targets ...error) bool {
	return errors.IsAny(err, targets...)
}

// isTimeout tells whether err is a deadline of a connection.
func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
