package cli

import (
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v3"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/server"
	"github.com/slidewrite/slidewrite/shim/state"
)

// commitConfig reads the flags that shape a commit, or an undo.
func (a *app) commitConfig(cmd *urfave.Command) (shim.Config, error) {
	c := shim.Config{
		Repo:         cmd.String("repo"),
		CommitVerify: cmd.Bool("commit-verify"),
		CommitAuthor: cmd.String("commit-author"),
		Environ:      a.Environ,
		Log:          a.Stderr,
		Version:      buildVersion().Version,
	}
	err := a.checkRepo(c.Repo)
	if err == nil {
		err = a.oneOf("commit-author", c.CommitAuthor, "slidewrite", "user")
	}
	if err == nil {
		c.Token, err = a.token(cmd.String("token"), cmd.IsSet("token"))
	}
	if err != nil {
		return shim.Config{}, err
	}
	return c, nil
}

// runConfig reads the flags that shape a run.
func (a *app) runConfig(cmd *urfave.Command) (shim.Config, error) {
	c, err := a.commitConfig(cmd)
	if err != nil {
		return c, err
	}
	debug, _ := cmd.Value("debug").(debugLevel)
	c.Model = cmd.String("model")
	c.UseSkills = cmd.Bool("use-skills")
	c.Debug, c.DebugWire = debug != "", debug == debugWire
	c.ClaudeBin = givenBin(cmd.String("claude-bin"), "claude")
	c.CodexBin = givenBin(cmd.String("codex-bin"), "codex")
	c.GrokBin = givenBin(cmd.String("grok-bin"), "grok")
	c.KeepEnv = cmd.Bool("keep-env")
	c.MCP = cmd.String("mcp")
	c.NoProjectSettings = cmd.Bool("no-project-settings")
	for _, check := range []func() error{
		func() error { return a.checkModel(c.Model) },
		func() error { c.CodexHome, err = a.home("codex-home", cmd.String("codex-home")); return err },
		func() error { c.GrokHome, err = a.home("grok-home", cmd.String("grok-home")); return err },
		func() error { return a.oneOf("mcp", c.MCP, "project", "none") },
		func() error { c.MaxTurns, err = a.number(cmd, "max-turns", 1, math.MaxInt32); return err },
		func() error { c.RunTimeout, err = a.duration(cmd, "run-timeout"); return err },
	} {
		if err := check(); err != nil {
			return shim.Config{}, err
		}
	}
	return c, nil
}

// serveConfig reads all flags of serve.
func (a *app) serveConfig(cmd *urfave.Command) (shim.Config, error) {
	c, err := a.runConfig(cmd)
	if err != nil {
		return c, err
	}
	if c.Port, err = a.number(cmd, "port", 0, 65535); err != nil {
		return c, err
	}
	if c.Bind, err = a.bind(cmd.String("bind"), c.Token); err != nil {
		return c, err
	}
	if c.Origins, err = a.origins(cmd.StringSlice("origin")); err != nil {
		return c, err
	}
	if c.AllowHosts, err = a.each("allow-host", cmd.StringSlice("allow-host"), server.HostPattern,
		"give the host name alone, for example dev.example.com or *.example.com"); err != nil {
		return c, err
	}
	c.AllowExtensions, err = a.each("allow-extension", cmd.StringSlice("allow-extension"), extensionID,
		"copy the extension's id from chrome://extensions: 32 letters a to p")
	return c, err
}

// givenBin is a binary that was asked for: "" for the name it has anyway,
// which is then also looked for in the usual install folders.
func givenBin(value, name string) string {
	if value == name {
		return ""
	}
	return value
}

// home is a folder that an agent gets as its home, absolute: the agent works
// elsewhere. codex refuses one that is not there, and so do we, sooner.
func (a *app) home(flag, dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return "", usage("make it with mkdir -p, or pass the one you signed in with", "%s: there is no folder %s", a.source(flag), dir)
	}
	return abs, nil
}

// checkRepo says what is wrong with a folder before anything runs in it.
func (a *app) checkRepo(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case os.IsNotExist(err):
		return usage("pass the folder of your project", "%s: there is no folder %s", a.source("repo"), dir)
	case err != nil:
		return usage("pass the folder of your project", "%s: %v", a.source("repo"), err)
	case !info.IsDir():
		return usage("pass "+filepath.Dir(dir), "%s: %s is a file, not a folder", a.source("repo"), dir)
	}
	return nil
}

// checkModel holds a default model to what a request may name: never a flag.
func (a *app) checkModel(model string) error {
	return a.checkBody(designBody{Prompt: "-", Model: model})
}

// oneOf checks a flag that takes one of a few words.
func (a *app) oneOf(flag, value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	return usage("use "+strings.Join(words, " or "), "%s: %q is not one of its values", a.source(flag), value)
}

