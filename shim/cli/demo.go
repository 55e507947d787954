package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/cockroachdb/errors"
	urfave "github.com/urfave/cli/v3"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/browser"
	"github.com/slidewrite/slidewrite/shim/demoapp"
)

// executableSuffix is what programs are called by.
var executableSuffix = map[bool]string{true: ".exe"}[runtime.GOOS == "windows"]

// demoFlags say how the demo is shown.
var demoFlags = []flagSpec{
	{name: "terminal", kind: toggle, says: "the demo without a browser: one run, its commit, the undo, told here"},
	{name: "autoplay", kind: toggle, says: "the demo in the browser picks, sends and shows the change by itself, then ends"},
	{name: "headless", kind: toggle, says: "--autoplay in a browser without a window"},
	{name: "browser", env: "SLIDEWRITE_CHROMIUM", says: "the `PROGRAM` to use; without it the first Chrome or Chromium found"},
}

// The story of the demo: what the user asks for, and what the user was doing
// in the same file.
const (
	demoPrompt = "Make the primary button green."
	demoFile   = "src/Button.css"
	demoOld    = "border-radius: 6px"
	demoNew    = "border-radius: 12px"
)

// demoCommand tells the main job with nothing set up.
func (a *app) demoCommand() *urfave.Command {
	return &urfave.Command{
		Name:      "demo",
		Usage:     "the whole thing with nothing set up: a sample app, a fake agent, a browser with the extension",
		UsageText: "slidewrite demo [flags]",
		Description: "No agent, no login, no network. It opens a sample app in a browser profile of its own, with the panel beside it, connected; Ctrl-C, or closing the browser, ends all of it. " +
			"Where no Chrome or Chromium is found it tells one run, its commit and the undo in the terminal. Everything happens in a folder of its own, which is removed at the end.",
		Flags: a.flags(demoFlags...),
		Action: func(ctx context.Context, cmd *urfave.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
			}
			show, err := a.demoShow(cmd)
			if err != nil {
				return err
			}
			ctx, quit, release := a.interruptible(ctx)
			defer release()
			told := make(chan error, 1)
			go func() { told <- a.demo(ctx, show) }()
			select {
			case err := <-told:
				if errors.Is(err, errInterrupted) && show.program != "" && !show.autoplay {
					return nil // Ctrl-C is the way to end it
				}
				return err
			case <-quit:
				return errQuit
			}
		},
	}
}

// demo sets the stage, tells the story and clears up.
func (a *app) demo(ctx context.Context, show demoShow) (err error) {
	if _, err := exec.LookPath("git"); err != nil {
		return errors.WithHint(errors.Wrap(err, "the demo needs git"), "install git")
	}
	dir, err := os.MkdirTemp("", "slidewrite-demo-")
	if err != nil {
		return errors.Wrap(err, "make a folder for the demo")
	}
	// Signals are handled above: here they only end ctx.
	quiet := *a
	quiet.Signals = nil
	d := &demo{app: &quiet, show: show, dir: dir, repo: filepath.Join(dir, "cafe")}
	defer func() {
		cleared := d.clear()
		if errors.Is(err, errInterrupted) || unread(err) { // says nothing: what is left behind has to be said
			err = errors.CombineErrors(cleared, err)
		} else {
			err = errors.CombineErrors(err, cleared)
		}
	}()
	scenes := []func(context.Context) error{d.sample, d.serve, d.run, d.look, d.undo}
	switch {
	case show.program != "" && show.autoplay:
		scenes = []func(context.Context) error{d.sample, d.serveApp, d.serve, d.open, d.play}
	case show.program != "":
		scenes = []func(context.Context) error{d.sample, d.serveApp, d.serve, d.open, d.stay}
	case show.why != "":
		d.inTerminal(show.why, show.fix)
	}
	err = d.tell(ctx, scenes)
	var u *unstarted
	if errors.As(err, &u) && !show.autoplay {
		d.inTerminal(u.why, u.fix)
		err = d.tell(ctx, []func(context.Context) error{d.run, d.look, d.undo})
	}
	return err
}

// tell shows scenes to the end, or as long as somebody looks on.
func (d *demo) tell(ctx context.Context, scenes []func(context.Context) error) error {
	for _, scene := range scenes {
		err := scene(ctx)
		switch {
		case ctx.Err() != nil && !d.stayed:
			return errInterrupted
		case d.output().err != nil:
			return d.output().err
		case err != nil:
			return err
		}
	}
	return nil
}

