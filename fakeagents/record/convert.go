package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// maxCapture bounds one converted fixture, in bytes.
const maxCapture = 400 << 10

// capture is the file "argv" of a capture folder.
type capture struct {
	Argv  []string          `json:"argv"` // the program's name first
	Env   map[string]string `json:"env"`
	Stdin string            `json:"stdin"`
}

// labPath is where the captures were made; they have it only where a delta
// split it.
var labPath = lazyregexp.New(`/tmp/lab/run/[^/\s"]+/[^/\s"]+/[A-Za-z0-9_-]+`)

// labFolder is how the CLI names a project's folder after such a path.
var labFolder = lazyregexp.New(`-tmp-lab-run-[A-Za-z0-9-]+`)

// labPathCut is such a path that the transcript ends within.
var labPathCut = lazyregexp.New(`/tmp/lab[^\s"]*$|/tmp/$`)

// labWarning is what codex says of a CODEX_HOME under the temporary folder, as
// the captures' was. No user sees it.
var labWarning = lazyregexp.New(`(?m)^WARNING: proceeding, even though we could not create PATH aliases: .*\n?`)

// Convert turns one capture folder (argv, stdin.json, stdout.jsonl, stderr,
// exit) of the given CLI version into a fixture for captured/. Its files are
// left out: what a capture changed is not known line by line. The case name is
// the folder's.
func Convert(dir, agent, version string) (*fakeagents.Fixture, error) {
	base := strings.ReplaceAll(strings.ToLower(filepath.Base(dir)), ".", "-")
	name := fmt.Sprintf("%s/captured/%s/%s", agent, version, base)
	f := &fakeagents.Fixture{Name: name}
	c, err := readCapture(dir)
	if err != nil {
		return nil, errors.Wrapf(err, "capture %s", dir)
	}
	stdout, err := optional(filepath.Join(dir, "stdout.jsonl"))
	if err != nil {
		return nil, err
	}
	for _, re := range []*lazyregexp.Regexp{labPath, labPathCut} {
		if stdout, err = JoinSplit(stdout, re, "{{REPO}}"); err != nil {
			return nil, err
		}
	}
	s := NewScrubber(map[string]string{"loopback-dummy": "{{KEY}}"}, firstSession(stdout))
	stdout = labFolder.ReplaceAll(stdout, []byte("{{REPO_ENC}}"))
	f.Stdout = s.Scrub(Elide(stdout))
	stderr, err := optional(filepath.Join(dir, "stderr"))
	if err != nil {
		return nil, err
	}
	f.Stderr = s.Scrub(labWarning.ReplaceAll(stderr, nil))
	for _, arg := range c.Argv[1:] {
		f.Argv = append(f.Argv, string(s.Scrub([]byte(arg))))
	}
	f.Piped = s.Scrub([]byte(c.Stdin))
	if f.Stdin, err = readStdin(dir, s); err != nil {
		return nil, err
	}
	if f.Exit, f.Signal, err = readExit(dir); err != nil {
		return nil, err
	}
	f.Comment = comment(f, c)
	out := f.Format()
	if len(out) > maxCapture {
		return nil, errors.Newf("capture %s: %d bytes, more than %d", dir, len(out), maxCapture)
	}
	return f, errors.Wrapf(Leaks(out), "capture %s", dir)
}

func comment(f *fakeagents.Fixture, c capture) string {
	extra := ""
	for _, key := range []string{"CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"} {
		if v, ok := c.Env[key]; ok {
			extra += fmt.Sprintf(" %s=%s", key, v)
		}
	}
	return fmt.Sprintf("Capture %q of the real %s %s against a scripted model, 2026-11-30, converted.%s\n"+
		"The command line is not the shim's and the effects on files are unknown.\n"+
		"Guards: the mapper on lines of this shape.", f.Case(), f.Agent(), f.Version(), extra)
}

func readCapture(dir string) (capture, error) {
	var c capture
	b, err := os.ReadFile(filepath.Join(dir, "argv"))
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, err
	}
	if len(c.Argv) == 0 {
		return c, errors.New("no command line")
	}
	return c, nil
}

// readStdin reads stdin.json: [[milliseconds, message], …]. How many stdout
// lines had been read at each is unknown.
func readStdin(dir string, s *Scrubber) ([]fakeagents.Input, error) {
	b, err := optional(filepath.Join(dir, "stdin.json"))
	if err != nil || b == nil {
		return nil, err
	}
	var writes [][2]json.RawMessage
	if err := json.Unmarshal(b, &writes); err != nil {
		return nil, errors.Wrap(err, "stdin.json")
	}
	var ins []fakeagents.Input
	for _, w := range writes {
		var line bytes.Buffer
		if err := json.Compact(&line, w[1]); err != nil {
			return nil, err
		}
		ins = append(ins, fakeagents.Input{After: -1, Line: s.Scrub(line.Bytes())})
	}
	return ins, nil
}

// readExit reads the exit file: a code, negative for a signal.
func readExit(dir string) (code int, signal string, err error) {
	b, err := os.ReadFile(filepath.Join(dir, "exit"))
	if err != nil {
		return 0, "", err
	}
	code, err = strconv.Atoi(strings.TrimSpace(string(b)))
	if code >= 0 {
		return code, "", err
	}
	if signal = signals[-code]; signal == "" {
		return 0, "", errors.Newf("signal %d has no name here", -code)
	}
	return -1, signal, err
}

// signals are those that ended a CLI in a capture.
var signals = map[int]string{1: "SIGHUP", 9: "SIGKILL", 15: "SIGTERM"}

// sessionRE finds a session's id, thread_id of codex.
var sessionRE = lazyregexp.New(`"(?:session|thread)_id":"([0-9a-f-]{36})"`)

// firstSession is the first session id in a transcript, "" when there is none.
func firstSession(stdout []byte) string {
	if m := sessionRE.FindSubmatch(stdout); m != nil {
		return string(m[1])
	}
	return ""
}

// optional reads a file that need not be there.
func optional(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// Write writes f below root (the fixtures folder) in one step: the old file
// stays as it is when anything fails.
func Write(root string, f *fakeagents.Fixture) error {
	out := f.Format()
	if err := Leaks(out); err != nil {
		return errors.Wrapf(err, "fixture %s", f.Name)
	}
	again, err := fakeagents.Parse(f.Name, out)
	if err != nil {
		return err
	}
	if !bytes.Equal(again.Format(), out) {
		return errors.Newf("fixture %s does not read back as it was written", f.Name)
	}
	path := filepath.Join(root, filepath.FromSlash(f.Name)+".txtar")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(out)
	if err := errors.CombineErrors(err, tmp.Close()); err != nil {
		return err
	}
	if err := os.Chmod(tmp.Name(), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
