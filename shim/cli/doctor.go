package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"

	urfave "github.com/urfave/cli/v3"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/doctor"
)

// doctorCommand checks what serve needs.
func (a *app) doctorCommand() *urfave.Command {
	return &urfave.Command{
		Name:      "doctor",
		Usage:     "check git, the repo, the port, the agents, the browser and its extension, and say what to do",
		UsageText: "slidewrite doctor [--json] [flags of serve]",
		Description: "It takes the flags and variables of serve, and looks at what that serve would meet. " +
			"No model is asked anything. Exit code 1 when serve would not work.",
		Flags: a.flags(slices.Concat([]flagSpec{jsonFlag, repoFlag}, serveFlags, runFlags)...),
		Action: func(ctx context.Context, cmd *urfave.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
			}
			config, err := a.serveConfig(cmd)
			if err != nil {
				return err
			}
			return a.doctor(ctx, config, cmd.Bool("json"))
		},
	}
}

// doctor runs the checks and prints them.
func (a *app) doctor(ctx context.Context, config shim.Config, asJSON bool) error {
	agents, err := shim.AgentsOf(config)
	if err != nil {
		return err
	}
	defer agents.Catalog.Close()
	ctx, _, release := a.interruptible(ctx)
	defer release()
	checks := doctor.Checks(doctor.Options{
		Repo: config.Repo, Environ: a.Environ, StateDir: config.StateDir, Token: config.Token,
		Port: config.Port, Listen: func() (string, error) { return a.tryListen(config) },
		Agents: agents.All, Catalog: agents.Catalog, LookPath: agents.LookPath, Recorded: recordedFrom,
		Extension: a.extensionState,
	})
	out := a.output()
	var tell func(doctor.Result)
	results := []doctor.Result{}
	if asJSON {
		tell = func(doctor.Result) {}
	} else {
		tell = tellResult(out, a.colours(a.Stdout), checks)
	}
	ok := doctor.Run(ctx, checks, func(r doctor.Result) {
		results = append(results, r)
		if ctx.Err() == nil {
			tell(r)
		}
		if out.err != nil {
			release() // nobody reads: the rest need not be asked
		}
	})
	switch {
	case out.err != nil:
		return out.err
	case ctx.Err() != nil:
		return errInterrupted
	case asJSON:
		_ = json.NewEncoder(out).Encode(struct { // out keeps the error
			OK     bool            `json:"ok"`
			Checks []doctor.Result `json:"checks"`
		}{ok, results})
	default:
		fmt.Fprintf(out, "\n%s\n", summary(ok, results))
	}
	if out.err != nil {
		return out.err
	}
	if !ok {
		return errSaid
	}
	return nil
}

// tryListen listens as serve would, for a moment. running names the shims of
// this repo, beside what serve would do.
func (a *app) tryListen(c shim.Config) (running string, err error) {
	if shims := a.ownShims(c); len(shims) > 0 {
		running = alsoServes(shims)
	}
	if _, ok := a.ownShim(c); ok {
		return running, nil
	}
	l, err := net.Listen("tcp", net.JoinHostPort(c.Bind, strconv.Itoa(c.Port)))
	if err != nil {
		return "", a.cannotListen(c, err)
	}
	switch {
	case running == "":
	case c.Port == 0:
		running = "serve picks a free one; " + running
	default:
		running = strconv.Itoa(c.Port) + " is free; " + running
	}
	return running, l.Close()
}

// maxDetail is how much of a detail a person gets to read, in characters.
const maxDetail = 400

// tellResult prints results as aligned lines, a fix below what it cures.
func tellResult(w io.Writer, colour bool, checks []doctor.Check) func(doctor.Result) {
	width := 0
	for _, c := range checks {
		width = max(width, len(c.Name))
	}
	paint := (&renderer{colour: colour}).paint
	styles := map[doctor.Status]string{doctor.OK: green, doctor.Note: faint, doctor.Warning: yellow, doctor.Problem: red}
	return func(r doctor.Result) {
		cure := "fix"
		if r.Status == doctor.Note {
			cure = "to have it"
		}
		status := paint(styles[r.Status], fmt.Sprintf("%-7s", r.Status))
		fmt.Fprintf(w, "%-*s  %s  %s\n", width, r.Name, status, printable(oneLine(r.Detail, maxDetail)))
		if r.Fix != "" {
			fmt.Fprintf(w, "%-*s  %s: %s\n", width+len("  problem"), "", cure, printable(r.Fix))
		}
	}
}

// summary is the last line.
func summary(ok bool, results []doctor.Result) string {
	said := "ready to serve"
	if !ok {
		said = "not ready to serve"
	}
	var counts []string
	for _, s := range []doctor.Status{doctor.Problem, doctor.Warning, doctor.Note} {
		n := 0
		for _, r := range results {
			if r.Status == s {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, count(n, string(s)))
		}
	}
	if len(counts) > 0 {
		said += ": " + strings.Join(counts, ", ")
	}
	return said
}
