package fakeagents

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// codex plays the codex CLI and returns its exit code.
func (p *process) codex() int {
	switch strings.Join(p.args, " ") {
	case "--version":
		fmt.Fprintf(p.stdout, "codex-cli %s\n", p.version) // as recorded in the case "version"
		return 0
	case "login status":
		if p.signedOut() {
			return p.command("login-status")
		}
		return p.command("login-status-plan")
	case "login", "logout":
		return p.auth(p.args[0])
	case "debug models":
		return p.command("debug-models")
	case "app-server":
		return p.appServer()
	}
	args, err := checkCodexArgs(p.args)
	if err == nil {
		err = checkEnv(p.env, "OPENAI_API_KEY", "CODEX_API_KEY")
	}
	if err == nil {
		err = p.checkMarker()
	}
	if err != nil {
		return p.refused(err)
	}
	p.dir = args.dir
	return p.codexTurn(args)
}

// appServerMessage is a line of app-server's JSON-RPC, in or out (0.171.0).
type appServerMessage struct {
	ID     *int            `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *appServerError `json:"error,omitempty"`
}

type appServerError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// appServer answers what was recorded, by method, until its input ends.
func (p *process) appServer() int {
	f, err := p.recorded("app-server")
	if err != nil {
		return p.refused(err)
	}
	answers := appServerAnswers(f, p.values(""))
	r := bufio.NewReader(p.stdin)
	for {
		line, readErr := r.ReadBytes('\n')
		var request appServerMessage
		if json.Unmarshal(line, &request) == nil && request.ID != nil {
			answer := appServerMessage{ID: request.ID, Result: answers[request.Method]}
			switch {
			case request.Method == "account/read" && !p.signedOut():
				answer.Result = json.RawMessage(`{"account":{"type":"chatgpt","email":null,"planType":"plus"},"requiresOpenaiAuth":true}`)
			case answer.Result == nil:
				answer.Error = &appServerError{-32600, "Invalid request: unknown variant `" + request.Method + "`"}
			}
			if _, err := p.stdout.Write(encode(answer, "")); err != nil {
				return 1
			}
		}
		if readErr != nil {
			return f.Exit
		}
	}
}

// appServerAnswers are the recorded results by the method that was asked.
func appServerAnswers(f *Fixture, v Values) map[string]json.RawMessage {
	methods, results := map[int]string{}, map[string]json.RawMessage{}
	for _, in := range f.Stdin {
		var request appServerMessage
		if json.Unmarshal(in.Line, &request) == nil && request.ID != nil {
			methods[*request.ID] = request.Method
		}
	}
	for _, line := range f.Filled(v) {
		var answer appServerMessage
		if json.Unmarshal(line, &answer) == nil && answer.ID != nil && answer.Result != nil {
			results[methods[*answer.ID]] = bytes.Clone(answer.Result)
		}
	}
	return results
}
