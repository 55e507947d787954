package fakeagents

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors"
	"golang.org/x/tools/txtar"

	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// Provenances, the second part of a fixture's name.
const (
	Real     = "real"
	Captured = "captured"
	Made     = "made"
)

// Fixture is one recorded case.
type Fixture struct {
	Name    string // claude/real/2.1.332/edit
	Comment string
	Argv    []string
	Stdin   []Input
	Piped   []byte // stdin.txt: plain text that was piped in
	Stdout  []byte // stdout.jsonl, or stdout when Plain
	Plain   bool   // Stdout is not JSON lines
	Stderr  []byte
	Exit    int    // exit code, -1 with Signal
	Signal  string // "SIGKILL" …
	Match   *regexp.Regexp
	Knobs   map[string]string
	Repo    []File
	Effects []Effect
	Disk    []File // after the run
	Before  []File // disk before the run
}

// File is one file of a fixture, with a slash-separated relative path.
type File struct {
	Path    string
	Data    []byte // the target when Symlink
	Mode    fs.FileMode
	Symlink bool
}

// Input is one thing that was done to the CLI's stdin, or to the CLI itself.
type Input struct {
	After  int    // stdout lines read by then, -1 when unknown
	Line   []byte // one JSON line without its newline
	Close  bool   // stdin was closed; Line is nil
	Signal string // the process was sent it, "SIGINT"; Line is nil
}

// Effect is one change of a file. It happens when After stdout lines have
// been written and before the next one is: the real CLI had made it by the
// time the next line could be read.
type Effect struct {
	After int    `json:"after"`
	Path  string `json:"path,omitempty"` // relative to the working directory, "/" separators; may leave it with ".."

	// Exactly one of these says what becomes of it.
	Write   *string   `json:"write,omitempty"`
	Base64  *string   `json:"base64,omitempty"`
	Replace []Replace `json:"replace,omitempty"` // as an edit tool works: the rest of the file stays
	Symlink string    `json:"symlink,omitempty"`
	Delete  bool      `json:"delete,omitempty"`
	Mkdir   bool      `json:"mkdir,omitempty"`
	Run     []string  `json:"run,omitempty"` // a git command line, for what is no file: a commit, a branch switch; Path is ""

	Mode string `json:"mode,omitempty"` // octal; with Write and Base64 0644 when absent; alone a chmod
}

// Replace is one exact replacement. Old must occur exactly once.
type Replace struct {
	Old string `json:"old"`
	New string `json:"new"`
}

// Agent is the first part of the name: claude, codex or grok.
func (f *Fixture) Agent() string { return f.part(0) }

// Provenance is the second part of the name: real, captured or made.
func (f *Fixture) Provenance() string { return f.part(1) }

// Version is the third part of the name: the CLI's, such as 2.1.332.
func (f *Fixture) Version() string { return f.part(2) }

// Case is the last part of the name: what was done.
func (f *Fixture) Case() string { return f.part(3) }

func (f *Fixture) part(i int) string { return strings.SplitN(f.Name, "/", 4)[i] }

// IsRun is whether it is a run as a client sees one: a prompt went in, or the
// CLI was started for one and failed before it took any. Other cases are the
// answer to initialize and commands such as "auth status".
func (f *Fixture) IsRun() bool {
	if f.Agent() == "codex" {
		return !f.Plain && len(f.Argv) > 0 && f.Argv[0] == "exec"
	}
	return f.tookMessage() || slices.Contains(f.Argv, "--max-turns") && f.Exit != 0
}

// tookMessage is whether a prompt went in.
func (f *Fixture) tookMessage() bool {
	if f.Piped != nil {
		return true
	}
	for _, in := range f.Stdin {
		if in.kind() == "user" {
			return true
		}
	}
	return false
}

