package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/errors"
	urfave "github.com/urfave/cli/v3"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/catalog"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/state"
)

// discoveryWait is how long the greeting waits for the agents' answers; the
// shim is listening all the while.
const discoveryWait = 3 * time.Second

// serveCommand runs the shim.
func (a *app) serveCommand() *urfave.Command {
	return &urfave.Command{
		Name:        "serve",
		Usage:       "run the shim for a repo (the default command)",
		UsageText:   "slidewrite [serve] [flags]",
		Description: "Several may serve one repo (--port 0): one run at a time in all of them, and each names the others. Every flag has an environment variable, named in brackets; the flag wins. A variable of an on/off flag takes 1, true, 0 or false.",
		Flags:       a.flags(slices.Concat([]flagSpec{repoFlag}, serveFlags, runFlags)...),
		Action: func(ctx context.Context, cmd *urfave.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
			}
			config, err := a.serveConfig(cmd)
			if err != nil {
				return err
			}
			return a.serve(ctx, config)
		},
	}
}

// serve runs a shim until the first signal, and then until it has stopped what
// it was doing.
func (a *app) serve(ctx context.Context, config shim.Config) error {
	s, err := shim.New(ctx, config)
	if err != nil {
		return err
	}
	addr, err := s.Listen()
	if err != nil {
		s.Close()
		return a.cannotListen(config, err)
	}
	fmt.Fprintf(a.Stdout, "slidewrite %s\n", config.Version)
	a.line("listening", "%s", addr) // no link: there is nothing to look at

	ctx, quit, release := a.interruptible(ctx)
	served := make(chan error, 1)
	go func() { served <- errors.CombineErrors(s.Serve(ctx), s.Close()) }()
	greeted := make(chan struct{})
	go func() {
		defer close(greeted)
		a.greet(ctx, s)
	}()
	select {
	case err := <-served:
		release()
		<-greeted
		return err
	case <-quit:
		return errQuit
	}
}

// greet prints project, branch, agents, how to connect a browser and how to
// stop. What the agents say is awaited for discoveryWait.
func (a *app) greet(serving context.Context, s *shim.Shim) {
	ctx, cancel := context.WithTimeout(serving, discoveryWait)
	defer cancel()
	facts := s.Facts(ctx)
	if errors.Is(ctx.Err(), context.Canceled) {
		return // it is being stopped already
	}
	for _, l := range greeting(facts, s.Others(), s.PairingLink(dialable(facts.Addr))) {
		a.line(l.name, "%s", l.text)
	}
	late := pending(facts.Agents)
	for len(late) > 0 && serving.Err() == nil {
		var lines []greetingLine
		lines, late = answers(late, s.Facts(serving).Agents) // waits for them
		for _, l := range lines {
			a.line(l.name, "%s", l.text)
		}
	}
	debug.FreeOSMemory() // what only the start needed; an idle shim stays small
}

// greetingLine is one line of the greeting: what it is about, and the fact.
type greetingLine struct{ name, text string }

// line prints one line of the greeting.
func (a *app) line(name, format string, args ...any) {
	fmt.Fprintf(a.Stdout, "  %-10s %s\n", name, printable(fmt.Sprintf(format, args...)))
}

// greetingLines is how many lines a start prints at most, the version and the
// address before the rest included.
const greetingLines = 8

// greeting is what a start prints behind version and address. Where there is
// much to say, the agents share a line.
func greeting(facts shim.Facts, others []state.Shim, link string) []greetingLine {
	lines := []greetingLine{{"project", project(facts.Project, facts.Git)}}
	if facts.Git.Fix != "" {
		lines = append(lines, greetingLine{"", facts.Git.Detail + ": " + facts.Git.Fix})
	}
	if len(others) > 0 {
		lines = append(lines, greetingLine{"beside", alsoServes(others) + "; one run at a time in all of them"})
	}
	agents := agentLines(facts.Agents)
	// Beside these: version and address before, how to connect and stop behind.
	if 4+len(lines)+len(agents) > greetingLines {
		agents = []greetingLine{{"agents", oneLineOf(facts.Agents)}}
	}
	return append(append(lines, agents...), greetingLine{"connect", link + " (open it once, in your browser; slidewrite pair makes another)"}, greetingLine{"stop", "Ctrl-C"})
}

// mayWork tells whether an agent can be used, as far as it is known.
func mayWork(p catalog.Provider) bool { return p.Enabled && p.Error == "" }

// agentLines are a line for each agent. Those that are not installed share a
// short one where another may work: nobody has to have them all.
func agentLines(agents []catalog.Provider) []greetingLine {
	var lines []greetingLine
	var missing []string
	enough := slices.ContainsFunc(agents, mayWork)
	for _, p := range agents {
		switch {
		case !p.Enabled:
		case p.Missing != "" && enough:
			missing = append(missing, p.Missing)
		default:
			lines = append(lines, greetingLine{"agent", agentLine(p)})
		}
	}
	if len(missing) > 0 {
		lines = append(lines, greetingLine{"", "not found: " + strings.Join(missing, ", ") + "; slidewrite doctor tells where it looked"})
	}
	return lines
}

// oneLineOf puts the agents into one short line. Why one does not work is left
// to doctor.
func oneLineOf(agents []catalog.Provider) string {
	var said, lame []string
	for _, p := range agents {
		switch {
		case mayWork(p):
			said = append(said, agentLine(p))
		case p.Enabled:
			lame = append(lame, p.Label)
		}
	}
	if len(lame) > 0 {
		said = append(said, "not usable: "+strings.Join(lame, ", ")+" (slidewrite doctor tells why)")
	}
	return strings.Join(said, "; ")
}

