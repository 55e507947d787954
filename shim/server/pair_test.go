package server_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim/pair"
	"github.com/slidewrite/slidewrite/shim/server"
)

// ourExtension is the Origin of the extension's worker and pages.
const ourExtension = "chrome-extension://" + server.ExtensionID

// redeem is what the extension sends, as Chromium 156 was seen to.
func redeem(code string, header ...string) Call {
	h := map[string]string{"Content-Type": "application/json", "Origin": ourExtension, "Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "cors"}
	for i := 0; i < len(header); i += 2 {
		h[header[i]] = header[i+1]
	}
	return Call{Method: "POST", Path: "/pair", Header: h, Body: `{"code":"` + code + `"}`}
}

// newLink asks for a fresh link and takes it apart.
func newLink(t *testing.T, s *shim, host string, header ...string) (base, code string) {
	t.Helper()
	a := Do(t, s.URL, Call{Method: "POST", Path: "/pair/new", Host: host, Header: authorized(header...), Body: "{}"})
	var reply struct{ URL string }
	if err := json.Unmarshal([]byte(a.Body), &reply); err != nil || a.Status != 200 {
		t.Fatalf("%d %s: %v", a.Status, a.Body, err)
	}
	base, code, ok := strings.Cut(reply.URL, "/pair#")
	if !ok || !regexp.MustCompile(`^[A-Za-z0-9_-]{22}$`).MatchString(code) {
		t.Fatalf("the link is %q", reply.URL)
	}
	return base, code
}

func TestPairing(t *testing.T) {
	s := start(t, func(o *server.Options) {
		o.Origins = []string{"http://localhost:5173/", "*", "HTTPS://Shop.Example.com"}
	})
	base, code := newLink(t, s, "")
	if base != s.URL {
		t.Errorf("the link is at %s, the shim at %s", base, s.URL)
	}
	a := Do(t, base, redeem(code))
	want := `{"token":"` + testToken + `","origins":["http://localhost:5173","https://shop.example.com"],"project":"shop"}`
	if a.Status != 200 || strings.TrimSpace(a.Body) != want {
		t.Fatalf("got  %d %s\nwant %s", a.Status, a.Body, want)
	}
	if got := a.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control: %q", got)
	}
	if got := a.Header.Get("Access-Control-Allow-Origin"); got != ourExtension {
		t.Errorf("Access-Control-Allow-Origin: %q", got)
	}

	a = Do(t, base, redeem(code))
	wantFault(t, a, 403, "pair_refused")
	if a.Fault.Fix != "slidewrite pair" || !strings.Contains(a.Fault.Error, "used already") || strings.Contains(a.Body, code) || strings.Contains(a.Body, testToken) {
		t.Errorf("the second time: %s", a.Body)
	}
}

