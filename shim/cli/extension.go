package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cockroachdb/errors"
	urfave "github.com/urfave/cli/v3"

	"github.com/slidewrite/slidewrite/extension"
	"github.com/slidewrite/slidewrite/shim/doctor"
	"github.com/slidewrite/slidewrite/shim/state"
)

// extensionDirFlag is where the extension goes. Its variable tells doctor, too.
var extensionDirFlag = flagSpec{name: "dir", env: "SLIDEWRITE_EXTENSION_DIR", says: "`folder` to write it to; without it slidewrite's own, which stays the same"}

// extensionCommand writes the extension to a folder.
func (a *app) extensionCommand() *urfave.Command {
	return &urfave.Command{
		Name:      "extension",
		Usage:     "write the browser extension to a folder for Load unpacked",
		UsageText: "slidewrite extension [flags]",
		Description: "Prints the folder and the three clicks to make. Called again it brings that folder up to this version, and removes what an older one had beside; " +
			"a folder with files of yours is refused. Chrome, Chromium, Edge and Brave load it.",
		Flags: a.flags(extensionDirFlag, jsonFlag),
		Action: func(_ context.Context, cmd *urfave.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
			}
			return a.writeExtension(cmd.String("dir"), cmd.Bool("json"))
		},
	}
}

// writtenExtension is what --json prints.
type writtenExtension struct {
	Dir     string `json:"dir"`
	Version string `json:"version"`
	Was     string `json:"was"`     // the version that stood there before, "" = none
	Changed bool   `json:"changed"` // something had to be written
}

// writeExtension writes the extension to dir, "" = its own folder.
func (a *app) writeExtension(dir string, asJSON bool) error {
	if dir == "" {
		var err error
		if dir, err = state.ExtensionDir(a.Environ); err != nil {
			return err
		}
	}
	w, err := extension.Write(dir, buildVersion().Version)
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(a.Stdout).Encode(writtenExtension(w))
	}
	out := a.output()
	fmt.Fprint(out, printable(saidOf(w)))
	return out.err
}

// saidOf tells what was written, and what to do with it.
func saidOf(w extension.Written) string {
	const again = "\nIf it is loaded already, press its reload arrow on chrome://extensions. If it is not:\n"
	said := fmt.Sprintf("the extension %s is in %s\n", w.Version, w.Dir)
	switch {
	case w.Was == "":
		said += "\nTo load it into Chrome, Chromium, Edge or Brave:\n"
	case !w.Changed:
		said = fmt.Sprintf("the extension %s is in %s already\n\nIf it is not loaded yet:\n", w.Version, w.Dir)
	case w.Was != w.Version:
		said += fmt.Sprintf("it was %s before\n", w.Was) + again
	default:
		said += again
	}
	return said + "  1. open chrome://extensions and switch on Developer mode, at the top right\n" +
		"  2. press Load unpacked\n" +
		"  3. choose that folder; where the dialog hides it, paste its path\n" +
		"\nThen connect it: open the link that slidewrite printed when it started, or a fresh one: slidewrite pair\n"
}

// extensionState is what doctor is told about the extension in its folder.
func (a *app) extensionState() (doctor.Extension, error) {
	e := doctor.Extension{Version: buildVersion().Version}
	var err error
	if e.Dir = lookupEnv(a.Environ, extensionDirFlag.variable()); e.Dir == "" {
		if e.Dir, err = state.ExtensionDir(a.Environ); err != nil {
			return e, err
		}
	}
	there, err := extension.Look(e.Dir, e.Version)
	e.Written, e.Whole, e.Current = there.Version, there.Whole, there.Current
	return e, errors.Wrap(err, "look at the extension")
}
