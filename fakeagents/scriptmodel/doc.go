// Package scriptmodel is a model server that says what a script tells it to:
// it speaks the Anthropic Messages API (streaming and not) on loopback, well
// enough for the real claude CLI, with no login, no network and no cost.
//
// A scenario is a file scenarios/<name>.json: what the user asks, and step by
// step what the model answers. Which step a request is at is read from the
// request itself (how many answers the conversation holds since the user
// spoke), so the server needs no state but its counters; message and tool ids
// are those counters, so that recording again gives the same bytes.
package scriptmodel
