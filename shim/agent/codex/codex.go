// Package codex drives OpenAI's codex CLI: its command line, the prompt on its
// stdin, the mapping of its stdout to events, its model list and its sign-in
// state.
//
//	codex.go     identity
//	args.go      Spec → command line (data, nothing is started); what is refused
//	converse.go  stdin: one prompt, then end of file
//	wire.go      the JSON shapes that are read, with their sources
//	map.go       stdout line → events; start, text, retries, end of the turn
//	legacy.go    the shapes of older versions, put into those of today
//	tools.go     items that are tool calls, and their results
//	usage.go     tokens of the run
//	errors.go    failures → code, message and fix
//	models.go    models, sign-in and billing, asked of the CLI itself
//	session.go   where a session was recorded, its model and its usage
//	history.go   the rollouts there are; which folder is the repository
//	history_bytes.go   finds members of a record without decoding it
//	history_scan.go    rollout → a row of the list
//	history_replay.go  rollout → events, by the mapper of live runs
//
// Everything but models.go, session.go and history.go is pure: no I/O, no clock. It leaves
// processes to agent/process and the story of a run to run.
//
// Behaviour was measured on codex 0.171.0 unless a comment says otherwise.
// Fixtures are in fakeagents/fixtures/codex.
package codex

import (
	"github.com/slidewrite/slidewrite/shim/agent"
)

// Codex is the codex CLI. The zero value works.
type Codex struct {
	home string
}

// Options configure the adapter.
type Options struct {
	// Home is passed to codex as CODEX_HOME, and read for sessions; "" leaves
	// codex its own: the CODEX_HOME of the environment, else ~/.codex.
	Home string
}

// New returns the codex adapter.
func New(o Options) Codex { return Codex{home: o.Home} }

var (
	_ agent.Agent         = Codex{}
	_ agent.Discoverer    = Codex{}
	_ agent.SessionFinder = Codex{}
	_ agent.Refuser       = Codex{}
)

// Provider is what a request names.
func (Codex) Provider() string { return "openai" }

// Label is the provider's name for people.
func (Codex) Label() string { return "OpenAI" }

// Name is the name of the binary.
func (Codex) Name() string { return "codex" }

// Scrub takes away what codex must not see.
func (c Codex) Scrub(environ []string, keepEnv bool) (env, scrubbed []string) {
	return agent.Scrub(c.Name(), environ, keepEnv)
}

// keyVariable signs `codex exec` in, and `codex login status` does not know
// it. OPENAI_API_KEY does nothing: codex asks the API without a header.
const keyVariable = "CODEX_API_KEY"

// homeEnv is what is set on top of the environment of every codex process.
func (c Codex) homeEnv() []string {
	if c.home == "" {
		return nil
	}
	return []string{"CODEX_HOME=" + c.home}
}
