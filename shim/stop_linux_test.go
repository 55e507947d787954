package shim_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// grandchild makes the fake leave a process behind; pid reads who it is.
func grandchild(s *shimtest.Stage, kind string) (knob string, pid func() int) {
	file := filepath.Join(s.Root, "grandchild")
	return "grandchild=" + kind + ",grandchild_pid=" + file, func() (n int) {
		s.T.Helper()
		b, err := os.ReadFile(file)
		if err == nil {
			_, err = fmt.Sscan(string(b), &n)
		}
		if err != nil {
			s.T.Fatal(err)
		}
		return n
	}
}

// A server that the user asked for goes on after the run; a stop ends it.
func TestWhatListensIsLeftAndSaid(t *testing.T) {
	for _, kind := range []string{"listener", "unix-listener"} {
		t.Run(kind, func(t *testing.T) {
			s := setup(t, edit, nil)
			knob, pid := grandchild(s, kind)
			s.Play(edit, shim.Config{Timing: quick}, knob)
			events := s.Design(ask())
			t.Cleanup(func() { _ = syscall.Kill(pid(), syscall.SIGKILL) })
			if !shimtest.Lives(pid()) {
				t.Error("the server was ended")
			}
			if n := note(t, events, "left_running"); !strings.Contains(n.Message, fmt.Sprint(pid())) {
				t.Errorf("note %q does not name pid %d", n.Message, pid())
			}
		})
		t.Run(kind+" of an agent that lingers", func(t *testing.T) {
			s := setup(t, edit, nil)
			knob, pid := grandchild(s, kind)
			timing := quick
			timing.Linger = 50 * time.Millisecond
			s.Play(edit, shim.Config{Timing: timing}, knob, stubborn)
			events := s.Design(ask())
			t.Cleanup(func() { _ = syscall.Kill(pid(), syscall.SIGKILL) })
			if note(t, events, "lingers"); !shimtest.Lives(pid()) {
				t.Error("the server was ended with the agent")
			}
			if n := note(t, events, "left_running"); !strings.Contains(n.Message, fmt.Sprint(pid())) {
				t.Errorf("note %q does not name pid %d", n.Message, pid())
			}
		})
		t.Run(kind+" stopped", func(t *testing.T) {
			s := setup(t, edit, nil)
			knob, pid := grandchild(s, kind)
			s.Play(edit, shim.Config{Timing: quick}, knob, "hang=20")
			stream := s.Open("POST", "/design", ask())
			shimtest.Until[event.Delta](stream)
			stop(s)
			stream.Rest()
			if shimtest.Lives(pid()) {
				t.Error("the server is still there after the stop")
			}
		})
	}
}
