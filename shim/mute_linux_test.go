package shim_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// An agent that closes its stdout and lives on has nothing more to say: it is
// ended, and the run with it.
func TestAgentThatClosesItsStdoutIsEnded(t *testing.T) {
	t.Parallel()
	s := shimtest.New(t)
	s.Fixture(edit)
	bin := filepath.Join(s.Root, "claude")
	script := "#!/bin/sh\n[ \"$1\" = --version ] && { echo '2.1.332 (Claude Code)'; exit; }\necho $$ >" + s.Root + "/pid\ntrap '' INT TERM\nexec >&- 2>&-\nsleep 600\n"
	if err := os.WriteFile(bin, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	timing := quick
	timing.Mute = 50 * time.Millisecond
	s.Start(shim.Config{ClaudeBin: bin, Timing: timing})
	events := s.Design(ask())
	if e := shimtest.One[event.Error](t, events); e.Code != event.CodeCrashed {
		t.Errorf("code %q", e.Code)
	}
	pid, err := os.ReadFile(filepath.Join(s.Root, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + string(pid[:len(pid)-1])); err == nil {
		t.Error("the agent is still there")
	}
}