// No origin of the app is known: an empty list, not null.
func TestPairingWithoutAnOrigin(t *testing.T) {
	s := start(t, nil)
	_, code := newLink(t, s, "")
	if a := Do(t, s.URL, redeem(code)); !strings.Contains(a.Body, `"origins":[]`) {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
}

func TestPairingCodeExpires(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	codes := pair.NewCodes(func() time.Time { return now })
	s := start(t, func(o *server.Options) { o.Pair = codes })
	code, other := codes.New(), codes.New()
	now = now.Add(10*time.Minute - time.Second)
	if a := Do(t, s.URL, redeem(code)); a.Status != 200 {
		t.Errorf("after nine minutes and more: %d %s", a.Status, a.Body)
	}
	now = now.Add(time.Second)
	a := Do(t, s.URL, redeem(other))
	wantFault(t, a, 403, "pair_refused")
	if a.Fault.Fix != "slidewrite pair" || !strings.Contains(a.Fault.Error, "expired") {
		t.Errorf("after ten: %s", a.Body)
	}
}

// Who may turn a code into the token: our extension, one that was allowed,
// and what sends no Origin (no page of a website can). A website cannot, and
// neither can a page of --origin or of the shim itself; the code stays good.
func TestPairingIsForTheExtensionOnly(t *testing.T) {
	for _, star := range []bool{false, true} {
		s := start(t, func(o *server.Options) {
			o.Origins, o.AllowExtensions = []string{"http://localhost:5173"}, []string{otherExtension}
			if star {
				o.Origins = append(o.Origins, "*")
			}
		})
		_, code := newLink(t, s, "")
		for _, c := range []struct{ name, origin, site string }{
			{"website", "https://evil.test", "cross-site"},
			{"other dev server", "http://localhost:9999", "same-site"},
			{"the app", "http://localhost:5173", "same-site"},
			{"content script in the app", "http://localhost:5173", "cross-site"},
			{"the pairing page", s.URL, "same-origin"},
			{"a file", "null", "cross-site"},
			{"unknown extension", "chrome-extension://" + strings.Repeat("a", 32), "none"},
			{"no Origin, from a page", "", "cross-site"},
			{"no Origin, from another port", "", "same-site"},
			{"a form on another page", "", "cross-site"},
		} {
			h := []string{"Origin", c.origin, "Sec-Fetch-Site", c.site}
			a := Do(t, s.URL, redeem(code, h...))
			wantFault(t, a, 403, "bad_origin")
			preflight := Do(t, s.URL, Call{Method: "OPTIONS", Path: "/pair", Header: map[string]string{"Origin": c.origin, "Sec-Fetch-Site": c.site,
				"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}})
			wantFault(t, preflight, 403, "bad_origin")
			for _, answer := range []Answer{a, preflight} {
				if got := answer.Header.Get("Access-Control-Allow-Origin"); got != "" || strings.Contains(answer.Body, testToken) {
					t.Errorf("%s: allowed %q, %s", c.name, got, answer.Body)
				}
			}
			// With the token it is no different.
			wantFault(t, Do(t, s.URL, redeem(code, append(h, "Authorization", "Bearer "+testToken)...)), 403, "bad_origin")
		}
		if a := Do(t, s.URL, redeem(code, "Origin", "chrome-extension://"+otherExtension)); a.Status != 200 {
			t.Errorf("an allowed extension: %d %s", a.Status, a.Body)
		}
		_, code = newLink(t, s, "")
		if a := Do(t, s.URL, redeem(code, "Origin", "", "Sec-Fetch-Site", "", "Sec-Fetch-Mode", "")); a.Status != 200 {
			t.Errorf("a program without an Origin: %d %s", a.Status, a.Body)
		}
	}
}

// The page of --origin is told why, in words that do not send it round in a
// circle.
func TestPairingRefusalOfAPage(t *testing.T) {
	s := start(t, func(o *server.Options) { o.Origins = []string{"http://localhost:5173"} })
	a := Do(t, s.URL, redeem("x", "Origin", "http://localhost:5173"))
	if !strings.Contains(a.Fault.Error, "only the Slide Write extension") || strings.Contains(a.Fault.Fix, "--origin") {
		t.Errorf("got %s", a.Body)
	}
	a = Do(t, s.URL, redeem("x", "Origin", "chrome-extension://"+otherExtension))
	if !strings.Contains(a.Fault.Fix, "--allow-extension "+otherExtension) {
		t.Errorf("got %s", a.Body)
	}
}

// The checks before it hold for pairing, too: S1 (Host), S4 (content type),
// S8 (size; a code is short, and who sends it has shown no token).
func TestPairingGuards(t *testing.T) {
	s := start(t, nil)
	_, code := newLink(t, s, "")
	rebound := redeem(code, "Origin", "", "Sec-Fetch-Site", "")
	rebound.Host = "evil.test:4040"
	wantFault(t, Do(t, s.URL, rebound), 403, "bad_host")
	page := Call{Method: "GET", Path: "/pair", Host: "evil.test"}
	wantFault(t, Do(t, s.URL, page), 403, "bad_host")
	for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", ""} {
		wantFault(t, Do(t, s.URL, redeem(code, "Content-Type", media)), 415, "unsupported_media")
	}
	long := redeem(strings.Repeat("A", 4<<10))
	a := Do(t, s.URL, long)
	wantFault(t, a, 413, "too_large")
	if !strings.Contains(a.Fault.Fix, `{"code":"…"}`) {
		t.Errorf("fix: %q", a.Fault.Fix)
	}
	for _, c := range []Call{
		{Method: "POST", Path: "/pair/new", Header: map[string]string{"Content-Type": "application/json"}, Body: "{}"},
		{Method: "POST", Path: "/pair/new", Header: map[string]string{"Content-Type": "application/json", "Origin": ourExtension}, Body: `{"code":"` + code + `"}`},
		{Method: "GET", Path: "/pair/new"},
		{Method: "GET", Path: "/pair/"},
		{Method: "PUT", Path: "/pair", Header: map[string]string{"Content-Type": "application/json", "Origin": ourExtension}, Body: `{"code":"` + code + `"}`},
	} {
		wantFault(t, Do(t, s.URL, c), 401, "unauthorized")
	}
	if a := Do(t, s.URL, redeem(code)); a.Status != 200 {
		t.Errorf("a refused request used the code up: %d %s", a.Status, a.Body)
	}
}

// S8: a body that says that it is long is refused unread, one that does not
// say so where it is too long, and neither is waited for.
func TestPairingBodyIsBounded(t *testing.T) {
	s := start(t, func(o *server.Options) { o.Limits.BodyIdle = 300 * time.Millisecond })
	head := "POST /pair HTTP/1.1\nHost: localhost\nContent-Type: application/json\nOrigin: " + ourExtension + "\n"

	w := Dial(t, s.URL)
	w.Say(head + "Content-Length: 4097\n\n")
	wantFault(t, w.Hear(), 413, "too_large")
	w.Gone()

	w = Dial(t, s.URL)
	w.Say(head + "Transfer-Encoding: chunked\n\n1001\n" + strings.Repeat(" ", 0x1001) + "\n")
	a := w.Hear()
	wantFault(t, a, 413, "too_large")
	if !strings.Contains(a.Fault.Fix, `{"code":"…"}`) {
		t.Errorf("fix: %q", a.Fault.Fix)
	}
	w.Gone()

	// A byte now and then does not keep the connection.
	w = Dial(t, s.URL)
	w.Say(head + "Content-Length: 4000\n\n{")
	answered := make(chan struct{})
	go func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-answered:
				return
			case <-tick.C:
				_, _ = w.Write([]byte(" "))
			}
		}
	}()
	wantFault(t, w.Hear(), 408, "bad_request")
	close(answered)
	w.Gone()
}

