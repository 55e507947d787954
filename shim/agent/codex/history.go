package codex

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
)

var _ agent.Historian = Codex{}

// Transcripts walks the one tree that codex keeps for all folders,
// sessions/YYYY/MM/DD/rollout-<local time>-<thread id>.jsonl. Names do not
// tell a rollout's folder: its first line does.
func (c Codex) Transcripts(h agent.History) ([]agent.Transcript, error) {
	root := c.sessionsDir(h.Environ)
	if root == "" {
		return nil, nil
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, errors.Wrap(err, "find codex's sessions")
	}
	return walkDays(root, dayFolders)
}

// dayFolders are the digits of the folders above a rollout.
var dayFolders = []int{4, 2, 2}

// walkDays returns the rollouts below dir, which are as deep as digits is
// long. A folder that cannot be read loses its own only, the root excepted.
func walkDays(dir string, digits []int) (found []agent.Transcript, err error) {
	names, err := agent.Names(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		path := dir + string(filepath.Separator) + name
		if len(digits) == 0 {
			if id, ok := threadOf(name); ok {
				found = append(found, agent.Transcript{ID: id, Path: path})
			}
			continue
		}
		if len(name) == digits[0] && isDigits(name) {
			below, err := walkDays(path, digits[1:])
			if err == nil {
				found = append(found, below...)
			}
		}
	}
	return found, nil
}

// threadOf takes the thread's id out of the name of a rollout.
func threadOf(name string) (id string, ok bool) {
	const prefix, suffix, length = "rollout-", ".jsonl", 36
	if !strings.HasPrefix(name, prefix) || !strings.HasSuffix(name, suffix) || len(name) < len(prefix)+length+len(suffix) {
		return "", false
	}
	id = strings.TrimSuffix(name, suffix)
	id = strings.ToLower(id[len(id)-length:])
	return id, isUUID(id)
}

// isUUID is agent.UUIDPattern for lower case, at the price of a loop.
func isUUID(s string) bool {
	for i := range len(s) {
		switch c := s[i]; i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return len(s) == 36
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// sameFolder tells whether cwd, as codex recorded it, is the folder with the
// real path repo. codex records what it was told: a symbolic link stays one,
// and so do other capitals where the system takes them for the same.
func sameFolder(repo, cwd string) bool {
	if cwd == "" || repo == "" {
		return false
	}
	if samePath(repo, cwd) {
		return true
	}
	if cwd = plainPath(cwd); !filepath.IsAbs(cwd) {
		return false
	}
	there, err := os.Stat(cwd) // this and the next are the price of a foreign rollout
	if err != nil {
		return false
	}
	here, err := os.Stat(repo)
	return err == nil && os.SameFile(here, there)
}

// samePath compares paths as text, as the system does.
func samePath(a, b string) bool {
	if a == b {
		return true
	}
	a, b = plainPath(a), plainPath(b)
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// plainPath is a clean path without the prefix that a Rust program gives
// canonical paths on Windows.
func plainPath(dir string) string {
	return filepath.Clean(strings.TrimPrefix(dir, `\\?\`))
}
