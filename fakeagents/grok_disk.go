package fakeagents

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors"
)

// GrokFolder is how grok names the folder of a working directory below
// sessions/ (xai-grok-config/src/paths.rs): percent-encoded; over 255 bytes a
// slug of the last element and a hash. Grok's is blake3; nobody who reads
// sessions computes it, so another one does here.
func GrokFolder(dir string) string {
	var b strings.Builder
	for i := 0; i < len(dir); i++ {
		if c := dir[i]; isAlnum(c) || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if b.Len() <= 255 {
		return b.String()
	}
	slug := []byte{}
	for _, c := range []byte(strings.ToLower(filepath.Base(dir))) {
		switch {
		case isAlnum(c):
			slug = append(slug, c)
		case len(slug) > 0 && slug[len(slug)-1] != '-':
			slug = append(slug, '-')
		}
	}
	return fmt.Sprintf("%s-%x", slug[:min(len(slug), 40)], sha256.Sum256([]byte(dir)))[:min(len(slug), 40)+17]
}

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// grokSessionDir is the folder of a session, below grok's own.
func grokSessionDir(home, cwd, session string) string {
	return filepath.Join(home, "sessions", GrokFolder(cwd), session)
}

// grokSession finds a session in whichever folder it was recorded; dir is "" when there is none.
func (p *process) grokSession(session string) (dir, cwd string, err error) {
	folders, err := os.ReadDir(p.grokSessions())
	if errors.Is(err, os.ErrNotExist) {
		return "", "", nil
	}
	for _, f := range folders {
		dir := filepath.Join(p.grokSessions(), f.Name(), session)
		data, err := os.ReadFile(filepath.Join(dir, "summary.json"))
		if err != nil {
			continue
		}
		var s grokSummary
		if err := json.Unmarshal(data, &s); err != nil {
			return "", "", errors.Wrap(err, dir)
		}
		return dir, s.Info.Cwd, nil
	}
	return "", "", err
}

// newGrokSession is the id of a session that starts, a UUID of version 7: the
// same for the same fixture, directory and number of sessions there.
func (p *process) newGrokSession(f *Fixture) (string, error) {
	before, err := os.ReadDir(filepath.Dir(grokSessionDir(p.configDir(), p.dir, "x")))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	id := []byte(uuid(f.Name, p.dir, strconv.Itoa(len(before))))
	id[14] = '7'
	return string(id), nil
}

// grokSummary is summary.json (xai-grok-shell/src/session/persistence.rs).
type grokSummary struct {
	Info struct {
		ID  string `json:"id"`
		Cwd string `json:"cwd"`
	} `json:"info"`
	Summary   string `json:"session_summary"`
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
	Messages  int    `json:"num_messages"`      // lines of updates.jsonl
	Chats     int    `json:"num_chat_messages"` // lines of chat_history.jsonl
	Model     string `json:"current_model_id"`
	Turn      int    `json:"next_trace_turn"`
	Format    int    `json:"chat_format_version"`
	Head      string `json:"head_branch,omitempty"`
	ActiveAt  string `json:"last_active_at"`
	Title     string `json:"generated_title,omitempty"`
	Agent     string `json:"agent_name"`
	Sandbox   string `json:"sandbox_profile"`
}

// grokRecord writes the files of a session as far as a run gets, from the lines
// it prints: summary.json, chat_history.jsonl, updates.jsonl, events.jsonl. (The
// real one writes more, which nobody here reads.)
type grokRecord struct {
	dir     string
	time    string // RFC 3339
	epoch   int64
	summary grokSummary
	prompt  string
	begun   bool
	err     error // the first one
}

func newGrokRecord(t *grokTurn) *grokRecord {
	now := t.now.UTC()
	r := &grokRecord{
		dir: grokSessionDir(t.configDir(), t.dir, t.values.Session), prompt: t.prompt,
		time: now.Format("2006-01-02T15:04:05.000000000Z"), epoch: now.Unix(),
	}
	if dir, _, err := t.grokSession(t.values.Session); err == nil && dir != "" {
		r.dir = dir
		if data, err := os.ReadFile(filepath.Join(dir, "summary.json")); err == nil {
			_ = json.Unmarshal(data, &r.summary) // grokSession has read it
		}
	}
	s := &r.summary
	if s.Info.ID == "" { // a new one; the title is what grok falls back to
		s.Info.ID, s.Info.Cwd, s.CreatedAt, s.Summary = t.values.Session, t.dir, r.time, firstWords(t.prompt, 10)
	}
	s.Format, s.Agent, s.Sandbox = 1, "grok-build-plan", "off"
	if t.args.model != "" {
		s.Model = t.args.model
	}
	return r
}

func firstWords(s string, n int) string {
	words := strings.Fields(s)
	return strings.Join(words[:min(len(words), n)], " ")
}

// grokLine is what the record wants to know of a line.
type grokLine struct {
	Type       string `json:"type"`
	Subtype    string `json:"subtype"`
	SessionID  string `json:"session_id"`
	Model      string `json:"model"`
	Cwd        string `json:"cwd"`
	StopReason string `json:"stop_reason"`
	Message    struct {
		Content []struct {
			Type      string          `json:"type"`
			Text      string          `json:"text"`
			Thinking  string          `json:"thinking"`
			Signature string          `json:"signature"`
			ID        string          `json:"id"`
			Name      string          `json:"name"`
			Input     json.RawMessage `json:"input"`
			ToolUseID string          `json:"tool_use_id"`
			Content   any             `json:"content"`
		} `json:"content"`
	} `json:"message"`
}

// note writes what a line says. Before init there is no session, and of one
// that works elsewhere nothing is written here.
func (r *grokRecord) note(line []byte) error {
	var l grokLine
	if bytes.HasPrefix(line, []byte(`{"type":"stream_event"`)) || json.Unmarshal(line, &l) != nil {
		return nil
	}
	switch {
	case l.Type == "system" && l.Subtype == "init" && l.SessionID != "" && l.Cwd == r.summary.Info.Cwd:
		r.begin(l.Model)
	case !r.begun:
		return nil
	case l.Type == "assistant":
		r.assistant(&l)
	case l.Type == "user":
		r.results(&l)
	case l.Type == "result":
		r.end(&l)
	}
	return r.save()
}

type (
	object = map[string]any
	list   = []any
)

// begin writes what the user said, and what stands before it in a new session.
func (r *grokRecord) begin(model string) {
	r.begun = true
	if r.summary.Model == "" {
		r.summary.Model = model
	}
	r.err = os.MkdirAll(r.dir, 0o700)
	text := func(s string) list { return list{object{"type": "text", "text": s}} }
	if r.summary.Chats == 0 {
		r.chat(object{"type": "system", "content": "You are Grok."})
		r.chat(object{"type": "user", "content": text("<user_info>\nOS Version: linux\n</user_info>")})
	}
	r.chat(object{"type": "user", "content": text(r.prompt), "prompt_index": r.summary.Turn})
	r.update("session/update", object{"sessionUpdate": "user_message_chunk", "content": object{"type": "text", "text": r.prompt}})
	r.append("events.jsonl", object{"ts": r.time, "type": "turn_started", "session_id": r.summary.Info.ID, "turn_number": r.summary.Turn, "model_id": r.summary.Model, "yolo_mode": true, "session_relationship": "primary", "schema_version": "1.0"})
	r.summary.Turn++
}

func (r *grokRecord) assistant(l *grokLine) {
	said, calls := "", list{}
	for _, b := range l.Message.Content {
		switch b.Type {
		case "text":
			said += b.Text
			r.update("session/update", object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": b.Text}})
		case "thinking":
			r.chat(object{"type": "reasoning", "id": "rs_" + strconv.Itoa(r.summary.Chats), "summary": list{object{"type": "summary_text", "text": b.Thinking}}, "encrypted_content": b.Signature})
			r.update("session/update", object{"sessionUpdate": "agent_thought_chunk", "content": object{"type": "text", "text": b.Thinking}})
		case "tool_use":
			calls = append(calls, object{"id": b.ID, "name": b.Name, "arguments": string(b.Input)})
			r.update("session/update", object{"sessionUpdate": "tool_call", "toolCallId": b.ID, "title": b.Name, "rawInput": b.Input})
		case "server_tool_use":
			r.chat(object{"type": "backend_tool_call", "kind": object{"tool_type": b.Name, "id": b.ID, "status": "completed", "action": b.Input}})
		}
	}
	r.chat(object{"type": "assistant", "content": said, "tool_calls": calls, "model_id": r.summary.Model})
}

func (r *grokRecord) results(l *grokLine) {
	for _, b := range l.Message.Content {
		var raw any
		text, _ := b.Content.(string)
		if json.Unmarshal([]byte(text), &raw) != nil {
			raw = text
		}
		r.update("session/update", object{"sessionUpdate": "tool_call_update", "toolCallId": b.ToolUseID, "status": "completed", "rawOutput": raw})
		r.append("events.jsonl", object{"ts": r.time, "type": "tool_completed", "tool_call_id": b.ToolUseID, "outcome": "success"})
		r.chat(object{"type": "tool_result", "tool_call_id": b.ToolUseID, "content": forModel(raw)})
	}
}

func (r *grokRecord) end(l *grokLine) {
	r.append("events.jsonl", object{"ts": r.time, "type": "turn_ended", "outcome": "completed"})
	r.update("_x.ai/session/update", object{"sessionUpdate": "turn_completed", "stop_reason": l.StopReason})
}

// forModel is the text of an output that the model was given.
func forModel(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case object:
		for _, key := range []string{"output_for_prompt", "tool_output_for_prompt", "message", "content", "text", "OkayOutput", "Error"} {
			if s, ok := v[key].(string); ok {
				return s
			}
		}
		for _, inner := range v {
			if o, ok := inner.(object); ok {
				return forModel(o)
			}
		}
	}
	return ""
}

// chat and update append a line to one of the files.
func (r *grokRecord) chat(v object) {
	r.summary.Chats++
	r.append("chat_history.jsonl", v)
}

// typed is a record with its type in front, where the real one has it.
func typed(v object) []byte {
	typ, ok := v["type"].(string)
	if !ok {
		return encode(v, "")
	}
	rest := maps.Clone(v)
	delete(rest, "type")
	return append([]byte(`{"type":`+quoted(typ)+`,`), encode(rest, "")[1:]...)
}

func (r *grokRecord) update(method string, update object) {
	r.summary.Messages++
	r.append("updates.jsonl", object{"timestamp": r.epoch, "method": method, "params": object{
		"sessionId": r.summary.Info.ID, "update": update, "_meta": object{"eventId": fmt.Sprintf("%s-%d", r.summary.Info.ID, r.summary.Messages)},
	}})
}

// append does nothing after a failure.
func (r *grokRecord) append(name string, v object) {
	if r.err != nil {
		return
	}
	f, err := os.OpenFile(filepath.Join(r.dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Write(typed(v))
		err = errors.CombineErrors(err, f.Close())
	}
	r.err = err
}

// save rewrites the summary.
func (r *grokRecord) save() error {
	if r.err != nil {
		return r.err
	}
	r.summary.UpdatedAt, r.summary.ActiveAt = r.time, r.time
	return os.WriteFile(filepath.Join(r.dir, "summary.json"), encode(r.summary, "  "), 0o600)
}
