package cli

import (
	"context"
	"encoding/json"
	"io"

	"github.com/cockroachdb/errors"
	urfave "github.com/urfave/cli/v3"

	"github.com/slidewrite/slidewrite/fakeagents/drift"
	"github.com/slidewrite/slidewrite/shim"
)

// driftFlags are the flags of drift that have a variable.
var driftFlags = []flagSpec{
	{name: "fixtures", env: "SLIDEWRITE_DRIFT_FIXTURES", value: "fakeagents/fixtures", says: "`folder` that versions are looked up in"},
}

// driftCommand compares two versions of an agent's CLI by what they print.
func (a *app) driftCommand() *urfave.Command {
	return &urfave.Command{
		Name:      "drift",
		Usage:     "compare what two versions of an agent CLI print, by shape (for contributors)",
		UsageText: "slidewrite drift [flags] A B\nslidewrite drift [flags] --table AGENT",
		Description: "A and B are versions whose fixtures are here (claude@2.1.332), folders of fixtures, or folders of raw captures " +
			"(claude-2.1.332/<scenario>/stdout.jsonl). Only scenarios that both have are compared. " +
			"Exit code 1 when something is gone that our output hung on. docs/drift.md says what the classes mean and what to do.",
		// No variables for what is asked: it is said, not set.
		Flags: append(a.flags(append(driftFlags, jsonFlag)...),
			&urfave.BoolFlag{Name: "all", Usage: "also what nobody has to look at, and every scenario that one side lacks"},
			&urfave.StringFlag{Name: "table", Usage: "what clients are told in each recorded run of `AGENT`, version by version, as docs/versions.md has it"},
		),
		Action: func(_ context.Context, cmd *urfave.Command) error {
			out := &output{w: a.Stdout}
			err := a.drift(cmd, out)
			var wrong drift.Wrong
			if errors.As(err, &wrong) {
				return usageError{err}
			}
			if out.err != nil {
				return out.err
			}
			return err
		},
	}
}

func (a *app) drift(cmd *urfave.Command, out io.Writer) error {
	args, fixtures := cmd.Args().Slice(), cmd.String("fixtures")
	if cmd.IsSet("table") {
		if len(args) > 0 {
			return usage("leave one of them out", "--table is about all versions, got %q too", args[0])
		}
		table, err := drift.Versions(cmd.String("table"), fixtures, shim.Adapters())
		if err != nil {
			return err
		}
		if cmd.Bool("json") {
			return writeJSON(out, table)
		}
		_, err = io.WriteString(out, table.Markdown())
		return err
	}
	if len(args) != 2 {
		return usage("slidewrite drift claude@2.1.197 claude@2.1.332, for example; or two folders",
			"slidewrite drift compares two versions or folders, got %d", len(args))
	}
	var sides [2]*drift.Side
	for i, name := range args {
		var err error
		if sides[i], err = drift.Open(name, fixtures); err != nil {
			return err
		}
	}
	report, err := drift.Compare(sides[0], sides[1], shim.Adapters())
	if err != nil {
		return err
	}
	if cmd.Bool("json") {
		err = writeJSON(out, report)
	} else {
		_, err = io.WriteString(out, report.Text(cmd.Bool("all")))
	}
	if err == nil && report.Lost() {
		err = errSaid
	}
	return err
}

// writeJSON prints one JSON document.
func writeJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
