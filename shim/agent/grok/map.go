package grok

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// mapper turns the stdout of one run into events. The stream has claude's line
// types, but is simpler: one assistant line per response, no retries (text of
// an attempt that was retried stays), no sub-agents (what they say and do is in
// the stream as if the agent itself did).
type mapper struct {
	opts agent.MapOptions
	out  []event.Event  // of the line being mapped
	one  [1]event.Event // what fast returns

	slowOnly bool // tests: leave every line to the decoder

	started bool
	session string
	model   string
	foreign string // the folder grok works in, where that is not this run's
	lost    bool
	unknown int

	ids     map[string]bool // message ids that were given out
	current *message        // the response that began last
	spoken  int             // responses of which text was sent

	sum       tally // of all responses
	billed    tally // as the result says
	lastUsage event.Usage

	tools tools

	result   *wireLine
	finished bool
	ok       bool
}

// message is one response of the model.
type message struct {
	id        string
	confirmed bool // its assistant line was seen
	streamed  bool // text of it came in deltas
	thought   bool // thinking of it came in deltas
	spoken    bool // text of it was sent
	blocks    map[int]*openBlock
	usage     tally
}

// openBlock is a tool call whose input is coming in.
type openBlock struct {
	id, name string
	input    toolInput
	json     string
}

// NewMapper returns the stdout side of one run.
func (Grok) NewMapper(o agent.MapOptions) agent.Mapper { return newMapper(o) }

func newMapper(o agent.MapOptions) *mapper {
	return &mapper{opts: o, ids: map[string]bool{}, tools: tools{calls: map[string]*call{}}}
}

// Map maps one line of stdout.
func (m *mapper) Map(line []byte) ([]event.Event, error) {
	if m.started && m.foreign == "" && !m.slowOnly {
		if events, ok := m.fast(line); ok {
			return events, nil
		}
	}
	var l wireLine
	if !agent.Decode(line, &l) {
		return nil, agent.ErrNotJSON
	}
	m.out = nil
	m.look(lineTypes, l.Type, &l)
	return m.startFirst(&l), nil
}

func (m *mapper) emit(e event.Event) { m.out = append(m.out, e) }

// lineTypes, systemTypes, eventTypes and deltaTypes hold every type and subtype
// of 1.0.6; nil is one that says nothing a client needs.
var lineTypes = map[string]func(*mapper, *wireLine){
	"system":       func(m *mapper, l *wireLine) { m.look(systemTypes, l.Subtype, l) },
	"stream_event": func(m *mapper, l *wireLine) { m.look(eventTypes, l.Event.Type, l) },
	"assistant":    (*mapper).assistant,
	"user":         (*mapper).toolResults,
	"result":       (*mapper).resultLine,
}

var systemTypes = map[string]func(*mapper, *wireLine){
	"init":             (*mapper).init,
	"compact_boundary": (*mapper).compacted,
}

var eventTypes = map[string]func(*mapper, *wireLine){
	"message_start":       (*mapper).messageStart,
	"content_block_start": (*mapper).blockStart,
	"content_block_delta": func(m *mapper, l *wireLine) { m.look(deltaTypes, l.Event.Delta.Type, l) },
	"content_block_stop":  (*mapper).blockStop,
	"message_delta":       (*mapper).messageDelta,
	"message_stop":        nil, // the assistant line follows
}

var deltaTypes = map[string]func(*mapper, *wireLine){
	"text_delta":       func(m *mapper, l *wireLine) { m.text(m.streaming(), l.Event.Delta.Text, true) },
	"thinking_delta":   func(m *mapper, l *wireLine) { m.thinking(m.streaming(), l.Event.Delta.Thinking, true) },
	"input_json_delta": (*mapper).inputDelta,
	"signature_delta":  nil,
}

// look calls what the table has for name and counts a name it does not have.
// Of a grok that works elsewhere nothing is told.
func (m *mapper) look(table map[string]func(*mapper, *wireLine), name string, l *wireLine) {
	handle, known := table[name]
	if !known {
		m.unknown++
		return
	}
	if handle != nil && m.foreign == "" {
		handle(m, l)
	}
}

