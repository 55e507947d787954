package state

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/cockroachdb/errors"
)

// tempPrefix starts the names of files that are being written. Readers skip
// them; Prune removes those a dead process left behind.
const tempPrefix = ".new-"

// secureDir creates dir where it is missing, makes it private and returns its
// real path. variable is the environment variable that puts it elsewhere.
func secureDir(dir, variable string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := checkWay(abs); err != nil {
		return "", err
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return "", errors.WithHint(errors.Wrap(err, "create it"), "set "+variable+" to a folder you can write to")
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", err
	}
	if err := checkWay(real); err != nil {
		return "", err
	}
	return real, privateDir(real)
}

// privateDir creates dir where it is missing, checks that it is a folder of
// this user and sets its mode to 0700 if that is wrong.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return cannotWrite(dir, err)
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		return errors.WithHintf(errors.Newf("%s is not a folder", dir), "move %s away", dir)
	}
	if err := checkOwner(dir, fi); err != nil {
		return err
	}
	if runtime.GOOS != "windows" && fi.Mode().Perm() != 0o700 {
		return errors.Wrap(os.Chmod(dir, 0o700), "make it private")
	}
	return nil
}

// readFile reads a private file of ours, and makes it private again when its
// mode lets others read it.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, errors.Newf("%s is not a regular file", path)
	}
	if runtime.GOOS != "windows" && fi.Mode().Perm()&0o077 != 0 {
		if err := f.Chmod(0o600); err != nil {
			return nil, errors.Wrap(err, "make it private")
		}
	}
	return io.ReadAll(f)
}

// writeFile replaces path by data: readers see the old bytes or the new ones,
// also after a power cut, and the new ones are on disk when it returns.
func writeFile(path string, data []byte) error {
	if err := replaceFile(path, data, true); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// noteFile is writeFile for what a power cut may take: it does not wait for
// the disk, which costs milliseconds.
func noteFile(path string, data []byte) error { return replaceFile(path, data, false) }

func replaceFile(path string, data []byte, durable bool) (err error) {
	defer func() {
		if err != nil {
			err = cannotWrite(path, err)
		}
	}()
	f, err := os.CreateTemp(filepath.Dir(path), tempPrefix+"*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(data); err != nil {
		return err
	}
	if durable {
		if err = f.Sync(); err != nil {
			return err
		}
	}
	if err = f.Close(); err != nil {
		return err
	}
	return rename(f.Name(), path)
}

// cannotWrite is the failure to write path, without the name of the temporary
// file it happened at, and with what helps against it.
func cannotWrite(path string, err error) error {
	cause := err
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at):
		cause = at.Err
	case errors.As(err, &link):
		cause = link.Err
	}
	fix := ""
	switch {
	case errors.IsAny(cause, syscall.ENOSPC, syscall.EDQUOT):
		fix = "make room on the disk that holds " + filepath.Dir(path)
	case errors.IsAny(cause, os.ErrPermission, syscall.EROFS):
		fix = "make " + filepath.Dir(path) + " writable, or set XDG_STATE_HOME (for tokens XDG_CONFIG_HOME) to a folder you can write to"
	}
	err = errors.Wrapf(cause, "%s cannot be written", path)
	if fix != "" {
		err = errors.WithHint(err, fix)
	}
	return err
}

// rename replaces newPath. On Windows that fails for as long as somebody has
// the old file open, which a reader of ours has for a moment only.
func rename(oldPath, newPath string) error {
	err := os.Rename(oldPath, newPath)
	for try := 0; err != nil && runtime.GOOS == "windows" && errors.Is(err, os.ErrPermission) && try < 50; try++ {
		time.Sleep(5 * time.Millisecond)
		err = os.Rename(oldPath, newPath)
	}
	return err
}

// syncDir makes a rename in dir durable. Windows has no such call and needs
// none.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// removeTree removes dir and all below it, folders without write permission
// included (an agent may have made some). Symlinks are not followed.
func removeTree(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			// The walk reads a folder after this call, so it can now.
			return os.Chmod(path, 0o700)
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.RemoveAll(dir)
}
