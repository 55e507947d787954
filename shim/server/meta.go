package server

import (
	"net/http"
	"strconv"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/catalog"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
)

// defaultProvider is what a request without a provider means.
const defaultProvider = "anthropic"

// capabilities are what a client may offer its user beyond a run.
var capabilities = []string{"runs", "undo", "squash", "commit", "diff", "preview", "history", "pair"}

// metaReply is the answer of GET /meta.
type metaReply struct {
	Project         string             `json:"project"`
	RepoDir         string             `json:"repoDir"`
	Version         string             `json:"version"`
	Branch          string             `json:"branch"` // "" when detached or without a repository
	Dirty           bool               `json:"dirty"`
	Providers       []catalog.Provider `json:"providers"`
	DefaultProvider string             `json:"defaultProvider"`
	Models          any                `json:"models"`       // of the default provider, for older clients
	DefaultModel    string             `json:"defaultModel"` // the same
	GeminiModel     string             `json:"geminiModel"`
	GeminiEnv       bool               `json:"geminiEnv"` // the shim has a key: the client need not send one
	Git             metaGit            `json:"git"`
	Drift           metaDrift          `json:"drift"`
	Capabilities    []string           `json:"capabilities"`
}

type metaGit struct {
	State  string `json:"state"` // see gitrepo.State
	Hooks  string `json:"hooks"` // skipped, run, none
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

type metaDrift struct {
	Unknown int `json:"unknown"` // agent lines of a type the shim does not know
}

func (s *server) registerMetaRoutes() {
	s.get("/meta", s.meta)
}

// meta tells what this shim works on and what it offers. ?only= asks one
// provider, ?refresh=1 asks the agents anew.
func (s *server) meta(w http.ResponseWriter, r *http.Request) error {
	only := r.URL.Query().Get("only")
	refresh, err := boolParam(r, "refresh")
	if err != nil {
		return err
	}
	// git status of a large repository takes as long as asking an agent.
	state := make(chan gitrepo.State, 1)
	go func() { state <- s.o.Git(r.Context()) }()
	providers := s.o.Catalog.Providers(r.Context(), only, refresh)
	if only != "" && len(providers) == 0 {
		return badParam("only", only, "name one of the providers that /meta lists")
	}
	return s.reply(w, s.metaReply(<-state, providers))
}

func (s *server) metaReply(git gitrepo.State, providers []catalog.Provider) metaReply {
	reply := metaReply{
		Project: s.o.Project, RepoDir: s.o.RepoDir, Version: s.o.Version,
		Branch: git.Branch, Dirty: git.Dirty,
		Providers: providers, DefaultProvider: defaultProvider, Models: []struct{}{},
		GeminiModel: s.o.GeminiModel, GeminiEnv: s.o.GeminiEnv,
		Git:          metaGit{State: git.State, Hooks: s.hooks(git), Detail: git.Detail, Fix: git.Fix},
		Capabilities: capabilities,
	}
	if s.o.Unknown != nil {
		reply.Drift.Unknown = s.o.Unknown()
	}
	for _, p := range providers {
		if p.ID == defaultProvider && len(p.Models) > 0 {
			reply.Models, reply.DefaultModel = p.Models, p.DefaultModel
		}
	}
	return reply
}

// hooks tells what happens to the repository's commit hooks.
func (s *server) hooks(git gitrepo.State) string {
	switch {
	case !git.Hooks:
		return "none"
	case s.o.CommitVerify:
		return "run"
	}
	return "skipped"
}

// boolParam reads a query parameter that is 1, true, 0, false or absent.
func boolParam(r *http.Request, name string) (bool, error) {
	value := r.URL.Query().Get(name)
	if value == "" {
		return false, nil
	}
	b, err := strconv.ParseBool(value)
	if err != nil {
		return false, badParam(name, value, "pass 1 or 0")
	}
	return b, nil
}

// badParam is a query parameter, or header, that makes no sense.
func badParam(name, value, fix string) error {
	return errors.Mark(errors.WithHint(errors.Newf("%s: %.100q makes no sense there", name, value), fix), errQuery)
}
