// Package run tells the story of one run: the repository's lock, a snapshot,
// the agent, a second snapshot, the change between the two, its commit. It
// knows neither HTTP nor a concrete agent.
//
// Flow: Manager.Start → Run.execute (run.go) → attempt: snapshot and agent
// (attempt.go), the talk with it (dialogue.go) → settle: change and commit
// (settle.go) → done. What happened is appended to a journal (journal.go) that
// any number of clients follow.
package run

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/process"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/prompt"
	"github.com/slidewrite/slidewrite/shim/state"
)

// Errors of the Manager.
var (
	// ErrNotFound: no run of that id in this repository.
	ErrNotFound = errors.New("no such run")
	// ErrClosed: the shim is shutting down.
	ErrClosed = errors.New("the shim is shutting down")
)

// BusyError says what holds the repository.
type BusyError struct {
	RunID     string
	Prompt    string
	StartedAt time.Time
	PID       int // of the process that holds it, 0 = not known
}

func (e *BusyError) Error() string {
	what := "another run"
	if e.Prompt != "" {
		what = "the run “" + prompt.Title(e.Prompt) + "”"
	}
	return what + " is still working in this repository"
}

// Options configure a Manager. Dir, Agents, LookPath and Store are needed.
type Options struct {
	Dir     string        // real path of the folder runs work in
	Agents  []agent.Agent // the first one is the default provider
	Off     []string      // providers that are known but cannot run
	Store   *state.Store
	Environ []string // of the shim

	// Self names this process for people, as "the shim at http://127.0.0.1:4040
	// (pid 123)"; nil or "" when it is nobody else's.
	Self func() string

	// LookPath finds the agent's binary by its name ("claude").
	LookPath func(name string) (string, error)
	// Version asks a binary for its version; "" when it does not tell.
	Version func(ctx context.Context, bin string) string

	KeepEnv           bool
	Model             string // default model, "" = the agent's own
	UseSkills         bool
	NoProjectSettings bool
	MCP               string // project or none
	MaxTurns          int
	RunTimeout        time.Duration // a run is stopped that long after its start; 0 = never
	CommitVerify      bool
	CommitAsUser      bool

	Timing Timing

	Log   io.Writer // what went wrong outside of a run; nil = silent
	Debug io.Writer // each agent message's type and subtype; nil = silent
	Wire  io.Writer // raw agent lines; nil = silent
	Now   func() time.Time
}

// Timing is how long a run waits for what. The zero value is what people
// get; tests shorten it.
type Timing struct {
	Grace       time.Duration   // a run that is not detached goes on without a client; 0 = 5 s
	Silences    []time.Duration // without a first line, after which the user is told; nil = 30 s, 2 min
	PromptAfter time.Duration   // an agent that does not say it is ready gets its prompt; 0 = its adapter's
	Linger      time.Duration   // an agent that has finished gets to end; 0 = 10 s
	Mute        time.Duration   // an agent that has closed its stdout gets to end; 0 = 5 s
	Stray       time.Duration   // what a run left behind gets to end by itself; 0 = 2 s
}

func (t Timing) withDefaults() Timing {
	if t.Grace == 0 {
		t.Grace = 5 * time.Second
	}
	if t.Silences == nil {
		t.Silences = []time.Duration{30 * time.Second, 2 * time.Minute}
	}
	if t.Linger == 0 {
		t.Linger = 10 * time.Second
	}
	if t.Mute == 0 {
		t.Mute = 5 * time.Second
	}
	if t.Stray == 0 {
		t.Stray = process.Grace
	}
	return t
}

// Manager starts runs in one repository, one at a time, and remembers them.
type Manager struct {
	o Options

	mu     sync.Mutex
	repo   *gitrepo.Repo
	active map[string]*Run // runs of this process, running or ended
	recent []string        // ids in active that have ended, oldest first
	ripe   int             // runs that have ended since the last prune
	closed bool
	wg     sync.WaitGroup

	unknown    atomic.Int64 // agent lines of a type no mapper knows
	ledger     *ledger
	recovering sync.Mutex
	recovered  bool
	settled    map[string]bool // runs of which nothing is left to find out; holders of the repository's lock replace it
}

// keepEnded is how many ended runs keep their journal open in memory; older
// ones are read from their files.
const keepEnded = 20

// NewManager returns a Manager. It touches neither the repository nor the
// state directory before it is used.
func NewManager(o Options) *Manager {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxTurns == 0 {
		o.MaxTurns = 40
	}
	o.Timing = o.Timing.withDefaults()
	return &Manager{o: o, active: map[string]*Run{}, ledger: &ledger{store: o.Store}}
}

