// Package grok drives xAI's grok CLI (Grok Build): its command line, the
// prompt file it reads, the mapping of its stdout to events, its model list and
// its sign-in state.
//
//	grok.go      identity
//	args.go      Spec → command line and prompt file (data, nothing is started); what is refused
//	converse.go  stdin: closed at once; a session of another folder ends the run
//	place.go     whether grok works where it was told to
//	wire.go      the JSON shapes that are read, with their sources
//	map.go       stdout line → events; text, usage, start, result
//	usage.go     tokens of the run
//	tools.go     tool calls and their results
//	output.go    grok's internal tool output → text
//	errors.go    failures → code, message and fix
//	models.go    models, sign-in and billing, asked of the CLI itself
//	session.go   where a session was recorded, and its model
//	history.go   the sessions there are, and summary.json → a row of the list
//	history_replay.go   chat_history.jsonl → events
//
// Everything but models.go, session.go and history.go is pure: no I/O, no clock
// (place.go resolves symbolic links, but only of paths that differ).
//
// grok was never run by us. What is known of it was read from its published
// source, version 1.0.6 (xai-org/grok-build, 19d42e3); comments that name a
// file name one of that tree. Where the source leaves something open, a comment
// says "presumably". Fixtures are in fakeagents/fixtures/grok, all of them made.
package grok

import (
	"github.com/slidewrite/slidewrite/shim/agent"
)

// Grok is the grok CLI. The zero value works.
type Grok struct {
	home string
}

// Options configure the adapter.
type Options struct {
	// Home is passed to grok as GROK_HOME, and read for sessions and labels of
	// models; "" leaves grok its own: the GROK_HOME of the environment, else
	// ~/.grok.
	Home string
}

// New returns the grok adapter.
func New(o Options) Grok { return Grok{home: o.Home} }

var (
	_ agent.Agent         = Grok{}
	_ agent.Discoverer    = Grok{}
	_ agent.SessionFinder = Grok{}
	_ agent.Eager         = Grok{}
	_ agent.Refuser       = Grok{}
)

// Provider is what a request names.
func (Grok) Provider() string { return "grok" }

// Label is the provider's name for people.
func (Grok) Label() string { return "Grok" }

// Name is the name of the binary.
func (Grok) Name() string { return "grok" }

// Scrub takes away what grok must not see. XAI_API_KEY is not among it: a
// session of `grok login` wins over the key.
func (g Grok) Scrub(environ []string, keepEnv bool) (env, scrubbed []string) {
	return agent.Scrub(g.Name(), environ, keepEnv)
}

// ActsBeforePrompt is true: grok reads its prompt at its start and goes to work.
func (Grok) ActsBeforePrompt(agent.Spec) bool { return true }

// keyVariables are what signs grok in without a login, the legacy name last.
var keyVariables = []string{"XAI_API_KEY", "GROK_CODE_XAI_API_KEY"}

// homeEnv is what is set on top of the environment of every grok process.
func (g Grok) homeEnv() []string {
	if g.home == "" {
		return nil
	}
	return []string{"GROK_HOME=" + g.home}
}
