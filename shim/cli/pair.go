package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/cockroachdb/errors"
	urfave "github.com/urfave/cli/v3"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/state"
)

// pairCommand prints a fresh pairing link.
func (a *app) pairCommand() *urfave.Command {
	return &urfave.Command{
		Name:      "pair",
		Usage:     "print a fresh link that connects a browser with the shim of this repo",
		UsageText: "slidewrite pair [flags]",
		Description: "Open the link in a browser that has the Slide Write extension (`slidewrite extension` installs it): it hands the extension the shim's token. " +
			"A link works once, within ten minutes; older ones stay good. When several shims serve the repo it is that of the one started last.",
		Flags: a.flags(repoFlag, tokenFlag, jsonFlag),
		Action: func(ctx context.Context, cmd *urfave.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
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
			return a.pair(ctx, cmd.String("repo"), token, cmd.Bool("json"))
		},
	}
}

// pairLink is the answer of POST /pair/new, and what --json prints.
type pairLink struct {
	URL string `json:"url"`
}

// pair asks the shim of dir for a link and prints it.
func (a *app) pair(ctx context.Context, dir, token string, asJSON bool) error {
	top, err := gitrepo.TopOf(dir)
	if err != nil {
		return errors.Wrap(err, "find the repository")
	}
	store, err := a.store(shim.Config{}, top)
	if err != nil {
		return err
	}
	running, ok := store.FindShim(top)
	if !ok {
		return errors.WithHint(errors.New("no shim runs for this repo: there is nothing to connect with"),
			"start one, it prints a link itself: "+strings.TrimSpace("slidewrite "+repoArg(dir)))
	}
	if token == "" {
		if token, err = state.Token(a.Environ, top); err != nil {
			return errors.Wrap(err, "read the token of this repository")
		}
	}
	r := newRemote(running, token, repoArg(dir))
	defer r.close()
	var link pairLink
	if err := r.json(ctx, "/pair/new", struct{}{}, &link); err != nil {
		return cannotPair(err, running)
	}
	if asJSON {
		return json.NewEncoder(a.Stdout).Encode(link)
	}
	_, err = fmt.Fprintln(a.Stdout, printable(link.URL))
	return err
}

// cannotPair says what is wrong with the shim that was asked.
func cannotPair(err error, running state.Shim) error {
	var e *refused
	if errors.As(err, &e) && e.status == http.StatusNotFound {
		return errors.WithHint(errors.Newf("the shim at http://%s (pid %d) is of an older version, which has no pairing", dialable(running.Addr), running.PID),
			"stop it and start it anew: slidewrite")
	}
	return err
}
