package codex

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// Three generations of rollouts are read:
//
//	items    0.148 and later: what is shown is an event_msg/item_completed
//	events   up to 0.147: event_msg/user_message and others, tools as response_item
//	bare     of 2025's spring: the first line is the session_meta's payload
//	         alone, each other line a response_item's
//
// The first is that of the captures of 0.171.0, the others are read from
// codex-rs/core/src/rollout of the time.

// part is what a record of a rollout is to a conversation.
type part int

const (
	nothing  part = iota
	said          // the human's
	answered      // the agent's
)

// classify tells by the first bytes of a record what it is.
func classify(line []byte) part {
	payload := member(line, "payload")
	if payload == nil {
		return classifyBare(line)
	}
	if !is(member(line, "type"), "event_msg") {
		return nothing
	}
	switch kind := member(payload, "type"); {
	case is(kind, "item_completed"):
		switch item := at(payload, "item", "type"); {
		case is(item, "UserMessage"):
			return said
		case is(item, "AgentMessage"), is(item, "Plan"):
			return answered
		}
	case is(kind, "user_message"):
		return said
	case is(kind, "agent_message"):
		return answered
	}
	return nothing
}

func classifyBare(line []byte) part {
	if !is(member(line, "type"), "message") {
		return nothing
	}
	switch role := member(line, "role"); {
	case is(role, "user"):
		return said
	case is(role, "assistant"):
		return answered
	}
	return nothing
}

// human returns what the human says in a record, as codex was told it. ok is
// false of any other record, and of context that codex itself puts in.
func human(line []byte) (words string, ok bool) {
	if classify(line) != said || !whole(line) {
		return "", false
	}
	payload := member(line, "payload")
	if item := at(payload, "item"); item != nil {
		return contentText(member(item, "content")), true
	}
	if payload == nil {
		words = contentText(member(line, "content"))
	} else {
		words = text(member(payload, "message"))
		if kind := text(member(payload, "kind")); kind == "environment_context" || kind == "user_instructions" {
			return "", false
		}
	}
	return words, !injected(words)
}

// contextMarks begin what codex tells the model in the human's name.
var contextMarks = []string{
	"<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>", "<user_shell_command>", "<skill>",
}

func injected(words string) bool {
	words = strings.TrimSpace(words)
	for _, mark := range contextMarks {
		if strings.HasPrefix(words, mark) {
			return true
		}
	}
	return false
}

// contentText is the text of a message's blocks; what has none but a picture
// is said so.
func contentText(content []byte) string {
	var words []string
	picture := ""
	elements(content, func(block []byte) bool {
		switch kind := text(member(block, "type")); {
		case strings.HasSuffix(strings.ToLower(kind), "text"):
			words = append(words, text(member(block, "text")))
		case strings.Contains(kind, "image"):
			picture = "[image]"
		}
		return true
	})
	if len(words) == 0 {
		return picture
	}
	return strings.Join(words, "\n")
}

// whole tells whether a record is all there. A line that was cut at ScanLimit
// is taken for whole.
func whole(line []byte) bool {
	return len(line) >= agent.ScanLimit || json.Valid(line)
}

// scan reads one rollout for the list.
type scan struct {
	history agent.History
	known   known
	times   [2]stamp // of the first record and the last
}

// known is what Save keeps.
type known struct {
	Verdict agent.Verdict
	Meta    bool // the folder was told
	Row     agent.Row
}

// savedScan is the form of Save; another version makes the file be read anew.
type savedScan struct {
	Version int
	known
}

const scanVersion = 1

// stamp is a record's timestamp as it stands there; most are never looked at.
type stamp struct {
	text [40]byte
	n    int
}

func (s *stamp) set(value []byte) {
	if len(value) == 0 || value[0] != '"' {
		return
	}
	value = value[1:min(len(value), 1+len(s.text))]
	if end := bytes.IndexByte(value, '"'); end > 0 {
		s.n = copy(s.text[:], value[:end])
	}
}

func (s *stamp) time(or time.Time) time.Time {
	if s.n > 0 {
		t, err := time.Parse(time.RFC3339, string(s.text[:s.n]))
		if t = t.UTC(); err == nil && t.Year() > 0 && t.Year() < 10000 { // what JSON can hold
			return t
		}
	}
	return or
}

// NewScan returns what reads one rollout for the list.
func (Codex) NewScan(h agent.History, _ agent.Transcript, saved []byte) (agent.Scan, error) {
	s := &scan{history: h}
	if saved == nil {
		return s, nil
	}
	var from savedScan
	if err := json.Unmarshal(saved, &from); err != nil {
		return nil, errors.Wrap(err, "what was kept of a codex session")
	}
	if from.Version != scanVersion {
		return nil, errors.Newf("what was kept of a codex session has version %d", from.Version)
	}
	s.known = from.known
	return s, nil
}