// pending are the ids of the agents that have not answered.
func pending(agents []catalog.Provider) (ids []string) {
	for _, p := range agents {
		if p.Pending {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// answers are the lines of those agents that were late and have answered now;
// late are the others.
func answers(of []string, agents []catalog.Provider) (lines []greetingLine, late []string) {
	for _, p := range agents {
		switch {
		case !slices.Contains(of, p.ID):
		case p.Pending:
			late = append(late, p.ID)
		default:
			lines = append(lines, greetingLine{"agent", agentLine(p)})
		}
	}
	return lines, late
}

// alsoServes names shims that serve this repository.
func alsoServes(shims []state.Shim) string {
	var at []string
	for _, sh := range shims {
		at = append(at, fmt.Sprintf("http://%s (pid %d)", dialable(sh.Addr), sh.PID))
	}
	return "slidewrite already runs for this repo at " + strings.Join(at, ", ")
}

// project is the folder's name and where its repository stands.
func project(name string, git gitrepo.State) string {
	switch git.State {
	case "none", "unsafe", "bare":
		if git.Broken {
			return name + " (no run can work)"
		}
		return name + " (no git: no change list, commit or undo)"
	case "detached":
		name += " on a detached HEAD"
	case "ok", "unborn", "locked":
		name += " on " + git.Branch
	default:
		name += " on " + git.Branch + ", " + git.State + ": nothing will be committed"
	}
	if git.Dirty {
		name += " (with uncommitted changes, which stay yours)"
	}
	return name
}

// agentLine is one agent as the greeting shows it.
func agentLine(p catalog.Provider) string {
	switch {
	case p.Pending:
		return p.Label + ": has not answered yet; what it says follows"
	case p.Error != "" && p.Fix != "":
		return fmt.Sprintf("%s: %s; fix: %s", p.Label, oneLine(p.Error, 60), p.Fix)
	case p.Error != "":
		return fmt.Sprintf("%s: %s", p.Label, p.Error)
	case p.Billing != "":
		return fmt.Sprintf("%s (%s)", p.Label, p.Billing)
	}
	return p.Label
}

// cannotListen puts a failed Listen into words that name the flag and the fix.
func (a *app) cannotListen(c shim.Config, err error) error {
	port := strconv.Itoa(c.Port)
	switch {
	case errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, windowsInUse):
		if own, ok := a.ownShim(c); ok {
			return errors.WithHint(errors.Newf("slidewrite already runs for this repo at http://%s (pid %d)", dialable(own.Addr), own.PID),
				"use that one, or stop it first")
		}
		return errors.WithHint(errors.Newf("port %s is in use%s", port, a.portHolder(c)), "pass --port 0 for a free one")
	case errors.Is(err, syscall.EACCES):
		return errors.WithHint(errors.Newf("%s: this user may not listen on port %s", a.source("port"), port),
			"pass --port 4040, or another one above 1023")
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return errors.WithHint(errors.Newf("%s: no network of this machine has the address %s", a.source("bind"), c.Bind),
			"leave --bind out to listen on 127.0.0.1")
	}
	return errors.Wrap(err, "listen on "+net.JoinHostPort(c.Bind, port))
}

// windowsInUse is WSAEADDRINUSE, which Go does not map to EADDRINUSE.
const windowsInUse = syscall.Errno(10048)

// ownShim is the shim of the same repository that has the port of c.
func (a *app) ownShim(c shim.Config) (state.Shim, bool) {
	top, err := gitrepo.TopOf(c.Repo)
	if err != nil {
		return state.Shim{}, false
	}
	store, err := a.store(c, top)
	if err != nil {
		return state.Shim{}, false
	}
	holder, ok := store.ShimOnPort(c.Port)
	return holder, ok && holder.Repo == store.Top()
}

// ownShims are the shims of the same repository, whatever their ports.
func (a *app) ownShims(c shim.Config) []state.Shim {
	top, err := gitrepo.TopOf(c.Repo)
	if err != nil {
		return nil
	}
	store, err := a.store(c, top)
	if err != nil {
		return nil
	}
	shims, err := store.ShimsOf(top)
	if err != nil {
		return nil
	}
	return shims
}

// portHolder says who has the port, as " by pid 123 (slidewrite for ../other)",
// or nothing when that cannot be known.
func (a *app) portHolder(c shim.Config) string {
	if store, err := a.store(c, c.Repo); err == nil {
		if other, ok := store.ShimOnPort(c.Port); ok {
			return fmt.Sprintf(" by pid %d (slidewrite for %s)", other.PID, shown(other.Repo))
		}
	}
	if pid, name, ok := portOwner(c.Port); ok {
		return fmt.Sprintf(" by pid %d (%s)", pid, name)
	}
	return ""
}

// shown is a folder as seen from here: relative where that is shorter.
func shown(dir string) string {
	wd, err := os.Getwd()
	if err != nil {
		return dir
	}
	if real, err := filepath.EvalSymlinks(wd); err == nil {
		wd = real
	}
	if rel, err := filepath.Rel(wd, dir); err == nil && len(rel) < len(dir) && !strings.HasPrefix(rel, filepath.Join("..", "..", "..")) {
		return rel
	}
	return dir
}
