package gitrepo

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cockroachdb/errors"
)

// TestVersion: what git says about itself, and what is said where there is
// none or where it says nothing.
func TestVersion(t *testing.T) {
	said, err := exec.Command("git", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	v, err := Version(t.Context(), t.TempDir(), os.Environ())
	if err != nil || !strings.Contains(string(said), v) || strings.Count(v, ".") < 1 {
		t.Errorf("Version = %q, %v; git says %q", v, err, said)
	}
	if runtime.GOOS == "windows" {
		return // no scripts as programs there
	}
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	_, err = Version(t.Context(), bin, os.Environ())
	if !errors.Is(err, exec.ErrNotFound) || !strings.Contains(errors.FlattenHints(err), "install git") {
		t.Errorf("without git: %v, hint %q", err, errors.FlattenHints(err))
	}
	for said, want := range map[string]string{
		"git version 2.39.5 (Apple Git-154)": "2.39.5",
		"git version 2.51.0.windows.1":       "2.51.0",
		"git version 2.36":                   "2.36",
		"something else":                     "",
	} {
		script := "#!/bin/sh\necho '" + said + "'\n"
		if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		v, err := Version(t.Context(), bin, os.Environ())
		if v != want || (err == nil) != (want != "") {
			t.Errorf("%q: Version = %q, %v", said, v, err)
		}
	}
}
