package browser

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/cockroachdb/errors"
)

// Page is a script context that was attached to: a tab's page, a panel, a
// worker.
type Page struct {
	conn    *Conn
	session string
}

// Eval evaluates a JavaScript expression, waits for it if it is a promise, and
// decodes its value into value, unless that is nil.
func (p *Page) Eval(ctx context.Context, expr string, value any) error {
	var got struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		ExceptionDetails *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	params := map[string]any{"expression": expr, "awaitPromise": true, "returnByValue": true}
	switch err := p.conn.Call(ctx, p.session, "Runtime.evaluate", params, &got); {
	case err != nil:
		return err
	case got.ExceptionDetails != nil:
		return errThrown{errors.Newf("%s %s", got.ExceptionDetails.Text, got.ExceptionDetails.Exception.Description)}
	case value == nil:
		return nil
	case len(got.Result.Value) == 0:
		return errors.New("the page says undefined")
	}
	return json.Unmarshal(got.Result.Value, value)
}

// errThrown is what a script threw.
type errThrown struct{ error }

// is asks once whether a JavaScript expression, or the promise that it is, is
// true.
func (p *Page) is(ctx context.Context, expr string) (ok bool, err error) {
	err = p.Eval(ctx, "(async () => !!(await ("+expr+")))()", &ok)
	return ok, err
}

// Await waits until a JavaScript expression comes true. What it throws, on a
// page that is just being loaded, counts as not yet.
func (p *Page) Await(ctx context.Context, what, expr string) error {
	var last error
	err := until(ctx, func(ctx context.Context) (bool, error) {
		ok, err := p.is(ctx, expr)
		if errors.HasType(err, errThrown{}) {
			last, err = err, nil
		}
		return ok, err
	})
	return waited(what, err, last)
}

// spot is the middle of the only element of a selector, once it is at rest.
const spot = `(async (all) => {
	if (all.length !== 1) return null;
	all[0].scrollIntoView({ block: "nearest", behavior: "instant" });
	const at = () => { const b = all[0].getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2, b.width, b.height]; };
	const before = at();
	await new Promise((next) => requestAnimationFrame(() => setTimeout(next, 20)));
	const now = at();
	return String(before) === String(now) && now[2] > 0 && now[3] > 0 && !all[0].disabled ? now.slice(0, 2) : null;
})([...document.querySelectorAll(SELECTOR)])`

// Click clicks the only element of a selector, once it can be.
func (p *Page) Click(ctx context.Context, selector string) error {
	var at []float64
	expr, err := json.Marshal(selector)
	if err != nil {
		return err
	}
	err = until(ctx, func(ctx context.Context) (bool, error) {
		err := p.Eval(ctx, strings.Replace(spot, "SELECTOR", string(expr), 1), &at)
		return len(at) == 2, err
	})
	if err != nil {
		return errors.Wrapf(err, "wait for %s", selector)
	}
	return p.ClickAt(ctx, at[0], at[1])
}

// ClickAt clicks a point.
func (p *Page) ClickAt(ctx context.Context, x, y float64) error {
	for _, typ := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		params := map[string]any{"type": typ, "x": x, "y": y}
		if typ != "mouseMoved" {
			params["button"], params["clickCount"] = "left", 1
		}
		if err := p.conn.Call(ctx, p.session, "Input.dispatchMouseEvent", params, nil); err != nil {
			return err
		}
	}
	return nil
}

// MoveTo moves the mouse.
func (p *Page) MoveTo(ctx context.Context, x, y float64) error {
	return p.conn.Call(ctx, p.session, "Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": x, "y": y}, nil)
}

// Type writes text into what has the focus.
func (p *Page) Type(ctx context.Context, text string) error {
	return p.conn.Call(ctx, p.session, "Input.insertText", map[string]string{"text": text}, nil)
}

// Go loads an address.
func (p *Page) Go(ctx context.Context, url string) error {
	var gone struct{ ErrorText string }
	err := p.conn.Call(ctx, p.session, "Page.navigate", map[string]string{"url": url}, &gone)
	if err == nil && gone.ErrorText != "" {
		err = errors.Newf("open %s: %s", url, gone.ErrorText)
	}
	return err
}
