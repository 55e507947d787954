package gitrepo

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/cockroachdb/errors"
)

// Open finds the repository that dir lies in. dir may be a folder below the
// top level, a linked worktree, or a symbolic link to one of them.
//
// Errors: ErrNone, ErrUnsafe (its hint is the command that allows the
// repository), ErrBare (its hint is the way to a working tree); ErrNoGit; else git is too old or the folder cannot be
// read. Costs one git process.
func Open(ctx context.Context, dir string) (*Repo, error) { return OpenEnv(ctx, dir, os.Environ()) }

// OpenEnv is Open for git commands that run with environ instead of this
// process's own environment.
func OpenEnv(ctx context.Context, dir string, environ []string) (*Repo, error) {
	real, err := realPath(dir)
	if err != nil {
		return nil, errors.Wrapf(err, "open the repository at %s", dir)
	}
	r := &Repo{dir: real, env: gitEnv(environ)}
	out, err := r.git(ctx, call{dir: real}, "rev-parse",
		"--is-bare-repository", "--is-inside-work-tree", "--show-object-format", "--absolute-git-dir", "--git-common-dir", "--show-toplevel")
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if err != nil {
		return nil, openError(err, real, lines)
	}
	r.sha256 = lines[2] == "sha256"
	places := lines[3:]
	if len(places) != 3 {
		if places, err = r.locateOneByOne(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.locate(places[0], places[1], places[2]); err != nil {
		return nil, err
	}
	return r, nil
}

// realPath is the absolute path without symbolic links of an existing folder.
func realPath(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a folder")
	}
	return real, err
}

// locateOneByOne asks for each place by itself: a path holds a newline.
func (r *Repo) locateOneByOne(ctx context.Context) ([]string, error) {
	var lines []string
	for _, what := range []string{"--absolute-git-dir", "--git-common-dir", "--show-toplevel"} {
		out, err := r.git(ctx, call{dir: r.dir}, "rev-parse", what)
		if err != nil {
			return nil, errors.Wrap(err, "find the repository's folders")
		}
		lines = append(lines, strings.TrimSuffix(string(out), "\n"))
	}
	return lines, nil
}

// locate fills in the folders as git printed them.
func (r *Repo) locate(gitDir, common, top string) error {
	var err error
	if r.top, err = realPath(filepath.FromSlash(top)); err != nil {
		return errors.Wrap(err, "open the working tree")
	}
	r.gitDir = filepath.FromSlash(gitDir)
	r.common = filepath.FromSlash(common) // relative to the folder we asked from
	if !filepath.IsAbs(r.common) {
		r.common = filepath.Join(r.dir, r.common)
	}
	if _, err := os.Lstat(filepath.Join(r.top, ".git")); err != nil {
		// core.worktree points elsewhere: from there git would not find its way back.
		r.env = append(r.env, "GIT_DIR="+r.gitDir, "GIT_WORK_TREE="+r.top)
	}
	return nil
}

// openError puts git's refusal into our words. lines are what rev-parse
// printed before it gave up: "true" or "false" for bare, then for inside a
// working tree.
func openError(err error, dir string, lines []string) error {
	var gitErr *Error
	if !errors.As(err, &gitErr) {
		return err
	}
	switch msg := gitErr.Stderr; {
	case errors.Is(err, exec.ErrNotFound):
		return errors.WithHint(errors.Mark(ErrNoGit, exec.ErrNotFound), "install git (https://git-scm.com/downloads)")
	case strings.Contains(msg, "dubious ownership") || strings.Contains(msg, "is owned by someone else"):
		return errors.WithHint(errors.Wrapf(ErrUnsafe, "%s", dir), safeDirectoryFix(msg, dir))
	case lines[0] == "true" || strings.Contains(msg, "cannot use bare repository"):
		return errors.WithHint(errors.Wrapf(ErrBare, "%s", dir), "open a folder with a working tree: git worktree add ../work")
	case strings.Contains(msg, "not a git repository"):
		return errors.WithHint(errors.Wrapf(ErrNone, "%s", dir), "git init")
	case len(lines) > 1 && lines[1] == "false":
		return errors.WithHint(errors.Wrapf(ErrNone, "%s is inside a .git folder", dir), "open the project's own folder")
	}
	return errors.Wrapf(err, "open the repository at %s", dir)
}

// safeDirectoryFix is the command that git itself proposes; it knows how the
// path must be written on this system.
func safeDirectoryFix(stderr, dir string) string {
	for _, line := range strings.Split(stderr, "\n") {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "git config --global --add safe.directory ") {
			return line
		}
	}
	return "git config --global --add safe.directory " + shellQuote(dir)
}

