package server

import "net/http"

func (s *server) registerUndoRoutes() {
	s.post("/runs/{id}/undo", s.undo)
}

// undo takes a run's change back. 409 with the files in the way, or with the
// run that is going on: then nothing was touched. 410: the snapshots are gone.
func (s *server) undo(w http.ResponseWriter, r *http.Request) error {
	id, err := runID(r)
	if err != nil {
		return err
	}
	if err := skipBody(r); err != nil {
		return err
	}
	reply, err := s.o.Runs.Undo(r.Context(), id)
	if err != nil {
		return err
	}
	return s.reply(w, reply)
}
