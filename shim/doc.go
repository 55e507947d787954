// Package shim is the product as a library: New makes a shim for one
// repository, Handler is its HTTP surface, Listen and Serve run it.
//
// # One prompt, from click to commit
//
//	panel → server (guard, decode) → run.Manager.Start → 409 or a run
//	run   → gitrepo.Snapshot beside the start of the agent
//	      → prompt.Build → agent.Command → agent/process
//	      → each stdout line → agent.Mapper → event → journal
//	      → gitrepo.SnapshotAfter, Change, Commit → done
//	panel ← server ← sse ← run.Follow
//
// # The packages, lowest first
//
//	lazyregexp      patterns that cost nothing before they are used
//	event           what a client is told: one struct per event
//	prompt          request → prompt text; pure
//	gitrepo         the only place git runs: snapshot, change, commit, undo
//	state           everything of ours on disk: tokens, locks, ledger, run folders
//	sse             frames ⇄ bytes
//	agent           what an agent CLI is: a command line, a conversation, a mapper
//	agent/process   starts a CLI and ends its whole family
//	agent/claude    the anthropic provider
//	agent/codex     the openai provider
//	agent/grok      the grok provider
//	agent/agenttest the contract every adapter passes
//	history         the sessions agents left on disk: list, index, pages
//	catalog         models and sign-in of the providers, cached
//	pair            one-time codes that bring a browser and a shim together
//	browser         finds a Chromium, starts it with a profile of its own, drives it
//	demoapp         the app that the demo changes, and its server with live reload
//	doctor          looks at what a shim stands on; one line each, with its fix
//	run             the story of one run; knows no HTTP and no concrete agent
//	server          HTTP in, nothing decided there
//	server/servertest tries a shim over HTTP as clients and attackers do
//	shim            wires the above; the only one that names adapters
//	cli             the command line
//	shimtest        a shim, a repository and a fake agent, for tests only
//	shimtest/benchrepo, shimtest/benchreport
//	                make bench: the repository it measures in, and its table
//	shimtest/vetall make check: go vet for three systems in one process
//
// Around them: cmd/slidewrite is the binary; extension is the browser's side,
// embedded, and what writes it to a folder; fakeagents plays the agent CLIs
// from recorded transcripts (fakeagents/fixtures), fakeagents/record makes
// those from a real CLI and fakeagents/scriptmodel, fakeagents/drift compares
// two versions of one; golden, testscripts and
// the tests beside the code use them; e2e drives the extension in a browser.
//
// Imports go downwards only; imports_test.go holds the tree to it.
//
//	event    prompt    gitrepo    state
//	  ↑         ↑         ↑         ↑
//	 sse   agent ← agent/claude     │
//	  ↑      ↑          ↑           │
//	  │     run ────────┼───────────┘
//	  │      ↑          │
//	  server │ ← catalog│
//	     ↑   ↑     ↑    │
//	       shim ────────┘ ← cli ← cmd/slidewrite
//	             extension ──↗
package shim
