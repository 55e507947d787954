// Package claude drives Anthropic's claude CLI: its command line, the
// stream-json conversation on its stdin, the mapping of its stdout to events,
// its model list and its sign-in state.
//
//	claude.go    identity
//	args.go      Spec → command line (data, nothing is started)
//	session.go   where a session was recorded
//	converse.go  stdin: initialize, one user message, interrupt, when to close
//	wire.go      the JSON shapes that are read, with their sources
//	fast.go      the short way for plain text_delta lines
//	map.go       stdout line → events; text, usage, retries, start, result
//	usage.go     tokens and cost of the run
//	tools.go     tool calls and their results
//	errors.go    failures → code and fix
//	models.go    models, sign-in and billing, asked of the CLI itself
//	group_*.go   how a hanging one of those is killed
//
// Everything but models.go, session.go and the look for hooks is pure: no I/O, no clock. It leaves processes to
// agent/process and the story of a run to run.
//
// Behaviour was measured on claude 2.1.332 and 2.1.197; "332" and "197" in
// comments mean those. Fixtures are in fakeagents/fixtures/claude.
package claude

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// Claude is the claude CLI. It holds no state; the zero value works.
type Claude struct{}

// New returns the claude adapter.
func New() Claude { return Claude{} }

var (
	_ agent.Agent         = Claude{}
	_ agent.Discoverer    = Claude{}
	_ agent.SessionFinder = Claude{}
	_ agent.Eager         = Claude{}
	_ agent.Documented    = Claude{}
)

// Provider is what a request names.
func (Claude) Provider() string { return "anthropic" }

// Label is the provider's name for people.
func (Claude) Label() string { return "Anthropic" }

// Name is the name of the binary.
func (Claude) Name() string { return "claude" }

// Scrub takes away what claude must not see.
func (c Claude) Scrub(environ []string, keepEnv bool) (env, scrubbed []string) {
	return agent.Scrub(c.Name(), environ, keepEnv)
}

// ActsBeforePrompt tells whether the project has SessionStart hooks: claude
// runs those at its start.
func (Claude) ActsBeforePrompt(s agent.Spec) bool {
	if !s.ProjectSettings {
		return false
	}
	b, err := os.ReadFile(filepath.Join(s.Repo, ".claude", "settings.json"))
	return err == nil && strings.Contains(string(b), "SessionStart")
}

// ProjectDoc is what --setting-sources "" leaves out along with the settings.
func (Claude) ProjectDoc() string { return "CLAUDE.md" }

// signsIn are the variables that agent.Scrub takes away and that could have
// signed claude in.
var signsIn = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"}
