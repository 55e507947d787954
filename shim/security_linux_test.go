package shim_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim"
)

// S13: ps shows no key and no prompt: not in the agent's command line, not in
// that of any git process.
func TestS13ProcessListShowsNoSecret(t *testing.T) {
	const prompt = "a prompt that nobody else may read"
	const key = "sk-ant-key-that-nobody-may-read"
	s := setup(t, edit, map[string]string{".gitattributes": "slow.txt filter=slow\n"})
	gate, filter := s.Gate("turn"), s.Gate("filter")
	s.Write("slow.txt", "x\n")
	s.Git("config", "filter.slow.clean", filter.Script()+"; cat")
	fixture := s.Variant(edit, func(f *fakeagents.Fixture) { f.Effects = append(f.Effects, gate.After(20)) })
	s.Play(fixture, shim.Config{Timing: quick, KeepEnv: true, CommitVerify: true,
		Environ: []string{"ANTHROPIC_API_KEY=" + key, "GEMINI_API_KEY=" + key, fakeagents.EnvKeepEnv + "=1"}})
	commit := hook(s)
	stream := s.Open("POST", "/design", ask("prompt", prompt))
	look := func(when string) {
		t.Helper()
		seen := 0
		for _, p := range processes() {
			cmd, err := os.ReadFile(filepath.Join(p, "cmdline"))
			dir, dirErr := os.Readlink(filepath.Join(p, "cwd"))
			if err != nil || dirErr != nil || !strings.HasPrefix(dir, s.Root) || len(cmd) == 0 {
				continue
			}
			seen++
			for what, secret := range map[string]string{"prompt": prompt, "key": key, "token": s.Token} {
				if bytes.Contains(cmd, []byte(secret)) {
					t.Errorf("%s: the %s is in the command line %q", when, what, cmd)
				}
			}
		}
		if seen == 0 {
			t.Errorf("%s: no process was looked at", when)
		}
	}
	filter.Reached()
	look("during the snapshot")
	filter.Open()
	gate.Reached()
	look("during the run")
	gate.Open()
	commit.Reached()
	look("during the commit")
	commit.Open()
	wantWords(t, stream.Rest(), "result, change, commit, done")
}
