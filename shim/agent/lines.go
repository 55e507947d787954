package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// What every adapter does with the lines of its CLI and with what a request
// puts on its command line.

// Patterns of what a request may put on a command line. None can start with
// "-". A model may be an alias, "opus[1m]", or a Bedrock ARN; the pattern is
// that of shim/prompt, which a test holds it to: a model that a request was
// allowed to name is never dropped.
var (
	ModelPattern  = lazyregexp.New(`^[A-Za-z0-9@][A-Za-z0-9._:/@+\[\]-]{0,199}$`)
	EffortPattern = lazyregexp.New(`^[a-z][a-z0-9_-]{0,31}$`)
	UUIDPattern   = lazyregexp.New(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)
)

// Decode reads one JSON object leniently: a member of another type than
// expected is skipped and loses nothing else. It reports whether b was a JSON
// object at all.
func Decode(b []byte, into any) bool {
	b = bytes.TrimLeft(b, " \t\r\n")
	if len(b) == 0 || b[0] != '{' {
		return false
	}
	err := json.Unmarshal(b, into)
	if err == nil {
		return true
	}
	// encoding/json decodes everything else before it reports a wrong type.
	var wrongType *json.UnmarshalTypeError
	return errors.As(err, &wrongType)
}

// maxToolText is how much of a tool's output, or of its detail, is forwarded,
// in characters (spec "forwarded tool output").
const maxToolText = 4000

// ToolText returns what is forwarded of a tool's output or detail, and whether
// there was more.
func ToolText(s string) (string, bool) {
	if len(s) <= maxToolText {
		return s, false
	}
	end := 0
	for range maxToolText {
		if end == len(s) {
			return s, false
		}
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	if end == len(s) {
		return s, false
	}
	return strings.Clone(s[:end]), true // a copy: s may be megabytes
}

// MayBeCut tells whether ToolText may have cut s.
func MayBeCut(s string) bool {
	return len(s) >= maxToolText && utf8.RuneCountInString(s) == maxToolText
}

// ContentText is the text of a tool result's content: a string, or a list of
// blocks of which anything but text is named only (images are base64).
func ContentText(content any) string {
	blocks, isList := content.([]any)
	if !isList {
		s, _ := content.(string)
		return s
	}
	var parts []string
	for _, b := range blocks {
		fields, _ := b.(map[string]any)
		kind, _ := fields["type"].(string)
		switch text, isText := fields["text"].(string); {
		case isText:
			parts = append(parts, text)
		case kind != "":
			parts = append(parts, "["+kind+"]")
		}
	}
	return strings.Join(parts, "\n")
}

// StderrTail is the end of stderr that fits into a message: 10 lines, 2,000
// bytes.
func StderrTail(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	lines = lines[max(0, len(lines)-10):]
	s := strings.Join(lines, "\n")
	return strings.ToValidUTF8(s[max(0, len(s)-2000):], "")
}

// OneLine is text on one line that fits into a message: 300 characters.
func OneLine(s string) string {
	const most = 300
	r := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(s[:min(len(s), 8*most)], "")), " "))
	if len(r) > most {
		return string(r[:most]) + "…"
	}
	return string(r)
}

// Compact is a JSON value on one line with its keys in order, "" for nothing.
// change, where it is not nil, puts another value in its place first.
func Compact(raw json.RawMessage, change func(any) any) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || v == nil {
		return ""
	}
	if object, ok := v.(map[string]any); ok && len(object) == 0 {
		return ""
	}
	if change != nil {
		v = change(v)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // it was decoded a moment ago
	return strings.TrimSuffix(b.String(), "\n")
}

// Whole rounds a count of a line to an integer; nonsense becomes 0.
func Whole(f float64) int64 {
	if math.IsNaN(f) || f < 0 || f > 1<<53 {
		return 0
	}
	return int64(f)
}

// EndedEarly is the error of a CLI that ended without a result, whatever its
// exit code; said is what it had said on stdout, "" for nothing.
func EndedEarly(cli, said string, exit Exit) event.Error {
	message := fmt.Sprintf("%s ended early: exit code %d without a result", cli, exit.Code)
	if exit.Signal != "" {
		message = cli + " ended early: " + exit.Signal + " without a result"
	}
	for _, words := range []string{said, StderrTail(exit.Stderr)} {
		if words != "" {
			message += ": " + words
		}
	}
	return event.Error{Message: message, Code: event.CodeCrashed}
}

// Stopped is whether we ended the run, on purpose.
func (o MapOptions) Stopped(exit Exit) bool {
	return exit.Stopped || o.Stopping != nil && o.Stopping()
}

// Relative is a path of a tool as clients see it: relative to the repository's
// top level with "/" separators, or absolute when outside. A relative path of
// the agent's is relative to its working directory. It is text only: nothing
// is looked up.
func (o MapOptions) Relative(file string) string {
	top := o.Top
	if top == "" {
		top = o.Repo
	}
	file, top = filepath.ToSlash(file), filepath.ToSlash(top)
	if !isAbs(file) {
		file = path.Join(filepath.ToSlash(o.Repo), file)
	}
	file = path.Clean(file)
	if !isAbs(top) {
		return file
	}
	rest, inside := cutDir(file, path.Clean(top))
	if !inside {
		return file
	}
	return rest
}

// cutDir removes the directory dir from the front of file.
func cutDir(file, dir string) (string, bool) {
	if sameName(file, dir) {
		return ".", true
	}
	dir = strings.TrimSuffix(dir, "/") + "/"
	if len(file) > len(dir) && sameName(file[:len(dir)], dir) {
		return file[len(dir):], true
	}
	return file, false
}

func isAbs(file string) bool {
	return path.IsAbs(file) || filepath.IsAbs(filepath.FromSlash(file))
}

// sameName compares names of variables and paths as the system does: Windows
// ignores case.
func sameName(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}
