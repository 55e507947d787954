package process

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors"
	"golang.org/x/sys/unix"
)

// prepareOnce does nothing: macOS has no subreaper, orphans go to launchd.
func prepareOnce() {}

// widen does nothing: macOS sizes pipes itself.
func widen(*os.File) {}

// stateZombie is SZOMB of sys/proc.h.
const stateZombie = 5

// processes reads the process table.
func processes() []entry {
	rows, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	all := make([]entry, 0, len(rows))
	for i := range rows {
		all = append(all, toEntry(&rows[i]))
	}
	return all
}

// lookup reads one row of the process table.
func lookup(pid int) (entry, bool) {
	row, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(row.Proc.P_pid) != pid {
		return entry{}, false
	}
	return toEntry(row), true
}

func toEntry(row *unix.KinfoProc) entry {
	started := row.Proc.P_starttime
	return entry{
		pid:    int(row.Proc.P_pid),
		ppid:   int(row.Eproc.Ppid),
		start:  uint64(started.Sec)*1e6 + uint64(started.Usec),
		zombie: row.Proc.P_stat == stateZombie,
		name:   unix.ByteSliceToString(row.Proc.P_comm[:]),
	}
}

// environ reads the environment that a process started with. macOS hides that
// of system binaries.
func environ(pid int) ([]byte, error) {
	raw, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return nil, err
	}
	return parseProcArgs(raw)
}

// parseProcArgs finds the environment in a KERN_PROCARGS2 answer: argc (32
// bits), the path, padding NULs, argc arguments, the environment, each ended
// by a NUL.
func parseProcArgs(raw []byte) ([]byte, error) {
	if len(raw) < 4 {
		return nil, errors.New("short KERN_PROCARGS2 answer")
	}
	argc := int(binary.NativeEndian.Uint32(raw))
	_, rest, _ := bytes.Cut(raw[4:], []byte{0})
	rest = bytes.TrimLeft(rest, "\x00")
	for range argc {
		_, after, found := bytes.Cut(rest, []byte{0})
		if !found {
			return nil, errors.New("short KERN_PROCARGS2 answer")
		}
		rest = after
	}
	return rest, nil
}

// send sends sig to e, unless its pid has gone to another process.
func send(e entry, sig unix.Signal) error {
	if now, ok := lookup(e.pid); !ok || now.start != e.start || now.zombie {
		return unix.ESRCH
	}
	return unix.Kill(e.pid, sig)
}

// isAdopted is false: nothing is adopted without a subreaper.
func isAdopted(entry) bool { return false }

// reap has nothing to do: launchd reaps orphans.
func (f *Family) reap([]entry) (waiting bool) { return false }

// listeners returns, by pid, the TCP sockets that processes listen on. lsof is
// part of macOS; it does not tell which Unix sockets listen, so every named
// one counts.
func listeners(es []entry) map[int][]string {
	found := map[int][]string{}
	if len(es) == 0 {
		return found
	}
	var pids []string
	for _, e := range es {
		pids = append(pids, strconv.Itoa(e.pid))
	}
	list := strings.Join(pids, ",")
	for _, ask := range []struct {
		kind string
		args []string
	}{
		{"tcp", []string{"-nP", "-a", "-p", list, "-iTCP", "-sTCP:LISTEN", "-Fn"}},
		{"unix", []string{"-nP", "-a", "-p", list, "-U", "-Fn"}},
	} {
		out, _ := exec.Command("/usr/sbin/lsof", ask.args...).Output() // exit 1: none
		addLsof(found, ask.kind, string(out))
	}
	return found
}

// addLsof reads lsof -F output: p<pid> lines followed by n<name> lines.
func addLsof(found map[int][]string, kind, out string) {
	pid := 0
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		if number, ok := strings.CutPrefix(line, "p"); ok {
			pid, _ = strconv.Atoi(number)
		}
		name, ok := strings.CutPrefix(line, "n")
		if ok && (kind == "tcp" || strings.HasPrefix(name, "/")) {
			found[pid] = append(found[pid], kind+" "+name)
		}
	}
}
