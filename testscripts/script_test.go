// Package testscripts tells the stories of the command line: each file in
// testdata is a script that runs the real binary's code against the fake
// agent. GOLDIE_UPDATE=1 rewrites what a script's cmp expects.
package testscripts

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/fakeagents/fixtures"
	"github.com/slidewrite/slidewrite/shim/cli"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	shimserver "github.com/slidewrite/slidewrite/shim/server"
	"github.com/slidewrite/slidewrite/shim/state"
)

func TestMain(m *testing.M) {
	commands := fakeagents.Commands(fixtures.Corpus())
	commands["slidewrite"] = func() { os.Exit(cli.Main()) }
	testscript.Main(m, commands)
}

// patience is how long a script waits for a fact before it fails.
const patience = 20 * time.Second

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Files:               scripts(t),
		Setup:               setup,
		Deadline:            time.Now().Add(3 * time.Minute),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("GOLDIE_UPDATE") != "",
		Condition: func(cond string) (bool, error) {
			if cond == "root" { // who may write everywhere
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %s", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"alive":     alive,
			"await":     await,
			"checkout":  checkout,
			"get":       get,
			"post":      post,
			"redeem":    redeem,
			"shim-down": shimDown,
			"shim-up":   shimUp,
		},
	})
}

// scripts are the scripts to run: with -short, which the round with the race
// detector has, those with a shim, where much goes on at once.
func scripts(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(all) == 0 {
		t.Fatalf("testdata: %d scripts, %v", len(all), err)
	}
	if !testing.Short() {
		return all
	}
	return slices.DeleteFunc(all, func(path string) bool {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return !strings.Contains(string(data), "\nshim-up")
	})
}

// setup gives a script a home, a git identity and a state directory of its
// own, and no variable of the developer's.
func setup(e *testscript.Env) error {
	home := filepath.Join(e.WorkDir, ".home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	config := filepath.Join(home, "gitconfig")
	if err := os.WriteFile(config, []byte("[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n"), 0o600); err != nil {
		return err
	}
	for _, kv := range [][2]string{
		{"HOME", home},
		{"XDG_STATE_HOME", filepath.Join(home, "state")},
		{"XDG_CONFIG_HOME", filepath.Join(home, "config")},
		{"XDG_CACHE_HOME", filepath.Join(home, "cache")},
		{"GIT_CONFIG_GLOBAL", config},
		{"GIT_CONFIG_NOSYSTEM", "1"},
		{"FIXTURE", "claude/real/2.1.332/edit"}, // most stories need an edit, whichever
		{"GORACE", "atexit_sleep_ms=0"},         // built with -race each command would linger for a second
		{"IS_SANDBOX", "1"},                     // claude refuses to run as root without it
		// Named here so that they reach the shim of shim-up when a script
		// sets them.
		{fakeagents.EnvFixture, ""}, {fakeagents.EnvKnobs, ""}, {fakeagents.EnvLog, ""}, {"SLIDEWRITE_TOKEN", ""}, {"SW_DEBUG", ""},
		{"GIT_TEST_ASSUME_DIFFERENT_OWNER", ""},
	} {
		e.Setenv(kv[0], kv[1])
	}
	var names []string
	for _, kv := range e.Vars {
		name, _, _ := strings.Cut(kv, "=")
		names = append(names, name)
	}
	e.Values[envNames{}] = names
	e.Values[shimKey{}] = &background{}
	return nil
}

type (
	envNames struct{}
	shimKey  struct{}
)

// background is the shim of a script.
type background struct {
	cmd            *exec.Cmd
	exited         chan error
	stdout, stderr string // files
}

// environ is the script's environment as it is now.
func environ(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range ts.Value(envNames{}).([]string) {
		env = append(env, name+"="+ts.Getenv(name))
	}
	return env
}

// checkout FIXTURE DIR makes a repository of the fixture's files with one
// commit, and lets the fake agent play that fixture.
func checkout(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: checkout fixture dir")
	}
	f, err := fixtures.Load(args[0])
	ts.Check(err)
	dir := ts.MkAbs(args[1])
	ts.Check(f.WriteRepo(dir))
	for _, git := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "start"}} {
		ts.Check(ts.Exec("git", append([]string{"-C", dir}, git...)...))
	}
	ts.Setenv(fakeagents.EnvFixture, args[0])
}

// await FILE REGEXP waits until the file has a match.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await file regexp")
	}
	re, err := regexp.Compile(args[1])
	ts.Check(err)
	until(ts, args[1]+" in "+args[0], func() bool {
		data, err := os.ReadFile(ts.MkAbs(args[0]))
		return err == nil && re.Match(data)
	})
}

// alive FILE: the process whose id is the first word of the file runs. One
// that has ended and that nobody has asked for its exit status does not.
func alive(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: alive file")
	}
	words := strings.Fields(ts.ReadFile(args[0]))
	if len(words) == 0 {
		ts.Fatalf("%s is empty", args[0])
	}
	pid, err := strconv.Atoi(words[0])
	ts.Check(err)
	if runs(pid) == neg {
		ts.Fatalf("process %d runs: %v", pid, neg)
	}
}

func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(stat, []byte(") Z "))
}

// until waits for a fact that another process makes.
func until(ts *testscript.TestScript, what string, fact func() bool) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(patience)
	for !fact() {
		select {
		case <-timeout:
			ts.Fatalf("waited %v in vain for %s", patience, what)
		case <-tick.C:
		}
	}
}

