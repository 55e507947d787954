// Package browser starts a Chromium with a profile of its own and drives it by
// the DevTools protocol over a pipe: as much of it as `slidewrite demo` needs.
// Nothing listens on a port for it, and what it is told is on no command line.
//
//	find.go     where a browser is
//	conn.go     messages over the pipe
//	browser.go  its process; targets, and the extension
//	page.go     what is done in a page
//
// Flow: Find → Start → LoadExtension → Attach → Eval, Click, Type → Close.
package browser

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// Patience is how long a fact may take to come true.
const Patience = 20 * time.Second

// closeWait is how long a browser has to end when it was asked to.
const closeWait = 5 * time.Second

// flags of every browser. What it would fetch or ask by itself is off.
var flags = []string{
	"--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check", "--disable-background-networking",
	"--disable-component-update", "--disable-sync", "--disable-quic", "--disable-breakpad", "--disable-dev-shm-usage",
	"--password-store=basic", "--use-mock-keychain", "--disable-search-engine-choice-screen",
	"--disable-features=Translate,OptimizationHints,MediaRouter", "--window-size=1400,900",
}

// Options say how to start one.
type Options struct {
	Program  string   // see Find
	Profile  string   // folder that it may make and fill
	Environ  []string // KEY=VALUE
	Headless bool     // without a window
	URL      string   // of its first tab
}

// Browser is one that runs.
type Browser struct {
	*Conn
	cmd   *exec.Cmd
	pipes []*os.File
	said  tail
	gone  chan struct{} // closed when its process was waited for
}

// Start starts a browser. Close must be called.
func Start(o Options) (*Browser, error) {
	b := &Browser{gone: make(chan struct{})}
	b.cmd = exec.Command(o.Program, args(o, os.Getuid())...)
	b.cmd.Env, b.cmd.Stdout, b.cmd.Stderr = o.Environ, &b.said, &b.said
	b.cmd.WaitDelay = closeWait // for what it left behind with its stderr
	apart(b.cmd)
	theirs, err := b.pipe()
	if err != nil {
		return nil, err
	}
	err = b.cmd.Start()
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		b.release()
		return nil, errors.Wrapf(err, "start %s", o.Program)
	}
	go func() {
		defer close(b.gone)
		_ = b.cmd.Wait() // how it ends says nothing
	}()
	b.Conn = NewConn(b.pipes[0], b.pipes[1])
	return b, nil
}

// args is the command line. A profile of root's has no sandbox to be had.
func args(o Options, uid int) []string {
	all := append(slices.Clone(flags), "--user-data-dir="+o.Profile)
	if !strings.Contains(strings.ToLower(filepath.Base(o.Program)), "chromium") {
		// Branded ones load no extension over the pipe without.
		all = append(all, "--enable-unsafe-extension-debugging")
	}
	if o.Headless {
		all = append(all, "--headless=new", "--disable-gpu")
	}
	if uid == 0 {
		all = append(all, "--no-sandbox")
	}
	return append(all, o.URL)
}

// pipe makes the browser's descriptors 3, to read from, and 4, to write to;
// theirs are its ends.
func (b *Browser) pipe() (theirs []*os.File, err error) {
	commands, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	in, answers, err := os.Pipe()
	if err != nil {
		commands.Close()
		out.Close()
		return nil, err
	}
	b.pipes = []*os.File{in, out}
	b.cmd.ExtraFiles = []*os.File{commands, answers}
	return b.cmd.ExtraFiles, nil
}

func (b *Browser) release() {
	for _, f := range b.pipes {
		f.Close()
	}
}

// Close ends the browser: it is asked, then made to. When it returns nothing
// of it runs.
func (b *Browser) Close() error {
	defer b.release()
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	_ = b.Call(ctx, "", "Browser.close", nil, nil) // it may have ended
	select {
	case <-b.gone:
		return nil
	case <-time.After(closeWait):
	}
	kill(b.cmd.Process)
	select {
	case <-b.gone:
		return nil
	case <-time.After(2 * closeWait):
		return errors.Newf("the browser, pid %d, does not end", b.cmd.Process.Pid)
	}
}

// Complaint is the line of what it said on its terminal that most likely tells
// why it ended; when it said nothing, how it did.
func (b *Browser) Complaint() string {
	said := complaint(b.said.String())
	if said == "" && b.hasEnded() {
		said = b.cmd.ProcessState.String()
	}
	return said
}

func (b *Browser) hasEnded() bool {
	select {
	case <-b.gone:
		return true
	default:
		return false
	}
}

// logged is what Chromium puts before a line that it logs, with the file's name.
var logged = lazyregexp.New(`^\[[\d:/.]+:[A-Z]+:([^\]]*)\] *`)

