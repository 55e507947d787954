package drift

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// Side is one of the two things that are compared.
type Side struct {
	Name      string // as it was asked for
	Agent     string // claude, codex or grok
	Version   string // of the CLI, "" when nothing tells
	scenarios []*scenario
}

// scenario is one recorded run.
type scenario struct {
	key     string // what the other side has it under: real/edit
	fixture *fakeagents.Fixture
	resumed bool // the run went on with an earlier session
	streams []*stream
	size    int // of stdout, in bytes
}

// stream is what a run printed, or one file it left.
type stream struct {
	where string // stdout, or the file's name with what differs from run to run as *
	lines []line
	tools map[string]string // tool calls by their ids
	file  bool
	whole bool // not JSON lines, but one document
}

type line struct {
	raw   []byte // with its placeholders filled in
	tree  *node  // nil when raw is no JSON object
	label string
}

// stdout is where a run's own output stands.
const stdout = "stdout"

// Wrong is a side that cannot be compared: the command line is to be changed.
type Wrong struct{ error }

func (w Wrong) Unwrap() error { return w.error }

func wrong(fix, format string, args ...any) error {
	return Wrong{errors.WithHint(errors.Newf(format, args...), fix)}
}

// How a version, a folder of captures and a fixture are named.
var (
	versionSpec   = lazyregexp.New(`^(claude|codex|grok)@([0-9]+\.[0-9]+\.[0-9]+)$`)
	captureFolder = lazyregexp.New(`^(claude|codex|grok)-([0-9]+\.[0-9]+\.[0-9]+)$`)
	anyVersion    = lazyregexp.New(`^[0-9]+\.[0-9]+\.[0-9]+$`)
)

// Open reads one side. name is a version such as claude@2.1.332, whose fixtures
// are below the folder fixtures; or a folder of fixtures, or one fixture; or a
// folder of raw captures (<agent>-<version>/<scenario>/stdout.jsonl), or one.
func Open(name, fixtures string) (*Side, error) {
	s := &Side{Name: name}
	if m := versionSpec.FindStringSubmatch(name); m != nil {
		s.Agent, s.Version = m[1], m[2]
		return s, s.version(fixtures)
	}
	if strings.Contains(name, "@") && !exists(name) {
		return nil, wrong("name it like claude@2.1.332, or pass a folder", "%q is not a version of claude, codex or grok", name)
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	if !exists(abs) {
		return nil, wrong("pass a folder of fixtures or captures, or a version such as claude@2.1.332", "%s is not there", name)
	}
	found, captures, err := find(abs)
	if err != nil {
		return nil, err
	}
	switch {
	case len(found) == 0 && len(captures) == 0:
		return nil, wrong("a fixture ends in .txtar, a capture is a folder with stdout.jsonl", "%s holds no fixture and no capture", name)
	case len(found) > 0 && len(captures) > 0:
		return nil, wrong("pass one of its folders", "%s holds fixtures and raw captures", name)
	}
	for _, p := range found {
		if err := s.addFixture(p); err != nil {
			return nil, err
		}
	}
	for _, dir := range captures {
		if err := s.addCapture(dir); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// version reads all fixtures of one version but those made by hand, which tell
// nothing about the CLI; of an agent that was never run there are no others.
func (s *Side) version(fixtures string) error {
	root := filepath.Join(fixtures, s.Agent)
	if !exists(root) {
		return noFixtures(s.Agent, fixtures)
	}
	for _, provenances := range [][]string{{fakeagents.Real, fakeagents.Captured}, {fakeagents.Made}} {
		for _, p := range provenances {
			names, err := filepath.Glob(filepath.Join(root, p, s.Version, "*.txtar"))
			if err != nil {
				return err
			}
			for _, name := range names {
				if err := s.addFixture(name); err != nil {
					return err
				}
			}
		}
		if len(s.scenarios) > 0 {
			return nil
		}
	}
	recorded, err := VersionsIn(fixtures, s.Agent)
	if err != nil {
		return err
	}
	return wrong("recorded versions: "+strings.Join(recorded, ", "), "no fixture of %s %s", s.Agent, s.Version)
}

func noFixtures(agent, fixtures string) error {
	return wrong("run it in the source tree of slidewrite, or pass --fixtures", "there are no fixtures of %s in %s", agent, fixtures)
}

// VersionsIn lists the versions of an agent that there are fixtures of, oldest
// first.
func VersionsIn(fixtures, agent string) ([]string, error) {
	dirs, err := filepath.Glob(filepath.Join(fixtures, agent, "*", "*"))
	if err != nil {
		return nil, err
	}
	var versions []string
	for _, dir := range dirs {
		if v := filepath.Base(dir); anyVersion.MatchString(v) && !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
	}
	sort.Slice(versions, func(i, j int) bool { return older(versions[i], versions[j]) })
	return versions, nil
}

// older compares versions by their numbers.
func older(a, b string) bool {
	numbers := func(v string) (n []int) {
		for _, part := range strings.Split(v, ".") {
			i, _ := strconv.Atoi(part) // anyVersion
			n = append(n, i)
		}
		return n
	}
	return slices.Compare(numbers(a), numbers(b)) < 0
}

// find lists the fixtures and the captures in a folder. What is on disk in a
// capture is not searched.
func find(root string) (fixtures, captures []string, err error) {
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && exists(filepath.Join(p, "stdout.jsonl")):
			captures = append(captures, p)
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(p, ".txtar"):
			fixtures = append(fixtures, p)
		}
		return nil
	})
	return fixtures, captures, err
}

