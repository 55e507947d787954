package server

import (
	"net/http"
	"strconv"

	"github.com/slidewrite/slidewrite/shim/sse"
)

func (s *server) registerEventsRoutes() {
	s.get("/runs/{id}/events", s.events)
}

// events attaches to a run again: what came after the last event the client
// has, then what comes, to done.
func (s *server) events(w http.ResponseWriter, r *http.Request) error {
	id, err := runID(r)
	if err != nil {
		return err
	}
	found, err := s.o.Runs.Get(id)
	if err != nil {
		return err
	}
	after, err := lastEvent(r)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		sse.SetHeader(w.Header())
		return nil
	}
	release, err := s.openStream()
	if err != nil {
		return err
	}
	defer release()
	defer found.Attach()()
	return s.stream(w, r, found.Follow(after))
}

// lastEvent is the number of the last event the client has. The header wins:
// a browser sends it when it reconnects to the address it was given once.
func lastEvent(r *http.Request) (int64, error) {
	name, value := "Last-Event-ID", r.Header.Get("Last-Event-ID")
	if value == "" {
		query := r.URL.Query()
		if !query.Has("after") {
			return 0, nil
		}
		name, value = "after", query.Get("after")
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 {
		return 0, badParam(name, value, "pass the id of the last event, a whole number from 0 on")
	}
	return n, nil
}
