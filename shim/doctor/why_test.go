//go:build unix

package doctor

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/claude"
	"github.com/slidewrite/slidewrite/shim/agent/codex"
	"github.com/slidewrite/slidewrite/shim/agent/grok"
	"github.com/slidewrite/slidewrite/shim/agent/process"
	"github.com/slidewrite/slidewrite/shim/catalog"
)

// The CLIs as far as they are asked, healthy unless $WHY says what is wrong.
const (
	codexScript = `
case "$1 $2" in
"--version ") echo codex-cli 0.171.0; exit ;;
"login status")
	[ "$WHY" = signed-out ] && { echo "Not logged in" >&2; exit 1; }
	echo "Logged in using ChatGPT" >&2; exit ;;
"debug models")
	case "$WHY" in
	refused) echo "not today" >&2; exit 1 ;;
	version) echo "error: unrecognized subcommand 'debug'" >&2; exit 2 ;;
	config) echo "Error loading config.toml: expected a value" >&2; exit 1 ;;
	empty) echo '{"models":[]}' ;;
	*) echo '{"models":[{"slug":"m-1","display_name":"M 1","visibility":"list"}]}' ;;
	esac
	exit ;;
esac
exit 1 # no app-server
`
	grokScript = `
case "$1" in
--version) echo "grok 1.0.6 (abc1234) [stable]"; exit ;;
models)
	case "$WHY" in
	signed-out) echo "You are not authenticated."; echo "Available models:"; echo "  * m-1" ;;
	expired) echo "Error: your session has expired" >&2; exit 1 ;;
	refused) echo "not today" >&2; exit 1 ;;
	version) echo "error: unexpected argument '--foo' found" >&2; exit 2 ;;
	config) echo "failed to parse config.toml: expected a value" >&2; exit 1 ;;
	empty) echo "You are logged in with grok.com."; echo "Available models:" ;;
	*) echo "You are logged in with grok.com."; echo "Available models:"; echo "  * m-1" ;;
	esac ;;
esac
`
)

// examine is what a doctor says of the only agent there is, whose CLI is a
// script; none for one that is not installed.
func examine(t *testing.T, a agent.Agent, body string, more ...string) Result {
	t.Helper()
	home := t.TempDir()
	env := append([]string{"HOME=" + home, "PATH=/usr/bin:/bin:/usr/games/and/some/more/of:/a/long/way/to/go:/opt/local/sbin"}, more...)
	lookPath := func(name string) (string, error) {
		bin, _, err := process.LookPath(name, name+"-is-not-here", env)
		if body != "" {
			bin, err = filepath.Join(home, name), nil
		}
		return bin, err
	}
	if body != "" {
		script(t, filepath.Join(home, a.Name()), body)
	}
	agents := []agent.Agent{a}
	c := catalog.New(catalog.Options{Agents: agents, LookPath: lookPath, Environ: env, Repo: t.TempDir(), TempRoot: t.TempDir()})
	defer c.Close()
	d := &doctor{Options: Options{
		Environ: env, Agents: agents, Catalog: c, LookPath: lookPath,
		Recorded: map[string][]string{"claude": {"2.1.332"}, "codex": {"0.171.0"}},
	}}
	var r Result
	Run(t.Context(), d.agents(), func(found Result) { r = found })
	return r
}

// TestWhyAListIsEmpty: each cause in its own words with what cures it, short
// enough for a panel. testscripts has those of claude, from the command line.
func TestWhyAListIsEmpty(t *testing.T) {
	t.Parallel()
	const untried = "never run by us: "
	for _, row := range []struct {
		agent       agent.Agent
		script, why string
		status      Status
		detail, fix string
	}{
		{claude.New(), "", "", Problem, "claude-is-not-here not found; searched /usr/bin:/bin:", "npm install -g @anthropic-ai/claude-code, or pass its path with --claude-bin"},

		{codex.New(codex.Options{}), "", "", Problem, "codex-is-not-here not found; searched /usr/bin:/bin:", "npm install -g @openai/codex, or pass its path with --codex-bin"},
		{codex.New(codex.Options{}), codexScript, "WHY=", OK, "~/codex 0.171.0, signed in (plan), 1 model", ""},
		{codex.New(codex.Options{}), codexScript, "WHY=signed-out", Problem, "~/codex 0.171.0: codex is not signed in", "codex login"},
		{codex.New(codex.Options{}), codexScript, "WHY=signed-out,CODEX_API_KEY=0123456789abcdef", Problem, "codex is not signed in", "start slidewrite with --keep-env"},
		{codex.New(codex.Options{}), codexScript, "WHY=refused", Problem, "codex refused to list its models: not today", "run codex once in a terminal and see what it says"},
		{codex.New(codex.Options{}), codexScript, "WHY=version", Problem, "this version of codex does not know an option it was given", "codex update"},
		{codex.New(codex.Options{}), codexScript, "WHY=config", Problem, "codex cannot read its configuration", "correct config.toml in codex's home folder (~/.codex)"},
		{codex.New(codex.Options{}), "echo hello there", "WHY=", Problem, "/codex does not answer like codex: it printed “hello there”", "pass the path of the codex program with --codex-bin"},
		{codex.New(codex.Options{}), "exec yes", "WHY=", Problem, "codex was started but printed more than 8 MiB", "run codex once in a terminal and see what it prints"},
		{claude.New(), "echo hello there", "WHY=", Problem, "/claude does not answer like claude: it printed “hello there”", "pass the path of the claude program with --claude-bin"},
		{grok.New(grok.Options{}), "echo hello there", "WHY=", Problem, "/grok does not answer like grok: it printed “hello there”", "pass the path of the grok program with --grok-bin"},
		{codex.New(codex.Options{}), codexScript, "WHY=empty", Problem, "codex offers no models", "codex update"},

		{grok.New(grok.Options{}), "", "", Problem, "grok-is-not-here not found; searched /usr/bin:/bin:", "pass its path with --grok-bin"},
		{grok.New(grok.Options{}), grokScript, "WHY=", Warning, untried + "~/grok 1.0.6, signed in (plan), 1 model", ""},
		{grok.New(grok.Options{}), grokScript, "WHY=signed-out", Problem, untried + "~/grok 1.0.6: grok is not signed in", "grok login"},
		{grok.New(grok.Options{}), grokScript, "WHY=expired", Problem, "the sign-in of grok has expired", "grok login"},
		{grok.New(grok.Options{}), grokScript, "WHY=refused", Problem, "grok refused to list its models: not today", "run grok once in a terminal and see what it says"},
		{grok.New(grok.Options{}), grokScript, "WHY=version", Problem, "this version of grok does not know an option it was given", "grok update"},
		{grok.New(grok.Options{}), grokScript, "WHY=config", Problem, "grok cannot read its configuration", "correct config.toml in grok's home folder (~/.grok)"},
		{grok.New(grok.Options{}), grokScript, "WHY=empty", Problem, "grok offers no models", "grok update"},
	} {
		name := row.agent.Name() + " " + row.why
		if row.script == "" {
			name = row.agent.Name() + " not found"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want(t, examine(t, row.agent, row.script, strings.Split(row.why, ",")...), row.status, row.detail, row.fix)
		})
	}
}
