package process

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/errors"
)

// A sweep that sees an agent knows whose it is: one that it took for an orphan
// would be reaped, and its exit status gone.
func TestNoAgentIsThereBeforeItIsKnown(t *testing.T) {
	const marker = "known-before-it-is-there"
	carries := func() bool {
		for _, e := range processes() {
			if env, err := environ(e.pid); err == nil && hasVar(env, MarkerVar+"="+marker) {
				return true
			}
		}
		return false
	}
	live.Lock() // nothing can be made known
	started := make(chan *Family)
	go func() {
		f, err := Start(Options{Bin: "/bin/sleep", Args: []string{"60"}, Env: os.Environ(), Dir: t.TempDir(), Marker: marker})
		if err != nil {
			t.Error(err)
		}
		started <- f
	}()
	await(t, "Start at the lock", func() bool {
		buf := make([]byte, 1<<20)
		stacks := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
		return slices.ContainsFunc(stacks, func(s string) bool {
			return strings.Contains(s, "/process.Start(") && strings.Contains(s, "sync.(*Mutex).Lock")
		})
	})
	if carries() {
		t.Error("the agent runs and is not known yet")
	}
	live.Unlock()
	f := <-started
	defer f.Close()
	if !carries() || !isAgent(f.PID()) {
		t.Error("the agent does not run, or is not known")
	}
}

func TestExitOfAProcessThatSomebodyElseHasWaitedFor(t *testing.T) {
	if exit := exitOf(nil); exit.Code != -1 || exit.Signal != "" {
		t.Errorf("%+v", exit)
	}
}

// Who asks one question after the other starts nothing behind its deadline.
func TestNothingIsAskedWhenTheTimeIsOver(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	mark := t.TempDir() + "/started"
	out, _, err := Output(ctx, Options{Bin: "/bin/sh", Args: []string{"-c", ": >" + mark}, Env: os.Environ(), Dir: t.TempDir()}, nil)
	if !errors.Is(err, context.Canceled) || !bytes.Equal(out, nil) {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the command was started")
	}
}
