package fakeagents

import (
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf16"
)

// ProjectFolder is how claude names the folder of a working directory below
// projects/ (2.1.332 and 2.1.197): every UTF-16 code unit outside [A-Za-z0-9]
// becomes "-"; over 200 characters the rest is replaced by a hash.
func ProjectFolder(dir string) string {
	units := utf16.Encode([]rune(dir))
	var b strings.Builder
	var hash int32
	for _, u := range units {
		hash = hash*31 + int32(u)
		switch {
		case u >= 'a' && u <= 'z', u >= 'A' && u <= 'Z', u >= '0' && u <= '9':
			b.WriteByte(byte(u))
		default:
			b.WriteByte('-')
		}
	}
	name := b.String()
	if len(name) <= 200 {
		return name
	}
	h := int64(hash)
	if h < 0 {
		h = -h
	}
	return name[:200] + "-" + strconv.FormatInt(h, 36)
}

func (p *process) projectDir() string {
	return filepath.Join(p.configDir(), "projects", ProjectFolder(p.dir))
}

// knows is whether a session can be resumed: its transcript exists. 2.1.197
// looks in the folder of the working directory only, 2.1.332 in all.
func (p *process) knows(session string) (bool, error) {
	pattern := filepath.Join(p.projectDir(), session+".jsonl")
	if !olderThan(p.version, "2.1.332") {
		pattern = filepath.Join(p.configDir(), "projects", "*", session+".jsonl")
	}
	found, err := filepath.Glob(pattern)
	return len(found) > 0, err
}

// newSession is the id of a session that starts: the same for the same
// fixture, directory and number of sessions there.
func (p *process) newSession(f *Fixture) (string, error) {
	before, err := filepath.Glob(filepath.Join(p.projectDir(), "*.jsonl"))
	return uuid(f.Name, p.dir, strconv.Itoa(len(before))), err
}
