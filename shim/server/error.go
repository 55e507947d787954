package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/history"
	"github.com/slidewrite/slidewrite/shim/pair"
	"github.com/slidewrite/slidewrite/shim/prompt"
	"github.com/slidewrite/slidewrite/shim/run"
)

// Codes of HTTP errors.
const (
	codeBadHost      = "bad_host"
	codeUnauthorized = "unauthorized"
	codeBadOrigin    = "bad_origin"
	codeMedia        = "unsupported_media"
	codeTooLarge     = "too_large"
	codeNotFound     = "not_found"
	codeBadRequest   = "bad_request"
	codeBusy         = "busy"
	codeConflict     = "conflict"
	codeGone         = "gone"
	codeStreams      = "too_many_streams"
	codePairRefused  = "pair_refused"
	codeInternal     = "internal"
)

// Refusals of the server itself.
var (
	errBadHost      = errors.New("this host is not one the shim answers to")
	errUnauthorized = errors.WithHint(errors.New("the token is missing or wrong"),
		"send the shim's token in the header Authorization: Bearer TOKEN")
	errBadOrigin = errors.New("this origin may not call the shim")
	errMedia     = errors.WithHint(errors.New("the body must be JSON"), "send the header Content-Type: application/json")
	errTooLarge  = errors.WithHint(errors.New("the body is larger than the shim takes"), "send fewer or smaller pictures")
	errNoRoute   = errors.WithHint(errors.New("there is nothing at this address"), "GET /meta, GET /runs or POST /design; the README lists all addresses")
	errMethod    = errors.New("this address does not take that method")
	errSlowBody  = errors.WithHint(errors.New("the body stopped arriving"), "send the request again")
	errBody      = errors.WithHint(errors.New("the body broke off"), "send the request again")
	errQuery     = errors.New("a parameter makes no sense")
	errStreams   = errors.WithHint(errors.New("too many event streams are open"), "close other panels and try again")
	errPanic     = errors.WithHint(errors.New("the shim failed on this request"), "look at the output of slidewrite for the cause")
)

// errBrokenBody is a body that ended early or was not framed as announced.
func errBrokenBody(err error) error {
	return errors.Mark(errors.Wrap(err, "read the body"), errBody)
}

// statuses is the one table from errors to HTTP; the first match wins, and
// what is not in it is a 500.
var statuses = []struct {
	is     error
	status int
	code   string
}{
	{errBadHost, http.StatusForbidden, codeBadHost},
	{errUnauthorized, http.StatusUnauthorized, codeUnauthorized},
	{errBadOrigin, http.StatusForbidden, codeBadOrigin},
	{errMedia, http.StatusUnsupportedMediaType, codeMedia},
	{errTooLarge, http.StatusRequestEntityTooLarge, codeTooLarge},
	{errNoRoute, http.StatusNotFound, codeNotFound},
	{run.ErrNotFound, http.StatusNotFound, codeNotFound},
	{history.ErrNotFound, http.StatusNotFound, codeNotFound},
	{errMethod, http.StatusMethodNotAllowed, codeBadRequest},
	{errSlowBody, http.StatusRequestTimeout, codeBadRequest},
	{errBody, http.StatusBadRequest, codeBadRequest},
	{errQuery, http.StatusBadRequest, codeBadRequest},
	{history.ErrBadCursor, http.StatusBadRequest, codeBadRequest},
	{pair.ErrRefused, http.StatusForbidden, codePairRefused},
	{gitrepo.ErrNone, http.StatusConflict, codeConflict},
	{gitrepo.ErrUnsafe, http.StatusConflict, codeConflict},
	{gitrepo.ErrBare, http.StatusConflict, codeConflict},
	{gitrepo.ErrNoGit, http.StatusConflict, codeConflict},
	{gitrepo.ErrGone, http.StatusGone, codeGone},
	{errStreams, http.StatusServiceUnavailable, codeStreams},
	{run.ErrClosed, http.StatusServiceUnavailable, codeInternal},
	{errPanic, http.StatusInternalServerError, codeInternal},
}

