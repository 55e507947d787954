package fakeagents_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/fakeagents/fixtures"
)

const (
	grokSession = "0198c0de-7a3b-7288-8960-bf333d3405a8"
	grokMarker  = "==== slidewrite: the user's request begins below this line ===="
)

// grokBench is a place for one fake grok: a working directory, a home and the
// folder of a run with its prompt file.
type grokBench struct {
	t                 *testing.T
	repo, home, grok  string
	run               string
	env               []string
	promptFile, stdin string
}

func newGrokBench(t *testing.T, fixture, prompt string) *grokBench {
	t.Helper()
	real := func(dir string) string {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			t.Fatal(err)
		}
		return real
	}
	b := &grokBench{t: t, repo: real(t.TempDir()), home: real(t.TempDir()), run: real(t.TempDir())}
	b.grok = filepath.Join(b.home, ".grok")
	b.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "USERPROFILE=" + b.home, "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "GORACE=atexit_sleep_ms=0", "SLIDEWRITE_RUN=test.1",
	}
	b.promptFile = filepath.Join(b.run, "prompt.txt")
	b.write(b.promptFile, "\nBe brief.\n\n"+grokMarker+"\n\n"+prompt)
	if fixture != "" {
		b.set(fakeagents.EnvFixture, "grok/made/1.0.6/"+fixture)
		if err := b.fixture(fixture).WriteRepo(b.repo); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (b *grokBench) set(name, value string) { b.env = append(b.env, name+"="+value) }

func (b *grokBench) fixture(name string) *fakeagents.Fixture {
	b.t.Helper()
	f, err := fixtures.Load("grok/made/1.0.6/" + name)
	if err != nil {
		b.t.Fatal(err)
	}
	return f
}

func (b *grokBench) write(path, text string) {
	b.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *grokBench) read(path string) string {
	b.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

// args is the command line the shim passes for a new session.
func (b *grokBench) args(extra ...string) []string {
	return append([]string{
		"--prompt-file", b.promptFile, "--cwd", b.repo, "--output-format", "streaming-messages-json", "--include-partial-messages",
		"--always-approve", "--permission-mode", "bypassPermissions", "--sandbox", "off", "--no-auto-update", "--no-wait-for-background",
		"--max-turns", "40", "--verbatim",
	}, extra...)
}

func (b *grokBench) command(args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	cmd = exec.Command("grok", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = b.repo, b.env, strings.NewReader(b.stdin)
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

func (b *grokBench) play(args ...string) outcome {
	b.t.Helper()
	cmd, stdout, stderr := b.command(args...)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.t.Fatal(err)
	}
	o := outcome{stderr: stderr.String(), code: cmd.ProcessState.ExitCode()}
	if text := strings.TrimSuffix(stdout.String(), "\n"); text != "" {
		o.lines = strings.Split(text, "\n")
	}
	return o
}

// "checks its command line strictly, flag by flag … → exit 2 with the reason".
func TestGrokCommandLineIsChecked(t *testing.T) {
	b := newGrokBench(t, "", "Say hello.")
	without := func(flag string, values int) []string {
		args := b.args()
		i := slices.Index(args, flag)
		return slices.Delete(args, i, i+1+values)
	}
	with := func(flag, value string) []string {
		args := b.args()
		args[slices.Index(args, flag)+1] = value
		return args
	}
	tests := []struct {
		name   string
		args   []string
		reason string
	}{
		{"no prompt file", without("--prompt-file", 1), "--prompt-file is missing"},
		{"no folder", without("--cwd", 1), "--cwd is missing"},
		{"no stream", without("--output-format", 1), "--output-format is missing"},
		{"another stream", with("--output-format", "streaming-json"), "value of --output-format"},
		{"no partials", without("--include-partial-messages", 0), "--include-partial-messages is missing"},
		{"approvals asked", without("--always-approve", 0), "--always-approve is missing"},
		{"no permission mode", without("--permission-mode", 1), "--permission-mode is missing"},
		{"another permission mode", with("--permission-mode", "default"), "value of --permission-mode"},
		{"no sandbox word", without("--sandbox", 1), "--sandbox is missing"},
		{"updates", without("--no-auto-update", 0), "--no-auto-update is missing"},
		{"waits for what is in the background", without("--no-wait-for-background", 0), "--no-wait-for-background is missing"},
		{"no turn limit", without("--max-turns", 1), "--max-turns is missing"},
		{"turn limit of none", with("--max-turns", "0"), "not a positive number"},
		{"prompt may be moved to a file", without("--verbatim", 0), "--verbatim is missing"},
		{"unknown flag", b.args("--yolo"), `unexpected argument "--yolo"`},
		{"known flag we do not use", b.args("--rules", "x"), "unexpected argument"},
		{"prompt on argv", b.args("-p", "make it green"), "unexpected argument"},
		{"a word", b.args("make it green"), "the prompt goes by file"},
		{"flag twice", b.args("--verbatim"), "cannot be used multiple times"},
		{"flag without value", b.args("-m"), "-m has no value"},
		{"model like a flag", b.args("-m", "--effort"), "value of -m"},
		{"a title to resume", b.args("-r", "A greeting"), "value of -r"},
		{"upper case", b.args("-r", strings.ToUpper(grokSession)), "value of -r"},
		{"secret on argv", b.args("sk-ant-api03-abcdefgh"), "looks like a secret"},
		{"secret in a value", b.args("-m", "sk-abcdefghijklmnopqrstuv"), "looks like a secret"},
		{"relative folder", with("--cwd", "."), "is not absolute"},
		{"another folder", with("--cwd", b.home), "is not the real path of the working directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if o := b.play(tt.args...); o.code != 2 || !strings.Contains(o.stderr, tt.reason) {
				t.Errorf("exit %d, stderr %q; want 2 and %q", o.code, o.stderr, tt.reason)
			}
		})
	}
}

func TestGrokPromptFileIsChecked(t *testing.T) {
	const good = "\nBe brief.\n\n" + grokMarker + "\n\nSay hello."
	tests := []struct {
		name, text, file string
		mode             os.FileMode
		reason           string // "" = accepted
	}{
		{"good", good, "prompt.txt", 0o600, ""},
		{"a slash command below the marker", strings.Replace(good, "Say", "/Say", 1), "prompt.txt", 0o600, ""},
		{"JSON", good, "prompt.json", 0o600, "would be parsed as blocks"},
		{"readable by others", good, "prompt.txt", 0o644, "mode"},
		{"in the repository", good, "../repo/prompt.txt", 0o600, "it lies in the repository"},
		{"no marker", "\nSay hello.", "prompt.txt", 0o600, "no line below which"},
		{"no newline first", strings.TrimPrefix(good, "\n"), "prompt.txt", 0o600, "does not begin with a newline"},
		{"no newline before the request", strings.Replace(good, "\n\nSay", "\nSay", 1), "prompt.txt", 0o600, "does not begin with a newline"},
		{"no system prompt", "\n" + grokMarker + "\n\nSay hello.", "prompt.txt", 0o600, "no system prompt"},
		{"a slash command first", strings.Replace(good, "Be", "/Be", 1), "prompt.txt", 0o600, "would be run as a command"},
		{"not UTF-8", good + "\xff", "prompt.txt", 0o600, "not valid UTF-8"},
		{"nothing", " \n", "prompt.txt", 0o600, "it is empty"},
		{"missing", "", "none.txt", 0, "--prompt-file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && tt.mode == 0o644 {
				t.Skip("Windows has no permission bits")
			}
			b := newGrokBench(t, "text", "")
			b.promptFile = filepath.Join(b.run, tt.file)
			if tt.file == "../repo/prompt.txt" {
				b.promptFile = filepath.Join(b.repo, "prompt.txt")
			}
			if tt.mode != 0 {
				b.write(b.promptFile, tt.text)
				if err := os.Chmod(b.promptFile, tt.mode); err != nil {
					t.Fatal(err)
				}
			}
			o := b.play(b.args()...)
			switch {
			case tt.reason == "" && o.code != 0:
				t.Errorf("exit %d, stderr %q", o.code, o.stderr)
			case tt.reason != "" && (o.code != 2 || !strings.Contains(o.stderr, tt.reason)):
				t.Errorf("exit %d, stderr %q; want 2 and %q", o.code, o.stderr, tt.reason)
			}
		})
	}
}

