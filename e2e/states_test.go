package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim/event"
)

// scene is one state of the panel: a site of its own, so that the panel
// starts afresh, and a shim of its own.
type scene struct {
	*Page // the panel
	T     *testing.T
	B     *Browser
	Tab   *Page
	Shim  *stub
	URL   string // of the site
	n     int
}

// stage is what the scenes share.
type stage struct {
	b     *Browser
	tab   *Page
	panel *Page
	site  *httptest.Server
	shims *httptest.Server
	stubs map[string]*stub
}

func newStage(t *testing.T) *stage {
	st := &stage{stubs: map[string]*stub{}}
	st.site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><html lang=en><title>Corner Café</title><link rel=icon href=data:,><h1 class=title>Corner Café</h1><p class=note style='margin-top:200vh'>Since 1987</p>")
	}))
	t.Cleanup(st.site.Close)
	st.shims = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		shim := st.stubs[name]
		if shim == nil {
			http.NotFound(w, r)
			return
		}
		r.URL.Path = "/" + path
		shim.ServeHTTP(w, r)
	}))
	t.Cleanup(st.shims.Close)
	t.Cleanup(st.shims.CloseClientConnections) // streams that go on
	settings := map[string]any{}
	for n := range panelStates() {
		name := fmt.Sprintf("s%d", n)
		st.stubs[name] = newStub()
		settings[st.origin(n)] = map[string]any{"shimUrl": st.shims.URL + "/" + name, "token": "secret", "project": "cafe"}
	}
	st.b = Share(t)
	st.tab = st.b.Blank
	st.tab.Name = "tab"
	st.tab.Go(st.site.URL)
	st.b.worker().Do(`chrome.storage.local.set({ settings: { version: 1, origins: ` + js(settings) + `, global: {} } })`)
	st.panel = st.b.OpenPanel(st.tab)
	st.panel.Await(`document.querySelector('[data-sw="state"]')`)
	return st
}

// origin is the site of a scene: every name under localhost is this machine.
func (st *stage) origin(n int) string {
	return strings.Replace(st.site.URL, "127.0.0.1", fmt.Sprintf("s%d.localhost", n), 1)
}

// settings puts fields onto those of the scene's site; nil takes them away.
func (s *scene) settings(patch map[string]any) {
	s.T.Helper()
	s.B.worker().Do(`(async () => {
		const { settings } = await chrome.storage.local.get("settings");
		const patch = ` + js(patch) + `;
		if (patch) Object.assign(settings.origins[` + js(s.URL) + `], patch); else delete settings.origins[` + js(s.URL) + `];
		await chrome.storage.local.set({ settings });
	})()`)
}

// visit opens the scene's site and waits for a card of the connection, or,
// with "", for a chat.
func (s *scene) visit(card string) {
	s.T.Helper()
	s.Tab.Go(s.URL + "/menu")
	if card == "" {
		s.Await(`!document.querySelector('[data-sw="state"]') && [...document.querySelectorAll("h2, .bubble")].some((h) => h.checkVisibility())`)
		return
	}
	s.Await(`document.querySelector('[data-sw="state"]')?.dataset.state === ` + js(card))
}

// ask sends a message; the run has begun when it returns.
func (s *scene) ask(text string) {
	s.T.Helper()
	s.Fill(message, text)
	s.Click(send)
	s.There(stop)
	s.B.await("the run at the shim", func() bool {
		s.Shim.mu.Lock()
		defer s.Shim.mu.Unlock()
		return s.Shim.id != "" && !s.Shim.over
	})
}

// chat visits, asks and lets the agent say this.
func (s *scene) chat(text string, events ...event.Event) {
	s.T.Helper()
	s.visit("")
	s.ask(text)
	s.Shim.Say(event.Start{SessionID: "11111111-1111-4111-8111-111111111111", Model: "opus", RunID: s.Shim.id, Provider: "anthropic"})
	s.Shim.Say(events...)
	if len(events) > 0 {
		if _, over := events[len(events)-1].(event.Done); over {
			s.over()
		}
	}
}

// over waits until the panel knows that no run goes on.
func (s *scene) over() {
	s.T.Helper()
	s.Await(`!document.querySelector('[data-sw="run-bar"]:not([hidden])')`)
}

// Pieces of runs.
func tool(id, name, detail string) event.Event { return event.Tool{Tool: name, Detail: detail, ID: id} }
func result(id, name, text string) event.Event {
	return event.ToolResult{Tool: name, ID: id, Text: text}
}
func says(text string) event.Event { return event.Delta{Text: text, MessageID: "m1"} }

