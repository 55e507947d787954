package fakeagents

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// Values are what the placeholders of a fixture stand for in one run.
type Values struct {
	Repo    string // working directory, a real path
	Session string
	Home    string
	Tmp     string
	Now     time.Time
	PID     int
}

var placeholder = lazyregexp.New(`\{\{([A-Z_]+)(?::([0-9]+))?\}\}`)

// Fill replaces the placeholders in JSON text: values are escaped as they
// stand inside a JSON string, twice inside "partial_json", which is JSON in
// JSON. What it does not know stays.
func (v Values) Fill(line []byte) []byte {
	if !bytes.Contains(line, []byte("{{")) {
		return line
	}
	escapes := 1
	if bytes.Contains(line, []byte(`"partial_json":"`)) {
		escapes = 2
	}
	return v.fill(line, escapes)
}

// FillText replaces the placeholders in plain text.
func (v Values) FillText(text []byte) []byte { return v.fill(text, 0) }

func (v Values) fill(b []byte, escapes int) []byte {
	return placeholder.ReplaceAllFunc(b, func(m []byte) []byte {
		sub := placeholder.FindSubmatch(m)
		value, ok := v.value(string(sub[1]), string(sub[2]))
		if !ok {
			return m
		}
		for range escapes {
			value = jsonText(value)
		}
		return []byte(value)
	})
}

func (v Values) value(name, arg string) (string, bool) {
	switch name {
	case "REPO":
		return v.Repo, true
	case "PARENT":
		return filepath.Dir(v.Repo), true
	case "REPO_ENC":
		return ProjectFolder(v.Repo), true
	case "SESSION":
		return v.Session, true
	case "HOME":
		return v.Home, true
	case "TMP":
		return v.Tmp, true
	case "PORT":
		return "0", true
	case "TIME":
		return v.Now.UTC().Format("2006-01-02T15:04:05.000Z"), true
	case "DAY": // a folder of codex's
		return v.Now.Format("2006/01/02"), true
	case "STAMP": // local time in a file's name
		return v.Now.Format("2006-01-02T15-04-05"), true
	case "DATE":
		return v.Now.UTC().Format(time.DateOnly), true
	case "PID":
		return strconv.Itoa(v.PID), true
	case "UUID":
		return uuid(v.Session, arg), true
	}
	return "", false
}

// Filled returns the stdout lines as a CLI would have written them.
func (f *Fixture) Filled(v Values) [][]byte {
	lines := f.Lines()
	for i, line := range lines {
		lines[i] = v.Fill(line)
	}
	return lines
}

// jsonText is s as it stands between the quotes of a JSON string.
func jsonText(s string) string {
	b := encode(s, "")
	return string(b[1 : len(b)-2])
}

// uuid is a version 4 UUID made from the parts: the same parts, the same id.
func uuid(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	b := h.Sum(nil)[:16]
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
