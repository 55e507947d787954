package fakeagents

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cockroachdb/errors"
)

// grokArgs is what the fake wants to know of a command line it accepts.
type grokArgs struct {
	promptFile string
	cwd        string
	resume     string
	model      string
}

// grokFlags is what grok 1.0.6 accepts (read in xai-grok-pager/src/app/cli.rs
// and headless/cli.rs, never run) and the shim must or may pass.
var grokFlags = []flagRule{
	{name: "--prompt-file", value: absolute, required: true},
	{name: "--cwd", value: absolute, required: true},
	{name: "--output-format", value: oneOf("streaming-messages-json"), required: true},
	{name: "--include-partial-messages", required: true},
	{name: "--always-approve", required: true},
	{name: "--permission-mode", value: oneOf("bypassPermissions"), required: true},
	{name: "--sandbox", value: oneOf("off"), required: true},
	{name: "--no-auto-update", required: true},
	{name: "--no-wait-for-background", required: true}, // else up to 600 s before the result
	{name: "--max-turns", value: positive, required: true},
	{name: "--verbatim", required: true},
	{name: "-m", value: matching(`^[A-Za-z0-9@][A-Za-z0-9._:/@+\[\]-]*$`)},
	{name: "--effort", value: matching(`^[a-z][a-z0-9_-]*$`)},
	{name: "-r", value: matching(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)}, // a title would do, and be a guess
}

// absolute demands an absolute path: grok resolves others against --cwd after
// it went there.
func absolute(v string) error {
	if !filepath.IsAbs(v) {
		return errors.Newf("%.80q is not absolute", v)
	}
	return nil
}

// checkGrokArgs checks the command line of a turn flag by flag.
func checkGrokArgs(args []string) (grokArgs, error) {
	seen := map[string]string{}
	for left := args; len(left) > 0; {
		arg := left[0]
		left = left[1:]
		if secretLike.MatchString(arg) {
			return grokArgs{}, errors.New("an argument looks like a secret: it would show in every list of processes")
		}
		rule, err := findGrokFlag(arg)
		if err != nil {
			return grokArgs{}, err
		}
		if _, twice := seen[arg]; twice {
			return grokArgs{}, errors.Newf("the argument %s cannot be used multiple times", arg)
		}
		seen[arg] = ""
		if rule.value == nil {
			continue
		}
		if len(left) == 0 {
			return grokArgs{}, errors.Newf("%s has no value", arg)
		}
		seen[arg] = left[0]
		left = left[1:]
		if secretLike.MatchString(seen[arg]) {
			return grokArgs{}, errors.Newf("the value of %s looks like a secret: it would show in every list of processes", arg)
		}
		if err := rule.value(seen[arg]); err != nil {
			return grokArgs{}, errors.Wrapf(err, "value of %s", arg)
		}
	}
	for _, rule := range grokFlags {
		if _, is := seen[rule.name]; rule.required && !is {
			return grokArgs{}, errors.Newf("%s is missing", rule.name)
		}
	}
	return grokArgs{promptFile: seen["--prompt-file"], cwd: seen["--cwd"], resume: seen["-r"], model: seen["-m"]}, nil
}

func findGrokFlag(arg string) (flagRule, error) {
	for _, rule := range grokFlags {
		if rule.name == arg {
			return rule, nil
		}
	}
	if !strings.HasPrefix(arg, "-") {
		return flagRule{}, errors.Newf("%.40q is no flag: the prompt goes by file, never on the command line", arg)
	}
	return flagRule{}, errors.Newf("unexpected argument %.60q", arg)
}

// grokMarker is the line below which the user's request stands.
const grokMarker = "==== slidewrite: the user's request begins below this line ===="

// readGrokPrompt reads the prompt file and demands what keeps it private and a
// prompt that begins with "/" from being run as a command. It returns what the
// user asked, and all of the prompt as grok takes it: trimmed.
func (p *process) readGrokPrompt(path string) (user, whole string, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", "", errors.Wrap(err, "--prompt-file")
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", "", errors.Wrap(err, "--prompt-file")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", "", errors.Wrap(err, "--prompt-file")
	}
	if err := p.log.add(LogEntry{File: string(data)}); err != nil {
		return "", "", err
	}
	rel, err := filepath.Rel(p.dir, real)
	inside := err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
	text := string(data)
	before, user, marked := strings.Cut(text, "\n"+grokMarker+"\n")
	whole = strings.TrimSpace(text)
	switch {
	case !info.Mode().IsRegular():
		err = errors.New("it is no regular file")
	case filepath.Ext(path) != ".txt":
		err = errors.Newf("its suffix is %s: a .json one would be parsed as blocks", strconv.Quote(filepath.Ext(path)))
	case runtime.GOOS != "windows" && info.Mode().Perm() != 0o600:
		err = errors.Newf("its mode is %v, not 0600: others could read it", info.Mode().Perm())
	case inside:
		err = errors.New("it lies in the repository")
	case !utf8.Valid(data):
		err = errors.New("it is not valid UTF-8")
	case whole == "":
		err = errors.New("it is empty")
	case !marked:
		err = errors.New("it has no line below which the user's request stands")
	case !strings.HasPrefix(text, "\n") || !strings.HasPrefix(user, "\n"):
		err = errors.New("it, or the user's request in it, does not begin with a newline")
	case strings.TrimSpace(before) == "":
		err = errors.New("it has no system prompt")
	case strings.HasPrefix(whole, "/"):
		err = errors.New("what is left of it without the space around it begins with /: that would be run as a command")
	}
	return user, whole, errors.Wrap(err, "--prompt-file")
}
