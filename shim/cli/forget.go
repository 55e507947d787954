package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cockroachdb/errors"
	urfave "github.com/urfave/cli/v3"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/state"
)

// forgetCommand wipes what is kept of runs. It asks nothing: who types it
// means it, and nothing of the user's own is touched.
func (a *app) forgetCommand() *urfave.Command {
	return &urfave.Command{
		Name:  "forget",
		Usage: "wipe stored prompts, journals and run refs of this repo (--all: of every repo)",
		Description: "It asks nothing, and the runs it wipes can no longer be undone. Files, index, branches and commits stay as they are; " +
			"a commit quotes the first line of its prompt. The token stays, so what is paired stays paired; " +
			"so does what the agent keeps itself, such as its sessions (our index of them goes). Git's own gc frees the snapshots about two weeks later, `git gc --prune=now` at once. " +
			"What a killed shim left half done is finished or rolled back first. A repo in which a run is on is left alone, and named. " +
			"Exit code 1 when something is left; calling it again wipes the rest.",
		// No variable for --all: how much is wiped is said, not set.
		Flags: append(a.flags(repoFlag, jsonFlag), &urfave.BoolFlag{Name: "all", Usage: "every repo that has anything stored, also those that are gone"}),
		Action: func(ctx context.Context, cmd *urfave.Command) error {
			if cmd.Args().Present() {
				return usage("slidewrite forget --help says what it wipes", "single runs cannot be forgotten, got %q: forget wipes all runs of a repo", cmd.Args().First())
			}
			all, repo := cmd.Bool("all"), cmd.String("repo")
			if all && cmd.IsSet("repo") && !a.fromEnv["repo"] {
				return usage("leave one of them out", "--all is every repo, --repo is one")
			}
			ctx, quit, release := a.interruptible(ctx)
			defer release()
			w := &wiper{app: a, out: a.output(), json: cmd.Bool("json")}
			ended := make(chan error, 1)
			go func() {
				if all {
					ended <- w.all(ctx)
				} else {
					ended <- w.one(ctx, repo)
				}
			}()
			select {
			case err := <-ended:
				return err
			case <-quit:
				return errors.WithHint(errInterrupted, "slidewrite forget, once more, wipes the rest")
			}
		},
	}
}

// wiper is one call of forget.
type wiper struct {
	*app
	out    *output
	json   bool
	every  bool // repo: of those of which nothing was stored, nothing is said
	said   bool // something was wiped
	undos  int  // wiped runs that could have been undone
	failed bool
}

// forgotten is what was wiped of one repo, as --json prints it.
type forgotten struct {
	Repo  string `json:"repo"` // its top level, "" when that is not known any more
	Gone  bool   `json:"gone"` // it was removed or moved
	Runs  int    `json:"runs"`
	Refs  int    `json:"refs"`
	Error string `json:"error,omitempty"` // why something is left
	Fix   string `json:"fix,omitempty"`
}

// one wipes the repo that dir lies in.
func (w *wiper) one(ctx context.Context, dir string) error {
	if err := w.checkRepo(dir); err != nil {
		return err
	}
	top, err := gitrepo.TopOf(dir)
	if err != nil {
		return errors.Wrap(err, "find the repository")
	}
	store, err := w.store(shim.Config{}, top)
	if err != nil {
		return err
	}
	f, err := w.wipe(ctx, store, dir)
	w.undos += f.Undoable
	w.say(forgotten{Repo: store.Top(), Runs: f.Runs, Refs: f.Refs}, err)
	if err := shim.ForgetSessions(w.Environ, store.Top()); err != nil {
		w.fail(err)
	}
	return w.result()
}

