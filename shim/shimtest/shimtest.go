// Package shimtest sets a stage for tests: a throw-away repository, a home of
// its own, and a real shim that listens on a free port. The agent is whatever
// is on PATH: a test binary whose TestMain calls Main plays the fakes itself.
package shimtest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/fakeagents/fixtures"
	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/sse"
)

// Main runs the tests of a package with the fake agents (this test binary
// under their names) first on PATH, and a private config directory, where the
// shim keeps its tokens. m is the package's *testing.M, or what runs it.
func Main(m testscript.TestingM) {
	corpus := fixtures.Corpus()
	if dir := os.Getenv(envVariants); dir != "" {
		corpus = corpus.With(fakeagents.NewCorpus(os.DirFS(dir)))
	}
	commands := fakeagents.Commands(corpus)
	commands[childCommand] = childMain
	commands[relayCommand] = relayMain
	testscript.Main(private{m}, commands)
}

type private struct{ m testscript.TestingM }

func (p private) Run() int {
	dir, err := os.MkdirTemp("", "shimtest")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_CONFIG_HOME", dir)
	gitDirs = filepath.Join(dir, "git")
	return p.m.Run()
}

// Stage is one repository with its shim.
type Stage struct {
	T    testing.TB
	Root string // real path of a temporary folder; everything is below it
	Repo string
	Home string
	Shim *shim.Shim // nil when the shim is a child process
	Stop func()     // ends the shim and waits for it; again: nothing

	URL   string
	Token string
	child *exec.Cmd
}

// New makes the folders of a stage. The repository is empty and not a git one
// yet.
func New(t testing.TB) *Stage {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &Stage{T: t, Root: root, Repo: filepath.Join(root, "repo"), Home: filepath.Join(root, "home"), Stop: func() {}}
	for _, dir := range []string{s.Repo, s.Home, filepath.Join(root, "tmp")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Environ is what shim, agent and git see: nothing of the developer's own.
func (s *Stage) Environ(extra ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.Home, "USERPROFILE=" + s.Home,
		"TMPDIR=" + filepath.Join(s.Root, "tmp"), "LANG=C.UTF-8", "TERM=dumb",
		"XDG_STATE_HOME=" + s.StateHome(), "XDG_CONFIG_HOME=" + os.Getenv("XDG_CONFIG_HOME"),
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GORACE=atexit_sleep_ms=0", // a fake built with -race would linger for a second
		envVariants + "=" + s.variants(), fakeagents.EnvLog + "=" + s.agentLog(),
	}, extra...)
}

// StateHome is where the shim keeps its state.
func (s *Stage) StateHome() string { return filepath.Join(s.Root, "state") }

// Git runs the user's own git in the repository and returns its stdout.
func (s *Stage) Git(args ...string) string {
	s.T.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=Ada User", "-c", "user.email=ada@example.invalid", "-c", "maintenance.auto=false"}, args...)...)
	cmd.Dir, cmd.Env = s.Repo, s.Environ()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.T.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return string(out)
}

// Lay writes the files of a fixture's repository.
func (s *Stage) Lay(name string) *fakeagents.Fixture {
	s.T.Helper()
	f, err := fixtures.Load(name)
	if err != nil {
		s.T.Fatal(err)
	}
	if err := f.WriteRepo(s.Repo); err != nil {
		s.T.Fatal(err)
	}
	return f
}

// Fixture lays out a fixture's repository as the recorder had it.
func (s *Stage) Fixture(name string) *fakeagents.Fixture {
	s.T.Helper()
	f := s.Lay(name)
	s.Commit()
	return f
}

// Write writes a file of the repository.
func (s *Stage) Write(path, text string) {
	s.T.Helper()
	full := filepath.Join(s.Repo, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		s.T.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		s.T.Fatal(err)
	}
}

// Read reads a file of the repository.
func (s *Stage) Read(path string) string {
	s.T.Helper()
	b, err := os.ReadFile(filepath.Join(s.Repo, filepath.FromSlash(path)))
	if err != nil {
		s.T.Fatal(err)
	}
	return string(b)
}

// Start serves the repository on a free port of the loopback.
func (s *Stage) Start(cfg shim.Config) {
	s.T.Helper()
	cfg.Repo = s.Repo
	if cfg.Environ == nil {
		cfg.Environ = s.Environ()
	}
	ctx, cancel := context.WithCancel(context.Background())
	sh, err := shim.New(ctx, cfg)
	if err != nil {
		cancel()
		s.T.Fatal(err)
	}
	addr, err := sh.Listen()
	if err != nil {
		cancel()
		s.T.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- sh.Serve(ctx) }()
	s.Stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			s.T.Errorf("serve: %v", err)
		}
	})
	s.T.Cleanup(s.Stop)
	s.Shim, s.URL, s.Token = sh, "http://"+addr, sh.Token()
}

// Beside returns a stage for a further shim on the same state directory, for
// the repository in repo: the same one, or another.
func (s *Stage) Beside(repo string) *Stage {
	return &Stage{T: s.T, Root: s.Root, Repo: repo, Home: s.Home, Stop: func() {}}
}

// Play starts the shim with the fake agent and a fixture. knobs are
// "name=value", see fakeagents.KnobNames; cfg.Environ comes on top of Environ.
func (s *Stage) Play(name string, cfg shim.Config, knobs ...string) {
	s.T.Helper()
	cfg.Environ = append(s.playing(name, knobs), cfg.Environ...)
	s.Start(cfg)
}