func TestPairingBodies(t *testing.T) {
	s := start(t, nil)
	for body, want := range map[string]string{
		"":                 "body must be a JSON object",
		"nonsense":         "body must be a JSON object",
		`["code"]`:         "body must be a JSON object",
		`"code"`:           "body must be a JSON object",
		`{"code":"x"} {}`:  "body must be a JSON object",
		`null`:             "code is missing",
		`{}`:               "code is missing",
		`{"code":null}`:    "code is missing",
		`{"code":""}`:      "code is missing",
		`{"code":7}`:       "code must be a string",
		`{"code":["x"]}`:   "code must be a string",
		`{"other":"code"}`: "code is missing",
	} {
		c := redeem("")
		c.Body = body
		a := Do(t, s.URL, c)
		wantFault(t, a, 400, "bad_request")
		if a.Fault.Error != want || !strings.Contains(a.Fault.Fix, `{"code":"…"}`) {
			t.Errorf("%s: got %s, want %s", body, a.Body, want)
		}
	}
	for _, code := range []string{"x", strings.Repeat("A", 22), strings.Repeat("A", 2000), "../../etc/passwd", `\u0000`, testToken} {
		a := Do(t, s.URL, redeem(code))
		wantFault(t, a, 403, "pair_refused")
		if a.Fault.Fix != "slidewrite pair" || len(code) > 1 && strings.Contains(a.Body, code) {
			t.Errorf("%s: %s", code, a.Body)
		}
	}
}

