package e2e

import "testing"

// TestSitesBeyondLoopback: a site that is not on this computer gets the
// content scripts while it is on, keeps them over the death of the worker, and
// loses them when it is turned off or removed.
func TestSitesBeyondLoopback(t *testing.T) {
	s := Tell(t)
	const site = "https://shop.example.com:8443"
	const registered = `await chrome.scripting.getRegisteredContentScripts().then((all) => all.map((s) => s.id + " " + s.matches).join())`
	o := s.B.Open("options", extensionURL("options/options.html"))
	o.There(Role("textbox", "Add a site"))
	scripts := func(when, want string) {
		t.Helper()
		o.Await(`/* ` + when + ` */ ` + registered + ` === ` + js(want))
	}
	scripts("at first", "")

	o.Fill(Role("textbox", "Add a site"), "shop.example.com:8443/cart?x#y")
	o.Press("Enter")
	scripts("added", "sw:"+site+" "+site+"/*")

	s.B.KillWorker()
	o.Click(Role("checkbox", "Use Slide Write on this site"))
	scripts("turned off", "")
	o.Click(Role("checkbox", "Use Slide Write on this site"))
	scripts("turned on", "sw:"+site+" "+site+"/*")
	o.Click(Role("button", "Remove site"))
	o.Click(Role("button", "Remove"))
	scripts("removed", "")
	o.There(Role("textbox", "Add a site"))
}
