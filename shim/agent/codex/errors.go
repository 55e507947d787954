package codex

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// Fixes: the one command or action that cures a failure.
const (
	fixLogin   = "codex login"
	fixRelogin = "codex logout && codex login"
	fixKeepEnv = "start slidewrite with --keep-env"
	fixUpdate  = "codex update"
	fixNetwork = "check the network connection, then ask again"
	fixWait    = "wait a little, then ask again"
	fixAnew    = "start a new session, or ask for less at once"
	fixConfig  = "correct config.toml in codex's home folder (~/.codex)"
)

// cause is one way a turn, or codex itself, fails. Message and fix fit into
// two lines of 60 characters.
type cause struct {
	says    *lazyregexp.Regexp // in what codex said, on stdout or stderr
	code    string
	message string // "" = codex's own words
	fix     string
}

// causes are asked in order. Sources: the captures err*, failed*, n-* and f-*
// of 0.171.0; those marked "source" are texts of codex-rs that no scripted
// model brings about.
var causes = []cause{
	{says: re(`missing environment variable`), code: event.CodeNotSignedIn}, // completed by missingVariable
	{says: re(`refresh token|token could not be refreshed|log out and sign in again`), // source
		code: event.CodeNotSignedIn, message: "the sign-in of codex has expired", fix: fixRelogin},
	{says: re(`incorrect api key|invalid.api.key`),
		code: event.CodeNotSignedIn, message: "codex's API key is not valid", fix: fixRelogin},
	{says: re(`401 unauthorized|status 401|not logged in`),
		code: event.CodeNotSignedIn, message: "codex is not signed in (401 Unauthorized)"},
	{says: re(`usage limit`),
		code: event.CodeRateLimited, message: "the usage limit of this OpenAI account is reached", fix: "wait until the limit resets, then ask again"},
	{says: re(`quota exceeded|insufficient.quota|exceeded your current quota|out of credits|billing`),
		code: event.CodeBilling, message: "the OpenAI account has no quota left", fix: "add credit to the account, or sign in with a plan: codex login"},
	{says: re(`at capacity|high demand|overloaded|status 503|status 529`),
		code: event.CodeOverloaded, message: "OpenAI's servers are overloaded", fix: fixWait},
	{says: re(`rate limit|status: 429|status 429|too many requests`),
		code: event.CodeRateLimited, message: "OpenAI's rate limit is reached", fix: fixWait},
	{says: re(`context window|context_length_exceeded|exceeds the maximum length`),
		code: event.CodePromptTooLong, message: "the session no longer fits into the model's context", fix: fixAnew},
	{says: re(`requires a newer version of codex`), // source
		code: event.CodeUnsupported, message: "this version of codex is too old for the model", fix: fixUpdate},
	{says: re(`model\b.*(does not exist|not found|is not supported)|model_not_found`),
		code: event.CodeModelNotFound, message: "OpenAI does not have this model for this account", fix: "choose another model"},
	{says: re(`content_filter|was flagged|usage polic|safety reasons`), // source
		code: event.CodeRefused, message: "OpenAI refused the request", fix: "put the request differently, or choose another model"},
	{says: re(`max_output_tokens`),
		code: event.CodeInternal, message: "the answer was cut off at the model's longest output", fix: "ask for less at once"},
	{says: re(`403 forbidden|status 403`),
		code: event.CodeNotSignedIn, message: "OpenAI does not allow this account to ask (403 Forbidden)", fix: fixRelogin},
	{says: re(`internal server error|status 5\d\d`),
		code: event.CodeOverloaded, message: "OpenAI's servers have a problem", fix: fixWait},
	{says: re(`stream disconnected|failed to lookup address|error sending request|connection (failed|refused|reset|closed)|network error|timed? ?out|response stream`),
		code: event.CodeInternal, message: "the connection to the model broke", fix: fixNetwork},
	{says: re(`invalid_request_error|status 400|bad request|unsupported value`), code: event.CodeBadRequest},
}

