package fakeagents_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/fakeagents/fixtures"
)

func TestMain(m *testing.M) {
	testscript.Main(m, fakeagents.Commands(fixtures.Corpus()))
}

// args is the command line the shim passes for a new session.
func args(extra ...string) []string {
	return append([]string{
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages",
		"--dangerously-skip-permissions", "--setting-sources", "project", "--system-prompt", "You help.", "--max-turns", "40",
	}, extra...)
}

// bench is a place for one fake: a working directory and a home.
type bench struct {
	t    *testing.T
	cli  string
	repo string
	home string
	env  []string
}

func newBench(t *testing.T, fixture string) *bench {
	t.Helper()
	b := &bench{t: t, cli: "claude", repo: filepath.Join(t.TempDir(), "repo"), home: t.TempDir()}
	if err := os.Mkdir(b.repo, 0o755); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(b.repo)
	if err != nil {
		t.Fatal(err)
	}
	b.repo = real
	b.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "USERPROFILE=" + b.home, "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "GORACE=atexit_sleep_ms=0",
		"SLIDEWRITE_RUN=test.1", "CLAUDE_CODE_TMPDIR=" + t.TempDir(), "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1", "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1",
	}
	if fixture != "" {
		b.set(fakeagents.EnvFixture, fixture)
		f, err := fixtures.Load(fixture)
		if err != nil {
			t.Fatal(err)
		}
		b.cli = f.Agent()
		if err := f.WriteRepo(b.repo); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (b *bench) set(name, value string) { b.env = append(b.env, name+"="+value) }

func (b *bench) command(args ...string) *exec.Cmd {
	cmd := exec.Command(b.cli, args...)
	cmd.Dir = b.repo
	cmd.Env = b.env
	return cmd
}

// outcome is how a fake ended.
type outcome struct {
	lines  []string
	stderr string
	code   int
}

func (o outcome) has(text string) bool { return strings.Contains(strings.Join(o.lines, "\n"), text) }

// talk is a started fake.
type talk struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
	lines  []string
}

func (b *bench) start(args ...string) *talk {
	b.t.Helper()
	k := &talk{t: b.t, cmd: b.command(args...)}
	var err error
	if k.stdin, err = k.cmd.StdinPipe(); err != nil {
		b.t.Fatal(err)
	}
	out, err := k.cmd.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	k.out = bufio.NewReader(out)
	k.cmd.Stderr = &k.stderr
	if err := k.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = k.cmd.Process.Kill() })
	return k
}

func (k *talk) send(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		k.t.Fatal(err)
	}
	_, _ = k.stdin.Write(append(line, '\n')) // the fake may have refused and gone
}

type object = map[string]any

func (k *talk) initialize() {
	k.send(object{"type": "control_request", "request_id": "i1", "request": object{"subtype": "initialize"}})
}

func (k *talk) interrupt() {
	k.send(object{"type": "control_request", "request_id": "stop1", "request": object{"subtype": "interrupt"}})
}

func (k *talk) say(text string) {
	k.send(object{"type": "user", "message": object{"role": "user", "content": []object{{"type": "text", "text": text}}}})
}

// until reads lines until one holds text; it returns false at the end.
func (k *talk) until(text string) bool {
	for {
		line, err := k.out.ReadString('\n')
		if line != "" {
			k.lines = append(k.lines, strings.TrimSuffix(line, "\n"))
		}
		if text != "" && strings.Contains(line, text) {
			return true
		}
		if err != nil {
			return false
		}
	}
}

func (k *talk) end() outcome {
	k.t.Helper()
	_ = k.stdin.Close()
	k.until("")
	err := k.cmd.Wait()
	code := k.cmd.ProcessState.ExitCode()
	if err != nil && code < 0 {
		k.t.Logf("ended by %v", err)
	}
	return outcome{k.lines, k.stderr.String(), code}
}