// Interrupted is whether the turn was interrupted: the fake waits for that at
// the same line.
func (f *Fixture) Interrupted() bool {
	for _, in := range f.Stdin {
		if in.kind() == "control_request/interrupt" || in.Signal != "" {
			return true
		}
	}
	return false
}

// Lines returns the stdout lines without their newlines. A last line without
// a newline is one of them.
func (f *Fixture) Lines() [][]byte {
	return splitLines(f.Stdout)
}

func splitLines(b []byte) [][]byte {
	if len(b) == 0 {
		return nil
	}
	return bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
}

// Prompt returns what was piped in, or the text of the last user message that
// went in, all text blocks joined by newlines; "" when there was none.
func (f *Fixture) Prompt() string {
	prompt := string(f.Piped)
	for _, in := range f.Stdin {
		if in.kind() == "user" {
			m, err := parseMessage(in.Line)
			if err == nil {
				prompt = m.text()
			}
		}
	}
	return prompt
}

// kind is "user", "control_request/initialize", "close", "signal SIGINT" …
func (in Input) kind() string {
	if in.Close {
		return "close"
	}
	if in.Signal != "" {
		return "signal " + in.Signal
	}
	m, err := parseMessage(in.Line)
	if err != nil {
		return "invalid"
	}
	return m.kind()
}

var caseName = lazyregexp.New(`^[a-z]+/(real|captured|made)/[0-9]+\.[0-9]+\.[0-9]+/[a-z0-9][a-z0-9_-]*$`)

// Parse reads one fixture. Sections it does not know are an error: a typo
// must not turn a check off.
func Parse(name string, data []byte) (*Fixture, error) {
	if !caseName.MatchString(name) {
		return nil, errors.Newf("fixture %q: the name must be <agent>/<real|captured|made>/<version>/<case>", name)
	}
	ar := txtar.Parse(data)
	f := &Fixture{Name: name, Comment: strings.TrimSpace(string(ar.Comment))}
	if f.Comment == "" {
		return nil, errors.Newf("fixture %s: no comment that says what happens", name)
	}
	seen := map[string]bool{}
	for _, sec := range ar.Files {
		file, err := parseSection(sec)
		if err == nil && seen[file.Path] {
			err = errors.New("it is there twice")
		}
		if err == nil {
			seen[file.Path] = true
			err = f.section(file)
		}
		if err != nil {
			return nil, errors.Wrapf(err, "fixture %s: section %q", name, sec.Name)
		}
	}
	if !seen["exit"] || !seen["stdout.jsonl"] && !seen["stdout"] {
		return nil, errors.Newf("fixture %s: stdout.jsonl (or stdout) and exit must be there", name)
	}
	return f, nil
}

// section takes one decoded section into f.
func (f *Fixture) section(s File) (err error) {
	text := strings.TrimSpace(string(s.Data))
	if folder, rest, ok := strings.Cut(s.Path, "/"); ok {
		s.Path = rest
		switch folder {
		case "repo":
			f.Repo = append(f.Repo, s)
		case "disk":
			s.Data, err = expandRepeats(s.Data)
			f.Disk = append(f.Disk, s)
		case "before":
			s.Data, err = expandRepeats(s.Data)
			f.Before = append(f.Before, s)
		default:
			err = errors.New("unknown section")
		}
		return err
	}
	switch s.Path {
	case "argv":
		return json.Unmarshal(s.Data, &f.Argv)
	case "stdin":
		f.Stdin, err = parseStdin(s.Data)
	case "stdin.txt":
		f.Piped = s.Data
	case "stdout.jsonl":
		f.Stdout, err = expandRepeats(s.Data)
	case "stdout":
		f.Plain = true
		f.Stdout, err = expandRepeats(s.Data)
	case "stderr":
		f.Stderr = s.Data
	case "exit":
		f.Exit, f.Signal, err = parseExit(text)
	case "match":
		f.Match, err = regexp.Compile(text)
	case "knobs":
		f.Knobs, err = ParseKnobs(text)
	case "effects":
		f.Effects, err = parseEffects(s.Data)
	default:
		return errors.New("unknown section")
	}
	return err
}

