package grok

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/process"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// discoveryLimit is how long Discover takes, however long the caller would
// wait.
const discoveryLimit = 20 * time.Second

// Discover asks `grok models`, which says who is signed in and what there is.
// No model turn is consumed and no session is written. Labels and efforts are
// not in its answer: they come from the list that grok keeps beside its
// sessions. Its credential file is never opened.
func (g Grok) Discover(ctx context.Context, d agent.Discovery) agent.Info {
	ctx, cancel := context.WithTimeout(ctx, discoveryLimit)
	defer cancel()
	var (
		wg      sync.WaitGroup
		list    listing
		err     error
		plan    bool
		version string
	)
	wg.Go(func() { list, err = g.askModels(ctx, d, "models", d.Env) })
	wg.Go(func() { version = g.askVersion(ctx, d) })
	if keyOf(d.Env) != "" {
		// With a key in the environment, grok names the key, though it takes
		// the session of `grok login` where there is one.
		wg.Go(func() {
			without, err := g.askModels(ctx, d, "plan", withoutKey(d.Env))
			plan = err == nil && without.plan
		})
	}
	wg.Wait()
	list.plan = list.plan || plan
	return describe(d, list, err, func() map[string]cachedModel { return g.cached(d.Env, version, list, time.Now()) })
}

// describe turns the answers into what clients are told: models, or why there
// are none and what cures it. Signed out, grok lists what it was built with.
func describe(d agent.Discovery, list listing, err error, cached func() map[string]cachedModel) agent.Info {
	var info agent.Info
	switch {
	case err != nil:
		info.Error, info.Fix = whyNoAnswer(err)
	case list.signedOut && !list.plan:
		info.Error, info.Fix = "grok is not signed in", fixLogin
	case len(list.ids) == 0:
		info.Error, info.Fix = "grok offers no models", fixUpdate
	default:
		info.Models, info.DefaultModel = models(list, cached())
		info.Billing = list.billing(d.Env)
	}
	return info
}

// errRefused marks a CLI that ended, or answered something else, instead of
// listing its models.
var errRefused = errors.New("grok refused")

// whyNoAnswer names the cause of a failed list.
func whyNoAnswer(err error) (message, fix string) {
	said := err.Error()
	switch death := find(deaths, said); {
	case errors.Is(err, context.DeadlineExceeded):
		return "grok did not answer in time", "run grok once in a terminal and see what it asks"
	case errors.Is(err, agent.ErrUnlike):
		return said, "pass the path of the grok program with --grok-bin"
	case errors.Is(err, process.ErrFlood):
		return said, "run grok once in a terminal and see what it prints"
	case errors.Is(err, context.Canceled):
		return "grok was not waited for", ""
	case !errors.Is(err, errRefused):
		return "grok could not be started: " + said, startFix(err)
	case death != nil:
		return death.message, death.fix
	}
	if c := find(causes, said); c != nil && c.message != "" {
		return c.message, c.fix
	}
	return said, "run grok once in a terminal and see what it says"
}

// listing is what `grok models` prints (xai-grok-pager's models command): a
// sentence on how it is signed in, the default, the list.
type listing struct {
	signedOut bool
	plan      bool // logged in with grok.com or another host
	key       bool // a key of a model, a deployment, or XAI_API_KEY
	preset    string
	ids       []string
}

func (l listing) billing(env []string) string {
	switch key := keyOf(env); {
	case l.plan:
		return "plan"
	case l.key && len(key) >= 16: // enough to keep the rest a secret
		return "api key …" + key[len(key)-4:]
	case l.key:
		return "api key"
	}
	return ""
}

var (
	signedOutLine = lazyregexp.New(`(?im)^you are not (authenticated|logged in|signed in)`)
	planLine      = lazyregexp.New(`(?im)^you are (logged|signed) in with `)
	keyLine       = lazyregexp.New(`(?im)^(you are using XAI_API_KEY|you are authenticated via deployment key|model '.*' is using its own API key)`)
	presetLine    = lazyregexp.New(`(?im)^default model: *(\S+)`)
	modelLine     = lazyregexp.New(`^\s*([*-])\s+(\S+)`)
)

func readListing(stdout string) listing {
	l := listing{
		signedOut: signedOutLine.MatchString(stdout),
		plan:      planLine.MatchString(stdout),
		key:       keyLine.MatchString(stdout),
	}
	if preset := presetLine.FindStringSubmatch(stdout); preset != nil {
		l.preset = preset[1]
	}
	_, list, _ := strings.Cut(stdout, "Available models:")
	for line := range strings.Lines(list) {
		found := modelLine.FindStringSubmatch(line)
		if found == nil || !agent.ModelPattern.MatchString(found[2]) || slices.Contains(l.ids, found[2]) {
			continue
		}
		l.ids = append(l.ids, found[2])
		if found[1] == "*" && l.preset == "" {
			l.preset = found[2]
		}
	}
	return l
}

