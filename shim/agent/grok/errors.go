package grok

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// Fixes: the one command or action that cures a failure.
const (
	fixLogin   = "grok login"
	fixKey     = "correct XAI_API_KEY, or unset it and run: grok login"
	fixUpdate  = "grok update"
	fixNetwork = "check the network connection, then ask again"
	fixWait    = "wait a little, then ask again"
	fixAnew    = "start a new session, or ask for less at once"
	fixModel   = "choose another model"
	fixConfig  = "correct config.toml in grok's home folder (~/.grok)"
)

// cause is one way a turn, or grok itself, fails.
type cause struct {
	says    *lazyregexp.Regexp // in what grok said, on stdout or stderr
	code    string
	message string // "" = grok's own words
	fix     string
}

// causes are asked in order. The words are those of acp::Error ("Authentication
// required", "Internal error", "Invalid params") with the server's own behind
// them (xai-grok-shell/src/sampling/error.rs), which only a real grok could show
// whole. A 403 is no matter of signing in: it is a subscription, or a block.
var causes = []cause{
	{re(`rate.?limit|usage limit|free.usage|status:? 429|too many requests`),
		event.CodeRateLimited, "", "wait until the limit resets, then ask again"},
	{re(`overloaded|status:? 5(29|03)|"http_status":\s*5(29|03)|at capacity`),
		event.CodeOverloaded, "xAI's servers are overloaded", fixWait},
	{re(`requires a grok subscription|out of credits|credits|billing|payment|spending limit|status:? 402`),
		event.CodeBilling, "", "add credit or a subscription at x.ai, then ask again"},
	{re(`(api[_ -]?key).*(invalid|incorrect|not valid|rejected|expired|disabled)|(invalid|incorrect).*api[_ -]?key`),
		event.CodeNotSignedIn, "grok's API key is not valid", fixKey},
	{re(`(session|token|login|sign-?in|credential)s?\b.*expired|expired.*\b(session|token|login|credential)|refresh token`),
		event.CodeNotSignedIn, "the sign-in of grok has expired", fixLogin},
	{re(`not signed in|not authenticated|not logged in|authentication required|auth_required|unauthorized|status:? 401|grok login`),
		event.CodeNotSignedIn, "grok is not signed in", fixLogin},
	{re(`(unknown|invalid|unsupported)\b.*\b(effort|reasoning)|\beffort\b.*(unknown|invalid|not supported|unsupported)`),
		event.CodeBadRequest, "", "choose another effort"},
	{re(`context (length|window|limit)|maximum (prompt|context)|(prompt|input|request).*too (long|large)|payload too large|status:? 413|too many tokens`),
		event.CodePromptTooLong, "the session no longer fits into the model's context", fixAnew},
	{re(`\bmodels?\b.*(not found|does not exist|not available|unavailable|not supported|no access)|(unknown|invalid|no such) model|model_not_found`),
		event.CodeModelNotFound, "", fixModel},
	{re(`max.?tokens|truncat`),
		event.CodeInternal, "the answer was cut off at the model's longest output", "ask for less at once"},
	{re(`refused to continue|content.?(safety|policy|filter)|usage (guidelines|polic)|moderat|violat`),
		event.CodeRefused, "", "put the request differently, or choose another model"},
	{re(`error sending request|http client|dns|connection|connect error|network|timed? ?out|no response from model|event ?stream|stream (error|closed|ended)`),
		event.CodeInternal, "the connection to the model broke", fixNetwork},
	{re(`status:? 5\d\d|"http_status":\s*5\d\d|internal server error`),
		event.CodeOverloaded, "xAI's servers have a problem", fixWait},
	{re(`invalid params|bad request|status:? 400`), event.CodeBadRequest, "", ""},
}

// deaths are start-up failures: nothing on stdout, a sentence on stderr.
var deaths = []cause{
	{re(`unexpected argument|unrecognized subcommand|invalid value .* for '|a value is required|cannot be used with`), // clap
		event.CodeUnsupported, "this version of grok does not know an option it was given", fixUpdate},
	{re(`sandbox`),
		event.CodeBadRequest, "the session was made with another sandbox profile", "start a new session"},
	{re(`not signed in|not authenticated|grok login`), event.CodeNotSignedIn, "grok is not signed in", fixLogin},
	{re(`config(\.toml|uration)?\b.*(pars|invalid|load|expected)|toml parse error`),
		event.CodeUnsupported, "grok cannot read its configuration", fixConfig},
	{re(`prompt.?file|prompt is empty|empty prompt|valid utf-8`), event.CodeBadRequest, "grok could not read its prompt file", ""},
}