// inTerminal says why there is no browser, and how to have one.
func (d *demo) inTerminal(why, fix string) {
	d.caption("%s: this is the demo in the terminal. For a browser: %s", why, fix)
}

// demo is the stage: a private folder with a home, a repository, the fake
// agent, and the real shim as a process of its own, so that nothing of the
// user's settings plays along.
type demo struct {
	*app
	show      demoShow
	dir, repo string
	env       []string
	shim      *exec.Cmd
	wait      func() error // until shim has ended
	shimErr   bytes.Buffer
	client    *remote
	link      string // pairs another browser

	// In a browser only.
	served  *demoapp.Server
	browser *browser.Browser
	tab     *browser.Page
	panel   *browser.Page // nil = the extension is not there
	stayed  bool          // an end now is one that was asked for
}

// caption says what comes next.
func (d *demo) caption(format string, args ...any) {
	r := renderer{out: d.Stdout, colour: d.colours(d.Stdout)}
	fmt.Fprintf(d.Stdout, "\n%s\n", r.paint(bold, "# "+fmt.Sprintf(format, args...)))
}

// sample makes the repository, with one commit and an uncommitted edit.
func (d *demo) sample(ctx context.Context) error {
	fixture, err := fakeagents.Demo().Load(fakeagents.DemoCase)
	if err != nil {
		return err
	}
	if err := d.environment(fixture.Name); err != nil {
		return err
	}
	if err := fixture.WriteRepo(d.repo); err != nil {
		return err
	}
	if err := demoapp.Write(d.repo); err != nil {
		return errors.Wrap(err, "write the sample app")
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "the café as it was"}} {
		if err := d.git(ctx, io.Discard, args...); err != nil {
			return err
		}
	}
	file := filepath.Join(d.repo, filepath.FromSlash(demoFile))
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, bytes.Replace(data, []byte(demoOld), []byte(demoNew), 1), 0o644); err != nil {
		return err
	}
	d.caption("A sample repository. You were working in it: this edit of yours is not committed")
	return d.git(ctx, d.Stdout, "diff", "-U0")
}

// environment makes the private home and the fake agent, which is this
// program under the agent's name.
func (d *demo) environment(fixture string) error {
	home, bin := filepath.Join(d.dir, "home"), filepath.Join(d.dir, "bin")
	for _, dir := range []string{home, bin} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return errors.Wrap(err, "find this program")
	}
	if err := sameProgram(self, filepath.Join(bin, "claude")); err != nil {
		return errors.Wrap(err, "make the fake agent")
	}
	config := filepath.Join(home, "gitconfig")
	if err := os.WriteFile(config, []byte("[user]\n\tname = You\n\temail = you@example.com\n"), 0o600); err != nil {
		return err
	}
	token := make([]byte, 32)
	rand.Read(token) // never fails
	d.client = &remote{token: hex.EncodeToString(token), http: &http.Client{Transport: &http.Transport{}}}
	d.env = []string{
		"PATH=" + lookupEnv(d.Environ, "PATH"), "HOME=" + home, "USERPROFILE=" + home, "TMPDIR=" + d.dir,
		"XDG_STATE_HOME=" + filepath.Join(home, "state"), "XDG_CONFIG_HOME=" + filepath.Join(home, "config"),
		"GIT_CONFIG_GLOBAL=" + config, "GIT_CONFIG_NOSYSTEM=1", "GIT_PAGER=cat", "NO_COLOR=1",
		"SYSTEMROOT=" + lookupEnv(d.Environ, "SYSTEMROOT"), // Windows programs do not start without it
		"IS_SANDBOX=1", fakeagents.EnvFixture + "=" + fixture, "SLIDEWRITE_TOKEN=" + d.client.token,
		"SLIDEWRITE_CLAUDE_BIN=" + filepath.Join(bin, "claude"+executableSuffix), "SLIDEWRITE_PORT=0", "SLIDEWRITE_REPO=" + d.repo,
		// Nothing is there: the demo starts no agent of the user's.
		"SLIDEWRITE_CODEX_BIN=" + filepath.Join(bin, "codex"), "SLIDEWRITE_GROK_BIN=" + filepath.Join(bin, "grok"),
	}
	knobs := "misfit=skip" // who asks twice is told the same
	if d.terminal(d.Stdout) || d.show.program != "" && !d.show.headless {
		knobs += ",pace=80ms" // so that people see it stream
	}
	d.env = append(d.env, fakeagents.EnvKnobs+"="+knobs)
	return nil
}

