//go:build unix

package shim_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/catalog"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// clis are the CLIs as far as they are asked what they offer, healthy unless
// $WHY says what is wrong.
var clis = map[string]string{
	"claude": `
[ "$WHY" = hangs ] && exec sleep 60
case "$1" in
--version) echo '2.1.332 (Claude Code)'; exit ;;
auth)
	case "$WHY" in
	signed-out) echo '{"loggedIn":false,"authMethod":"none"}'; exit 1 ;;
	expired) echo '{"loggedIn":true,"authMethod":"claude.ai","loginExpiresAt":"2020-01-01T00:00:00Z"}' ;;
	*) echo '{"loggedIn":true,"authMethod":"claude.ai"}' ;;
	esac
	exit ;;
esac
models='{"value":"default","displayName":"Default"}'
case "$WHY" in
refused) echo 'not today' >&2; exit 1 ;;
root) echo 'cannot be used with root/sudo privileges' >&2; exit 1 ;;
version) echo "error: unknown option '--verbose'" >&2; exit 1 ;;
empty) models= ;;
esac
read -r line
id=${line#*'"request_id":"'}
echo '{"type":"control_response","response":{"subtype":"success","request_id":"'"${id%%'"'*}"'","response":{"models":['"$models"']}}}'
`,
	"codex": `
[ "$WHY" = hangs ] && exec sleep 60
case "$1 $2" in
"--version ") echo codex-cli 0.171.0; exit ;;
"login status")
	[ "$WHY" = signed-out ] && { echo "Not logged in" >&2; exit 1; }
	echo "Logged in using ChatGPT" >&2; exit ;;
"debug models")
	case "$WHY" in
	refused) echo "not today" >&2; exit 1 ;;
	version) echo "error: unrecognized subcommand 'debug'" >&2; exit 2 ;;
	config) echo "Error loading config.toml: expected a value" >&2; exit 1 ;;
	empty) echo '{"models":[]}' ;;
	*) echo '{"models":[{"slug":"m-1","display_name":"M 1","visibility":"list"}]}' ;;
	esac
	exit ;;
"exec --json") echo "error: unexpected argument '--json' found" >&2; exit 2 ;;
esac
exit 1 # no app-server
`,
	"grok": `
[ "$WHY" = hangs ] && exec sleep 60
case "$1" in
--version) echo "grok 1.0.6 (abc1234) [stable]"; exit ;;
models)
	case "$WHY" in
	signed-out)
		if [ -n "$XAI_API_KEY" ]; then echo "You are using XAI_API_KEY."; else echo "You are not authenticated."; fi
		echo "Available models:"; echo "  * m-1" ;;
	expired) echo "Error: your session has expired" >&2; exit 1 ;;
	refused) echo "not today" >&2; exit 1 ;;
	version) echo "error: unexpected argument '--foo' found" >&2; exit 2 ;;
	config) echo "failed to parse config.toml: expected a value" >&2; exit 1 ;;
	empty) echo "You are logged in with grok.com."; echo "Available models:" ;;
	*) echo "You are logged in with grok.com."; echo "Available models:"; echo "  * m-1" ;;
	esac
	exit ;;
esac
echo "error: unexpected argument '$1' found" >&2
exit 2
`,
}

