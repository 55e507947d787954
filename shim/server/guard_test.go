package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/server"
)

// Everything is wrong at first, then one thing less in each row: the order of
// the checks is part of the contract.
func TestGuardOrder(t *testing.T) {
	s := start(t, func(o *server.Options) { o.Limits.Body = 100 })
	s.runs.startErr = &run.BusyError{RunID: "run-0", Prompt: "make it green"}
	big := strings.Repeat(" ", 101)
	for _, c := range []struct {
		name, host, token, origin, media, path, body string
		status                                       int
		code                                         string
	}{
		{"host", "evil.test", "wrong", "http://evil.test", "text/plain", "/nowhere", big, 403, "bad_host"},
		{"token", "localhost", "wrong", "http://evil.test", "text/plain", "/nowhere", big, 401, "unauthorized"},
		{"origin", "localhost", testToken, "http://evil.test", "text/plain", "/nowhere", big, 403, "bad_origin"},
		{"media", "localhost", testToken, "", "text/plain", "/nowhere", big, 415, "unsupported_media"},
		{"size", "localhost", testToken, "", "application/json", "/nowhere", big, 413, "too_large"},
		{"route", "localhost", testToken, "", "application/json", "/nowhere", "[]", 404, "not_found"},
		{"run", "localhost", testToken, "", "application/json", "/runs/nope/stop", "[]", 404, "not_found"},
		{"body", "localhost", testToken, "", "application/json", "/design", "[]", 400, "bad_request"},
		{"busy", "localhost", testToken, "", "application/json", "/design", `{"prompt":"x"}`, 409, "busy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := Do(t, s.URL, Call{Method: "POST", Path: c.path, Host: c.host, Body: c.body, Header: map[string]string{
				"Authorization": "Bearer " + c.token, "Origin": c.origin, "Content-Type": c.media}})
			wantFault(t, a, c.status, c.code)
		})
	}
}

// Who may call, by the headers that Chromium 156 was seen to send.
func TestGuardOrigins(t *testing.T) {
	s := start(t, func(o *server.Options) {
		o.Origins = []string{"http://localhost:5173", "https://shop.example.com/"}
		o.AllowExtensions = []string{otherExtension}
	})
	own := s.URL
	port := own[strings.LastIndex(own, ":"):]
	for _, c := range []struct {
		name, origin, site string
		allowed            bool // let in
		cors               bool // and may read the answer
	}{
		{"extension page, GET", "", "none", true, false},
		{"extension page, POST", "chrome-extension://" + server.ExtensionID, "none", true, true},
		{"extension without host permission", "chrome-extension://" + server.ExtensionID, "cross-site", true, true},
		{"allowed extension", "chrome-extension://" + otherExtension, "none", true, true},
		{"unknown extension", "chrome-extension://" + strings.Repeat("a", 32), "none", false, false},
		{"extension id in a web origin", "http://" + server.ExtensionID, "", false, false},
		{"extension of another browser", "moz-extension://" + server.ExtensionID, "none", false, false},
		{"app page", "http://localhost:5173", "same-site", true, true},
		{"app page, upper case", "HTTP://LOCALHOST:5173", "", true, true},
		{"app page, other port", "http://localhost:9999", "same-site", false, false},
		{"app page, other scheme", "https://localhost:5173", "cross-site", false, false},
		{"app page, other loopback name", "http://127.0.0.1:5173", "cross-site", false, false},
		{"app page, with a final dot", "http://localhost.:5173", "cross-site", false, false},
		{"app page, with a path", "http://localhost:5173/x", "same-site", false, false},
		{"app page, with a slash", "http://localhost:5173/", "same-site", false, false},
		{"app page, with credentials", "http://a@localhost:5173", "same-site", false, false},
		{"named with a slash, default port", "https://shop.example.com", "cross-site", true, true},
		{"named with a slash, port said", "https://shop.example.com:443", "cross-site", true, true},
		{"the shim's own page", own, "same-origin", true, true},
		{"the shim's own port by another name", "http://localhost" + port, "cross-site", false, false},
		{"null", "null", "cross-site", false, false},
		{"no origin at all", " ", "", false, false},
		{"page's GET", "", "same-site", false, false},
		{"page's GET to 127.0.0.1", "", "cross-site", false, false},
		{"command line", "", "", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := authorized("Sec-Fetch-Site", c.site)
			h["Origin"] = c.origin
			a := Do(t, s.URL, Call{Method: "GET", Path: "/meta", Header: h})
			if !c.allowed {
				wantFault(t, a, 403, "bad_origin")
			} else if a.Status != 200 {
				t.Errorf("got %d %s", a.Status, a.Body)
			}
			got, vary := a.Header.Get("Access-Control-Allow-Origin"), a.Header.Get("Vary")
			if c.cors != (got == c.origin && vary == "Origin") || !c.cors && got != "" {
				t.Errorf("Access-Control-Allow-Origin %q, Vary %q", got, vary)
			}
		})
	}
}

