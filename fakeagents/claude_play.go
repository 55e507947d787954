package fakeagents

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/errors"
)

// script is the knobs of one turn, read once.
type script struct {
	pace     time.Duration
	hangAt   int // after that many lines; -1 never
	halfLine int
	crashAt  int
	flood    flood
	stamp    int
	bigLine  int // bytes
	noResult bool
	noStates bool
	grease   bool
	banner   bool
}

// flood is many lines that are written as fast as the pipe takes them.
type flood struct {
	lines int
	kind  string
	size  int // bytes of a line, at most; 0 for a small one
}

func (t *turn) script() (s *script, err error) {
	s = &script{hangAt: -1}
	switch h := t.knob("hang"); h {
	case "":
	case "first":
		s.hangAt = 0
	default:
		if s.hangAt, err = strconv.Atoi(h); err != nil {
			return s, errors.Wrap(err, "knob hang")
		}
	}
	if s.pace, err = t.duration("pace"); err != nil {
		return s, err
	}
	for _, k := range []struct {
		name string
		n    *int
	}{{"half_line", &s.halfLine}, {"crash", &s.crashAt}, {"flood", &s.flood.lines}, {"stamp", &s.stamp}} {
		if *k.n, err = t.number(k.name); err != nil {
			return s, err
		}
	}
	if s.bigLine, err = parseSize(t.knob("big_line")); err != nil {
		return s, errors.Wrap(err, "knob big_line")
	}
	if s.flood.size, err = parseSize(t.knob("flood_line")); err != nil {
		return s, errors.Wrap(err, "knob flood_line")
	}
	s.flood.kind = t.knob("flood_kind")
	s.noResult = t.knob("no_result") != ""
	s.noStates = t.knob("no_state_events") != ""
	s.grease = t.knob("grease") != ""
	s.banner = t.knob("banner") != ""
	return s, nil
}

// parseSize reads "50MiB", "64KiB" or a number of bytes.
func parseSize(s string) (int, error) {
	if s == "" {
		return 0, nil
	}
	unit := 1
	for _, u := range []struct {
		suffix string
		bytes  int
	}{{"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if rest, ok := strings.CutSuffix(s, u.suffix); ok {
			s, unit = rest, u.bytes
			break
		}
	}
	n, err := strconv.Atoi(s)
	return n * unit, err
}