// whyEmpty is what a client is told when an agent has no models to choose
// from, all of it: the cause, as $WHY or as variables; what is the matter; what
// cures it. A cause that does not empty the list has neither, and says why.
var whyEmpty = []struct {
	agent, cause string
	environ      string // space separated
	message, fix string
	remark       string // why there is no error
}{
	{"claude", "healthy", "", "", "", "it is"},
	{"claude", "not found", "", "not-here not found; searched /usr/bin:/bin:/home/ada/.local/bin and 7 more", "npm install -g @anthropic-ai/claude-code, or pass its path with --claude-bin", ""},
	{"claude", "not executable", "", "--claude-bin /home/ada/plain: is not executable", "chmod +x /home/ada/plain", ""},
	{"claude", "version", "", "this version of claude does not know an option it was given", "claude update", ""},
	{"claude", "signed-out", "", "claude is not signed in", "claude auth login", ""},
	{"claude", "signed-out", "ANTHROPIC_API_KEY=k", "claude is not signed in", "start slidewrite with --keep-env", ""},
	{"claude", "signed-out", "ANTHROPIC_AUTH_TOKEN=k", "claude is not signed in", "start slidewrite with --keep-env", ""},
	{"claude", "expired", "", "the sign-in of claude has expired", "claude auth login", ""},
	{"claude", "hangs", "", "claude did not answer in time", "run claude once in a terminal and see what it asks", ""},
	{"claude", "refused", "", "claude refused to list its models: not today", "run claude once in a terminal and see what it says", ""},
	{"claude", "root", "", "claude does not run with full permissions as root", "run slidewrite as a user other than root, or set IS_SANDBOX=1 if this machine is a sandbox", ""},
	{"claude", "empty", "", "claude offers no models", "claude update", ""},

	{"codex", "healthy", "", "", "", "it is"},
	{"codex", "not found", "", "not-here not found; searched /usr/bin:/bin:/home/ada/.local/bin and 7 more", "npm install -g @openai/codex, or pass its path with --codex-bin", ""},
	{"codex", "not executable", "", "--codex-bin /home/ada/plain: is not executable", "chmod +x /home/ada/plain", ""},
	{"codex", "version", "", "this version of codex does not know an option it was given", "codex update", ""},
	{"codex", "signed-out", "", "codex is not signed in", "codex login", ""},
	{"codex", "signed-out", "CODEX_API_KEY=k", "codex is not signed in", "start slidewrite with --keep-env", ""},
	{"codex", "signed-out", "OPENAI_API_KEY=k", "codex is not signed in", "codex login", ""}, // codex asks the API without that key
	{"codex", "expired", "", "", "", "login status looks for a login, not at it: the first run tells, see TestWhyARunIsNotSignedIn"},
	{"codex", "hangs", "", "codex did not answer in time", "run codex once in a terminal and see what it asks", ""},
	{"codex", "refused", "", "codex refused to list its models: not today", "run codex once in a terminal and see what it says", ""},
	{"codex", "config", "", "codex cannot read its configuration", "correct config.toml in codex's home folder (~/.codex)", ""},
	{"codex", "empty", "", "codex offers no models", "codex update", ""},

	{"grok", "healthy", "", "", "", "it is"},
	{"grok", "not found", "", "not-here not found; searched /usr/bin:/bin:/home/ada/.local/bin and 7 more", "pass its path with --grok-bin", ""},
	{"grok", "not executable", "", "--grok-bin /home/ada/plain: is not executable", "chmod +x /home/ada/plain", ""},
	{"grok", "version", "", "this version of grok does not know an option it was given", "grok update", ""},
	{"grok", "signed-out", "", "grok is not signed in", "grok login", ""},
	{"grok", "signed-out", "XAI_API_KEY=k", "", "", "nothing that signs it in is taken away"},
	{"grok", "expired", "", "the sign-in of grok has expired", "grok login", ""},
	{"grok", "hangs", "", "grok did not answer in time", "run grok once in a terminal and see what it asks", ""},
	{"grok", "refused", "", "grok refused to list its models: not today", "run grok once in a terminal and see what it says", ""},
	{"grok", "config", "", "grok cannot read its configuration", "correct config.toml in grok's home folder (~/.grok)", ""},
	{"grok", "empty", "", "grok offers no models", "grok update", ""},
}

func TestWhyAListIsEmpty(t *testing.T) {
	for _, row := range whyEmpty {
		if !sampled(row.agent + " " + row.cause + " " + row.environ) {
			continue
		}
		t.Run(row.agent+" "+row.cause+" "+row.environ, func(t *testing.T) {
			t.Parallel()
			s := shimtest.New(t)
			s.Start(whyConfig(t, s, row.agent, row.cause, row.environ))
			var p catalog.Provider
			for { // a busy machine may take longer than the answer waits
				if p = metaOf(s, row.agent); !p.Pending {
					break
				}
			}
			message := strings.ReplaceAll(p.Error, s.Root, "/home/ada")
			fix := strings.ReplaceAll(p.Fix, s.Root, "/home/ada")
			if message != row.message || fix != row.fix {
				t.Errorf("told\n%q\n%q, want\n%q\n%q", message, fix, row.message, row.fix)
			}
			if (len(p.Models) == 0) != (row.message != "") || (row.message == "") != (row.remark != "") {
				t.Errorf("%d models", len(p.Models))
			}
			fits(t, message, fix)
		})
	}
}

// whyConfig is a shim whose agent has something the matter with it.
func whyConfig(t *testing.T, s *shimtest.Stage, agent, cause, environ string) shim.Config {
	t.Helper()
	bin := filepath.Join(s.Root, agent)
	switch mode := os.FileMode(0o700); cause {
	case "not found":
		bin = "not-here"
	case "not executable":
		bin, mode = filepath.Join(s.Root, "plain"), 0o600
		fallthrough
	default:
		if err := os.WriteFile(bin, []byte("#!/bin/sh\n"+clis[agent]), mode); err != nil {
			t.Fatal(err)
		}
	}
	cfg := shim.Config{ClaudeBin: "none", CodexBin: "none", GrokBin: "none", Timing: quick}
	*map[string]*string{"claude": &cfg.ClaudeBin, "codex": &cfg.CodexBin, "grok": &cfg.GrokBin}[agent] = bin
	if cause == "hangs" {
		cfg.DiscoveryDeadline = 300 * time.Millisecond
	}
	cfg.Environ = append(s.Environ("HOME=/home/ada", "PATH=/usr/bin:/bin", "WHY="+cause), strings.Fields(environ)...)
	return cfg
}

