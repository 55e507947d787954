package servertest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/server"
)

// Target is a running shim that bad input is tried on.
type Target struct {
	URL, Token string
	Streams    int    // event streams it lets be open at once
	Ended      string // id of a run that has ended
	Conflict   string // id of a run whose undo meets later edits of a.css; "" skips its rows
	Gone       string // id of a run whose snapshots are gone; "" skips its rows
	// Hold starts a run that goes on, and holds the repository, until release
	// is called.
	Hold func(t *testing.T) (id string, release func())
}

// badInput is one sentence of the specification that says what bad input
// gets, and the input.
type badInput struct {
	quote string
	name  string // which bad input, where a sentence has several rows
	Call
	raw  string // sent as it is, instead of the call
	want int    // status
	code string // of a refusal
	// check looks at the answer further.
	check func(t *testing.T, a Answer)
	// before prepares the target and returns what undoes that.
	before func(at Target, t *testing.T) func()
	spend  bool // the body is a code that was used already
}

// The sentences of the HTTP contract. Every request carries the token and the
// right content type unless its row says otherwise.
func badHTTP(at Target) []badInput {
	const (
		refused   = "Everything that can be refused is refused before the first byte of a stream: 403 (Host, below), 401 (token), 403 (Origin / Sec-Fetch-Site), 415 and 413 (body), 404 (no repo for this host, unknown id), 400 (body), 409 (busy)."
		hosts     = "Host (403 bad_host …) must be a loopback name (localhost, *.localhost, 127.0.0.0/8, [::1]), the --bind address, or match --allow-host … Otherwise 403 before the body is read, with the flag to pass as fix."
		tokens    = "Token in Authorization: Bearer only; a token in a URL is ignored."
		origins   = "Origin, when present, must be chrome-extension://<our id> …, one of --origin, or the shim's own."
		sites     = "Sec-Fetch-Site: cross-site and same-site (another port on localhost) are refused unless the Origin is one of those; navigations to GET /pair and /health are exempt. Violations are 403 even with a valid token."
		cors      = "CORS headers are sent only for allowed origins"
		media     = "POST bodies must be application/json (415 otherwise)"
		size      = "at most 64 MiB (413 before buffering)"
		decoded   = "decoded with clear errors (400 naming the field: not an object, wrong type, no prompt)"
		silence   = "A body that stops arriving for 10 s times out and holds no lock."
		odd       = "Odd request lines (GET //, %zz) are 400/404, never a crash."
		lines     = "Error bodies are {\"error\":\"what happened\",\"code\":\"machine_word\",\"fix\":\"command or action\"}"
		unsupport = "an unknown or disabled provider answers a stream with error unsupported and done"
		attach    = "re-attach: replays the run's events after Last-Event-ID (or ?after=N), then follows live"
		undo      = "take the run's change back; 409 with the conflicting files if it cannot be done cleanly, and then nothing is touched"
		history   = "unknown, foreign or malformed id → 404"
		streams   = "At most 256 streams (503 too_many_streams)."
		pairing   = "POST /pair … {code} → {token, origins, project} once, within ten minutes, else 403"
		freshLink = "POST /pair/new … a fresh pairing link (token)"
		pairPages = "the worker asks the user to confirm in extension UI …, never in the page, posts the code to that same origin's /pair"
	)
	ext := "chrome-extension://" + server.ExtensionID
	design := func(body string) Call { return at.post("/design", body) }
	fine := `{"prompt":"make it green"}`
	return []badInput{
		{quote: refused, name: "host", Call: design(fine).atHost("evil.test"), want: 403, code: "bad_host"},
		{quote: refused, name: "token", Call: design(fine).with("Authorization", ""), want: 401, code: "unauthorized"},
		{quote: refused, name: "origin", Call: design(fine).with("Origin", "http://evil.test"), want: 403, code: "bad_origin"},
		{quote: refused, name: "media", Call: design(fine).with("Content-Type", "text/plain"), want: 415, code: "unsupported_media"},
		{quote: refused, name: "unknown run, diff", Call: at.get("/runs/nope/diff"), want: 404, code: "not_found"},
		{quote: refused, name: "unknown run, events", Call: at.get("/runs/nope/events"), want: 404, code: "not_found"},
		{quote: refused, name: "unknown run, stop", Call: at.post("/runs/nope/stop", ""), want: 404, code: "not_found"},
		{quote: refused, name: "unknown run, undo", Call: at.post("/runs/nope/undo", "{}"), want: 404, code: "not_found"},
		{quote: refused, name: "unknown file", Call: at.get("/runs/" + at.Ended + "/diff?path=../../etc/passwd"), want: 404, code: "not_found"},
		{quote: refused, name: "body", Call: design("nonsense"), want: 400, code: "bad_request"},
		{quote: refused, name: "busy", Call: design(fine), before: Target.hold, want: 409, code: "busy", check: namesRun},
		{quote: refused, name: "busy, undo", Call: at.post("/runs/"+at.Ended+"/undo", ""), before: Target.hold, want: 409, code: "busy", check: namesRun},
		{quote: lines, name: "no route", Call: at.get("/no/such/place"), want: 404, code: "not_found"},
		{quote: lines, name: "wrong method", Call: at.get("/design"), want: 405, code: "bad_request"},

		{quote: hosts, name: "rebound name", Call: at.get("/meta").atHost("evil.test:4040"), want: 403, code: "bad_host", check: fixHas("--allow-host evil.test")},
		{quote: hosts, name: "health is no exception", Call: at.get("/health").atHost("evil.test"), want: 403, code: "bad_host"},
		{quote: hosts, name: "loopback in front", Call: at.get("/meta").atHost("localhost.evil.test"), want: 403, code: "bad_host"},
		{quote: hosts, name: "loopback behind", Call: at.get("/meta").atHost("evillocalhost"), want: 403, code: "bad_host"},
		{quote: hosts, name: "IPv4 in short", Call: at.get("/meta").atHost("127.1"), want: 403, code: "bad_host"},
		{quote: hosts, name: "all addresses", Call: at.get("/meta").atHost("0.0.0.0:4040"), want: 403, code: "bad_host"},
		{quote: hosts, name: "before the body is read", raw: "POST /design HTTP/1.1\nHost: evil.test\nContent-Length: 1000\n\n", want: 403, code: "bad_host"},
		{quote: hosts, name: "none", raw: "GET /health HTTP/1.0\n\n", want: 403, code: "bad_host"},

		{quote: tokens, name: "in the address", Call: at.get("/meta?token="+at.Token).with("Authorization", ""), want: 401, code: "unauthorized"},
		{quote: tokens, name: "Basic", Call: at.get("/meta").with("Authorization", "Basic "+at.Token), want: 401, code: "unauthorized"},
		{quote: tokens, name: "cookie", Call: at.get("/meta").with("Authorization", "").with("Cookie", "token="+at.Token), want: 401, code: "unauthorized"},
		{quote: tokens, name: "wrong", Call: at.get("/meta").with("Authorization", "Bearer "+at.Token+"x"), want: 401, code: "unauthorized"},
		{quote: tokens, name: "wrong in the address", Call: at.get("/meta?token=wrong"), want: 200},

		{quote: origins, name: "other extension", Call: at.get("/meta").with("Origin", "chrome-extension://abcdefghijklmnopabcdefghijklmnop"), want: 403, code: "bad_origin"},
		{quote: origins, name: "web page", Call: at.get("/meta").with("Origin", "http://localhost:9999"), want: 403, code: "bad_origin"},
		{quote: origins, name: "null", Call: at.get("/meta").with("Origin", "null"), want: 403, code: "bad_origin"},
		{quote: origins, name: "ours with a path", Call: at.get("/meta").with("Origin", ext+"/"), want: 403, code: "bad_origin"},
		{quote: sites, name: "cross-site", Call: at.get("/meta").with("Sec-Fetch-Site", "cross-site"), want: 403, code: "bad_origin"},
		{quote: sites, name: "same-site", Call: at.get("/meta").with("Sec-Fetch-Site", "same-site"), want: 403, code: "bad_origin"},
		{quote: sites, name: "ours, cross-site", Call: at.get("/meta").with("Sec-Fetch-Site", "cross-site").with("Origin", ext), want: 200},
		{quote: sites, name: "navigation to health", Call: at.get("/health").with("Sec-Fetch-Site", "cross-site").with("Sec-Fetch-Mode", "navigate"), want: 200},
		{quote: sites, name: "navigation elsewhere", Call: at.get("/meta").with("Sec-Fetch-Site", "cross-site").with("Sec-Fetch-Mode", "navigate"), want: 403, code: "bad_origin"},
		{quote: cors, Call: Call{Method: "OPTIONS", Path: "/design"}.with("Origin", "http://evil.test").with("Access-Control-Request-Method", "POST"), want: 403, code: "bad_origin", check: noCORS},

		{quote: media, name: "form", Call: design("prompt=x").with("Content-Type", "application/x-www-form-urlencoded"), want: 415, code: "unsupported_media"},
		{quote: media, name: "none", Call: design(fine).with("Content-Type", ""), want: 415, code: "unsupported_media"},
		{quote: media, name: "undo", Call: at.post("/runs/"+at.Ended+"/undo", "{}").with("Content-Type", "text/plain"), want: 415, code: "unsupported_media"},
		{quote: size, raw: at.head("POST /design") + "Content-Type: application/json\nContent-Length: 67108865\n\n", want: 413, code: "too_large"},
		{quote: decoded, name: "not JSON", Call: design(`{"prompt":`), want: 400, code: "bad_request", check: errorHas("body")},
		{quote: decoded, name: "empty", Call: design(""), want: 400, code: "bad_request", check: errorHas("body")},
		{quote: decoded, name: "not an object", Call: design(`["x"]`), want: 400, code: "bad_request", check: errorHas("body")},
		{quote: decoded, name: "null", Call: design(`null`), want: 400, code: "bad_request", check: errorHas("body")},
		{quote: decoded, name: "two objects", Call: design(fine + fine), want: 400, code: "bad_request", check: errorHas("body")},
		{quote: decoded, name: "prompt of a wrong type", Call: design(`{"prompt":7}`), want: 400, code: "bad_request", check: errorHas("prompt")},
		{quote: decoded, name: "provider of a wrong type", Call: design(`{"prompt":"x","provider":[]}`), want: 400, code: "bad_request", check: errorHas("provider")},
		{quote: decoded, name: "elements of a wrong type", Call: design(`{"prompt":"x","elements":{}}`), want: 400, code: "bad_request", check: errorHas("elements")},
		{quote: decoded, name: "no prompt", Call: design(`{}`), want: 400, code: "bad_request", check: errorHas("prompt")},
		{quote: decoded, name: "preview too", Call: at.post("/prompt/preview", `{"prompt":false}`), want: 400, code: "bad_request", check: errorHas("prompt")},
		{quote: silence, raw: at.head("POST /design") + "Content-Type: application/json\nContent-Length: 100\n\n{\"prompt\":", want: 408, code: "bad_request"},
		{quote: odd, name: "//", raw: at.head("GET //") + "\n", want: 404, code: "not_found"},
		{quote: odd, name: "%zz", raw: at.head("GET %zz") + "\n", want: 400},
		{quote: odd, name: "/%zz", raw: at.head("GET /%zz") + "\n", want: 400},

		{quote: unsupport, name: "unknown", Call: design(`{"prompt":"x","provider":"acme"}`), want: 200, check: streamIs("error unsupported, done")},
		{quote: attach, name: "not a number", Call: at.get("/runs/" + at.Ended + "/events?after=x"), want: 400, code: "bad_request", check: errorHas("after")},
		{quote: attach, name: "negative", Call: at.get("/runs/"+at.Ended+"/events").with("Last-Event-ID", "-1"), want: 400, code: "bad_request", check: errorHas("Last-Event-ID")},
		{quote: attach, name: "an id that is a path", Call: at.get("/runs/..%2f..%2fetc/events"), want: 404, code: "not_found"},
		{quote: undo, Call: at.post("/runs/"+at.Conflict+"/undo", ""), want: 409, code: "conflict", check: namesFile("a.css")},
		{quote: "runs whose snapshots are gone answer 410", Call: at.post("/runs/"+at.Gone+"/undo", ""), want: 410, code: "gone"},
		{quote: history, name: "path", Call: at.get("/history/..%2f..%2fetc%2fpasswd?provider=anthropic"), want: 404, code: "not_found"},
		{quote: pairing, name: "unknown code", Call: at.pair(`{"code":"AAAAAAAAAAAAAAAAAAAAAA"}`), want: 403, code: "pair_refused", check: fixHas("slidewrite pair")},
		{quote: pairing, name: "the token is no code", Call: at.pair(`{"code":"` + at.Token + `"}`), want: 403, code: "pair_refused"},
		{quote: pairing, name: "used code", Call: at.pair(""), spend: true, want: 403, code: "pair_refused", check: errorHas("used already")},
		{quote: pairing, name: "no code", Call: at.pair(`{}`), want: 400, code: "bad_request", check: errorHas("code")},
		{quote: pairing, name: "a code of a wrong type", Call: at.pair(`{"code":7}`), want: 400, code: "bad_request", check: errorHas("code")},
		{quote: pairing, name: "not an object", Call: at.pair(`["code"]`), want: 400, code: "bad_request", check: errorHas("body")},
		{quote: pairing, name: "form", Call: at.pair("code=x").with("Content-Type", "application/x-www-form-urlencoded"), want: 415, code: "unsupported_media"},
		{quote: pairing, name: "too long", Call: at.pair(`{"code":"` + strings.Repeat("A", 4<<10) + `"}`), want: 413, code: "too_large"},
		{quote: pairing, name: "rebound name", Call: at.pair(`{"code":"x"}`).atHost("evil.test"), want: 403, code: "bad_host"},
		{quote: pairing, name: "page in a frame", Call: at.get("/pair").with("Sec-Fetch-Site", "cross-site").with("Sec-Fetch-Mode", "navigate").with("Sec-Fetch-Dest", "iframe"), want: 403, code: "bad_origin"},
		{quote: pairPages, name: "web page", Call: at.pair(`{"code":"x"}`).with("Origin", "http://localhost:9999"), want: 403, code: "bad_origin"},
		{quote: pairPages, name: "the shim's own page", Call: at.pair(`{"code":"x"}`).with("Origin", at.URL), want: 403, code: "bad_origin"},
		{quote: pairPages, name: "other extension", Call: at.pair(`{"code":"x"}`).with("Origin", "chrome-extension://abcdefghijklmnopabcdefghijklmnop"), want: 403, code: "bad_origin"},
		{quote: freshLink, name: "no token", Call: at.post("/pair/new", "{}").with("Authorization", ""), want: 401, code: "unauthorized"},
		{quote: freshLink, name: "form", Call: at.post("/pair/new", "a=b").with("Content-Type", "text/plain"), want: 415, code: "unsupported_media"},
		{quote: streams, Call: at.get("/runs/" + at.Ended + "/events"), before: Target.fill, want: 503, code: "too_many_streams"},
	}
}

