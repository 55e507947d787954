package record

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"fmt"
	"io"
	"maps"
	"mime"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/fakeagents/scriptmodel"
	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

//go:embed repos/*.txtar
var repoFiles embed.FS

// dummyKey lets the CLI send requests; it never leaves loopback.
const dummyKey = "loopback-dummy"

// systemPrompt stands where the shim's own system prompt would.
const systemPrompt = "You are the scripted agent."

// lostSession is the id of the session that does not exist.
const lostSession = "00000000-0000-4000-8000-000000000000"

// workshop is the throw-away place one scenario runs in.
type workshop struct {
	root string // real path; everything below is removed at the end
	cli  cli
	bin  string
	env  []string // Options.Env
	repo string
	home string
	run  string // the run's private folder
	tmp  string
}

// cli is what is one agent's own in a recording.
type cli interface {
	adapter() agent.Agent
	// environ is what the CLI's environment has beside what all have, which
	// leads it to the model at url.
	environ(sc *scriptmodel.Scenario, url string) map[string]string
	// setUp writes what the CLI wants to find in its user's home.
	setUp(home string, sc *scriptmodel.Scenario, url string) error
	// disk reads the CLI's own transcripts, without the parts that are the
	// vendor's.
	disk(w *workshop) ([]fakeagents.File, error)
	// elide shortens the vendor's own long texts on stdout.
	elide(stdout []byte, plain bool) []byte
	// literals are more values to be replaced.
	literals(w *workshop) map[string]string
	// ends is whether the line ends a turn.
	ends(line []byte) bool
	// reporter returns, for one transcript, the number of the line (counted
	// from 1) that reports a change; 0 when none does.
	reporter(lines [][]byte) func(sighting) int
	// pipes is whether the prompt is plain text and no line.
	pipes() bool
}

// clis are the agents whose CLIs can be recorded, by name.
var clis = map[string]cli{scriptmodel.Claude: claudeCLI{}, scriptmodel.Codex: codexCLI{}}

// Lead makes the real CLI of an agent talk to the model at url when its home is
// that one: it writes what the CLI wants to find there and returns the
// variables that its environment must have; "" is one that it must not have.
func Lead(agent, home string, sc *scriptmodel.Scenario, url string) (map[string]string, error) {
	c := clis[agent]
	if c == nil {
		return nil, errors.Newf("the real CLI of %q is not known here", agent)
	}
	vars := map[string]string{}
	maps.Copy(vars, c.environ(sc, url))
	maps.Copy(vars, sc.Env)
	return vars, c.setUp(home, sc, url)
}

func newWorkshop(o Options) (*workshop, error) {
	root, err := os.MkdirTemp("", "swrec")
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return nil, err
	}
	w := &workshop{root: root, cli: clis[o.Agent], bin: o.Bin, env: o.Env}
	for _, dir := range []struct {
		path *string
		name string
	}{{&w.repo, "repo"}, {&w.home, "home"}, {&w.run, "run"}, {&w.tmp, "tmp"}} {
		*dir.path = filepath.Join(root, dir.name)
		if err := os.Mkdir(*dir.path, 0o700); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *workshop) close() error { return os.RemoveAll(w.root) }

// prepare fills the repository and commits what is not ignored.
func (w *workshop) prepare(ctx context.Context, name string) error {
	if name == "" {
		name = "sample"
	}
	data, err := repoFiles.ReadFile("repos/" + name + ".txtar")
	if err != nil {
		return err
	}
	files, err := fakeagents.ParseFiles(data)
	if err != nil {
		return err
	}
	if err := fakeagents.WriteFiles(w.repo, files); err != nil {
		return err
	}
	commands := [][]string{{"init", "-q", "-b", "main"}}
	if len(files) > 0 {
		commands = append(commands, []string{"add", "-A"}, []string{"commit", "-q", "-m", "sample"})
	}
	for _, args := range commands {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", w.repo, "-c", "user.name=Sample", "-c", "user.email=a@b.c"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			return errors.Wrapf(err, "git %s: %s", args[0], out)
		}
	}
	return nil
}

// environ is the CLI's whole environment: nothing of ours gets through.
func (w *workshop) environ(sc *scriptmodel.Scenario, url string, extra []string) []string {
	vars := map[string]string{
		"HOME": w.home, "PATH": "/usr/local/bin:/usr/bin:/bin", "TERM": "dumb", "LANG": "C.UTF-8", "TMPDIR": w.tmp,
		"SLIDEWRITE_RUN": "record.1", "GIT_CONFIG_GLOBAL": os.DevNull,
	}
	maps.Copy(vars, w.cli.environ(sc, url))
	maps.Copy(vars, sc.Env)
	var env []string
	for k, v := range vars {
		if v != "" {
			env = append(env, k+"="+v)
		}
	}
	return append(append(env, extra...), w.env...)
}

var versionRE = lazyregexp.New(`[0-9]+\.[0-9]+\.[0-9]+`)

