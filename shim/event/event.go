// Package event defines what a client of the shim is told: one small struct
// per event type of the SSE contract. It imports nothing of ours.
//
// An event is encoded as one JSON object whose first member is "type".
// Clients ignore types and fields they do not know, so adding is allowed;
// renaming, retyping or removing is not.
package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"
)

// Event is one event of the contract. Every type in this package that
// implements it is a plain value struct with JSON tags.
type Event interface {
	// Type is the value of the "type" member, for example "delta".
	Type() string
}

// Encode returns the JSON object of e on one line: {"type":"…", fields…}.
// The characters <, > and & are not escaped; U+2028 and U+2029 are, so that
// the result is always a single line in every reader.
func Encode(e Event) ([]byte, error) { return Append(nil, e) }

// Append is Encode behind what is in b. After an error b is as it was.
func Append(b []byte, e Event) ([]byte, error) {
	switch d := e.(type) { // the bulk of a run, a tenth of the general price
	case Delta:
		return appendText(b, "delta", d.Text, d.MessageID), nil
	case ThinkingDelta:
		return appendText(b, "thinking_delta", d.Text, d.MessageID), nil
	}
	data, err := encode(e)
	if err != nil {
		return b, err
	}
	return append(b, data...), nil
}

func encode(e Event) ([]byte, error) {
	var buf bytes.Buffer
	fmt.Fprintf(&buf, `{"type":%q`, e.Type())
	head := buf.Len()
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, fmt.Errorf("encode %s event: %w", e.Type(), err)
	}
	b := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	// b is `{"type":"x"` + `{…}`; join the two objects.
	if bytes.Equal(b[head:], []byte("{}")) {
		return append(b[:head], '}'), nil
	}
	b[head] = ','
	return b, nil
}

// appendText is encode for the two types that consist of a text and the id of
// its message; a fuzz test holds the two together.
func appendText(b []byte, typ, text, messageID string) []byte {
	more := 0
	if len(text) >= largeText {
		more = escapes(text)
	}
	b = slices.Grow(b, len(text)+more+len(messageID)+64)
	b = append(b, `{"type":"`...)
	b = append(b, typ...)
	b = append(b, `","text":`...)
	b = appendString(b, text)
	b = append(b, `,"messageId":`...)
	b = appendString(b, messageID)
	return append(b, '}')
}

// largeText is a text, in bytes, that must not be copied because its escapes
// want more room than was guessed.
const largeText = 1 << 20

// escapes is how many bytes more s takes as a JSON string than as it is.
func escapes(s string) (n int) {
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\', c >= '\b' && c <= '\r' && c != '\v':
			n++
		case c < ' ':
			n += 5
		case c == 0xe2 && i+2 < len(s) && (s[i:i+3] == "\u2028" || s[i:i+3] == "\u2029"):
			n += 3
		}
	}
	return n
}

// appendString appends s as a JSON string, as the encoder writes it: what is
// not UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0 // what comes before is in b
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[from:i]...)
			b = appendEscape(b, c)
			i++
			from = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(append(b, s[from:i]...), `\ufffd`...)
			from = i + n
		case r == '\u2028' || r == '\u2029':
			b = append(append(b, s[from:i]...), `\u202`...)
			b = append(b, '8'+byte(r-'\u2028'))
			from = i + n
		}
		i += n
	}
	return append(append(b, s[from:]...), '"')
}

// appendEscape appends the escape of an ASCII character that needs one.
func appendEscape(b []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// Decode reads one event object. An unknown type is returned as Unknown and
// is not an error; something that is not a JSON object with a type is.
func Decode(b []byte) (Event, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("decode event: %w", err)
	}
	if head.Type == "" {
		return nil, fmt.Errorf("decode event: no type in %.80q", b)
	}
	for _, e := range All() {
		if e.Type() != head.Type {
			continue
		}
		p := reflect.New(reflect.TypeOf(e))
		if err := json.Unmarshal(b, p.Interface()); err != nil {
			return nil, fmt.Errorf("decode %s event: %w", head.Type, err)
		}
		return p.Elem().Interface().(Event), nil
	}
	return Unknown{Name: head.Type, Raw: append([]byte(nil), b...)}, nil
}

// Unknown is an event of a type this version does not know.
type Unknown struct {
	Name string
	Raw  []byte
}

// Type returns the type name as it was read.
func (u Unknown) Type() string { return u.Name }