// The sentences on the request body and the captures. What became of a
// capture is seen in the preview, what is said about it in the stream.
func badBodies(at Target) []badInput {
	const (
		trimmed = "prompt … empty after trimming is 400 unless captures are present"
		provide = "google (answers unsupported); anything else: error unsupported, never a silent fall-through"
		effort  = "effort must match [a-z][a-z0-9_-]{0,31}"
		five    = "at most 5 are used (the first five), extra ones dropped with a note"
		resume  = "not a UUID → starts fresh with a note"
		unknown = "all optional but prompt; unknown fields ignored"
		cut     = "Strings are cut server-side too (class 500, text 120, path 1,000 characters)"
		skipped = "a capture that is not an object is skipped"
		images  = "PNG, JPEG or WebP, checked by signature after decoding, ≤ 4 MiB each; a bad one is skipped with a note, never a failed run."
		pasted  = "/design ignores imageDataUrl"
		atSign  = "with every @ in it written \\u0040 (agents expand @path)"
		flags   = "models and efforts are matched against a pattern and passed as separate argv elements that cannot start with -"
	)
	design := func(body string) Call { return at.post("/design", body) }
	preview := func(body string) Call { return at.post("/prompt/preview", body) }
	long := func(n int) string { return strings.Repeat("x", n) }
	six := `{"prompt":"x","elements":[{"tag":"a1"},{"tag":"a2"},{"tag":"a3"},{"tag":"a4"},{"tag":"a5"},{"tag":"a6"}]}`
	bad := func(url string) string {
		return `{"prompt":"x","elements":[{"tag":"b","screenshotDataUrl":` + quoted(url) + `}]}`
	}
	return []badInput{
		{quote: trimmed, name: "blank", Call: design(`{"prompt":" \n\t "}`), want: 400, code: "bad_request", check: errorHas("prompt")},
		{quote: trimmed, name: "blank, capture skipped", Call: design(`{"prompt":"","elements":[7]}`), want: 400, code: "bad_request", check: errorHas("prompt")},
		{quote: trimmed, name: "blank, with a capture", Call: preview(`{"prompt":" ","elements":[{"tag":"b"}]}`), want: 200, check: promptHas(`"tag":"b"`)},
		{quote: provide, name: "google", Call: design(`{"prompt":"x","provider":"google"}`), want: 200, check: streamIs("error unsupported, done")},
		{quote: provide, name: "upper case", Call: design(`{"prompt":"x","provider":"Anthropic"}`), want: 200, check: streamIs("error unsupported, done")},
		{quote: effort, name: "upper case", Call: design(`{"prompt":"x","effort":"High"}`), want: 400, code: "bad_request", check: errorHas("effort")},
		{quote: effort, name: "flag", Call: design(`{"prompt":"x","effort":"--help"}`), want: 400, code: "bad_request", check: errorHas("effort")},
		{quote: effort, name: "too long", Call: design(`{"prompt":"x","effort":"` + long(33) + `"}`), want: 400, code: "bad_request", check: errorHas("effort")},
		{quote: flags, name: "model", Call: design(`{"prompt":"x","model":"--dangerously"}`), want: 400, code: "bad_request", check: errorHas("model")},
		{quote: flags, name: "model with a newline", Call: design(`{"prompt":"x","model":"a\nb"}`), want: 400, code: "bad_request", check: errorHas("model")},
		{quote: five, name: "the first five", Call: preview(six), want: 200, check: both(promptHas(`"tag":"a5"`), promptLacks(`"tag":"a6"`))},
		{quote: five, name: "the note", Call: design(six), want: 200, check: streamHas("note elements_dropped")},
		{quote: resume, Call: design(`{"prompt":"x","resume":"../../etc/passwd"}`), want: 200, check: streamHas("note session_new")},
		{quote: unknown, Call: preview(`{"prompt":"hello","colour":"red","token":[1]}`), want: 200, check: both(promptHas("hello"), promptLacks("red"))},
		{quote: cut, name: "text", Call: preview(`{"prompt":"y","elements":[{"tag":"b","text":"` + long(5000) + `"}]}`), want: 200, check: both(promptHas(long(100)), promptLacks(long(121)))},
		{quote: cut, name: "class", Call: preview(`{"prompt":"y","elements":[{"tag":"b","className":"` + long(5000) + `"}]}`), want: 200, check: both(promptHas(long(400)), promptLacks(long(501)))},
		{quote: cut, name: "path", Call: preview(`{"prompt":"y","elements":[{"tag":"b","domPath":"` + long(5000) + `"}]}`), want: 200, check: both(promptHas(long(900)), promptLacks(long(1001)))},
		{quote: skipped, Call: preview(`{"prompt":"x","elements":["bold",7,null,[],{"tag":"em"}]}`), want: 200, check: both(promptHas(`"tag":"em"`), promptLacks("bold"))},
		{quote: images, name: "signature", Call: preview(bad("data:image/png;base64,SGVsbG8gd29ybGQ=")), want: 200, check: attachments(0)},
		{quote: images, name: "SVG", Call: preview(bad("data:image/svg+xml;base64,PHN2Zy8+")), want: 200, check: attachments(0)},
		{quote: images, name: "base64", Call: preview(bad("data:image/png;base64,%%%")), want: 200, check: attachments(0)},
		{quote: images, name: "not a data URL", Call: preview(bad("file:///etc/passwd")), want: 200, check: both(attachments(0), promptLacks("passwd"))},
		{quote: images, name: "too large", Call: preview(bad("data:image/png;base64,iVBORw0KGgo" + strings.Repeat("A", 6<<20))), want: 200, check: attachments(0)},
		{quote: images, name: "the note", Call: design(bad("data:image/png;base64,SGVsbG8=")), want: 200, check: streamHas("note image_skipped")},
		{quote: pasted, Call: preview(`{"prompt":"x","elements":[{"tag":"b","imageDataUrl":"` + pixel + `"}]}`), want: 200, check: attachments(0)},
		{quote: atSign, Call: preview(`{"prompt":"x","screen":"/@etc","elements":[{"tag":"b","text":"@/etc/passwd","attrs":{"aria-label":"@x"}}]}`), want: 200, check: both(promptHas(`\u0040/etc/passwd`), promptLacks("@"))},
	}
}

