package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/performance"
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

// Frame waits until a frame has been drawn.
func (p *Page) Frame() {
	p.T.Helper()
	p.Do(`new Promise((next) => requestAnimationFrame(() => setTimeout(next)))`)
}

// screen makes the tab one of a screen of another size.
func (p *Picking) screen(width, height int64, dpr float64) {
	p.T.Helper()
	params := emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: dpr}
	if _, err := chromedp.Call(p.ctx, emulation.SetDeviceMetricsOverride, params); err != nil {
		p.T.Fatal(err)
	}
	p.Await(fmt.Sprintf("devicePixelRatio === %v", dpr))
}

// frames are the windows of a page that can be looked into.
const frames = `(function all(w) { let found = [w]; for (let i = 0; i < w.frames.length; i++) { try { w.frames[i].document; found = found.concat(all(w.frames[i])); } catch {} } return found; })(window)`

func (p *Picking) saw() []string {
	p.T.Helper()
	return Get[[]string](p.Page, frames+`.flatMap((w) => w.saw ?? [])`)
}

// Unseen wants the page to have seen nothing of any gesture.
func (p *Picking) Unseen() {
	p.T.Helper()
	if saw := p.saw(); len(saw) > 0 {
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
	b := Start(t, "host-resolver-rules", "MAP elsewhere.test 127.0.0.1")
	b.LoadExtension()
	b.worker()
	port := site[strings.LastIndexByte(site, ':')+1:]
	other := func(host string) string {
		return `new Promise((loaded) => { const f = document.querySelector(".other"); f.onload = loaded; f.src = "http://` + host + `:` + port + `/inner.html" })`
	}
	for _, c := range []struct {
		name, page string
		before     string // what the page does first
		armed      string // what it does while the picker is armed
		x, y       float64
		modifiers  string
		keys       string // instead of a click, after a move to the point
		dpr        float64
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
		{name: "a frame of another origin of this machine, which has a picker of its own", page: "frames.html", before: other("localhost"), x: 100, y: 350,
			want: `{"tag":"div","id":null,"className":"","text":"","domPath":"body > div","frame":"http://localhost:` + port + `/inner.html","clipped":true}`},
		{name: "a frame from elsewhere, as a whole", page: "frames.html", before: other("elsewhere.test"), x: 100, y: 350,
			want: `{"tag":"iframe","id":null,"className":"other","text":"","domPath":"body > iframe.other:nth-of-type(3)","rect":{"x":50,"y":300,"w":300,"h":100}}`},
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
		{name: "a form whose fields have the names of all its own properties", page: "clobber.html", x: 60, y: 200,
			want: `{"tag":"form","id":null,"className":"at named","text":"Inside A form","domPath":"body > form.at.named","rect":{"x":20,"y":20,"w":400,"h":200}}`},
		{name: "an element in it", page: "clobber.html", x: 240, y: 60,
			want: `{"tag":"b","id":null,"className":"at inner","text":"Inside","domPath":"body > form.at.named > b.at.inner","rect":{"x":220,"y":40,"w":100,"h":40}}`},
		{name: "from it to its form, and back to another element, by keys", page: "clobber.html", x: 240, y: 60, keys: "ArrowUp ArrowDown ArrowRight Enter",
			want: `{"tag":"p","id":null,"className":"","text":"A form","domPath":"body > form.at.named > p","rect":{"x":20,"y":20,"w":400,"h":40},"role":"paragraph"}`},
		{name: "an editor whose page was written into its frame", page: "clobber.html", x: 60, y: 320,
			want: `{"tag":"button","id":null,"className":"at","text":"First","domPath":"body > button.at","rect":{"x":20,"y":300,"w":100,"h":40},"role":"button","name":"First","attrs":{"type":"button"},"frame":"iframe /clobber.html"}`},
		{name: "one that is written again while the picker is armed", page: "clobber.html", armed: `write("Second")`, x: 60, y: 320,
			want: `{"tag":"button","id":null,"className":"at","text":"Second","domPath":"body > button.at","rect":{"x":20,"y":300,"w":100,"h":40},"role":"button","name":"Second","attrs":{"type":"button"},"frame":"iframe /clobber.html"}`},
		{name: "a page that was written anew", page: "clobber.html", before: `rewrite()`, x: 60, y: 20,
			want: `{"tag":"button","id":null,"className":"at","text":"Anew","domPath":"body > button.at","rect":{"x":0,"y":0,"w":100,"h":40},"role":"button","name":"Anew","attrs":{"type":"button"}}`},
		{name: "a page that is written anew while the picker is armed", page: "clobber.html", armed: `rewrite()`, x: 60, y: 20,
			want: `{"tag":"button","id":null,"className":"at","text":"Anew","domPath":"body > button.at","rect":{"x":0,"y":0,"w":100,"h":40},"role":"button","name":"Anew","attrs":{"type":"button"}}`},
		{name: "a canvas of a small screen of many pixels", page: "drawing.html", dpr: 2.5, x: 270, y: 45,
			want: `{"tag":"canvas","id":null,"className":"plot","text":"","domPath":"body > canvas.plot","rect":{"x":220,"y":20,"w":200,"h":100},"clipped":true,"click":{"x":50,"y":25}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.Blank.T, b.worker().T = t, t
			defer func() { b.Blank.T, b.worker().T = b.T, b.T }()
			p := pickIn(b, site+"/"+c.page)
			if c.dpr > 0 {
				p.screen(380, 300, c.dpr) // the last row: the tab keeps it
			}
			if c.before != "" {
				p.Do(c.before)
			}
			p.Do(frames + `.forEach((w) => { if (w.saw) w.saw.length = 0 })`)
			p.Arm()
			if c.armed != "" {
				p.Do(c.armed)
			}
			p.mouse(5, 5, c.modifiers, "move")
			p.mouse(c.x, c.y, c.modifiers, "move")
			for range 3 {
				p.Frame()
			}
			if c.keys == "" {
				p.Click(c.x, c.y, c.modifiers)
			} else {
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
			p.Await(`!document.querySelector("[data-slidewrite-ui]")`)
			// What lies under the mouse may be another element now.
			if saw := regexp.MustCompile(`\b(down|up|click|key|touch|drag)`).FindString(strings.Join(p.saw(), " ")); saw != "" {
				t.Errorf("in the end the page saw %q", p.saw())
			}
		})
	}
}

// TestPickGestures: whatever the mouse, a finger or a pen does to an element
// while the picker is armed, the page does not see it; what is done to the
// bare page is the page's.
func TestPickGestures(t *testing.T) {
	site := hard(t)
	b := Start(t)
	b.LoadExtension()
	p := pickIn(b, site+"/layers.html")
	p.Do(`saw.length = 0`)
	// A second time into the same page: the listeners of the first are gone.
	b.worker().Do(fmt.Sprintf(`chrome.scripting.executeScript({ target: { tabId: %d }, files: chrome.runtime.getManifest().content_scripts.find((s) => s.js.includes("picker/pick.js")).js })`, p.id))
	p.Arm()
	press := func(button input.MouseButton, clicks int64, x, y float64, types ...input.DispatchMouseEventType) {
		for _, typ := range types {
			if _, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: typ, X: x, Y: y, Button: button, ClickCount: clicks}); err != nil {
				t.Fatal(err)
			}
		}
	}
	down, up, moved := input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased, input.DispatchMouseEventTypeMouseMoved
	press(input.MouseButtonRight, 1, 40, 330, down, up)
	press(input.MouseButtonMiddle, 1, 40, 330, down, up)
	press(input.MouseButtonLeft, 1, 40, 330, down) // a link is drawn away
	for x := 45.0; x < 100; x += 5 {
		press(input.MouseButtonLeft, 1, x, 330, moved)
	}
	press(input.MouseButtonLeft, 1, 100, 330, up)
	p.Press("ArrowUp")
	p.Press("Shift+ArrowDown")
	p.Frame()
	p.Unseen()
	if n := Get[int](b.worker(), fmt.Sprintf(`chrome.storage.session.get("picker:%[1]d").then((all) => all["picker:%[1]d"].waiting.length)`, p.id)); n != 0 {
		t.Errorf("%d picks of what was no click", n)
	}
	press(input.MouseButtonLeft, 1, 40, 330, down, up)
	press(input.MouseButtonLeft, 2, 40, 330, down, up)
	p.Picked(2)
	for _, typ := range []input.DispatchTouchEventType{input.DispatchTouchEventTypeTouchStart, input.DispatchTouchEventTypeTouchEnd} {
		params := input.DispatchTouchEventParams{Type: typ, TouchPoints: []*input.TouchPoint{}}
		if typ == input.DispatchTouchEventTypeTouchStart {
			params.TouchPoints = append(params.TouchPoints, &input.TouchPoint{X: 50, Y: 265})
		}
		if _, err := chromedp.Call(p.ctx, input.DispatchTouchEvent, params); err != nil {
			t.Fatal(err)
		}
	}
	p.Picked(3)
	p.Unseen()
	if url := Get[string](p.Page, `location.href`); url != site+"/layers.html" {
		t.Errorf("the link was followed: %s", url)
	}

	p.Click(700, 550, "") // nothing is there
	saw := strings.Join(p.saw(), " ")
	for _, event := range []string{"pointerdown", "mousedown", "pointerup", "click"} {
		if !strings.Contains(saw, event+" ") {
			t.Errorf("a click on the bare page: it saw %q, and no %s", saw, event)
		}
	}
	p.Press("Escape")
	p.Armed(false)
	p.Do(`saw.length = 0`)
	p.Click(250, 300, "")
	if saw := p.saw(); len(saw) == 0 {
		t.Error("the page does not see what is done after the picker's end")
	}

	// What cannot be read is no pick, and no silence.
	b.worker().Do(fmt.Sprintf(`chrome.scripting.executeScript({ target: { tabId: %d }, func: () => { slidewrite.captures.capture = () => { throw new Error("it is odd"); }; } })`, p.id))
	p.Arm()
	p.Do(`saw.length = 0`)
	p.Click(250, 40, "")
	p.Armed(false)
	b.worker().Await(fmt.Sprintf(`(await chrome.storage.session.get("picker:%[1]d"))["picker:%[1]d"].trouble?.message === "The element could not be read (it is odd). Pick it again, or what is around it."`, p.id))
	p.Unseen()
}

// BenchmarkPickHover moves the mouse over a page of 10,000 elements, a frame
// at a time, with the picker armed.
func BenchmarkPickHover(b *testing.B) {
	site := hard(b)
	br := Start(b)
	br.LoadExtension()
	p := pickIn(br, site+"/many.html")
	if n := Get[int](p.Page, `document.querySelectorAll("*").length`); n < 10000 {
		b.Fatalf("the page has %d elements", n)
	}
	if _, err := chromedp.Call(p.ctx, performance.Enable, performance.EnableParams{}); err != nil {
		b.Fatal(err)
	}
	over := func(frames int) map[string]float64 {
		before := p.metrics()
		for i := range frames {
			p.mouse(float64(20+(i*137)%900), float64(20+(i*61)%500), "", "move")
			p.Frame()
		}
		after := p.metrics()
		for name := range after {
			after[name] = (after[name] - before[name]) / float64(frames)
		}
		return after
	}
	asleep := over(100)
	p.Arm()
	over(20)
	b.ResetTimer()
	armed := over(max(b.N, 200))
	b.StopTimer()
	b.ReportMetric(1000*(armed["ScriptDuration"]-asleep["ScriptDuration"]), "ms/frame")
	b.ReportMetric(1000*asleep["ScriptDuration"], "ms/frame-asleep") // with the test's own
	b.ReportMetric(armed["LayoutCount"], "layouts/frame")
	b.ReportMetric(1000*(armed["LayoutDuration"]+armed["RecalcStyleDuration"]), "ms/frame-layout")
}

// metrics are what Chromium has counted of the page.
func (p *Page) metrics() map[string]float64 {
	p.T.Helper()
	res, err := chromedp.Call(p.ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		p.T.Fatal(err)
	}
	all := map[string]float64{}
	for _, m := range res.Metrics {
		all[m.Name] = m.Value
	}
	return all
}