var finished = event.Result{NumTurns: 3, DurationMs: 12_400, TotalCostUSD: 0.0421, Usage: &event.Usage{InputTokens: 1200, OutputTokens: 640, CacheReadTokens: 18_000}}

func changed(paths ...string) event.Change {
	c := event.Change{}
	for _, path := range paths {
		c.Files = append(c.Files, event.ChangedFile{Path: path, Status: "modified", Added: 3, Removed: 1})
		c.Added, c.Removed = c.Added+3, c.Removed+1
	}
	return c
}

// run is a whole run that changed a file.
func run() []event.Event {
	return []event.Event{
		event.FileEdit{Tool: "Edit", Path: "src/Button.css", ID: "t1"}, result("t1", "Edit", "updated"),
		says("The primary button is green now."), finished, changed("src/Button.css"),
		event.Commit{SHA: "100c84ba3", Count: 1, HooksSkipped: true}, event.Done{},
	}
}

const diff = `diff --git a/src/Button.css b/src/Button.css
index 1f2e3d4..5a6b7c8 100644
--- a/src/Button.css
+++ b/src/Button.css
@@ -1,7 +1,9 @@
 :root {
-  --primary: #2563eb;
+  --primary: #16a34a;
+  --primary-strong: #15803d;
+  --primary-soft: #dcfce7;
   --primary-hover: color-mix(in srgb, var(--primary) 85%, black);
 }
`

// answerDiff lets the shim tell the diff of its first run.
func (s *scene) answerDiff() {
	s.Shim.answers["/runs/run-1/diff"] = map[string]any{"diff": diff, "files": changed("src/Button.css").Files, "added": 3, "removed": 1}
}

// sessions is a history of three sessions on two days.
func (s *scene) sessions() {
	now := time.Now()
	ran := map[string]any{"id": "run-7", "kind": "design", "state": "done", "provider": "anthropic", "session": "a", "prompt": "Make it green", "files": []string{"src/Button.css"}, "sha": "100c84ba3", "undone": false, "undoable": true}
	session := func(id, title string, ago time.Duration, runs ...any) map[string]any {
		at := now.Add(-ago).Format(time.RFC3339)
		return map[string]any{"id": id, "title": title, "firstPrompt": title, "startedAt": at, "endedAt": at, "branch": "main", "messageCount": 4, "runs": append([]any{}, runs...)}
	}
	const first = "11111111-1111-4111-8111-111111111111"
	s.Shim.answers["/history"] = map[string]any{"sessions": []any{
		session(first, "Make the primary button green", time.Minute, ran),
		session("22222222-2222-4222-8222-222222222222", "Why is the header so tall on small screens, and what would it take to let it shrink while scrolling?", 2*time.Minute),
		session("33333333-3333-4333-8333-333333333333", "Round the corners of the cards", 50*time.Hour, ran),
	}}
	encode := func(e event.Event) any {
		data, _ := event.Encode(e)
		return raw(data)
	}
	s.Shim.answers["/history/"+first] = map[string]any{"id": first, "before": "", "after": "x", "events": []any{
		encode(event.User{Text: "Make the primary button green"}), encode(tool("t1", "Read", "src/Button.css")), encode(result("t1", "Read", "…")),
		encode(says("The primary button is green now.")), encode(finished),
	}}
}

type raw []byte

func (r raw) MarshalJSON() ([]byte, error) { return r, nil }