func TestGuardRefusalsNameTheFlag(t *testing.T) {
	s := start(t, nil)
	for _, c := range []struct{ host, origin, fix string }{
		{"Shop.Tunnel.Example.:443", "", "--allow-host shop.tunnel.example "},
		{"", "http://localhost:9999", "--origin http://localhost:9999 "},
		{"", "chrome-extension://" + otherExtension, "--allow-extension " + otherExtension},
	} {
		a := Do(t, s.URL, Call{Method: "GET", Path: "/meta", Host: c.host, Header: authorized("Origin", c.origin)})
		if a.Status != 403 || !strings.Contains(a.Fault.Fix, c.fix) {
			t.Errorf("%+v: got %d, fix %q", c, a.Status, a.Fault.Fix)
		}
	}
}

// A page that may call can read why it was refused.
func TestGuardErrorsCarryCORS(t *testing.T) {
	s := start(t, func(o *server.Options) { o.Origins = []string{"http://localhost:5173"} })
	a := Do(t, s.URL, Call{Method: "GET", Path: "/meta", Header: map[string]string{"Origin": "http://localhost:5173"}})
	wantFault(t, a, 401, "unauthorized")
	if got := a.Header.Get("Access-Control-Allow-Origin"); got != "http://localhost:5173" {
		t.Errorf("got %q", got)
	}
}

func TestGuardStarAllowsEveryWebOrigin(t *testing.T) {
	s := start(t, func(o *server.Options) { o.Origins = []string{"*"} })
	for origin, want := range map[string]int{
		"http://localhost:9999": 200, "https://anything.example": 200, "null": 200,
		"chrome-extension://" + otherExtension: 403, "file://": 403, "nonsense": 403,
	} {
		a := Do(t, s.URL, Call{Method: "GET", Path: "/meta", Header: authorized("Origin", origin, "Sec-Fetch-Site", "cross-site")})
		if a.Status != want {
			t.Errorf("%s: got %d", origin, a.Status)
		}
		if got := a.Header.Get("Access-Control-Allow-Origin"); (got == origin) != (want == 200) || got == "*" {
			t.Errorf("%s: allowed %q", origin, got)
		}
	}
}

// A dev server that forwards to the shim and keeps its own Host does not make
// its pages the shim's.
func TestGuardForwardedHostIsNotTheShimsOwn(t *testing.T) {
	s := start(t, func(o *server.Options) { o.AllowHosts = []string{"shop.example.com"} })
	a := Do(t, s.URL, Call{Method: "GET", Path: "/meta", Host: "localhost:5173", Header: authorized("Origin", "http://localhost:5173")})
	wantFault(t, a, 403, "bad_origin")
	port := s.URL[strings.LastIndex(s.URL, ":")+1:]
	a = Do(t, s.URL, Call{Method: "GET", Path: "/meta", Host: "shop.example.com:" + port, Header: authorized("Origin", "http://shop.example.com:"+port)})
	wantFault(t, a, 403, "bad_origin")
	a = Do(t, s.URL, Call{Method: "GET", Path: "/meta", Host: "localhost:" + port, Header: authorized("Origin", "http://localhost:"+port)})
	if a.Status != 200 {
		t.Errorf("the shim's own page: got %d %s", a.Status, a.Body)
	}
}

func TestGuardNavigations(t *testing.T) {
	s := start(t, nil)
	for _, c := range []struct {
		path, method, mode, dest string
		refused                  bool
	}{
		{"/health", "GET", "navigate", "document", false},
		{"/pair", "GET", "navigate", "document", false},
		{"/health", "GET", "navigate", "iframe", true},
		{"/health", "GET", "no-cors", "empty", true},
		{"/pair", "POST", "navigate", "document", true},
		{"/meta", "GET", "navigate", "document", true},
		{"/%68ealth", "GET", "navigate", "document", true},
	} {
		a := Do(t, s.URL, Call{Method: c.method, Path: c.path, Header: authorized("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", c.mode, "Sec-Fetch-Dest", c.dest)})
		if refused := a.Fault.Code == "bad_origin"; refused != c.refused {
			t.Errorf("%+v: got %d %s", c, a.Status, a.Body)
		}
	}
}

func TestGuardRepeatedHeaders(t *testing.T) {
	s := start(t, func(o *server.Options) { o.Origins = []string{"http://localhost:5173"} })
	for _, c := range []struct {
		name, header, first, second string
		status                      int
	}{
		{"two tokens", "Authorization", "Bearer " + testToken, "Bearer x", 401},
		{"two origins", "Origin", "http://localhost:5173", "http://evil.test", 403},
		{"two sites", "Sec-Fetch-Site", "none", "cross-site", 403},
		{"two media types", "Content-Type", "application/json", "text/plain", 415},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := Call{Method: "POST", Path: "/design", Header: authorized(), Body: `{"prompt":"x"}`}.Request(t, s.URL)
			req.Header[c.header] = []string{c.first, c.second}
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != c.status {
				t.Errorf("got %s", resp.Status)
			}
		})
	}
}

