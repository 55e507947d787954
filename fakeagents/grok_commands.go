package fakeagents

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/errors"
)

// grok plays the grok CLI and returns its exit code. No grok was ever recorded:
// what it does was read in the source of 1.0.6.
func (p *process) grok() int {
	switch strings.Join(p.args, " ") {
	case "--version":
		fmt.Fprintf(p.stdout, "grok %s (abc1234) [stable]\n", p.version)
		return 0
	case "models":
		return p.grokModels()
	case "login", "logout":
		if code := p.auth(p.args[0]); code != 0 {
			return code
		}
		return p.command(p.args[0])
	}
	args, err := checkGrokArgs(p.args)
	if err == nil {
		err = checkEnv(p.env)
	}
	if err == nil {
		err = p.checkMarker()
	}
	if err == nil {
		err = p.checkGrokFolder(args.cwd)
	}
	if err != nil {
		return p.refused(err)
	}
	return p.grokTurn(args)
}

// checkGrokFolder demands that --cwd is the real path of the folder grok was
// started in.
func (p *process) checkGrokFolder(cwd string) error {
	if cwd != p.dir {
		return errors.Newf("--cwd %q is not the real path of the working directory, %q", cwd, p.dir)
	}
	return nil
}

// grokModels lists the models and leaves grok's own list where grok does. With
// a key it names the key, signed in or not; signed out it lists what it was
// built with.
func (p *process) grokModels() int {
	name := "models"
	switch {
	case p.env.get("XAI_API_KEY") != "" || p.env.get("GROK_CODE_XAI_API_KEY") != "":
		name = "models-api-key"
	case p.signedOut():
		name = "models-signed-out"
	}
	f, err := p.recorded(name)
	if err != nil {
		return p.refused(err)
	}
	for _, file := range f.Disk {
		file.Data = p.values("").FillText(file.Data)
		if err := writeFile(filepath.Join(p.configDir(), filepath.FromSlash(file.Path)), file); err != nil {
			return p.refused(err)
		}
	}
	return p.command(name)
}

// grokTemp is the folder of the prompt file: what {{TMP}} stands for.
func grokTemp(promptFile string) string { return filepath.Dir(promptFile) }

// exists tells whether there is a folder of that name.
func exists(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}
