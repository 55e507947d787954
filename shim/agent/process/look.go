package process

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// ErrNotFound marks an agent binary that is not there.
var ErrNotFound = errors.New("not found")

// ErrNotInstalled marks, beside ErrNotFound, one that was looked for by its
// name: nobody said that it is there.
var ErrNotInstalled = errors.New("not installed")

// errNotExecutable is a file without the x bit.
var errNotExecutable = errors.New("is not executable")

// installs are the commands that install an agent, by its name.
var installs = map[string]string{
	"claude": "npm install -g @anthropic-ai/claude-code",
	"codex":  "npm install -g @openai/codex",
}

// LookPath finds an agent's binary: the explicit one (a flag's value: a path,
// or another name to look for), else name in the absolute folders of env's
// PATH, else in the folders where agents are usually installed. searched is
// where it looked.
//
// Relative entries of PATH, and folders inside never (the target repo), are
// not looked into: the repo's own files must not choose a binary.
func LookPath(name, explicit string, env []string, never ...string) (path string, searched []string, err error) {
	if strings.ContainsAny(explicit, `/\`) {
		path, err := filepath.Abs(explicit)
		if err == nil {
			err = executable(path)
		}
		if errors.Is(err, errNotExecutable) {
			return path, []string{explicit}, errors.WithHintf(errors.Wrapf(err, "--%s-bin %s", name, explicit), "chmod +x %s", path)
		}
		if err != nil {
			err = errors.WithHintf(errors.Wrapf(err, "--%s-bin %s", name, explicit), "pass the path of the %s program with --%s-bin", name, name)
		}
		return path, []string{explicit}, err
	}
	file := name
	if explicit != "" {
		file = explicit
	}
	dirs := filepath.SplitList(agent.Lookup(env, "PATH"))
	dirs = append(dirs, installFolders(name, env)...)
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) || inside(dir, never) || slices.Contains(searched, dir) {
			continue
		}
		searched = append(searched, dir)
		for _, ext := range extensions(env) {
			if path := filepath.Join(dir, file+ext); executable(path) == nil {
				return path, searched, nil
			}
		}
	}
	return "", searched, notFound(name, file, searched)
}

func notFound(name, file string, searched []string) error {
	err := errors.Mark(errors.Mark(errors.Newf("%s not found; searched %s", file, someOf(searched)), ErrNotFound), ErrNotInstalled)
	hint := "pass its path with --" + name + "-bin"
	if install := installs[name]; install != "" {
		hint = install + ", or " + hint
	}
	return errors.WithHint(err, hint)
}

// A message names that many folders, of no more characters than that in all.
const (
	maxNamed      = 5
	maxNamedWidth = 50
)

// someOf names the first folders, and how many more there are.
func someOf(dirs []string) string {
	named := func(n int) string { return strings.Join(dirs[:n], string(filepath.ListSeparator)) }
	n := min(len(dirs), maxNamed)
	for n > 1 && len(named(n)) > maxNamedWidth {
		n--
	}
	if n == len(dirs) {
		return named(n)
	}
	return fmt.Sprintf("%s and %d more", named(n), len(dirs)-n)
}

// installFolders are where installers put agents without touching PATH.
func installFolders(name string, env []string) []string {
	var dirs []string
	if home := agent.Lookup(env, "HOME"); home != "" && runtime.GOOS != "windows" {
		for _, dir := range []string{".local/bin", "." + name + "/local", "." + name + "/bin", ".npm-global/bin", ".bun/bin", ".volta/bin"} {
			dirs = append(dirs, filepath.Join(home, dir))
		}
	}
	if runtime.GOOS != "windows" {
		return append(dirs, "/usr/local/bin", "/opt/homebrew/bin")
	}
	for _, place := range []struct{ name, dir string }{
		{"USERPROFILE", `.local\bin`}, {"APPDATA", "npm"}, {"LOCALAPPDATA", `Programs\` + name},
		{"USERPROFILE", `.bun\bin`}, {"LOCALAPPDATA", `Volta\bin`},
	} {
		if base := agent.Lookup(env, place.name); base != "" {
			dirs = append(dirs, filepath.Join(base, place.dir))
		}
	}
	return dirs
}

// extensions are what a program's name may end with.
func extensions(env []string) []string {
	if runtime.GOOS != "windows" {
		return []string{""}
	}
	exts := []string{""}
	for _, ext := range strings.Split(agent.Lookup(env, "PATHEXT"), ";") {
		if ext != "" {
			exts = append(exts, strings.ToLower(ext))
		}
	}
	if len(exts) == 1 {
		exts = append(exts, ".exe", ".cmd", ".bat")
	}
	return exts[1:]
}

// executable says why path cannot be run, nil when it can.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return errors.Mark(errors.New("no such file"), ErrNotFound)
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("is a folder")
	case runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		return errNotExecutable
	}
	return nil
}

// inside reports whether dir is one of roots or below it, links resolved.
func inside(dir string, roots []string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for _, root := range roots {
		if real, err := filepath.EvalSymlinks(root); err == nil {
			root = real
		}
		if rel, err := filepath.Rel(root, dir); root != "" && err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}
