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
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
)

var (
	// ErrNotFound is an id that is no session of the repository: unknown,
	// malformed, another folder's, or no conversation with a human.
	ErrNotFound = errors.New("no such session")
	// ErrBadCursor is a cursor that no page has given, or of a session that was
	// rewritten since.
	ErrBadCursor = errors.WithHint(errors.New("malformed cursor"), "leave before and after out for the newest events, and go on with the cursors of that answer")
)

// Options says whose history it is.
type Options struct {
	agent.History
	// Cache is the private folder of the index, made where it is missing:
	// <user cache dir>/slidewrite/history/<repo>/<provider>, or anything else
	// that is this repository's and this provider's alone. "" = no index, each
	// list reads every file.
	Cache string
	// Version is the shim's: an index of another one is made anew.
	Version string
}

// History is one provider's history of one repository. It is safe for use by
// several goroutines, and several processes may share a cache.
type History struct {
	opts Options
	busy chan struct{} // full while the fields below are used

	index   map[string]*entry // by path; nil = not read yet
	unsaved int64             // bytes read since the index was written

	endings endings
}

// New returns the history of o. It does no I/O.
func New(o Options) *History { return &History{opts: o, busy: make(chan struct{}, 1)} }

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
