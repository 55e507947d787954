package claude

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// Fixes: the one command or action that cures a failure.
const (
	fixLogin   = "claude auth login"
	fixKeepEnv = "start slidewrite with --keep-env"
	fixUpdate  = "claude update"
	fixRoot    = "run slidewrite as a user other than root, or set IS_SANDBOX=1 if this machine is a sandbox"
)

// kinds maps the error of an assistant line to a code. Kinds that are not here
// (unknown, invalid_request, server_error) say less than the HTTP status.
var kinds = map[string]string{
	"authentication_failed": event.CodeNotSignedIn,
	"billing_error":         event.CodeBilling,
	"rate_limit":            event.CodeRateLimited,
	"overloaded":            event.CodeOverloaded,
	"model_not_found":       event.CodeModelNotFound,
}

// statuses maps api_error_status to a code.
var statuses = map[int]string{
	400: event.CodeBadRequest,
	401: event.CodeNotSignedIn,
	402: event.CodeBilling,
	403: event.CodeNotSignedIn,
	404: event.CodeModelNotFound,
	413: event.CodePromptTooLong,
	429: event.CodeRateLimited,
	503: event.CodeOverloaded,
	529: event.CodeOverloaded,
}

// fixes by code; not_signed_in depends on what was scrubbed.
var fixes = map[string]string{
	event.CodeBilling:       "add credit to the account, or sign in with a plan: claude auth login",
	event.CodeRateLimited:   "wait until the limit resets, then ask again",
	event.CodeOverloaded:    "wait a little, then ask again",
	event.CodeModelNotFound: "choose another model",
	event.CodePromptTooLong: "start a new session, or ask for less at once",
	event.CodeMaxTurns:      "continue the session to let it go on, or raise --max-turns",
	event.CodeRefused:       "put the request differently, or choose another model",
}

// failure is the error of a run whose last result says is_error.
func (m *mapper) failure() event.Error {
	code := m.code()
	e := event.Error{Message: m.failureMessage(), Code: code, Fix: fixes[code]}
	switch code {
	case event.CodeNotSignedIn:
		e.Fix = signInFix(m.opts.Scrubbed)
	case event.CodeRateLimited:
		e.ResetsAt = m.limit.resetsAt
	case event.CodeInternal:
		noAnswer := m.apiError == "server_error" && m.result.APIErrorStatus == 0 // 197
		if noAnswer || m.result.APIError == "connection_failed" {
			e.Fix = "check the network connection, then ask again"
		}
	}
	return e
}

func (m *mapper) code() string {
	r := m.result
	switch {
	case m.refused || r.StopReason == "refusal":
		return event.CodeRefused
	case r.TerminalReason == "prompt_too_long":
		return event.CodePromptTooLong
	case r.Subtype == "error_max_turns":
		return event.CodeMaxTurns
	case r.Subtype == "error_max_budget_usd":
		return event.CodeBilling
	case m.aborted():
		return event.CodeCrashed // somebody else's SIGINT
	}
	// An overload in the middle of a stream is a 500 by its status: 332 says so
	// in api_error_type, 197 only on the retry before.
	for _, kind := range []string{m.apiError, strings.TrimSuffix(r.APIErrorType, "_error")} {
		if code, known := kinds[kind]; known {
			return code
		}
	}
	if code, known := statuses[int(agent.Whole(r.APIErrorStatus))]; known {
		return code
	}
	if code, known := kinds[m.retried]; known {
		return code
	}
	switch {
	case m.apiError == "invalid_request":
		return event.CodeBadRequest
	case r.Result != nil && strings.Contains(*r.Result, "Please run /login"):
		return event.CodeNotSignedIn // no assistant line came with it
	}
	return event.CodeInternal
}

