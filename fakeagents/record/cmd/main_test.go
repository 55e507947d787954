package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
)

// A capture that cannot be converted fails the command and keeps nobody from
// being converted after it.
func TestConvertFolders(t *testing.T) {
	captures, out := t.TempDir(), t.TempDir()
	good := filepath.Join(captures, "text")
	if err := os.Mkdir(good, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"argv":         `{"argv":["claude","-p"],"env":{},"stdin":"hi"}`,
		"stdout.jsonl": `{"type":"system","subtype":"init","session_id":"11111111-2222-4333-8444-555555555555"}` + "\n",
		"exit":         "0\n",
	} {
		if err := os.WriteFile(filepath.Join(good, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code := run([]string{out, "claude", "2.1.332", filepath.Join(captures, "none"), good}); code != 1 {
		t.Errorf("exit %d, want 1: one folder is missing", code)
	}
	const name = "claude/captured/2.1.332/text"
	text, err := os.ReadFile(filepath.Join(out, filepath.FromSlash(name)+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	if f, err := fakeagents.Parse(name, text); err != nil || string(f.Piped) != "hi" || len(f.Lines()) != 1 {
		t.Errorf("%v\n%s", err, text)
	}
	if code := run([]string{out, "claude", "2.1.332", good}); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
	if code := run([]string{"run", out, "claude"}); code != 2 {
		t.Errorf("too few arguments: exit %d, want 2", code)
	}
}