func parseExit(s string) (code int, signal string, err error) {
	if sig, ok := strings.CutPrefix(s, "signal "); ok {
		return -1, sig, nil
	}
	code, err = strconv.Atoi(s)
	return code, "", err
}

func parseStdin(b []byte) ([]Input, error) {
	var ins []Input
	for _, line := range splitLines(b) {
		n, rest, ok := bytes.Cut(line, []byte(" "))
		in := Input{After: -1, Line: rest}
		var err error
		if string(n) != "-" {
			in.After, err = strconv.Atoi(string(n))
		}
		if !ok || err != nil {
			return nil, errors.Newf("line %.60q must be a number, a space and a JSON line, \"close\" or \"signal\" and its name", line)
		}
		if string(rest) == "close" {
			in.Line, in.Close = nil, true
		}
		if name, ok := bytes.CutPrefix(rest, []byte("signal ")); ok {
			in.Line, in.Signal = nil, string(name)
		}
		ins = append(ins, in)
	}
	return ins, nil
}

func parseEffects(b []byte) ([]Effect, error) {
	var effects []Effect
	for _, line := range splitLines(b) {
		var e Effect
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			return nil, errors.Wrapf(err, "line %.60q", line)
		}
		if err := e.check(); err != nil {
			return nil, err
		}
		effects = append(effects, e)
	}
	if !sort.SliceIsSorted(effects, func(i, j int) bool { return effects[i].After < effects[j].After }) {
		return nil, errors.New("the effects are not in the order of their lines")
	}
	return effects, nil
}

func (e Effect) check() error {
	n := 0
	for _, set := range []bool{e.Write != nil, e.Base64 != nil, e.Replace != nil, e.Symlink != "", e.Delete, e.Mkdir, e.Run != nil} {
		if set {
			n++
		}
	}
	if n == 0 && e.Mode != "" {
		n = 1
	}
	if n != 1 || (e.Path == "") != (e.Run != nil) {
		return errors.Newf("effect on %q after line %d must say exactly one of write, base64, replace, symlink, delete, mkdir, run, or a mode alone", e.Path, e.After)
	}
	return nil
}

// parseSection undoes the options in a section's name.
func parseSection(sec txtar.File) (File, error) {
	parts := strings.Split(sec.Name, ";")
	path, err := unescape(parts[0])
	if err != nil {
		return File{}, err
	}
	f := File{Path: path, Data: sec.Data, Mode: 0o644}
	nonl := false
	for _, opt := range parts[1:] {
		key, value, _ := strings.Cut(opt, "=")
		switch key {
		case "base64":
			f.Data, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(f.Data)), ""))
		case "nonl":
			nonl = true
		case "mode":
			var mode uint64
			mode, err = strconv.ParseUint(value, 8, 32)
			f.Mode = fs.FileMode(mode)
		case "symlink":
			f.Symlink = true
			nonl = true
		default:
			err = errors.Newf("unknown option %q", opt)
		}
		if err != nil {
			return File{}, err
		}
	}
	if nonl {
		f.Data = bytes.TrimSuffix(f.Data, []byte("\n"))
	}
	return f, nil
}

// ParseFiles reads a txtar whose sections are files, with the options of
// section names: a sample repository.
func ParseFiles(data []byte) ([]File, error) {
	var files []File
	for _, sec := range txtar.Parse(data).Files {
		f, err := parseSection(sec)
		if err != nil {
			return nil, errors.Wrapf(err, "section %q", sec.Name)
		}
		files = append(files, f)
	}
	return files, nil
}

func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+3 > len(s) {
			return "", errors.Newf("%q ends within an escape", s)
		}
		n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			return "", errors.Newf("%q is not an escape", s[i:i+3])
		}
		b.WriteByte(byte(n))
		i += 2
	}
	return b.String(), nil
}

