package doctor

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/state"
)

const getGit = "install a newer git (https://git-scm.com/downloads)"

func (d *doctor) git(ctx context.Context) Result {
	v, err := gitrepo.Version(ctx, d.Repo, d.Environ)
	switch {
	case err != nil:
		return failed(Problem, err, getGit)
	case compare(v, gitrepo.MinVersion) < 0:
		return Result{Status: Problem, Detail: fmt.Sprintf("git %s is too old: %s or later is needed", v, gitrepo.MinVersion), Fix: getGit}
	}
	return Result{Status: OK, Detail: fmt.Sprintf("git %s (%s or later is needed)", v, gitrepo.MinVersion)}
}

// stateFixes cure what keeps a run's change from being committed, where git's
// state alone does not say how.
var stateFixes = map[string]string{
	"detached":  "git switch -c NAME",
	"merging":   finish,
	"rebasing":  finish,
	"reverting": finish,
	"bisecting": "git bisect reset",
	"am":        finish,
	"locked":    `wait for it; if no git is running: rm "$(git rev-parse --git-path index.lock)"`,
}

const finish = "finish or abort it: git status says how"

// repo is never a problem: runs work without a repository, too.
func (d *doctor) repo(ctx context.Context) Result {
	var s gitrepo.State
	r, err := gitrepo.OpenEnv(ctx, d.Repo, d.Environ)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return Result{Status: Warning, Detail: "not looked at: there is no git"}
	case err != nil:
		s = gitrepo.StateOf(err)
	default:
		s = r.State(ctx)
	}
	name, err := filepath.Abs(d.Repo)
	if err == nil && r != nil {
		name = r.Top()
	}
	name = filepath.Base(name)
	switch s.State {
	case "ok", "unborn":
		return Result{Status: OK, Detail: onBranch(name, s)}
	case "detached":
		return Result{Status: Warning, Detail: name + ": " + s.Detail, Fix: stateFixes[s.State]}
	case "none", "unsafe", "bare":
		return Result{Status: Warning, Detail: s.Detail, Fix: s.Fix}
	}
	return Result{Status: Warning, Detail: name + ": " + s.Detail + "; nothing is committed until it has ended", Fix: stateFixes[s.State]}
}

func onBranch(name string, s gitrepo.State) string {
	said := name + " on " + s.Branch
	if s.Detail != "" {
		said += ": " + s.Detail
	}
	if s.Dirty {
		said += ", with uncommitted changes, which stay yours"
	}
	return said
}

// stateDir writes a file: a folder that is there may still take nothing.
func (d *doctor) stateDir(context.Context) Result {
	const fix = "set XDG_STATE_HOME to a folder you can write to"
	store, err := d.store()
	if err != nil {
		return failed(Problem, err, fix)
	}
	dir, err := store.ScratchDir()
	if err == nil {
		err = tryWrite(dir)
	}
	if err != nil {
		return failed(Problem, err, fix)
	}
	return Result{Status: OK, Detail: d.short(store.Dir()) + " can be written to"}
}

func tryWrite(dir string) error {
	f, err := os.CreateTemp(dir, "doctor-")
	if err != nil {
		return err
	}
	_, err = f.WriteString("x\n")
	return errors.CombineErrors(errors.CombineErrors(err, f.Close()), os.Remove(f.Name()))
}

func (d *doctor) config(context.Context) Result {
	if d.Token != "" {
		return Result{Status: OK, Detail: "the token that was given is used"}
	}
	top, err := gitrepo.TopOf(d.Repo)
	if err == nil {
		_, err = state.Token(d.Environ, top)
	}
	if err != nil {
		return failed(Problem, err, "set XDG_CONFIG_HOME to a folder you can write to")
	}
	return Result{Status: OK, Detail: "this repo has its token"}
}

func (d *doctor) port(context.Context) Result {
	running, err := d.Listen()
	switch {
	case err != nil:
		return failed(Problem, err, "pass --port 0 for a free one")
	case running != "":
		return Result{Status: OK, Detail: running}
	case d.Port == 0:
		return Result{Status: OK, Detail: "serve picks a free one"}
	}
	return Result{Status: OK, Detail: strconv.Itoa(d.Port) + " is free"}
}

// runs counts what the next start has to put in order: runs whose shim died,
// and commits and undos that could not be finished since.
func (d *doctor) runs(context.Context) Result {
	store, err := d.store()
	if err != nil {
		return Result{Status: Warning, Detail: "not looked at: there is no state directory"}
	}
	dead, err := store.Interrupted()
	if err != nil {
		return failed(Warning, err, "")
	}
	known, err := store.List()
	if err != nil {
		return failed(Warning, err, "")
	}
	waiting := len(dead)
	for _, r := range known {
		if r.State == state.Interrupted && len(r.Intent) > 0 {
			waiting++
		}
	}
	switch waiting {
	case 0:
		return Result{Status: OK, Detail: "none waits to be put in order"}
	case 1:
		return Result{Status: Warning, Detail: "1 run was cut short; the next start of slidewrite here puts it in order", Fix: "slidewrite"}
	}
	return Result{Status: Warning, Detail: fmt.Sprintf("%d runs were cut short; the next start of slidewrite here puts them in order", waiting), Fix: "slidewrite"}
}

// compare orders two versions by their numbers: "2.36" equals "2.36.0", and
// what is not a number counts as 0. A pre-release comes before its release.
func compare(a, b string) int {
	a, preA, _ := strings.Cut(a, "-")
	b, preB, _ := strings.Cut(b, "-")
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		if c := number(as, i) - number(bs, i); c != 0 {
			return c
		}
	}
	switch {
	case preA == preB:
		return 0
	case preA == "":
		return 1
	case preB == "":
		return -1
	}
	return strings.Compare(preA, preB)
}

func number(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	n, _ := strconv.Atoi(parts[i])
	return n
}
