package e2e

import "testing"

// TestContentScriptsCannotReadTokens: what runs inside a page, ours included,
// gets nothing of chrome.storage.local, where the tokens are.
func TestContentScriptsCannotReadTokens(t *testing.T) {
	s := Tell(t)
	s.connect(s.B.worker(), "http://127.0.0.1:4040", "secret-token")
	const read = `chrome.storage.local.get().then((all) => JSON.stringify(all), (err) => "refused: " + err.message)`
	check := func(when string) {
		t.Helper()
		got := inContentScript(s.B, s.App.URL, read)
		if got != "refused: Access to storage is not allowed from this context." {
			t.Errorf("%s: a content script read %s", when, got)
		}
	}
	check("at first")

	s.B.KillWorker()
	options := s.B.Open("options", extensionURL("options/options.html")) // wakes nothing by itself
	options.Do(`chrome.runtime.sendMessage({ type: "sw-config-get", origin: ` + js(s.App.URL) + ` })`)
	check("after the worker died and came back")
}
