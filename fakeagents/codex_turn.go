package fakeagents

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// maxCodexPrompt is how long a prompt may be, in characters (0.171.0).
const maxCodexPrompt = 1 << 20

// codexTurn is one "codex exec": it reads its prompt to the end of its input
// and asks for nothing more.
type codexTurn struct {
	*player
	args    codexArgs
	prompt  string
	signals chan os.Signal
}

func (p *process) codexTurn(args codexArgs) int {
	t := &codexTurn{player: newPlayer(p), args: args, signals: make(chan os.Signal, 4)}
	t.dialect = t
	err := t.run()
	if errors.Is(err, errEnded) {
		err = nil
	}
	if flushErr := t.out.Flush(); err == nil && flushErr != nil {
		return 101 // the reader of its stdout is gone: the real one panics
	}
	if err != nil {
		return p.refused(err)
	}
	return t.code
}

func (t *codexTurn) run() error {
	said, err := t.read()
	if err != nil || said != "" {
		return t.failed(said, err)
	}
	// SIGTERM and SIGHUP end it as they end any process. What it does at
	// SIGINT before its prompt is complete was not measured.
	signal.Notify(t.signals, os.Interrupt)
	if t.knob("ignore_signals") != "" {
		signal.Notify(t.signals, syscall.SIGTERM, syscall.SIGHUP)
	}
	if t.args.resume != "" && uuidText.MatchString(t.args.resume) {
		found, err := t.rollouts(strings.ToLower(t.args.resume))
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return t.lost()
		}
	}
	if err := t.choose("not-signed-in", "usage-limit", t.prompt); err != nil {
		return err
	}
	if err := t.prepare(); err != nil {
		return err
	}
	if n := utf8.RuneCountInString(t.prompt); n > maxCodexPrompt {
		if err := t.line(t.fill(t.lines[0])); err != nil {
			return err
		}
		return t.failed(fmt.Sprintf(`Error: turn/start: turn/start failed: Input exceeds the maximum length of %d characters. (code -32602), data: {"input_error_code":"input_too_large","max_chars":%[1]d,"actual_chars":%d}`, maxCodexPrompt, n), nil)
	}
	return t.play()
}

