package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Sight names an element as a person finds it: by its accessible role and
// name, "button", "Send"; or, with an empty role, by a CSS selector.
type Sight struct {
	Role, Name string
	nth        int // with a selector: which, from 0; -1: there must be one
}

// Role names an element by role and accessible name.
func Role(role, name string) Sight { return Sight{role, name, -1} }

// CSS names the only element of a selector, or the nth.
func CSS(selector string, nth ...int) Sight {
	return Sight{"", selector, append(nth, -1)[0]}
}

func (s Sight) String() string {
	if s.Role == "" {
		return s.Name
	}
	return fmt.Sprintf("%s %q", s.Role, s.Name)
}

// find returns the only element in sight that can be used: not hidden, not
// disabled.
func (p *Page) find(ctx context.Context, s Sight) (runtime.RemoteObjectID, error) {
	var objects []runtime.RemoteObjectID
	if s.Role == "" {
		res, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: fmt.Sprintf(
			"((all, nth) => nth < 0 && all.length !== 1 ? all.length : all[Math.max(nth, 0)] ?? all.length)([...document.querySelectorAll(%s)], %d)", js(s.Name), s.nth)})
		if err != nil {
			return "", err
		}
		if res.Result.ObjectID == "" {
			return "", fmt.Errorf("there are %s of it", res.Result.Value)
		}
		objects = append(objects, res.Result.ObjectID)
	} else {
		ids, err := p.byRole(ctx, s)
		if err != nil {
			return "", err
		}
		for _, id := range ids {
			res, err := chromedp.Call(ctx, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: id})
			if err != nil {
				return "", err
			}
			objects = append(objects, res.Object.ObjectID)
		}
	}
	if len(objects) != 1 {
		return "", fmt.Errorf("there are %d of it", len(objects))
	}
	return objects[0], nil
}

// byRole asks the accessibility tree.
func (p *Page) byRole(ctx context.Context, s Sight) ([]cdp.BackendNodeID, error) {
	yes := int64(0)
	root, err := chromedp.Call(ctx, dom.GetDocument, dom.GetDocumentParams{Depth: &yes})
	if err != nil {
		return nil, err
	}
	res, err := chromedp.Call(ctx, accessibility.QueryAXTree, accessibility.QueryAXTreeParams{
		BackendNodeID: root.Root.BackendNodeID, Role: s.Role, AccessibleName: s.Name,
	})
	if err != nil {
		return nil, err
	}
	var ids []cdp.BackendNodeID
	for _, n := range res.Nodes {
		disabled := slices.ContainsFunc(n.Properties, func(pr *accessibility.Property) bool {
			return pr.Name == accessibility.PropertyNameDisabled && string(pr.Value.Value) == "true"
		})
		if !n.Ignored && !disabled {
			ids = append(ids, n.BackendDOMNodeID)
		}
	}
	return ids, nil
}

// spot is where an element can be hit: scrolled to, at rest, and not covered.
const spot = `async function () {
	this.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
	const at = () => { const b = this.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; };
	const before = at();
	await new Promise((next) => requestAnimationFrame(() => setTimeout(next)));
	const [x, y, w, h] = at();
	if (String(before) !== String([x, y, w, h])) throw new Error("it moves");
	if (!w || !h) throw new Error("it has no size");
	if (this.disabled) throw new Error("it is disabled");
	const c = [x + w / 2, y + h / 2];
	const hit = this.getRootNode().elementFromPoint(...c);
	if (!hit || !(this.contains(hit) || hit.contains(this) || this.labels && [...this.labels].some((l) => l.contains(hit)))) {
		throw new Error("it is covered by " + (hit ? hit.outerHTML.slice(0, 120) : "nothing that can be hit"));
	}
	return c;
}`

// reach waits until an element can be used, and returns it and its middle.
func (p *Page) reach(s Sight) (runtime.RemoteObjectID, []float64) {
	p.T.Helper()
	var last error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline) && p.ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(p.ctx, patience)
		id, err := p.find(ctx, s)
		if err == nil {
			var at []float64
			at, err = chromedp.Run(ctx, chromedp.CallFunctionOn[[]float64](spot, func(c *runtime.CallFunctionOnParams) {
				yes := true
				c.ObjectID, c.AwaitPromise = id, &yes
			}))
			if err == nil {
				cancel()
				return id, at
			}
		}
		cancel()
		last = err
	}
	p.T.Fatalf("%s: %s cannot be used: %v", p.Name, s, last)
	return "", nil
}

// Click clicks an element with the mouse, once it can be.
func (p *Page) Click(s Sight) {
	p.T.Helper()
	_, at := p.reach(s)
	p.ClickAt(at[0], at[1])
}

// point moves the mouse over an element.
func (p *Page) point(s Sight) {
	p.T.Helper()
	_, at := p.reach(s)
	if _, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: at[0], Y: at[1]}); err != nil {
		p.T.Fatalf("%s: point at %s: %v", p.Name, s, err)
	}
}

