package server

import "net/http"

func (s *server) registerPreviewRoutes() {
	s.post("/prompt/preview", s.preview)
}

// preview answers what the agent would receive for a body of /design, and
// runs nothing.
func (s *server) preview(w http.ResponseWriter, r *http.Request) error {
	req, err := decodeRequest(r)
	if err != nil {
		return err
	}
	return s.reply(w, s.o.Runs.Preview(req))
}
