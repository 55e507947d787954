package fakeagents_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/fakeagents/fixtures"
)

const (
	codexText = "codex/real/0.171.0/text"
	codexEdit = "codex/real/0.171.0/edit"
)

// codexBench is a place for the fake codex; without a fixture the prompt picks
// one.
func codexBench(t *testing.T, fixture, knobs string) *bench {
	t.Helper()
	b := knobbed(t, fixture, knobs)
	b.cli = "codex"
	return b
}

// exec is the command line that the shim passes for a new thread; more stands
// before the "-" at its end.
func (b *bench) exec(more ...string) []string {
	args := []string{
		"exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", "-C", b.repo,
		"-c", "analytics.enabled=false", "-c", `developer_instructions="You \"help\".\n"`,
	}
	return append(append(args, more...), "-")
}

// piped starts a fake and gives it the prompt.
func (b *bench) piped(prompt string, args ...string) *talk {
	b.t.Helper()
	k := b.start(args...)
	_, _ = k.stdin.Write([]byte(prompt)) // the fake may have refused and gone
	_ = k.stdin.Close()
	return k
}

func TestCodexCommandLineIsChecked(t *testing.T) {
	b := codexBench(t, "", "")
	without := func(n int, flag string) []string {
		all := b.exec()
		i := slices.Index(all, flag)
		return slices.Delete(all, i, i+n)
	}
	const thread = "11111111-2222-4333-8444-555555555555"
	tests := []struct {
		name   string
		args   []string
		reason string
	}{
		{"no exec", without(1, "exec"), "not exec"},
		{"no JSON", without(1, "--json"), "--json is missing"},
		{"permissions asked", without(1, "--dangerously-bypass-approvals-and-sandbox"), "--dangerously-bypass-approvals-and-sandbox is missing"},
		{"git demanded", without(1, "--skip-git-repo-check"), "--skip-git-repo-check is missing"},
		{"no folder", without(2, "-C"), "-C is missing"},
		{"relative folder", slices.Replace(b.exec(), 5, 6, "."), "no absolute path"},
		{"folder after resume", slices.Insert(without(2, "-C"), len(b.exec())-3, "resume", thread, "-C", b.repo), "resume does not have it"},
		{"analytics on", slices.Replace(b.exec(), 7, 8, "analytics.enabled=true"), "value of -c analytics.enabled"},
		{"no analytics setting", slices.Delete(b.exec(), 6, 8), "analytics.enabled is missing"},
		{"no system prompt", slices.Delete(b.exec(), 8, 10), "developer_instructions is missing"},
		{"system prompt bare", slices.Replace(b.exec(), 9, 10, "developer_instructions=You help."), "no TOML string"},
		{"system prompt empty", slices.Replace(b.exec(), 9, 10, `developer_instructions=""`), "it is empty"},
		{"another setting", b.exec("-c", "model=x"), "no setting that a turn needs"},
		{"setting twice", b.exec("-c", "analytics.enabled=false"), "analytics.enabled is there twice"},
		{"effort bare", b.exec("-c", "model_reasoning_effort=low"), "value of -c model_reasoning_effort"},
		{"image eats the dash", b.exec("-i", filepath.Join(b.repo, "x.png")), "use --image=FILE"},
		{"image is not there", b.exec("--image=/nowhere.png"), "is no file"},
		{"image with a comma", b.exec("--image=/a,b.png"), "comma"},
		{"model like a flag", b.exec("-m", "--json"), "value of -m"},
		{"resume of nothing", b.exec("resume"), "resume names no thread"},
		{"no stdin", slices.Delete(b.exec(), len(b.exec())-1, len(b.exec())), "- is missing"},
		{"unknown flag", b.exec("--yolo"), `unexpected argument "--yolo"`},
		{"flag twice", b.exec("--json"), "--json is there twice"},
		{"prompt on argv", b.exec("make it green"), "the prompt goes by stdin"},
		{"prompt behind the dash", append(b.exec(), "make it green"), "comes after"},
		{"secret on argv", b.exec("-m", "sk-abcdefghijklmnopqrstuv"), "looks like a secret"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if o := b.piped("Go.", tt.args...).end(); o.code != 2 || !strings.Contains(o.stderr, tt.reason) {
				t.Errorf("exit %d, stderr %q; want 2 and %q", o.code, o.stderr, tt.reason)
			}
		})
	}
}

func TestCodexOptionalFlagsAreAccepted(t *testing.T) {
	b := codexBench(t, codexText, "")
	o := b.piped("Say hello.", b.exec("-m", "gpt-5.5", "-c", `model_reasoning_effort="low"`, "--image="+filepath.Join(b.repo, "shot.png"))...).end()
	if o.code != 0 || !o.has(`"type":"turn.completed"`) {
		t.Errorf("exit %d, stderr %q", o.code, o.stderr)
	}
}

