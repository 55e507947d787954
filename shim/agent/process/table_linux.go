package process

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// prepareOnce makes this process the parent of what its descendants orphan.
var prepareOnce = sync.OnceFunc(func() {
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // refused: the marker is what there is
})

// widen gives the pipe of stdout room for what an agent writes just before it
// exits (claude 2.1.197 loses what does not fit).
func widen(f *os.File) {
	if conn, err := f.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, widePipe) })
	}
}

// processes reads the process table.
func processes() []entry {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var all []entry
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if e, ok := lookup(pid); ok {
				all = append(all, e)
			}
		}
	}
	return all
}

// lookup reads one row of the process table.
func lookup(pid int) (entry, bool) {
	// Not os.ReadFile: the poller and the size guess double the cost, and
	// there is one such read per process of the machine.
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return entry{}, false
	}
	defer unix.Close(fd)
	var buf [1024]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return entry{}, false
	}
	return parseStat(buf[:n])
}

// kernelThread is PF_KTHREAD of the flags in /proc/<pid>/stat.
const kernelThread = 0x00200000

// parseStat reads /proc/<pid>/stat, see proc_pid_stat(5): the name, in
// parentheses, may hold spaces and parentheses. ok is false for a thread of
// the kernel's own.
func parseStat(stat []byte) (e entry, ok bool) {
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 1 || end < open {
		return entry{}, false
	}
	e.name = string(stat[open+1 : end])
	fields := bytes.Fields(stat[end+1:]) // fields[0] is field 3, the state
	if len(fields) < 20 {
		return entry{}, false
	}
	number := func(field []byte) int64 {
		n, err := strconv.ParseInt(string(field), 10, 64)
		ok = ok && err == nil
		return n
	}
	ok = true
	e.pid = int(number(bytes.TrimSpace(stat[:open])))
	e.ppid, e.sid = int(number(fields[1])), int(number(fields[3]))
	e.start = uint64(number(fields[19]))
	e.zombie = fields[0][0] == 'Z' || fields[0][0] == 'X'
	return e, number(fields[6])&kernelThread == 0 && ok
}

// environ reads the environment that a process started with.
//
// In the middle of an exec it looks empty, and so does the command line: then
// it is read again. A process that is really without has a command line.
func environ(pid int) (env []byte, err error) {
	dir := "/proc/" + strconv.Itoa(pid)
	for range 25 {
		before, _ := os.ReadFile(dir + "/cmdline")
		env, err = os.ReadFile(dir + "/environ")
		if err != nil || len(env) > 0 {
			return env, err
		}
		after, _ := os.ReadFile(dir + "/cmdline")
		if len(before) > 0 && bytes.Equal(before, after) {
			return nil, nil
		}
		time.Sleep(200 * time.Microsecond)
	}
	return nil, unix.ESRCH // it is exiting
}

