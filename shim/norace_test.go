//go:build !race

package shim_test

// raced is whether the race detector is in: its memory is not the shim's.
const raced = false
