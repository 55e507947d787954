package shim_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// families are commands that start processes of every kind in the background.
// Each process writes its id to a file in $P; the last one written is named.
// None lives longer than two minutes, whatever fails.
var families = []family{
	{"an ordinary child", `sh -c 'echo $$ >$P/a; sleep 120 & echo $! >$P/b; wait' &`, "b"},
	{"a nohup child", `nohup sh -c 'echo $$ >$P/a; exec sleep 120' &`, "a"},
	{"a setsid child", `setsid sh -c 'echo $$ >$P/a; sleep 120 & echo $! >$P/b; wait' &`, "b"},
	{"a double-forked daemon", `setsid sh -c 'setsid sh -c "echo \$\$ >$P/a; exec sleep 120" &' &`, "a"},
	{"a daemon without environment", `setsid sh -c 'env -i P=$P /bin/sh -c "echo \$\$ >\$P/a; exec sleep 120" &' &`, "a"},
	{"a child that forks on and on", `cat >$P/fork <<'EOF'
#!/bin/sh
echo $$ >>$P/a
[ $(wc -l <$P/a) -lt 40 ] || : >>$P/many
sleep 0.02
[ $(wc -l <$P/a) -gt 1500 ] || setsid $P/fork &
EOF
chmod +x $P/fork; setsid $P/fork &`, "many"},
	{"a deaf child", `setsid sh -c 'trap "" TERM INT HUP; echo $$ >$P/a; sleep 120; sleep 1' &`, "a"},
	{"a child on hold", `setsid sh -c 'echo $$ >$P/a; sleep 120 & echo $! >$P/b; kill -STOP $! $$' &`, "b"},
	{"a zombie", `setsid sh -c 'sh -c "echo \$\$ >$P/z" & echo $$ >$P/a; exec sleep 120' &`, "z"},
}

// family is a command and the file that its last process writes.
type family struct{ name, script, last string }

