package claude

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// Transcripts returns the files <uuid>.jsonl in the folder of the repository.
// Repositories whose names differ in punctuation share one (a-b, a.b), so a
// record has to tell whose a session is. What is below the folder (sub-agents,
// outputs of tools) is no session.
func (Claude) Transcripts(h agent.History) ([]agent.Transcript, error) {
	projects := projectsDir(h.Environ)
	if projects == "" {
		return nil, nil
	}
	folders, err := agent.Names(projects)
	if err != nil {
		return nil, err
	}
	name := projectName(h.Repo)
	var found []agent.Transcript
	for _, folder := range folders {
		// The case of a path is not kept by every system, nor by every caller.
		if !strings.EqualFold(folder, name) {
			continue
		}
		dir := filepath.Join(projects, folder)
		files, err := agent.Names(dir)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			id, ok := strings.CutSuffix(file, ".jsonl")
			if ok && agent.UUIDPattern.MatchString(id) {
				found = append(found, agent.Transcript{ID: strings.ToLower(id), Path: filepath.Join(dir, file)})
			}
		}
	}
	return found, nil
}

// scan reads one transcript for the list. What is exported is what it is
// saved as.
type scan struct {
	h agent.History

	Cwd       string    `json:"cwd,omitempty"` // of the first record that has one: the session's
	Sidechain bool      `json:"side,omitempty"`
	Away      bool      `json:"away,omitempty"` // the turn is another repository's
	Titles    [3]string `json:"titles"`         // by titleMembers
	Prompt    string    `json:"prompt,omitempty"`
	Bare      bool      `json:"bare,omitempty"` // Prompt is a command without arguments, /clear: a request is better
	Prompts   int       `json:"prompts,omitempty"`
	Messages  int       `json:"messages,omitempty"`
	LastID    string    `json:"last,omitempty"`  // of the assistant's message counted last: its blocks are records of their own
	Started   string    `json:"start,omitempty"` // as it is written
	Ended     string    `json:"end,omitempty"`
	Branch    string    `json:"branch,omitempty"`
	ended     [longTime]byte
	endedLen  int
	pending   []byte // the last record, when it was not read as far as its time
}

// longTime is more than an RFC 3339 time has, in bytes; 332 and 197 write 24.
const longTime = 40

// NewScan returns what reads one transcript for the list.
func (Claude) NewScan(h agent.History, _ agent.Transcript, saved []byte) (agent.Scan, error) {
	s := &scan{}
	if saved != nil {
		if err := json.Unmarshal(saved, s); err != nil {
			return nil, errors.Wrap(err, "go on with a session of claude's")
		}
	}
	s.h = h
	return s, nil
}

// Save returns what NewScan needs to go on.
func (s *scan) Save() []byte {
	s.Ended = s.lastTime()
	b, err := json.Marshal(s)
	if err != nil {
		return nil // strings and numbers: it cannot
	}
	return b
}

// Verdict tells whose the session is. What has no prompt yet is no
// conversation yet.
func (s *scan) Verdict() agent.Verdict {
	switch {
	case s.Cwd != "" && !sameFolder(s.Cwd, s.h.Repo):
		return agent.Foreign
	case s.Sidechain:
		return agent.Hidden
	case s.Cwd == "" || s.Prompts == 0:
		return agent.Undecided
	}
	return agent.Ours
}

func sameFolder(a, b string) bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return strings.EqualFold(filepath.Clean(a), filepath.Clean(b))
	}
	return a == b
}

// Row is what was learned so far.
func (s *scan) Row() agent.Row {
	row := agent.Row{FirstPrompt: s.Prompt, Branch: s.Branch, Messages: s.Messages}
	for _, title := range s.Titles {
		if row.Title == "" {
			row.Title = title
		}
	}
	row.StartedAt = timeOf(s.Started)
	row.EndedAt = timeOf(s.lastTime())
	return row
}

func (s *scan) lastTime() string {
	if len(s.pending) > 0 {
		if t := timeIn(s.pending); isTime(t) {
			s.endedLen = copy(s.ended[:], t)
		}
		s.pending = s.pending[:0]
	}
	if s.endedLen > 0 {
		return string(s.ended[:s.endedLen])
	}
	return s.Ended
}

