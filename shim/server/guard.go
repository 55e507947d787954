package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net/http"
	"strings"

	"github.com/cockroachdb/errors"
)

// guard decides, before a handler runs and before a byte of the body is read,
// who may come in. The order of its checks is part of the contract: Host
// (403), token (401), Origin and Sec-Fetch-Site (403), the body's type (415)
// and announced size (413).
type guard struct {
	hosts   hostRules
	origins originRules
	token   *[sha256.Size]byte // nil = nobody gets in
	limits  Limits
}

func newGuard(o Options) guard {
	g := guard{hosts: newHostRules(o), origins: newOriginRules(o), limits: o.Limits}
	if o.Token != "" {
		sum := sha256.Sum256([]byte(o.Token))
		g.token = &sum
	}
	return g
}

// public are the addresses that need no token, by method. Pairing itself is
// proven by its one-time code.
var public = map[string]bool{
	"GET /health": true, "HEAD /health": true,
	"GET /pair": true, "HEAD /pair": true, "POST /pair": true,
}

// isPublic tells whether a request needs no token.
func isPublic(r *http.Request) bool { return public[r.Method+" "+routePath(r)] }

// admit returns nil for a request that may go on, and sets the CORS headers
// of an allowed origin on whatever is answered.
func (g *guard) admit(w http.ResponseWriter, r *http.Request) error {
	h, ok := parseHost(r.Host)
	if !ok || !g.hosts.allow(h) {
		return badHost(r.Host, h)
	}
	verdict := g.origins.judge(r, h)
	if verdict == originAllowed {
		setCORS(w.Header(), r)
	}
	if r.Method == http.MethodOptions {
		return refuseOrigin(verdict, r)
	}
	if !isPublic(r) && !g.authorized(r) {
		return errUnauthorized
	}
	if err := refuseOrigin(verdict, r); err != nil {
		return err
	}
	return g.checkBody(r)
}

// authorized compares the bearer token in constant time: hashes first, so
// that not even the length shows. A token anywhere else is ignored.
func (g *guard) authorized(r *http.Request) bool {
	values := r.Header["Authorization"]
	if g.token == nil || len(values) != 1 {
		return false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	sum := sha256.Sum256([]byte(strings.Trim(token, " ")))
	return subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1
}

// checkBody refuses bodies that are not JSON, which is what a form or a
// script of another page can send without asking, and bodies that say they
// are too large. A request without a body needs no type.
func (g *guard) checkBody(r *http.Request) error {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return nil
	}
	types := r.Header["Content-Type"]
	if len(types) > 0 || r.ContentLength != 0 {
		if len(types) != 1 || !isJSON(types[0]) {
			return errMedia
		}
		if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
			return errors.Mark(errors.WithHint(errors.New("a compressed body is not taken"), "send the body without Content-Encoding"), errMedia)
		}
	}
	if r.ContentLength > g.limits.of(r).Body {
		return tooLarge(r)
	}
	return nil
}

// tooLarge is errTooLarge with what helps where r went.
func tooLarge(r *http.Request) error {
	if isPublic(r) {
		return errors.Mark(errors.WithHint(errors.New("the body is larger than a pairing code"), `send the code of the link alone: {"code":"…"}`), errTooLarge)
	}
	return errTooLarge
}

// isJSON takes application/json with any parameters.
func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return media == "application/json" && (err == nil || errors.Is(err, mime.ErrInvalidMediaParameter))
}

// setCORS lets the page of an allowed origin read the answer.
func setCORS(h http.Header, r *http.Request) {
	h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	h.Set("Vary", "Origin")
	if r.Method != http.MethodOptions {
		return
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, OPTIONS")
	h.Set("Access-Control-Allow-Headers", "authorization, content-type, last-event-id")
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
}

// routePath is the path that the router goes by.
func routePath(r *http.Request) string {
	if r.URL.RawPath != "" {
		return r.URL.RawPath
	}
	return r.URL.Path
}