// scenes are the states, by their number in docs/panel-states.md.
var scenes = map[int]func(s *scene){
	1: func(s *scene) {
		s.Shim.meta = nil
		s.visit("loading")
		s.Shows(1)
		s.Shim.Go()
	},
	2: func(s *scene) {
		s.Tab.Go("chrome://version/")
		s.Await(`document.querySelector('[data-sw="state"]')?.dataset.state === "restricted"`)
		s.Shows(2)
	},
	3: func(s *scene) {
		s.settings(nil)
		s.visit("unpaired")
		s.Shows(3)
	},
	4: func(s *scene) {
		s.settings(nil)
		pairings := func(list ...any) {
			s.B.worker().Do(`chrome.storage.local.get("settings").then(({ settings }) => { settings.global.pairings = ` + js(list) + `; return chrome.storage.local.set({ settings }); })`)
		}
		pairings(map[string]any{"shimUrl": "http://127.0.0.1:4040", "token": "t", "project": "cafe"})
		s.visit("offer")
		s.Shows(4)
		pairings([]any{}...)
	},
	5: func(s *scene) {
		s.settings(map[string]any{"enabled": false})
		s.visit("off")
		s.Shows(5)
	},
	6: func(s *scene) {
		s.Shim.Go()
		s.visit("down")
		s.Shows(6)
	},
	7: func(s *scene) {
		s.Shim.refuse["/meta"] = refused(401, "unauthorized", "the token is not right", "slidewrite pair")
		s.visit("refused")
		s.Shows(7)
	},
	8: func(s *scene) {
		s.Shim.refuse["/meta"] = refused(403, "bad_host", `the shim does not answer to the host "cafe.test:4040"`, "start slidewrite with --allow-host cafe.test if that name is yours")
		s.visit("failed")
		s.Shows(8)
	},
	9: func(s *scene) {
		s.Shim.provider()["error"], s.Shim.provider()["fix"] = "not signed in", "claude auth login"
		s.visit("")
		s.Says("claude auth login")
		s.Shows(9)
	},
	10: func(s *scene) {
		s.Shim.meta["git"], s.Shim.meta["branch"] = map[string]any{"state": "none", "hooks": "", "detail": ""}, ""
		s.visit("")
		s.Says("no git repository")
		s.Shows(10)
	},
	11: func(s *scene) {
		s.Shim.meta["version"] = "99.1.0"
		s.visit("")
		s.Says("99.1.0")
		s.Shows(11)
	},
	12: func(s *scene) {
		s.visit("")
		s.Shows(12)
	},
	13: func(s *scene) {
		s.visit("")
		s.Fill(message, strings.TrimSpace(strings.Repeat("One more line of what should change.\n", 10)))
		s.Shows(13)
	},
	14: func(s *scene) {
		s.visit("")
		s.Click(Role("button", "Options"))
		s.Says("What the agent receives")
		s.Shows(14)
	},
	15: func(s *scene) {
		s.visit("")
		s.Click(message) // the clipboard is for what has the focus
		s.gesture = true
		s.Do(`(async () => {
			const canvas = new OffscreenCanvas(320, 200);
			const pen = canvas.getContext("2d");
			pen.fillStyle = "#2563eb";
			pen.fillRect(20, 20, 200, 120);
			await navigator.clipboard.write([new ClipboardItem({ "image/png": canvas.convertToBlob({ type: "image/png" }) })]);
		})()`)
		s.gesture = false
		for n := 1; n <= 5; n++ {
			s.Press("Control+v")
			s.Await(fmt.Sprintf(`[...document.querySelectorAll(".composer .chip")].filter((c) => c.checkVisibility()).length === %d`, n))
		}
		s.Shows(15)
	},
	16: func(s *scene) {
		s.visit("")
		s.Shim.Go()
		s.Fill(message, "Make the header stick to the top.")
		s.Click(send) // finds out that nobody is there
		s.Await(`document.querySelector('[data-sw="state"]')?.dataset.state === "down"`)
		s.Fill(message, "Make the header stick to the top.")
		s.Shows(16)
	},
	17: func(s *scene) {
		s.visit("")
		s.ask("Make the primary button green.")
		s.Says("Starting")
		s.Shows(17)
	},
	18: func(s *scene) {
		s.chat("Make the primary button green.", event.ThinkingDelta{Text: "The button gets its colour from a custom property. ", MessageID: "m1"}, event.ThinkingDelta{Text: "I look at the stylesheet first.", MessageID: "m1"})
		s.Says("Thinking")
		s.Shows(18)
	},
	19: func(s *scene) {
		s.chat("Why is it blue?", says("The button is blue because `--primary` in **Button.css** says so. It is used in "))
		s.Says("It is used in")
		s.Shows(19)
	},
	20: func(s *scene) {
		s.chat("Do the tests pass?", event.Usage{InputTokens: 1200, OutputTokens: 90}, tool("t1", "Bash", "npm test"))
		s.Says("npm test")
		s.Shows(20)
	},
	21: func(s *scene) {
		s.steps()
		s.Shows(21)
	},
	22: func(s *scene) {
		s.steps()
		s.Click(CSS(`.tab:not([hidden]) .steps-head`))
		s.Click(CSS(`.tab:not([hidden]) .steps-list li:last-child summary`))
		s.Says("Tests: 12 passed")
		s.Shows(22)
	},
	23: func(s *scene) {
		s.chat("Do the tests pass?", tool("t1", "Bash", "npm test"), event.ToolResult{Tool: "Bash", ID: "t1", IsError: true, Text: "FAIL src/Button.test.jsx\n  expected green, got blue\nTests: 1 failed, 11 passed\n"})
		s.Says("expected green, got blue")
		s.Shows(23)
	},
	24: func(s *scene) {
		s.steps()
		s.Click(Role("button", "Options"))
		s.Click(Role("checkbox", "Details Show the agent's raw calls"))
		s.Press("Escape")
		s.Click(CSS(`.tab:not([hidden]) .steps-head`))
		s.Shows(24)
		s.Click(Role("button", "Options"))
		s.Click(Role("checkbox", "Details Show the agent's raw calls"))
		s.Press("Escape")
	},
	25: func(s *scene) {
		s.chat("Make the primary button green.", says("I look at the styles first."))
		s.Says("I look at the styles first.")
		s.Shows(25, func() {
			if Get[bool](s.Page, `document.body.innerText.includes("Press Esc again")`) {
				return // a second press would stop the run
			}
			s.Click(message)
			s.Press("Escape")
			s.Says("Press Esc again")
		})
	},
	26: func(s *scene) {
		s.chat("Make the primary button green.", says("I look at the styles first."))
		s.Click(stop)
		s.Says("Stopping")
		s.Shows(26)
	},
	27: func(s *scene) {
		s.chat("Make the primary button green.", says("I look at the styles first."))
		s.Says("I look at the styles first.")
		s.Shim.Go()
		s.Says("Reconnecting")
		s.Shows(27)
	},
	28: func(s *scene) {
		s.chat("Show me everything.", says(everything), finished, event.Done{})
		s.Says("The end of it")
		s.Shows(28)
	},
	29: func(s *scene) {
		s.chat("Make the primary button green.", run()...)
		s.Says("Committed as")
		s.Shows(29)
	},
	30: func(s *scene) {
		s.answerDiff()
		s.chat("Make the primary button green.", run()...)
		s.Click(CSS(`.tab:not([hidden]) button.file-head`))
		s.Says("--primary-strong")
		s.Shows(30)
	},
	31: func(s *scene) {
		s.Shim.answers["/runs/run-1/undo"] = map[string]any{"id": "run-9", "files": []string{"src/Button.css"}, "sha": "90f9c6b29", "of": "run-1", "prompt": "Make it green"}
		s.chat("Make the primary button green.", run()...)
		s.Click(undo)
		s.Says("Taken back")
		s.Shows(31)
	},
	32: func(s *scene) {
		s.Shim.refuse["/runs/run-1/undo"] = refused(409, "conflict", "these files were changed since, on the same lines", "commit or put your edits aside, then undo again", "files", []string{"src/Button.css", "src/a/rather/long/path/to/a/stylesheet/of/the/checkout.module.css"})
		s.chat("Make the primary button green.", run()...)
		s.Click(undo)
		s.Says("Nothing was touched")
		s.Shows(32)
	},
	33: func(s *scene) {
		s.chat("Make the primary button green.", says("Done."), finished, changed("src/Button.css"), event.CommitError{Message: "another git command holds the index (.git/index.lock)", Fix: "wait for it to end, or, if no git command is running, remove .git/index.lock"}, event.Done{})
		s.Says("Not committed")
		s.Shows(33)
	},
	34: func(s *scene) {
		s.settings(map[string]any{"autoCommit": false})
		s.chat("Make the primary button green.", says("Done."), finished, changed("src/Button.css"), event.Done{})
		s.Says("Not committed")
		s.Shows(34)
	},
	35: func(s *scene) {
		s.chat("Make the primary button green.", says("I look at the styles first."), changed("src/Button.css"))
		s.Click(stop)
		s.Shim.Say(event.Stopped{By: "user"}, event.Done{})
		s.Says("Stopped.")
		s.over()
		s.Shows(35)
	},
	36: func(s *scene) {
		s.chat("Make the primary button green.", event.Error{Code: event.CodeNotSignedIn, Message: "claude is not signed in", Fix: "claude auth login"}, event.Done{})
		s.Says("not signed in")
		s.Shows(36)
	},
	37: func(s *scene) {
		s.chat("Make the primary button green.", event.Error{Code: event.CodeRateLimited, Message: "The limit of your plan is used up.", ResetsAt: time.Now().Add(3 * time.Hour).Format(time.RFC3339)}, event.Done{})
		s.Says("It resets")
		s.Shows(37)
	},
	38: func(s *scene) {
		s.chat("Make the primary button green.", event.Error{Code: event.CodeCrashed, Message: "claude ended without a result (exit 1):\n" + strings.Repeat("    at processTicksAndRejections (node:internal/process/task_queues:95:5)\n", 30), Fix: "slidewrite doctor"}, event.Done{})
		s.Says("ended unexpectedly")
		s.Shows(38)
	},
	39: func(s *scene) {
		s.chat("Make the primary button green.", says("I did the first half."), event.Error{Code: event.CodeMaxTurns, Message: "The run reached its limit of 40 turns."}, event.Done{})
		s.Says("limit of turns")
		s.Shows(39)
	},
	40: func(s *scene) {
		s.busy()
		s.Shows(40)
	},
	41: func(s *scene) {
		s.busy()
		s.Click(Role("button", "Send it after that"))
		s.Says("1 message waits")
		s.Shows(41)
	},
	42: func(s *scene) {
		s.chat("Make the primary button green.", says("I look at the styles first."))
		s.Fill(message, "Then make it round.")
		s.Click(queue)
		s.Fill(message, "And let the header stick to the top of the page, but only on screens that are wide enough for it.")
		s.Click(queue)
		s.Says("2 messages wait")
		s.Shows(42)
	},
	43: func(s *scene) {
		s.chat("Make the primary button green.", says("I look at the styles first."))
		s.Fill(message, "Then make it round.")
		s.Click(queue)
		s.Shim.Say(event.Stopped{By: "user"}, event.Done{})
		s.There(Role("button", "Send now"))
		s.Shows(43)
	},
	44: func(s *scene) {
		s.chat("Make the primary button green.", event.Note{Level: event.Info, Message: "The session could not be resumed; a new one was started.", Code: "session_new"},
			event.Note{Level: event.Warning, Message: "src/page.css also held edits of yours on the same lines: it is left out of the commit."}, says("Done."), finished, event.Done{})
		s.Says("could not be resumed")
		s.Shows(44)
	},
	45: func(s *scene) {
		s.chat("Make the primary button green.", says("Done."), finished, event.Done{})
		s.Click(Role("button", "New chat"))
		s.Await(`[...document.querySelectorAll(".divider")].some((d) => d.checkVisibility())`)
		s.Shows(45)
	},
	46: func(s *scene) {
		s.chat(strings.TrimSpace(strings.Repeat("Make this line a little different from the one before.\n", 20)), says("Done."), finished, event.Done{})
		s.There(Role("button", "Show all"))
		s.Shows(46)
	},
	47: func(s *scene) {
		s.chat("Tell me a long story.", says(strings.Repeat("A paragraph of a story that goes on and on.\n\n", 60)), finished, event.Done{})
		s.Shows(47, func() {
			s.Do(`[...document.querySelectorAll("main.scroll")].find((m) => m.checkVisibility()).scrollTop = 200`)
			s.There(Role("button", "Jump to latest"))
		})
		// The history covers the chat, which is then where it was.
		const top = `[...document.querySelectorAll("main.scroll")].find((m) => m.checkVisibility()).scrollTop`
		s.Do(top + ` = 200`)
		s.There(Role("button", "Jump to latest"))
		s.sessions()
		s.Click(Role("button", "History"))
		s.Says("Round the corners")
		s.Click(Role("button", "History"))
		s.There(message)
		s.rest()
		if at := Get[int](s.Page, top); at != 200 {
			s.T.Errorf("after the history the chat stands at %d, not at 200", at)
		}
	},
	48: func(s *scene) {
		s.chat("Make the primary button green.", run()...)
		s.Shim.Go()
		s.Click(undo) // finds out
		s.Await(`document.querySelector('[data-sw="state"]')?.dataset.state === "down"`)
		s.Shows(48)
	},
	49: func(s *scene) {
		s.history()
		s.Shows(49)
	},
	50: func(s *scene) {
		s.history()
		s.Fill(Role("searchbox", "Search the history"), "purple")
		s.Says("No session has these words")
		s.Shows(50)
		// It is kept, out of the view and over another site.
		search := Role("searchbox", "Search the history")
		one := `[...document.querySelectorAll(".session")].filter((row) => row.checkVisibility()).length === 1`
		s.Fill(search, "shrink")
		s.Await(one)
		s.Click(Role("button", "History"))
		s.There(message)
		s.Click(Role("button", "History"))
		s.Await(one)
		s.Tab.Go(strings.Replace(s.URL, "s50.", "s49.", 1))
		s.There(message)
		s.visit("")
		s.Click(Role("button", "History"))
		s.Await(one)
		if got := Get[string](s.Page, `[...document.querySelectorAll('[data-sw="history-search"]')].find((f) => f.checkVisibility()).value`); got != "shrink" {
			s.T.Errorf("searched for: %q", got)
		}
		s.Fill(search, " ")
	},
	51: func(s *scene) {
		s.history()
		s.Click(CSS(`[data-sw="session"]`, 0))
		s.There(Role("button", "Resume"))
		s.Says("What it changed")
		s.Shows(51)
		s.Click(Role("button", "History"))
		s.There(message)
		s.Click(Role("button", "History"))
		s.There(Role("button", "Resume")) // what was read is shown again
	},
	52: func(s *scene) {
		s.sessions()
		s.chat("Make it red.", run()...) // nothing of this chat is in the next
		s.Click(Role("button", "History"))
		s.Says("Round the corners")
		s.Click(CSS(`[data-sw="session"]`, 0))
		s.Click(Role("button", "Resume"))
		s.Says("Continues: Make the primary button green")
		s.Await(`document.querySelectorAll('.items [data-kind="change"]').length === 0 && !document.body.innerText.includes("red")`)
		s.Shows(52)
	},
	53: func(s *scene) {
		s.Shim.answers["/prompt/preview"] = map[string]any{
			"system": "You are editing a running web app.\nMake the smallest change that does what is asked.", "attachments": []any{map[string]any{"name": "element-1.png", "bytes": 48_213}},
			"prompt": "Make the primary button green.\n\n<page-data nonce=\"a1b2\">\n" + strings.Repeat("- button.btn.btn-primary \"New order\" in src/App.jsx:21\n", 12) + "</page-data>",
		}
		s.visit("")
		s.Fill(message, "Make the primary button green.")
		s.Click(Role("button", "Options"))
		s.Click(Role("button", "What the agent receives"))
		s.Says("page-data")
		s.Shows(53)
		s.Press("Escape")
	},
	54: func(s *scene) {
		s.chat("اجعل الزر الأساسي أخضر.", says("أصبح الزر الأساسي أخضر الآن: غيّرت `--primary` في **src/Button.css**.\n\n- اللون عند التمرير يتبعه\n- لم يتغير شيء آخر"), finished, event.Done{})
		s.Says("أصبح الزر")
		s.Shows(54)
	},
	55: func(s *scene) {
		long := "packages/storefront/src/" + strings.Repeat("components/checkout-and-payment/", 8) + "PrimaryButton.module.css"
		s.chat("Make the primary button green.", event.FileEdit{Tool: "Edit", Path: long, ID: "t1"}, result("t1", "Edit", "updated"), says("Done."), finished, changed(long, "src/"+strings.Repeat("x", 290)+".css"), event.Commit{SHA: "100c84ba3", Count: 2}, event.Done{})
		s.Says("Committed as")
		s.Shows(55)
	},
	56: func(s *scene) {
		s.answerDiff()
		s.chat("Make the primary button green.", run()...)
		s.Shows(56, func() {
			s.Click(Role("button", "Copy diff"))
			s.Await(`[...document.querySelectorAll(".toast")].some((t) => t.checkVisibility() && t.textContent === "Copied")`)
		})
	},
	57: func(s *scene) {
		s.visit("")
		outlined := `!!document.querySelector("[data-slidewrite-ui]:popover-open")`
		s.pick("h1")
		s.Tab.Await(`!` + outlined)
		s.point(CSS(`.tab:not([hidden]) .composer .chip`))
		s.Tab.Await(outlined)
		s.Click(Role("button", "Remove h1.title"))
		s.Tab.Await(`!` + outlined)
		s.pick("h1")
		s.ask("Make it green.")
		s.Shim.Say(event.Start{SessionID: "11111111-1111-4111-8111-111111111111", Model: "opus", RunID: s.Shim.id, Provider: "anthropic"},
			says("`h1.title` gets its colour from `src/App.css:3`; `.note:hover` and `.gone` have another, `main` and `npm test` none."), finished, event.Done{})
		s.over()
		link := func(code string) Sight { return Role("button", code) }
		named := `[...document.querySelectorAll(".tab:not([hidden]) .element-link")].map((b) => b.textContent).join()`
		if got := Get[string](s.Page, named); got != "h1.title,.note:hover,.gone" {
			s.T.Errorf("elements: %s", got)
		}
		s.Tab.Do(`document.querySelector("h1").className = "other"`) // the very element, whatever it is called by now
		for _, name := range []Sight{link("h1.title"), CSS(`.tab:not([hidden]) .bubble .chip`)} {
			s.point(name)
			s.Tab.Await(outlined)
			s.point(message)
			s.Tab.Await(`!` + outlined)
		}
		s.Click(link(".note:hover"))
		s.Tab.Await(outlined + ` && scrollY > 0`)
		s.point(message)
		s.Click(link(".gone"))
		s.Says("Nothing on this page is .gone now.")
		s.Tab.Await(`!` + outlined)
		s.Shows(57, func() {
			if !Get[bool](s.Page, `document.activeElement.matches("[aria-pressed=true]")`) {
				s.Click(link("h1.title"))
				s.Tab.Await(outlined)
			}
		})
	},
	58: func(s *scene) {
		s.visit("")
		s.Click(message) // the clipboard is for what has the focus
		s.gesture = true
		s.Do(`(async () => { // noise: nothing makes it small
			const pixels = new ImageData(1024, 1024);
			for (let at = 0; at < pixels.data.length; at += 65536) crypto.getRandomValues(pixels.data.subarray(at, at + 65536));
			for (let at = 3; at < pixels.data.length; at += 4) pixels.data[at] = 255;
			const canvas = new OffscreenCanvas(1024, 1024);
			canvas.getContext("2d").putImageData(pixels, 0, 0);
			await navigator.clipboard.write([new ClipboardItem({ "image/png": canvas.convertToBlob({ type: "image/png" }) })]);
		})()`)
		s.gesture = false
		for n := 1; n <= 3; n++ {
			s.Press("Control+v")
			s.Await(fmt.Sprintf(chips+`.length === %d`, n))
		}
		s.Reload()
		s.Await(chips + `.length === 3 && !` + chips + `[0].querySelector(".lost") && ` + chips + `[2].querySelector(".lost")`)
		s.Shows(58)
	},
	61: func(s *scene) {
		s.twice("100c84ba3", "5b1d77e02")
		s.There(Role("button", "Make these 2 commits one"))
		s.Shows(61)
	},
	62: func(s *scene) {
		s.twice("100c84ba3", "5b1d77e02")
		s.Shim.answers["/runs/squash"] = map[string]any{"sha": "9ee41c0d7", "subject": "slide-write: Make it green.", "runs": []string{"run-1", "run-2"}, "replaced": []string{"100c84ba3", "5b1d77e02"}, "count": 2, "hooksSkipped": true}
		s.Do(`[...document.querySelectorAll('[data-sw="squash"]')].find((b) => b.checkVisibility()).focus()`)
		s.Press("Enter")
		s.Says("2 commits are one now: 9ee41c0d7")
		s.Await(`[...document.querySelectorAll(".change .commit code")].filter((c) => c.checkVisibility() && c.textContent === "9ee41c0d7").length === 2`)
		s.Await(`document.activeElement.dataset.sw === "commits-said" && [...document.querySelectorAll("[role=status]")].some((n) => n.textContent === "2 commits are one now: 9ee41c0d7")`)
		s.Shows(62)
	},
	63: func(s *scene) {
		s.twice("100c84ba3", "5b1d77e02")
		s.Shim.refuse["/runs/squash"] = refused(409, "conflict", "the commit 100c84ba3 is pushed already: origin/main has it", "leave them as they are: who has pulled them would get them twice")
		s.Click(Role("button", "Make these 2 commits one"))
		s.Says("Nothing was changed.")
		s.There(Role("button", "Make these 2 commits one"))
		s.Shows(63)
	},
	64: func(s *scene) {
		s.settings(map[string]any{"autoCommit": false})
		s.twice("", "")
		s.Says("2 changes not committed")
		if Get[bool](s.Page, `[...document.querySelectorAll(".waits")].some((n) => n.checkVisibility())`) {
			s.T.Error("each card says once more that it is not committed")
		}
		s.Shows(64)
	},
	65: func(s *scene) {
		s.settings(map[string]any{"autoCommit": false})
		s.twice("", "")
		s.Shim.answers["/runs/commit"] = map[string]any{
			"sha": "9ee41c0d7", "subject": "slide-write: Make it green.", "runs": []string{"run-1"}, "count": 1, "hooksSkipped": false, "leftOut": []string{"src/page.css"},
			"left":  []any{map[string]any{"id": "run-2", "prompt": "Then make it round.", "reason": "all that it changed is left out"}},
			"notes": []any{map[string]any{"message": "`src/page.css` has other work where the run changed it: yours, or what is committed by now; commit it yourself", "level": "warning", "code": "overlap"}},
		}
		s.Click(Role("button", "Commit all"))
		s.Says("Committed 1 change as 9ee41c0d7")
		s.Says("1 change not committed")
		s.Shows(65)
	},
}