// shim-up [flags] starts slidewrite in the script's current folder, on a free
// port unless the flags say otherwise, and waits until it is listening. $SHIM
// is its address, $TOKEN its token; what it prints is in shim.out and
// shim.err.
func shimUp(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: shim-up [flags]")
	}
	bg := ts.Value(shimKey{}).(*background)
	if bg.cmd != nil {
		ts.Fatalf("the shim is up already")
	}
	bg.stdout, bg.stderr = filepath.Join(ts.Getenv("WORK"), "shim.out"), filepath.Join(ts.Getenv("WORK"), "shim.err")
	stdout, err := os.Create(bg.stdout)
	ts.Check(err)
	defer stdout.Close()
	stderr, err := os.Create(bg.stderr)
	ts.Check(err)
	defer stderr.Close()
	bin, err := exec.LookPath("slidewrite")
	ts.Check(err)
	bg.cmd = exec.Command(bin, append([]string{"--port", "0"}, args...)...)
	bg.cmd.Dir, bg.cmd.Env, bg.cmd.Stdout, bg.cmd.Stderr = ts.MkAbs("."), environ(ts), stdout, stderr
	ts.Check(bg.cmd.Start())
	bg.exited = make(chan error, 1)
	go func() { bg.exited <- bg.cmd.Wait() }()
	ts.Defer(func() { bg.kill() })
	addr := awaitShim(ts, bg)
	ts.Setenv("SHIM", "http://"+addr)
	if ts.Getenv("SLIDEWRITE_TOKEN") != "" {
		ts.Setenv("TOKEN", ts.Getenv("SLIDEWRITE_TOKEN"))
		return
	}
	token, err := os.ReadFile(onlyFile(ts, filepath.Join(ts.Getenv("XDG_CONFIG_HOME"), "slidewrite", "tokens")))
	ts.Check(err)
	ts.Setenv("TOKEN", strings.TrimSpace(string(token)))
}

// awaitShim waits until the shim of the current folder is announced and has
// greeted, and returns its address.
func awaitShim(ts *testscript.TestScript, bg *background) string {
	top, err := gitrepo.TopOf(ts.MkAbs("."))
	ts.Check(err)
	dir, err := state.DefaultDir(environ(ts))
	ts.Check(err)
	var sh state.Shim
	until(ts, "the shim", func() bool {
		select {
		case err := <-bg.exited:
			bg.exited <- err
			ts.Fatalf("the shim ended: %v\n%s", err, ts.ReadFile(bg.stderr))
		default:
		}
		store, err := state.Open(dir, top)
		if err != nil {
			return false // it is being made
		}
		var ok bool
		sh, ok = store.FindShim(top)
		return ok && strings.Contains(ts.ReadFile(bg.stdout), "Ctrl-C")
	})
	return sh.Addr
}

// onlyFile is the newest file of a folder that is neither a lock nor hidden.
func onlyFile(ts *testscript.TestScript, dir string) string {
	entries, err := os.ReadDir(dir)
	ts.Check(err)
	var newest string
	var at time.Time
	for _, e := range entries {
		info, err := e.Info()
		ts.Check(err)
		if e.Name() != "lock" && !strings.HasPrefix(e.Name(), ".") && info.ModTime().After(at) {
			newest, at = filepath.Join(dir, e.Name()), info.ModTime()
		}
	}
	return newest
}

// kill ends a shim that a failed script left running.
func (bg *background) kill() {
	if bg.cmd != nil {
		bg.cmd.Process.Kill()
		<-bg.exited
		bg.cmd = nil
	}
}

// shim-down [TERM | HUP] stops the shim as Ctrl-C does, or by another signal.
// It must exit with 0.
func shimDown(ts *testscript.TestScript, neg bool, args []string) {
	bg := ts.Value(shimKey{}).(*background)
	signal, ok := map[string]os.Signal{"": os.Interrupt, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP}[strings.Join(args, " ")]
	if neg || !ok || bg.cmd == nil {
		ts.Fatalf("usage: shim-down [TERM | HUP], after shim-up")
	}
	ts.Check(bg.cmd.Process.Signal(signal))
	select {
	case err := <-bg.exited:
		bg.cmd = nil
		if err != nil {
			ts.Fatalf("the shim ended with %v\n%s", err, ts.ReadFile(bg.stderr))
		}
	case <-time.After(patience):
		ts.Fatalf("the shim goes on %v after %v", patience, signal)
	}
}

// post PATH BODY sends a request to the shim; the answer is stdout. A status
// other than 200 fails the command.
func post(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: post path body")
	}
	request(ts, neg, http.MethodPost, args[0], args[1])
}

// get PATH is post without a body.
func get(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: get path")
	}
	request(ts, neg, http.MethodGet, args[0], "")
}

// redeem FILE sends the code of the last pairing link in the file to the shim,
// as the extension does, which has no token yet. The answer is stdout.
func redeem(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: redeem file")
	}
	links := pairingLink.FindAllStringSubmatch(ts.ReadFile(args[0]), -1)
	if len(links) == 0 {
		ts.Fatalf("no pairing link in %s", args[0])
	}
	request(ts, neg, http.MethodPost, "/pair", `{"code":"`+links[len(links)-1][1]+`"}`, "Origin", "chrome-extension://"+shimserver.ExtensionID)
}

var pairingLink = regexp.MustCompile(`/pair#([\w-]{22})`)

func request(ts *testscript.TestScript, neg bool, method, path, body string, header ...string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, ts.Getenv("SHIM")+path, bytes.NewReader([]byte(body)))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	if len(header) == 0 {
		header = []string{"Authorization", "Bearer " + ts.Getenv("TOKEN")}
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "%s\n%s\n", res.Status, answer)
	if ok := res.StatusCode == http.StatusOK; ok == neg {
		ts.Fatalf("%s %s: %s\n%s", method, path, res.Status, answer)
	}
}