// cliVersion asks the CLI; it says "2.1.332 (Claude Code)".
func cliVersion(ctx context.Context, bin string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "--version")
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + os.TempDir()}
	out, err := cmd.Output()
	if err != nil {
		return "", errors.WithHint(errors.Wrapf(err, "%s --version", bin), "pass the path of the CLI with --bin")
	}
	v := versionRE.FindString(string(out))
	if v == "" {
		return "", errors.Newf("%s --version says %q: no version in it", bin, out)
	}
	return v, nil
}

// recordScenario runs sc in a fresh workshop and returns what happened as a
// scrubbed fixture.
func recordScenario(ctx context.Context, o Options, version string, sc *scriptmodel.Scenario) (*fakeagents.Fixture, error) {
	w, err := newWorkshop(o)
	if err != nil {
		return nil, err
	}
	defer w.close()
	if err := w.prepare(ctx, sc.Repo); err != nil {
		return nil, err
	}
	resume := ""
	if sc.Lost {
		resume = lostSession
	}
	if sc.Before != "" {
		if resume, err = w.runBefore(ctx, version, sc.Before); err != nil {
			return nil, err
		}
	}
	before, err := readTree(w.repo)
	if err != nil {
		return nil, err
	}
	f := &fakeagents.Fixture{Name: fmt.Sprintf("%s/real/%s/%s", o.Agent, version, sc.Name)}
	if sc.Exec == nil {
		f.Repo = before.list()
	}
	if f.Before, err = w.cli.disk(w); err != nil {
		return nil, err
	}
	t, err := w.play(ctx, version, sc, resume)
	if err != nil {
		return nil, err
	}
	if f.Disk, err = w.cli.disk(w); err != nil {
		return nil, err
	}
	f.Comment = fmt.Sprintf("%s Recorded from the real %s %s with a scripted model, %s.\nGuards: %s.",
		sc.About, o.Agent, version, o.Now.Format(time.DateOnly), sc.Guards)
	if sc.Before != "" {
		f.Comment += fmt.Sprintf("\nThe session before was %q.", sc.Before)
	}
	return w.fixture(f, t, resume)
}

// runBefore plays a scenario that is not recorded and returns its session.
func (w *workshop) runBefore(ctx context.Context, version, name string) (string, error) {
	sc, err := scriptmodel.Load(w.cli.adapter().Name(), name)
	if err != nil {
		return "", err
	}
	t, err := w.play(ctx, version, sc, "")
	if err != nil {
		return "", err
	}
	id := firstSession(bytes.Join(t.lines, nil))
	if id == "" {
		return "", errors.Newf("scenario %s began no session", name)
	}
	return id, nil
}

// transcript is one run of the CLI as it was seen.
type transcript struct {
	args   []string
	port   int
	stdin  []fakeagents.Input
	piped  []byte   // plain text instead of lines
	lines  [][]byte // each with its newline
	stderr []byte
	exit   int
	signal string
	seen   []sighting
	plain  bool // a command, not a turn
}

// play runs the CLI once against sc.
func (w *workshop) play(ctx context.Context, version string, sc *scriptmodel.Scenario, resume string) (*transcript, error) {
	options := scriptmodel.Options{Repo: w.repo}
	if resume != "" {
		options.IDs = 100 // more than the turn before can have used
	}
	server, err := scriptmodel.Start(sc, options)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	if err := w.cli.setUp(w.home, sc, server.URL()); err != nil {
		return nil, err
	}
	spec, err := w.spec(ctx, version, sc, resume)
	if err != nil {
		return nil, err
	}
	inv := w.cli.adapter().Command(spec)
	t := &transcript{args: inv.Args, port: server.Port(), plain: sc.Exec != nil}
	if t.plain {
		t.args = sc.Exec
	}
	cmd := exec.CommandContext(ctx, inv.Bin, t.args...)
	cmd.Dir = w.repo
	cmd.Env = w.environ(sc, server.URL(), inv.Env)
	cmd.WaitDelay = 3 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	watch := &watcher{t: t, sc: sc, repo: w.repo, conv: w.cli.adapter().Converse(spec), stdin: stdin, pipes: w.cli.pipes(), process: cmd.Process}
	watchErr := watch.run(stdout)
	waitErr := cmd.Wait()
	if ctx.Err() != nil {
		return nil, errors.Newf("the CLI did not end in time; stderr: %s", tail(stderr.Bytes()))
	}
	var exit *exec.ExitError
	if waitErr != nil && !errors.As(waitErr, &exit) {
		return nil, waitErr
	}
	t.stderr, t.exit = stderr.Bytes(), cmd.ProcessState.ExitCode()
	if t.exit < 0 {
		t.signal = cmd.ProcessState.String()
	}
	turn := !t.plain && !sc.OnlyInit && !sc.NoResult
	if turn && !slices.ContainsFunc(t.lines, w.cli.ends) {
		return nil, errors.Newf("the CLI ended (exit code %d) without a result; stderr: %s", t.exit, tail(t.stderr))
	}
	return t, watchErr
}

func tail(b []byte) []byte { return b[max(0, len(b)-400):] }

