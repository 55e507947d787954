// Package cli is the command line: one table of commands, their flags with
// environment variables, and what people read in a terminal. Everything a
// command sees of its process stands in Process, so that a test can be the
// process.
//
// Flow: Main → Run → command table → serve, design, undo, … → shim.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cockroachdb/errors"
	urfave "github.com/urfave/cli/v3"

	"github.com/slidewrite/slidewrite/fakeagents"
)

// Exit codes of every command.
const (
	exitOK     = 0
	exitFailed = 1 // the thing asked for did not happen
	exitUsage  = 2 // the command line or the environment is wrong

	// As a shell tells of a program that a signal ended.
	exitInterrupted = 128 + 2  // SIGINT: Ctrl-C, before it was done
	exitUnread      = 128 + 13 // SIGPIPE: nobody reads its output any more
)

// Process is what a command sees of the process it runs in.
type Process struct {
	Args           []string // with the program's name first
	Environ        []string // KEY=VALUE
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Signals delivers the requests to end: the first one stops what is
	// going on and waits, the second one quits at once. nil = none comes.
	Signals <-chan os.Signal
}

// Main is the whole program: it returns the exit code. Started under the name
// of an agent CLI it is the fake of that agent, which is how the demo has an
// agent with nothing installed.
func Main() int {
	if fake := fakeagents.Commands(fakeagents.Demo())[programName(os.Args)]; fake != nil {
		fake()
		return exitOK
	}
	signals := make(chan os.Signal, 2)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup stays in force
		ends = append(ends, syscall.SIGHUP)
	}
	signal.Notify(signals, ends...)
	// A closed stdout shall be an error that stops the run, not the end of
	// this process. (Ignoring the signal would be inherited by the agent.)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return Run(Process{
		Args: os.Args, Environ: os.Environ(),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Signals: signals,
	})
}

// programName is the name the program was started under.
func programName(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return strings.TrimSuffix(filepath.Base(args[0]), ".exe")
}

// Run carries one command line out and returns the exit code.
func Run(p Process) int {
	p.Stdout = &output{w: p.Stdout}
	a := &app{Process: p, fromEnv: map[string]bool{}}
	err := a.root().Run(context.Background(), append([]string{"slidewrite"}, spell(p.Args)...))
	return a.report(err)
}

// app is one command line being carried out.
type app struct {
	Process
	fromEnv map[string]bool // flags whose value came from the environment
	badEnv  error           // the first environment variable that makes no sense
}

// root is the command table.
func (a *app) root() *urfave.Command {
	root := &urfave.Command{
		Name:            "slidewrite",
		Usage:           "change a running web app by pointing at it",
		Description:     "Without a command, or with flags only, slidewrite serves: `slidewrite serve --help` lists those flags.",
		HideHelpCommand: true, // `slidewrite design help` is a prompt
		HideVersion:     true,
		Commands: []*urfave.Command{
			a.serveCommand(),
			a.extensionCommand(),
			a.pairCommand(),
			a.designCommand(),
			a.stopCommand(),
			a.undoCommand(),
			a.historyCommand(),
			a.forgetCommand(),
			a.demoCommand(),
			a.doctorCommand(),
			a.recordCommand(),
			a.driftCommand(),
			a.versionCommand(),
		},
		Action: func(_ context.Context, cmd *urfave.Command) error {
			return unknownCommand(cmd, cmd.Args().First())
		},
		EnableShellCompletion:           true,
		ConfigureShellCompletionCommand: func(c *urfave.Command) { c.Hidden = false },

		Reader: a.Stdin, Writer: a.Stdout, ErrWriter: a.Stderr,
		// Errors are printed once, by report, and never end the process here.
		ExitErrHandler: func(context.Context, *urfave.Command, error) {},
	}
	for _, c := range root.Commands {
		if c.Name == "serve" {
			continue // it serves, whether anybody reads or not
		}
		act := c.Action
		c.Action = func(ctx context.Context, cmd *urfave.Command) error {
			if err := act(ctx, cmd); err != nil {
				return err
			}
			return a.output().err
		}
	}
	for _, c := range append([]*urfave.Command{root}, root.Commands...) {
		c.OnUsageError = badFlag
		c.Before = func(ctx context.Context, _ *urfave.Command) (context.Context, error) { return ctx, a.badEnv }
	}
	return root
}

