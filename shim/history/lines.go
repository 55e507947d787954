package history

import (
	"bytes"
	"context"
	"io"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
)

const (
	firstBlock = 32 << 10  // bytes; what a foreign session costs
	block      = 256 << 10 // bytes; small enough for the processor's cache
)

// errChanged is a file that became shorter while it was read.
var errChanged = errors.New("the file changed while it was read")

// lines reads a part of a file line by line, with a buffer of at most limit
// and a block. It is reused from file to file.
type lines struct {
	ctx   context.Context
	file  io.ReaderAt
	limit int  // bytes; what a line has more is dropped
	brief bool // the long strings of a line with more are shortened first

	buf     []byte
	from    int   // the next line begins here in buf
	to      int   // buf is filled up to here
	seen    int   // no newline before here
	start   int64 // offset of the next line
	off     int64 // offset to read next
	end     int64 // nothing behind this offset is read
	dropped int64 // bytes of the next line that are not in buf
	want    int   // bytes to read next

	short agent.Shortener
	done  int // bytes behind from that are shortened
}

// open begins with the line at start; nothing behind end is read.
func (l *lines) open(ctx context.Context, file io.ReaderAt, start, end int64, limit int) {
	*l = lines{ctx: ctx, file: file, limit: limit, buf: l.buf, start: start, off: start, end: end, want: firstBlock}
	l.buffer()
}

// buffer is for other use between the files.
func (l *lines) buffer() []byte {
	if l.buf == nil {
		l.buf = make([]byte, block)
	}
	return l.buf
}

// next returns the next line without its newline, its offset, and whether it
// was cut to the limit. It is valid until the call after. io.EOF is the end:
// what is left has no newline yet.
func (l *lines) next() (line []byte, at int64, cut bool, err error) {
	for {
		if i := bytes.IndexByte(l.buf[l.seen:l.to], '\n'); i >= 0 {
			end := l.seen + i
			at, cut = l.start, l.dropped > 0 || end-l.from > l.limit
			l.start += int64(end-l.from) + l.dropped + 1
			line = l.buf[l.from:end]
			if l.brief && cut {
				line = line[:l.done+len(l.short.Shorten(line[l.done:]))]
			}
			line = line[:min(len(line), l.limit)]
			l.from, l.seen, l.dropped = end+1, end+1, 0
			l.short, l.done = agent.Shortener{}, 0
			return line, at, cut, nil
		}
		l.seen = l.to
		if err := l.fill(); err != nil {
			return nil, 0, false, err
		}
	}
}

// fill reads one block more.
func (l *lines) fill() error {
	if l.off >= l.end {
		return io.EOF
	}
	if err := l.ctx.Err(); err != nil {
		return err
	}
	l.makeRoom()
	room := l.buf[l.to:min(len(l.buf), l.to+l.want)]
	if left := l.end - l.off; int64(len(room)) > left {
		room = room[:left]
	}
	n, err := l.file.ReadAt(room, l.off)
	l.want = block
	l.to += n
	l.off += int64(n)
	if n == 0 && errors.Is(err, io.EOF) {
		return errChanged
	}
	if n == 0 {
		return err
	}
	return nil
}

func (l *lines) makeRoom() {
	if l.from > 0 {
		l.to = copy(l.buf, l.buf[l.from:l.to])
		l.from, l.seen = 0, l.to
	}
	if l.brief && l.to > l.limit {
		to := l.done + len(l.short.Shorten(l.buf[l.done:l.to]))
		l.dropped += int64(l.to - to)
		l.to, l.seen, l.done = to, to, min(to, l.limit)
	}
	if l.to > l.limit { // its beginning is enough
		l.dropped += int64(l.to - l.limit)
		l.to, l.seen = l.limit, l.limit
	}
	if len(l.buf)-l.to >= block/2 {
		return
	}
	bigger := make([]byte, min(2*len(l.buf), l.limit+block))
	copy(bigger, l.buf[:l.to])
	l.buf = bigger
}

// openBrief is open for who needs no more of a long record than an agent.Scan
// gets to see.
func (l *lines) openBrief(ctx context.Context, file io.ReaderAt, start, end int64) {
	l.open(ctx, file, start, end, agent.ScanLimit)
	l.brief = true
}

// backward finds where lines of a file begin, from its end on.
type backward struct {
	ctx  context.Context
	file io.ReaderAt
	at   int64 // offset of buf
	buf  []byte
}

const backBlock = 64 << 10 // bytes

// startOf is the offset of the line whose newline is at end.
func (b *backward) startOf(end int64) (int64, error) {
	for {
		if within := end - b.at; within >= 0 && within <= int64(len(b.buf)) {
			if i := bytes.LastIndexByte(b.buf[:within], '\n'); i >= 0 || b.at == 0 {
				return b.at + int64(i) + 1, nil
			}
			end = b.at
		}
		if err := b.ctx.Err(); err != nil {
			return 0, err
		}
		b.at = max(0, end-backBlock)
		if b.buf == nil {
			b.buf = make([]byte, backBlock)
		}
		b.buf = b.buf[:end-b.at]
		if _, err := io.ReadFull(io.NewSectionReader(b.file, b.at, end-b.at), b.buf); err != nil {
			return 0, shorter(err)
		}
	}
}

// shorter says what an early end of a file means.
func shorter(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errChanged
	}
	return err
}

// lastLine is the offset behind the last newline before size.
func lastLine(ctx context.Context, file io.ReaderAt, size int64) (int64, error) {
	b := backward{ctx: ctx, file: file, at: -1}
	return b.startOf(size)
}
