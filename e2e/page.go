package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Page is something with a script context that a test looks into: a tab, the
// side panel, a page of the extension, its worker.
type Page struct {
	T        testing.TB
	Name     string
	b        *Browser
	ctx      context.Context
	detach   func()
	worker   bool
	gesture  bool // what is evaluated counts as the user's doing
	trouble  *trouble
	reported bool
}

// trouble is what went wrong in a page by itself: exceptions and rejections
// that nobody caught, errors on its console.
type trouble struct {
	mu       sync.Mutex
	said     []string
	expected string
}

func (tr *trouble) listen(ev any) {
	var text string
	switch ev := ev.(type) {
	case *runtime.EventExceptionThrown:
		text = exceptionText(ev.ExceptionDetails)
	case *runtime.EventConsoleAPICalled:
		if ev.Type != runtime.ConsoleAPICalledTypeError && ev.Type != runtime.ConsoleAPICalledTypeAssert {
			return
		}
		var words []string
		for _, arg := range ev.Args {
			words = append(words, objectText(arg))
		}
		text = "console.error: " + strings.Join(words, " ")
	case *cdplog.EventEntryAdded:
		// A request that fails is the page's business, and has a line each.
		if ev.Entry.Level != cdplog.EntryLevelError || ev.Entry.Source == cdplog.EntrySourceNetwork {
			return
		}
		text = fmt.Sprintf("%s: %s (%s)", ev.Entry.Source, ev.Entry.Text, ev.Entry.URL)
	default:
		return
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.said = append(tr.said, text)
}

// take returns what was said, once, but for what a test expects.
func (tr *trouble) take() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	said := slices.DeleteFunc(tr.said, func(text string) bool {
		return tr.expected != "" && strings.Contains(text, tr.expected)
	})
	tr.said = nil
	return said
}

// Expect names a part of what the page may say on its console.
func (p *Page) Expect(part string) {
	p.trouble.mu.Lock()
	defer p.trouble.mu.Unlock()
	p.trouble.expected = part
}

func exceptionText(d *runtime.ExceptionDetails) string {
	text := d.Text
	if d.Exception != nil {
		text += " " + objectText(d.Exception)
	}
	return fmt.Sprintf("%s (%s:%d)", text, d.URL, d.LineNumber+1)
}

func objectText(o *runtime.RemoteObject) string {
	if o.Description != "" {
		return o.Description
	}
	return strings.Trim(string(o.Value), `"`)
}

// attachTo makes a Page of a target that is there.
func (b *Browser) attachTo(name string, id target.ID) *Page {
	b.T.Helper()
	p := b.newPage(name, id)
	if err := chromedp.Do(p.ctx); err != nil {
		p.detach()
		b.T.Fatalf("attach to the %s: %v%s", name, err, b.said)
	}
	b.pages = append(b.pages, p)
	return p
}

// newPage is a Page that attaches when it is first used.
func (b *Browser) newPage(name string, id target.ID) *Page {
	p := &Page{T: b.T, Name: name, b: b, trouble: &trouble{}}
	p.ctx, p.detach = chromedp.NewContext(b.ctx, chromedp.WithTargetID(id), chromedp.WithDetachOnCancel(), chromedp.WithListener(p.trouble.listen))
	return p
}

// report fails the test for each trouble of the page, and shows a page of a
// test that failed.
func (p *Page) report() {
	if p.reported {
		return
	}
	p.reported = true
	for _, text := range p.trouble.take() {
		p.T.Errorf("%s: %s", p.Name, text)
	}
	if p.T.Failed() && !p.worker {
		p.look()
	}
}