// pixel is a picture that is one.
const pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

// The sentences of the event contract that are about a client's input. What
// an agent may send is in the tests of the mappers.
func badEvents(at Target) []badInput {
	return []badInput{
		{quote: "done … always last, exactly once, whatever happened", Call: at.post("/design", `{"prompt":"x","provider":""}`), want: 200, check: func(t *testing.T, a Answer) {
			if got := Types(t, a.Body); !strings.HasSuffix(got, "done") || strings.Count(got, "done") != 1 {
				t.Errorf("got %s", got)
			}
		}},
		{quote: "start first (note and image_* may precede it; an error may come instead)", Call: at.post("/design", `{"prompt":"x","provider":"acme"}`), want: 200, check: streamIs("error unsupported, done")},
		{quote: "error … code one of not_found, … unsupported, internal", Call: at.post("/design", `{"prompt":"x","provider":"\u0000"}`), want: 200, check: streamIs("error unsupported, done")},
	}
}

// BadInput runs every row against a shim, one after the other. The row on a
// silent body takes as long as the shim is patient: 10 s by default.
func BadInput(t *testing.T, at Target) {
	for _, rows := range [][]badInput{badHTTP(at), badEvents(at), badBodies(at)} {
		for _, row := range rows {
			t.Run(fmt.Sprintf("%.40s: %s", row.quote, row.name), func(t *testing.T) {
				if row.before != nil {
					defer row.before(at, t)()
				}
				if row.spend {
					row.Body = at.spent(t)
				}
				row.try(t, at)
				if t.Failed() {
					t.Logf("the sentence: %s", row.quote)
				}
			})
		}
	}
}

