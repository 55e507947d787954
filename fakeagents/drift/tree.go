package drift

import (
	"bytes"
	"encoding/json"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// kind is what a JSON value is.
type kind byte

const (
	object kind = iota
	array
	text
	number
	boolean
	null
)

var kindNames = map[kind]string{object: "object", array: "list", text: "string", number: "number", boolean: "boolean", null: "null"}

// node is a JSON value with its members in the order they were written in.
type node struct {
	kind    kind
	raw     []byte // as written
	members []member
	items   []*node
}

type member struct {
	key   string
	value *node
}

// parse reads one line; nil when it is no JSON object.
func parse(line []byte) *node {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' || !json.Valid(line) {
		return nil
	}
	return parseAt(&agent.Skim{B: line})
}

func parseAt(s *agent.Skim) *node {
	n := &node{}
	at := s.I
	switch s.Next() {
	case '{':
		s.Members(func(key []byte) bool {
			n.members = append(n.members, member{string(key), parseAt(s)})
			return true
		})
	case '[':
		n.kind = array
		s.Elements(func() bool {
			n.items = append(n.items, parseAt(s))
			return true
		})
	default:
		n.kind = scalar(s.Next())
		s.Skip()
	}
	n.raw = bytes.TrimSpace(s.B[at:s.I])
	return n
}

// scalar is the kind of a value that begins with c.
func scalar(c byte) kind {
	switch c {
	case '"':
		return text
	case 't', 'f':
		return boolean
	case 'n':
		return null
	}
	return number
}

// get is the member of that name, nil when there is none.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// text is what a string says, as far as it was written without escapes; "" of
// anything else.
func (n *node) text() string {
	if n == nil || n.kind != text || len(n.raw) < 2 {
		return ""
	}
	return string(n.raw[1 : len(n.raw)-1])
}

// without writes n with the given values left out.
func (n *node) without(out map[*node]bool) []byte {
	var b bytes.Buffer
	n.write(&b, out)
	return b.Bytes()
}

func (n *node) write(b *bytes.Buffer, out map[*node]bool) {
	comma := false
	next := func(v *node) bool {
		if out[v] {
			return false
		}
		if comma {
			b.WriteByte(',')
		}
		comma = true
		return true
	}
	switch n.kind {
	case object:
		b.WriteByte('{')
		for _, m := range n.members {
			if next(m.value) {
				b.WriteString(`"` + m.key + `":`)
				m.value.write(b, out)
			}
		}
		b.WriteByte('}')
	case array:
		b.WriteByte('[')
		for _, item := range n.items {
			if next(item) {
				item.write(b, out)
			}
		}
		b.WriteByte(']')
	default:
		b.Write(n.raw)
	}
}
