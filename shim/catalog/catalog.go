// Package catalog knows the providers as /meta shows them: which agents are on
// this machine, what models they offer, whether they are signed in, and what
// to do where something is missing. Each adapter brings its own discovery;
// this package runs them side by side, with limits and a cache.
//
// It never reads a credential file, and no chat-model list is written down
// here: the CLIs are asked.
//
// Flow: Providers → one flight per agent (find the binary → cache? →
// Discover) → what is ready within 3 s; the rest is pending.
package catalog

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/process"
)

// Provider is one entry of /meta's providers.
type Provider struct {
	ID           string        `json:"id"`
	Label        string        `json:"label"`
	Enabled      bool          `json:"enabled"`
	Models       []agent.Model `json:"models"` // never null
	DefaultModel string        `json:"defaultModel"`
	Error        string        `json:"error,omitempty"`   // why Models is empty
	Fix          string        `json:"fix,omitempty"`     // the one command that cures it
	Billing      string        `json:"billing,omitempty"` // "plan", "api key …abcd"
	Pending      bool          `json:"pending,omitempty"` // a later call has the answer
	Missing      string        `json:"-"`                 // the name of its program, if that was found nowhere
}

// MarshalJSON writes an empty model list as [].
func (p Provider) MarshalJSON() ([]byte, error) {
	type plain Provider
	if p.Models == nil {
		p.Models = []agent.Model{}
	}
	return json.Marshal(plain(p))
}

// google is the placeholder that clients know: advertised, not runnable.
var google = Provider{ID: "google", Label: "Google"}

// Options configure a Catalog. Agents and LookPath are needed.
type Options struct {
	Agents []agent.Agent
	// LookPath finds the binary of the agent called name. Its error names
	// what was searched, see process.LookPath.
	LookPath func(name string) (string, error)
	Environ  []string // of the shim; each agent scrubs it
	KeepEnv  bool
	Repo     string // working directory of the CLIs, absolute
	TempRoot string // private folder for what a discovery writes, "" = the system's

	Now      func() time.Time // nil = time.Now
	Wait     time.Duration    // until the rest is pending, 0 = 3 s
	Deadline time.Duration    // of one discovery, 0 = 20 s
	TTL      time.Duration    // of a success, 0 = 5 minutes
}

const (
	defaultWait     = 3 * time.Second
	defaultDeadline = 20 * time.Second
	defaultTTL      = 5 * time.Minute
	// unreadTTL is how long a failure that came after its callers had left
	// is kept for the next one.
	unreadTTL = 30 * time.Second
)

// Catalog answers which providers there are. Its methods may be called from
// several goroutines.
type Catalog struct {
	o        Options
	slots    map[string]*slot // by provider
	versions versions

	ctx   context.Context // ends with Close
	stop  context.CancelFunc
	tasks sync.WaitGroup
}

// New returns a Catalog. It starts nothing.
func New(o Options) *Catalog {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Wait = orDefault(o.Wait, defaultWait)
	o.Deadline = orDefault(o.Deadline, defaultDeadline)
	o.TTL = orDefault(o.TTL, defaultTTL)
	c := &Catalog{o: o, slots: map[string]*slot{}}
	c.ctx, c.stop = context.WithCancel(context.Background())
	for _, a := range o.Agents {
		c.slots[a.Provider()] = &slot{}
	}
	return c
}

// Close ends what is being asked and waits until nothing of it is left.
func (c *Catalog) Close() {
	c.stop()
	c.tasks.Wait()
}

func orDefault(d, or time.Duration) time.Duration {
	if d == 0 {
		return or
	}
	return d
}

// slot is what is known about one agent, and the discovery that is under way.
type slot struct {
	mu     sync.Mutex
	flight *flight // nil: none
	good   result  // the last success
	unread result  // a failure nobody has seen
}

// flight is one discovery. Its callers share it.
type flight struct {
	done     chan struct{} // closed when provider is set
	provider Provider
	waiting  int // callers that wait for it
}

// result is an answer with what it was true for.
type result struct {
	provider Provider
	binary   fingerprint
	at       time.Time // zero: there is none
}

