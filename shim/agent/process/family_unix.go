//go:build unix

package process

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/errors"
	"golang.org/x/sys/unix"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// watchEvery is how often a living family is looked at: to remember members
// before they lose their parent or their environment, and to reap the orphans
// that were adopted and have died. One look costs a few milliseconds.
const watchEvery = 2 * time.Second

// entry is one row of the system's process table.
type entry struct {
	pid, ppid, sid int
	start          uint64 // since boot (Linux: ticks) or the epoch (macOS: µs)
	zombie         bool
	name           string
}

// procID tells a process from a later one with the same pid.
type procID struct {
	pid   int
	start uint64
}

func (e entry) id() procID { return procID{e.pid, e.start} }

func (e entry) proc() Proc { return Proc{PID: e.pid, Name: e.name} }

// platform is what a Family needs on Unix.
type platform struct {
	agent procID

	shared atomic.Bool // another family, not of a short command, lived beside this one

	mu   sync.Mutex
	seen map[procID]bool // members at the last look, zombies too
}

// live are the families of this process that were not swept yet.
var live = struct {
	sync.Mutex
	families map[*Family]bool
}{families: map[*Family]bool{}}

func sysProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// start starts the agent and notes who it is before it can be reaped: no sweep
// of another family may see it and not know whose it is.
func (p *platform) start(f *Family) error {
	live.Lock()
	defer live.Unlock()
	if err := f.cmd.Start(); err != nil {
		return err
	}
	p.agent = procID{pid: f.cmd.Process.Pid}
	if e, ok := lookup(p.agent.pid); ok {
		p.agent.start = e.start
	}
	p.seen = map[procID]bool{p.agent: true}
	for other := range live.families {
		if !f.o.brief && !other.o.brief {
			other.platform.shared.Store(true)
			p.shared.Store(true)
		}
	}
	live.families[f] = true
	return nil
}

// watch looks at the family now and then while the agent lives.
func (p *platform) watch(f *Family) {
	go func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-f.exited:
				return
			case <-tick.C:
				f.remember()
			}
		}
	}()
}

func (p *platform) interrupt(f *Family) error { return f.cmd.Process.Signal(unix.SIGINT) }

// linger lets the readers go on for d, should others hold the pipes open.
func (p *platform) linger(f *Family, d time.Duration) {
	end := time.Now().Add(d)
	f.stdout.src.src.SetReadDeadline(end)
	f.stderr.src.SetReadDeadline(end)
}

func (p *platform) release(f *Family) {
	live.Lock()
	defer live.Unlock()
	delete(live.families, f)
}

// isAgent reports whether pid is an agent that its own Family waits for.
func isAgent(pid int) bool {
	live.Lock()
	defer live.Unlock()
	for f := range live.families {
		if f.platform.agent.pid == pid && !f.hasExited() {
			return true
		}
	}
	return false
}

// remember notes who belongs to the family now.
func (f *Family) remember() {
	all := processes()
	f.members(all)
	f.reap(all)
}

// members finds the family in a process table: the agent, whoever carries the
// run's marker, whoever was a member before, and all their descendants.
//
// A process that lost its environment (env -i, a daemon that overwrote it) and
// its parent is taken in too, when it cannot be anybody else's: the orphans
// that we adopt come from the agent or from our own git, and git leaves the
// environment as it is (gpg-agent).
func (f *Family) members(all []entry) []entry {
	f.platform.mu.Lock()
	defer f.platform.mu.Unlock()
	found := closure(all, func(e entry) bool {
		return e.start >= f.platform.agent.start && f.isRoot(e)
	})
	f.platform.seen = idsOf(found)
	return found
}

func (f *Family) isRoot(e entry) bool {
	if f.platform.seen[e.id()] {
		return true
	}
	if e.zombie || e.pid == os.Getpid() {
		return false
	}
	env, err := environ(e.pid)
	if err != nil {
		return false
	}
	if f.o.Marker != "" && hasVar(env, MarkerVar+"="+f.o.Marker) {
		return true
	}
	if slices.ContainsFunc(f.o.Marks, func(kv string) bool { return hasVar(env, kv) }) {
		return true
	}
	return !f.o.brief && !f.platform.shared.Load() && isAdopted(e) && !isAgent(e.pid) && f.lostEnvironment(env)
}

