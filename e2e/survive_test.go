package e2e

import (
	"net/url"
	"strconv"
	"testing"

	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// asked waits until agents were asked n times.
func (s *Story) asked(n int) {
	s.T.Helper()
	shimtest.Await(s.T, strconv.Itoa(n)+" prompts at the agent", func() bool { return len(s.Prompts()) >= n })
}

// once wants a text to be in the panel exactly once.
func (s *Story) once(text string) {
	s.T.Helper()
	s.Panel.Says(text)
	if n := Get[int](s.Panel, `document.body.innerText.split(`+js(text)+`).length - 1`); n != 1 {
		s.T.Errorf("the panel says %q %d times", text, n)
	}
}

// TestPanelReopened: a run goes on while nobody looks, and the panel has all
// of it when it is opened again: while it runs, and after its end.
func TestPanelReopened(t *testing.T) {
	s := Tell(t)
	held, gate := s.Held(green, 45)
	s.play(held)
	s.Send(askGreen, send)
	gate.Reached()
	s.Panel.Says("The colour is one token")

	s.B.ClosePanel(s.Tab, s.Panel)
	s.Open()
	s.Panel.There(stop)
	s.once(askGreen)
	s.once("I look at the button's styles first.")
	s.Panel.Shot("reopened-running")

	s.B.ClosePanel(s.Tab, s.Panel)
	gate.Open()
	s.Tab.Await(greenButton)
	s.Idle()
	s.Open()
	s.Panel.Says("Committed as")
	s.once(askGreen)
	s.once("The primary button is green now")
	s.Panel.There(undo)
	s.Panel.Shot("reopened-done")
	s.Settled()
}

// TestTabReloaded: a reload of the page, or of the panel, loses nothing.
func TestTabReloaded(t *testing.T) {
	s := Tell(t)
	held, gate := s.Held(green, 45)
	s.play(held)
	s.Send(askGreen, send)
	gate.Reached()
	s.Panel.Fill(message, "a draft")
	s.Tab.Reload()
	s.Panel.There(stop)
	s.Panel.Reload()
	s.Panel.There(stop)
	s.Panel.Await(`document.querySelector('[data-sw="composer"]').value === "a draft"`)
	gate.Open()
	s.Panel.Says("Committed as")
	s.once(askGreen)
	s.Tab.Await(greenButton)
	s.Settled()
}

// TestWorkerKilled: Chromium ends the worker when it likes; a run does not
// notice, and what needs the worker starts it again.
func TestWorkerKilled(t *testing.T) {
	s := Tell(t)
	held, gate := s.Held(green, 45)
	s.play(held)
	s.Send(askGreen, send)
	gate.Reached()
	s.B.KillWorker()
	gate.Open()
	s.Panel.Says("Committed as")
	s.Tab.Await(greenButton)
	// The toolbar button's mark goes through the worker.
	s.B.Worker().Await(`(await chrome.action.getBadgeText({ tabId: (await chrome.tabs.query({ url: ` + js(s.App.URL+"/*") + ` }))[0].id })) !== "…"`)
	s.Settled()
}

// TestShimRestarted: the panel says that the shim is gone and how to start it,
// and finds it again by itself; the change of a run before can be undone.
func TestShimRestarted(t *testing.T) {
	s := Begin(t, green)
	where, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, _ := strconv.Atoi(where.Port())
	s.Send(askGreen, send)
	s.Panel.Says("Committed as")
	s.Panel.Fill(message, "a draft")
	s.Idle()
	s.Stop()
	s.Panel.Click(undo) // finds out at once
	s.Panel.Await(`document.querySelector('[data-sw="state"]')?.dataset.state === "down"`)
	s.Panel.Says("Start it in your project")
	s.Panel.Shot("shim-down")

	again := config()
	again.Port = port
	s.Play(green, again)
	s.Ready()
	s.Panel.Await(`document.querySelector('[data-sw="composer"]').value === "a draft"`)
	s.Panel.Click(undo)
	s.Panel.Says("Taken back")
	s.Tab.Await(blueButton)
	s.Settled()
}

// TestRunFromElsewhere: a run that no tab shows can be followed and stopped
// from any panel, and what was not sent because of it is not lost.
func TestRunFromElsewhere(t *testing.T) {
	s := Begin(t, green, "hang=45")
	other := s.Stage.Open("POST", "/design", map[string]any{"prompt": askGreen, "detach": true})
	s.asked(1)
	s.Send("Make it round.", send)
	s.Panel.Click(Role("button", "Show it"))
	s.Panel.Says("A run from elsewhere")
	s.Panel.Says("The colour is one token")
	s.Panel.Await(`document.querySelector('[data-sw="composer"]').value === "Make it round."`)
	s.Panel.Shot("from-elsewhere")
	s.Panel.Click(stop)
	s.Panel.Says("Stopped.")
	other.Rest()
	s.Idle()
	s.Settled()
}
