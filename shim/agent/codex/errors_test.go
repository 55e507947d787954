package codex

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// fits holds a text that we wrote to two lines of 60 characters.
func fits(t *testing.T, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if n := utf8.RuneCountInString(s); n > 120 {
			t.Errorf("%d characters: %s", n, s)
		}
	}
}

// TestFailuresOfFixtures: what each captured failure is told as.
func TestFailuresOfFixtures(t *testing.T) {
	tests := map[string]event.Error{
		"err400":            {Code: event.CodeBadRequest, Message: "scripted: bad request"},
		"err401":            {Code: event.CodeNotSignedIn, Message: "codex's API key is not valid", Fix: "codex logout && codex login"},
		"err403":            {Code: event.CodeNotSignedIn, Message: "OpenAI does not allow this account to ask (403 Forbidden)", Fix: "codex logout && codex login"},
		"err404":            {Code: event.CodeModelNotFound, Message: "OpenAI does not have this model for this account", Fix: "choose another model"},
		"err429":            {Code: event.CodeRateLimited, Message: "OpenAI's rate limit is reached", Fix: "wait a little, then ask again"},
		"err500":            {Code: event.CodeOverloaded, Message: "OpenAI's servers are overloaded", Fix: "wait a little, then ask again"},
		"err503":            {Code: event.CodeOverloaded, Message: "OpenAI's servers are overloaded", Fix: "wait a little, then ask again"},
		"errusage":          {Code: event.CodeRateLimited, Message: "the usage limit of this OpenAI account is reached: try again at 9:04 AM", Fix: "wait until the limit resets, then ask again"},
		"failedctx":         {Code: event.CodePromptTooLong, Message: "the session no longer fits into the model's context", Fix: "start a new session, or ask for less at once"},
		"failedquota":       {Code: event.CodeBilling, Message: "the OpenAI account has no quota left", Fix: "add credit to the account, or sign in with a plan: codex login"},
		"failedrate":        {Code: event.CodeRateLimited, Message: "OpenAI's rate limit is reached: try again in 1s", Fix: "wait a little, then ask again"},
		"failed":            {Code: event.CodeInternal, Message: "the connection to the model broke", Fix: "check the network connection, then ask again"},
		"break":             {Code: event.CodeInternal, Message: "the connection to the model broke", Fix: "check the network connection, then ask again"},
		"incomplete":        {Code: event.CodeInternal, Message: "the answer was cut off at the model's longest output", Fix: "ask for less at once"},
		"n-nologin-401":     {Code: event.CodeNotSignedIn, Message: "codex is not signed in (401 Unauthorized)", Fix: "codex login"},
		"n-nologin-401-lab": {Code: event.CodeNotSignedIn, Message: "codex is not signed in (401 Unauthorized)", Fix: "codex login"},
		"f-envkey-missing":  {Code: event.CodeNotSignedIn, Message: "codex needs the variable LAB_KEY, which is not set", Fix: "set LAB_KEY, then start slidewrite again"},

		"f-unknown-flag":     {Code: event.CodeUnsupported, Message: "this version of codex does not know an option it was given", Fix: "codex update"},
		"f-bad-c":            {Code: event.CodeUnsupported, Message: "codex cannot read its configuration", Fix: fixConfig},
		"f-badutf8":          {Code: event.CodeBadRequest, Message: "the prompt is not valid UTF-8, and codex takes nothing else", Fix: "send the prompt as UTF-8"},
		"f-bigprompt":        {Code: event.CodePromptTooLong, Message: "the prompt is too long for codex", Fix: "ask for less at once, or pick fewer elements"},
		"f-mcp-bad-required": {Code: event.CodeUnsupported, Message: "an MCP server that codex requires does not start", Fix: fixConfig},
		"f-stdin-null":       {Code: event.CodeCrashed, Message: "codex ended early: exit code 1 without a result: No prompt provided via stdin."},
		"f-cwd-missing":      {Code: event.CodeCrashed, Message: "codex ended early: exit code 1 without a result: Error: No such file or directory (os error 2)"},
		"m-concurrent-2":     {Code: event.CodeBadRequest, Message: "another codex is at work in this session", Fix: "wait until it has ended, or start a new session"},
		"r-6-resume-unknown": {Code: event.CodeNotFound, Message: "codex does not know the session 01a22b8d-0000-7000-8000-000000000001", Fix: "start a new session"},
	}
	seen := 0
	for _, f := range loadFixtures(t, "captured") {
		m := newMapper(options(f))
		for _, line := range f.Lines() {
			_, _ = m.Map(line)
		}
		var got event.Error
		for _, e := range m.Finish(exitOf(f)) {
			if e, ok := e.(event.Error); ok {
				got = e
			}
		}
		want, failing := tests[f.Case()]
		if failing {
			seen++
		}
		if got != want && (failing || f.Exit == 0) {
			t.Errorf("%s:\n got %+v\nwant %+v", f.Case(), got, want)
		}
		if m.Facts().SessionLost != (f.Case() == "r-6-resume-unknown") {
			t.Errorf("%s: SessionLost = %v", f.Case(), m.Facts().SessionLost)
		}
		if failing {
			fits(t, got.Message, got.Fix)
		}
	}
	if seen != len(tests) {
		t.Errorf("%d of %d cases are there", seen, len(tests))
	}
}

