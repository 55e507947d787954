package cli

import (
	"context"
	"net"
	"net/http"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/state"
)

// runner is where a command's runs happen: in the shim that serves the
// repository (remote.go), or in this process when none does (local.go).
type runner interface {
	// design starts a run. It fails when another one is going on, and names it.
	design(ctx context.Context, body designBody) (stream, error)
	// runs lists running and recent runs, newest first.
	runs(ctx context.Context) ([]run.Summary, error)
	// undo takes the change of a run back, or fails with *conflict.
	undo(ctx context.Context, id string) (run.UndoReply, error)
	close() error
}

// designBody is the part of the body of POST /design that a terminal can say.
type designBody struct {
	Prompt     string `json:"prompt"`
	Provider   string `json:"provider,omitempty"`
	Model      string `json:"model,omitempty"`
	Effort     string `json:"effort,omitempty"`
	Resume     string `json:"resume,omitempty"`
	AutoCommit bool   `json:"autoCommit"`
}

// stream is the events of one run.
type stream interface {
	// next returns the frames since the last call, at least one, or io.EOF
	// after the last event of the run.
	next(ctx context.Context) ([]run.Frame, error)
	// stop asks the run to end; its events still come, to done.
	stop(ctx context.Context) error
}

// conflict is an undo that would overwrite later work.
type conflict struct {
	message, fix string
	files        []string
}

func (c *conflict) Error() string { return c.message }

// runner finds the shim that serves the repository of config, or makes one
// that listens nowhere.
func (a *app) runner(ctx context.Context, config shim.Config) (runner, error) {
	top, err := gitrepo.TopOf(config.Repo)
	if err != nil {
		return nil, errors.Wrap(err, "find the repository")
	}
	store, err := a.store(config, top)
	if err != nil {
		return nil, err
	}
	s, err := shim.New(ctx, config)
	if err != nil {
		return nil, err
	}
	running, ok := store.FindShim(top)
	if !ok {
		return local{s}, nil
	}
	r := &remote{base: "http://" + dialable(running.Addr), token: s.Token(), http: &http.Client{Transport: &http.Transport{}}}
	return r, s.Close()
}

// dialable is the address to reach a listener at: one that listens everywhere
// is reached on loopback.
func dialable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("localhost", port)
	}
	return addr
}

// store opens the state directory that config means.
func (a *app) store(config shim.Config, top string) (*state.Store, error) {
	dir := config.StateDir
	if dir == "" {
		var err error
		if dir, err = state.DefaultDir(a.Environ); err != nil {
			return nil, err
		}
	}
	return state.Open(dir, top)
}
