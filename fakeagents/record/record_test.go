package record_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/fakeagents/fixtures"
	"github.com/slidewrite/slidewrite/fakeagents/record"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

func TestMain(m *testing.M) {
	testscript.Main(m, fakeagents.Commands(fixtures.Corpus()))
}

// options records the fake, which takes the place of the real CLI.
func options(t *testing.T, run string, env ...string) record.Options {
	t.Helper()
	return optionsOf(t, "claude", run, env...)
}

func optionsOf(t *testing.T, agent, run string, env ...string) record.Options {
	t.Helper()
	bin, err := exec.LookPath(agent)
	if err != nil {
		t.Fatal(err)
	}
	return record.Options{
		Agent: agent, Bin: bin, Run: regexp.MustCompile(run), Out: t.TempDir(), Timeout: 20 * time.Second,
		Now: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), Env: append(env, fakeagents.EnvKeepEnv+"=1"),
	}
}

func load(t *testing.T, out, name string) *fakeagents.Fixture {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(out, filepath.FromSlash(name)+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := fakeagents.Parse(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The fake plays what the recorder had recorded: recording the fake gives the
// same lines, effects, input and exit again. This holds recorder and player
// together.
func TestRecordingTheFakeGivesTheFixtureAgain(t *testing.T) {
	for agent, scenarios := range map[string]string{
		"claude/real/2.1.332": "edit multi-file bash-kinds delete-rename odd-names agent-commits crlf unicode-file max-turns big-answer interrupt-bash",
		"codex/real/0.171.0":  "edit patch-all bash-sed delete-rename agent-commits unicode-file outside big-answer interrupt-bash login-status",
	} {
		for i, scenario := range strings.Fields(scenarios) {
			if testing.Short() && i%4 != 0 { // with the race detector in, each takes 3 s
				continue
			}
			t.Run(agent+"/"+scenario, func(t *testing.T) {
				t.Parallel()
				recordAgain(t, agent+"/"+scenario)
			})
		}
	}
}

func recordAgain(t *testing.T, name string) {
	agent, _, _ := strings.Cut(name, "/")
	scenario := path.Base(name)
	knobs := "pace=2ms"
	if scenario == "login-status" {
		knobs = "signed_out=1"
	}
	o := optionsOf(t, agent, "^"+scenario+"$", fakeagents.EnvFixture+"="+name, fakeagents.EnvKnobs+"="+knobs)
	if _, err := record.Record(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	want, err := fixtures.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	got := load(t, o.Out, name)
	if !bytes.Equal(got.Stdout, want.Stdout) {
		t.Errorf("stdout differs: %s", firstDifference(got.Lines(), want.Lines()))
	}
	for _, part := range []struct {
		what      string
		got, want any
	}{
		{"stdin", stdin(got), stdin(want)}, {"piped", string(got.Piped), string(want.Piped)}, {"stderr", string(got.Stderr), string(want.Stderr)},
		{"effects", effects(got), effects(want)}, {"exit", got.Exit, want.Exit},
		{"argv", strings.Join(got.Argv, "\n"), strings.Join(want.Argv, "\n")},
	} {
		if part.got != part.want {
			t.Errorf("%s\n%v\nwant\n%v", part.what, part.got, part.want)
		}
	}
}

func firstDifference(got, want [][]byte) string {
	for i := range min(len(got), len(want)) {
		if !bytes.Equal(got[i], want[i]) {
			return string(got[i][:min(len(got[i]), 500)]) + "\nwant\n" + string(want[i][:min(len(want[i]), 500)])
		}
	}
	return "one is longer"
}

func section(f *fakeagents.Fixture, name string) string {
	_, after, _ := strings.Cut(string(f.Format()), "\n-- "+name+" --\n")
	body, _, _ := strings.Cut(after, "\n-- ")
	return body
}

func stdin(f *fakeagents.Fixture) string   { return section(f, "stdin") }
func effects(f *fakeagents.Fixture) string { return section(f, "effects") }

// "A failed recording leaves the old file."
func TestFailedRecordingLeavesTheOldFile(t *testing.T) {
	tests := []struct{ what, env, reason string }{
		{"a CLI that dies", fakeagents.EnvKnobs + "=crash=5", "without a result"},
		{"a CLI that hangs", fakeagents.EnvKnobs + "=hang=first", "did not end in time"},
		{"a CLI that says a secret", fakeagents.EnvKnobs + "=crash=1000", "an API key"},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			o := options(t, "^text$", tt.env, fakeagents.EnvFixture+"=claude/real/2.1.332/text")
			o.Timeout = 3 * time.Second
			if strings.Contains(tt.what, "secret") {
				o.Bin = talkative(t, o.Bin)
			}
			path := filepath.Join(o.Out, "claude", "real", "2.1.332", "text.txtar")
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
			outcomes, err := record.Record(context.Background(), o)
			if err == nil || !strings.Contains(err.Error(), tt.reason) || outcomes[0].Fixture != "" {
				t.Errorf("outcomes %+v, error %v", outcomes, err)
			}
			entries, readErr := os.ReadDir(filepath.Dir(path))
			if data, err := os.ReadFile(path); err != nil || string(data) != "old" || readErr != nil || len(entries) != 1 {
				t.Errorf("the old file holds %q; %d entries beside it", data, len(entries))
			}
		})
	}
}

// talkative wraps the CLI in a script that prints a key on stderr first.
func talkative(t *testing.T, bin string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "claude")
	script := "#!/bin/sh\necho sk-ant-api03-0123456789abcdef >&2\nexec " + bin + " \"$@\"\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRecordRefuses(t *testing.T) {
	tests := []struct {
		what   string
		change func(*record.Options)
		reason string
	}{
		{"another agent", func(o *record.Options) { o.Agent = "vim" }, `cannot record agent "vim"`},
		{"no such scenario", func(o *record.Options) { o.Run = regexp.MustCompile("^nothing$") }, "no scenario matches"},
		{"no such CLI", func(o *record.Options) { o.Bin = "/no/such/claude" }, "--version"},
	}
	for _, tt := range tests {
		o := options(t, ".")
		tt.change(&o)
		if _, err := record.Record(context.Background(), o); err == nil || !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("%s: %v", tt.what, err)
		}
	}
}