func TestGrokEnvironmentAndInputAreChecked(t *testing.T) {
	tests := []struct {
		name, env, stdin, reason string // "" = accepted
	}{
		{"nested session", "CLAUDECODE=1", "", "CLAUDECODE"},
		{"our token", "SLIDEWRITE_TOKEN=x", "", "SLIDEWRITE_TOKEN"},
		{"its own key", "XAI_API_KEY=x", "", ""},
		{"a key of somebody else", "OPENAI_API_KEY=x", "", ""},
		{"something on stdin", "A=b", "hi", "came in by stdin"},
	}
	for _, tt := range tests {
		b := newGrokBench(t, "text", "Say hello.")
		b.env = append(b.env, tt.env)
		b.stdin = tt.stdin
		o := b.play(b.args()...)
		if ok := tt.reason == ""; ok != (o.code == 0) || !strings.Contains(o.stderr, tt.reason) {
			t.Errorf("%s: exit %d, stderr %q", tt.name, o.code, o.stderr)
		}
	}
	b := newGrokBench(t, "text", "Say hello.")
	b.env = slices.DeleteFunc(b.env, func(kv string) bool { return strings.HasPrefix(kv, "SLIDEWRITE_RUN=") })
	if o := b.play(b.args()...); o.code != 2 || !strings.Contains(o.stderr, "SLIDEWRITE_RUN") {
		t.Errorf("without the marker: exit %d, stderr %q", o.code, o.stderr)
	}
}

