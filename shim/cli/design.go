package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/errors"
	urfave "github.com/urfave/cli/v3"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
	"github.com/slidewrite/slidewrite/shim/prompt"
	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/state"
)

// maxPrompt is what is read from stdin as a prompt: the body limit of the
// shim, in bytes.
const maxPrompt = 64 << 20

// designCommand carries out one prompt.
func (a *app) designCommand() *urfave.Command {
	return &urfave.Command{
		Name:      "design",
		Usage:     "one run from the terminal",
		UsageText: "slidewrite design [flags] \"prompt\"\nslidewrite design [flags] -    (the prompt comes from stdin)",
		Description: "Uses the shim that serves this repo, and runs by itself when there is none. Flags that a shim decides for all its runs (" +
			flagNames(shimDecides) + ") are refused on the command line when one serves, and not used as variables. Exit code 0: done and committed; " +
			"1: failed, stopped, or not committed; 2: wrong usage. Ctrl-C stops the run and waits for it; a second Ctrl-C quits at once.",
		Flags: a.flags(slices.Concat([]flagSpec{repoFlag, tokenFlag}, designFlags, runFlags)...),
		Action: func(ctx context.Context, cmd *urfave.Command) error {
			config, err := a.runConfig(cmd)
			if err != nil {
				return err
			}
			body, err := a.request(ctx, cmd)
			if err != nil {
				return err
			}
			r, err := a.runner(ctx, config, cmd)
			if err != nil {
				return err
			}
			err = a.design(ctx, r, body, cmd.Bool("json"))
			if errors.Is(err, errQuit) {
				return err // at once: closing would wait for the run
			}
			return errors.CombineErrors(err, r.close())
		},
	}
}

