// Package process owns what a run started: one agent process and everything
// that descends from it. It starts the agent in its own session with a marker
// in its environment, hands over its stdout line by line, queues its stdin,
// keeps the end of its stderr, and ends the whole family.
//
// Agents start each command in its own session, so a group kill misses them,
// and SIGTERM orphans them (claude 2.1.197, codex 0.171.0). What belongs to
// the family is therefore found, not assumed: see members.
//
// It leaves to others what the lines mean and when to stop.
//
// Flow: Start → ReadLine … io.EOF → Wait → Sweep; a stop calls End beside it.
//
// process.go, read.go, write.go and end.go say what; the _unix, _linux,
// _darwin and _windows files say how.
package process

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// MarkerVar is the environment variable that every process of a run inherits.
// Its value is "<state dir hash>.<run id>".
const MarkerVar = "SLIDEWRITE_RUN"

const (
	// defaultMaxLine is the longest stdout line that is handed over, in bytes.
	defaultMaxLine = 32 << 20
	// lingerAfterExit is how long the pipes are read after the agent's own
	// exit, when something it left behind holds their other ends. What the
	// agent itself wrote is in the pipe by then and is read in any case.
	lingerAfterExit = 500 * time.Millisecond
)

// Options say what to start.
type Options struct {
	Bin     string   // path of the executable, absolute
	Args    []string // without Bin
	Env     []string // the complete environment, KEY=VALUE
	Dir     string   // working directory
	Marker  string   // value of SLIDEWRITE_RUN, "" for none
	Marks   []string // further variables (KEY=VALUE, also in Env) that only this family has
	brief   bool     // a short command (Output): it claims no orphan that could be a run's
	MaxLine int      // longest line in bytes, 0 = 32 MiB

	linger time.Duration // 0 = lingerAfterExit; tests shorten it
}

// Family is one agent process and all that descends from it. ReadLine belongs
// to one goroutine; everything else may be called from any.
type Family struct {
	o      Options
	cmd    *exec.Cmd
	exited chan struct{} // closed once the agent's exit status is known

	stdin  *input
	stdout *lineReader
	stderr *ring

	mu       sync.Mutex
	exit     agent.Exit
	exitedAt time.Time
	stopping bool   // the end is wanted
	ended    []Proc // what was killed beside the agent itself

	sweepMu sync.Mutex // one sweep at a time

	platform platform
}

// Start starts the agent. It must be followed by reading its stdout to the
// end, Wait, Sweep and Close.
//
// Errors say what is wrong with the binary and carry a hint; a missing one is
// ErrNotFound.
func Start(o Options) (*Family, error) {
	if o.MaxLine == 0 {
		o.MaxLine = defaultMaxLine
	}
	if o.linger == 0 {
		o.linger = lingerAfterExit
	}
	prepareOnce()
	f := &Family{o: o, exited: make(chan struct{})}
	f.cmd = exec.Command(o.Bin, o.Args...)
	f.cmd.Dir, f.cmd.Env, f.cmd.SysProcAttr = o.Dir, withMarker(o.Env, o.Marker), sysProcAttr()
	pipes, err := openPipes(f.cmd)
	if err != nil {
		return nil, err
	}
	if err := f.platform.start(f); err != nil {
		pipes.closeAll()
		return nil, startError(o, err)
	}
	pipes.closeChildEnds()
	f.stdin = newInput(pipes.stdin)
	f.stdout = newLineReader(pipes.stdout, o.MaxLine)
	f.stderr = newRing(pipes.stderr)
	go f.waitAgent()
	f.platform.watch(f)
	return f, nil
}

// PID returns the agent's process id.
func (f *Family) PID() int { return f.cmd.Process.Pid }

// Wait waits for the agent process itself and for the end of its stderr, at
// most half a second longer when a grandchild holds that open.
func (f *Family) Wait() agent.Exit {
	<-f.exited
	<-f.stderr.done
	exit := f.exit // written before exited was closed
	exit.Stderr = strings.Join(f.Stderr(), "\n")
	return exit
}

// Stderr returns the last 200 lines of the agent's stderr, each cut to 2,000
// bytes.
func (f *Family) Stderr() []string { return f.stderr.lines() }

// Interrupt asks the agent process to stop: SIGINT (Windows: its job is
// ended). An agent that has already ended is not an error.
func (f *Family) Interrupt() error { return ignoreDone(f.platform.interrupt(f)) }

// Kill ends the agent and the whole family at once, listeners too.
func (f *Family) Kill() error {
	f.markStopping()
	err := ignoreDone(f.cmd.Process.Kill())
	return errors.CombineErrors(err, f.killMembers())
}

// Close releases the pipes. A family that was not swept is killed first, so a
// deferred Close is a safe net.
func (f *Family) Close() {
	if !f.hasExited() {
		f.Kill()
		<-f.exited
	}
	f.stdin.abandon()
	f.stdout.close()
	<-f.stderr.done
	f.platform.release(f)
}

func (f *Family) hasExited() bool {
	select {
	case <-f.exited:
		return true
	default:
		return false
	}
}

// markStopping notes that the end is wanted: from now on a sweep spares
// nobody, and an exit that comes after it is a stop.
func (f *Family) markStopping() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopping = true
}

func (f *Family) isStopping() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stopping
}

// waitAgent learns the agent's exit status and then gives the readers a last
// while: the pipes may be held open by something the agent left behind.
func (f *Family) waitAgent() {
	f.cmd.Wait()
	f.mu.Lock()
	f.exit = exitOf(f.cmd.ProcessState)
	f.exit.Stopped = f.stopping
	f.exitedAt = time.Now()
	f.mu.Unlock()
	f.stdin.abandon()
	f.platform.linger(f, f.o.linger)
	close(f.exited)
}

// withMarker returns env with the marker as its only SLIDEWRITE_RUN: a shim
// may itself run inside another shim's run.
func withMarker(env []string, marker string) []string {
	out := make([]string, 0, len(env)+1)
	for _, kv := range env {
		if !strings.HasPrefix(kv, MarkerVar+"=") {
			out = append(out, kv)
		}
	}
	if marker != "" {
		out = append(out, MarkerVar+"="+marker)
	}
	return out
}

func ignoreDone(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// pipes are the three pipes between us and the agent. They are ours, not
// os/exec's, so that Wait returns with the agent and not with the last
// grandchild that inherited them.
type pipes struct {
	stdin, stdout, stderr *os.File // our ends
	child                 []*os.File
}

func openPipes(cmd *exec.Cmd) (*pipes, error) {
	p := &pipes{}
	for _, open := range []func() error{
		func() error { r, w, err := os.Pipe(); p.add(r, w, &p.stdin); cmd.Stdin = r; return err },
		func() error { r, w, err := os.Pipe(); p.add(w, r, &p.stdout); cmd.Stdout = w; return err },
		func() error { r, w, err := os.Pipe(); p.add(w, r, &p.stderr); cmd.Stderr = w; return err },
	} {
		if err := open(); err != nil {
			p.closeAll()
			return nil, errors.WithHint(errors.Wrap(err, "open a pipe"), "close other programs or raise `ulimit -n`")
		}
	}
	widen(p.stdout)
	return p, nil
}

func (p *pipes) add(child, ours *os.File, to **os.File) {
	if child != nil {
		p.child = append(p.child, child)
		*to = ours
	}
}

func (p *pipes) closeChildEnds() {
	for _, f := range p.child {
		f.Close()
	}
}

func (p *pipes) closeAll() {
	p.closeChildEnds()
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		if f != nil {
			f.Close()
		}
	}
}
