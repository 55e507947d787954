package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// jsunitCSP is stricter than what Chromium gives an extension page: no HTML
// from strings, nothing inline, nothing from elsewhere.
const jsunitCSP = "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// verdict is what jsunit/harness.js says of one file of tests.
type verdict struct {
	Tests []struct {
		Name string
		Fail string // "" = passed
		MS   float64
	}
	Errors []string // of the page, outside of any test
}

// TestJS runs the unit tests of the extension's modules, jsunit/*.test.js,
// each file in a page of its own.
func TestJS(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("jsunit", "*.test.js"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in jsunit: %v", err)
	}
	b := Start(t)
	site := httptest.NewServer(jsunitSite())
	t.Cleanup(site.Close)
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(strings.TrimSuffix(name, ".test.js"), func(t *testing.T) { jsunitFile(t, b, site.URL, name) })
	}
}

// jsunitFile runs one file; each of its tests becomes a test of ours.
func jsunitFile(t *testing.T, b *Browser, site, name string) {
	p := b.Blank
	p.T = t
	defer func() { p.T = b.T }()
	p.Go(site + "/jsunit/index.html?file=" + url.QueryEscape(name))
	p.awaitWithin(2*time.Minute, `document.documentElement.dataset.verdict`) // each of its tests has a limit of its own
	var v verdict
	if err := json.Unmarshal([]byte(Get[string](p, `document.documentElement.dataset.verdict`)), &v); err != nil {
		t.Fatal(err)
	}
	for _, test := range v.Tests {
		t.Run(test.Name, func(t *testing.T) {
			if test.Fail != "" {
				t.Error(test.Fail)
			}
		})
	}
	for _, text := range append(v.Errors, p.trouble.take()...) {
		t.Error(text)
	}
	if len(v.Tests) == 0 && !t.Failed() {
		t.Error("the file has no test")
	}
}

// jsunitSite serves the page, its tests and the extension from the tree.
func jsunitSite() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/jsunit/", http.FileServer(http.Dir(".")))
	mux.Handle("/extension/", http.FileServer(http.Dir("..")))
	mux.HandleFunc("/jsunit/files.json", func(w http.ResponseWriter, _ *http.Request) {
		files, _ := filepath.Glob(filepath.Join("jsunit", "*.test.js"))
		for i := range files {
			files[i] = filepath.Base(files[i])
		}
		_ = json.NewEncoder(w).Encode(files)
	})
	mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", jsunitCSP)
		w.Header().Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}
