package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var pickButton = CSS(`.tab:not([hidden]) [data-sw="pick"]`)

// armed is whether the panel shows that the picker is.
func armed(yes bool) string {
	return fmt.Sprintf(`document.querySelector('.tab:not([hidden]) [data-sw="pick"]').getAttribute("aria-pressed") === "%v"`, yes)
}

// chips are those of the message that is being written.
const chips = `[...document.querySelectorAll(".tab:not([hidden]) .composer .chip")]`

// arm presses the panel's button and waits until the page is armed.
func (s *Story) arm() *Picking {
	s.T.Helper()
	s.Panel.Click(pickButton)
	s.Panel.Await(armed(true))
	return &Picking{Page: s.Tab, b: s.B}
}

// at is the middle of an element of a page.
func (p *Page) at(selector string) (x, y float64) {
	p.T.Helper()
	_, c := p.reach(CSS(selector))
	return c[0], c[1]
}

const orders = `document.querySelector("[data-testid=count]").textContent`

// TestPick is the whole way: point at a button, say what should change, see it
// change. The app hears nothing of the pick.
func TestPick(t *testing.T) {
	s := Begin(t, green)
	p := s.arm()
	x, y := s.Tab.at("[data-testid=new]")
	p.mouse(x, y, "", "move")
	p.Do(`new Promise((next) => setTimeout(next, 400))`) // long enough to ask the framework
	s.Tab.Shot("picker-hover")
	p.Click(x, y, "")
	s.Panel.Await(chips + `.length === 1`)
	s.Panel.Says("button.btn")
	s.Panel.Await(chips + `[0].querySelector("img")?.naturalWidth > 0`)
	blue := Get[[]int](s.Panel, `(() => {
		const img = `+chips+`[0].querySelector("img");
		const c = new OffscreenCanvas(img.naturalWidth, img.naturalHeight).getContext("2d");
		c.drawImage(img, 0, 0);
		return [...c.getImageData(6, img.naturalHeight / 2, 1, 1).data.slice(0, 3)];
	})()`)
	if blue[2] < 150 || blue[0] > 80 {
		t.Errorf("the picture shows %v where the button is blue", blue)
	}
	s.Panel.Shot("picker-chip")
	if n := Get[string](s.Tab, orders); n != "0" {
		t.Errorf("the app counted %s orders", n)
	}
	s.Panel.Click(pickButton)
	s.Panel.Await(armed(false))
	p.mouse(1, 1, "", "move") // the button has another colour under the mouse

	s.Send(askGreen, send)
	s.Tab.Await(greenButton)
	s.Panel.Says("Committed as")
	prompt := strings.Join(s.Prompts(), "\n")
	told := strings.NewReplacer(`\"`, `"`, `": `, `":`, `\n`, "", "  ", "").Replace(prompt)
	for _, part := range []string{
		`"domPath":"div#root > header.topbar > button.btn.btn-primary"`, `"role":"button","name":"New order"`,
		`"file":"src/Button.jsx","line":2,"stack":["Button","App"],"framework":"react"`, `"media_type":"image/`,
	} {
		if !strings.Contains(told, part) {
			t.Errorf("the agent was not told %s:\n%s", part, told[max(0, len(told)-3000):])
		}
	}
	// Let go of, the page is the app's again.
	s.Tab.Click(CSS("[data-testid=new]"))
	s.Tab.Await(orders + ` === "1"`)
	s.Settled()
}

// TestPickFive: the fifth pick ends it; Shift copies the selector on the way;
// Escape ends it early, in the page and in the panel.
func TestPickFive(t *testing.T) {
	s := Begin(t, green)
	p := s.arm()
	picks := []string{"h1", "[data-testid=espresso] h3", "tbody tr:nth-child(2) td:nth-child(2)", "input[name=name]", "[data-testid=new]"}
	for i, selector := range picks {
		x, y := s.Tab.at(selector)
		modifiers := ""
		if i == 1 {
			modifiers = "Shift"
		}
		p.Click(x, y, modifiers)
		s.Panel.Await(fmt.Sprintf(chips+`.length === %d`, i+1))
	}
	s.Panel.Await(armed(false))
	s.Panel.Await(chips + `.every((chip) => chip.querySelector("img"))`)
	s.Panel.Shot("picker-five")
	if n := Get[string](s.Tab, orders); n != "0" {
		t.Errorf("the app counted %s orders", n)
	}
	s.Panel.Click(message)
	s.Panel.Press("Control+v")
	s.Panel.Await(`document.querySelector('[data-sw="composer"]').value !== ""`)
	copied := Get[string](s.Panel, `document.querySelector('[data-sw="composer"]').value`)
	if !Get[bool](s.Tab, `document.querySelectorAll(`+js(copied)+`).length === 1 && document.querySelector(`+js(copied)+`).matches("[data-testid=espresso] h3")`) {
		t.Errorf("copied: %s", copied)
	}

	// One out, and in again; then Escape, in the page.
	s.Panel.Do(chips + `[4].querySelector("button").click()`)
	s.arm()
	s.Tab.Press("Escape")
	s.Panel.Await(armed(false))
	s.arm()
	s.Panel.Click(message)
	s.Panel.Press("Escape")
	s.Panel.Await(armed(false))
	s.Tab.Click(CSS("[data-testid=new]"))
	s.Tab.Await(orders + ` === "1"`)
	s.Settled()
}

