//go:build !linux

package cli

import "os/exec"

// startBound starts cmd. Here nothing ends it when this process is killed.
func startBound(cmd *exec.Cmd) (wait func() error, err error) { return cmd.Wait, cmd.Start() }
