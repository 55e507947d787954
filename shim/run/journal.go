package run

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"sort"
	"sync"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/event"
)

const (
	// memoryWindow is how many bytes of encoded events a journal keeps in
	// memory; what is older is read back from its file.
	memoryWindow = 8 << 20
	// endedWindow is what an ended journal keeps of that.
	endedWindow = 64 << 10
	// chunkBytes is the size at which a chunk of that window is full. It is
	// also about how much is written to the file at once.
	chunkBytes = 60 << 10
	// batchBytes bounds what one call of Follower.Next reads from the file.
	batchBytes = 256 << 10
	// indexEvery is the distance of the remembered file offsets, in events.
	indexEvery = 1024
	// flushAfter is how long an event that nobody follows may sit in the write
	// buffer: what a kill -9 of the shim can lose of the stored journal.
	flushAfter = 100 * time.Millisecond
)

// Frame is one event of a run, encoded.
type Frame struct {
	Seq  int64  // 1, 2, 3 …
	Data []byte // the JSON object, one line, without its newline; not to be changed
}

// journal is the list of events of one run. One writer appends; any number of
// followers read, each at its own pace, so that a slow one never slows the
// agent and loses nothing. Every event also goes to a file, one JSON line
// each: what falls out of the memory window is read back from there.
type journal struct {
	mu     sync.Mutex
	chunks []chunk // the window in memory: consecutive, ends at last
	bytes  int     // in chunks
	last   int64   // seq of the newest event
	shown  int64   // seq of the newest event that followers are given
	done   bool    // nothing will be appended any more

	path    string
	file    *os.File // nil once closed, or when it could not be written
	stored  int      // bytes of the newest chunk that are in the file; all of the others are
	size    int64    // bytes of all events, in the file or not yet
	offsets []int64  // offsets[i] = where event i*indexEvery+1 begins
	broken  error    // writing failed: the window is not trimmed any more
	flush   *time.Timer

	// elsewhere tells whether another process still appends to the file; nil
	// = the journal is this process's own, or has ended. done is true then.
	elsewhere func() bool

	wake chan struct{} // closed at the next append; nil when nobody waits
}

// chunk is a piece of the file. One allocation for hundreds of events: one
// for each would keep the garbage collector busy.
type chunk struct {
	first int64  // seq of its first event
	data  []byte // each event with its newline; followers hold slices of it, so it only grows
	ends  []int  // ends[i] = where event first+i ends in data, its newline included
}

// newJournal makes a journal whose file is created at path. A path that
// cannot be written costs the replay after a restart, not the run.
func newJournal(path string) *journal {
	j := &journal{path: path}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		j.broken = err
		return j
	}
	j.write(f)
	return j
}

func (j *journal) write(f *os.File) { j.file = f }

// endedJournal takes nothing in: for what happens after a run's done.
func endedJournal() *journal { return &journal{done: true, broken: errNoFile} }

// openJournal opens the journal of a run that an earlier shim made. A last
// line that was half written is left out.
func openJournal(path string) (*journal, error) {
	j := &journal{path: path, done: true}
	return j, j.scan()
}

