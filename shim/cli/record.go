package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"time"

	urfave "github.com/urfave/cli/v3"

	"github.com/slidewrite/slidewrite/fakeagents/record"
)

// recordFlags are the flags of record.
var recordFlags = []flagSpec{
	{name: "agent", value: "claude", says: "`AGENT` whose CLI it is"},
	{name: "bin", says: "the real CLI, a `path`"},
	{name: "run", env: "SLIDEWRITE_RECORD_RUN", says: "record the scenarios whose name matches this `regexp`; without it all of them"},
	{name: "out", value: "fakeagents/fixtures", says: "the fixtures' `folder`"},
}

// recordPackages says, by agent, where its CLI is to be had.
var recordPackages = map[string]string{
	"claude": "npm install @anthropic-ai/claude-code-linux-x64 and pass the path of its file claude",
	"codex":  "npm install @openai/codex and pass the path of its native file: node_modules/@openai/codex-linux-x64/vendor/…/bin/codex",
}

// recordCommand records fixtures from a real CLI.
func (a *app) recordCommand() *urfave.Command {
	return &urfave.Command{
		Name:        "record",
		Usage:       "record fixtures from a real agent CLI (for contributors)",
		Description: "The CLI talks to a scripted model on loopback, in a throw-away home and repository: no login, no network, no cost. A recording that fails leaves the old fixture.",
		Flags:       a.flags(recordFlags...),
		Action: func(ctx context.Context, cmd *urfave.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
			}
			o, err := a.recordOptions(cmd)
			if err != nil {
				return err
			}
			ctx, _, release := a.interruptible(ctx)
			defer release()
			outcomes, err := record.Record(ctx, o)
			recorded := 0
			for _, out := range outcomes {
				if out.Err == nil {
					recorded++
				}
			}
			if len(outcomes) > 0 {
				fmt.Fprintf(a.Stdout, "recorded %d of %s\n", recorded, count(len(outcomes), "scenario"))
			}
			return err
		},
	}
}

func (a *app) recordOptions(cmd *urfave.Command) (record.Options, error) {
	o := record.Options{
		Agent: cmd.String("agent"), Out: cmd.String("out"), Log: a.Stdout, Now: time.Now(),
		Isolate: runtime.GOOS == "linux" && os.Geteuid() == 0,
	}
	if err := a.oneOf("agent", o.Agent, record.Agents()...); err != nil {
		return o, err
	}
	if cmd.String("bin") == "" {
		return o, usage(recordPackages[o.Agent], "%s: which CLI to record is missing", a.source("bin"))
	}
	var err error
	if o.Bin, err = filepath.Abs(cmd.String("bin")); err != nil {
		return o, err
	}
	if pattern := cmd.String("run"); pattern != "" {
		if o.Run, err = regexp.Compile(pattern); err != nil {
			return o, usage("see https://pkg.go.dev/regexp/syntax", "%s: %v", a.source("run"), err)
		}
	}
	return o, nil
}
