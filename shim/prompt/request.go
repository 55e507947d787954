// Package prompt turns the body of a request into what the agent is told: it
// decodes and limits the request (Decode) and writes the two prompts (Build).
// Both are pure; the wording is in the .md files beside this one. It imports
// nothing of ours.
//
// Page-derived text is data throughout: it is cut here, and in the prompt it
// stands as JSON inside a fence that it cannot close.
package prompt

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// MaxElements is how many captures of a request are used.
const MaxElements = 5

// Lengths in characters, beyond those of captures.
const (
	maxProvider = 100
	maxScreen   = 2000
)

// Request is a decoded and limited body of POST /design.
type Request struct {
	Prompt     string    // what the user typed, as typed
	Provider   string    // as asked for; anthropic when the body has none
	Model      string    // "" = the agent's own
	Effort     string    // "" = the agent's own
	Screen     string    // the page's route: pathname + search + hash
	Elements   []Element // at most MaxElements
	Resume     string    // session UUID in lower case, "" = a new session
	AutoCommit bool      // commit the run's change
	Detach     bool      // the run survives this client
	Notes      []Note    // what was dropped or changed while decoding
}

// Note is one sentence for the user, with a machine word.
type Note struct {
	Message string
	Code    string // elements_dropped, capture_skipped, image_skipped, session_new
}

// FieldError says which field of a body cannot be used and why.
type FieldError struct {
	Field   string // "body" when it is not a JSON object at all
	Message string // continues "<field> "
}

func (e *FieldError) Error() string { return e.Field + " " + e.Message }

var (
	// A model cannot look like a flag, and has nothing a shell, a path or a
	// terminal could trip over. claude-opus-5-5[1m], anthropic/x:beta,
	// claude@20260101 and arn:aws:… are all in use.
	modelPattern  = lazyregexp.New(`^[A-Za-z0-9@][A-Za-z0-9._:/@+\[\]-]{0,199}$`)
	effortPattern = lazyregexp.New(`^[a-z][a-z0-9_-]{0,31}$`)
	uuidPattern   = lazyregexp.New(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
)

// Decode reads the body of POST /design. Errors are of type *FieldError.
// Unknown members are ignored, of a repeated one the last counts, null is the
// same as missing, and bytes that are not UTF-8 become U+FFFD. Inside a
// capture a value of the wrong type is left out; it never fails the request.
func Decode(body []byte) (Request, error) {
	if !json.Valid(body) {
		err := json.Unmarshal(body, new(json.RawMessage))
		return Request{}, &FieldError{"body", fmt.Sprintf("must be a JSON object: %v", err)}
	}
	body = body[skipSpace(body, 0):]
	if k := kind(body); k != "object" {
		return Request{}, &FieldError{"body", "must be a JSON object, not " + article(k)}
	}
	d := decoder{fields: members(body, "prompt", "provider", "model", "effort", "screen",
		"elements", "element", "resume", "autoCommit", "detach")}
	d.scalars()
	d.captures()
	if d.err == nil && len(d.req.Elements) == 0 && strings.TrimSpace(d.req.Prompt) == "" {
		d.fail("prompt", "is missing: say what to change, or pick an element")
	}
	if d.err != nil {
		return Request{}, d.err
	}
	return d.req, nil
}

// decoder holds the request while it is put together, and the first error.
type decoder struct {
	fields map[string][]byte
	req    Request
	err    error
}

func (d *decoder) fail(field, format string, args ...any) {
	if d.err == nil {
		d.err = &FieldError{field, fmt.Sprintf(format, args...)}
	}
}

func (d *decoder) note(code, format string, args ...any) {
	d.req.Notes = append(d.req.Notes, Note{Message: fmt.Sprintf(format, args...), Code: code})
}

// text returns a member that must be a string; "" when it is missing.
func (d *decoder) text(field string) string {
	raw, ok := d.fields[field]
	if !ok {
		return ""
	}
	s, ok := text(raw)
	if !ok {
		d.fail(field, "must be a string, not %s", article(kind(raw)))
	}
	return s
}

// scalars decodes every member but the captures.
func (d *decoder) scalars() {
	d.req.Prompt = d.text("prompt")
	d.req.Provider = cut(d.text("provider"), maxProvider)
	if d.req.Provider == "" {
		d.req.Provider = "anthropic"
	}
	d.req.Model = d.matching("model", modelPattern,
		"must be a model id of at most 200 letters, digits and ._:/@+[]- that does not begin with a dash")
	d.req.Effort = d.matching("effort", effortPattern, "must match [a-z][a-z0-9_-]{0,31}")
	if d.req.Effort == "default" {
		d.req.Effort = ""
	}
	d.req.Screen = cut(strings.TrimSpace(d.text("screen")), maxScreen)
	d.resume()
	d.req.AutoCommit = string(d.fields["autoCommit"]) != "false"
	if raw, ok := d.fields["detach"]; ok {
		if kind(raw) != "boolean" {
			d.fail("detach", "must be true or false, not %s", article(kind(raw)))
		}
		d.req.Detach = yes(raw)
	}
}

// matching returns a member that must be a string of that pattern, or empty.
func (d *decoder) matching(field string, pattern *lazyregexp.Regexp, otherwise string) string {
	s := d.text(field)
	if s != "" && !pattern.MatchString(s) {
		d.fail(field, "%s", otherwise)
	}
	return s
}

// resume decodes the session to continue: not a UUID starts a fresh one.
func (d *decoder) resume() {
	id := strings.ToLower(d.text("resume"))
	if id == "" || uuidPattern.MatchString(id) {
		d.req.Resume = id
		return
	}
	d.note("session_new", "the session to resume is not a session id: started a new session")
}

// captures decodes elements, or the single element of older clients.
func (d *decoder) captures() {
	raw, ok := d.fields["elements"]
	if ok && kind(raw) != "array" {
		d.fail("elements", "must be an array, not %s", article(kind(raw)))
		return
	}
	n, used, extra := 0, 0, 0
	if ok {
		array(raw, func(value []byte) bool {
			n++
			switch isObject := kind(value) == "object"; {
			case isObject && used == MaxElements:
				extra++
			case isObject:
				used++
				fallthrough
			default:
				d.capture(n, value)
			}
			return true
		})
	}
	if one, ok := d.fields["element"]; ok && n == 0 {
		d.capture(1, one)
	}
	if extra > 0 {
		d.note("elements_dropped", "%d of the picked elements were left out: at most %d are used", extra, MaxElements)
	}
}

// capture decodes the nth capture and adds it to the request, or a note that
// says why not.
func (d *decoder) capture(n int, raw []byte) {
	if kind(raw) != "object" {
		d.skipped(n, "is "+article(kind(raw))+", not an object")
		return
	}
	el, problem := decodeElement(raw)
	if problem != "" {
		d.note("image_skipped", "the picture of capture %d was left out: %s", n, problem)
	}
	if el.Shot == nil && (el.Pasted || !el.identified()) {
		if problem == "" {
			d.skipped(n, "is empty")
		}
		return
	}
	d.req.Elements = append(d.req.Elements, el)
}

// maxSkipNotes keeps a hostile body from making a million notes.
const maxSkipNotes = 5

func (d *decoder) skipped(n int, why string) {
	if len(d.req.Notes) < maxSkipNotes {
		d.note("capture_skipped", "capture %d was left out: it %s", n, why)
	}
}

// article puts "a" or "an" before the name of a type.
func article(kind string) string {
	switch kind {
	case "null":
		return kind
	case "array", "object":
		return "an " + kind
	}
	return "a " + kind
}
