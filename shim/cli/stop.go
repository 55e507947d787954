package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"runtime"
	"slices"

	"github.com/cockroachdb/errors"
	urfave "github.com/urfave/cli/v3"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/state"
)

// stopCommand ends the run that is going on, whoever started it.
func (a *app) stopCommand() *urfave.Command {
	return &urfave.Command{
		Name:      "stop",
		Usage:     "stop the run that is going on in this repo",
		UsageText: "slidewrite stop [flags] [RUN]",
		Description: "Asks the shim that holds the run to stop it, and waits until nothing of it is left. What it has changed so far stays, uncommitted. " +
			"A run of `slidewrite design` without a shim is stopped by Ctrl-C in its terminal: its process is named. " +
			"Exit code 1 when nothing was stopped.",
		Flags: a.flags(repoFlag, tokenFlag),
		Action: func(ctx context.Context, cmd *urfave.Command) error {
			if cmd.Args().Len() > 1 {
				return usage("name one run, or none for the one that is going on", "slidewrite stop takes one run, got %d", cmd.Args().Len())
			}
			if err := a.checkRepo(cmd.String("repo")); err != nil {
				return err
			}
			token, err := a.token(cmd.String("token"), cmd.IsSet("token"))
			if err != nil {
				return err
			}
			ctx, _, release := a.interruptible(ctx)
			defer release()
			return a.stop(ctx, cmd.String("repo"), token, cmd.Args().First())
		},
	}
}

// stop stops run id, or whichever is going on in the repository of dir.
func (a *app) stop(ctx context.Context, dir, token, id string) error {
	top, err := gitrepo.TopOf(dir)
	if err != nil {
		return errors.Wrap(err, "find the repository")
	}
	store, err := a.store(shim.Config{}, top)
	if err != nil {
		return err
	}
	holder, held, err := store.Working()
	if err != nil {
		return err
	}
	if !held || holder.RunID == "" || id != "" && id != holder.RunID {
		return notGoingOn(store, id)
	}
	shims, err := store.ShimsOf(top)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(shims, func(sh state.Shim) bool { return sh.PID == holder.PID })
	if i < 0 {
		return heldByDesign(holder)
	}
	if token == "" {
		if token, err = state.Token(a.Environ, top); err != nil {
			return errors.Wrap(err, "read the token of this repository")
		}
	}
	r := newRemote(shims[i], token, repoArg(dir))
	defer r.close()
	return a.stopAt(ctx, r, holder)
}

// stopAt asks a shim to stop the run it holds, and waits for its end.
func (a *app) stopAt(ctx context.Context, r *remote, h state.Holder) error {
	at := "/runs/" + url.PathEscape(h.RunID)
	res, err := r.do(ctx, at+"/stop", struct{}{})
	if err != nil {
		return errors.Wrap(err, "stop the run")
	}
	res.Body.Close()
	if res, err = r.do(ctx, at+"/events", nil); err != nil {
		return errors.Wrap(err, "wait for its end")
	}
	s := &remoteStream{shim: r, run: h.RunID}
	s.read(res)
	stopped, files := false, 0
	for {
		frames, err := s.next(ctx)
		for _, f := range frames {
			switch e, _ := event.Decode(f.Data); e := e.(type) {
			case event.Stopped:
				stopped = true
			case event.Change:
				files = len(e.Files)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Wrap(err, "wait for its end")
		}
	}
	if !stopped {
		return errors.Newf("%s had ended before it could be stopped", named(h.RunID, h.Prompt))
	}
	out := a.output()
	fmt.Fprintf(out, "stopped: %s\n", named(h.RunID, h.Prompt))
	if files > 0 {
		fmt.Fprintf(out, "it has changed %s; to take that back: slidewrite undo %s%s\n", count(files, "file"), r.at, h.RunID)
	}
	return out.err
}

// notGoingOn says why there is nothing to stop.
func notGoingOn(store *state.Store, id string) error {
	if id == "" {
		return errors.New("no run is going on in this repo: there is nothing to stop")
	}
	rec, err := store.Get(id)
	switch {
	case err != nil || !state.ValidRunID(id):
		return errors.WithHint(errors.Newf("there is no run %q in this repo", id), "leave it out to stop the run that is going on")
	case rec.State == state.Running:
		return errors.WithHint(errors.Newf("%s was cut short: its process is gone", named(id, rec.Prompt)), "slidewrite puts it in order when it starts")
	}
	return errors.Newf("%s has ended already (%s): there is nothing to stop", named(id, rec.Prompt), rec.State)
}

// heldByDesign is a run that no shim holds: that of a design in a terminal.
func heldByDesign(h state.Holder) error {
	fix := "press Ctrl-C in its terminal"
	if runtime.GOOS != "windows" {
		fix += fmt.Sprintf(", or kill -INT %d", h.PID)
	}
	return errors.WithHint(errors.Newf("%s is held by no shim, but by process %d, a slidewrite in a terminal", named(h.RunID, h.Prompt), h.PID), fix)
}
