package fakeagents

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/errors"
)

// player writes the lines of a fixture as a CLI had written them, makes the
// effects where it had made them, and misbehaves as the knobs say. How an
// agent's lines look, and what it does between them, is its dialect's.
type player struct {
	*process
	dialect dialect
	fixture *Fixture
	lines   [][]byte
	values  Values
	out     *bufio.Writer
	disk    *disk
	written int // lines of the fixture
	code    int // exit code
}

// dialect is one agent's own.
type dialect interface {
	// first is the index of the first line of a turn.
	first() int
	// attend does what is due when n lines were written: it waits for what had
	// been said to the CLI by then, hangs or pauses, and looks at what came in.
	attend(s *script, n int) error
	// hang stops for ever; interruptible by what would interrupt the CLI.
	hang(interruptible bool) error
	// fill completes a line of the fixture.
	fill(line []byte) []byte
	// sort is what a line is to the knobs.
	sort(line []byte) lineSort
	// text is a line that says something, as the CLI writes it.
	text(text string) []byte
	// tool is the result of tool call n with that output, which stands in it
	// outputs times.
	tool(n int, output string) []byte
	outputs() int
	// odd is a line of a kind that no version has.
	odd(n int) []byte
	// end waits for what ends the CLI.
	end() error
}

// lineSort is what a line is to the knobs.
type lineSort int

const (
	anyLine    lineSort = iota
	resultLine          // the turn is over
	stateLine           // says what the CLI is doing
	textLine            // the first message begins with it
)

// errEnded unwinds a turn that is over before its lines are: end of input,
// an interrupt, a signal, a knob. The exit code is in player.code.
var errEnded = errors.New("ended")

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

