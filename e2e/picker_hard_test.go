package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// hard is a server of the pages that are hard to pick from, app/hard. What
// lies under /strict/ may run nothing that is not in a file, and makes no
// markup from strings.
func hard(t testing.TB) string {
	t.Helper()
	files := http.FileServer(http.Dir(filepath.Join("app", "hard")))
	mux := http.NewServeMux()
	mux.Handle("/", files)
	mux.Handle("/strict/", http.StripPrefix("/strict", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'")
		files.ServeHTTP(w, r)
	})))
	mux.HandleFunc("/strict/icon.svg", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL
}

// Picking drives the picker of a tab by its keyboard command, with no panel:
// what is picked waits with the worker.
type Picking struct {
	*Page
	b  *Browser
	id int // of the tab
}

// pickIn opens a page in the browser's tab and arms the picker.
func pickIn(b *Browser, url string) *Picking {
	b.T.Helper()
	tab := b.Blank
	tab.Name = "tab"
	tab.Go(url)
	p := &Picking{Page: tab, b: b}
	p.id = Get[int](b.worker(), `chrome.tabs.query({ active: true }).then(([tab]) => tab.id)`)
	return p
}

// Arm presses the key for it.
func (p *Picking) Arm() {
	p.T.Helper()
	p.b.worker().Do(fmt.Sprintf(`chrome.storage.session.remove("picker:%d").then(() => chrome.tabs.get(%d)).then((tab) => chrome.commands.onCommand.dispatch("pick", tab))`, p.id, p.id))
	p.Armed(true)
}

// Armed waits until the picker is.
func (p *Picking) Armed(armed bool) {
	p.T.Helper()
	p.b.worker().Await(fmt.Sprintf(`((await chrome.storage.session.get("picker:%d"))["picker:%d"]?.armed ?? false) === %v`, p.id, p.id, armed))
}

// Picked waits for the nth capture (from 1), without its picture and its name.
func (p *Picking) Picked(n int) map[string]any {
	p.T.Helper()
	waiting := fmt.Sprintf(`((await chrome.storage.session.get("picker:%d"))["picker:%d"]?.waiting ?? [])`, p.id, p.id)
	p.b.worker().Await(waiting + `.length >= ` + strconv.Itoa(n))
	got := Get[map[string]any](p.b.worker(), `(async () => `+waiting+`[`+strconv.Itoa(n-1)+`].capture)()`)
	for _, name := range []string{"pick", "screenshotDataUrl", "screenshotW", "screenshotH", "component"} {
		delete(got, name)
	}
	return got
}

// mouse sends what a mouse does: "move", "down", "up", with modifiers.
func (p *Picking) mouse(x, y float64, modifiers string, acts ...string) {
	p.T.Helper()
	var bits int64
	for _, m := range strings.Fields(modifiers) {
		bits |= map[string]int64{"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}[m]
	}
	for _, act := range acts {
		params := input.DispatchMouseEventParams{X: x, Y: y, Modifiers: bits}
		switch act {
		case "move":
			params.Type = input.DispatchMouseEventTypeMouseMoved
		case "down", "up":
			params.Type = map[string]input.DispatchMouseEventType{"down": input.DispatchMouseEventTypeMousePressed, "up": input.DispatchMouseEventTypeMouseReleased}[act]
			params.Button, params.ClickCount = input.MouseButtonLeft, 1
		}
		if _, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, params); err != nil {
			p.T.Fatalf("mouse %s: %v", act, err)
		}
	}
}

// Click picks what is at a point.
func (p *Picking) Click(x, y float64, modifiers string) {
	p.T.Helper()
	p.mouse(x, y, modifiers, "move", "down", "up")
}

// frames are the windows of a page that can be looked into.
const frames = `(function all(w) { let found = [w]; for (let i = 0; i < w.frames.length; i++) { try { w.frames[i].document; found = found.concat(all(w.frames[i])); } catch {} } return found; })(window)`

// Unseen wants the page to have seen nothing of any gesture.
func (p *Picking) Unseen() {
	p.T.Helper()
	if saw := Get[[]string](p.Page, frames+`.flatMap((w) => w.saw ?? [])`); len(saw) > 0 {
		p.T.Errorf("the page saw %q", saw)
	}
}

