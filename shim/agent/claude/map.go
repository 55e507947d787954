package claude

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// mapper turns the stdout of one run into events.
type mapper struct {
	opts agent.MapOptions
	out  []event.Event  // of the line being mapped
	one  [1]event.Event // what fast returns

	slowOnly bool // tests: leave every line to the decoder

	started bool
	session string
	model   string
	lost    bool
	unknown int

	messages map[string]*message
	current  *message // the main agent's message that is streaming
	spoken   int      // messages whose text the client is showing

	usage     map[string]*entry // by message id
	sum       entry             // of all entries
	lastUsage event.Usage       // as last sent
	thinking  float64           // estimate since the last authoritative usage
	billed    modelUsage        // this run's own part, summed over its results

	tools tools
	limit limit

	apiError string    // kind on the last assistant line that was an error
	retried  string    // kind of the last retry, until a message went through
	refused  bool      // the model refused and nothing took its place
	result   *wireLine // the last one counts
	finished bool
	ok       bool
}

// message is one message of the main agent, keyed by its id.
type message struct {
	id        string
	begun     bool // its message_start was seen
	ended     bool // its message_delta was seen: the attempt went through
	confirmed bool // an assistant line of it was seen
	streamed  bool // text of it came in deltas
	thought   bool // thinking of it came in deltas
	text      bool // the client shows text of it
	lastBlock int  // highest block with streamed text
	parts     []part
}

// part is the text of one assistant line, kept while its message is current so
// that what survives a withdrawal can be shown again.
type part struct{ uuid, text string }

// NewMapper returns the stdout side of one run.
func (Claude) NewMapper(o agent.MapOptions) agent.Mapper { return newMapper(o) }

func newMapper(o agent.MapOptions) *mapper {
	return &mapper{
		opts:     o,
		messages: map[string]*message{},
		usage:    map[string]*entry{},
		tools:    tools{calls: map[string]*call{}},
	}
}

// Map maps one line of stdout.
func (m *mapper) Map(line []byte) ([]event.Event, error) {
	if m.started && !m.slowOnly {
		if events, ok := m.fast(line); ok {
			return events, nil
		}
	}
	var l wireLine
	if !agent.Decode(line, &l) {
		return nil, agent.ErrNotJSON
	}
	m.out = nil
	m.dispatch(&l)
	return m.startFirst(&l), nil
}

func (m *mapper) emit(e event.Event) { m.out = append(m.out, e) }

// lineTypes and systemTypes hold every type and subtype that 332 or 197 sent
// in the captures; nil is one that says nothing a client needs.
var lineTypes = map[string]func(*mapper, *wireLine){
	"system":             (*mapper).system,
	"stream_event":       (*mapper).streamEvent,
	"assistant":          (*mapper).assistant,
	"user":               (*mapper).user,
	"result":             (*mapper).resultLine,
	"rate_limit_event":   (*mapper).rateLimit,
	"control_response":   nil, // the conversation's
	"control_request":    nil, // permission questions; never asked under bypass
	"tool_progress":      nil, // heartbeat of a long command
	"conversation_reset": nil, // /clear
}

var systemTypes = map[string]func(*mapper, *wireLine){
	"init":                      (*mapper).init,
	"api_retry":                 (*mapper).retry,
	"thinking_tokens":           (*mapper).thinkingTokens,
	"informational":             (*mapper).informational,
	"model_refusal_no_fallback": (*mapper).refusal,
	"background_tasks_changed":  nil,
	"compact_boundary":          nil,
	"hook_response":             nil,
	"hook_started":              nil,
	"permission_denied":         nil, // the tool_result says so too
	"session_state_changed":     nil, // the conversation's
	"session_title_changed":     nil,
	"status":                    nil,
	"task_notification":         nil,
	"task_progress":             nil,
	"task_started":              nil,
	"task_updated":              nil,
	"ui_invalidate":             nil,
}