// leaving makes a variant of a fixture whose agent runs commands when it has
// edited its file; running waits until all their processes are there.
func leaving(s *shimtest.Stage, fixture string, commands ...family) (variant string, running func()) {
	s.T.Helper()
	var script strings.Builder
	var last []string
	for i, f := range commands {
		dir := filepath.Join(s.Root, "pids", strconv.Itoa(i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			s.T.Fatal(err)
		}
		last = append(last, filepath.Join(dir, f.last))
		fmt.Fprintf(&script, "export P='%s'; { %s\n} >/dev/null 2>&1 </dev/null; until [ -e $P/%s ]; do sleep 0.01; done\n", dir, f.script, f.last)
	}
	variant = s.Variant(fixture, func(f *fakeagents.Fixture) {
		f.Effects = append(f.Effects, fakeagents.Effect{After: editedAt[f.Agent()], Run: []string{"sh", "-c", script.String()}})
	})
	return variant, func() {
		s.T.Helper()
		shimtest.Await(s.T, "the commands run", func() bool {
			_, err := os.Stat(last[len(last)-1])
			return err == nil
		})
	}
}

// gone wants nothing left of the processes that the commands of a run started,
// dead or alive.
func gone(s *shimtest.Stage, commands ...family) {
	s.T.Helper()
	for i, f := range commands {
		files, err := filepath.Glob(filepath.Join(s.Root, "pids", strconv.Itoa(i), "[abz]"))
		if err != nil || len(files) == 0 {
			s.T.Fatalf("no process of %s has said who it is (%v)", f.name, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				s.T.Fatal(err)
			}
			for _, word := range strings.Fields(string(text)) {
				pid, err := strconv.Atoi(word)
				if err != nil {
					s.T.Fatal(err)
				}
				if exists(pid) {
					s.T.Errorf("%s: process %d outlived the run", f.name, pid)
				}
			}
		}
	}
}

// exists is whether a process is there, dead or alive.
func exists(pid int) bool { return syscall.Kill(pid, 0) == nil }

// A stop in the middle of a command ends all that the command started: within
// 5 s, nothing is committed, the next run starts, the undo restores. The shim is
// a process of its own: where several runs share one, orphans without an
// environment are nobody's.
func TestStopEndsWhatTheCommandStarted(t *testing.T) {
	type row struct {
		d driver
		f family
	}
	var rows []row
	for _, f := range families {
		rows = append(rows, row{anthropic, f})
	}
	for _, d := range drivers[1:] { // how a family is ended does not depend on the agent; when it is, may
		for _, name := range []string{"a setsid child", "a double-forked daemon"} {
			i := slices.IndexFunc(families, func(f family) bool { return f.name == name })
			rows = append(rows, row{d, families[i]})
		}
	}
	for _, r := range rows {
		d, f := r.d, r.f
		if !sampled(d.name + " " + f.name) {
			continue
		}
		t.Run(d.name+" "+f.name, func(t *testing.T) {
			s := setup(t, d.fixtures+"edit", nil)
			head := s.Git("rev-parse", "HEAD")
			fixture, running := leaving(s, d.fixtures+"edit", f) // the file is edited by then
			s.PlayChild(fixture, shim.Config{Timing: quick}, fmt.Sprintf("hang=%d", editedAt[d.name]+1))
			asked := time.Now()
			stream := s.Open("POST", "/design", askFor(fixture))
			running()
			id := newest(s).ID
			busy := time.Since(asked) // as long as this machine takes for anything at the moment
			stop(s)
			begin := time.Now()
			events := stream.Rest()
			if took := time.Since(begin); took > swept+busy {
				t.Errorf("done came %v after the stop", took)
			}
			if got := strings.TrimPrefix(words(events), "result, "); got != "stopped user, change, done" {
				t.Errorf("the run went %q%s", got, shimtest.Words(events))
			}
			gone(s, f)
			if s.Git("rev-parse", "HEAD") != head {
				t.Error("a stopped run was committed")
			}
			undo(s, id)
			if got := s.Read("a.txt"); got != "hello\nsecond line\n" {
				t.Errorf("a.txt is %q after the undo", got)
			}
			s.Clean()
		})
	}
}

// What a run that ended by itself left behind is ended as well.
func TestEndEndsWhatTheCommandsLeft(t *testing.T) {
	s := setup(t, edit, nil)
	fixture, _ := leaving(s, edit, families...)
	s.PlayChild(fixture, shim.Config{Timing: quick})
	wantWords(t, s.Design(ask()), "result, change, commit, done")
	gone(s, families...)
	s.Clean()
}

// Whoever holds the agent's output open after its end does not hold up done.
func TestGrandchildThatHoldsTheOutput(t *testing.T) {
	for _, kind := range []string{"stdout", "stderr", "noise"} {
		t.Run(kind, func(t *testing.T) {
			s := setup(t, text, nil)
			knob, pid := grandchild(s, kind)
			s.Play(text, shim.Config{Timing: quick}, knob)
			asked := time.Now()
			stream := s.Open("POST", "/design", ask())
			shimtest.Until[event.Start](stream)
			busy := time.Since(asked)
			agent := s.Turns()[0].PID
			shimtest.Await(t, "the agent has ended", func() bool { return !shimtest.Lives(agent) })
			ended := time.Now()
			wantWords(t, stream.Rest(), "result, done")
			if took := time.Since(ended); took > 2*time.Second+busy {
				t.Errorf("done came %v after the agent's end", took)
			}
			if exists(pid()) {
				t.Error("the process outlived the run")
			}
			s.Clean()
		})
	}
}

// A server that the user asked for goes on with those it works with; nothing
// that slidewrite does later ends it, nor is a server of somebody else touched.
func TestServerOfARunStaysTheUsers(t *testing.T) {
	s := setup(t, edit, nil)
	foreign, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	knob, pid := grandchild(s, "listener")
	s.PlayChild(edit, shim.Config{Timing: quick}, knob)
	events := s.Design(ask())
	server := pid()
	t.Cleanup(func() { _ = syscall.Kill(server, syscall.SIGKILL) })
	n := note(t, events, "left_running")
	address := serverAddress(s)
	if !strings.Contains(n.Message, "tcp "+address) || !strings.Contains(n.Message, fmt.Sprintf("pid %d", server)) {
		t.Errorf("the note %q does not name pid %d and %s", n.Message, server, address)
	}
	reachable := func(when string) {
		t.Helper()
		for _, addr := range []string{address, foreign.Addr().String()} {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			_ = c.Close()
		}
	}
	reachable("after its run")
	first := newest(s).ID
	undo(s, first)
	s.Stop()
	reachable("after its shim")

	// Another shim, which has runs of its own, one of them stopped.
	s.Play(edit, shim.Config{Timing: quick})
	wantWords(t, s.Design(ask()), "result, change, commit, done")
	undo(s, newest(s).ID)
	reachable("after another shim's start and run")
	s.Stop()
	s.PlayChild(edit, shim.Config{Timing: quick}, "hang=48", stubborn)
	stream := s.Open("POST", "/design", ask("detach", true))
	for shimtest.Until[event.ToolResult](stream).Tool != "Edit" {
	}
	s.Kill()
	stream.Leave()

	// One that comes after a crash of that, and finds nothing of the first run
	// in the ledger any more.
	for _, r := range []string{"runs", "journals"} {
		found, err := filepath.Glob(filepath.Join(s.StateHome(), "slidewrite", "repos", "*", r, first+"*"))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s of the first run: %q, %v", r, found, err)
		}
		if err := os.Remove(found[0]); err != nil {
			t.Fatal(err)
		}
	}
	s.Play(edit, shim.Config{Timing: quick})
	if r := newest(s); r.State != "interrupted" {
		t.Errorf("listed as %+v", r)
	}
	reachable("after a crash")
	for _, p := range s.Marked() {
		if p.PID != server {
			t.Errorf("left of the crash: %v", p)
		}
	}
}