// Repo opens the repository, or says why there is none (gitrepo.ErrNone …). A
// success is remembered.
func (m *Manager) Repo(ctx context.Context) (*gitrepo.Repo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.repo != nil {
		return m.repo, nil
	}
	repo, err := gitrepo.OpenEnv(ctx, m.o.Dir, m.o.Environ)
	if errors.Is(err, gitrepo.ErrNoGit) && m.o.Self != nil {
		if self := m.o.Self(); self != "" { // whose PATH it is, the client cannot know
			return nil, errors.WithHint(errors.Mark(errors.Newf("%s has no git on its PATH", self), gitrepo.ErrNoGit),
				"start it again where `git --version` works; if that works nowhere, install git (https://git-scm.com/downloads)")
		}
	}
	if err != nil {
		return nil, err
	}
	repo.SetTemp(m.o.Store.TempDir())
	repo.SetPrivate(m.o.Store.Private(m.o.Environ)...)
	m.repo = repo
	return repo, nil
}

// GitState is the repository's state as /meta shows it.
func (m *Manager) GitState(ctx context.Context) gitrepo.State {
	repo, err := m.Repo(ctx)
	if err != nil {
		return gitrepo.StateOf(err)
	}
	return repo.State(ctx)
}

// Hint is the fix that belongs to err, the first hint attached to it; "" when
// it has none.
func Hint(err error) string {
	first, _, _ := strings.Cut(errors.FlattenHints(err), "\n--\n")
	return first
}

func (m *Manager) logf(format string, args ...any) {
	if m.o.Log != nil {
		fmt.Fprintf(m.o.Log, "slidewrite: "+format+"\n", args...)
	}
}

// agentFor returns the agent of a provider; nil when it is unknown or off.
func (m *Manager) agentFor(provider string) agent.Agent {
	if provider == "" {
		return m.o.Agents[0]
	}
	for _, a := range m.o.Agents {
		if a.Provider() == provider {
			return a
		}
	}
	return nil
}

// Start begins a run and returns at once. It fails with *BusyError when the
// repository is held, by this process or another. An unknown or disabled
// provider gives a run that has already ended with an error event.
func (m *Manager) Start(ctx context.Context, req prompt.Request) (*Run, error) {
	_ = m.Recover(ctx) // what keeps it from the lock keeps us from it, too
	a := m.agentFor(req.Provider)
	if a == nil {
		return m.unsupported(req)
	}
	r := &Run{
		m: m, agent: a, req: req, id: state.NewRunID(), kind: state.KindDesign,
		started: m.o.Now(), stopping: make(chan struct{}), finished: make(chan struct{}),
	}
	lock, err := m.lock(r.id, cut(req.Prompt), r.started)
	if err != nil {
		return nil, err
	}
	r.lock = lock
	// Before this run changes anything: later its edits could not be told from
	// those of an earlier one.
	settleErr := m.settleAll(context.WithoutCancel(ctx), false)
	if err := m.open(r); err != nil {
		lock.Release()
		return nil, err
	}
	if settleErr != nil {
		r.note("recovery", event.Warning, settleErr.Error())
	}
	go r.execute()
	return r, nil
}

// open makes r's record, folder and journal and lists it.
func (m *Manager) open(r *Run) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	dir, err := m.o.Store.RunDir(r.id)
	if err != nil {
		return errors.Wrap(err, "make the run's private folder")
	}
	r.dir = dir
	r.record = state.Record{
		ID: r.id, Kind: r.kind, State: state.Running, Provider: r.provider(),
		Prompt: cut(r.req.Prompt), StartedAt: r.started, UndoOf: r.undoOf,
	}
	if err := m.ledger.note(r.record); err != nil {
		if rmErr := m.o.Store.RemoveRunDir(r.id); rmErr != nil {
			m.logf("the private folder of a run that did not begin could not be removed: %v", rmErr)
		}
		return errors.Wrap(err, "note the run in the ledger")
	}
	r.journal = newJournal(m.o.Store.JournalPath(r.id))
	m.active[r.id] = r
	m.wg.Add(1)
	return nil
}

