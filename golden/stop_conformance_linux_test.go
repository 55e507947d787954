package golden

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/fakeagents/fixtures"
	"github.com/slidewrite/slidewrite/fakeagents/scriptmodel"
	"github.com/slidewrite/slidewrite/shim/agent/process"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// busy is what a busy machine may add to a time.
const busy = 2 * time.Second

// TestConformanceStop holds the real CLI to the promise that nothing a run
// started outlives it, however the run ends.
func TestConformanceStop(t *testing.T) {
	for _, cli := range realCLIs(t) {
		for _, row := range []struct {
			name string
			do   func(*trial)
			not  string // agent that cannot do it
		}{
			{"command", stopCommand, ""},
			{"scrubbed daemon", stopScrubbed, ""},
			{"frozen CLI", stopFrozen, ""},
			{"just started", stopStarting, ""},
			{"frozen before its first line", stopFrozenStart, ""},
			{"start hook", stopStartHook, scriptmodel.Codex}, // no project settings
			{"no answer", stopUnanswered, ""},
			{"text", stopText, ""},
			{"after the result", stopAfterResult, scriptmodel.Codex}, // as above
			{"leftovers", leftovers, ""},
			{"held stdout", heldStdout, ""},
			{"held stdout by a server", heldStdoutByServer, ""},
			{"ctrl-c", stopServe, ""},
			{"kill -9", killServe, ""},
			{"client leaves", leave, ""},
		} {
			if row.not != cli.agent {
				t.Run(cli.String()+"/"+row.name, func(t *testing.T) { row.do(newTrial(t, cli)) })
			}
		}
	}
}

// stopCommand stops a run in the middle of a command with children of every
// kind.
func stopCommand(tr *trial) {
	tr.command(tr.family())
	pids := tr.awaitPIDs("child", "nohup", "setsid", "daemon")
	tr.stopped(pids)
}

// A daemon without its environment is known by who adopted it.
func stopScrubbed(tr *trial) {
	// Nothing but the adoption tells whose these are: the shell that started
	// them is gone, and so are their parents.
	tr.real(&scriptmodel.Scenario{Prompt: tr.prompt, Sub: again, Steps: append(tr.edit(),
		tr.bash(strings.Join([]string{
			daemon("env -i " + tr.stay("empty")),
			daemon(`env -i PATH="$PATH" HOME="$HOME" ` + tr.stay("bare")),
			tr.until("empty", "bare"),
		}, "\n")),
		tr.bash(tr.stay("child")))}, tr.realCLI)
	tr.begin()
	pids := tr.awaitPIDs("empty", "bare", "child")
	tr.stopped(pids)
}

// A CLI that reacts to nothing is killed, with what it started.
func stopFrozen(tr *trial) {
	tr.command(tr.family())
	pids := tr.awaitPIDs("child", "nohup", "setsid", "daemon")
	tr.freeze()
	tr.stopped(pids)
}

// stopStarting stops as soon as the CLI's process is there.
func stopStarting(tr *trial) {
	tr.real(&scriptmodel.Scenario{Prompt: tr.prompt, Sub: again, Steps: tr.edit()}, tr.realCLI)
	tr.begin()
	tr.cli()
	tr.stopped(nil)
}

func stopFrozenStart(tr *trial) {
	tr.real(&scriptmodel.Scenario{Prompt: tr.prompt, Sub: again, Steps: tr.edit()}, tr.realCLI)
	tr.begin()
	tr.freeze()
	tr.stopped(nil)
}

// stopStartHook stops while a command of the project's own holds up the
// beginning of the session.
func stopStartHook(tr *trial) {
	tr.hook("SessionStart", daemon(tr.stay("daemon"))+"\n"+tr.stay("hook"))
	tr.real(&scriptmodel.Scenario{Prompt: tr.prompt, Sub: again, Steps: tr.edit()}, tr.realCLI)
	tr.begin()
	pids := tr.awaitPIDs("hook", "daemon")
	tr.unhook()
	tr.stopped(pids)
}

