package agent

import (
	"slices"
	"strings"
)

// reason says why a variable is kept from an agent.
type reason int

const (
	nested  reason = iota // an outer Claude Code session left it; claude would take itself for a child of that
	billing               // would silently bill a stray key or redirect the run
	secret                // ours; removed even with --keep-env
)

// scrubTable is the whole list of variables that an agent does not get. A name
// that ends in "*" is a prefix; a row with a CLI's name is for that one alone.
// Not on it, on purpose: CLAUDE_CODE_OAUTH_TOKEN (how a plan is used on remote
// hosts), XAI_API_KEY, config dirs, proxies, IS_SANDBOX,
// CLAUDE_CODE_GIT_BASH_PATH.
var scrubTable = []struct {
	name string
	why  reason
	cli  string // "" = every agent
}{
	{"CLAUDECODE", nested, ""},
	{"CLAUDE_CODE_ENTRYPOINT", nested, ""},
	{"CLAUDE_CODE_SSE_PORT", nested, ""},
	{"CLAUDE_CODE_SESSION_ID", nested, ""},
	{"CLAUDE_PID", nested, ""},
	{"ANTHROPIC_API_KEY", billing, ""},
	{"ANTHROPIC_AUTH_TOKEN", billing, ""},
	{"ANTHROPIC_BASE_URL", billing, ""},
	{"OPENAI_API_KEY", billing, "codex"},
	{"CODEX_API_KEY", billing, "codex"},
	{"SLIDEWRITE_*", secret, ""},
	{"GEMINI_API_KEY", secret, ""},
}

// runMarker is how the shim finds what a run left behind: not a secret, and
// wanted in every descendant.
const runMarker = "SLIDEWRITE_RUN"

// Scrub returns environ without what the CLI of that name must not see, and the
// names it took away in the order they were found. keepEnv keeps all but our
// own secrets. ANTHROPIC_* stays where Bedrock or Vertex is set up.
func Scrub(cli string, environ []string, keepEnv bool) (env []string, scrubbed []string) {
	cloud := isOn(environ, "CLAUDE_CODE_USE_BEDROCK") || isOn(environ, "CLAUDE_CODE_USE_VERTEX")
	env = make([]string, 0, len(environ))
	for _, kv := range environ {
		name := VariableName(kv)
		why, listed := scrubReason(cli, name)
		keep := !listed || why != secret && keepEnv || why == billing && cloud
		if keep {
			env = append(env, kv)
		} else if !slices.Contains(scrubbed, name) {
			scrubbed = append(scrubbed, name)
		}
	}
	return env, scrubbed
}

func scrubReason(cli, name string) (reason, bool) {
	if sameName(name, runMarker) {
		return 0, false
	}
	for _, row := range scrubTable {
		if row.cli != "" && row.cli != cli {
			continue
		}
		prefix, isPrefix := strings.CutSuffix(row.name, "*")
		if isPrefix && len(name) >= len(prefix) && sameName(name[:len(prefix)], prefix) || sameName(name, row.name) {
			return row.why, true
		}
	}
	return 0, false
}

// VariableName is the part before "="; Windows has names that begin with "=".
func VariableName(kv string) string {
	if i := strings.IndexByte(kv, '='); i > 0 {
		return kv[:i]
	}
	return kv
}

// Lookup returns the value of the variable called name, the last one when it is there twice.
func Lookup(environ []string, name string) string {
	for _, kv := range slices.Backward(environ) {
		if n := VariableName(kv); sameName(n, name) && len(kv) > len(n) {
			return kv[len(n)+1:]
		}
	}
	return ""
}

// isOn reports whether a switch variable is set, as claude reads them.
func isOn(environ []string, name string) bool {
	switch strings.ToLower(Lookup(environ, name)) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}
