package doctor

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/process"
	"github.com/slidewrite/slidewrite/shim/catalog"
	"github.com/slidewrite/slidewrite/shim/state"
)

// maxDetail is what our own words may take: two lines of 70 characters.
const maxDetail = 140

// fits holds a result to what a panel and a terminal have room for: neither
// text is cut, and each has its place on two lines of 70 characters.
func fits(t *testing.T, r Result) {
	t.Helper()
	if r.Detail == "" || line(r.Detail) != r.Detail || len([]rune(r.Detail)) > maxDetail {
		t.Errorf("%s: a detail of %d characters: %q", r.Name, len([]rune(r.Detail)), r.Detail)
	}
	if len([]rune(r.Fix)) > maxDetail {
		t.Errorf("%s: a fix of %d characters: %q", r.Name, len([]rune(r.Fix)), r.Fix)
	}
}

// want compares a result with a status, a part of its detail and its fix; a
// fix that ends with … is only begun.
func want(t *testing.T, r Result, status Status, detail, fix string) {
	t.Helper()
	begun, open := strings.CutSuffix(fix, "…")
	if r.Status != status || !strings.Contains(r.Detail, detail) || r.Fix != fix && !(open && strings.HasPrefix(r.Fix, begun)) {
		t.Errorf("got  %s %q, fix %q\nwant %s %q, fix %q", r.Status, r.Detail, r.Fix, status, detail, fix)
	}
	fits(t, r)
}

// environ is that of a user who has nothing but git.
func environ(t *testing.T, more ...string) []string {
	t.Helper()
	home := t.TempDir()
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_GLOBAL=" + filepath.Join(home, "gitconfig"), "GIT_CONFIG_NOSYSTEM=1",
		"XDG_STATE_HOME=" + filepath.Join(home, "state"), "XDG_CONFIG_HOME=" + filepath.Join(home, "config"),
	}, more...)
}

// fresh is a doctor for an empty folder called shop.
func fresh(t *testing.T) *doctor {
	t.Helper()
	repo := filepath.Join(t.TempDir(), "shop")
	if err := os.Mkdir(repo, 0o700); err != nil {
		t.Fatal(err)
	}
	d := &doctor{Options: Options{Repo: repo, Environ: environ(t), Extension: func() (Extension, error) { return Extension{}, nil }}}
	d.store = d.openStore
	return d
}

func (d *doctor) sh(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", d.Repo, "-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)...)
	cmd.Env = d.Environ
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (d *doctor) put(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.Repo, name), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRepo: what is said of a repository in each of its states, and that none
// of them keeps serve from working.
func TestRepo(t *testing.T) {
	t.Parallel()
	start := func(d *doctor) {
		d.sh(t, "init", "-q", "-b", "main")
		d.sh(t, "commit", "-q", "--allow-empty", "-m", "start")
	}
	for name, row := range map[string]struct {
		make        func(d *doctor)
		status      Status
		detail, fix string
	}{
		"none":     {func(*doctor) {}, Warning, "not a git repository: runs work", "git init"},
		"unborn":   {func(d *doctor) { d.sh(t, "init", "-q", "-b", "main") }, OK, "shop on main: no commit yet", ""},
		"ok":       {start, OK, "shop on main", ""},
		"dirty":    {func(d *doctor) { start(d); d.put(t, "a") }, OK, "shop on main, with uncommitted changes, which stay yours", ""},
		"below":    {func(d *doctor) { start(d); d.Repo = filepath.Join(d.Repo, "src"); os.Mkdir(d.Repo, 0o700) }, OK, "shop on main", ""},
		"detached": {func(d *doctor) { start(d); d.sh(t, "checkout", "-q", "--detach") }, Warning, "shop: HEAD is detached", "git switch -c NAME"},
		"merging":  {func(d *doctor) { start(d); d.put(t, ".git/MERGE_HEAD") }, Warning, "shop: a merge is in progress; nothing is committed", finish},
		"am": {func(d *doctor) {
			start(d)
			os.Mkdir(filepath.Join(d.Repo, ".git/rebase-apply"), 0o700)
			d.put(t, ".git/rebase-apply/applying")
		}, Warning, "shop: git am is in progress", finish},
		"bisecting": {func(d *doctor) { start(d); d.put(t, ".git/BISECT_LOG") }, Warning, "shop: a bisect is in progress", "git bisect reset"},
		"locked":    {func(d *doctor) { start(d); d.put(t, ".git/index.lock") }, Warning, "shop: another git command holds the index", "wait for it; if no git is running: rm …"},
		"bare":      {func(d *doctor) { d.sh(t, "init", "-q", "--bare") }, Warning, "a bare repository has no working tree", "open a folder with a working tree…"},
		"unsafe": {func(d *doctor) { start(d); d.Environ = append(d.Environ, "GIT_TEST_ASSUME_DIFFERENT_OWNER=1") }, Warning,
			"git does not trust this repository", "git config --global --add safe.directory …"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := fresh(t)
			row.make(d)
			want(t, d.repo(t.Context()), row.status, row.detail, row.fix)
		})
	}
}