// A shim that lets nobody in hands nothing out.
func TestPairingWithoutAToken(t *testing.T) {
	codes := pair.NewCodes(nil)
	s := start(t, func(o *server.Options) { o.Token, o.Pair = "", codes })
	wantFault(t, Do(t, s.URL, redeem(codes.New())), 403, "pair_refused")
}

// The link is at the address that was called: that one works from there.
func TestPairingLinkAddress(t *testing.T) {
	s := start(t, func(o *server.Options) {
		o.Bind, o.AllowHosts = "192.168.1.5", []string{"shop.example.com", "*.dev.example.com"}
	})
	port := s.URL[strings.LastIndex(s.URL, ":"):]
	for _, c := range []struct{ host, proto, want string }{
		{"127.0.0.1" + port, "", "http://127.0.0.1" + port},
		{"localhost" + port, "", "http://localhost" + port},
		{"LOCALHOST.:5050", "", "http://localhost:5050"}, // a port forward
		{"[::1]:4040", "", "http://[::1]:4040"},
		{"shop.localhost:4040", "", "http://shop.localhost:4040"},
		{"192.168.1.5:4040", "", "http://192.168.1.5:4040"},
		{"shop.example.com", "https", "https://shop.example.com"}, // a tunnel
		{"a.dev.example.com:8443", "https", "https://a.dev.example.com:8443"},
		{"shop.example.com", "javascript", "http://shop.example.com"},
	} {
		if base, _ := newLink(t, s, c.host, "X-Forwarded-Proto", c.proto); base != c.want {
			t.Errorf("%s %s: got %s, want %s", c.host, c.proto, base, c.want)
		}
	}
	wantFault(t, Do(t, s.URL, Call{Method: "POST", Path: "/pair/new", Host: "evil.test", Header: authorized(), Body: "{}"}), 403, "bad_host")
}

// Neither a code nor the token is logged, whatever happens to it.
func TestPairingIsNotLogged(t *testing.T) {
	var log bytes.Buffer
	s := start(t, func(o *server.Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	_, code := newLink(t, s, "")
	wrong := strings.Repeat("B", 22)
	for _, c := range []string{wrong, code, code} {
		Do(t, s.URL, redeem(c))
	}
	Do(t, s.URL, Call{Method: "GET", Path: "/pair?code=" + wrong})
	for _, secret := range []string{code, wrong, testToken} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("logged: %s", log.String())
		}
	}
}

