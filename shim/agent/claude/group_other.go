//go:build !unix

package claude

import "os/exec"

// ownGroup leaves cmd as it is: discovery starts no commands and no MCP
// servers, so the child itself is all there is to kill.
func ownGroup(*exec.Cmd) {}
