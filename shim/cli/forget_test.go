package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// full is a stdout that takes nothing, as a full disk does.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestForgetIntoAFullDisk: who could not be told what was wiped is told that.
func TestForgetIntoAFullDisk(t *testing.T) {
	home := t.TempDir()
	for _, args := range [][]string{{"forget", "--all"}, {"forget"}, {"forget", "--json"}} { // --all --json has nothing to say here
		if err := os.MkdirAll(filepath.Join(home, "repo"), 0o700); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		code := Run(Process{
			Args: append([]string{"slidewrite"}, args...), Stdout: full{}, Stderr: &stderr, Stdin: strings.NewReader(""),
			Environ: []string{
				"HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"), "XDG_CONFIG_HOME=" + filepath.Join(home, "config"),
				"SLIDEWRITE_REPO=" + filepath.Join(home, "repo"), "PATH=" + os.Getenv("PATH"),
			},
		})
		if want := "slidewrite: error: write the output: no space left\n"; code != exitFailed || stderr.String() != want {
			t.Errorf("%q: exit code %d, %q; want %q", args, code, stderr.String(), want)
		}
	}
}
