package claude

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/process"
)

// discoveryLimit is how long Discover takes, however long the caller would
// wait.
const discoveryLimit = 20 * time.Second

// Discover asks the CLI for its sign-in state and its models, side by side. No model turn is consumed, no session is written and nothing
// of the repository is run: both versions start the project's hooks and MCP
// servers at initialize, so those settings are left out here.
func (c Claude) Discover(ctx context.Context, d agent.Discovery) agent.Info {
	ctx, cancel := context.WithTimeout(ctx, discoveryLimit)
	defer cancel()
	var (
		wg     sync.WaitGroup
		auth   authStatus
		answer initialized
		err    error
	)
	wg.Go(func() { auth = askAuth(ctx, d) })
	wg.Go(func() { answer, err = c.initialize(ctx, d) })
	wg.Wait()
	return describe(d, auth, answer, err, time.Now())
}

// describe turns the answers into what clients are told: models, or why there
// are none and what cures it.
func describe(d agent.Discovery, auth authStatus, answer initialized, err error, now time.Time) agent.Info {
	var info agent.Info
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
	case errors.Is(err, agent.ErrUnlike):
		return said, "pass the path of the claude program with --claude-bin"
	case errors.Is(err, process.ErrFlood):
		return said, "run claude once in a terminal and see what it prints"
	case errors.Is(err, context.Canceled):
		return "claude was not waited for", ""
	case errors.Is(err, errRefused):
		return said, "run claude once in a terminal and see what it says"
	}
	return "claude could not be started: " + said, startFix(err)
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

// initialize starts claude as a run would and asks it to initialize. Its
// input ends with the question: both versions answer it and then end by
// themselves. 332 answers in 0.25 s, 197 in 0.4 s.
func (c Claude) initialize(ctx context.Context, d agent.Discovery) (initialized, error) {
	inv := c.Command(agent.Spec{Bin: d.Bin, Repo: d.Repo, RunDir: d.TempDir, System: "(no turn follows)", MCP: "none"})
	d.Env = append(slices.Clone(d.Env), inv.Env...)
	stdout, exit, err := ask(ctx, d, "initialize", controlRequest(initializeID, "initialize"), inv.Args...)
	answer, said, found := readInitialized(stdout)
	switch {
	case found: // whatever became of it then
		return answer, nil
	case err != nil:
		return initialized{}, err
	}
	if exit.Code == 0 && exit.Signal == "" && said == "" && exit.Stderr == "" {
		return initialized{}, agent.Unlike(d.Bin, "claude", stdout)
	}
	ended := fmt.Sprintf("it ended: exit status %d", exit.Code)
	if exit.Signal != "" {
		ended = "it ended: " + exit.Signal
	}
	for _, s := range []string{said, agent.StderrTail(exit.Stderr), ended} {
		if s != "" {
			return initialized{}, errors.Mark(errors.Newf("claude refused to list its models: %s", s), errRefused)
		}
	}
	return initialized{}, errRefused
}

// readInitialized finds the answer to initialize among the lines. said is the
// error it may have answered instead.
func readInitialized(stdout []byte) (answer initialized, said string, found bool) {
	for line := range bytes.Lines(stdout) {
		var m struct {
			Type     string `json:"type"`
			Response struct {
				Subtype   string      `json:"subtype"`
				RequestID string      `json:"request_id"`
				Error     string      `json:"error"`
				Response  initialized `json:"response"`
			} `json:"response"`
		}
		if agent.Decode(line, &m) && m.Type == "control_response" && m.Response.RequestID == initializeID {
			ok := m.Response.Subtype == "success"
			return m.Response.Response, m.Response.Error, ok
		}
	}
	return initialized{}, "", false
}

// models lists what a request can name. "default" as an effort adds nothing to
// the command line, so it stands first and is the default.
func models(list []wireModel) (out []agent.Model, preset string) {
	for _, w := range list {
		if !agent.ModelPattern.MatchString(w.Value) {
			continue
		}
		m := agent.Model{ID: w.Value, Label: w.DisplayName, Description: w.Description}
		if m.Label == "" {
			m.Label = w.Value
		}
		for _, level := range w.Levels {
			if level != "default" && agent.EffortPattern.MatchString(level) {
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

// askAuth returns nothing known when the CLI did not answer in time.
func askAuth(ctx context.Context, d agent.Discovery) (a authStatus) {
	if stdout, _, err := ask(ctx, d, "auth", nil, "auth", "status", "--json"); err == nil {
		agent.Decode(stdout, &a)
	}
	return a
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
		if key := agent.Lookup(env, source); len(key) >= 16 && slices.Contains(signsIn, source) {
			return "api key …" + key[len(key)-4:]
		}
		return "api key"
	case a.LoggedIn != nil && *a.LoggedIn:
		return "plan"
	}
	return ""
}

// ask runs one command of the CLI. The commands run side by side and what one
// leaves behind is ended while the other goes on, so each has a marker of its
// own.
func ask(ctx context.Context, d agent.Discovery, name string, stdin []byte, args ...string) ([]byte, agent.Exit, error) {
	marker := agent.Lookup(d.Env, process.MarkerVar)
	if marker != "" {
		marker += "." + name
	}
	return process.Output(ctx, process.Options{
		Bin: d.Bin, Args: args, Env: append(slices.Clone(d.Env), "CLAUDE_CODE_TMPDIR="+d.TempDir), Dir: d.Repo, Marker: marker,
	}, stdin)
}

// startFix is what the failed start proposes itself.
func startFix(err error) string {
	if hints := errors.GetAllHints(err); len(hints) > 0 && !errors.Is(err, process.ErrNotFound) {
		return hints[0]
	}
	return "check the file given with --claude-bin"
}