// TestStateFixesAreOfStates: a state that gitrepo has no name for would have
// no fix.
func TestStateFixesAreOfStates(t *testing.T) {
	for _, s := range []string{"detached", "merging", "rebasing", "reverting", "bisecting", "am", "locked"} {
		if stateFixes[s] == "" {
			t.Errorf("no fix for the state %s", s)
		}
	}
	if len(stateFixes) != 7 {
		t.Errorf("%d fixes for 7 states", len(stateFixes))
	}
}

// TestGit: there, too old, not there.
func TestGit(t *testing.T) {
	d := fresh(t)
	want(t, d.git(t.Context()), OK, "(2.36 or later is needed)", "")
	if runtime.GOOS == "windows" {
		return // no scripts as programs there
	}
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	want(t, d.git(t.Context()), Problem, "git is not installed or not on PATH", "install git (https://git-scm.com/downloads)")
	want(t, d.repo(t.Context()), Warning, "not looked at: there is no git", "")
	script(t, filepath.Join(bin, "git"), "echo git version 2.35.8")
	want(t, d.git(t.Context()), Problem, "git 2.35.8 is too old: 2.36 or later is needed", getGit)
}

func script(t *testing.T, path, body string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// TestFolders: the state directory and the token.
func TestFolders(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	d.Environ = append(d.Environ, "XDG_STATE_HOME="+filepath.Join(agent.Lookup(d.Environ, "HOME"), ".state"))
	want(t, d.stateDir(t.Context()), OK, filepath.Join(".state", "slidewrite")+" can be written to", "")
	want(t, d.config(t.Context()), OK, "this repo has its token", "")
	store, err := d.store()
	if err != nil {
		t.Fatal(err)
	}
	scratch, err := store.ScratchDir()
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(scratch); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}

	file := filepath.Join(d.Repo, "f")
	d.put(t, "f")
	d.Environ = append(d.Environ, "XDG_STATE_HOME="+file, "XDG_CONFIG_HOME="+file)
	r := d.stateDir(t.Context())
	if r.Status != Problem || r.Fix != "set XDG_STATE_HOME to a folder you can write to" || !strings.Contains(r.Detail, "state directory: create it: mkdir ") {
		t.Errorf("a file for the state directory: %+v", r)
	}
	want(t, d.runs(t.Context()), Warning, "not looked at: there is no state directory", "")
	r = d.config(t.Context())
	if r.Status != Problem || r.Fix != "set XDG_CONFIG_HOME to a folder you can write to" {
		t.Errorf("a file for the config directory: %+v", r)
	}
	d.Token = "given"
	want(t, d.config(t.Context()), OK, "the token that was given is used", "")
}

