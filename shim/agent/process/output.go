package process

import (
	"context"
	"io"
	"path/filepath"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// ErrFlood marks a command that printed more than maxOutput.
var ErrFlood = errors.New("too much output")

// maxOutput is how much a short command may print, in bytes; a model list of
// codex has 0.9 MB.
const maxOutput = 8 << 20

// Output runs a short command of an agent CLI (--version, a model list) with
// stdin as its input and returns what it printed. Nothing of it is left
// afterwards, whether it ended by itself or ctx did. A non-zero exit is no
// error; a ctx that ends first is, and so is more output than maxOutput.
func Output(ctx context.Context, o Options, stdin []byte) (stdout []byte, exit agent.Exit, err error) {
	return Ask(ctx, o, stdin, nil)
}

// Ask is Output for a command that ends at the end of its input, answered or
// not: the input is kept open until enough says so of a line. nil closes it at
// once.
func Ask(ctx context.Context, o Options, stdin []byte, enough func(line []byte) bool) (stdout []byte, exit agent.Exit, err error) {
	if ctx.Err() != nil {
		return nil, agent.Exit{}, errors.Wrapf(ctx.Err(), "%s was not started", filepath.Base(o.Bin))
	}
	o.brief = true
	f, err := Start(o)
	if err != nil {
		return nil, agent.Exit{}, err
	}
	defer f.Close()
	if len(stdin) > 0 {
		f.WriteLine(stdin)
	}
	if enough == nil {
		f.CloseStdin()
	}
	stop := context.AfterFunc(ctx, func() { f.Kill() })
	defer stop()
	printed := &io.LimitedReader{R: f.stdout.src, N: maxOutput + 1}
	f.stdout.buf.Reset(printed)
	for {
		line, err := f.ReadLine()
		if err != nil {
			break
		}
		stdout = append(stdout, line.Bytes...)
		if !line.Partial {
			stdout = append(stdout, '\n')
		}
		if enough != nil && enough(line.Bytes) {
			enough = nil
			f.CloseStdin()
		}
	}
	if printed.N == 0 {
		f.Kill()
	}
	exit = f.Wait()
	f.markStopping() // nothing that such a command leaves is wanted
	f.Sweep(context.WithoutCancel(ctx), 0)
	switch {
	case printed.N == 0:
		return nil, exit, errors.Mark(errors.Newf("%s was started but printed more than %d MiB", filepath.Base(o.Bin), maxOutput>>20), ErrFlood)
	case ctx.Err() != nil && exit.Stopped:
		return stdout, exit, errors.Wrapf(ctx.Err(), "%s did not finish", filepath.Base(o.Bin))
	}
	return stdout, exit, nil
}
