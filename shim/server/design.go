package server

import (
	"net/http"

	"github.com/slidewrite/slidewrite/shim/prompt"
)

func (s *server) registerDesignRoutes() {
	s.post("/design", s.design)
}

// design starts a run and streams its events. What can be refused is refused
// before the first byte of the stream.
func (s *server) design(w http.ResponseWriter, r *http.Request) error {
	req, err := decodeRequest(r)
	if err != nil {
		return err
	}
	release, err := s.openStream()
	if err != nil {
		return err
	}
	defer release()
	started, err := s.o.Runs.Start(r.Context(), req)
	if err != nil {
		return err
	}
	defer started.Attach()()
	// A client whose connection breaks before the first event finds the run there.
	w.Header().Set("Content-Location", "runs/"+started.ID()+"/events")
	return s.stream(w, r, started.Follow(0))
}

// decodeRequest reads the body of /design and /prompt/preview.
func decodeRequest(r *http.Request) (prompt.Request, error) {
	body, err := readBody(r)
	if err != nil {
		return prompt.Request{}, err
	}
	return prompt.Decode(body)
}