// errorBody is what a refused client reads.
type errorBody struct {
	Error string   `json:"error"` // what happened
	Code  string   `json:"code"`  // machine word
	Fix   string   `json:"fix,omitempty"`
	Run   *busyRun `json:"run,omitempty"`  // busy: what holds the repository
	Files []string `json:"files,omitzero"` // conflict: the paths in the way
}

// busyRun is the run that holds the repository.
type busyRun struct {
	ID        string    `json:"id"`
	Prompt    string    `json:"prompt"`
	StartedAt time.Time `json:"startedAt"`
}

// answer writes err as JSON; in the middle of an answer there is nothing left
// but to cut the connection, which a client can tell from an end.
func (s *server) answer(w http.ResponseWriter, r *http.Request, err error) {
	if rw, ok := w.(*response); ok && rw.begun {
		panic(http.ErrAbortHandler)
	}
	status, body := describe(err)
	if status == http.StatusInternalServerError && r.Context().Err() == nil {
		s.o.Log.Error("request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	s.writeJSON(w, status, body)
}

// describe finds the status and the body of an error.
func describe(err error) (int, errorBody) {
	body := errorBody{Error: err.Error(), Fix: run.Hint(err)}
	var field *prompt.FieldError
	var busy *run.BusyError
	var refusal *gitrepo.Refusal
	switch {
	case errors.As(err, &field):
		body.Code = codeBadRequest
		if body.Fix == "" && (field.Field == "body" || field.Field == "prompt") {
			body.Fix = `send a JSON object with a prompt: {"prompt":"make the button green"}`
		}
		return http.StatusBadRequest, body
	case errors.As(err, &busy):
		body.Code = codeBusy
		if body.Fix == "" {
			body.Fix = busyFix(busy)
		}
		body.Run = &busyRun{ID: busy.RunID, Prompt: busy.Prompt, StartedAt: busy.StartedAt}
		return http.StatusConflict, body
	case errors.As(err, &refusal):
		body.Code, body.Files = codeConflict, append([]string{}, refusal.Paths...)
		if refusal.Fix != "" {
			body.Fix = refusal.Fix
		}
		return http.StatusConflict, body
	}
	for _, row := range statuses {
		if errors.Is(err, row.is) {
			body.Code = row.code
			if body.Fix == "" && row.is == run.ErrNotFound {
				body.Fix = "GET /runs lists the runs there are"
			}
			if body.Fix == "" && row.is == pair.ErrRefused {
				body.Fix = pairFix
			}
			return row.status, body
		}
	}
	body.Code = codeInternal
	return http.StatusInternalServerError, body
}

// busyFix is how to get the repository free: a run of this shim is stopped
// over HTTP, that of another process by the command that finds it.
func busyFix(b *run.BusyError) string {
	switch {
	case b.RunID == "":
		return "wait for it to end"
	case b.PID != 0 && b.PID != os.Getpid():
		return "wait for it to end, or stop it: slidewrite stop " + b.RunID
	}
	return "wait for it to end, or stop it: POST /runs/" + b.RunID + "/stop"
}

// writeJSON writes v as the whole answer.
func (s *server) writeJSON(w http.ResponseWriter, status int, v any) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		s.o.Log.Error("encode an answer", "error", err)
		status = http.StatusInternalServerError
		buf.Reset()
		buf.WriteString(`{"error":"the answer could not be written","code":"` + codeInternal + `"}` + "\n")
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(buf.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(buf.Bytes()) // the client may be gone: nobody is left to tell
}

// reply is writeJSON for a handler that succeeded.
func (s *server) reply(w http.ResponseWriter, v any) error {
	s.writeJSON(w, http.StatusOK, v)
	return nil
}