// closure returns the entries that root accepts and all their descendants,
// but never this process.
func closure(all []entry, root func(entry) bool) []entry {
	children := map[int][]entry{}
	var found []entry
	for _, e := range all {
		children[e.ppid] = append(children[e.ppid], e)
		if e.pid != os.Getpid() && root(e) {
			found = append(found, e)
		}
	}
	have := map[int]bool{os.Getpid(): true}
	for _, e := range found {
		have[e.pid] = true
	}
	for i := 0; i < len(found); i++ {
		for _, c := range children[found[i].pid] {
			if !have[c.pid] {
				have[c.pid] = true
				found = append(found, c)
			}
		}
	}
	return found
}

// hasVar reports whether a NUL-separated environment holds the variable kv.
func hasVar(env []byte, kv string) bool {
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if string(v) == kv {
			return true
		}
	}
	return false
}

// lostEnvironment reports whether env cannot be what a child of our own git
// inherited: a variable is gone that we have and gave to the agent, too.
// Variables that git and shells manage themselves tell nothing.
func (f *Family) lostEnvironment(env []byte) bool {
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if value == "" || !variableName.MatchString(name) || !hasName(f.cmd.Env, name) {
			continue
		}
		if !bytes.HasPrefix(env, []byte(name+"=")) && !bytes.Contains(env, []byte("\x00"+name+"=")) {
			return true
		}
	}
	return false
}

// variableName are the names that every shell hands on.
var variableName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

func hasName(env []string, name string) bool {
	switch name {
	case "_", "SHLVL", "PWD", "OLDPWD":
		return false
	}
	return !strings.HasPrefix(name, "GIT_") && slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
}

// killMembers sends SIGKILL to every member but the agent process.
func (f *Family) killMembers() error {
	if f.isSwept() {
		return nil
	}
	members := f.members(processes())
	members = slices.DeleteFunc(members, func(e entry) bool { return e.id() == f.platform.agent })
	killed, refused := killAll(members)
	f.noteEnded(killed)
	if len(refused) > 0 {
		return errors.Newf("process %d (%s) belongs to another user", refused[0].pid, refused[0].name)
	}
	return nil
}

// isSwept reports whether nothing of the family is left to look for.
func (f *Family) isSwept() bool {
	live.Lock()
	defer live.Unlock()
	return !live.families[f]
}

// killAll sends SIGKILL to those of es that still are who they were, and
// returns them, and those that we may not signal.
func killAll(es []entry) (killed []Proc, refused []entry) {
	for _, e := range es {
		if e.zombie {
			continue
		}
		switch err := send(e, unix.SIGKILL); {
		case err == nil:
			killed = append(killed, e.proc())
		case errors.Is(err, unix.EPERM):
			refused = append(refused, e)
		}
	}
	return killed, refused
}

// sweep is Sweep without its bookkeeping. A look at the process table is not
// atomic: a process that forks and exits meanwhile can be missed with its
// child. So where anything was found, or the run was stopped, two looks in a
// row must find nothing more.
func (f *Family) sweep(ctx context.Context, graceEnd time.Time) (left, stuck []Proc) {
	defer f.platform.release(f)
	var refused []entry
	sure := !f.isStopping()
	for doubts := 0; ; {
		all := processes()
		members := f.members(all)
		waiting := f.reap(all)
		if doubts < maxDoubts && f.doubtful(all) {
			doubts++
			waiting = true
		}
		var spared []entry
		if !f.isStopping() {
			spared = servers(members)
		}
		rest := without(members, append(spared, refused...))
		done := !waiting && !slices.ContainsFunc(rest, func(e entry) bool { return keepsSweeping(e, spared) })
		if done && sure {
			return listening(spared), procs(refused)
		}
		sure = done
		if done {
			continue
		}
		if f.isStopping() || !time.Now().Before(graceEnd) {
			killed, no := killAll(rest)
			f.noteEnded(slices.DeleteFunc(killed, func(p Proc) bool { return p.PID == f.PID() }))
			refused = append(refused, no...)
		}
		if !pause(ctx, lookEvery) {
			return listening(spared), procs(append(refused, rest...))
		}
	}
}