func (w *workshop) spec(ctx context.Context, version string, sc *scriptmodel.Scenario, resume string) (agent.Spec, error) {
	s := agent.Spec{
		Bin: w.bin, Version: version, Repo: w.repo, RunDir: w.run,
		System: systemPrompt, Prompt: sc.Prompt, Model: sc.Model, Effort: sc.Effort, Resume: resume,
		MaxTurns: sc.MaxTurns, MCP: "project", ProjectSettings: true,
	}
	if finder, ok := w.cli.adapter().(agent.SessionFinder); ok && resume != "" {
		s.Session = finder.FindSession(ctx, s, []string{"HOME=" + w.home})
	}
	for _, name := range sc.Images {
		path := filepath.Join(w.repo, filepath.FromSlash(name))
		data, err := os.ReadFile(path)
		if err != nil {
			return s, err
		}
		s.Images = append(s.Images, agent.Image{Path: path, MIME: mime.TypeByExtension(filepath.Ext(name)), Data: data})
	}
	return s, nil
}

// watcher holds the conversation with the CLI and notes what happens when.
type watcher struct {
	t     *transcript
	sc    *scriptmodel.Scenario
	repo  string
	conv  agent.Conversation
	stdin io.WriteCloser
	pipes bool // what is written is plain text

	process *os.Process

	prompted, stopped, closed bool
	seen                      tree
}

// run reads stdout to its end, answers each line as the shim would, and
// attributes each change of the working directory to a line.
func (w *watcher) run(stdout io.Reader) error {
	var err error
	if w.seen, err = readTree(w.repo); err != nil {
		return err
	}
	w.begin()
	r := bufio.NewReaderSize(stdout, 1<<20)
	for {
		line, readErr := r.ReadBytes('\n')
		if len(line) > 0 {
			w.t.lines = append(w.t.lines, line)
			if err := w.look(); err != nil {
				return err
			}
			w.answer(bytes.TrimSuffix(line, []byte("\n")))
		}
		if readErr != nil { // the end, or the pipe was closed after the process ended
			return w.look()
		}
	}
}

// begin does what is done before the first line. A CLI that does not say when
// it is ready gets its prompt at once: there is no snapshot to wait for.
func (w *watcher) begin() {
	if !w.t.plain {
		w.do(w.conv.Open())
		if w.conv.PromptAfter() == 0 {
			w.prompted = true
			w.do(w.conv.Prompt())
		}
		return
	}
	for _, line := range w.sc.Input {
		w.do(agent.Step{Write: [][]byte{[]byte(line + "\n")}})
	}
	if w.sc.Until == "" {
		w.close()
	}
}

// answer does what the shim does at a line.
func (w *watcher) answer(line []byte) {
	if w.t.plain {
		if w.sc.Until != "" && bytes.Contains(line, []byte(w.sc.Until)) {
			w.close()
		}
		return
	}
	step := w.conv.Line(line)
	w.do(step)
	switch {
	case step.Ready && w.sc.OnlyInit:
		w.close()
	case step.Ready && !w.prompted:
		w.prompted = true
		w.do(w.conv.Prompt())
	}
	if s := w.sc.Stop; s != nil && !w.stopped && bytes.Contains(line, []byte(s.Line)) {
		w.stopped = true
		w.stop(s)
	}
}

// stop interrupts the turn, by the agent's own request or else by a signal.
func (w *watcher) stop(s *scriptmodel.Stop) {
	if after, err := time.ParseDuration(s.After); err == nil {
		time.Sleep(after) // what the CLI does then is seen by nobody
	}
	if step, ok := w.conv.Interrupt(); ok {
		w.do(step)
		return
	}
	w.t.stdin = append(w.t.stdin, fakeagents.Input{After: len(w.t.lines), Signal: "SIGINT"})
	_ = w.process.Signal(os.Interrupt) // a CLI that is gone says so by its lines
}

func (w *watcher) do(step agent.Step) {
	for _, line := range step.Write {
		if w.pipes && !w.t.plain {
			w.t.piped = append(w.t.piped, line...)
			_, _ = w.stdin.Write(line)
			continue
		}
		w.t.stdin = append(w.t.stdin, fakeagents.Input{After: len(w.t.lines), Line: bytes.TrimSuffix(line, []byte("\n"))})
		_, _ = w.stdin.Write(line) // a CLI that is gone says so by its lines
	}
	if step.Close {
		w.close()
	}
}

func (w *watcher) close() {
	if w.closed {
		return
	}
	w.closed = true
	if !w.pipes && !w.t.plain || w.t.plain && w.sc.Input != nil {
		w.t.stdin = append(w.t.stdin, fakeagents.Input{After: len(w.t.lines), Close: true})
	}
	_ = w.stdin.Close()
}

// look notes what changed since it last looked. It is called at every line: a
// change is then never seen after the line that reports it, only before, as
// the CLI may be ahead of us. Where it belongs is settled at the end, see
// placed.
func (w *watcher) look() error {
	now, err := readTree(w.repo)
	if err != nil {
		return err
	}
	seen, err := now.changes(w.seen, w.repo, len(w.t.lines))
	if err != nil {
		return err
	}
	w.t.seen = append(w.t.seen, seen...)
	w.seen = now
	return nil
}