// run holds the conversation of a whole turn.
func (b *bench) run(prompt string, args ...string) outcome {
	b.t.Helper()
	k := b.start(args...)
	k.initialize()
	if k.until(`"control_response"`) {
		k.say(prompt)
		k.until(`"state":"idle"`)
	}
	return k.end()
}

func (b *bench) read(path string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.repo, path))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

// "checks its command line strictly, flag by flag … → exit 2 with the reason".
func TestCommandLineIsChecked(t *testing.T) {
	without := func(flags ...string) []string {
		var out []string
		all := args()
		for i := 0; i < len(all); i++ {
			if all[i] == flags[0] {
				i += len(flags) - 1
				continue
			}
			out = append(out, all[i])
		}
		return out
	}
	const session = "11111111-2222-4333-8444-555555555555"
	tests := []struct {
		name    string
		version string
		args    []string
		reason  string
	}{
		{"no -p", "2.1.332", without("-p"), "-p is missing"},
		{"no stream-json input", "2.1.332", without("--input-format", ""), "--input-format is missing"},
		{"no verbose", "2.1.332", without("--verbose"), "--verbose is missing"},
		{"no partials", "2.1.332", without("--include-partial-messages"), "--include-partial-messages is missing"},
		{"permissions asked", "2.1.332", without("--dangerously-skip-permissions"), "--dangerously-skip-permissions is missing"},
		{"user's settings", "2.1.332", without("--setting-sources", ""), "--setting-sources is missing"},
		{"no system prompt", "2.1.332", without("--system-prompt", ""), "--system-prompt is missing"},
		{"no turn limit", "2.1.332", without("--max-turns", ""), "--max-turns is missing"},
		{"turn limit of none", "2.1.332", append(without("--max-turns", ""), "--max-turns", "0"), "not a positive number"},
		{"unknown flag", "2.1.332", args("--yolo"), `unknown option "--yolo"`},
		{"known flag we do not use", "2.1.332", args("--append-system-prompt", "x"), "unknown option"},
		{"flag twice", "2.1.332", args("--verbose"), "--verbose is there twice"},
		{"flag without value", "2.1.332", args("--model"), "--model has no value"},
		{"model like a flag", "2.1.332", args("--model", "--resume"), "value of --model"},
		{"resume no uuid", "2.1.332", args("--resume", "last"), "value of --resume"},
		{"prompt on argv", "2.1.332", args("make it green"), "the prompt goes by stdin"},
		{"secret on argv", "2.1.332", args("sk-ant-api03-abcdefgh"), "looks like a secret"},
		{"secret in a value", "2.1.332", args("--model", "sk-abcdefghijklmnopqrstuv"), "looks like a secret"},
		{"snapshot flag of 332", "2.1.197", args("--resume", session, "--system-prompt-snapshot", "off"), "2.1.197 does not have it"},
		{"snapshot without resume", "2.1.332", args("--system-prompt-snapshot", "off"), "makes no sense without --resume"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, "")
			b.set(fakeagents.EnvVersion, tt.version)
			o := b.start(tt.args...).end()
			if o.code != 2 || !strings.Contains(o.stderr, tt.reason) {
				t.Errorf("exit %d, stderr %q; want 2 and %q", o.code, o.stderr, tt.reason)
			}
		})
	}
}

func TestOptionalFlagsAreAccepted(t *testing.T) {
	b := newBench(t, "claude/real/2.1.332/text")
	o := b.run("\nSay hello.", args("--strict-mcp-config", "--disable-slash-commands", "--model", "opus[1m]", "--effort", "high")...)
	if o.code != 0 || !o.has(`"subtype":"success"`) {
		t.Errorf("exit %d, stderr %q", o.code, o.stderr)
	}
}

