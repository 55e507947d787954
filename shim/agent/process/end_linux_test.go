package process

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// families are scripts that leave processes of every kind behind; each writes
// its pid to the named files, and "up" tells that the agent goes on.
var families = []struct {
	name   string
	script string
	pids   []string
}{
	{"a command with children", `sh -c 'echo $$ >a; sleep 1000 & echo $! >b; wait' &`, []string{"a", "b"}},
	{"a nohup child", `nohup sh -c 'echo $$ >a; exec sleep 1000' >/dev/null 2>&1 &`, []string{"a"}},
	{"a command in its own session", `setsid sh -c 'echo $$ >a; sleep 1000 & echo $! >b; wait' &`, []string{"a", "b"}},
	{"a double-forked daemon", `setsid sh -c 'sh -c "echo \$\$ >a; exec sleep 1000" &' ; `, []string{"a"}},
	{"a daemon without environment", `setsid sh -c 'env -i /bin/sh -c "echo \$\$ >a; exec sleep 1000" &' ; `, []string{"a"}},
	{"a daemon with a PATH and nothing else", `setsid sh -c 'env -i PATH=/usr/bin:/bin /bin/sh -c "echo \$\$ >a; exec sleep 1000" &' ; `, []string{"a"}},
	{"a daemon that lost a part of its environment", `setsid sh -c 'env -i PATH="$PATH" HOME="$HOME" /bin/sh -c "echo \$\$ >a; exec sleep 1000" &' ; `, []string{"a"}},
	{"a child without environment", `env -i /bin/sh -c 'echo $$ >a; sleep 1000 & echo $! >b; wait' &`, []string{"a", "b"}},
	{"a deaf child", `PROCESS_TEST_ROLE=deaf "$TEST" "$DIR/a" &`, []string{"a"}},
	{"a TCP server", `PROCESS_TEST_ROLE=listen "$TEST" tcp 127.0.0.1:0 "$DIR/a" &`, []string{"a"}},
	{"a Unix socket server", `PROCESS_TEST_ROLE=listen "$TEST" unix "$DIR/s" "$DIR/a" &`, []string{"a"}},
}

// Spec 40: "SIGKILL to all; swept by 5 s".
func TestStopEndsTheWholeFamily(t *testing.T) {
	for _, c := range families {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, sh(t, `trap "" INT TERM; `+c.script+` while :; do read line || sleep 0.05; done`))
			var pids []int
			for _, name := range c.pids {
				pids = append(pids, awaitPID(t, f, name))
			}
			swept := f.End(background(), quick, opening(Signal), nil)
			for _, pid := range append(pids, f.PID()) {
				if exists(pid) {
					t.Errorf("process %d outlived the stop", pid)
				}
			}
			if len(swept.Left) > 0 {
				t.Errorf("left after a stop: %v", swept.Left)
			}
			if exit := f.Wait(); exit.Signal != "SIGKILL" || exit.Code != -1 || !exit.Stopped {
				t.Errorf("exit = %+v, want SIGKILL, -1, stopped", exit)
			}
		})
	}
}

// Spec 40: "The same sweep runs after a normal end: what a run left behind is
// ended … except a process that listens".
func TestSweepAfterANormalEnd(t *testing.T) {
	for _, c := range families {
		t.Run(c.name, func(t *testing.T) {
			files := strings.Join(c.pids, " ")
			f := start(t, sh(t, c.script+` for p in `+files+`; do until [ -s $p ]; do sleep 0.01; done; done; exit 3`))
			if exit := f.Wait(); exit.Code != 3 || exit.Stopped {
				t.Errorf("exit = %+v, want 3, not stopped", exit)
			}
			swept := f.Sweep(background(), 10*time.Millisecond)
			listens := strings.Contains(c.name, "server")
			for _, name := range c.pids {
				pid := awaitPID(t, f, name)
				if exists(pid) != listens {
					t.Errorf("process %d exists: %v, want %v", pid, !listens, listens)
				}
				ended := slices.ContainsFunc(swept.Ended, func(p Proc) bool { return p.PID == pid })
				if ended == listens {
					t.Errorf("process %d is among the ended: %v, want %v", pid, ended, !listens)
				}
			}
			if listens && (len(swept.Left) != 1 || len(swept.Left[0].Listens) != 1 || len(swept.Ended) != 0) {
				t.Errorf("swept = %+v, want one listener left", swept)
			}
		})
	}
}

