package server

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/slidewrite/slidewrite/shim/run"
)

func (s *server) registerRunsRoutes() {
	s.get("/runs", s.runs)
	s.get("/runs/{id}/diff", s.diff)
	s.post("/runs/{id}/stop", s.stop)
}

// runID is the {id} of the address. Ids are made by the shim and hold only
// letters, digits and - _; anything else is no run, and reaches no file name.
func runID(r *http.Request) (string, error) {
	id := chi.URLParam(r, "id")
	if !isRunID(id) {
		return "", run.ErrNotFound
	}
	return id, nil
}

func isRunID(id string) bool {
	for _, c := range []byte(id) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return id != "" && len(id) <= 64
}

// runsReply is the answer of GET /runs.
type runsReply struct {
	Runs []run.Summary `json:"runs"` // newest first
}

func (s *server) runs(w http.ResponseWriter, r *http.Request) error {
	list, err := s.o.Runs.List(r.Context())
	if err != nil {
		return err
	}
	return s.reply(w, runsReply{Runs: append([]run.Summary{}, list...)})
}

// diff answers the unified diff of a run's change, with ?path= of one file.
func (s *server) diff(w http.ResponseWriter, r *http.Request) error {
	id, err := runID(r)
	if err != nil {
		return err
	}
	reply, err := s.o.Runs.Diff(r.Context(), id, r.URL.Query().Get("path"))
	if err != nil {
		return err
	}
	return s.reply(w, reply)
}

// stopReply is the answer of POST /runs/{id}/stop.
type stopReply struct {
	ID    string `json:"id"`
	State string `json:"state"` // stopping, or how the run had ended before
}

// stop asks a run to end; its stream tells when it has. A run that has ended
// is left as it is.
func (s *server) stop(w http.ResponseWriter, r *http.Request) error {
	id, err := runID(r)
	if err != nil {
		return err
	}
	if err := skipBody(r); err != nil {
		return err
	}
	if err := s.o.Runs.Stop(id, "user"); err != nil {
		return err
	}
	list, err := s.o.Runs.List(r.Context())
	if err != nil {
		return err
	}
	reply := stopReply{ID: id, State: stateStopping}
	for _, summary := range list {
		if summary.ID == id && summary.State != stateRunning {
			reply.State = summary.State
		}
	}
	return s.reply(w, reply)
}

const (
	stateRunning  = "running" // of run.Summary
	stateStopping = "stopping"
)