// S12: the child environment has nothing of the scrub list unless kept.
func TestEnvironmentIsChecked(t *testing.T) {
	tests := []struct {
		name   string
		env    []string
		reason string // "" = accepted
	}{
		{"nested session", []string{"CLAUDECODE=1"}, "CLAUDECODE"},
		{"stray key", []string{"ANTHROPIC_API_KEY=x"}, "ANTHROPIC_API_KEY"},
		{"redirected", []string{"ANTHROPIC_BASE_URL=http://127.0.0.1"}, "ANTHROPIC_BASE_URL"},
		{"our token", []string{"SLIDEWRITE_TOKEN=x"}, "SLIDEWRITE_TOKEN"},
		{"our image key", []string{"GEMINI_API_KEY=x"}, "GEMINI_API_KEY"},
		{"kept", []string{"ANTHROPIC_API_KEY=x", fakeagents.EnvKeepEnv + "=1"}, ""},
		{"kept, but our token", []string{"SLIDEWRITE_TOKEN=x", fakeagents.EnvKeepEnv + "=1"}, "SLIDEWRITE_TOKEN"},
		{"bedrock", []string{"CLAUDE_CODE_USE_BEDROCK=1", "ANTHROPIC_BASE_URL=http://127.0.0.1"}, ""},
		{"plan token", []string{"CLAUDE_CODE_OAUTH_TOKEN=x"}, ""},
		{"background tasks on", []string{"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=0"}, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"},
		{"no temp dir", []string{"CLAUDE_CODE_TMPDIR="}, "CLAUDE_CODE_TMPDIR"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, "claude/real/2.1.332/text")
			b.env = append(b.env, tt.env...)
			o := b.run("\nSay hello.", args()...)
			if tt.reason == "" {
				if o.code != 0 {
					t.Errorf("exit %d, stderr %q", o.code, o.stderr)
				}
				return
			}
			if o.code != 2 || !strings.Contains(o.stderr, tt.reason) {
				t.Errorf("exit %d, stderr %q; want 2 and %q", o.code, o.stderr, tt.reason)
			}
		})
	}
}

func TestRunWithoutMarkerIsRefused(t *testing.T) {
	b := newBench(t, "claude/real/2.1.332/text")
	for i, kv := range b.env {
		if strings.HasPrefix(kv, "SLIDEWRITE_RUN=") {
			b.env = append(b.env[:i:i], b.env[i+1:]...)
			break
		}
	}
	if o := b.run("\nSay hello.", args()...); o.code != 2 || !strings.Contains(o.stderr, "SLIDEWRITE_RUN") {
		t.Errorf("exit %d, stderr %q", o.code, o.stderr)
	}
	b.set(fakeagents.EnvNoMarker, "1")
	if o := b.run("\nSay hello.", args()...); o.code != 0 {
		t.Errorf("exit %d, stderr %q", o.code, o.stderr)
	}
}

func TestUserMessageIsChecked(t *testing.T) {
	text := object{"type": "text", "text": "\nhi"}
	image := object{"type": "image", "source": object{"type": "base64", "media_type": "image/png", "data": ""}}
	tests := []struct {
		name    string
		content any
		reason  string // "" = accepted
	}{
		{"image then text", []object{image, text}, ""},
		{"no newline", []object{{"type": "text", "text": "/cost"}}, "does not begin with a newline"},
		{"a string", "\nhi", "not a list of blocks"},
		{"text then image", []object{text, image}, "images come first"},
		{"image last", []object{image, image}, "not text"},
		{"two texts", []object{text, text}, "images come first"},
		{"nothing", []object{}, "empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, "claude/real/2.1.332/text")
			k := b.start(args()...)
			k.initialize()
			k.until("control_response")
			k.send(object{"type": "user", "message": object{"role": "user", "content": tt.content}})
			o := k.end()
			switch {
			case tt.reason == "" && o.code != 0:
				t.Errorf("exit %d, stderr %q", o.code, o.stderr)
			case tt.reason != "" && (o.code != 2 || !strings.Contains(o.stderr, tt.reason)):
				t.Errorf("exit %d, stderr %q; want 2 and %q", o.code, o.stderr, tt.reason)
			}
		})
	}
}

