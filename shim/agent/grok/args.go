package grok

import (
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// DefaultMaxTurns is passed when a Spec names no limit. grok counts responses
// of the model, and takes no 0.
const DefaultMaxTurns = 40

// promptFile is the name of the prompt file in the run's folder. A ".json" one
// would be parsed as blocks.
const promptFile = "prompt.txt"

// Command returns the command line for s. Prompt and secrets are not on it:
// they go by file and environment. A model, effort or session id that could be
// taken for a flag is left out; requests with one are refused earlier.
//
// All flags are in 1.0.6 (xai-grok-pager/src/app/cli.rs, headless/cli.rs). There
// is none for images or for leaving skills, hooks or MCP servers out: pictures
// are named in the prompt, and grok looks at them with its own tool.
func (g Grok) Command(s agent.Spec) agent.Invocation {
	file := filepath.Join(s.RunDir, promptFile)
	args := []string{
		"--prompt-file", file,
		"--cwd", s.Repo, // absolute: relative paths are resolved a second time after chdir
		"--output-format", "streaming-messages-json",
		"--include-partial-messages",
		"--always-approve",
		"--permission-mode", "bypassPermissions", // wins over --always-approve where a configuration names another
		"--sandbox", "off",
		"--no-auto-update",
		"--no-wait-for-background", // else up to 600 s between the turn and its result
		"--max-turns", strconv.Itoa(maxTurns(s)),
		"--verbatim", // else a prompt over 25,000 bytes becomes a file that the model is told of
	}
	if agent.ModelPattern.MatchString(s.Model) {
		args = append(args, "-m", s.Model)
	}
	if s.Effort != "default" && agent.EffortPattern.MatchString(s.Effort) {
		args = append(args, "--effort", s.Effort)
	}
	if agent.UUIDPattern.MatchString(s.Resume) { // anything else is looked up as a title
		args = append(args, "-r", strings.ToLower(s.Resume))
	}
	return agent.Invocation{
		Bin: s.Bin, Args: args, Env: g.homeEnv(), Dir: s.Repo,
		Files: []agent.File{{Path: file, Data: []byte(promptText(s))}},
	}
}

func maxTurns(s agent.Spec) int {
	if s.MaxTurns <= 0 {
		return DefaultMaxTurns
	}
	return s.MaxTurns
}

// marker is the line of the prompt file below which the user's request stands.
// UserPart finds it again in titles and histories.
const marker = "==== slidewrite: the user's request begins below this line ===="

// promptText is the prompt file: the system prompt, the marker, the user's
// prompt after the newline that stands before every agent's.
//
// grok trims the file, so that newline at the very front is not what keeps a
// prompt that begins with "/" from being run as a command: the system prompt
// and the marker are, for what grok is delivered always begins with one of
// them. An "@path" of the user's is expanded, as people expect; page text has
// none. The system prompt goes along on a resume too: grok keeps it as a
// message of the session like any other, which compaction may take away, and
// the session may be one that was begun without us.
func promptText(s agent.Spec) string {
	text := "\n"
	if system := strings.TrimSpace(s.System); system != "" {
		text += system + "\n\n"
	}
	return text + marker + "\n\n" + s.Prompt
}

// UserPart is Spec.Prompt of a prompt that grok recorded: all below our marker
// and the empty line after it, or the whole text when it has none. (Of space at
// the prompt's end nothing is left: grok had trimmed it.)
func UserPart(text string) string {
	_, user, found := strings.Cut("\n"+text+"\n", "\n"+marker+"\n")
	if !found {
		return text
	}
	return strings.TrimPrefix(strings.TrimSuffix(user, "\n"), "\n")
}

// Refuse returns why s cannot be given to grok, or nil.
func (Grok) Refuse(s agent.Spec) *event.Error {
	switch {
	case s.MCP == "none":
		return &event.Error{
			Message: "grok cannot leave MCP servers out; only claude can",
			Code:    event.CodeUnsupported, Fix: "start slidewrite without --mcp none",
		}
	case !utf8.ValidString(promptText(s)): // presumably read as a Rust string, which is an error then
		return &event.Error{
			Message: "the prompt is not valid UTF-8, and grok takes nothing else",
			Code:    event.CodeBadRequest, Fix: "send the prompt as UTF-8",
		}
	}
	return nil
}