// send sends sig to e, unless its pid has gone to another process.
func send(e entry, sig unix.Signal) error {
	fd, err := unix.PidfdOpen(e.pid, 0)
	if err == nil {
		defer unix.Close(fd)
	} else if err == unix.ESRCH {
		return err
	}
	if now, ok := lookup(e.pid); !ok || now.start != e.start || now.zombie {
		return unix.ESRCH
	}
	if err != nil { // no pidfd here: Linux before 5.3, or a sandbox
		return unix.Kill(e.pid, sig)
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

// ownSession is the session of this process and of what os/exec starts for it.
var ownSession = sync.OnceValue(func() int {
	sid, _ := unix.Getsid(0)
	return sid
})

// isAdopted reports whether e was orphaned into our care. Children that this
// process started itself are in its session; agents, which are not, are left
// to the caller.
func isAdopted(e entry) bool { return e.ppid == os.Getpid() && e.sid != ownSession() }

// zombies are dead children of unknown origin, with the time they were first
// seen.
var zombies = struct {
	sync.Mutex
	since map[procID]time.Time
}{since: map[procID]time.Time{}}

// unclaimed is how long a dead session leader stays before it is reaped: a
// child that somebody started with os/exec is waited for at once, an orphan
// never.
const unclaimed = 200 * time.Millisecond

// reap collects adopted processes that have died, each by its pid: waiting for
// any child would steal the exit statuses that os/exec waits for. waiting
// means that one could not be told from such a child yet.
func (f *Family) reap(all []entry) (waiting bool) {
	for _, e := range all {
		if !e.zombie || !isAdopted(e) || isAgent(e.pid) {
			continue
		}
		// Only a session leader can be a direct child: sessions cannot be
		// joined.
		if e.pid == e.sid && !f.wasSeen(e.id()) && !isUnclaimed(e.id()) {
			waiting = true
			continue
		}
		unix.Wait4(e.pid, nil, unix.WNOHANG, nil)
	}
	return waiting
}

func isUnclaimed(id procID) bool {
	zombies.Lock()
	defer zombies.Unlock()
	since, ok := zombies.since[id]
	switch {
	case !ok:
		maps.DeleteFunc(zombies.since, func(_ procID, t time.Time) bool { return time.Since(t) > time.Minute })
		zombies.since[id] = time.Now()
	case time.Since(since) >= unclaimed:
		delete(zombies.since, id)
		return true
	}
	return false
}

// listeners returns, by pid, the TCP and Unix sockets that processes listen on.
func listeners(es []entry) map[int][]string {
	found := map[int][]string{}
	spaces := map[string]map[string]string{} // network namespace → socket inode → address
	for _, e := range es {
		inodes := socketInodes(e.pid)
		if e.zombie || len(inodes) == 0 {
			continue
		}
		space, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", e.pid))
		if spaces[space] == nil {
			spaces[space] = listenTable(e.pid)
		}
		for _, inode := range inodes {
			if addr := spaces[space][inode]; addr != "" && !slices.Contains(found[e.pid], addr) {
				found[e.pid] = append(found[e.pid], addr)
			}
		}
	}
	return found
}

// socketInodes returns the inodes of the sockets a process has open.
func socketInodes(pid int) []string {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	fds, _ := os.ReadDir(dir)
	var inodes []string
	for _, fd := range fds {
		link, _ := os.Readlink(dir + "/" + fd.Name())
		if inode, ok := strings.CutPrefix(link, "socket:["); ok {
			inodes = append(inodes, strings.TrimSuffix(inode, "]"))
		}
	}
	return inodes
}

// listenTable reads the listening sockets of pid's network namespace: their
// addresses by inode.
func listenTable(pid int) map[string]string {
	addrs := map[string]string{}
	for _, table := range []struct {
		file  string
		parse func(fields []string) (inode, addr string)
	}{{"tcp", parseTCP}, {"tcp6", parseTCP}, {"unix", parseUnix}} {
		file, err := os.Open(fmt.Sprintf("/proc/%d/net/%s", pid, table.file))
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(file); lines.Scan(); {
			if inode, addr := table.parse(strings.Fields(lines.Text())); addr != "" {
				addrs[inode] = addr
			}
		}
		file.Close()
	}
	return addrs
}

// parseTCP reads a row of /proc/net/tcp or tcp6, see proc_net_tcp: state 0A is
// LISTEN.
func parseTCP(fields []string) (inode, addr string) {
	if len(fields) < 10 || fields[3] != "0A" {
		return "", ""
	}
	host, port, _ := strings.Cut(fields[1], ":")
	raw, err := hex.DecodeString(host)
	n, err2 := strconv.ParseUint(port, 16, 16)
	if err != nil || err2 != nil {
		return "", ""
	}
	for i := 0; i+4 <= len(raw); i += 4 { // 32-bit words in host order
		binary.BigEndian.PutUint32(raw[i:], binary.NativeEndian.Uint32(raw[i:]))
	}
	ip, _ := netip.AddrFromSlice(raw)
	return fields[9], "tcp " + netip.AddrPortFrom(ip.Unmap(), uint16(n)).String()
}

// parseUnix reads a row of /proc/net/unix: flag 00010000 is __SO_ACCEPTCON,
// set on sockets that listen.
func parseUnix(fields []string) (inode, addr string) {
	if len(fields) < 7 || fields[3] != "00010000" {
		return "", ""
	}
	name := "(unnamed)"
	if len(fields) > 7 {
		name = strings.Join(fields[7:], " ")
	}
	return fields[6], "unix " + name
}