func TestGuardCompressedBody(t *testing.T) {
	s := start(t, nil)
	a := Do(t, s.URL, Call{Method: "POST", Path: "/design", Header: authorized("Content-Encoding", "gzip"), Body: "\x1f\x8b"})
	wantFault(t, a, 415, "unsupported_media")
}

func TestGuardPreflight(t *testing.T) {
	s := start(t, nil)
	ask := authorized("Origin", "chrome-extension://"+server.ExtensionID, "Access-Control-Request-Method", "POST", "Access-Control-Request-Private-Network", "true")
	ask["Authorization"] = "" // a preflight never has it
	for _, path := range []string{"/design", "/runs/x/undo", "/nowhere"} {
		a := Do(t, s.URL, Call{Method: "OPTIONS", Path: path, Header: ask})
		if a.Status != 204 || a.Header.Get("Access-Control-Allow-Private-Network") != "true" {
			t.Errorf("%s: got %d %v", path, a.Status, a.Header)
		}
	}
	a := Do(t, s.URL, Call{Method: "OPTIONS", Path: "/design"})
	if a.Status != 204 || a.Header.Get("Access-Control-Allow-Methods") != "" {
		t.Errorf("without an origin: got %d %v", a.Status, a.Header)
	}
	a = Do(t, s.URL, Call{Method: "OPTIONS", Path: "/design", Host: "evil.test", Header: ask})
	wantFault(t, a, 403, "bad_host")
	if a.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("a foreign host got an allow header")
	}
}

// In a recorder there is no listener: nothing is the shim's own origin, and
// deadlines that cannot be set are no error.
func TestGuardWithoutAConnection(t *testing.T) {
	h := server.New(server.Options{Runs: newShelf(), Token: testToken})
	for origin, want := range map[string]int{"": 200, "http://example.com": 403} {
		rec := httptest.NewRecorder()
		req := httptest.NewRequest("POST", "http://localhost/design", strings.NewReader(`{"prompt":"x"}`))
		req.Header.Set("Authorization", "Bearer "+testToken)
		req.Header.Set("Content-Type", "application/json")
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		h.ServeHTTP(rec, req)
		if rec.Code != want {
			t.Errorf("%q: got %d %s", origin, rec.Code, rec.Body)
		}
	}
}

// The command line asks these before it starts a server, so that what it takes
// is what the guard can match.
func TestNamesOfTheAllowLists(t *testing.T) {
	extension := func(s string) (string, bool) { return s, server.IsExtensionID(s) }
	for _, c := range []struct {
		kind  string
		judge func(string) (string, bool)
		value string
		want  string // "" = refused
	}{
		{"host", server.HostPattern, "shop.example.com", "shop.example.com"},
		{"host", server.HostPattern, "Shop.Example.com.", "shop.example.com"},
		{"host", server.HostPattern, "*.dev.Example.com", "*.dev.example.com"},
		{"host", server.HostPattern, "dev_box", "dev_box"},
		{"host", server.HostPattern, "192.168.1.5", "192.168.1.5"},
		{"host", server.HostPattern, "fe80::1", "[fe80::1]"},
		{"host", server.HostPattern, "[::1]", "[::1]"},
		{"host", server.HostPattern, "name:8443", "name"},
		{"host", server.HostPattern, "http://shop", ""},
		{"host", server.HostPattern, "a..b", ""},
		{"host", server.HostPattern, "*", ""},
		{"host", server.HostPattern, "a.*.b", ""},
		{"host", server.HostPattern, "", ""},
		{"host", server.HostPattern, "*.", ""},
		{"host", server.HostPattern, "*.[::1]", ""},
		{"origin", server.WebOrigin, "HTTP://LocalHost:5173/", "http://localhost:5173"},
		{"origin", server.WebOrigin, "https://a.example/", "https://a.example"},
		{"origin", server.WebOrigin, "http://dev_box:3000", "http://dev_box:3000"},
		{"origin", server.WebOrigin, "http://[::1]:3000", "http://[::1]:3000"},
		{"origin", server.WebOrigin, "http://a..b", ""},
		{"origin", server.WebOrigin, "http://localhost:5173/app", ""},
		{"origin", server.WebOrigin, "http://localhost:70000", ""},
		{"origin", server.WebOrigin, "http://user@localhost", ""},
		{"origin", server.WebOrigin, "localhost:5173", ""},
		{"origin", server.WebOrigin, "null", ""},
		{"origin", server.WebOrigin, "*", ""},
		{"origin", server.WebOrigin, "chrome-extension://" + otherExtension, ""},
		{"extension", extension, otherExtension, otherExtension},
		{"extension", extension, "abc", ""},
		{"extension", extension, strings.Repeat("z", 32), ""},
	} {
		if got, ok := c.judge(c.value); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s %q: got %q, %v, want %q", c.kind, c.value, got, ok, c.want)
		}
	}
}
