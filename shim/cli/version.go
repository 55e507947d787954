package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v3"
)

// Set by the linker: -X github.com/slidewrite/slidewrite/shim/cli.version=…
var (
	version = "0.1.0"
	commit  = ""
)

// recordedFrom lists the versions under fakeagents/fixtures/<agent>/real, which
// are not in the product binary; a test holds the two together.
var recordedFrom = map[string][]string{
	"claude": {"2.1.197", "2.1.332"},
	"codex":  {"0.171.0"},
}

// build says what this binary is, as `version --json` prints it.
type build struct {
	Version  string              `json:"version"`
	Commit   string              `json:"commit"` // "" when unknown
	Go       string              `json:"go"`
	Platform string              `json:"platform"`
	Fixtures map[string][]string `json:"fixtures"` // agent → versions of its CLI that were recorded
}

// buildVersion reads what the linker and the go command left in the binary.
func buildVersion() build {
	b := build{
		Version: version, Commit: commit, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Fixtures: recordedFrom,
	}
	if info, ok := debug.ReadBuildInfo(); ok && b.Commit == "" {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Commit = s.Value
			}
		}
	}
	return b
}

// versionCommand prints what this binary is.
func (a *app) versionCommand() *urfave.Command {
	return &urfave.Command{
		Name:  "version",
		Usage: "version, commit, Go version, and the CLI versions the fixtures were recorded from",
		Flags: a.flags(jsonFlag),
		Action: func(_ context.Context, cmd *urfave.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
			}
			b := buildVersion()
			if cmd.Bool("json") {
				return json.NewEncoder(a.Stdout).Encode(b)
			}
			fmt.Fprintf(a.Stdout, "slidewrite %s\n", b.Version)
			if b.Commit != "" {
				fmt.Fprintf(a.Stdout, "commit     %s\n", b.Commit)
			}
			fmt.Fprintf(a.Stdout, "go         %s %s\n", b.Go, b.Platform)
			for _, agent := range slices.Sorted(maps.Keys(b.Fixtures)) {
				fmt.Fprintf(a.Stdout, "fixtures   %s %s\n", agent, strings.Join(b.Fixtures[agent], ", "))
			}
			return nil
		},
	}
}
