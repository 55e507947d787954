package shim_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/shimtest"
	"github.com/slidewrite/slidewrite/shim/state"
)

// soaking is how many cycles `make soak` wants; 0 = this is no soak.
func soaking(t testing.TB) int {
	t.Helper()
	text := os.Getenv("SLIDEWRITE_SOAK")
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("SLIDEWRITE_SOAK=%s: it is a number of cycles, such as 1000", text)
	}
	return n
}

// size is small in `go test` and full in `make soak`.
func size(t testing.TB, small, full int) int {
	t.Helper()
	if soaking(t) > 0 {
		return full
	}
	return small
}

// cycle is one run, started and ended in one way.
type cycle struct {
	name     string
	knobs    string // of the fake agent
	children string // shell script that the agent's command runs
	until    func(*soak, *shimtest.Stream)
	stop     bool
	leave    bool
	want     string // how the run goes
	slow     bool   // takes seconds: rare in a soak, absent in a short one; the last
}

// What the agent's command leaves running. Each would live for minutes.
const (
	withChildren = "sleep 300 & sleep 300 &"
	withNohup    = "nohup sleep 300 &"
	withSetsid   = "setsid sleep 300 &"
	withDaemon   = "(setsid sh -c 'sleep 300 & exit' &)"
	withNoEnv    = "env -i setsid sleep 300 &"
)

var cycles = []cycle{
	{name: "normal end", want: "result, change, commit, done"},
	{name: "stop before the first line", knobs: "hang=first", until: prompted, stop: true, want: "stopped user, done"},
	{name: "stop in text", knobs: "hang=26", until: text26, stop: true, want: "stopped user, change, done"},
	{name: "stop in a command with children", knobs: "hang=20", children: withChildren, until: commanded, stop: true, want: "stopped user, done"},
	{name: "stop in a command with nohup", knobs: "hang=20", children: withNohup, until: commanded, stop: true, want: "stopped user, done"},
	{name: "stop in a command with setsid", knobs: "hang=20", children: withSetsid, until: commanded, stop: true, want: "stopped user, done"},
	{name: "stop in a command with a daemon", knobs: "hang=20", children: withDaemon, until: commanded, stop: true, want: "stopped user, done"},
	{name: "stop in a command with an empty environment", knobs: "hang=20", children: withNoEnv, until: commanded, stop: true, want: "stopped user, done"},
	{name: "stop during initialize", knobs: "hang=initialize", until: greeted, stop: true, want: "stopped user, done"},
	{name: "the client leaves", knobs: "hang=20", until: commanded, leave: true, want: "stopped disconnect, done"},
	{name: "normal end with a stray", children: withSetsid, want: "result, change, commit, done"},
	{name: "crash", knobs: "crash=20", want: "error crashed, done"},
	{name: "stop of a stubborn agent", knobs: "hang=26," + stubborn, until: text26, stop: true, want: "stopped user, change, done", slow: true},
}

// prompted waits until the agent has its prompt.
func prompted(s *soak, _ *shimtest.Stream) {
	shimtest.Await(s.T, "the prompt", func() bool { return len(s.Prompts()) > 0 })
}

// greeted waits until the agent was asked to initialize.
func greeted(s *soak, _ *shimtest.Stream) {
	shimtest.Await(s.T, "initialize", func() bool {
		return slices.ContainsFunc(s.Agents(), func(e fakeagents.LogEntry) bool { return strings.Contains(e.Stdin, "initialize") })
	})
}

// text26 waits for the text behind the command, which is line 26.
func text26(_ *soak, st *shimtest.Stream) {
	shimtest.Until[event.ToolResult](st)
	shimtest.Until[event.Delta](st)
}

// commanded waits until the agent's command has started its processes.
func commanded(s *soak, _ *shimtest.Stream) {
	shimtest.Await(s.T, "the command", func() bool {
		_, err := os.Stat(s.path("there"))
		return err == nil
	})
}

// soak is a stage on which one run follows another. What the agent of the
// next run does stands in files that it reads.
type soak struct {
	*shimtest.Stage
	fixture string
	bin     string
	vitals  func() vitals
}

// newSoak sets the stage; the shim is not there yet.
func newSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{Stage: shimtest.New(t)}
	s.Fixture(bashSed)
	s.fixture = s.Variant(bashSed, func(f *fakeagents.Fixture) {
		f.Effects = []fakeagents.Effect{
			{After: 19, Run: []string{"sh", s.path("children")}},
			{After: 21, Run: []string{"sh", s.path("edit")}},
		}
	})
	fake, err := exec.LookPath("claude")
	if err != nil {
		t.Fatal(err)
	}
	s.bin = filepath.Join(s.Root, "claude")
	s.write("claude", "#!/bin/sh\nexport FAKEAGENT_KNOBS=\"$(cat '"+s.path("knobs")+"')\"\nexec '"+fake+"' \"$@\"\n")
	s.write("knobs", "")
	return s
}

