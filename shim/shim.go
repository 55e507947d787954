package shim

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/claude"
	"github.com/slidewrite/slidewrite/shim/agent/codex"
	"github.com/slidewrite/slidewrite/shim/agent/grok"
	"github.com/slidewrite/slidewrite/shim/agent/process"
	"github.com/slidewrite/slidewrite/shim/catalog"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/pair"
	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/server"
	"github.com/slidewrite/slidewrite/shim/state"
)

// Config is all that a shim can be told. The zero value of everything but
// Repo is usable: it listens on a free port of the loopback.
type Config struct {
	Repo string // target repository, or a folder in one
	Bind string // address, default 127.0.0.1
	Port int    // 0 = a free one

	Token           string   // bearer token; "" = the repository's own, made once
	Origins         []string // web origins allowed by CORS
	AllowHosts      []string // further Host names, *.suffix allowed
	AllowExtensions []string // further extension ids

	Model             string        // default Anthropic model
	ClaudeBin         string        // "" = found on PATH and in the usual folders
	CodexBin          string        // likewise
	GrokBin           string        // likewise
	CodexHome         string        // CODEX_HOME of codex, "" = its own
	GrokHome          string        // GROK_HOME of grok, "" = its own
	MaxTurns          int           // 0 = 40
	RunTimeout        time.Duration // a run is stopped that long after its start; 0 = never
	UseSkills         bool
	NoProjectSettings bool
	MCP               string // project (default) or none
	KeepEnv           bool

	DiscoveryDeadline time.Duration // for an agent to say what it offers; 0 = 20 s

	CommitVerify bool
	CommitAuthor string // slidewrite (default) or user

	Debug     bool
	DebugWire bool

	Timing Timing // zero = what people get

	StateDir string    // "" = the user's state directory
	Environ  []string  // nil = os.Environ()
	Log      io.Writer // nil = nothing is logged
	Version  string
	Now      func() time.Time // nil = time.Now
}

// Timing is how long a run waits for what.
type Timing = run.Timing

// Shim is one server for one repository.
type Shim struct {
	cfg      Config
	dir      string // real path of Config.Repo
	store    *state.Store
	runs     *run.Manager
	catalog  *catalog.Catalog
	sessions *Sessions
	codes    *pair.Codes
	handler  http.Handler

	token   string
	started time.Time

	mu       sync.Mutex
	listener net.Listener
}

// New returns a shim for cfg. It reads what it needs to know about the
// repository's place and the state directory; git and the agents are asked
// later, so that its cost does not depend on the repository.
func New(ctx context.Context, cfg Config) (*Shim, error) {
	cfg = cfg.withDefaults()
	dir, top, err := cfg.place()
	if err != nil {
		return nil, err
	}
	if cfg.StateDir == "" {
		if cfg.StateDir, err = state.DefaultDir(cfg.Environ); err != nil {
			return nil, err
		}
	}
	store, err := state.Open(cfg.StateDir, top)
	if err != nil {
		return nil, err
	}
	s := &Shim{cfg: cfg, dir: dir, store: store, token: cfg.Token, started: cfg.Now(), codes: pair.NewCodes(cfg.Now)}
	if s.token == "" {
		if s.token, err = state.Token(cfg.Environ, top); err != nil {
			return nil, errors.Wrap(err, "make the token of this repository")
		}
	}
	scratch, err := store.ScratchDir()
	if err != nil {
		return nil, err
	}
	agents := cfg.agents(dir, top, scratch)
	s.catalog, s.sessions = agents.Catalog, cfg.sessions(agents.All, dir, top)
	s.runs = run.NewManager(run.Options{
		Dir: dir, Agents: agents.All, Off: []string{"google"}, Store: store,
		Environ: cfg.Environ, LookPath: agents.LookPath, Version: s.catalog.Version,
		KeepEnv: cfg.KeepEnv, Model: cfg.Model, UseSkills: cfg.UseSkills, NoProjectSettings: cfg.NoProjectSettings,
		MCP: cfg.MCP, MaxTurns: cfg.MaxTurns, RunTimeout: cfg.RunTimeout, CommitVerify: cfg.CommitVerify, CommitAsUser: cfg.CommitAuthor == "user",
		Self: s.self, Timing: cfg.Timing, Log: cfg.Log, Debug: writer(cfg.Debug, cfg.Log), Wire: writer(cfg.DebugWire, cfg.Log), Now: cfg.Now,
	})
	s.handler = server.New(s.serverOptions())
	return s, nil
}

