package shimtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/fakeagents/fixtures"
)

// envVariants names the folder with the fixtures that a test made for itself.
const envVariants = "SHIMTEST_VARIANTS"

func (s *Stage) variants() string { return filepath.Join(s.Root, "fixtures") }

func (s *Stage) agentLog() string { return filepath.Join(s.Root, "agent.log") }

// Variant makes a fixture of this stage's own from one of the corpus and
// returns its name for Play.
func (s *Stage) Variant(name string, change func(*fakeagents.Fixture)) string {
	s.T.Helper()
	f, err := fixtures.Load(name)
	if err != nil {
		s.T.Fatal(err)
	}
	change(f)
	slices.SortStableFunc(f.Effects, func(a, b fakeagents.Effect) int { return a.After - b.After })
	own := fmt.Sprintf("%s/made/%s/variant-of-%s", f.Agent(), f.Version(), f.Case())
	path := filepath.Join(s.variants(), filepath.FromSlash(own)+".txtar")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.T.Fatal(err)
	}
	if err := os.WriteFile(path, f.Format(), 0o600); err != nil {
		s.T.Fatal(err)
	}
	return own
}

// Gate is a place where a process of the test waits until it is let through.
type Gate struct {
	s           *Stage
	there, open string
}

// Gate makes a gate.
func (s *Stage) Gate(name string) *Gate {
	return &Gate{s: s, there: filepath.Join(s.Root, name+".there"), open: filepath.Join(s.Root, name+".open")}
}

// Script is the shell command that waits at the gate, for half a minute at
// most.
func (g *Gate) Script() string {
	return fmt.Sprintf(": >'%s'; n=0; until [ -e '%s' ] || [ $n = 600 ]; do sleep 0.05; n=$((n+1)); done", filepath.ToSlash(g.there), filepath.ToSlash(g.open))
}

// After is an effect that holds the fake agent when it has written n lines.
func (g *Gate) After(n int) fakeagents.Effect {
	return fakeagents.Effect{After: n, Run: []string{"sh", "-c", g.Script()}}
}

// Reached waits until a process stands at the gate.
func (g *Gate) Reached() {
	g.s.T.Helper()
	Await(g.s.T, "somebody at "+filepath.Base(g.there), g.Waiting)
}

// Waiting is whether a process has come to the gate.
func (g *Gate) Waiting() bool {
	_, err := os.Stat(g.there)
	return err == nil
}

// Open lets everybody through.
func (g *Gate) Open() {
	g.s.T.Helper()
	if err := os.WriteFile(g.open, nil, 0o600); err != nil {
		g.s.T.Fatal(err)
	}
}

// Close makes the gate as new.
func (g *Gate) Close() {
	g.s.T.Helper()
	for _, path := range []string{g.there, g.open} {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			g.s.T.Fatal(err)
		}
	}
}

// Agents is what the fake agents of this stage wrote down: each start, and
// each line that came in.
func (s *Stage) Agents() []fakeagents.LogEntry {
	s.T.Helper()
	data, err := os.ReadFile(s.agentLog())
	if err != nil && !os.IsNotExist(err) {
		s.T.Fatal(err)
	}
	var entries []fakeagents.LogEntry
	for line := range bytes.Lines(data[:bytes.LastIndexByte(data, '\n')+1]) { // the last one may be half written
		var e fakeagents.LogEntry
		if err := json.Unmarshal(line, &e); err != nil {
			s.T.Fatal(err)
		}
		entries = append(entries, e)
	}
	return entries
}

// Turns are the starts of agents that were to take a prompt.
func (s *Stage) Turns() []fakeagents.LogEntry {
	s.T.Helper()
	var turns []fakeagents.LogEntry
	for _, e := range s.Agents() {
		claude := slices.Contains(e.Argv, "-p") && slices.Contains(e.Argv, "--max-turns")
		codex := slices.Contains(e.Argv, "exec")
		grok := slices.Contains(e.Argv, "--prompt-file")
		if claude || codex || grok {
			turns = append(turns, e)
		}
	}
	return turns
}

// Prompts are the user messages that agents received, as they came in: a JSON
// line (claude), plain text (codex), a prompt file with the system prompt on
// top (grok).
func (s *Stage) Prompts() []string {
	s.T.Helper()
	var lines []string
	for _, e := range s.Agents() {
		switch {
		case e.File != "":
			lines = append(lines, e.File)
		case strings.HasPrefix(e.Stdin, "\n") || strings.Contains(e.Stdin, `"type":"user"`):
			lines = append(lines, e.Stdin)
		}
	}
	return lines
}