func (s *soak) path(name string) string { return filepath.Join(s.Root, name) }

func (s *soak) write(name, text string) {
	s.T.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o700); err != nil {
		s.T.Fatal(err)
	}
}

// scope is a test whose cleanups come at the end of a part of it.
type scope struct {
	testing.TB
	cleanups []func()
}

func (s *scope) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

func (s *scope) end() {
	for _, f := range slices.Backward(s.cleanups) {
		f()
	}
}

// run is one cycle, number n. Nothing of it must be left when its client has
// seen done.
func (s *soak) run(n int, c cycle) {
	s.T.Helper()
	outer, inner := s.T, &scope{TB: s.T}
	s.T = inner
	defer func() { inner.end(); s.T = outer }()

	for _, name := range []string{"there", "agent.log"} {
		if err := os.Remove(s.path(name)); err != nil && !os.IsNotExist(err) {
			s.T.Fatal(err)
		}
	}
	s.write("knobs", c.knobs)
	s.write("children", "exec </dev/null >/dev/null 2>&1\n"+c.children+"\n: >'"+s.path("there")+"'\n")
	s.write("edit", fmt.Sprintf("echo %d >'%s.txt'\n", n, c.name))

	stream := s.Open("POST", "/design", ask())
	if c.until != nil {
		c.until(s, stream)
	}
	switch {
	case c.leave:
		stream.Leave()
		shimtest.Await(s.T, "the run stopped", func() bool { return newest(s.Stage).State == "stopped" })
		stream = s.Open("GET", "/runs/"+newest(s.Stage).ID+"/events", nil)
	case c.stop:
		stop(s.Stage)
	}
	events := stream.Rest()
	// A stop can come before or behind the result that the agent writes then.
	got := words(events)
	if c.stop || c.leave {
		got = strings.TrimPrefix(got, "result, ")
	}
	if got != c.want {
		s.T.Fatalf("cycle %d, %s: the run went %q, want %q%s", n, c.name, got, c.want, shimtest.Words(events))
	}
	s.nothingLeft(n, c)
}

// nothingLeft looks for processes and files of a run that has ended.
func (s *soak) nothingLeft(n int, c cycle) {
	s.T.Helper()
	if left := s.Marked(); len(left) > 0 {
		s.T.Fatalf("cycle %d, %s: processes left behind: %v", n, c.name, left)
	}
	var left []string
	for _, pattern := range []string{"tmp/*", "state/slidewrite/r/*-*", "state/slidewrite/repos/*/holder.json", "state/slidewrite/repos/*/tmp/*", "state/slidewrite/tmp/*", "repo/.git/*.lock", "repo/.git/*.slidewrite-*"} {
		found, err := filepath.Glob(s.path(pattern))
		if err != nil {
			s.T.Fatal(err)
		}
		left = append(left, found...)
	}
	if len(left) > 0 {
		s.T.Fatalf("cycle %d, %s: files left behind: %q", n, c.name, left)
	}
}

// still is what the shim holds when nothing happens: the same for 20 looks.
func (s *soak) still() (now vitals) {
	s.T.Helper()
	same := 0
	shimtest.Await(s.T, "a shim at rest", func() bool {
		http.DefaultClient.CloseIdleConnections()
		last := now
		now = s.vitals()
		if same++; now.FDs != last.FDs || now.Children != last.Children || now.Goroutines != last.Goroutines {
			same = 0
		}
		return same == 20
	})
	return now
}

// settled waits until the shim holds no more than it did at the start of the
// measuring.
func (s *soak) settled(base vitals) vitals {
	s.T.Helper()
	var now vitals
	shimtest.AwaitWithin(s.T, 10*time.Second, func() string {
		if now.Goroutines > base.Goroutines {
			_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1) // who they are
		}
		return fmt.Sprintf("no more than at the start, %v; now %v", base, now)
	}, func() bool {
		http.DefaultClient.CloseIdleConnections()
		now = s.vitals()
		return now.FDs <= base.FDs && now.Goroutines <= base.Goroutines && now.Children <= base.Children
	})
	return now
}

