// Package e2e drives the extension in a real Chromium: the side panel, its
// worker and its pages, the shim, a fake agent, and a sample app that Vite
// serves. One story of a user per file; jsunit holds the unit tests of the
// extension's modules, which run in the same browser.
package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// patience is how long a fact may take to come true; it is far more than
// anything here needs.
const patience = 20 * time.Second

// flags of every browser. chromedp's own switch extensions off.
var flags = map[string]any{
	"headless": "new", "disable-gpu": true, "disable-quic": true, "no-first-run": true, "no-default-browser-check": true,
	"disable-background-networking": true, "disable-component-update": true, "disable-sync": true, "disable-dev-shm-usage": true,
	"disable-breakpad": true, "password-store": "basic", "use-mock-keychain": true, "disable-background-timer-throttling": true,
	"disable-renderer-backgrounding": true, "disable-backgrounding-occluded-windows": true,
	"disable-features": "Translate,OptimizationHints,MediaRouter", "force-color-profile": "srgb",
}

// Browser is a Chromium with a profile of its own.
type Browser struct {
	T     testing.TB // whom it serves now
	Blank *Page      // the tab that is open at the start
	ctx   context.Context
	root  *Page // its end is the browser's
	pages []*Page
	said  *output
	free  func() error
}

// Need ends the test when something it needs beyond Go and git is missing:
// with a failure where SLIDEWRITE_E2E=require says that nothing may be.
func Need(t testing.TB, missing string) {
	t.Helper()
	if missing == "" {
		return
	}
	if os.Getenv("SLIDEWRITE_E2E") == "require" {
		t.Fatalf("%s (make e2e-deps installs it)", missing)
	}
	t.Skipf("%s (make e2e-deps installs it)", missing)
}

// chromium is where the browser is; "" when there is none. Debian's command
// is a script that adds flags of its own; the browser itself is beside it.
var chromium = sync.OnceValue(func() string {
	for _, name := range []string{
		os.Getenv("SLIDEWRITE_CHROMIUM"), "/usr/lib/chromium/chromium", "chromium", "chromium-browser",
		"/Applications/Chromium.app/Contents/MacOS/Chromium",
	} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
})

