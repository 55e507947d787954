package fakeagents

import (
	"fmt"
	"os"
	"slices"

	"github.com/cockroachdb/errors"
)

// claude plays the claude CLI and returns its exit code.
func (p *process) claude() int {
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