// addFixture reads one fixture; its folders name agent, provenance and version.
func (s *Side) addFixture(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	parts := strings.Split(filepath.ToSlash(strings.TrimSuffix(file, ".txtar")), "/")
	name := path.Join(parts[max(0, len(parts)-4):]...)
	f, err := fakeagents.Parse(name, data)
	if err != nil {
		return Wrong{errors.WithHint(errors.Wrapf(err, "read %s", file), "docs/fixtures.md says how fixtures are laid out")}
	}
	return s.add(f)
}

// addCapture reads one raw capture: its folder is the scenario's name, the
// folder around it names agent and version.
func (s *Side) addCapture(dir string) error {
	parent := filepath.Base(filepath.Dir(dir))
	m := captureFolder.FindStringSubmatch(parent)
	if m == nil {
		return wrong("call the folder around the scenarios like claude-2.1.332", "%s: nothing tells whose capture it is", dir)
	}
	f := &fakeagents.Fixture{Name: path.Join(m[1], fakeagents.Captured, m[2], filepath.Base(dir))}
	var err error
	read := func(name string) []byte {
		b, readErr := os.ReadFile(filepath.Join(dir, name))
		if readErr != nil && !errors.Is(readErr, fs.ErrNotExist) {
			err = readErr
		}
		return b
	}
	f.Stdout, f.Stderr = read("stdout.jsonl"), read("stderr")
	f.Exit, _ = strconv.Atoi(string(bytes.TrimSpace(read("exit")))) // no file: it went well
	var call struct {
		Argv []string `json:"argv"`
	}
	if b := read("argv"); json.Unmarshal(b, &call) == nil {
		f.Argv = call.Argv
	}
	if err != nil {
		return err
	}
	root := filepath.Join(dir, "disk")
	if !exists(root) {
		return s.add(f)
	}
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		rel = filepath.ToSlash(rel)
		if _, below, ok := strings.Cut(rel, "/"); ok && m[1] == "claude" {
			rel = below // without the project's folder, as in fixtures
		}
		f.Disk = append(f.Disk, fakeagents.File{Path: rel, Data: data})
		return err
	})
	if err != nil {
		return err
	}
	return s.add(f)
}

// add takes a run into the side. All are of one version of one CLI.
func (s *Side) add(f *fakeagents.Fixture) error {
	if s.Agent == "" {
		s.Agent, s.Version = f.Agent(), f.Version()
	}
	if s.Agent != f.Agent() || s.Version != f.Version() {
		return wrong("pass one version: a side is compared as a whole", "%s holds %s %s and %s %s", s.Name, s.Agent, s.Version, f.Agent(), f.Version())
	}
	c := &scenario{key: path.Join(f.Provenance(), f.Case()), fixture: f, resumed: resumes(f), size: len(f.Stdout)}
	if !f.Plain {
		c.streams = append(c.streams, newStream(stdout, f.Stdout, false))
	}
	for _, file := range f.Disk {
		if where := fileKind(file.Path); path.Ext(where) == ".jsonl" || path.Ext(where) == ".json" {
			st := newStream(where, file.Data, path.Ext(where) == ".json")
			st.file = true
			c.streams = append(c.streams, st)
		}
	}
	s.scenarios = append(s.scenarios, c)
	return nil
}

// resumes tells whether a command line goes on with an earlier session.
func resumes(f *fakeagents.Fixture) bool {
	return slices.ContainsFunc(f.Argv, func(arg string) bool { return slices.Contains(resumeFlags, arg) })
}

// resumeFlags are the three agents' words for it.
var resumeFlags = []string{"--resume", "--continue", "-r", "resume"}

func newStream(where string, data []byte, whole bool) *stream {
	st := &stream{where: where, whole: whole, tools: map[string]string{}}
	if len(bytes.TrimSpace(data)) == 0 {
		return st
	}
	lines := [][]byte{data}
	if !whole {
		lines = bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	}
	for _, raw := range lines {
		raw = values().Fill(raw)
		tree := parse(raw)
		st.lines = append(st.lines, line{raw, tree, label(tree)})
	}
	return st
}

// volatile are the parts of a file's name that differ from run to run.
var volatile = lazyregexp.New(`\{\{[A-Z_]+(:[0-9]+)?\}\}|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{6,}|[0-9]+`)

// stars are several of them in a row.
var stars = lazyregexp.New(`\*([-/_]\*)+`)

// fileKind is a file's name with those parts as *.
func fileKind(name string) string {
	return string(stars.ReplaceAll(volatile.ReplaceAll([]byte(name), []byte("*")), []byte("*")))
}

func (s *Side) String() string {
	return fmt.Sprintf("%s %s", s.Agent, s.Version)
}