// same compares a capture with what is expected, as JSON.
func same(t testing.TB, got map[string]any, want string) {
	t.Helper()
	var w map[string]any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%v in %s", err, want)
	}
	if g, e := js(got), js(w); g != e {
		t.Errorf("picked\n  %s\nwant\n  %s", g, e)
	}
}

// TestPickHardPages: one row is one pick, of which the page sees nothing.
func TestPickHardPages(t *testing.T) {
	site := hard(t)
	b := Start(t)
	b.LoadExtension()
	b.worker()
	for _, c := range []struct {
		name, page string
		before     string // what the page does first
		x, y       float64
		modifiers  string
		keys       string // instead of a click, after a move to the point
		want       string
		after      string // what is to be true then
	}{
		{name: "open shadow roots, one in the other", page: "shadow.html", x: 140, y: 120,
			want: `{"tag":"button","id":null,"className":"buy","text":"Buy","domPath":"body > x-open.at >>> x-inner >>> section > button.buy","rect":{"x":110,"y":110,"w":80,"h":20},"role":"button","name":"Buy","attrs":{"type":"button"}}`},
		{name: "a closed shadow root", page: "shadow.html", x: 140, y: 220,
			want: `{"tag":"a","id":null,"className":"door","text":"Enter","domPath":"x-closed#vault >>> p > a.door","rect":{"x":110,"y":210,"w":80,"h":20},"role":"link","name":"Enter","attrs":{"href":"/in"},"closedShadow":true}`},
		{name: "what is put into a slot", page: "shadow.html", x: 120, y: 310,
			want: `{"tag":"em","id":null,"className":"","text":"Given","domPath":"body > x-slots.at > em","rect":{"x":100,"y":300,"w":60,"h":20}}`},
		{name: "a srcdoc frame", page: "frames.html", x: 100, y: 100,
			want: `{"tag":"button","id":null,"className":"at go","text":"Go","domPath":"body > button.at.go","rect":{"x":72,"y":82,"w":100,"h":40},"role":"button","name":"Go","attrs":{"type":"button"},"frame":"iframe#doc about:srcdoc"}`},
		{name: "a frame, scaled and scrolled", page: "frames.html", before: `frames[1].scrollTo(0, 1000)`, x: 440, y: 80,
			want: `{"tag":"a","id":null,"className":"at deep","text":"Deep","domPath":"body > a.at.deep","rect":{"x":425,"y":70,"w":50,"h":20},"role":"link","name":"Deep","attrs":{"href":"/away"},"frame":"iframe.scaled:nth-of-type(2) /inner.html"}`},
		{name: "an item of a menu that goes at pointerdown", page: "layers.html", x: 50, y: 130,
			want:  `{"tag":"div","id":null,"className":"item","text":"Second","domPath":"body > div.at.menu:nth-of-type(1) > div.item:nth-of-type(2)","rect":{"x":20,"y":110,"w":100,"h":40},"role":"menuitem","name":"Second","repeat":{"index":2,"of":2}}`,
			after: `document.querySelector(".menu") !== null`},
		{name: "a disabled button", page: "layers.html", x: 250, y: 40,
			want: `{"tag":"button","id":null,"className":"at off","text":"Off","domPath":"body > button.at.off:nth-of-type(2)","rect":{"x":200,"y":20,"w":100,"h":40},"role":"button","name":"Off","attrs":{"type":"button"},"disabled":true}`},
		{name: "a disabled button that cannot be hit", page: "layers.html", x: 250, y: 100,
			want: `{"tag":"button","id":null,"className":"at dead","text":"Dead","domPath":"body > button.at.dead:nth-of-type(3)","rect":{"x":200,"y":80,"w":100,"h":40},"role":"button","name":"Dead","attrs":{"type":"button"},"disabled":true}`},
		{name: "a field of a disabled group", page: "layers.html", x: 330, y: 150,
			want: `{"tag":"input","id":null,"className":"","text":"","domPath":"body > fieldset.at > label > input","rect":{"x":300,"y":140,"w":80,"h":30},"role":"textbox","name":"Size","attrs":{"name":"size"},"disabled":true}`},
		{name: "a label, whose box stays as it is", page: "layers.html", x: 100, y: 280,
			want:  `{"tag":"label","id":"agree","className":"at","text":"I agree","domPath":"label#agree","rect":{"x":20,"y":250,"w":100,"h":40}}`,
			after: `!document.querySelector("#box").checked`},
		{name: "a link that is not followed", page: "layers.html", x: 40, y: 330,
			want:  `{"tag":"a","id":null,"className":"at","text":"A link","domPath":"body > a.at","rect":{"x":20,"y":320,"w":100,"h":40},"role":"link","name":"A link","attrs":{"href":"#gone"}}`,
			after: `location.hash === ""`},
		{name: "what captures the pointer", page: "layers.html", x: 100, y: 420,
			want: `{"tag":"div","id":null,"className":"at capturing","text":"Drag me","domPath":"body > div.at.capturing:nth-of-type(2)","rect":{"x":20,"y":400,"w":200,"h":40}}`},
		{name: "a popover", page: "layers.html", x: 490, y: 50,
			want: `{"tag":"button","id":null,"className":"in-pop","text":"Close","domPath":"body > div.at.pop:nth-of-type(3) > button.in-pop","rect":{"x":460,"y":40,"w":60,"h":20},"role":"button","name":"Close","attrs":{"type":"button"}}`},
		{name: "a modal dialog", page: "layers.html", before: `document.querySelector("dialog").showModal(), new Promise((r) => setTimeout(r)).then(() => { saw.length = 0 })`, x: 500, y: 180,
			want: `{"tag":"button","id":null,"className":"yes","text":"Yes","domPath":"body > dialog > button.yes","rect":{"x":470,"y":170,"w":100,"h":30},"role":"button","name":"Yes","attrs":{"type":"button"}}`},
		{name: "under a sheet that shows nothing", page: "stack.html", x: 60, y: 40,
			want: `{"tag":"button","id":null,"className":"at under-sheet","text":"Under a sheet","domPath":"body > button.at.under-sheet:nth-of-type(1)","rect":{"x":20,"y":20,"w":100,"h":40},"role":"button","name":"Under a sheet","attrs":{"type":"button"}}`},
		{name: "a tint that cannot be hit", page: "stack.html", x: 260, y: 40,
			want: `{"tag":"div","id":null,"className":"tint","text":"","domPath":"body > div.tint:nth-of-type(2)","rect":{"x":200,"y":0,"w":200,"h":100}}`},
		{name: "through the tint", page: "stack.html", x: 260, y: 40, modifiers: "Alt",
			want: `{"tag":"button","id":null,"className":"at under-tint","text":"Under a tint","domPath":"body > button.at.under-tint:nth-of-type(2)","rect":{"x":220,"y":20,"w":100,"h":40},"role":"button","name":"Under a tint","attrs":{"type":"button"}}`},
		{name: "what is in front", page: "stack.html", x: 460, y: 40,
			want: `{"tag":"div","id":null,"className":"at front","text":"Front","domPath":"body > div.at.front:nth-of-type(4)","rect":{"x":420,"y":20,"w":100,"h":40}}`},
		{name: "through what is in front", page: "stack.html", x: 460, y: 40, modifiers: "Alt",
			want: `{"tag":"button","id":null,"className":"at back","text":"Back","domPath":"body > button.at.back:nth-of-type(3)","rect":{"x":420,"y":20,"w":100,"h":40},"role":"button","name":"Back","attrs":{"type":"button"}}`},
		{name: "a use of a symbol", page: "drawing.html", x: 40, y: 40,
			want: `{"tag":"use","id":null,"className":"glyph","text":"","domPath":"body > button.at > svg.icon > use.glyph","rect":{"x":30,"y":30,"w":20,"h":20},"attrs":{"href":"#cart"}}`},
		{name: "a bar of a chart", page: "drawing.html", x: 165, y: 90,
			want: `{"tag":"rect","id":null,"className":"bar","text":"","domPath":"body > svg.chart:nth-of-type(2) > g.bars > rect.bar:nth-of-type(2)","rect":{"x":150,"y":60,"w":30,"h":60}}`},
		{name: "a canvas, and where in it", page: "drawing.html", x: 270, y: 45.5,
			want: `{"tag":"canvas","id":null,"className":"plot","text":"","domPath":"body > canvas.plot","rect":{"x":220,"y":20,"w":200,"h":100},"click":{"x":50,"y":25.5}}`},
		{name: "an element without a box, by keys", page: "drawing.html", x: 480, y: 40, keys: "ArrowUp Enter",
			want: `{"tag":"div","id":null,"className":"gone","text":"Content","domPath":"body > div.gone","rect":{"x":450,"y":20,"w":100,"h":40}}`},
		{name: "a sticky header", page: "sticky.html", before: `scrollTo(0, 100)`, x: 40, y: 25,
			want: `{"tag":"button","id":null,"className":"save","text":"Save","domPath":"body > div > header.bar > button.save","rect":{"x":10,"y":10,"w":80,"h":30},"role":"button","name":"Save","attrs":{"type":"button"}}`},
		{name: "a row under it, in part", page: "sticky.html", before: `scrollTo(0, 100)`, x: 500, y: 60,
			want: `{"tag":"li","id":null,"className":"row","text":"2","domPath":"body > div > ul > li.row:nth-of-type(3)","rect":{"x":0,"y":30,"w":1000,"h":40},"role":"listitem","repeat":{"index":3,"of":10}}`},
		{name: "siblings and children, by keys", page: "sticky.html", before: `scrollTo(0, 0)`, x: 500, y: 60, keys: "ArrowRight ArrowRight ArrowLeft ArrowUp ArrowDown ArrowRight Enter",
			want: `{"tag":"li","id":null,"className":"row","text":"1","domPath":"body > div > ul > li.row:nth-of-type(2)","rect":{"x":0,"y":90,"w":1000,"h":40},"role":"listitem","repeat":{"index":2,"of":10}}`},
		{name: "Trusted Types and a strict policy", page: "strict/strict.html", x: 50, y: 20,
			want:  `{"tag":"button","id":null,"className":"at","text":"Strict","domPath":"body > button.at","rect":{"x":0,"y":0,"w":100,"h":40},"role":"button","name":"Strict","attrs":{"type":"button"}}`,
			after: `violations.length === 0`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.Blank.T, b.worker().T = t, t
			defer func() { b.Blank.T, b.worker().T = b.T, b.T }()
			p := pickIn(b, site+"/"+c.page)
			if c.before != "" {
				p.Do(c.before)
			}
			p.Do(frames + `.forEach((w) => { if (w.saw) w.saw.length = 0 })`)
			p.Arm()
			if c.keys == "" {
				p.Click(c.x, c.y, c.modifiers)
			} else {
				p.mouse(c.x, c.y, "", "move")
				p.Do(`new Promise((next) => requestAnimationFrame(() => setTimeout(next)))`)
				for _, key := range strings.Fields(c.keys) {
					p.Press(key)
				}
			}
			same(t, p.Picked(1), c.want)
			p.Unseen()
			if c.after != "" && !Get[bool](p.Page, c.after) {
				t.Errorf("it is not so: %s", c.after)
			}
			p.Press("Escape")
			p.Armed(false)
			p.Unseen()
		})
	}
}

// TestPickZoomed: rects are in CSS pixels, whatever the screen has.
func TestPickZoomed(t *testing.T) {
	site := hard(t)
	b := Start(t)
	b.LoadExtension()
	p := pickIn(b, site+"/drawing.html")
	if _, err := chromedp.Call(p.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 700, Height: 450, DeviceScaleFactor: 2}); err != nil {
		t.Fatal(err)
	}
	p.Await(`devicePixelRatio === 2`)
	p.Arm()
	p.Click(270, 45, "")
	got := p.Picked(1)
	same(t, map[string]any{"rect": got["rect"], "click": got["click"]}, `{"rect":{"x":220,"y":20,"w":200,"h":100},"click":{"x":50,"y":25}}`)
}
