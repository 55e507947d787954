package gitrepo

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
)

// TopOf returns the real path of the nearest folder at or above dir that
// holds a .git, without asking git: what the ledger and the lock of a
// repository are keyed by, from the first millisecond on. Where there is
// none, it is the real path of dir itself.
//
// A bare repository on the way is one of its own, as it is to git, whatever
// working tree it lies in: then its folder is returned. So is a .git folder
// that dir lies in.
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
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil || isGitDir(at) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return real, nil
		}
	}
}

// isGitDir tells whether git takes a folder itself for a repository (2.39:
// is_git_directory): it has objects and refs, and a HEAD that can be one.
func isGitDir(dir string) bool {
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	head := filepath.Join(dir, "HEAD")
	info, err := os.Lstat(head)
	switch {
	case err != nil:
		return false
	case info.Mode()&os.ModeSymlink != 0:
		target, err := os.Readlink(head)
		return err == nil && strings.HasPrefix(filepath.ToSlash(target), "refs/")
	case !info.Mode().IsRegular() || info.Size() > 4096:
		return false
	}
	data, err := os.ReadFile(head)
	if err != nil {
		return false
	}
	if ref, ok := bytes.CutPrefix(data, []byte("ref:")); ok {
		return bytes.HasPrefix(bytes.TrimLeft(ref, " \t\n"), []byte("refs/"))
	}
	id, err := hex.DecodeString(string(bytes.TrimSpace(data)))
	return err == nil && (len(id) == 20 || len(id) == 32)
}
