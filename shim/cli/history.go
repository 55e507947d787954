package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/errors"
	urfave "github.com/urfave/cli/v3"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/history"
	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/server"
)

// historyCommand lists an agent's sessions, or replays one. It reads the
// agent's files itself, whether a shim serves the repo or not.
func (a *app) historyCommand() *urfave.Command {
	return &urfave.Command{
		Name:      "history",
		Usage:     "list an agent's sessions of this repo, or replay one",
		UsageText: "slidewrite history [flags]\nslidewrite history [flags] SESSION",
		Description: "SESSION is an id of the list, or its beginning. The sessions are those on the agent's disk, begun with Slide Write or without; " +
			"only those that worked in this folder. The commits beside them are of slidewrite's runs. Exit code 1 when there is no such session.",
		Flags: a.flags(slices.Concat([]flagSpec{repoFlag}, historyFlags, flagsNamed(runFlags, "codex-home", "grok-home"), []flagSpec{jsonFlag})...),
		Action: func(ctx context.Context, cmd *urfave.Command) error {
			if cmd.Args().Len() > 1 {
				return usage("name one session, or none for the list", "slidewrite history takes one session, got %d", cmd.Args().Len())
			}
			t, err := a.teller(cmd)
			if err != nil {
				return err
			}
			ctx, _, release := a.interruptible(ctx)
			defer release()
			if id := cmd.Args().First(); id != "" {
				err = t.replay(ctx, id)
			} else {
				err = t.list(ctx)
			}
			if ctx.Err() != nil && err != nil {
				return errInterrupted
			}
			return err
		},
	}
}

// flagsNamed picks flags by their names.
func flagsNamed(specs []flagSpec, names ...string) []flagSpec {
	var picked []flagSpec
	for _, f := range specs {
		if slices.Contains(names, f.name) {
			picked = append(picked, f)
		}
	}
	return picked
}

// teller is one call of history.
type teller struct {
	*app
	config   shim.Config
	sessions *shim.Sessions
	provider string
	limit    int // 0 = not given
	json     bool
	now      time.Time
	repo     string // as it was typed, "" = the present folder
}

// teller reads the command line.
func (a *app) teller(cmd *urfave.Command) (*teller, error) {
	c := shim.Config{Repo: cmd.String("repo"), Environ: a.Environ}
	if err := a.checkRepo(c.Repo); err != nil {
		return nil, err
	}
	var err error
	if c.CodexHome, err = a.home("codex-home", cmd.String("codex-home")); err != nil {
		return nil, err
	}
	if c.GrokHome, err = a.home("grok-home", cmd.String("grok-home")); err != nil {
		return nil, err
	}
	t := &teller{app: a, config: c, provider: cmd.String("provider"), json: cmd.Bool("json"), now: time.Now()}
	if cmd.IsSet("repo") && !a.fromEnv["repo"] {
		t.repo = c.Repo
	}
	if cmd.IsSet("limit") {
		if t.limit, err = a.number(cmd, "limit", 1, math.MaxInt32); err != nil {
			return nil, err
		}
	}
	if t.sessions, err = shim.SessionsOf(c); err != nil {
		return nil, err
	}
	return t, a.oneOf("provider", t.provider, t.sessions.Providers()...)
}

// newest is how many sessions are listed when nobody says.
const newest = 20

// list prints the sessions, newest first: as a table, or one JSON object a line.
func (t *teller) list(ctx context.Context) error {
	all, err := t.sessions.List(ctx, t.provider)
	if err != nil {
		return errors.Wrapf(err, "list the %s sessions", t.provider)
	}
	rows := server.SessionRows(t.provider, all, t.runs(ctx, len(all)))
	out := t.output()
	limit := t.limit
	if limit == 0 && !t.json {
		limit = newest
	}
	if limit == 0 {
		limit = len(rows)
	}
	first := rows[:min(limit, len(rows))]
	switch {
	case t.json:
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		for _, row := range first {
			if enc.Encode(row) != nil {
				break
			}
		}
	case len(rows) == 0:
		fmt.Fprintf(out, "there are no %s sessions of this repo\n", t.provider)
	default:
		t.table(out, first, shortIDs(all))
		if left := len(rows) - len(first); left > 0 {
			fmt.Fprintf(out, "and %s older: slidewrite history --limit %d%s\n", count(left, "session"), len(rows), t.which(t.provider))
		}
	}
	return out.err
}

// runs are the runs of this repo, for the commits beside the sessions; without
// them the sessions are told all the same.
func (t *teller) runs(ctx context.Context, sessions int) []run.Summary {
	if sessions == 0 {
		return nil
	}
	top, err := gitrepo.TopOf(t.config.Repo)
	if err == nil {
		store, openErr := t.store(t.config, top)
		if openErr == nil {
			var list []run.Summary
			list, openErr = run.NewManager(run.Options{Dir: top, Store: store, Environ: t.Environ, Log: t.Stderr}).List(ctx)
			if openErr == nil {
				return list
			}
		}
		err = openErr
	}
	if ctx.Err() == nil {
		t.warn("the commits of these sessions are not known: %v", err)
	}
	return nil
}

