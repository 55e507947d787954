//go:build unix

package catalog

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/process"
)

// fake is an agent whose CLI is a shell script: what it prints are model ids.
// A line "error: …" is a failure.
type fake struct {
	agent.Agent // nil: nothing else is asked of it
	name        string
}

func (f fake) Provider() string { return f.name + "-provider" }
func (f fake) Label() string    { return strings.ToUpper(f.name) }
func (f fake) Name() string     { return f.name }

func (f fake) Scrub(environ []string, keepEnv bool) (env, scrubbed []string) {
	if keepEnv {
		return environ, nil
	}
	env = slices.DeleteFunc(slices.Clone(environ), func(kv string) bool { return strings.HasPrefix(kv, "SECRET=") })
	return env, []string{"SECRET"}
}

// Discover runs the CLI as an adapter does that leaves the rest to the
// catalog: it waits for the CLI and forgets its children.
func (f fake) Discover(ctx context.Context, d agent.Discovery) agent.Info {
	cmd := exec.Command(d.Bin, "models")
	cmd.Env, cmd.Dir = append(d.Env, "TEMP="+d.TempDir), d.Repo
	out, err := cmd.Output()
	if err != nil {
		return agent.Info{Error: f.name + " ended: " + err.Error()}
	}
	info := agent.Info{Billing: "plan"}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if message, failed := strings.CutPrefix(line, "error: "); failed {
			return agent.Info{Error: message, Fix: f.name + " login"}
		}
		info.Models = append(info.Models, agent.Model{ID: line, Label: line})
		info.DefaultModel = info.Models[0].ID
	}
	return info
}

// machine is a folder with CLIs, and a clock.
type machine struct {
	t    *testing.T
	dir  string
	tick atomic.Int64 // ns since the start
}

// answers is a CLI that counts its calls in <name>.calls and prints models.
const answers = `echo call >>"$DIR/$(basename "$0").calls"; echo one; echo two`

