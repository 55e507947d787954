//go:build unix

package fakeagents_test

import (
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// As measured on 0.171.0: SIGINT ends the turn without another line, with exit
// code 1 and a tidy rollout; SIGTERM and SIGHUP kill it.
func TestCodexSignals(t *testing.T) {
	for _, tt := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGINT, 1}, {syscall.SIGTERM, -1}, {syscall.SIGHUP, -1}} {
		if signal.Ignored(tt.signal) { // started under nohup, and so is the fake
			continue
		}
		b := codexBench(t, codexEdit, "hang=4")
		k := b.piped("\nGo.", b.exec()...)
		for len(k.lines) < 4 && k.until("\n") {
			continue
		}
		if err := k.cmd.Process.Signal(tt.signal); err != nil {
			t.Fatal(err)
		}
		o := k.end()
		found := b.rollouts()
		if o.code != tt.code || len(o.lines) != 4 || len(found) != 1 {
			t.Fatalf("%v: exit %d, %d lines, rollouts %q, stderr %q", tt.signal, o.code, len(o.lines), found, o.stderr)
		}
		data, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(data), `"type":"turn_aborted"`); got != (tt.code == 1) {
			t.Errorf("%v: turn_aborted in the rollout: %v", tt.signal, got)
		}
	}
}

func TestCodexIgnoresSignals(t *testing.T) {
	b := codexBench(t, codexEdit, "hang=first,ignore_signals=1")
	log := filepath.Join(t.TempDir(), "pid")
	b.set("FAKEAGENT_KNOBS", "hang=4,ignore_signals=1,pace=1ms,grandchild=daemon,grandchild_pid="+log)
	k := b.piped("\nGo.", b.exec()...)
	k.until(`"type":"thread.started"`)
	pid, _ := left(t, log)
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if err := k.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	for len(k.lines) < 4 && k.until("\n") { // it goes on to where it hangs
		continue
	}
	if err := k.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if o := k.end(); o.code != -1 || len(o.lines) != 4 {
		t.Errorf("exit %d, %d lines", o.code, len(o.lines))
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("the grandchild is gone: %v", err)
	}
}
