package cli

import "runtime/debug"

// releaseStartUp gives the memory back that only the start needed: garbage,
// and pages of the binary. An idle shim stays small beside a dev server.
func releaseStartUp() {
	debug.FreeOSMemory()
	dropBinary()
}
