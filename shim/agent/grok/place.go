package grok

import (
	"path/filepath"
	"runtime"
	"strings"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// elsewhere tells whether cwd, which grok says it works in, is not a place of
// this run. `-r` works in the folder that the session was recorded in,
// whatever --cwd says. Right are the run's folder, what is below it, and the
// folder of the session when the run accepted that (it is in the same
// repository then). An empty cwd is of a process that has no session.
func elsewhere(repo string, session agent.Session, cwd string) bool {
	if cwd == "" || repo == "" {
		return false
	}
	if within(plain(repo), plain(cwd)) || session.Folder != "" && samePlace(session.Folder, cwd) {
		return false
	}
	return !within(resolved(repo), resolved(cwd))
}

func samePlace(a, b string) bool {
	return sameText(plain(a), plain(b)) || sameText(resolved(a), resolved(b))
}

// within tells whether dir is top, or below it.
func within(top, dir string) bool {
	if sameText(top, dir) {
		return true
	}
	top = strings.TrimSuffix(top, "/") + "/"
	return len(dir) > len(top) && sameText(top, dir[:len(top)])
}

// plain is a path with "/" separators, and without the prefix that a Rust
// program gives canonical paths on Windows.
func plain(dir string) string {
	dir = strings.TrimPrefix(dir, `\\?\`)
	return filepath.ToSlash(filepath.Clean(dir))
}

// resolved is plain with symbolic links resolved, where that can be done.
func resolved(dir string) string {
	if target, err := filepath.EvalSymlinks(strings.TrimPrefix(dir, `\\?\`)); err == nil {
		dir = target
	}
	return plain(dir)
}

func sameText(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}
