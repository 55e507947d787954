package claude

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// The test binary plays the CLI when fakeMode is set.
const fakeMode = "TEST_FAKE_CLAUDE"

func TestMain(m *testing.M) {
	if mode := os.Getenv(fakeMode); mode != "" {
		os.Exit(playCLI(mode, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// playCLI answers as the CLI does; mode says what is wrong with it.
func playCLI(mode string, args []string) int {
	if slices.Equal(args, []string{"auth", "status", "--json"}) {
		return playAuth(mode)
	}
	if i := slices.Index(args, "--setting-sources"); i < 0 || args[i+1] != "" || !slices.Contains(args, "--strict-mcp-config") {
		fmt.Fprintln(os.Stderr, "hooks and MCP servers of the project would run")
		return 2
	}
	return playInitialize(mode)
}

func playAuth(mode string) int {
	switch mode {
	case "signed-out":
		fmt.Println(`{"loggedIn":false,"authMethod":"none","apiProvider":"firstParty"}`)
		return 1
	case "plan":
		fmt.Println(`{"loggedIn":true,"authMethod":"claude.ai","apiProvider":"firstParty","loginExpiresAt":null}`)
	case "expired":
		fmt.Println(`{"loggedIn":true,"authMethod":"claude.ai","apiProvider":"firstParty","loginExpiresAt":"2001-02-03T04:05:06Z"}`)
	case "bedrock":
		fmt.Println(`{"loggedIn":true,"authMethod":"third_party","apiProvider":"bedrock"}`)
	case "no-auth-command":
		fmt.Fprintln(os.Stderr, "error: unknown command 'auth'")
		return 1
	default:
		fmt.Println(`{"loggedIn":true,"authMethod":"api_key","apiProvider":"firstParty","apiKeySource":"ANTHROPIC_API_KEY"}`)
	}
	return 0
}

func playInitialize(mode string) int {
	stdin := bufio.NewReader(os.Stdin)
	line, _ := stdin.ReadString('\n')
	if !strings.Contains(line, `"subtype":"initialize"`) {
		fmt.Fprintln(os.Stderr, "expected initialize, got", line)
		return 2
	}
	answer := func(response string) {
		fmt.Printf(`{"type":"control_response","response":{"request_id":%q,%s}}`+"\n", initializeID, response)
	}
	switch mode {
	case "hang":
		return playHang()
	case "root":
		fmt.Fprintln(os.Stderr, "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons")
		return 1
	case "old":
		fmt.Fprintln(os.Stderr, "error: unknown option '--include-partial-messages'")
		return 1
	case "refused":
		fmt.Fprintln(os.Stderr, "this machine is not allowed to use claude")
		return 1
	case "silent":
		return 3
	case "error-answer":
		answer(`"subtype":"error","error":"Unsupported control request subtype: initialize"`)
	case "empty":
		answer(`"subtype":"success","response":{"models":[]}`)
	default:
		fmt.Println("a banner")
		fmt.Println(`{"type":"system","subtype":"hook_started"}`)
		answer(`"subtype":"success","response":` + os.Getenv("TEST_FAKE_RESPONSE"))
	}
	_, _ = io.Copy(io.Discard, stdin) // a real one ends when its input does
	if err := os.WriteFile(filepath.Join(os.Getenv("CLAUDE_CODE_TMPDIR"), "ended"), nil, 0o600); err != nil {
		return 1
	}
	return 0
}

// playHang never answers, and has a child of its own that holds the pipes.
func playHang() int {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), fakeMode+"=hang-child")
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	child.Args = []string{os.Args[0], "--setting-sources", "", "--strict-mcp-config"}
	in, err := child.StdinPipe()
	if err != nil {
		return 1
	}
	if err := child.Start(); err != nil {
		return 1
	}
	pids := fmt.Sprintf("%d %d", os.Getpid(), child.Process.Pid)
	if err := os.WriteFile(filepath.Join(os.Getenv("CLAUDE_CODE_TMPDIR"), "pids"), []byte(pids), 0o600); err != nil {
		return 1
	}
	_ = child.Wait() // it waits for a line that never comes
	_ = in.Close()
	return 0
}

// response is a real answer to initialize, from the fixture of that version.
func response(t *testing.T, version string) string {
	t.Helper()
	for _, f := range loadFixtures(t, "captured") {
		if f.Version() != version || f.Case() != "c-init" {
			continue
		}
		for _, line := range f.Lines() {
			if _, rest, ok := bytes.Cut(line, []byte(`"response":{"commands"`)); ok {
				return `{"commands"` + strings.TrimSuffix(string(rest), "}}")
			}
		}
	}
	t.Fatalf("no answer to initialize of %s", version)
	return ""
}

func discovery(t *testing.T, mode string, env ...string) agent.Discovery {
	t.Helper()
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := agent.Discovery{Bin: bin, Repo: t.TempDir(), TempDir: t.TempDir()}
	d.Env = append(os.Environ(), fakeMode+"="+mode, "HOME="+t.TempDir())
	d.Env = append(d.Env, env...)
	return d
}

func TestDiscover(t *testing.T) {
	r332, r197 := "TEST_FAKE_RESPONSE="+response(t, "2.1.332"), "TEST_FAKE_RESPONSE="+response(t, "2.1.197")
	const key = "ANTHROPIC_API_KEY=sk-ant-loopback-dummy-abcd"
	tests := []struct {
		mode     string
		env      []string
		scrubbed []string
		billing  string
		err, fix string
	}{
		{"api-key", []string{r332, key}, nil, "api key …abcd", "", ""},
		{"api-key", []string{r197, key}, nil, "api key …abcd", "", ""},
		{"api-key", []string{r332, "ANTHROPIC_API_KEY=short"}, nil, "api key", "", ""},
		{"plan", []string{r332}, []string{"ANTHROPIC_API_KEY"}, "plan", "", ""},
		{"bedrock", []string{r332}, nil, "bedrock", "", ""},
		{"no-auth-command", []string{r332, key}, nil, "api key …abcd", "", ""},
		{"signed-out", []string{r332}, nil, "", "claude is not signed in", "claude auth login"},
		{"signed-out", []string{r332}, []string{"ANTHROPIC_API_KEY"}, "", "claude is not signed in", "start slidewrite with --keep-env"},
		{"expired", []string{r332}, nil, "", "the sign-in of claude has expired", "claude auth login"},
		{"empty", nil, nil, "", "claude offers no models", "claude update"},
		{"root", nil, nil, "", "claude does not run with full permissions as root", fixRoot},
		{"old", nil, nil, "", "this version of claude does not know an option it was given", "claude update"},
		{"refused", nil, nil, "", "claude refused to list its models: this machine is not allowed to use claude", "run claude once in a terminal and see what it says"},
		{"silent", nil, nil, "", "claude refused to list its models: it ended: exit status 3", "run claude once in a terminal and see what it says"},
		{"error-answer", nil, nil, "", "claude refused to list its models: Unsupported control request subtype: initialize", "run claude once in a terminal and see what it says"},
	}
	for i, tt := range tests {
		t.Run(strconv.Itoa(i)+" "+tt.mode, func(t *testing.T) {
			d := discovery(t, tt.mode, tt.env...)
			d.Scrubbed = tt.scrubbed
			info := New().Discover(t.Context(), d)
			if info.Billing != tt.billing || info.Error != tt.err || info.Fix != tt.fix {
				t.Errorf("got %+v", info)
			}
			if healthy := tt.err == ""; healthy != (len(info.Models) > 0) || healthy != (info.DefaultModel == "default") {
				t.Errorf("%d models, default %q, error %q", len(info.Models), info.DefaultModel, info.Error)
			}
			if tt.err == "" {
				if _, err := os.Stat(filepath.Join(d.TempDir, "ended")); err != nil {
					t.Error("the CLI was not let go to end by itself")
				}
			}
		})
	}
}

func TestModels(t *testing.T) {
	efforts := func(ids ...string) (out []agent.Effort) {
		for _, id := range ids {
			out = append(out, agent.Effort{ID: id, Label: strings.ToUpper(id[:1]) + id[1:]})
		}
		return out
	}
	got, preset := models([]wireModel{
		{Value: "opus[1m]", DisplayName: "Opus", Description: "big", Levels: []string{"low", "xhigh", "default", "-x", ""}},
		{Value: "-flag", DisplayName: "no"},
		{Value: "default"},
	})
	want := []agent.Model{
		{ID: "opus[1m]", Label: "Opus", Description: "big", Efforts: efforts("default", "low", "xhigh"), DefaultEffort: "default"},
		{ID: "default", Label: "default"},
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) || preset != "default" {
		t.Errorf("got  %+v, %s\nwant %+v", got, preset, want)
	}
}

func TestDiscoverNotFound(t *testing.T) {
	info := New().Discover(t.Context(), agent.Discovery{Bin: "/nowhere/claude", Repo: t.TempDir(), TempDir: t.TempDir()})
	if info.Error != "claude could not be started: /nowhere/claude does not exist" || !strings.Contains(info.Fix, "--claude-bin") {
		t.Errorf("got %+v", info)
	}
}

func TestDiscoverNotExecutable(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(bin, []byte("not a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	info := New().Discover(t.Context(), agent.Discovery{Bin: bin, Repo: t.TempDir(), TempDir: t.TempDir()})
	if !strings.HasPrefix(info.Error, "claude could not be started: ") || info.Fix != "chmod +x "+bin {
		t.Errorf("got %+v", info)
	}
}

// TestDiscoverTimeout: a CLI that hangs costs no more than the limit and is
// ended with its children.
func TestDiscoverTimeout(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("process groups are a unix thing")
	}
	d := discovery(t, "hang")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan agent.Info)
	go func() { done <- New().Discover(ctx, d) }()
	pids := strings.Fields(await(t, filepath.Join(d.TempDir, "pids")))
	cancel()
	select {
	case info := <-done:
		if info.Error != "claude was not waited for" || len(info.Models) != 0 {
			t.Errorf("got %+v", info)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Discover did not return")
	}
	for _, pid := range pids {
		awaitGone(t, pid)
	}
	if message, fix := whyNoAnswer(d, context.DeadlineExceeded); message != "claude did not answer in time" || fix == "" {
		t.Errorf("a deadline says %q, %q", message, fix)
	}
}

// await returns the content of a file once it is there and not empty.
func await(t *testing.T, path string) string {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		if b, err := os.ReadFile(path); err == nil && len(b) > 0 {
			return string(b)
		}
	}
	t.Fatalf("%s did not appear", path)
	return ""
}

// awaitGone waits until the process is dead; a zombie whose parent has not
// reaped it yet is.
func awaitGone(t *testing.T, pid string) {
	t.Helper()
	var out []byte
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		out, _ = exec.Command("ps", "-o", "stat=", "-p", pid).Output()
		if s := strings.TrimSpace(string(out)); s == "" || strings.HasPrefix(s, "Z") {
			return
		}
	}
	t.Errorf("process %s is still there: %s", pid, out)
}
