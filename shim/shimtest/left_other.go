//go:build !linux

package shimtest

// Marked: other systems do not show the environment of a process here.
func (s *Stage) Marked() []Proc { return nil }