// maxDoubts bounds how many looks a sweep spends on processes that show no
// environment: 200 ms in all.
const maxDoubts = 10

// doubtful reports whether a process in our care shows no environment at the
// moment: it is in the middle of an exec, or gone since the table was read. It
// may be the family's, and have children that are not in the table yet.
func (f *Family) doubtful(all []entry) bool {
	return slices.ContainsFunc(all, func(e entry) bool {
		if e.zombie || !isAdopted(e) || e.start < f.platform.agent.start || isAgent(e.pid) || f.wasSeen(e.id()) {
			return false
		}
		env, err := environ(e.pid)
		return len(env) == 0 && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM)
	})
}

func (f *Family) wasSeen(id procID) bool {
	f.platform.mu.Lock()
	defer f.platform.mu.Unlock()
	return f.platform.seen[id]
}

// keepsSweeping reports whether e is a reason to go on: it lives, or it is
// dead and its parent, which may be gone by now, is none that was spared and
// will reap it.
func keepsSweeping(e entry, spared []entry) bool {
	return !e.zombie || !slices.ContainsFunc(spared, func(s entry) bool { return s.pid == e.ppid })
}

// servers returns the members that listen on a socket and those they work
// with: the tree below the topmost member that a listener descends from
// (npm → sh → vite, with esbuild beside it).
func servers(members []entry) []entry {
	sockets := listeners(members)
	if len(sockets) == 0 {
		return nil
	}
	parent := map[int]int{}
	for _, e := range members {
		parent[e.pid] = e.ppid
	}
	top := map[int]bool{}
	for pid := range sockets {
		for {
			up, ok := parent[pid]
			if _, member := parent[up]; !ok || !member {
				break
			}
			pid = up
		}
		top[pid] = true
	}
	return closure(members, func(e entry) bool { return top[e.pid] })
}

// without returns the entries of es that are not in drop.
func without(es, drop []entry) []entry {
	return slices.DeleteFunc(slices.Clone(es), func(e entry) bool {
		return slices.ContainsFunc(drop, func(d entry) bool { return d.pid == e.pid })
	})
}

// listening reports those of es that listen, and on what.
func listening(es []entry) []Proc {
	sockets := listeners(es)
	var found []Proc
	for _, e := range es {
		if len(sockets[e.pid]) > 0 {
			found = append(found, Proc{PID: e.pid, Name: e.name, Listens: sockets[e.pid]})
		}
	}
	return found
}

// procs reports the living ones of es.
func procs(es []entry) []Proc {
	var found []Proc
	for _, e := range es {
		if !e.zombie {
			found = append(found, e.proc())
		}
	}
	return found
}

// SweepOrphans ends what runs of this state dir left behind when their shim
// died in the middle of them: processes whose marker is "<stateHash>.<run id>"
// for a run of which died is true, and their descendants. What a run that had
// ended left running (a dev server) is the user's. It is called when a shim
// starts.
func SweepOrphans(stateHash string, died func(runID string) bool) []Proc {
	prefix := []byte(MarkerVar + "=" + stateHash + ".")
	return endMatching(func(env []byte) bool {
		for v := range bytes.SplitSeq(env, []byte{0}) {
			if id, ok := bytes.CutPrefix(v, prefix); ok {
				return died(string(id))
			}
		}
		return false
	})
}

// EndMarked ends every process that carries marker, or one that was made of it
// by a dot and a name, and their descendants.
func EndMarked(marker string) []Proc {
	exact := []byte(MarkerVar + "=" + marker)
	part := append(bytes.Clone(exact), '.')
	return endMatching(func(env []byte) bool {
		for v := range bytes.SplitSeq(env, []byte{0}) {
			if bytes.Equal(v, exact) || bytes.HasPrefix(v, part) {
				return true
			}
		}
		return false
	})
}