// init starts the run. grok prints it once, before its first content; one
// without a session is of a process that failed before there was one, and the
// result that follows says why.
func (m *mapper) init(l *wireLine) {
	switch {
	case l.SessionID == "":
		return
	case elsewhere(m.opts.Repo, m.opts.Session, l.Cwd):
		m.foreign = l.Cwd
		return
	case l.Cwd != "" && !sameText(plain(l.Cwd), plain(m.opts.Repo)):
		if m.opts.Top == "" {
			m.opts.Top = m.opts.Repo
		}
		m.opts.Repo = resolved(l.Cwd) // what relative paths of tools are relative to
	}
	m.session = l.SessionID
	if m.started {
		return
	}
	m.model = l.Model
	m.start()
	if m.opts.Resume != "" && !strings.EqualFold(l.SessionID, m.opts.Resume) {
		m.emit(event.Note{
			Message: "grok started a new session instead of continuing the one asked for",
			Level:   event.Warning, Code: "session_new",
		})
	}
}

func (m *mapper) start() {
	m.started = true
	if m.model == "unknown" {
		m.model = m.opts.Model
	}
	m.emit(event.Start{SessionID: m.session, Model: m.model, RunID: m.opts.RunID, Provider: Grok{}.Provider()})
}

// startFirst returns the events of the line. Should grok ever speak before its
// init, the start is made up so that it still comes first.
func (m *mapper) startFirst(l *wireLine) []event.Event {
	isNote := func(e event.Event) bool { _, ok := e.(event.Note); return ok }
	events := m.out
	m.out = nil
	if m.started || !slices.ContainsFunc(events, func(e event.Event) bool { return !isNote(e) }) {
		return events
	}
	m.session = l.SessionID
	m.start()
	events = append(m.out, events...)
	m.out = nil
	return events
}

// compacted says that the session was summarised because it had grown long.
func (m *mapper) compacted(l *wireLine) {
	m.emit(event.Note{
		Message: fmt.Sprintf("grok summarised the session so far, which had grown to %d tokens", agent.Whole(l.Compact.PreTokens)),
		Level:   event.Info, Code: "compacted",
	})
}

// messageStart opens a response. The one before may have had no content: then
// no assistant line came for it.
func (m *mapper) messageStart(l *wireLine) { m.begin(l.Event.Message.ID) }

// begin makes a new response the current one. Its id is one that no other
// response of the run has: stream and assistant lines are counted apart.
func (m *mapper) begin(id string) *message {
	own := id
	for n := 2; m.ids[own]; n++ {
		own = fmt.Sprintf("%s-%d", id, n)
	}
	m.ids[own] = true
	m.current = &message{id: own, blocks: map[int]*openBlock{}}
	return m.current
}

// streaming is the response that a stream event belongs to.
func (m *mapper) streaming() *message {
	if m.current == nil {
		return m.begin("msg")
	}
	return m.current
}

func (m *mapper) text(msg *message, text string, streamed bool) {
	if text != "" {
		m.emit(m.said(msg, text, streamed))
	}
}

// said notes text of a response and returns its event.
func (m *mapper) said(msg *message, text string, streamed bool) event.Event {
	if !msg.spoken {
		msg.spoken = true
		m.spoken++
	}
	msg.streamed = msg.streamed || streamed
	return event.Delta{Text: text, MessageID: msg.id}
}

// fast maps a plain text_delta line without the JSON decoder, or reports that
// it is not one.
func (m *mapper) fast(line []byte) ([]event.Event, bool) {
	text, _, _, ok := agent.TextDelta(line)
	if !ok {
		return nil, false
	}
	msg := m.streaming()
	if text == "" {
		return nil, true
	}
	m.one[0] = m.said(msg, text, true)
	return m.one[:], true
}

func (m *mapper) thinking(msg *message, text string, streamed bool) {
	if text == "" {
		return
	}
	msg.thought = msg.thought || streamed
	m.emit(event.ThinkingDelta{Text: text, MessageID: msg.id})
}

func (m *mapper) blockStart(l *wireLine) {
	msg, b := m.streaming(), l.Event.ContentBlock
	switch b.Type {
	case "tool_use", "server_tool_use":
		msg.blocks[int(l.Event.Index)] = &openBlock{id: b.ID, name: b.Name, input: b.Input}
	case "web_search_tool_result":
		m.answer(&b)
	default:
		m.text(msg, b.Text, true)
		m.thinking(msg, b.Thinking, true)
	}
}

func (m *mapper) inputDelta(l *wireLine) {
	if b := m.streaming().blocks[int(l.Event.Index)]; b != nil {
		b.json += l.Event.Delta.PartialJSON
	}
}