// Every fixture that can be played plays to its end: its lines, its effects,
// its exit code, and a session on disk where it had one.
func TestEveryGrokFixturePlays(t *testing.T) {
	runs, err := fixtures.Playable("grok")
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) < 50 {
		t.Errorf("%d runs, want at least 50", len(runs))
	}
	for i, f := range runs {
		if f.Signal != "" || raced && i%8 != 0 { // for those that end by a signal see TestGrokSignals
			continue
		}
		t.Run(f.Case(), func(t *testing.T) {
			t.Parallel()
			b := newGrokBench(t, f.Case(), strings.TrimSpace(f.Prompt()))
			v := fakeagents.Values{Repo: b.repo, Session: grokSession, Tmp: b.run, Now: time.Now()}
			if len(f.Before) > 0 {
				if err := f.SeedDisk(b.grok, v); err != nil {
					t.Fatal(err)
				}
			}
			var argv []string // as it stands in the fixture: the check must accept what the shim passes
			for _, arg := range f.Argv {
				argv = append(argv, string(v.FillText([]byte(arg))))
			}
			o := b.play(argv...)
			if o.code != f.Exit || len(o.lines) != len(f.Lines()) {
				t.Fatalf("exit %d, %d lines of %d, stderr %q", o.code, len(o.lines), len(f.Lines()), o.stderr)
			}
			if want := string(v.FillText(f.Stderr)); o.stderr != want {
				t.Errorf("stderr %q, want %q", o.stderr, want)
			}
			for i, line := range o.lines {
				if !json.Valid([]byte(line)) || strings.Contains(line, "{{") {
					t.Errorf("line %d: %.200s", i+1, line)
				}
			}
			for _, e := range f.Effects {
				if _, err := os.Stat(filepath.Join(b.repo, filepath.FromSlash(e.Path))); (err != nil) != e.Delete {
					t.Errorf("effect on %s: %v", e.Path, err)
				}
			}
			found, err := filepath.Glob(filepath.Join(b.grok, "sessions", "*", "*", "summary.json"))
			if want := strings.Contains(string(f.Stdout), `"cwd":"{{REPO}}"`) || len(f.Before) > 0; err != nil || (len(found) == 1) != want {
				t.Errorf("sessions on disk: %q, %v", found, err)
			}
		})
	}
}

// The prompt picks the fixture, and its effects come with its lines.
func TestGrokFixtureByPrompt(t *testing.T) {
	b := newGrokBench(t, "", "Please: Change hello to goodbye in a.txt.")
	b.write(filepath.Join(b.repo, "a.txt"), "hello\n")
	o := b.play(b.args("-m", "grok-4.6", "--effort", "high")...)
	if o.code != 0 || !o.has(`"subtype":"success"`) || b.read(filepath.Join(b.repo, "a.txt")) != "goodbye\n" {
		t.Errorf("exit %d, stderr %q", o.code, o.stderr)
	}
	b = newGrokBench(t, "", "Something nobody made.")
	if o := b.play(b.args()...); o.code != 2 || !strings.Contains(o.stderr, "no fixture of grok 1.0.6 fits") {
		t.Errorf("exit %d, stderr %q", o.code, o.stderr)
	}
}

// sessionDir is the one session on disk.
func (b *grokBench) sessionDir() string {
	b.t.Helper()
	found, err := filepath.Glob(filepath.Join(b.grok, "sessions", fakeagents.GrokFolder(b.repo), "*"))
	if err != nil || len(found) != 1 {
		b.t.Fatalf("sessions %q, %v", found, err)
	}
	return found[0]
}

