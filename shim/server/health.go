package server

import "net/http"

func (s *server) registerHealthRoutes() {
	s.get("/health", s.health)
}

// health says that a shim is here, and nothing else: anybody may ask.
func (s *server) health(w http.ResponseWriter, _ *http.Request) error {
	return s.reply(w, map[string]bool{"ok": true})
}
