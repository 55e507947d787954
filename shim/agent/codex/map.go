package codex

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// mapper turns the stdout of one run into events.
type mapper struct {
	opts agent.MapOptions
	out  []event.Event // of the line being mapped

	started   bool
	session   string
	model     string
	continued bool // the session is the one that was to be resumed
	lost      bool
	unknown   int

	spoken    bool   // text of the assistant was sent
	lastWords string // what task_complete of an old version repeats
	lastNote  string
	legacyIDs int

	tools tools
	usage *event.Usage // as last sent; nil when not known

	turns    int
	ended    bool   // the last turn ended
	failed   string // what turn.failed said
	said     string // an error that was no retry; a failed turn repeats it
	finished bool
	ok       bool
}

// NewMapper returns the stdout side of one run.
func (Codex) NewMapper(o agent.MapOptions) agent.Mapper { return newMapper(o) }

func newMapper(o agent.MapOptions) *mapper {
	return &mapper{opts: o, model: modelOf(o.Model, o.Session), tools: tools{calls: map[string]*call{}}}
}

// Map maps one line of stdout.
func (m *mapper) Map(line []byte) ([]event.Event, error) {
	var l wireLine
	if !agent.Decode(line, &l) {
		return nil, agent.ErrNotJSON
	}
	m.out = nil
	if l.Type == "" && l.Msg != nil {
		m.legacy(l.Msg)
	} else {
		m.look(lineTypes, l.Type, &l)
	}
	return m.startFirst(), nil
}

func (m *mapper) emit(e event.Event) { m.out = append(m.out, e) }

// lineTypes and itemTypes hold every type that 0.171.0 sent in the captures,
// and those of other versions; nil is one that says nothing a client needs.
var lineTypes = map[string]func(*mapper, *wireLine){
	"thread.started":     (*mapper).threadStarted,
	"session.created":    (*mapper).threadStarted, // --experimental-json of 0.40–0.44
	"turn.started":       (*mapper).turnStarted,
	"turn.completed":     (*mapper).turnCompleted,
	"turn.failed":        (*mapper).turnFailed,
	"item.started":       (*mapper).itemStarted,
	"item.updated":       nil, // a todo_list; its end has it whole
	"item.completed":     (*mapper).itemCompleted,
	"item.plan.delta":    nil, // the plan item has it whole
	"request_user_input": nil, // nobody can answer
	"error":              (*mapper).errorLine,
}

var itemTypes = map[string]itemType{
	"agent_message":     {completed: (*mapper).message},
	"assistant_message": {completed: (*mapper).message}, // up to 0.44
	"plan":              {completed: (*mapper).message},
	"reasoning":         {completed: (*mapper).reasoning},
	"error":             {completed: (*mapper).warning},
	"command_execution": {started: (*mapper).announce, completed: (*mapper).answer},
	"file_change":       {started: (*mapper).announce, completed: (*mapper).answer},
	"mcp_tool_call":     {started: (*mapper).announce, completed: (*mapper).answer},
	"web_search":        {started: (*mapper).announce, completed: (*mapper).answer},
	"collab_tool_call":  {started: (*mapper).announce, completed: (*mapper).answer},
	"todo_list":         {started: (*mapper).announce, completed: (*mapper).answer},
}

// itemType is what is done at an item's start and its end.
type itemType struct{ started, completed func(*mapper, *wireItem) }

// look calls what the table has for name and counts a name it does not have.
func (m *mapper) look(table map[string]func(*mapper, *wireLine), name string, l *wireLine) {
	handle, known := table[name]
	if !known {
		m.unknown++
		return
	}
	if handle != nil {
		handle(m, l)
	}
}

func (m *mapper) itemStarted(l *wireLine)   { m.item(&l.Item, false) }
func (m *mapper) itemCompleted(l *wireLine) { m.item(&l.Item, true) }

func (m *mapper) item(i *wireItem, completed bool) {
	t, known := itemTypes[i.kind()]
	if !known {
		m.unknown++
		return
	}
	handle := t.started
	if completed {
		handle = t.completed
	}
	if handle != nil {
		handle(m, i)
	}
}

// threadStarted starts the run. codex does not say which model it takes: it is
// the one it was given.
func (m *mapper) threadStarted(l *wireLine) {
	id := l.ThreadID
	if id == "" {
		id = l.SessionID
	}
	m.session = id
	if m.started {
		return
	}
	m.continued = m.opts.Resume != "" && strings.EqualFold(id, m.opts.Resume)
	m.start()
	if m.opts.Resume != "" && !m.continued {
		m.emit(event.Note{
			Message: "codex started a new session instead of continuing the one asked for",
			Level:   event.Warning, Code: "session_new",
		})
	}
}

func (m *mapper) start() {
	m.started = true
	m.emit(event.Start{SessionID: m.session, Model: m.model, RunID: m.opts.RunID, Provider: Codex{}.Provider()})
}

