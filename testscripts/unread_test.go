package testscripts

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
)

// TestNobodyReads: a command whose output nobody reads any more, as of `| head`,
// ends without a word and with the exit code of other programs.
func TestNobodyReads(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no exit code for it there")
	}
	t.Parallel()
	bin, err := exec.LookPath("slidewrite")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"version", "version --json", "doctor --port 0", "doctor --port 0 --json", "extension", "history", "forget --json", "design hi", "design --json hi", "demo --terminal",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			cmd := exec.Command(bin, strings.Fields(args)...)
			cmd.Dir = t.TempDir()
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + t.TempDir(), "IS_SANDBOX=1", fakeagents.EnvFixture + "=claude/real/2.1.332/text"}
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			read.Close()
			var stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = write, &stderr
			_ = cmd.Run() // its code is looked at
			write.Close()
			if code := cmd.ProcessState.ExitCode(); code != 141 || stderr.Len() > 0 {
				t.Errorf("exit code %d, said %q; want 141 and nothing", code, &stderr)
			}
		})
	}
}