// cycles warms the shim up and then runs n cycles in an order that a seed
// gives; n = 0 runs each kind once.
func (s *soak) cycles(n int) {
	s.T.Helper()
	warmUp, plan := planned(n)
	for i, c := range warmUp {
		s.run(i, c)
	}
	base := s.still()
	s.T.Logf("after the warm-up: %v", base)
	if s.Shim == nil && base.Children > 0 { // this process may have adopted some in other tests
		s.T.Errorf("%d processes are children of the shim", base.Children)
	}
	var memory []int
	began := time.Now()
	for i, c := range plan {
		s.run(len(warmUp)+i, c)
		now := s.vitals()
		memory = append(memory, now.RSS)
		if i%50 == 49 {
			s.T.Logf("cycle %d: %v", i+1, now)
			s.kept()
		}
	}
	s.T.Logf("%d cycles, %.1f a second", len(plan), float64(len(plan))/time.Since(began).Seconds())
	s.T.Logf("at the end: %v", s.settled(base))
	s.kept()
	s.Stage.Clean()
	s.lockFree()
	s.flat(memory)
}

// planned are the cycles to run before the measuring and in it.
func planned(n int) (warmUp, plan []cycle) {
	slow := slices.IndexFunc(cycles, func(c cycle) bool { return c.slow })
	if n == 0 {
		return cycles[:2], cycles[2:slow]
	}
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	for i := range n {
		c := cycles[rng.IntN(slow)]
		if i%100 == 99 {
			c = cycles[slow]
		}
		plan = append(plan, c)
	}
	return cycles[:slow], plan
}

// mostGrowth is how much the memory of a shim may differ between two windows
// without being a leak: the Go runtime gives memory back late. A buffer of
// 4 KiB that leaked in each of 1,000 cycles is more.
const mostGrowth = 2 << 20 // bytes

// flat compares the memory of two windows. The early one begins when the
// ledger is full: until then there is more to list with every run.
func (s *soak) flat(memory []int) {
	s.T.Helper()
	if len(memory) < 2*state.MaxRuns || raced {
		return // the ledger still grows
	}
	early, late := median(memory[state.MaxRuns:state.MaxRuns+100]), median(memory[len(memory)-100:])
	s.T.Logf("memory: median of 100 cycles %.1f MiB early, %.1f MiB late", mib(early), mib(late))
	if late > early+mostGrowth {
		s.T.Errorf("the memory grew by %.1f MiB", mib(late-early))
	}
}

func median(list []int) int {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// kept wants no more runs on record than the shim promises to keep, on disk
// and in the repository.
func (s *soak) kept() {
	s.T.Helper()
	const most = state.MaxRuns + 20 // it does not prune after every run
	for what, pattern := range map[string]string{"records": "runs/*.json", "journals": "journals/*"} {
		found, err := filepath.Glob(s.path("state/slidewrite/repos/*/" + pattern))
		if err != nil {
			s.T.Fatal(err)
		}
		if len(found) > most {
			s.T.Errorf("%d %s are kept, want %d at most", len(found), what, most)
		}
	}
	if refs := strings.Fields(s.Git("for-each-ref", "--format=%(refname)", "refs/slidewrite")); len(refs) > 200 {
		s.T.Errorf("%d refs are kept, want 200 at most", len(refs))
	}
}

// A shim in a process of its own, for its memory, descriptors and children.
func TestSoakChild(t *testing.T) {
	t.Parallel()
	s := newSoak(t)
	s.PlayChild(s.fixture, shim.Config{ClaudeBin: s.bin, Timing: quick})
	s.vitals = func() vitals { return vitalsOf(s.T, s.PID()) }
	s.cycles(soaking(t))
}

// The same within this process, for the goroutines. It is not parallel: those
// of other tests would be counted.
func TestSoakInProcess(t *testing.T) {
	s := newSoak(t)
	s.Play(s.fixture, shim.Config{ClaudeBin: s.bin, Timing: quick})
	s.vitals = func() vitals {
		v := vitalsOf(s.T, os.Getpid())
		v.Goroutines = runtime.NumGoroutine()
		return v
	}
	s.cycles(soaking(t))
}

// lockFree wants the repository free for whoever comes next.
func (s *soak) lockFree() {
	s.T.Helper()
	store, err := state.Open(s.path("state/slidewrite"), s.Repo)
	if err != nil {
		s.T.Fatal(err)
	}
	lock, err := store.Lock(s.Repo, state.Holder{RunID: state.NewRunID(), StartedAt: time.Now()})
	if err != nil {
		s.T.Fatal(err)
	}
	lock.Release()
}