func newMachine(t *testing.T) *machine {
	m := &machine{t: t, dir: t.TempDir()}
	for _, dir := range []string{"bin", "temp", "repo"} {
		if err := os.Mkdir(filepath.Join(m.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// install writes a CLI. A new file in its place makes it another binary.
func (m *machine) install(name, script string) string {
	m.t.Helper()
	path := filepath.Join(m.dir, "bin", name)
	if err := os.WriteFile(path+".new", []byte("#!/bin/sh\nDIR='"+m.dir+"'\n"+script+"\n"), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		m.t.Fatal(err)
	}
	return path
}

// catalog returns a Catalog of the named agents and checks at the end of the
// test that no process and no file of it is left.
func (m *machine) catalog(change func(*Options), names ...string) *Catalog {
	env := []string{"PATH=" + filepath.Join(m.dir, "bin") + ":/usr/bin:/bin", "SECRET=x"}
	o := Options{
		Environ: env, Repo: filepath.Join(m.dir, "repo"), TempRoot: filepath.Join(m.dir, "temp"),
		LookPath: func(name string) (string, error) {
			path, _, err := process.LookPath(name, "", env)
			return path, err
		},
		Now: func() time.Time { return time.Unix(1e9, m.tick.Load()) },
	}
	for _, name := range names {
		o.Agents = append(o.Agents, fake{name: name})
	}
	if change != nil {
		change(&o)
	}
	c := New(o)
	m.t.Cleanup(func() {
		c.Close()
		if left, _ := os.ReadDir(o.TempRoot); len(left) > 0 {
			m.t.Errorf("temporary files are left: %v", left)
		}
	})
	return c
}

// calls is how often a CLI was run.
func (m *machine) calls(name string) int {
	b, _ := os.ReadFile(filepath.Join(m.dir, name+".calls"))
	return strings.Count(string(b), "\n")
}

// gate makes a CLI wait: it goes on when open is called.
func (m *machine) gate(name string) (script string, open func()) {
	path := filepath.Join(m.dir, name+".gate")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		m.t.Fatal(err)
	}
	return `read line <"` + path + `"; `, func() {
		if err := os.WriteFile(path, []byte("go\n"), 0); err != nil {
			m.t.Error(err)
		}
	}
}

func await(t *testing.T, what string, fact func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !fact(); {
		if time.Now().After(deadline) {
			t.Fatal("waited 10 s for: " + what)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func find(t *testing.T, ps []Provider, id string) Provider {
	t.Helper()
	for _, p := range ps {
		if p.ID == id+"-provider" {
			return p
		}
	}
	t.Fatalf("no provider %s in %v", id, ps)
	return Provider{}
}

func ids(p Provider) string {
	var ids []string
	for _, m := range p.Models {
		ids = append(ids, m.ID)
	}
	return strings.Join(ids, " ")
}

func background() context.Context { return context.Background() }

func TestProviders(t *testing.T) {
	m := newMachine(t)
	m.install("good", answers)
	m.install("bad", `echo error: not signed in`)
	m.install("empty", `:`)
	m.install("broken", `exit 9`)
	c := m.catalog(nil, "good", "bad", "empty", "broken", "gone")
	got, err := json.MarshalIndent(c.Providers(background(), "", false), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want := `[
 {"id":"good-provider","label":"GOOD","enabled":true,"models":[{"id":"one","label":"one"},{"id":"two","label":"two"}],"defaultModel":"one","billing":"plan"},
 {"id":"bad-provider","label":"BAD","enabled":true,"models":[],"defaultModel":"","error":"not signed in","fix":"bad login"},
 {"id":"empty-provider","label":"EMPTY","enabled":true,"models":[],"defaultModel":"","error":"empty lists no models","billing":"plan"},
 {"id":"broken-provider","label":"BROKEN","enabled":true,"models":[],"defaultModel":"","error":"broken ended: exit status 9"},
 {"id":"gone-provider","label":"GONE","enabled":true,"models":[],"defaultModel":"","error":"gone not found; searched WHERE","fix":"pass its path with --gone-bin"},
 {"id":"google","label":"Google","enabled":false,"models":[],"defaultModel":""}]`
	got = regexp.MustCompile(`searched [^"]*`).ReplaceAll(got, []byte("searched WHERE")) // process's own test has the words
	if !sameJSON(t, got, []byte(want)) {
		t.Errorf("providers:\n%s\nwant:\n%s", got, want)
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var canonical [2]string
	for i, raw := range [][]byte{a, b} {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		again, _ := json.Marshal(v)
		canonical[i] = string(again)
	}
	return canonical[0] == canonical[1]
}

// Spec 20: "?only=openai asks one".
func TestOnlyAsksOne(t *testing.T) {
	m := newMachine(t)
	m.install("a", answers)
	m.install("b", answers)
	c := m.catalog(nil, "a", "b")
	if ps := c.Providers(background(), "b-provider", false); len(ps) != 1 || ids(ps[0]) != "one two" {
		t.Errorf("providers = %v", ps)
	}
	if m.calls("a") != 0 || m.calls("b") != 1 {
		t.Errorf("calls: a %d, b %d", m.calls("a"), m.calls("b"))
	}
	if ps := c.Providers(background(), "google", false); len(ps) != 1 || ps[0].Enabled {
		t.Errorf("google = %v", ps)
	}
	if ps := c.Providers(background(), "nobody", false); ps == nil || len(ps) != 0 {
		t.Errorf("nobody = %v", ps)
	}
}

// Spec 20: "a slow one does not hold the others: whatever is ready within 3 s
// is answered, the rest carries "pending":true and a later /meta has it".
func TestSlowIsPendingThenReady(t *testing.T) {
	m := newMachine(t)
	wait, open := m.gate("slow")
	m.install("slow", wait+answers)
	m.install("fast", answers)
	c := m.catalog(func(o *Options) { o.Wait = 300 * time.Millisecond }, "slow", "fast")
	ps := c.Providers(background(), "", false)
	if slow := find(t, ps, "slow"); !slow.Pending || len(slow.Models) != 0 || slow.Error != "" {
		t.Errorf("slow = %+v, want pending", slow)
	}
	if fast := find(t, ps, "fast"); fast.Pending || ids(fast) != "one two" {
		t.Errorf("fast = %+v, want its models", fast)
	}
	open()
	await(t, "slow has answered", func() bool { return !find(t, c.Providers(background(), "", false), "slow").Pending })
	if slow := find(t, c.Providers(background(), "", false), "slow"); ids(slow) != "one two" || m.calls("slow") != 1 {
		t.Errorf("slow = %+v after %d calls, want its models after one", slow, m.calls("slow"))
	}
}

// A failure that takes longer than the callers wait must be seen by somebody.
func TestLateFailureIsShownOnce(t *testing.T) {
	m := newMachine(t)
	wait, open := m.gate("slow")
	m.install("slow", wait+`echo call >>"$DIR/slow.calls"; echo error: expired`)
	c := m.catalog(func(o *Options) { o.Wait = 50 * time.Millisecond }, "slow")
	if p := c.Providers(background(), "", false)[0]; !p.Pending {
		t.Fatalf("slow = %+v, want pending", p)
	}
	s := c.slots["slow-provider"]
	open()
	await(t, "the flight has landed", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.flight == nil })
	if p := c.Providers(background(), "", false)[0]; p.Error != "expired" || p.Pending || m.calls("slow") != 1 {
		t.Errorf("slow = %+v after %d calls, want the failure", p, m.calls("slow"))
	}
	if p := c.Providers(background(), "", false)[0]; !p.Pending {
		t.Errorf("slow = %+v, want it asked again", p)
	}
}

// Spec 20: "each with its own deadline". Nothing of a CLI that hangs is left.
func TestHangingCLI(t *testing.T) {
	m := newMachine(t)
	m.install("hung", `trap '' INT TERM; setsid sleep 1000 & echo $! >"$DIR/child"; echo $$ >"$DIR/hung.pid"; sleep 1000; sleep 1000`)
	m.install("fast", answers)
	c := m.catalog(func(o *Options) { o.Deadline = 300 * time.Millisecond }, "hung", "fast")
	ps := c.Providers(background(), "", false)
	hung := find(t, ps, "hung")
	if want := "hung did not answer in time"; hung.Error != want || hung.Pending {
		t.Errorf("hung = %+v, want %q", hung, want)
	}
	if fast := find(t, ps, "fast"); ids(fast) != "one two" {
		t.Errorf("fast = %+v", fast)
	}
	for _, name := range []string{"child", "hung.pid"} {
		b, err := os.ReadFile(filepath.Join(m.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
		await(t, name+" is gone", func() bool { return syscall.Kill(pid, 0) != nil })
	}
}

// Spec 20: "Successes are cached 5 minutes per binary, failures never;
// ?refresh=1 asks again".
func TestCache(t *testing.T) {
	m := newMachine(t)
	m.install("a", answers)
	c := m.catalog(nil, "a")
	ask := func(refresh bool) Provider { return c.Providers(background(), "", refresh)[0] }
	for _, step := range []struct {
		name  string
		do    func()
		calls int
		want  string
	}{
		{"first", func() { ask(false) }, 1, "one two"},
		{"again", func() { ask(false) }, 1, "one two"},
		{"refresh", func() { ask(true) }, 2, "one two"},
		{"almost 5 minutes later", func() { m.tick.Add(int64(5*time.Minute - 1)) }, 2, "one two"},
		{"5 minutes later", func() { m.tick.Add(1) }, 3, "one two"},
		{"another binary", func() { m.install("a", answers+"; echo three") }, 4, "one two three"},
	} {
		step.do()
		if got := ids(ask(false)); got != step.want || m.calls("a") != step.calls {
			t.Errorf("%s: %q after %d calls, want %q after %d", step.name, got, m.calls("a"), step.want, step.calls)
		}
	}
}

func TestFailuresAreNotCached(t *testing.T) {
	m := newMachine(t)
	m.install("a", `echo call >>"$DIR/a.calls"; [ -e "$DIR/signed-in" ] && echo one || echo error: not signed in`)
	c := m.catalog(nil, "a", "late")
	for i := range 2 {
		if p := c.Providers(background(), "", false)[0]; p.Error != "not signed in" || m.calls("a") != i+1 {
			t.Errorf("a = %+v after %d calls", p, m.calls("a"))
		}
	}
	if err := os.WriteFile(filepath.Join(m.dir, "signed-in"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m.install("late", answers)
	ps := c.Providers(background(), "", false)
	if a, late := find(t, ps, "a"), find(t, ps, "late"); ids(a) != "one" || a.Error != "" || ids(late) != "one two" {
		t.Errorf("a = %+v, late = %+v", a, late)
	}
}

// A failed refresh does not leave the old success in the cache.
func TestFailureReplacesASuccess(t *testing.T) {
	m := newMachine(t)
	m.install("a", `[ -e "$DIR/signed-out" ] && echo error: not signed in || echo one`)
	c := m.catalog(nil, "a")
	c.Providers(background(), "", false)
	if err := os.WriteFile(filepath.Join(m.dir, "signed-out"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, refresh := range []bool{true, false} {
		if p := c.Providers(background(), "", refresh)[0]; p.Error != "not signed in" {
			t.Errorf("refresh %v: %+v", refresh, p)
		}
	}
}

func TestSingleFlight(t *testing.T) {
	m := newMachine(t)
	wait, open := m.gate("a")
	m.install("a", `echo call >>"$DIR/a.calls"; `+wait+`echo one`)
	c := m.catalog(func(o *Options) { o.Wait = 10 * time.Second }, "a")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if p := c.Providers(background(), "", true)[0]; ids(p) != "one" {
				t.Errorf("a = %+v", p)
			}
		})
	}
	s := c.slots["a-provider"]
	await(t, "all wait for one flight", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.flight != nil && s.flight.waiting == 20
	})
	open()
	wg.Wait()
	if m.calls("a") != 1 {
		t.Errorf("%d calls for 20 callers", m.calls("a"))
	}
}

// A caller that goes away neither ends the discovery nor waits for it.
func TestCallerGoesAway(t *testing.T) {
	m := newMachine(t)
	wait, open := m.gate("a")
	m.install("a", wait+"echo one")
	c := m.catalog(nil, "a")
	ctx, cancel := context.WithCancel(background())
	cancel()
	if p := c.Providers(ctx, "", false)[0]; !p.Pending {
		t.Errorf("a = %+v, want pending", p)
	}
	open()
	await(t, "a is ready", func() bool { return ids(c.Providers(background(), "", false)[0]) == "one" })
}

func TestCloseEndsADiscovery(t *testing.T) {
	m := newMachine(t)
	m.install("a", `echo $$ >"$DIR/a.pid"; sleep 1000`)
	c := m.catalog(func(o *Options) { o.Wait = time.Nanosecond }, "a")
	c.Providers(background(), "", false)
	var pid int
	await(t, "a has started", func() bool {
		b, _ := os.ReadFile(filepath.Join(m.dir, "a.pid"))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		return pid != 0
	})
	c.Close()
	if syscall.Kill(pid, 0) == nil {
		t.Error("the CLI outlived Close")
	}
}

// S12: the child environment has nothing of the scrub list unless kept.
func TestEnvironment(t *testing.T) {
	for _, keep := range []bool{false, true} {
		m := newMachine(t)
		m.install("a", `[ "$1" = --version ] && echo "1.2.3$SECRET" && exit; echo "secret=$SECRET"; pwd; [ -d "$TEMP" ] && ls -ld "$TEMP" | cut -c1-10`)
		c := m.catalog(func(o *Options) { o.KeepEnv = keep }, "a")
		secret := ""
		if keep {
			secret = "x"
		}
		want := "secret=" + secret + " " + filepath.Join(m.dir, "repo") + " drwx------"
		if p := c.Providers(background(), "", false)[0]; ids(p) != want {
			t.Errorf("keep %v: %q, want %q", keep, ids(p), want)
		}
		if v := c.Version(background(), filepath.Join(m.dir, "bin", "a")); v != "1.2.3"+secret {
			t.Errorf("keep %v: version %q", keep, v)
		}
	}
}

func TestVersion(t *testing.T) {
	m := newMachine(t)
	c := m.catalog(nil)
	counted := `echo call >>"$DIR/$(basename "$0").calls"; `
	for _, c := range []struct{ name, out, want string }{
		{"claude", "2.1.332 (Claude Code)", "2.1.332"}, {"codex", "codex-cli 0.171.0", "0.171.0"}, {"pre", "x 1.0.0-beta.2", "1.0.0-beta.2"},
		{"none", "no version", ""}, {"warns", "2.1.5\nwarning 9.9.9", "2.1.5"},
	} {
		if got := parseVersion(c.out); got != c.want {
			t.Errorf("parseVersion(%q) = %q, want %q", c.out, got, c.want)
		}
	}
	path := m.install("a", counted+`echo 1.2.3`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if v := c.Version(background(), path); v != "1.2.3" {
				t.Errorf("version = %q", v)
			}
		})
	}
	wg.Wait()
	if m.calls("a") != 1 {
		t.Errorf("%d calls for one binary", m.calls("a"))
	}
	m.install("a", counted+`echo 1.2.40`)
	if v := c.Version(background(), path); v != "1.2.40" {
		t.Errorf("after an update: %q", v)
	}
	bad := m.install("bad", counted+`exit 1`)
	for range 2 {
		if v := c.Version(background(), bad); v != "" {
			t.Errorf("version of a failing CLI = %q", v)
		}
	}
	if m.calls("bad") != 2 {
		t.Errorf("a failure was asked %d times, want 2", m.calls("bad"))
	}
	if v := c.Version(background(), filepath.Join(m.dir, "none")); v != "" {
		t.Errorf("version of nothing = %q", v)
	}
}

// volta and mise put one program under the names of all: it goes by the name
// it is called by.
func TestOneProgramUnderManyNames(t *testing.T) {
	m := newMachine(t)
	shim := m.install("shim", `case "$(basename "$0")" in a) v=1.2.3;; b) v=4.5.6;; *) v=7.8.9;; esac
if [ "$1" = --version ]; then echo "$v"; else echo "$(basename "$0")-model"; fi`)
	path := func(name string) string { return filepath.Join(m.dir, "bin", name) }
	for _, name := range []string{"a", "b", "old"} {
		if err := os.Symlink(shim, path(name)); err != nil {
			t.Fatal(err)
		}
	}
	c := m.catalog(nil, "a", "b")
	for range 2 { // asked, and remembered
		for _, want := range []struct{ name, version string }{{"a", "1.2.3"}, {"b", "4.5.6"}} {
			if v := c.Version(background(), path(want.name)); v != want.version {
				t.Errorf("version of %s = %q, want %q", want.name, v, want.version)
			}
			if p := find(t, c.Providers(background(), "", false), want.name); ids(p) != want.name+"-model" {
				t.Errorf("models of %s = %q", want.name, ids(p))
			}
		}
	}
	// The same agent found under another name, as after an update of --a-bin.
	bin := "a"
	o := m.catalog(func(o *Options) { o.LookPath = func(string) (string, error) { return path(bin), nil } }, "a")
	for _, bin = range []string{"a", "old"} {
		if got := ids(o.Providers(background(), "", false)[0]); got != bin+"-model" {
			t.Errorf("found as %s: models %q", bin, got)
		}
	}
}

func TestVersionOfAHangingCLI(t *testing.T) {
	m := newMachine(t)
	path := m.install("a", `echo $$ >"$DIR/a.pid"; sleep 1000`)
	c := m.catalog(nil)
	ctx, cancel := context.WithCancel(background())
	done := make(chan string)
	go func() { done <- c.Version(ctx, path) }()
	await(t, "it hangs", func() bool { _, err := os.Stat(filepath.Join(m.dir, "a.pid")); return err == nil })
	cancel()
	if v := <-done; v != "" {
		t.Errorf("version = %q", v)
	}
	c.Close()
}

func TestMissingNamesTheFlag(t *testing.T) {
	for _, c := range []struct {
		err error
		fix string
	}{
		{errors.New("a not found; searched /bin"), "pass its path with --a-bin"},
		{errors.WithHint(errors.New("x"), "npm install a"), "npm install a, or pass its path with --a-bin"},
		{errors.WithHint(errors.New("x"), "npm install a, or use --a-bin"), "npm install a, or use --a-bin"},
	} {
		p := missing(fake{name: "a"}, c.err)
		if p.Error != c.err.Error() || p.Fix != c.fix {
			t.Errorf("missing(%v) = %q, fix %q; want fix %q", c.err, p.Error, p.Fix, c.fix)
		}
	}
}