func timeOf(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if t = t.UTC(); err != nil || t.Year() < 1 || t.Year() > 9999 { // what JSON can hold
		return time.Time{}
	}
	return t
}

// titleMembers are the records that carry a title, best first: the human's
// own, the agent's (197), the name a session was started with (332).
var titleMembers = []struct{ kind, member string }{
	{"custom-title", "customTitle"},
	{"ai-title", "aiTitle"},
	{"agent-name", "agentName"},
}

// record is what a walk over a line finds. The slices are parts of the line.
type record struct {
	kind      string // of the constants below, "" = another
	side      bool
	sideKnown bool
	meta      bool // the CLI's own words: isMeta, a summary, news of a task
	result    bool // of tools
	cwd       []byte
	time      []byte
	branch    []byte
	messageID []byte
	message   int // where message begins, 0 = none
	content   int // where message.content begins, 0 = none
	title     []byte
}

const (
	kindUser      = "user"
	kindAssistant = "assistant"
	kindQueued    = "queued" // attachment/queued_command: said while the agent worked
)

// Line takes one line.
func (s *scan) Line(line []byte) {
	var r record
	if i := r.walkTitle(line); i >= 0 {
		s.Titles[i] = short(unquote(r.title))
		return
	}
	if !r.walk(line, s.Cwd == "") {
		return
	}
	if s.Cwd == "" && len(r.cwd) > 0 {
		s.Cwd = unquote(r.cwd)
		s.Sidechain = r.side
	}
	if r.side || r.kind == "" {
		return
	}
	if away := r.awayFrom(s.h); away != s.Away && r.isPrompt(line) {
		s.Away = away
	}
	if s.Away {
		return
	}
	s.clock(line, r.time)
	switch r.kind {
	case kindAssistant:
		if len(r.messageID) == 0 || string(r.messageID) != s.LastID {
			s.LastID = string(r.messageID)
			s.Messages++
		}
	case kindUser, kindQueued:
		s.human(line, &r)
	}
}

// isPrompt tells whether a record is what the human said.
func (r *record) isPrompt(line []byte) bool {
	if r.kind != kindUser || r.side || r.meta || r.result || r.content == 0 {
		return false
	}
	_, ok := typed(contentText(line, r.content))
	return ok
}

// awayFrom tells whether a record names a folder outside of the repository.
// claude resumes a session of any folder, in the present one, and appends to
// its transcript: a turn is of the folder that its prompt names. Within a turn
// the agent may go where it likes.
func (r *record) awayFrom(h agent.History) bool {
	if len(r.cwd) == 0 || h.Repo == "" {
		return false
	}
	top := h.Top
	if top == "" {
		top = h.Repo
	}
	cwd := unquote(r.cwd)
	if sameFolder(cwd, h.Repo) || sameFolder(cwd, top) {
		return false
	}
	top = strings.TrimSuffix(top, string(filepath.Separator)) + string(filepath.Separator)
	return len(cwd) < len(top) || !sameFolder(cwd[:len(top)], top)
}

// human counts what the human said.
func (s *scan) human(line []byte, r *record) {
	if r.meta || r.result || r.content == 0 {
		return
	}
	raw, images, ok := contentText(line, r.content)
	text, ok := typed(raw, images, ok)
	if !ok {
		return
	}
	c, isCommand := commandOf(raw)
	bare := isCommand && !strings.Contains(c, " ")
	s.Prompts++
	s.Messages++
	s.LastID = ""
	if len(r.branch) > 0 {
		s.Branch = unquote(r.branch)
	}
	if s.Prompt == "" || s.Bare && !bare {
		s.Bare = bare
		if s.h.Said != nil {
			text = s.h.Said(text)
		}
		s.Prompt = short(text)
	}
}

// clock notes the time of a record. Only the last one's counts, so where it
// stands behind megabytes it is looked for later.
func (s *scan) clock(line, t []byte) {
	if len(t) == 0 && s.Started != "" {
		if cap(s.pending) < len(line) {
			s.pending = make([]byte, 0, max(2*len(line), 16<<10))
		}
		s.pending = append(s.pending[:0], line...)
		return
	}
	if len(t) == 0 {
		t = timeIn(line)
	}
	s.pending = s.pending[:0]
	if !isTime(t) {
		return
	}
	s.endedLen = copy(s.ended[:], t)
	if s.Started == "" {
		s.Started = string(t)
	}
}

