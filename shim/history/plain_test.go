package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// plain is an agent that writes one word and its text to a line: "repo PATH",
// "side", "user TEXT", "say TEXT", "over" (what End then tells). Files are
// <uuid>.log in dir.
type plain struct {
	dir   string
	whole bool

	mu    sync.Mutex
	lines map[string]int // seen by a scan, by path
	scans map[string]int
}

func (p *plain) Transcripts(agent.History) (out []agent.Transcript, err error) {
	paths, err := filepath.Glob(filepath.Join(p.dir, "*.log"))
	for _, path := range paths {
		out = append(out, agent.Transcript{ID: strings.TrimSuffix(filepath.Base(path), ".log"), Path: path, Whole: p.whole})
	}
	return out, err
}

type plainScan struct {
	p        *plain
	h        agent.History
	path     string
	Repo     string
	Side     bool
	Title    string
	Prompt   string
	Messages int
	Last     int64 // seconds
	Began    time.Time
}

func (p *plain) NewScan(h agent.History, t agent.Transcript, saved []byte) (agent.Scan, error) {
	s := &plainScan{}
	if saved != nil {
		if err := json.Unmarshal(saved, s); err != nil {
			return nil, err
		}
	}
	s.p, s.h, s.path = p, h, t.Path
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.scans == nil {
		p.scans, p.lines = map[string]int{}, map[string]int{}
	}
	p.scans[t.Path]++
	return s, nil
}

func (s *plainScan) Line(line []byte) {
	s.p.mu.Lock()
	s.p.lines[s.path]++
	s.p.mu.Unlock()
	for _, line := range strings.Split(string(line), "\n") { // of a whole file there are several
		word, text, _ := strings.Cut(line, " ")
		switch word {
		case "repo":
			s.Repo = text
		case "side":
			s.Side = true
		case "title":
			s.Title = text
		case "time":
			fmt.Sscan(text, &s.Last)
		case "began":
			s.Began, _ = time.Parse(time.RFC3339, text)
		case "user", "say":
			s.Messages++
			if s.Prompt == "" {
				s.Prompt = text
			}
		}
	}
}

func (s *plainScan) Verdict() agent.Verdict {
	switch {
	case s.Repo == "":
		return agent.Undecided
	case s.Repo != s.h.Repo:
		return agent.Foreign
	case s.Side:
		return agent.Hidden
	}
	return agent.Ours
}

func (s *plainScan) Row() agent.Row {
	r := agent.Row{Title: s.Title, FirstPrompt: s.Prompt, Messages: s.Messages, StartedAt: s.Began}
	if s.Last != 0 {
		r.EndedAt = time.Unix(s.Last, 0).UTC()
	}
	return r
}

// Waits is for a file <uuid>.wait to go.
func (s *plainScan) Waits() bool {
	_, err := os.Lstat(strings.TrimSuffix(s.path, ".log") + ".wait")
	return err == nil
}

func (s *plainScan) Save() []byte {
	b, _ := json.Marshal(s) // strings and numbers
	return b
}

type plainReplay struct{ over bool }

func (p *plain) NewReplay(agent.History) agent.Replay { return &plainReplay{} }

func (*plainReplay) Begins(line []byte) bool { return bytes.HasPrefix(line, []byte("user ")) }

func (r *plainReplay) Map(line []byte) []event.Event {
	word, text, _ := strings.Cut(string(line), " ")
	switch word {
	case "user":
		return []event.Event{event.User{Text: text}}
	case "say": // two events of one record
		return []event.Event{event.Delta{Text: text, MessageID: "a"}, event.Delta{Text: text, MessageID: "b"}}
	case "over":
		r.over = true
	}
	return nil
}

func (r *plainReplay) End() []event.Event {
	if !r.over {
		return nil
	}
	r.over = false
	return []event.Event{event.Result{Subtype: "success"}, event.Note{Message: "closed"}}
}

func id(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", n) }

const testRepo = "/src/shop"

// stage is a folder of sessions and a history of it.
type stage struct {
	*plain
	t     *testing.T
	cache string
	h     *History
}

func newStage(t *testing.T) *stage {
	s := &stage{plain: &plain{dir: t.TempDir()}, t: t, cache: filepath.Join(t.TempDir(), "history", "anthropic")}
	s.restart()
	return s
}

// restart makes the history anew: what it knows is in the cache.
func (s *stage) restart() {
	s.h = New(Options{History: agent.History{Repo: testRepo}, Cache: s.cache, Version: "1"})
}

func (s *stage) path(n int) string { return filepath.Join(s.dir, id(n)+".log") }

// write writes a session long enough ago for its stamp to be settled.
func (s *stage) write(n int, lines ...string) {
	s.t.Helper()
	if err := os.WriteFile(s.path(n), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) add(n int, text string) {
	s.t.Helper()
	f, err := os.OpenFile(s.path(n), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// settle waits until no file of the stage counts as just changed.
func (s *stage) settle() {
	s.t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.dir, "*"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, path := range paths {
		for {
			info, err := os.Lstat(path)
			if err != nil || !stampOf(info).unsettled(time.Now().UnixNano()) {
				break
			}
		}
	}
}

// rows lists "<number> <first prompt> <messages>".
func (s *stage) rows() (out []string) {
	s.t.Helper()
	sessions, err := s.h.List(s.t.Context(), s.plain)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, row := range sessions {
		var n int
		fmt.Sscanf(row.ID, "%08x", &n)
		out = append(out, fmt.Sprintf("%d %s %d", n, row.FirstPrompt, row.Messages))
	}
	return out
}

// scanned returns how often the session was scanned and the lines read, since
// the last call.
func (s *stage) scanned(n int) (scans, lines int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	scans, lines = s.plain.scans[s.path(n)], s.plain.lines[s.path(n)]
	delete(s.plain.scans, s.path(n))
	delete(s.plain.lines, s.path(n))
	return scans, lines
}
