package fakeagents

import (
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

func oneOf(values ...string) func(string) error {
	return func(v string) error {
		if !slices.Contains(values, v) {
			return errors.Newf("%q is not one of %q", v, values)
		}
		return nil
	}
}

func notEmpty(v string) error {
	if v == "" {
		return errors.New("it is empty")
	}
	return nil
}

func positive(v string) error {
	if n, err := strconv.Atoi(v); err != nil || n < 1 {
		return errors.Newf("%q is not a positive number", v)
	}
	return nil
}

func matching(pattern string) func(string) error {
	re := regexp.MustCompile(pattern)
	return func(v string) error {
		if !re.MatchString(v) {
			return errors.Newf("%.80q does not look like one", v)
		}
		return nil
	}
}

// secretLike is what must never be in a list of processes.
var secretLike = lazyregexp.New(`sk-ant-|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|AIza[A-Za-z0-9_-]{30,}|(?i:bearer )[A-Za-z0-9._-]{8,}|-----BEGIN`)

// olderThan compares dotted numbers.
func olderThan(a, b string) bool {
	if b == "" {
		return false
	}
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		m, errM := strconv.Atoi(x[i])
		n, errN := strconv.Atoi(y[i])
		if errM != nil || errN != nil || m != n {
			return m < n
		}
	}
	return len(x) < len(y)
}

// scrubbed are the variables that must not reach an agent: what an outer
// session left behind, and what would bill a stray key or send the run
// elsewhere.
var scrubbed = []string{
	"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID",
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL",
}

// checkEnv checks what the shim lets through; more are variables that this CLI
// must not see.
func checkEnv(e environment, more ...string) error {
	_, bedrock := e.lookup("CLAUDE_CODE_USE_BEDROCK")
	_, vertex := e.lookup("CLAUDE_CODE_USE_VERTEX")
	var bad []string
	for _, name := range e.names() {
		secret := name == "GEMINI_API_KEY" || strings.HasPrefix(name, "SLIDEWRITE_") && name != "SLIDEWRITE_RUN"
		listed := (slices.Contains(scrubbed, name) || slices.Contains(more, name)) && e.get(EnvKeepEnv) == ""
		if strings.HasPrefix(name, "ANTHROPIC_") && (bedrock || vertex) {
			listed = false
		}
		if secret || listed {
			bad = append(bad, name)
		}
	}
	if len(bad) > 0 {
		sort.Strings(bad)
		return errors.Newf("the environment holds %s, which an agent must not see", strings.Join(bad, ", "))
	}
	return nil
}