func TestListenersAreReportedWithTheirAddress(t *testing.T) {
	f := start(t, sh(t, `PROCESS_TEST_ROLE=listen "$TEST" tcp 127.0.0.1:0 "$DIR/a" &
		PROCESS_TEST_ROLE=listen "$TEST" tcp6 [::1]:0 "$DIR/b" &
		PROCESS_TEST_ROLE=listen "$TEST" unix "$DIR/sock" "$DIR/c" &
		until [ -s a ] && [ -s b ] && [ -s c ]; do sleep 0.01; done`))
	f.Wait()
	swept := f.Sweep(background(), 0)
	got := map[int]string{}
	for _, p := range swept.Left {
		got[p.PID] = strings.Join(p.Listens, " ")
	}
	for name, want := range map[string]string{"a": "tcp 127.0.0.1:", "b": "tcp [::1]:", "c": "unix " + f.o.Dir + "/sock"} {
		if pid := awaitPID(t, f, name); !strings.HasPrefix(got[pid], want) {
			t.Errorf("process %s listens on %q, want %q…", name, got[pid], want)
		}
	}
}

// A dev server is seldom one process: npm → sh → vite, with esbuild beside it.
func TestAListenersHelpersAreLeftWithIt(t *testing.T) {
	f := start(t, sh(t, `setsid sh -c 'echo $$ >top; sleep 1000 & echo $! >helper; PROCESS_TEST_ROLE=listen "$TEST" unix "$DIR/s" "$DIR/server"; :' &
		sleep 1000 & echo $! >stray
		until [ -s server ] && [ -s helper ]; do sleep 0.01; done`))
	f.Wait()
	swept := f.Sweep(background(), 0)
	for _, name := range []string{"top", "helper", "server"} {
		if !exists(awaitPID(t, f, name)) {
			t.Errorf("%s was ended", name)
		}
	}
	stray := awaitPID(t, f, "stray")
	if exists(stray) || len(swept.Ended) != 1 || swept.Ended[0].PID != stray {
		t.Errorf("ended %v, want only %d", swept.Ended, stray)
	}
}

func TestGraceLetsStraysEndByThemselves(t *testing.T) {
	f := start(t, sh(t, `mkfifo gate; sh -c 'read line <gate' & echo $! >a`))
	stray := awaitPID(t, f, "a")
	f.Wait()
	done := make(chan Swept)
	go func() { done <- f.Sweep(background(), time.Hour) }()
	if err := os.WriteFile(filepath.Join(f.o.Dir, "gate"), []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	if swept := <-done; len(swept.Ended) != 0 || exists(stray) {
		t.Errorf("ended %v although it ended by itself", swept.Ended)
	}
}

// A user who stops while strays are being waited for does not wait.
func TestStopDuringGrace(t *testing.T) {
	f := start(t, sh(t, `PROCESS_TEST_ROLE=listen "$TEST" unix "$DIR/s" "$DIR/a" & sleep 1000 & until [ -s a ]; do sleep 0.01; done`))
	server := awaitPID(t, f, "a")
	f.Wait()
	done := make(chan Swept)
	go func() { done <- f.Sweep(background(), time.Hour) }()
	f.End(background(), quick, opening(Signal), nil)
	if swept := <-done; exists(server) || len(swept.Left) > 0 {
		t.Errorf("the server outlived the stop: %+v", swept)
	}
}

// Spec 40: "Sweep only what carries the marker or descends from the agent's
// pid".
func TestStrangersAreLeftAlone(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	// As gpg-agent after our own git: adopted, in its own session, unmarked.
	orphan := exec.Command("/bin/sh", "-c", `setsid sh -c 'sh -c "echo \$\$ >orphan; exec sleep 1000" &'`)
	orphan.Dir = dir
	other := exec.Command("/bin/sleep", "1000")
	other.Env = []string{"PATH=/bin", MarkerVar + "=test.another-run"}
	prepareOnce()
	f := start(t, sh(t, `sleep 1000 & echo $! >a`))
	if err := orphan.Run(); err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	stranger := awaitPID(t, &Family{o: Options{Dir: dir}}, "orphan")
	mine := awaitPID(t, f, "a")
	f.End(background(), quick, opening(Signal), nil)
	if exists(mine) {
		t.Error("the run's own process is left")
	}
	if !exists(stranger) || !exists(other.Process.Pid) {
		t.Errorf("strangers were ended: orphan %v, other run %v", !exists(stranger), !exists(other.Process.Pid))
	}
	syscall.Kill(stranger, syscall.SIGKILL)
	other.Process.Kill()
	if err := other.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the exit status of a child of os/exec was lost: %v", err)
	}
	await(t, "the stranger is reaped", func() bool { f.remember(); return !exists(stranger) })
}

