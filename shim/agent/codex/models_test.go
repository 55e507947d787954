package codex

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/agent"
)

// The test binary plays the CLI when fakeMode is set.
const fakeMode = "TEST_FAKE_CODEX"

func TestMain(m *testing.M) {
	if mode := os.Getenv(fakeMode); mode != "" {
		os.Exit(playCLI(mode, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// catalogue has, in the shape of 0.171.0, two listed models and a hidden one.
const catalogue = `{"models":[
 {"slug":"gpt-5.5","display_name":"GPT-5.5","description":"Legacy coding model.","visibility":"list","priority":13,"default_reasoning_level":"medium","supported_reasoning_levels":[{"effort":"low","description":"Fast"},{"effort":"xhigh","description":"Deep"},{"effort":"-x"}],"base_instructions":"long"},
 {"slug":"gpt-6.2-sol","display_name":"GPT-6.2-Sol","description":"Fast, go-to model.","visibility":"list","priority":1,"default_reasoning_level":"low","supported_reasoning_levels":[{"effort":"low","description":"Fast"}]},
 {"slug":"codex-auto-review","display_name":"Codex Auto Review","visibility":"hide","priority":43,"supported_reasoning_levels":[]}]}`

// playCLI answers as the CLI does; mode is words that say what is special.
func playCLI(mode string, args []string) int {
	has := func(word string) bool { return slices.Contains(strings.Fields(mode), word) }
	die := func(text string, code int) int { fmt.Fprintln(os.Stderr, text); return code }
	if want := os.Getenv("TEST_FAKE_HOME"); os.Getenv("CODEX_HOME") != want {
		return die("CODEX_HOME is "+os.Getenv("CODEX_HOME"), 9)
	}
	switch {
	case has("broken-config"):
		return die("Error loading configuration: /h/config.toml:1:10: unclosed array, expected `]`", 1)
	case has("hang"):
		signal.Notify(make(chan os.Signal, 1), os.Interrupt) // else the runtime sees that nobody can wake it
		select {}
	}
	switch strings.Join(args, " ") {
	case "login status":
		switch {
		case has("signed-out"):
			return die("WARNING: something\nNot logged in", 1)
		case has("api-key"):
			return die("API key configured - sk-loopb***l1234\nAuthentication is checked when you send a request.", 0)
		}
		return die("Logged in using ChatGPT", 0)
	case "debug models":
		switch {
		case has("no-debug"):
			return die("error: unrecognized subcommand 'models'", 2)
		case has("empty"):
			fmt.Println(`{"models":[]}`)
		case has("refused"):
			return die("this machine is not allowed to use codex", 1)
		default:
			fmt.Println(catalogue)
		}
		return 0
	case "app-server":
		return playServer(has)
	}
	return die("unexpected "+strings.Join(args, " "), 2)
}

// playServer drops, as the real one, what is not answered at the end of input;
// so it reads all of it first only where the input stays open.
func playServer(has func(string) bool) int {
	if has("no-server") {
		return 2
	}
	in := bufio.NewScanner(os.Stdin)
	ready := false
	for in.Scan() {
		var q struct {
			ID     int
			Method string
		}
		if json.Unmarshal(in.Bytes(), &q) != nil {
			return 1
		}
		result := ""
		switch {
		case q.Method == "initialize":
			result = `{"codexHome":"/h"}`
		case q.Method == "initialized":
			ready = true
			fmt.Println(`{"method":"configWarning","params":{}}`)
			continue
		case !ready:
			return 1
		case q.Method == "config/read" && has("configured"):
			result = `{"config":{"model":"gpt-5.5"}}`
		case q.Method == "config/read" && has("custom"):
			result = `{"config":{"model":"mock-model"}}`
		case q.Method == "config/read":
			result = `{"config":{"model":null}}`
		case q.Method == "account/read":
			result = `{"account":null,"requiresOpenaiAuth":` + strconv.FormatBool(!has("custom")) + `}`
		case q.Method == "model/list" && !has("empty") && !has("refused"):
			result = `{"data":[{"id":"a","model":"a","displayName":"A","hidden":false,"supportedReasoningEfforts":[{"reasoningEffort":"low","description":"Fast"}],"defaultReasoningEffort":"low","isDefault":false},{"model":"b","displayName":"B","hidden":false,"isDefault":true},{"model":"c","hidden":true}]}`
		default:
			fmt.Printf("{\"id\":%d,\"error\":{\"code\":-32600,\"message\":\"no\"}}\n", q.ID)
			continue
		}
		fmt.Printf("{\"id\":%d,\"result\":%s}\n", q.ID, result)
	}
	if in.Err() != nil {
		return 1
	}
	return 0
}

func discovery(t *testing.T, mode string, env ...string) agent.Discovery {
	t.Helper()
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	d := agent.Discovery{Bin: bin, Repo: t.TempDir(), TempDir: t.TempDir()}
	d.Env = append(os.Environ(), fakeMode+"="+mode, "TEST_FAKE_HOME="+home, "HOME="+home, "CODEX_HOME=/nowhere")
	d.Env = append(d.Env, env...)
	return d
}

func homeOf(d agent.Discovery) string { return agent.Lookup(d.Env, "TEST_FAKE_HOME") }

func TestDiscover(t *testing.T) {
	const key = "CODEX_API_KEY=sk-loopback-dummy-abcd"
	list := "gpt-6.2-sol gpt-5.5"
	tests := []struct {
		mode     string
		env      []string
		scrubbed []string
		models   string // ids
		preset   string
		billing  string
		err, fix string
	}{
		{"plan", nil, nil, list, "gpt-6.2-sol", "plan", "", ""},
		{"api-key", nil, nil, list, "gpt-6.2-sol", "api key …1234", "", ""},
		{"plan no-server", nil, nil, list, "gpt-6.2-sol", "plan", "", ""},
		{"plan configured", nil, nil, list, "gpt-5.5", "plan", "", ""},
		{"signed-out custom", nil, nil, "mock-model " + list, "mock-model", "", "", ""},
		{"plan no-debug", nil, nil, "b a", "b", "plan", "", ""},
		{"signed-out", []string{key}, nil, list, "gpt-6.2-sol", "api key …abcd", "", ""},
		{"plan", []string{key}, nil, list, "gpt-6.2-sol", "api key …abcd", "", ""},
		{"signed-out", []string{"CODEX_API_KEY=short"}, nil, list, "gpt-6.2-sol", "api key", "", ""},
		{"signed-out", []string{"OPENAI_API_KEY=sk-loopback-dummy-abcd"}, nil, "", "", "", "codex is not signed in", "codex login"},
		{"signed-out", nil, []string{"OPENAI_API_KEY"}, "", "", "", "codex is not signed in", "codex login"},
		{"signed-out", nil, []string{"CODEX_API_KEY"}, "", "", "", "codex is not signed in", "start slidewrite with --keep-env"},
		{"signed-out no-debug no-server", nil, nil, "", "", "", "codex is not signed in", "codex login"},
		{"plan no-debug no-server", nil, nil, "", "", "", "this version of codex does not know an option it was given", "codex update"},
		{"plan empty", nil, nil, "", "", "", "codex offers no models", "codex update"},
		{"plan refused", nil, nil, "", "", "", "codex refused to list its models: this machine is not allowed to use codex", "run codex once in a terminal and see what it says"},
		{"broken-config", nil, nil, "", "", "", "codex cannot read its configuration", fixConfig},
	}
	for i, tt := range tests {
		t.Run(strconv.Itoa(i)+" "+tt.mode, func(t *testing.T) {
			t.Parallel()
			d := discovery(t, tt.mode, tt.env...)
			d.Scrubbed = tt.scrubbed
			info := New(Options{Home: homeOf(d)}).Discover(t.Context(), d)
			var ids []string
			for _, m := range info.Models {
				ids = append(ids, m.ID)
			}
			if got := strings.Join(ids, " "); got != tt.models || info.DefaultModel != tt.preset {
				t.Errorf("models %q, default %q", got, info.DefaultModel)
			}
			if info.Billing != tt.billing || info.Error != tt.err || info.Fix != tt.fix {
				t.Errorf("got %+v", info)
			}
		})
	}
}

func TestDiscoverWithoutAnAnswer(t *testing.T) {
	info := New(Options{}).Discover(t.Context(), agent.Discovery{Bin: "/nowhere/codex", Repo: t.TempDir(), TempDir: t.TempDir()})
	if info.Error != "codex could not be started: /nowhere/codex does not exist" || !strings.Contains(info.Fix, "--codex-bin") {
		t.Errorf("not found: %+v", info)
	}
	d := discovery(t, "hang")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if info := New(Options{Home: homeOf(d)}).Discover(ctx, d); info.Error != "codex was not waited for" {
		t.Errorf("cancelled: %+v", info)
	}
	late, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	if info := New(Options{Home: homeOf(d)}).Discover(late, d); info.Error != "codex did not answer in time" || info.Fix == "" {
		t.Errorf("it hangs: %+v", info)
	}
}

func TestModels(t *testing.T) {
	var answer struct {
		Models []wireModel `json:"models"`
	}
	if err := json.Unmarshal([]byte(catalogue), &answer); err != nil {
		t.Fatal(err)
	}
	got, preset := models(answer.Models, "")
	hint := func(level string) agent.Effort {
		return agent.Effort{ID: "default", Label: "Default", Description: "as codex is configured, else " + level}
	}
	want := []agent.Model{
		{ID: "gpt-6.2-sol", Label: "GPT-6.2-Sol", Description: "Fast, go-to model.", DefaultEffort: "default", Efforts: []agent.Effort{hint("low"), {ID: "low", Label: "Low", Description: "Fast"}}},
		{ID: "gpt-5.5", Label: "GPT-5.5", Description: "Legacy coding model.", DefaultEffort: "default", Efforts: []agent.Effort{hint("medium"), {ID: "low", Label: "Low", Description: "Fast"}, {ID: "xhigh", Label: "Xhigh", Description: "Deep"}}},
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) || preset != "gpt-6.2-sol" {
		t.Errorf("got  %+v, %s\nwant %+v", got, preset, want)
	}
	if got, preset := models(answer.Models, "codex-auto-review"); len(got) != 3 || preset != "codex-auto-review" {
		t.Errorf("a hidden model that is configured: %d models, %s", len(got), preset)
	}
	if got, preset := models(nil, "-x"); len(got) != 0 || preset != "" {
		t.Errorf("a name that could be a flag: %+v, %s", got, preset)
	}
}

// The real app-server's list, from its capture.
func TestServerModels(t *testing.T) {
	for _, line := range loadFixture(t, fakeagents.Captured, "as-models").Lines() {
		var answer struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
		}
		if !agent.Decode(line, &answer) || answer.ID != 10 {
			continue
		}
		list, preset := models(readServerModels(answer.Result), "")
		if len(list) < 5 || preset != "gpt-6.2-sol" || len(list[0].Efforts) != 7 || list[0].Label != "GPT-6.2-Sol" {
			t.Errorf("%d models, default %s, first %+v", len(list), preset, list[0])
		}
		return
	}
	t.Error("the capture has no list")
}

func TestReadSignIn(t *testing.T) {
	for _, tt := range []struct {
		said string
		code int
		want signIn
	}{
		{"WARNING: x\nNot logged in\n", 1, signIn{out: true}},
		{"Error loading configuration: x", 1, signIn{}},
		{"Logged in using ChatGPT\n", 0, signIn{billing: "plan"}},
		{"Logged in using personal access token", 0, signIn{billing: "plan"}},
		{"Logged in using workload identity", 0, signIn{billing: "plan"}},
		{"Logged in using Amazon Bedrock API key", 0, signIn{billing: "Amazon Bedrock"}},
		{"Logged in using an API key - sk-proj-***ABCDE\n", 0, signIn{billing: "api key …BCDE"}},
		{"API key configured - sk-loopb***l1234\nAuthentication is checked.", 0, signIn{billing: "api key …1234"}},
		{"API key configured\n", 0, signIn{billing: "api key"}},
		{"something new", 0, signIn{}},
	} {
		if got := readSignIn(tt.said, tt.code); got != tt.want {
			t.Errorf("%q: got %+v, want %+v", tt.said, got, tt.want)
		}
	}
}
