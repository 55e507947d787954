package sse

import (
	"bufio"
	"bytes"
	"io"
	"iter"
	"strconv"
)

// Read yields the frames of a stream. It takes lines of any length, CRLF, a
// byte order mark, comments, data over several lines (joined with "\n"), and
// skips fields it does not know. An id that is not a number is skipped; a
// frame without an id has the one before. Line ends are LF or CRLF: a lone CR
// is data, since no writer of JSON makes one.
//
// A stream that ends inside a frame yields io.ErrUnexpectedEOF last: the
// frame was cut. Each frame's data is its own memory.
func Read(r io.Reader) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		p := parser{lines: bufio.NewReaderSize(r, 64<<10)}
		for {
			f, err := p.next()
			if err == io.EOF {
				return
			}
			if !yield(f, err) || err != nil {
				return
			}
		}
	}
}

// parser reads frame by frame.
type parser struct {
	lines *bufio.Reader
	long  []byte // a line that did not fit the buffer of lines
	begun bool   // the first line was read
	id    int64  // of the last frame that had one
}

// next returns the next frame that has data, or io.EOF.
func (p *parser) next() (Frame, error) {
	var data []byte
	var has, inside bool
	for {
		line, err := p.line()
		if err != nil {
			if err == io.EOF && (inside || len(line) > 0) {
				err = io.ErrUnexpectedEOF
			}
			return Frame{}, err
		}
		if len(line) == 0 {
			if has {
				return Frame{ID: p.id, Data: data}, nil
			}
			inside = false
			continue
		}
		name, value := field(line)
		switch name {
		case "data":
			if has {
				data = append(data, '\n')
			}
			data, has, inside = append(data, value...), true, true
		case "id":
			inside = true
			if n, err := strconv.ParseInt(string(value), 10, 64); err == nil && n >= 0 {
				p.id = n
			}
		}
	}
}

// field splits a line into its name and value; the name of a comment is "".
func field(line []byte) (name string, value []byte) {
	n, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(n) { // no allocation for the names there are
	case "data":
		return "data", value
	case "id":
		return "id", value
	}
	return "", nil
}

// line returns the next line without its end, valid until the next call. At
// the end of the stream it returns what is left and io.EOF.
func (p *parser) line() ([]byte, error) {
	line, err := p.lines.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		p.long = append(p.long[:0], line...)
		for err == bufio.ErrBufferFull {
			line, err = p.lines.ReadSlice('\n')
			p.long = append(p.long, line...)
		}
		line = p.long
		if cap(p.long) > 1<<20 { // do not keep a huge line's memory
			p.long = nil
		}
	}
	if !p.begun {
		p.begun = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if err != nil {
		return line, err
	}
	line = line[:len(line)-1]
	return bytes.TrimSuffix(line, []byte("\r")), nil
}