// deaths are start-up failures: no turn on stdout, a sentence on stderr.
var deaths = []cause{
	{says: re(`already has an active writer`),
		code: event.CodeBadRequest, message: "another codex is at work in this session", fix: "wait until it has ended, or start a new session"},
	{says: re(`unexpected argument|invalid value .* for '|unrecognized subcommand`),
		code: event.CodeUnsupported, message: "this version of codex does not know an option it was given", fix: fixUpdate},
	{says: re(`exceeds the maximum length`),
		code: event.CodePromptTooLong, message: "the prompt is too long for codex", fix: "ask for less at once, or pick fewer elements"},
	{says: re(`not valid utf-8`),
		code: event.CodeBadRequest, message: "the prompt is not valid UTF-8, and codex takes nothing else", fix: "send the prompt as UTF-8"},
	{says: re(`codex_home points to`),
		code: event.CodeNotFound, message: "codex's home folder does not exist", fix: "create it, or correct --codex-home or CODEX_HOME"},
	{says: re(`required mcp servers failed`),
		code: event.CodeUnsupported, message: "an MCP server that codex requires does not start", fix: fixConfig},
	{says: re(`error loading config|error parsing -c|toml parse error|failed to (load|parse) config`),
		code: event.CodeUnsupported, message: "codex cannot read its configuration", fix: fixConfig},
}

func re(s string) *lazyregexp.Regexp { return lazyregexp.New(`(?is)` + s) }

// lostSession is how codex answers a session id that it does not know.
var lostSession = re(`no rollout found for (thread|conversation)|no (saved )?(session|conversation) found`)

// causeOf is the first cause that fits, or nil.
func causeOf(said string) *cause { return find(causes, said) }

func find(list []cause, said string) *cause {
	for i := range list {
		if list[i].says.MatchString(said) {
			return &list[i]
		}
	}
	return nil
}

// failure is the error of a turn that failed with the given words.
func failure(said string, scrubbed []string) event.Error {
	e := event.Error{Message: agent.OneLine(unwrap(said)), Code: event.CodeInternal}
	c := causeOf(said)
	if c == nil {
		return e
	}
	e.Code, e.Fix = c.code, c.fix
	if c.message != "" {
		e.Message = c.message
	}
	switch name := missingVariable.FindStringSubmatch(said); {
	case name != nil:
		e.Message = "codex needs the variable " + name[1] + ", which is not set"
		e.Fix = "set " + name[1] + ", then start slidewrite again"
		if slices.Contains(scrubbed, name[1]) {
			e.Fix = fixKeepEnv
		}
	case e.Code == event.CodeNotSignedIn && e.Fix == "":
		e.Fix = signInFix(scrubbed)
	case e.Code == event.CodeRateLimited:
		if again := tryAgain.FindStringSubmatch(said); again != nil {
			e.Message += ": try again " + again[1]
		}
	}
	return e
}

// missingVariable is said of a model provider of config.toml with an env_key.
var missingVariable = lazyregexp.New("Missing environment variable: `([A-Za-z_][A-Za-z0-9_]{0,60})`")

// tryAgain is when a limit resets, in codex's words and the user's time zone:
// "at 9:04 AM", "at Dec 3rd, 2026 9:04 AM", "in 1s".
var tryAgain = lazyregexp.New(`try again ((?:at|in) [A-Za-z0-9:, ]{1,40})\.?`)

// unwrap takes the message out of an API error that came as its JSON body.
func unwrap(said string) string {
	body := said
	if i := strings.IndexByte(said, '{'); i > 0 {
		body = said[i:] // "unexpected status 400 Bad Request: {…}, url: …"
	}
	var api struct {
		Error   wireError `json:"error"`
		Message string    `json:"message"`
		Detail  string    `json:"detail"`
	}
	if json.NewDecoder(strings.NewReader(body)).Decode(&api) != nil {
		return said
	}
	for _, s := range []string{api.Error.Message, api.Message, api.Detail} {
		if s != "" {
			return s
		}
	}
	return said
}

// signInFix prefers the way that would have worked: a key that was taken away.
func signInFix(scrubbed []string) string {
	if slices.Contains(scrubbed, keyVariable) {
		return fixKeepEnv
	}
	return fixLogin
}

// noResult is the error of a process that ended without the end of a turn.
// Exit 0 is no excuse.
func (m *mapper) noResult(exit agent.Exit) event.Error {
	if m.opts.Resume != "" && !m.started && lostSession.MatchString(exit.Stderr) {
		m.lost = true
		return event.Error{
			Message: "codex does not know the session " + m.opts.Resume,
			Code:    event.CodeNotFound, Fix: "start a new session",
		}
	}
	if d := find(deaths, exit.Stderr); d != nil {
		return event.Error{Message: d.message, Code: d.code, Fix: d.fix}
	}
	if causeOf(m.said) != nil {
		return failure(m.said, m.opts.Scrubbed)
	}
	return agent.EndedEarly("codex", agent.OneLine(m.said), exit)
}