// sameProgram makes path this program: a link where links can be made.
func sameProgram(self, path string) error {
	if runtime.GOOS != "windows" {
		return os.Symlink(self, path)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	return os.WriteFile(path+executableSuffix, data, 0o755)
}

// git runs git as the user would.
func (d *demo) git(ctx context.Context, out io.Writer, args ...string) error {
	if d.colours(out) { // it would look at the pipe between
		args = append([]string{"-c", "color.ui=always"}, args...)
	}
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", d.repo}, args...)...)
	var stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = d.env, out, &stderr
	return errors.Wrapf(cmd.Run(), "git %s: %s", strings.Join(args, " "), strings.TrimSpace(stderr.String()))
}

// serve starts the shim and waits until it has said its address.
func (d *demo) serve(context.Context) error {
	d.caption("slidewrite, in that repository")
	self, err := os.Executable()
	if err != nil {
		return err
	}
	d.shim = exec.Command(self, "serve")
	d.shim.Args[0] = "slidewrite"
	d.shim.Env, d.shim.Stderr = d.env, &d.shimErr
	out, err := d.shim.StdoutPipe()
	if err != nil {
		return err
	}
	if d.wait, err = startBound(d.shim); err != nil {
		return errors.Wrap(err, "start the shim")
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		name, value, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		switch name {
		case "listening":
			d.client.base = "http://" + strings.TrimSpace(value)
		case "connect":
			d.link, _, _ = strings.Cut(strings.TrimSpace(value), " ")
		}
		if !d.leavesOut(name, value) {
			fmt.Fprintln(d.Stdout, lines.Text())
		}
		if name == "stop" { // the last line of the greeting
			return nil
		}
	}
	if err := lines.Err(); err != nil {
		return errors.Wrap(err, "read what the shim says")
	}
	return errors.Newf("the shim ended: %s", strings.TrimSpace(d.shimErr.String()))
}

// run carries the prompt out and shows it.
func (d *demo) run(ctx context.Context) error {
	d.caption("slidewrite design %q", demoPrompt)
	return d.design(ctx, d.client, designBody{Prompt: demoPrompt, AutoCommit: true}, false)
}

// look shows what the commit holds and what it left alone.
func (d *demo) look(ctx context.Context) error {
	d.caption("The commit holds the agent's lines")
	if err := d.git(ctx, d.Stdout, "show", "-U0", "--format=%s", "HEAD"); err != nil {
		return err
	}
	d.caption("Your own edit, in the same file, is still yours and still not committed")
	return d.git(ctx, d.Stdout, "diff", "-U0")
}

// undo takes the run back.
func (d *demo) undo(ctx context.Context) error {
	d.caption("slidewrite undo")
	if err := d.app.undo(ctx, d.client, "", false); err != nil {
		return err
	}
	d.caption("The agent's lines are gone again, your edit is not")
	if err := d.git(ctx, d.Stdout, "log", "--format=%s"); err != nil {
		return err
	}
	return d.git(ctx, d.Stdout, "diff", "-U0")
}

// stopWait is how long the shim has to end; it stops runs within 5 s.
const stopWait = 10 * time.Second

// leavesOut are lines of the greeting that are no part of the story: agents
// that the demo has not, and in a browser how to connect one.
func (d *demo) leavesOut(name, value string) bool {
	switch name {
	case "agent":
		return !strings.Contains(value, "Anthropic")
	case "connect", "stop":
		return d.show.program != ""
	}
	return false
}

// clear ends what was started and removes the folder.
func (d *demo) clear() (err error) {
	if d.browser != nil {
		err = d.browser.Close()
	}
	if d.served != nil {
		err = errors.CombineErrors(err, d.served.Close())
	}
	return errors.CombineErrors(err, d.clearShim())
}

// clearShim stops the shim and removes the folder.
func (d *demo) clearShim() error {
	if d.shim != nil && d.shim.Process != nil {
		if d.shim.Process.Signal(os.Interrupt) != nil { // Windows cannot
			d.shim.Process.Kill()
		}
		timer := time.AfterFunc(stopWait, func() { d.shim.Process.Kill() })
		defer timer.Stop()
		if err := d.wait(); err != nil && runtime.GOOS != "windows" {
			return errors.CombineErrors(errors.Wrapf(err, "the shim ended: %s", strings.TrimSpace(d.shimErr.String())), removeDemo(d.dir))
		}
	}
	return removeDemo(d.dir)
}
