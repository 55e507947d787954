package server

import (
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestHostAllowed(t *testing.T) {
	rules := newHostRules(Options{
		Bind:       "192.168.1.5",
		AllowHosts: []string{"Shop.Example.com.", "*.dev.example.com", "10.0.0.7", "fe80::7", "tunnel.example:8443", "*"},
	})
	for header, want := range map[string]bool{
		"localhost": true, "localhost:4040": true, "LOCALHOST:4040": true, "localhost.": true, "localhost.:4040": true, "localhost:": true,
		"shop.localhost": true, "a.b.localhost:4040": true,
		"127.0.0.1": true, "127.0.0.1:4040": true, "127.255.3.4": true, "127.0.0.1.": true,
		"[::1]": true, "[::1]:4040": true, "[0:0:0:0:0:0:0:1]:4040": true, "[::ffff:127.0.0.1]:4040": true, "[::FFFF:7f00:1]": true,
		"192.168.1.5": true, "192.168.1.5:4040": true, "192.168.1.6": false,
		"shop.example.com": true, "shop.example.com:443": true, "SHOP.example.com": true, "other.example.com": false, "x.shop.example.com": false,
		"a.dev.example.com": true, "a.b.dev.example.com:1": true, "dev.example.com": false, "adev.example.com": false, ".dev.example.com": false,
		"10.0.0.7:80": true, "[fe80::7]": true, "tunnel.example": true, "tunnel.example:1": true,

		"": false, ".": false, ":4040": false, "evil.test": false, "evil.test:4040": false,
		"localhost.evil.test": false, "127.0.0.1.evil.test": false, "evillocalhost": false, ".localhost": false, "localhost..": false, "a..localhost": false,
		"localhost:x": false, "localhost:80:80": false, "localhost:-1": false, "localhost:99999": false, "localhost:+80": false,
		"user@localhost": false, "localhost/": false, "localhost#": false, "localhost?": false, "local host": false, "localhost\x00": false, "localhöst": false,
		"127.1": false, "2130706433": false, "0x7f.0.0.1": false, "0177.0.0.1": false, "127.0.0.01": false, "0.0.0.0": false, "128.0.0.1": false,
		"::1": false, "[::1": false, "[::1]x": false, "[::1]:x": false, "[::1%lo]": false, "[::]": false, "[::2]": false, "[127.0.0.1]": false, "[localhost]": false, "[::ffff:8.8.8.8]": false, "[]": false,
		strings.Repeat("a", 64) + ".localhost": false, strings.Repeat("a.", 130) + "localhost": false,
	} {
		h, ok := parseHost(header)
		if got := ok && rules.allow(h); got != want {
			t.Errorf("%q: got %v, want %v (parsed %+v, %v)", header, got, want, h, ok)
		}
	}
}

func TestHostBindAddresses(t *testing.T) {
	for _, c := range []struct {
		bind, header string
		want         bool
	}{
		{"", "localhost", true},
		{"127.0.0.1", "0.0.0.0", false},
		{"0.0.0.0", "0.0.0.0:4040", true},
		{"0.0.0.0", "192.168.1.5", false}, // which of its addresses is meant is said by --allow-host
		{"::", "[::]:4040", true},
		{"fe80::1", "[fe80::1]:4040", true},
		{"[fe80::1]", "[FE80:0::1]", true},
		{"box.lan", "BOX.lan:4040", true},
	} {
		h, ok := parseHost(c.header)
		if got := ok && newHostRules(Options{Bind: c.bind}).allow(h); got != c.want {
			t.Errorf("bind %q, Host %q: got %v", c.bind, c.header, got)
		}
	}
}

// Whatever the header is: what gets in is a loopback name, or named.
func FuzzHostAllowed(f *testing.F) {
	for _, s := range []string{"localhost", "LOCALHOST.:4040", "a.localhost:1", "127.0.0.1:80", "[::1]:4040", "[::ffff:127.0.0.1]", "evil.test", "localhost.evil.test",
		"user@localhost", "127.1", "[::1%lo]", "x.dev.example.com", "dev.example.com", "shop.example.com:443", "", ":", "[", "..", "\x00", "localhost:080"} {
		f.Add(s)
	}
	rules := newHostRules(Options{AllowHosts: []string{"shop.example.com", "*.dev.example.com"}})
	f.Fuzz(func(t *testing.T, header string) {
		h, ok := parseHost(header)
		if !ok {
			return
		}
		if again, ok := parseHost(h.withPort("1")); !ok || again.name != h.name || again.addr != h.addr {
			t.Fatalf("%q: %+v reads back as %+v, %v", header, h, again, ok)
		}
		if !rules.allow(h) {
			return
		}
		name := strings.Trim(h.name, "[]")
		addr, err := netip.ParseAddr(name)
		loopback := err == nil && addr.IsLoopback() || name == "localhost" || strings.HasSuffix(name, ".localhost")
		named := name == "shop.example.com" || strings.HasSuffix(name, ".dev.example.com")
		if !loopback && !named {
			t.Fatalf("%q got in as %+v", header, h)
		}
		if !strings.Contains(strings.ToLower(header), "localhost") && !strings.Contains(header, "127.") &&
			!strings.HasPrefix(header, "[") && !named {
			t.Fatalf("%q got in as %+v", header, h)
		}
	})
}

// Whatever the origin is: what gets in is spelled like one that was named.
func FuzzOrigin(f *testing.F) {
	for _, s := range []string{"http://localhost:5173", "HTTP://LOCALHOST:5173", "http://localhost:05173", "https://shop.example.com:443", "https://shop.example.com", "null", "*", "",
		"chrome-extension://" + ExtensionID, "chrome-extension://" + ExtensionID + "/", "http://localhost:5173/", "http://a@localhost:5173", "http://localhost.:5173", "http://localhost:5173#", "://", "http://"} {
		f.Add(s)
	}
	rules := newOriginRules(Options{Origins: []string{"http://localhost:5173", "https://shop.example.com"}})
	f.Fuzz(func(t *testing.T, header string) {
		r := httptest.NewRequest("GET", "http://localhost:4040/meta", nil)
		h, _ := parseHost("localhost:4040")
		r.Header["Origin"] = []string{header}
		if rules.judge(r, h) != originAllowed {
			return
		}
		o, ok := parseOrigin(header)
		if !ok {
			t.Fatalf("%q is allowed and no origin", header)
		}
		switch o.String() {
		case "http://localhost:5173", "https://shop.example.com:443", "chrome-extension://" + ExtensionID:
		default:
			t.Fatalf("%q is allowed as %s", header, o)
		}
		if strings.ContainsAny(header, "/@#? ") && strings.Count(header, "/") != 2 || strings.ContainsAny(header, "@#? \x00") {
			t.Fatalf("%q is allowed", header)
		}
	})
}
