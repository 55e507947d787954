package state

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestMain makes this test binary its own second process: with the name of a
// helper in its environment it does that and nothing else.
func TestMain(m *testing.M) {
	if name := os.Getenv("STATE_TEST_HELPER"); name != "" {
		if err := helpers[name](os.Args[1:]); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// helpers do one thing, print a line when it is done, and stay until their
// stdin is closed. Their first two arguments are the state directory and the
// repository.
var helpers = map[string]func(args []string) error{
	"wait": func([]string) error { return ready("waiting") },
	"token": func(args []string) error {
		token, err := tokenIn(args[0], args[1])
		if err != nil {
			return err
		}
		return ready(token)
	},
	"lock": func(args []string) error {
		s, err := Open(args[0], args[1])
		if err != nil {
			return err
		}
		if _, err := s.Lock(args[1], Holder{RunID: args[2], Prompt: "from the helper"}); err != nil {
			return err
		}
		return ready("locked")
	},
	// A run in full: lock, record, folder, journal, and a child that outlives it.
	"run": func(args []string) error {
		s, err := Open(args[0], args[1])
		if err != nil {
			return err
		}
		if _, err := s.Lock(args[1], Holder{RunID: args[2]}); err != nil {
			return err
		}
		dir, err := s.RunDir(args[2])
		if err != nil {
			return err
		}
		if err := s.Put(Record{ID: args[2], Kind: KindDesign, State: Running, StartedAt: time.Now()}); err != nil {
			return err
		}
		child := helper("wait")
		child.Stdin = os.Stdin // ends with the test
		if err := child.Start(); err != nil {
			return err
		}
		return ready(dir)
	},
	"announce": func(args []string) error {
		s, err := Open(args[0], args[1])
		if err != nil {
			return err
		}
		if _, err := s.Announce(Shim{PID: os.Getpid(), Addr: args[2], Repo: args[1], StartedAt: time.Now()}); err != nil {
			return err
		}
		return ready("announced")
	},
	// Replaces one record again and again until it is killed.
	"put": func(args []string) error {
		s, err := Open(args[0], args[1])
		if err != nil {
			return err
		}
		for i := 0; ; i++ {
			r := Record{ID: args[2], Kind: KindDesign, State: Running, Prompt: strings.Repeat(fmt.Sprint(i%10), 20_000)}
			if err := s.Put(r); err != nil {
				return err
			}
			if i == 0 {
				fmt.Println("putting")
			}
		}
	},
	"forget": func(args []string) error {
		s, err := Open(args[0], args[1])
		if err != nil {
			return err
		}
		if _, err := s.Lock(args[1], Holder{RunID: NewRunID()}); err != nil {
			return err
		}
		_, err = s.Forget(func(string) bool { return false })
		return err
	},
	// Adds one to a number in a record, many times.
	"count": func(args []string) error {
		s, err := Open(args[0], args[1])
		if err != nil {
			return err
		}
		for range 20 {
			if err := s.Update(args[2], func(r *Record) { r.Prompt += "x" }); err != nil {
				return err
			}
		}
		return ready("counted")
	},
}

func ready(line string) error {
	fmt.Println(line)
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

func helper(name string, args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "STATE_TEST_HELPER="+name)
	return cmd
}

// other is a second process.
type other struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.Closer
	out  *bufio.Reader
	said string // its first line, after await
}

// second starts a helper and waits until it has done its one thing.
func second(t *testing.T, name string, args ...string) *other {
	t.Helper()
	o := start(t, name, args...)
	o.await()
	return o
}

// start starts a helper.
func start(t *testing.T, name string, args ...string) *other {
	t.Helper()
	cmd := helper(name, args...)
	// A pipe of our own: Wait would close one of exec's, and a grandchild
	// may still be waiting on it.
	r, w, err := os.Pipe()
	check(t, err)
	cmd.Stdin = r
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	r.Close()
	t.Cleanup(func() { w.Close(); cmd.Process.Kill(); cmd.Wait() })
	return &other{t: t, cmd: cmd, in: w, out: bufio.NewReader(out)}
}

// await waits until the process has done its one thing.
func (o *other) await() {
	o.t.Helper()
	line, err := o.out.ReadString('\n')
	o.said = strings.TrimSpace(line)
	if err != nil || strings.HasPrefix(line, "error:") {
		o.t.Fatalf("%v: %s (%v)", o.cmd.Args, line, err)
	}
}

// kill ends the process the hard way and waits until it is gone.
func (o *other) kill() {
	o.t.Helper()
	if err := o.cmd.Process.Kill(); err != nil {
		o.t.Fatal(err)
	}
	o.cmd.Wait() // its error is the kill
}

// end lets the process end by itself.
func (o *other) end() {
	o.t.Helper()
	o.in.Close()
	if err := o.cmd.Wait(); err != nil {
		o.t.Fatal(err)
	}
}

// open returns a Store in a fresh directory, for a fresh repository.
func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.TempDir()+"/state", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
