package fakeagents

import (
	"bytes"
	"fmt"
	"time"

	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// first is the line after the answer to initialize, which was given before.
func (t *turn) first() int { return initAnswer(t.lines) + 1 }

// attend waits for what had been written to the CLI, and looks at what comes
// in meanwhile.
func (t *turn) attend(s *script, n int) error {
	if n < len(t.lines) {
		if err := t.barriers(n); err != nil {
			return err
		}
	}
	return t.breathe(s, n)
}

// breathe hangs or pauses between two lines and looks at what came in.
func (t *turn) breathe(s *script, written int) error {
	if s.hangAt > 0 && s.hangAt == written {
		return t.hang(true)
	}
	var pause <-chan time.Time
	if s.pace > 0 {
		pause = time.After(s.pace)
	}
	for {
		m, waiting, err := t.poll(pause)
		if err != nil || !waiting {
			return err
		}
		if m.kind() == "control_request/interrupt" && !t.expects(m.kind()) {
			if err := t.unexpected(m); err != nil {
				return err
			}
		} else {
			t.queue = append(t.queue, m)
		}
	}
}

// poll returns a message that is there, or that comes before the pause is
// over; waiting is false when there is none.
func (t *turn) poll(pause <-chan time.Time) (m message, waiting bool, err error) {
	if pause == nil {
		if len(t.in) == 0 && len(t.signals) == 0 {
			return message{}, false, nil
		}
		now := make(chan time.Time, 1)
		now <- time.Time{}
		pause = now
	}
	m, err = t.next(pause)
	if m.kind() == "close" && err == nil {
		return t.poll(pause)
	}
	return m, m.Type != "", err
}

// expects is whether the fixture has such an input still to come.
func (t *turn) expects(kind string) bool {
	for _, in := range t.fixture.Stdin {
		if in.After >= t.written && in.kind() == kind {
			return true
		}
	}
	return false
}

// barriers waits for what had been written to the CLI when it had written n
// lines. The start and the end have their own places.
func (t *turn) barriers(n int) error {
	for _, in := range t.fixture.Stdin {
		kind := in.kind()
		if in.After != n || kind == "close" || kind == "user" || kind == "control_request/initialize" {
			continue
		}
		if err := t.await(kind); err != nil {
			return err
		}
	}
	return nil
}

func (t *turn) sort(line []byte) lineSort {
	switch {
	case bytes.Contains(line, []byte(`"type":"result"`)):
		return resultLine
	case bytes.Contains(line, []byte(`"subtype":"session_state_changed"`)):
		return stateLine
	case textStart.Match(line):
		return textLine
	}
	return anyLine
}

// fill also counts the tool calls that are open.
func (t *turn) fill(line []byte) []byte {
	line = t.values.Fill(line)
	for recorded, now := range t.ids {
		line = bytes.ReplaceAll(line, []byte(`"request_id":`+quoted(recorded)), []byte(`"request_id":`+quoted(now)))
	}
	t.tools += openTools(line)
	return line
}

var (
	toolCall   = []byte(`"content":[{"type":"tool_use",`)
	toolResult = []byte(`"type":"tool_result"`)
	textStart  = lazyregexp.New(`"type":"content_block_start".*"content_block":\{"type":"text"`)
)

// openTools is +1 for a line that announces a tool call, -1 for a result.
func openTools(line []byte) int {
	switch {
	case bytes.HasPrefix(line, []byte(`{"type":"assistant"`)) && bytes.Contains(line, toolCall):
		return 1
	case bytes.HasPrefix(line, []byte(`{"type":"user"`)) && bytes.Contains(line, toolResult):
		return -1
	}
	return 0
}

// text is one text_delta line as 2.1.332 writes it.
func (t *turn) text(text string) []byte {
	return fmt.Appendf(nil, `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}},"session_id":%s,"parent_tool_use_id":null,"uuid":%s,"api_message_id":"msg_000001"}`,
		quoted(text), quoted(t.values.Session), quoted(uuid(t.values.Session, "delta")))
}

// tool is the result of Bash as 2.1.332 writes it: the output is there twice.
func (t *turn) tool(n int, output string) []byte {
	out := quoted(output)
	return fmt.Appendf(nil, `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_flood_%d","type":"tool_result","content":%s,"is_error":false}]},"parent_tool_use_id":null,"session_id":%s,"uuid":%s,"tool_use_result":{"stdout":%s,"stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false}}`,
		n, out, quoted(t.values.Session), quoted(uuid(t.values.Session, "flood")), out)
}

func (t *turn) outputs() int { return 2 }

func (t *turn) odd(n int) []byte {
	kinds := []string{
		`{"type":"grease","value":{"nested":[1,2,3]},"session_id":%s}`,
		`{"type":"system","subtype":"grease","message":"never seen","session_id":%s}`,
		`{"type":"stream_event","event":{"type":"grease_delta","index":0},"session_id":%s,"parent_tool_use_id":null}`,
		`{"session_id":%s,"no_type_at_all":true}`,
	}
	return fmt.Appendf(nil, kinds[n%len(kinds)], quoted(t.values.Session))
}

// end waits for the end of input where the CLI had.
func (t *turn) end() error {
	for _, in := range t.fixture.Stdin {
		if in.Close {
			return t.closed()
		}
	}
	return nil
}
