package fakeagents

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// Exit codes of the real CLI (2.1.332) by signal.
const (
	exitSIGTERM = 143
	exitSIGHUP  = 129
)

// turn is one process that takes messages.
type turn struct {
	*player
	args claudeArgs

	in      chan message // closed at end of input
	signals chan os.Signal
	eof     bool

	queue   []message         // read, not yet waited for
	ids     map[string]string // recorded request id → this run's
	prompt  string
	started bool   // a user message came in
	tools   int    // tool calls announced and not answered
	initReq string // request id of the initialize that came in
}

// turn speaks stream-json until its input ends.
func (p *process) turn(args claudeArgs) int {
	t := &turn{player: newPlayer(p), args: args, in: make(chan message, 16), signals: make(chan os.Signal, 4), ids: map[string]string{}}
	t.dialect = t
	if args.resume != "" {
		known, err := p.knows(args.resume)
		if err != nil {
			return p.refused(err)
		}
		if !known {
			return t.lost()
		}
	}
	signal.Notify(t.signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go t.read()
	err := t.run()
	if errors.Is(err, errEnded) {
		err = nil
	}
	if flushErr := t.out.Flush(); err == nil && flushErr != nil {
		return 1 // the reader of our stdout is gone
	}
	if err != nil {
		return p.refused(err)
	}
	return t.code
}

// lost plays the resuming of a session that does not exist, without waiting
// for any input, as the real CLI does.
func (t *turn) lost() int {
	f, err := t.recorded("resume-lost")
	if err != nil {
		return t.refused(err)
	}
	v := t.process.values(t.args.resume)
	for _, line := range f.Filled(v) {
		fmt.Fprintf(t.out, "%s\n", line)
	}
	if err := t.out.Flush(); err != nil {
		return 1
	}
	_, _ = t.stderr.Write(v.FillText(f.Stderr)) // nobody may be reading it
	return f.Exit
}

// read takes stdin apart. A line that is not JSON ends the process in the
// real CLI, and is told here.
func (t *turn) read() {
	defer close(t.in)
	r := bufio.NewReaderSize(t.stdin, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 {
			m, jsonErr := parseMessage(trimmed)
			if jsonErr != nil {
				m = message{Type: "invalid"}
			}
			_ = t.log.add(LogEntry{Stdin: string(trimmed)}) // a log that fails must not change the run
			t.in <- m
		}
		if err != nil {
			_ = t.log.add(LogEntry{EOF: true})
			return
		}
	}
}

// run waits for initialize and the user's message, then plays the fixture.
func (t *turn) run() error {
	if err := t.initialize(); err != nil {
		return err
	}
	if err := t.await("user"); err != nil {
		return err
	}
	if err := t.choose("not-signed-in", "rate-limited", t.prompt); err != nil {
		return err
	}
	t.noteID("initialize", t.initReq)
	if err := t.prepare(); err != nil {
		return err
	}
	return t.play()
}

// initialize answers the request when it comes. A message may come instead:
// the shim does not wait for ever.
func (t *turn) initialize() error {
	for {
		m, err := t.next(nil)
		if err != nil {
			return err
		}
		switch m.kind() {
		case "control_request/initialize":
			t.initReq = m.RequestID
			if t.knob("hang") == "initialize" {
				return t.hang(false)
			}
			if t.knob("no_init_answer") != "" {
				return nil
			}
			return t.answerInitialize(m.RequestID)
		case "user":
			t.queue = append(t.queue, m)
			return nil
		default:
			return errors.Newf("the first line is a %s, not initialize or a user message", m.kind())
		}
	}
}

// answerInitialize plays the fixture up to its answer (hooks may speak first),
// or the case "initialize" when the prompt is to pick the fixture.
func (t *turn) answerInitialize(id string) error {
	f := t.process.fixture
	if f == nil || initAnswer(f.Lines()) < 0 {
		var err error
		if f, err = t.recorded("initialize"); err != nil {
			return err
		}
	}
	if err := t.settle(f); err != nil {
		return err
	}
	lines := f.Lines()
	for _, line := range lines[:initAnswer(lines)+1] {
		if isInitAnswer(line) {
			if recorded := requestID.FindSubmatch(line); recorded != nil {
				line = bytes.Replace(line, recorded[0], fmt.Appendf(nil, `"request_id":%s`, quoted(id)), 1)
			}
		}
		if err := t.line(t.values.Fill(line)); err != nil {
			return err
		}
	}
	return nil
}

// settle fixes the session and what the placeholders stand for, once.
func (t *turn) settle(f *Fixture) error {
	if t.values.Session != "" {
		return nil
	}
	session := t.args.resume
	if session == "" {
		var err error
		if session, err = t.newSession(f); err != nil {
			return err
		}
	}
	t.values = t.process.values(session)
	return nil
}

// initAnswer is the index of the line that answers initialize, -1 when there
// is none.
func initAnswer(lines [][]byte) int {
	for i, line := range lines {
		if isInitAnswer(line) {
			return i
		}
	}
	return -1
}

var requestID = lazyregexp.New(`"request_id":"((?:[^"\\]|\\.)*)"`)

func isInitAnswer(line []byte) bool {
	return bytes.Contains(line, []byte(`"type":"control_response"`)) && bytes.Contains(line, []byte(`"models":`))
}

// next returns the next message. It ends the turn at end of input and at a
// signal; d, when not nil, bounds the wait: then the message is zero.
func (t *turn) next(d <-chan time.Time) (message, error) {
	if err := t.out.Flush(); err != nil {
		return message{}, err
	}
	in := t.in
	if t.eof {
		in = nil
	}
	select {
	case m, ok := <-in:
		if !ok {
			t.eof = true
			return message{Type: "close"}, t.ended()
		}
		if m.Type == "invalid" {
			return m, errors.New("a line on stdin is not JSON")
		}
		return m, nil
	case s := <-t.signals:
		return message{}, t.signal(s)
	case <-d:
		return message{}, nil
	}
}

// ended decides what end of input means: before a message it ends the
// process, within a turn the turn goes on.
func (t *turn) ended() error {
	if t.started || t.knob("ignore_close") != "" {
		return nil
	}
	return errEnded
}

// signal does what the real CLI does, unless it is told to ignore them.
func (t *turn) signal(s os.Signal) error {
	switch {
	case t.knob("ignore_signals") != "":
		return nil
	case s == syscall.SIGTERM:
		t.code = exitSIGTERM
		return errEnded
	case s == syscall.SIGHUP:
		t.code = exitSIGHUP
		return errEnded
	}
	if t.started {
		if err := t.aborted(); err != nil {
			return err
		}
	}
	t.code = 0
	return errEnded
}

// await waits for a message of that kind; others that come first are handled
// or kept.
func (t *turn) await(kind string) error {
	for {
		for i, m := range t.queue {
			if m.kind() == kind {
				t.queue = append(t.queue[:i], t.queue[i+1:]...)
				return t.take(m)
			}
		}
		if t.eof && kind != "close" {
			t.code = 0
			return errEnded
		}
		m, err := t.next(nil)
		if err != nil {
			return err
		}
		if m.kind() == "close" || m.kind() == "" {
			if kind == "close" && m.kind() == "close" {
				return nil
			}
			continue
		}
		if m.kind() == kind {
			return t.take(m)
		}
		if err := t.unexpected(m); err != nil {
			return err
		}
	}
}

// take notes what a message that was waited for says.
func (t *turn) take(m message) error {
	switch m.kind() {
	case "user":
		if t.started {
			return errors.New("a second user message came in")
		}
		t.started = true
		return t.checkUser(m)
	case "control_request/interrupt":
		t.noteID("interrupt", m.RequestID)
	}
	return nil
}

// noteID maps the id under which the fixture recorded a request to this
// run's.
func (t *turn) noteID(subtype, id string) {
	for _, in := range t.fixture.Stdin {
		if m, err := parseMessage(in.Line); err == nil && m.Request.Subtype == subtype {
			t.ids[m.RequestID] = id
		}
	}
}

// checkUser demands what keeps a prompt from being read as a command: it is a
// list of blocks, the text is last and begins with a newline.
func (t *turn) checkUser(m message) error {
	blocks, err := m.blocks()
	if err != nil || m.Message.Role != "user" {
		return errors.New("the user message is not a list of blocks in the role user")
	}
	for i, b := range blocks {
		last := i == len(blocks)-1
		switch {
		case last && b.Type != "text":
			return errors.Newf("the last block is %q, not text: claude reads @path and /command there only", b.Type)
		case last && !strings.HasPrefix(b.Text, "\n"):
			return errors.New("the text does not begin with a newline: one that begins with / would be taken for a command")
		case !last && b.Type != "image":
			return errors.Newf("block %d is %q: images come first, then one text", i+1, b.Type)
		}
	}
	if len(blocks) == 0 {
		return errors.New("the user message is empty")
	}
	t.prompt = m.text()
	return t.checkMarker()
}

// unexpected handles a message the fixture has no place for.
func (t *turn) unexpected(m message) error {
	switch m.kind() {
	case "control_request/interrupt":
		if t.knob("ignore_signals") != "" || !t.started {
			return nil
		}
		return t.interrupted(m.RequestID)
	case "user":
		return errors.New("a second user message came in")
	case "control_request/initialize":
		return errors.New("initialize came in a second time")
	}
	return t.line(fmt.Appendf(nil, `{"type":"control_response","response":{"subtype":"error","request_id":%s,"error":%s}}`,
		quoted(m.RequestID), quoted("Unsupported control request subtype: "+m.Request.Subtype)))
}

func quoted(s string) string { return `"` + jsonText(s) + `"` }

// interrupted answers an interrupt as the real CLI does and waits for the end
// of input.
func (t *turn) interrupted(id string) error {
	body := `,"response":{"still_queued":[]}`
	if olderThan(t.version, "2.1.332") {
		body = ""
	}
	err := t.line(fmt.Appendf(nil, `{"type":"control_response","response":{"subtype":"success","request_id":%s%s}}`, quoted(id), body))
	if err == nil {
		err = t.aborted()
	}
	if err != nil {
		return err
	}
	t.code = 1 // the last result is an error
	if err := t.closed(); err != nil {
		return err
	}
	return errEnded
}

// closed waits for the end of input, and then as long as linger says.
func (t *turn) closed() error {
	if !t.eof {
		if err := t.await("close"); err != nil {
			return err
		}
	}
	linger, err := t.duration("linger")
	time.Sleep(linger)
	return err
}

// aborted writes the tidy end of a turn that was cancelled, by the shapes of
// the recorded cases interrupt-text and interrupt-bash.
func (t *turn) aborted() error {
	text, reason := "[Request interrupted by user]", "aborted_streaming"
	if t.tools > 0 {
		text, reason = "[Request interrupted by user for tool use]", "aborted_tools"
	}
	session := quoted(t.values.Session)
	lines := []string{
		fmt.Sprintf(`{"type":"user","message":{"role":"user","content":[{"type":"text","text":%s}]},"parent_tool_use_id":null,"session_id":%s,"uuid":%s}`,
			quoted(text), session, quoted(uuid(t.values.Session, "aborted"))),
		fmt.Sprintf(`{"duration_api_ms":100,"stop_reason":null,"session_id":%s,"total_cost_usd":0,"usage":{"input_tokens":0,"output_tokens":0},"modelUsage":{},"permission_denials":[],"terminal_reason":%s,"is_error":true,"num_turns":2,"subtype":"error_during_execution","errors":["[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=null"],"type":"result","duration_ms":1000,"uuid":%s}`,
			session, quoted(reason), quoted(uuid(t.values.Session, "result"))),
		fmt.Sprintf(`{"type":"system","subtype":"session_state_changed","state":"idle","uuid":%s,"session_id":%s}`, quoted(uuid(t.values.Session, "idle")), session),
	}
	for _, line := range lines {
		if err := t.line([]byte(line)); err != nil {
			return err
		}
	}
	return t.out.Flush()
}

// prepare fills in the values and starts the transcript on disk.
func (t *turn) prepare() error {
	if err := t.settle(t.fixture); err != nil {
		return err
	}
	t.lines = t.fixture.Lines()
	t.disk = t.newDisk(t.projectDir(), t.values.Session+".jsonl", `"type":"user"`, t.prompt)
	if err := t.disk.begin(); err != nil {
		return err
	}
	if kind := t.knob("grandchild"); kind != "" {
		return startGrandchild(kind, t.knob("grandchild_pid"), t.dir)
	}
	return nil
}

// hang stops for ever. Within a turn requests are still answered, and an
// interrupt ends it.
func (t *turn) hang(interruptible bool) error {
	for {
		m, err := t.next(nil)
		if err != nil {
			return err
		}
		if interruptible && m.Type == "control_request" {
			if err := t.unexpected(m); err != nil {
				return err
			}
		}
	}
}
