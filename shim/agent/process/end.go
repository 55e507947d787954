package process

import (
	"context"
	"slices"
	"time"
)

const (
	// Grace is what a stray process gets to end by itself after a normal end
	// of the agent.
	Grace = 2 * time.Second
	// sweepLimit bounds how long a sweep kills again what starts again.
	sweepLimit = 5 * time.Second
	// lookEvery is the pause between two looks at what is left.
	lookEvery = 20 * time.Millisecond
)

// Proc is one process that a run left behind.
type Proc struct {
	PID     int
	Name    string   // as the system's process table has it, at most 15 bytes on Linux and macOS
	Listens []string // "tcp 127.0.0.1:5173", "unix /tmp/x.sock"
}

// Swept is what was left of a family after the agent's end.
type Swept struct {
	Ended []Proc // killed
	// Left are spared: they listen on a TCP or Unix socket (a dev server,
	// gpg-agent). The parents and children that each works with are spared
	// too and not listed. Empty after a stop, and on Windows.
	Left []Proc
	// Stuck could not be ended: processes of another user (sudo), or ones
	// that the kernel holds.
	Stuck []Proc
}

// Opening is the first move of a stop.
type Opening int

const (
	// Asked: the caller wrote the agent's own interrupt request to its stdin.
	Asked Opening = iota
	// CloseStdin: no prompt was sent yet; an agent without work ends when its
	// input does.
	CloseStdin
	// Signal: the agent has no such request; SIGINT is what it understands.
	Signal
)

// Ladder is when a stop takes which step, from the request for it.
type Ladder struct {
	CloseStdin time.Duration // or at the agent's result, if that is sooner
	Interrupt  time.Duration // SIGINT
	Kill       time.Duration // SIGKILL to all
	Swept      time.Duration // nothing is left
}

// DefaultLadder has the times measured for claude 2.1.332: an interrupt is
// answered in 5 to 40 ms; after a command with children the process exits 1.3
// to 1.6 s after its stdin closes, whatever is sent.
var DefaultLadder = Ladder{
	CloseStdin: 1500 * time.Millisecond,
	Interrupt:  3 * time.Second,
	Kill:       4 * time.Second,
	Swept:      5 * time.Second,
}

// End stops the agent and its family step by step and returns what it had to
// end. open makes the first move; result is closed when the agent has reported
// its result. The caller goes on reading stdout meanwhile.
//
// An agent that ends by itself at any step skips the steps left. A cancelled
// ctx skips the waiting: all is killed at once.
func (f *Family) End(ctx context.Context, l Ladder, open func() Opening, result <-chan struct{}) Swept {
	start := time.Now()
	f.remember() // the tree as it is before the agent lets go of parts of it
	f.markStopping()
	first := Signal
	if !f.hasExited() {
		first = open()
	}
	switch first {
	case CloseStdin:
		f.CloseStdin()
	case Signal:
		f.Interrupt()
	}
	steps := []struct {
		at    time.Duration
		early <-chan struct{} // takes the step before its time
		do    func()
	}{
		{l.CloseStdin, result, f.CloseStdin},
		{l.Interrupt, nil, func() { f.Interrupt() }},
		{l.Kill, nil, func() { f.Kill() }},
	}
	for _, s := range steps {
		if f.exitsWithin(ctx, time.Until(start.Add(s.at)), s.early) {
			break
		}
		s.do()
	}
	left := time.Until(start.Add(l.Swept))
	sweep, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(left, l.Swept-l.Kill))
	defer cancel()
	return f.Sweep(sweep, 0)
}

// EndAgent ends the agent alone, one that has nothing more to say. What it
// leaves behind is for Sweep, which spares servers.
func (f *Family) EndAgent(ctx context.Context, l Ladder) {
	start := time.Now()
	f.remember()
	f.CloseStdin()
	for _, s := range []struct {
		at time.Duration
		do func() error
	}{
		{l.Interrupt - l.CloseStdin, f.Interrupt},
		{l.Kill - l.CloseStdin, f.cmd.Process.Kill},
	} {
		if f.exitsWithin(ctx, time.Until(start.Add(s.at)), nil) {
			return
		}
		_ = s.do() // it ended meanwhile
	}
}

// exitsWithin waits for the agent's exit. It gives up, false, after d, at
// early or when ctx ends.
func (f *Family) exitsWithin(ctx context.Context, d time.Duration, early <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-f.exited:
		return true
	case <-early:
	case <-ctx.Done():
	case <-timer.C:
	}
	return f.hasExited()
}

// Sweep ends what is left of the family after the agent's exit. What is left
// gets grace, counted from the exit, to end by itself (Grace after a normal
// end; none after a stop) and is then killed, again and again until nothing is left, for at most 5 s.
//
// After a normal end, processes that listen on a socket are spared and
// reported. A stop that comes while Sweep waits ends the waiting and the
// sparing.
//
// Every call returns all that was ended so far, by Kill and End too.
func (f *Family) Sweep(ctx context.Context, grace time.Duration) Swept {
	f.sweepMu.Lock()
	defer f.sweepMu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, grace+sweepLimit)
	defer cancel()
	left, stuck := f.sweep(ctx, f.graceEnd(grace))
	f.mu.Lock()
	defer f.mu.Unlock()
	return Swept{Ended: slices.Clone(f.ended), Left: left, Stuck: stuck}
}

// graceEnd is grace after the agent's exit, or after now while it lives.
func (f *Family) graceEnd(grace time.Duration) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.exitedAt.IsZero() {
		return time.Now().Add(grace)
	}
	return f.exitedAt.Add(grace)
}

// noteEnded adds killed processes to what Sweep reports, each once.
func (f *Family) noteEnded(killed []Proc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range killed {
		if !slices.ContainsFunc(f.ended, func(e Proc) bool { return e.PID == p.PID }) {
			f.ended = append(f.ended, p)
		}
	}
}

// pause waits a moment; false when ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