// "replays the transcript line by line with its session id, cwd and times
// filled in, and performs the recorded file effects at the line where the
// real CLI had performed them, in the real working directory".
func TestReplayWithEffects(t *testing.T) {
	b := newBench(t, "claude/real/2.1.332/edit")
	f, err := fixtures.Load("claude/real/2.1.332/edit")
	if err != nil {
		t.Fatal(err)
	}
	k := b.start(args()...)
	k.initialize()
	k.until(`"control_response"`)
	if !strings.Contains(k.lines[0], `"request_id":"i1"`) {
		t.Errorf("the answer to initialize does not name the request: %.120s", k.lines[0])
	}
	if got := b.read("a.txt"); got != "hello\nsecond line\n" {
		t.Errorf("a.txt before the prompt: %q", got)
	}
	k.say("\nChange hello to goodbye in a.txt.")
	if !k.until("has been updated successfully") {
		t.Fatal("no result of the edit")
	}
	if got := b.read("a.txt"); got != "goodbye\nsecond line\n" {
		t.Errorf("a.txt at its tool result: %q", got)
	}
	k.until(`"state":"idle"`)
	o := k.end()
	if o.code != 0 || len(o.lines) != len(f.Lines()) {
		t.Errorf("exit %d, %d lines of %d, stderr %q", o.code, len(o.lines), len(f.Lines()), o.stderr)
	}
	for i, line := range o.lines {
		if strings.Contains(line, "{{") && !strings.Contains(line, "{{ELIDED}}") {
			t.Errorf("line %d has a placeholder: %.200s", i+1, line)
		}
		if !json.Valid([]byte(line)) {
			t.Errorf("line %d is not JSON: %.200s", i+1, line)
		}
	}
	if !o.has(`"cwd":"` + strings.ReplaceAll(b.repo, `\`, `\\`)) {
		t.Error("the working directory is not in init")
	}
}

// Every fixture that can be played plays to its recorded end.
func TestEveryPlayableFixturePlays(t *testing.T) {
	runs, err := fixtures.Playable("claude")
	if err != nil {
		t.Fatal(err)
	}
	codex, err := fixtures.Playable("codex")
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range append(runs, codex...) {
		if raced && i%8 != 0 {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, f.Name)
			session := "11111111-2222-4333-8444-555555555555"
			v := fakeagents.Values{Repo: b.repo, Session: session, Now: time.Now()}
			var argv []string // as it was recorded: the check must accept what the shim passes
			for _, arg := range f.Argv {
				argv = append(argv, string(v.FillText([]byte(arg))))
			}
			if len(f.Before) > 0 {
				if err := f.SeedDisk(filepath.Join(b.home, "."+f.Agent()), v); err != nil {
					t.Fatal(err)
				}
			}
			for _, e := range f.Effects {
				if e.Run != nil {
					git(t, b, "init", "-q")
					break
				}
			}
			playAll(t, b, f, argv)
			for _, e := range f.Effects {
				checkEffect(t, b, e)
			}
		})
	}
}

func git(t *testing.T, b *bench, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = b.repo, b.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

// playAll does what had been done to the real CLI's stdin, at the same lines.
func playAll(t *testing.T, b *bench, f *fakeagents.Fixture, args []string) {
	t.Helper()
	k := b.start(args...)
	if f.Piped != nil {
		_, _ = k.stdin.Write(f.Piped)
		_ = k.stdin.Close()
	}
	for _, in := range f.Stdin {
		for len(k.lines) < in.After {
			line, err := k.out.ReadString('\n')
			if err != nil {
				break
			}
			k.lines = append(k.lines, line)
		}
		switch {
		case in.Close:
			_ = k.stdin.Close()
		case in.Signal != "":
			_ = k.cmd.Process.Signal(os.Interrupt)
		default:
			_, _ = k.stdin.Write(append(in.Line, '\n'))
		}
	}
	o := k.end()
	if o.code != f.Exit || len(o.lines) != len(f.Lines()) {
		t.Errorf("exit %d (recorded %d), %d lines (recorded %d), stderr %q", o.code, f.Exit, len(o.lines), len(f.Lines()), o.stderr)
	}
}

func checkEffect(t *testing.T, b *bench, e fakeagents.Effect) {
	t.Helper()
	path := filepath.Join(b.repo, filepath.FromSlash(e.Path))
	_, err := os.Lstat(path)
	switch {
	case e.Run != nil:
	case e.Delete != os.IsNotExist(err):
		t.Errorf("effect on %s: %v", e.Path, err)
	case e.Write != nil:
		if got := b.read(e.Path); got != *e.Write {
			t.Errorf("%s is %q", e.Path, got)
		}
	}
}

// "picks a fixture … by matching the prompt".
func TestPromptPicksTheFixture(t *testing.T) {
	b := newBench(t, "")
	o := b.run("\nPlease: Think, then answer. Thanks.", args()...)
	if !o.has("Thought about it. Done.") {
		t.Errorf("exit %d, stderr %q", o.code, o.stderr)
	}
	o = b.run("\nnobody ever recorded this", args()...)
	if o.code != 2 || !strings.Contains(o.stderr, "no fixture") {
		t.Errorf("exit %d, stderr %q", o.code, o.stderr)
	}
}

func TestCapturedFixturesAreNotPlayed(t *testing.T) {
	b := newBench(t, "claude/captured/2.1.332/c-two-turns")
	if o := b.run("\nhi", args()...); o.code != 2 || !strings.Contains(o.stderr, "cannot be played") {
		t.Errorf("exit %d, stderr %q", o.code, o.stderr)
	}
}

// "writes the on-disk transcript where the real CLI would, so history and
// resume work".
func TestTranscriptOnDiskAndResume(t *testing.T) {
	b := newBench(t, "claude/real/2.1.332/edit")
	o := b.run("\nSomething I typed.", args()...)
	if o.code != 0 {
		t.Fatalf("exit %d, stderr %q", o.code, o.stderr)
	}
	folder := filepath.Join(b.home, ".claude", "projects", fakeagents.ProjectFolder(b.repo))
	found, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("transcripts: %v %v", found, err)
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	session := strings.TrimSuffix(filepath.Base(found[0]), ".jsonl")
	if !o.has(`"session_id":"` + session + `"`) {
		t.Errorf("the session on disk %s is not the one on stdout", session)
	}
	for _, want := range []string{"Something I typed.", `"cwd":"` + strings.ReplaceAll(b.repo, `\`, `\\`), "Edited a.txt", session} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("%q is not in the transcript", want)
		}
	}
	if bytes.Contains(data, []byte("{{SESSION}}")) || bytes.Contains(data, []byte("Change hello to goodbye")) {
		t.Error("the transcript holds what was recorded instead of this run")
	}

	b.set(fakeagents.EnvFixture, "claude/real/2.1.332/resume")
	o = b.run("\nAnd now hi.", args("--resume", session, "--system-prompt-snapshot", "off")...)
	if o.code != 0 || !o.has(session) || b.read("a.txt") != "hi\nsecond line\n" {
		t.Errorf("exit %d, stderr %q, a.txt %q", o.code, o.stderr, b.read("a.txt"))
	}
	again, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(again, data) || !bytes.Contains(again, []byte("And now hi.")) {
		t.Error("the resumed turn is not appended to the same file")
	}
	if bytes.Count(again, []byte("Edited a.txt: hello became goodbye.")) != 1 {
		t.Error("the turn before is there twice")
	}
}

