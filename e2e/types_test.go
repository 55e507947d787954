package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestExtensionTypes: the JSDoc types of the extension agree with each other
// and with the chrome API.
func TestExtensionTypes(t *testing.T) {
	dir := filepath.Join("..", "extension")
	tsc := filepath.Join(dir, "node_modules", "typescript", "bin", "tsc")
	if _, err := exec.LookPath("node"); err != nil {
		Need(t, "Node is not installed")
	}
	if _, err := os.Stat(tsc); err != nil {
		Need(t, "the modules of the extension's type check are not installed")
	}
	cmd := exec.Command("node", tsc, "-p", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("tsc: %v\n%s", err, out)
	}
}