// startFirst returns the events of the line. Where codex speaks before it
// names its session (old versions never do), the start is made up so that it
// still comes first.
func (m *mapper) startFirst() []event.Event {
	isNote := func(e event.Event) bool { _, ok := e.(event.Note); return ok }
	events := m.out
	m.out = nil
	if m.started || !slices.ContainsFunc(events, func(e event.Event) bool { return !isNote(e) }) {
		return events
	}
	m.start()
	events = append(m.out, events...)
	m.out = nil
	return events
}

func (m *mapper) turnStarted(*wireLine) {
	m.turns++
	m.ended, m.failed, m.said = false, "", ""
}

func (m *mapper) turnCompleted(l *wireLine) {
	m.endTurn(l.Usage)
	m.failed = ""
	if m.said != "" { // it was got over
		m.note(agent.OneLine(m.said), "agent")
		m.said = ""
	}
}

func (m *mapper) turnFailed(l *wireLine) {
	m.endTurn(l.Usage)
	m.failed = l.Error.Message
	if m.failed == "" {
		m.failed = l.Message
	}
	if m.failed == "" {
		m.failed = m.said
	}
	if m.failed == "" {
		m.failed = noReason
	}
}

// noReason stands for a failed turn without a word.
const noReason = "codex failed and gave no reason"

func (m *mapper) endTurn(u *wireUsage) {
	m.ended = true
	m.turns = max(m.turns, 1)
	m.closeOpen()
	m.countUsage(u)
}

// message is text of the assistant; it arrives whole.
func (m *mapper) message(i *wireItem) {
	if i.Text == "" {
		return
	}
	m.spoken = true
	m.emit(event.Delta{Text: i.Text, MessageID: i.ID})
}

func (m *mapper) reasoning(i *wireItem) {
	if i.Text != "" {
		m.emit(event.ThinkingDelta{Text: i.Text, MessageID: i.ID})
	}
}

// warning is an error item: no failure, whatever its name (an unknown model,
// another model than the session's, a key of the configuration).
func (m *mapper) warning(i *wireItem) { m.note(agent.OneLine(i.Message), "agent") }

// note says something once; codex repeats some warnings.
func (m *mapper) note(text, code string) {
	if text == "" || text == m.lastNote {
		return
	}
	m.lastNote = text
	m.emit(event.Note{Message: text, Level: event.Warning, Code: code})
}

// retrying finds the count in an error that is a retry: "Reconnecting... 2/5
// (cause)", "stream error: cause; retrying 2/5 in 400ms…" up to 0.4x.
var retrying = lazyregexp.New(`(?s)^Reconnecting\.\.\. (\d+)/(\d+)(?: \((.*)\))?$|^(?:stream error: )?(.*); retrying (\d+)/(\d+)`)

// errorLine is a retry, or what a failed turn says next.
func (m *mapper) errorLine(l *wireLine) { m.streamError(l.Message) }

func (m *mapper) streamError(text string) {
	r := retrying.FindStringSubmatch(text)
	if r == nil {
		m.said = text
		return
	}
	attempt, limit, cause := r[1], r[2], r[3]
	if attempt == "" {
		cause, attempt, limit = r[4], r[5], r[6]
	}
	if c := causeOf(cause); c != nil && c.message != "" {
		cause = c.message
	}
	if cause == "" {
		cause = "the connection to the model broke"
	}
	m.note(fmt.Sprintf("retrying: %s, attempt %s of %s", agent.OneLine(cause), attempt, limit), "retry")
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
		// Sub-agents work out of sight (not even their start is an item), and
		// neither is a patch that fails or a picture that is looked at. No
		// line tells a run with one from a run without.
		ShowsEveryTool: false,
	}
}

// Finish closes the run: a result; a result and an error when the turn failed;
// an error alone when there was no end of a turn, whatever the exit code. A
// run that we stopped is not a failure: nothing, or its result, is all there is.
func (m *mapper) Finish(exit agent.Exit) []event.Event {
	if m.finished {
		return nil
	}
	m.finished = true
	m.out = nil
	stopped := m.opts.Stopped(exit)
	if !m.ended {
		if !stopped {
			m.emit(m.noResult(exit))
		}
		return m.out
	}
	failed := m.failed != ""
	m.ok = !failed
	m.emit(m.result(failed && !stopped))
	if failed && !stopped {
		m.emit(failure(m.failed, m.opts.Scrubbed))
	}
	return m.out
}

// result has no time and no cost: codex tells neither.
func (m *mapper) result(isError bool) event.Result {
	r := event.Result{IsError: isError, NumTurns: m.turns, Usage: m.usage, Subtype: "success"}
	switch {
	case m.failed != "":
		r.Subtype = "error_during_execution"
	case !m.spoken && m.lastWords != "":
		r.Result = &m.lastWords
	}
	return r
}