func (g Grok) askModels(ctx context.Context, d agent.Discovery, name string, env []string) (listing, error) {
	stdout, exit, err := g.ask(ctx, d, name, env, "models")
	if err != nil {
		return listing{}, err
	}
	l := readListing(string(stdout))
	if exit.Code == 0 && exit.Signal == "" && (l.signedOut || len(l.ids) > 0 || strings.Contains(string(stdout), "Available models:")) {
		return l, nil
	}
	said := agent.StderrTail(exit.Stderr)
	if said == "" && exit.Code == 0 && exit.Signal == "" {
		return listing{}, agent.Unlike(d.Bin, "grok", stdout)
	}
	if said == "" {
		said = agent.OneLine(string(stdout))
	}
	if said == "" {
		said = "it ended without a word"
	}
	return listing{}, errors.Mark(errors.Newf("grok refused to list its models: %s", said), errRefused)
}

// versionNumber finds the number in "grok 1.0.6 (abc1234) [stable]".
var versionNumber = lazyregexp.New(`\b\d+\.\d+\.\d+\S*`)

func (g Grok) askVersion(ctx context.Context, d agent.Discovery) string {
	stdout, _, err := g.ask(ctx, d, "version", d.Env, "--version")
	if err != nil {
		return ""
	}
	return versionNumber.FindString(string(stdout))
}

// models lists what a request can name. "default" as an effort adds nothing to
// the command line; a model's own default has its name.
func models(list listing, cached map[string]cachedModel) (out []agent.Model, preset string) {
	for _, id := range list.ids {
		w := cached[id].Info
		m := agent.Model{ID: id, Label: orElse(w.Name, id), Description: w.Description}
		hint := ""
		for _, e := range w.Efforts {
			level := orElse(e.Value, e.ID)
			if level == "default" || !agent.EffortPattern.MatchString(level) {
				continue
			}
			label := orElse(e.Label, strings.ToUpper(level[:1])+level[1:])
			m.Efforts = append(m.Efforts, agent.Effort{ID: level, Label: label, Description: e.Description})
			if e.Default {
				hint = label
			}
		}
		if len(m.Efforts) > 0 {
			m.Efforts = slices.Insert(m.Efforts, 0, agent.Effort{ID: "default", Label: "Default", Description: hint})
			m.DefaultEffort = "default"
		}
		out = append(out, m)
	}
	if preset = list.preset; !slices.Contains(list.ids, preset) {
		preset = list.ids[0]
	}
	return out, preset
}

// cachedModel is an entry of models_cache.json
// (xai-grok-shell/src/agent/models/cache.rs).
type cachedModel struct {
	Info struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Efforts     []struct {
			ID          string `json:"id"`
			Value       string `json:"value"`
			Label       string `json:"label"`
			Description string `json:"description"`
			Default     bool   `json:"default"`
		} `json:"reasoning_efforts"`
	} `json:"info"`
}

// cacheAge is how long grok itself takes its list for true.
const cacheAge = 300 * time.Second

// cached reads grok's list of models, which `grok models` has just refreshed.
// It counts as grok would count it: written lately, by this version, for this
// kind of sign-in. (Grok also compares the server's address, which is not known
// here.) nil is no harm: then a model has its id for a name, and no efforts.
func (g Grok) cached(env []string, version string, list listing, now time.Time) map[string]cachedModel {
	home := g.homeDir(env)
	if home == "" {
		return nil
	}
	b, err := readFile(filepath.Join(home, "models_cache.json"))
	if err != nil {
		return nil
	}
	var cache struct {
		FetchedAt time.Time              `json:"fetched_at"`
		Version   string                 `json:"grok_version"`
		Auth      string                 `json:"auth_method"` // session, api_key, deployment
		Models    map[string]cachedModel `json:"models"`
	}
	if json.Unmarshal(b, &cache) != nil {
		return nil
	}
	age := now.Sub(cache.FetchedAt)
	fresh := age < cacheAge && age > -cacheAge
	sameVersion := version == "" || cache.Version == version
	sameSignIn := list.plan == (cache.Auth == "session")
	if !fresh || !sameVersion || !sameSignIn {
		return nil
	}
	return cache.Models
}

func keyOf(env []string) string {
	for _, name := range keyVariables {
		if key := agent.Lookup(env, name); key != "" {
			return key
		}
	}
	return ""
}

func withoutKey(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return slices.Contains(keyVariables, agent.VariableName(kv))
	})
}

// ask runs one command of the CLI. The commands run side by side and what one
// leaves behind is ended while the others go on, so each has a marker of its
// own.
func (g Grok) ask(ctx context.Context, d agent.Discovery, name string, env []string, args ...string) ([]byte, agent.Exit, error) {
	marker := agent.Lookup(d.Env, process.MarkerVar)
	if marker != "" {
		marker += "." + name
	}
	return process.Output(ctx, process.Options{
		Bin: d.Bin, Args: args, Env: append(slices.Clone(env), g.homeEnv()...), Dir: d.Repo, Marker: marker,
	}, nil)
}

// startFix is what the failed start proposes itself.
func startFix(err error) string {
	if hints := errors.GetAllHints(err); len(hints) > 0 && !errors.Is(err, process.ErrNotFound) {
		return hints[0]
	}
	return "check the file given with --grok-bin"
}
