package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors"
	urfave "github.com/urfave/cli/v3"
)

// kind is what a flag takes.
type kind int

const (
	text   kind = iota // one value
	list               // values, repeated or comma separated
	toggle             // nothing; its variable takes 1, true, 0, false
	levels             // nothing, or =wire: --debug
)

// flagSpec is one flag as data: the help, the README table and the parser are
// made from it or tested against it.
type flagSpec struct {
	name  string
	env   string // "" = by the rule: SLIDEWRITE_ and the name in upper snake case
	kind  kind
	value string // default, "" = none
	says  string // the help; the word in backquotes stands for the value
}

// variable is the flag's environment variable.
func (f flagSpec) variable() string {
	if f.env != "" {
		return f.env
	}
	return "SLIDEWRITE_" + strings.ToUpper(strings.ReplaceAll(f.name, "-", "_"))
}

// repoFlag says which repository every command means.
var repoFlag = flagSpec{name: "repo", value: ".", says: "the target repository, or a `folder` in one"}

// tokenFlag is the secret between a shim and its clients.
var tokenFlag = flagSpec{name: "token", says: "the bearer `token`, or @FILE holding it; made once per repo when not given. On the command line other local users can see it: prefer the variable or @FILE"}

// commitFlags shape a commit: serve has them, and design and undo for what
// they do themselves.
var commitFlags = []flagSpec{
	{name: "commit-verify", kind: toggle, says: "run the repo's commit hooks on the per-run commit"},
	{name: "commit-author", value: "slidewrite", says: "`AUTHOR` of the commits: slidewrite or user"},
}

// runFlags shape a run: serve has them, and design for a run of its own.
var runFlags = slices.Concat([]flagSpec{
	{name: "model", says: "default Anthropic model `id`; without it the agent's own"},
	{name: "use-skills", kind: toggle, says: "load the target repo's .claude/skills and slash commands"},
	{name: "debug", env: "SW_DEBUG", kind: levels, says: "log each agent message's type to stderr; =wire copies the raw lines"},
	{name: "claude-bin", value: "claude", says: "the claude `binary`: a path, or a name looked up on PATH and in its usual install folders"},
	{name: "codex-bin", value: "codex", says: "the codex `binary`, likewise"},
	{name: "grok-bin", value: "grok", says: "the grok `binary`, likewise"},
	{name: "codex-home", says: "`folder` that codex gets as CODEX_HOME; without it codex's own"},
	{name: "grok-home", says: "`folder` that grok gets as GROK_HOME; without it grok's own"},
	{name: "max-turns", value: "40", says: "claude and grok: model calls a run may make, `N` of them"},
	{name: "run-timeout", says: "stop a run `DURATION` after its start, for example 90s, 10m or 1h30m"},
}, commitFlags, []flagSpec{
	{name: "keep-env", kind: toggle, says: "do not take API keys and the like out of the agent's environment"},
	{name: "mcp", value: "project", says: "MCP servers the agent may use: `project|none` (none: claude only)"},
	{name: "no-project-settings", kind: toggle, says: "claude: do not load the repo's own settings (hooks, env)"},
})

// serveFlags are further flags of serve.
var serveFlags = []flagSpec{
	{name: "port", value: "4040", says: "port `N` to listen on; 0 picks a free one and prints it"},
	{name: "bind", value: "127.0.0.1", says: "`address` to listen on; anything but loopback needs --token and warns"},
	tokenFlag,
	{name: "origin", env: "SLIDEWRITE_ALLOWED_ORIGIN", kind: list, says: "web origin `URL` allowed by CORS, comma separated; * allows all and warns"},
	{name: "allow-host", kind: list, says: "further Host `name` to answer to, *.suffix allowed; repeatable"},
	{name: "allow-extension", kind: list, says: "further extension `id` to answer to; repeatable"},
}

// designFlags are further flags of design.
var designFlags = []flagSpec{
	{name: "provider", value: "anthropic", says: "`PROVIDER` that does the work: anthropic, openai or grok"},
	{name: "effort", says: "reasoning `effort`; without it the model's default"},
	{name: "resume", says: "continue the session with this `UUID`, or its beginning"},
	{name: "json", kind: toggle, says: "print the raw events, one JSON object a line"},
	{name: "no-commit", kind: toggle, says: "leave the edits uncommitted"},
}

// historyFlags are further flags of history.
var historyFlags = []flagSpec{
	{name: "provider", value: "anthropic", says: "`whose` sessions: anthropic, openai or grok"},
	{name: "limit", says: "the newest `N` sessions, or the last N events of one; without it 20 sessions, or all of one"},
}

var jsonFlag = flagSpec{name: "json", kind: toggle, says: "print JSON"}