func re(s string) *lazyregexp.Regexp { return lazyregexp.New(`(?is)` + s) }

// lostSession is how grok answers a session id that it does not know.
var lostSession = re(`session does not exist|session not found|no (such )?session`)

// find is the first cause that fits, or nil.
func find(list []cause, said string) *cause {
	for i := range list {
		if list[i].says.MatchString(said) {
			return &list[i]
		}
	}
	return nil
}

// failure is the error of a run whose result says is_error.
func (m *mapper) failure() event.Error {
	r := m.result
	said := strings.Join(r.Errors, "; ")
	switch {
	case r.Subtype == "error_max_turns":
		return event.Error{
			Message: "the limit of turns is reached; what was done so far is kept",
			Code:    event.CodeMaxTurns, Fix: "continue the session to let it go on, or raise --max-turns",
		}
	case r.StopReason == "refusal":
		return event.Error{
			Message: orElse(agent.OneLine(said), "the model refused to continue"),
			Code:    event.CodeRefused, Fix: "put the request differently, or choose another model",
		}
	case r.StopReason == "cancelled":
		// Nobody is there to cancel: a hook or a deny rule of grok's own
		// configuration did.
		return event.Error{
			Message: "grok cancelled the turn: a rule or a hook of its own configuration forbade a tool",
			Code:    event.CodeCrashed, Fix: "look at the rules in ~/.grok and in the project's .grok folder",
		}
	case r.StopReason == "max_tokens":
		said += "; max_tokens"
	}
	return describeFailure(said, r.Subtype)
}

func describeFailure(said, subtype string) event.Error {
	e := event.Error{Message: agent.OneLine(unwrapError(said)), Code: event.CodeInternal}
	if e.Message == "" {
		e.Message = fmt.Sprintf("grok failed and gave no reason (%s)", subtype)
	}
	if c := find(causes, said); c != nil {
		e.Code, e.Fix = c.code, c.fix
		if c.message != "" {
			e.Message = c.message
		}
	}
	return e
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// unwrapError takes the server's words out of an error as acp::Error prints it:
// its own name, a colon, and the data as JSON, over several lines perhaps.
func unwrapError(said string) string {
	i := strings.IndexAny(said, `{"`)
	if i < 2 || said[i-2:i] != ": " {
		return said
	}
	d := json.NewDecoder(strings.NewReader(said[i:]))
	var data any
	if d.Decode(&data) != nil {
		return said
	}
	switch v := data.(type) {
	case string:
		return said[:i] + v
	case map[string]any:
		for _, key := range []string{"message", "detail"} {
			if s, ok := v[key].(string); ok && s != "" {
				return said[:i] + s
			}
		}
	}
	return said
}

// wrongFolder is the error of a grok that worked elsewhere. It was ended at its
// first line; what it may have done until then is not in our snapshots.
func (m *mapper) wrongFolder() event.Error {
	return event.Error{
		Message: fmt.Sprintf("the session belongs to another folder (%s), and grok began to work there: it was ended at once; look there whether it changed anything", m.foreign),
		Code:    event.CodeBadRequest,
		Fix:     "start a new session here, or run slidewrite in that folder",
	}
}

// noResult is the error of a process that ended without a result. Exit 0 is no
// excuse.
func (m *mapper) noResult(exit agent.Exit) event.Error {
	if m.lost || m.opts.Resume != "" && !m.started && lostSession.MatchString(exit.Stderr) {
		m.lost = true
		return event.Error{
			Message: "grok does not know the session " + m.opts.Resume,
			Code:    event.CodeNotFound, Fix: "start a new session",
		}
	}
	stderr := agent.StderrTail(exit.Stderr)
	if d := find(deaths, exit.Stderr); d != nil && !m.started {
		return event.Error{Message: d.message + ": " + agent.OneLine(stderr), Code: d.code, Fix: d.fix}
	}
	return agent.EndedEarly("grok", "", exit)
}