// metaOf is an agent's entry of /meta.
func metaOf(s *shimtest.Stage, agent string) catalog.Provider {
	s.T.Helper()
	var meta struct{ Providers []catalog.Provider }
	provider := driverOf(agent + "/").provider
	if status := s.JSON("GET", "/meta?only="+provider, nil, &meta); status != 200 || len(meta.Providers) != 1 || meta.Providers[0].ID != provider {
		s.T.Fatalf("GET /meta?only=%s: %d %+v", provider, status, meta)
	}
	return meta.Providers[0]
}

// fits wants that a panel has room for a message and its fix: two lines of 60
// characters each.
func fits(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if n := utf8.RuneCountInString(text); n > 120 {
			t.Errorf("%d characters: %q", n, text)
		}
	}
}

// TestWhyARunIsNotSignedIn: what only a run finds out, and what it says when
// the client did not look at /meta first. fixture "" is the CLI of clis.
func TestWhyARunIsNotSignedIn(t *testing.T) {
	const refresh = "Your access token could not be refreshed because your refresh token was already used. Please log out and sign in again."
	for _, row := range []struct {
		agent, cause string
		fixture      string
		says         string // instead of what is in the fixture
		knobs        string
		environ      string
		message, fix string
		code         string
	}{
		{agent: "claude", cause: "not signed in", fixture: "edit", knobs: "signed_out=1",
			message: "Not logged in · Please run /login", fix: "claude auth login", code: event.CodeNotSignedIn},
		{agent: "claude", cause: "a key was taken away", fixture: "edit", knobs: "signed_out=1", environ: "ANTHROPIC_API_KEY=k",
			message: "Not logged in · Please run /login", fix: "start slidewrite with --keep-env", code: event.CodeNotSignedIn},
		{agent: "claude", cause: "the key, or the sign-in, is refused", fixture: "err-401",
			message: "Invalid API key · Fix external API key", fix: "claude auth login", code: event.CodeNotSignedIn},
		{agent: "claude", cause: "version",
			message: "this version of claude does not know an option it was given: error: unknown option '--verbose'", fix: "claude update", code: event.CodeUnsupported},

		{agent: "codex", cause: "not signed in", fixture: "edit", knobs: "signed_out=1",
			message: "codex is not signed in (401 Unauthorized)", fix: "codex login", code: event.CodeNotSignedIn},
		{agent: "codex", cause: "a key was taken away", fixture: "edit", knobs: "signed_out=1", environ: "CODEX_API_KEY=k",
			message: "codex is not signed in (401 Unauthorized)", fix: "start slidewrite with --keep-env", code: event.CodeNotSignedIn},
		{agent: "codex", cause: "the key is refused", fixture: "err-401",
			message: "codex's API key is not valid", fix: "codex logout && codex login", code: event.CodeNotSignedIn},
		{agent: "codex", cause: "expired", fixture: "err-401", says: refresh,
			message: "the sign-in of codex has expired", fix: "codex logout && codex login", code: event.CodeNotSignedIn},
		{agent: "codex", cause: "version",
			message: "this version of codex does not know an option it was given", fix: "codex update", code: event.CodeUnsupported},

		{agent: "grok", cause: "not signed in", fixture: "edit", knobs: "signed_out=1",
			message: "grok is not signed in", fix: "grok login", code: event.CodeNotSignedIn},
		{agent: "grok", cause: "expired", fixture: "err-401",
			message: "the sign-in of grok has expired", fix: "grok login", code: event.CodeNotSignedIn},
		{agent: "grok", cause: "version",
			message: "this version of grok does not know an option it was given: error: unexpected argument '--prompt-file' found", fix: "grok update", code: event.CodeUnsupported},
	} {
		if !sampled(row.agent + " " + row.cause) {
			continue
		}
		t.Run(row.agent+" "+row.cause, func(t *testing.T) {
			d := driverOf(row.agent + "/")
			s := setup(t, d.fixtures+"edit", nil)
			if row.fixture == "" {
				s.Start(whyConfig(t, s, row.agent, row.cause, row.environ))
			} else {
				fixture := d.fixtures + row.fixture
				if row.says != "" {
					fixture = s.Variant(fixture, func(f *fakeagents.Fixture) { saying(f, row.says) })
				}
				s.Play(fixture, shim.Config{Timing: quick, Environ: strings.Fields(row.environ)}, row.knobs)
			}
			events := s.Design(ask("provider", d.provider))
			e := shimtest.One[event.Error](t, events)
			if e.Message != row.message || e.Fix != row.fix || e.Code != row.code {
				t.Errorf("told\n%s %q\n%q, want\n%s %q\n%q", e.Code, e.Message, e.Fix, row.code, row.message, row.fix)
			}
			fits(t, e.Message, e.Fix)
			s.Clean()
		})
	}
}

// saying puts other words into a codex turn that failed.
func saying(f *fakeagents.Fixture, words string) {
	const said = "unexpected status 401 Unauthorized: Incorrect API key provided"
	f.Stdout = []byte(strings.ReplaceAll(string(f.Stdout), said, words))
}
