package server

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/pair"
	"github.com/slidewrite/slidewrite/shim/prompt"
)

// pairPage is all that GET /pair says. It knows nothing of this shim, has no
// script, and never sees the token: the extension's content script takes the
// code out of the address and writes on <html> what came of it
// (data-slidewrite-paired), which the page's style shows.
//
//go:embed pair.html
var pairPage []byte

// pairFix is what to do about a refused code.
const pairFix = "slidewrite pair"

// errNoCode is a body of POST /pair without a code that could be one.
func errNoCode(field, message string) error {
	return errors.WithHint(&prompt.FieldError{Field: field, Message: message}, `send the code of the link as JSON: {"code":"…"}`)
}

func (s *server) registerPairRoutes() {
	s.get("/pair", s.pairPage)
	s.post("/pair", s.pairRedeem)
	s.post("/pair/new", s.pairNew)
}

// pairPolicy lets the page be what it is and nothing else: its own style,
// known by its hash, and no script, picture, form or frame.
var pairPolicy = sync.OnceValue(func() string {
	_, rest, _ := strings.Cut(string(pairPage), "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
})

// pairPage answers the link that serve and `slidewrite pair` print. What is
// behind its # never comes here.
func (s *server) pairPage(w http.ResponseWriter, _ *http.Request) error {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(pairPage)))
	h.Set("Content-Security-Policy", pairPolicy())
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(pairPage) // the client may be gone: nobody is left to tell
	return nil
}

// pairReply is the answer of POST /pair.
type pairReply struct {
	Token   string   `json:"token"`
	Origins []string `json:"origins"` // of the app, as --origin named them
	Project string   `json:"project"`
}

// pairRedeem turns a one-time code into the token. The code is the proof; no
// page of a website gets as far as this (see redeems in origin.go).
func (s *server) pairRedeem(w http.ResponseWriter, r *http.Request) error {
	code, err := decodeCode(r)
	if err != nil {
		return err
	}
	if s.o.Token == "" { // there is nothing to hand out
		return errors.Mark(errors.New("this shim has no token"), pair.ErrRefused)
	}
	if err := s.o.Pair.Redeem(code); err != nil {
		return err
	}
	return s.reply(w, pairReply{Token: s.o.Token, Origins: s.appOrigins(), Project: s.o.Project})
}

// appOrigins are the origins that were named: a * names none.
func (s *server) appOrigins() []string {
	named := []string{}
	for _, o := range s.o.Origins {
		if spelled, ok := WebOrigin(o); ok {
			named = append(named, spelled)
		}
	}
	return named
}

func decodeCode(r *http.Request) (string, error) {
	body, err := readBody(r)
	if err != nil {
		if isAny(err, errTooLarge) {
			err = tooLarge(r)
		}
		return "", err
	}
	var sent struct {
		Code *string `json:"code"`
	}
	var wrong *json.UnmarshalTypeError
	switch err := json.Unmarshal(body, &sent); {
	case errors.As(err, &wrong) && wrong.Field == "code":
		return "", errNoCode("code", "must be a string")
	case err != nil:
		return "", errNoCode("body", "must be a JSON object")
	case sent.Code == nil || *sent.Code == "":
		return "", errNoCode("code", "is missing")
	}
	return *sent.Code, nil
}

// pairNew makes a fresh link, at the address this request came to: that one
// works from where the caller is, also through a tunnel or a port forward.
func (s *server) pairNew(w http.ResponseWriter, r *http.Request) error {
	if err := skipBody(r); err != nil {
		return err
	}
	return s.reply(w, map[string]string{"url": pair.Link(calledAt(r), s.o.Pair.New())})
}

// calledAt is scheme, name and port that a client called the shim by. The
// guard has let the name in.
func calledAt(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	h, _ := parseHost(r.Host)
	name := h.name
	if h.port != "" {
		name += ":" + h.port
	}
	return scheme + "://" + name
}
