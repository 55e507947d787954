package claude

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/errors"
	"github.com/slidewrite/slidewrite/shim/agent"
)

const (
	discoveryLimit = 20 * time.Second // however long the caller would wait
	killGrace      = time.Second      // for pipes that a killed child left open
	maxAnswer      = 32 << 20         // bytes of one command's output that are read
)

// Discover asks the CLI for its version, its sign-in state and its models,
// side by side. No model turn is consumed, no session is written and nothing
// of the repository is run: both versions start the project's hooks and MCP
// servers at initialize, so those settings are left out here.
func (c Claude) Discover(ctx context.Context, d agent.Discovery) agent.Info {
	ctx, cancel := context.WithTimeout(ctx, discoveryLimit)
	defer cancel()
	if _, err := exec.LookPath(d.Bin); errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return notFound(d)
	}
	var (
		wg      sync.WaitGroup
		version string
		auth    authStatus
		answer  initialized
		err     error
	)
	wg.Go(func() { version = askVersion(ctx, d) })
	wg.Go(func() { auth = askAuth(ctx, d) })
	wg.Go(func() { answer, err = c.initialize(ctx, d) })
	wg.Wait()
	return describe(d, version, auth, answer, err, time.Now())
}

// describe turns the answers into what clients are told: models, or why there
// are none and what cures it.
func describe(d agent.Discovery, version string, auth authStatus, answer initialized, err error, now time.Time) agent.Info {
	info := agent.Info{Version: parseVersion(version).String()}
	switch {
	case err != nil:
		info.Error, info.Fix = whyNoAnswer(d, err)
	case auth.LoggedIn != nil && !*auth.LoggedIn:
		info.Error, info.Fix = "claude is not signed in", signInFix(d.Scrubbed)
	case auth.expired(now):
		info.Error, info.Fix = "the sign-in of claude has expired", fixLogin
	case len(answer.Models) == 0:
		info.Error, info.Fix = "claude offers no models", fixUpdate
	default:
		info.Models, info.DefaultModel = models(answer.Models)
		info.Billing = billingOf(auth, answer, d.Env)
	}
	return info
}

func notFound(d agent.Discovery) agent.Info {
	searched := d.Bin
	if searched == "" {
		searched = "claude in PATH (" + lookup(d.Env, "PATH") + ")"
	}
	return agent.Info{
		Error: "claude was not found: looked for " + searched,
		Fix:   "install Claude Code (npm install -g @anthropic-ai/claude-code), or say where it is with --claude-bin",
	}
}

// errRefused marks a CLI that ended, or answered no, instead of initializing.
var errRefused = errors.New("claude refused")

// whyNoAnswer names the cause of a failed initialize.
func whyNoAnswer(d agent.Discovery, err error) (message, fix string) {
	said := err.Error()
	for _, death := range deaths {
		if strings.Contains(said, death.says) {
			if death.fix == "" {
				return death.message, signInFix(d.Scrubbed)
			}
			return death.message, death.fix
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "claude did not answer in time", "run claude once in a terminal and see what it asks"
	case errors.Is(err, context.Canceled):
		return "claude was not waited for", ""
	case errors.Is(err, errRefused):
		return said, "run claude once in a terminal and see what it says"
	}
	return "claude could not be started: " + said, "check the file given with --claude-bin"
}

// initialized is the part of the answer to initialize that is read.
type initialized struct {
	Models  []wireModel `json:"models"`
	Account struct {
		TokenSource  string `json:"tokenSource"`
		APIKeySource string `json:"apiKeySource"`
	} `json:"account"`
}

// wireModel is one entry of the models list; 197 has no levels for haiku.
type wireModel struct {
	Value       string   `json:"value"` // "default", "opus", "sonnet[1m]"
	DisplayName string   `json:"displayName"`
	Description string   `json:"description"`
	Levels      []string `json:"supportedEffortLevels"`
}

// initialize starts claude as a run would, asks it to initialize, and ends its
// input when it has answered. 332 answers in 0.25 s, 197 in 0.4 s.
func (c Claude) initialize(ctx context.Context, d agent.Discovery) (initialized, error) {
	inv := c.Command(agent.Spec{Bin: d.Bin, Repo: d.Repo, RunDir: d.TempDir, System: "(no turn follows)", MCP: "none"})
	ctx, done := context.WithCancel(ctx)
	defer done()
	cmd := command(ctx, d, inv.Args...)
	cmd.Env = append(cmd.Env, inv.Env...)
	var stderr bytes.Buffer
	cmd.Stderr = &limited{&stderr, 64 << 10}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return initialized{}, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return initialized{}, err
	}
	if err := cmd.Start(); err != nil {
		return initialized{}, err
	}
	// A descendant that escaped the group may hold the pipe open: do not wait for it.
	defer context.AfterFunc(ctx, func() { _ = stdout.Close() })()
	_, _ = stdin.Write(controlRequest(initializeID, "initialize")) // EPIPE: its stderr tells more
	answer, said, found := readInitialized(stdout)
	_ = stdin.Close()
	if found {
		// Let it end by itself, so that it tidies up; not for long.
		stop := time.AfterFunc(3*time.Second, done)
		defer stop.Stop()
		_, _ = io.Copy(io.Discard, stdout)
		_ = cmd.Wait()
		return answer, nil
	}
	waited := cmd.Wait()
	if err := ctx.Err(); err != nil {
		return initialized{}, err
	}
	for _, s := range []string{said, tail(stderr.String()), fmt.Sprint("it ended: ", waited)} {
		if s != "" {
			return initialized{}, errors.Mark(errors.Newf("claude refused to list its models: %s", s), errRefused)
		}
	}
	return initialized{}, errRefused
}

