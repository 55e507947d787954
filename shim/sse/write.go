// Package sse turns the events of a run into the bytes of a
// text/event-stream and back.
//
// A frame on the wire is
//
//	id: 7
//	data: {"type":"delta", …}
//
// and a blank line. Silence is filled with ": ping" comments. The package
// knows neither runs nor events: data is bytes.
//
// Flow: run.Follower → Writer (the server) ⇢ TCP ⇢ Read (the command line,
// tests).
package sse

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/cockroachdb/errors"
)

// Frame is one event of a stream.
type Frame struct {
	ID   int64  // 1, 2, 3 …; 0 when the stream named none yet
	Data []byte // one JSON object, without a newline
}

const (
	// PingEvery is the silence after which a comment is sent, so that
	// proxies and browsers keep the connection.
	PingEvery = 15 * time.Second
	// StallAfter is how long one write may wait for a client that does not
	// read.
	StallAfter = 30 * time.Second
	// chunkBytes is how much is gathered before it is written. A client has
	// StallAfter for each chunk, so a slow one that does read is never cut.
	chunkBytes = 32 << 10
)

// SetHeader puts the headers of a stream into h.
func SetHeader(h http.Header) {
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
}

// Writer writes frames to one client. It gathers frames and writes them when
// there are 32 KiB, or at Flush. It is used by one goroutine.
type Writer struct {
	w     io.Writer
	rc    *http.ResponseController
	stall time.Duration
	buf   []byte
	err   error // the first failed write: nothing is written after it
}

// NewWriter returns a Writer to an HTTP response whose headers are set. Every
// write must be taken by the client within stall, else the connection is
// broken for good; 0 = StallAfter.
func NewWriter(w http.ResponseWriter, stall time.Duration) *Writer {
	if stall == 0 {
		stall = StallAfter
	}
	return &Writer{w: w, rc: http.NewResponseController(w), stall: stall}
}

// Frame adds one frame. Its data is copied or written; either way it is not
// kept. The error, here and in the other methods, is the first one the
// client's connection gave.
func (w *Writer) Frame(f Frame) error {
	w.buf = append(w.buf, "id: "...)
	w.buf = strconv.AppendInt(w.buf, f.ID, 10)
	if bytes.IndexByte(f.Data, '\n') < 0 && bytes.IndexByte(f.Data, '\r') < 0 {
		w.dataLine(f.Data)
	} else {
		w.dataLines(f.Data)
	}
	w.buf = append(w.buf, "\n\n"...)
	if len(w.buf) >= chunkBytes {
		return w.write()
	}
	return w.err
}

// dataLine adds one data line. A large one goes out without a copy: a client
// that does not read must not double the memory of a huge event.
func (w *Writer) dataLine(line []byte) {
	w.buf = append(w.buf, "\ndata: "...)
	if len(line) < chunkBytes {
		w.buf = append(w.buf, line...)
		return
	}
	_ = w.write() // the error is kept
	w.writeChunks(line)
}

// dataLines adds data that has line ends inside, one data line for each line;
// a reader joins them with "\n".
func (w *Writer) dataLines(data []byte) {
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		w.dataLine(line)
	}
}

// Ping writes a comment, which clients skip, and flushes.
func (w *Writer) Ping() error {
	w.buf = append(w.buf, ": ping\n\n"...)
	return w.Flush()
}

// Flush hands everything to the network. Call it when no further frame is
// ready; there is no timer.
func (w *Writer) Flush() error {
	if w.write() != nil {
		return w.err
	}
	w.deadline(time.Now().Add(w.stall))
	if err := w.rc.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		w.err = errors.Wrap(err, "flush the event stream")
	}
	return w.err
}

// Close flushes and takes the write deadline off, so that the connection can
// serve another request.
func (w *Writer) Close() error {
	if err := w.Flush(); err != nil {
		return err
	}
	w.deadline(time.Time{})
	return nil
}

// write empties the buffer.
func (w *Writer) write() error {
	w.writeChunks(w.buf)
	w.buf = w.buf[:0]
	return w.err
}

// writeChunks writes b in chunks, each with its own deadline.
func (w *Writer) writeChunks(b []byte) {
	for len(b) > 0 && w.err == nil {
		n := min(len(b), chunkBytes)
		w.deadline(time.Now().Add(w.stall))
		if _, err := w.w.Write(b[:n]); err != nil {
			w.err = errors.Wrap(err, "write the event stream")
		}
		b = b[n:]
	}
}

// deadline sets the connection's write deadline. A response without one (a
// recorder in a test) goes on without.
func (w *Writer) deadline(t time.Time) {
	_ = w.rc.SetWriteDeadline(t)
}
