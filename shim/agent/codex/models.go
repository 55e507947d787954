package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/process"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// How long Discover takes at most, however long the caller would wait, and the
// questions that it can do without. Signed in without a network, codex needs
// 7 s to give its own list up for the one it was built with.
const (
	discoveryLimit = 20 * time.Second
	configLimit    = 10 * time.Second
)

// Discover asks the CLI for its sign-in state, its models and its
// configuration, side by side. No model turn is consumed and no session is
// written. Its credential file is never opened.
func (c Codex) Discover(ctx context.Context, d agent.Discovery) agent.Info {
	ctx, cancel := context.WithTimeout(ctx, discoveryLimit)
	defer cancel()
	var (
		wg     sync.WaitGroup
		in     signIn
		config configured
		list   []wireModel
		err    error
	)
	wg.Go(func() { in = c.askSignIn(ctx, d) })
	wg.Go(func() { config = c.askConfig(ctx, d) })
	wg.Go(func() { list, err = c.askModels(ctx, d) })
	wg.Wait()
	return describe(d, in, config, list, err)
}

// describe turns the answers into what clients are told: models, or why there
// are none and what cures it. The list is the same signed in and out.
func describe(d agent.Discovery, in signIn, config configured, list []wireModel, err error) agent.Info {
	var info agent.Info
	key := agent.Lookup(d.Env, keyVariable)
	switch {
	case in.out && key == "" && !config.needsNoSignIn:
		info.Error, info.Fix = "codex is not signed in", signInFix(d.Scrubbed)
	case err != nil:
		info.Error, info.Fix = whyNoAnswer(err)
	default:
		info.Models, info.DefaultModel = models(list, config.model)
		if key != "" {
			info.Billing = keyBilling(key)
		} else {
			info.Billing = in.billing
		}
	}
	if info.Error == "" && len(info.Models) == 0 {
		info.Error, info.Fix, info.Billing = "codex offers no models", fixUpdate, ""
	}
	return info
}

// errRefused marks a CLI that ended, or answered no, instead of listing its
// models.
var errRefused = errors.New("codex refused")

// whyNoAnswer names the cause of a failed model list.
func whyNoAnswer(err error) (message, fix string) {
	said := err.Error()
	switch death := find(deaths, said); {
	case errors.Is(err, context.DeadlineExceeded):
		return "codex did not answer in time", "run codex once in a terminal and see what it asks"
	case errors.Is(err, agent.ErrUnlike):
		return said, "pass the path of the codex program with --codex-bin"
	case errors.Is(err, process.ErrFlood):
		return said, "run codex once in a terminal and see what it prints"
	case errors.Is(err, context.Canceled):
		return "codex was not waited for", ""
	case death != nil:
		return death.message, death.fix
	case errors.Is(err, errRefused):
		return said, "run codex once in a terminal and see what it says"
	}
	return "codex could not be started: " + said, startFix(err)
}

// signIn is what `codex login status` says on stderr (older versions on
// stdout): "Not logged in" with exit 1, or how. It does not check anything.
type signIn struct {
	out     bool // it says that nobody is; false too when it did not answer
	billing string
}

func (c Codex) askSignIn(ctx context.Context, d agent.Discovery) signIn {
	stdout, exit, err := c.ask(ctx, d, "auth", nil, nil, "login", "status")
	if err != nil {
		return signIn{}
	}
	return readSignIn(string(stdout)+"\n"+exit.Stderr, exit.Code)
}

func readSignIn(said string, code int) signIn {
	if code != 0 {
		// Anything else is a broken configuration; the model list says so too.
		return signIn{out: notLoggedIn.MatchString(said)}
	}
	var in signIn
	switch {
	case strings.Contains(said, "Bedrock"):
		in.billing = "Amazon Bedrock"
	case keyLine.MatchString(said):
		in.billing = "api key"
		if tail := maskedKey.FindStringSubmatch(said); tail != nil {
			in.billing += " …" + tail[1]
		}
	case planLine.MatchString(said):
		in.billing = "plan"
	}
	return in
}

var (
	notLoggedIn = lazyregexp.New(`(?i)not logged in`)
	// "API key configured - sk-proj-***12345", "Logged in using an API key - …"
	keyLine   = lazyregexp.New(`(?i)\bAPI key\b`)
	maskedKey = lazyregexp.New(`\*+[A-Za-z0-9_-]*([A-Za-z0-9_-]{4})\s`)
	// "Logged in using ChatGPT", "… access token", "… workload identity"
	planLine = lazyregexp.New(`Logged in using (ChatGPT|(a )?(personal )?access token|workload identity)`)
)