// readInitialized reads lines up to the answer to initialize. said is the
// error it may have answered instead.
func readInitialized(stdout io.Reader) (answer initialized, said string, found bool) {
	r := bufio.NewReaderSize(io.LimitReader(stdout, maxAnswer), 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		var m struct {
			Type     string `json:"type"`
			Response struct {
				Subtype   string      `json:"subtype"`
				RequestID string      `json:"request_id"`
				Error     string      `json:"error"`
				Response  initialized `json:"response"`
			} `json:"response"`
		}
		if decode(line, &m) && m.Type == "control_response" && m.Response.RequestID == initializeID {
			ok := m.Response.Subtype == "success"
			return m.Response.Response, m.Response.Error, ok
		}
		if err != nil {
			return initialized{}, "", false
		}
	}
}

// models lists what a request can name. "default" as an effort adds nothing to
// the command line, so it stands first and is the default.
func models(list []wireModel) (out []agent.Model, preset string) {
	for _, w := range list {
		if !modelPattern.MatchString(w.Value) {
			continue
		}
		m := agent.Model{ID: w.Value, Label: w.DisplayName, Description: w.Description}
		if m.Label == "" {
			m.Label = w.Value
		}
		for _, level := range w.Levels {
			if level != "default" && effortPattern.MatchString(level) {
				m.Efforts = append(m.Efforts, agent.Effort{ID: level, Label: strings.ToUpper(level[:1]) + level[1:]})
			}
		}
		if len(m.Efforts) > 0 {
			m.Efforts = slices.Insert(m.Efforts, 0, agent.Effort{ID: "default", Label: "Default"})
			m.DefaultEffort = "default"
		}
		if preset == "" || m.ID == "default" {
			preset = m.ID
		}
		out = append(out, m)
	}
	return out, preset
}

// authStatus is what `claude auth status --json` prints; exit 1 when signed
// out. It does not check a key.
type authStatus struct {
	LoggedIn     *bool  `json:"loggedIn"`   // nil: a CLI without the command, nothing is known
	AuthMethod   string `json:"authMethod"` // none, api_key, claude.ai …
	APIProvider  string `json:"apiProvider"`
	APIKeySource string `json:"apiKeySource"`   // a variable's name, or a helper
	Expires      any    `json:"loginExpiresAt"` // null in every capture
}

func (a authStatus) expired(now time.Time) bool {
	at, err := time.Parse(time.RFC3339, rfc3339(a.Expires))
	return err == nil && at.Before(now)
}

func askAuth(ctx context.Context, d agent.Discovery) authStatus {
	var a authStatus
	decode(output(ctx, d, "auth", "status", "--json"), &a)
	return a
}

func askVersion(ctx context.Context, d agent.Discovery) string {
	return string(output(ctx, d, "--version"))
}

// billingOf says who pays. Of a key no more than its last four characters are
// shown, and those only when it is long enough to keep the rest a secret.
func billingOf(a authStatus, answer initialized, env []string) string {
	source := a.APIKeySource
	if source == "" {
		source = answer.Account.APIKeySource
	}
	switch {
	case a.APIProvider != "" && a.APIProvider != "firstParty":
		return a.APIProvider
	case a.AuthMethod == "api_key" || a.AuthMethod == "" && source != "":
		if key := lookup(env, source); len(key) >= 16 && slices.Contains(signsIn, source) {
			return "api key …" + key[len(key)-4:]
		}
		return "api key"
	case a.LoggedIn != nil && *a.LoggedIn:
		return "plan"
	}
	return ""
}

// command prepares one call of the CLI, in a process group of its own that is
// killed as a whole when ctx ends.
func command(ctx context.Context, d agent.Discovery, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, d.Bin, args...)
	cmd.Dir = d.Repo
	cmd.Env = append(slices.Clone(d.Env), "CLAUDE_CODE_TMPDIR="+d.TempDir)
	cmd.WaitDelay = killGrace
	ownGroup(cmd)
	return cmd
}

// output is the stdout of one call of the CLI, whatever its exit code.
func output(ctx context.Context, d agent.Discovery, args ...string) []byte {
	var stdout bytes.Buffer
	cmd := command(ctx, d, args...)
	cmd.Stdout = &limited{&stdout, maxAnswer}
	if err := cmd.Run(); err != nil && ctx.Err() != nil {
		return nil // half an answer is none
	}
	return stdout.Bytes()
}

// limited passes the first n bytes on and swallows the rest.
type limited struct {
	w io.Writer
	n int
}

func (l *limited) Write(p []byte) (int, error) {
	keep := p[:min(len(p), l.n)]
	l.n -= len(keep)
	if _, err := l.w.Write(keep); err != nil {
		return 0, err
	}
	return len(p), nil
}