// pick picks an element of the page.
func (s *scene) pick(selector string) {
	s.T.Helper()
	n := Get[int](s.Page, chips+`.length`)
	s.Click(pickButton)
	s.Await(armed(true))
	x, y := s.Tab.at(selector)
	(&Picking{Page: s.Tab, b: s.B}).Click(x, y, "")
	s.Await(fmt.Sprintf(chips+`.length === %d`, n+1))
	s.Click(pickButton)
	s.Await(armed(false))
}

// steps is a run of several calls, all done, still going on.
func (s *scene) steps() {
	s.T.Helper()
	s.chat("Do the tests pass?", tool("t1", "Read", "src/Button.css"), result("t1", "Read", ".btn {}"), tool("t2", "Read", "src/App.jsx"), result("t2", "Read", "export"),
		tool("t3", "Grep", "--primary"), result("t3", "Grep", "src/Button.css:2"), tool("t4", "Bash", "npm test -- --run"), result("t4", "Bash", "> test\n> vitest --run\n\nTests: 12 passed\n"))
	s.There(CSS(`.tab:not([hidden]) .steps-head`))
	s.Await(`![...document.querySelectorAll(".steps-head .spinner")].some((n) => n.checkVisibility())`)
}

// busy sends a message while somebody else's run goes on.
func (s *scene) busy() {
	s.T.Helper()
	other := map[string]any{"id": "run-0", "state": "running", "prompt": "Rewrite the whole checkout", "startedAt": time.Now().Add(-time.Minute).Format(time.RFC3339)}
	s.Shim.running = other
	s.Shim.refuse["/design"] = refused(409, "busy", "a run is going on in this repository", "wait for it, or stop it", "run", other)
	s.visit("")
	s.Fill(message, "Make the primary button green.")
	s.Click(send)
	s.Says("Another run is going on here")
}

