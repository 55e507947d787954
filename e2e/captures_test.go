package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/event"
)

// TestCapturesOfAMessage: a message waits a moment for the picture of what was
// picked, not for ever; one that comes later is shown, and goes along when the
// message is sent again, also by another panel. Without screenshots none are
// taken.
func TestCapturesOfAMessage(t *testing.T) {
	b := Share(t)
	st := stubbed(t, b, "<h1 class=title>Corner Café</h1>")
	shim, panel, w := st.Shim, st.Panel, b.worker()
	w.Do(`globalThis.shots = 0; globalThis.gate = Promise.withResolvers(); globalThis.take = chrome.tabs.captureVisibleTab;
		chrome.tabs.captureVisibleTab = async (...args) => (shots++, await gate.promise, take.apply(chrome.tabs, args));`)

	// n runs were asked for; the last one's only element.
	sent := func(n int) (picture bool) {
		t.Helper()
		var last asked
		b.await(fmt.Sprintf("%d runs asked for", n), func() bool {
			shim.mu.Lock()
			defer shim.mu.Unlock()
			if len(shim.asked) == n {
				last = shim.asked[n-1]
			}
			return len(shim.asked) >= n
		})
		if last.Prompt != "Make it green." || len(last.Elements) != 1 || last.Elements[0]["className"] != "title" {
			t.Fatalf("run %d was asked for so: %.2000v", n, last)
		}
		url, _ := last.Elements[0]["screenshotDataUrl"].(string)
		return strings.HasPrefix(url, "data:image/")
	}
	fails := func() {
		t.Helper()
		shim.Say(event.Error{Code: event.CodeCrashed, Message: "claude ended without a result"}, event.Done{})
		panel.Says("ended unexpectedly")
		panel.Await(`!document.querySelector('[data-sw="run-bar"]:not([hidden])')`)
	}
	ask := func() {
		t.Helper()
		panel.Fill(message, "Make it green.")
		panel.Click(send)
		panel.Says("Starting")
	}
	const pictured = `[...document.querySelectorAll(".tab:not([hidden]) .bubble .chip")].at(-1)?.querySelector("img")?.naturalWidth > 0`

	st.pick("h1")
	w.Await(`shots === 1`)
	ask()
	shim.mu.Lock()
	early := len(shim.asked)
	shim.mu.Unlock()
	w.Do(`gate.resolve()`)
	if picture := sent(1); early == 0 && !picture {
		t.Error("the message waited for its picture, and went without")
	}
	panel.Await(pictured)
	fails()
	panel.Click(Role("button", "Try again"))
	if !sent(2) {
		t.Error("the message was tried again, and left the picture out")
	}
	fails()

	w.Do(`globalThis.gate = Promise.withResolvers()`)
	st.pick("h1")
	w.Await(`shots === 2`)
	ask()
	if sent(3) {
		t.Error("there was no picture yet")
	}
	w.Do(`gate.resolve()`)
	panel.Await(pictured)
	fails()
	panel.Await(`Object.entries(await chrome.storage.session.get(null)).some(([name, value]) => name.startsWith("captures:") && value.sent?.chips[0]?.capture.screenshotDataUrl && value.sent.key > 3)`)
	panel.Reload()
	panel.Says("Anthropic") // the shim has answered, and nothing moves any more
	panel.Await(`!document.querySelector('.items[aria-busy="true"]')`)
	panel.Click(Role("button", "Edit and send again"))
	panel.Await(chips + `[0].querySelector("img")`)
	panel.Click(send)
	if !sent(4) {
		t.Error("the panel that was opened anew sent no picture")
	}
	fails()

	panel.Click(Role("button", "Options"))
	panel.Click(Role("checkbox", "Screenshots A picture goes along with each pick"))
	panel.Press("Escape")
	st.pick("h1")
	panel.Await(chips + `[0].querySelector("svg") && !` + chips + `[0].querySelector("img")`)
	panel.Shot("chip-without-picture")
	ask()
	if sent(5) || Get[int](w, `shots`) != 2 {
		t.Error("a picture was taken, or sent")
	}
	w.Do(`chrome.tabs.captureVisibleTab = take`)
}

// stage of one site and a stub.
type stubbedStage struct {
	B     *Browser
	Tab   *Page
	Panel *Page
	Shim  *stub
	Site  string
}

// stubbed opens the panel beside a page that is wired to a shim of the test's.
func stubbed(t *testing.T, b *Browser, body string) *stubbedStage {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html><html lang=en><title>Corner Café</title><link rel=icon href=data:,>"+body)
	}))
	t.Cleanup(site.Close)
	s := &stubbedStage{B: b, Tab: b.Blank, Shim: newStub(), Site: site.URL}
	door := httptest.NewServer(s.Shim)
	t.Cleanup(door.Close)
	t.Cleanup(door.CloseClientConnections)
	b.worker().Do(`chrome.storage.local.set({ settings: { version: 1, origins: { ` + js(site.URL) + `: { shimUrl: ` + js(door.URL) + `, token: "t", project: "cafe" } }, global: {} } })`)
	s.Tab.Go(site.URL)
	b.Front(s.Tab)
	s.Panel = b.OpenPanel(s.Tab)
	s.Panel.There(message)
	return s
}

// pick picks an element of the page.
func (s *stubbedStage) pick(selector string) {
	s.B.T.Helper()
	(&scene{Page: s.Panel, T: s.B.T.(*testing.T), B: s.B, Tab: s.Tab}).pick(selector)
}
