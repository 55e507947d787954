// Package agenttest is the contract that every adapter passes: what holds for
// the events of any agent, whatever its CLI prints. It is given the adapter
// and transcripts; where those come from is the caller's business.
package agenttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// Suite is an adapter and what its CLI was seen to print.
type Suite struct {
	Agent agent.Agent
	Cases []Case
	// Closing is a line after which a run is complete: it appears in at least
	// one case, and cutting it in half must give a crash.
	Closing func(line []byte) bool
	// PlainPrompt says that the prompt goes to stdin as it is, all at once, not
	// as a line of a protocol.
	PlainPrompt bool
}

// Case is one transcript.
type Case struct {
	Name  string
	Lines [][]byte // of stdout, without newlines
	Exit  agent.Exit
	Opts  agent.MapOptions
}

// Run checks the contract. Each part is a subtest that names the rule.
func Run(t *testing.T, s Suite) {
	t.Helper()
	if len(s.Cases) == 0 || s.Closing == nil {
		t.Fatal("agenttest: no cases, or no closing line: a suite that checks nothing proves nothing")
	}
	t.Run("command", s.command)
	t.Run("scrub", s.scrub)
	t.Run("conversation", s.conversation)
	closed := 0
	for i, c := range s.Cases {
		if testing.Short() && i%4 != 0 { // the round with the race detector
			continue
		}
		t.Run(c.Name, func(t *testing.T) { closed += s.transcript(t, c) })
	}
	if closed == 0 {
		t.Error("agenttest: no case has a closing line")
	}
}

// transcript checks one case and returns how many closing lines it has.
func (s Suite) transcript(t *testing.T, c Case) int {
	plain := s.play(t, c, c.Lines)
	checkOrder(t, plain)
	checkFinish(t, plain, c.Exit)
	same := func(rule string, lines [][]byte) {
		t.Helper()
		if d := diff(plain.wire(), s.play(t, c, lines).wire()); d != "" {
			t.Errorf("%s changed the events: %s", rule, d)
		}
	}
	same("mapping a second time", c.Lines)
	same("another order of keys", sortedKeys(c.Lines))
	same("unknown fields", withUnknownField(c.Lines))
	s.checkUnknownLines(t, c, plain)
	s.checkBufferReuse(t, c, plain)
	s.checkStopped(t, c)
	s.checkPrefixes(t, c)
	return s.checkCutLine(t, c)
}

// played is what a mapper made of a transcript.
type played struct {
	events  []event.Event // of the lines
	closing []event.Event // of Finish
	facts   agent.Facts
	notJSON int
}

func (p played) wire() []string {
	var out []string
	for _, e := range slices.Concat(p.events, p.closing) {
		b, err := event.Encode(e)
		if err != nil {
			b = []byte(err.Error())
		}
		out = append(out, string(b))
	}
	return out
}

func (s Suite) play(t *testing.T, c Case, lines [][]byte) played {
	t.Helper()
	m := s.Agent.NewMapper(c.Opts)
	var p played
	for _, line := range lines {
		events, err := m.Map(line)
		if err != nil {
			if !errors.Is(err, agent.ErrNotJSON) || len(events) > 0 {
				t.Fatalf("Map(%.80q) = %d events, %v; want ErrNotJSON and none", line, len(events), err)
			}
			p.notJSON++
		}
		p.events = append(p.events, events...)
	}
	p.closing = m.Finish(c.Exit)
	p.facts = m.Facts()
	return p
}

