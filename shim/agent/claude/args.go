package claude

import (
	"strconv"
	"strings"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// DefaultMaxTurns is passed when a Spec names no limit. claude counts API
// calls, not tool results, and takes 0 as "no limit".
const DefaultMaxTurns = 40

// snapshotOff is the first version known to have --system-prompt-snapshot.
// 197 does not have it and dies of an unknown flag.
var snapshotOff = version{2, 1, 332}

// Command returns the command line for s. Prompt, images and secrets are not
// on it: they go by stdin and environment. A model, effort or session id that
// could be taken for a flag is left out; requests with one are refused earlier.
func (Claude) Command(s agent.Spec) agent.Invocation {
	args := []string{
		"-p",
		"--input-format", "stream-json",
		"--output-format", "stream-json",
		"--verbose", // stream-json output is refused without it
		"--include-partial-messages",
		"--dangerously-skip-permissions",
		"--setting-sources", settingSources(s),
		"--system-prompt", s.System,
		"--max-turns", strconv.Itoa(maxTurns(s)),
	}
	if s.MCP == "none" {
		args = append(args, "--strict-mcp-config")
	}
	if !s.UseSkills {
		args = append(args, "--disable-slash-commands")
	}
	if agent.ModelPattern.MatchString(s.Model) {
		args = append(args, "--model", s.Model)
	}
	if s.Effort != "default" && agent.EffortPattern.MatchString(s.Effort) {
		args = append(args, "--effort", s.Effort)
	}
	if agent.UUIDPattern.MatchString(s.Resume) {
		// Both versions look an id up as it is written, and write lower case.
		args = append(args, "--resume", strings.ToLower(s.Resume))
		if parseVersion(s.Version).atLeast(snapshotOff) {
			// Without it 332 re-sends the system prompt recorded in the
			// session and ignores ours.
			args = append(args, "--system-prompt-snapshot", "off")
		}
	}
	return agent.Invocation{Bin: s.Bin, Args: args, Env: runEnv(s), Dir: s.Repo}
}

// settingSources is which settings files claude loads. The empty value stops
// the repo's hooks, its env, its MCP servers and CLAUDE.md alike.
func settingSources(s agent.Spec) string {
	if s.ProjectSettings {
		return "project"
	}
	return ""
}

func maxTurns(s agent.Spec) int {
	if s.MaxTurns <= 0 {
		return DefaultMaxTurns
	}
	return s.MaxTurns
}

// runEnv is what a run sets on top of the scrubbed environment. Without
// background tasks a run has one result and no command outlives it; the state
// events say when stdin can be closed; the temp dir keeps image copies and
// sockets that claude never removes inside the run's own folder.
func runEnv(s agent.Spec) []string {
	return []string{
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
		"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1",
		"CLAUDE_CODE_TMPDIR=" + s.RunDir,
	}
}

// version is major, minor, patch; the zero value is "unknown", older than all.
type version [3]int

// versionPattern finds the number in "2.1.332 (Claude Code)".
var versionPattern = lazyregexp.New(`\b(\d+)\.(\d+)\.(\d+)\b`)

func parseVersion(s string) version {
	m := versionPattern.FindStringSubmatch(s)
	if m == nil {
		return version{}
	}
	var v version
	for i := range v {
		n, err := strconv.Atoi(m[i+1])
		if err != nil { // more digits than an int holds
			return version{}
		}
		v[i] = n
	}
	return v
}

func (v version) atLeast(w version) bool {
	for i := range v {
		if v[i] != w[i] {
			return v[i] > w[i]
		}
	}
	return true
}
