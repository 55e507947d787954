package claude

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// FindSession tells which folder a session was recorded in, by the transcripts
// that claude keeps. 332 resumes a session of any folder and then works in the
// present one, appending to the other's transcript; 197 finds only those of
// its own folder. (Model and usage are claude's own business on a resume.)
func (Claude) FindSession(s agent.Spec, environ []string) agent.Session {
	return agent.Session{Folder: sessionFolder(s, environ)}
}

func sessionFolder(s agent.Spec, environ []string) string {
	if !agent.UUIDPattern.MatchString(s.Resume) {
		return ""
	}
	projects := projectsDir(environ)
	if projects == "" {
		return ""
	}
	name := strings.ToLower(s.Resume) + ".jsonl"
	if cwd := recordedCwd(filepath.Join(projects, projectName(s.Repo), name)); cwd != "" {
		return cwd
	}
	others, _ := filepath.Glob(filepath.Join(projects, "*", name)) // a bad pattern is no match
	for _, path := range others {
		if cwd := recordedCwd(path); cwd != "" {
			return cwd
		}
	}
	return ""
}

// projectsDir is where claude keeps its transcripts.
func projectsDir(environ []string) string {
	var home, config string
	for _, kv := range environ {
		key, value, _ := strings.Cut(kv, "=")
		switch key {
		case "HOME", "USERPROFILE":
			home = value
		case "CLAUDE_CONFIG_DIR":
			config = value
		}
	}
	if config == "" && home != "" {
		config = filepath.Join(home, ".claude")
	}
	if config == "" {
		return ""
	}
	return filepath.Join(config, "projects")
}

// recordedCwd is the folder that the first records of a transcript name.
func recordedCwd(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const enough = 1 << 20 // bytes; the first user record stands well before
	r := bufio.NewReader(io.LimitReader(f, enough))
	for {
		line, err := r.ReadBytes('\n')
		var rec struct{ Cwd string }
		if json.Unmarshal(line, &rec) == nil && rec.Cwd != "" {
			return rec.Cwd
		}
		if err != nil {
			return ""
		}
	}
}

// projectName is the folder name claude makes of a working directory: every
// UTF-16 unit but ASCII letters and digits becomes "-"; over 200 characters,
// the first 200, "-" and a hash of the whole (332 and 197).
func projectName(cwd string) string {
	units := utf16.Encode([]rune(cwd))
	name := make([]byte, len(units))
	var hash int32
	for i, u := range units {
		hash = hash*31 + int32(u)
		name[i] = '-'
		if u < 0x80 && (u >= '0' && u <= '9' || u >= 'A' && u <= 'Z' || u >= 'a' && u <= 'z') {
			name[i] = byte(u)
		}
	}
	if len(name) <= 200 {
		return string(name)
	}
	abs := int64(hash)
	if abs < 0 {
		abs = -abs
	}
	return string(name[:200]) + "-" + strconv.FormatInt(abs, 36)
}