// Agents are the agent CLIs that a shim drives.
type Agents struct {
	All      []agent.Agent
	Catalog  *catalog.Catalog                  // what they offer on this machine; to be closed
	LookPath func(name string) (string, error) // finds a binary, see process.LookPath
}

// AgentsOf returns the agents that the shim of cfg would drive, for who wants
// to ask them without one.
func AgentsOf(cfg Config) (Agents, error) {
	cfg = cfg.withDefaults()
	dir, err := repoDir(cfg.Repo)
	if err != nil {
		return Agents{}, err
	}
	top, err := gitrepo.TopOf(dir)
	if err != nil {
		return Agents{}, errors.Wrap(err, "find the repository")
	}
	return cfg.agents(dir, top, ""), nil
}

// agents wires the adapters. scratch is for what they write when they are
// asked what they offer, "" = the system's temporary folder.
func (c Config) agents(dir, top, scratch string) Agents {
	a := Agents{
		All: c.adapters(),
		// As configured, else on PATH, else in the usual folders; never in the
		// target repository.
		LookPath: func(name string) (string, error) {
			bin, _, err := process.LookPath(name, c.explicitBin(name), c.Environ, top)
			return bin, err
		},
	}
	a.Catalog = catalog.New(catalog.Options{
		Agents: a.All, LookPath: a.LookPath, Environ: c.Environ, KeepEnv: c.KeepEnv, Repo: dir,
		TempRoot: scratch, Deadline: c.DiscoveryDeadline,
	})
	return a
}

// Providers name those that can do the work; the first one is the default.
func Providers() (names []string) {
	for _, a := range (Config{}).adapters() {
		names = append(names, a.Provider())
	}
	return names
}

// Adapters are all agents, for who reads what their CLIs left and starts none.
func Adapters() []agent.Agent { return Config{}.adapters() }

// adapters are all the agents there are; the first one is the default.
func (c Config) adapters() []agent.Agent {
	return []agent.Agent{claude.New(), codex.New(codex.Options{Home: c.CodexHome}), grok.New(grok.Options{Home: c.GrokHome})}
}

func (c Config) explicitBin(name string) string {
	return map[string]string{"claude": c.ClaudeBin, "codex": c.CodexBin, "grok": c.GrokBin}[name]
}

// serverOptions is what the HTTP surface is told about this shim.
func (s *Shim) serverOptions() server.Options {
	return server.Options{
		Runs: server.FromManager(s.runs), Catalog: s.catalog, History: s.sessions, Git: s.runs.GitState, Unknown: s.runs.Unknown,
		Project: filepath.Base(s.dir), RepoDir: s.dir, Version: s.cfg.Version, CommitVerify: s.cfg.CommitVerify,
		Pair: s.codes, Token: s.token, Bind: s.cfg.Bind, AllowHosts: s.cfg.AllowHosts,
		Origins: s.cfg.Origins, AllowExtensions: s.cfg.AllowExtensions, Log: s.log(),
	}
}

func (s *Shim) log() *slog.Logger { return slog.New(slog.NewTextHandler(s.cfg.Log, nil)) }

// place is the folder to work in and the top level of its repository, as real
// paths.
func (c Config) place() (dir, top string, err error) {
	if dir, err = repoDir(c.Repo); err != nil {
		return "", "", err
	}
	top, err = gitrepo.TopOf(dir)
	return dir, top, errors.Wrap(err, "find the repository")
}

