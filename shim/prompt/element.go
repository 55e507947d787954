package prompt

import (
	"math"
	"reflect"
	"strings"

	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// Lengths in characters and numbers of entries that a capture is cut to.
const (
	maxClass  = 500
	maxText   = 120
	maxPath   = 1000 // domPath, files, sources, the frame chain
	maxAttr   = 120
	maxWord   = 100 // tag, role, framework, names of attributes and properties
	maxName   = 200 // id, component names
	maxValue  = 500 // selectors, values of properties
	maxAttrs  = 20
	maxRules  = 12
	maxProps  = 24
	maxStack  = 20
	maxCoords = 1e6 // pixels
)

// Element is one capture: what the user picked, or an image they pasted. Its
// JSON is what the agent sees, members in this order.
type Element struct {
	Tag          string            `json:"tag,omitempty"`
	ID           string            `json:"id,omitempty"`
	Class        string            `json:"class,omitempty"`
	Text         string            `json:"text,omitempty"` // as rendered, white space folded
	DOMPath      string            `json:"domPath,omitempty"`
	Rect         *Rect             `json:"rect,omitempty"`
	Role         string            `json:"role,omitempty"` // computed accessible role
	Name         string            `json:"name,omitempty"` // computed accessible name
	Component    *Component        `json:"component,omitempty"`
	Styles       []Rule            `json:"matchedStyles,omitempty"` // winning rule first
	Attrs        map[string]string `json:"attrs,omitempty"`
	Frame        string            `json:"frame,omitempty"` // chain of frames it is in
	HiddenText   bool              `json:"hiddenText,omitempty"`
	Disabled     bool              `json:"disabled,omitempty"`
	ClosedShadow bool              `json:"closedShadow,omitempty"`
	Clipped      bool              `json:"clipped,omitempty"`
	Repeat       *Repeat           `json:"repeat,omitempty"`
	Click        *Point            `json:"click,omitempty"` // inside a canvas

	Pasted bool  `json:"-"` // an image from the clipboard: no claim about the page
	Shot   *Shot `json:"-"` // nil = no picture
}

// Rect is a box in CSS pixels of the top page.
type Rect struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
	W float64 `json:"w"`
	H float64 `json:"h"`
}

// Point is a place in CSS pixels.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Component is what the page's framework knows of an element.
type Component struct {
	Name      string   `json:"name,omitempty"`
	File      string   `json:"file,omitempty"`
	Line      int      `json:"line,omitempty"` // from 1
	Stack     []string `json:"stack,omitempty"`
	Framework string   `json:"framework,omitempty"`
}

// Rule is an authored style rule that matches an element.
type Rule struct {
	Selector  string            `json:"selector,omitempty"`
	Source    string            `json:"source,omitempty"` // URL of the dev server, or a path
	Line      int               `json:"line,omitempty"`   // from 1
	SourceMap string            `json:"sourceMapURL,omitempty"`
	Props     map[string]string `json:"props,omitempty"`
}

// Repeat says which of several identical siblings an element is.
type Repeat struct {
	Index int    `json:"index,omitempty"` // from 1
	Of    int    `json:"of"`
	Key   string `json:"key,omitempty"`
}

// identified tells whether the capture says anything about the page.
func (e Element) identified() bool {
	e.Shot, e.Pasted = nil, false
	return !reflect.ValueOf(e).IsZero()
}

// decodeElement reads one capture. What has the wrong type is left out.
// problem says why its picture was left out, "" when it was not.
func decodeElement(raw []byte) (el Element, problem string) {
	f := members(raw, "tag", "id", "className", "text", "domPath", "rect", "role", "name", "component",
		"matchedStyles", "attrs", "frame", "hiddenText", "disabled", "closedShadow", "clipped", "repeat",
		"click", "pasted", "screenshotDataUrl")
	el = Element{
		Tag:          line(f["tag"], maxWord),
		ID:           line(f["id"], maxName),
		Class:        line(f["className"], maxClass),
		Text:         line(f["text"], maxText),
		DOMPath:      line(f["domPath"], maxPath),
		Rect:         decodeRect(f["rect"]),
		Role:         line(f["role"], maxWord),
		Name:         line(f["name"], maxText),
		Component:    decodeComponent(f["component"]),
		Styles:       decodeStyles(f["matchedStyles"]),
		Attrs:        decodeMap(f["attrs"], maxAttrs, maxAttr, allowedAttr),
		Frame:        line(f["frame"], maxPath),
		HiddenText:   yes(f["hiddenText"]),
		Disabled:     yes(f["disabled"]),
		ClosedShadow: yes(f["closedShadow"]),
		Clipped:      yes(f["clipped"]),
		Repeat:       decodeRepeat(f["repeat"]),
		Click:        decodePoint(f["click"]),
		Pasted:       yes(f["pasted"]),
	}
	if raw, ok := f["screenshotDataUrl"]; ok {
		el.Shot, problem = decodeShot(raw)
	}
	return el, problem
}

