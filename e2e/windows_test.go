package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// window opens a page in a window of its own.
func (b *Browser) window(name, url string) *Page {
	b.T.Helper()
	yes := true
	res, err := chromedp.CallBrowser(b.ctx, target.CreateTarget, target.CreateTargetParams{URL: url, NewWindow: &yes})
	if err != nil {
		b.T.Fatalf("open a window: %v", err)
	}
	p := b.attachTo(name, res.TargetID)
	p.Await(`document.readyState === "complete"`)
	return p
}

// tabID is Chrome's name of the app's tab.
func (s *Story) tabID() int {
	s.T.Helper()
	return Get[int](s.B.worker(), `chrome.tabs.query({}).then((all) => all.find((t) => t.url === `+js(s.App.URL+"/")+`).id)`)
}

// TestTwoWindows: each window has a panel, and a pick is the business of one
// of them: its chip has its picture, and nothing waits as if nobody had heard.
func TestTwoWindows(t *testing.T) {
	s := Begin(t, green)
	other := s.B.window("other", s.App.URL+"/?other")
	s.B.OpenPanel(other).There(message)
	s.B.Front(s.Tab)
	p := s.arm()
	for i, selector := range []string{"h1", "[data-testid=new]"} {
		x, y := s.Tab.at(selector)
		p.Click(x, y, "")
		s.Panel.Await(fmt.Sprintf(chips+`.length === %d`, i+1))
	}
	s.Panel.Await(chips + `.every((chip) => chip.querySelector("img"))`)
	id := s.tabID()
	s.B.worker().Await(fmt.Sprintf(`(await chrome.storage.session.get("picker:%[1]d"))["picker:%[1]d"].waiting.length === 0`, id))
	s.Panel.Press("Escape")
	s.Settled()
}

// TestTabDiscarded: Chrome takes a tab that nobody looks at out of memory, and
// it comes back with another id: with its chat and its draft.
func TestTabDiscarded(t *testing.T) {
	s := Begin(t, green)
	s.Send(askGreen, send)
	s.Panel.Says("Committed as")
	s.Idle()
	s.Panel.Fill(message, "a draft")
	id := s.tabID()
	s.B.worker().Await(fmt.Sprintf(`(await chrome.storage.session.get("panel:%[1]d"))["panel:%[1]d"].draft === "a draft"`, id))
	s.B.Open("second", "about:blank")
	now := Get[int](s.B.worker(), fmt.Sprintf(`chrome.tabs.discard(%d).then((tab) => tab.id)`, id))
	s.B.worker().Do(fmt.Sprintf(`chrome.tabs.update(%d, { active: true })`, now))
	s.Panel.Await(fmt.Sprintf(`(() => {
		const tab = document.querySelector('.tab:not([hidden])[data-tab="%d"]');
		return tab?.querySelector('[data-sw="composer"]').value === "a draft" && tab.innerText.includes(%s);
	})()`, now, js(askGreen)))
	s.B.worker().Await(fmt.Sprintf(`!("panel:%[1]d" in await chrome.storage.session.get("panel:%[1]d"))`, id))
	s.Settled()
}

// TestPickWithoutTLS: a page of another machine without TLS is no secure
// context, and lacks some of what others have.
func TestPickWithoutTLS(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>far</title><link rel=icon href=data:,><button style="width:300px;height:200px" onclick="seen = true">pick me</button>`)
	}))
	defer srv.Close()
	b := Start(t, "host-resolver-rules", "MAP shop.dev.test 127.0.0.1")
	b.LoadExtension()
	site := strings.Replace(srv.URL, "127.0.0.1", "shop.dev.test", 1)
	b.worker().Do(`chrome.storage.local.set({ settings: { version: 1, origins: { ` + js(site) + `: { enabled: true, token: "x", shimUrl: "http://127.0.0.1:1" } }, global: {} } })`)
	b.worker().Await(`(await chrome.scripting.getRegisteredContentScripts()).length > 0`)
	p := pickIn(b, site)
	if Get[bool](p.Page, "isSecureContext") {
		t.Fatal("the page is a secure context: this shows nothing")
	}
	p.Arm()
	p.Click(100, 100, "")
	if got := p.Picked(1); got["tag"] != "button" {
		t.Errorf("picked %v", got)
	}
	if Get[bool](p.Page, "globalThis.seen ?? false") {
		t.Error("the page saw the click")
	}
	p.Press("Escape")
}