// repoDir is the real path of the folder to work in.
func repoDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", errors.Wrap(err, "--repo")
	}
	if info, err := os.Stat(real); err != nil {
		return "", errors.Wrap(err, "--repo")
	} else if !info.IsDir() {
		return "", errors.Newf("--repo: %s is not a folder", dir)
	}
	return real, nil
}

func (c Config) withDefaults() Config {
	if c.Repo == "" {
		c.Repo = "."
	}
	if c.Bind == "" {
		c.Bind = "127.0.0.1"
	}
	if c.MaxTurns == 0 {
		c.MaxTurns = 40
	}
	if c.MCP == "" {
		c.MCP = "project"
	}
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	if c.Log == nil {
		c.Log = io.Discard
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

func writer(on bool, w io.Writer) io.Writer {
	if on {
		return w
	}
	return nil
}

// Handler serves the HTTP surface.
func (s *Shim) Handler() http.Handler { return s.handler }

// Runs starts and remembers runs.
func (s *Shim) Runs() *run.Manager { return s.runs }

// Token is the bearer token that clients must send.
func (s *Shim) Token() string { return s.token }

// PairingLink makes a fresh link that hands the token to the browser it is
// opened in, once and within ten minutes. at is the host:port that the shim is
// reached at from there.
func (s *Shim) PairingLink(at string) string { return pair.Link("http://"+at, s.codes.New()) }

// Listen binds the address and returns it as host:port.
func (s *Shim) Listen() (string, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(s.cfg.Bind, strconv.Itoa(s.cfg.Port)))
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listener = l
	return l.Addr().String(), nil
}

// Serve answers requests until ctx ends; then it stops the runs, waits for
// them, and lets their last events reach the clients.
func (s *Shim) Serve(ctx context.Context) error {
	s.mu.Lock()
	l := s.listener
	s.mu.Unlock()
	if l == nil {
		return errors.New("Serve without Listen")
	}
	remove, err := s.store.Announce(state.Shim{PID: os.Getpid(), Addr: l.Addr().String(), Repo: s.store.Top(), StartedAt: s.started})
	if err != nil {
		return err
	}
	defer remove()
	srv := server.NewHTTPServer(s.handler, s.log())
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	go func() { _ = s.runs.Recover(context.WithoutCancel(ctx)) }() // who asks for the runs is told
	select {
	case err := <-failed:
		return errors.CombineErrors(err, s.Close())
	case <-ctx.Done():
	}
	err = s.Close()
	// Every run has ended, so every stream has its last event at hand; a
	// client that does not read is not waited for.
	quiet, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if srv.Shutdown(quiet) != nil {
		srv.Close()
	}
	return err
}

// lastWords is how long clients have to read the end of their streams at
// shutdown.
const lastWords = 2 * time.Second

// self names a shim that listens, for clients that hear of its troubles.
func (s *Shim) self() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return ""
	}
	return fmt.Sprintf("the shim at http://%s (pid %d)", s.listener.Addr(), os.Getpid())
}

// Others are the other shims that serve this repository, the one started last
// first.
func (s *Shim) Others() []state.Shim {
	shims, err := s.store.ShimsOf(s.store.Top())
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(shims, func(sh state.Shim) bool { return sh.PID == os.Getpid() })
}

// Close stops all runs and waits until nothing of them is left.
func (s *Shim) Close() error {
	s.runs.Close()
	s.catalog.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		s.listener.Close()
		s.listener = nil
	}
	return nil
}

// Facts is what a person who starts the shim wants to know.
type Facts struct {
	Addr    string
	Token   string
	Project string
	RepoDir string
	Git     gitrepo.State
	Agents  []catalog.Provider
}

// Facts asks git and the agents; agents that have not answered when ctx ends
// are pending.
func (s *Shim) Facts(ctx context.Context) Facts {
	s.mu.Lock()
	f := Facts{Token: s.token, Project: filepath.Base(s.dir), RepoDir: s.dir}
	if s.listener != nil {
		f.Addr = s.listener.Addr().String()
	}
	s.mu.Unlock()
	f.Git = s.runs.GitState(ctx)
	f.Agents = s.catalog.Providers(ctx, "", false)
	return f
}