var uuidText = lazyregexp.New(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// read reads the prompt to the end of the input. said is why the CLI does not
// take it.
func (t *codexTurn) read() (said string, err error) {
	data, err := io.ReadAll(t.stdin)
	if err != nil {
		return "", err
	}
	if err := t.log.add(LogEntry{Stdin: string(data)}); err != nil {
		return "", err
	}
	if err := t.log.add(LogEntry{EOF: true}); err != nil {
		return "", err
	}
	t.prompt = string(data)
	if at := invalidAt(data); at >= 0 {
		return fmt.Sprintf("Failed to read prompt from stdin: input is not valid UTF-8 (invalid byte at offset %d). Convert it to UTF-8 and retry (e.g., `iconv -f <ENC> -t UTF-8 prompt.txt`).", at), nil
	}
	if strings.TrimSpace(t.prompt) == "" {
		return "No prompt provided via stdin.", nil
	}
	return "", nil
}

// invalidAt is the offset of the first byte that is not UTF-8, -1 when all is.
func invalidAt(b []byte) int {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// failed ends the process with its words on stderr.
func (t *codexTurn) failed(said string, err error) error {
	if err != nil {
		return err
	}
	fmt.Fprintln(t.stderr, said)
	t.code = 1
	return errEnded
}

// lost plays the resuming of a thread that does not exist.
func (t *codexTurn) lost() error {
	f, err := t.recorded("resume-lost")
	if err != nil {
		return err
	}
	v := t.process.values(t.args.resume)
	if _, err := t.stderr.Write(v.FillText(f.Stderr)); err != nil {
		return err
	}
	t.code = f.Exit
	return errEnded
}

// prepare fills in the values and starts the rollout.
func (t *codexTurn) prepare() error {
	thread := strings.ToLower(t.args.resume)
	if !uuidText.MatchString(thread) { // anything else begins a new thread, silently
		var err error
		if thread, err = t.newThread(t.fixture); err != nil {
			return err
		}
	}
	t.values = t.process.values(thread)
	t.lines = t.fixture.Lines()
	t.disk = t.newDisk(t.sessionsDir(), codexRollout, `"type":"UserMessage"`, t.prompt)
	t.disk.where = t.rolloutPath
	if err := t.disk.begin(); err != nil {
		return err
	}
	if kind := t.knob("grandchild"); kind != "" {
		return startGrandchild(kind, t.knob("grandchild_pid"), t.dir)
	}
	return nil
}

func (t *codexTurn) first() int { return 0 }

// attend hangs or pauses between two lines, and waits for the signal that had
// been sent to the CLI there.
func (t *codexTurn) attend(s *script, n int) error {
	if s.hangAt > 0 && s.hangAt == n {
		return t.hang(true)
	}
	for _, in := range t.fixture.Stdin {
		if in.Signal != "" && in.After == n {
			return t.hang(true)
		}
	}
	if s.pace == 0 {
		select {
		case <-t.signals:
			return t.interrupted()
		default:
			return nil
		}
	}
	pause := time.After(s.pace)
	for {
		select {
		case <-t.signals:
			if err := t.interrupted(); err != nil {
				return err
			}
		case <-pause:
			return nil
		}
	}
}

// hang waits for a signal.
func (t *codexTurn) hang(interruptible bool) error {
	if err := t.out.Flush(); err != nil {
		return err
	}
	for range t.signals {
		if !interruptible {
			t.code = t.fixture.Exit
			return errEnded
		}
		if err := t.interrupted(); err != nil {
			return err
		}
	}
	return nil
}

// interrupted ends the turn as SIGINT does: without another line, with exit
// code 1 and a tidy rollout.
func (t *codexTurn) interrupted() error {
	if t.knob("ignore_signals") != "" {
		return nil
	}
	t.code = 1
	if t.fixture.Interrupted() && t.written == len(t.lines) {
		if err := t.disk.end(); err != nil {
			return err
		}
		if _, err := t.stderr.Write(t.values.FillText(t.fixture.Stderr)); err != nil {
			return err
		}
		return errEnded
	}
	if err := t.aborted(); err != nil {
		return err
	}
	return errEnded
}

func (t *codexTurn) fill(line []byte) []byte { return t.values.Fill(line) }

func (t *codexTurn) sort(line []byte) lineSort {
	switch kind := string(codexLineType.Find(line)); kind {
	case `{"type":"turn.completed"`, `{"type":"turn.failed"`:
		return resultLine
	case `{"type":"turn.started"`:
		return textLine // the first message is whole; what floods comes before it
	}
	return anyLine
}

var codexLineType = lazyregexp.New(`^\{"type":"[a-z.]+"`)

func (t *codexTurn) text(text string) []byte {
	return fmt.Appendf(nil, `{"type":"item.completed","item":{"id":"item_flood","type":"agent_message","text":%s}}`, quoted(text))
}

func (t *codexTurn) tool(n int, output string) []byte {
	return fmt.Appendf(nil, `{"type":"item.completed","item":{"id":"item_flood_%d","type":"command_execution","command":"/bin/bash -lc flood","aggregated_output":%s,"exit_code":0,"status":"completed"}}`, n, quoted(output))
}

func (t *codexTurn) outputs() int { return 1 }

func (t *codexTurn) odd(n int) []byte {
	kinds := []string{
		`{"type":"grease","value":{"nested":[1,2,3]}}`,
		`{"type":"item.completed","item":{"id":"item_grease","type":"grease","text":"never seen"}}`,
		`{"type":"item.updated","item":{"id":"item_grease","type":"grease"}}`,
		`{"no_type_at_all":true}`,
	}
	return []byte(kinds[n%len(kinds)])
}

// end lives on as the knob says: nothing else keeps the CLI.
func (t *codexTurn) end() error {
	linger, err := t.duration("linger")
	time.Sleep(linger)
	return err
}
