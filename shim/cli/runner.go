package cli

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/cockroachdb/errors"
	urfave "github.com/urfave/cli/v3"

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
// that listens nowhere. Flags of cmd that the serving shim would not heed are
// a usage error.
func (a *app) runner(ctx context.Context, config shim.Config, cmd *urfave.Command) (runner, error) {
	top, err := gitrepo.TopOf(config.Repo)
	if err != nil {
		return nil, errors.Wrap(err, "find the repository")
	}
	store, err := a.store(config, top)
	if err != nil {
		return nil, err
	}
	running, served := store.FindShim(top)
	if served {
		if err := a.refuseDecided(cmd, running); err != nil {
			return nil, err
		}
	}
	s, err := shim.New(ctx, config)
	if err != nil {
		return nil, err
	}
	at := repoArg(config.Repo)
	if !served {
		return local{s, at}, nil
	}
	return newRemote(running, s.Token(), at), s.Close()
}

// newRemote speaks to a running shim.
func newRemote(running state.Shim, token, at string) *remote {
	return &remote{base: "http://" + dialable(running.Addr), token: token, http: &http.Client{Transport: &http.Transport{}}, at: at}
}

// shimDecides are the flags that a shim decides for all its runs; a request
// cannot say them.
var shimDecides = slices.DeleteFunc(slices.Clone(runFlags), func(f flagSpec) bool { return f.name == "model" })

// flagNames lists flags for people.
func flagNames(specs []flagSpec) string {
	var names []string
	for _, f := range specs {
		names = append(names, "--"+f.name)
	}
	return strings.Join(names, ", ")
}

// refuseDecided refuses the flags that were given but are decided by a shim
// that serves already: it would silently go by its own. Of variables, which may
// well be set for that shim's sake, it only says that they are not used.
func (a *app) refuseDecided(cmd *urfave.Command, s state.Shim) error {
	var given, restart, unused []string
	for _, f := range shimDecides {
		switch {
		case !cmd.IsSet(f.name):
		case a.fromEnv[f.name]:
			unused = append(unused, f.variable())
		default:
			given = append(given, a.source(f.name))
			restart = append(restart, asGiven(cmd, f))
		}
	}
	if len(given) == 0 {
		if len(unused) > 0 {
			fmt.Fprintf(a.Stderr, "slidewrite: note: not used here: %s; the shim that serves this repo, at http://%s (pid %d), goes by its own\n",
				strings.Join(unused, ", "), dialable(s.Addr), s.PID)
		}
		return nil
	}
	fix := fmt.Sprintf("restart that shim with %s, or stop it", strings.Join(restart, " "))
	return usage(fix, "%s: decided by the shim that serves this repo already, at http://%s (pid %d)",
		strings.Join(given, ", "), dialable(s.Addr), s.PID)
}

// asGiven is a flag with its value as a command line has it.
func asGiven(cmd *urfave.Command, f flagSpec) string {
	switch debug, _ := cmd.Value(f.name).(debugLevel); {
	case f.kind == text:
		return "--" + f.name + " " + cmd.String(f.name)
	case f.kind == levels && debug == debugWire:
		return "--" + f.name + "=wire"
	case f.kind == levels && debug == "", f.kind == toggle && !cmd.Bool(f.name):
		return "--" + f.name + "=false"
	}
	return "--" + f.name
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