// cut is as much of a prompt as the ledger keeps.
func cut(s string) string {
	const most = 4000 // bytes
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// unsupported is the run of a provider that cannot run: an error and done, in
// a stream, as clients of the original expect.
func (m *Manager) unsupported(req prompt.Request) (*Run, error) {
	var names []string
	for _, a := range m.o.Agents {
		names = append(names, a.Provider())
	}
	msg := "unknown provider " + quote(req.Provider)
	for _, off := range m.o.Off {
		if off == req.Provider {
			msg = "the provider " + quote(req.Provider) + " cannot be used in this version"
		}
	}
	r := &Run{m: m, req: req, id: state.NewRunID(), kind: state.KindDesign, finished: make(chan struct{}), stopping: make(chan struct{})}
	r.journal = &journal{broken: errNoFile}
	r.journal.append(event.Error{Message: msg, Code: event.CodeUnsupported, Fix: "use one of: " + strings.Join(names, ", ")})
	r.journal.append(event.Done{})
	close(r.finished)
	return r, nil
}

var errNoFile = errors.New("this journal has no file")

func quote(s string) string { return "“" + s + "”" }

// lockPatience is how long a shim is waited for that holds the lock without
// a run: it puts in order what another one left behind.
const lockPatience = 2 * time.Second

// lock takes the repository's lock for a run.
func (m *Manager) lock(id, promptText string, at time.Time) (*state.Lock, error) {
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		lock, err := m.o.Store.Lock(m.o.Store.Top(), state.Holder{RunID: id, Prompt: promptText, StartedAt: at})
		var held *state.Held
		if !errors.As(err, &held) {
			return lock, errors.Wrap(err, "take the repository's lock")
		}
		if _, err := m.stored(held.RunID); err == nil || time.Since(begin) > lockPatience {
			return nil, &BusyError{RunID: held.RunID, Prompt: held.Prompt, StartedAt: held.StartedAt, PID: held.PID}
		}
	}
}

// pruneEvery is after how many runs old ones are let go of, so that a shim
// that is never restarted keeps no more than one that is.
const pruneEvery = 20

// ripen is called at the end of each run, with the repository's lock held.
func (m *Manager) ripen(ctx context.Context) {
	m.mu.Lock()
	m.ripe++
	due := m.ripe == pruneEvery
	if due {
		m.ripe = 0
	}
	m.mu.Unlock()
	if due {
		m.prune(ctx)
	}
}

// ended moves r to the ended ones and lets go of the oldest of them.
func (m *Manager) ended(r *Run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.recent = append(m.recent, r.id)
	if len(m.recent) > keepEnded {
		delete(m.active, m.recent[0])
		m.recent = m.recent[1:]
	}
	m.wg.Done()
}

// Get returns a run of this repository, from memory or from the ledger.
func (m *Manager) Get(id string) (*Run, error) {
	m.mu.Lock()
	r := m.active[id]
	m.mu.Unlock()
	if r != nil && !m.wiped(r) {
		return r, nil
	}
	rec, err := m.stored(id)
	if err == nil && m.elsewhere(rec) { // perhaps its shim has died
		if err = m.recover(context.Background(), true); err == nil {
			rec, err = m.stored(id)
		}
	}
	if err != nil {
		return nil, err
	}
	j, err := openJournal(m.o.Store.JournalPath(id))
	if err == nil && rec.State != state.Running {
		err = j.conclude()
	}
	if err == nil && rec.State == state.Running {
		j.elsewhere = func() bool {
			_ = m.recover(context.Background(), true) // its shim may die while we follow
			rec, err := m.stored(id)
			return err == nil && rec.State == state.Running
		}
	}
	if err != nil {
		return nil, errors.Mark(errors.Wrap(err, "the events of this run are gone"), ErrNotFound)
	}
	r = &Run{m: m, id: id, kind: rec.Kind, record: rec, journal: j, finished: make(chan struct{}), stopping: make(chan struct{})}
	close(r.finished)
	return r, nil
}

// elsewhere tells whether a run is going on that is not of this process:
// another shim's, or that of one that died.
func (m *Manager) elsewhere(rec state.Record) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return rec.State == state.Running && m.active[rec.ID] == nil
}

// stored returns the ledger's record of a run.
func (m *Manager) stored(id string) (state.Record, error) {
	if !state.ValidRunID(id) {
		return state.Record{}, ErrNotFound
	}
	rec, err := m.ledger.get(id)
	if err != nil {
		return state.Record{}, errors.Mark(err, ErrNotFound)
	}
	return rec, nil
}

// Stop ends a run; by is user, disconnect, shutdown or timeout. It returns at
// once; a run that has ended is left as it is. The run of another shim cannot
// be stopped from here: a *gitrepo.Refusal.
func (m *Manager) Stop(id, by string) error {
	r, err := m.Get(id)
	if err != nil {
		return err
	}
	if r.journal.elsewhere != nil {
		return &gitrepo.Refusal{
			Message: fmt.Sprintf("this run belongs to another slidewrite (process %d)", r.record.PID),
			Fix:     "slidewrite stop " + id,
		}
	}
	r.stop(by)
	return nil
}

// Unknown is how many agent lines had a type the mapper does not know.
func (m *Manager) Unknown() int { return int(m.unknown.Load()) }

// Close stops every run and waits until all have ended.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	for _, r := range m.active {
		r.stop("shutdown")
	}
	m.mu.Unlock()
	m.wg.Wait()
}