// Providers returns the entries of /meta, in the order of Options; only, when
// not empty, names the one that is wanted. What is not ready after 3 s is
// marked pending and found out for the next call. refresh asks again whatever
// the cache holds.
func (c *Catalog) Providers(ctx context.Context, only string, refresh bool) []Provider {
	ctx, cancel := context.WithTimeout(ctx, c.o.Wait)
	defer cancel()
	var wait []func() Provider
	for _, a := range c.o.Agents {
		if only == "" || only == a.Provider() {
			wait = append(wait, c.ask(ctx, a, refresh))
		}
	}
	found := make([]Provider, 0, len(wait)+1)
	for _, answer := range wait {
		found = append(found, answer())
	}
	if only == "" || only == google.ID {
		found = append(found, google)
	}
	return found
}

// ask starts, joins or spares a discovery of a; the function it returns waits
// for the answer until ctx ends.
func (c *Catalog) ask(ctx context.Context, a agent.Agent, refresh bool) func() Provider {
	bin, err := c.o.LookPath(a.Name())
	var print fingerprint
	if err == nil {
		print, err = fingerprintOf(bin)
	}
	if err != nil {
		return func() Provider { return missing(a, err) }
	}
	s := c.slots[a.Provider()]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flight == nil && !refresh {
		if known, ok := c.known(s, print); ok {
			return func() Provider { return known }
		}
	}
	if s.flight == nil {
		s.flight = &flight{done: make(chan struct{})}
		f := s.flight
		c.tasks.Go(func() { c.fly(s, f, a, bin, print) })
	}
	f := s.flight
	f.waiting++
	return func() Provider { return c.await(ctx, s, f, a, print) }
}

// known returns an answer that needs no discovery. The caller holds s.mu.
func (c *Catalog) known(s *slot, print fingerprint) (Provider, bool) {
	now := c.o.Now()
	unread := s.unread
	s.unread = result{}
	if !unread.at.IsZero() && unread.binary == print && now.Sub(unread.at) < unreadTTL {
		return unread.provider, true
	}
	if !s.good.at.IsZero() && s.good.binary == print && now.Sub(s.good.at) < c.o.TTL {
		return s.good.provider, true
	}
	return Provider{}, false
}

// await waits for a flight until ctx ends; then the entry is pending, with the
// models that the same binary offered last.
func (c *Catalog) await(ctx context.Context, s *slot, f *flight, a agent.Agent, print fingerprint) Provider {
	select {
	case <-f.done:
		return f.provider
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f.waiting--
	select {
	case <-f.done:
		return f.provider
	default:
	}
	p := entry(a)
	if s.good.binary == print && !s.good.at.IsZero() {
		p = s.good.provider
	}
	p.Pending = true
	return p
}

// fly runs one discovery and keeps its answer: a success for the cache, a
// failure that nobody waits for any more for the next caller.
func (c *Catalog) fly(s *slot, f *flight, a agent.Agent, bin string, print fingerprint) {
	p := c.discover(a, bin)
	s.mu.Lock()
	defer s.mu.Unlock()
	f.provider = p
	s.flight = nil
	s.unread = result{}
	switch r := (result{provider: p, binary: print, at: c.o.Now()}); {
	case p.Error == "":
		s.good = r
	case f.waiting == 0:
		s.good, s.unread = result{}, r
	default:
		s.good = result{}
	}
	close(f.done)
}

// entry is a provider of which nothing but its agent is known.
func entry(a agent.Agent) Provider {
	return Provider{ID: a.Provider(), Label: a.Label(), Enabled: true}
}

// missing is the entry of an agent whose binary is not there. It names the
// flag that says where it is.
func missing(a agent.Agent, err error) Provider {
	p := entry(a)
	p.Error, p.Fix = err.Error(), errors.FlattenHints(err)
	if errors.Is(err, process.ErrNotInstalled) {
		p.Missing = a.Name()
	}
	if flag := "--" + a.Name() + "-bin"; !strings.Contains(p.Fix, flag) && !strings.HasPrefix(p.Fix, "chmod ") {
		p.Fix = strings.TrimPrefix(p.Fix+", or pass its path with "+flag, ", or ")
	}
	return p
}
