package catalog

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/process"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// versionDeadline is for --version alone, which takes claude 2.1.332 well
// under a second.
const versionDeadline = 10 * time.Second

// lastWord is what an adapter gets at its deadline to say why.
const lastWord = 250 * time.Millisecond

// fingerprint tells a binary from its next version, and from what the same
// program is under another name: the links of volta and mise all lead to one.
type fingerprint struct {
	called string // the path it is run by
	path   string // links resolved: installers switch a link
	mtime  int64  // ns since the epoch
	size   int64  // bytes
}

func fingerprintOf(bin string) (fingerprint, error) {
	real, err := filepath.EvalSymlinks(bin)
	if err != nil {
		return fingerprint{}, errors.Wrapf(err, "find %s", bin)
	}
	info, err := os.Stat(real)
	if err != nil {
		return fingerprint{}, errors.Wrapf(err, "find %s", bin)
	}
	return fingerprint{called: bin, path: real, mtime: info.ModTime().UnixNano(), size: info.Size()}, nil
}

// discoveries numbers the markers of this process.
var discoveries atomic.Int64

// newMarker is unlike the marker of any run: no shim's start ends what another
// shim is asking.
func newMarker() string {
	return fmt.Sprintf("slidewrite-discovery.%d-%d", os.Getpid(), discoveries.Add(1))
}

// discover asks one agent what it offers. It returns at the deadline whatever
// the agent does, and leaves no process and no file.
func (c *Catalog) discover(a agent.Agent, bin string) Provider {
	p := entry(a)
	d, ok := a.(agent.Discoverer)
	if !ok {
		return p
	}
	dir, err := os.MkdirTemp(c.o.TempRoot, "discovery-")
	if err != nil {
		p.Error = errors.Wrap(err, "make a temporary folder").Error()
		return p
	}
	defer os.RemoveAll(dir)
	marker := newMarker()
	defer process.EndMarked(marker)
	env, scrubbed := a.Scrub(c.o.Environ, c.o.KeepEnv)
	env = append(env[:len(env):len(env)], process.MarkerVar+"="+marker)

	ctx, cancel := context.WithTimeout(c.ctx, c.o.Deadline)
	defer cancel()
	answer := make(chan agent.Info, 1)
	go func() {
		answer <- d.Discover(ctx, agent.Discovery{Bin: bin, Repo: c.o.Repo, Env: env, Scrubbed: scrubbed, TempDir: dir})
	}()
	select {
	case info := <-answer:
		return filled(p, a, info)
	case <-ctx.Done():
	}
	select {
	case info := <-answer: // it kept the deadline and knows best why
		return filled(p, a, info)
	case <-time.After(lastWord):
	}
	process.EndMarked(marker) // so that an adapter that only waits for its CLI returns
	select {
	case <-answer:
	case <-time.After(lastWord):
	}
	p.Error = a.Name() + " did not answer in time" // as the adapters say it
	p.Fix = "run " + a.Name() + " once in a terminal and see what it asks"
	return p
}

// filled is p with what discovery found out. An empty list is a failure.
func filled(p Provider, a agent.Agent, info agent.Info) Provider {
	p.Models, p.DefaultModel, p.Billing = info.Models, info.DefaultModel, info.Billing
	p.Error, p.Fix = info.Error, info.Fix
	if p.Error == "" && len(p.Models) == 0 {
		p.Error = a.Name() + " lists no models"
	}
	return p
}

// versions remembers what each binary said to --version.
type versions struct {
	mu    sync.Mutex
	known map[fingerprint]*versionCall
}

// versionCall is one --version, shared by all who ask meanwhile.
type versionCall struct {
	done    chan struct{}
	version string
}

// Version returns what bin says to --version: "2.1.332", or "" when it does
// not tell before ctx ends. It is asked once per binary; a failure is asked
// again.
func (c *Catalog) Version(ctx context.Context, bin string) string {
	print, err := fingerprintOf(bin)
	if err != nil {
		return ""
	}
	v := &c.versions
	v.mu.Lock()
	call := v.known[print]
	if call == nil {
		call = &versionCall{done: make(chan struct{})}
		if v.known == nil {
			v.known = map[fingerprint]*versionCall{}
		}
		v.known[print] = call
		c.tasks.Go(func() { c.askVersion(call, bin, print) })
	}
	v.mu.Unlock()
	select {
	case <-call.done:
		return call.version
	case <-ctx.Done():
		return ""
	}
}

func (c *Catalog) askVersion(call *versionCall, bin string, print fingerprint) {
	ctx, cancel := context.WithTimeout(c.ctx, versionDeadline)
	defer cancel()
	out, _, err := process.Output(ctx, process.Options{
		Bin: bin, Args: []string{"--version"}, Env: c.versionEnv(), Dir: c.o.Repo, Marker: newMarker(),
	}, nil)
	if err == nil {
		call.version = parseVersion(string(out))
	}
	if call.version == "" {
		c.versions.mu.Lock()
		delete(c.versions.known, print)
		c.versions.mu.Unlock()
	}
	close(call.done)
}

// versionEnv is the shim's environment without what any agent must not see.
func (c *Catalog) versionEnv() []string {
	env := c.o.Environ
	for _, a := range c.o.Agents {
		env, _ = a.Scrub(env, c.o.KeepEnv)
	}
	return env
}

// versionPattern finds the number in "2.1.332 (Claude Code)", "codex-cli
// 0.171.0" and "grok 1.0.6".
var versionPattern = lazyregexp.New(`\d+\.\d+\.\d+[-+.\w]*`)

func parseVersion(out string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	return versionPattern.FindString(first)
}
