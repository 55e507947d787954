package fakeagents

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cockroachdb/errors"
)

// Environment variables that steer a fake. Their names do not begin with
// SLIDEWRITE_: the shim takes those from an agent's environment.
const (
	// EnvFixture names the fixture to play. Without it the prompt picks one:
	// the first (real, then made, by name) whose match fits, or whose own
	// prompt is in it.
	EnvFixture = "FAKEAGENT_FIXTURE"
	// EnvVersion is the CLI version to play, the fixture's when absent.
	EnvVersion = "FAKEAGENT_VERSION"
	// EnvKnobs is "knob=value,knob=value", see KnobNames; on top of the
	// fixture's own.
	EnvKnobs = "FAKEAGENT_KNOBS"
	// EnvKeepEnv, when not empty, expects an environment that was kept
	// (--keep-env): only the shim's own secrets must be gone.
	EnvKeepEnv = "FAKEAGENT_KEEPENV"
	// EnvNoMarker, when not empty, takes a run without SLIDEWRITE_RUN: for
	// tests of an adapter alone.
	EnvNoMarker = "FAKEAGENT_NOMARKER"
	// EnvLog is a file to which every start and every stdin line is appended
	// as JSON, see LogEntry.
	EnvLog = "FAKEAGENT_LOG"
)

// defaultVersions are played, by CLI, when neither fixture nor EnvVersion says
// one.
var defaultVersions = map[string]string{"claude": "2.1.332", "codex": "0.171.0", "grok": "1.0.6"}

// exitRefused is the exit code for a command line, an environment or an input
// that the fake does not accept. The reason is on stderr.
const exitRefused = 2

// Commands are the fakes by the name of the CLI, as testscript.Main and an
// argv0 dispatch take them. They play fixtures from c.
func Commands(c Corpus) map[string]func() {
	return map[string]func(){
		"claude": func() { os.Exit(Main(c, "claude", os.Args[1:])) },
		"codex":  func() { os.Exit(Main(c, "codex", os.Args[1:])) },
		"grok":   func() { os.Exit(Main(c, "grok", os.Args[1:])) },
	}
}

// Main plays the agent CLI of that name with the process's own environment,
// stdin and stdout, and returns its exit code.
func Main(c Corpus, name string, args []string) int {
	if kind, ok := grandchildKind(args); ok {
		return beGrandchild(kind, args[2])
	}
	p, err := newProcess(c, name, args)
	if err == nil {
		err = p.mark()
	}
	if err == nil {
		switch name {
		case "claude":
			return p.claude()
		case "codex":
			return p.codex()
		case "grok":
			return p.grok()
		default:
			err = errors.Newf("there is no fake of %s", name)
		}
	}
	refuse(os.Stderr, err)
	return exitRefused
}

// process is one start of a fake.
type process struct {
	corpus  Corpus
	name    string // of the CLI
	args    []string
	dir     string // working directory, symlinks resolved
	env     environment
	knobs   map[string]string // of EnvKnobs
	fixture *Fixture          // of EnvFixture, nil when the prompt picks
	version string
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	log     *logger
	now     time.Time
}

func newProcess(c Corpus, name string, args []string) (*process, error) {
	p := &process{corpus: c, name: name, args: args, env: os.Environ(), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, now: time.Now()}
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir) // as the CLIs see it
	}
	if err != nil {
		return nil, err
	}
	p.dir = dir
	if p.knobs, err = ParseKnobs(p.env.get(EnvKnobs)); err != nil {
		return nil, errors.Wrap(err, EnvKnobs)
	}
	if name := p.env.get(EnvFixture); name != "" {
		if p.fixture, err = c.Load(name); err != nil {
			return nil, errors.Wrap(err, EnvFixture)
		}
		if p.fixture.Agent() != p.name {
			p.fixture = nil // it is another fake's
		}
	}
	p.version = p.env.get(EnvVersion)
	if p.version == "" && p.fixture != nil {
		p.version = p.fixture.Version()
	}
	if p.version == "" {
		p.version = defaultVersions[name]
	}
	if p.log, err = openLog(p.env.get(EnvLog)); err != nil {
		return nil, err
	}
	return p, p.log.start(p)
}

// mark writes the file that the knob names.
func (p *process) mark() error {
	path := p.knob("spawn_marker")
	if path == "" {
		return nil
	}
	return os.WriteFile(path, fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600)
}

// knob returns a knob of the environment, else of the fixture that is played.
func (p *process) knob(name string) string {
	if v, ok := p.knobs[name]; ok {
		return v
	}
	if p.fixture != nil {
		return p.fixture.Knobs[name]
	}
	return ""
}

// environment is KEY=VALUE pairs; of a name that is there twice the last
// counts.
type environment []string

func (e environment) get(name string) string {
	value, _ := e.lookup(name)
	return value
}

func (e environment) lookup(name string) (value string, ok bool) {
	for _, kv := range e {
		if v, found := strings.CutPrefix(kv, name+"="); found {
			value, ok = v, true
		}
	}
	return value, ok
}

func (e environment) names() []string {
	var names []string
	for _, kv := range e {
		if name, _, ok := strings.Cut(kv, "="); ok && name != "" {
			names = append(names, name)
		}
	}
	return names
}
