package shim_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// A hook that rewrites files is part of the run with --commit-verify: what it
// made of them is committed, and an undo takes it back too.
func TestUndoTakesBackWhatAHookRewrote(t *testing.T) {
	t.Parallel()
	s := shimtest.New(t)
	f := s.Fixture("claude/real/2.1.332/edit")
	before := s.Read("a.txt")
	hook := filepath.Join(s.Repo, ".git", "hooks", "pre-commit")
	if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	// A formatter with an opinion on one word.
	script := "#!/bin/sh\nf=$(git diff --cached --name-only)\nsed s/goodbye/Goodbye/ $f >$f.new && cat $f.new >$f && rm $f.new && git add $f\n"
	if err := os.WriteFile(hook, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	s.Play(f.Name, shim.Config{CommitVerify: true})
	events := s.Design(map[string]any{"prompt": f.Prompt()})
	if commit := shimtest.One[event.Commit](t, events); commit.HooksSkipped {
		t.Error("the hooks were skipped")
	}
	if got := s.Git("show", "HEAD:a.txt"); got != "Goodbye\nsecond line\n" || s.Read("a.txt") != got {
		t.Errorf("committed %q, on disk %q", got, s.Read("a.txt"))
	}
	run := shimtest.One[event.Start](t, events).RunID
	if status := s.JSON("POST", "/runs/"+run+"/undo", map[string]any{}, nil); status != 200 {
		t.Fatalf("undo: %d", status)
	}
	if got := s.Read("a.txt"); got != before {
		t.Errorf("after the undo: %q, want %q", got, before)
	}
}
