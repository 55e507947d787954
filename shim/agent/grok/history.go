package grok

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

var _ agent.Historian = Grok{}

// Files of a session's folder (xai-grok-shell/src/session/persistence.rs).
const (
	summaryFile = "summary.json"
	chatFile    = "chat_history.jsonl"
)

// Transcripts lists the sessions of the folder that grok has for h.Repo:
// sessions/<encoded path>/<id>/summary.json.
func (g Grok) Transcripts(h agent.History) ([]agent.Transcript, error) {
	home := g.homeDir(h.Environ)
	if home == "" || h.Repo == "" {
		return nil, nil
	}
	root, err := filepath.Abs(filepath.Join(home, "sessions"))
	if err != nil {
		return nil, errors.Wrap(err, "find grok's sessions")
	}
	folders, err := sessionFolders(root, h.Repo)
	if err != nil {
		return nil, err
	}
	var found []agent.Transcript
	for _, folder := range folders {
		ids, err := agent.Names(folder)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if !agent.UUIDPattern.MatchString(id) {
				continue
			}
			dir := filepath.Join(folder, id)
			if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
				continue
			}
			found = append(found, agent.Transcript{
				ID:   strings.ToLower(id),
				Path: filepath.Join(dir, summaryFile), Events: filepath.Join(dir, chatFile), Whole: true,
			})
		}
	}
	return found, nil
}

// maxFolder is how long an encoded path may be as a name, in bytes.
const maxFolder = 255

// hashedFolder is the name of a folder whose path is too long: a slug of its
// last element, and the beginning of a hash of all. The hash is BLAKE3, which
// nothing else here needs, so all such folders are looked into, and the
// sessions themselves tell where they belong. There are hardly any.
var hashedFolder = lazyregexp.New(`^[^%/\\]*-[0-9a-f]{16}$`)

// sessionFolders are those below root that may hold the sessions of repo
// (xai-grok-config/src/paths.rs).
func sessionFolders(root, repo string) ([]string, error) {
	names := []string{encoded(repo)}
	if runtime.GOOS == "windows" {
		names = append(names, encoded(`\\?\`+repo)) // as a Rust program resolves paths
	}
	var folders []string
	hashed := false
	for _, name := range names {
		if len(name) > maxFolder {
			hashed = true
		} else {
			folders = append(folders, filepath.Join(root, name))
		}
	}
	if !hashed {
		return folders, nil
	}
	entries, err := agent.Names(root)
	if err != nil {
		return nil, err
	}
	for _, name := range entries {
		if hashedFolder.MatchString(name) {
			folders = append(folders, filepath.Join(root, name))
		}
	}
	return folders, nil
}

// encoded is a path with every byte percent-encoded but letters, digits and
// -._~ (encodeURIComponent leaves !'()* too).
func encoded(dir string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(dir) {
		switch c := dir[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '.', c == '_', c == '~':
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

// scan reads one summary for the list.
type scan struct {
	history agent.History
	chat    string // path of chat_history.jsonl
	verdict agent.Verdict
	row     agent.Row
	waits   bool // for the first prompt
}

var _ agent.Waiting = (*scan)(nil)

// NewScan returns what reads one summary. It is read whole each time, so there
// is nothing to go on from.
func (Grok) NewScan(h agent.History, t agent.Transcript, saved []byte) (agent.Scan, error) {
	if len(saved) > 0 {
		return nil, errors.New("a summary of grok's is read whole")
	}
	return &scan{history: h, chat: t.Events}, nil
}

func (s *scan) Verdict() agent.Verdict { return s.verdict }
func (s *scan) Row() agent.Row         { return s.row }
func (s *scan) Save() []byte           { return nil }
func (s *scan) Waits() bool            { return s.waits }

// listed is the part of summary.json that a list shows. Times are RFC 3339.
type listed struct {
	Info struct {
		Cwd string `json:"cwd"`
	} `json:"info"`
	Kind      string  `json:"session_kind"` // "subagent…"; absent of others
	Hidden    bool    `json:"hidden"`
	Summary   string  `json:"session_summary"` // where no title was made, the prompt's first ten words
	Title     string  `json:"generated_title"`
	CreatedAt string  `json:"created_at"`
	UpdatedAt string  `json:"updated_at"`
	ActiveAt  string  `json:"last_active_at"`
	Branch    string  `json:"head_branch"`
	Messages  float64 `json:"num_chat_messages"`
}

// Line takes the whole summary.
func (s *scan) Line(line []byte) {
	var sum listed
	if s.verdict != agent.Undecided || !agent.Decode(line, &sum) || sum.Info.Cwd == "" {
		return
	}
	switch {
	case !samePlace(s.history.Repo, sum.Info.Cwd):
		s.verdict = agent.Foreign
		return
	case sum.Hidden || strings.HasPrefix(sum.Kind, "subagent"):
		s.verdict = agent.Hidden
		return
	}
	s.verdict = agent.Ours
	s.row = agent.Row{
		Title:     sum.Title,
		StartedAt: timeOf(sum.CreatedAt),
		EndedAt:   timeOf(sum.ActiveAt),
		Branch:    sum.Branch,
		Messages:  int(agent.Whole(sum.Messages)),
	}
	if s.row.EndedAt.IsZero() {
		s.row.EndedAt = timeOf(sum.UpdatedAt)
	}
	recorded, ok := firstPrompt(s.chat)
	if !ok {
		s.waits = true
		if begins(s.history.System, sum.Summary) {
			return // those are our words
		}
		if s.row.Title == "" {
			s.row.Title = sum.Summary
		}
		s.row.FirstPrompt = sum.Summary
		return
	}
	s.row.FirstPrompt = humanWords(s.history, recorded)
	if s.row.Title == "" && !begins(recorded, sum.Summary) {
		s.row.Title = sum.Summary
	}
}

// begins tells whether words are the first of a text, whatever is between them.
func begins(text, words string) bool {
	return strings.HasPrefix(strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(words), " "))
}

func timeOf(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if t = t.UTC(); err != nil || t.Year() < 1 || t.Year() > 9999 { // what JSON can hold
		return time.Time{}
	}
	return t
}

// maxHead is how much of a conversation is read for its first prompt, in
// bytes: the system prompt and the instructions of the project stand before it,
// pictures in it.
const maxHead = 64 << 20

// firstPrompt reads what the human said first, as grok recorded it. The summary
// has at most its first words, which with a prompt of ours are none of theirs.
func firstPrompt(path string) (recorded string, ok bool) {
	f, _, err := agent.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	// What cannot be read has no prompt.
	_ = agent.Records(context.Background(), io.LimitReader(f, maxHead), func(line []byte) bool {
		recorded, ok = human(line)
		return !ok
	})
	return recorded, ok
}
