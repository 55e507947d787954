package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/extensions"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/slidewrite/slidewrite/extension"
	"github.com/slidewrite/slidewrite/shim/server"
)

// extensionURL is the address of a page of the extension.
func extensionURL(path string) string { return "chrome-extension://" + server.ExtensionID + "/" + path }

// LoadExtension loads the extension of the tree.
func (b *Browser) LoadExtension() {
	b.T.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "extension"))
	if err != nil {
		b.T.Fatal(err)
	}
	b.loadExtension(dir)
}

// LoadExtensionWith loads a copy that has an optional permission from the
// start: nobody can answer Chromium's question when it has no window.
func (b *Browser) LoadExtensionWith(permission string) {
	b.T.Helper()
	dir := b.T.(*testing.T).TempDir()
	if _, err := extension.Write(dir, version()); err != nil {
		b.T.Fatal(err)
	}
	file := filepath.Join(dir, "manifest.json")
	data, err := os.ReadFile(file)
	var manifest map[string]any
	if err == nil {
		err = json.Unmarshal(data, &manifest)
	}
	if err != nil {
		b.T.Fatal(err)
	}
	manifest["permissions"] = append(manifest["permissions"].([]any), permission)
	delete(manifest, "optional_permissions")
	if data, err = json.Marshal(manifest); err == nil {
		err = os.WriteFile(file, data, 0o644)
	}
	if err != nil {
		b.T.Fatal(err)
	}
	b.loadExtension(dir)
}

// loadExtension loads the extension, and waits until its worker has told
// Chromium to open the panel.
func (b *Browser) loadExtension(dir string) {
	b.T.Helper()
	res, err := chromedp.CallBrowser(b.ctx, extensions.LoadUnpacked, extensions.LoadUnpackedParams{Path: dir})
	if err != nil {
		b.T.Fatalf("load the extension: %v%s", err, b.said)
	}
	if res.ID != server.ExtensionID {
		b.T.Fatalf("the extension's id is %s, the shim expects %s", res.ID, server.ExtensionID)
	}
	b.Worker().Await(`(await chrome.sidePanel.getPanelBehavior()).openPanelOnActionClick`)
}

// wake starts the worker, should it sleep: a page of the extension asks it
// for something.
func (b *Browser) wake() {
	b.T.Helper()
	for _, t := range b.targets() {
		if t.Type == "service_worker" && strings.HasPrefix(t.URL, extensionURL("")) {
			return
		}
	}
	p := b.Open("options", extensionURL("options/options.html"))
	p.Do(`chrome.runtime.sendMessage({ type: "sw-config-get", origin: "http://localhost" })`)
	if _, err := chromedp.CallBrowser(b.ctx, target.CloseTarget, target.CloseTargetParams{TargetID: chromedp.FromContext(p.ctx).Target.TargetID}); err != nil {
		b.T.Fatalf("close the options: %v", err)
	}
	p.forget()
}

// worker is the extension's worker, if need be attached to.
func (b *Browser) worker() *Page {
	b.T.Helper()
	for _, p := range b.pages {
		if p.Name == "worker" && !p.reported {
			return p
		}
	}
	return b.Worker()
}

// Worker attaches to the extension's worker, which has to run. One that is
// just coming up may never answer a session that came too early: another one
// is tried.
func (b *Browser) Worker() *Page {
	b.T.Helper()
	for deadline := time.Now().Add(patience); ; {
		w := b.newPage("worker", b.awaitTarget("service_worker", extensionURL("")).TargetID)
		w.worker = true
		_, err := w.soon("true")
		if err == nil {
			b.pages = append(b.pages, w)
			return w
		}
		w.detach()
		if time.Now().After(deadline) {
			b.T.Fatalf("attach to the worker: %v%s", err, b.said)
		}
	}
}

// soon evaluates an expression in what may never answer.
func (p *Page) soon(expr string) (bool, error) {
	type answer struct {
		is  bool
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		is, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](expr))
		answers <- answer{is, err}
	}()
	select {
	case a := <-answers:
		return a.is, a.err
	case <-time.After(patience / 8):
		return false, context.DeadlineExceeded
	}
}