// isTime tells whether a text can be a time: most are never looked at.
func isTime(t []byte) bool {
	return len(t) >= len("2006-01-02T15:04:05Z") && len(t) <= longTime && t[len("2006-01-02")] == 'T'
}

// timeIn finds the time of a record, wherever it stands.
func timeIn(line []byte) []byte {
	var r record
	r.walk(line, true)
	return r.time
}

// short keeps what a list can show: 2,000 bytes.
func short(text string) string {
	const most = 2000
	text = strings.TrimSpace(text)
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.Clone(text[:end])
}

// walkTitle finds a title and returns which of titleMembers it is, or -1.
func (r *record) walkTitle(line []byte) int {
	const start = `{"type":"`
	if !bytes.HasPrefix(line, []byte(start)) {
		return -1
	}
	for i, t := range titleMembers {
		if !bytes.HasPrefix(line[len(start):], []byte(t.kind+`"`)) {
			continue
		}
		s := agent.Skim{B: line}
		s.Members(func(key []byte) bool {
			if string(key) == t.member {
				r.title, _ = s.Text()
			}
			return true
		})
		if len(r.title) > 0 {
			return i
		}
	}
	return -1
}

// walk finds what counts in a line, and reads no further than it must. all
// asks for the folder of records of any kind. It reports whether the record is
// of a kind that counts, or names a folder. A line that is cut or torn counts
// as far as it goes.
func (r *record) walk(line []byte, all bool) bool {
	s := agent.Skim{B: line}
	s.Members(func(key []byte) bool {
		switch string(key) {
		case "isSidechain":
			r.side, r.sideKnown = s.IsTrue(), true
		case "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly":
			r.meta = r.meta || s.IsTrue()
		case "type":
			kind, _ := s.Text()
			switch string(kind) {
			case kindUser:
				r.kind = kindUser
			case kindAssistant:
				r.kind = kindAssistant
			case "attachment":
			default:
				return all
			}
		case "attachment":
			at := s.I
			r.attachment(&s)
			s.I = at
			if r.kind == "" && !all {
				return false
			}
		case "message":
			r.message = s.I
			r.walkMessage(&s)
			s.I = r.message
		case "origin":
			r.meta = r.meta || bytes.HasPrefix(s.B[s.I:], []byte(`{"kind":"task-notification"`))
		case "cwd":
			r.cwd, _ = s.Text()
		case "timestamp":
			r.time, _ = s.Text()
		case "gitBranch":
			r.branch, _ = s.Text()
		}
		// The rest of an answer, or of a tool's output, tells nothing more.
		known := r.kind == kindAssistant && len(r.messageID) > 0 || r.kind == kindUser && r.result
		return all || !known || !r.sideKnown
	})
	return r.kind != "" || all && len(r.cwd) > 0
}

// walkMessage finds the id of a message, or where its content begins.
func (r *record) walkMessage(s *agent.Skim) {
	s.Members(func(key []byte) bool {
		switch string(key) {
		case "id":
			r.messageID, _ = s.Text()
		case "role":
			if role, _ := s.Text(); string(role) == kindAssistant {
				r.kind = kindAssistant
				return len(r.messageID) == 0
			}
		case "content":
			r.content = s.I
			if s.Next() == '[' {
				r.result = isToolResult(*s)
			}
			return r.kind == kindAssistant && len(r.messageID) == 0
		}
		return true
	})
}

// isToolResult tells whether the first block at s is a tool's result.
func isToolResult(s agent.Skim) (found bool) {
	s.Elements(func() bool {
		s.Members(func(key []byte) bool {
			if string(key) != "type" {
				return true
			}
			kind, _ := s.Text()
			found = string(kind) == "tool_result"
			return false
		})
		return false
	})
	return found
}

// attachment finds what a human said while the agent worked.
func (r *record) attachment(s *agent.Skim) {
	kind, mode, content := "", "prompt", 0
	s.Members(func(key []byte) bool {
		switch string(key) {
		case "type":
			b, _ := s.Text()
			kind = string(b)
			return kind == "queued_command"
		case "prompt":
			content = s.I
		case "commandMode":
			b, _ := s.Text()
			mode = string(b)
		}
		return true
	})
	if kind == "queued_command" && mode == "prompt" && content > 0 {
		r.kind, r.content = kindQueued, content
	}
}