// keyBilling shows of a key no more than its last four characters, and those
// only when it is long enough to keep the rest a secret.
func keyBilling(key string) string {
	if len(key) < 16 {
		return "api key"
	}
	return "api key …" + key[len(key)-4:]
}

// wireModel is one model, as `codex debug models` prints it and, by its second
// names, as the app-server does.
type wireModel struct {
	Slug        string  `json:"slug"`
	DisplayName string  `json:"display_name"`
	Description string  `json:"description"`
	Visibility  string  `json:"visibility"` // "list" or "hide"
	Priority    float64 `json:"priority"`   // the lowest is the default
	Levels      []struct {
		Effort      string `json:"effort"`
		Description string `json:"description"`
	} `json:"supported_reasoning_levels"`
	DefaultLevel string `json:"default_reasoning_level"`
}

// askModels asks for the list by the fast way, and by the slow one where a
// version does not know that or it fails.
func (c Codex) askModels(ctx context.Context, d agent.Discovery) ([]wireModel, error) {
	stdout, exit, err := c.ask(ctx, d, "models", nil, nil, "debug", "models")
	if err != nil {
		return nil, err
	}
	var answer struct {
		Models []wireModel `json:"models"`
	}
	if agent.Decode(stdout, &answer) && len(answer.Models) > 0 {
		return answer.Models, nil
	}
	if list := c.askServerModels(ctx, d); len(list) > 0 {
		return list, nil
	}
	if ctx.Err() != nil {
		return nil, errors.Wrap(ctx.Err(), "codex did not finish")
	}
	switch {
	case exit.Code != 0 || exit.Signal != "":
	case agent.Decode(stdout, &answer):
		return nil, nil // it answered, with nothing
	default:
		return nil, agent.Unlike(d.Bin, "codex", stdout)
	}
	said := agent.StderrTail(exit.Stderr)
	if said == "" {
		said = "it ended without a word"
	}
	return nil, errors.Mark(errors.Newf("codex refused to list its models: %s", said), errRefused)
}

// models lists what a request can name, the configured model among it even
// when it is a provider's own. "default" as an effort adds nothing to the
// command line; a model's own default level has its name.
func models(list []wireModel, configuredModel string) (out []agent.Model, preset string) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b wireModel) int {
		switch {
		case a.Priority < b.Priority:
			return -1
		case a.Priority > b.Priority:
			return 1
		}
		return 0
	})
	for _, w := range list {
		if (w.Visibility != "list" && w.Slug != configuredModel) || !agent.ModelPattern.MatchString(w.Slug) {
			continue
		}
		m := agent.Model{ID: w.Slug, Label: w.DisplayName, Description: w.Description}
		if m.Label == "" {
			m.Label = w.Slug
		}
		for _, level := range w.Levels {
			if level.Effort != "default" && agent.EffortPattern.MatchString(level.Effort) {
				m.Efforts = append(m.Efforts, agent.Effort{ID: level.Effort, Label: title(level.Effort), Description: level.Description})
			}
		}
		if len(m.Efforts) > 0 {
			m.Efforts = slices.Insert(m.Efforts, 0, agent.Effort{ID: "default", Label: "Default", Description: defaultHint(w.DefaultLevel)})
			m.DefaultEffort = "default"
		}
		out = append(out, m)
	}
	known := slices.ContainsFunc(out, func(m agent.Model) bool { return m.ID == configuredModel })
	switch {
	case known:
		preset = configuredModel
	case agent.ModelPattern.MatchString(configuredModel):
		preset = configuredModel
		out = slices.Insert(out, 0, agent.Model{ID: configuredModel, Label: configuredModel, Description: "from codex's configuration"})
	case len(out) > 0:
		preset = out[0].ID
	}
	return out, preset
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// defaultHint names the level that "default" stands for unless codex is
// configured otherwise.
func defaultHint(level string) string {
	if level == "" {
		return ""
	}
	return "as codex is configured, else " + level
}

// ask runs one command of the CLI. The commands run side by side and what one
// leaves behind is ended while the others go on, so each has a marker of its
// own.
func (c Codex) ask(ctx context.Context, d agent.Discovery, name string, stdin []byte, enough func([]byte) bool, args ...string) ([]byte, agent.Exit, error) {
	marker := agent.Lookup(d.Env, process.MarkerVar)
	if marker != "" {
		marker += "." + name
	}
	env := append(slices.Clone(d.Env), c.homeEnv()...)
	return process.Ask(ctx, process.Options{Bin: d.Bin, Args: args, Env: env, Dir: d.Repo, Marker: marker}, stdin, enough)
}

