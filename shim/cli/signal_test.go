package cli

import (
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim"
)

// TestInterruptible: the first signal ends the context, its echoes do nothing
// more (a terminal signals the whole group and a parent passes it on), a
// later one quits.
func TestInterruptible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 2)
		a := &app{Process: Process{Signals: signals}}
		ended, quit, release := a.interruptible(t.Context())
		defer release()
		if ended.Err() != nil {
			t.Fatal("ended before any signal")
		}
		signals <- os.Interrupt
		signals <- syscall.SIGTERM
		synctest.Wait()
		if ended.Err() == nil {
			t.Error("goes on after a signal")
		}
		if closed(quit) {
			t.Error("two signals at once are one press")
		}
		time.Sleep(samePress + time.Millisecond) // of the test's own clock
		signals <- os.Interrupt
		synctest.Wait()
		if !closed(quit) {
			t.Error("a later signal does not quit")
		}
	})
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestInterruptedSaysNothing: who pressed Ctrl-C knows, unless something is
// left to do.
func TestInterruptedSaysNothing(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{errors.Wrap(errInterrupted, "x"), ""},
		{errors.WithHint(errInterrupted, "once more"), "slidewrite: error: interrupted\nslidewrite: fix: once more\n"},
	} {
		a, _, stderr := testApp(nil)
		if code := a.report(tc.err); code != exitInterrupted || stderr.String() != tc.want {
			t.Errorf("exit %d, said %q; want %d, %q", code, stderr, exitInterrupted, tc.want)
		}
	}
}

// TestPromptFromStdin: it is taken as it is, and Ctrl-C ends the waiting for
// one that does not come.
func TestPromptFromStdin(t *testing.T) {
	a, _, _ := testApp(nil)
	a.Stdin = strings.NewReader(" make it\ngreen\n")
	if got, err := a.prompt([]string{"-"}); err != nil || got != " make it\ngreen\n" {
		t.Errorf("%q, %v", got, err)
	}
	signals := make(chan os.Signal, 1)
	a, _, _ = testApp(signals)
	silent, writer := io.Pipe()
	defer writer.Close()
	a.Stdin = silent
	signals <- os.Interrupt
	if _, err := a.prompt([]string{"-"}); !errors.Is(err, errInterrupted) {
		t.Errorf("got %v, want %v", err, errInterrupted)
	}
}

// TestCannotListen: each way a bind fails names the flag and the way out.
// Ports in use are in testscripts.
func TestCannotListen(t *testing.T) {
	for _, tc := range []struct {
		errno error
		port  int
		want  string
	}{
		{syscall.EACCES, 80, "slidewrite: error: --port: this user may not listen on port 80\nslidewrite: fix: pass --port 4040, or another one above 1023\n"},
		{syscall.EADDRNOTAVAIL, 4040, "slidewrite: error: --bind: no network of this machine has the address 192.0.2.7\nslidewrite: fix: leave --bind out to listen on 127.0.0.1\n"},
		{syscall.ENFILE, 4040, "slidewrite: error: listen on 192.0.2.7:4040: listen tcp: bind: too many open files in system\n"},
	} {
		a, _, stderr := testApp(nil)
		err := a.cannotListen(shim.Config{Port: tc.port, Bind: "192.0.2.7"}, &net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", tc.errno)})
		if code := a.report(err); code != exitFailed || stderr.String() != tc.want {
			t.Errorf("exit %d\ngot  %swant %s", code, stderr, tc.want)
		}
	}
}
