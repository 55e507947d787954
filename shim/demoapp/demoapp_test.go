package demoapp

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func serve(t *testing.T) (*Server, string) {
	t.Helper()
	dir := t.TempDir()
	if err := Write(dir); err != nil {
		t.Fatal(err)
	}
	s, err := Serve(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, dir
}

func get(t *testing.T, method, url, host string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(data)
}

func TestServe(t *testing.T) {
	t.Parallel()
	s, dir := serve(t)
	outside := filepath.Join(t.TempDir(), "secret.css")
	for path, text := range map[string]string{outside: "secret", filepath.Join(dir, ".env"): "secret", filepath.Join(dir, ".git", "config"): "secret"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.css")); err != nil {
		t.Log(err) // not everybody may
	}
	port := s.URL[strings.LastIndex(s.URL, ":"):]
	for _, tt := range []struct {
		method, path, host string
		status             int
		typ, holds         string
	}{
		{"GET", "/", "", 200, "text/html; charset=utf-8", `<script src="/-/reload.js" data-since="0"></script>`},
		{"GET", "/index.html", "localhost" + port, 200, "text/html; charset=utf-8", "Corner Café"},
		{"GET", "/src/page.css", "", 200, "text/css; charset=utf-8", ".topbar"},
		{"GET", "/src/app.js?1", "", 200, "text/javascript; charset=utf-8", "Flat white"},
		{"HEAD", "/icon.svg", "", 200, "image/svg+xml", ""},
		{"GET", "/-/reload.js", "", 200, "text/javascript; charset=utf-8", "EventSource"},
		{"GET", "/", "evil.test" + port, 403, "text/plain; charset=utf-8", "not here"},
		{"GET", "/", "127.0.0.1:1", 403, "text/plain; charset=utf-8", "not here"},
		{"POST", "/", "", 405, "text/plain; charset=utf-8", ""},
		{"GET", "/nothing", "", 404, "text/plain; charset=utf-8", ""},
		{"GET", "/src", "", 404, "text/plain; charset=utf-8", ""},
		{"GET", "/.env", "", 404, "text/plain; charset=utf-8", ""},
		{"GET", "/.git/config", "", 404, "text/plain; charset=utf-8", ""},
		{"GET", "/link.css", "", 404, "text/plain; charset=utf-8", ""},
		{"GET", "/%2e%2e/" + filepath.Base(filepath.Dir(outside)) + "/secret.css", "", 404, "text/plain; charset=utf-8", ""},
		{"GET", "/src%2f..%2f..%2fsecret.css", "", 404, "text/plain; charset=utf-8", ""},
		{"GET", "/-/changes?since=x", "", 400, "text/plain; charset=utf-8", ""},
	} {
		res, text := get(t, tt.method, s.URL+tt.path, tt.host)
		if res.StatusCode == http.StatusMovedPermanently || res.StatusCode == http.StatusTemporaryRedirect {
			res.StatusCode = 404 // the path made clean, which is asked for again
		} else if got := res.Header.Get("Content-Type"); got != tt.typ {
			t.Errorf("%s %s: type %q", tt.method, tt.path, got)
		}
		if res.StatusCode != tt.status || !strings.Contains(text, tt.holds) || strings.Contains(text, "secret") {
			t.Errorf("%s %s of %s: %s\n%s", tt.method, tt.path, tt.host, res.Status, text)
		}
	}
}

// TestChanges: what changed after a page was sent is told, also what changed
// before it began to listen, and nothing twice.
func TestChanges(t *testing.T) {
	t.Parallel()
	s, dir := serve(t)
	change := func(name, text string) {
		t.Helper()
		next := filepath.Join(dir, ".next") // in one step: a file that is half there is a change of its own
		if err := os.WriteFile(next, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
	listen := func(since string) (next func() string, stop func()) {
		t.Helper()
		res, err := http.Get(s.URL + "/-/changes?since=" + since)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(res.Body)
		return func() string {
			t.Helper()
			var frame []string
			for lines.Scan() && lines.Text() != "" {
				frame = append(frame, lines.Text())
			}
			if err := lines.Err(); err != nil {
				t.Fatal(err)
			}
			return strings.Join(frame, " ")
		}, func() { res.Body.Close() }
	}
	next, stop := listen("0")
	defer stop()
	change("src/page.css", "body { color: red }")
	if got := next(); got != `id: 1 data: "/src/page.css"` {
		t.Errorf("told %s", got)
	}
	change(".hidden", "1")
	change("index.html", "<p>")
	if got := next(); got != `id: 2 data: "/index.html"` {
		t.Errorf("told %s", got)
	}
	late, stop := listen("1")
	defer stop()
	if got := late(); got != `id: 2 data: "/index.html"` {
		t.Errorf("who comes late is told %s", got)
	}
	if err := os.Remove(filepath.Join(dir, "src", "app.js")); err != nil {
		t.Fatal(err)
	}
	for _, from := range []func() string{next, late} {
		if got := from(); got != `id: 3 data: "/src/app.js"` {
			t.Errorf("told %s", got)
		}
	}
	if _, text := get(t, "GET", s.URL+"/", ""); !strings.HasPrefix(text, "<p>") || !strings.Contains(text, `data-since="3"`) {
		t.Errorf("the page is %s", text)
	}
}

// TestClose ends who still listens.
func TestClose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Serve(dir)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Get(s.URL + "/-/changes?since=0")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it does not close")
	}
	if _, err := io.ReadAll(res.Body); err == nil {
		t.Log("the stream ended whole")
	}
}
