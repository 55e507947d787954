package shimtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/slidewrite/slidewrite/shim"
)

// childCommand is the name under which this test binary is a shim of its own.
const childCommand = "shimtest-child"

// envChild holds the childConfig of such a process.
const envChild = "SHIMTEST_CHILD"

// childConfig is the part of shim.Config that a child can be told.
type childConfig struct {
	Repo         string
	ClaudeBin    string
	CommitVerify bool
	Timing       shim.Timing
}

// childMain serves until its stdin ends. It says its address and token on the
// first line of stdout.
func childMain() {
	if err := serveChild(); err != nil {
		fmt.Fprintln(os.Stderr, childCommand+":", err)
		os.Exit(1)
	}
}

func serveChild() error {
	var c childConfig
	if err := json.Unmarshal([]byte(os.Getenv(envChild)), &c); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	sh, err := shim.New(ctx, shim.Config{Repo: c.Repo, ClaudeBin: c.ClaudeBin, CommitVerify: c.CommitVerify, Timing: c.Timing, Log: os.Stderr})
	if err != nil {
		return err
	}
	addr, err := sh.Listen()
	if err != nil {
		return err
	}
	fmt.Println(addr, sh.Token())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the test that started us
		cancel()
	}()
	return sh.Serve(ctx)
}

// PlayChild is Play with the shim in a process of its own, which Kill ends.
func (s *Stage) PlayChild(name string, cfg shim.Config, knobs ...string) {
	s.T.Helper()
	conf, err := json.Marshal(childConfig{Repo: s.Repo, ClaudeBin: cfg.ClaudeBin, CommitVerify: cfg.CommitVerify, Timing: cfg.Timing})
	if err != nil {
		s.T.Fatal(err)
	}
	cmd := exec.Command(childCommand)
	cmd.Env = append(s.playing(name, knobs), envChild+"="+string(conf))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		s.T.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		s.T.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.T.Fatal(err)
	}
	s.child = cmd
	s.Stop = sync.OnceFunc(func() {
		stdin.Close()
		_ = cmd.Wait() // a killed one says so
	})
	s.T.Cleanup(s.Stop)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		s.T.Fatalf("%s: %v", childCommand, err)
	}
	addr, token, _ := strings.Cut(strings.TrimSpace(line), " ")
	s.URL, s.Token = "http://"+addr, token
}

// PID is the child process.
func (s *Stage) PID() int { return s.child.Process.Pid }

// Kill ends the child process without a word, as a power cut does.
func (s *Stage) Kill() {
	s.T.Helper()
	if err := s.child.Process.Kill(); err != nil {
		s.T.Fatal(err)
	}
	s.Stop()
}

// ChildPID is the process id of the shim that PlayChild started.
func (s *Stage) ChildPID() int { return s.child.Process.Pid }
