package grok

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// maxFile is how much of a file of grok's is read, in bytes: a summary has a
// few hundred, a list of models a few thousand.
const maxFile = 4 << 20

// FindSession tells which folder a session was recorded in, and its model.
// grok continues a session in that folder, whatever --cwd says, and with that
// model unless -m names another.
//
// The sessions of a folder lie in one whose name is made of its path (percent
// encoding, or a hash of a long one); here all are looked through for the id,
// as grok does itself.
func (g Grok) FindSession(ctx context.Context, s agent.Spec, environ []string) agent.Session {
	if !agent.UUIDPattern.MatchString(s.Resume) {
		return agent.Session{}
	}
	home := g.homeDir(environ)
	if home == "" {
		return agent.Session{}
	}
	root := filepath.Join(home, "sessions")
	folders, _ := os.ReadDir(root) // none, or not readable: no session
	var found agent.Session
	for _, f := range folders {
		if ctx.Err() != nil {
			break
		}
		sum, err := readSummary(filepath.Join(root, f.Name(), strings.ToLower(s.Resume), summaryFile))
		found.Unknown = found.Unknown || err != nil && !agent.Absent(err)
		if sum.Info.Cwd == "" {
			continue
		}
		found = agent.Session{Folder: sum.Info.Cwd, Model: sum.Model}
		if !elsewhere(s.Repo, agent.Session{}, found.Folder) {
			break
		}
	}
	return found
}

// summary is the part of summary.json that is read
// (xai-grok-shell/src/session/persistence.rs).
type summary struct {
	Info struct {
		Cwd string `json:"cwd"`
	} `json:"info"`
	Model string `json:"current_model_id"`
}

// readSummary reads a summary; of one that is torn it is empty. A grok that
// works elsewhere all the same is ended at its first line.
func readSummary(path string) (s summary, err error) {
	b, err := readFile(path)
	if err != nil || json.Unmarshal(b, &s) != nil {
		return summary{}, err
	}
	return s, nil
}

func readFile(path string) ([]byte, error) {
	f, _, err := agent.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// homeDir is where grok keeps its files: GROK_HOME as it is, else ~/.grok.
func (g Grok) homeDir(environ []string) string {
	if g.home != "" {
		return g.home
	}
	if home := agent.Lookup(environ, "GROK_HOME"); home != "" {
		return home
	}
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if home := agent.Lookup(environ, name); home != "" {
			return filepath.Join(home, ".grok")
		}
	}
	return ""
}