func TestCodexEnvironmentIsChecked(t *testing.T) {
	tests := []struct {
		name   string
		env    []string
		reason string // "" = accepted
	}{
		{"stray key", []string{"OPENAI_API_KEY=x"}, "OPENAI_API_KEY"},
		{"stray key of its own", []string{"CODEX_API_KEY=x"}, "CODEX_API_KEY"},
		{"nested session", []string{"CLAUDECODE=1"}, "CLAUDECODE"},
		{"our token", []string{"SLIDEWRITE_TOKEN=x"}, "SLIDEWRITE_TOKEN"},
		{"kept", []string{"OPENAI_API_KEY=x", fakeagents.EnvKeepEnv + "=1"}, ""},
		{"kept, but our token", []string{"SLIDEWRITE_TOKEN=x", fakeagents.EnvKeepEnv + "=1"}, "SLIDEWRITE_TOKEN"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := codexBench(t, codexText, "")
			b.env = append(b.env, tt.env...)
			o := b.piped("Say hello.", b.exec()...).end()
			if tt.reason == "" && o.code != 0 || tt.reason != "" && (o.code != 2 || !strings.Contains(o.stderr, tt.reason)) {
				t.Errorf("exit %d, stderr %q; want %q", o.code, o.stderr, tt.reason)
			}
		})
	}
	b := codexBench(t, codexText, "")
	b.env = slices.DeleteFunc(b.env, func(kv string) bool { return strings.HasPrefix(kv, "SLIDEWRITE_RUN=") })
	if o := b.piped("Say hello.", b.exec()...).end(); o.code != 2 || !strings.Contains(o.stderr, "SLIDEWRITE_RUN") {
		t.Errorf("without the marker: exit %d, stderr %q", o.code, o.stderr)
	}
}

// What the real CLI says of a prompt that it does not take.
func TestCodexRefusesAPrompt(t *testing.T) {
	tests := []struct {
		name, prompt, stderr string
		lines                int
	}{
		{"empty", "", "No prompt provided via stdin.\n", 0},
		{"blank", " \n", "No prompt provided via stdin.\n", 0},
		{"not UTF-8", "caf\xe9 ", "input is not valid UTF-8 (invalid byte at offset 3)", 0},
		{"too long", strings.Repeat("é", 1<<20+1), `"max_chars":1048576,"actual_chars":1048577}`, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := codexBench(t, codexText, "")
			o := b.piped(tt.prompt, b.exec()...).end()
			if o.code != 1 || len(o.lines) != tt.lines || !strings.Contains(o.stderr, tt.stderr) {
				t.Errorf("exit %d, %d lines, stderr %q", o.code, len(o.lines), o.stderr)
			}
		})
	}
	b := codexBench(t, codexText, "")
	if o := b.piped(strings.Repeat("é", 1<<20), b.exec()...).end(); o.code != 0 {
		t.Errorf("the longest prompt: exit %d, stderr %q", o.code, o.stderr)
	}
}

