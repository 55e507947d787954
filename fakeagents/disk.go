package fakeagents

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/errors"
)

// SeedDisk writes the fixture's transcripts of before the run (a session to
// resume) where the fake and the history readers look for them, below the
// CLI's own folder: ~/.claude, ~/.codex, ~/.grok. The values name the working directory
// and the session.
func (f *Fixture) SeedDisk(configDir string, v Values) error {
	dir := filepath.Join(configDir, "projects", ProjectFolder(v.Repo))
	switch f.Agent() {
	case "codex":
		dir = filepath.Join(configDir, codexSessions)
	case "grok":
		dir = grokSessionDir(configDir, v.Repo, v.Session)
	}
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

// disk writes the CLI's own transcript in two parts, as far as a run gets:
// up to what the user said, and the rest when it ends.
type disk struct {
	dir    string
	own    string                   // path of the session's own file, as in the fixture
	user   string                   // what the record of the user's message holds
	where  func(path string) string // the path below dir of a filled in one; nil = the same
	values Values
	files  []File
	before []File
	asked  string // the recorded prompt
	prompt string // the prompt that replaces it
	begun  int    // bytes of the session's file written so far
}

// begin writes the session's file up to the user's message.
func (d *disk) begin() error {
	d.own = string(d.values.FillText([]byte(d.own)))
	for i := range d.files {
		f := &d.files[i]
		f.Path = string(d.values.FillText([]byte(f.Path)))
		f.Data = d.fresh(*f)
		if f.Path != d.own {
			continue
		}
		at := bytes.Index(f.Data, []byte(d.user))
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
		if f.Path == d.own {
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
	if d.where != nil {
		path = d.where(path)
	}
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
