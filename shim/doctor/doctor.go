// Package doctor looks at what slidewrite stands on: git, the repository, its
// own folders, the port, each agent CLI, the browser. Every check is one row
// of a table and answers with one line, and with the one command that cures
// what it found. It changes nothing but that the state directory and the
// repository's token are made where they are missing, as a start does.
//
//	doctor.go   the table, and how it is run
//	place.go    git, repository, folders, port, runs that were cut short
//	agents.go   the agent CLIs, judged together
//	browser.go  where a browser is, and the extension
//
// Flow: Checks → Run (side by side) → one Result each, in the table's order.
package doctor

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/catalog"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/state"
)

// Status is how a check came out.
type Status string

// The four of them. Only a Problem keeps serve from working, and a Note is
// nothing to see to.
const (
	OK      Status = "ok"
	Note    Status = "note"
	Warning Status = "warning"
	Problem Status = "problem"
)

// Result is what one check found.
type Result struct {
	Name   string `json:"name"` // of the check
	Status Status `json:"status"`
	Detail string `json:"detail"` // one line, whole: who prints it may cut it
	Fix    string `json:"fix"`    // what cures it, "" when nothing has to be done or can be
}

// Check is one row of the table.
type Check struct {
	Name string
	Run  func(ctx context.Context) Result // need not fill in the name
}

// Options say what to look at. All but StateDir and Token are needed.
type Options struct {
	Repo     string   // a folder that exists: the repository or one in it
	Environ  []string // KEY=VALUE, as serve would see it
	StateDir string   // "" = the user's
	Token    string   // the token that was given, "" = the repository's own

	Port int // 0 = any
	// Listen tries to listen as serve would. running tells of the shims of this
	// very repository, one of which may have the port; err carries its fix.
	Listen func() (running string, err error)

	Agents   []agent.Agent
	Catalog  *catalog.Catalog
	LookPath func(name string) (string, error) // finds an agent's binary
	// Recorded are the versions of each CLI, by its name, whose transcripts the
	// tests play; a CLI that has none was never run by us.
	Recorded map[string][]string

	// Extension looks at the browser extension where it was written to. err
	// carries its fix.
	Extension func() (Extension, error)
}

// Extension is the browser extension: the one in the binary, and what stands
// in the folder that a browser loads it from.
type Extension struct {
	Version string // of the one in the binary
	Dir     string // the folder
	Written string // version that stands there, "" = none
	Whole   bool   // nothing of it is missing
	Current bool   // its files are those in the binary
}

// doctor is Options with what several checks share.
type doctor struct {
	Options
	store func() (*state.Store, error)
}

// Checks is the table.
func Checks(o Options) []Check {
	d := &doctor{Options: o}
	d.store = sync.OnceValues(d.openStore)
	checks := []Check{
		{"git", d.git},
		{"repo", d.repo},
		{"state", d.stateDir},
		{"config", d.config},
		{"port", d.port},
		{"runs", d.runs},
		{"browser", d.browser},
		{"extension", d.extension},
	}
	return append(checks, d.agents()...)
}

// limit is for one check: that of an agent may take the catalog's 20 s.
// Beyond it, lastWord is for a check to say why itself.
const (
	limit    = 30 * time.Second
	lastWord = time.Second
)

// Run carries the checks out side by side, so that one that hangs costs its
// own line only, and tells each result in the order of the table as soon as it
// is there. It returns whether serve can work.
func Run(ctx context.Context, checks []Check, tell func(Result)) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	results := make([]chan Result, len(checks))
	for i, c := range checks {
		results[i] = make(chan Result, 1)
		go func() { results[i] <- c.Run(ctx) }()
	}
	ok := true
	for i, c := range checks {
		r := await(ctx, results[i])
		r.Name, r.Detail = c.Name, line(r.Detail)
		ok = ok && r.Status != Problem
		tell(r)
	}
	return ok
}

// await waits for a result until ctx ends, and lastWord more. A disk that is
// gone answers nobody.
func await(ctx context.Context, result <-chan Result) Result {
	select {
	case r := <-result:
		return r
	case <-ctx.Done():
	}
	select {
	case r := <-result:
		return r
	case <-time.After(lastWord):
		return Result{Status: Problem, Detail: "it did not answer in time"}
	}
}

// line makes s one line.
func line(s string) string { return strings.Join(strings.Fields(s), " ") }

// failed is the result of a check that met an error: its hint is the fix, else
// the one given.
func failed(status Status, err error, fix string) Result {
	if hints := errors.GetAllHints(err); len(hints) > 0 {
		fix = strings.Join(hints, "; ")
	}
	return Result{Status: status, Detail: err.Error(), Fix: fix}
}

func (d *doctor) openStore() (*state.Store, error) {
	top, err := gitrepo.TopOf(d.Repo)
	if err != nil {
		return nil, errors.Wrap(err, "find the repository")
	}
	dir := d.StateDir
	if dir == "" {
		if dir, err = state.DefaultDir(d.Environ); err != nil {
			return nil, err
		}
	}
	return state.Open(dir, top)
}

// short is a path as people write it: ~ for their home.
func (d *doctor) short(path string) string {
	home := agent.Lookup(d.Environ, "HOME")
	if rel, err := filepath.Rel(home, path); home != "" && err == nil && filepath.IsLocal(rel) && rel != "." {
		return filepath.Join("~", rel)
	}
	return path
}