// A session is written as grok lays it out, can be resumed by its id, grows
// then, and is unknown by another.
func TestGrokSessionOnDisk(t *testing.T) {
	b := newGrokBench(t, "story", "Call the shop Garden Shop and list the files.")
	if o := b.play(b.args()...); o.code != 0 {
		t.Fatalf("exit %d, stderr %q", o.code, o.stderr)
	}
	dir := b.sessionDir()
	type summary struct {
		Info                          struct{ ID, Cwd string }
		Session_summary               string
		Num_messages                  int
		Num_chat_messages             int
		Current_model_id, Agent_name  string
		Next_trace_turn, Chat_version int
	}
	load := func() (s summary) {
		if err := json.Unmarshal([]byte(b.read(filepath.Join(dir, "summary.json"))), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := load()
	chat, updates := b.read(filepath.Join(dir, "chat_history.jsonl")), b.read(filepath.Join(dir, "updates.jsonl"))
	if s.Info.ID != filepath.Base(dir) || s.Info.Cwd != b.repo || s.Current_model_id != "grok-4.6" || s.Info.ID[14] != '7' ||
		s.Num_chat_messages != strings.Count(chat, "\n") || s.Num_messages != strings.Count(updates, "\n") || s.Session_summary == "" {
		t.Errorf("summary %+v", s)
	}
	for _, want := range []string{`"type":"system"`, `user's request begins below this line ====\n\nCall the shop Garden Shop`, `"type":"reasoning"`, `"name":"search_replace"`, `"content":"exit: 0\nREADME.md\nshop.txt\n"`, `There are two files.`} {
		if !strings.Contains(chat, want) {
			t.Errorf("the history has no %s:\n%s", want, chat)
		}
	}
	if events := b.read(filepath.Join(dir, "events.jsonl")); !strings.Contains(events, `"turn_started"`) || !strings.Contains(events, `"turn_ended"`) {
		t.Errorf("events %s", events)
	}
	if !strings.Contains(updates, `"turn_completed"`) {
		t.Errorf("updates %s", updates)
	}

	b.set(fakeagents.EnvFixture, "grok/made/1.0.6/resume")
	o := b.play(b.args("-r", s.Info.ID)...)
	if o.code != 0 || !o.has(`"session_id":"`+s.Info.ID+`"`) || b.sessionDir() != dir {
		t.Fatalf("exit %d, stderr %q", o.code, o.stderr)
	}
	after := load()
	if again := b.read(filepath.Join(dir, "chat_history.jsonl")); !strings.HasPrefix(again, chat) || len(again) == len(chat) || after.Num_chat_messages != strings.Count(again, "\n") || after.Next_trace_turn != 2 {
		t.Errorf("the session did not grow: %+v", after)
	}
	for _, fixture := range []string{"resume", "text"} {
		b.set(fakeagents.EnvFixture, "grok/made/1.0.6/"+fixture)
		if o := b.play(b.args("-r", grokSession)...); o.code != 1 || len(o.lines) > 0 || !strings.Contains(o.stderr, "Session does not exist") {
			t.Errorf("an unknown session: exit %d, %q, %q", o.code, o.lines, o.stderr)
		}
	}
}

// "ID found under another cwd runs there, ignoring --cwd".
func TestGrokResumesWhereTheSessionWas(t *testing.T) {
	there := newGrokBench(t, "edit", "Change hello to goodbye in a.txt.")
	f := there.fixture("resume")
	if err := f.SeedDisk(there.grok, fakeagents.Values{Repo: there.repo, Session: grokSession}); err != nil {
		t.Fatal(err)
	}
	here := newGrokBench(t, "edit", "Change hello to goodbye in a.txt.")
	here.set("GROK_HOME", there.grok)
	o := here.play(here.args("-r", grokSession)...)
	cwd, _ := json.Marshal(there.repo)
	if o.code != 0 || !o.has(`"cwd":`+string(cwd)) {
		t.Errorf("exit %d, stderr %q, %.300q", o.code, o.stderr, o.lines)
	}
	if got := there.read(filepath.Join(there.repo, "a.txt")); !strings.HasPrefix(got, "goodbye") {
		t.Errorf("there: %q", got)
	}
	if got := here.read(filepath.Join(here.repo, "a.txt")); !strings.HasPrefix(got, "hello") {
		t.Errorf("here: %q", got)
	}
}

func TestGrokFolder(t *testing.T) {
	long := "/" + strings.Repeat("a", 250) + "/My App"
	tests := []struct{ dir, want string }{
		{"/repo", "%2Frepo"},
		{"/a.b/a_b/a-b~", "%2Fa.b%2Fa_b%2Fa-b~"},
		{"/it's (a) *", "%2Fit%27s%20%28a%29%20%2A"},
		{"/ü", "%2F%C3%BC"},
	}
	for _, tt := range tests {
		if got := fakeagents.GrokFolder(tt.dir); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.dir, got, tt.want)
		}
	}
	if got := fakeagents.GrokFolder(long); !strings.HasPrefix(got, "my-app-") || len(got) != len("my-app-")+16 {
		t.Errorf("a long path: %q", got)
	}
}