// line returns a string with white space folded, cut to n characters.
func line(raw []byte, n int) string {
	s, _ := text(raw)
	return strings.TrimSpace(cut(fold(s), n))
}

// allowedAttr tells whether the value of an attribute may be shown to the
// agent: what helps to find the element, and nothing that could hold more of
// the page (value, srcdoc, style).
func allowedAttr(name string) bool {
	switch name {
	case "data-testid", "aria-label", "href", "name", "type", "placeholder":
		return true
	}
	return sourceAttr.MatchString(name)
}

// sourceAttr are the attributes in which build plugins note an element's
// source: data-source, data-astro-source-file, data-vite-source-loc.
var sourceAttr = lazyregexp.New(`^data-([a-z0-9]+-)*source(-[a-z0-9]+)*$`)

// decodeMap reads the string members of an object whose names are allowed: the
// first entries of them, each cut to n characters.
func decodeMap(raw []byte, entries, n int, allowed func(string) bool) map[string]string {
	if !is(raw, "object") {
		return nil
	}
	m := map[string]string{}
	object(raw, func(key, value []byte) bool {
		name := strings.ToValidUTF8(string(key), "\uFFFD")
		_, seen := m[name]
		if name == "" || len(name) > maxWord || !allowed(name) || kind(value) != "string" || !seen && len(m) == entries {
			return true
		}
		m[name] = line(value, n)
		return true
	})
	if len(m) == 0 {
		return nil
	}
	return m
}

func is(raw []byte, want string) bool { return len(raw) > 0 && kind(raw) == want }

func decodeComponent(raw []byte) *Component {
	if !is(raw, "object") {
		return nil
	}
	f := members(raw, "name", "file", "line", "stack", "framework")
	c := Component{
		Name: line(f["name"], maxName), File: line(f["file"], maxPath), Line: count(f["line"]),
		Framework: line(f["framework"], maxWord),
	}
	if is(f["stack"], "array") {
		array(f["stack"], func(value []byte) bool {
			if s := line(value, maxName); s != "" {
				c.Stack = append(c.Stack, s)
			}
			return len(c.Stack) < maxStack
		})
	}
	if c.File == "" {
		c.Line = 0
	}
	if reflect.ValueOf(c).IsZero() {
		return nil
	}
	return &c
}

func decodeStyles(raw []byte) []Rule {
	if !is(raw, "array") {
		return nil
	}
	var rules []Rule
	seen := 0
	array(raw, func(value []byte) bool {
		if kind(value) != "object" {
			return true
		}
		seen++
		f := members(value, "selector", "source", "line", "sourceMapURL", "props")
		r := Rule{
			Selector: line(f["selector"], maxValue), Source: address(f["source"]), Line: count(f["line"]),
			SourceMap: address(f["sourceMapURL"]),
			Props:     decodeMap(f["props"], maxProps, maxValue, func(string) bool { return true }),
		}
		if !reflect.ValueOf(r).IsZero() {
			rules = append(rules, r)
		}
		return seen < maxRules
	})
	return rules
}

// address returns a URL or path. One that carries its data in itself says
// nothing about where to look.
func address(raw []byte) string {
	s := line(raw, maxPath)
	if strings.HasPrefix(s, "data:") || strings.HasPrefix(s, "blob:") {
		return ""
	}
	return s
}

func decodeRect(raw []byte) *Rect {
	var r Rect
	if !coords(raw, map[string]*float64{"x": &r.X, "y": &r.Y, "w": &r.W, "h": &r.H}) {
		return nil
	}
	return &r
}

func decodePoint(raw []byte) *Point {
	var p Point
	if !coords(raw, map[string]*float64{"x": &p.X, "y": &p.Y}) {
		return nil
	}
	return &p
}

// coords reads the members of an object, all of which must be numbers, rounded
// to hundredths of a pixel.
func coords(raw []byte, into map[string]*float64) bool {
	if !is(raw, "object") {
		return false
	}
	f := members(raw, "x", "y", "w", "h")
	for name, p := range into {
		n, ok := number(f[name])
		if !ok {
			return false
		}
		// + 0 makes -0 a plain 0.
		*p = math.Round(max(-maxCoords, min(n, maxCoords))*100)/100 + 0
	}
	return true
}

func decodeRepeat(raw []byte) *Repeat {
	if !is(raw, "object") {
		return nil
	}
	f := members(raw, "index", "of", "key")
	r := Repeat{Index: count(f["index"]), Of: count(f["of"]), Key: line(f["key"], maxText)}
	if r.Of < 2 {
		return nil
	}
	if r.Index > r.Of {
		r.Index = 0
	}
	return &r
}