// ClickAt clicks a point.
func (p *Page) ClickAt(x, y float64) {
	p.T.Helper()
	for _, typ := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMouseMoved, input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
		params := input.DispatchMouseEventParams{Type: typ, X: x, Y: y}
		if typ != input.DispatchMouseEventTypeMouseMoved {
			params.Button, params.ClickCount = input.MouseButtonLeft, 1
		}
		if _, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, params); err != nil {
			p.T.Fatalf("%s: click at %.0f, %.0f: %v", p.Name, x, y, err)
		}
	}
}

// There waits until an element can be used.
func (p *Page) There(s Sight) {
	p.T.Helper()
	p.reach(s)
}

// Type writes text into what has the focus, as if it were pasted key by key.
func (p *Page) Type(text string) {
	p.T.Helper()
	if _, err := chromedp.Call(p.ctx, input.InsertText, input.InsertTextParams{Text: text}); err != nil {
		p.T.Fatalf("%s: type: %v", p.Name, err)
	}
}

// Fill clicks into a field, empties it and writes text.
func (p *Page) Fill(s Sight, text string) {
	p.T.Helper()
	p.Click(s)
	p.Do(`document.activeElement.select?.()`)
	p.Type(text)
}

// keys are those that a test presses, with their code.
var keys = map[string]struct {
	code int64
	text string
}{
	"Enter": {13, "\r"}, "Escape": {27, ""}, "Tab": {9, ""}, "ArrowUp": {38, ""}, "ArrowDown": {40, ""}, "ArrowLeft": {37, ""}, "ArrowRight": {39, ""}, " ": {32, " "},
	"Shift": {16, ""}, "Home": {36, ""}, "End": {35, ""}, "a": {65, ""}, "v": {86, ""},
}

// Press presses a key, with modifiers before it: "Enter", "Shift+Tab".
func (p *Page) Press(combination string) {
	p.T.Helper()
	parts := strings.Split(combination, "+")
	name := parts[len(parts)-1]
	key, ok := keys[name]
	if !ok {
		p.T.Fatalf("the key %q is not in the table", name)
	}
	var modifiers int64
	for _, m := range parts[:len(parts)-1] {
		modifiers |= map[string]int64{"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}[m]
	}
	code := name
	switch {
	case name == " ":
		code = "Space"
	case len(name) == 1:
		code = "Key" + strings.ToUpper(name)
	}
	down := input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeKeyDown, Modifiers: modifiers, Key: name, Code: code, Text: key.text,
		WindowsVirtualKeyCode: key.code, NativeVirtualKeyCode: key.code,
	}
	if modifiers&^8 != 0 {
		down.Text = ""
	}
	if combination == "Control+v" { // what the window would make of it
		down.Commands = []string{"paste"}
	}
	up := down
	up.Type, up.Text = input.DispatchKeyEventTypeKeyUp, ""
	for _, params := range []input.DispatchKeyEventParams{down, up} {
		if _, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, params); err != nil {
			p.T.Fatalf("%s: press %s: %v", p.Name, combination, err)
		}
	}
}

// Focused is what has the focus: role and accessible name, "button Send".
func (p *Page) Focused() string {
	p.T.Helper()
	res, err := chromedp.Call(p.ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: "document.activeElement"})
	if err != nil {
		p.T.Fatal(err)
	}
	yes := false
	tree, err := chromedp.Call(p.ctx, accessibility.GetPartialAXTree, accessibility.GetPartialAXTreeParams{ObjectID: res.Result.ObjectID, FetchRelatives: &yes})
	if err != nil || len(tree.Nodes) == 0 {
		p.T.Fatalf("%s: what has the focus: %v", p.Name, err)
	}
	n := tree.Nodes[0]
	word := func(v *accessibility.Value) string {
		if v == nil {
			return ""
		}
		return strings.Trim(string(v.Value), `"`)
	}
	return strings.TrimSpace(word(n.Role) + " " + word(n.Name))
}

// Look is how a page is drawn.
type Look struct {
	Dark  bool
	Width int64 // 0 = as wide as it is
}

func (l Look) String() string {
	s := "light"
	if l.Dark {
		s = "dark"
	}
	if l.Width > 0 {
		s += fmt.Sprintf("-%d", l.Width)
	}
	return s
}

// Wear makes the page look so, as the system and the window would.
func (p *Page) Wear(l Look) {
	p.T.Helper()
	scheme := "light"
	if l.Dark {
		scheme = "dark"
	}
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	})
	if err == nil && l.Width > 0 {
		_, err = chromedp.Call(p.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: l.Width, Height: 765, DeviceScaleFactor: 1,
		})
	} else if err == nil {
		_, err = chromedp.Call(p.ctx, emulation.ClearDeviceMetricsOverride, cdp.Empty{})
	}
	if err != nil {
		p.T.Fatalf("%s: %s: %v", p.Name, l, err)
	}
	p.Await(fmt.Sprintf(`matchMedia("(prefers-color-scheme: %s)").matches && (%d === 0 || innerWidth === %d)`, scheme, l.Width, l.Width))
	p.rest()
}