// checkOrder is spec "Order within a run", as far as a mapper has a part in it.
func checkOrder(t *testing.T, p played) {
	t.Helper()
	starts, announced, answered := 0, map[string]bool{}, map[string]bool{}
	shown := map[string]bool{}
	for i, e := range p.events {
		switch e := e.(type) {
		case event.Start:
			starts++
			if slices.ContainsFunc(p.events[:i], func(e event.Event) bool { return e.Type() != "note" }) {
				t.Errorf("event %d: start after something that is no note", i)
			}
		case event.Tool:
			announced[e.ID] = true
		case event.FileEdit:
			announced[e.ID] = true
			if strings.Contains(e.Path, "\\") || e.Path == "" {
				t.Errorf("event %d: file_edit path %q", i, e.Path)
			}
		case event.ToolResult:
			if !announced[e.ID] {
				t.Errorf("event %d: tool_result %q before its tool or file_edit", i, e.ID)
			}
			answered[e.ID] = true
			if n := len([]rune(e.Text)); n > 4000 {
				t.Errorf("event %d: tool_result of %d characters", i, n)
			}
		case event.Delta:
			shown[e.MessageID] = true
		case event.ThinkingDelta:
			shown[e.MessageID] = true
		case event.DeltaReset:
			if !shown[e.MessageID] {
				t.Errorf("event %d: delta_reset of %q, which showed nothing", i, e.MessageID)
			}
			shown[e.MessageID] = false
		case event.Note, event.Usage:
		default:
			t.Errorf("event %d: a line gave %q, which is not a line's to give", i, e.Type())
		}
	}
	others := slices.ContainsFunc(p.events, func(e event.Event) bool { return e.Type() != "note" })
	if starts > 1 || starts == 0 && others {
		t.Errorf("%d start events", starts)
	}
	if open := len(announced) - len(answered); p.facts.ToolsOpen != open {
		t.Errorf("Facts.ToolsOpen = %d, the events leave %d open", p.facts.ToolsOpen, open)
	}
}

// checkFinish: a result, or an error, or a result and then the error it tells
// of. Only a run that we stopped may end without a word.
func checkFinish(t *testing.T, p played, exit agent.Exit) {
	t.Helper()
	results, failures := 0, 0
	for i, e := range p.closing {
		switch e := e.(type) {
		case event.Result:
			results++
			if failures > 0 {
				t.Error("result after error")
			}
		case event.Error:
			failures++
			if e.Message == "" || !slices.Contains(codes, e.Code) {
				t.Errorf("error without a message or with an unknown code: %+v", e)
			}
		default:
			t.Errorf("closing event %d is %q", i, e.Type())
		}
	}
	if results > 1 || failures > 1 {
		t.Errorf("%d results and %d errors", results, failures)
	}
	if exit.Stopped {
		if failures > 0 {
			t.Error("a stopped run is not a failure")
		}
		return
	}
	if results+failures == 0 {
		t.Error("the run ended without a word")
	}
	if p.facts.Succeeded != (failures == 0) {
		t.Errorf("Facts.Succeeded = %v with %d errors", p.facts.Succeeded, failures)
	}
}

// codes are all codes of an error event.
var codes = []string{
	event.CodeNotFound, event.CodeNotSignedIn, event.CodeBilling, event.CodeRateLimited, event.CodeOverloaded,
	event.CodeModelNotFound, event.CodePromptTooLong, event.CodeMaxTurns, event.CodeRefused, event.CodeCrashed,
	event.CodeTimeout, event.CodeBadRequest, event.CodeUnsupported, event.CodeInternal,
}

// grease are lines no CLI prints; each is an object of an unknown type.
var grease = [][]byte{
	[]byte(`{"type":"grease_frobnicate","subtype":"x","message":{"id":"g","content":[{"type":"text","text":"no"}]}}`),
	[]byte(`{"type":"grease_nothing"}`),
	[]byte(`{"grease":[{"type":"result"}],"type":"grease_inner"}`),
}

var notJSON = [][]byte{[]byte("Warning: a banner"), []byte(""), []byte(`{"type":`), []byte(`[1]`), []byte(`"result"`), []byte("null")}