// askServer puts questions to `codex app-server`, JSON-RPC on stdio, and
// returns the results in their order; nil for what was not answered. The
// server drops what it has not answered at the end of its input.
func (c Codex) askServer(ctx context.Context, d agent.Discovery, name string, methods ...string) []json.RawMessage {
	type request struct {
		ID     int            `json:"id,omitempty"`
		Method string         `json:"method"`
		Params map[string]any `json:"params"`
	}
	client := map[string]any{"clientInfo": map[string]string{"name": "slidewrite", "version": "0"}}
	requests := []request{{1, "initialize", client}, {0, "initialized", map[string]any{}}}
	for i, method := range methods {
		requests = append(requests, request{i + 2, method, map[string]any{}})
	}
	var stdin bytes.Buffer
	for _, r := range requests {
		_ = json.NewEncoder(&stdin).Encode(r) // strings and numbers always encode
	}
	results := make([]json.RawMessage, len(methods))
	left := len(methods)
	enough := func(line []byte) bool {
		var answer struct {
			ID     float64         `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if !agent.Decode(line, &answer) || answer.Result == nil && answer.Error == nil {
			return false
		}
		if answer.ID == 1 && answer.Error != nil {
			return true // not initialized: nothing will be answered
		}
		if i := int(answer.ID) - 2; i >= 0 && i < len(results) {
			results[i] = bytes.Clone(answer.Result)
			left--
		}
		return left == 0
	}
	_, _, _ = c.ask(ctx, d, name, stdin.Bytes(), enough, "app-server") // what was answered counts
	return results
}

// askServerModels is the list of a version without `debug models`.
func (c Codex) askServerModels(ctx context.Context, d agent.Discovery) []wireModel {
	return readServerModels(c.askServer(ctx, d, "list", "model/list")[0])
}

func readServerModels(result json.RawMessage) []wireModel {
	var answer struct {
		Data []struct {
			Model       string `json:"model"`
			DisplayName string `json:"displayName"`
			Description string `json:"description"`
			Hidden      bool   `json:"hidden"`
			IsDefault   bool   `json:"isDefault"`
			Efforts     []struct {
				Effort      string `json:"reasoningEffort"`
				Description string `json:"description"`
			} `json:"supportedReasoningEfforts"`
			DefaultEffort string `json:"defaultReasoningEffort"`
		} `json:"data"`
	}
	agent.Decode(result, &answer)
	var list []wireModel
	for i, a := range answer.Data {
		w := wireModel{Slug: a.Model, DisplayName: a.DisplayName, Description: a.Description, Visibility: "list", DefaultLevel: a.DefaultEffort}
		if a.Hidden {
			w.Visibility = "hide"
		}
		if w.Priority = float64(i + 1); a.IsDefault {
			w.Priority = 0
		}
		for _, e := range a.Efforts {
			w.Levels = append(w.Levels, struct {
				Effort      string `json:"effort"`
				Description string `json:"description"`
			}(e))
		}
		list = append(list, w)
	}
	return list
}

// configured is what codex's own configuration decides.
type configured struct {
	model         string // without a choice of ours, "" for codex's default
	needsNoSignIn bool   // its model provider has a key of its own
}

// askConfig may fail: then the default is codex's own, and a sign-in is
// needed.
func (c Codex) askConfig(ctx context.Context, d agent.Discovery) configured {
	ctx, cancel := context.WithTimeout(ctx, configLimit)
	defer cancel()
	results := c.askServer(ctx, d, "config", "config/read", "account/read")
	var config struct {
		Config struct {
			Model string `json:"model"`
		} `json:"config"`
	}
	var account struct {
		Requires *bool `json:"requiresOpenaiAuth"`
	}
	agent.Decode(results[0], &config)
	agent.Decode(results[1], &account)
	return configured{model: config.Config.Model, needsNoSignIn: account.Requires != nil && !*account.Requires}
}

// startFix is what the failed start proposes itself.
func startFix(err error) string {
	if hints := errors.GetAllHints(err); len(hints) > 0 && !errors.Is(err, process.ErrNotFound) {
		return hints[0]
	}
	return "check the file given with --codex-bin"
}
