package agent

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"syscall"

	"github.com/cockroachdb/errors"
)

// What every reader does with the files that an agent leaves.

var errNotRegular = errors.New("not a regular file")

// Lstat looks at a regular file; a link is none.
func Lstat(path string) (os.FileInfo, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	return info, err
}

// Open opens the regular file at path to read. It follows no link, and waits
// for no writer of a pipe that took the file's place.
func Open(path string) (*os.File, os.FileInfo, error) {
	const tries = 3 // a file replaced between lstat and open is looked at again
	for range tries {
		want, err := Lstat(path)
		if err != nil {
			return nil, nil, err
		}
		f, err := os.OpenFile(path, openFlags, 0)
		if err != nil {
			return nil, nil, err
		}
		got, err := f.Stat()
		if err == nil && got.Mode().IsRegular() && os.SameFile(want, got) {
			return f, got, nil
		}
		f.Close()
	}
	return nil, nil, errors.Newf("%s is another file each time", path)
}

// Absent tells whether err says that there is no such file.
func Absent(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Names lists a folder, in no order. One that is not there, is no folder, or
// must not be read has nothing.
func Names(dir string) ([]string, error) {
	f, err := os.OpenFile(dir, folderFlags, 0)
	if err == nil {
		defer f.Close()
		var names []string
		names, err = f.Readdirnames(-1) // no stat: thousands lie in a folder
		if len(names) > 0 {
			return names, nil
		}
	}
	if err == nil || Absent(err) || errors.Is(err, os.ErrPermission) {
		return nil, nil
	}
	return nil, errors.Wrap(err, "list sessions")
}

// Records calls visit for each line of r, the last one without a newline too,
// until it returns false. A line of more than ScanLimit bytes comes shortened,
// then cut. Memory does not depend on the length of lines.
func Records(ctx context.Context, r io.Reader, visit func(line []byte) bool) error {
	const part = 16 << 10 // bytes
	in := bufio.NewReaderSize(r, part)
	var line []byte
	var s Shortener
	done := 0 // bytes of line that are shortened
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		some, err := in.ReadSlice('\n')
		line = append(line, some...)
		if len(line) > ScanLimit {
			done += len(s.Shorten(line[done:]))
			done = min(done, ScanLimit)
			line = line[:done]
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
		if len(line) > 0 && !visit(bytes.TrimSuffix(line, []byte("\n"))) || err != nil {
			return nil
		}
		line, done, s = line[:0], 0, Shortener{}
	}
}

// How much of a string in a record is kept where the record is shortened, in
// bytes: of a text, and of what has no blank, which is a picture or the like.
const (
	keptText = ScanLimit / 2
	keptWord = 16 << 10
)

// Shortener takes the ends off the long strings of a JSON record, so that what
// stands behind them, the text behind pictures and the members behind both, is
// found in memory that does not depend on the record. It is given a record in
// parts; the zero value is before the first.
type Shortener struct {
	within  bool // a string
	kept    int  // bytes of it
	text    bool // it has a blank
	full    bool // the rest of it is dropped
	escaped int  // bytes of an escape that are still to come, -1 = its kind
}

// Shorten takes the next part and returns what is left of it, in its place.
func (s *Shortener) Shorten(b []byte) []byte {
	out := b[:0]
	for len(b) > 0 {
		n, keep := s.next(b)
		out = append(out, b[:keep]...)
		b = b[n:]
	}
	return out
}

// next tells how many bytes go together and how many of those are kept.
func (s *Shortener) next(b []byte) (n, keep int) {
	switch {
	case !s.within:
		n = bytes.IndexByte(b, '"') + 1
		if n == 0 {
			return len(b), len(b)
		}
		*s = Shortener{within: true}
		return n, n
	case s.escaped < 0:
		s.escaped = 0
		switch b[0] {
		case 'u':
			s.escaped = 4
		case 'n', 't', 'r':
			s.text = true
		}
		return 1, s.room(1)
	case s.escaped > 0:
		n = min(s.escaped, len(b))
		s.escaped -= n
		return n, s.room(n)
	case b[0] == '"':
		s.within = false
		return 1, 1
	case b[0] == '\\':
		s.full = s.full || s.kept >= s.most() // an escape is kept whole or not at all
		s.escaped = -1
		return 1, s.room(1)
	}
	if n = bytes.IndexAny(b, `"\`); n < 0 {
		n = len(b)
	}
	if s.full {
		return n, 0
	}
	s.text = s.text || bytes.IndexByte(b[:min(n, max(0, keptWord-s.kept))], ' ') >= 0
	keep = min(n, max(0, s.most()-s.kept))
	s.kept += keep
	s.full = keep < n
	return n, keep
}

// room is how many of n bytes of an escape are kept.
func (s *Shortener) room(n int) int {
	if s.full {
		return 0
	}
	s.kept += n
	return n
}

func (s *Shortener) most() int {
	if s.text {
		return keptText
	}
	return keptWord
}