func (row badInput) try(t *testing.T, at Target) {
	if strings.Contains(row.Path, "/runs//") {
		t.Skip("the target has no such run")
	}
	var a Answer
	if row.raw != "" {
		w := Dial(t, at.URL)
		w.Say(row.raw)
		a = w.Hear()
	} else {
		a = Do(t, at.URL, row.Call)
	}
	if a.Status != row.want || a.Fault.Code != row.code {
		t.Errorf("got %d %.300s, want %d %s", a.Status, a.Body, row.want, row.code)
	}
	if row.code != "" && a.Fault.Error == "" {
		t.Errorf("a refusal without words: %s", a.Body)
	}
	if row.check != nil && a.Status == row.want {
		row.check(t, a)
	}
}

// get and post are requests that would be let in.
func (at Target) get(path string) Call {
	return Call{Method: "GET", Path: path, Header: map[string]string{"Authorization": "Bearer " + at.Token}}
}

func (at Target) post(path, body string) Call {
	return Call{Method: "POST", Path: path, Body: body, Header: map[string]string{"Authorization": "Bearer " + at.Token, "Content-Type": "application/json"}}
}

// pair is what the extension sends to pair; it has no token yet.
func (at Target) pair(body string) Call {
	return Call{Method: "POST", Path: "/pair", Body: body, Header: map[string]string{"Content-Type": "application/json", "Origin": "chrome-extension://" + server.ExtensionID}}
}

