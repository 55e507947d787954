package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/slidewrite/slidewrite/shim/event"
)

// terminal tells whether w is a terminal that understands control sequences.
func (a *app) terminal(w io.Writer) bool {
	if out, ok := w.(*output); ok {
		w = out.w
	}
	f, ok := w.(*os.File)
	if !ok || lookupEnv(a.Environ, "TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// colours tells whether w gets colours: a terminal, and no NO_COLOR
// (no-color.org: any value but the empty one).
func (a *app) colours(w io.Writer) bool {
	return a.terminal(w) && lookupEnv(a.Environ, "NO_COLOR") == ""
}

// printable takes out what could steer the terminal: agents pass on text that
// came from web pages and files. So goes what turns the direction of text: it
// would show other words than are there. Newlines and tabs stay.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r) {
			return '·'
		}
		return r
	}, s)
}

// renderer writes a run's events as text for people.
type renderer struct {
	out      io.Writer
	colour   bool
	progress *progress // nil = none
	midLine  bool      // the last byte written was not a newline
	message  string    // whose text is being streamed
	tokens   int64
	failed   bool
	ended    bool // done was seen
}

// SGR sequences (ECMA-48) of the few colours used.
const (
	bold   = "\x1b[1m"
	faint  = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

func (r *renderer) paint(style, s string) string {
	if !r.colour {
		return s
	}
	return style + s + plain
}

// line writes whole lines, on a line of their own.
func (r *renderer) line(format string, args ...any) {
	r.progress.clear()
	if r.midLine {
		fmt.Fprintln(r.out)
	}
	r.midLine = false
	fmt.Fprintf(r.out, format+"\n", args...)
}

// text writes a piece of the assistant's text as it comes. The text of
// another message starts on a new line.
func (r *renderer) text(d event.Delta) {
	if d.Text == "" {
		return
	}
	r.progress.clear()
	if r.midLine && r.message != d.MessageID {
		fmt.Fprintln(r.out)
	}
	r.message = d.MessageID
	text := printable(d.Text)
	fmt.Fprint(r.out, text)
	r.midLine = !strings.HasSuffix(text, "\n")
}

// event writes one event. Types it does not know say nothing.
func (r *renderer) event(e event.Event) {
	switch e := e.(type) {
	case event.Start:
		r.line("%s", r.paint(faint, printable(startLine(e))))
	case event.User:
		r.line("%s", r.paint(bold, "> "+strings.ReplaceAll(printable(e.Text), "\n", "\n> ")))
	case event.Delta:
		r.text(e)
	case event.DeltaReset:
		if r.message == e.MessageID {
			r.line("%s", r.paint(faint, "(withdrawn: the agent starts this answer over)"))
			r.message = ""
		}
	case event.Usage:
		r.tokens = e.OutputTokens + e.ThinkingTokens
	case event.Tool:
		r.line("* %s", printable(oneLine(e.Tool+" "+e.Detail, 100)))
	case event.FileEdit:
		r.line("* %s %s", printable(e.Tool), printable(e.Path))
	case event.ToolResult:
		if e.IsError {
			r.line("  %s", r.paint(red, "failed: "+printable(oneLine(e.Text, 100))))
		}
	default:
		r.outcome(e)
	}
}

// outcome writes the events that say how a run ended.
func (r *renderer) outcome(e event.Event) {
	switch e := e.(type) {
	case event.Result:
		if e.Result != nil && *e.Result != "" && !e.IsError {
			r.line("%s", printable(*e.Result))
		}
	case event.Change:
		r.change(e)
	case event.Commit:
		r.line("%s", commitLine(e))
	case event.CommitError:
		r.failed = true
		r.complain("not committed: "+e.Message, e.Fix)
	case event.Note:
		r.line("%s", r.paint(faint, "note: "+printable(e.Message)))
	case event.Stopped:
		r.failed = true
		r.line("stopped (%s)", printable(e.By))
	case event.Error:
		r.failed = true
		r.complain(e.Message, e.Fix)
	case event.Done:
		r.ended = true
		r.progress.clear()
		if r.midLine {
			fmt.Fprintln(r.out)
			r.midLine = false
		}
	}
}

// complain writes an error and its fix the way all errors are written.
func (r *renderer) complain(message, fix string) {
	r.line("%s", r.paint(red, "error: "+printable(message)))
	if fix != "" {
		r.line("fix: %s", printable(fix))
	}
}

// change lists the files with their lines.
func (r *renderer) change(c event.Change) {
	r.line("changed %s, %s %s", count(len(c.Files), "file"),
		r.paint(green, fmt.Sprintf("+%d", c.Added)), r.paint(red, fmt.Sprintf("-%d", c.Removed)))
	for _, f := range c.Files {
		lines := r.paint(green, fmt.Sprintf("+%d", f.Added)) + " " + r.paint(red, fmt.Sprintf("-%d", f.Removed))
		if f.Binary {
			lines = "binary"
		}
		if f.Yours {
			lines += "  (your own edit, left alone)"
		}
		r.line("  %-10s %s  %s", f.Status, printable(f.Path), lines)
	}
}

func startLine(e event.Start) string {
	parts := []string{e.Provider}
	if e.Model != "" {
		parts = append(parts, e.Model)
	}
	return strings.Join(append(parts, "session "+e.SessionID, "run "+e.RunID), ", ")
}

func commitLine(e event.Commit) string {
	s := fmt.Sprintf("committed %s (%s)", e.SHA, count(e.Count, "file"))
	if e.HooksSkipped {
		s += "; the repo's hooks were skipped, --commit-verify runs them"
	}
	return s
}

// count is "1 file", "2 files".
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// oneLine folds s to one line of at most n characters.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// progress is one line at the bottom of a terminal that says how long the run
// has been going on. It belongs to the goroutine that renders. A nil progress
// draws nothing.
type progress struct {
	w     io.Writer
	began time.Time
	drawn bool
}

// draw rewrites the line. It waits while a line of text is half written:
// stdout and stderr share the terminal.
func (p *progress) draw(r *renderer) {
	if p == nil || r.midLine {
		return
	}
	fmt.Fprintf(p.w, "\r\x1b[K%d s, %d tokens; Ctrl-C stops the run", int(time.Since(p.began).Seconds()), r.tokens)
	p.drawn = true
}

func (p *progress) clear() {
	if p != nil && p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}
