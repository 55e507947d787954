package codex

import (
	"bytes"
	"context"
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
	headSize = 1 << 20  // its first line says where; the first turn's model follows soon
	tailSize = 16 << 20 // the last turn's model and usage
	tailStep = 256 << 10
)

// FindSession looks a thread up in the rollouts that codex keeps: the folder
// it was started in, the model of its last turn, its usage so far.
func (c Codex) FindSession(ctx context.Context, s agent.Spec, environ []string) (found agent.Session) {
	sessions := c.sessionsDir(environ)
	if sessions == "" || !agent.UUIDPattern.MatchString(s.Resume) {
		return agent.Session{}
	}
	name := "rollout-*-" + strings.ToLower(s.Resume) + ".jsonl"
	paths, _ := fs.Glob(os.DirFS(sessions), "*/*/*/"+name) // the pattern is well formed
	slices.Sort(paths)
	for _, path := range slices.Backward(paths) {
		one := readRollout(ctx, filepath.Join(sessions, filepath.FromSlash(path)))
		if one.Folder != "" {
			return one
		}
		found.Unknown = found.Unknown || one.Unknown
	}
	return found
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
func readRollout(ctx context.Context, path string) agent.Session {
	f, info, err := agent.Open(path)
	if err != nil {
		return agent.Session{Unknown: !agent.Absent(err)}
	}
	defer f.Close()
	return readEnds(ctx, f, info.Size())
}

// readEnds reads the head of a rollout of length bytes and as much of its end
// as is needed.
func readEnds(ctx context.Context, f io.ReaderAt, length int64) agent.Session {
	s := readHead(ctx, f, length)
	if s.Folder == "" {
		return agent.Session{Unknown: length > 0}
	}
	most := min(length, tailSize)
	last := agent.Session{}
	for size := min(most, tailStep); ctx.Err() == nil; size = min(most, size*8) {
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

// readHead finds the folder, wherever it stands, and the first turn's model.
func readHead(ctx context.Context, f io.ReaderAt, length int64) (s agent.Session) {
	// A head that ends early tells less, no more.
	_ = agent.Records(ctx, io.NewSectionReader(f, 0, length), func(line []byte) bool {
		s.Folder = folderOf(line)
		return s.Folder == ""
	})
	if s.Folder == "" {
		return s
	}
	_ = agent.Records(ctx, io.NewSectionReader(f, 0, min(length, headSize)), func(line []byte) bool {
		var rec record
		if agent.Decode(line, &rec) {
			s.Model = rec.model()
		}
		return s.Model == ""
	})
	return s
}

// folderOf is the folder that a record names: a session_meta, or the context
// of a session that was begun before those did.
func folderOf(line []byte) string {
	payload := member(line, "payload")
	switch {
	case payload == nil:
		return bareCwd(line)
	case is(member(line, "type"), "session_meta"):
		return text(member(payload, "cwd"))
	}
	return ""
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