var eventTypes = map[string]func(*mapper, *wireLine){
	"message_start":       (*mapper).messageStart,
	"content_block_start": (*mapper).blockStart,
	"content_block_delta": (*mapper).blockDelta,
	"message_delta":       (*mapper).messageDelta,
	"message_stop":        (*mapper).messageStop,
	"content_block_stop":  nil,
	"ping":                nil,
}

func (m *mapper) dispatch(l *wireLine)    { m.look(lineTypes, l.Type, l) }
func (m *mapper) system(l *wireLine)      { m.look(systemTypes, l.Subtype, l) }
func (m *mapper) streamEvent(l *wireLine) { m.look(eventTypes, l.Event.Type, l) }

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

// init starts the run. There can be several (a background task's return, a
// resumed turn); the first is the run's start, the last has the session to
// resume.
func (m *mapper) init(l *wireLine) {
	m.session = l.SessionID
	if m.started {
		return
	}
	m.model = l.Model
	m.start()
	if m.opts.Resume != "" && l.SessionID != "" && !strings.EqualFold(l.SessionID, m.opts.Resume) {
		m.emit(event.Note{
			Message: "claude started a new session instead of continuing the one asked for",
			Level:   event.Warning, Code: "session_new",
		})
	}
}

func (m *mapper) start() {
	m.started = true
	m.emit(event.Start{SessionID: m.session, Model: m.model, RunID: m.opts.RunID, Provider: Claude{}.Provider()})
}

// startFirst returns the events of the line. Should a CLI ever speak before
// its init, the start is made up so that it still comes first.
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

// retry says that an API request failed and will be made again. The attempt
// that was streaming is void; 332 ends it first (messageStop), 197 does not.
func (m *mapper) retry(l *wireLine) {
	if l.Parent.set {
		return
	}
	cause := strings.ReplaceAll(l.Error, "_", " ")
	switch {
	case l.ErrorStatus == 0:
		cause = "the connection to the model failed"
	case cause == "" || cause == "unknown":
		cause = fmt.Sprintf("error %.0f", l.ErrorStatus)
	default:
		cause = fmt.Sprintf("%s (%.0f)", cause, l.ErrorStatus)
	}
	delay := time.Duration(l.RetryDelayMs * float64(time.Millisecond)).Round(100 * time.Millisecond)
	m.emit(event.Note{
		Message: fmt.Sprintf("retrying: %s, attempt %.0f of %.0f, next try in %s", cause, l.Attempt, l.MaxRetries, delay),
		Level:   event.Warning, Code: "retry",
	})
	m.retried = l.Error
	m.withdrawAbandoned()
}

// informational is a sentence of the CLI for people (332).
func (m *mapper) informational(l *wireLine) {
	if l.Content == "" {
		return
	}
	level := event.Info
	if l.Level == "warning" || l.Level == "error" {
		level = event.Warning
	}
	m.emit(event.Note{Message: l.Content, Level: level, Code: "agent"})
}

func (m *mapper) refusal(*wireLine) { m.refused = true }

// messageStart opens an attempt. One that is still open was abandoned.
func (m *mapper) messageStart(l *wireLine) {
	if l.Parent.set {
		return
	}
	m.withdrawAbandoned()
	id := l.Event.Message.ID
	msg := m.message(id)
	msg.begun, msg.ended = true, false
	m.enter(msg)
	m.raiseUsage(id, l.Event.Message.Usage, false)
}

func (m *mapper) message(id string) *message {
	msg := m.messages[id]
	if msg == nil {
		msg = &message{id: id}
		m.messages[id] = msg
	}
	return msg
}

// enter makes msg the streaming one; the text kept of the one before is let go.
func (m *mapper) enter(msg *message) {
	if m.current != nil && m.current != msg {
		m.current.parts = nil
	}
	m.current = msg
}

// streaming returns the message that a stream line belongs to: the one the
// line names (332), else the one that began last.
func (m *mapper) streaming(apiMessageID string) *message {
	if m.current == nil || apiMessageID != "" && apiMessageID != m.current.id {
		m.enter(m.message(apiMessageID))
	}
	return m.current
}

