package fakeagents

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/errors"
)

// grokTurn is one headless grok: its prompt is in a file, nothing comes in by
// stdin, and it has no handler for signals.
type grokTurn struct {
	*player
	args   grokArgs
	user   string // what the user asked
	prompt string // the whole prompt, as grok takes it
	record *grokRecord
}

func (p *process) grokTurn(args grokArgs) int {
	t := &grokTurn{player: newPlayer(p), args: args}
	t.dialect = t
	err := t.run()
	if errors.Is(err, errEnded) {
		err = nil
	}
	if flushErr := t.out.Flush(); err == nil && flushErr != nil {
		return 0 // the reader of its stdout is gone: a clean stop
	}
	if err != nil {
		return p.refused(err)
	}
	return t.code
}

func (t *grokTurn) run() error {
	if t.knob("ignore_signals") != "" {
		signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	}
	if err := t.read(); err != nil {
		return err
	}
	if t.args.resume != "" {
		known, err := t.find()
		if err != nil {
			return err
		}
		if !known {
			return t.lost()
		}
	}
	if err := t.choose("not-signed-in", "rate-limited", t.user); err != nil {
		return err
	}
	if err := t.prepare(); err != nil {
		return err
	}
	return t.play()
}

// read reads the prompt file, and stdin to its end: it is closed at once, and
// nothing was written to it.
func (t *grokTurn) read() (err error) {
	if t.user, t.prompt, err = t.readGrokPrompt(t.args.promptFile); err != nil {
		return err
	}
	data, err := io.ReadAll(t.stdin)
	if err == nil && len(data) > 0 {
		err = errors.Newf("%d bytes came in by stdin; the prompt goes by file", len(data))
	}
	if err != nil {
		return err
	}
	return t.log.add(LogEntry{EOF: true})
}

// find looks the session up that is to go on. One of another folder goes on
// there, whatever --cwd says. A fixture that goes on with a session of which it
// has no files has that where nobody here can look.
func (t *grokTurn) find() (known bool, err error) {
	dir, cwd, err := t.grokSession(t.args.resume)
	if err != nil {
		return false, err
	}
	if dir != "" {
		if exists(cwd) {
			t.dir = cwd
		}
		return true, nil
	}
	f := t.process.fixture
	return f != nil && slices.Contains(f.Argv, "-r") && len(f.Before) == 0 && len(f.Stdout) > 0, nil
}

// lost plays the resuming of a session that does not exist.
func (t *grokTurn) lost() error {
	f, err := t.recorded("resume-lost")
	if err != nil {
		return err
	}
	if _, err := t.stderr.Write(t.process.values(t.args.resume).FillText(f.Stderr)); err != nil {
		return err
	}
	t.code = f.Exit
	return errEnded
}

// prepare fills in the values and starts the session's files.
func (t *grokTurn) prepare() error {
	session := t.args.resume
	if session == "" {
		var err error
		if session, err = t.newGrokSession(t.fixture); err != nil {
			return err
		}
	}
	t.values = t.process.values(session)
	t.values.Tmp = grokTemp(t.args.promptFile)
	t.lines = t.fixture.Lines()
	t.disk = &disk{} // its files are made of its lines, see grokRecord
	t.record = newGrokRecord(t)
	if kind := t.knob("grandchild"); kind != "" {
		return startGrandchild(kind, t.knob("grandchild_pid"), t.dir)
	}
	return nil
}

func (t *grokTurn) first() int { return 0 }

// attend writes to disk what the last line said, and hangs or pauses.
func (t *grokTurn) attend(s *script, n int) error {
	if n > 0 {
		if err := t.record.note(t.fill(t.lines[n-1])); err != nil {
			return err
		}
	}
	if s.hangAt > 0 && s.hangAt == n {
		return t.hang(true)
	}
	for _, in := range t.fixture.Stdin {
		if in.Signal != "" && in.After == n {
			return t.hang(true)
		}
	}
	time.Sleep(s.pace)
	return nil
}

// hang lives until a signal ends it, as any process without a handler.
func (t *grokTurn) hang(bool) error {
	if err := t.out.Flush(); err != nil {
		return err
	}
	time.Sleep(grandchildLife)
	return errors.New("nobody ended it")
}

// fill completes a line. The results of tools are JSON within JSON.
func (t *grokTurn) fill(line []byte) []byte {
	if bytes.HasPrefix(line, []byte(`{"type":"user"`)) {
		return t.values.fill(line, 2)
	}
	return t.values.Fill(line)
}

func (t *grokTurn) sort(line []byte) lineSort {
	switch {
	case bytes.HasPrefix(line, []byte(`{"type":"result"`)):
		return resultLine
	case textStart.Match(line):
		return textLine
	}
	return anyLine
}

func (t *grokTurn) text(text string) []byte {
	return fmt.Appendf(nil, `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}},"parent_tool_use_id":null,"session_id":%s,"uuid":%s}`,
		quoted(text), quoted(t.values.Session), quoted(uuid(t.values.Session, "delta")))
}

// tool has its output as JSON within JSON, where a newline takes three bytes
// and would make the line longer than was asked for.
func (t *grokTurn) tool(n int, output string) []byte {
	output = strings.ReplaceAll(output, "\n", " ")
	content := fmt.Sprintf(`{"type":"Bash","output":[],"output_for_prompt":%s,"exit_code":0,"command":"flood","truncated":false,"signal":null,"timed_out":false}`, quoted("exit: 0\n"+output))
	return fmt.Appendf(nil, `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_flood_%d","content":%s,"is_error":false}]},"parent_tool_use_id":null,"session_id":%s,"uuid":%s}`,
		n, quoted(content), quoted(t.values.Session), quoted(uuid(t.values.Session, "flood")))
}

func (t *grokTurn) outputs() int { return 1 }

func (t *grokTurn) odd(n int) []byte {
	session := quoted(t.values.Session)
	kinds := []string{
		`{"type":"grease","value":{"nested":[1,2,3]},"session_id":%s}`,
		`{"type":"system","subtype":"grease","message":"never seen","session_id":%s}`,
		`{"type":"stream_event","event":{"type":"grease_delta","index":0},"session_id":%s,"parent_tool_use_id":null}`,
		`{"session_id":%s,"no_type_at_all":true}`,
	}
	return fmt.Appendf(nil, kinds[n%len(kinds)], session)
}

// end lives on as the knob says, or until the signal that had ended it.
func (t *grokTurn) end() error {
	if t.fixture.Signal != "" {
		return t.hang(true)
	}
	linger, err := t.duration("linger")
	time.Sleep(linger)
	return err
}

// grokSessions is where grok keeps its sessions, below its own folder.
func (p *process) grokSessions() string { return filepath.Join(p.configDir(), "sessions") }
