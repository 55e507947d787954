package e2e

import (
	"fmt"
	"testing"

	"github.com/slidewrite/slidewrite/shim/event"
)

// TestRunEndsElsewhere: a run that ends while its tab is not in front is told
// by the toolbar button's mark and, when the user wants that, by a
// notification; both go when the tab is looked at.
func TestRunEndsElsewhere(t *testing.T) {
	b := Start(t)
	b.LoadExtensionWith("notifications")
	st := stubbed(t, b, "")
	tab, panel, shim := st.Tab, st.Panel, st.Shim

	options := b.Open("options", extensionURL("options/options.html"))
	options.Click(Role("checkbox", "Notify me when a run has ended"))
	options.Await(`(await chrome.storage.local.get("settings")).settings.global.notify`)

	w := b.worker()
	w.Do(`globalThis.told = []; { const create = chrome.notifications.create; chrome.notifications.create = (id, what) => (told.push(what.title + " | " + what.message), create(id, what)); }`)
	id := Get[int](w, `chrome.tabs.query({ url: `+js(st.Site+"/*")+` }).then(([tab]) => tab.id)`)
	mark := fmt.Sprintf(`await chrome.action.getBadgeText({ tabId: %d })`, id)
	notices := `Object.keys(await chrome.notifications.getAll()).join()`
	ask := func(text string, events ...event.Event) {
		t.Helper()
		b.Front(tab)
		panel.Fill(message, text)
		panel.Click(send)
		b.await("the run", func() bool {
			shim.mu.Lock()
			defer shim.mu.Unlock()
			return shim.id != "" && !shim.over
		})
		w.Await(mark + ` === "…"`)
		b.Front(options)
		panel.Await(`![...document.querySelectorAll('[data-sw="composer"]')].some((f) => f.checkVisibility() && f.placeholder.includes("next"))`)
		shim.Say(append(events, event.Done{})...)
	}

	ask("Make it green.", says("**Done**: it is green.\n\nMore."))
	w.Await(mark + ` === "✓"`)
	w.Await(notices + fmt.Sprintf(` === "run:%d"`, id))
	if got := Get[[]string](w, `told`); len(got) != 1 || got[0] != "cafe: done | Done: it is green." {
		t.Errorf("told: %q", got)
	}
	w.Do(fmt.Sprintf(`chrome.notifications.onClicked.dispatch("run:%d")`, id))
	w.Await(fmt.Sprintf(`(await chrome.tabs.get(%d)).active`, id))
	w.Await(notices + ` === ""`)
	w.Await(mark + ` === ""`)

	ask("Make it blue.", event.Error{Code: event.CodeCrashed, Message: "claude ended without a result", Fix: "slidewrite doctor"})
	w.Await(mark + ` === "!"`)
	w.Await(`told.at(-1) === "cafe: failed | claude ended without a result"`)
	b.ClosePanel(options, panel)
	b.Front(tab)
	b.OpenPanel(tab).Says("Make it blue.") // a panel that knows nothing of the mark
	w.Await(mark + ` === ""`)
	w.Await(notices + ` === ""`)
}