// TestPickReplaced: what was picked is replaced while the message is written:
// the chip finds its successor, and the message goes.
func TestPickReplaced(t *testing.T) {
	s := Begin(t, green)
	p := s.arm()
	x, y := s.Tab.at("[data-testid=new]")
	p.Click(x, y, "")
	s.Panel.Await(chips + `.length === 1`)
	s.Panel.Click(pickButton)
	s.Panel.Await(armed(false))
	p.mouse(1, 1, "", "move")
	s.Tab.Do(`void (window.before = document.querySelector("[data-testid=new]"))`)
	// A hook more: React makes the component's elements anew.
	file := filepath.Join(s.App.Dir, "src", "Button.jsx")
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := "import { useId } from \"react\";\n" + strings.Replace(string(source), "return", "useId();\n  return", 1)
	if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	s.Tab.Await(`!window.before.isConnected && document.querySelector("[data-testid=new]")`)
	if err := os.WriteFile(file, source, 0o644); err != nil {
		t.Fatal(err)
	}
	s.Tab.Await(`document.querySelector("[data-testid=new]")`)

	s.Panel.Do(chips + `[0].dispatchEvent(new PointerEvent("pointerenter"))`)
	s.Tab.Await(`document.querySelector("[data-slidewrite-ui]:popover-open")`)
	s.Tab.Shot("picker-highlight")
	s.Panel.Do(chips + `[0].dispatchEvent(new PointerEvent("pointerleave"))`)
	s.Send(askGreen, send)
	s.Tab.Await(greenButton)
	s.Panel.Says("Committed as")
	s.Settled()
}

// TestPickEarlyTab: a page that was open before the extension was loaded is
// offered to be loaded anew.
func TestPickEarlyTab(t *testing.T) {
	site := hard(t)
	b := Start(t)
	b.Blank.Go(site + "/stack.html")
	b.LoadExtension()
	debugEarly(b, site)
	panel := b.OpenPanel(b.Blank)
	b.worker().Await(`chrome.tabs.query({ active: true }).then(([tab]) => tab.url.endsWith("stack.html"))`)
	b.worker().Do(`chrome.tabs.query({ active: true }).then(([tab]) => chrome.commands.onCommand.dispatch("pick", tab))`)
	panel.Says("Reload")
	panel.Shot("picker-early-tab")
	panel.Click(Role("button", "Reload the tab"))
	b.Blank.Await(`performance.getEntriesByType("navigation")[0].type === "reload" && document.readyState === "complete"`)
	p := &Picking{Page: b.Blank, b: b, id: Get[int](b.worker(), `chrome.tabs.query({ active: true }).then(([tab]) => tab.id)`)}
	p.Arm()
}

// TestPickUnwatched: what is picked while no panel is open waits for it, also
// when the worker ends in between; pictures are taken at the screen's
// resolution and the browser's zoom.
func TestPickUnwatched(t *testing.T) {
	site := hard(t)
	b := Start(t)
	b.LoadExtension()
	p := pickIn(b, site+"/drawing.html")
	b.worker().Do(fmt.Sprintf(`chrome.tabs.setZoom(%d, 1.5)`, p.id))
	p.Await(`devicePixelRatio === 1.5`)
	p.Arm()
	b.KillWorker()
	p.Click(270, 45, "")
	b.awaitTarget("service_worker", extensionURL(""))
	got := p.Picked(1)
	same(t, map[string]any{"rect": got["rect"], "click": got["click"]}, `{"rect":{"x":220,"y":20,"w":200,"h":100},"click":{"x":50,"y":25}}`)
	waiting := fmt.Sprintf(`(await chrome.storage.session.get("picker:%[1]d"))["picker:%[1]d"].waiting[0]`, p.id)
	b.worker().Await(waiting + `.capture.screenshotW`)
	if size := Get[[]int](b.worker(), `(async () => { const { capture: c } = `+waiting+`; return [c.screenshotW, c.screenshotH]; })()`); size[0] != 300 || size[1] != 150 {
		t.Errorf("the picture of 200 × 100 is %v at 1.5", size)
	}
	panel := b.OpenPanel(b.Blank)
	panel.Await(chips + `.length === 1 && ` + chips + `[0].querySelector("img")`)
	panel.Await(armed(true))
	p.Press("Escape")
	panel.Await(armed(false))
}
