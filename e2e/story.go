package e2e

import (
	"testing"

	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// The run that the stories play: the real claude was recorded making the
// primary button green in src/Button.css, which is the app's file, too.
const (
	green    = "claude/real/2.1.332/demo"
	askGreen = "Make the primary button green."

	// What the page shows before and after.
	blueButton  = `getComputedStyle(document.querySelector("[data-testid=new]")).backgroundColor === "rgb(37, 99, 235)"`
	greenButton = `getComputedStyle(document.querySelector("[data-testid=new]")).backgroundColor === "rgb(22, 163, 74)"`
)

// Story is one user with a project that a dev server shows, a shim, and a
// browser with the extension.
type Story struct {
	*shimtest.Stage
	B     *Browser
	App   *app
	Tab   *Page // shows the app
	Panel *Page // after Open
}

// Tell sets the scene: the app in a repository, served, and open in a tab.
// The shim is started by the test, with Play or PlayChild.
func Tell(t testing.TB) *Story {
	t.Helper()
	a := App(t)
	s := &Story{Stage: shimtest.New(t), App: a}
	s.Repo = a.Dir
	s.Commit()
	s.B = Start(t)
	s.B.LoadExtension()
	s.Tab = s.B.Blank
	s.Tab.Name = "tab"
	s.Tab.Go(a.URL + "/")
	s.Tab.Await(blueButton)
	return s
}

// Connect stores what pairing would for the app's origin; more fields of its
// settings as name, value.
func (s *Story) Connect(more ...any) {
	s.T.Helper()
	s.connect(s.B.worker(), s.URL, s.Token, more...)
}

func (s *Story) connect(w *Page, url, token string, more ...any) {
	s.T.Helper()
	origin := map[string]any{"shimUrl": url, "token": token, "project": "cafe"}
	for i := 0; i+1 < len(more); i += 2 {
		origin[more[i].(string)] = more[i+1]
	}
	w.Do(`chrome.storage.local.set({ settings: { version: 1, origins: { ` + js(s.App.URL) + `: ` + js(origin) + ` }, global: {} } })`)
}

// Open opens the side panel beside the app and waits until it is wired.
func (s *Story) Open() *Page {
	s.T.Helper()
	s.Panel = s.B.OpenPanel(s.Tab)
	return s.Panel
}