// playing is an environment in which the fake agent plays a fixture.
func (s *Stage) playing(name string, knobs []string) []string {
	return s.Environ(fakeagents.EnvFixture+"="+name, fakeagents.EnvKnobs+"="+strings.Join(knobs, ","))
}

// Request makes a request with the token; body nil = none.
func (s *Stage) Request(ctx context.Context, method, path string, body any) *http.Request {
	s.T.Helper()
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			s.T.Fatal(err)
		}
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, r)
	if err != nil {
		s.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req
}

// Do sends a request and returns its answer, which is closed with the test.
func (s *Stage) Do(req *http.Request) *http.Response {
	s.T.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() { res.Body.Close() })
	return res
}

// JSON sends a request and decodes its answer, whatever its status.
func (s *Stage) JSON(method, path string, body, into any) (status int) {
	s.T.Helper()
	res := s.Do(s.Request(context.Background(), method, path, body))
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.T.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(b, into); err != nil {
			s.T.Fatalf("%s %s: %s: %v in %.300s", method, path, res.Status, err, b)
		}
	}
	return res.StatusCode
}

// Stream is a run's event stream, read event by event.
type Stream struct {
	s      *Stage
	res    *http.Response
	next   func() (sse.Frame, error, bool)
	cancel context.CancelFunc
	Events []event.Event // read so far
	Last   int64         // id of the last frame
}

// Open sends a request whose answer is a stream; one that is refused fails
// the test.
func (s *Stage) Open(method, path string, body any) *Stream {
	s.T.Helper()
	return s.Follow(s.Request(context.Background(), method, path, body))
}

// Follow is Open for a request that was made.
func (s *Stage) Follow(req *http.Request) *Stream {
	s.T.Helper()
	ctx, cancel := context.WithCancel(req.Context())
	s.T.Cleanup(cancel)
	res := s.Do(req.WithContext(ctx))
	if res.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(res.Body)
		s.T.Fatalf("%s %s: %s: %s", req.Method, req.URL.Path, res.Status, b)
	}
	next, stop := iter.Pull2(sse.Read(res.Body))
	s.T.Cleanup(stop)
	return &Stream{s: s, res: res, next: next, cancel: cancel}
}

// Design posts a run and reads its events to the end.
func (s *Stage) Design(body map[string]any) []event.Event {
	s.T.Helper()
	return s.Open("POST", "/design", body).Rest()
}

// Leave drops the connection, as a client does that goes away.
func (st *Stream) Leave() {
	st.cancel()
	st.res.Body.Close()
}

// Next returns the next event; nil at the end of the stream.
func (st *Stream) Next() event.Event {
	st.s.T.Helper()
	frame, err, ok := st.next()
	if !ok {
		return nil
	}
	if err != nil {
		st.s.T.Fatalf("read the stream: %v", err)
	}
	if frame.ID != st.Last+1 && st.Last != 0 {
		st.s.T.Fatalf("frame %d follows %d", frame.ID, st.Last)
	}
	e, err := event.Decode(frame.Data)
	if err != nil {
		st.s.T.Fatal(err)
	}
	st.Last = frame.ID
	st.Events = append(st.Events, e)
	return e
}

// Rest reads to the end of the stream and returns all events. The last one
// must be done, and no other.
func (st *Stream) Rest() []event.Event {
	st.s.T.Helper()
	for st.Next() != nil {
	}
	for i, e := range st.Events {
		if _, isDone := e.(event.Done); isDone != (i == len(st.Events)-1) {
			st.s.T.Fatalf("done is not last, exactly once: %s", Words(st.Events))
		}
	}
	if len(st.Events) == 0 {
		st.s.T.Fatal("the stream ended without a word")
	}
	return st.Events
}

// Until reads up to the first event of e's type and returns it.
func Until[E event.Event](st *Stream) E {
	st.s.T.Helper()
	for {
		e := st.Next()
		if e == nil {
			var want E
			st.s.T.Fatalf("the stream ended without %s: %s", want.Type(), Words(st.Events))
		}
		if got, ok := e.(E); ok {
			return got
		}
	}
}

// All returns the events of one type.
func All[E event.Event](events []event.Event) []E {
	var found []E
	for _, e := range events {
		if got, ok := e.(E); ok {
			found = append(found, got)
		}
	}
	return found
}

// One returns the only event of a type.
func One[E event.Event](t testing.TB, events []event.Event) E {
	t.Helper()
	found := All[E](events)
	if len(found) != 1 {
		var want E
		t.Fatalf("%d %s events, want one: %s", len(found), want.Type(), Words(events))
	}
	return found[0]
}

// Words is a list of events for a failure message: each on a line.
func Words(events []event.Event) string {
	var b strings.Builder
	for _, e := range events {
		data, err := event.Encode(e)
		if err != nil {
			data = []byte(err.Error())
		}
		b.WriteString("\n  " + string(data[:min(len(data), 300)]))
	}
	return b.String()
}

// Await polls for a fact, at most 20 s.
func Await(t testing.TB, what string, fact func() bool) {
	t.Helper()
	AwaitWithin(t, 20*time.Second, func() string { return what }, fact)
}

// AwaitWithin is Await with a limit of its own; what is asked when it has
// passed.
func AwaitWithin(t testing.TB, limit time.Duration, what func() string, fact func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		if fact() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("this did not come true: %s", what())
		}
	}
}
