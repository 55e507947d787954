package server

import (
	"net/http"
	"strings"

	"github.com/cockroachdb/errors"
)

// ExtensionKey is the public key of the extension: the "key" of its manifest.
// It is what gives the extension the same id on every machine.
const ExtensionKey = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA6ajLVf0+8nC0Zyyop+MUr+Rjm8grUyd3twcYFwNfGUt3v9cZ+pPuQkpI/yr79/qpfK99pHrAV4JAbGQ6XP52lbpFk4k1YZeyIqs0RmNfwNIV1VqAXA0j0nMthm3mNbm1d31eSFoOw62BAn8MuJ5BlxFo12/vm0kNR0d+O6vKyCw0XRupERcCHaQwrk9twqDr09Ts26vPQtOODikcP3KIF39XvCEpXk8B/ocGXK69Rqp7rTktALb7j8+qdQX53czOLl0ZNBlPd7FjjgpEpUrAcWNhOXRASvieF4VNhyd1m4GpRPu0Gz8pa62pk8voMlxzllh9vnYGHBYRIyAZ45RDrQIDAQAB"

// ExtensionID is the extension's id as Chromium computes it: the first 16
// bytes of the SHA-256 of ExtensionKey, each hex digit written as a to p.
const ExtensionID = "elanelkehaghjbhimimjfoeliennfieh"

// originVerdict is what Origin and Sec-Fetch-Site say together.
type originVerdict int

const (
	originSilent  originVerdict = iota // nothing that forbids; not a sign of trust either
	originAllowed                      // named, and one of ours: gets CORS headers
	originRefused
)

// originRules are the origins that may call.
type originRules struct {
	any        bool // --origin *: every web origin
	web        map[string]bool
	extensions map[string]bool
}

func newOriginRules(o Options) originRules {
	rules := originRules{web: map[string]bool{}, extensions: map[string]bool{ExtensionID: true}}
	for _, s := range o.Origins {
		if s == "*" {
			rules.any = true
		} else if origin, ok := parseWebOrigin(s); ok { // who takes the flag has told about the others
			rules.web[origin.String()] = true
		}
	}
	for _, id := range o.AllowExtensions {
		if IsExtensionID(id) {
			rules.extensions[id] = true
		}
	}
	return rules
}

// origin is scheme://host:port, or scheme://id of an extension.
type origin struct {
	scheme string
	host   host
}

// String is the form that origins are compared in.
func (o origin) String() string {
	switch o.scheme {
	case "http":
		return "http://" + o.host.withPort("80")
	case "https":
		return "https://" + o.host.withPort("443")
	}
	return o.scheme + "://" + o.host.name
}

// parseOrigin reads an Origin header: http, https and chrome-extension, with
// nothing behind the host and port. "null" is not an origin.
func parseOrigin(s string) (origin, bool) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || rest == "" {
		return origin{}, false
	}
	scheme = strings.ToLower(scheme)
	switch scheme {
	case "chrome-extension":
		return origin{scheme, host{name: rest}}, IsExtensionID(rest)
	case "http", "https":
		h, ok := parseHost(rest)
		name, _, _ := strings.Cut(rest, ":")
		// "localhost." is another origin than "localhost" to a browser.
		return origin{scheme, h}, ok && !strings.HasSuffix(name, ".")
	}
	return origin{}, false
}

// IsExtensionID tells whether s has the form of a Chromium extension id.
func IsExtensionID(s string) bool {
	if len(s) != 32 {
		return false
	}
	for _, c := range []byte(s) {
		if c < 'a' || c > 'p' {
			return false
		}
	}
	return true
}

