package shim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/history"
	"github.com/slidewrite/slidewrite/shim/prompt"
)

// Sessions are the sessions that agents left on disk while they worked in one
// folder, with a shim or without.
type Sessions struct {
	order     []string
	providers map[string]source
}

// source is one provider's sessions. from is nil for an agent whose sessions
// cannot be read: it has none.
type source struct {
	from    agent.Historian
	history *history.History
}

// SessionsOf returns the sessions that the shim of cfg would serve, for who
// wants to read them without one.
func SessionsOf(cfg Config) (*Sessions, error) {
	cfg = cfg.withDefaults()
	dir, top, err := cfg.place()
	if err != nil {
		return nil, err
	}
	return cfg.sessions(cfg.adapters(), dir, top), nil
}

// sessions wires the agents' readers. It does no I/O.
func (c Config) sessions(agents []agent.Agent, dir, top string) *Sessions {
	s := &Sessions{providers: map[string]source{}}
	cache := historyCache(c.Environ, top)
	system := prompt.Build(prompt.Request{}, prompt.BuildOptions{}).System
	for _, a := range agents {
		o := history.Options{History: agent.History{Repo: dir, Top: top, Environ: c.Environ, Said: prompt.Said, System: system}, Version: c.Version}
		if cache != "" {
			o.Cache = filepath.Join(cache, cacheName(a.Provider(), dir, top))
		}
		from, _ := a.(agent.Historian)
		s.order = append(s.order, a.Provider())
		s.providers[a.Provider()] = source{from, history.New(o)}
	}
	return s
}

// Knows tells whether provider is one whose sessions can be asked for.
func (s *Sessions) Knows(provider string) bool {
	_, ok := s.providers[provider]
	return ok
}

// Providers are those whose sessions can be asked for, in the order of the
// shim's agents.
func (s *Sessions) Providers() []string { return s.order }

// List returns the sessions of a provider, newest first.
func (s *Sessions) List(ctx context.Context, provider string) ([]history.Session, error) {
	p := s.providers[provider]
	if p.from == nil {
		return nil, nil
	}
	rows, err := p.history.List(ctx, p.from)
	for i, row := range rows {
		if row.Title == "" && row.Messages > 0 { // as its commit is named
			rows[i].Title = prompt.Title("")
		}
	}
	return rows, err
}

// Events emits a page of the events of a session; see history.History.
func (s *Sessions) Events(ctx context.Context, provider, id string, page history.Page, emit func(event.Event) error) (history.Cursors, error) {
	p := s.providers[provider]
	if p.from == nil {
		return history.Cursors{}, history.ErrNotFound
	}
	return p.history.Events(ctx, p.from, id, page, emit)
}

// Sessions are the repository's.
func (s *Shim) Sessions() *Sessions { return s.sessions }

// ForgetSessions removes the index of the sessions of the repository whose top
// level is top, "" = of every one. The sessions themselves are the agents';
// they stay.
func ForgetSessions(environ []string, top string) error {
	dir := historyCache(environ, top)
	if dir == "" {
		return nil
	}
	return errors.WithHint(errors.Wrap(os.RemoveAll(dir), "remove the index of the sessions"), "remove the folder yourself: "+dir)
}

// historyCache is where the indexes of one repository are:
// <user cache dir>/slidewrite/history/<hash of top>, or with no top the folder
// of all; "" where the environment names no place.
func historyCache(environ []string, top string) string {
	dir := cacheDir(runtime.GOOS, environ)
	if dir == "" {
		return ""
	}
	all := filepath.Join(dir, "slidewrite", "history")
	if top == "" {
		return all
	}
	return filepath.Join(all, hashOf(top))
}

// cacheName is the folder of one provider's index. A folder in the repository
// has other sessions than its top level.
func cacheName(provider, dir, top string) string {
	if dir == top {
		return provider
	}
	return provider + "-" + hashOf(dir)
}

func hashOf(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:12])
}

// cacheDir is the user's cache folder as os.UserCacheDir has it, for the given
// environment; also on macOS XDG_CACHE_HOME counts: who sets it means it. "" =
// there is none.
func cacheDir(goos string, environ []string) string {
	value := func(name string) string {
		found := ""
		for _, kv := range environ {
			k, v, _ := strings.Cut(kv, "=")
			if k == name || goos == "windows" && strings.EqualFold(k, name) {
				found = v
			}
		}
		return found
	}
	if goos == "windows" {
		return value("LocalAppData")
	}
	// A relative XDG path is to be ignored (XDG Base Directory Specification).
	if dir := value("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	switch home := value("HOME"); {
	case !filepath.IsAbs(home):
		return ""
	case goos == "darwin":
		return filepath.Join(home, "Library", "Caches")
	default:
		return filepath.Join(home, ".cache")
	}
}