// The page is there for who comes by a link, with or without the token, and
// not for a frame or a script of another site.
func TestPairPage(t *testing.T) {
	s := start(t, nil)
	a := Do(t, s.URL, Call{Method: "GET", Path: "/pair", Header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}})
	if a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		"X-Content-Type-Options": "nosniff", "Access-Control-Allow-Origin": "", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	for _, said := range []string{`<meta name="slidewrite-pair" content="1">`, "slidewrite extension", "chrome://extensions", "Developer mode", "Load unpacked", "slidewrite pair", `lang="en"`, "width=device-width"} {
		if !strings.Contains(a.Body, said) {
			t.Errorf("the page does not have %q", said)
		}
	}
	for _, outcome := range []string{"asking", "1", "later", "refused", "none"} {
		if !strings.Contains(a.Body, `html[data-slidewrite-paired="`+outcome+`"]`) {
			t.Errorf("the page has no word for %q", outcome)
		}
	}
	// Nothing of this shim, no script, nothing from elsewhere.
	for _, never := range []string{"<script", "javascript:", "http://", "https://", "style=", "onclick", "url(", "@import", testToken, "/repos", s.URL} {
		if strings.Contains(a.Body, never) {
			t.Errorf("the page has %q", never)
		}
	}
	for _, h := range []map[string]string{
		{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
		{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
		{"Origin": "http://evil.test", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"},
	} {
		wantFault(t, Do(t, s.URL, Call{Method: "GET", Path: "/pair", Header: h}), 403, "bad_origin")
	}
}

// The policy names the page's own style and lets nothing else in.
func TestPairPagePolicy(t *testing.T) {
	s := start(t, nil)
	a := Do(t, s.URL, Call{Method: "GET", Path: "/pair"})
	styles := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindAllStringSubmatch(a.Body, -1)
	if len(styles) != 1 {
		t.Fatalf("%d styles", len(styles))
	}
	sum := sha256.Sum256([]byte(styles[0][1]))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	if got := a.Header.Get("Content-Security-Policy"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if strings.Contains(a.Body, "\r") {
		t.Error("a browser reads CR LF as LF, and hashes that")
	}
}

// Whatever is sent, by whomever: the token comes back for a code of ours, sent
// by nothing that is a web page, once, and for nothing else.
func FuzzPairRequest(f *testing.F) {
	const good = "GOOD" // stands for a code of ours
	for _, s := range []struct{ method, path, host, origin, site, media, body string }{
		{"POST", "/pair", "localhost", ourExtension, "none", "application/json", `{"code":"GOOD"}`},
		{"POST", "/pair", "127.0.0.1:4040", "", "", "application/json; charset=utf-8", `{"code":"GOOD","more":1}`},
		{"POST", "/pair", "localhost", "http://localhost:5173", "same-site", "application/json", `{"code":"GOOD"}`},
		{"POST", "/pair", "localhost", "null", "cross-site", "application/json", `{"code":"GOOD"}`},
		{"POST", "/pair", "evil.test", "", "", "application/json", `{"code":"GOOD"}`},
		{"POST", "/pair/", "localhost", ourExtension, "none", "application/json", `{"code":"GOOD"}`},
		{"POST", "/%70air", "localhost", ourExtension, "none", "application/json", `{"code":"GOOD"}`},
		{"POST", "//pair", "localhost", "", "", "application/json", `{"code":"GOOD"}`},
		{"POST", "/pair?code=GOOD", "localhost", "", "", "", ``},
		{"GET", "/pair?code=GOOD", "localhost", "", "", "application/json", `{"code":"GOOD"}`},
		{"POST", "/pair/new", "localhost", ourExtension, "none", "application/json", `{"code":"GOOD"}`},
		{"POST", "/pair", "localhost", ourExtension, "none", "text/plain", `{"code":"GOOD"}`},
		{"POST", "/pair", "localhost", ourExtension, "none", "application/json", `{"CODE":"GOOD","code":"x"}`},
		{"POST", "/pair", "localhost", ourExtension, "none", "application/json", `{"code":["GOOD"]}`},
		{"OPTIONS", "/pair", "localhost", ourExtension, "none", "application/json", `{"code":"GOOD"}`},
	} {
		f.Add(s.method, s.path, s.host, s.origin, s.site, s.media, s.body)
	}
	codes := pair.NewCodes(nil)
	h := server.New(server.Options{Runs: newShelf(), Token: testToken, Pair: codes, Project: "shop", Origins: []string{"http://localhost:5173", "*"}})
	f.Fuzz(func(t *testing.T, method, path, host, origin, site, media, body string) {
		ours := strings.Contains(body, good)
		req, err := http.NewRequest(method, "http://localhost", nil)
		if err != nil {
			t.Skip("no method")
		}
		if req.URL, err = url.ParseRequestURI(path); err != nil {
			t.Skip("no path")
		}
		req.Host = host
		for name, value := range map[string]string{"Origin": origin, "Sec-Fetch-Site": site, "Content-Type": media} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		body = strings.ReplaceAll(body, good, codes.New())
		for try := range 2 {
			req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, req)
			if !strings.Contains(rec.Body.String(), testToken) {
				continue
			}
			fromUs := origin == "" || strings.EqualFold(origin, ourExtension)
			if rec.Code != 200 || method != "POST" || req.URL.EscapedPath() != "/pair" || !fromUs || !ours || try == 1 ||
				site != "" && origin == "" && site != "none" && site != "same-origin" {
				t.Errorf("try %d: the token was handed out: %s %s, Host %q, Origin %q, Sec-Fetch-Site %q, %q, %q: %d", try, method, path, host, origin, site, media, body, rec.Code)
			}
		}
	})
}
