//go:build unix

package state

import (
	"os"
	"path/filepath"
	"syscall"

	"github.com/cockroachdb/errors"
)

func ownerOf(fi os.FileInfo) int {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// checkOwner refuses what belongs to somebody else: with sudo and the
// environment of another user, files of root would end up in their home, or
// secrets of ours in a folder they control.
func checkOwner(path string, fi os.FileInfo) error {
	if owner, me := ownerOf(fi), os.Geteuid(); owner != me {
		return errors.WithHint(
			errors.Newf("%s belongs to user %d, and this is user %d", path, owner, me),
			"run slidewrite as the owner of that folder, or set XDG_STATE_HOME and XDG_CONFIG_HOME to folders of your own")
	}
	return nil
}

// checkWay refuses a path that another user could lead somewhere else: through
// a folder that everybody may write to (a sticky one such as /tmp is fine), or
// through a symlink that a stranger made in such a folder.
func checkWay(path string) error {
	for dir := filepath.Dir(path); ; path, dir = dir, filepath.Dir(dir) {
		parent, err := os.Stat(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue // will be created by us; the root always exists
		}
		if err != nil {
			return err
		}
		if err := checkStep(path, dir, parent); err != nil {
			return err
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// checkStep checks the entry path of the folder dir.
func checkStep(path, dir string, parent os.FileInfo) error {
	if parent.Mode().Perm()&0o002 == 0 {
		return nil
	}
	if parent.Mode()&os.ModeSticky == 0 {
		return errors.WithHintf(
			errors.Newf("everybody may write to %s and so replace what is in it", dir),
			"chmod o-w %s", dir)
	}
	fi, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if owner := ownerOf(fi); owner != os.Geteuid() && owner != 0 {
		return errors.WithHintf(
			errors.Newf("%s, in a folder that everybody may write to, was made by user %d", path, owner),
			"remove it, or set XDG_STATE_HOME to a folder of your own")
	}
	return nil
}

// alive tells whether a process of this number exists. The number may have
// been used again since.
func alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
