package e2e

import (
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/event"
)

// twice is a chat of two runs, each of which changed a file; "" was not
// committed.
func (s *scene) twice(shas ...string) {
	s.T.Helper()
	s.Shim.meta["capabilities"] = []string{"runs", "undo", "squash", "commit", "diff"}
	s.visit("")
	for i, sha := range shas {
		s.ask([]string{"Make it green.", "Then make it round."}[i])
		s.Shim.Say(event.Start{SessionID: "11111111-1111-4111-8111-111111111111", Model: "opus", RunID: s.Shim.id, Provider: "anthropic"}, says("Done."), finished, changed([]string{"src/Button.css", "src/page.css"}[i]))
		if sha != "" {
			s.Shim.Say(event.Commit{SHA: sha, Count: 1})
		}
		s.Shim.Say(event.Done{})
		s.over()
	}
}

// writes makes the agent, from its next run on, write one file and nothing else.
func (s *Story) writes(path, text string) {
	s.T.Helper()
	s.Variant(green, func(f *fakeagents.Fixture) {
		f.Effects = []fakeagents.Effect{{After: 45, Path: path, Write: &text}}
	})
}

// shas are the commits that the change cards of the panel show.
func (s *Story) shas() []string {
	s.T.Helper()
	return strings.Fields(Get[string](s.Panel, `[...document.querySelectorAll(".change .commit code")].map((c) => c.textContent).join(" ")`))
}

// TestCommitsOfAChat: two messages are two commits, which become one; the first
// is taken back. With auto-commit off, what two more changed is committed at
// once.
func TestCommitsOfAChat(t *testing.T) {
	s := Tell(t)
	s.play(s.Variant(green, func(*fakeagents.Fixture) {}))
	base := strings.TrimSpace(s.Git("rev-parse", "HEAD"))
	s.Send(askGreen, send)
	s.Panel.Says("Committed as")
	s.writes("notes.md", "It is green.\n")
	s.Send("Write it down.", send)
	s.Panel.Await(`document.querySelectorAll(".change .commit code").length === 2`)

	s.Panel.Click(Role("button", "Make these 2 commits one"))
	s.Panel.Says("2 commits are one now: ")
	shas := s.shas()
	if got := s.Git("log", "--format=%H %s", base+"..HEAD"); len(shas) != 2 || shas[0] != shas[1] || !strings.HasPrefix(got, shas[0]) || strings.Count(got, "\n") != 1 ||
		!strings.Contains(got, "slide-write: Make the primary button green.") {
		t.Errorf("the panel says %v, git says %s", shas, got)
	}
	if got := s.Git("show", "--format=", "--name-only", "HEAD"); got != "notes.md\nsrc/Button.css\n" {
		t.Errorf("the commit holds %q", got)
	}
	s.Panel.Shot("squash-one")
	s.Panel.Click(CSS(`[data-sw="undo"]`, 0))
	s.Tab.Await(blueButton)
	s.Panel.Says("Taken back")
	if got := s.Git("show", "--format=", "--name-only", "HEAD"); got != "src/Button.css\n" || s.Read("notes.md") != "It is green.\n" {
		t.Errorf("the undo's commit holds %q", got)
	}

	s.Connect("autoCommit", false)
	head := strings.TrimSpace(s.Git("rev-parse", "HEAD"))
	for _, name := range []string{"one", "two"} {
		s.writes(name+".md", name+"\n")
		s.Send("Write "+name+".", send)
		s.Panel.Says(map[string]string{"one": "1 change not committed", "two": "2 changes not committed"}[name])
	}
	if got := strings.TrimSpace(s.Git("rev-parse", "HEAD")); got != head {
		t.Errorf("HEAD moved to %s", got)
	}
	s.Panel.Shot("commit-all")
	s.Panel.Click(Role("button", "Commit all"))
	s.Panel.Says("Committed 2 changes as ")
	shas = s.shas()
	if got := s.Git("log", "--format=%H", head+"..HEAD"); !strings.HasPrefix(got, shas[len(shas)-1]) || shas[len(shas)-1] != shas[len(shas)-2] || strings.Count(got, "\n") != 1 {
		t.Errorf("the panel says %v, git says %s", shas, got)
	}
	if got := s.Git("show", "--format=", "--name-only", "HEAD"); got != "one.md\ntwo.md\n" || s.Git("status", "--porcelain") != "" {
		t.Errorf("the commit holds %q, and git status says %q", got, s.Git("status", "--porcelain"))
	}
	s.Settled()
}