// KillWorker ends the extension's worker, as Chromium does after a while of
// quiet; the next event starts it anew.
func (b *Browser) KillWorker() {
	b.T.Helper()
	w := b.worker()
	w.Do(`void (globalThis.doomed = true)`)
	w.forget()
	id := b.awaitTarget("service_worker", extensionURL("")).TargetID
	if _, err := chromedp.CallBrowser(b.ctx, target.CloseTarget, target.CloseTargetParams{TargetID: id}); err != nil {
		b.T.Fatalf("kill the worker: %v", err)
	}
	b.await("the worker's end", func() bool {
		for _, t := range b.targets() {
			if t.TargetID == id {
				// What waits for it may have started it again, as the same target.
				w := b.newPage("worker", id)
				anew, err := w.soon("globalThis.doomed === undefined")
				w.detach()
				return err == nil && anew
			}
		}
		return true
	})
}

// OpenPanel clicks the extension's button in the toolbar while tab is in
// front, and attaches to the side panel that comes.
func (b *Browser) OpenPanel(tab *Page) *Page {
	b.T.Helper()
	before := b.panels()
	b.trigger(tab)
	var id target.ID
	b.await("a side panel", func() bool {
		for _, now := range b.panels() {
			if !slices.Contains(before, now) {
				id = now
			}
		}
		return id != ""
	})
	p := b.attachTo("panel", id)
	p.Await(`document.readyState === "complete" && innerWidth > 0`)
	return p
}

// ClosePanel clicks the button again.
func (b *Browser) ClosePanel(tab, panel *Page) {
	b.T.Helper()
	id := chromedp.FromContext(panel.ctx).Target.TargetID
	panel.forget()
	b.trigger(tab)
	b.await("the end of the side panel", func() bool { return !slices.Contains(b.panels(), id) })
}

func (b *Browser) trigger(tab *Page) {
	b.T.Helper()
	url := Get[string](tab, "location.href")
	t := b.awaitTarget("tab", url)
	if _, err := chromedp.CallBrowser(b.ctx, extensions.TriggerAction, extensions.TriggerActionParams{ID: server.ExtensionID, TargetID: string(t.TargetID)}); err != nil {
		b.T.Fatalf("click the extension's button: %v", err)
	}
}

func (b *Browser) panels() []target.ID {
	var ids []target.ID
	for _, t := range b.targets() {
		if t.Type == "page" && strings.HasPrefix(t.URL, extensionURL("panel/")) {
			ids = append(ids, t.TargetID)
		}
	}
	return ids
}

// awaitTarget waits for a target of a type whose address begins with url.
func (b *Browser) awaitTarget(typ, url string) *target.Info {
	b.T.Helper()
	var found *target.Info
	b.await(typ+" "+url, func() bool {
		for _, t := range b.targets() {
			if t.Type == typ && strings.HasPrefix(t.URL, url) {
				found = t
				return true
			}
		}
		return false
	})
	return found
}

// Open opens an address in a new tab, which comes to the front.
func (b *Browser) Open(name, url string) *Page {
	b.T.Helper()
	res, err := chromedp.CallBrowser(b.ctx, target.CreateTarget, target.CreateTargetParams{URL: url})
	if err != nil {
		b.T.Fatalf("open %s: %v", url, err)
	}
	p := b.attachTo(name, res.TargetID)
	p.Await(`document.readyState === "complete"`)
	return p
}

// Pop attaches to a page of the extension that comes by itself.
func (b *Browser) Pop(name, path string) *Page {
	b.T.Helper()
	var id target.ID
	b.await("a page "+path, func() bool {
		for _, t := range b.targets() {
			if t.Type == "page" && strings.HasPrefix(t.URL, extensionURL(path)) && !b.known(t.TargetID) {
				id = t.TargetID
			}
		}
		return id != ""
	})
	p := b.attachTo(name, id)
	p.Await(`document.readyState === "complete"`)
	return p
}

// known is whether a test has seen a target.
func (b *Browser) known(id target.ID) bool {
	return slices.ContainsFunc(b.pages, func(p *Page) bool { return chromedp.FromContext(p.ctx).Target.TargetID == id })
}

// Front brings a tab to the front.
func (b *Browser) Front(tab *Page) {
	b.T.Helper()
	if _, err := chromedp.CallBrowser(b.ctx, target.ActivateTarget, target.ActivateTargetParams{TargetID: chromedp.FromContext(tab.ctx).Target.TargetID}); err != nil {
		b.T.Fatalf("bring %s to the front: %v", tab.Name, err)
	}
}

func (b *Browser) await(what string, fact func() bool) {
	b.T.Helper()
	for deadline := time.Now().Add(patience); !fact(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.T.Fatalf("this did not come: %s%s", what, b.said)
		}
	}
}