// number reads a whole number between low and high.
func (a *app) number(cmd *urfave.Command, flag string, low, high int) (int, error) {
	n, err := strconv.Atoi(cmd.String(flag))
	if err == nil && low <= n && n <= high {
		return n, nil
	}
	fix := "use a whole number from " + strconv.Itoa(low)
	if high < math.MaxInt32 {
		fix += " to " + strconv.Itoa(high)
	} else {
		fix += " up"
	}
	return 0, usage(fix, "%s: %q is not a number it can take", a.source(flag), cmd.String(flag))
}

// duration reads a time above zero; 0 when the flag is not set.
func (a *app) duration(cmd *urfave.Command, flag string) (time.Duration, error) {
	if !cmd.IsSet(flag) {
		return 0, nil
	}
	d, err := time.ParseDuration(cmd.String(flag))
	if err == nil && d > 0 {
		return d, nil
	}
	return 0, usage("give a number and its unit, for example 90s, 10m or 1h30m; leave the flag out for no limit",
		"%s: %q is not a time it can take", a.source(flag), cmd.String(flag))
}

// token reads the value of --token, or the file it names.
func (a *app) token(value string, given bool) (string, error) {
	const howTo = "put a random one into a file and pass --token @FILE: openssl rand -hex 32 > FILE"
	if !given {
		return "", nil
	}
	value, err := state.ReadSecretFlag(value)
	if err != nil {
		return "", usage(howTo, "%s: %v", a.source("token"), err)
	}
	if value == "" {
		return "", usage(howTo, "%s: the token is empty", a.source("token"))
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", usage(howTo, "%s: the token has a space or a character outside ASCII in it", a.source("token"))
	}
	return value, nil
}

// minTokenBits is what a token must have before anybody but this machine can
// try to guess it.
const minTokenBits = 128

// bind checks the address to listen on. Anything but loopback wants a token
// that was chosen for it, and a word about who can come in.
func (a *app) bind(addr, token string) (string, error) {
	host := strings.TrimSuffix(strings.TrimPrefix(addr, "["), "]")
	if host == "localhost" {
		return "127.0.0.1", nil
	}
	ip := net.ParseIP(host)
	if ip == nil {
		return "", usage("pass 127.0.0.1, or the IP address of one of this machine's networks",
			"%s: %q is not an IP address", a.source("bind"), addr)
	}
	if ip.IsLoopback() {
		return host, nil
	}
	if bits := tokenBits(token); bits < minTokenBits {
		reason := "there is no token of your own"
		if token != "" {
			reason = "the token is too short"
		}
		return "", usage("pass a random token of at least 128 bits as --token @FILE: openssl rand -hex 32 > FILE",
			"%s %s lets other machines in, and %s", a.source("bind"), addr, reason)
	}
	who := "everybody who can reach " + host
	if ip.IsUnspecified() {
		who = "everybody on every network this machine is in"
	}
	a.warn("%s %s: %s can reach this shim, and whoever has the token can run commands as you", a.source("bind"), addr, who)
	return host, nil
}

// tokenBits estimates the entropy of a random token from its length and the
// kind of characters in it: digits, hex or more. Few different characters
// make it no random token at all.
func tokenBits(token string) float64 {
	different := map[rune]bool{}
	perChar := math.Log2(10)
	for _, r := range token {
		different[r] = true
		switch {
		case strings.ContainsRune("0123456789", r):
		case strings.ContainsRune("abcdefABCDEF", r):
			perChar = math.Max(perChar, 4)
		default:
			perChar = math.Log2(62)
		}
	}
	if len(different) < 8 {
		return 0
	}
	return perChar * float64(len(token))
}

// origins checks the web origins and spells them as a browser does.
func (a *app) origins(values []string) ([]string, error) {
	var out []string
	for _, v := range values {
		v = strings.TrimSpace(v)
		if v == "*" {
			a.warn("%s *: every website you visit may talk to this shim; only the token stands between it and your files", a.source("origin"))
			out = append(out, v)
			continue
		}
		spelled, ok := server.WebOrigin(v)
		if !ok {
			return nil, usage("write scheme, host and port alone, for example http://localhost:5173",
				"%s: %q is not a web origin", a.source("origin"), v)
		}
		out = append(out, spelled)
	}
	return out, nil
}

func extensionID(s string) (string, bool) { return s, server.IsExtensionID(s) }

// each checks every value of a repeatable flag and spells it as spell does.
func (a *app) each(flag string, values []string, spell func(string) (string, bool), fix string) ([]string, error) {
	var out []string
	for _, v := range values {
		v = strings.ToLower(strings.TrimSpace(v))
		spelled, ok := spell(v)
		if !ok {
			return nil, usage(fix, "%s: %q makes no sense there", a.source(flag), v)
		}
		out = append(out, spelled)
	}
	return out, nil
}
