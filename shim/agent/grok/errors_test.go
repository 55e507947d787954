package grok

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// ending maps a failing result after init and returns the error.
func ending(t *testing.T, subtype, stop, said string, exit agent.Exit) event.Error {
	t.Helper()
	errs, _ := json.Marshal([]string{said})
	stopReason, _ := json.Marshal(stop)
	m, _ := mapAll(t, agent.MapOptions{Repo: testRepo}, initLine,
		`{"type":"result","subtype":"`+subtype+`","is_error":true,"stop_reason":`+string(stopReason)+`,"errors":`+string(errs)+`}`)
	closing := m.Finish(exit)
	if len(closing) != 2 || closing[0].Type() != "result" {
		t.Fatalf("%+v", closing)
	}
	e, ok := closing[1].(event.Error)
	if !ok {
		t.Fatalf("%+v", closing)
	}
	return e
}

func TestFailures(t *testing.T) {
	const during = "error_during_execution"
	tests := []struct {
		name, subtype, stop, said string
		code, fix, message        string // message: a part
	}{
		{"turns", "error_max_turns", "cancelled", "Reached the maximum number of turns", event.CodeMaxTurns, "continue the session to let it go on, or raise --max-turns", "is kept"},
		{"refusal", during, "refusal", "The model refused to continue", event.CodeRefused, "put the request differently, or choose another model", "refused"},
		{"cancelled", during, "cancelled", "cancelled", event.CodeCrashed, "look at the rules", "cancelled the turn"},
		{"max tokens", during, "max_tokens", "x", event.CodeInternal, "ask for less at once", "cut off"},
		{"not signed in", during, "", "Not signed in. To authenticate without a browser, run:\n  grok login --device-code\n\n", event.CodeNotSignedIn, "grok login", "not signed in"},
		{"401", during, "", `Authentication required: "API error (status 401 Unauthorized): bad token"`, event.CodeNotSignedIn, "grok login", "not signed in"},
		{"expired", during, "", `Authentication required: "session expired"`, event.CodeNotSignedIn, "grok login", "expired"},
		{"key", during, "", `Authentication required: "Incorrect API key provided: xa***yz"`, event.CodeNotSignedIn, "correct XAI_API_KEY, or unset it and run: grok login", "API key"},
		{"plan limit", during, "", "You’ve hit the rate limit for your plan. Upgrade your account or try again later.", event.CodeRateLimited, "wait until the limit resets, then ask again", "for your plan"},
		{"free usage", during, "", "You’ve reached your free Grok Build usage limit for now.", event.CodeRateLimited, "wait until", "free Grok Build"},
		{"429", during, "", `Rate limited: "slow down"`, event.CodeRateLimited, "wait until", "Rate limited: slow down"},
		{"overloaded", during, "", "Model is temporarily overloaded. Try again in a moment.", event.CodeOverloaded, "wait a little", "overloaded"},
		{"503", during, "", `Internal error: {"message":"no","http_status":503}`, event.CodeOverloaded, "wait a little", "overloaded"},
		{"500", during, "", `Internal error: {"message":"no","http_status":500}`, event.CodeOverloaded, "wait a little", "problem"},
		{"subscription", during, "", `Internal error: "this requires a Grok subscription"`, event.CodeBilling, "add credit or a subscription at x.ai, then ask again", "Internal error: this requires a Grok subscription"},
		{"model", during, "", `Invalid params: "Unknown model: grok-0"`, event.CodeModelNotFound, "choose another model", "Unknown model: grok-0"},
		{"model of another account", during, "", `Resource not found: "The model grok-9 does not exist or your team has no access to it"`, event.CodeModelNotFound, "choose another model", "grok-9"},
		{"effort", during, "", `Invalid params: "unknown reasoning effort: extreme"`, event.CodeBadRequest, "choose another effort", "extreme"},
		{"too long", during, "", `Invalid params: "This model's maximum prompt length is 500000"`, event.CodePromptTooLong, "start a new session", "no longer fits"},
		{"network", during, "", `Internal error: "error sending request for url (https://api.x.ai)"`, event.CodeInternal, "check the network connection, then ask again", "broke"},
		{"stuck", during, "", `Internal error: "No response from model for 300s — the model may be stuck"`, event.CodeInternal, "check the network", "broke"},
		{"400", during, "", `Invalid params: "bad"`, event.CodeBadRequest, "", "Invalid params: bad"},
		{"something else", during, "", "a new kind\nof failure", event.CodeInternal, "", "a new kind of failure"},
		{"nothing", during, "", "", event.CodeInternal, "", "gave no reason (error_during_execution)"},
	}
	for _, tt := range tests {
		for _, code := range []int{0, 1} { // the exit code says nothing
			e := ending(t, tt.subtype, tt.stop, tt.said, agent.Exit{Code: code})
			if e.Code != tt.code || !strings.HasPrefix(e.Fix, tt.fix) || tt.fix == "" && e.Fix != "" || !strings.Contains(e.Message, tt.message) {
				t.Errorf("%s: %+v", tt.name, e)
			}
			if strings.ContainsAny(e.Message, "\n{") || len([]rune(e.Message)) > 320 {
				t.Errorf("%s: %q is no sentence", tt.name, e.Message)
			}
		}
	}
}

