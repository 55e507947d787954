package fakeagents

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/errors"
)

func (p *process) refused(reason error) int {
	refuse(p.stderr, reason)
	return exitRefused
}

// recorded loads the case of that name for the version that is played, else
// for the default one; real before made.
func (p *process) recorded(name string) (*Fixture, error) {
	for _, version := range []string{p.version, defaultVersions[p.name]} {
		for _, provenance := range []string{Real, Made} {
			f, err := p.corpus.Load(strings.Join([]string{p.name, provenance, version, name}, "/"))
			if err == nil {
				return f, nil
			}
		}
	}
	return nil, errors.Newf("no fixture %q of %s %s", name, p.name, p.version)
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

// signedOut is whether there is no login: the knob says so, until "login"
// was run; "logout" ends a login.
func (p *process) signedOut() bool {
	state, err := os.ReadFile(p.authFile())
	if err == nil {
		return strings.TrimSpace(string(state)) != "login"
	}
	return p.knob("signed_out") != ""
}

func (p *process) authFile() string { return filepath.Join(p.configDir(), "fakeagent-auth") }

// configDir is where the CLI keeps its files.
func (p *process) configDir() string {
	folder := configDirs[p.name]
	if dir := p.env.get(folder.variable); dir != "" {
		return dir
	}
	return filepath.Join(p.home(), folder.name)
}

// configDirs are the folders by CLI: the variable that names one, else one in
// the home.
var configDirs = map[string]struct{ variable, name string }{
	"claude": {"CLAUDE_CONFIG_DIR", ".claude"},
	"codex":  {"CODEX_HOME", ".codex"},
	"grok":   {"GROK_HOME", ".grok"},
}

func (p *process) home() string {
	if home := p.env.get("HOME"); home != "" {
		return home
	}
	return p.env.get("USERPROFILE") // Windows
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

// checkMarker demands what finds the processes that a run leaves behind.
func (p *process) checkMarker() error {
	if _, marked := p.env.lookup("SLIDEWRITE_RUN"); !marked && p.env.get(EnvNoMarker) == "" {
		return errors.New("SLIDEWRITE_RUN is not set: what the run leaves behind could not be found")
	}
	return nil
}

func (p *process) values(session string) Values {
	return Values{Repo: p.dir, Session: session, Home: p.home(), Tmp: p.env.get("CLAUDE_CODE_TMPDIR"), Now: p.now, PID: os.Getpid()}
}
