//go:build unix

package shim_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/slidewrite/slidewrite/shim"
)

// A pipe with the name of a session: nobody writes into it, and whoever opens
// it to read waits for ever.
func TestResumeOfAPipe(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		s := setup(t, d.fixtures+"resume", nil)
		pipe := filepath.Join(s.Home, map[string]string{
			"anthropic": ".claude/projects/-other/" + session + ".jsonl",
			"openai":    ".codex/sessions/2026/11/30/rollout-2026-11-30T08-23-45-" + session + ".jsonl",
			"grok":      ".grok/sessions/%2Fother/" + session + "/summary.json",
		}[d.provider])
		if err := errors.Join(os.MkdirAll(filepath.Dir(pipe), 0o700), syscall.Mkfifo(pipe, 0o600)); err != nil {
			t.Fatal(err)
		}
		s.Play(d.fixtures+"resume", shim.Config{Timing: quick})
		wantWords(t, s.Design(ask("provider", d.provider, "resume", session)), "error bad_request, done")
		if len(s.Turns()) != 0 {
			t.Error("an agent was started")
		}
		s.Clean()
	})
}