func TestGrokCommands(t *testing.T) {
	b := newGrokBench(t, "", "")
	first := func(args ...string) string {
		t.Helper()
		o := b.play(args...)
		if o.code != 0 || len(o.lines) == 0 {
			t.Fatalf("%v: exit %d, stderr %q", args, o.code, o.stderr)
		}
		return o.lines[0]
	}
	if got := first("--version"); got != "grok 1.0.6 (abc1234) [stable]" {
		t.Errorf("--version: %q", got)
	}
	if got := first("models"); got != "You are logged in with grok.com." {
		t.Errorf("models: %q", got)
	}
	if cache := b.read(filepath.Join(b.grok, "models_cache.json")); !strings.Contains(cache, `"auth_method": "session"`) || strings.Contains(cache, "{{") {
		t.Errorf("the list: %.300s", cache)
	}
	if o := b.play("logout"); !strings.Contains(o.stderr, "Logged out") {
		t.Errorf("logout: %q", o.stderr)
	}
	if got := first("models"); got != "You are not authenticated." {
		t.Errorf("models after logout: %q", got)
	}
	if o := b.play(b.args()...); o.code != 1 || !o.has("Not signed in") {
		t.Errorf("a run after logout: exit %d, %q", o.code, o.stderr)
	}
	if o := b.play("login"); !strings.Contains(o.stderr, "Signed in as") {
		t.Errorf("login: %q", o.stderr)
	}
	b.set("XAI_API_KEY", "xai-loopback-dummy-abcd")
	if got := first("models"); got != "You are using XAI_API_KEY." {
		t.Errorf("models with a key: %q", got)
	}
}

func TestGrokKnobs(t *testing.T) {
	tests := []struct {
		knobs string
		code  int
		check func(o outcome) bool
	}{
		{"signed_out=1", 1, func(o outcome) bool { return o.has("Not signed in") }},
		{"rate_limited=1", 1, func(o outcome) bool { return o.has("rate limit") }},
		{"no_result=1", 0, func(o outcome) bool { return !o.has(`"type":"result"`) && o.has(`"type":"assistant"`) }},
		{"half_line=3", 0, func(o outcome) bool { return len(o.lines) == 3 && !json.Valid([]byte(o.lines[2])) }},
		{"banner=1", 0, func(o outcome) bool { return !json.Valid([]byte(o.lines[0])) }},
		{"grease=1", 0, func(o outcome) bool { return o.has(`"type":"grease"`) && o.has(`"no_type_at_all"`) }},
		{"crash=4,crash_exit=9,crash_stderr=boom", 9, func(o outcome) bool { return len(o.lines) == 4 && o.stderr == "boom\n" }},
		{"big_line=1MiB", 0, func(o outcome) bool { return len(o.lines[len(o.lines)-2]) > 1<<20 }},
		{"flood=100", 0, func(o outcome) bool { return count(o.lines, "flooding it ") == 100 }},
		{"flood=3,flood_kind=tool_result,flood_line=64KiB", 0, func(o outcome) bool {
			n := 0
			for _, l := range o.lines {
				if strings.Contains(l, "call_flood_") && len(l) > 60<<10 && len(l) <= 64<<10 {
					n++
				}
			}
			return n == 3
		}},
		{"stamp=5", 0, func(o outcome) bool { return len(o.lines) == len(fixtureLines("text"))+5 }},
		{"linger=50ms", 0, func(o outcome) bool { return o.has(`"type":"result"`) }},
	}
	for _, tt := range tests {
		t.Run(tt.knobs, func(t *testing.T) {
			t.Parallel()
			b := newGrokBench(t, "text", "Say hello.")
			b.set(fakeagents.EnvKnobs, tt.knobs)
			if o := b.play(b.args()...); o.code != tt.code || !tt.check(o) {
				t.Errorf("exit %d, stderr %q, %d lines", o.code, o.stderr, len(o.lines))
			}
		})
	}
}

func fixtureLines(name string) [][]byte {
	f, err := fixtures.Load("grok/made/1.0.6/" + name)
	if err != nil {
		return nil
	}
	return f.Lines()
}