// An orphan that dies during a run must not stay a zombie of the shim.
func TestAdoptedZombiesAreReaped(t *testing.T) {
	for name, script := range map[string]string{
		"orphan":         `setsid sh -c 'sh -c "echo \$\$ >a" &' ; read line`,
		"session leader": `sh -c 'setsid sh -c "echo \$\$ >a" &' ; read line`,
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, sh(t, script))
			pid := awaitPID(t, f, "a")
			await(t, "it is a zombie or reaped", func() bool { e, ok := lookup(pid); return !ok || e.zombie })
			f.CloseStdin()
			f.Wait()
			f.Sweep(background(), 10*time.Second)
			if exists(pid) {
				t.Error("the zombie is still there after the sweep")
			}
		})
	}
}

func TestLadder(t *testing.T) {
	long := Ladder{CloseStdin: time.Hour, Interrupt: 2 * time.Hour, Kill: 3 * time.Hour, Swept: 4 * time.Hour}
	with := func(change func(*Ladder)) Ladder { l := long; change(&l); return l }
	reported := make(chan struct{})
	close(reported)
	// The agent says what ends it through its exit code.
	const script = `trap 'exit 10' INT; echo up; while read line; do [ "$line" = interrupt ] && exit 11; done; exit 12`
	for _, c := range []struct {
		name   string
		script string
		ladder Ladder
		open   func(f *Family) Opening
		result <-chan struct{}
		code   int
	}{
		{"the agent's own interrupt", script, long, func(f *Family) Opening { f.WriteLine([]byte("interrupt\n")); return Asked }, nil, 11},
		{"no prompt sent yet: stdin is closed at once", script, long, func(*Family) Opening { return CloseStdin }, nil, 12},
		{"no such request: SIGINT at once", script, long, func(f *Family) Opening { return Signal }, nil, 10},
		{"stdin is closed at the result", script, long, func(*Family) Opening { return Asked }, reported, 12},
		{"stdin is closed in time", script, with(func(l *Ladder) { l.CloseStdin = 0 }), func(*Family) Opening { return Asked }, nil, 12},
		{"SIGINT in time", `trap 'exit 10' INT; echo up; while :; do sleep 0.01; done`,
			with(func(l *Ladder) { l.CloseStdin, l.Interrupt = 0, 0 }), func(*Family) Opening { return Asked }, nil, 10},
		{"SIGKILL in time", `trap '' INT TERM; echo up; while :; do sleep 0.01; done`,
			with(func(l *Ladder) { l.CloseStdin, l.Interrupt, l.Kill = 0, 0, 0 }), func(*Family) Opening { return Asked }, nil, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, sh(t, c.script))
			if line, err := f.ReadLine(); err != nil || string(line.Bytes) != "up" {
				t.Fatalf("ReadLine = %q, %v", line.Bytes, err)
			}
			f.End(background(), c.ladder, func() Opening { return c.open(f) }, c.result)
			if exit := f.Wait(); exit.Code != c.code || !exit.Stopped {
				t.Errorf("exit = %+v, want code %d, stopped", exit, c.code)
			}
		})
	}
}

func TestCancelledStopKillsAtOnce(t *testing.T) {
	f := start(t, sh(t, `trap '' INT; echo up; while :; do sleep 0.01; done`))
	f.ReadLine()
	ctx, cancel := context.WithCancel(background())
	cancel()
	f.End(ctx, Ladder{time.Hour, time.Hour, time.Hour, 2 * time.Hour}, opening(Asked), nil)
	if exit := f.Wait(); exit.Signal != "SIGKILL" {
		t.Errorf("exit = %+v, want SIGKILL", exit)
	}
}

