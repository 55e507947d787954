package e2e

import "testing"

// TestConfigureByHand: without pairing, address and token typed in the
// options; a wrong token is told, the right one works.
func TestConfigureByHand(t *testing.T) {
	s := Tell(t)
	s.Play(green, config())
	o := s.B.Open("options", extensionURL("options/options.html"))
	o.There(Role("textbox", "Add a site"))
	o.Shot("options-empty")

	o.Fill(Role("textbox", "Add a site"), s.App.URL)
	o.Press("Enter")
	o.Fill(Role("textbox", "Shim address"), s.URL)
	o.Fill(Role("textbox", "Token"), "wrong")
	o.Click(Role("button", "Test connection"))
	o.Await(`document.body.innerText.includes("need a look") || document.querySelector('[data-level="danger"]')`)
	o.Shot("options-wrong-token")

	o.Fill(Role("textbox", "Token"), s.Token)
	o.Click(Role("button", "Test connection"))
	o.Await(`document.querySelector('[data-level="ok"]') && !document.querySelector('[data-level="danger"]')`)
	o.Await(`document.body.innerText.includes("cafe")`)
	o.Shot("options-works")
	s.stored(o, s.App.URL)
}