// history opens the history of three sessions.
func (s *scene) history() {
	s.T.Helper()
	s.sessions()
	s.visit("")
	s.Click(Role("button", "History"))
	s.Says("Round the corners")
}

const everything = "# A heading\n\n## And one below it\n\nA paragraph with *emphasis*, **weight**, `code`, ~~a mistake~~ and a [link](https://example.com/a/rather/long/address).\n\n" +
	"- one\n- two\n  - two and a half\n- three\n\n1. first\n2. second\n\n- [x] done\n- [ ] to do\n\n> A quote that is long enough to need more than one line in a narrow panel.\n\n" +
	"```css\n.btn-primary {\n  background: var(--primary); /* a line that is longer than the panel is wide, on purpose */\n}\n```\n\n" +
	"| token | before | after |\n| --- | ---: | :---: |\n| `--primary` | #2563eb | #16a34a |\n| `--primary-hover` | derived | derived |\n\n---\n\nSee src/Button.css:2. The end of it.\n"

// TestStates shows every state of the panel.
func TestStates(t *testing.T) {
	if _, err := axeSource(); err != nil {
		Need(t, "the modules of e2e/app are not installed")
	}
	st := newStage(t)
	for _, n := range slices.Sorted(maps.Keys(panelStates())) {
		play, name := scenes[n], panelStates()[n]
		if play == nil {
			continue // TestZEveryStateWasShown tells
		}
		t.Run(fmt.Sprintf("%02d %s", n, name), func(t *testing.T) {
			st.b.T = t
			for _, p := range st.b.pages {
				p.T = t
			}
			defer func() {
				for _, p := range st.b.pages {
					for _, text := range p.trouble.take() {
						t.Errorf("%s: %s", p.Name, text)
					}
				}
				if t.Failed() {
					st.panel.look()
				}
			}()
			play(&scene{Page: st.panel, T: t, B: st.b, Tab: st.tab, Shim: st.stubs[fmt.Sprintf("s%d", n)], URL: st.origin(n), n: n})
		})
	}
	st.b.T = t
	for _, p := range st.b.pages {
		p.T = t
	}
}
