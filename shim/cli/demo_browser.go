package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/cockroachdb/errors"
	urfave "github.com/urfave/cli/v3"

	"github.com/slidewrite/slidewrite/extension"
	"github.com/slidewrite/slidewrite/shim/browser"
	"github.com/slidewrite/slidewrite/shim/demoapp"
	"github.com/slidewrite/slidewrite/shim/server"
)

// demoShow is how the demo is shown.
type demoShow struct {
	program  string // the browser, "" = in the terminal
	why, fix string // it is not in a browser, and what would cure that; "" = as was asked for
	autoplay bool
	headless bool
}

// demoShow reads the flags, and looks for a browser that can be used.
func (a *app) demoShow(cmd *urfave.Command) (demoShow, error) {
	show := demoShow{autoplay: cmd.Bool("autoplay"), headless: cmd.Bool("headless")}
	named := cmd.String("browser")
	switch {
	case show.headless && !show.autoplay:
		return show, usage("pass --autoplay, too", "%s shows nothing to anybody without --autoplay", a.source("headless"))
	case cmd.Bool("terminal") && show.autoplay:
		return show, usage("leave one of them out", "%s and %s exclude each other", a.source("terminal"), a.source("autoplay"))
	case cmd.Bool("terminal"):
		return show, nil
	case named != "":
		path, err := exec.LookPath(named)
		if err != nil {
			return show, usage("name the program of a Chrome or Chromium, or leave it out", "%s: %v", a.source("browser"), err)
		}
		if show.program, err = filepath.Abs(path); err != nil {
			return show, err
		}
	default:
		show.program = browser.Find(a.Environ)
	}
	switch {
	case runtime.GOOS == "windows":
		show.why, show.fix = "The demo in a browser does not run on Windows yet", "use macOS or Linux, or see it here: slidewrite demo --terminal"
	case show.program == "":
		show.why, show.fix = "No Chrome or Chromium was found", "install one, or name it: slidewrite demo --browser PROGRAM"
	case !show.headless && runtime.GOOS == "linux" && lookupEnv(a.Environ, "DISPLAY") == "" && lookupEnv(a.Environ, "WAYLAND_DISPLAY") == "":
		show.why, show.fix = "There is no display for a browser", noWindow
	default:
		return show, nil
	}
	show.program = ""
	if show.autoplay {
		return show, errors.WithHint(errors.New(strings.ToLower(show.why[:1])+show.why[1:]), show.fix)
	}
	return show, nil
}

// serveApp serves the sample app. The shim is told its origin, for a browser
// that is paired by hand.
func (d *demo) serveApp(context.Context) error {
	var err error
	if d.served, err = demoapp.Serve(d.repo); err != nil {
		return err
	}
	d.env = append(d.env, "SLIDEWRITE_ALLOWED_ORIGIN="+d.served.URL)
	return nil
}

// open starts the browser, with the extension in it, paired, and the app in
// its tab with the panel beside it.
func (d *demo) open(ctx context.Context) error {
	d.caption("The app, in a browser of its own: yours is not touched")
	dir := filepath.Join(d.dir, "extension")
	if _, err := extension.Write(dir, buildVersion().Version); err != nil {
		return err
	}
	var err error
	d.browser, err = browser.Start(browser.Options{
		Program: d.show.program, Profile: filepath.Join(d.dir, "profile"), Environ: d.browserEnv(), Headless: d.show.headless, URL: "about:blank",
	})
	if err != nil {
		return d.notStarted(err)
	}
	product, err := d.browser.Product(ctx)
	if err == nil {
		d.tab, err = d.browser.Attach(ctx, "page", "about:blank", "its first tab", "true")
	}
	if err != nil {
		return d.notStarted(err)
	}
	d.line("browser", "%s", product)
	d.line("app", "%s", d.served.URL)
	lost := d.extend(ctx, dir)
	if lost != nil && (d.show.autoplay || errors.Is(lost, browser.ErrEnded)) {
		return d.cannotBrowse(lost)
	}
	if err := d.openApp(ctx); err != nil {
		return d.cannotBrowse(err)
	}
	if lost != nil {
		d.byHand(lost, dir)
		return nil
	}
	if err := d.openPanel(ctx); err != nil && (d.show.autoplay || errors.Is(err, browser.ErrEnded)) {
		return d.cannotBrowse(err)
	} else if err != nil {
		d.line("panel", "press the Slide Write button in the toolbar, or Ctrl+Shift+E")
		return nil
	}
	d.line("panel", "beside it, connected to the shim")
	return nil
}

// noWindow shows the demo without a display.
const noWindow = "slidewrite demo --autoplay --headless"

// unstarted is a browser that did not come up.
type unstarted struct {
	error
	why, fix string // for who goes on without it
}

func (u *unstarted) Unwrap() error { return u.error }