// endMatching kills the processes whose environment matches, and their
// descendants, until none is left, for at most 5 s. This process and its
// ancestors are exempt: a shim can itself run inside a run.
func endMatching(match func(env []byte) bool) []Proc {
	ctx, cancel := context.WithTimeout(context.Background(), sweepLimit)
	defer cancel()
	f := &Family{} // without an agent: it remembers what to reap and what was ended
	for {
		all := processes()
		above := ancestors(all)
		found := closure(all, func(e entry) bool {
			if f.platform.seen[e.id()] {
				return true
			}
			if e.zombie || above[e.pid] {
				return false
			}
			env, err := environ(e.pid)
			return err == nil && match(env)
		})
		found = slices.DeleteFunc(found, func(e entry) bool { return above[e.pid] || e.zombie && !isAdopted(e) })
		f.platform.seen = idsOf(found)
		f.reap(all)
		killed, refused := killAll(found)
		f.noteEnded(killed)
		if len(refused) == len(found) || !pause(ctx, lookEvery) {
			return f.ended
		}
	}
}

func idsOf(es []entry) map[procID]bool {
	ids := make(map[procID]bool, len(es))
	for _, e := range es {
		ids[e.id()] = true
	}
	return ids
}

// ancestors returns the pids of this process and all above it.
func ancestors(all []entry) map[int]bool {
	parent := map[int]int{}
	for _, e := range all {
		parent[e.pid] = e.ppid
	}
	above := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !above[pid]; pid = parent[pid] {
		above[pid] = true
	}
	return above
}

// readAvailable reads what is in the pipe without waiting; 0 when it is empty.
func readAvailable(src *os.File, p []byte) (n int, err error) {
	src.SetReadDeadline(time.Time{}) // a passed deadline would refuse the read
	conn, err := src.SyscallConn()
	if err != nil {
		return 0, err
	}
	readErr := conn.Read(func(fd uintptr) bool {
		n, err = unix.Read(int(fd), p)
		return !errors.Is(err, unix.EINTR)
	})
	return max(n, 0), errors.CombineErrors(readErr, err)
}

// exitOf translates how a process ended; nil is one that somebody else in this
// process has waited for.
func exitOf(s *os.ProcessState) agent.Exit {
	if s == nil {
		return agent.Exit{Code: -1}
	}
	exit := agent.Exit{Code: s.ExitCode()}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		exit.Signal = unix.SignalName(w.Signal())
	}
	return exit
}

// startError says why the agent did not start.
func startError(o Options, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT) && !isDir(o.Dir):
		return errors.WithHint(errors.Newf("the working directory %s does not exist", o.Dir), "start slidewrite in an existing folder")
	case errors.Is(err, unix.ENOENT) && isFile(o.Bin):
		return errors.WithHintf(errors.Newf("%s cannot run: the interpreter or loader it names is missing", o.Bin), "reinstall %s for this system", o.Bin)
	case errors.Is(err, unix.ENOENT), errors.Is(err, exec.ErrNotFound):
		return errors.WithHint(errors.Mark(errors.Newf("%s does not exist", o.Bin), ErrNotFound), "install it, or name another one with --claude-bin")
	case errors.Is(err, unix.EACCES):
		return errors.WithHintf(errors.Newf("%s is not executable", o.Bin), "chmod +x %s", o.Bin)
	case errors.Is(err, unix.ENOEXEC):
		return errors.WithHintf(errors.Newf("%s is not a program for this machine", o.Bin), "reinstall %s for this processor", o.Bin)
	case errors.Is(err, unix.E2BIG):
		return errors.WithHint(errors.Newf("the command line and environment of %s are too long", o.Bin), "unset the large environment variables")
	}
	return errors.Wrapf(err, "start %s", o.Bin)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return path == "" || err == nil && info.IsDir()
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
