package cli

import (
	"io"
	"syscall"

	"github.com/cockroachdb/errors"
)

// errOutput is a stdout that takes nothing any more, as of `design | head`.
var errOutput = errors.New("the output cannot be written")

// output remembers the first error of the writer below it.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(p)
	if err != nil {
		o.err = errors.Mark(errors.Wrap(err, "write the output"), errOutput)
	}
	return n, o.err
}

// output is stdout, as one.
func (a *app) output() *output {
	if out, ok := a.Stdout.(*output); ok {
		return out
	}
	return &output{w: a.Stdout}
}

// Windows' words for EPIPE, which Go does not map: ERROR_BROKEN_PIPE and
// ERROR_NO_DATA.
const (
	windowsBrokenPipe = syscall.Errno(109)
	windowsNoData     = syscall.Errno(232)
)

// unread tells whether an error is that nobody reads the output any more.
func unread(err error) bool {
	return errors.Is(err, errOutput) && errors.IsAny(err, io.ErrClosedPipe, syscall.EPIPE, windowsBrokenPipe, windowsNoData)
}