func TestUnknownSessionIsOneErrorLine(t *testing.T) {
	b := newBench(t, "claude/real/2.1.332/text")
	const lost = "99999999-2222-4333-8444-555555555555"
	o := b.start(args("--resume", lost)...).end()
	if o.code != 1 || len(o.lines) != 1 || !o.has("No conversation found with session ID: "+lost) {
		t.Errorf("exit %d, lines %q, stderr %q", o.code, o.lines, o.stderr)
	}
}

func TestCommands(t *testing.T) {
	tests := []struct {
		name string
		env  []string
		args []string
		code int
		out  string
	}{
		{"version", nil, []string{"--version"}, 0, "2.1.332 (Claude Code)"},
		{"version 197", []string{fakeagents.EnvVersion + "=2.1.197"}, []string{"--version"}, 0, "2.1.197 (Claude Code)"},
		{"signed in", nil, []string{"auth", "status", "--json"}, 0, `"loggedIn": true`},
		{"signed out", []string{fakeagents.EnvKnobs + "=signed_out=1"}, []string{"auth", "status", "--json"}, 1, `"loggedIn": false`},
		{"by key", []string{"ANTHROPIC_API_KEY=x"}, []string{"auth", "status", "--json"}, 0, `"authMethod": "api_key"`},
		{"unknown knob", []string{fakeagents.EnvKnobs + "=speed=1"}, []string{"--version"}, 2, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, "")
			b.env = append(b.env, tt.env...)
			o := b.start(tt.args...).end()
			if o.code != tt.code || !o.has(tt.out) {
				t.Errorf("exit %d, %q, stderr %q", o.code, o.lines, o.stderr)
			}
		})
	}
}

