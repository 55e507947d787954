package e2e

import "testing"

// TestPair: a link of the shim, a question of the extension, one click, and
// the token is where it belongs and nowhere else.
func TestPair(t *testing.T) {
	s := Tell(t)
	named := config()
	named.Origins = []string{s.App.URL}
	s.Play(green, named)
	page := s.B.Open("pairing page", s.link())
	question := s.B.Pop("question", "pairing/confirm.html")
	page.Await(`document.documentElement.dataset.slidewritePaired === "asking" && location.hash === ""`)
	page.Shot("pair-page-asking")
	question.There(Role("button", "Connect"))
	question.Shot("pair-question")

	question.Click(Role("button", "Connect"))
	question.There(Role("heading", "Connected to cafe"))
	question.Shot("pair-connected")
	page.Await(`document.documentElement.dataset.slidewritePaired === "1"`)
	page.Shot("pair-page-connected")

	s.stored(question, s.App.URL)
	for _, p := range []*Page{page, s.Tab} {
		if html := Get[string](p, `document.documentElement.outerHTML + JSON.stringify({ ...localStorage })`); has(html, s.Token) {
			t.Errorf("the %s has the token", p.Name)
		}
	}
}

// TestPairForTheNextTab: a shim that knows no origin is offered to the tab that
// the user works on.
func TestPairForTheNextTab(t *testing.T) {
	s := Tell(t)
	s.Play(green, config())
	page := s.B.Open("pairing page", s.link())
	question := s.B.Pop("question", "pairing/confirm.html")
	question.Click(Role("button", "Connect"))
	question.There(Role("heading", "Connected to cafe"))
	page.Await(`document.documentElement.dataset.slidewritePaired === "1"`)

	s.B.Front(s.Tab)
	s.Open()
	s.Panel.Await(`document.querySelector('[data-sw="state"]')?.dataset.state === "offer"`)
	s.Panel.Shot("pair-offer")
	s.Panel.Click(Role("button", "Use “cafe” for this site"))
	s.Ready()
	s.stored(s.Panel, s.App.URL)
	s.Panel.Says("cafe")
	s.Panel.Shot("pair-wired")
}

// TestPairRefused: a link works once; the second time the user is told so, and
// what to do.
func TestPairRefused(t *testing.T) {
	s := Tell(t)
	s.Play(green, config())
	link := s.link()
	s.B.Open("first page", link)
	first := s.B.Pop("question", "pairing/confirm.html")
	first.Click(Role("button", "Connect"))
	first.There(Role("heading", "Connected to cafe"))

	page := s.B.Open("second page", link)
	question := s.B.Pop("second question", "pairing/confirm.html")
	question.Click(Role("button", "Connect"))
	question.There(Role("heading", "Not connected"))
	question.Await(`document.body.innerText.includes("slidewrite pair")`)
	question.Shot("pair-refused")
	page.Await(`document.documentElement.dataset.slidewritePaired === "refused"`)
	page.Shot("pair-page-refused")
}

// link is a fresh pairing link.
func (s *Story) link() string {
	s.T.Helper()
	var reply struct{ URL string }
	if status := s.JSON("POST", "/pair/new", map[string]any{}, &reply); status != 200 {
		s.T.Fatalf("POST /pair/new: %d", status)
	}
	return reply.URL
}

// stored wants the token among the settings of an origin; p is a page of the
// extension.
func (s *Story) stored(p *Page, origin string) {
	s.T.Helper()
	got := Get[map[string]any](p, `chrome.storage.local.get().then((all) => all.settings.origins[`+js(origin)+`] ?? {})`)
	if got["token"] != s.Token || got["shimUrl"] != s.URL || got["enabled"] != true {
		s.T.Errorf("stored for %s: %v", origin, got)
	}
}
