//go:build !unix

package gitrepo

import "os/exec"

// endAsGroup does nothing where there are no process groups: the command
// itself is killed.
func endAsGroup(*exec.Cmd) {}