// Start starts a browser that ends with its test; more are flags as name,
// value. Without Chromium the test is skipped.
func Start(t testing.TB, more ...string) *Browser {
	t.Helper()
	b := launch(t, more...)
	b.Blank = b.root
	t.Cleanup(func() {
		b.leave()
		if err := b.free(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// shared is the browser that stories take turns in: it costs more to start
// one than to play a story.
var shared *Browser

// Share is a browser with the extension, a window of its own, and nothing
// stored. A test that fails takes the browser with it.
func Share(t testing.TB) *Browser {
	t.Helper()
	if shared == nil {
		b := launch(t)
		b.LoadExtension()
		b.pages = nil
		shared = b
	}
	b := shared
	b.T = t
	t.Cleanup(func() {
		b.leave()
		if t.Failed() {
			if err := stopShared(); err != nil {
				t.Error(err)
			}
			return
		}
		b.tidy()
	})
	yes := true
	res, err := chromedp.CallBrowser(b.ctx, target.CreateTarget, target.CreateTargetParams{URL: "about:blank", NewWindow: &yes})
	if err != nil {
		t.Fatalf("open a window: %v", err)
	}
	b.Blank = b.attachTo("first tab", res.TargetID)
	return b
}

// stopShared ends the shared browser, if there is one.
func stopShared() error {
	if shared == nil {
		return nil
	}
	b := shared
	shared = nil
	return b.free()
}

// tidy closes all windows of a story and forgets what the extension stored.
func (b *Browser) tidy() {
	b.T.Helper()
	root := chromedp.FromContext(b.root.ctx).Target.TargetID
	b.await("the end of all windows but the first", func() bool {
		left := 0
		for _, t := range b.targets() {
			if t.Type == "page" && t.TargetID != root {
				left++
				_, _ = chromedp.CallBrowser(b.ctx, target.CloseTarget, target.CloseTargetParams{TargetID: t.TargetID}) // it may be gone by now
			}
		}
		return left == 0
	})
	b.wake()
	b.worker().Do(`Promise.all([chrome.storage.local.clear(), chrome.storage.session.clear()])`)
	b.leave()
}

// leave reports the trouble of all pages and lets go of them.
func (b *Browser) leave() {
	b.T.Helper()
	for _, p := range slices.Backward(b.pages) {
		p.report()
	}
	for _, p := range b.pages {
		if p != b.root {
			p.detach()
		}
	}
	b.pages = nil
}

// launch starts a browser for whoever frees it.
func launch(t testing.TB, more ...string) *Browser {
	t.Helper()
	if chromium() == "" {
		Need(t, "Chromium is not installed")
	}
	dir, err := os.MkdirTemp("", "sw") // short: the path of a socket has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	b := &Browser{T: t, said: &output{}}
	opts := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(chromium()), chromedp.WindowSize(1400, 900), chromedp.UserDataDir(filepath.Join(dir, "profile")),
		chromedp.NoInheritEnv, chromedp.Env("PATH="+os.Getenv("PATH"), "HOME="+dir, "TMPDIR="+dir, "LANG=C.UTF-8"),
		chromedp.CombinedOutput(b.said),
	}
	for name, value := range flags {
		opts = append(opts, chromedp.Flag(name, value))
	}
	for i := 0; i+1 < len(more); i += 2 {
		opts = append(opts, chromedp.Flag(more[i], more[i+1]))
	}
	if os.Getuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	alloc, free := chromedp.NewExecAllocator(context.Background(), opts...)
	b.free = func() error {
		free()
		return gone(dir)
	}
	quiet := func(string, ...any) {} // what chromedp wonders about; what fails is returned
	b.root = &Page{T: t, Name: "first tab", b: b, trouble: &trouble{}}
	b.root.ctx, b.root.detach = chromedp.NewContext(alloc, chromedp.WithErrorf(quiet), chromedp.WithListener(b.root.trouble.listen))
	if err := chromedp.Do(b.root.ctx); err != nil {
		_ = b.free()
		t.Fatalf("start Chromium: %v%s", err, b.said)
	}
	b.ctx = b.root.ctx
	b.pages = []*Page{b.root}
	return b
}

// gone waits until nothing of a browser runs, and takes its files away.
func gone(dir string) error {
	var left []string
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if left = processes(dir); len(left) == 0 || time.Now().After(deadline) {
			break
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("the browser left processes behind: %q", left)
	}
	// What dies may still write for a moment.
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if err := os.RemoveAll(dir); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// processes are those whose environment or command line names dir. Only Linux
// shows them.
func processes(dir string) []string {
	var found []string
	if runtime.GOOS != "linux" {
		return nil
	}
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range all {
		env, _ := os.ReadFile(filepath.Join(p, "environ"))
		cmd, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		if len(cmd) > 0 && (bytes.Contains(env, []byte("TMPDIR="+dir+"\x00")) || bytes.Contains(cmd, []byte(dir))) {
			found = append(found, strings.TrimSpace(strings.ReplaceAll(string(cmd), "\x00", " ")))
		}
	}
	return found
}

// targets are all there are, tabs and workers too.
func (b *Browser) targets() []*target.Info {
	b.T.Helper()
	got, err := chromedp.CallBrowser(b.ctx, target.GetTargets, target.GetTargetsParams{Filter: target.Filter{{}}})
	if err != nil {
		b.T.Fatalf("ask the browser for its targets: %v%s", err, b.said)
	}
	return got.TargetInfos
}

// output keeps the end of what the browser says on its terminal.
type output struct {
	mu   sync.Mutex
	text []byte
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for line := range bytes.Lines(p) {
		if !bytes.Contains(line, []byte("ERROR:dbus/")) { // a machine without a desktop has none
			o.text = append(o.text, line...)
		}
	}
	o.text = o.text[max(0, len(o.text)-4000):]
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.text) == 0 {
		return ""
	}
	return "\nit said:\n" + string(o.text)
}
