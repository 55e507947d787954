package codex

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// How much of a rollout is read, in bytes; one may have grown to gigabytes.
const (
	headSize = 1 << 20  // its first line says where; the first turn follows soon
	tailSize = 16 << 20 // the last turn's model and usage
	tailStep = 256 << 10
)

// FindSession looks a thread up in the rollouts that codex keeps: the folder
// it was started in, the model of its last turn, its usage so far.
func (c Codex) FindSession(s agent.Spec, environ []string) agent.Session {
	sessions := c.sessionsDir(environ)
	if sessions == "" || !agent.UUIDPattern.MatchString(s.Resume) {
		return agent.Session{}
	}
	name := "rollout-*-" + strings.ToLower(s.Resume) + ".jsonl"
	paths, _ := fs.Glob(os.DirFS(sessions), "*/*/*/"+name) // the pattern is well formed
	slices.Sort(paths)
	for _, path := range slices.Backward(paths) {
		if found := readRollout(filepath.Join(sessions, filepath.FromSlash(path))); found.Folder != "" {
			return found
		}
	}
	return agent.Session{}
}

// sessionsDir is where codex keeps its rollouts: YYYY/MM/DD/rollout-<local
// time>-<thread id>.jsonl. "" when that is not known.
func (c Codex) sessionsDir(environ []string) string {
	home := c.home
	if home == "" {
		home = agent.Lookup(environ, "CODEX_HOME")
	}
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if dir := agent.Lookup(environ, name); home == "" && dir != "" {
			home = filepath.Join(dir, ".codex")
		}
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, "sessions")
}

// record is one line of a rollout, as far as it is read here. 0.171.0 has an
// ordinal in each and a token_usage_record per answer; before 0.148 there was
// neither, and thread_settings_applied is newer still.
type record struct {
	Type    string `json:"type"`
	Payload struct {
		Type  string `json:"type"`  // of an event_msg
		Cwd   string `json:"cwd"`   // session_meta, turn_context
		Model string `json:"model"` // turn_context
		// event_msg/thread_settings_applied
		Settings struct {
			Model string `json:"model"`
		} `json:"thread_settings"`
		// event_msg/token_count
		Info struct {
			Total *wireUsage `json:"total_token_usage"`
		} `json:"info"`
		// token_usage_record
		Thread *wireUsage `json:"thread_token_usage"`
	} `json:"payload"`
}

func (r *record) model() string {
	switch {
	case r.Type == "turn_context":
		return r.Payload.Model
	case r.Type == "event_msg" && r.Payload.Type == "thread_settings_applied":
		return r.Payload.Settings.Model
	}
	return ""
}

func (r *record) usage() *event.Usage {
	u := r.Payload.Thread
	if r.Type == "event_msg" && r.Payload.Type == "token_count" {
		u = r.Payload.Info.Total
	} else if r.Type != "token_usage_record" {
		return nil
	}
	if u == nil {
		return nil
	}
	total := u.total()
	return &total
}

// readRollout reads the file of a session.
func readRollout(path string) agent.Session {
	f, err := os.Open(path)
	if err != nil {
		return agent.Session{}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return agent.Session{}
	}
	return readEnds(f, info.Size())
}

// readEnds reads the head of a rollout of length bytes and as much of its end
// as is needed.
func readEnds(f io.ReaderAt, length int64) agent.Session {
	s := readHead(f)
	if s.Folder == "" {
		return agent.Session{}
	}
	most := min(length, tailSize)
	last := agent.Session{}
	for size := min(most, tailStep); ; size = min(most, size*8) {
		last = readTail(f, length-size, size)
		if last.Model != "" && last.Usage != nil || size == most {
			break
		}
	}
	if last.Model != "" {
		s.Model = last.Model
	}
	s.Usage = last.Usage
	if s.Usage == nil && most == length {
		s.Usage = &event.Usage{} // all was read: nothing was used yet
	}
	return s
}

// readHead finds the folder and the first turn's model.
func readHead(f io.ReaderAt) (s agent.Session) {
	r := bufio.NewReader(io.NewSectionReader(f, 0, headSize))
	for {
		line, err := r.ReadBytes('\n')
		var rec record
		if agent.Decode(line, &rec) {
			if rec.Type == "session_meta" && s.Folder == "" {
				s.Folder = rec.Payload.Cwd
			}
			s.Model = rec.model()
		}
		if err != nil || s.Model != "" {
			return s
		}
	}
}

// readTail reads size bytes from offset on, backwards. Its first line may be
// the end of one.
func readTail(f io.ReaderAt, offset, size int64) (s agent.Session) {
	b := make([]byte, size)
	n, err := f.ReadAt(b, offset)
	if err != nil && err != io.EOF {
		return s
	}
	for b = b[:n]; len(b) > 0 && (s.Model == "" || s.Usage == nil); {
		start := bytes.LastIndexByte(b[:len(b)-1], '\n') + 1
		line := b[start:]
		b = b[:start]
		if !interesting(line) || start == 0 && offset > 0 {
			continue
		}
		var rec record
		if json.Unmarshal(line, &rec) != nil {
			continue // cut, or being written
		}
		if s.Model == "" {
			s.Model = rec.model()
		}
		if s.Usage == nil {
			s.Usage = rec.usage()
		}
	}
	return s
}

// interesting tells by its beginning whether a line can have a model or usage.
func interesting(line []byte) bool {
	head := line[:min(len(line), 400)]
	for _, name := range []string{"turn_context", "thread_settings_applied", "token_count", "token_usage_record"} {
		if bytes.Contains(head, []byte(`"`+name+`"`)) {
			return true
		}
	}
	return false
}