// judge looks at Origin and Sec-Fetch-Site. An absent Origin means nothing:
// extension pages send none on GET, and neither does a rebound name.
func (rules originRules) judge(r *http.Request, h host) originVerdict {
	if values, ok := r.Header["Origin"]; ok {
		if len(values) == 1 && rules.allow(values[0], r, h) && (isExtension(values[0]) || !redeems(r)) {
			return originAllowed
		}
		return originRefused
	}
	for _, site := range r.Header["Sec-Fetch-Site"] {
		// cross-site, same-site (another port on localhost), and whatever a
		// later browser may call it.
		if site != "none" && site != "same-origin" && !isNavigation(r) {
			return originRefused
		}
	}
	return originSilent
}

// allow tells whether the Origin header s is one of ours.
func (rules originRules) allow(s string, r *http.Request, h host) bool {
	if rules.any && s == "null" { // a page from a file has no other
		return true
	}
	o, ok := parseOrigin(s)
	if !ok {
		return false
	}
	if o.scheme == "chrome-extension" {
		return rules.extensions[o.host.name]
	}
	return rules.any || rules.web[o.String()] || isOwn(o, r, h)
}

// isOwn tells whether o is the shim's own origin: the loopback name it was
// called by and the port it listens on. A dev server that forwards to the
// shim with its own Host is not that.
func isOwn(o origin, r *http.Request, h host) bool {
	return o.scheme == "http" && h.loopback() && o.host.withPort("80") == h.withPort("80") &&
		o.host.withPort("80") == host{name: h.name, port: localPort(r)}.withPort("")
}

// redeems tells whether r is, or asks whether it may be, the request that
// turns a one-time code into the token. No web page may send that, not one of
// --origin nor the shim's own: a page that got hold of the code would get hold
// of the token.
func redeems(r *http.Request) bool {
	return routePath(r) == "/pair" && r.Method != http.MethodGet && r.Method != http.MethodHead
}

// isExtension tells whether an Origin header is that of an extension.
func isExtension(header string) bool {
	o, ok := parseOrigin(header)
	return ok && o.scheme == "chrome-extension"
}

// isNavigation tells whether the user goes to a page that is open to
// everyone, wherever the link was.
func isNavigation(r *http.Request) bool {
	path := routePath(r)
	if r.Method != http.MethodGet || (path != "/pair" && path != "/health") || r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return false
	}
	dest := r.Header.Get("Sec-Fetch-Dest")
	return dest == "" || dest == "document" // not a frame in somebody's page
}

// refuseOrigin is the refusal, with the flag that lets the origin in.
func refuseOrigin(v originVerdict, r *http.Request) error {
	if v != originRefused {
		return nil
	}
	header, ok := r.Header["Origin"]
	if !ok {
		return errors.Mark(errors.New("a page of another site may not call the shim"), errBadOrigin)
	}
	name := strings.Join(header, ", ")
	err := errors.Newf("the origin %.100q may not call the shim", name)
	if redeems(r) && !isExtension(name) {
		return errors.Mark(errors.WithHint(errors.Newf("the origin %.100q may not pair: only the Slide Write extension does that", name),
			"open the link in a browser that has the extension; slidewrite extension installs it"), errBadOrigin)
	}
	if o, parsed := parseOrigin(name); parsed && o.scheme == "chrome-extension" {
		err = errors.WithHintf(err, "start slidewrite with --allow-extension %s if that extension is yours", o.host.name)
	} else if parsed {
		err = errors.WithHintf(err, "start slidewrite with --origin %s if that page is yours", strings.ToLower(name))
	}
	return errors.Mark(err, errBadOrigin)
}

// WebOrigin spells a value of Options.Origins as a browser does: scheme, host
// and port, http or https; a slash at the end is forgiven. false: it is no
// such origin. The * for every origin is none either.
func WebOrigin(s string) (string, bool) {
	o, ok := parseWebOrigin(s)
	if !ok {
		return "", false
	}
	spelled := o.scheme + "://" + o.host.name
	if o.host.port != "" {
		spelled += ":" + o.host.port
	}
	return spelled, true
}

func parseWebOrigin(s string) (origin, bool) {
	o, ok := parseOrigin(strings.TrimSuffix(s, "/"))
	return o, ok && o.scheme != "chrome-extension"
}
