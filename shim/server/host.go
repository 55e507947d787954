package server

import (
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors"
)

// host is a Host header, or the host part of an origin, taken apart.
type host struct {
	name string     // lower case, without a final dot; an address in its canonical form
	addr netip.Addr // valid when name is an address; IPv4 in IPv6 is unwrapped
	port string     // digits, "" = the scheme's own
}

// parseHost takes name, name:port, 127.0.0.1:port and [::1]:port apart. What
// a browser would never send (credentials, an IPv6 zone, a bare IPv6 address,
// IPv4 in fewer than four numbers) is not taken.
func parseHost(s string) (host, bool) {
	if strings.HasPrefix(s, "[") {
		return parseIPv6Host(s)
	}
	name, port, ok := cutPort(s)
	if !ok {
		return host{}, false
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if !isName(name) {
		return host{}, false
	}
	h := host{name: name, port: port}
	if addr, err := netip.ParseAddr(name); err == nil {
		h.addr = addr
	}
	return h, true
}

func parseIPv6Host(s string) (host, bool) {
	inner, rest, ok := strings.Cut(s[1:], "]")
	if !ok || (rest != "" && rest[0] != ':') {
		return host{}, false
	}
	_, port, ok := cutPort(rest)
	addr, err := netip.ParseAddr(inner)
	if !ok || err != nil || !addr.Is6() || addr.Zone() != "" {
		return host{}, false
	}
	addr = addr.Unmap()
	name := addr.String()
	if addr.Is6() {
		name = "[" + name + "]"
	}
	return host{name: name, addr: addr, port: port}, true
}

// cutPort splits name:port; the port may be missing or empty.
func cutPort(s string) (name, port string, ok bool) {
	name, port, _ = strings.Cut(s, ":")
	if port == "" {
		return name, "", true
	}
	for _, c := range []byte(port) {
		if c < '0' || c > '9' {
			return "", "", false
		}
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return name, strconv.FormatUint(n, 10), err == nil
}

// isName tells whether s, in lower case, can be a host name.
func isName(s string) bool {
	if len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for _, c := range []byte(label) {
			if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
				return false
			}
		}
	}
	return true
}

// loopback tells whether the name can only mean this machine.
func (h host) loopback() bool {
	if h.addr.IsValid() {
		return h.addr.IsLoopback()
	}
	return h.name == "localhost" || strings.HasSuffix(h.name, ".localhost")
}

// withPort is name:port for a scheme whose own port is given.
func (h host) withPort(own string) string {
	if h.port == "" {
		return h.name + ":" + own
	}
	return h.name + ":" + h.port
}

// hostRules is the allow-list that DNS rebinding fails on: a page of
// evil.test that makes its name point to 127.0.0.1 still sends its own name.
type hostRules struct {
	exact    map[string]bool // names, any port
	suffixes []string        // ".dev.example.com"
}

func newHostRules(o Options) hostRules {
	rules := hostRules{exact: map[string]bool{}}
	for _, pattern := range o.AllowHosts {
		name, wild, ok := parseHostPattern(pattern)
		switch {
		case !ok: // matches nothing; who takes the flag has told
		case wild:
			rules.suffixes = append(rules.suffixes, "."+name)
		default:
			rules.exact[name] = true
		}
	}
	if name, ok := bindName(o.Bind); ok {
		rules.exact[name] = true
	}
	return rules
}

// bindName is the name of the address listened on; an IPv6 address may stand
// without brackets there.
func bindName(bind string) (string, bool) {
	if strings.Count(bind, ":") > 1 && !strings.HasPrefix(bind, "[") {
		bind = "[" + bind + "]"
	}
	h, ok := parseHost(bind)
	return h.name, ok
}

// allow tells whether the shim answers to h. The port does not matter: a
// tunnel or a port forward has its own.
func (r hostRules) allow(h host) bool {
	if h.loopback() || r.exact[h.name] {
		return true
	}
	for _, suffix := range r.suffixes {
		if len(h.name) > len(suffix) && strings.HasSuffix(h.name, suffix) && !h.addr.IsValid() {
			return true
		}
	}
	return false
}

// HostPattern spells a value of Options.AllowHosts the way it is compared: a
// name or an address, or *.suffix for every name below suffix. A port is
// allowed and means nothing. false: it can match no host.
func HostPattern(s string) (string, bool) {
	name, wild, ok := parseHostPattern(s)
	if ok && wild {
		name = "*." + name
	}
	return name, ok
}

func parseHostPattern(pattern string) (name string, wild, ok bool) {
	rest, wild := strings.CutPrefix(pattern, "*.")
	name, ok = bindName(rest)
	if !ok && !wild {
		h, parsed := parseHost(rest)
		name, ok = h.name, parsed
	}
	return name, wild, ok && !(wild && strings.HasPrefix(name, "["))
}

// badHost is the refusal, with the flag that lets the name in.
func badHost(header string, h host) error {
	err := errors.Newf("the shim does not answer to the host %.100q", header)
	if h.name != "" {
		err = errors.WithHintf(err, "start slidewrite with --allow-host %s if that name is yours", h.name)
	} else {
		err = errors.WithHint(err, "call the shim at 127.0.0.1 or localhost")
	}
	return errors.Mark(err, errBadHost)
}

// localPort is the port this request came in at, "" when unknown.
func localPort(r *http.Request) string {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(interface{ AddrPort() netip.AddrPort })
	if !ok {
		return ""
	}
	return strconv.Itoa(int(addr.AddrPort().Port()))
}
