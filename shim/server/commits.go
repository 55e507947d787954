package server

import (
	"encoding/json"
	"net/http"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/prompt"
	"github.com/slidewrite/slidewrite/shim/run"
)

func (s *server) registerCommitsRoutes() {
	s.post("/runs/squash", s.squash)
	s.post("/runs/commit", s.commit)
}

// squash makes the commits of several runs one. 409 says what keeps them apart,
// and then nothing has changed.
func (s *server) squash(w http.ResponseWriter, r *http.Request) error {
	ids, err := decodeRuns(r)
	if err != nil {
		return err
	}
	reply, err := s.o.Runs.Squash(r.Context(), ids)
	if err != nil {
		return err
	}
	return s.reply(w, reply)
}

// commit makes one commit of the changes of runs that were not committed. 409:
// nothing was committed, and why. 410: the snapshots of all of them are gone.
func (s *server) commit(w http.ResponseWriter, r *http.Request) error {
	ids, err := decodeRuns(r)
	if err != nil {
		return err
	}
	reply, err := s.o.Runs.Commit(r.Context(), ids)
	if err != nil {
		return err
	}
	return s.reply(w, reply)
}

// mostRuns is how many runs a body may name: so many are kept.
const mostRuns = 200

// decodeRuns reads a body that names runs. What is not an id of ours is no run,
// and reaches no layer below.
func decodeRuns(r *http.Request) ([]string, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	refuse := func(field, message string) error {
		return errors.WithHint(&prompt.FieldError{Field: field, Message: message}, `send a JSON object that names runs: {"runs":["ID","ID"]}`)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		return nil, refuse("body", "must be a JSON object")
	}
	var ids []string
	switch err := json.Unmarshal(fields["runs"], &ids); {
	case fields["runs"] == nil || string(fields["runs"]) == "null":
		return nil, refuse("runs", "is missing")
	case err != nil:
		return nil, refuse("runs", "must be a list of ids")
	case len(ids) == 0:
		return nil, refuse("runs", "names no run")
	case len(ids) > mostRuns:
		return nil, refuse("runs", "names more runs than are kept")
	}
	for _, id := range ids {
		if !isRunID(id) {
			return nil, errors.Wrapf(run.ErrNotFound, "%.80q", id)
		}
	}
	return ids, nil
}
