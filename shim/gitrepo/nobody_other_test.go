//go:build !unix

package gitrepo

import "testing"

// asNobody: without Unix permissions everything can be read.
func asNobody(t *testing.T) bool {
	t.Helper()
	t.Skip("files cannot be made unreadable here")
	return true
}
