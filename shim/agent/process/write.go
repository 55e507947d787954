package process

import (
	"os"
	"sync"

	"github.com/cockroachdb/errors"
)

// ErrStdinClosed is what WriteLine answers after CloseStdin.
var ErrStdinClosed = errors.New("the agent's stdin is closed")

// WriteLine queues b, which ends with its newline, for the agent's stdin and
// returns at once. b is kept: do not change it afterwards. An agent that has
// gone away (EPIPE) is no error: its lines and its exit say what happened.
func (f *Family) WriteLine(b []byte) error { return f.stdin.add(b) }

// CloseStdin closes the agent's stdin once all queued lines are written. An
// agent ends by that; so this is the last look at what only its parent tells
// whose it is.
func (f *Family) CloseStdin() {
	f.remember()
	f.stdin.closeAfterQueue()
}

// input is a queue in front of a pipe, with a goroutine that empties it.
type input struct {
	dst *os.File

	mu     sync.Mutex
	wake   *sync.Cond
	queue  [][]byte
	closed bool // nothing more will be queued
	gone   bool // what is queued cannot be written
}

func newInput(dst *os.File) *input {
	in := &input{dst: dst}
	in.wake = sync.NewCond(&in.mu)
	go in.write()
	return in
}

func (in *input) add(b []byte) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.gone {
		return nil
	}
	if in.closed {
		return ErrStdinClosed
	}
	in.queue = append(in.queue, b)
	in.wake.Signal()
	return nil
}

func (in *input) closeAfterQueue() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	in.wake.Signal()
}

// abandon drops the queue and closes the pipe under a write that waits. It is
// called when the agent has ended.
func (in *input) abandon() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed, in.gone, in.queue = true, true, nil
	in.wake.Signal()
	in.dst.Close()
}

func (in *input) write() {
	for {
		b, ok := in.take()
		if !ok {
			in.dst.Close()
			return
		}
		if _, err := in.dst.Write(b); err != nil {
			in.abandon() // EPIPE: the agent reads no more
		}
	}
}

// take waits for the next line; ok is false when there will be none.
func (in *input) take() (b []byte, ok bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.queue) == 0 && !in.closed {
		in.wake.Wait()
	}
	if len(in.queue) == 0 {
		return nil, false
	}
	b = in.queue[0]
	in.queue = in.queue[1:]
	return b, true
}