// stopUnanswered stops while the model says nothing at all.
func stopUnanswered(tr *trial) {
	model, err := scriptmodel.Start(&scriptmodel.Scenario{Sub: again}, scriptmodel.Options{})
	if err != nil {
		tr.T.Fatal(err)
	}
	tr.T.Cleanup(func() { model.Close() })
	target, err := url.Parse(model.URL())
	if err != nil {
		tr.T.Fatal(err)
	}
	proxy, asked := httputil.NewSingleHostReverseProxy(target), make(chan struct{}, 100)
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || bytes.Contains(body, []byte(tr.prompt)) {
			asked <- struct{}{}
			<-r.Context().Done()
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	tr.T.Cleanup(silent.Close)
	tr.serve(tr.realCLI, &scriptmodel.Scenario{}, silent.URL)
	tr.begin()
	<-asked
	tr.stopped(nil)
}

// stopText stops in the middle of an answer, of which codex shows nothing
// before its end.
func stopText(tr *trial) {
	slow := "slow "
	model := tr.real(&scriptmodel.Scenario{Prompt: tr.prompt, Sub: again, Steps: []scriptmodel.Step{
		{Blocks: []scriptmodel.Block{{Text: &slow, Count: 4000, Chunk: 10, Delay: "20ms"}}},
	}}, tr.realCLI)
	stream := tr.begin()
	if tr.agent == scriptmodel.Codex {
		shimtest.Await(tr.T, "the model was asked", func() bool { return len(model.Requests()) > 0 })
	} else {
		shimtest.Until[event.Delta](stream)
	}
	tr.stopped(nil)
}

// stopAfterResult stops a CLI that has said its result and is held up in its
// exit by a command of the project's own.
func stopAfterResult(tr *trial) {
	// The hook makes the CLI deaf: by itself it does not wait for it.
	tr.hook("SessionEnd", strings.Join([]string{
		`cli=$PPID`,
		`until [ "$(cat /proc/$cli/comm)" = claude ]; do cli=$(awk '{print $4}' /proc/$cli/stat); done`,
		`kill -STOP $cli`,
		daemon(tr.stay("daemon")),
		tr.stay("hook"),
	}, "\n"))
	tr.real(&scriptmodel.Scenario{Prompt: tr.prompt, Sub: again, Steps: append(tr.edit(), says("Done."))}, tr.realCLI)
	tr.begin() // the result comes with the end of the process
	pids := tr.awaitPIDs("hook", "daemon")
	tr.unhook()
	tr.stopped(pids)
}

// After a normal end strays get two seconds; a server lives on and is named.
func leftovers(tr *trial) {
	apart := "nohup "
	if tr.agent == scriptmodel.Codex { // which ends the process group of each command itself
		apart = "setsid "
	}
	tr.real(&scriptmodel.Scenario{Prompt: tr.prompt, Steps: append(tr.edit(),
		tr.bash(strings.Join([]string{
			tr.stay("child") + " </dev/null >/dev/null 2>&1 &",
			"setsid " + tr.stay("setsid") + " </dev/null >/dev/null 2>&1 &",
			daemon(tr.stay("daemon")),
			apart + tr.server("server") + " >/dev/null 2>&1 &",
			tr.until("child", "setsid", "daemon", "server"),
		}, "\n")),
		says("Done."))}, tr.realCLI)
	stream := tr.begin()
	shimtest.Until[event.Result](stream)
	begin := time.Now()
	strays := tr.awaitPIDs("child", "setsid", "daemon")
	events := stream.Rest()
	took := time.Since(begin)
	tr.T.Logf("result → done: %v", took.Round(time.Millisecond))
	tr.gone(strays)
	if took < process.Grace-500*time.Millisecond || took > process.Grace+busy {
		tr.T.Errorf("done came %v after the result; strays have %v", took, process.Grace)
	}
	tr.lives(events, "server")
	shimtest.One[event.Commit](tr.T, events)
	tr.left()
}

// What holds the CLI's stdout open after its exit holds up nothing.
func heldStdout(tr *trial) {
	took, events := tr.held(tr.stay("holder"))
	tr.gone(tr.awaitPIDs("holder"))
	if took > process.Grace+busy {
		tr.T.Errorf("done came %v after the result", took)
	}
	shimtest.One[event.Commit](tr.T, events)
	tr.left()
}

// A server that holds it is not even waited for.
func heldStdoutByServer(tr *trial) {
	took, events := tr.held(tr.server("holder"))
	if took > busy {
		tr.T.Errorf("done came %v after the result", took)
	}
	tr.lives(events, "holder")
	tr.left()
}

// held lets a run end whose command left a holder of the CLI's stdout behind.
func (tr *trial) held(holder string) (took time.Duration, events []event.Event) {
	gate := tr.Gate("holder")
	tr.real(&scriptmodel.Scenario{Prompt: tr.prompt, Steps: append(tr.edit(),
		tr.bash("setsid "+holder+" </dev/null >/proc/$PPID/fd/1 2>/dev/null &\n"+tr.until("holder")+"\n"+gate.Script()),
		says("Done."))}, tr.realCLI)
	stream := tr.begin()
	gate.Reached()
	pid := tr.awaitPIDs("holder")["holder"]
	stdout := func(pid int) string {
		link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/1", pid))
		if err != nil {
			tr.T.Fatal(err)
		}
		return link
	}
	if has, want := stdout(pid), stdout(tr.cli()); has != want {
		tr.T.Fatalf("the holder's stdout is %s, the CLI's %s", has, want)
	}
	gate.Open()
	shimtest.Until[event.Result](stream)
	begin := time.Now()
	events = stream.Rest()
	took = time.Since(begin)
	tr.T.Logf("result → done: %v", took.Round(time.Millisecond))
	return took, events
}

// stopServe ends the shim in the middle of a command as Ctrl-C does.
func stopServe(tr *trial) {
	tr.command(tr.family())
	pids := tr.awaitPIDs("child", "nohup", "setsid", "daemon")
	everything := tr.all(pids)
	begin := time.Now()
	tr.Stop() // fails unless it exits with 0
	tr.T.Logf("SIGINT → exit: %v", time.Since(begin).Round(time.Millisecond))
	tr.gone(everything)
	if took := time.Since(begin); took > process.DefaultLadder.Swept+busy {
		tr.T.Errorf("it took %v", took)
	}
	events := tr.stream.Rest()
	if by := shimtest.One[event.Stopped](tr.T, events).By; by != "shutdown" {
		tr.T.Errorf("stopped by %q", by)
	}
	tr.uncommitted(events)
	tr.left()
	tr.restart()
	tr.undone("stopped")
}

// killServe ends the shim without a word; the next one puts things in order.
func killServe(tr *trial) {
	tr.command(tr.family())
	pids := tr.awaitPIDs("child", "nohup", "setsid", "daemon")
	everything := tr.all(pids)
	for shimtest.Until[event.Tool](tr.stream).Tool != tr.shell() {
	}
	tr.kill()
	tr.stream.Leave()
	for name, pid := range pids {
		if !shimtest.Lives(pid) {
			tr.T.Fatalf("%s has ended with the shim: there is nothing to put in order", name)
		}
	}
	begin := time.Now()
	tr.restart()
	req := tr.Request(context.Background(), "GET", "/runs/"+tr.id+"/events", nil)
	req.Header.Set("Last-Event-ID", strconv.FormatInt(tr.stream.Last, 10))
	rest := tr.Follow(req)
	events := rest.Rest()
	tr.T.Logf("restart → done: %v", time.Since(begin).Round(time.Millisecond))
	tr.gone(everything)
	if e := shimtest.One[event.Error](tr.T, events); e.Code != event.CodeCrashed {
		tr.T.Errorf("%+v", e)
	}
	if len(shimtest.All[event.Start](events)) > 0 {
		tr.T.Errorf("events that the client had were sent again%s", shimtest.Words(events))
	}
	tr.uncommitted(events)
	tr.left()
	tr.undone("interrupted")
}

// leave goes away as a client does that is closed; the run is stopped after a
// grace of five seconds.
func leave(tr *trial) {
	tr.command(tr.family())
	everything := tr.all(tr.awaitPIDs("child", "nohup", "setsid", "daemon"))
	tr.stream.Leave()
	begin := time.Now()
	const grace = 5 * time.Second
	shimtest.Await(tr.T, "the run stopped", func() bool { return tr.newest().State == "stopped" })
	took := time.Since(begin)
	tr.T.Logf("disconnect → stopped: %v", took.Round(time.Millisecond))
	tr.gone(everything)
	if took < grace-100*time.Millisecond || took > grace+process.DefaultLadder.Swept+busy {
		tr.T.Errorf("the run stopped %v after its client had left", took)
	}
	events := tr.Open("GET", "/runs/"+tr.id+"/events", nil).Rest()
	if by := shimtest.One[event.Stopped](tr.T, events).By; by != "disconnect" {
		tr.T.Errorf("stopped by %q", by)
	}
	tr.uncommitted(events)
	tr.left()
	tr.undone("stopped")
}

// trial is one run of the real CLI that is to end.
type trial struct {
	*stage
	realCLI
	prompt  string
	edits   bool // the agent edits a.txt before anything else
	before  string
	head    string
	work    string // what the user has not committed
	scratch string // folder of the pid files

	id     string
	stream *shimtest.Stream
	runDir string // the run's private folder
}

// again is what the model says to a second request, see trial.undone.
var again = map[string][]scriptmodel.Step{"again": {says("Hello again.")}}

// newTrial lays out a repository in which the user has work of their own, in
// the file that the agent edits, too.
func newTrial(t *testing.T, cli realCLI) *trial {
	f, err := fixtures.Load(cli.agent + "/real/" + cli.version + "/edit")
	if err != nil {
		t.Fatal(err)
	}
	tr := &trial{stage: newStage(t, f), realCLI: cli, prompt: "Change hello to goodbye, then go on."}
	tr.scratch = filepath.Join(tr.Root, "pids")
	if err := os.Mkdir(tr.scratch, 0o700); err != nil {
		t.Fatal(err)
	}
	// What is started as a process that stays: it says who it is first.
	if err := os.WriteFile(tr.stayer(), []byte("#!/bin/sh\necho $$ >\"$1.new\"; mv \"$1.new\" \"$1\"; exec sleep 1000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	tr.Write("a.txt", tr.Read("a.txt")+"mine\n")
	tr.Write("staged.txt", "staged\n")
	tr.Git("add", "staged.txt")
	tr.before, tr.head, tr.work = tr.Read("a.txt"), tr.Git("rev-parse", "HEAD"), tr.status()
	return tr
}

func (tr *trial) stayer() string { return filepath.Join(tr.Root, "stay") }

// stay is the command of a process that writes its pid and stays.
func (tr *trial) stay(name string) string {
	return "'" + tr.stayer() + "' '" + filepath.Join(tr.scratch, name) + "'"
}

// server is the command of a process that listens, writes its pid and stays.
func (tr *trial) server(name string) string {
	tr.T.Helper()
	fake, err := exec.LookPath("claude")
	if err != nil {
		tr.T.Fatal(err)
	}
	return "'" + fake + "' --fakeagent-grandchild listener '" + filepath.Join(tr.scratch, name) + "'"
}

// daemon starts a command as a daemon does: in a session of its own, its
// parent gone.
func daemon(command string) string {
	return "setsid sh -c " + quoted(command+" </dev/null >/dev/null 2>&1 &")
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// until waits for pid files.
func (tr *trial) until(names ...string) string {
	var all []string
	for _, name := range names {
		all = append(all, "[ -e '"+filepath.Join(tr.scratch, name)+"' ]")
	}
	return "until " + strings.Join(all, " && ") + "; do sleep 0.02; done"
}

// family is a command with children of every kind that does not end.
func (tr *trial) family() string {
	return strings.Join([]string{
		tr.stay("child") + " &",
		"nohup " + tr.stay("nohup") + " >/dev/null 2>&1 &",
		"setsid " + tr.stay("setsid") + " &",
		daemon(tr.stay("daemon")),
		"printf 'of the command\\n' >new.txt",
		"wait; sleep 1000",
	}, "\n")
}

// edit is what the agent does first.
func (tr *trial) edit() []scriptmodel.Step {
	tr.edits = true
	return tr.swap("hello", "goodbye")
}

// swap is the calls of the agent's edit tool that put one word of a.txt in
// another's place.
func (tr *trial) swap(old, new string) []scriptmodel.Step {
	if tr.agent == scriptmodel.Codex {
		return []scriptmodel.Step{{Blocks: []scriptmodel.Block{{
			Custom: "apply_patch", Raw: "*** Begin Patch\n*** Update File: a.txt\n@@\n-" + old + "\n+" + new + "\n*** End Patch",
		}}}}
	}
	return []scriptmodel.Step{
		{Blocks: []scriptmodel.Block{{Tool: "Read", Input: map[string]any{"file_path": "{{REPO}}/a.txt"}}}},
		{Blocks: []scriptmodel.Block{{Tool: "Edit", Input: map[string]any{
			"file_path": "{{REPO}}/a.txt", "old_string": old, "new_string": new,
		}}}},
	}
}

// bash is the call of the agent's shell tool, which waits for the command.
func (tr *trial) bash(command string) scriptmodel.Step {
	block := scriptmodel.Block{Tool: "Bash", Input: map[string]any{"command": command, "description": "Go on", "timeout": 600000}}
	if tr.agent == scriptmodel.Codex {
		block = scriptmodel.Block{Tool: "exec_command", Input: map[string]any{"cmd": command, "yield_time_ms": 600000}}
	}
	return scriptmodel.Step{Blocks: []scriptmodel.Block{block}}
}

// shell is the name that the shell tool has in events.
func (tr *trial) shell() string {
	if tr.agent == scriptmodel.Codex {
		return "shell"
	}
	return "Bash"
}

func says(text string) scriptmodel.Step {
	return scriptmodel.Step{Blocks: []scriptmodel.Block{{Text: &text}}}
}

// hook makes the project's settings run a command at an event of the session.
func (tr *trial) hook(name, command string) {
	script := filepath.Join(tr.Root, "hook.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"+command+"\n"), 0o755); err != nil {
		tr.T.Fatal(err)
	}
	tr.Write(".claude/settings.json", fmt.Sprintf(`{"hooks":{%q:[{"hooks":[{"type":"command","command":%q,"timeout":600}]}]}}`, name, script))
	tr.Git("add", ".claude")
	tr.Git("commit", "-q", "-m", "hook", "--", ".claude")
	tr.head, tr.work = tr.Git("rev-parse", "HEAD"), tr.status()
}

// unhook makes the hook harmless, for the next session.
func (tr *trial) unhook() {
	if err := os.WriteFile(filepath.Join(tr.Root, "hook.sh"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		tr.T.Fatal(err)
	}
}

// begin starts the run.
func (tr *trial) begin() *shimtest.Stream {
	tr.T.Helper()
	tr.discovered()
	tr.stream = tr.Open("POST", "/design", map[string]any{"provider": providers[tr.agent], "prompt": tr.prompt})
	tr.id = tr.newest().ID
	return tr.stream
}

// command starts a run that edits a file and then runs a command.
func (tr *trial) command(command string) {
	tr.T.Helper()
	tr.real(&scriptmodel.Scenario{Prompt: tr.prompt, Sub: again, Steps: append(tr.edit(), tr.bash(command), says("Done."))}, tr.realCLI)
	tr.begin()
}

// restart starts the shim anew.
func (tr *trial) restart() {
	tr.T.Helper()
	tr.real(&scriptmodel.Scenario{Prompt: tr.prompt, Sub: again, Steps: []scriptmodel.Step{says("Done.")}}, tr.realCLI)
	tr.discovered()
}

// discovered waits until the catalog has asked the CLI for its models: these
// processes are not the run's.
func (tr *trial) discovered() {
	tr.T.Helper()
	shimtest.Await(tr.T, "the CLI has been asked for its models", func() bool {
		var meta struct{ Providers []struct{ Pending bool } }
		if status := tr.JSON("GET", "/meta?only="+providers[tr.agent], nil, &meta); status != 200 || len(meta.Providers) != 1 {
			tr.T.Fatalf("GET /meta: %d %+v", status, meta)
		}
		return !meta.Providers[0].Pending
	})
}

func (tr *trial) newest() run.Summary {
	tr.T.Helper()
	var list struct{ Runs []run.Summary }
	if status := tr.JSON("GET", "/runs", nil, &list); status != 200 || len(list.Runs) == 0 {
		tr.T.Fatalf("GET /runs: %d, %d runs", status, len(list.Runs))
	}
	return list.Runs[0]
}

func (tr *trial) status() string {
	tr.T.Helper()
	return tr.Git("status", "--porcelain", "-uall") + tr.Git("diff", "HEAD") + tr.Git("diff", "--cached")
}

// awaitPIDs waits for processes that stay.
func (tr *trial) awaitPIDs(names ...string) map[string]int {
	tr.T.Helper()
	pids := map[string]int{}
	for _, name := range names {
		shimtest.Await(tr.T, "the process "+name, func() bool {
			b, err := os.ReadFile(filepath.Join(tr.scratch, name))
			if err != nil {
				return false
			}
			first, _, _ := strings.Cut(string(b), "\n")
			pids[name], err = strconv.Atoi(first)
			return err == nil
		})
	}
	return pids
}

// marked lists the processes that carry the run's marker.
func (tr *trial) marked() []shimtest.Proc {
	return slices.DeleteFunc(tr.Marked(), func(p shimtest.Proc) bool { return p.Run != tr.id })
}

// cli waits for the CLI's process and returns its pid.
func (tr *trial) cli() (pid int) {
	tr.T.Helper()
	shimtest.Await(tr.T, "the CLI's process", func() bool {
		for _, p := range tr.marked() {
			if strings.HasPrefix(p.Command, tr.bin+" -p ") || strings.HasPrefix(p.Command, tr.bin+" exec ") {
				pid = p.PID
			}
		}
		return pid != 0
	})
	if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil && tr.agent == scriptmodel.Claude {
		tr.runDir = between(tr.T, string(env), "CLAUDE_CODE_TMPDIR=", "\x00")
	}
	return pid
}

// freeze makes the CLI deaf.
func (tr *trial) freeze() {
	tr.T.Helper()
	if err := syscall.Kill(tr.cli(), syscall.SIGSTOP); err != nil {
		tr.T.Fatal(err)
	}
}

// all adds the CLI and all that carries the run's marker.
func (tr *trial) all(pids map[string]int) map[string]int {
	tr.T.Helper()
	all := map[string]int{"the CLI": tr.cli()}
	maps.Copy(all, pids)
	for _, p := range tr.marked() {
		all[p.Command] = p.PID
	}
	return all
}

// gone wants none of the processes alive now. There is no waiting: the word
// that the run has ended means it.
func (tr *trial) gone(pids map[string]int) {
	tr.T.Helper()
	for name, pid := range pids {
		if shimtest.Lives(pid) {
			tr.T.Errorf("%.60s (pid %d) has outlived the run", name, pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// stopped stops the run and wants nothing of it left.
func (tr *trial) stopped(pids map[string]int) {
	tr.T.Helper()
	pids = tr.all(pids)
	begin := time.Now()
	if status := tr.JSON("POST", "/runs/"+tr.id+"/stop", nil, nil); status != 200 {
		tr.T.Fatalf("stop: %d", status)
	}
	said := shimtest.Until[event.Stopped](tr.stream)
	took := time.Since(begin)
	tr.gone(pids)
	if left := tr.marked(); len(left) > 0 {
		tr.T.Errorf("processes left behind: %v", left)
	}
	events := tr.stream.Rest()
	tr.T.Logf("stop → stopped: %v, done: %v", took.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond))
	if took > process.DefaultLadder.Swept+busy {
		tr.T.Errorf("%v after the stop it was not sure that nothing is left", took)
	}
	if said.By != "user" {
		tr.T.Errorf("stopped by %q", said.By)
	}
	tr.uncommitted(events)
	tr.left()
	tr.undone("stopped")
}

// uncommitted wants the events of a run that was cut short: its change, if
// there is one, and no commit.
func (tr *trial) uncommitted(events []event.Event) {
	tr.T.Helper()
	changes := len(shimtest.All[event.Change](events))
	if edited := tr.Read("a.txt") != tr.before; changes > 1 || edited != (changes == 1) {
		tr.T.Errorf("a.txt was edited: %v; there are %d change events%s", edited, changes, shimtest.Words(events))
	}
	if len(shimtest.All[event.Commit](events))+len(shimtest.All[event.CommitError](events)) > 0 || tr.Git("rev-parse", "HEAD") != tr.head {
		tr.T.Errorf("a run that was cut short was committed%s", shimtest.Words(events))
	}
}

// left wants nothing left on disk, and no child of the shim.
func (tr *trial) left() {
	tr.T.Helper()
	// The catalog may be asking the CLI for its models at the moment.
	shimtest.Await(tr.T, "the shim has no child", func() bool {
		found, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", tr.pid))
		return !slices.ContainsFunc(found, func(path string) bool {
			b, _ := os.ReadFile(path)
			return slices.ContainsFunc(strings.Fields(string(b)), func(pid string) bool {
				n, err := strconv.Atoi(pid)
				return err == nil && shimtest.Lives(n)
			})
		})
	})
	tr.Clean()
	if _, err := os.Stat(tr.runDir); tr.runDir != "" && !os.IsNotExist(err) {
		tr.T.Errorf("the run's folder %s: %v", tr.runDir, err)
	}
	temp := filepath.Join(tr.Root, "tmp")
	// 2.1.197 makes a folder of the user's there and leaves it, empty.
	_ = os.Remove(filepath.Join(temp, fmt.Sprintf("claude-%d", os.Getuid())))
	entries, err := os.ReadDir(temp)
	if err != nil {
		tr.T.Fatal(err)
	}
	if len(entries) > 0 {
		tr.T.Errorf("left in TMPDIR: %v", entries)
	}
}

// undone wants the run listed in a state, the next run to start at once, and
// the undo to bring back the files byte for byte.
func (tr *trial) undone(state string) {
	tr.T.Helper()
	r := tr.newest()
	if r.ID != tr.id || r.State != state || r.SHA != "" {
		tr.T.Errorf("listed as %+v", r)
	}
	changed := tr.Read("a.txt") != tr.before
	if !changed && tr.edits && len(shimtest.All[event.FileEdit](tr.stream.Events)) > 0 {
		tr.T.Error("the edit is lost")
	}
	next := tr.Design(map[string]any{"provider": providers[tr.agent], "prompt": "SCN:again"})
	if res := shimtest.One[event.Result](tr.T, next); res.IsError {
		tr.T.Errorf("the next run failed%s", shimtest.Words(next))
	}
	if changed {
		var reply struct{ Error string }
		if status := tr.JSON("POST", "/runs/"+tr.id+"/undo", nil, &reply); status != 200 {
			tr.T.Errorf("undo: %d %s", status, reply.Error)
		}
	}
	if got := tr.Read("a.txt"); got != tr.before {
		tr.T.Errorf("a.txt is %q, was %q", got, tr.before)
	}
	if got := tr.status(); got != tr.work || tr.Git("rev-parse", "HEAD") != tr.head {
		tr.T.Errorf("the user's work was\n%s\nand is\n%s", tr.work, got)
	}
	tr.left()
}

// lives wants the server of that name alive and named in a note with its
// port, and ends it.
func (tr *trial) lives(events []event.Event, name string) {
	tr.T.Helper()
	b, err := os.ReadFile(filepath.Join(tr.scratch, name))
	if err != nil {
		tr.T.Fatal(err)
	}
	pid := tr.awaitPIDs(name)[name]
	_, rest, _ := strings.Cut(string(b), "\n")
	address := strings.TrimSpace(rest)
	if !shimtest.Lives(pid) {
		tr.T.Error("the server was ended")
	}
	notes := shimtest.All[event.Note](events)
	if !slices.ContainsFunc(notes, func(n event.Note) bool {
		return n.Code == "left_running" && strings.Contains(n.Message, fmt.Sprintf("pid %d", pid)) && strings.Contains(n.Message, address)
	}) {
		tr.T.Errorf("no note names pid %d and %s%s", pid, address, shimtest.Words(events))
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		tr.T.Error(err)
	}
	shimtest.Await(tr.T, "the server has ended", func() bool { return !shimtest.Lives(pid) })
}
