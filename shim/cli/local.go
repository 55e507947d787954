package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
	"github.com/slidewrite/slidewrite/shim/prompt"
	"github.com/slidewrite/slidewrite/shim/run"
)

// local carries runs out in this process.
type local struct {
	shim *shim.Shim
	at   string // flag that says which repo it is, see repoArg
}

func (l local) close() error { return l.shim.Close() }

func (l local) design(ctx context.Context, body designBody) (stream, error) {
	req, err := body.decode()
	if err != nil {
		return nil, err
	}
	r, err := l.shim.Runs().Start(ctx, req)
	if err != nil {
		return nil, busy(err, l.at)
	}
	return &localStream{runs: l.shim.Runs(), run: r, events: r.Follow(0)}, nil
}

func (l local) runs(ctx context.Context) ([]run.Summary, error) { return l.shim.Runs().List(ctx) }

func (l local) undo(ctx context.Context, id string) (run.UndoReply, error) {
	reply, err := l.shim.Runs().Undo(ctx, id)
	var refusal *gitrepo.Refusal
	switch {
	case errors.As(err, &refusal):
		return reply, &conflict{message: refusal.Message, fix: refusal.Fix, files: refusal.Paths}
	case errors.Is(err, run.ErrNotFound):
		return reply, noSuchRun(id)
	}
	return reply, busy(err, l.at)
}

// decode reads the body as the shim does.
func (b designBody) decode() (prompt.Request, error) {
	data, err := json.Marshal(b)
	if err != nil {
		return prompt.Request{}, err
	}
	return prompt.Decode(data)
}

// localStream follows a run of this process.
type localStream struct {
	runs   *run.Manager
	run    *run.Run
	events *run.Follower
}

func (s *localStream) next(ctx context.Context) ([]run.Frame, error) { return s.events.Next(ctx) }

func (s *localStream) stop(context.Context) error { return s.runs.Stop(s.run.ID(), "user") }

// busy names the run that holds the repository, and the command that stops it
// (at: see repoArg); other errors stay.
func busy(err error, at string) error {
	var b *run.BusyError
	if !errors.As(err, &b) {
		return err
	}
	return busyWith(b.RunID, b.Prompt, b.StartedAt, at)
}

func busyWith(id, promptText string, started time.Time, at string) error {
	what := "another run"
	if id != "" {
		what = fmt.Sprintf("run %s", id)
	}
	if promptText != "" {
		what += fmt.Sprintf(" (%q)", oneLine(promptText, 60))
	}
	if !started.IsZero() {
		what += ", started " + started.Local().Format("15:04:05") + ","
	}
	fix := "wait until it has ended"
	if id != "" {
		fix += fmt.Sprintf(", or stop it: slidewrite stop %s%s", at, id)
	}
	return errors.WithHint(errors.Newf("%s is still going on in this repo", what), fix)
}

// repoArg says in a command line which repository is meant: nothing for the one
// of the current folder.
func repoArg(dir string) string {
	if dir == "" || dir == "." {
		return ""
	}
	return "--repo " + quoted(dir) + " "
}

// quoted is a word as a shell takes it.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

var plainWord = lazyregexp.New(`^[\w./:~+=@%-]+$`)

func noSuchRun(id string) error {
	return errors.WithHint(errors.Newf("there is no run %q in this repo", id), "leave it out to undo the last run")
}
