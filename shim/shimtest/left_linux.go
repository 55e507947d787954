package shimtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Marked lists the processes that work for a run of this stage: those whose
// environment names its state directory and a run.
func (s *Stage) Marked() []Proc {
	var found []Proc
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range all {
		env, err := os.ReadFile(filepath.Join(p, "environ"))
		_, marker, ok := bytes.Cut(env, []byte("SLIDEWRITE_RUN="))
		if err != nil || !ok || !bytes.Contains(env, []byte("XDG_STATE_HOME="+s.StateHome()+"\x00")) {
			continue
		}
		marker, _, _ = bytes.Cut(marker, []byte{0})
		_, id, _ := strings.Cut(string(marker), ".")
		cmd, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		if pid, err := strconv.Atoi(filepath.Base(p)); err == nil && len(cmd) > 0 { // one that has ended and was not reaped has none
			found = append(found, Proc{pid, id, strings.ReplaceAll(string(cmd), "\x00", " ")})
		}
	}
	return found
}

// Lives is whether a process runs (one that has ended and was not reaped
// does not).
func Lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}
