package record

import (
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/fakeagents/scriptmodel"
)

// Options says what to record.
type Options struct {
	Agent string         // "claude" or "codex"
	Bin   string         // path of the real CLI
	Run   *regexp.Regexp // scenarios by name; nil records all
	Out   string         // fixtures folder: fakeagents/fixtures in this tree
	Log   io.Writer      // one line per scenario; nil is silent
	Now   time.Time      // the day that is written into the comments

	// Env is added to the CLI's environment, which else holds nothing of the
	// caller's.
	Env []string

	// Isolate runs the CLI in a network namespace that has only loopback:
	// Linux, as root. Otherwise the CLI is merely told to talk to the script
	// model alone.
	Isolate bool
	// Timeout of one scenario; three minutes when zero.
	Timeout time.Duration
}

// Outcome is what became of one scenario.
type Outcome struct {
	Scenario string
	Fixture  string // its name, "" when it failed
	Err      error
}

// Agents are the agents whose CLIs can be recorded.
func Agents() []string { return slices.Sorted(maps.Keys(clis)) }

// Record runs the scenarios and writes a fixture for each. A scenario that
// fails leaves its old fixture as it is, and the others are recorded all the
// same; the error then names them.
func Record(ctx context.Context, o Options) ([]Outcome, error) {
	if clis[o.Agent] == nil {
		return nil, errors.WithHint(errors.Newf("record: cannot record agent %q", o.Agent), "pass --agent "+strings.Join(Agents(), " or "))
	}
	if o.Timeout == 0 {
		o.Timeout = 3 * time.Minute
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	names, err := scriptmodel.Names(o.Agent)
	if err != nil {
		return nil, err
	}
	version, err := cliVersion(ctx, o.Bin)
	if err != nil {
		return nil, err
	}
	var outcomes []Outcome
	var failed error
	for _, name := range names {
		if o.Run != nil && !o.Run.MatchString(name) {
			continue
		}
		out := recordOne(ctx, o, version, name)
		outcomes = append(outcomes, out)
		if out.Err != nil {
			failed = errors.CombineErrors(failed, out.Err)
			fmt.Fprintf(o.Log, "%s: error: %v\n", name, out.Err)
			continue
		}
		fmt.Fprintf(o.Log, "%s\n", out.Fixture)
	}
	if len(outcomes) == 0 {
		return nil, errors.Newf("record: no scenario matches %s", o.Run)
	}
	return outcomes, failed
}

func recordOne(ctx context.Context, o Options, version, name string) Outcome {
	out := Outcome{Scenario: name}
	sc, err := scriptmodel.Load(o.Agent, name)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, o.Timeout)
		defer cancel()
		err = onNetwork(o.Isolate, func() error {
			f, err := recordScenario(ctx, o, version, sc)
			if err != nil {
				return err
			}
			out.Fixture = f.Name
			return Write(o.Out, f)
		})
	}
	if err != nil {
		out.Fixture = ""
		out.Err = errors.Wrapf(err, "record %s", name)
	}
	return out
}