func TestVersionIsWhatWasRecorded(t *testing.T) {
	for _, v := range []string{"2.1.332", "2.1.197"} {
		f, err := fixtures.Load("claude/real/" + v + "/version")
		if err != nil {
			t.Fatal(err)
		}
		b := newBench(t, "")
		b.set(fakeagents.EnvVersion, v)
		if o := b.start("--version").end(); strings.Join(o.lines, "\n")+"\n" != string(f.Stdout) {
			t.Errorf("%q, recorded %q", o.lines, f.Stdout)
		}
	}
}

func TestLoginAndLogout(t *testing.T) {
	b := newBench(t, "")
	b.set(fakeagents.EnvKnobs, "signed_out=1")
	steps := []struct {
		args []string
		code int
	}{
		{[]string{"auth", "status", "--json"}, 1},
		{[]string{"auth", "login"}, 0},
		{[]string{"auth", "status", "--json"}, 0},
		{[]string{"auth", "logout"}, 0},
		{[]string{"auth", "status", "--json"}, 1},
	}
	for _, s := range steps {
		if o := b.start(s.args...).end(); o.code != s.code {
			t.Errorf("%v: exit %d, want %d; stderr %q", s.args, o.code, s.code, o.stderr)
		}
	}
}

func TestInitializeAlone(t *testing.T) {
	for _, v := range []string{"2.1.332", "2.1.197"} {
		b := newBench(t, "")
		b.set(fakeagents.EnvVersion, v)
		k := b.start(args()...)
		k.initialize()
		k.until("control_response")
		o := k.end()
		if o.code != 0 || len(o.lines) != 1 || !o.has(`"models":[{"value":"default"`) || !o.has(`"request_id":"i1"`) {
			t.Errorf("%s: exit %d, %d lines, stderr %q", v, o.code, len(o.lines), o.stderr)
		}
	}
}

func TestLogHoldsStartsAndStdin(t *testing.T) {
	b := newBench(t, "claude/real/2.1.332/text")
	log := filepath.Join(t.TempDir(), "log")
	b.set(fakeagents.EnvLog, log)
	b.run("\nSay hello.", args()...)
	entries, err := fakeagents.ReadLog(log)
	if err != nil {
		t.Fatal(err)
	}
	last := entries[len(entries)-1]
	if len(entries) != 4 || len(entries[0].Argv) != len(args()) || entries[0].Dir != b.repo || !last.EOF ||
		!strings.Contains(entries[2].Stdin, "Say hello.") {
		t.Errorf("log: %+v", entries)
	}
}

func ExampleProjectFolder() {
	fmt.Println(fakeagents.ProjectFolder("/home/me/my app.v2"))
	// Output: -home-me-my-app-v2
}