// notStarted is the end of a browser before it had a tab.
func (d *demo) notStarted(err error) error {
	reason := errors.UnwrapAll(err).Error()
	if d.browser != nil {
		if cannot := d.browser.Close(); cannot != nil {
			return cannot
		}
		if said := d.browser.Complaint(); errors.Is(err, browser.ErrEnded) && said != "" {
			reason = said
		}
	}
	u := &unstarted{error: d.cannotBrowse(err), fix: "name another one: slidewrite demo --browser PROGRAM"}
	d.browser = nil
	if strings.Contains(reason, "DISPLAY") {
		u.fix = noWindow
	}
	u.why = fmt.Sprintf("%s did not start (%s)", filepath.Base(d.show.program), printable(oneLine(reason, 100)))
	return u
}

// cannotBrowse is the end of a browser that did not do what it should.
func (d *demo) cannotBrowse(err error) error {
	if d.browser != nil && errors.Is(err, browser.ErrEnded) {
		if said := d.browser.Complaint(); said != "" {
			err = errors.Newf("%v: %s", err, oneLine(said, 200))
		}
	}
	return errors.WithHint(errors.Wrap(err, d.show.program), "name another browser with --browser, or see it without one: slidewrite demo --terminal")
}

// browserEnv is the user's environment without what the browser has no need
// to know, and with a home and a folder for temporary files of its own where
// the system has the display elsewhere.
func (d *demo) browserEnv() []string {
	own := map[string]string{}
	if runtime.GOOS == "linux" {
		home := filepath.Join(d.dir, "home")
		own["HOME"] = home
		for _, name := range []string{"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
			own[name] = ""
		}
		if len(d.dir) < 50 { // the path of its socket there has at most 107 bytes
			own["TMPDIR"] = d.dir
		}
		if lookupEnv(d.Environ, "XAUTHORITY") == "" {
			own["XAUTHORITY"] = filepath.Join(lookupEnv(d.Environ, "HOME"), ".Xauthority")
		}
	}
	var env []string
	for _, kv := range d.Environ {
		name, _, _ := strings.Cut(kv, "=")
		if _, ours := own[name]; !ours && !strings.HasPrefix(name, "SLIDEWRITE_") {
			env = append(env, kv)
		}
	}
	for name, value := range own {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// extend loads the extension and pairs it: what it would have asked the shim
// for, it is given.
func (d *demo) extend(ctx context.Context, dir string) error {
	id, err := d.browser.LoadExtension(ctx, dir)
	if err != nil {
		return err
	}
	if id != server.ExtensionID {
		return errors.Newf("the extension has the id %s, the shim answers %s", id, server.ExtensionID)
	}
	// A page of its own and not its worker: who attaches to one that is just
	// coming up may never be answered (Chromium 156).
	if err := d.tab.Go(ctx, extensionPage("options/options.html")); err != nil {
		return err
	}
	if err := d.tab.Await(ctx, "the extension", `(await chrome.sidePanel.getPanelBehavior()).openPanelOnActionClick`); err != nil {
		return err
	}
	settings, err := json.Marshal(map[string]any{"settings": map[string]any{
		"version": 1, "global": struct{}{},
		"origins": map[string]any{d.served.URL: map[string]any{"shimUrl": d.client.base, "token": d.client.token, "project": filepath.Base(d.repo)}},
	}})
	if err != nil {
		return err
	}
	return d.tab.Eval(ctx, fmt.Sprintf("chrome.storage.local.set(%s)", settings), nil)
}

// extensionPage is the address of a page of the extension.
func extensionPage(path string) string {
	return "chrome-extension://" + server.ExtensionID + "/" + path
}

// openApp loads the app in the browser's first tab, now that the extension is
// there before it.
func (d *demo) openApp(ctx context.Context) error {
	if err := d.tab.Go(ctx, d.served.URL); err != nil {
		return err
	}
	return d.tab.Await(ctx, "the app", `document.readyState === "complete" && document.querySelector("[data-testid=new]")`)
}

// openPanel presses the extension's button in the toolbar.
func (d *demo) openPanel(ctx context.Context) error {
	tab, err := d.browser.Await(ctx, "tab", d.served.URL)
	if err != nil {
		return err
	}
	if err := d.browser.TriggerAction(ctx, server.ExtensionID, tab); err != nil {
		return err
	}
	d.panel, err = d.browser.Attach(ctx, "page", extensionPage("panel/"), "the panel to be connected", `document.readyState === "complete" && innerWidth > 0 &&
		document.querySelector('.tab:not([hidden]) [data-sw="composer"]') && !document.querySelector('.tab:not([hidden]) [data-sw="state"]')`)
	return err
}

// byHand says what to do where the browser does not let the extension be
// loaded.
func (d *demo) byHand(why error, dir string) {
	d.warn("the browser did not load the extension by itself: %v", why)
	fmt.Fprintf(d.Stdout, "\nIn the browser that has just opened:\n"+
		"  1. open chrome://extensions and switch on Developer mode, at the top right\n"+
		"  2. press Load unpacked\n"+
		"  3. choose %s\n"+
		"Then open %s there, and reload the app.\n", printable(dir), printable(d.link))
}

// stay waits until the user has seen enough.
func (d *demo) stay(ctx context.Context) error {
	d.caption("Now you")
	fmt.Fprintf(d.Stdout, "Press the pick button below the panel's message field, click \"New order\" in the app, and write: %s\n"+
		"The agent is a recording: whatever you ask, it makes that one change. Undo is on the card that comes with it.\n"+
		"Ctrl-C, or closing the browser, ends everything and removes it.\n", demoPrompt)
	d.stayed = true
	select {
	case <-ctx.Done():
	case <-d.browser.Ended():
	}
	return nil
}

// What the page shows of the button, and what it should.
const (
	demoButton = "[data-testid=new]"
	demoColour = `getComputedStyle(document.querySelector("[data-testid=new]")).backgroundColor`
	demoBlue   = "rgb(37, 99, 235)"
	demoGreen  = "rgb(22, 163, 74)"
)

// play does what a user would, and says what it sees.
func (d *demo) play(ctx context.Context) error {
	d.caption("Pick, ask, look")
	if err := d.ask(ctx); err != nil {
		return d.cannotBrowse(err)
	}
	return d.watch(ctx)
}

// ask picks the button, writes what should change, and sends it.
func (d *demo) ask(ctx context.Context) error {
	var colour string
	if err := d.tab.Eval(ctx, `window.sameDocument = true, `+demoColour, &colour); err != nil {
		return err
	}
	if colour != demoBlue {
		return errors.Newf("the button is %s before anything happened, not %s", colour, demoBlue)
	}
	d.line("before", "the button is %s", colour)
	const pick = `.tab:not([hidden]) [data-sw="pick"]`
	armed := func(yes bool) string {
		return fmt.Sprintf(`document.querySelector('%s').getAttribute("aria-pressed") === "%v"`, pick, yes)
	}
	const chip = `.tab:not([hidden]) .composer .chip`
	for _, step := range []func() error{
		func() error { return d.panel.Click(ctx, pick) },
		func() error { return d.panel.Await(ctx, "the picker", armed(true)) },
		func() error { return d.tab.Click(ctx, demoButton) },
		func() error {
			return d.panel.Await(ctx, "the pick", `document.querySelectorAll('`+chip+`').length === 1`)
		},
		func() error {
			var said string
			err := d.panel.Eval(ctx, `document.querySelector('`+chip+`').innerText.replace(/\s+/g, " ").trim()`, &said)
			d.line("picked", "%s", said)
			return err
		},
		func() error { return d.panel.Click(ctx, pick) },
		func() error { return d.panel.Await(ctx, "the end of the picker", armed(false)) },
		func() error { return d.tab.MoveTo(ctx, 1, 1) }, // the button has another colour below the mouse
		func() error { return d.panel.Click(ctx, `.tab:not([hidden]) [data-sw="composer"]`) },
		func() error { return d.panel.Type(ctx, demoPrompt) },
		func() error { return d.panel.Click(ctx, `.tab:not([hidden]) [data-sw="send"]`) },
	} {
		if err := errors.CombineErrors(step(), d.breathe(ctx)); err != nil {
			return err
		}
	}
	d.line("asked", "%s", demoPrompt)
	return nil
}

// watch waits for the commit and for the colour.
func (d *demo) watch(ctx context.Context) error {
	const commit = `document.querySelector(".tab:not([hidden]) .commit code")`
	if err := d.panel.Await(ctx, "the commit", commit); err != nil {
		return d.cannotBrowse(err)
	}
	if err := d.tab.Await(ctx, "the page to show the change", demoColour+` === "`+demoGreen+`"`); err != nil {
		return d.cannotBrowse(err)
	}
	var sha string
	var same bool
	if err := d.panel.Eval(ctx, commit+".textContent", &sha); err != nil {
		return d.cannotBrowse(err)
	}
	if err := d.tab.Eval(ctx, `window.sameDocument === true`, &same); err != nil {
		return d.cannotBrowse(err)
	}
	how := "the page was loaded anew"
	if same {
		how = "its stylesheet was swapped in place"
	}
	d.line("after", "the button is %s: %s", demoGreen, how)
	d.line("committed", "%s", sha)
	if err := d.git(ctx, d.Stdout, "show", "--stat", "--format=%s", sha); err != nil {
		return err
	}
	return d.breathe(ctx)
}

// breathe lets who looks on see what has happened.
func (d *demo) breathe(ctx context.Context) error {
	if d.show.headless {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(700 * time.Millisecond):
		return nil
	}
}

// removeDemo removes the demo's folder. What a browser left running for a
// moment may still write there.
func removeDemo(dir string) error {
	var err error
	for range 100 {
		if err = os.RemoveAll(dir); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.Wrap(err, "remove the demo's folder")
}