// Save returns the state as JSON.
func (s *scan) Save() []byte {
	k := s.known
	k.Row = s.Row()
	b, _ := json.Marshal(savedScan{scanVersion, k}) // strings, numbers and times: it cannot fail
	return b
}

func (s *scan) Verdict() agent.Verdict { return s.known.Verdict }

// Row is what was learned so far. codex gives few sessions a title.
func (s *scan) Row() agent.Row {
	row := s.known.Row
	if row.StartedAt.IsZero() {
		row.StartedAt = s.times[0].time(time.Time{})
	}
	row.EndedAt = s.times[1].time(row.EndedAt)
	if row.EndedAt.IsZero() {
		row.EndedAt = row.StartedAt
	}
	return row
}

func (s *scan) Line(line []byte) {
	if s.known.Verdict == agent.Foreign || s.known.Verdict == agent.Hidden {
		return
	}
	time := member(line, "timestamp")
	if !s.known.Meta {
		s.begin(line, time)
	}
	if s.known.Verdict == agent.Foreign || s.known.Verdict == agent.Hidden || !s.known.Meta {
		return
	}
	if s.times[1].set(time); s.times[0].n == 0 {
		s.times[0] = s.times[1]
	}
	switch classify(line) {
	case said:
		words, ok := human(line)
		if !ok {
			return
		}
		s.known.Verdict = agent.Ours // a conversation with a human
		s.known.Row.Messages++
		if s.known.Row.FirstPrompt == "" {
			if s.history.Said != nil {
				words = s.history.Said(words)
			}
			s.known.Row.FirstPrompt = words
		}
	case answered:
		if whole(line) {
			s.known.Row.Messages++
		}
	case nothing:
		s.named(line)
	}
}

// begin reads the first record, which tells whose session it is: the folder is
// looked for first, since nearly every rollout is of another one.
func (s *scan) begin(line, at []byte) {
	meta := line
	switch payload := member(line, "payload"); {
	case is(member(line, "type"), "session_meta"):
		meta = payload
	case payload != nil:
		return // of a file whose beginning was lost
	case !isBareMeta(line):
		s.bareFolder(line)
		return
	}
	cwd := text(member(meta, "cwd"))
	if cwd != "" && !sameFolder(s.history.Repo, cwd) {
		s.known.Verdict = agent.Foreign
		return
	}
	if !whole(line) {
		return
	}
	if ofSubAgent(meta) {
		s.known.Verdict = agent.Hidden
		return
	}
	s.known.Row.Branch = text(member(member(meta, "git"), "branch"))
	if s.times[0].set(member(meta, "timestamp")); s.times[0].n == 0 {
		s.times[0].set(at)
	}
	s.known.Meta = cwd != ""
}

// isBareMeta: {"id":…,"timestamp":…,"instructions":…,"git":…}, without a type.
func isBareMeta(line []byte) bool {
	return member(line, "type") == nil && member(line, "id") != nil && member(line, "timestamp") != nil
}

// bareFolder finds the folder where the first line does not tell it.
func (s *scan) bareFolder(line []byte) {
	cwd := bareCwd(line)
	if cwd == "" {
		return
	}
	if s.known.Meta = sameFolder(s.history.Repo, cwd); !s.known.Meta {
		s.known.Verdict = agent.Foreign
	}
}

// bareCwd is the folder in the context that the model was given,
// <cwd>/repo</cwd>.
func bareCwd(line []byte) string {
	if classifyBare(line) != said || !whole(line) {
		return ""
	}
	_, rest, found := strings.Cut(contentText(member(line, "content")), "<cwd>")
	cwd, _, closed := strings.Cut(rest, "</cwd>")
	if !found || !closed {
		return ""
	}
	return cwd
}

// ofSubAgent tells whether a session is one that codex, not a human, talks to:
// "thread_source":"subagent", or "source":{"subagent":…} before there was that.
func ofSubAgent(meta []byte) bool {
	switch by := text(member(meta, "thread_source")); by {
	case "subagent", "memory_consolidation":
		return true
	}
	source := member(meta, "source")
	return is(source, "subagent") || member(source, "subagent") != nil || member(source, "internal") != nil
}

// named takes the title that a human gave the thread (codex-rs/protocol,
// thread_name_updated; no capture has one). null takes it away.
func (s *scan) named(line []byte) {
	payload := member(line, "payload")
	if !is(member(payload, "type"), "thread_name_updated") || !is(member(line, "type"), "event_msg") || !whole(line) {
		return
	}
	if id := text(member(payload, "thread_id")); id != "" {
		s.known.Row.Title = text(member(payload, "thread_name"))
	}
}
