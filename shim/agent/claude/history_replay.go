package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// replay turns the records of a transcript into the events of the live stream.
// Each turn has a mapper of its own; records go to it in the shape of lines of
// stdout.
type replay struct {
	h agent.History
	m *mapper

	first, last string // times of the turn's records
	away        bool   // the rest is of another repository
	answered    bool
	said        int    // records in the user's name behind the prompt: the CLI counts them as turns
	stopReason  string // of the last message
	failed      *diskRecord
	maxTurns    float64 // the limit that ended the turn, 0 = none did
	turnCount   float64 // as the CLI counted then
	interrupted bool
}

// NewReplay returns what turns records into events.
func (Claude) NewReplay(h agent.History) agent.Replay {
	r := &replay{h: h}
	r.reset()
	return r
}

var _ agent.Parted = (*replay)(nil)

func (r *replay) reset() {
	*r = replay{h: r.h}
	r.Part()
}

// Part begins anew; the usage adds up.
func (r *replay) Part() {
	m := newMapper(agent.MapOptions{Repo: r.h.Repo, Top: r.h.Top})
	m.started = true
	if r.m != nil {
		m.sum = r.m.sum
	}
	r.m = m
}

// Step is the id of a message. Its blocks are records of their own, and claude
// asks for the next one when each call of it has its result.
func (r *replay) Step(line []byte) string {
	var rec record
	if !rec.walk(line, false) || rec.kind != kindAssistant || rec.side {
		return ""
	}
	id := string(rec.messageID)
	if rec.walk(line, true); rec.awayFrom(r.h) { // of a turn that is not shown, for all one record tells
		return ""
	}
	return id
}

// Pass takes a record as Map does, without decoding it: what tells how the turn
// ended comes later.
func (r *replay) Pass(line []byte) {
	if r.away {
		return
	}
	var rec record
	known := r.first != "" && rec.walk(line, false) && !rec.side && !rec.meta
	switch {
	case known && rec.kind == kindUser && rec.result:
		r.said++
	case known && rec.kind == kindAssistant && rec.message > 0 && r.addUsage(line, &rec):
		r.answered = true
	default:
		r.Map(line)
	}
}

// addUsage adds the usage that an answer's record tells. It is false where it
// does not tell it as it is known to.
func (r *replay) addUsage(line []byte, rec *record) (ok bool) {
	var u wireUsage
	numbers := []struct {
		key string
		to  **float64
	}{
		{"input_tokens", &u.Input}, {"output_tokens", &u.Output},
		{"cache_read_input_tokens", &u.CacheRead}, {"cache_creation_input_tokens", &u.CacheCreation},
	}
	s := agent.Skim{B: line, I: rec.message}
	whole := s.Members(func(key []byte) bool {
		if string(key) == "usage" {
			ok = s.Members(func(key []byte) bool {
				for _, n := range numbers {
					if string(key) != n.key {
						continue
					}
					at := s.I
					if !s.Skip() {
						return false
					}
					f, err := strconv.ParseFloat(string(line[at:s.I]), 64)
					if err != nil {
						return false
					}
					*n.to = &f
				}
				return true
			})
			return ok
		}
		return true
	})
	if whole && ok {
		r.m.correct(string(rec.messageID), u, func(have, said float64) float64 { return max(have, said) })
	}
	return whole && ok
}

// Begins tells whether the human said this. What they said while the agent
// worked belongs to the turn.
func (r *replay) Begins(line []byte) bool {
	var rec record
	return rec.walk(line, false) && rec.isPrompt(line) && !rec.awayFrom(r.h)
}

// diskRecord is a record as 332 and 197 write it. What stdout writes with
// underscores is in camel case here.
type diskRecord struct {
	Type      string `json:"type"`
	UUID      string `json:"uuid"`
	Timestamp string `json:"timestamp"`
	Sidechain bool   `json:"isSidechain"`
	Message   struct {
		wireMessage
		StopReason string `json:"stop_reason"`
	} `json:"message"`
	ToolUseResult toolUseResult `json:"toolUseResult"`
	Attachment    struct {
		Type      string  `json:"type"`
		MaxTurns  float64 `json:"maxTurns"`
		TurnCount float64 `json:"turnCount"`
	} `json:"attachment"`

	// of an answer that is an error
	IsAPIError   bool    `json:"isApiErrorMessage"`
	Error        string  `json:"error"`
	ErrorStatus  float64 `json:"apiErrorStatus"`
	APIErrorType string  `json:"apiErrorType"`
}