// table prints sessions in columns.
func (t *teller) table(out io.Writer, rows []server.SessionRow, short map[string]string) {
	colour := (&renderer{colour: t.colours(t.Stdout)}).paint
	cells := [][]string{{"AGE", "SESSION", "MSGS", "TITLE", "COMMITS"}}
	for _, row := range rows {
		cells = append(cells, []string{
			age(t.now, row.EndedAt), short[row.ID], fmt.Sprint(row.Messages), oneLine(printable(title(row)), titleWidth), commits(row.Runs),
		})
	}
	width := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, cell := range line {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for n, line := range cells {
		for i, cell := range line {
			line[i] = cell + strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
		}
		text := strings.TrimRight(strings.Join(line, "  "), " ")
		if n == 0 {
			text = colour(faint, text)
		}
		fmt.Fprintln(out, text)
	}
}

// titleWidth is how much of a title stands in the table, in characters.
const titleWidth = 60

func title(row server.SessionRow) string {
	for _, s := range []string{row.Title, row.FirstPrompt} {
		if strings.TrimSpace(s) != "" {
			return s
		}
	}
	return "(nothing was said)"
}

// commits names the commits of runs, oldest first.
func commits(runs []run.Summary) string {
	var all []string
	for _, r := range slices.Backward(runs) {
		short := r.SHA[:min(len(r.SHA), shortSHA)]
		switch {
		case short == "":
		case r.Undone:
			all = append(all, short+" (undone)")
		default:
			all = append(all, short)
		}
	}
	return strings.Join(all, ", ")
}

// shortSHA is how much of a commit's name git needs in all but the largest
// repositories.
const shortSHA = 9

// age is how long ago something was, in one unit.
func age(now time.Time, at *time.Time) string {
	if at == nil {
		return "?"
	}
	const day = 24 * time.Hour
	switch d := now.Sub(*at); {
	case d < time.Minute: // or in the future, by another clock
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d < 100*day:
		return count(int(d/day), "day")
	}
	return at.Local().Format("2006-01-02")
}

// shortID is how much of an id is enough, unless another one begins like it.
const shortID = 8

// shortIDs are the beginnings of ids that each stand for one session.
func shortIDs(all []history.Session) map[string]string {
	ids := make([]string, 0, len(all))
	for _, s := range all {
		ids = append(ids, s.ID)
	}
	slices.Sort(ids)
	short := map[string]string{}
	for i, id := range ids {
		n := shortID
		for _, j := range []int{i - 1, i + 1} {
			if j >= 0 && j < len(ids) {
				n = max(n, common(id, ids[j])+1)
			}
		}
		short[id] = id[:min(n, len(id))]
	}
	return short
}

// common is the length of the beginning that a and b share.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// replay prints one session as design prints a run, or its raw events.
func (t *teller) replay(ctx context.Context, id string) error {
	full, err := t.find(ctx, strings.ToLower(id))
	if err != nil {
		return err
	}
	out := t.output()
	buffered := bufio.NewWriter(out)
	r := &renderer{out: buffered, colour: t.colours(t.Stdout)}
	emit := func(e event.Event) error {
		if t.json {
			data, err := event.Encode(e)
			if err != nil {
				return err
			}
			_, _ = buffered.Write(append(data, '\n')) // out keeps the error
		} else {
			r.event(e)
		}
		return out.err
	}
	_, err = t.sessions.Events(ctx, t.provider, full, history.Page{Limit: t.limit}, emit)
	if !t.json {
		r.event(event.Done{}) // ends a line of text
	}
	_ = buffered.Flush()
	if out.err != nil {
		return out.err
	}
	if errors.Is(err, history.ErrNotFound) { // it went away meanwhile
		return t.noSession(ctx, id)
	}
	return errors.Wrapf(err, "read session %s", full)
}

// beginsSession tells whether what was typed can be the beginning of an id.
func beginsSession(typed string) bool {
	return len(typed) >= 4 && len(typed) <= 36 && strings.Trim(typed, "0123456789abcdef-") == ""
}

// find returns the id that begins with what was typed.
func (t *teller) find(ctx context.Context, typed string) (string, error) {
	if validSession.MatchString(typed) {
		return typed, nil
	}
	if !beginsSession(typed) {
		return "", usage("slidewrite history"+t.which(t.provider)+" lists them", "%q is not the id of a session, nor the beginning of one", typed)
	}
	found, err := t.beginning(ctx, t.provider, typed)
	switch {
	case err != nil:
		return "", errors.Wrapf(err, "list the %s sessions", t.provider)
	case len(found) == 0:
		return "", t.noSession(ctx, typed)
	case len(found) > 1:
		return "", errors.WithHint(errors.Newf("%d sessions begin with %s", len(found), typed),
			fmt.Sprintf("type more of the id: slidewrite history %s%s", found[0], t.which(t.provider)))
	}
	return found[0], nil
}

// beginning returns the ids of a provider that begin with what was typed,
// newest first.
func (t *teller) beginning(ctx context.Context, provider, typed string) ([]string, error) {
	all, err := t.sessions.List(ctx, provider)
	var found []string
	for _, s := range all {
		if strings.HasPrefix(s.ID, typed) {
			found = append(found, s.ID)
		}
	}
	return found, err
}

// noSession says that there is none, and who has it, if anybody does.
func (t *teller) noSession(ctx context.Context, typed string) error {
	err := errors.Newf("there is no %s session %s of this repo", t.provider, typed)
	for _, other := range t.sessions.Providers() {
		if other == t.provider {
			continue
		}
		if found, listErr := t.beginning(ctx, other, strings.ToLower(typed)); listErr == nil && len(found) > 0 {
			return errors.WithHintf(err, "it is one of %s: slidewrite history %s%s", other, typed, t.which(other))
		}
	}
	return errors.WithHintf(err, "slidewrite history%s lists them; a session of another folder is read there", t.which(t.provider))
}

// which are the flags that name a provider, where it has to be named, and the
// repo where one was.
func (t *teller) which(provider string) (flags string) {
	if t.repo != "" {
		flags = " --repo " + quoted(t.repo)
	}
	if provider != t.sessions.Providers()[0] {
		flags += " --provider " + provider
	}
	return flags
}
