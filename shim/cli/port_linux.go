package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// portOwner finds the process that listens on a TCP port, as /proc tells it:
// the socket's inode in /proc/net/tcp, then the process that has it open. ok
// is false when it belongs to another user or nobody.
func portOwner(port int) (pid int, name string, ok bool) {
	sockets := listeningSockets(port)
	if len(sockets) == 0 {
		return 0, "", false
	}
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, fd := range fds {
		target, err := os.Readlink(fd)
		if err != nil || !sockets[target] {
			continue
		}
		dir := filepath.Dir(filepath.Dir(fd))
		pid, _ := strconv.Atoi(filepath.Base(dir))
		comm, _ := os.ReadFile(filepath.Join(dir, "comm"))
		return pid, strings.TrimSpace(string(comm)), true
	}
	return 0, "", false
}

// listeningSockets returns the socket:[inode] names of a port's listeners.
func listeningSockets(port int) map[string]bool {
	const listening = "0A" // TCP_LISTEN, include/net/tcp_states.h
	suffix := fmt.Sprintf(":%04X", port)
	found := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, _ := os.ReadFile(table)
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line) // sl local_address rem_address st … inode
			if len(f) > 9 && strings.HasSuffix(f[1], suffix) && f[3] == listening {
				found["socket:["+f[9]+"]"] = true
			}
		}
	}
	return found
}
