package shim_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// marked lists the processes that work for a run of this stage: those whose
// environment names its state directory and a run.
func marked(s *shimtest.Stage) []string {
	var found []string
	for _, p := range processes() {
		env, err := os.ReadFile(filepath.Join(p, "environ"))
		if err == nil && bytes.Contains(env, []byte("SLIDEWRITE_RUN=")) && bytes.Contains(env, []byte("XDG_STATE_HOME="+s.StateHome()+"\x00")) {
			cmd, _ := os.ReadFile(filepath.Join(p, "cmdline"))
			if len(cmd) > 0 { // one that has ended and was not reaped has none
				found = append(found, filepath.Base(p)+" "+strings.ReplaceAll(string(cmd), "\x00", " "))
			}
		}
	}
	return found
}

// processes are the folders of all processes.
func processes() []string {
	all, _ := filepath.Glob("/proc/[0-9]*")
	return all
}
