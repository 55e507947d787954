package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim"
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
	s.B = Share(t)
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

// Begin is Tell with a shim that plays a fixture, connected, and the panel
// open and ready to take a message.
func Begin(t testing.TB, fixture string, knobs ...string) *Story {
	t.Helper()
	s := Tell(t)
	s.play(fixture, knobs...)
	return s
}

// config is what a shim of the extension's own version gets.
func config() shim.Config { return shim.Config{Version: version()} }

// version is the extension's.
var version = sync.OnceValue(func() string {
	data, err := os.ReadFile(filepath.Join("..", "extension", "manifest.json"))
	var manifest struct{ Version string }
	if err == nil {
		err = json.Unmarshal(data, &manifest)
	}
	if err != nil {
		panic(err)
	}
	return manifest.Version
})

// play starts the shim, connects and opens the panel.
func (s *Story) play(fixture string, knobs ...string) {
	s.T.Helper()
	s.Play(fixture, config(), knobs...)
	s.Connect()
	s.Open()
	s.Ready()
}

// Elements of the panel.
var (
	message = Role("textbox", "Message")
	send    = Role("button", "Send")
	queue   = Role("button", "Queue")
	stop    = Role("button", "Stop")
	undo    = Role("button", "Undo")
)

// Ready waits until the panel is wired to the shim.
func (s *Story) Ready() {
	s.T.Helper()
	s.Panel.There(message)
	s.Panel.Await(`!document.querySelector('[data-sw="state"]')`)
}

// Send types a message and clicks the button beside it.
func (s *Story) Send(text string, button Sight) {
	s.T.Helper()
	s.Panel.Fill(message, text)
	s.Panel.Click(button)
}

// Says waits until the page shows a text to whoever looks at it.
func (p *Page) Says(text string) {
	p.T.Helper()
	p.Await(`document.body.innerText.includes(` + js(text) + `)`)
}

// Held makes a variant of a fixture that stops at a gate after n lines.
func (s *Story) Held(fixture string, n int) (string, *shimtest.Gate) {
	s.T.Helper()
	g := s.Gate("gate")
	return s.Variant(fixture, func(f *fakeagents.Fixture) { f.Effects = append(f.Effects, g.After(n)) }), g
}

// Idle waits until no run goes on.
func (s *Story) Idle() {
	s.T.Helper()
	shimtest.Await(s.T, "the end of all runs", func() bool {
		var list struct{ Runs []struct{ State string } }
		s.JSON("GET", "/runs", nil, &list)
		for _, r := range list.Runs {
			if r.State == "running" {
				return false
			}
		}
		return true
	})
}

// Settled is the end of a story: the shim stops, and nothing of its runs may
// be left.
func (s *Story) Settled() {
	s.T.Helper()
	s.Idle()
	s.Stop()
	s.Clean()
}