func TestCodexReplayWithEffects(t *testing.T) {
	b := codexBench(t, codexEdit, "")
	f, err := fixtures.Load(codexEdit)
	if err != nil {
		t.Fatal(err)
	}
	k := b.start(b.exec()...)
	_, _ = k.stdin.Write([]byte("\nChange hello to goodbye in a.txt."))
	if got := b.read("a.txt"); got != "hello\nsecond line\n" {
		t.Errorf("a.txt before the end of the prompt: %q", got)
	}
	_ = k.stdin.Close()
	if !k.until(`"type":"item.completed","item":{"id":"item_4","type":"file_change"`) {
		t.Fatalf("no end of the patch: %s", k.stderr.String())
	}
	if got := b.read("a.txt"); got != "goodbye\nsecond line\n" {
		t.Errorf("a.txt when the patch is reported: %q", got)
	}
	o := k.end()
	if o.code != 0 || len(o.lines) != len(f.Lines()) {
		t.Errorf("exit %d, %d lines of %d, stderr %q", o.code, len(o.lines), len(f.Lines()), o.stderr)
	}
	for i, line := range o.lines {
		if strings.Contains(line, "{{") || !json.Valid([]byte(line)) {
			t.Errorf("line %d: %.200s", i+1, line)
		}
	}
	path, err := json.Marshal(filepath.Join(b.repo, "a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if !o.has(`"path":` + string(path)) {
		t.Error("the patch does not name the file of this run")
	}
}

func TestCodexPromptPicksTheFixture(t *testing.T) {
	b := codexBench(t, "", "")
	if o := b.piped("\nPlease: Think, then answer. Thanks.", b.exec()...).end(); !o.has("Thought about it. Done.") {
		t.Errorf("exit %d, stderr %q", o.code, o.stderr)
	}
	if o := b.piped("nobody ever recorded this", b.exec()...).end(); o.code != 2 || !strings.Contains(o.stderr, "no fixture of codex") {
		t.Errorf("exit %d, stderr %q", o.code, o.stderr)
	}
	b.set(fakeagents.EnvFixture, textCase) // claude's: not for this one
	if o := b.piped("\nThink, then answer.", b.exec()...).end(); !o.has("Thought about it. Done.") {
		t.Errorf("exit %d, stderr %q", o.code, o.stderr)
	}
	b.set(fakeagents.EnvFixture, "codex/captured/0.171.0/text")
	if o := b.piped("hi", b.exec()...).end(); o.code != 2 || !strings.Contains(o.stderr, "cannot be played") {
		t.Errorf("exit %d, stderr %q", o.code, o.stderr)
	}
}

// rollouts are the files of codex's own in the bench.
func (b *bench) rollouts() []string {
	b.t.Helper()
	found, err := filepath.Glob(filepath.Join(b.home, ".codex", "sessions", "????", "??", "??", "rollout-*.jsonl"))
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

func TestCodexRolloutAndResume(t *testing.T) {
	b := codexBench(t, codexEdit, "")
	o := b.piped("\nSomething I typed.", b.exec()...).end()
	found := b.rollouts()
	if o.code != 0 || len(found) != 1 {
		t.Fatalf("exit %d, rollouts %q, stderr %q", o.code, found, o.stderr)
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(filepath.Base(found[0]), ".jsonl")
	thread := name[len(name)-36:]
	if !o.has(`"thread_id":"` + thread + `"`) {
		t.Errorf("the thread on disk %s is not the one on stdout", thread)
	}
	for _, want := range []string{"Something I typed.", "Edited a.txt", `"id":"` + thread, `"type":"task_complete"`} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("%q is not in the rollout", want)
		}
	}
	if bytes.Contains(data, []byte("{{SESSION}}")) || bytes.Contains(data, []byte("Change hello to goodbye")) {
		t.Error("the rollout holds what was recorded instead of this run")
	}

	b.set(fakeagents.EnvFixture, "codex/real/0.171.0/resume")
	o = b.piped("\nAnd now hi.", b.exec("resume", thread)...).end()
	if o.code != 0 || !o.has(thread) || b.read("a.txt") != "hi\nsecond line\n" {
		t.Errorf("exit %d, stderr %q, a.txt %q", o.code, o.stderr, b.read("a.txt"))
	}
	again, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(again, data) || !bytes.Contains(again, []byte("And now hi.")) || len(b.rollouts()) != 1 {
		t.Error("the resumed turn is not appended to the same file")
	}
	if bytes.Count(again, []byte(`"last_agent_message":"Edited a.txt: hello became goodbye."`)) != 1 {
		t.Error("the turn before is there twice")
	}
}

// An unknown thread is an error, an id of another kind a new thread.
func TestCodexResumeOfNothing(t *testing.T) {
	b := codexBench(t, codexText, "")
	const lost = "99999999-2222-4333-8444-555555555555"
	o := b.piped("Go on.", b.exec("resume", lost)...).end()
	if o.code != 1 || len(o.lines) != 0 || !strings.Contains(o.stderr, "no rollout found for thread id "+lost) {
		t.Errorf("exit %d, lines %q, stderr %q", o.code, o.lines, o.stderr)
	}
	o = b.piped("Go on.", b.exec("resume", "the-last-one")...).end()
	if o.code != 0 || !o.has(`"thread.started"`) || len(b.rollouts()) != 1 {
		t.Errorf("exit %d, lines %q, stderr %q", o.code, o.lines, o.stderr)
	}
}

func TestCodexCommands(t *testing.T) {
	signedOut := []string{fakeagents.EnvKnobs + "=signed_out=1"}
	tests := []struct {
		name   string
		env    []string
		args   []string
		code   int
		out    string
		stderr string
	}{
		{"version", nil, []string{"--version"}, 0, "codex-cli 0.171.0", ""},
		{"signed in", nil, []string{"login", "status"}, 0, "", "Logged in using ChatGPT\n"},
		{"signed out", signedOut, []string{"login", "status"}, 1, "", "Not logged in\n"},
		{"a key does not count", append([]string{"OPENAI_API_KEY=x"}, signedOut...), []string{"login", "status"}, 1, "", "Not logged in\n"},
		{"models", nil, []string{"debug", "models"}, 0, `"slug":"gpt-6.2-sol"`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := codexBench(t, "", "")
			b.env = append(b.env, tt.env...)
			o := b.piped("", tt.args...).end()
			if o.code != tt.code || !o.has(tt.out) || o.stderr != tt.stderr {
				t.Errorf("exit %d, %.300q, stderr %q", o.code, o.lines, o.stderr)
			}
		})
	}
}