func TestFailure(t *testing.T) {
	tests := []struct {
		said     string
		scrubbed []string
		want     event.Error
	}{
		{"unexpected status 401 Unauthorized: Missing bearer", []string{"CODEX_API_KEY"}, event.Error{Code: event.CodeNotSignedIn, Message: "codex is not signed in (401 Unauthorized)", Fix: "start slidewrite with --keep-env"}},
		{"unexpected status 401 Unauthorized: Missing bearer", []string{"OPENAI_API_KEY"}, event.Error{Code: event.CodeNotSignedIn, Message: "codex is not signed in (401 Unauthorized)", Fix: "codex login"}},
		{"Missing environment variable: `OPENAI_API_KEY`.", []string{"OPENAI_API_KEY"}, event.Error{Code: event.CodeNotSignedIn, Message: "codex needs the variable OPENAI_API_KEY, which is not set", Fix: "start slidewrite with --keep-env"}},
		{"Your access token could not be refreshed because your refresh token was revoked. Please log out and sign in again.", nil, event.Error{Code: event.CodeNotSignedIn, Message: "the sign-in of codex has expired", Fix: "codex logout && codex login"}},
		{"You've hit your usage limit. Try again at Dec 3rd, 2026 9:04 AM.", nil, event.Error{Code: event.CodeRateLimited, Message: "the usage limit of this OpenAI account is reached", Fix: "wait until the limit resets, then ask again"}},
		{"The 'gpt-9' model is not supported when using Codex with a ChatGPT account.", nil, event.Error{Code: event.CodeModelNotFound, Message: "OpenAI does not have this model for this account", Fix: "choose another model"}},
		{"The 'gpt-9' model requires a newer version of Codex. Please upgrade.", nil, event.Error{Code: event.CodeUnsupported, Message: "this version of codex is too old for the model", Fix: "codex update"}},
		{`unexpected status 400 Bad Request: {"error":{"message":"Unsupported value: 'x' for reasoning.effort"}}, url: http://h`, nil, event.Error{Code: event.CodeBadRequest, Message: "Unsupported value: 'x' for reasoning.effort"}},
		{`{"detail":"odd body"}`, nil, event.Error{Code: event.CodeInternal, Message: "odd body"}},
		{`{"error":"plain text"}`, nil, event.Error{Code: event.CodeInternal, Message: "plain text"}},
		{"{broken", nil, event.Error{Code: event.CodeInternal, Message: "{broken"}},
		{"something else", nil, event.Error{Code: event.CodeInternal, Message: "something else"}},
	}
	for _, tt := range tests {
		if got := failure(tt.said, tt.scrubbed); got != tt.want {
			t.Errorf("%q:\n got %+v\nwant %+v", tt.said, got, tt.want)
		}
	}
	long := failure(strings.Repeat("x ", 100_000), nil).Message
	if n := utf8.RuneCountInString(long); n > 301 {
		t.Errorf("a message of %d characters", n)
	}
}