// complaint is the first line that is not about D-Bus: without a desktop every
// Chromium complains of that, and lives.
func complaint(said string) string {
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		in := logged.FindStringSubmatch(line)
		if line == "" || in != nil && strings.HasPrefix(in[1], "dbus/") {
			continue
		}
		if in != nil {
			line = line[len(in[0]):]
		}
		return line
	}
	return ""
}

// Product is its name and version.
func (b *Browser) Product(ctx context.Context) (string, error) {
	var v struct{ Product string }
	err := b.Call(ctx, "", "Browser.getVersion", nil, &v)
	return strings.Replace(v.Product, "/", " ", 1), err
}

// LoadExtension loads an extension from a folder and returns its id.
func (b *Browser) LoadExtension(ctx context.Context, dir string) (string, error) {
	var loaded struct{ ID string }
	err := b.Call(ctx, "", "Extensions.loadUnpacked", map[string]string{"path": dir}, &loaded)
	return loaded.ID, err
}

// TriggerAction clicks an extension's button in the toolbar of a tab.
func (b *Browser) TriggerAction(ctx context.Context, extension string, tab Target) error {
	return b.Call(ctx, "", "Extensions.triggerAction", map[string]string{"id": extension, "targetId": tab.ID}, nil)
}

// Target is something that can be attached to.
type Target struct {
	ID   string `json:"targetId"`
	Type string `json:"type"` // page, tab, service_worker, …
	URL  string `json:"url"`
}

// Await waits for a target of a type whose address begins with url.
func (b *Browser) Await(ctx context.Context, typ, url string) (Target, error) {
	var found Target
	err := until(ctx, func(ctx context.Context) (bool, error) {
		var all struct{ TargetInfos []Target }
		if err := b.Call(ctx, "", "Target.getTargets", map[string]any{"filter": []struct{}{{}}}, &all); err != nil {
			return false, err
		}
		i := slices.IndexFunc(all.TargetInfos, func(t Target) bool { return t.Type == typ && strings.HasPrefix(t.URL, url) })
		if i >= 0 {
			found = all.TargetInfos[i]
		}
		return i >= 0, nil
	})
	return found, errors.Wrapf(err, "wait for a %s %s", typ, url)
}

// Attach waits for a target of a type whose address begins with url, and
// until a JavaScript expression is true there. Where nothing answers, it is
// tried again from the start.
func (b *Browser) Attach(ctx context.Context, typ, url, what, expr string) (*Page, error) {
	var p *Page
	var last error
	err := until(ctx, func(ctx context.Context) (ok bool, err error) {
		if p == nil {
			if p, err = b.attach(ctx, typ, url); err != nil {
				return false, err
			}
		}
		ok, err = p.is(ctx, expr)
		var refused *Refused
		switch {
		case errors.As(err, &refused), errors.Is(err, errAskWait):
			b.detach(p)
			p, last = nil, err
			return false, nil
		case errors.HasType(err, errThrown{}):
			last = err
			return false, nil
		}
		return ok, err
	})
	return p, waited(what, err, last)
}

func (b *Browser) attach(ctx context.Context, typ, url string) (*Page, error) {
	t, err := b.Await(ctx, typ, url)
	if err != nil {
		return nil, err
	}
	var s struct{ SessionID string }
	if err := b.Call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": t.ID, "flatten": true}, &s); err != nil {
		return nil, err
	}
	return &Page{conn: b.Conn, session: s.SessionID}, nil
}

// detach lets go of a page, which may have gone.
func (b *Browser) detach(p *Page) {
	ctx, cancel := context.WithTimeout(context.Background(), askWait)
	defer cancel()
	_ = b.Call(ctx, "", "Target.detachFromTarget", map[string]string{"sessionId": p.session}, nil)
}

// waited is the end of waiting for something; last is what went wrong when it
// was looked for last.
func waited(what string, err, last error) error {
	if err != nil && last != nil {
		err = errors.Wrapf(err, "%v", last)
	}
	return errors.Wrapf(err, "wait for %s", what)
}

// errPatience is the end of waiting.
var errPatience = errors.Newf("waited %v in vain", Patience)

// askWait is how long one question may take: a page that goes away while it is
// asked may never answer.
const askWait = time.Second

// errAskWait is the end of one question.
var errAskWait = errors.New("no answer")

// until asks for a fact until it is one, or cannot be asked for.
func until(ctx context.Context, fact func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, Patience, errPatience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		once, done := context.WithTimeoutCause(ctx, askWait, errAskWait)
		ok, err := fact(once)
		done()
		if ok || err != nil && !errors.Is(err, errAskWait) && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// tailSize is how much of what a browser says is kept, in bytes.
const tailSize = 2000

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-tailSize):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := t.text
	if len(text) == tailSize { // the line it begins with may be cut
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return string(bytes.TrimSpace(text))
}