// scan takes in the whole lines of the file that come behind j.size.
func (j *journal) scan() error {
	f, err := os.Open(j.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(j.size, io.SeekStart); err != nil {
		return err
	}
	r := bufio.NewReaderSize(f, 64<<10)
	for {
		n, whole, err := skipLine(r)
		if whole {
			if j.last%indexEvery == 0 {
				j.offsets = append(j.offsets, j.size)
			}
			j.last++
			j.shown = j.last
			j.size += n
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// conclude gives a journal that was opened its done, where the shim died
// between noting the end in the ledger and here. The file stays as it is.
func (j *journal) conclude() error {
	data, err := event.Encode(event.Done{})
	if err != nil {
		return err
	}
	f, err := os.Open(j.path)
	if err != nil {
		return err
	}
	defer f.Close()
	last := make([]byte, len(data)+1)
	if _, err := f.ReadAt(last, max(j.size-int64(len(last)), 0)); err != nil && err != io.EOF {
		return err
	}
	if string(last) == string(data)+"\n" {
		return nil
	}
	j.last++
	j.shown = j.last
	j.chunks = []chunk{{first: j.last, data: append(data, '\n'), ends: []int{len(data) + 1}}}
	return nil
}

// skipLine reads past one line of any length and tells its size and whether
// it had a newline.
func skipLine(r *bufio.Reader) (n int64, whole bool, err error) {
	for {
		b, err := r.ReadSlice('\n')
		n += int64(len(b))
		if err == bufio.ErrBufferFull {
			continue
		}
		return n, err == nil, err
	}
}

// append adds e and shows it. It never waits for a follower.
func (j *journal) append(e event.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.addLocked(e)
	j.publishLocked()
}

// add is append for an event that others follow at once: it may stay hidden
// until publish. Followers that are woken for each of many events cost more
// than the events.
func (j *journal) add(e event.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.addLocked(e)
}

// publish shows followers what was added.
func (j *journal) publish() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.publishLocked()
}

func (j *journal) addLocked(e event.Event) {
	if j.done {
		return
	}
	c := j.room()
	data, err := event.Append(c.data, e)
	if err != nil { // an event of ours that cannot be encoded is a bug; the client is told
		data, _ = event.Append(c.data, event.Error{Message: err.Error(), Code: event.CodeInternal})
	}
	data = append(data, '\n')
	if j.last%indexEvery == 0 {
		j.offsets = append(j.offsets, j.size)
	}
	n := len(data) - len(c.data)
	c.data, c.ends = data, append(c.ends, len(data))
	j.last++
	j.size += int64(n)
	j.bytes += n
	j.trim(memoryWindow)
	if _, ok := e.(event.Done); ok {
		j.close()
	} else if j.flush == nil && j.file != nil {
		j.flush = time.AfterFunc(flushAfter, func() {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.flush = nil
			j.flushLocked()
		})
	}
}

// room is the chunk that takes the next event. One that is full goes to the
// file, and its events are shown.
func (j *journal) room() *chunk {
	var newest *chunk
	if len(j.chunks) > 0 {
		newest = &j.chunks[len(j.chunks)-1]
		if len(newest.data) < chunkBytes {
			return newest
		}
	}
	next := chunk{first: j.last + 1}
	if newest != nil { // the first one grows as it must: most runs are short
		next.data, next.ends = make([]byte, 0, chunkBytes+4<<10), make([]int, 0, len(newest.ends)+16)
	}
	j.flushLocked()
	j.publishLocked()
	j.stored = 0
	j.chunks = append(j.chunks, next)
	return &j.chunks[len(j.chunks)-1]
}

func (j *journal) publishLocked() {
	if j.shown == j.last {
		return
	}
	j.shown = j.last
	if j.wake != nil {
		close(j.wake)
		j.wake = nil
	}
}

// flushNow puts all events into the file: they outlive this process.
func (j *journal) flushNow() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.flushLocked()
}

func (j *journal) flushLocked() {
	if j.file == nil || j.broken != nil || len(j.chunks) == 0 {
		return
	}
	rest := j.chunks[len(j.chunks)-1].data[j.stored:]
	if len(rest) == 0 {
		return
	}
	if _, err := j.file.Write(rest); err != nil {
		j.broken = err
		return
	}
	j.stored += len(rest)
}

// trim drops the oldest chunks when there are more than window bytes, down to
// three quarters of it. The newest stays: it is not in the file yet.
func (j *journal) trim(window int) {
	if j.bytes <= window || j.broken != nil {
		return
	}
	n := 0
	for j.bytes > window*3/4 && n < len(j.chunks)-1 {
		j.bytes -= len(j.chunks[n].data)
		n++
	}
	j.chunks = append([]chunk(nil), j.chunks[n:]...)
}

// close ends the journal; j.mu is held.
func (j *journal) close() {
	j.done = true
	j.publishLocked()
	if j.flush != nil {
		j.flush.Stop()
		j.flush = nil
	}
	if j.file != nil {
		j.flushLocked()
		j.trim(endedWindow)
		if err := j.file.Close(); err != nil && j.broken == nil {
			j.broken = err
		}
		j.file = nil
	}
}

// ended tells whether the last event was appended.
func (j *journal) ended() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.done
}

// Follower reads a journal from a place on. It is used by one goroutine.
type Follower struct {
	j     *journal
	after int64 // seq of the last frame returned
	file  *os.File
	r     *bufio.Reader
	at    int64 // seq of the last frame read from file
	// offset is where the next one begins.
	offset int64
}

// follow reads what comes behind an event. Where there is none of that number
// (a journal of which a power cut took the end), it reads everything: a
// follower must get to done.
func (j *journal) follow(after int64) *Follower {
	j.mu.Lock()
	defer j.mu.Unlock()
	if after < 0 || after > j.last {
		after = 0
	}
	return &Follower{j: j, after: after}
}

// Next returns the frames after the last one returned, at least one and all
// that are ready (bounded); it waits for one. After the frames of an ended
// run it returns io.EOF.
func (f *Follower) Next(ctx context.Context) ([]Frame, error) {
	for {
		j := f.j
		j.mu.Lock()
		if f.after < j.shown {
			first := j.last + 1 // in memory
			if len(j.chunks) > 0 {
				first = j.chunks[0].first
			}
			if f.after+1 >= first {
				frames := j.batch(f.after)
				j.flushLocked() // what a client has seen outlives a kill -9
				j.mu.Unlock()
				f.Close()
				f.after = frames[len(frames)-1].Seq
				return frames, nil
			}
			j.flushLocked()
			broken := j.broken
			j.mu.Unlock()
			if broken != nil {
				return nil, errors.Wrap(broken, "read the journal back")
			}
			return f.fromFile(first - 1)
		}
		if j.elsewhere != nil {
			err := j.refresh()
			quiet := f.after >= j.shown && j.elsewhere != nil
			j.mu.Unlock()
			if err == nil && quiet {
				err = pause(ctx, flushAfter)
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		if j.done {
			j.mu.Unlock()
			return nil, io.EOF
		}
		if j.wake == nil {
			j.wake = make(chan struct{})
		}
		wake := j.wake
		j.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// refresh looks what another process has appended to the file; j.mu is held.
func (j *journal) refresh() error {
	running := j.elsewhere() // first: what comes before the end is in the file by then
	if err := j.scan(); err != nil {
		return errors.Wrap(err, "read the journal of another process")
	}
	if running {
		return nil
	}
	j.elsewhere = nil
	return j.conclude()
}

// pause waits; it fails when ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// batch is the frames after the one numbered after that are in its chunk: at
// least one.
func (j *journal) batch(after int64) []Frame {
	i := sort.Search(len(j.chunks), func(i int) bool { return j.chunks[i].first > after+1 }) - 1
	c := &j.chunks[i]
	from, to := int(after+1-c.first), min(len(c.ends), int(j.shown+1-c.first))
	begin := 0
	if from > 0 {
		begin = c.ends[from-1]
	}
	frames := make([]Frame, 0, to-from)
	for ; from < to; from++ {
		end := c.ends[from]
		frames = append(frames, Frame{Seq: c.first + int64(from), Data: c.data[begin : end-1 : end-1]})
		begin = end
	}
	return frames
}

// fromFile returns frames up to seq upTo that are no longer in memory.
func (f *Follower) fromFile(upTo int64) ([]Frame, error) {
	if f.file == nil || f.at != f.after {
		if err := f.seek(); err != nil {
			return nil, err
		}
	}
	var frames []Frame
	for size := 0; f.after < upTo && (len(frames) == 0 || size < batchBytes); {
		line, err := f.readLine()
		if err != nil {
			return nil, errors.Wrap(err, "read the journal back")
		}
		f.at++
		f.after = f.at
		size += len(line)
		frames = append(frames, Frame{Seq: f.at, Data: line})
	}
	return frames, nil
}

// readLine reads the next line of the file, without its newline. A long one is
// measured first: gathered in pieces it would take twice its size.
func (f *Follower) readLine() ([]byte, error) {
	part, err := f.r.ReadSlice('\n')
	if err != nil && err != bufio.ErrBufferFull {
		return nil, err
	}
	if err == nil {
		f.offset += int64(len(part))
		return bytes.Clone(part[:len(part)-1]), nil
	}
	rest, _, err := skipLine(f.r)
	if err != nil {
		return nil, err
	}
	line := make([]byte, int64(len(part))+rest)
	if _, err := f.file.ReadAt(line, f.offset); err != nil {
		return nil, err
	}
	f.offset += int64(len(line))
	return line[:len(line)-1], nil
}

// seek opens the file behind frame f.after.
func (f *Follower) seek() error {
	f.Close()
	file, err := os.Open(f.j.path)
	if err != nil {
		return errors.Wrap(err, "read the journal back")
	}
	f.file = file
	f.j.mu.Lock()
	slot := f.after / indexEvery
	offset := f.j.offsets[slot]
	f.j.mu.Unlock()
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	f.r = bufio.NewReaderSize(file, 64<<10)
	f.offset = offset
	for f.at = slot * indexEvery; f.at < f.after; f.at++ {
		n, _, err := skipLine(f.r)
		if err != nil {
			return err
		}
		f.offset += n
	}
	return nil
}

// Close releases the follower's file, if it has one open. Next may be called
// again afterwards.
func (f *Follower) Close() {
	if f.file != nil {
		f.file.Close()
		f.file, f.r = nil, nil
	}
}
