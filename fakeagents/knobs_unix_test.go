//go:build unix

package fakeagents_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Exit codes by signal, as measured on 2.1.332.
func TestSignals(t *testing.T) {
	tests := []struct {
		signal syscall.Signal
		code   int
		tidy   bool
	}{{syscall.SIGINT, 0, true}, {syscall.SIGTERM, 143, false}, {syscall.SIGHUP, 129, false}}
	for _, tt := range tests {
		k := knobbed(t, editCase, "hang=10").opened(args()...)
		for len(k.lines) < 10 && k.until("\n") {
			continue
		}
		if err := k.cmd.Process.Signal(tt.signal); err != nil {
			t.Fatal(err)
		}
		k.until(`"state":"idle"`)
		if o := k.end(); o.code != tt.code || o.has("aborted_streaming") != tt.tidy {
			t.Errorf("%v: exit %d, lines %d", tt.signal, o.code, len(o.lines))
		}
	}
}

func TestKnobIgnoreSignals(t *testing.T) {
	k := knobbed(t, editCase, "hang=first,ignore_signals=1").opened(args()...)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if err := k.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	k.interrupt()
	k.send(object{"type": "control_request", "request_id": "alive", "request": object{"subtype": "are_you_there"}})
	if !k.until(`"request_id":"alive"`) {
		t.Fatal("it did not survive the signals")
	}
	if count(k.lines, "aborted") > 0 {
		t.Error("the interrupt was not ignored")
	}
	if err := k.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if o := k.end(); o.code != -1 {
		t.Errorf("exit %d", o.code)
	}
}

func TestKnobIgnoreClose(t *testing.T) {
	k := knobbed(t, textCase, "ignore_close=1").opened(args()...)
	k.until(`"state":"idle"`)
	_ = k.stdin.Close()
	if err := k.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if o := k.end(); o.code != 143 {
		t.Errorf("exit %d: it ended when stdin was closed", o.code)
	}
}

// "leave a grandchild": each kind outlives the fake.
func TestKnobGrandchild(t *testing.T) {
	for _, kind := range []string{"setsid", "stdout", "stderr", "noise", "daemon", "unmarked", "listener", "unix-listener"} {
		t.Run(kind, func(t *testing.T) {
			file := filepath.Join(shortDir(t), "p")
			k := knobbed(t, textCase, "grandchild="+kind+",grandchild_pid="+file).opened(args()...)
			k.until(`"state":"idle"`)
			_ = k.stdin.Close()
			pid, address := left(t, file)
			holds := kind == "stdout" || kind == "stderr" || kind == "noise"
			if !holds {
				k.until("")
				_ = k.cmd.Wait()
			} else if _, err := k.cmd.Process.Wait(); err != nil { // its output stays open
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, 0); err != nil {
				t.Errorf("it did not outlive the fake: %v", err)
			}
			if sid, err := getsid(pid); err == nil && sid == k.cmd.Process.Pid {
				t.Error("it has no session of its own")
			}
			if strings.HasSuffix(kind, "listener") {
				network := map[string]string{"listener": "tcp", "unix-listener": "unix"}[kind]
				c, err := net.Dial(network, address)
				if err != nil {
					t.Fatal(err)
				}
				_ = c.Close()
			}
			if kind == "noise" && !k.until("noise of a grandchild") {
				t.Error("it is silent")
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if holds {
				k.until("") // the end comes once nobody holds it
			}
		})
	}
}

// shortDir is a folder whose path leaves room for a socket's name.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fa")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// left reads the file of a grandchild and ends it with the test.
func left(t *testing.T, file string) (pid int, address string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(string(data), "\n")
	if pid, err = strconv.Atoi(first); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return pid, strings.TrimSpace(rest)
}

func getsid(pid int) (int, error) {
	sid, _, errno := syscall.Syscall(syscall.SYS_GETSID, uintptr(pid), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(sid), nil
}
