// Package gitrepo is the only place git runs. It takes snapshots of a working
// tree, compares two of them, commits exactly that difference on top of HEAD
// without touching the user's own staged and unstaged work, and takes it back.
//
// Flow: Open → Snapshot → (agent) → SnapshotAfter → Change → Commit → Undo.
package gitrepo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/cockroachdb/errors"
)

// Repo is an opened repository. It holds no lock and no process; its methods
// may be called from several goroutines, but one run at a time is the
// caller's business (package state has the lock).
type Repo struct {
	top    string // real path of the working tree's top level
	dir    string // real path of the folder that was opened: top or below
	gitDir string // absolute; of a linked worktree, its own
	common string // absolute; equals gitDir but in a linked worktree
	sha256 bool   // object ids are SHA-256
	env    []string
	temp   string // for temporary files; "" = the system's folder

	private []string // see SetPrivate; relative to top, "/" separators
}

// Top returns the real path of the working tree's top level.
func (r *Repo) Top() string { return r.top }

// SetTemp makes the repository use dir (private to the user) for temporary
// files instead of the system's folder. Call it before anything else.
func (r *Repo) SetTemp(dir string) { r.temp = dir }

// Sweep removes the temporary files that a process left behind which was
// killed in the middle of a call. Only the holder of the run lock may call it.
func (r *Repo) Sweep() error {
	left, err := filepath.Glob(filepath.Join(escapeGlob(r.gitDir), "slidewrite-clock-*"))
	if err != nil {
		return err
	}
	if r.temp != "" {
		entries, err := os.ReadDir(r.temp)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			left = append(left, filepath.Join(r.temp, e.Name()))
		}
	}
	for _, path := range left {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// escapeGlob makes a path stand for itself in a pattern.
func escapeGlob(path string) string {
	if filepath.Separator == '\\' {
		return path // no escapes in patterns there, and no [ or * in names we meet
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// Dir returns the real path of the folder that was opened.
func (r *Repo) Dir() string { return r.dir }

// Error is a git command that failed.
type Error struct {
	Args   []string // without the fixed options
	Exit   int      // -1 when it did not start or was ended by a signal
	Stderr string   // trimmed
	cause  error    // why it did not start (exec.ErrNotFound, a missing folder)
}

func (e *Error) Error() string {
	msg := e.Stderr
	if msg == "" {
		msg = fmt.Sprintf("exit status %d", e.Exit)
	}
	return "git " + strings.Join(e.Args, " ") + ": " + msg
}

// Unwrap is the reason why git did not start, nil when it ran.
func (e *Error) Unwrap() error { return e.cause }

// call is one git command. Its zero value plus args is the common case.
type call struct {
	stdin   []byte
	env     []string // KEY=VALUE on top of r.env, for example GIT_INDEX_FILE
	config  []string // further -c key=value
	globs   bool     // without --literal-pathspecs (check-ignore refuses it)
	dir     string   // working directory, default r.top
	okExits []int    // exit codes besides 0 that are an answer, not a failure
	asks    bool     // it may ask the user on the terminal, and Ctrl-C there is for it
	hooks   bool     // with the user's core.hooksPath: to find the hooks or to run them
}

// fixed are the options of every git command of ours: no hook, no monitor, no
// CRLF veto, no split index and no quoted path may change what we see.
var fixed = []string{
	"-c", "core.fsmonitor=false",
	"-c", "core.safecrlf=false",
	"-c", "core.splitIndex=false",
	"-c", "core.quotepath=off",
}

// pipePatience is how long after git's end a process that it left behind (a
// filter, what a hook started) may hold its pipes.
var pipePatience = 5 * time.Second

// git runs one git command and returns its stdout.
func (r *Repo) git(ctx context.Context, c call, args ...string) ([]byte, error) {
	out, _, err := r.gitExit(ctx, c, args...)
	return out, err
}

// gitExit is git with the exit code, for commands whose code is an answer.
func (r *Repo) gitExit(ctx context.Context, c call, args ...string) ([]byte, int, error) {
	full := append([]string{"--no-pager"}, fixed...)
	if !c.hooks {
		full = append(full, "-c", "core.hooksPath="+os.DevNull)
	}
	for _, kv := range c.config {
		full = append(full, "-c", kv)
	}
	if !c.globs {
		full = append(full, "--literal-pathspecs")
	}
	cmd := exec.CommandContext(ctx, "git", append(full, args...)...)
	if !c.asks {
		endAsGroup(cmd)
	}
	cmd.WaitDelay = pipePatience
	cmd.Dir = c.dir
	if cmd.Dir == "" {
		cmd.Dir = r.top
	}
	cmd.Env = append(append([]string(nil), r.env...), c.env...)
	if c.stdin != nil {
		cmd.Stdin = bytes.NewReader(c.stdin)
	}
	var stdout output
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	// ErrWaitDelay: git's own exit status was 0, something holds its pipes. A
	// list that may be cut short is no answer; what a hook prints is none anyway.
	if err == nil || errors.Is(err, exec.ErrWaitDelay) && (stdout.whole || c.hooks) {
		return stdout.Bytes(), 0, nil
	}
	if ctx.Err() != nil {
		return nil, -1, errors.Wrapf(ctx.Err(), "git %s", args[0])
	}
	code := -1
	var cause error
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if info, statErr := os.Stat(cmd.Dir); errors.Is(statErr, fs.ErrNotExist) || statErr == nil && !info.IsDir() {
		return nil, code, folderGone(cmd.Dir)
	} else {
		cause = err
		stderr.WriteString(err.Error())
	}
	for _, ok := range c.okExits {
		if code == ok {
			return stdout.Bytes(), code, nil
		}
	}
	return stdout.Bytes(), code, &Error{Args: args, Exit: code, Stderr: strings.TrimSpace(stderr.String()), cause: cause}
}

// folderGone is the failure to start git in a folder that is not there: to the
// system that looks as if git was not.
func folderGone(dir string) error {
	return errors.WithHint(errors.Newf("the folder %s is gone: it was removed, moved or renamed", dir), "put it back at "+dir+", then try again")
}

// output is a buffer that knows whether all was read that there was to read.
type output struct {
	bytes.Buffer
	whole bool
}

// ReadFrom is what os/exec fills a buffer by.
func (o *output) ReadFrom(r io.Reader) (int64, error) {
	n, err := o.Buffer.ReadFrom(r)
	o.whole = err == nil
	return n, err
}

// localEnvVars are the variables of `git rev-parse --local-env-vars` (git
// 2.39 to 2.51) that would point git at another repository or index. The
// GIT_CONFIG_COUNT, _KEY_n and _VALUE_n set is kept: it can carry
// safe.directory.
var localEnvVars = map[string]bool{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES": true, "GIT_CONFIG": true, "GIT_CONFIG_PARAMETERS": true,
	"GIT_OBJECT_DIRECTORY": true, "GIT_DIR": true, "GIT_WORK_TREE": true, "GIT_IMPLICIT_WORK_TREE": true,
	"GIT_GRAFT_FILE": true, "GIT_INDEX_FILE": true, "GIT_NO_REPLACE_OBJECTS": true,
	"GIT_REPLACE_REF_BASE": true, "GIT_PREFIX": true, "GIT_SHALLOW_FILE": true, "GIT_COMMON_DIR": true,
	"GIT_INTERNAL_SUPER_PREFIX": true, "GIT_LITERAL_PATHSPECS": true, "GIT_GLOB_PATHSPECS": true,
	"GIT_NOGLOB_PATHSPECS": true, "GIT_ICASE_PATHSPECS": true, "GIT_QUARANTINE_PATH": true,
}

// ownVars are variables that we set ourselves or that would change what git
// prints to us.
var ownVars = map[string]bool{
	"GIT_OPTIONAL_LOCKS": true, "GIT_TERMINAL_PROMPT": true, "LC_ALL": true, "LANGUAGE": true,
	"GIT_DIFF_OPTS": true, "GIT_EXTERNAL_DIFF": true, "GIT_PAGER": true,
}

// gitEnv is environ made safe for our git commands.
func gitEnv(environ []string) []string {
	var env []string
	for _, kv := range environ {
		key, _, _ := strings.Cut(kv, "=")
		if localEnvVars[key] || ownVars[key] {
			continue
		}
		env = append(env, kv)
	}
	// C messages: a few of git's errors are parsed for the path they name.
	return append(env, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
}
