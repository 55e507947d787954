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
func Encode(e Event) ([]byte, error) {
	switch d := e.(type) { // the bulk of a run, a quarter of the general price
	case Delta:
		return encodeText("delta", d.Text, d.MessageID)
	case ThinkingDelta:
		return encodeText("thinking_delta", d.Text, d.MessageID)
	}
	return encode(e)
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

// encodeText is encode for the two types that consist of a text and the id of
// its message; a test holds the two together.
func encodeText(typ, text, messageID string) ([]byte, error) {
	b := make([]byte, 0, len(text)+len(messageID)+48)
	b = append(b, `{"type":"`...)
	b = append(b, typ...)
	b = append(b, `","text":`...)
	b = appendString(b, text)
	b = append(b, `,"messageId":`...)
	b = appendString(b, messageID)
	return append(b, '}'), nil
}

// appendString appends s as a JSON string.
func appendString(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			var buf bytes.Buffer
			enc := json.NewEncoder(&buf)
			enc.SetEscapeHTML(false)
			_ = enc.Encode(s) // a string always encodes
			return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
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