// look writes down what a person would see in the page now.
func (p *Page) look() {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText`))
	if err != nil {
		p.T.Logf("%s shows nothing: %v", p.Name, err)
		return
	}
	p.T.Logf("%s shows:\n%.4000s", p.Name, text)
	file := shotPath("failed", strings.ReplaceAll(p.T.Name(), "/", "_")+"_"+p.Name)
	if err := capture(ctx, file); err == nil {
		p.T.Logf("screenshot: %s", file)
	}
}

// forget takes a page out whose target ended as the test wanted it to.
func (p *Page) forget() {
	for _, text := range p.trouble.take() {
		p.T.Errorf("%s: %s", p.Name, text)
	}
	p.reported = true
	p.detach()
}

// Go loads an address and waits for the page's load event.
func (p *Page) Go(url string) {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		p.T.Fatalf("%s: open %s: %v", p.Name, url, err)
	}
}

// Reload loads the page anew, as F5 does.
func (p *Page) Reload() {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Reload()); err != nil {
		p.T.Fatalf("%s: reload: %v", p.Name, err)
	}
}

// Get evaluates a JavaScript expression and decodes its value; a promise is
// waited for.
func Get[V any](p *Page, expr string) V {
	p.T.Helper()
	var v V
	data, err := p.eval(expr)
	if err == nil && len(data) > 0 {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		p.T.Fatalf("%s: %s: %v", p.Name, expr, err)
	}
	return v
}

// Do evaluates a JavaScript expression for what it does.
func (p *Page) Do(expr string) {
	p.T.Helper()
	if _, err := p.eval(expr); err != nil {
		p.T.Fatalf("%s: %s: %v", p.Name, expr, err)
	}
}

func (p *Page) eval(expr string) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	yes := true
	res, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: expr, AwaitPromise: &yes, ReturnByValue: &yes, UserGesture: &p.gesture})
	switch {
	case err != nil:
		return nil, err
	case res.ExceptionDetails != nil:
		return nil, fmt.Errorf("%s", exceptionText(res.ExceptionDetails))
	}
	return json.RawMessage(res.Result.Value), nil
}

// Await waits until a JavaScript expression, or the promise that it is, comes
// true. A page that is just being loaded, where it throws, is asked again.
func (p *Page) Await(expr string) {
	p.T.Helper()
	p.awaitWithin(patience, expr)
}

func (p *Page) awaitWithin(limit time.Duration, expr string) {
	p.T.Helper()
	var last string
	// To ask costs: what does not come true at once is asked for less often.
	pause := 10 * time.Millisecond
	for deadline := time.Now().Add(limit); ; pause = min(pause*5/4, 50*time.Millisecond) {
		data, err := p.eval("(async () => !!(await (" + expr + ")))()")
		if string(data) == "true" {
			return
		}
		last = "it is " + string(data)
		if err != nil {
			last = err.Error()
		}
		if time.Now().After(deadline) || p.ctx.Err() != nil {
			p.T.Fatalf("%s: this did not come true: %s\n%s", p.Name, expr, last)
		}
		time.Sleep(pause)
	}
}

// rest waits until what is seen is what it will stay: two frames were drawn,
// and nothing moves that will come to an end. A page that is not seen draws
// nothing.
func (p *Page) rest() {
	p.T.Helper()
	p.Await(`document.visibilityState !== "visible" || new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(() => next(
		document.getAnimations().every((a) => a.playState !== "running" || a.effect?.getComputedTiming().endTime === Infinity)))))`)
}

// Shot saves a screenshot as e2e/shots/<name>.png.
func (p *Page) Shot(name string) {
	p.T.Helper()
	p.rest()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := capture(ctx, shotPath(name)); err != nil {
		p.T.Fatalf("%s: screenshot %s: %v", p.Name, name, err)
	}
}

func shotPath(parts ...string) string {
	for i, part := range parts {
		parts[i] = strings.NewReplacer(" ", "-").Replace(part)
	}
	return filepath.Join(append([]string{"shots"}, parts...)...) + ".png"
}

func capture(ctx context.Context, file string) error {
	png, err := chromedp.Run(ctx, func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		yes := true
		res, err := cdp.Call(ctx, t, page.CaptureScreenshot, page.CaptureScreenshotParams{OptimizeForSpeed: &yes})
		return res.Data, err
	})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, png, 0o644)
}

// js writes a Go value as a JavaScript literal.
func js(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func has(text, part string) bool { return strings.Contains(text, part) }