// all wipes every repo of the state directory.
func (w *wiper) all(ctx context.Context) error {
	w.every = true
	dir, err := state.DefaultDir(w.Environ)
	if err != nil {
		return err
	}
	all, err := state.OpenAll(dir)
	if err != nil {
		return err
	}
	known, err := all.Repos()
	if err != nil {
		return err
	}
	for _, k := range known {
		if ctx.Err() != nil {
			return errors.WithHint(errInterrupted, "slidewrite forget --all, once more, wipes the rest")
		}
		f := forgotten{Repo: k.Path, Gone: k.Gone}
		var err error
		if f.Runs, f.Refs, err = w.known(ctx, all, k); err != nil {
			err = errors.Wrap(err, f.name())
		}
		w.say(f, err)
	}
	if !w.said && !w.failed && !w.json {
		fmt.Fprintln(w.out, "nothing was stored")
	}
	if err := shim.ForgetSessions(w.Environ, ""); err != nil {
		w.fail(err)
	}
	if err := all.Sweep(time.Now()); err != nil {
		w.fail(errors.Wrap(err, "clear away what dead processes left"))
	}
	return w.result()
}

// known wipes one of all repos. Where it cannot be opened as the repository it
// was, its state is all there is to wipe.
func (w *wiper) known(ctx context.Context, all *state.All, k state.Known) (runs, refs int, err error) {
	var cannot error
	if k.Path != "" && !k.Gone {
		top, topErr := gitrepo.TopOf(k.Path)
		store, openErr := w.store(shim.Config{}, k.Path)
		if topErr == nil && openErr == nil && top == k.Path {
			f, err := w.wipe(ctx, store, k.Path)
			w.undos += f.Undoable
			if err == nil {
				err = all.Drop(k)
			}
			return f.Runs, f.Refs, err
		}
		cannot = errors.Wrap(openErr, "the refs under refs/slidewrite/runs, if there are any, are left")
	}
	runs, err = all.Forget(k)
	var held *state.Held
	if errors.As(err, &held) {
		err = busyWith(held.RunID, held.Prompt, held.StartedAt, repoArg(k.Path))
	}
	return runs, 0, errors.CombineErrors(err, cannot)
}

// wipe wipes the repo of a store, also while a shim serves it: the lock keeps
// its runs away, and it looks into the ledger for those it remembers. at is
// the repo as a command line names it.
func (w *wiper) wipe(ctx context.Context, store *state.Store, at string) (run.Forgotten, error) {
	m := run.NewManager(run.Options{Dir: store.Top(), Store: store, Environ: w.Environ, Log: w.Stderr})
	f, err := m.Forget(ctx)
	return f, busy(err, repoArg(at))
}

// say tells what was wiped of one repo; err is why something is left.
func (w *wiper) say(f forgotten, err error) {
	w.said = w.said || f.Runs+f.Refs > 0
	switch {
	case w.every && err == nil && f.Runs+f.Refs == 0:
	case w.json:
		if err != nil {
			f.Error, f.Fix = err.Error(), run.Hint(err)
		}
		_ = json.NewEncoder(w.out).Encode(f) // result looks at out
	case f.Runs+f.Refs > 0:
		fmt.Fprintf(w.out, "forgotten: %s, %s of %s\n", count(f.Runs, "run"), count(f.Refs, "ref"), printable(f.name()))
	case err == nil:
		fmt.Fprintf(w.out, "nothing was stored of %s\n", printable(f.name()))
	}
	if err != nil {
		w.fail(err)
	}
}

// name is the repo for people.
func (f forgotten) name() string {
	switch {
	case f.Repo == "":
		return "a repo whose place is not known"
	case f.Gone:
		return f.Repo + " (gone)"
	}
	return f.Repo
}

func (w *wiper) fail(err error) {
	w.failed = true
	w.report(err)
}

// result ends the command.
func (w *wiper) result() error {
	if w.undos > 0 && !w.json {
		fmt.Fprintln(w.out, "What these runs changed stays, and can no longer be undone by slidewrite.")
	}
	if !w.failed {
		return w.out.err
	}
	if w.out.err != nil {
		w.fail(w.out.err)
	}
	return errSaid
}
