package claude

import (
	"context"
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
func (Claude) FindSession(ctx context.Context, s agent.Spec, environ []string) (found agent.Session) {
	projects := projectsDir(environ)
	if projects == "" || !agent.UUIDPattern.MatchString(s.Resume) {
		return agent.Session{}
	}
	name := strings.ToLower(s.Resume) + ".jsonl"
	others, _ := filepath.Glob(filepath.Join(projects, "*", name)) // a bad pattern is no match
	for _, path := range append([]string{filepath.Join(projects, projectName(s.Repo), name)}, others...) {
		folder, unknown := recordedCwd(ctx, path)
		if folder != "" {
			return agent.Session{Folder: folder}
		}
		found.Unknown = found.Unknown || unknown
	}
	return found
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

// recordedCwd is the folder that the first record of a transcript names which
// names one. It stands behind the message, which may have megabytes. unknown is
// a conversation that names none, and one that cannot be read.
func recordedCwd(ctx context.Context, path string) (cwd string, unknown bool) {
	f, _, err := agent.Open(path)
	if err != nil {
		return "", !agent.Absent(err)
	}
	defer f.Close()
	err = agent.Records(ctx, f, func(line []byte) bool {
		var r record
		r.walk(line, true)
		unknown = unknown || r.kind != ""
		cwd = unquote(r.cwd)
		return cwd == ""
	})
	return cwd, unknown || err != nil
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
