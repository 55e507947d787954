//go:build race

package fakeagents_test

// raced is whether the race detector is in: a fake then takes half a second to
// start, and the tests that start one for each fixture take a sample.
const raced = true
