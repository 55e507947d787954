package grok

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// chatLine is one record of chat_history.jsonl
// (xai-grok-sampling-types/src/conversation.rs). It has no time, no id of a
// message, no usage, and no record ends a turn.
type chatLine struct {
	Type      string    `json:"type"`
	Content   chatTexts `json:"content"`
	Synthetic string    `json:"synthetic_reason"` // user: what grok says in the human's name
	Summary   chatTexts `json:"summary"`          // reasoning

	Calls []struct { // assistant
		ID        string `json:"id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"` // JSON
	} `json:"tool_calls"`

	CallID string `json:"tool_call_id"` // tool_result; its content is what the model was given

	Kind struct { // backend_tool_call
		Type   string `json:"tool_type"`
		ID     string `json:"id"`
		Status string `json:"status"`
		Action struct {
			toolInput
			Sources []struct {
				URL   string `json:"url"`
				Title string `json:"title"`
			} `json:"sources"`
		} `json:"action"`
	} `json:"kind"`
}

// chatTexts is a text, or a list of blocks with one.
type chatTexts []string

// UnmarshalJSON never fails: an error here would lose the rest of the line.
func (c *chatTexts) UnmarshalJSON(b []byte) error {
	*c = nil
	var whole string
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	switch {
	case bytes.HasPrefix(b, []byte(`"`)):
		_ = json.Unmarshal(b, &whole) // b is valid JSON
		*c = chatTexts{whole}
	case bytes.HasPrefix(b, []byte("[")):
		_ = json.Unmarshal(b, &blocks) // what has another type is skipped
		for _, block := range blocks {
			if block.Type == "image" {
				continue
			}
			*c = append(*c, block.Text)
		}
		if len(*c) == 0 && len(blocks) > 0 {
			*c = chatTexts{"[image]"}
		}
	}
	return nil
}

func (c chatTexts) String() string { return strings.Join(c, "\n") }

// Marks of what grok puts around, or in place of, what the human said.
const (
	queryStart = "<user_query>"
	queryEnd   = "</user_query>"
	userInfo   = "<user_info>"
)

// mayBeHuman finds, before anything is decoded, the few lines that can be: the
// type comes first.
func mayBeHuman(line []byte) bool {
	return bytes.Contains(line[:min(len(line), 200)], []byte(`"user"`))
}

// human returns what the human said in a record: grok's wrapping is taken off,
// ours is still on. ok is false of any other record, and of what grok says in
// the human's name; an interjection is a human's.
func human(line []byte) (recorded string, ok bool) {
	if !mayBeHuman(line) {
		return "", false
	}
	var l chatLine
	if !agent.Decode(line, &l) {
		return "", false
	}
	return l.human()
}

func (l *chatLine) human() (recorded string, ok bool) {
	if l.Type != "user" || l.Synthetic != "" && l.Synthetic != "interjection" {
		return "", false
	}
	var words []string
	for _, text := range l.Content {
		trimmed := strings.TrimSpace(text)
		inner, opens := strings.CutPrefix(trimmed, queryStart)
		inner, closes := strings.CutSuffix(inner, queryEnd)
		switch {
		case opens && closes:
			words = append(words, strings.TrimSuffix(strings.TrimPrefix(inner, "\n"), "\n"))
		case strings.HasPrefix(trimmed, userInfo):
		default:
			words = append(words, text)
		}
	}
	return strings.Join(words, "\n"), len(words) > 0
}

// humanWords is what the human had typed: without our system prompt, and what
// we had put around it.
func humanWords(h agent.History, recorded string) string {
	words := UserPart(recorded)
	if h.Said != nil {
		words = h.Said(words)
	}
	return words
}

// replay maps the records of a conversation. Each turn has a mapper of its
// own, the one of live runs, which is given the blocks that the records hold.
type replay struct {
	history   agent.History
	turn      *mapper
	mark      string // of the turn, for what has no id
	messages  int    // ids given out
	responses int
	done      bool // the last record was an answer that asks for no tool
}

// NewReplay returns what turns the records of one conversation into events.
func (Grok) NewReplay(h agent.History) agent.Replay {
	r := &replay{history: h}
	r.reset()
	return r
}

func (r *replay) reset() {
	*r = replay{history: r.history}
	r.turn = newMapper(agent.MapOptions{Repo: r.history.Repo, Top: r.history.Top})
	r.turn.started = true
}

// Begins tells whether a record is what the human said. A long one, with a
// picture in it, comes cut.
func (r *replay) Begins(line []byte) bool {
	if len(line) >= agent.ScanLimit {
		return humanStart(line)
	}
	_, ok := human(line)
	return ok
}

