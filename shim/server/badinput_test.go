package server_test

import (
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/server"
	"github.com/slidewrite/slidewrite/shim/server/servertest"
)

// Every sentence of the specification that says what bad input gets, against
// runs in memory.
func TestBadInput(t *testing.T) {
	const streams = 8
	s := start(t, func(o *server.Options) {
		o.Limits.BodyIdle, o.Limits.Streams = 200*time.Millisecond, streams
	})
	for _, id := range []string{"ended", "conflict", "gone"} {
		s.runs.add(id, event.Start{}, event.Done{})
	}
	s.runs.undo["conflict"] = &gitrepo.Refusal{Message: "the file moved on", Paths: []string{"a.css"}}
	s.runs.undo["gone"] = gitrepo.ErrGone
	hold := func(*testing.T) (string, func()) {
		s.runs.add("open", event.Start{})
		err := &run.BusyError{RunID: "open", Prompt: "make it green", StartedAt: time.Now()}
		s.runs.startErr, s.runs.undo["ended"] = err, err
		return "open", func() { s.runs.startErr, s.runs.undo["ended"] = nil, nil }
	}
	servertest.BadInput(t, servertest.Target{
		URL: s.URL, Token: testToken, Streams: streams,
		Ended: "ended", Conflict: "conflict", Gone: "gone", Hold: hold,
	})
}