// Map maps one record.
func (r *replay) Map(line []byte) []event.Event {
	if r.away {
		return nil
	}
	var rec record
	if !rec.walk(line, false) || rec.side {
		r.noteAttachment(line)
		return nil
	}
	if rec.kind == kindQueued || rec.kind == kindUser && !rec.meta && !rec.result {
		return r.user(line, &rec)
	}
	if rec.meta {
		r.ownWords(line, &rec)
		return nil
	}
	var d diskRecord
	if !agent.Decode(line, &d) {
		return nil
	}
	r.clock(d.Timestamp)
	l := &wireLine{Type: d.Type, UUID: d.UUID, Message: d.Message.wireMessage, ToolUseResult: d.ToolUseResult}
	r.m.out = nil
	if rec.kind == kindUser {
		r.m.user(l)
		r.said++
		return shown(r.m.out)
	}
	if d.IsAPIError {
		l.Error = d.Error
		r.failed = &d
	} else {
		r.stopReason, r.failed = d.Message.StopReason, nil
	}
	r.m.assistant(l)
	r.answered = true
	return shown(r.m.out)
}

// shown is without what is not replayed.
func shown(events []event.Event) (out []event.Event) {
	for _, e := range events {
		if _, usage := e.(event.Usage); !usage {
			out = append(out, e)
		}
	}
	return out
}

// ownWords counts what the CLI says in the user's name. Before the first
// answer that belongs to the prompt: where an image lies. With the news of a
// task in the background it counts from one again: live, that is a result of
// its own, and the last one stands.
func (r *replay) ownWords(line []byte, rec *record) {
	if text, _, _ := contentText(line, rec.content); strings.HasPrefix(text, taskMark) {
		r.said = 0
		return
	}
	if r.answered {
		r.said++
	}
}

// user is what the human said, without what we had put around it.
func (r *replay) user(line []byte, rec *record) []event.Event {
	if rec.content == 0 {
		return nil
	}
	if rec.awayFrom(r.h) && rec.isPrompt(line) {
		r.away = true
		return nil
	}
	raw, images, ok := contentText(line, rec.content)
	text, ok := typed(raw, images, ok)
	if !ok {
		r.said++
		r.interrupted = r.interrupted || interrupted(raw)
		return nil
	}
	r.clock(string(rec.time))
	r.interrupted = false
	if r.h.Said != nil {
		text = r.h.Said(text)
	}
	return []event.Event{event.User{Text: text}}
}

func (r *replay) clock(t string) {
	if r.first == "" {
		r.first = t
	}
	r.last = t
}

// noteAttachment notes how a turn ended that the CLI ended.
func (r *replay) noteAttachment(line []byte) {
	const most = 4 << 10 // bytes; this one is small
	if len(line) > most || !bytes.Contains(line, []byte("max_turns_reached")) {
		return
	}
	var d diskRecord
	if json.Unmarshal(line, &d) == nil && !d.Sidechain && d.Attachment.Type == "max_turns_reached" {
		r.maxTurns, r.turnCount = d.Attachment.MaxTurns, d.Attachment.TurnCount
	}
}

// End closes the turn with its result, where the records tell that it is over:
// of a session that was killed, or is at work, they do not.
func (r *replay) End() []event.Event {
	defer r.reset()
	l := wireLine{
		NumTurns:   float64(1 + r.said),
		DurationMs: float64(timeOf(r.last).Sub(timeOf(r.first)).Milliseconds()),
		Subtype:    "success", IsError: false,
	}
	switch {
	case r.failed != nil:
		r.fail(&l)
	case r.maxTurns > 0:
		l.IsError, l.Subtype, l.NumTurns = true, "error_max_turns", r.turnCount
		l.Errors = []string{fmt.Sprintf("Reached maximum number of turns (%.0f)", r.maxTurns)}
	case r.interrupted:
		// A cancel, as the live stream of a run that was stopped says it.
		l.Subtype, l.TerminalReason = "error_during_execution", "aborted_streaming"
	case r.stopReason == "" || r.stopReason == "tool_use":
		return nil
	}
	r.m.result = &l
	out := []event.Event{r.m.resultEvent(l.IsError == true)}
	if l.IsError == true {
		out = append(out, r.m.failure())
	}
	return out
}

// fail makes the result of an answer that is an error.
func (r *replay) fail(l *wireLine) {
	l.IsError = true
	l.APIErrorStatus, l.APIErrorType = r.failed.ErrorStatus, r.failed.APIErrorType
	l.StopReason = r.failed.Message.StopReason
	for _, b := range r.failed.Message.Content {
		if b.Type == "text" {
			text := b.Text
			l.Result = &text
		}
	}
	if l.Result != nil && strings.HasPrefix(*l.Result, "Prompt is too long") {
		l.TerminalReason = "prompt_too_long"
	}
}