// contentText is the text of a message's content, which begins at i: a string,
// or a list of blocks. Of a line that is cut it is what is there.
func contentText(line []byte, i int) (text string, images int, ok bool) {
	s := agent.Skim{B: line, I: i}
	if s.Next() != '[' {
		b := textOf(&s)
		return unquote(b), 0, b != nil
	}
	var parts []string
	s.Elements(func() bool {
		var kind, words []byte
		s.Members(func(key []byte) bool {
			switch string(key) {
			case "type":
				kind, _ = s.Text()
			case "text":
				words = textOf(&s)
			}
			return true
		})
		switch string(kind) {
		case "text":
			parts = append(parts, unquote(words))
		case "image":
			images++
		}
		return true
	})
	return strings.Join(parts, "\n\n"), images, len(parts) > 0 || images > 0
}

// textOf is the string at s, of a line that is cut as far as it goes.
func textOf(s *agent.Skim) []byte {
	at := s.I
	b, whole := s.Text()
	if whole || s.Next() != 0 || at >= len(s.B) || s.B[at] != '"' {
		return b
	}
	b = bytes.TrimRight(s.B[at+1:], `\`)
	if n := bytes.LastIndexByte(b, '\\'); n > len(b)-6 && n >= 0 {
		b = b[:n]
	}
	return b
}

// unquote is a string of JSON, given without its quotes, as text.
func unquote(b []byte) string {
	if bytes.IndexByte(b, '\\') < 0 {
		return strings.ToValidUTF8(string(b), "\uFFFD")
	}
	var s string
	quoted := append(append([]byte{'"'}, b...), '"')
	if json.Unmarshal(quoted, &s) != nil {
		return ""
	}
	return s
}

// How 332 and 197 note that the human stopped the agent.
const (
	interruptedMark     = "[Request interrupted by user]"
	interruptedToolMark = "[Request interrupted by user for tool use]"
)

func interrupted(text string) bool { return text == interruptedMark || text == interruptedToolMark }

// taskMark is how they tell the model that a task in the background ended.
const taskMark = "<task-notification>"

// notTyped are the tags around records that 332 or 197 write in the human's
// name and that nobody typed: one, or several, are all there is. What begins
// like them and goes on is the human's.
var notTyped = []string{
	"task-notification",
	"local-command-stdout", "local-command-stderr", "local-command-caveat",
	"bash-stdout", "bash-stderr",
}

// command are the tags of a command of the CLI's.
var command = []string{"command-name", "command-message", "command-args"}

// within tells whether a text is nothing but tags of the given names, with what
// is between them. Of a long one the end may be cut off.
func within(text string, names []string) bool {
	const long = 16 << 10 // bytes
	found := false
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		inside := ""
		for _, name := range names {
			if rest, opens := strings.CutPrefix(text, "<"+name+">"); opens {
				inside = name
				text = rest
			}
		}
		if inside == "" {
			return false
		}
		_, rest, closes := strings.Cut(text, "</"+inside+">")
		if !closes {
			return len(text) > long
		}
		text, found = rest, true
	}
	return found
}

// typed is what the human typed of a text in their name; a command of the
// CLI's is written with its marks. An image alone is named.
func typed(text string, images int, ok bool) (string, bool) {
	if !ok || interrupted(text) {
		return "", false
	}
	if strings.HasPrefix(text, "<") && within(text, notTyped) {
		return "", false
	}
	if c, ok := commandOf(text); ok {
		return c, true
	}
	if strings.TrimSpace(text) == "" {
		return "[image]", images > 0
	}
	return text, true
}

// commandOf is a command of the CLI's, as it was typed.
func commandOf(text string) (typed string, ok bool) {
	name := between(text, "<command-name>", "</command-name>")
	if name == "" || !strings.HasPrefix(text, "<command-") || !within(text, command) {
		return "", false
	}
	return strings.TrimSpace(name + " " + between(text, "<command-args>", "</command-args>")), true
}

func between(s, start, end string) string {
	_, s, found := strings.Cut(s, start)
	s, _, ends := strings.Cut(s, end)
	if !found || !ends {
		return ""
	}
	return s
}