// humanStart is human of a record that was cut: as far as is there, nothing
// tells that it is none.
func humanStart(line []byte) bool {
	if !mayBeHuman(line) {
		return false
	}
	var l chatLine
	d := json.NewDecoder(bytes.NewReader(line))
	_, err := d.Token() // the brace
	for err == nil && d.More() {
		var key json.Token
		if key, err = d.Token(); err != nil {
			break
		}
		switch key {
		case "type":
			err = d.Decode(&l.Type)
		case "synthetic_reason":
			err = d.Decode(&l.Synthetic)
		case "content":
			err = startOfContent(d, &l.Content)
		default:
			var skipped json.RawMessage
			err = d.Decode(&skipped)
		}
	}
	if len(l.Content) == 0 {
		l.Content = chatTexts{""} // cut within
	}
	_, ok := l.human()
	return ok
}

// startOfContent reads the texts of a list of blocks, up to the cut.
func startOfContent(d *json.Decoder, into *chatTexts) error {
	first, err := d.Token()
	if text, ok := first.(string); ok {
		*into = chatTexts{text}
	}
	if err != nil || first != json.Delim('[') {
		return err
	}
	for d.More() {
		var block struct {
			Text string `json:"text"`
		}
		if err := d.Decode(&block); err != nil {
			return err
		}
		*into = append(*into, block.Text)
	}
	_, err = d.Token() // the bracket
	return err
}

// Map maps one record.
func (r *replay) Map(line []byte) []event.Event {
	var l chatLine
	if !agent.Decode(line, &l) {
		return nil
	}
	r.turn.out = nil
	switch l.Type {
	case "user":
		if recorded, ok := l.human(); ok && mayBeHuman(line) { // as Begins has it
			r.mark, r.done = mark(line), false
			r.turn.emit(event.User{Text: humanWords(r.history, recorded)})
		}
	case "reasoning":
		r.turn.thinking(r.response(), l.Summary.String(), false)
		r.done = false
	case "assistant":
		r.answer(&l)
	case "tool_result":
		r.result(&l)
		r.done = false
	case "backend_tool_call":
		r.backendCall(&l)
		r.done = false
	}
	return r.turn.out
}

// mark is a word that other turns of the session hardly have: of the record,
// which counts prompts, that begins it.
func mark(line []byte) string {
	h := fnv.New32a()
	_, _ = h.Write(line) // a hash takes anything
	return strconv.FormatUint(uint64(h.Sum32()), 36)
}

// response is the model's answer that reasoning and text belong to: an
// assistant record ends it.
func (r *replay) response() *message {
	if msg := r.turn.current; msg != nil && !msg.confirmed {
		return msg
	}
	r.messages++
	return r.turn.begin("msg_" + r.mark + "_" + strconv.Itoa(r.messages))
}

func (r *replay) answer(l *chatLine) {
	msg := r.response()
	r.turn.text(msg, l.Content.String(), false)
	msg.confirmed = true
	r.responses++
	for _, c := range l.Calls {
		var in toolInput
		agent.Decode([]byte(c.Arguments), &in)
		r.turn.announce(c.ID, c.Name, &in)
	}
	r.done = len(l.Calls) == 0
}

// result is what the model was given of a tool. A command's begins with its
// exit code; of other tools nothing tells a failure.
func (r *replay) result(l *chatLine) {
	r.turn.announce(l.CallID, "tool", &toolInput{})
	text := l.Content.String()
	code, failed := strings.CutPrefix(text, "exit: ")
	if failed {
		code, _, _ = strings.Cut(code, "\n")
		failed = strings.TrimSpace(code) != "0"
	}
	r.close(l.CallID, text, failed)
}

func (r *replay) close(id, text string, failed bool) {
	c := r.turn.tools.calls[id]
	if c.answered {
		return
	}
	c.answered = true
	r.turn.tools.open--
	text, truncated := agent.ToolText(text)
	r.turn.emit(event.ToolResult{Tool: c.name, ID: id, Text: text, IsError: failed, Truncated: truncated})
}

// backendCall is a search that xAI's servers made, with its result.
func (r *replay) backendCall(l *chatLine) {
	k := &l.Kind
	if k.ID == "" {
		r.messages++
		k.ID = "call_" + r.mark + "_" + strconv.Itoa(r.messages)
	}
	name := k.Type
	if name == "" {
		name = "tool"
	}
	r.turn.announce(k.ID, name, &k.Action.toolInput)
	var found []string
	for _, s := range k.Action.Sources {
		found = append(found, strings.TrimSpace(s.Title+" "+s.URL))
	}
	text, failed := strings.Join(found, "\n"), k.Status == "failed"
	if failed {
		text = "the search failed"
	}
	r.close(k.ID, text, failed)
}

// End closes the turn. grok keeps no end of one: an answer that asks for no
// tool is taken for it. How long it took, its tokens and its price are not kept.
func (r *replay) End() []event.Event {
	defer r.reset()
	if !r.done {
		return nil
	}
	return []event.Event{event.Result{NumTurns: r.responses, Subtype: "success"}}
}