func TestCodexLoginAndLogout(t *testing.T) {
	b := codexBench(t, "", "signed_out=1")
	for _, s := range []struct {
		args string
		code int
	}{{"login status", 1}, {"login", 0}, {"login status", 0}, {"logout", 0}, {"login status", 1}} {
		if o := b.piped("", strings.Fields(s.args)...).end(); o.code != s.code {
			t.Errorf("%s: exit %d, want %d; stderr %q", s.args, o.code, s.code, o.stderr)
		}
	}
}

// app-server answers by method, under the ids that were asked with, until its
// input ends.
func TestCodexAppServer(t *testing.T) {
	b := codexBench(t, "", "signed_out=1")
	k := b.start("app-server")
	k.send(object{"id": 7, "method": "initialize", "params": object{}})
	k.send(object{"method": "initialized"})
	k.send(object{"id": 9, "method": "model/list", "params": object{}})
	k.send(object{"id": 11, "method": "account/read", "params": object{}})
	k.send(object{"id": 12, "method": "no/such", "params": object{}})
	o := k.end()
	if o.code != 0 || len(o.lines) != 4 || !strings.HasPrefix(o.lines[0], `{"id":7,"result":{"userAgent"`) ||
		!strings.HasPrefix(o.lines[1], `{"id":9,"result":{"data":[{"id":"gpt-6.2-sol"`) ||
		!strings.Contains(o.lines[2], `"account":null`) || !strings.HasPrefix(o.lines[3], `{"id":12,"error"`) {
		t.Errorf("exit %d, %.300q, stderr %q", o.code, o.lines, o.stderr)
	}
	b = codexBench(t, "", "")
	k = b.start("app-server")
	k.send(object{"id": 1, "method": "account/read", "params": object{}})
	if o := k.end(); !o.has(`"type":"chatgpt"`) {
		t.Errorf("signed in: %q", o.lines)
	}
}

func TestCodexVersionIsWhatWasRecorded(t *testing.T) {
	f, err := fixtures.Load("codex/real/0.171.0/version")
	if err != nil {
		t.Fatal(err)
	}
	if o := codexBench(t, "", "").piped("", "--version").end(); strings.Join(o.lines, "\n")+"\n" != string(f.Stdout) {
		t.Errorf("%q, recorded %q", o.lines, f.Stdout)
	}
}

func TestCodexLogHoldsStartAndPrompt(t *testing.T) {
	b := codexBench(t, codexText, "")
	log := filepath.Join(t.TempDir(), "log")
	b.set(fakeagents.EnvLog, log)
	b.piped("\nSay hello.", b.exec()...).end()
	entries, err := fakeagents.ReadLog(log)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 3 || len(entries[0].Argv) != len(b.exec()) || entries[1].Stdin != "\nSay hello." || !entries[2].EOF {
		t.Errorf("log: %+v", entries)
	}
}

// Knobs that end a turn or add to it.
func TestCodexKnobs(t *testing.T) {
	f, err := fixtures.Load(codexEdit)
	if err != nil {
		t.Fatal(err)
	}
	all := len(f.Lines())
	tests := []struct {
		knobs string
		code  int
		lines int
		has   string
	}{
		{"half_line=5", 0, 5, ""},
		{"no_result=1", 0, all - 1, ""},
		{"crash=4,crash_exit=101,crash_stderr=thread panicked", 101, 4, ""},
		{"banner=1", 0, all + 1, "warning: this line is not JSON"},
		{"grease=1", 0, 2 * all, `"type":"grease"`},
		{"flood=2000", 0, all + 2000, `"text":"flooding it "`},
		{"flood=3,flood_kind=tool_result,flood_line=64KiB", 0, all + 3, `"id":"item_flood_2"`},
		{"stamp=5", 0, all + 5, ""},
		{"big_line=1MiB", 0, all + 1, strings.Repeat("x", 1<<20)},
		{"pace=1ms,linger=10ms", 0, all, ""},
		{"rate_limited=1", 1, 4, "usage limit"},
		{"signed_out=1", 1, 14, "401 Unauthorized"},
	}
	for _, tt := range tests {
		t.Run(tt.knobs, func(t *testing.T) {
			t.Parallel()
			b := codexBench(t, codexEdit, tt.knobs)
			o := b.piped("\nGo.", b.exec()...).end()
			if o.code != tt.code || len(o.lines) != tt.lines || !o.has(tt.has) {
				t.Errorf("exit %d, %d lines, stderr %q", o.code, len(o.lines), o.stderr)
			}
			if strings.HasPrefix(tt.knobs, "crash") && !strings.Contains(o.stderr, "thread panicked") {
				t.Errorf("stderr %q", o.stderr)
			}
		})
	}
}
