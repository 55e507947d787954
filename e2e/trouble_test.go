package e2e

import "testing"

// TestWrongToken: the panel says so and what to run; the right token is taken
// up without a reload.
func TestWrongToken(t *testing.T) {
	s := Tell(t)
	s.Play(green, config())
	s.connect(s.B.worker(), s.URL, "wrong")
	s.Open()
	s.Panel.Await(`document.querySelector('[data-sw="state"]')?.dataset.state === "refused"`)
	s.Panel.Says("slidewrite pair")
	s.Panel.Shot("wrong-token")
	s.Connect()
	s.Ready()
}

// TestNotSignedIn: the provider's own command is there to be copied.
func TestNotSignedIn(t *testing.T) {
	s := Tell(t)
	s.Play(green, config(), "signed_out=1")
	s.Connect()
	s.Open()
	s.Panel.There(message)
	s.Panel.Says("claude auth login")
	s.Panel.Shot("not-signed-in")
}

// TestNotConnected: a page that nothing is set up for, and one that cannot be.
func TestNotConnected(t *testing.T) {
	s := Tell(t)
	s.Open()
	s.Panel.Await(`document.querySelector('[data-sw="state"]')?.dataset.state === "unpaired"`)
	s.Panel.Says("slidewrite --origin " + s.App.URL)
	s.Panel.Shot("unpaired")
	s.Tab.Go("chrome://version/")
	s.Panel.Await(`document.querySelector('[data-sw="state"]')?.dataset.state === "restricted"`)
	s.Panel.Shot("restricted")
}