// TestRuns: those whose shim died, and those of whose commit git could not be
// asked at the start after.
func TestRuns(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	want(t, d.runs(t.Context()), OK, "none waits", "")
	store, err := d.store()
	if err != nil {
		t.Fatal(err)
	}
	run := func(r state.Record) {
		r.ID, r.Kind = state.NewRunID(), state.KindDesign
		if err := store.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	run(state.Record{State: state.Done})
	run(state.Record{State: state.Interrupted})
	want(t, d.runs(t.Context()), OK, "none waits", "")
	run(state.Record{State: state.Running})
	want(t, d.runs(t.Context()), Warning, "1 run was cut short; the next start", "slidewrite")
	run(state.Record{State: state.Interrupted, Intent: []byte(`{}`)})
	want(t, d.runs(t.Context()), Warning, "2 runs were cut short", "slidewrite")
}

func TestPort(t *testing.T) {
	for _, row := range []struct {
		port    int
		running string
		err     error
		status  Status
		detail  string
		fix     string
	}{
		{4040, "", nil, OK, "4040 is free", ""},
		{0, "", nil, OK, "serve picks a free one", ""},
		{4040, "slidewrite already runs", nil, OK, "slidewrite already runs", ""},
		{4040, "", errors.New("port 4040 is in use"), Problem, "port 4040 is in use", "pass --port 0 for a free one"},
		{40, "", errors.WithHint(errors.New("may not listen"), "pass --port 4040"), Problem, "may not listen", "pass --port 4040"},
	} {
		d := &doctor{Options: Options{Port: row.port, Listen: func() (string, error) { return row.running, row.err }}}
		want(t, d.port(t.Context()), row.status, row.detail, row.fix)
	}
}

// TestBrowser: found on PATH, or only a warning.
func TestBrowser(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	d := &doctor{Options: Options{Environ: []string{"PATH=relative" + string(filepath.ListSeparator) + bin}}}
	if runtime.GOOS == "linux" {
		want(t, d.browser(t.Context()), Warning, "no Chrome or Chromium was found", "install Chrome …")
		if err := os.Mkdir(filepath.Join(bin, "google-chrome"), 0o700); err != nil { // a folder is none
			t.Fatal(err)
		}
		script(t, filepath.Join(bin, "chromium"), "")
		want(t, d.browser(t.Context()), OK, filepath.Join(bin, "chromium"), "")
	}
}

// TestExtension: what stands in its folder, against what is in the binary.
func TestExtension(t *testing.T) {
	d := fresh(t)
	dir := filepath.Join(d.Environ[1][len("HOME="):], "state", "slidewrite", "extension")
	shown := filepath.FromSlash("~/state/slidewrite/extension")
	const fix = "slidewrite extension"
	for _, c := range []struct {
		written        string
		whole, current bool
		status         Status
		detail, fix    string
	}{
		{"", false, false, Warning, "not written to " + shown + " yet", fix},
		{"1.10.0", true, true, OK, "1.10.0 in " + shown, ""},
		{"1.9.0", true, false, Warning, "1.9.0 in " + shown + " is older than slidewrite, which has 1.10.0", fix},
		{"1.10.0-rc.1", true, false, Warning, "is older than slidewrite", fix},
		{"1.11.0", true, false, Warning, "1.11.0 in " + shown + " is newer than slidewrite, which has 1.10.0", fix},
		{"1.10.0", true, false, Warning, "has other files than this slidewrite of the same version", fix},
		{"1.10.0", false, false, Warning, "is not whole", fix},
		{"1.9.0", false, false, Warning, "is not whole", fix},
	} {
		d.Extension = func() (Extension, error) { return Extension{"1.10.0", dir, c.written, c.whole, c.current}, nil }
		want(t, d.extension(t.Context()), c.status, c.detail, c.fix)
	}
	d.Extension = func() (Extension, error) { return Extension{}, errors.WithHint(errors.New("no home"), "set HOME") }
	want(t, d.extension(t.Context()), Warning, "no home", "set HOME")
}

func TestCompare(t *testing.T) {
	order := []string{"", "2", "2.1.197", "2.1.332-beta.1", "2.1.332-beta.2", "2.1.332", "2.2.0", "2.10", "10.0.0"}
	for i, a := range order {
		for j, b := range order {
			if got := compare(a, b); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("compare(%q, %q) = %d", a, b, got)
			}
		}
	}
	if compare("2.36", "2.36.0") != 0 {
		t.Error("2.36 is not 2.36.0")
	}
}