// Every text that we wrote ourselves fits into two lines.
func TestTextsAreShort(t *testing.T) {
	for _, list := range [][]cause{causes, deaths} {
		for _, c := range list {
			fits(t, c.message, c.fix)
		}
	}
}

func TestNoResult(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
		exit  agent.Exit
		want  event.Error
	}{
		{"nothing at all", nil, agent.Exit{}, event.Error{Code: event.CodeCrashed, Message: "codex ended early: exit code 0 without a result"}},
		{"in its turn", []string{threadLine, turnLine}, agent.Exit{Code: -1, Signal: "SIGKILL"}, event.Error{Code: event.CodeCrashed, Message: "codex ended early: SIGKILL without a result"}},
		{"a panic", []string{threadLine}, agent.Exit{Code: 101, Stderr: "thread panicked\nnote: backtrace"}, event.Error{Code: event.CodeCrashed, Message: "codex ended early: exit code 101 without a result: thread panicked\nnote: backtrace"}},
		{"after a known error", []string{threadLine, turnLine, `{"type":"error","message":"Quota exceeded. Check your plan"}`}, agent.Exit{Code: 1}, event.Error{Code: event.CodeBilling, Message: "the OpenAI account has no quota left", Fix: "add credit to the account, or sign in with a plan: codex login"}},
		{"after an unknown error", []string{threadLine, turnLine, `{"type":"error","message":"odd"}`}, agent.Exit{Code: 1}, event.Error{Code: event.CodeCrashed, Message: "codex ended early: exit code 1 without a result: odd"}},
		{"in a second turn", []string{threadLine, turnLine, doneLine, turnLine}, agent.Exit{Code: 0}, event.Error{Code: event.CodeCrashed, Message: "codex ended early: exit code 0 without a result"}},
		{"no home", nil, agent.Exit{Code: 1, Stderr: `Error loading configuration: CODEX_HOME points to "/x", but that path does not exist`}, event.Error{Code: event.CodeNotFound, Message: "codex's home folder does not exist", Fix: "create it, or correct --codex-home or CODEX_HOME"}},
		{"a broken configuration", nil, agent.Exit{Code: 1, Stderr: "Error loading config.toml:\n/h/config.toml:1:10: unclosed array"}, event.Error{Code: event.CodeUnsupported, Message: "codex cannot read its configuration", Fix: fixConfig}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMapper(agent.MapOptions{})
			for _, l := range tt.lines {
				if _, err := m.Map([]byte(l)); err != nil {
					t.Fatal(err)
				}
			}
			closing := m.Finish(tt.exit)
			if len(closing) != 1 || closing[0] != event.Event(tt.want) || m.Facts().Succeeded {
				t.Errorf("got  %+v\nwant %+v", closing, tt.want)
			}
			if again := m.Finish(tt.exit); again != nil {
				t.Errorf("a second Finish gave %v", again)
			}
		})
	}
}

func TestStoppedIsNoFailure(t *testing.T) {
	stopping := agent.MapOptions{Stopping: func() bool { return true }}
	if got := encoded(t, stopping, agent.Exit{Code: 1}, threadLine, turnLine); len(got) != 1 {
		t.Errorf("in its turn: %v", got)
	}
	got := encoded(t, agent.MapOptions{}, agent.Exit{Code: 1, Stopped: true}, threadLine, turnLine, `{"type":"turn.failed","error":{"message":"interrupted"}}`)
	if len(got) != 2 || !strings.Contains(got[1], `"isError":false`) {
		t.Errorf("with a result: %v", got)
	}
}