// shellQuote quotes a path for a POSIX shell where it needs it.
func shellQuote(s string) string {
	plain := strings.IndexFunc(s, func(c rune) bool {
		return !(c == '/' || c == '.' || c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
	}) < 0
	if plain && s != "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// StateOf is what /meta shows for a repository that could not be opened: err
// is an error of Open.
func StateOf(err error) State {
	fix := strings.Join(errors.GetAllHints(err), "; ")
	switch {
	case errors.Is(err, ErrUnsafe):
		return State{State: "unsafe", Detail: "git does not trust this repository: somebody else owns it", Fix: fix}
	case errors.Is(err, ErrBare):
		return State{State: "bare", Detail: ErrBare.Error(), Fix: fix}
	case errors.Is(err, ErrNone):
		return State{State: "none", Detail: "not a git repository: runs work, but there is no change list, commit or undo", Fix: fix}
	}
	return State{State: "none", Detail: err.Error(), Fix: fix, Broken: true}
}

// State tells what the repository is in the middle of, for people. Costs two
// git processes, one after the other but for the hooks.
func (r *Repo) State(ctx context.Context) State {
	hooks := make(chan bool, 1)
	go func() { hooks <- r.hasCommitHooks(ctx) }()
	out, err := r.git(ctx, call{}, "status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind",
		"-unormal", "--no-renames", "--ignore-submodules=dirty")
	if err != nil {
		<-hooks
		return StateOf(openError(err, r.dir, []string{""}))
	}
	s := parseBranch(out)
	s.Hooks = <-hooks
	if op, detail := r.operation(ctx); op != "" {
		s.State, s.Detail = op, detail
	}
	return s
}

// parseBranch reads `status --porcelain=v2 -z --branch`: "# branch.oid <id or
// (initial)>", "# branch.head <name or (detached)>", then the changed paths.
func parseBranch(out []byte) State {
	s := State{State: "ok"}
	for _, rec := range bytes.Split(out, []byte{0}) {
		switch line := string(rec); {
		case line == "":
		case line == "# branch.oid (initial)":
			s.State, s.Detail = "unborn", "no commit yet: the first run makes the first one"
		case line == "# branch.head (detached)":
			s.State, s.Detail = "detached", "HEAD is detached: commits go on no branch"
		case strings.HasPrefix(line, "# branch.head "):
			s.Branch = strings.TrimPrefix(line, "# branch.head ")
		case !strings.HasPrefix(line, "# "):
			s.Dirty = true
		}
	}
	return s
}

// operations are git's own marks of something half done, most telling first.
// am and rebase share a folder; "applying" in it tells am. A sequence of
// cherry-picks or reverts stands still between two commits with nothing but
// its to-do list.
var operations = []struct{ file, state, detail string }{
	{"rebase-merge", "rebasing", "a rebase is in progress"},
	{"rebase-apply/applying", "am", "git am is in progress"},
	{"rebase-apply", "rebasing", "a rebase is in progress"},
	{"MERGE_HEAD", "merging", "a merge is in progress"},
	{"CHERRY_PICK_HEAD", "merging", "a cherry-pick is in progress"},
	{"REVERT_HEAD", "reverting", "a revert is in progress"},
	{"BISECT_LOG", "bisecting", "a bisect is in progress"},
	{"index.lock", "locked", "another git command holds the index (index.lock)"},
}

// operation names what is half done, "" for nothing. No commit is made then.
func (r *Repo) operation(ctx context.Context) (state, detail string) {
	for _, op := range operations {
		if r.hasGitFile(op.file) || r.hasPseudoRef(ctx, op.file) {
			return op.state, op.detail
		}
	}
	todo, err := os.ReadFile(filepath.Join(r.gitDir, "sequencer", "todo"))
	switch {
	case err != nil:
		return "", ""
	case bytes.HasPrefix(todo, []byte("revert ")):
		return "reverting", "a sequence of reverts is in progress"
	}
	return "merging", "a sequence of cherry-picks is in progress"
}

func (r *Repo) hasGitFile(name string) bool {
	_, err := os.Lstat(filepath.Join(r.gitDir, filepath.FromSlash(name)))
	return err == nil
}

// hasPseudoRef asks git for the heads that repositories with reftables keep
// outside of files (git 2.45 and later).
func (r *Repo) hasPseudoRef(ctx context.Context, name string) bool {
	if name != "CHERRY_PICK_HEAD" && name != "REVERT_HEAD" {
		return false
	}
	if _, err := os.Stat(filepath.Join(r.common, "reftable")); err != nil {
		return false
	}
	_, err := r.git(ctx, call{}, "rev-parse", "--verify", "--quiet", name)
	return err == nil
}

// commitHooks are the hooks that `git commit` would run.
var commitHooks = []string{"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"}

// hasCommitHooks tells whether `git commit` would run a hook here. Costs one
// git process.
func (r *Repo) hasCommitHooks(ctx context.Context) bool {
	set, err := r.commitSettings(ctx)
	return err == nil && anyHook(set.hooks)
}

// isHook tells whether git would run this file: executable, or on Windows
// just there (there is no such bit).
func isHook(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return false
	}
	return runtime.GOOS == "windows" || info.Mode()&0o111 != 0
}

// headState is where HEAD stands, and what it holds.
type headState struct {
	Head
	tree string // of its commit, "" when unborn
}

// head is where HEAD stands. Costs one git process, two when unborn.
func (r *Repo) head(ctx context.Context) (headState, error) {
	out, err := r.git(ctx, call{}, "rev-parse", "HEAD^{commit}", "HEAD^{tree}", "--symbolic-full-name", "HEAD")
	if err == nil {
		lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		if len(lines) != 3 {
			return headState{}, errors.Newf("git rev-parse: unexpected answer %.80q", out)
		}
		h := headState{Head: Head{Ref: lines[2], Commit: lines[0]}, tree: lines[1]}
		if h.Ref == "HEAD" {
			h.Ref = ""
		}
		return h, nil
	}
	ref, symErr := r.git(ctx, call{}, "symbolic-ref", "--quiet", "HEAD")
	if symErr != nil {
		return headState{}, errors.Wrap(err, "read HEAD")
	}
	name := strings.TrimSuffix(string(ref), "\n")
	if _, broken := r.git(ctx, call{}, "rev-parse", "--verify", "--quiet", name); broken == nil {
		return headState{}, errors.Wrap(err, "read HEAD")
	}
	return headState{Head: Head{Ref: name}}, nil
}