func (p *player) script() (s *script, err error) {
	s = &script{hangAt: -1}
	switch h := p.knob("hang"); h {
	case "":
	case "first":
		s.hangAt = 0
	default:
		if s.hangAt, err = strconv.Atoi(h); err != nil {
			return s, errors.Wrap(err, "knob hang")
		}
	}
	if s.pace, err = p.duration("pace"); err != nil {
		return s, err
	}
	for _, k := range []struct {
		name string
		n    *int
	}{{"half_line", &s.halfLine}, {"crash", &s.crashAt}, {"flood", &s.flood.lines}, {"stamp", &s.stamp}} {
		if *k.n, err = p.number(k.name); err != nil {
			return s, err
		}
	}
	if s.bigLine, err = parseSize(p.knob("big_line")); err != nil {
		return s, errors.Wrap(err, "knob big_line")
	}
	if s.flood.size, err = parseSize(p.knob("flood_line")); err != nil {
		return s, errors.Wrap(err, "knob flood_line")
	}
	s.flood.kind = p.knob("flood_kind")
	s.noResult = p.knob("no_result") != ""
	s.noStates = p.knob("no_state_events") != ""
	s.grease = p.knob("grease") != ""
	s.banner = p.knob("banner") != ""
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

// choose settles which fixture is played; signedOut and limited are the cases
// of those knobs.
func (p *player) choose(signedOut, limited, prompt string) error {
	var err error
	switch {
	case p.signedOut():
		p.fixture, err = p.recorded(signedOut)
	case p.knob("rate_limited") != "":
		p.fixture, err = p.recorded(limited)
	case p.process.fixture != nil:
		p.fixture = p.process.fixture
		if !p.fixture.tookMessage() {
			err = errors.Newf("fixture %s is no turn: no prompt went in", p.fixture.Name)
		}
	default:
		p.fixture, err = p.byPrompt(prompt)
		p.process.fixture = p.fixture // for its knobs
	}
	if err != nil {
		return err
	}
	if p.fixture.Provenance() == Captured {
		return errors.Newf("fixture %s was captured with another command line and cannot be played", p.fixture.Name)
	}
	return nil
}

// byPrompt finds the first fixture of the version that fits the prompp.
func (p *player) byPrompt(prompt string) (*Fixture, error) {
	for _, provenance := range []string{Real, Made} {
		all, err := p.corpus.All(func(name string) bool {
			return strings.HasPrefix(name, p.name+"/"+provenance+"/"+p.version+"/")
		})
		if err != nil {
			return nil, err
		}
		for _, f := range all {
			if f.fits(prompt) {
				return f, nil
			}
		}
	}
	return nil, errors.Newf("no fixture of %s %s fits the prompt %.80q", p.name, p.version, prompt)
}

func (f *Fixture) fits(prompt string) bool {
	if !f.tookMessage() {
		return false
	}
	if f.Match != nil {
		return f.Match.MatchString(prompt)
	}
	own := strings.TrimSpace(f.Prompt())
	return own != "" && strings.Contains(prompt, own)
}

// newDisk is the transcript of the chosen fixture.
func (p *player) newDisk(dir, own, user, prompt string) *disk {
	return &disk{dir: dir, own: own, user: user, values: p.values, asked: p.fixture.Prompt(), prompt: prompt,
		files: append([]File{}, p.fixture.Disk...), before: p.fixture.Before}
}

// play writes the fixture's lines and what the knobs add.
func (p *player) play() error {
	s, err := p.script()
	if err != nil {
		return err
	}
	if s.banner {
		if err := p.line([]byte("warning: this line is not JSON")); err != nil {
			return err
		}
	}
	effects := p.fixture.Effects
	if s.hangAt == 0 {
		return p.dialect.hang(true)
	}
	for i := p.dialect.first(); i < len(p.lines); i++ {
		p.written = i
		if err := p.dialect.attend(s, i); err != nil {
			return err
		}
		if effects, err = p.effects(effects, i); err != nil {
			return err
		}
		if err := p.playLine(s, p.lines[i], i+1); err != nil {
			return err
		}
		if s.crashAt == i+1 {
			return p.crash()
		}
	}
	p.written = len(p.lines)
	if err := p.dialect.attend(s, len(p.lines)); err != nil {
		return err
	}
	if _, err := p.effects(effects, len(p.lines)); err != nil {
		return err
	}
	return p.finish(s)
}

// effects makes those that are due when n lines were written.
func (p *player) effects(left []Effect, n int) ([]Effect, error) {
	for len(left) > 0 && left[0].After <= n {
		if err := left[0].Apply(p.dir); err != nil && p.knob("misfit") != "skip" {
			return nil, err
		}
		left = left[1:]
	}
	return left, nil
}

// playLine writes line number n of the fixture and what the knobs add.
func (p *player) playLine(s *script, line []byte, n int) error {
	sort := p.dialect.sort(line)
	if sort == resultLine && s.noResult || sort == stateLine && (s.noStates || s.noResult) {
		return nil
	}
	line = p.dialect.fill(line)
	switch {
	case s.halfLine == n:
		if _, err := p.out.Write(line[:len(line)/2]); err != nil {
			return err
		}
		return errEnded
	case sort == resultLine && s.bigLine > 0:
		if err := p.line(p.dialect.text(strings.Repeat("x", s.bigLine))); err != nil {
			return err
		}
	}
	if s.grease {
		if err := p.line(p.dialect.odd(n)); err != nil {
			return err
		}
		line = append([]byte(`{"grease":{"list":[1,null,"x"]},`), line[1:]...)
	}
	if err := p.line(line); err != nil {
		return err
	}
	if sort != textLine {
		return nil
	}
	flood, stamps := s.flood, s.stamp
	s.flood.lines, s.stamp = 0, 0 // in the first message only
	if err := p.flood(flood); err != nil {
		return err
	}
	return p.stamps(stamps)
}

// flood writes lines as fast as the pipe takes them.
func (p *player) flood(f flood) error {
	switch f.kind {
	case "", "text_delta":
		one := append(p.dialect.text(f.text(1)), '\n')
		perChunk := max(1, 60<<10/len(one))
		chunk := bytes.Repeat(one, min(perChunk, f.lines))
		for n := f.lines; n > 0; n -= perChunk {
			if n < perChunk {
				chunk = chunk[:n*len(one)]
			}
			if _, err := p.out.Write(chunk); err != nil {
				return err
			}
		}
	case "tool_result":
		output := f.text(p.dialect.outputs())
		for n := range f.lines {
			if _, err := p.out.Write(append(p.dialect.tool(n, output), '\n')); err != nil {
				return err
			}
		}
	default:
		return errors.Newf("knob flood_kind: %q", f.kind)
	}
	return p.out.Flush()
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

// stamps writes n texts that say when they were written.
func (p *player) stamps(n int) error {
	for range n {
		time.Sleep(time.Millisecond)
		if err := p.line(p.dialect.text(strconv.FormatInt(time.Now().UnixNano(), 10))); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) crash() error {
	var err error
	if p.code, err = p.number("crash_exit"); err != nil {
		return err
	}
	if p.knob("crash_exit") == "" {
		p.code = 1
	}
	if text := p.knob("crash_stderr"); text != "" {
		fmt.Fprintln(p.stderr, text)
	}
	return errEnded
}

// finish writes the rest of the transcript and ends as the CLI had ended.
func (p *player) finish(s *script) error {
	if err := p.disk.end(); err != nil {
		return err
	}
	if _, err := p.stderr.Write(p.values.FillText(p.fixture.Stderr)); err != nil {
		return err
	}
	if s.noResult {
		return errEnded // with exit code 0
	}
	if err := p.dialect.end(); err != nil {
		return err
	}
	p.code = p.fixture.Exit
	if p.knob("ignore_close") != "" {
		return p.dialect.hang(false)
	}
	return nil
}

// number reads a knob that is a count, 0 when absent.
func (p *player) number(name string) (int, error) {
	v := p.knob(name)
	if v == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(v)
	return n, errors.Wrapf(err, "knob %s", name)
}

// duration reads a knob that is a time, 0 when absent.
func (p *player) duration(name string) (time.Duration, error) {
	v := p.knob(name)
	if v == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(v)
	return d, errors.Wrapf(err, "knob %s", name)
}

// line writes one line at once, as the real CLI does.
func (p *player) line(line []byte) error {
	if _, err := p.out.Write(line); err != nil {
		return err
	}
	if err := p.out.WriteByte('\n'); err != nil {
		return err
	}
	return p.out.Flush()
}

func newPlayer(p *process) *player {
	return &player{process: p, out: bufio.NewWriterSize(p.stdout, 64<<10)}
}
