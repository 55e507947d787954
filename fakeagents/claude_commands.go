package fakeagents

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cockroachdb/errors"
)

// claude plays the claude CLI and returns its exit code.
func (p *process) claude() int {
	if path := p.knob("spawn_marker"); path != "" {
		if err := os.WriteFile(path, fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600); err != nil {
			return p.refused(err)
		}
	}
	switch {
	case slices.Equal(p.args, []string{"--version"}):
		fmt.Fprintf(p.stdout, "%s (Claude Code)\n", p.version) // as recorded in the case "version"
		return 0
	case slices.Equal(p.args, []string{"auth", "status", "--json"}):
		return p.authStatus()
	case slices.Equal(p.args, []string{"auth", "login"}), slices.Equal(p.args, []string{"auth", "logout"}):
		return p.auth(p.args[1])
	}
	args, err := checkClaudeArgs(p.version, p.args)
	if err == nil {
		err = checkClaudeEnv(p.env)
	}
	if err == nil {
		err = p.checkTempDir()
	}
	if err != nil {
		return p.refused(err)
	}
	if p.refusesRoot() && p.env.get("IS_SANDBOX") == "" {
		return p.command("root-refused")
	}
	return p.turn(args)
}

// refusesRoot is whether the knob or the fixture wants the refusal to run as
// root, which comes before anything is read.
func (p *process) refusesRoot() bool {
	return p.knob("refuse_root") != "" || p.fixture != nil && p.fixture.Case() == "root-refused"
}

func (p *process) refused(reason error) int {
	refuse(p.stderr, reason)
	return exitRefused
}

// checkTempDir demands that claude's temporary files go to a folder of the
// run's own.
func (p *process) checkTempDir() error {
	dir := p.env.get("CLAUDE_CODE_TMPDIR")
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return errors.Newf("CLAUDE_CODE_TMPDIR %q is no folder", dir)
	}
	return nil
}

// recorded loads the case of that name for the version that is played, else
// for the default one; real before made.
func (p *process) recorded(name string) (*Fixture, error) {
	for _, version := range []string{p.version, defaultVersion} {
		for _, provenance := range []string{Real, Made} {
			f, err := p.corpus.Load(fmt.Sprintf("claude/%s/%s/%s", provenance, version, name))
			if err == nil {
				return f, nil
			}
		}
	}
	return nil, errors.Newf("no fixture %q of claude %s", name, p.version)
}

// command plays the case of a command that is no turn.
func (p *process) command(name string) int {
	f, err := p.recorded(name)
	if err != nil {
		return p.refused(err)
	}
	v := p.values("")
	_, err = p.stdout.Write(v.fill(f.Stdout, 1))
	if err == nil {
		_, err = p.stderr.Write(v.FillText(f.Stderr))
	}
	if err != nil {
		return p.refused(err)
	}
	return f.Exit
}

func (p *process) values(session string) Values {
	return Values{Repo: p.dir, Session: session, Home: p.home(), Tmp: p.env.get("CLAUDE_CODE_TMPDIR"), Now: p.now, PID: os.Getpid()}
}

// signedOut is whether there is no login: the knob says so, until "auth
// login" was run; "auth logout" ends a login.
func (p *process) signedOut() bool {
	state, err := os.ReadFile(p.authFile())
	if err == nil {
		return strings.TrimSpace(string(state)) != "login"
	}
	return p.knob("signed_out") != ""
}

func (p *process) authFile() string { return filepath.Join(p.configDir(), "fakeagent-auth") }

func (p *process) authStatus() int {
	_, key := p.env.lookup("ANTHROPIC_API_KEY")
	switch {
	case key:
		return p.command("auth-status")
	case p.signedOut():
		return p.command("auth-status-none")
	}
	return p.command("auth-status-plan")
}

// auth notes a login or logout; the real ones open a browser.
func (p *process) auth(what string) int {
	err := os.MkdirAll(p.configDir(), 0o700)
	if err == nil {
		err = os.WriteFile(p.authFile(), []byte(what+"\n"), 0o600)
	}
	if err != nil {
		return p.refused(err)
	}
	fmt.Fprintf(p.stdout, "fake %s: done\n", what)
	return 0
}
