package process

import (
	"context"
	"path/filepath"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// Output runs a short command of an agent CLI (--version, a model list) with
// stdin as its input and returns what it printed. Nothing of it is left
// afterwards, whether it ended by itself or ctx did. A non-zero exit is no
// error; a ctx that ends first is.
func Output(ctx context.Context, o Options, stdin []byte) (stdout []byte, exit agent.Exit, err error) {
	o.brief = true
	f, err := Start(o)
	if err != nil {
		return nil, agent.Exit{}, err
	}
	defer f.Close()
	if len(stdin) > 0 {
		f.WriteLine(stdin)
	}
	f.CloseStdin()
	stop := context.AfterFunc(ctx, func() { f.Kill() })
	defer stop()
	for {
		line, err := f.ReadLine()
		if err != nil {
			break
		}
		stdout = append(stdout, line.Bytes...)
		if !line.Partial {
			stdout = append(stdout, '\n')
		}
	}
	exit = f.Wait()
	f.markStopping() // nothing that such a command leaves is wanted
	f.Sweep(context.WithoutCancel(ctx), 0)
	if ctx.Err() != nil && exit.Stopped {
		return stdout, exit, errors.Wrapf(ctx.Err(), "%s did not finish", filepath.Base(o.Bin))
	}
	return stdout, exit, nil
}