// A stop that races a natural exit neither hangs nor signals a stranger.
func TestStopRacesANaturalExit(t *testing.T) {
	noLeaks(t)
	for range 50 {
		f, err := Start(sh(t, `read line; exit 5`))
		if err != nil {
			t.Fatal(err)
		}
		go f.CloseStdin()
		f.End(background(), quick, opening(Asked), nil)
		if exit := f.Wait(); exit.Code != 5 {
			t.Errorf("exit = %+v, want 5", exit)
		}
		f.Close()
	}
}

func TestStopAfterTheEndChangesNothing(t *testing.T) {
	f := start(t, sh(t, `exit 0`))
	if exit := f.Wait(); exit.Stopped {
		t.Error("stopped before anybody asked")
	}
	f.Sweep(background(), Grace)
	f.End(background(), DefaultLadder, func() Opening { t.Error("an agent that is gone was asked"); return Asked }, nil)
	if exit := f.Wait(); exit.Stopped || exit.Code != 0 {
		t.Errorf("exit = %+v, want 0, not stopped", exit)
	}
}

// Spec 40: "on start the shim ends processes carrying its state dir's marker
// whose run is not held by a live shim".
func TestSweepOrphans(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	prepareOnce()
	for _, marker := range []string{"h1.dead", "h1.held", "h2.dead", "h11.dead"} {
		cmd := exec.Command("/bin/sh", "-c", `setsid sh -c 'sh -c "echo \$\$ >`+marker+`; sleep 1000" &'`)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), MarkerVar+"="+marker)
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
	}
	pid := func(marker string) int { return awaitPID(t, &Family{o: Options{Dir: dir}}, marker) }
	dead, held, other, longer := pid("h1.dead"), pid("h1.held"), pid("h2.dead"), pid("h11.dead")
	ended := SweepOrphans("h1", func(id string) bool { return id == "dead" })
	if exists(dead) || !exists(held) || !exists(other) || !exists(longer) {
		t.Errorf("alive: dead %v, held %v, other %v, longer %v", exists(dead), exists(held), exists(other), exists(longer))
	}
	if len(ended) == 0 || !slices.ContainsFunc(ended, func(p Proc) bool { return p.PID == dead }) {
		t.Errorf("reported %v, want %d", ended, dead)
	}
	for _, marker := range []string{"h1.held", "h2.dead", "h11.dead"} {
		EndMarked(marker)
	}
}

// What a discovery asks beside each other has markers that begin alike.
func TestEndMarkedEndsTheParts(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	markers := []string{"d.1", "d.1.auth", "d.10", "d.10.auth"}
	for _, marker := range markers {
		o := sh(t, `sleep 1000 & echo $! >"$SLIDEWRITE_RUN"; wait`)
		o.Dir, o.Marker = dir, marker
		f, err := Start(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			f.Kill()
			f.Sweep(background(), 0)
			f.Close()
		})
	}
	pid := map[string]int{}
	for _, marker := range markers {
		pid[marker] = awaitPID(t, &Family{o: Options{Dir: dir}}, marker)
	}
	EndMarked("d.1")
	for marker, want := range map[string]bool{"d.1": false, "d.1.auth": false, "d.10": true, "d.10.auth": true} {
		if exists(pid[marker]) != want {
			t.Errorf("%s: alive %v, want %v", marker, !want, want)
		}
	}
}

// A shim that runs inside a run of another one carries that run's marker.
func TestSweepOrphansSparesItself(t *testing.T) {
	for _, pid := range []int{os.Getpid(), os.Getppid()} {
		if !ancestors(processes())[pid] {
			t.Errorf("%d is not exempt", pid)
		}
	}
	env := withMarker([]string{"A=1", MarkerVar + "=outer.run"}, "inner.run")
	if want := []string{"A=1", MarkerVar + "=inner.run"}; !slices.Equal(env, want) {
		t.Errorf("environment = %v, want %v", env, want)
	}
}
