package fakeagents

import (
	"strconv"
	"strings"

	"github.com/cockroachdb/errors"
)

// claudeArgs is what the fake wants to know of a command line it accepts.
type claudeArgs struct {
	resume   string
	maxTurns int
}

// flagRule is one flag of the turn's command line.
type flagRule struct {
	name     string
	value    func(string) error // nil: the flag takes no value
	required bool
	since    string // first version that has it, "" for all
	with     string // flag it must not be without
}

// claudeFlags is what the real CLI accepts in both versions (measured on
// 2.1.332 and 2.1.197) and the shim must or may pass. Flags that the CLI has
// but the shim has no use for are not here: a new one is a decision to take
// here as well.
var claudeFlags = []flagRule{
	{name: "-p", required: true},
	{name: "--input-format", value: oneOf("stream-json"), required: true},
	{name: "--output-format", value: oneOf("stream-json"), required: true},
	{name: "--verbose", required: true}, // stream-json output is refused without it
	{name: "--include-partial-messages", required: true},
	{name: "--dangerously-skip-permissions", required: true},
	{name: "--setting-sources", value: oneOf("project", ""), required: true},
	{name: "--system-prompt", value: notEmpty, required: true},
	{name: "--max-turns", value: positive, required: true},
	{name: "--strict-mcp-config"},
	{name: "--disable-slash-commands"},
	{name: "--model", value: matching(`^[A-Za-z0-9@][A-Za-z0-9._:/@+\[\]-]*$`)},
	{name: "--effort", value: matching(`^[a-z][a-z0-9_-]*$`)},
	{name: "--resume", value: matching(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)},
	{name: "--system-prompt-snapshot", value: oneOf("off"), since: "2.1.332", with: "--resume"},
}

// checkClaudeArgs checks the command line of a turn flag by flag.
func checkClaudeArgs(version string, args []string) (claudeArgs, error) {
	out := claudeArgs{}
	seen := map[string]string{}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if secretLike.MatchString(arg) {
			return out, errors.Newf("argument %d looks like a secret: it would show in every list of processes", i+1)
		}
		rule, err := findFlag(version, arg)
		if err != nil {
			return out, err
		}
		if _, twice := seen[rule.name]; twice {
			return out, errors.Newf("%s is there twice", rule.name)
		}
		value := ""
		if rule.value != nil {
			i++
			if i == len(args) {
				return out, errors.Newf("%s has no value", rule.name)
			}
			value = args[i]
			if secretLike.MatchString(value) {
				return out, errors.Newf("the value of %s looks like a secret: it would show in every list of processes", rule.name)
			}
			if err := rule.value(value); err != nil {
				return out, errors.Wrapf(err, "value of %s", rule.name)
			}
		}
		seen[rule.name] = value
	}
	for _, rule := range claudeFlags {
		_, is := seen[rule.name]
		if rule.required && !is {
			return out, errors.Newf("%s is missing", rule.name)
		}
		if is && rule.with != "" {
			if _, ok := seen[rule.with]; !ok {
				return out, errors.Newf("%s makes no sense without %s", rule.name, rule.with)
			}
		}
	}
	out.resume = seen["--resume"]
	out.maxTurns, _ = strconv.Atoi(seen["--max-turns"]) // checked above
	return out, nil
}

func findFlag(version, arg string) (flagRule, error) {
	if !strings.HasPrefix(arg, "-") {
		return flagRule{}, errors.Newf("%.40q is no flag: the prompt goes by stdin, never on the command line", arg)
	}
	for _, rule := range claudeFlags {
		if rule.name != arg {
			continue
		}
		if olderThan(version, rule.since) {
			return rule, errors.Newf("unknown option %s: %s does not have it", arg, version)
		}
		return rule, nil
	}
	return flagRule{}, errors.Newf("unknown option %.60q", arg)
}

// checkClaudeEnv checks what the shim lets through and sets.
func checkClaudeEnv(e environment) error {
	if err := checkEnv(e); err != nil {
		return err
	}
	for _, want := range [][2]string{{"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"}, {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1"}} {
		if got := e.get(want[0]); got != want[1] {
			return errors.Newf("%s is %q, not %q", want[0], got, want[1])
		}
	}
	return nil
}
