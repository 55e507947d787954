//go:build unix

package fakeagents_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
)

// hanging starts a fake and reads its lines until one holds text.
func (b *grokBench) hanging(text string, args ...string) *exec.Cmd {
	b.t.Helper()
	cmd := exec.Command("grok", args...)
	cmd.Dir, cmd.Env, cmd.Stderr = b.repo, b.env, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if strings.Contains(line, text) {
			return cmd
		}
		if err != nil {
			b.t.Fatalf("no line holds %q: %v", text, err)
		}
	}
}

// "grok -p installs no SIGINT/SIGTERM handler: default death, no result".
func TestGrokSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		b := newGrokBench(t, "text", "Say hello.")
		b.set(fakeagents.EnvKnobs, "hang=4")
		cmd := b.hanging("Hello", b.args()...)
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it ended by a signal, which is an error
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != sig {
			t.Errorf("%v: %v", sig, cmd.ProcessState)
		}
	}
	// The cases that were ended so play until they are.
	for _, tt := range []struct {
		fixture, last string
		more          []string
	}{
		{"resume-elsewhere", "I look", []string{"-r", grokSession}},
		{"interrupt-command", `"name":"run_terminal_command"`, nil},
	} {
		b := newGrokBench(t, tt.fixture, "Go on.")
		cmd := b.hanging(tt.last, b.args(tt.more...)...)
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() {
			t.Errorf("%s: %v", tt.fixture, cmd.ProcessState)
		}
	}
}

func TestGrokIgnoresSignals(t *testing.T) {
	b := newGrokBench(t, "text", "Say hello.")
	b.set(fakeagents.EnvKnobs, "hang=4,ignore_signals=1")
	cmd := b.hanging("Hello", b.args()...)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL} {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
		t.Errorf("%v", cmd.ProcessState)
	}
}