// failureMessage is claude's own words, or ours when it has none.
func (m *mapper) failureMessage() string {
	r := m.result
	if m.aborted() {
		return "claude was interrupted from outside"
	}
	if r.Result != nil && *r.Result != "" {
		return *r.Result
	}
	said := slices.DeleteFunc(slices.Clone(r.Errors), func(s string) bool {
		return s == "" || strings.HasPrefix(s, "[ede_diagnostic]") // not for people
	})
	if len(said) > 0 {
		return strings.Join(said, "; ")
	}
	return fmt.Sprintf("claude failed and gave no reason (%s)", r.Subtype)
}

// signInFix prefers the way that would have worked: a key that was taken away.
func signInFix(scrubbed []string) string {
	if slices.ContainsFunc(scrubbed, func(name string) bool { return slices.Contains(signsIn, name) }) {
		return fixKeepEnv
	}
	return fixLogin
}

// deaths are start-up failures: no line on stdout, a sentence on stderr.
var deaths = []struct {
	says    string // part of stderr
	code    string
	message string
	fix     string
}{
	{"cannot be used with root/sudo", event.CodeUnsupported, "claude does not run with full permissions as root", fixRoot},
	{"error: unknown option", event.CodeUnsupported, "this version of claude does not know an option it was given", fixUpdate},
	{"Not logged in", event.CodeNotSignedIn, "claude is not signed in", ""},
	{"Invalid API key", event.CodeNotSignedIn, "claude's API key is not valid", ""},
}

// noResult is the error of a process that ended without a result. Exit 0 is no
// excuse: 197 exits so with its last lines cut off.
func (m *mapper) noResult(exit agent.Exit) event.Error {
	if m.lost || m.opts.Resume != "" && !m.started && saysNoConversation(exit.Stderr) {
		m.lost = true
		return event.Error{
			Message: "claude does not know the session " + m.opts.Resume,
			Code:    event.CodeNotFound, Fix: "start a new session",
		}
	}
	stderr := agent.StderrTail(exit.Stderr)
	for _, d := range deaths {
		if strings.Contains(exit.Stderr, d.says) {
			fix := d.fix
			if d.code == event.CodeNotSignedIn {
				fix = signInFix(m.opts.Scrubbed)
			}
			return event.Error{Message: d.message + ": " + stderr, Code: d.code, Fix: fix}
		}
	}
	return agent.EndedEarly("claude", "", exit)
}

func saysNoConversation(s string) bool {
	return strings.Contains(s, "No conversation found with session ID")
}

// limit remembers the rate limit that was last told.
type limit struct {
	told     string // status and kind
	resetsAt string // RFC 3339
}

// rateLimit says when a limit is near or reached, once per change.
func (m *mapper) rateLimit(l *wireLine) {
	r := l.RateLimit
	told := r.Status + " " + r.Kind
	if r.Status == "" || told == m.limit.told {
		return
	}
	m.limit = limit{told: told, resetsAt: rfc3339(r.ResetsAt)}
	if r.Status == "allowed" {
		return
	}
	message := "the usage limit is nearly reached"
	if r.Status == "rejected" {
		message = "the usage limit is reached"
	}
	if r.Kind != "" {
		message += " (" + strings.ReplaceAll(r.Kind, "_", " ") + ")"
	}
	m.emit(event.Note{Message: message, Level: event.Warning, Code: "rate_limit", ResetsAt: m.limit.resetsAt})
}

// rfc3339 reads a time that is seconds or milliseconds since 1970, as number
// or text, or RFC 3339 already; "" when it is none.
func rfc3339(v any) string {
	var seconds float64
	switch v := v.(type) {
	case float64:
		seconds = v
	case string:
		if t, err := time.Parse(time.RFC3339, v); err == nil {
			return t.UTC().Format(time.RFC3339)
		}
		if json.Unmarshal([]byte(v), &seconds) != nil {
			return ""
		}
	}
	if seconds > 1e11 { // the year 5138 in seconds: these are milliseconds
		seconds /= 1000
	}
	if !(seconds > 0) || seconds > 1e11 {
		return ""
	}
	return time.Unix(int64(seconds), 0).UTC().Format(time.RFC3339)
}
