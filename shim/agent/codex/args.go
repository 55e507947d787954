package codex

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// maxPrompt is how long a prompt may be, in characters. codex takes 1,048,576
// and ends without a word on stdout above that.
const maxPrompt = 1_000_000

// maxArgument is how long one argument may be, in bytes with its closing NUL:
// Linux refuses to start a program with a longer one (MAX_ARG_STRLEN).
const maxArgument = 128 << 10

// Command returns the command line for s. Prompt and secrets are not on it:
// they go by stdin and environment. A model, effort or session id that could
// be taken for a flag is left out; requests with one are refused earlier.
//
// There is no limit of turns, and no way to leave out skills or MCP servers.
func (c Codex) Command(s agent.Spec) agent.Invocation {
	args := []string{
		"exec", "--json",
		"--dangerously-bypass-approvals-and-sandbox",
		"--skip-git-repo-check",
		"-C", s.Repo, // resume does not know it: it stands before
		"-c", "analytics.enabled=false", // else codex lives on for 5 s without a network
		"-c", instructions(s),
	}
	if model := modelOf(s.Model, s.Session); model != "" {
		args = append(args, "-m", model)
	}
	if s.Effort != "default" && agent.EffortPattern.MatchString(s.Effort) {
		args = append(args, "-c", `model_reasoning_effort="`+s.Effort+`"`)
	}
	for _, im := range s.Images {
		// One argument: "-i FILE -" takes "-" for a second image. codex splits
		// the value at commas, quoted or not, so such a path goes by the
		// prompt alone, which names every image.
		if !strings.Contains(im.Path, ",") {
			args = append(args, "--image="+im.Path)
		}
	}
	if agent.UUIDPattern.MatchString(s.Resume) { // anything else begins a new thread, silently
		args = append(args, "resume", strings.ToLower(s.Resume))
	}
	return agent.Invocation{Bin: s.Bin, Args: append(args, "-"), Env: c.homeEnv(), Dir: s.Repo}
}

// modelOf is the model of a run: without a choice that of the thread's last
// turn, for which codex would take the configured default; "" leaves it to
// codex.
func modelOf(chosen string, session agent.Session) string {
	for _, model := range []string{chosen, session.Model} {
		if agent.ModelPattern.MatchString(model) {
			return model
		}
	}
	return ""
}

// instructions is the system prompt as codex's configuration has it.
func instructions(s agent.Spec) string {
	return "developer_instructions=" + tomlString(s.System)
}

// tomlString is s as a TOML basic string. All but the characters that TOML
// wants escaped are left as they are.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r) // what is not UTF-8 becomes U+FFFD: TOML is UTF-8
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Refuse returns why s cannot be given to codex, or nil.
func (Codex) Refuse(s agent.Spec) *event.Error {
	switch text := promptText(s); {
	case s.MCP == "none":
		return &event.Error{
			Message: "codex cannot leave MCP servers out; only claude can",
			Code:    event.CodeUnsupported, Fix: "start slidewrite without --mcp none",
		}
	case !utf8.ValidString(text):
		return &event.Error{
			Message: "the prompt is not valid UTF-8, and codex takes nothing else",
			Code:    event.CodeBadRequest, Fix: "send the prompt as UTF-8",
		}
	case len(text) > maxPrompt && utf8.RuneCountInString(text) > maxPrompt:
		return &event.Error{
			Message: fmt.Sprintf("the prompt has %d characters; codex takes 1000000 at most", utf8.RuneCountInString(text)),
			Code:    event.CodePromptTooLong, Fix: "ask for less at once, or pick fewer elements",
		}
	case len(instructions(s)) >= maxArgument:
		return &event.Error{
			Message: "the system prompt is too long for codex's command line",
			Code:    event.CodePromptTooLong, Fix: "shorten the instructions that slidewrite was given",
		}
	}
	return nil
}
