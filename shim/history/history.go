// Package history serves the sessions that agents left on disk: the list of a
// repository, from an index that answers by stat what it has seen before, and
// the events of one session, in pages of constant memory. Adapters
// (agent.Historian) know where the files are and what their lines mean; files
// are opened here only, and only to be read.
//
// Flow of a list: Transcripts → lstat → index, or agent.Scan of what is new →
// rows, newest first. Of a page: Transcripts → the file → its turns through
// agent.Replay → masked events.
package history

import (
	"context"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

var (
	// ErrNotFound is an id that is no session of the repository: unknown,
	// malformed, another folder's, or no conversation with a human.
	ErrNotFound = errors.New("no such session")
	// ErrBadCursor is a cursor that no page has given.
	ErrBadCursor = errors.New("malformed cursor")
)

// Options says whose history it is.
type Options struct {
	agent.History
	// Cache is the private folder of the index, made where it is missing:
	// <user cache dir>/slidewrite/history/<repo>/<provider>, or anything else
	// that is this repository's and this provider's alone. "" = no index, each
	// list reads every file.
	Cache string
}

// History is one provider's history of one repository. It is safe for use by
// several goroutines, and several processes may share a cache.
type History struct {
	opts Options
}

// New returns the history of o. It does no I/O.
func New(o Options) *History { return &History{opts: o} }

// Session is one row of the list.
type Session struct {
	ID          string    `json:"id"`
	Title       string    `json:"title"`       // one line, at most 80 characters
	FirstPrompt string    `json:"firstPrompt"` // one line, at most 140 characters
	StartedAt   time.Time `json:"startedAt"`
	EndedAt     time.Time `json:"endedAt"`
	Branch      string    `json:"branch"`
	Messages    int       `json:"messageCount"`
}

// List returns the sessions, newest first. What cannot be read is left out.
func (h *History) List(ctx context.Context, from agent.Historian) ([]Session, error) {
	return nil, nil
}

// Find returns the transcript of the session id, or ErrNotFound.
func (h *History) Find(ctx context.Context, from agent.Historian, id string) (agent.Transcript, error) {
	return agent.Transcript{}, ErrNotFound
}

// Page says which events of a session are asked for. The zero value is all.
type Page struct {
	Limit  int    // at most so many events, 0 = no limit
	Before string // the events just before this cursor
	After  string // the events just after this cursor
}

// Cursors are where the pages around a page are: Before is for the Page.Before
// of the one before, "" when this one begins with the first event; After is
// for the Page.After of the next, and stays good while the session grows: ""
// only when there was no event at all.
type Cursors struct {
	Before string
	After  string
}

// Events emits the events of a page in order, through the mask of secrets. An
// error of emit ends it and is returned. With Limit alone it is the last
// events; with After the first behind the cursor; with Before the last in
// front of it.
func (h *History) Events(ctx context.Context, from agent.Historian, id string, p Page, emit func(event.Event) error) (Cursors, error) {
	return Cursors{}, ErrNotFound
}
