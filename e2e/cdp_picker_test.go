package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/extensions"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// debugging is a story whose site is picked from by the debugger, with frames
// of other origins over the app: of another host, half as large as it is by
// itself; in such a one, of the app's host; and of the app's host at once. They
// show pages of hard. The addresses of that, and of the one around, are returned.
func debugging(t *testing.T) (s *Story, p *Picking, site, outer string) {
	t.Helper()
	s = Tell(t)
	s.Play(green, config())
	s.Connect("debuggerPicker", true)
	s.Open()
	s.Ready()
	site = hard(t)
	around := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>Outer</title><link rel="icon" href="data:,"><iframe class="inner" src="%s/drawing.html" style="position: absolute; left: 20px; top: 10px; width: 400px; height: 140px; border: 0"></iframe>`, site)
	}))
	t.Cleanup(around.Close)
	for _, f := range [][3]string{
		{"other", abroad(site) + "/layers.html", "top: 300px; width: 600px; height: 400px; border: 0; transform: scale(.5); transform-origin: 0 0"},
		{"outer", abroad(around.URL) + "/", "top: 520px; width: 440px; height: 160px; border: 2px solid"},
		{"same", site + "/drawing.html", "top: 520px; left: 600px; width: 400px; height: 120px; border: 0"},
	} {
		s.Tab.Do(`new Promise((loaded) => {
			const frame = document.createElement("iframe");
			frame.className = ` + js(f[0]) + `;
			frame.style = "position: fixed; left: 40px; " + ` + js(f[2]) + `;
			frame.onload = loaded;
			frame.src = ` + js(f[1]) + `;
			document.body.append(frame);
		})`)
	}
	p = &Picking{Page: s.Tab, b: s.B}
	p.id = Get[int](s.B.worker(), `chrome.tabs.query({ url: `+js(s.App.URL+"/*")+` }).then(([tab]) => tab.id)`)
	p.Do(`(() => {
		window.saw = [];
		for (const type of ["pointerdown", "pointermove", "mousedown", "mouseup", "mousemove", "mouseover", "click", "keydown", "keyup", "copy", "toggle", "beforetoggle"]) {
			addEventListener(type, (event) => saw.push(type + " " + (event.key ?? "")), true);
		}
	})()`)
	return s, p, site, around.URL
}

// abroad is an address of this machine by its other name.
func abroad(url string) string { return strings.Replace(url, "127.0.0.1", "localhost", 1) }

// Attached waits until the extension's debugger is, or is not, in the tab.
func (p *Picking) Attached(yes bool) {
	p.T.Helper()
	p.b.worker().Await(fmt.Sprintf(`chrome.debugger.sendCommand({ tabId: %d }, "Page.getFrameTree").then(() => true, () => false).then((is) => is === %v)`, p.id, yes))
}

// shift presses or lets go of the key, where the focus is in p, and waits
// until the picker knows.
func (p *Picking) shift(in *Page, down bool) {
	p.T.Helper()
	params := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: "Shift", Code: "ShiftLeft", WindowsVirtualKeyCode: 16, NativeVirtualKeyCode: 16}
	if down {
		params.Type, params.Modifiers = input.DispatchKeyEventTypeKeyDown, 8
	}
	if _, err := chromedp.Call(in.ctx, input.DispatchKeyEvent, params); err != nil {
		p.T.Fatalf("Shift: %v", err)
	}
	p.b.worker().Await(fmt.Sprintf(`(await chrome.storage.session.get("picker:%[1]d"))["picker:%[1]d"].shift === %v`, p.id, down))
}

// sent is what the agent was told, without the escapes of its JSON.
func (s *Story) sent() string {
	s.T.Helper()
	return strings.NewReplacer(`\"`, `"`, `": `, `":`, `\n`, "", "  ", "").Replace(strings.Join(s.Prompts(), "\n"))
}

// TestDebuggerPick: the site's settings say so, and the agent is told which
// rules style what was picked, also inside a frame of another origin; the page
// hears nothing of five picks, and nothing of the debugger is left.
func TestDebuggerPick(t *testing.T) {
	s, p, site, outer := debugging(t)
	s.arm()
	p.Attached(true)
	p.Do(`saw.length = 0`)
	x, y := p.at("[data-testid=new]")
	p.Click(x, y, "")
	s.Panel.Await(chips + `.length === 1 && ` + chips + `[0].querySelector("img")?.naturalWidth > 0`)
	x, y = p.at("[data-testid=espresso] .card-art")
	p.Click(x, y, "")
	s.Panel.Await(chips + `.length === 2`)
	read := func() { // while a picture is taken the debugger rests
		s.T.Helper()
		s.B.worker().Await(`navigator.locks.query().then(({ held, pending }) => ![...held, ...pending].some((lock) => lock.name.startsWith("debugger:")))`)
	}
	read()

	// The worker ends: the next pick brings another one.
	s.B.KillWorker()
	p.Click(40+250/2, 300+40/2, "")
	s.Panel.Await(chips + `.length === 3`)
	read()

	// Shift is pressed where the focus is: in the panel, or in the page.
	s.Panel.Click(message)
	p.shift(s.Panel, true)
	p.Click(62+300, 532+60, "Shift")
	s.Panel.Await(chips + `.length === 4`)
	p.shift(s.Panel, false)
	s.Panel.Click(message)
	copied := func() string {
		s.Panel.Press("Control+a")
		s.Panel.Press("Control+v")
		return Get[string](s.Panel, `document.querySelector('[data-sw="composer"]').value`)
	}
	s.Panel.Await(chips + `[3].querySelector("img")`) // after the copy
	if got := copied(); got != "html > body > canvas" {
		t.Errorf("copied: %s", got)
	}
	read()
	p.shift(p.Page, true)
	p.Click(600+300, 520+60, "Shift")
	s.Panel.Await(chips + `.length === 5`)
	s.Panel.Await(armed(false))
	p.Attached(false)
	s.Panel.Await(chips + `.every((chip) => chip.querySelector("img"))`)
	if got := copied(); got != "html > body > canvas" {
		t.Errorf("copied: %s", got)
	}
	if saw := Get[[]string](p.Page, `saw`); len(saw) > 0 {
		t.Errorf("the app saw %q", saw)
	}
	if n := Get[string](p.Page, orders); n != "0" {
		t.Errorf("the app counted %s orders", n)
	}
	s.Panel.Shot("picker-debugger-five")

	s.Panel.Press("Control+a")
	s.Send(askGreen, send)
	p.Await(greenButton)
	s.Panel.Says("Committed as")
	told := s.sent()
	for _, part := range []string{
		`"matchedStyles":[{"selector":".btn-primary","source":"` + s.App.Dir + `/src/Button.css","line":14,"props":{"background":"var(--primary)","border-color":"transparent","color":"white"}},` +
			`{"selector":".btn","source":"` + s.App.Dir + `/src/Button.css","line":6,"props":{"border":"1px solid #cbd5e1","border-radius":"6px","font":"inherit","padding":"8px 16px"}},`,
		`"file":"src/Button.jsx","line":2,"stack":["Button","App"],"framework":"react"`,
		`{"selector":"element.style","props":{"background":`,
		`"rect":{"x":140,"y":310,"w":50,"h":20},"role":"button","name":"Off"`,
		`"frame":"iframe.other:nth-of-type(1) ` + abroad(site) + `/layers.html","disabled":true`,
		`{"selector":".at","source":"` + abroad(site) + `/base.css","line":3`,
		`"rect":{"x":282,"y":552,"w":200,"h":100}`,
		`"frame":"iframe.outer:nth-of-type(2) ` + abroad(outer) + `/ > iframe.inner ` + site + `/drawing.html","clipped":true`,
		`"rect":{"x":820,"y":540,"w":200,"h":100}`,
		`"frame":"iframe.same:nth-of-type(3) ` + site + `/drawing.html","clipped":true`,
	} {
		if !strings.Contains(told, part) {
			t.Errorf("the agent was not told %s:\n%s", part, told[max(0, len(told)-6000):])
		}
	}
	s.Tab.Click(CSS("[data-testid=new]"))
	s.Tab.Await(orders + ` === "1"`)
	s.Settled()
}

// debugEarly picks from a tab without any script of ours: the debugger needs
// none. The picture has the pixels of the browser's zoom.
func debugEarly(b *Browser, site string) {
	b.T.Helper()
	p := &Picking{Page: b.Blank, b: b, id: Get[int](b.worker(), `chrome.tabs.query({ active: true }).then(([tab]) => tab.id)`)}
	b.worker().Do(`chrome.storage.local.set({ settings: { version: 1, origins: { ` + js(site) + `: { debuggerPicker: true } }, global: {} } })`)
	b.worker().Do(fmt.Sprintf(`chrome.tabs.setZoom(%d, 1.5)`, p.id))
	p.Await(`devicePixelRatio === 1.5`)
	p.Arm()
	p.Click(460, 40, "")
	same(b.T, p.Picked(1), `{"tag":"div","id":null,"className":"at front","text":"Front","domPath":"body > div.at.front:nth-of-type(4)","rect":{"x":420,"y":20,"w":100,"h":40}}`)
	waiting := fmt.Sprintf(`(await chrome.storage.session.get("picker:%[1]d"))["picker:%[1]d"].waiting[0]`, p.id)
	b.worker().Await(waiting + `.capture.screenshotW`)
	if size := Get[[]int](b.worker(), `(async () => { const { capture: c } = `+waiting+`; return [c.screenshotW, c.screenshotH]; })()`); size[0] != 150 || size[1] != 60 {
		b.T.Errorf("the picture of 100 × 40 is %v at 1.5", size)
	}
	p.shift(p.Page, true)
	p.shift(p.Page, false)
	p.Press("Escape")
	p.Armed(false)
	p.Attached(false)
	b.worker().Do(fmt.Sprintf(`Promise.all([chrome.storage.local.clear(), chrome.storage.session.clear(), chrome.tabs.setZoom(%d, 1)])`, p.id))
	p.Await(`devicePixelRatio === 1`)
}

// TestDebuggerEnds: whatever ends the picker, the debugger leaves the tab; and
// where it cannot be had, a person is told why, and what to do.
func TestDebuggerEnds(t *testing.T) {
	s, p, _, _ := debugging(t)
	arm := func() {
		t.Helper()
		s.arm()
		p.Attached(true)
	}
	over := func() {
		t.Helper()
		s.Panel.Await(armed(false))
		p.Attached(false)
	}
	// Escape, in the page, which does not hear of it, and in the panel.
	arm()
	p.Do(`saw.length = 0`)
	p.Press("Escape")
	over()
	if saw := Get[[]string](p.Page, `saw`); len(saw) > 0 {
		t.Errorf("the app saw %q", saw)
	}
	arm()
	s.Panel.Click(message)
	s.Panel.Press("Escape")
	over()

	// The bar of Chromium, which has none without a window.
	arm()
	s.B.worker().Do(fmt.Sprintf(`chrome.debugger.detach({ tabId: %[1]d }).then(() => chrome.debugger.onDetach.dispatch({ tabId: %[1]d }, "canceled_by_user"))`, p.id))
	over()
	s.Panel.Says("canceled in Chrome's bar")
	s.Panel.Shows(60)

	// A worker that ends leaves the tab attached; the next one takes it anew.
	arm()
	s.B.worker().Do(fmt.Sprintf(`chrome.storage.session.remove("picker:%d")`, p.id))
	s.B.KillWorker()
	s.B.ClosePanel(s.Tab, s.Panel)
	s.B.wake()
	s.Open()
	s.Ready()
	p.Attached(true)
	arm()

	// One that ends on its way out: the next one finishes it.
	s.B.worker().Do(fmt.Sprintf(`chrome.storage.session.get("picker:%[1]d").then((all) => chrome.storage.session.set({ "picker:%[1]d": { ...all["picker:%[1]d"], armed: false } }))`, p.id))
	s.B.KillWorker()
	s.B.wake()
	over()
	arm()

	// The setting goes, another page comes, the panel is closed.
	o := s.B.Open("options", extensionURL("options/options.html#"+s.App.URL))
	o.Shot("options-debugger")
	o.Click(Role("checkbox", "Pick through Chrome's debugger"))
	s.B.Front(s.Tab)
	over()
	s.B.Front(o)
	o.Click(Role("checkbox", "Pick through Chrome's debugger"))
	s.stored(o, s.App.URL)
	s.B.Front(s.Tab)
	s.Panel.There(message)
	arm()
	s.Tab.Reload()
	over()
	arm()
	s.B.ClosePanel(s.Tab, s.Panel)
	p.Attached(false)
	s.Open()
	s.Ready()

	// A part of another extension in the page: Chromium refuses.
	other := t.TempDir()
	for name, text := range map[string]string{
		"manifest.json": `{"manifest_version": 3, "name": "Other", "version": "1", "web_accessible_resources": [{"resources": ["part.html"], "matches": ["<all_urls>"]}]}`,
		"part.html":     `<!doctype html><title>Part</title>`,
	} {
		if err := os.WriteFile(filepath.Join(other, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	res, err := chromedp.CallBrowser(s.B.ctx, extensions.LoadUnpacked, extensions.LoadUnpackedParams{Path: other})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := chromedp.CallBrowser(s.B.ctx, extensions.Uninstall, extensions.UninstallParams(res)); err != nil {
			t.Error(err)
		}
	}()
	s.Tab.Do(`new Promise((loaded) => { const f = document.createElement("iframe"); f.onload = loaded; f.src = "chrome-extension://` + res.ID + `/part.html"; document.body.append(f); })`)
	s.Panel.Click(pickButton)
	s.Panel.Says("another extension")
	s.Panel.Await(armed(false))
	p.Attached(false)
	s.Panel.Shows(59)
	s.Tab.Click(CSS("[data-testid=new]"))
	s.Tab.Await(orders + ` === "1"`)
	s.Settled()
}
