package claude

import (
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// failures of the captures: the code and the fix each must give. Versions
// without a row for a case have no capture of it.
var failures = map[string]struct{ code, fix, message string }{
	"err400":           {event.CodeBadRequest, "", "API Error: 400 scripted: prompt is bad"},
	"err401":           {event.CodeNotSignedIn, fixLogin, "Invalid API key"},
	"err403":           {event.CodeNotSignedIn, fixLogin, "Failed to authenticate"},
	"err404":           {event.CodeModelNotFound, "choose another model", "There's an issue with the selected model"},
	"err429":           {event.CodeRateLimited, "wait until the limit resets, then ask again", "429"},
	"err500":           {event.CodeInternal, "", "500"},
	"err529":           {event.CodeOverloaded, "wait a little, then ask again", "529"},
	"errcredit":        {event.CodeBilling, "add credit to the account, or sign in with a plan: claude auth login", "Credit balance is too low"},
	"errlong":          {event.CodePromptTooLong, "start a new session, or ask for less at once", "Prompt is too long"},
	"f-nokey":          {event.CodeNotSignedIn, fixLogin, "Not logged in"},
	"f-maxturns1":      {event.CodeMaxTurns, "continue the session to let it go on, or raise --max-turns", "Reached maximum number of turns (1)"},
	"f-budget":         {event.CodeBilling, "add credit to the account, or sign in with a plan: claude auth login", "Reached maximum budget"},
	"f-root-nosandbox": {event.CodeUnsupported, fixRoot, "as root: --dangerously-skip-permissions cannot be used with root/sudo privileges"},
	"f-unknown-flag":   {event.CodeUnsupported, fixUpdate, "unknown option '--no-such-flag'"},
	"f-resume-unknown": {event.CodeNotFound, "start a new session", "does not know the session"},
	"k-slow-pid-kill":  {event.CodeCrashed, "", "claude ended early: SIGKILL without a result"},
}

// only197 are cases that fail in 197 and not in 332.
var only197 = map[string]struct{ code, fix, message string }{
	"refusal": {event.CodeRefused, "put the request differently, or choose another model", "unable to respond to this request"},
	// exit 0 with its last line cut off
	"bigtext": {event.CodeCrashed, "", "claude ended early: exit code 0 without a result"},
}

func TestFixtureErrors(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range loadFixtures(t, "captured") {
		want, ok := failures[f.Case()]
		if !ok && f.Version() == "2.1.197" {
			want, ok = only197[f.Case()]
		}
		if !ok {
			continue
		}
		seen[f.Case()] = true
		t.Run(f.Version()+"/"+f.Case(), func(t *testing.T) {
			m := newMapper(options(f))
			for _, line := range f.Lines() {
				_, _ = m.Map(line) // the cut line of 197 is in it
			}
			closing := m.Finish(exitOf(f))
			e, isError := closing[len(closing)-1].(event.Error)
			if !isError || e.Code != want.code || e.Fix != want.fix || !strings.Contains(e.Message, want.message) {
				t.Errorf("got %#v\nwant %+v", closing[len(closing)-1], want)
			}
			if lost := f.Case() == "f-resume-unknown"; m.Facts().SessionLost != lost {
				t.Errorf("SessionLost = %v", m.Facts().SessionLost)
			}
		})
	}
	for name := range failures {
		if !seen[name] {
			t.Errorf("no fixture %s", name)
		}
	}
	for name := range only197 {
		if !seen[name] {
			t.Errorf("no fixture %s of 197", name)
		}
	}
}

// TestErrorCodes: kinds and statuses that no capture has, and what depends on
// the environment.
func TestErrorCodes(t *testing.T) {
	said := func(kind string) string {
		return `{"type":"assistant","error":"` + kind + `","message":{"id":"e","content":[{"type":"text","text":"words"}]}}`
	}
	result := func(fields string) string {
		return `{"type":"result","subtype":"success","is_error":true,"result":"words"` + fields + `}`
	}
	limit := `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1796025190}}`
	tests := []struct {
		name     string
		scrubbed []string
		lines    []string
		want     event.Error
	}{
		{"a scrubbed key would have signed in", []string{"ANTHROPIC_API_KEY"}, []string{said("authentication_failed"), result("")},
			event.Error{Message: "words", Code: event.CodeNotSignedIn, Fix: fixKeepEnv}},
		{"a scrubbed token too", []string{"CLAUDECODE", "ANTHROPIC_AUTH_TOKEN"}, []string{said("authentication_failed"), result("")},
			event.Error{Message: "words", Code: event.CodeNotSignedIn, Fix: fixKeepEnv}},
		{"a scrubbed address would not", []string{"ANTHROPIC_BASE_URL", "SLIDEWRITE_TOKEN"}, []string{said("authentication_failed"), result("")},
			event.Error{Message: "words", Code: event.CodeNotSignedIn, Fix: fixLogin}},
		{"a limit with its reset time", nil, []string{limit, said("rate_limit"), result("")},
			event.Error{Message: "words", Code: event.CodeRateLimited, Fix: fixes[event.CodeRateLimited], ResetsAt: "2026-11-30T07:53:10Z"}},
		{"status alone", nil, []string{result(`,"api_error_status":402`)}, event.Error{Message: "words", Code: event.CodeBilling, Fix: fixes[event.CodeBilling]}},
		{"kind before status", nil, []string{said("overloaded"), result(`,"api_error_status":400`)}, event.Error{Message: "words", Code: event.CodeOverloaded, Fix: fixes[event.CodeOverloaded]}},
		{"server_error says less than 529", nil, []string{said("server_error"), result(`,"api_error_status":529`)}, event.Error{Message: "words", Code: event.CodeOverloaded, Fix: fixes[event.CodeOverloaded]}},
		{"332: overloaded in the stream", nil, []string{said("server_error"), result(`,"api_error_status":500,"api_error_type":"overloaded_error"`)}, event.Error{Message: "words", Code: event.CodeOverloaded, Fix: fixes[event.CodeOverloaded]}},
		{"197: overloaded in the stream", nil, []string{`{"type":"system","subtype":"api_retry","error_status":500,"error":"overloaded"}`, said("server_error"), result(`,"api_error_status":500`)}, event.Error{Message: "words", Code: event.CodeOverloaded, Fix: fixes[event.CodeOverloaded]}},
		{"the final status before the last retry", nil, []string{`{"type":"system","subtype":"api_retry","error_status":529,"error":"overloaded"}`, said("unknown"), result(`,"api_error_status":400`)}, event.Error{Message: "words", Code: event.CodeBadRequest}},
		{"a retry that helped leaves nothing", nil, []string{`{"type":"system","subtype":"api_retry","error_status":529,"error":"overloaded"}`, saidLine("a", "1", "fine"), said("unknown"), result(`,"api_error_status":400`)}, event.Error{Message: "words", Code: event.CodeBadRequest}},
		{"not signed in by the words alone", nil, []string{strings.Replace(result(""), "words", "Not logged in · Please run /login", 1)}, event.Error{Message: "Not logged in · Please run /login", Code: event.CodeNotSignedIn, Fix: fixLogin}},
		{"invalid_request without a status", nil, []string{said("invalid_request"), result("")}, event.Error{Message: "words", Code: event.CodeBadRequest}},
		{"connection dropped", nil, []string{said("server_error"), result(`,"api_error_status":null,"api_error":"connection_failed"`)},
			event.Error{Message: "words", Code: event.CodeInternal, Fix: "check the network connection, then ask again"}},
		{"an error that was overcome leaves nothing", nil, []string{said("authentication_failed"), saidLine("a", "1", "fine"), result("")}, event.Error{Message: "words", Code: event.CodeInternal}},
		{"errors list", nil, []string{`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["one","[ede_diagnostic] x","","two"]}`},
			event.Error{Message: "one; two", Code: event.CodeInternal}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMapper(agent.MapOptions{Scrubbed: tt.scrubbed})
			for _, l := range append([]string{initLine}, tt.lines...) {
				if _, err := m.Map([]byte(l)); err != nil {
					t.Fatal(err)
				}
			}
			closing := m.Finish(agent.Exit{Code: 1})
			if got := closing[len(closing)-1]; got != event.Event(tt.want) {
				t.Errorf("got  %#v\nwant %#v", got, tt.want)
			}
		})
	}
}

// TestLostSession: only a session that was asked for can be lost, whether
// stdout or only stderr says so.
func TestLostSession(t *testing.T) {
	line := `{"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"X","errors":["No conversation found with session ID: R"]}`
	stderr := agent.Exit{Code: 1, Stderr: "No conversation found with session ID: R\n"}
	tests := []struct {
		name   string
		resume string
		lines  []string
		exit   agent.Exit
		lost   bool
		code   string
	}{
		{"result line", "R", []string{line}, stderr, true, event.CodeNotFound},
		{"stderr only", "R", nil, stderr, true, event.CodeNotFound},
		{"not asked for", "", []string{line}, stderr, false, event.CodeInternal},
		{"after the start", "R", []string{initLine, line}, stderr, false, event.CodeInternal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMapper(agent.MapOptions{Resume: tt.resume})
			for _, l := range tt.lines {
				_, _ = m.Map([]byte(l))
			}
			closing := m.Finish(tt.exit)
			e, _ := closing[len(closing)-1].(event.Error)
			f := m.Facts()
			if f.SessionLost != tt.lost || e.Code != tt.code || tt.lost && f.Session != "" {
				t.Errorf("facts %+v, error %+v", f, e)
			}
		})
	}
}