// validSession is what --resume takes: a request with anything else would
// start a new session, which is not what was asked for.
var validSession = lazyregexp.New(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// request is the command line as the body of a request.
func (a *app) request(ctx context.Context, cmd *urfave.Command) (designBody, error) {
	body := designBody{
		Provider: cmd.String("provider"), Effort: cmd.String("effort"), Resume: cmd.String("resume"),
		AutoCommit: !cmd.Bool("no-commit"),
	}
	// A model on the command line is for this run; one from the environment
	// is the default of the Anthropic agent.
	if !a.fromEnv["model"] || body.Provider == "anthropic" {
		body.Model = cmd.String("model")
	}
	short := body.Resume != "" && !validSession.MatchString(body.Resume)
	if short && !beginsSession(strings.ToLower(body.Resume)) {
		return body, usage("pass the session's UUID, as the run printed it, or its beginning, as slidewrite history does", "%s: %q is not a session", a.source("resume"), body.Resume)
	}
	err := a.oneOf("provider", body.Provider, shim.Providers()...)
	if err != nil {
		return body, err
	}
	if body.Prompt, err = a.prompt(cmd.Args().Slice()); err != nil {
		return body, err
	}
	if err := a.checkBody(body); err != nil || !short {
		return body, err
	}
	t, err := a.teller(cmd)
	if err != nil {
		return body, err
	}
	body.Resume, err = t.find(ctx, strings.ToLower(body.Resume))
	return body, err
}

// checkBody finds what the shim would refuse, and names the flag.
func (a *app) checkBody(body designBody) error {
	_, err := body.decode()
	var field *prompt.FieldError
	if !errors.As(err, &field) {
		return err
	}
	return usage("slidewrite design --help says what it takes", "%s %s", a.source(field.Field), field.Message)
}

// prompt is the arguments joined, or stdin for a single "-".
func (a *app) prompt(args []string) (string, error) {
	const fix = `slidewrite design "make the button green"`
	text := strings.Join(args, " ")
	if text == "-" {
		var err error
		if text, err = a.readPrompt(); err != nil {
			return "", err
		}
	}
	if strings.TrimSpace(text) == "" {
		return "", usage(fix, "there is no prompt")
	}
	return text, nil
}

// readPrompt reads stdin to its end; a signal ends the waiting.
func (a *app) readPrompt() (string, error) {
	var data []byte
	var err error
	read := make(chan struct{})
	go func() {
		defer close(read)
		data, err = io.ReadAll(io.LimitReader(a.Stdin, maxPrompt+1))
	}()
	select {
	case <-read:
	case <-a.Signals:
		return "", errInterrupted
	}
	if err != nil {
		return "", errors.Wrap(err, "read the prompt from stdin")
	}
	if len(data) > maxPrompt {
		return "", usage("shorten it, or name a file for the agent to read", "the prompt is over 64 MiB")
	}
	return string(data), nil
}

// design starts a run and shows it to its end.
func (a *app) design(ctx context.Context, r runner, body designBody, raw bool) error {
	s, err := r.design(ctx, body)
	if err != nil {
		return err
	}
	stopping, quit, release := a.interruptible(ctx)
	defer release()
	shown := make(chan error, 1)
	go func() { shown <- a.show(ctx, s, raw) }()
	select {
	case err := <-shown:
		if errors.Is(err, errOutput) { // nobody reads: nobody wants it to go on
			err = errors.CombineErrors(err, s.stop(ctx))
		}
		return err
	case <-stopping.Done():
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.stop(ctx) }()
	for {
		select {
		case err := <-stopped:
			if err != nil {
				return errors.Wrap(err, "stop the run")
			}
			stopped = nil
		case err := <-shown:
			return err
		case <-quit:
			return errQuit
		}
	}
}

// batch is what a stream delivered.
type batch struct {
	frames []run.Frame
	err    error
}

// show prints a run's events as they come, and returns how it ended.
func (a *app) show(ctx context.Context, s stream, raw bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stdout := a.output()
	out := &renderer{out: stdout, colour: a.colours(a.Stdout)}
	ticks := make(<-chan time.Time)
	if a.terminal(a.Stderr) && !raw {
		out.progress = &progress{w: a.Stderr, began: time.Now()}
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		ticks = ticker.C
	}
	batches := make(chan batch)
	go func() {
		for {
			frames, err := s.next(ctx)
			select {
			case batches <- batch{frames, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		select {
		case <-ticks:
			out.progress.draw(out)
		case b := <-batches:
			if b.err != nil {
				return out.finish(b.err)
			}
			if err := out.print(b.frames, raw); err != nil {
				return err
			}
			if stdout.err != nil {
				return stdout.err
			}
		}
	}
}

// print writes frames: as they are, or as text.
func (r *renderer) print(frames []run.Frame, raw bool) error {
	for _, f := range frames {
		if raw {
			fmt.Fprintf(r.out, "%s\n", f.Data)
		}
		e, err := event.Decode(f.Data)
		if err != nil {
			return errors.Wrap(err, "read the run's events")
		}
		if raw {
			r.note(e)
		} else {
			r.event(e)
		}
	}
	return nil
}

// note takes in what an event says about the outcome, without printing it.
func (r *renderer) note(e event.Event) {
	switch e.(type) {
	case event.Error, event.Stopped, event.CommitError:
		r.failed = true
	case event.Done:
		r.ended = true
	}
}

// errCut is a stream that ended without done.
var errCut = errors.WithHint(errors.New("the run's events ended before the run did"),
	"start slidewrite again in this repo: it finishes or rolls back what was going on")

// finish is the outcome once the stream has ended with err.
func (r *renderer) finish(err error) error {
	r.progress.clear()
	switch {
	case !errors.Is(err, io.EOF):
		return errors.Wrap(err, "follow the run")
	case !r.ended:
		return errCut
	case r.failed:
		return errSaid
	}
	return nil
}

// undoCommand takes a run's change back.
func (a *app) undoCommand() *urfave.Command {
	return &urfave.Command{
		Name:        "undo",
		Usage:       "take the last (or the named) run's change back",
		UsageText:   "slidewrite undo [flags] [RUN]",
		Description: "Later edits to other lines stay. When lines overlap, nothing is touched and the files are named. Exit code 1 when nothing was undone.",
		Flags:       a.flags(slices.Concat([]flagSpec{repoFlag, tokenFlag, jsonFlag}, commitFlags)...),
		Action: func(ctx context.Context, cmd *urfave.Command) error {
			if cmd.Args().Len() > 1 {
				return usage("name one run, or none for the last one", "slidewrite undo takes one run, got %d", cmd.Args().Len())
			}
			config, err := a.commitConfig(cmd)
			if err != nil {
				return err
			}
			if err := a.needGit(ctx, config.Repo); err != nil {
				return err
			}
			r, err := a.runner(ctx, config, cmd)
			if err != nil {
				return err
			}
			defer r.close()
			ctx, _, release := a.interruptible(ctx)
			defer release()
			return a.undo(ctx, r, cmd.Args().First(), cmd.Bool("json"))
		},
	}
}

// needGit says why nothing can be undone in a folder whose git is missing,
// not trusted or bare.
func (a *app) needGit(ctx context.Context, dir string) error {
	_, err := gitrepo.OpenEnv(ctx, dir, a.Environ)
	if err == nil {
		return nil
	}
	git := gitrepo.StateOf(err)
	err = errors.Newf("nothing can be undone here: %s", git.Detail)
	switch {
	case git.State == "none": // a repository made now holds no run's change
		err = errors.WithHint(err, "go to the folder of your project, or pass --repo DIR")
	case git.Fix != "":
		err = errors.WithHint(err, git.Fix)
	}
	return err
}

// undo takes back run id, or the last run that can be.
func (a *app) undo(ctx context.Context, r runner, id string, raw bool) error {
	var last lastRun
	if id == "" {
		var err error
		if last, err = lastUndoable(ctx, r); err != nil {
			return err
		}
		id = last.ID
	}
	reply, err := r.undo(ctx, id)
	var c *conflict
	if errors.As(err, &c) {
		err = errors.Wrapf(err, "%s was not undone", named(id, last.Prompt))
		if len(c.files) > 0 {
			err = errors.Newf("%v:\n  %s", err, strings.Join(c.files, "\n  "))
		}
		if c.fix == "" && len(c.files) == 0 && last.earlier != "" {
			c.fix = "to take an earlier one back, name it: slidewrite undo " + last.earlier
		}
		if c.fix != "" {
			err = errors.WithHint(err, c.fix)
		}
		return err
	}
	if err != nil {
		return err
	}
	out := a.output()
	if raw {
		return json.NewEncoder(out).Encode(reply)
	}
	if last.passed != "" {
		fmt.Fprintf(out, "passed over: %s\n", last.passed)
	}
	fmt.Fprintf(out, "undone: %s, %s\n", named(id, reply.Prompt), count(len(reply.Files), "file"))
	for _, f := range reply.Files {
		fmt.Fprintf(out, "  %s\n", printable(f))
	}
	if reply.CommitError != "" {
		return errors.WithHint(errors.Newf("the files are taken back, but not committed: %s", reply.CommitError), "look at `git status` and commit them yourself")
	}
	if reply.SHA != "" {
		fmt.Fprintf(out, "committed %s\n", reply.SHA)
	}
	fmt.Fprintf(out, "to get it back: slidewrite undo %s\n", reply.ID)
	return out.err
}

// named is a run for people: its id and the first line of its prompt.
func named(id, promptText string) string {
	if promptText == "" {
		return "run " + id
	}
	return fmt.Sprintf("run %s (%q)", id, oneLine(promptText, 60))
}

// lastRun is the newest run that an undo would take back.
type lastRun struct {
	run.Summary
	passed  string // newer runs that changed nothing, "" = none
	earlier string // the run before it that could be undone, "" = none
}

// lastUndoable is the newest run that an undo would take back. Undos are
// passed over: undo twice takes two runs back. So are runs that changed
// nothing, which is said.
func lastUndoable(ctx context.Context, r runner) (last lastRun, err error) {
	list, err := r.runs(ctx)
	if err != nil {
		return last, err
	}
	var idle []run.Summary
	undo := ""
	for _, s := range list {
		switch {
		case s.Undoable && s.Kind != state.KindUndo && last.ID != "":
			last.earlier = s.ID
			return last, nil
		case s.Undoable && s.Kind != state.KindUndo:
			last.Summary, last.passed = s, changedNothing(idle)
		case s.Undoable && undo == "":
			undo = s.ID
		case !s.Undoable && !s.Undone && s.Kind != state.KindUndo && s.State != state.Running:
			idle = append(idle, s)
		}
	}
	if last.ID != "" {
		return last, nil
	}
	err = errors.New("there is no run to undo in this repo")
	if len(idle) > 0 {
		err = errors.Newf("%v: %s", err, changedNothing(idle))
	}
	if undo != "" {
		err = errors.WithHintf(err, "to take the last undo back, name it: slidewrite undo %s", undo)
	}
	return last, err
}

// changedNothing says in one line which runs, the newest first, left nothing
// to undo.
func changedNothing(runs []run.Summary) string {
	switch len(runs) {
	case 0:
		return ""
	case 1:
		return named(runs[0].ID, runs[0].Prompt) + " changed nothing that could be undone"
	}
	return fmt.Sprintf("%s and %s before it changed nothing that could be undone", named(runs[0].ID, runs[0].Prompt), count(len(runs)-1, "run"))
}
