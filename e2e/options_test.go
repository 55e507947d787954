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
	for _, dark := range []bool{true, false} {
		look := Look{Dark: dark}
		o.Wear(look)
		o.FocusRings("options, " + look.String())
	}
	// What looks for rings misses one that is not there, or hard to see.
	for _, style := range []string{`:focus-visible { outline: none !important }`, `:focus-visible { outline-color: #d0d4dc !important }`} {
		o.Do(`{ const sheet = new CSSStyleSheet(); sheet.replaceSync(` + js(style) + `); document.adoptedStyleSheets = [sheet]; }`)
		if problems := o.focusProblems(); len(problems) < 5 {
			t.Errorf("%s: %q", style, problems)
		}
	}
	s.stored(o, s.App.URL)
}