// flags turns specs into flags that read the process's environment.
func (a *app) flags(specs ...flagSpec) []urfave.Flag {
	var out []urfave.Flag
	for _, f := range specs {
		source := urfave.NewValueSourceChain(&envSource{app: a, flag: f})
		switch f.kind {
		case text:
			out = append(out, &urfave.StringFlag{Name: f.name, Value: f.value, HideDefault: f.value == "", Usage: f.says, Sources: source})
		case list:
			out = append(out, &urfave.StringSliceFlag{Name: f.name, Usage: f.says, Sources: source})
		case toggle:
			out = append(out, &urfave.BoolFlag{Name: f.name, Usage: f.says, Sources: source})
		case levels:
			flag := &urfave.GenericFlag{Name: f.name, Value: new(debugLevel), Usage: f.says, Sources: source}
			flag.SetStringer(func(urfave.Flag) string {
				return fmt.Sprintf("--%s[=wire]\t%s [$%s]", f.name, f.says, f.variable())
			})
			out = append(out, flag)
		}
	}
	return out
}

// envSource is a flag's environment variable, read from the Process. It is
// asked only when the command line does not have the flag.
type envSource struct {
	app  *app
	flag flagSpec
}

// Lookup implements urfave.ValueSource. An empty variable is not set: that is
// how a shell script takes a variable away for one command.
func (s *envSource) Lookup() (string, bool) {
	v := lookupEnv(s.app.Environ, s.flag.variable())
	if v == "" {
		return "", false
	}
	s.app.fromEnv[s.flag.name] = true
	if s.flag.kind == text || s.flag.kind == list {
		return v, true
	}
	if err := new(debugLevel).Set(v); err != nil || (v == "wire" && s.flag.kind == toggle) {
		if s.app.badEnv == nil {
			s.app.badEnv = usage(fmt.Sprintf("set %s to 1 or 0, or unset it", s.flag.variable()),
				"%s: %q is neither true nor false", s.flag.variable(), v)
		}
		return "", false
	}
	return v, true
}

func (s *envSource) String() string   { return "environment variable " + s.flag.variable() }
func (s *envSource) GoString() string { return s.String() }

// IsFromEnv and Key make --help show the variable.
func (s *envSource) IsFromEnv() bool { return true }
func (s *envSource) Key() string     { return s.flag.variable() }

// lookupEnv returns the last value of key, as the C library would.
func lookupEnv(environ []string, key string) string {
	value := ""
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok && k == key {
			value = v
		}
	}
	return value
}

// debugLevel is the value of --debug: "", types or wire.
type debugLevel string

const (
	debugTypes debugLevel = "types"
	debugWire  debugLevel = "wire"
)

// Set implements flag.Value.
func (d *debugLevel) Set(s string) error {
	if s == string(debugWire) {
		*d = debugWire
		return nil
	}
	on, err := strconv.ParseBool(s)
	if err != nil {
		return errors.New("it takes nothing, or =wire")
	}
	*d = ""
	if on {
		*d = debugTypes
	}
	return nil
}

func (d *debugLevel) String() string { return string(*d) }

// Get implements flag.Getter.
func (d *debugLevel) Get() any { return *d }

// IsBoolFlag lets bare --debug stand without a value.
func (d *debugLevel) IsBoolFlag() bool { return true }

// source names where a flag's value came from, for messages.
func (a *app) source(flag string) string {
	if !a.fromEnv[flag] {
		return "--" + flag
	}
	for _, specs := range [][]flagSpec{{repoFlag}, runFlags, serveFlags, designFlags, historyFlags, recordFlags, demoFlags, {extensionDirFlag}} {
		for _, f := range specs {
			if f.name == flag {
				return f.variable()
			}
		}
	}
	return "--" + flag
}

// The parser's messages (urfave cli 3.14), which we put in our own words.
const (
	sayUnknown = "flag provided but not defined: -"
	sayMissing = "flag needs an argument: "
	sayInvalid = "invalid value "
)

// badFlag turns a parser error into one that names the flag and the fix.
func badFlag(_ context.Context, cmd *urfave.Command, err error, _ bool) error {
	help := "slidewrite --help lists the commands"
	if cmd.Name != "slidewrite" {
		help = fmt.Sprintf("slidewrite %s --help lists the flags", cmd.Name)
	}
	msg := err.Error()
	if name, ok := strings.CutPrefix(msg, sayUnknown); ok {
		var names []string
		for _, f := range cmd.Flags {
			if f.Names()[0] != "all" { // a guess must not wipe anything
				names = append(names, f.Names()[0])
			}
		}
		if s := nearest(name, names); s != "" {
			help = fmt.Sprintf("did you mean --%s? %s", s, help)
		}
		return usage(help, "unknown flag --%s", name)
	}
	if name, ok := strings.CutPrefix(msg, sayMissing); ok {
		return usage(help, "%s needs a value", name)
	}
	if strings.HasPrefix(msg, sayInvalid) {
		var value, flag string
		if _, scanErr := fmt.Sscanf(msg, sayInvalid+"%q for flag -%s", &value, &flag); scanErr == nil {
			flag = strings.TrimSuffix(flag, ":")
			return usage(help, "--%s: %q makes no sense there", flag, value)
		}
	}
	return usageError{errors.WithHint(errors.Newf("%s", msg), help)}
}