// blockStop announces a tool call: grok writes its block before it runs the
// tool, and the assistant line after the first tool of a response has run.
func (m *mapper) blockStop(l *wireLine) {
	msg, i := m.streaming(), int(l.Event.Index)
	b := msg.blocks[i]
	if b == nil {
		return
	}
	delete(msg.blocks, i)
	agent.Decode([]byte(b.json), &b.input)
	m.announce(b.id, b.name, &b.input)
}

// messageDelta ends a response in the stream.
func (m *mapper) messageDelta(l *wireLine) { m.count(m.streaming(), l.Event.Usage) }

// assistant is a whole response: the one that streamed last, or one that did
// not stream. Its text is sent only when it did not stream.
func (m *mapper) assistant(l *wireLine) {
	msg := m.current
	if msg == nil || msg.confirmed {
		msg = m.begin(l.Message.ID)
	}
	msg.confirmed = true
	for i := range l.Message.Content {
		b := &l.Message.Content[i]
		switch b.Type {
		case "text":
			if !msg.streamed {
				m.text(msg, b.Text, false)
			}
		case "thinking":
			if !msg.thought {
				m.thinking(msg, b.Thinking, false)
			}
		case "tool_use", "server_tool_use":
			m.announce(b.ID, b.Name, &b.Input)
		case "web_search_tool_result":
			m.answer(b)
		}
	}
	m.count(msg, l.Message.Usage)
}

func (m *mapper) toolResults(l *wireLine) {
	for i := range l.Message.Content {
		if b := &l.Message.Content[i]; b.Type == "tool_result" {
			m.answer(b)
		}
	}
}

// resultLine is the last line. A session whose model is no longer offered ends
// at once, successfully and without a word.
func (m *mapper) resultLine(l *wireLine) {
	m.result = l
	m.lost = m.opts.Resume != "" && !m.started && lostSession.MatchString(strings.Join(l.Errors, "\n"))
	for _, u := range l.ModelUsage {
		m.billed.add(tally{u.Input, u.Output, u.CacheRead, u.CacheCreation})
	}
	m.billed = m.billed.max(l.Usage.tally())
	m.sendUsage()
	said := l.Result != nil && *l.Result != ""
	if m.opts.Resume != "" && l.IsError == false && !said && m.spoken == 0 && len(m.tools.calls) == 0 {
		m.emit(event.Note{
			Message: "grok ended without doing anything; the model of this session may no longer be offered: choose a model",
			Level:   event.Warning, Code: "agent",
		})
	}
}

// Facts tells what was learned so far.
func (m *mapper) Facts() agent.Facts {
	return agent.Facts{
		Session:     m.session,
		Model:       m.model,
		SessionLost: m.lost,
		Succeeded:   m.ok,
		Unknown:     m.unknown,
		ToolsOpen:   m.tools.open,
		EditPaths:   slices.Clone(m.tools.edits),
		// Hooks and commands in the background are not on the stream, and of
		// sub-agents it is presumably all, but no line says so.
		ShowsEveryTool: false,
	}
}

// Finish closes the run: a result; a result and an error when the run failed;
// an error alone when there was no result, no session, or another folder. A run
// that we stopped is not a failure: nothing, or its result, is all there is.
func (m *mapper) Finish(exit agent.Exit) []event.Event {
	if m.finished {
		return nil
	}
	m.finished = true
	m.out = nil
	stopped := m.opts.Stopped(exit)
	failed := m.result != nil && m.result.IsError != false // exit code 0 is no excuse
	switch {
	case m.foreign != "":
		if !stopped {
			m.emit(m.wrongFolder())
		}
	case m.result == nil || m.lost:
		if !stopped {
			m.emit(m.noResult(exit))
		}
	case failed && !m.started:
		if !stopped {
			m.emit(m.failure())
		}
	default:
		m.ok = !failed
		m.emit(m.resultEvent(failed && !stopped))
		if failed && !stopped {
			m.emit(m.failure())
		}
	}
	return m.out
}

func (m *mapper) resultEvent(isError bool) event.Result {
	l := m.result
	usage := m.total()
	r := event.Result{
		IsError:      isError,
		NumTurns:     int(agent.Whole(l.NumTurns)),
		DurationMs:   agent.Whole(l.DurationMs),
		TotalCostUSD: l.TotalCostUSD,
		Usage:        &usage,
		Subtype:      l.Subtype,
	}
	if l.IsError == false && m.spoken == 0 && l.Result != nil && *l.Result != "" {
		r.Result = l.Result
	}
	return r
}