// spell puts the short ways to say a command into the long one: no command
// means serve, --version means version, `help design` means `design --help`.
func spell(args []string) []string {
	if len(args) > 0 {
		args = args[1:]
	}
	switch {
	case len(args) == 0:
		return []string{"serve"}
	case args[0] == "--version" || args[0] == "-v":
		return append([]string{"version"}, args[1:]...)
	case args[0] == "help":
		return append(append([]string(nil), args[1:]...), "--help")
	case args[0] == "--help" || args[0] == "-h" || args[0] == completionRequest:
		return args
	case strings.HasPrefix(args[0], "-") && args[0] != "-":
		return append([]string{"serve"}, args...)
	}
	return args
}

// completionRequest is what a completion script puts last on the line (urfave
// cli 3.14).
const completionRequest = "--generate-shell-completion"

// usageError is a command line that cannot be carried out.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usage makes a usage error with its fix.
func usage(fix, format string, args ...any) error {
	return usageError{errors.WithHint(errors.Newf(format, args...), fix)}
}

// errSaid ends a command with exit code 1 after it has said why itself.
var errSaid = errors.New("already reported")

// report prints an error the one way errors are printed, and returns the exit
// code. Who pressed Ctrl-C, or closed the pipe, knows why it ends.
func (a *app) report(err error) int {
	hints := errors.GetAllHints(err)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errSaid):
		return exitFailed
	case unread(err):
		return exitUnread
	case errors.Is(err, errInterrupted) && len(hints) == 0:
		return exitInterrupted
	}
	fmt.Fprintf(a.Stderr, "slidewrite: error: %s\n", printable(err.Error()))
	for _, hint := range hints {
		fmt.Fprintf(a.Stderr, "slidewrite: fix: %s\n", printable(hint))
	}
	switch {
	case errors.HasType(err, usageError{}):
		return exitUsage
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	}
	return exitFailed
}

// warn prints something that does not stop the command.
func (a *app) warn(format string, args ...any) {
	fmt.Fprintf(a.Stderr, "slidewrite: warning: %s\n", printable(fmt.Sprintf(format, args...)))
}

// samePress is how long further signals count as the first one: a terminal
// signals the whole process group, and a parent (timeout, npm) passes the
// signal on once more.
const samePress = 300 * time.Millisecond

// interruptible returns a context that ends at the first signal, and a channel
// that is closed at the second. release must be called; it ends the context.
func (a *app) interruptible(ctx context.Context) (ended context.Context, quit <-chan struct{}, release func()) {
	ended, cancel := context.WithCancel(ctx)
	twice, released := make(chan struct{}), make(chan struct{})
	go func() {
		var first time.Time
		for {
			select {
			case <-released:
				return
			case <-a.Signals:
			}
			switch {
			case first.IsZero():
				first = time.Now()
				cancel()
			case time.Since(first) > samePress:
				close(twice)
				return
			}
		}
	}()
	return ended, twice, sync.OnceFunc(func() { cancel(); close(released) })
}

// errInterrupted is the end by a signal of something that had nothing to stop.
var errInterrupted = errors.New("interrupted")

// errQuit is the end by a second signal.
var errQuit = errors.WithHint(errors.New("quit before everything was stopped"),
	"nothing is lost: the next start of slidewrite in this repo ends what was left running")

// unknownCommand names the nearest command.
func unknownCommand(root *urfave.Command, name string) error {
	fix := "slidewrite --help lists the commands"
	var names []string
	for _, c := range root.Commands {
		if c.Name != "forget" { // a guess must not wipe anything
			names = append(names, c.Name)
		}
	}
	if s := nearest(name, names); s != "" {
		fix = fmt.Sprintf("did you mean slidewrite %s? %s", s, fix)
	}
	return usage(fix, "unknown command %q", name)
}

// nearest is the word that name is a slip of the finger for, "" when none is
// close enough to be worth a guess: two letters off at most, and not half of it.
func nearest(name string, words []string) string {
	best, least := "", 3
	for _, w := range words {
		if d := distance(name, w); d < least && 2*d < len(w) {
			best, least = w, d
		}
	}
	return best
}

// distance is how many letters have to be put in, taken out, replaced or
// swapped with the next one to make b of a.
func distance(a, b string) int {
	row := func() []int { return make([]int, len(b)+1) }
	before, last, now := row(), row(), row()
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			now[j] = min(last[j]+1, now[j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}

// noArguments refuses positional arguments.
func noArguments(cmd *urfave.Command) error {
	if !cmd.Args().Present() {
		return nil
	}
	return usage(fmt.Sprintf("slidewrite %s --help lists its flags", cmd.Name),
		"slidewrite %s takes no arguments, got %q", cmd.Name, cmd.Args().First())
}