// play writes the fixture's lines, waits where the CLI had been told
// something, and makes the effects where it had made them.
func (t *turn) play() error {
	s, err := t.script()
	if err != nil {
		return err
	}
	if s.banner {
		if err := t.line([]byte("warning: this line is not JSON")); err != nil {
			return err
		}
	}
	effects := t.fixture.Effects
	start := initAnswer(t.lines) + 1 // initialize had its answer
	if s.hangAt == 0 {
		return t.hang(true)
	}
	for i := start; i < len(t.lines); i++ {
		t.written = i
		if err := t.barriers(i); err != nil {
			return err
		}
		if err := t.breathe(s, i); err != nil {
			return err
		}
		if effects, err = t.effects(effects, i); err != nil {
			return err
		}
		if err := t.playLine(s, t.lines[i], i+1); err != nil {
			return err
		}
		if s.crashAt == i+1 {
			return t.crash()
		}
	}
	t.written = len(t.lines)
	if err := t.breathe(s, len(t.lines)); err != nil {
		return err
	}
	if _, err := t.effects(effects, len(t.lines)); err != nil {
		return err
	}
	return t.finish(s)
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

// effects makes those that are due when n lines were written.
func (t *turn) effects(left []Effect, n int) ([]Effect, error) {
	for len(left) > 0 && left[0].After <= n {
		if err := left[0].Apply(t.dir); err != nil {
			return nil, err
		}
		left = left[1:]
	}
	return left, nil
}

// playLine writes line number n of the fixture and what the knobs add.
func (t *turn) playLine(s *script, line []byte, n int) error {
	isResult := bytes.Contains(line, []byte(`"type":"result"`))
	isState := bytes.Contains(line, []byte(`"subtype":"session_state_changed"`))
	if isResult && s.noResult || isState && (s.noStates || s.noResult) {
		return nil
	}
	line = t.fill(line)
	t.tools += openTools(line)
	switch {
	case s.halfLine == n:
		if _, err := t.out.Write(line[:len(line)/2]); err != nil {
			return err
		}
		return errEnded
	case isResult && s.bigLine > 0:
		if err := t.bigLine(s.bigLine); err != nil {
			return err
		}
	}
	if s.grease {
		if err := t.grease(n); err != nil {
			return err
		}
		line = append([]byte(`{"grease":{"list":[1,null,"x"]},`), line[1:]...)
	}
	if err := t.line(line); err != nil {
		return err
	}
	if (s.flood.lines > 0 || s.stamp > 0) && textStart.Match(line) {
		flood, stamps := s.flood, s.stamp
		s.flood.lines, s.stamp = 0, 0 // in the first message only
		if err := t.flood(flood); err != nil {
			return err
		}
		return t.stamps(stamps)
	}
	return nil
}

func (t *turn) fill(line []byte) []byte {
	line = t.values.Fill(line)
	for recorded, now := range t.ids {
		line = bytes.ReplaceAll(line, []byte(`"request_id":`+quoted(recorded)), []byte(`"request_id":`+quoted(now)))
	}
	return line
}

var (
	toolCall   = []byte(`"content":[{"type":"tool_use",`)
	toolResult = []byte(`"type":"tool_result"`)
	textStart  = regexp.MustCompile(`"type":"content_block_start".*"content_block":\{"type":"text"`)
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

// delta is one text_delta line as 2.1.332 writes it.
func (t *turn) delta(text string) []byte {
	return fmt.Appendf(nil, `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}},"session_id":%s,"parent_tool_use_id":null,"uuid":%s,"api_message_id":"msg_000001"}`,
		quoted(text), quoted(t.values.Session), quoted(uuid(t.values.Session, "delta")))
}

func (t *turn) bigLine(size int) error {
	return t.line(t.delta(strings.Repeat("x", size)))
}

func (t *turn) flood(f flood) error {
	switch f.kind {
	case "", "text_delta":
		one := append(t.delta(f.text(1)), '\n')
		perChunk := max(1, 60<<10/len(one))
		chunk := bytes.Repeat(one, min(perChunk, f.lines))
		for n := f.lines; n > 0; n -= perChunk {
			if n < perChunk {
				chunk = chunk[:n*len(one)]
			}
			if _, err := t.out.Write(chunk); err != nil {
				return err
			}
		}
	case "tool_result": // of Bash, as 2.1.332 writes it: the output is there twice
		out := quoted(f.text(2))
		rest := fmt.Appendf(nil, `,"type":"tool_result","content":%s,"is_error":false}]},"parent_tool_use_id":null,"session_id":%s,"uuid":%s,"tool_use_result":{"stdout":%s,"stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false}}`+"\n",
			out, quoted(t.values.Session), quoted(uuid(t.values.Session, "flood")), out)
		for n := range f.lines {
			fmt.Fprintf(t.out, `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_flood_%d"`, n)
			if _, err := t.out.Write(rest); err != nil {
				return err
			}
		}
	default:
		return errors.Newf("knob flood_kind: %q", f.kind)
	}
	return t.out.Flush()
}

// text is the text of a line that holds it so many times.
func (f flood) text(times int) string {
	const small, sentence = "flooding it ", "flooding it with lines of text\n"
	const around = 512 // bytes of a line without its text, at most
	if f.size == 0 {
		return small
	}
	return strings.Repeat(sentence, max(1, (f.size-around)/(len(sentence)+1)/times)) // \n is two bytes in JSON
}

// stamps writes n deltas that say when they were written.
func (t *turn) stamps(n int) error {
	for range n {
		time.Sleep(time.Millisecond)
		if err := t.line(t.delta(strconv.FormatInt(time.Now().UnixNano(), 10))); err != nil {
			return err
		}
	}
	return nil
}

// grease writes a line of a kind no version has.
func (t *turn) grease(n int) error {
	session := quoted(t.values.Session)
	kinds := []string{
		`{"type":"grease","value":{"nested":[1,2,3]},"session_id":%s}`,
		`{"type":"system","subtype":"grease","message":"never seen","session_id":%s}`,
		`{"type":"stream_event","event":{"type":"grease_delta","index":0},"session_id":%s,"parent_tool_use_id":null}`,
		`{"session_id":%s,"no_type_at_all":true}`,
	}
	return t.line(fmt.Appendf(nil, kinds[n%len(kinds)], session))
}

func (t *turn) crash() error {
	var err error
	if t.code, err = t.number("crash_exit"); err != nil {
		return err
	}
	if t.knob("crash_exit") == "" {
		t.code = 1
	}
	if text := t.knob("crash_stderr"); text != "" {
		fmt.Fprintln(t.stderr, text)
	}
	return errEnded
}

// finish writes the rest of the transcript and ends as the CLI had ended:
// when its input was closed, or by itself.
func (t *turn) finish(s *script) error {
	if err := t.disk.end(); err != nil {
		return err
	}
	if _, err := t.stderr.Write(t.values.FillText(t.fixture.Stderr)); err != nil {
		return err
	}
	if s.noResult {
		return errEnded // with exit code 0
	}
	waits := false
	for _, in := range t.fixture.Stdin {
		waits = waits || in.Close
	}
	if waits {
		if err := t.closed(); err != nil {
			return err
		}
	}
	t.code = t.fixture.Exit
	if t.knob("ignore_close") != "" {
		return t.hang(false)
	}
	return nil
}
