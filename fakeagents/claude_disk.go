package fakeagents

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/cockroachdb/errors"
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

// configDir is where claude keeps its files.
func (p *process) configDir() string {
	if dir := p.env.get("CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(p.home(), ".claude")
}

func (p *process) home() string {
	if home := p.env.get("HOME"); home != "" {
		return home
	}
	return p.env.get("USERPROFILE") // Windows
}

func (p *process) projectDir() string {
	return filepath.Join(p.configDir(), "projects", ProjectFolder(p.dir))
}

// SeedDisk writes the fixture's transcripts of before the run (a session to
// resume) where the fake and the history readers look for them. The values
// name the working directory and the session.
func (f *Fixture) SeedDisk(configDir string, v Values) error {
	dir := filepath.Join(configDir, "projects", ProjectFolder(v.Repo))
	for _, file := range f.Before {
		file.Path = string(v.FillText([]byte(file.Path)))
		file.Data = fillFile(file, v)
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(file.Path)), file); err != nil {
			return errors.Wrapf(err, "seed %s", file.Path)
		}
	}
	return nil
}

func fillFile(f File, v Values) []byte {
	if !strings.HasSuffix(f.Path, ".jsonl") {
		return v.FillText(f.Data)
	}
	var out []byte
	for _, line := range bytes.SplitAfter(f.Data, []byte("\n")) {
		out = append(out, v.Fill(line)...)
	}
	return out
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

// disk writes the CLI's own transcript in two parts, as far as a run gets:
// up to what the user said, and the rest when it ends.
type disk struct {
	dir    string
	values Values
	files  []File
	before []File
	asked  string // the recorded prompt
	prompt string // the prompt that replaces it
	begun  int    // bytes of the session's file written so far
}

// begin writes the session's file up to the user's message.
func (d *disk) begin() error {
	for i := range d.files {
		f := &d.files[i]
		f.Path = string(d.values.FillText([]byte(f.Path)))
		f.Data = d.fresh(*f)
		if f.Path != d.values.Session+".jsonl" {
			continue
		}
		at := bytes.Index(f.Data, []byte(`"type":"user"`))
		if at < 0 {
			continue
		}
		d.begun = at + bytes.IndexByte(f.Data[at:], '\n') + 1
		if err := d.append(f.Path, f.Data[:d.begun]); err != nil {
			return err
		}
	}
	return nil
}

// end writes the rest.
func (d *disk) end() error {
	for _, f := range d.files {
		data := f.Data
		if f.Path == d.values.Session+".jsonl" {
			data = data[d.begun:]
		}
		if err := d.append(f.Path, data); err != nil {
			return err
		}
	}
	return nil
}

// fresh returns what the run added to a file, with this run's prompt.
func (d *disk) fresh(f File) []byte {
	data := f.Data
	for _, b := range d.before {
		if string(d.values.FillText([]byte(b.Path))) == f.Path {
			data = bytes.TrimPrefix(data, b.Data)
		}
	}
	if asked := strings.TrimSpace(d.asked); asked != "" {
		data = bytes.ReplaceAll(data, []byte(jsonText(asked)), []byte(jsonText(strings.TrimSpace(d.prompt))))
	}
	return fillFile(File{Path: f.Path, Data: data}, d.values)
}

func (d *disk) append(path string, data []byte) error {
	full := filepath.Join(d.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(full, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.CombineErrors(err, f.Close())
}
