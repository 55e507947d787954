package agent

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Nearly all lines of a long answer are plain text deltas. The shape that
// claude and grok give them is read here without the JSON decoder; any surprise
// (another key, an odd escape, invalid UTF-8, a sub-agent's line) is left to
// it. The adapters' FuzzFastPath holds the two together.
const (
	textDeltaHead = `{"type":"stream_event","event":{"type":"content_block_delta","index":`
	textDeltaText = `,"delta":{"type":"text_delta","text":"`
	textDeltaTail = `}}`
)

// TextDelta reads a plain text_delta line: its text, the number of its content
// block and, where the line has one, the id of its message (a part of line). ok
// is false when the line is anything else.
func TextDelta(line []byte) (text string, block int, messageID []byte, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(textDeltaHead))
	if !ok {
		return "", 0, nil, false
	}
	if block, rest, ok = cutIndex(rest); !ok {
		return "", 0, nil, false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(textDeltaText)); !ok {
		return "", 0, nil, false
	}
	if text, rest, ok = cutString(rest); !ok {
		return "", 0, nil, false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(textDeltaTail)); !ok {
		return "", 0, nil, false
	}
	messageID, ok = textDeltaMembers(rest)
	return text, block, messageID, ok
}

// cutIndex reads a block number of one to three digits.
func cutIndex(b []byte) (int, []byte, bool) {
	n, i := 0, 0
	for i < len(b) && i < 3 && b[i] >= '0' && b[i] <= '9' {
		n = n*10 + int(b[i]-'0')
		i++
	}
	if i == 0 || i > 1 && b[0] == '0' {
		return 0, nil, false
	}
	return n, b[i:], true
}

// cutString reads a JSON string whose opening quote is already gone.
func cutString(b []byte) (string, []byte, bool) {
	end := bytes.IndexByte(b, '"')
	if end < 0 {
		return "", nil, false
	}
	if bytes.IndexByte(b[:end], '\\') < 0 {
		if !plain(b[:end]) {
			return "", nil, false
		}
		return string(b[:end]), b[end+1:], true
	}
	return cutEscaped(b)
}

// plain reports whether b needs no decoding and no repair.
func plain(b []byte) bool {
	for _, c := range b {
		if c < ' ' {
			return false
		}
	}
	return utf8.Valid(b)
}

// cutEscaped is cutString for a string with escapes. Surrogates are surprises:
// their repair is the decoder's business.
func cutEscaped(b []byte) (string, []byte, bool) {
	var out strings.Builder // which gives the text without a copy
	out.Grow(len(b))
	from := 0 // what comes before is in out
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			if !utf8.Valid(b[:i]) { // what escapes stand for is valid
				return "", nil, false
			}
			out.Write(b[from:i])
			return out.String(), b[i+1:], true
		case c == '\\':
			var scratch [utf8.UTFMax]byte
			char, n, ok := unescape(scratch[:0], b[i:])
			if !ok {
				return "", nil, false
			}
			out.Write(b[from:i])
			out.Write(char)
			i += n
			from = i
		case c < ' ':
			return "", nil, false
		default:
			i++
		}
	}
	return "", nil, false
}

// unescape appends the character of the escape that b starts with and returns
// how long the escape is.
func unescape(out, b []byte) ([]byte, int, bool) {
	if len(b) < 2 {
		return nil, 0, false
	}
	switch b[1] {
	case '"', '\\', '/':
		return append(out, b[1]), 2, true
	case 'n':
		return append(out, '\n'), 2, true
	case 't':
		return append(out, '\t'), 2, true
	case 'r':
		return append(out, '\r'), 2, true
	case 'b':
		return append(out, '\b'), 2, true
	case 'f':
		return append(out, '\f'), 2, true
	case 'u':
		if len(b) < 6 {
			return nil, 0, false
		}
		r, err := strconv.ParseUint(string(b[2:6]), 16, 16)
		if err != nil || r >= 0xD800 && r <= 0xDFFF {
			return nil, 0, false
		}
		return utf8.AppendRune(out, rune(r)), 6, true
	}
	return nil, 0, false
}

// textDeltaMembers reads the members after the event up to the end of the line, and
// returns api_message_id. Only the members that a CLI sends are taken, and only
// with plain values; parent_tool_use_id must be null.
func textDeltaMembers(b []byte) (apiMessageID []byte, ok bool) {
	for {
		if len(b) == 1 && b[0] == '}' {
			return apiMessageID, true
		}
		rest, ok := bytes.CutPrefix(b, []byte(`,"`))
		if !ok {
			return nil, false
		}
		end := bytes.IndexByte(rest, '"')
		if end < 0 {
			return nil, false
		}
		key := rest[:end]
		rest = rest[end+1:]
		switch string(key) {
		case "parent_tool_use_id":
			if b, ok = bytes.CutPrefix(rest, []byte(`:null`)); !ok {
				return nil, false
			}
			continue
		case "session_id", "uuid", "thinking_display", "api_message_id":
		default:
			return nil, false
		}
		value, after, ok := cutPlainValue(rest)
		if !ok {
			return nil, false
		}
		if string(key) == "api_message_id" {
			apiMessageID = value
		}
		b = after
	}
}

// cutPlainValue reads `:"…"` without escapes.
func cutPlainValue(b []byte) (value, rest []byte, ok bool) {
	if b, ok = bytes.CutPrefix(b, []byte(`:"`)); !ok {
		return nil, nil, false
	}
	end := bytes.IndexByte(b, '"')
	if end < 0 {
		return nil, nil, false
	}
	if !plainASCII(b[:end]) {
		return nil, nil, false
	}
	return b[:end], b[end+1:], true
}

// plainASCII reports whether b is ASCII without control characters and
// backslashes. It looks at eight bytes at a time: of a small line, most bytes
// are ids.
func plainASCII(b []byte) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		x := w ^ ones*'\\'
		// The high bit of a byte: it is no ASCII; less than a space; a backslash.
		if (w|(w-ones*' ')|(x-ones))&highs != 0 {
			return false
		}
	}
	for _, c := range b {
		if c < ' ' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