// cli is an agent that is not asked by starting it.
type cli struct {
	agent.Agent
	name     string
	discover func(ctx context.Context) agent.Info
}

func (c cli) Provider() string { return c.name + "-provider" }
func (c cli) Label() string    { return c.name }
func (c cli) Name() string     { return c.name }
func (c cli) Scrub(environ []string, _ bool) (env, scrubbed []string) {
	return environ, nil
}
func (c cli) Discover(ctx context.Context, _ agent.Discovery) agent.Info { return c.discover(ctx) }

// says is an agent that answers at once.
func says(name string, info agent.Info) cli {
	return cli{name: name, discover: func(context.Context) agent.Info { return info }}
}

// surgery is what a doctor says of agents; each has a binary that tells its
// version, but for those named missing.
func surgery(t *testing.T, o catalog.Options, version string, recorded map[string][]string, agents ...agent.Agent) []Result {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no scripts as programs there")
	}
	bin := t.TempDir()
	o.Agents, o.Environ, o.Repo = agents, environ(t), t.TempDir()
	o.LookPath = func(name string) (string, error) {
		if name == "missing" {
			return "", errors.WithHint(errors.Mark(errors.New("missing not found; searched /bin"), process.ErrNotInstalled), "npm install missing")
		}
		return filepath.Join(bin, name), nil
	}
	for _, a := range agents { // once: one that is being run cannot be written
		script(t, filepath.Join(bin, a.Name()), "echo "+version)
	}
	c := catalog.New(o)
	defer c.Close()
	d := &doctor{Options: Options{Environ: append(o.Environ, "HOME="+bin), Agents: agents, Catalog: c, LookPath: o.LookPath, Recorded: recorded}}
	var results []Result
	Run(t.Context(), d.agents(), func(r Result) { results = append(results, r) })
	return results
}

var (
	healthy   = agent.Info{Models: []agent.Model{{ID: "a"}, {ID: "b"}}, DefaultModel: "b", Billing: "plan"}
	signedOut = agent.Info{Error: "it is not signed in", Fix: "it login"}
	tested    = map[string][]string{"one": {"2.1.332", "2.1.197"}, "two": {"2.1.197"}, "missing": {"1.0.0"}}
)

// TestVersions: one that was tested, and around it.
func TestVersions(t *testing.T) {
	t.Parallel()
	for version, row := range map[string]struct {
		status      Status
		detail, fix string
	}{
		"2.1.332":        {OK, filepath.Join("~", "one") + " 2.1.332, signed in (plan), 2 models", ""},
		"2.1.197":        {OK, "2.1.197, signed in", ""},
		"2.1.200":        {OK, "2.1.200, signed in", ""},
		"2.2.0":          {Warning, "2.2.0 (newer than what was tested, 2.1.332), signed in (plan), 2 models", ""},
		"2.1.9":          {Warning, "2.1.9 (older than what was tested, 2.1.197), signed in (plan), 2 models", "one update"},
		"no number here": {OK, filepath.Join("~", "one") + ", signed in", ""},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			want(t, surgery(t, catalog.Options{}, version, tested, says("one", healthy))[0], row.status, row.detail, row.fix)
		})
	}
}

