package gitrepo

import (
	"os"
	"path/filepath"
)

// TopOf returns the real path of the nearest folder at or above dir that
// holds a .git, without asking git: what the ledger and the lock of a
// repository are keyed by, from the first millisecond on. Where there is
// none, it is the real path of dir itself.
func TopOf(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", err
	}
	for at := real; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return real, nil
		}
	}
}
