package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/errors"
	"github.com/go-chi/chi/v5"

	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/history"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
	"github.com/slidewrite/slidewrite/shim/run"
)

// History is what agents left of their sessions in the repository.
type History interface {
	// Knows tells whether there can be sessions of a provider.
	Knows(provider string) bool
	// List returns the sessions of a provider, newest first.
	List(ctx context.Context, provider string) ([]history.Session, error)
	// Events emits a page of a session's events; see history.History.
	Events(ctx context.Context, provider, id string, p history.Page, emit func(event.Event) error) (history.Cursors, error)
}

func (s *server) registerHistoryRoutes() {
	s.get("/history", s.sessions)
	s.get("/history/{id}", s.session)
}

// maxPage bounds ?limit=: that many events may be held in memory.
const maxPage = 1000

// sessionID is what an id must be before anything is looked for.
var sessionID = lazyregexp.New(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// historyReply is the answer of GET /history.
type historyReply struct {
	Sessions []SessionRow `json:"sessions"` // newest first
}

// SessionRow is one session of the list.
type SessionRow struct {
	ID          string        `json:"id"`
	Title       string        `json:"title"`       // one line, at most 80 characters
	FirstPrompt string        `json:"firstPrompt"` // one line, at most 140 characters
	StartedAt   *time.Time    `json:"startedAt"`   // null when the transcript does not tell
	EndedAt     *time.Time    `json:"endedAt"`     // likewise; of its last record
	Branch      string        `json:"branch"`
	Messages    int           `json:"messageCount"`
	Runs        []run.Summary `json:"runs"` // ours, newest first
}

// sessions lists a provider's sessions, each with the runs that we made in it.
func (s *server) sessions(w http.ResponseWriter, r *http.Request) error {
	provider, err := s.historyProvider(r)
	if err != nil {
		return err
	}
	list, err := s.o.History.List(r.Context(), provider)
	if err != nil {
		return err
	}
	runs, err := s.o.Runs.List(r.Context())
	if err != nil && r.Context().Err() == nil { // without them the sessions are served all the same
		s.o.Log.Error("list the runs of sessions", "error", err)
	}
	return s.reply(w, historyReply{Sessions: SessionRows(provider, list, runs)})
}

// SessionRows puts a provider's sessions and the runs of the repository
// together.
func SessionRows(provider string, list []history.Session, runs []run.Summary) []SessionRow {
	by := run.BySession(runs, provider)
	rows := make([]SessionRow, 0, len(list))
	for _, one := range list {
		runs := append([]run.Summary{}, by[one.ID]...)
		for i := range runs {
			runs[i].Prompt = history.Mask(runs[i].Prompt)
		}
		rows = append(rows, SessionRow{
			ID: one.ID, Title: one.Title, FirstPrompt: one.FirstPrompt,
			StartedAt: known(one.StartedAt), EndedAt: known(one.EndedAt),
			Branch: one.Branch, Messages: one.Messages, Runs: runs,
		})
	}
	return rows
}

// known is a time as JSON has it; null for none.
func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// session answers the events of one session, as they are read: the answer is
// never in memory as a whole.
func (s *server) session(w http.ResponseWriter, r *http.Request) error {
	provider, err := s.historyProvider(r)
	if err != nil {
		return err
	}
	page, err := pageOf(r)
	if err != nil {
		return err
	}
	id := strings.ToLower(chi.URLParam(r, "id"))
	if !sessionID.MatchString(id) {
		return history.ErrNotFound
	}
	if r.Method == http.MethodHead {
		page.Limit = 1 // whether it is there, and no more
	}
	out := newEventsWriter(w, id, s.o.Limits.Stall)
	at, err := s.o.History.Events(r.Context(), provider, id, page, out.event)
	if err != nil {
		return err // when some of it is on its way: cut, which the client can tell
	}
	return out.end(at)
}

// historyProvider is ?provider=, by default Anthropic.
func (s *server) historyProvider(r *http.Request) (string, error) {
	provider := r.URL.Query().Get("provider")
	if provider == "" {
		provider = defaultProvider
	}
	if s.o.History == nil || !s.o.History.Knows(provider) {
		return "", badParam("provider", provider, "name one of the agents that /meta lists")
	}
	return provider, nil
}

// pageOf reads ?limit=, ?before= and ?after=.
func pageOf(r *http.Request) (history.Page, error) {
	q := r.URL.Query()
	p := history.Page{Before: q.Get("before"), After: q.Get("after")}
	if p.Before != "" && p.After != "" {
		return p, badParam("after", p.After, "pass before or after, not both")
	}
	if q.Has("limit") {
		n, err := strconv.Atoi(q.Get("limit"))
		if err != nil || n < 1 || n > maxPage {
			return p, badParam("limit", q.Get("limit"), "pass a whole number from 1 to "+strconv.Itoa(maxPage))
		}
		p.Limit = n
	}
	return p, nil
}

// eventsWriter writes {"id", "events", "before", "after"}, an event a line. It
// begins with the first event: what is refused before that has its own status.
type eventsWriter struct {
	out   *bufio.Writer
	slow  *slowWriter
	id    string
	begun bool
	line  []byte // reused
}

func newEventsWriter(w http.ResponseWriter, id string, stall time.Duration) *eventsWriter {
	slow := &slowWriter{w: w, rc: http.NewResponseController(w), stall: stall}
	return &eventsWriter{out: bufio.NewWriterSize(slow, chunkBytes), slow: slow, id: id}
}

// begin writes all that stands before the first event.
func (o *eventsWriter) begin() {
	o.begun = true
	o.slow.w.Header().Set("Content-Type", "application/json")
	_, _ = o.out.WriteString(`{"id":"` + o.id + `","events":[`) // a UUID; bufio keeps the error
}

func (o *eventsWriter) event(e event.Event) error {
	line := append(o.line[:0], ",\n"...)
	line, err := event.Append(line, e)
	if err != nil {
		return errors.Wrap(err, "encode an event")
	}
	if cap(line) <= chunkBytes { // one huge event is not kept
		o.line = line
	}
	if !o.begun {
		o.begin()
		line = line[1:]
	}
	_, err = o.out.Write(line)
	return err
}

func (o *eventsWriter) end(at history.Cursors) error {
	if !o.begun {
		o.begin()
	}
	before, err := json.Marshal(at.Before)
	if err != nil {
		return err
	}
	after, err := json.Marshal(at.After)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(o.out, "],\"before\":%s,\"after\":%s}\n", before, after)
	if err := o.out.Flush(); err != nil {
		return err
	}
	o.slow.deadline(time.Time{})
	return nil
}

// chunkBytes is how much is gathered before it is written.
const chunkBytes = 32 << 10

// slowWriter lets a client read as slowly as it likes, but not stop: it has
// stall for each chunk.
type slowWriter struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	stall time.Duration
}

func (s *slowWriter) Write(b []byte) (written int, err error) {
	for len(b) > 0 && err == nil {
		s.deadline(time.Now().Add(s.stall))
		var n int
		n, err = s.w.Write(b[:min(len(b), chunkBytes)])
		written, b = written+n, b[n:]
	}
	return written, err
}

// deadline sets the connection's write deadline; zero takes it off.
func (s *slowWriter) deadline(t time.Time) { _ = s.rc.SetWriteDeadline(t) }
