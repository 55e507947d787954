package e2e

import (
	"strings"
	"testing"
)

// TestTabSwitch: each tab has its own chat and draft.
func TestTabSwitch(t *testing.T) {
	s := Begin(t, green)
	s.Send(askGreen, send)
	s.Panel.Says("Committed as")
	s.Panel.Fill(message, "first draft")

	second := s.B.Open("second tab", s.App.URL+"/plain.html")
	s.Panel.Await(`document.querySelector('[data-sw="composer"]:not([hidden] *)')?.value === ""`)
	s.Panel.Await(`!document.body.innerText.includes("Committed as")`)
	s.Panel.Shot("second-tab")
	s.Panel.Fill(message, "second draft")

	s.B.Front(s.Tab)
	s.Panel.Says("Committed as")
	s.Panel.Await(visibleDraft + ` === "first draft"`)
	s.B.Front(second)
	s.Panel.Await(visibleDraft + ` === "second draft"`)
	s.Settled()
}

// visibleDraft is what stands in the field that is seen.
const visibleDraft = `[...document.querySelectorAll('[data-sw="composer"]')].find((f) => f.checkVisibility())?.value`

// TestDarkAndNarrow: the whole chat in each look, nothing wider than the
// panel.
func TestDarkAndNarrow(t *testing.T) {
	s := Begin(t, green)
	s.Send(askGreen, send)
	s.Panel.Says("Committed as")
	for _, look := range []Look{{false, 260}, {false, 360}, {true, 260}, {true, 360}} {
		s.Panel.Wear(look)
		if wide := Get[int](s.Panel, `document.documentElement.scrollWidth`); wide > int(look.Width) {
			t.Errorf("%s: the panel is %d wide", look, wide)
		}
		rgb := Get[[]int](s.Panel, `getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).map(Number)`)
		if dark := rgb[0]+rgb[1]+rgb[2] < 3*128; dark != look.Dark {
			t.Errorf("%s: the background is %v", look, rgb)
		}
		s.Panel.Shot("chat-" + look.String())
	}
	s.Settled()
}

// TestKeyboardOnly: a message and its undo without a mouse; whatever Tab comes
// to has a name.
func TestKeyboardOnly(t *testing.T) {
	s := Begin(t, green)
	s.tabTo("textbox Message")
	s.Panel.Type(askGreen)
	s.Panel.Press("Enter")
	s.Panel.Says("Committed as")
	s.Tab.Await(greenButton)
	s.tabTo("button Undo")
	s.Panel.Shot("keyboard-focus")
	s.Panel.Press("Enter")
	s.Panel.Says("Taken back")
	s.Tab.Await(blueButton)
	s.Settled()
}

// tabTo presses Tab until an element has the focus.
func (s *Story) tabTo(want string) {
	s.T.Helper()
	var passed []string
	for range 60 {
		s.Panel.Press("Tab")
		got := s.Panel.Focused()
		if got == want {
			return
		}
		role, name, _ := strings.Cut(got, " ")
		if outside := Get[bool](s.Panel, `document.activeElement === document.body`); name == "" && !outside {
			s.T.Errorf("Tab came to a %s without a name, after %q", role, passed)
		}
		passed = append(passed, got)
	}
	s.T.Fatalf("Tab did not come to %s, but to %q", want, passed)
}

// TestPaste: a picture from the clipboard goes along as a chip; text is just
// text.
func TestPaste(t *testing.T) {
	s := Begin(t, green)
	s.Panel.Click(message)
	s.paste(`(async () => {
		const canvas = new OffscreenCanvas(40, 30);
		canvas.getContext("2d").fillRect(5, 5, 20, 20);
		await navigator.clipboard.write([new ClipboardItem({ "image/png": canvas.convertToBlob({ type: "image/png" }) })]);
	})()`)
	s.Panel.Says("pasted image · 40×30")
	s.Panel.Shot("pasted")

	s.paste(`navigator.clipboard.writeText(` + js(askGreen) + `)`)
	s.Panel.Await(`document.querySelector('[data-sw="composer"]').value === ` + js(askGreen))
	s.Panel.Click(send)
	s.Panel.Says("Committed as")
	if prompts := strings.Join(s.Prompts(), "\n"); !strings.Contains(prompts, `"media_type":"image/png"`) {
		t.Errorf("the agent was sent no picture:\n%.2000s", prompts)
	}
	s.Settled()
}

// paste fills the clipboard and presses the keys for it in the panel.
func (s *Story) paste(fill string) {
	s.T.Helper()
	s.Panel.gesture = true
	s.Panel.Do(fill)
	s.Panel.gesture = false
	s.Panel.Click(message)
	s.Panel.Press("Control+v")
}
