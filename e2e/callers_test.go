package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/extensions"
	"github.com/chromedp/chromedp"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/server"
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// seen is a request as it reached the shim, and the shim's answer.
type seen struct {
	Method, Path, Origin, Site string
	Status                     int
}

// witness stands before the shim and writes down what comes.
type witness struct {
	shim http.Handler
	mu   sync.Mutex
	all  []seen
}

func (w *witness) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	rec := &status{ResponseWriter: rw, code: 200}
	w.shim.ServeHTTP(rec, r)
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.URL.Path != "/favicon.ico" {
		w.all = append(w.all, seen{r.Method, r.URL.Path, r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site"), rec.code})
	}
}

type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) { s.code = code; s.ResponseWriter.WriteHeader(code) }

func (w *witness) take() []seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.all
	w.all = nil
	return all
}

// TestWhoMayCallTheShim asks the shim from each of the places that a browser
// has, always with the right token (S16). What the shim sees there is what
// its rules were made from; what it answers is what they are for.
func TestWhoMayCallTheShim(t *testing.T) {
	stage := shimtest.New(t)
	stage.Write("a.txt", "hello\n")
	stage.Commit()
	sh, err := shim.New(t.Context(), shim.Config{Repo: stage.Repo, Environ: stage.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{shim: sh.Handler()}
	srv := httptest.NewServer(w)
	t.Cleanup(srv.Close)
	page := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		_, _ = rw.Write([]byte("<!doctype html><title>a page</title><link rel=icon href=data:,><p>a page"))
	}))
	t.Cleanup(page.Close)
	public := httptest.NewServer(page.Config.Handler)
	t.Cleanup(public.Close)
	port := func(url string) string { return url[strings.LastIndexByte(url, ':')+1:] }

	b := Start(t, "host-resolver-rules", "MAP evil.test 127.0.0.1", "ip-address-space-overrides", "127.0.0.1:"+port(public.URL)+"=public")
	b.LoadExtension()
	other := otherExtension(t, b)

	// What each caller tries: to read, to write, and to write without being
	// asked for its right to (no preflight, as a form does).
	try := func(base string) string {
		head := `{ Authorization: "Bearer ` + sh.Token() + `" }`
		return `(async (base) => {
			const said = (p) => p.then((r) => r.type === "opaque" ? "opaque" : String(r.status), (e) => e.name);
			return [
				await said(fetch(base + "/runs", { headers: ` + head + ` })),
				await said(fetch(base + "/prompt/preview", { method: "POST", headers: { ...` + head + `, "Content-Type": "application/json" }, body: '{"prompt":"x"}' })),
				await said(fetch(base + "/prompt/preview", { method: "POST", mode: "no-cors", body: '{"prompt":"x"}' })),
				await said(fetch(base + "/runs", { mode: "no-cors" })),
			].join(" ");
		})(` + js(base) + `)`
	}
	local := "http://localhost:" + port(srv.URL)
	ours := "chrome-extension://" + server.ExtensionID

	tab := b.Blank
	tab.Expect("blocked by CORS policy")
	other.worker.Expect("blocked by CORS policy")
	for _, c := range []struct {
		caller string
		says   string // what the four fetches gave
		sees   []seen
		ask    func() string
	}{
		{"the extension's worker", "200 200 401 401",
			[]seen{
				{"GET", "/runs", "", "none", 200},
				{"POST", "/prompt/preview", ours, "none", 200},
				{"POST", "/prompt/preview", ours, "none", 401}, // no-cors takes no token along
				{"GET", "/runs", "", "none", 401},
			},
			func() string { return Get[string](b.worker(), try(srv.URL)) }},
		{"another extension, without a permission", "TypeError TypeError opaque opaque",
			[]seen{
				{"OPTIONS", "/runs", other.origin, "cross-site", 403},
				{"OPTIONS", "/prompt/preview", other.origin, "cross-site", 403},
				{"POST", "/prompt/preview", other.origin, "cross-site", 401},
				{"GET", "/runs", "", "cross-site", 401},
			},
			func() string { return Get[string](other.worker, try(srv.URL)) }},
		{"a content script of ours", "TypeError TypeError opaque opaque",
			[]seen{
				{"OPTIONS", "/runs", page.URL, "same-site", 403},
				{"OPTIONS", "/prompt/preview", page.URL, "same-site", 403},
				{"POST", "/prompt/preview", page.URL, "same-site", 401},
				{"GET", "/runs", "", "same-site", 401},
			},
			func() string {
				tab.Go(page.URL)
				return inContentScript(b, page.URL, try(srv.URL))
			}},
		{"a page on another port", "TypeError TypeError opaque opaque",
			[]seen{
				{"OPTIONS", "/runs", "http://localhost:" + port(page.URL), "same-site", 403},
				{"OPTIONS", "/prompt/preview", "http://localhost:" + port(page.URL), "same-site", 403},
				{"POST", "/prompt/preview", "http://localhost:" + port(page.URL), "same-site", 401},
				{"GET", "/runs", "", "same-site", 401},
			},
			func() string {
				tab.Go("http://localhost:" + port(page.URL))
				return Get[string](tab, try(local))
			}},
		{"a page under another loopback name", "TypeError TypeError opaque opaque",
			[]seen{
				{"OPTIONS", "/runs", "http://localhost:" + port(page.URL), "cross-site", 403},
				{"OPTIONS", "/prompt/preview", "http://localhost:" + port(page.URL), "cross-site", 403},
				{"POST", "/prompt/preview", "http://localhost:" + port(page.URL), "cross-site", 401},
				{"GET", "/runs", "", "cross-site", 401},
			},
			func() string {
				tab.Go("http://localhost:" + port(page.URL))
				return Get[string](tab, try(srv.URL))
			}},
		{"a page from the internet", "TypeError TypeError TypeError TypeError", nil,
			func() string {
				tab.Go(public.URL)
				return Get[string](tab, try(srv.URL))
			}},
		{"a rebound name", "403 403 403 403",
			[]seen{
				{"GET", "/health", "", "", 403},
				{"GET", "/runs", "", "", 403},
				{"POST", "/prompt/preview", "http://evil.test:" + port(srv.URL), "", 403},
				{"POST", "/prompt/preview", "http://evil.test:" + port(srv.URL), "", 403},
				{"GET", "/runs", "", "", 403},
			},
			func() string {
				tab.Go("http://evil.test:" + port(srv.URL) + "/health")
				return Get[string](tab, try("http://evil.test:"+port(srv.URL)))
			}},
	} {
		t.Run(c.caller, func(t *testing.T) {
			w.take()
			if says := c.ask(); says != c.says {
				t.Errorf("the caller got %q, want %q", says, c.says)
			}
			got, want := w.take(), c.sees
			if text(got) != text(want) {
				t.Errorf("the shim saw\n%swant\n%s", text(got), text(want))
			}
		})
	}
}