func (m *mapper) blockStart(l *wireLine) {
	m.delta(l, l.Event.ContentBlock.Text, l.Event.ContentBlock.Thinking)
}

// blockDelta forwards text and thinking; input_json, signature and citation
// deltas come whole in the assistant line.
func (m *mapper) blockDelta(l *wireLine) {
	switch l.Event.Delta.Type {
	case "text_delta":
		m.delta(l, l.Event.Delta.Text, "")
	case "thinking_delta":
		m.delta(l, "", l.Event.Delta.Thinking)
	case "input_json_delta", "signature_delta", "citations_delta":
	default:
		m.unknown++
	}
}

func (m *mapper) delta(l *wireLine, text, thinking string) {
	if l.Parent.set {
		return
	}
	if text != "" {
		m.emit(m.textDelta(text, int(l.Event.Index), l.APIMessageID))
	}
	if thinking != "" {
		msg := m.streaming(l.APIMessageID)
		msg.begun, msg.thought = true, true
		m.emit(event.ThinkingDelta{Text: thinking, MessageID: msg.id})
	}
}

// textDelta notes streamed text and returns its event. fast calls it too.
func (m *mapper) textDelta(text string, block int, apiMessageID string) event.Event {
	msg := m.streaming(apiMessageID)
	m.show(msg)
	msg.begun, msg.streamed = true, true
	msg.lastBlock = max(msg.lastBlock, block)
	return event.Delta{Text: text, MessageID: msg.id}
}

func (m *mapper) show(msg *message) {
	if !msg.text {
		msg.text = true
		m.spoken++
	}
}

// messageDelta ends an attempt that went through; its usage is the real one.
func (m *mapper) messageDelta(l *wireLine) {
	if l.Parent.set {
		return
	}
	msg := m.streaming(l.APIMessageID)
	msg.ended = true
	m.correctUsage(msg.id, l.Event.Usage)
}

// messageStop ends an attempt. Without a message_delta before it, it was
// abandoned; 332 says from which block on.
func (m *mapper) messageStop(l *wireLine) {
	if l.Parent.set {
		return
	}
	msg := m.streaming(l.APIMessageID)
	switch {
	case l.AbandonedBlocks != nil && msg.confirmed:
		m.withdrawFrom(msg, int(l.AbandonedBlocks.FromBlockIndex))
	case l.AbandonedBlocks != nil || !msg.ended:
		m.withdrawAbandoned()
	}
	msg.ended = true
}

// withdrawAbandoned takes back what the open attempt has shown, unless an
// assistant line has confirmed it.
func (m *mapper) withdrawAbandoned() {
	msg := m.current
	if msg == nil || !msg.begun || msg.ended || msg.confirmed {
		return
	}
	m.withdraw(msg)
}

func (m *mapper) withdraw(msg *message) {
	if msg.text || msg.thought {
		m.emit(event.DeltaReset{MessageID: msg.id})
	}
	if msg.text {
		m.spoken--
	}
	*msg = message{id: msg.id, begun: msg.begun, parts: msg.parts}
}

// withdrawFrom takes back the text of the blocks from the given one on: all of
// it, then what was confirmed once more.
func (m *mapper) withdrawFrom(msg *message, block int) {
	if !msg.text || msg.lastBlock < block {
		return
	}
	m.withdraw(msg)
	m.showAgain(msg)
}

// showAgain sends the kept text of a withdrawn message as one delta.
func (m *mapper) showAgain(msg *message) {
	var text strings.Builder
	for _, p := range msg.parts {
		text.WriteString(p.text)
	}
	msg.confirmed = true
	if text.Len() > 0 {
		m.show(msg)
		m.emit(event.Delta{Text: text.String(), MessageID: msg.id})
	}
}

