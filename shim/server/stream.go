package server

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/sse"
)

// openStream takes one of the places for event streams.
func (s *server) openStream() (release func(), err error) {
	if s.streams.Add(1) > s.o.Limits.Streams {
		s.streams.Add(-1)
		return nil, errStreams
	}
	return func() { s.streams.Add(-1) }, nil
}

// stream writes a run's events until done, or until the client is gone. The
// follower waits for the client, never the agent: the journal lies between.
func (s *server) stream(w http.ResponseWriter, r *http.Request, f Follower) error {
	defer f.Close()
	sse.SetHeader(w.Header())
	w.WriteHeader(http.StatusOK)
	out := sse.NewWriter(w, s.o.Limits.Stall)
	last := int64(0)
	err := out.Flush() // the headers, at once
	for err == nil {
		var frames []run.Frame
		frames, err = next(r.Context(), f, s.o.Limits.Ping)
		switch {
		case err == nil:
			last = frames[len(frames)-1].Seq
			err = send(out, frames)
		case err == io.EOF: // bare: one with words is a journal that broke off
			return out.Close()
		case r.Context().Err() != nil:
			return nil // the client left
		case errors.Is(err, context.DeadlineExceeded):
			err = out.Ping()
		default:
			s.o.Log.Error("follow a run", "error", err)
			err = trouble(out, last, err)
			if err == nil {
				return out.Close()
			}
		}
	}
	return err // answered by cutting the connection: the client can tell
}

// next waits for frames, at most as long as a stream may be silent.
func next(ctx context.Context, f Follower, silence time.Duration) ([]run.Frame, error) {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	return f.Next(ctx)
}

// send writes frames and flushes: nothing more is ready.
func send(out *sse.Writer, frames []run.Frame) error {
	for _, frame := range frames {
		if err := out.Frame(sse.Frame{ID: frame.Seq, Data: frame.Data}); err != nil {
			return err
		}
	}
	return out.Flush()
}

// trouble ends a stream that cannot be read on with words: an error and done.
func trouble(out *sse.Writer, last int64, cause error) error {
	for _, e := range []event.Event{
		event.Error{Message: cause.Error(), Code: event.CodeInternal, Fix: run.Hint(cause)}, event.Done{},
	} {
		data, err := event.Encode(e)
		if err != nil {
			return err
		}
		last++
		if err := out.Frame(sse.Frame{ID: last, Data: data}); err != nil {
			return err
		}
	}
	return out.Flush()
}