// serverAddress is where the grandchild of this stage listens.
func serverAddress(s *shimtest.Stage) string {
	s.T.Helper()
	b, err := os.ReadFile(filepath.Join(s.Root, "grandchild"))
	if err != nil {
		s.T.Fatal(err)
	}
	_, address, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(address)
}

// A stop while the run waits for what its agent left is a stop: nothing waits
// any longer, nothing is spared, nothing is committed.
func TestStopWhileStraysAreWaitedFor(t *testing.T) {
	for _, kind := range []string{"noise", "listener"} {
		t.Run(kind, func(t *testing.T) {
			s := setup(t, edit, nil)
			knob, pid := grandchild(s, kind)
			stray := family{"a stray", `setsid sh -c 'echo $$ >$P/a; exec sleep 120' &`, "a"}
			fixture, _ := leaving(s, edit, stray)
			timing := quick
			timing.Stray = time.Minute
			s.Play(fixture, shim.Config{Timing: timing}, knob)
			stream := s.Open("POST", "/design", ask())
			shimtest.Until[event.Result](stream)
			agent := s.Turns()[0].PID
			shimtest.Await(t, "the agent has ended", func() bool { return !exists(agent) })
			stop(s)
			begin := time.Now()
			events := stream.Rest()
			wantWords(t, events, "result, stopped user, change, done")
			if took := time.Since(begin); took > 20*time.Second { // of the minute
				t.Errorf("done came %v after the stop", took)
			}
			gone(s, stray)
			if exists(pid()) {
				t.Errorf("process %d outlived the stop", pid())
			}
			s.Clean()
		})
	}
}

// A stop while the first snapshot is being taken does not wait for it.
func TestStopDuringTheSnapshot(t *testing.T) {
	for _, eager := range []bool{false, true} {
		t.Run(fmt.Sprintf("snapshot first %v", eager), func(t *testing.T) {
			files := map[string]string{"big.slow": "one\n", ".gitattributes": "*.slow filter=slow\n"}
			if eager {
				files[".claude/settings.json"] = `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"true"}]}]}}`
			}
			s := setup(t, edit, files)
			gate := s.Gate("filter")
			s.Git("config", "filter.slow.clean", "sh -c \""+strings.ReplaceAll(gate.Script(), "$", `\$`)+"; cat\"")
			s.Write("big.slow", "two\n")
			s.Play(edit, shim.Config{Timing: quick})
			stream := s.Open("POST", "/design", ask())
			gate.Reached()
			id := newest(s).ID
			stop(s)
			begin := time.Now()
			events := stream.Rest()
			wantWords(t, events, "stopped user, done")
			if took := time.Since(begin); took > 20*time.Second { // the gate would hold it for half a minute
				t.Errorf("done came %v after the stop", took)
			}
			if r := newest(s); r.State != "stopped" || len(s.Prompts()) > 0 {
				t.Errorf("listed as %+v, prompts %q", r, s.Prompts())
			}
			for _, p := range processes() {
				if cmd, _ := os.ReadFile(filepath.Join(p, "cmdline")); strings.Contains(string(cmd), s.Root+"/filter.there") {
					t.Errorf("the filter is still there: %q", cmd)
				}
			}
			if refs := s.Git("for-each-ref", "refs/slidewrite"); refs != "" {
				t.Errorf("refs left behind: %s", refs)
			}
			s.Clean()
			refused(s, "POST", "/runs/"+id+"/undo", nil, 409, "conflict")
			gate.Open()
			wantWords(t, s.Design(ask()), "result, change, commit, done")
		})
	}
}

// Many stops at once, from several clients, are one.
func TestManyStopsAreOne(t *testing.T) {
	s := setup(t, edit, nil)
	s.Play(edit, shim.Config{Timing: quick, RunTimeout: time.Minute}, "hang=48")
	stream := s.Open("POST", "/design", ask())
	for shimtest.Until[event.ToolResult](stream).Tool != "Edit" {
	}
	id := newest(s).ID
	second := s.Open("GET", "/runs/"+id+"/events", nil)
	refused(s, "POST", "/runs/01234567-none/stop", nil, 404, "not_found")
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			res, err := http.DefaultClient.Do(s.Request(t.Context(), "POST", "/runs/"+id+"/stop", nil))
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			if res.StatusCode != http.StatusOK {
				t.Errorf("stop: %s", res.Status)
			}
		})
	}
	for _, client := range []*shimtest.Stream{stream, second} {
		if got := strings.TrimPrefix(words(client.Rest()), "result, "); got != "stopped user, change, done" {
			t.Errorf("a client saw %q", got)
		}
	}
	all.Wait()
	s.Clean()
}