// spent makes a code, uses it up and returns it as a body.
func (at Target) spent(t *testing.T) string {
	a := Do(t, at.URL, at.post("/pair/new", ""))
	_, code, _ := strings.Cut(strings.Trim(a.Body, "{}\"\n"), "#")
	body := `{"code":"` + code + `"}`
	if a := Do(t, at.URL, at.pair(body)); a.Status != 200 {
		t.Fatalf("a fresh code: %d %s", a.Status, a.Body)
	}
	return body
}

// head is the head of a raw request, open for more headers.
func (at Target) head(line string) string {
	return line + " HTTP/1.1\nHost: localhost\nAuthorization: Bearer " + at.Token + "\n"
}

// with changes a header; "" takes it away.
func (c Call) with(name, value string) Call {
	h := map[string]string{name: value}
	for n, v := range c.Header {
		if n != name {
			h[n] = v
		}
	}
	c.Header = h
	return c
}

func (c Call) atHost(name string) Call {
	c.Host = name
	return c
}

// hold keeps the repository busy.
func (at Target) hold(t *testing.T) func() {
	_, release := at.Hold(t)
	return release
}

// fill opens streams until there are no more; the run that is followed may
// hold one itself.
func (at Target) fill(t *testing.T) func() {
	id, release := at.Hold(t)
	var held []*Wire
	for len(held) <= at.Streams {
		w := Dial(t, at.URL)
		w.Say(at.head("GET /runs/"+id+"/events") + "\n")
		line, err := w.Lines.ReadString('\n')
		if err != nil || !strings.Contains(line, "200") {
			break
		}
		held = append(held, w)
	}
	if n := len(held); n != at.Streams && n != at.Streams-1 {
		t.Errorf("%d streams could be opened, want %d", n, at.Streams)
	}
	return func() {
		for _, w := range held {
			w.Close()
		}
		release()
		at.awaitStream(t)
	}
}