// assistant is one complete content block. Its text is sent only when it did
// not stream; a message that never began took the place of an abandoned one.
func (m *mapper) assistant(l *wireLine) {
	if l.Parent.set {
		m.tools.announceAll(m, l)
		m.raiseUsage(l.Message.ID, l.Message.Usage, false)
		return
	}
	msg := m.message(l.Message.ID)
	if !msg.begun {
		m.withdrawAbandoned()
	}
	m.raiseUsage(msg.id, l.Message.Usage, !msg.begun)
	if l.Error != "" {
		m.apiError = l.Error // its text is the error event's message
		return
	}
	if !msg.begun {
		m.enter(msg)
	}
	for _, b := range l.Message.Content {
		switch {
		case b.Type == "text" && b.Text != "":
			msg.parts = append(msg.parts, part{l.UUID, b.Text})
			if !msg.streamed {
				m.show(msg)
				m.emit(event.Delta{Text: b.Text, MessageID: msg.id})
			}
		case b.Type == "thinking" && b.Thinking != "" && !msg.thought:
			m.emit(event.ThinkingDelta{Text: b.Thinking, MessageID: msg.id})
		}
	}
	m.tools.announceAll(m, l)
	msg.confirmed = true
	m.apiError, m.retried, m.refused = "", "", false
}

// user carries tool results, and what the CLI says in the user's name: that is
// not shown, but it can take assistant lines back.
func (m *mapper) user(l *wireLine) {
	m.tools.results(m, l)
	for _, uuid := range l.Retracted {
		m.retract(uuid)
	}
}

// retract withdraws the assistant line uuid of the current message.
func (m *mapper) retract(uuid string) {
	msg := m.current
	if msg == nil {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(msg.parts), func(p part) bool { return p.uuid == uuid })
	if len(kept) == len(msg.parts) {
		return
	}
	m.withdraw(msg)
	msg.parts = kept
	m.showAgain(msg)
}

// resultLine keeps the result; there can be several, and lines after it.
func (m *mapper) resultLine(l *wireLine) {
	m.result = l
	m.lost = m.opts.Resume != "" && !m.started && saysNoConversation(strings.Join(l.Errors, "\n"))
	if m.session == "" && !m.lost {
		m.session = l.SessionID
	}
	m.bill(l)
	m.thinking = 0
	m.sendUsage(false)
}

// Facts tells what was learned so far.
func (m *mapper) Facts() agent.Facts {
	return agent.Facts{
		Session:        m.session,
		Model:          m.model,
		SessionLost:    m.lost,
		Succeeded:      m.ok,
		Unknown:        m.unknown,
		ToolsOpen:      m.tools.open,
		EditPaths:      slices.Clone(m.tools.edits),
		ShowsEveryTool: true, // sub-agents' calls included, in both versions
	}
}

// Finish closes the run: a result; a result and an error when the run failed;
// an error alone when there was no result, whatever the exit code. A run that
// we stopped is not a failure: nothing, or its result, is all there is.
func (m *mapper) Finish(exit agent.Exit) []event.Event {
	if m.finished {
		return nil
	}
	m.finished = true
	m.out = nil
	stopped := m.opts.Stopped(exit)
	if m.result == nil || m.lost {
		if !stopped {
			m.emit(m.noResult(exit))
		}
		return m.out
	}
	failed := m.result.IsError != false
	m.ok = !failed
	m.emit(m.resultEvent(failed && !(stopped && m.aborted())))
	if failed && !stopped {
		m.emit(m.failure())
	}
	return m.out
}

// aborted reports whether the last result is the answer to an interrupt.
func (m *mapper) aborted() bool {
	return m.result.Subtype == "error_during_execution" && strings.HasPrefix(m.result.TerminalReason, "aborted")
}

func (m *mapper) resultEvent(isError bool) event.Result {
	l := m.result
	usage := m.total()
	r := event.Result{
		IsError:      isError,
		NumTurns:     int(agent.Whole(l.NumTurns)),
		DurationMs:   agent.Whole(l.DurationMs),
		TotalCostUSD: m.billed.CostUSD,
		Usage:        &usage,
		Subtype:      l.Subtype,
	}
	if l.IsError == false && m.spoken == 0 && l.Result != nil && *l.Result != "" {
		r.Result = l.Result
	}
	return r
}
