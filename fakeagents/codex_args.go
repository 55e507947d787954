package fakeagents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cockroachdb/errors"
)

// codexArgs is what the fake wants to know of a command line it accepts.
type codexArgs struct {
	dir    string // -C
	resume string
}

// codexSwitches are the flags without a value: all must be there. That and
// what else is demanded is what the real CLI (0.171.0) accepts and the shim
// must or may pass.
var codexSwitches = []string{"--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check"}

// codexSettings are the keys that -c may set; required ones must be there.
var codexSettings = []struct {
	key      string
	value    func(string) error
	required bool
}{
	{"analytics.enabled", oneOf("false"), true}, // else it lives on for 5 s without a network
	{"developer_instructions", tomlText, true},
	{"model_reasoning_effort", matching(`^"[a-z][a-z0-9_-]*"$`), false},
}

// tomlText demands a TOML basic string that is not empty. Those that the shim
// writes are JSON strings as well.
func tomlText(v string) error {
	var text string
	if err := json.Unmarshal([]byte(v), &text); err != nil {
		return errors.Newf("%.60q is no TOML string", v)
	}
	return notEmpty(text)
}

// checkCodexArgs checks the command line of a turn flag by flag.
func checkCodexArgs(args []string) (codexArgs, error) {
	c := codexCheck{left: args, seen: map[string]bool{}}
	for _, arg := range args {
		if secretLike.MatchString(arg) {
			return c.out, errors.New("an argument looks like a secret: it would show in every list of processes")
		}
	}
	if c.next() != "exec" {
		return c.out, errors.New("the first argument is not exec")
	}
	for len(c.left) > 0 {
		if err := c.argument(c.next()); err != nil {
			return c.out, err
		}
	}
	return c.out, c.complete()
}

// codexCheck is how far a command line has been read.
type codexCheck struct {
	left []string
	seen map[string]bool // switches, -C, -m, resume, "-" and the keys of -c
	out  codexArgs
}

func (c *codexCheck) next() string {
	if len(c.left) == 0 {
		return ""
	}
	arg := c.left[0]
	c.left = c.left[1:]
	return arg
}

// once notes that an argument was there.
func (c *codexCheck) once(name string) error {
	if c.seen[name] {
		return errors.Newf("%s is there twice", name)
	}
	c.seen[name] = true
	return nil
}

func (c *codexCheck) argument(arg string) error {
	if c.seen["-"] {
		return errors.Newf("%.40q comes after \"-\"", arg)
	}
	if image, ok := strings.CutPrefix(arg, "--image="); ok {
		return c.image(image)
	}
	switch {
	case slices.Contains(codexSwitches, arg):
		return c.once(arg)
	case arg == "-i" || arg == "--image":
		return errors.Newf("%s takes every argument that follows for an image, \"-\" too: use --image=FILE", arg)
	case arg == "-C":
		return c.folder(c.next())
	case arg == "-m":
		if err := matching(`^[A-Za-z0-9@][A-Za-z0-9._:/@+-]*$`)(c.next()); err != nil {
			return errors.Wrap(err, "value of -m")
		}
		return c.once(arg)
	case arg == "-c":
		return c.setting(c.next())
	case arg == "resume":
		c.out.resume = c.next()
		if c.out.resume == "" || strings.HasPrefix(c.out.resume, "-") {
			return errors.New("resume names no thread")
		}
		return c.once(arg)
	case arg == "-":
		return c.once(arg)
	case strings.HasPrefix(arg, "-"):
		return errors.Newf("unexpected argument %.60q", arg)
	}
	return errors.Newf("%.40q is no flag: the prompt goes by stdin, never on the command line", arg)
}

// folder checks the value of -C, which exec knows and resume does not.
func (c *codexCheck) folder(dir string) error {
	if c.seen["resume"] {
		return errors.New("unexpected argument \"-C\": resume does not have it, put it before")
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || !filepath.IsAbs(dir) {
		return errors.Newf("-C %q is no absolute path of a folder", dir)
	}
	var err error
	if c.out.dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	return c.once("-C")
}

func (c *codexCheck) setting(pair string) error {
	key, value, ok := strings.Cut(pair, "=")
	for _, rule := range codexSettings {
		if !ok || rule.key != key {
			continue
		}
		if err := rule.value(value); err != nil {
			return errors.Wrapf(err, "value of -c %s", key)
		}
		return c.once(key)
	}
	return errors.Newf("-c %.60q is no setting that a turn needs", pair)
}

func (c *codexCheck) image(path string) error {
	if strings.Contains(path, ",") {
		return errors.Newf("--image=%s: codex takes a comma for the end of a path", path)
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return errors.Newf("--image=%s is no file", path)
	}
	return nil
}

// complete demands what must be there.
func (c *codexCheck) complete() error {
	must := append(slices.Clone(codexSwitches), "-C", "-")
	for _, rule := range codexSettings {
		if rule.required {
			must = append(must, rule.key)
		}
	}
	for _, name := range must {
		if !c.seen[name] {
			return errors.Newf("%s is missing", name)
		}
	}
	return nil
}
