package process

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/cockroachdb/errors"
)

const (
	readBuffer = 256 << 10 // bytes; one read takes many small lines
	keepBuffer = 1 << 20   // bytes; a longer line is not gathered in the buffer that is kept for the next
	widePipe   = 1 << 20   // bytes; what Linux allows anyone (pipe-max-size)
	// hugeLine is a line, in bytes, that the collector is called for: it lets
	// garbage become as large as what is alive, which is several such lines.
	hugeLine    = 8 << 20
	ringLines   = 200
	ringLineMax = 2000 // bytes
)

// Line is one line of the agent's stdout.
type Line struct {
	// Bytes are without the newline and valid until the next ReadLine.
	Bytes []byte
	// Skipped is how long a line above MaxLine was, in bytes; it is not in
	// Bytes. 0 for every other line.
	Skipped int64
	// Partial marks a last line that no newline ended.
	Partial bool
	// More says that the next ReadLine has a line and does not wait.
	More bool
}

// ReadLine returns the next line of the agent's stdout, io.EOF after the last.
// Lines end at \n only: U+2028 and \r are data.
//
// It reads the pipe directly, so the pipe is drained as fast as the caller
// asks: the caller must never wait for a client between two calls.
//
// After the agent's exit a pipe that a grandchild holds open is read for half
// a second more.
func (f *Family) ReadLine() (Line, error) { return f.stdout.next() }

type lineReader struct {
	src  *tailReader
	buf  *bufio.Reader
	max  int
	long []byte // a line longer than buf, or its head; at most keepBuffer
}

func newLineReader(src *os.File, max int) *lineReader {
	t := &tailReader{src: src}
	return &lineReader{src: t, buf: bufio.NewReaderSize(t, readBuffer), max: max}
}

func (r *lineReader) next() (Line, error) {
	part, err := r.buf.ReadSlice('\n')
	if err == nil && len(part)-1 <= r.max {
		return Line{Bytes: part[:len(part)-1], More: r.more()}, nil
	}
	return r.slow(part, err)
}

func (r *lineReader) more() bool {
	rest, _ := r.buf.Peek(r.buf.Buffered())
	return bytes.IndexByte(rest, '\n') >= 0
}

// slow assembles a line that is longer than the buffer or ended by EOF, and
// skips one that is longer than max. A huge one is gathered in pieces: a buffer
// that grew with it would leave several times its size for the collector.
func (r *lineReader) slow(part []byte, err error) (Line, error) {
	r.long = r.long[:0]
	var pieces [][]byte
	var size int64
	for {
		end := len(part)
		if err == nil {
			end-- // the newline
		}
		if size < hugeLine && size+int64(end) >= hugeLine {
			runtime.GC() // what the line before has left
		}
		size += int64(end)
		switch {
		case size > int64(r.max):
			pieces = nil
		case size <= keepBuffer:
			r.long = append(r.long, part[:end]...)
		default:
			pieces = append(pieces, bytes.Clone(part[:end]))
		}
		if err != bufio.ErrBufferFull {
			break
		}
		part, err = r.buf.ReadSlice('\n')
	}
	if err != nil && size == 0 {
		r.close()
		return Line{}, err
	}
	if err != nil && err != io.EOF {
		return Line{}, errors.Wrap(err, "read the agent's output")
	}
	line := Line{Bytes: r.long, Partial: err == io.EOF, More: r.more()}
	if size > int64(r.max) {
		line.Bytes, line.Skipped = nil, size
	} else if pieces != nil {
		line.Bytes = slices.Concat(append([][]byte{r.long}, pieces...)...)
		if size >= hugeLine {
			pieces = nil
			debug.FreeOSMemory() // and what the pieces took is not filled again
		}
	}
	return line, nil
}

func (r *lineReader) close() { r.src.src.Close() }

// tailReader reads a pipe to its end. Once the pipe's deadline has passed
// (see linger) it takes what is in the pipe already, at most a pipe's
// capacity, and then reports io.EOF although others hold the pipe open.
type tailReader struct {
	src  *os.File
	late bool // the deadline has passed
	rest int  // bytes read since
}

func (t *tailReader) Read(p []byte) (int, error) {
	if !t.late {
		n, err := t.src.Read(p)
		if errors.Is(err, os.ErrClosed) {
			return n, io.EOF
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		t.late = true
	}
	if t.rest >= widePipe {
		return 0, io.EOF
	}
	n, err := readAvailable(t.src, p[:min(len(p), widePipe-t.rest)])
	t.rest += n
	if n == 0 || err != nil {
		return 0, io.EOF
	}
	return n, nil
}

// ring keeps the last lines of stderr. It reads all there is, whatever its
// size, so that an agent never waits for us.
type ring struct {
	src  *os.File
	done chan struct{} // closed at the end of the pipe

	mu   sync.Mutex
	kept []string
	next int // where the next line goes once kept is full
}

func newRing(src *os.File) *ring {
	r := &ring{src: src, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		defer src.Close()
		r.fill(bufio.NewReaderSize(&tailReader{src: src}, 4096))
	}()
	return r
}

func (r *ring) fill(buf *bufio.Reader) {
	var line []byte
	for {
		part, err := buf.ReadSlice('\n')
		if room := ringLineMax + utf8.UTFMax - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			r.add(cut(line, ringLineMax))
		}
		line = line[:0]
		if err != nil {
			return
		}
	}
}

// cut shortens b to at most max bytes, at a rune's boundary.
func cut(b []byte, max int) string {
	if len(b) > max {
		for max > 0 && !utf8.RuneStart(b[max]) {
			max--
		}
		b = b[:max]
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

func (r *ring) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.kept) < ringLines {
		r.kept = append(r.kept, line)
		return
	}
	r.kept[r.next] = line
	r.next = (r.next + 1) % ringLines
}

func (r *ring) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append(append([]string(nil), r.kept[r.next:]...), r.kept[:r.next]...)
}