// awaitStream waits until the shim has noticed that a place is free.
func (at Target) awaitStream(t *testing.T) {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if Do(t, at.URL, at.get("/runs/"+at.Ended+"/events")).Status == 200 {
			return
		}
	}
	t.Fatal("the streams that were closed are still counted")
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string always encodes
	return string(b)
}

type check = func(t *testing.T, a Answer)

func both(checks ...check) check {
	return func(t *testing.T, a Answer) {
		for _, c := range checks {
			c(t, a)
		}
	}
}

func errorHas(text string) check {
	return func(t *testing.T, a Answer) {
		if !strings.Contains(a.Fault.Error, text) {
			t.Errorf("error: got %q, want %q in it", a.Fault.Error, text)
		}
	}
}

func fixHas(text string) check {
	return func(t *testing.T, a Answer) {
		if !strings.Contains(a.Fault.Fix, text) {
			t.Errorf("fix: got %q, want %q in it", a.Fault.Fix, text)
		}
	}
}

func namesRun(t *testing.T, a Answer) {
	if r := a.Fault.Run; r == nil || r.ID == "" || r.Prompt == "" || r.StartedAt == "" {
		t.Errorf("the run that holds the repository is not named: %s", a.Body)
	}
}

func namesFile(path string) check {
	return func(t *testing.T, a Answer) {
		if strings.Join(a.Fault.Files, "|") != path {
			t.Errorf("files: got %q", a.Fault.Files)
		}
	}
}