// checkUnknownLines: unknown types are counted, what is not JSON is reported,
// and neither changes anything.
func (s Suite) checkUnknownLines(t *testing.T, c Case, plain played) {
	t.Helper()
	var lines [][]byte
	greased, banners := 0, 0
	for i, line := range c.Lines {
		if i < 200 {
			lines = append(lines, grease[i%len(grease)], notJSON[i%len(notJSON)])
			greased, banners = greased+1, banners+1
		}
		lines = append(lines, line)
	}
	p := s.play(t, c, lines)
	if d := diff(plain.wire(), p.wire()); d != "" {
		t.Errorf("unknown lines changed the events: %s", d)
	}
	if got := p.facts.Unknown - plain.facts.Unknown; got != greased {
		t.Errorf("%d of %d unknown lines counted", got, greased)
	}
	if got := p.notJSON - plain.notJSON; got != banners {
		t.Errorf("%d of %d lines reported as not JSON", got, banners)
	}
}

// checkBufferReuse: events stay as they are when the line's memory is reused.
func (s Suite) checkBufferReuse(t *testing.T, c Case, plain played) {
	t.Helper()
	m := s.Agent.NewMapper(c.Opts)
	var p played
	var buf []byte
	for _, line := range c.Lines {
		buf = append(buf[:0], line...)
		events, _ := m.Map(buf)
		p.events = append(p.events, events...)
		for i := range buf {
			buf[i] = '#'
		}
	}
	p.closing = m.Finish(c.Exit)
	if d := diff(plain.wire(), p.wire()); d != "" {
		t.Errorf("events hold on to the line's memory: %s", d)
	}
}

// checkStopped: what we ended ourselves is never a failure.
func (s Suite) checkStopped(t *testing.T, c Case) {
	t.Helper()
	exit := agent.Exit{Code: -1, Signal: "SIGKILL", Stopped: true}
	for _, e := range (s.play(t, Case{Opts: c.Opts, Exit: exit}, c.Lines[:len(c.Lines)/2])).closing {
		if e.Type() == "error" {
			t.Errorf("a stopped run gave %+v", e)
		}
	}
}

// checkPrefixes: wherever the agent dies, the run ends with a word.
func (s Suite) checkPrefixes(t *testing.T, c Case) {
	t.Helper()
	deaths := 8
	if len(bytes.Join(c.Lines, nil)) > 256<<10 {
		deaths = 2 // megabytes: each death maps all lines before it
	}
	step := max(1, len(c.Lines)/deaths)
	for n := 0; n < len(c.Lines); n += step {
		exit := agent.Exit{Code: 0}
		p := s.play(t, Case{Opts: c.Opts, Exit: exit}, c.Lines[:n])
		checkOrder(t, p)
		checkFinish(t, p, exit)
	}
}

// checkCutLine: half of the first closing line is a crash, exit 0 or not.
func (s Suite) checkCutLine(t *testing.T, c Case) int {
	t.Helper()
	i := slices.IndexFunc(c.Lines, s.Closing)
	if i < 0 {
		return 0
	}
	cut := slices.Concat(c.Lines[:i], [][]byte{c.Lines[i][:len(c.Lines[i])/2]})
	closing := s.play(t, Case{Opts: c.Opts}, cut).closing
	if len(closing) != 1 {
		t.Errorf("a cut last line gave %d closing events", len(closing))
		return 1
	}
	if e, ok := closing[0].(event.Error); !ok || e.Code != event.CodeCrashed {
		t.Errorf("a cut last line gave %+v; want an error with code crashed", closing[0])
	}
	return 1
}

// sortedKeys writes every object with its keys in order, "type" no longer
// first. Lines that are not JSON stay.
func sortedKeys(lines [][]byte) [][]byte {
	out := make([][]byte, len(lines))
	for i, line := range lines {
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		var v any
		out[i] = line
		if d.Decode(&v) == nil {
			if b, err := json.Marshal(v); err == nil {
				out[i] = b
			}
		}
	}
	return out
}

