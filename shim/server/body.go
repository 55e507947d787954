package server

import (
	"bytes"
	"io"
	"net/http"
	"time"
)

const (
	// drainBytes and drainTime bound what is still read of a refused body
	// after the answer was sent, so that closing the connection does not
	// destroy the answer on its way.
	drainBytes = 1 << 20
	drainTime  = time.Second
	// The same for a caller who has the token: browsers send a whole body
	// before they look at the answer, and the user should see the 413.
	patientBytes = 256 << 20
	patientTime  = time.Minute
)

// body is a request body with a size limit and a limit on silence. Until it
// has been read to its end the answer carries Connection: close, which keeps
// net/http from waiting for the rest of it before it answers.
type body struct {
	inner   io.ReadCloser
	w       http.ResponseWriter
	rc      *http.ResponseController
	limits  Limits
	until   time.Time // when all of it has to be there; zero = no such limit
	expects bool      // the client waits for 100-continue
	read    int64     // bytes so far
	ended   bool      // read to its end, or there is none
	failed  error     // sticky
	patient bool      // the caller has the token
}

func newBody(w http.ResponseWriter, r *http.Request, l Limits) *body {
	b := &body{
		inner: r.Body, w: w, rc: http.NewResponseController(w), limits: l,
		expects: r.Header.Get("Expect") != "", ended: r.ContentLength == 0,
	}
	if !b.ended {
		w.Header().Set("Connection", "close")
	}
	if l.bodyTime > 0 {
		b.until = time.Now().Add(l.bodyTime)
	}
	return b
}

// Read fails with errTooLarge behind the limit and with a timeout when
// nothing comes for Limits.BodyIdle.
func (b *body) Read(p []byte) (int, error) {
	if b.failed != nil {
		return 0, b.failed
	}
	if room := b.limits.Body - b.read + 1; int64(len(p)) > room {
		p = p[:room] // one byte more than allowed tells that there is more
	}
	deadline := time.Now().Add(b.limits.BodyIdle)
	if !b.until.IsZero() {
		deadline = earlier(deadline, b.until)
	}
	_ = b.rc.SetReadDeadline(deadline) // a recorder in a test has none
	n, err := b.inner.Read(p)
	b.read += int64(n)
	switch {
	case b.read > b.limits.Body:
		err = errTooLarge
	case err == io.EOF:
		b.end()
	}
	b.failed = err
	return n, err
}

// end takes the deadline off: the connection is watched for the client's
// going away from here on, and may serve another request. (net/http of Go 1.26
// does that too when it begins to watch; nothing promises it.)
func (b *body) end() {
	b.ended = true
	_ = b.rc.SetReadDeadline(time.Time{})
	b.w.Header().Del("Connection")
}

func (b *body) Close() error { return b.inner.Close() }

// drain reads, within bounds, what is left of a body nobody wanted. The
// answer has been written.
func (b *body) drain() {
	if b.ended {
		return
	}
	// Whatever follows, net/http must not wait for the rest of the body.
	defer func() { _ = b.rc.SetReadDeadline(time.Now()) }()
	_ = b.rc.Flush()
	if isTimeout(b.failed) || (b.expects && b.read == 0) {
		return
	}
	most, within := int64(drainBytes), drainTime
	if b.patient {
		most, within = patientBytes, patientTime
	}
	end := time.Now().Add(within)
	buf := make([]byte, 32<<10)
	for most > 0 && time.Now().Before(end) {
		_ = b.rc.SetReadDeadline(earlier(end, time.Now().Add(b.limits.BodyIdle)))
		n, err := b.inner.Read(buf)
		most -= int64(n)
		if err != nil {
			return
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// readBody returns the whole body.
func readBody(r *http.Request) ([]byte, error) {
	var buf bytes.Buffer
	buf.Grow(int(min(max(r.ContentLength, 0), 1<<20)) + bytes.MinRead) // the header may lie: no more than this on its word
	if _, err := buf.ReadFrom(r.Body); err != nil {
		return nil, bodyError(err)
	}
	return buf.Bytes(), nil
}

// skipBody reads a body that the route does not need, so that a client that
// is still sending it cannot make the route run before it is done.
func skipBody(r *http.Request) error {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return bodyError(err)
	}
	return nil
}

// bodyError says what went wrong while a body arrived.
func bodyError(err error) error {
	switch {
	case isAny(err, errTooLarge):
		return err
	case isTimeout(err):
		return errSlowBody
	}
	return errBrokenBody(err)
}