func text(all []seen) string {
	var b strings.Builder
	for _, s := range all {
		line, _ := json.Marshal(s)
		b.WriteString("  " + string(line) + "\n")
	}
	return b.String()
}

// inContentScript evaluates a JavaScript expression where the extension's
// content scripts run, in the tab that shows url.
func inContentScript(b *Browser, url, expr string) string {
	b.T.Helper()
	return Get[string](b.worker(), `(async () => {
		const [tab] = await chrome.tabs.query({ url: `+js(url+"/*")+` });
		const [{ result }] = await chrome.scripting.executeScript({ target: { tabId: tab.id }, func: () => `+expr+` });
		return result;
	})()`)
}

// otherExtension loads an extension that is not ours and may do nothing.
func otherExtension(t *testing.T, b *Browser) (o struct {
	origin string
	worker *Page
}) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string]string{
		"manifest.json": `{"manifest_version":3,"name":"other","version":"1","background":{"service_worker":"worker.js"}}`,
		"worker.js":     `self.addEventListener("fetch", () => {});`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	res, err := chromedp.CallBrowser(b.ctx, extensions.LoadUnpacked, extensions.LoadUnpackedParams{Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	o.origin = "chrome-extension://" + res.ID
	o.worker = b.attachTo("other worker", b.awaitTarget("service_worker", o.origin).TargetID)
	o.worker.worker = true
	return o
}