// TestOneUsableAgentIsEnough: what is wrong with one agent is a problem only
// when there is no other; one that is not there is none at all, but for the
// default, the first.
func TestOneUsableAgentIsEnough(t *testing.T) {
	t.Parallel()
	gone, out, fine := says("missing", healthy), says("one", signedOut), says("two", healthy)
	for _, row := range []struct {
		name   string
		agents []agent.Agent
		want   []Status
	}{
		{"all fine", []agent.Agent{fine}, []Status{OK}},
		{"one fine", []agent.Agent{gone, out, fine}, []Status{Warning, Warning, OK}},
		{"another is gone", []agent.Agent{fine, gone}, []Status{OK, Note}},
		{"none fine", []agent.Agent{gone, out}, []Status{Problem, Problem}},
		{"none fine, another gone", []agent.Agent{out, gone}, []Status{Problem, Note}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			for i, r := range surgery(t, catalog.Options{}, "2.1.197", tested, row.agents...) {
				if r.Status != row.want[i] || r.Name != row.agents[i].Name() {
					t.Errorf("%+v, want %s", r, row.want[i])
				}
				switch fits(t, r); r.Name {
				case "missing":
					want(t, r, row.want[i], "missing not found; searched /bin", "npm install missing, or pass its path with --missing-bin")
				case "one":
					want(t, r, row.want[i], filepath.Join("~", "one")+" 2.1.197: it is not signed in", "it login")
				}
			}
		})
	}
}

// TestNeverRunByUs: an agent that was not recorded is said to be untried,
// unless it is not there.
func TestNeverRunByUs(t *testing.T) {
	t.Parallel()
	r := surgery(t, catalog.Options{}, "1.0.6", tested, says("other", healthy), says("another", signedOut))
	want(t, r[0], Warning, "never run by us: ~/other 1.0.6, signed in (plan)", "")
	want(t, r[1], Warning, "never run by us: ~/another 1.0.6: it is not signed in", "it login")
	r = surgery(t, catalog.Options{}, "1.0.6", nil, says("missing", healthy))
	want(t, r[0], Problem, "missing not found", "npm install missing…")
}

// TestHangingAgent: it costs its own line, at the catalog's deadline, however
// often the catalog has to be asked until then.
func TestHangingAgent(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	t.Cleanup(func() { close(let) })
	hangs := cli{name: "two", discover: func(context.Context) agent.Info { <-let; return agent.Info{} }}
	r := surgery(t, catalog.Options{Deadline: time.Second, Wait: time.Millisecond}, "2.1.197", tested, hangs, says("one", healthy))
	want(t, r[0], Warning, "two did not answer in time", "run two once in a terminal and see what it asks")
	want(t, r[1], OK, "signed in (plan)", "")
}

// TestRun: in the order of the table, whatever comes first, and to an end when
// a check does not answer.
func TestRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	let, second := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(let) })
	var names []string
	var last Result
	ok := Run(ctx, []Check{
		{"first", func(context.Context) Result { <-second; return Result{Status: OK, Detail: "a\n b"} }},
		{"second", func(context.Context) Result {
			close(second)
			return Result{Status: Warning, Detail: strings.Repeat("ä", 200)}
		}},
		{"hangs", func(context.Context) Result { cancel(); <-let; return Result{} }},
	}, func(r Result) { names = append(names, r.Name+" "+r.Detail); last = r })
	if w := []string{"first a b", "second " + strings.Repeat("ä", 200), "hangs it did not answer in time"}; ok || last.Status != Problem || !slices.Equal(names, w) {
		t.Errorf("%v %q", ok, names)
	}
	if !Run(t.Context(), []Check{{"a", func(context.Context) Result { return Result{Status: Warning, Detail: "w"} }}}, func(Result) {}) {
		t.Error("a warning keeps serve from working")
	}
}

// TestChecks: the whole table on a folder with nothing wrong but what this
// version lacks.
func TestChecks(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	c := catalog.New(catalog.Options{})
	defer c.Close()
	d.Listen, d.Catalog = func() (string, error) { return "", nil }, c
	var names []string
	if !Run(t.Context(), Checks(d.Options), func(r Result) { names = append(names, r.Name); fits(t, r) }) {
		t.Error("there is a problem")
	}
	if w := []string{"git", "repo", "state", "config", "port", "runs", "browser", "extension"}; !slices.Equal(names, w) {
		t.Errorf("%q", names)
	}
}
