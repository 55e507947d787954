package state

import (
	"path/filepath"

	"github.com/cockroachdb/errors"
)

// ExtensionDir is the folder that the browser extension is written to, the
// same one each time: a browser that loaded it from there finds every later
// version. The state directory is made ready, the folder in it is not made.
func ExtensionDir(environ []string) (string, error) {
	dir, err := DefaultDir(environ)
	if err != nil {
		return "", err
	}
	real, err := secureDir(dir, "XDG_STATE_HOME")
	if err == nil {
		err = hideFromGit(real)
	}
	if err != nil {
		return "", errors.Wrap(err, "state directory")
	}
	return filepath.Join(real, "extension"), nil
}
