package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	urfave "github.com/urfave/cli/v3"

	"github.com/slidewrite/slidewrite/shim"
)

// command runs one command line in an environment of its own and returns what
// it printed.
func command(t *testing.T, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	home := t.TempDir()
	environ = append([]string{
		"HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"), "XDG_CONFIG_HOME=" + filepath.Join(home, "config"),
		"GIT_CONFIG_GLOBAL=" + filepath.Join(home, "gitconfig"), "PATH=" + os.Getenv("PATH"),
	}, environ...)
	var out, err bytes.Buffer
	code = Run(Process{
		Args: append([]string{"slidewrite"}, args...), Environ: environ,
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err,
	})
	return code, out.String(), err.String()
}

// TestUsageErrors: exit code 2, nothing on stdout, and one error with one fix
// that name what was wrong. testscripts has the whole wording of most.
func TestUsageErrors(t *testing.T) {
	for _, tc := range []struct {
		name    string
		environ []string
		args    []string
		want    string
	}{
		{name: "unknown flag", args: []string{"--bort", "1"}, want: "unknown flag --bort\nslidewrite: fix: did you mean --port?"},
		{name: "unknown flag of design", args: []string{"design", "--efort", "low", "x"}, want: "unknown flag --efort\nslidewrite: fix: did you mean --effort? slidewrite design --help"},
		{name: "far from any flag", args: []string{"--settings"}, want: "unknown flag --settings\nslidewrite: fix: slidewrite serve --help"},
		{name: "far from any command", args: []string{"status"}, want: `unknown command "status"` + "\nslidewrite: fix: slidewrite --help lists"},
		{name: "almost a command that wipes", args: []string{"forgt"}, want: `unknown command "forgt"` + "\nslidewrite: fix: slidewrite --help lists"},
		{name: "almost a flag that wipes", args: []string{"forget", "--al"}, want: "unknown flag --al\nslidewrite: fix: slidewrite forget --help"},
		{name: "unknown command", args: []string{"desing"}, want: `unknown command "desing"` + "\nslidewrite: fix: did you mean slidewrite design?"},
		{name: "no value", args: []string{"serve", "--bind"}, want: "--bind needs a value"},
		{name: "port", args: []string{"--port", "65536"}, want: `--port: "65536"`},
		{name: "port variable", environ: []string{"SLIDEWRITE_PORT=x"}, want: `SLIDEWRITE_PORT: "x"`},
		{name: "toggle variable", environ: []string{"SLIDEWRITE_COMMIT_VERIFY=yes"}, want: "SLIDEWRITE_COMMIT_VERIFY: \"yes\" is neither true nor false\nslidewrite: fix: set SLIDEWRITE_COMMIT_VERIFY to 1 or 0"},
		{name: "wire is for debug only", environ: []string{"SLIDEWRITE_KEEP_ENV=wire"}, want: `SLIDEWRITE_KEEP_ENV: "wire" is neither`},
		{name: "debug variable", environ: []string{"SW_DEBUG=loud"}, want: `SW_DEBUG: "loud" is neither`},
		{name: "toggle value", args: []string{"--keep-env=maybe"}, want: `--keep-env: "maybe" makes no sense there`},
		{name: "S7", args: []string{"--bind", "0.0.0.0"}, want: "--bind 0.0.0.0 lets other machines in, and there is no token"},
		{name: "S7 with a token of 127 bits or less", args: []string{"--bind", "::", "--token", "0123456789abcdef0123456789abcde"}, want: "--bind :: lets other machines in, and the token is too short"},
		{name: "S7 with a token that is none", args: []string{"--bind", "0.0.0.0", "--token", strings.Repeat("ab", 40)}, want: "--bind 0.0.0.0 lets other machines in, and the token is too short"},
		{name: "token", args: []string{"--token="}, want: "--token: the token is empty"},
		{name: "no prompt", args: []string{"design"}, want: "there is no prompt\nslidewrite: fix: slidewrite design \"make"},
		{name: "blank prompt", args: []string{"design", "  "}, want: "there is no prompt"},
		{name: "empty stdin", args: []string{"design", "-"}, want: "there is no prompt"},
		{name: "model", args: []string{"--model", "--yolo"}, want: "--model must be a model id"},
		{name: "model of a run", environ: []string{"SLIDEWRITE_MODEL=-m"}, args: []string{"design", "hi"}, want: "SLIDEWRITE_MODEL must be a model id"},
		{name: "effort", args: []string{"design", "--effort", "LOW", "hi"}, want: "--effort must match"},
		{name: "resume", args: []string{"design", "--resume", "last", "hi"}, want: `--resume: "last" is not a session` + "\nslidewrite: fix: pass the session's UUID"},
		{name: "provider", args: []string{"design", "--provider", "foo", "hi"}, want: `--provider: "foo" is not one of its values` + "\nslidewrite: fix: use anthropic or openai or grok\n"},
		{name: "provider that cannot run", environ: []string{"SLIDEWRITE_PROVIDER=google"}, args: []string{"design", "hi"}, want: `SLIDEWRITE_PROVIDER: "google" is not one of its values`},
		{name: "undo of two", args: []string{"undo", "a", "b"}, want: "slidewrite undo takes one run, got 2"},
		{name: "forget of a thing", args: []string{"forget", "it"}, want: `single runs cannot be forgotten, got "it": forget wipes all runs of a repo`},
		{name: "forget of one and all", args: []string{"forget", "--all", "--repo", "."}, want: "--all is every repo, --repo is one\nslidewrite: fix: leave one of them out"},
		{name: "max turns of design", args: []string{"design", "--max-turns", "0", "hi"}, want: `--max-turns: "0"`},
		{name: "run timeout of nothing", args: []string{"--run-timeout", "0"}, want: `--run-timeout: "0" is not a time it can take` + "\nslidewrite: fix: give a number and its unit, for example 90s, 10m or 1h30m; leave the flag out for no limit\n"},
		{name: "run timeout below nothing", args: []string{"--run-timeout=-1s"}, want: `--run-timeout: "-1s"`},
		{name: "run timeout without a unit", args: []string{"design", "--run-timeout", "600", "hi"}, want: `--run-timeout: "600"`},
		{name: "run timeout, empty", args: []string{"design", "--run-timeout", "", "hi"}, want: `--run-timeout: ""`},
		{name: "run timeout of undo", args: []string{"undo", "--run-timeout", "1m"}, want: "unknown flag --run-timeout"},
		{name: "run timeout variable", args: []string{"design", "hi"}, environ: []string{"SLIDEWRITE_RUN_TIMEOUT=soon"}, want: `SLIDEWRITE_RUN_TIMEOUT: "soon"`},
		{name: "max turns of undo", args: []string{"undo", "--max-turns", "1"}, want: "unknown flag --max-turns"},
		{name: "author of undo", args: []string{"undo", "--commit-author", "me"}, want: `--commit-author: "me" is not one of its values`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, stdout, stderr := command(t, tc.environ, tc.args...)
			if code != exitUsage || stdout != "" {
				t.Errorf("exit code %d, stdout %q; want %d and nothing", code, stdout, exitUsage)
			}
			if !strings.HasPrefix(stderr, "slidewrite: error: "+tc.want) {
				t.Errorf("stderr:\n%swant it to begin with:\nslidewrite: error: %s", stderr, tc.want)
			}
			if n := strings.Count(stderr, "slidewrite: fix: "); n != 1 {
				t.Errorf("%d fixes in:\n%s", n, stderr)
			}
		})
	}
}