func TestDeaths(t *testing.T) {
	tests := []struct {
		name, resume, stderr string
		exit                 agent.Exit
		code, fix, message   string
		lost                 bool
	}{
		{"lost", testSession, "Error: Session does not exist\n", agent.Exit{Code: 1}, event.CodeNotFound, "start a new session", testSession, true},
		{"the same words without a session to resume", "", "Error: Session does not exist\n", agent.Exit{Code: 1}, event.CodeCrashed, "", "exit code 1", false},
		{"an old version", "", "error: unexpected argument '--verbatim' found\n\nUsage: grok\n", agent.Exit{Code: 2}, event.CodeUnsupported, "grok update", "does not know an option", false},
		{"sandbox", testSession, "Error: the sandbox profile differs\n", agent.Exit{Code: 1}, event.CodeBadRequest, "start a new session", "sandbox", false},
		{"configuration", "", "Error: TOML parse error at line 1\n", agent.Exit{Code: 1}, event.CodeUnsupported, "correct config.toml", "configuration", false},
		{"signed out", "", "Error: Not signed in. To authenticate, run: grok login\n", agent.Exit{Code: 1}, event.CodeNotSignedIn, "grok login", "not signed in", false},
		{"a panic", "", "thread 'main' panicked\n", agent.Exit{Code: 101}, event.CodeCrashed, "", "exit code 101 without a result: thread 'main' panicked", false},
		{"a signal", "", "", agent.Exit{Code: -1, Signal: "SIGKILL"}, event.CodeCrashed, "", "SIGKILL without a result", false},
		{"exit 0 without a word", "", "", agent.Exit{}, event.CodeCrashed, "", "exit code 0 without a result", false},
	}
	for _, tt := range tests {
		m := newMapper(agent.MapOptions{Repo: testRepo, Resume: tt.resume})
		tt.exit.Stderr = tt.stderr
		closing := m.Finish(tt.exit)
		if len(closing) != 1 {
			t.Fatalf("%s: %+v", tt.name, closing)
		}
		e, _ := closing[0].(event.Error)
		if e.Code != tt.code || !strings.HasPrefix(e.Fix, tt.fix) || tt.fix == "" && e.Fix != "" || !strings.Contains(e.Message, tt.message) || m.Facts().SessionLost != tt.lost {
			t.Errorf("%s: %+v, lost %v", tt.name, e, m.Facts().SessionLost)
		}
	}
}

// A session that is said to be lost on stdout is lost too; one that has begun is not.
func TestLostOnStdout(t *testing.T) {
	const lost = `{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["Session does not exist"]}`
	o := agent.MapOptions{Repo: testRepo, Resume: testSession}
	m, _ := mapAll(t, o, `{"type":"system","subtype":"init","session_id":"","cwd":""}`, lost)
	if closing := m.Finish(agent.Exit{Code: 1}); len(closing) != 1 || !m.Facts().SessionLost {
		t.Errorf("%+v", closing)
	}
	m, _ = mapAll(t, o, initLine, lost)
	if m.Finish(agent.Exit{Code: 1}); m.Facts().SessionLost {
		t.Error("a session that has begun is lost")
	}
}

// Every cause has words, and every fix of a cause is a sentence or a command
// that fits on one line.
func TestCausesAreComplete(t *testing.T) {
	for _, c := range append(causes, deaths...) {
		if c.code == "" || len(c.message)+len(c.fix) > 130 || strings.Contains(c.message+c.fix, "\n") {
			t.Errorf("%v: %q %q %q", c.says, c.code, c.message, c.fix)
		}
	}
	for _, d := range deaths {
		if d.message == "" {
			t.Errorf("%v has no message", d.says)
		}
	}
	if regexp.MustCompile(`--keep-env`).MatchString(fixLogin) {
		t.Error("nothing that signs grok in is taken away")
	}
}