// The CLI sees nothing of the environment the recorder runs in.
func TestEnvironmentOfTheCLIIsItsOwn(t *testing.T) {
	t.Setenv("STRAY_SECRET", "x")
	log := filepath.Join(t.TempDir(), "log")
	o := options(t, "^text$", fakeagents.EnvLog+"="+log)
	if _, err := record.Record(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	entries, err := fakeagents.ReadLog(log)
	if err != nil {
		t.Fatal(err)
	}
	env := strings.Join(entries[0].Env, "\n")
	if strings.Contains(env, "STRAY_SECRET") || !strings.Contains(env, "ANTHROPIC_BASE_URL=http://127.0.0.1:") || strings.Contains(env, "HOME="+os.Getenv("HOME")+"\n") {
		t.Errorf("environment:\n%s", env)
	}
}

func TestScrub(t *testing.T) {
	const session, other = "11111111-2222-4333-8444-555555555555", "aaaaaaaa-2222-4333-8444-555555555555"
	s := record.NewScrubber(map[string]string{"/tmp/x/repo": "{{REPO}}", "/tmp/x": "{{TMP}}", "loopback-dummy": "{{KEY}}"}, session)
	tests := []struct{ in, want string }{
		{`{"cwd":"/tmp/x/repo/a","tmp":"/tmp/x/y"}`, `{"cwd":"{{REPO}}/a","tmp":"{{TMP}}/y"}`},
		{session + " " + other + " " + session, "{{SESSION}} {{UUID:1}} {{SESSION}}"},
		{"bbbbbbbb-2222-4333-8444-555555555555 " + other, "{{UUID:2}} {{UUID:1}}"},
		{`"timestamp":"2026-11-30T07:53:01.177Z","date":"2026-11-30"`, `"timestamp":"{{TIME}}","date":"{{DATE}}"`},
		{`"duration_ms":137,"ttft_ms":1.5,"retry_delay_ms": 1193,"totalDuration":99`, `"duration_ms":1000,"ttft_ms":100,"retry_delay_ms":500,"totalDuration":100`},
		{`"pid":4711,"at":1796023981177`, `"pid":1,"at":1764500000000`},
		{"Author: someone.else@mail.example.com", "Author: {{EMAIL}}"},
		{"key loopback-dummy", "key {{KEY}}"},
		{"a1f021316e1b175d5 a1f021316e1b175d5 a2f021316e1b175d5", "a0000000000000001 a0000000000000001 a0000000000000002"},
	}
	for _, tt := range tests {
		if got := string(s.Scrub([]byte(tt.in))); got != tt.want {
			t.Errorf("%s\n gives %s\n want %s", tt.in, got, tt.want)
		}
	}
}

func TestLeaks(t *testing.T) {
	for _, bad := range []string{
		"sk-ant-api03-0123456789abcdef", "ghp_0123456789abcdefghij0123456789abcdef", "AKIAIOSFODNN7EXAMPLE", "-----BEGIN RSA PRIVATE KEY-----",
		"Authorization: Bearer abcdefghijklmnopqrstuvwxyz", "me@example.com", `"accountUuid":"x"`, "/home/me/project", "/Users/me/x", `C:\Users\me`,
		"/root/x", "/tmp/repo", "/var/folders/xy", "11111111-2222-4333-8444-555555555555",
	} {
		if record.Leaks([]byte("before "+bad+" after")) == nil {
			t.Errorf("%q passes", bad)
		}
	}
	for _, good := range []string{"{{HOME}}/.claude/x {{REPO}}/src {{EMAIL}} {{UUID:3}}", "/usr/bin/git /etc/passwd", "task-force", "user.email=a@b.c"} {
		if err := record.Leaks([]byte(good)); err != nil {
			t.Error(err)
		}
	}
}

// A path that the model's deltas cut in pieces comes back as one placeholder
// in the delta where it began.
func TestJoinSplit(t *testing.T) {
	delta := func(text string) string {
		return `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"` + text + `"}}}` + "\n"
	}
	start := `{"type":"stream_event","event":{"type":"content_block_start","index":0}}` + "\n"
	path := lazyregexp.New(`/tmp/lab/[a-z]+`)
	tests := []struct{ in, want []string }{
		{[]string{`{\"p\":\"/tm`, `p/la`, `b/re`, `po/a.txt\"}`}, []string{`{\"p\":\"{{REPO}}`, ``, ``, `/a.txt\"}`}},
		{[]string{`/tmp/lab/x /tmp/`, `lab/y`}, []string{`{{REPO}} {{REPO}}`, ``}},
		{[]string{`nothing`, ` here`}, []string{`nothing`, ` here`}},
	}
	for _, tt := range tests {
		in, want := start, start
		for _, text := range tt.in {
			in += delta(text)
		}
		for _, text := range tt.want {
			want += delta(text)
		}
		got, err := record.JoinSplit([]byte(in), path, "{{REPO}}")
		if err != nil || string(got) != want {
			t.Errorf("%q gives\n%s(%v)", tt.in, got, err)
		}
	}
}

// A capture folder in the layout of the older recordings.
func TestConvert(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c-Case")
	files := map[string]string{
		"argv":       `{"argv":["claude","-p","--verbose"],"env":{"CLAUDE_CODE_MAX_RETRIES":"1","ANTHROPIC_API_KEY":"loopback-dummy"},"stdin":""}`,
		"stdin.json": `[[7, {"type": "control_request", "request_id": "i1", "request": {"subtype": "initialize"}}]]`,
		"stdout.jsonl": `{"type":"system","subtype":"init","session_id":"11111111-2222-4333-8444-555555555555","cwd":"{{REPO}}"}` + "\n" +
			`{"type":"stream_event","event":{"type":"content_block_start","index":0}}` + "\n" +
			`{"type":"stream_event","event":{"delta":{"type":"text_delta","text":"in /tmp/lab/run/cla"}}}` + "\n" +
			`{"type":"stream_event","event":{"delta":{"type":"text_delta","text":"ude/x/repo/a"}}}` + "\n",
		"stderr": "someone@example.com said no", "exit": "-9\n", "git": " M a.txt\n",
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := record.Convert(dir, "claude", "2.1.332")
	if err != nil {
		t.Fatal(err)
	}
	if f.Name != "claude/captured/2.1.332/c-case" || f.Signal != "SIGKILL" || string(f.Stderr) != "{{EMAIL}} said no" || len(f.Stdin) != 1 || f.Stdin[0].After != -1 {
		t.Errorf("%+v", f)
	}
	for _, want := range []string{`"session_id":"{{SESSION}}"`, `"text":"in {{REPO}}"`, `"text":"/a"`} {
		if !bytes.Contains(f.Stdout, []byte(want)) {
			t.Errorf("no %s in %s", want, f.Stdout)
		}
	}
	if !strings.Contains(f.Comment, "CLAUDE_CODE_MAX_RETRIES=1") {
		t.Errorf("comment %q", f.Comment)
	}
	if err := os.Remove(filepath.Join(dir, "argv")); err != nil {
		t.Fatal(err)
	}
	if _, err := record.Convert(dir, "claude", "2.1.332"); err == nil {
		t.Error("a folder without a command line converts")
	}
}

// A capture of codex: its thread is the session, its signal has a name, and
// the laboratory's own warning is gone.
func TestConvertCodex(t *testing.T) {
	const thread = "01a22b7b-a341-73e3-99d8-d6bad7b1230d"
	dir := filepath.Join(t.TempDir(), "text-gpt-5.5")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"argv":         `{"argv":["codex","exec","--json","resume","` + thread + `","-"],"env":{},"stdin":"hi"}`,
		"stdout.jsonl": `{"type":"thread.started","thread_id":"` + thread + `"}` + "\n",
		"stderr":       "WARNING: proceeding, even though we could not create PATH aliases: (codex_home: x)\nreal\n",
		"exit":         "-15\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := record.Convert(dir, "codex", "0.171.0")
	if err != nil {
		t.Fatal(err)
	}
	if f.Name != "codex/captured/0.171.0/text-gpt-5-5" || f.Exit != -1 || f.Signal != "SIGTERM" || string(f.Stderr) != "real\n" || string(f.Piped) != "hi" {
		t.Errorf("%+v", f)
	}
	if want := `{"type":"thread.started","thread_id":"{{SESSION}}"}` + "\n"; string(f.Stdout) != want || f.Argv[3] != "{{SESSION}}" {
		t.Errorf("stdout %s, argv %q", f.Stdout, f.Argv)
	}
}

// What stays of a transcript on disk is the chat; the vendor's prompts and
// tool schemas go.
func TestElideDisk(t *testing.T) {
	in := `{"parentUuid":null,"type":"user","message":{"content":"hi"}}
{"parentUuid":"u","type":"attachment","uuid":"v","attachment":{"type":"prompt_snapshot","tools":[{"description":"long"}]}}
{"type":"attachment","attachment":{"type":"queued_command","prompt":"more"}}
{"type":"api-request-blob","sessionId":"s","message":{"content":"a system prompt"}}
{"type":"user","cut`
	want := `{"parentUuid":null,"type":"user","message":{"content":"hi"}}
{"parentUuid":"u","type":"attachment","uuid":"v","attachment":{"type":"prompt_snapshot","content":"{{ELIDED}}"}}
{"type":"attachment","attachment":{"type":"queued_command","prompt":"more"}}
{"type":"api-request-blob","sessionId":"s","content":"{{ELIDED}}"}
{"type":"user","cut`
	if got := string(record.ElideDisk([]byte(in))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