func noCORS(t *testing.T, a Answer) {
	for name := range a.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("got %s", name)
		}
	}
}

func streamIs(want string) check {
	return func(t *testing.T, a Answer) {
		if got := Types(t, a.Body); got != want {
			t.Errorf("stream: got %s, want %s", got, want)
		}
	}
}

func streamHas(want string) check {
	return func(t *testing.T, a Answer) {
		if got := Types(t, a.Body); !strings.Contains(got, want) || !strings.HasSuffix(got, ", done") {
			t.Errorf("stream: got %s, want %s in it and done", got, want)
		}
	}
}

// preview reads the answer of /prompt/preview.
func preview(t *testing.T, a Answer) run.Preview {
	var p run.Preview
	if err := json.Unmarshal([]byte(a.Body), &p); err != nil {
		t.Fatalf("%s: %v", a.Body, err)
	}
	return p
}

func promptHas(text string) check {
	return func(t *testing.T, a Answer) {
		if p := preview(t, a); !strings.Contains(p.Prompt, text) {
			t.Errorf("prompt: want %.60q in %.2000q", text, p.Prompt)
		}
	}
}

func promptLacks(text string) check {
	return func(t *testing.T, a Answer) {
		if p := preview(t, a); strings.Contains(p.Prompt, text) {
			t.Errorf("prompt: want no %.60q in %.2000q", text, p.Prompt)
		}
	}
}

func attachments(n int) check {
	return func(t *testing.T, a Answer) {
		if p := preview(t, a); len(p.Attachments) != n {
			t.Errorf("attachments: got %v, want %d", p.Attachments, n)
		}
	}
}