// TestServeConfig: what flags and variables become, and that the flag wins.
func TestServeConfig(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "token")
	if err := os.WriteFile(secret, []byte("from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name    string
		environ []string
		args    []string
		check   func(shim.Config) bool
	}{
		{"defaults", nil, nil, func(c shim.Config) bool {
			return c.Repo == "." && c.Port == 4040 && c.Bind == "127.0.0.1" && c.Token == "" && c.MaxTurns == 40 && c.RunTimeout == 0 &&
				c.MCP == "project" && c.CommitAuthor == "slidewrite" && c.Model == "" && c.ClaudeBin == "" &&
				!c.Debug && !c.DebugWire && !c.KeepEnv && !c.UseSkills && !c.CommitVerify && !c.NoProjectSettings &&
				len(c.Origins)+len(c.AllowHosts)+len(c.AllowExtensions) == 0
		}},
		{"variables", []string{"SLIDEWRITE_PORT=1", "SLIDEWRITE_KEEP_ENV=1", "SLIDEWRITE_USE_SKILLS=true", "SLIDEWRITE_MCP=none", "SLIDEWRITE_ALLOWED_ORIGIN=http://a.test,http://b.test"}, nil, func(c shim.Config) bool {
			return c.Port == 1 && c.KeepEnv && c.UseSkills && c.MCP == "none" && slices.Equal(c.Origins, []string{"http://a.test", "http://b.test"})
		}},
		{"the flag wins", []string{"SLIDEWRITE_PORT=nonsense", "SLIDEWRITE_KEEP_ENV=perhaps", "SLIDEWRITE_ALLOW_HOST=a.test"}, []string{"--port", "0", "--keep-env=false", "--allow-host", "b.test"}, func(c shim.Config) bool {
			return c.Port == 0 && !c.KeepEnv && slices.Equal(c.AllowHosts, []string{"b.test"})
		}},
		{"an empty variable is not set", []string{"SLIDEWRITE_PORT=", "SLIDEWRITE_KEEP_ENV=", "SLIDEWRITE_TOKEN="}, nil, func(c shim.Config) bool {
			return c.Port == 4040 && !c.KeepEnv && c.Token == ""
		}},
		{"run timeout", []string{"SLIDEWRITE_RUN_TIMEOUT=90s"}, nil, func(c shim.Config) bool { return c.RunTimeout == 90*time.Second }},
		{"off", []string{"SLIDEWRITE_KEEP_ENV=0", "SW_DEBUG=false"}, nil, func(c shim.Config) bool { return !c.KeepEnv && !c.Debug }},
		{"debug", nil, []string{"--debug", "--port", "0"}, func(c shim.Config) bool { return c.Debug && !c.DebugWire && c.Port == 0 }},
		{"debug wire", nil, []string{"--debug=wire"}, func(c shim.Config) bool { return c.Debug && c.DebugWire }},
		{"debug variable", []string{"SW_DEBUG=1"}, nil, func(c shim.Config) bool { return c.Debug && !c.DebugWire }},
		{"debug wire variable", []string{"SW_DEBUG=wire"}, nil, func(c shim.Config) bool { return c.DebugWire }},
		{"repeatable", nil, []string{"--allow-host", "A.test", "--allow-host", "*.b.test", "--allow-extension", strings.Repeat("p", 32)}, func(c shim.Config) bool {
			return slices.Equal(c.AllowHosts, []string{"a.test", "*.b.test"}) && len(c.AllowExtensions) == 1
		}},
		{"names as the server takes them", nil, []string{"--allow-host", "dev_box", "--allow-host", "[::1]", "--origin", "http://dev_box:3000,http://[::1]:3000"}, func(c shim.Config) bool {
			return slices.Equal(c.AllowHosts, []string{"dev_box", "[::1]"}) && slices.Equal(c.Origins, []string{"http://dev_box:3000", "http://[::1]:3000"})
		}},
		{"origins as a browser spells them", nil, []string{"--origin", "HTTP://LocalHost:5173/, *"}, func(c shim.Config) bool {
			return slices.Equal(c.Origins, []string{"http://localhost:5173", "*"})
		}},
		{"token file", nil, []string{"--token", "@" + secret}, func(c shim.Config) bool { return c.Token == "from-a-file" }},
		{"localhost", nil, []string{"--bind", "localhost"}, func(c shim.Config) bool { return c.Bind == "127.0.0.1" }},
		{"IPv6", nil, []string{"--bind", "[::1]"}, func(c shim.Config) bool { return c.Bind == "::1" }},
		{"an address for all, with a token", nil, []string{"--bind", "0.0.0.0", "--token", "0123456789abcdef0123456789abcdef"}, func(c shim.Config) bool { return c.Bind == "0.0.0.0" }},
		{"another binary", nil, []string{"--claude-bin", "/opt/claude"}, func(c shim.Config) bool { return c.ClaudeBin == "/opt/claude" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var stderr bytes.Buffer
			a := &app{Process: Process{Environ: tc.environ, Stdout: &stderr, Stderr: &stderr}, fromEnv: map[string]bool{}}
			var got shim.Config
			cmd := a.serveCommand()
			cmd.Action = func(_ context.Context, cmd *urfave.Command) (err error) { got, err = a.serveConfig(cmd); return err }
			if err := cmd.Run(t.Context(), append([]string{"serve"}, tc.args...)); err != nil {
				t.Fatal(err)
			}
			if !tc.check(got) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestSpell(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"", "serve"},
		{"--port 0", "serve --port 0"},
		{"-h", "-h"},
		{"--help", "--help"},
		{"--version", "version"},
		{"--version --json", "version --json"},
		{"help", "--help"},
		{"help design", "design --help"},
		{"design help", "design help"},
		{"--po --generate-shell-completion", "serve --po --generate-shell-completion"},
		{"--generate-shell-completion", "--generate-shell-completion"},
	} {
		if got := strings.Join(spell(append([]string{"slidewrite"}, strings.Fields(tc.args)...)), " "); got != tc.want {
			t.Errorf("spell(%q) = %q, want %q", tc.args, got, tc.want)
		}
	}
}

func TestTokenBits(t *testing.T) {
	for _, tc := range []struct {
		token  string
		enough bool
	}{
		{"", false},
		{"0123456789abcdef0123456789abcdef", true},        // 32 hex digits: 128 bits
		{"0123456789abcdef0123456789abcde", false},        // 31
		{"Zk3v9QmX1r8LtYw2Ns6PbA", true},                  // 22 letters and digits: 131 bits
		{"Zk3v9QmX1r8LtYw2Ns6P", false},                   // 20
		{"94837261504938271650493827165049382716", false}, // 38 digits: 126 bits
		{strings.Repeat("aB3", 30), false},                // long, but not random
	} {
		if got := tokenBits(tc.token) >= minTokenBits; got != tc.enough {
			t.Errorf("tokenBits(%q) = %.1f", tc.token, tokenBits(tc.token))
		}
	}
}

// allFlags are the flags of every command.
func allFlags() []flagSpec {
	return slices.Concat([]flagSpec{repoFlag}, serveFlags, runFlags, designFlags, historyFlags, recordFlags, demoFlags)
}

// TestEveryFlagIsDescribed: one variable each, a row in the README, and a
// word of help.
func TestEveryFlagIsDescribed(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range allFlags() {
		if f.says == "" {
			t.Errorf("--%s says nothing", f.name)
		}
		if !strings.Contains(string(readme), "`--"+f.name+"`") {
			t.Errorf("README.md does not name --%s", f.name)
		}
	}
	for _, f := range slices.Concat([]flagSpec{repoFlag}, serveFlags, runFlags) {
		if !strings.Contains(string(readme), "\n| `--"+f.name+"` | `"+f.variable()+"` |") {
			t.Errorf("README.md has no row for --%s with %s", f.name, f.variable())
		}
	}
}

// TestRecordedVersions: version tells which CLIs the fixtures come from.
func TestRecordedVersions(t *testing.T) {
	found := map[string][]string{}
	dirs, err := filepath.Glob("../../fakeagents/fixtures/*/real/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		agent := filepath.Base(filepath.Dir(filepath.Dir(dir)))
		found[agent] = append(found[agent], filepath.Base(dir))
	}
	if len(found) == 0 {
		t.Fatal("no recorded fixtures")
	}
	for agent, versions := range found {
		slices.Sort(versions)
		if !slices.Equal(recordedFrom[agent], versions) {
			t.Errorf("recordedFrom[%q] = %v, but the fixtures are of %v", agent, recordedFrom[agent], versions)
		}
	}
	for agent := range recordedFrom {
		if found[agent] == nil {
			t.Errorf("recordedFrom names %s, of which there is no fixture", agent)
		}
	}
}