func escape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		edge := c == ' ' && (i == 0 || i == len(s)-1)
		if c < 0x20 || c == 0x7f || c == '%' || c == ';' || edge {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// Format writes f as Parse reads it: Parse(f.Name, f.Format()) gives f again.
func (f *Fixture) Format() []byte {
	ar := &txtar.Archive{Comment: []byte(f.Comment + "\n")}
	add := func(path string, data []byte) {
		ar.Files = append(ar.Files, formatSection(File{Path: path, Data: data, Mode: 0o644}))
	}
	if f.Argv != nil {
		add("argv", encode(f.Argv, " "))
	}
	if f.Stdin != nil {
		add("stdin", formatStdin(f.Stdin))
	}
	if f.Piped != nil {
		add("stdin.txt", f.Piped)
	}
	if f.Match != nil {
		add("match", []byte(f.Match.String()+"\n"))
	}
	if len(f.Knobs) > 0 {
		add("knobs", formatKnobs(f.Knobs))
	}
	if f.Plain {
		add("stdout", collapseRepeats(f.Stdout))
	} else {
		add("stdout.jsonl", collapseRepeats(f.Stdout))
	}
	if len(f.Stderr) > 0 {
		add("stderr", f.Stderr)
	}
	exit := strconv.Itoa(f.Exit)
	if f.Signal != "" {
		exit = "signal " + f.Signal
	}
	add("exit", []byte(exit+"\n"))
	if len(f.Effects) > 0 {
		var b []byte
		for _, e := range f.Effects {
			b = append(b, encode(e, "")...)
		}
		add("effects", b)
	}
	for _, folder := range []struct {
		name  string
		files []File
	}{{"repo", f.Repo}, {"before", f.Before}, {"disk", f.Disk}} {
		for _, file := range folder.files {
			file.Path = folder.name + "/" + file.Path
			if folder.name != "repo" {
				file.Data = collapseRepeats(file.Data)
			}
			ar.Files = append(ar.Files, formatSection(file))
		}
	}
	return txtar.Format(ar)
}

// encode is JSON without HTML escapes, with a newline at its end.
func encode(v any, indent string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		panic(err) // strings, numbers and booleans always encode
	}
	return b.Bytes()
}

func formatStdin(ins []Input) []byte {
	var b bytes.Buffer
	for _, in := range ins {
		after := "-"
		if in.After >= 0 {
			after = strconv.Itoa(in.After)
		}
		line := in.Line
		if in.Line == nil {
			line = []byte(in.kind())
		}
		fmt.Fprintf(&b, "%s %s\n", after, line)
	}
	return b.Bytes()
}

func formatSection(f File) txtar.File {
	name := escape(f.Path)
	if f.Mode != 0o644 && f.Mode != 0 && !f.Symlink {
		name += fmt.Sprintf(";mode=%04o", f.Mode.Perm())
	}
	if f.Symlink {
		name += ";symlink"
	}
	data := f.Data
	switch {
	case needsBase64(data):
		name += ";base64"
		data = wrap(base64.StdEncoding.EncodeToString(data))
	case len(data) > 0 && data[len(data)-1] != '\n':
		if !f.Symlink {
			name += ";nonl"
		}
		data = append(bytes.Clone(data), '\n')
	}
	return txtar.File{Name: name, Data: data}
}

var marker = lazyregexp.New(`(?m)^-- .+ --\r?$`)

// needsBase64 is whether txtar would change or misread the bytes.
func needsBase64(b []byte) bool {
	return bytes.IndexByte(b, 0) >= 0 || bytes.Contains(b, []byte("\r")) || marker.Match(b) || !isUTF8(b)
}

func wrap(s string) []byte {
	var b bytes.Buffer
	for len(s) > 76 {
		b.WriteString(s[:76] + "\n")
		s = s[76:]
	}
	b.WriteString(s + "\n")
	return b.Bytes()
}