// withUnknownField puts a member in front that no CLI sends.
func withUnknownField(lines [][]byte) [][]byte {
	out := make([][]byte, len(lines))
	for i, line := range lines {
		out[i] = line
		if json.Valid(line) && bytes.HasPrefix(line, []byte(`{"`)) {
			out[i] = append([]byte(`{"grease":{"type":"result","list":[1,"a",null]},`), line[1:]...)
		}
	}
	return out
}

// diff says where two event lists part, "" when they are equal.
func diff(want, got []string) string {
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			return fmt.Sprintf("event %d is %.300s, want %.300s", i, got[i], want[i])
		}
	}
	if len(want) != len(got) {
		return fmt.Sprintf("%d events, want %d", len(got), len(want))
	}
	return ""
}

const (
	canary = "canary-prompt-7c1f"
	secret = "canary-secret-7c1f"
)

// command: nothing of the prompt is on the command line, and nothing that a
// request names can become a flag.
func (s Suite) command(t *testing.T) {
	spec := agent.Spec{
		Bin: "/opt/agent", Repo: t.TempDir(), RunDir: t.TempDir(), System: "be brief", Prompt: canary,
		Images: []agent.Image{{Path: "/x/shot-1.png", MIME: "image/png", Data: []byte(canary)}},
		Model:  "-m-flag", Effort: "--effort-flag", Resume: "--resume-flag",
	}
	inv := s.Agent.Command(spec)
	if inv.Bin != spec.Bin || inv.Dir != spec.Repo {
		t.Errorf("Bin %q, Dir %q; want those of the spec", inv.Bin, inv.Dir)
	}
	for _, arg := range inv.Args {
		if strings.Contains(arg, canary) {
			t.Errorf("the prompt is on the command line: %q", arg)
		}
		if arg == spec.Model || arg == spec.Effort || arg == spec.Resume {
			t.Errorf("%q became a flag", arg)
		}
	}
	for _, kv := range inv.Env {
		if !strings.Contains(kv, "=") {
			t.Errorf("Env has %q", kv)
		}
	}
}

// scrub: our secrets never reach an agent, whatever is kept.
func (s Suite) scrub(t *testing.T) {
	environ := []string{"PATH=/bin", "SLIDEWRITE_TOKEN=" + secret, "GEMINI_API_KEY=" + secret, "HOME=/h"}
	for _, keep := range []bool{false, true} {
		env, scrubbed := s.Agent.Scrub(slices.Clone(environ), keep)
		if strings.Contains(strings.Join(env, "\n"), secret) {
			t.Errorf("keepEnv %v: a secret of ours is left in %q", keep, env)
		}
		if !slices.Contains(env, "PATH=/bin") || !slices.Contains(env, "HOME=/h") {
			t.Errorf("keepEnv %v: PATH or HOME is gone from %q", keep, env)
		}
		if !slices.Contains(scrubbed, "SLIDEWRITE_TOKEN") {
			t.Errorf("keepEnv %v: the names taken away are %q", keep, scrubbed)
		}
	}
}

// conversation: every line written is one line, and a stop is always possible.
func (s Suite) conversation(t *testing.T) {
	const text = canary + "\nsecond line\u2028third"
	c := s.Agent.Converse(agent.Spec{Prompt: text})
	steps := []agent.Step{c.Open(), c.Line([]byte("not json")), c.Prompt()}
	if s.PlainPrompt {
		last := &steps[len(steps)-1]
		if got := string(bytes.Join(last.Write, nil)); got != "\n"+text || !last.Close {
			t.Errorf("the prompt was written as %q, input closed: %v", got, last.Close)
		}
		last.Write = nil
	}
	if step, ok := c.Interrupt(); ok {
		steps = append(steps, step)
	}
	for _, step := range steps {
		for _, w := range step.Write {
			if bytes.Count(w, []byte("\n")) != 1 || !bytes.HasSuffix(w, []byte("\n")) {
				t.Errorf("%.80q is not one line", w)
			}
		}
	}
	if c.PromptAfter() < 0 || c.CloseAfterResult() < 0 {
		t.Error("negative wait")
	}
}
