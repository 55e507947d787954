package e2e

import (
	"strings"
	"testing"
)

// TestChange is what Slide Write is for: say what should change, see it in the
// page, find it in git, take it back.
func TestChange(t *testing.T) {
	s := Begin(t, green)
	before := s.Git("rev-parse", "--short", "HEAD")
	s.Tab.Do(`window.sameDocument = true`)

	s.Send(askGreen, send)
	s.Tab.Await(greenButton)
	s.Panel.Says("The primary button is green now")
	s.Panel.Says("Committed as")
	s.Panel.Shot("change-committed")
	sha := Get[string](s.Panel, `document.querySelector(".commit code").textContent`)
	if got := s.Git("log", "-1", "--format=%H %s"); !strings.HasPrefix(got, sha) || !strings.Contains(got, "Make the primary button green") {
		t.Errorf("the panel says %s, the last commit is %s", sha, got)
	}
	if got := s.Git("status", "--porcelain"); got != "" {
		t.Errorf("not committed: %s", got)
	}

	s.Panel.Click(undo)
	s.Tab.Await(blueButton)
	s.Panel.Says("Taken back")
	s.Panel.Shot("change-undone")
	if got := s.Git("diff", "--stat", strings.TrimSpace(before), "HEAD"); got != "" {
		t.Errorf("the undo left a difference:\n%s", got)
	}
	if !Get[bool](s.Tab, `window.sameDocument === true`) {
		t.Error("the page was loaded anew: Vite did not replace the style in place")
	}
	s.Settled()
}

// TestStop: the button ends the run, and says so.
func TestStop(t *testing.T) {
	s := Begin(t, green, "hang=45")
	s.Send(askGreen, send)
	s.Panel.Says("The colour is one token")
	s.Panel.Shot("stop-running")
	s.Panel.Click(stop)
	s.Panel.Says("Stopped.")
	s.Panel.There(message)
	s.Panel.Await(`!document.querySelector('[data-sw="run-bar"]:not([hidden])')`)
	s.Panel.Shot("stop-stopped")
	s.Tab.Await(blueButton)
	s.Settled()
}

// TestQueue: what is sent while a run goes on waits, can be changed and taken
// out, and is sent when its turn comes.
func TestQueue(t *testing.T) {
	s := Tell(t)
	held, gate := s.Held(green, 45)
	s.play(held)
	s.Send(askGreen, send)
	gate.Reached()

	s.Send("Then make it round.", queue)
	s.Send("And bigger.", queue)
	s.Panel.Await(`document.querySelectorAll('[data-sw="queued"]').length === 2`)
	s.Panel.Shot("queue-two")
	s.Panel.Do(`document.querySelectorAll('[data-sw="queued"]')[1].querySelector('[aria-label="Remove this message"]').click()`)
	s.Panel.Await(`document.querySelectorAll('[data-sw="queued"]').length === 1`)
	s.Panel.Click(Role("button", "Edit this message"))
	s.Panel.Await(`document.querySelector('[data-sw="composer"]').value === "Then make it round."`)
	s.Panel.Fill(message, "Say hello.")
	s.Panel.Click(queue)
	gate.Open()
	s.Panel.Says("Committed as")
	s.Panel.Await(`document.querySelectorAll('[data-sw="queued"]').length === 0`)
	s.asked(2)
	prompts := strings.Join(s.Prompts(), "\n")
	if !strings.Contains(prompts, "Say hello.") || strings.Contains(prompts, "make it round") || strings.Contains(prompts, "And bigger") {
		t.Errorf("the agents were asked:\n%s", prompts)
	}
	s.Settled()
}
