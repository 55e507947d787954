// Package scriptmodel is a model server that says what a script tells it to:
// it speaks the Anthropic Messages API (streaming and not) and the OpenAI
// Responses API (streaming) on loopback, well enough for the real claude and
// codex CLIs, with no login, no network and no cost.
//
// A scenario is a file scenarios/<name>.json: what the user asks, and step by
// step what the model answers. One that suits codex too has a key "codex",
// whose fields take the place of those beside it where the two differ (their
// tools do); scenarios/codex/ holds those of codex alone. Which step a request
// is at is read from the request itself (how many answers the conversation
// holds since the user spoke), so the server needs no state but its counters;
// message and tool ids are those counters, so that recording again gives the
// same bytes.
package scriptmodel
