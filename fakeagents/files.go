package fakeagents

import (
	"bytes"
	"encoding/base64"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors"
)

// WriteRepo writes the files the fixture's working directory held before the
// run. It runs no git: what is committed is the caller's to say (the recorder
// had committed all that is not ignored; none at all means an unborn branch).
func (f *Fixture) WriteRepo(dir string) error { return WriteFiles(dir, f.Repo) }

// WriteFiles writes files below dir.
func WriteFiles(dir string, files []File) error {
	for _, file := range files {
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(file.Path)), file); err != nil {
			return errors.Wrapf(err, "write %s", file.Path)
		}
	}
	return nil
}

// writeFile writes one file anew: what stood there, a link perhaps, is not
// written through.
func writeFile(path string, f File) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if f.Symlink {
		return os.Symlink(string(f.Data), path)
	}
	if err := os.WriteFile(path, f.Data, f.Mode.Perm()); err != nil {
		return err
	}
	return os.Chmod(path, f.Mode.Perm()) // whatever the umask says
}

// Apply makes the change in dir. A replacement that does not fit is an error:
// the real edit tool would have failed too.
func (e Effect) Apply(dir string) error {
	path := filepath.Join(dir, filepath.FromSlash(e.Path))
	err := e.apply(dir, path)
	return errors.Wrapf(err, "effect on %q after line %d", e.Path, e.After)
}

func (e Effect) apply(dir, path string) error {
	mode, err := e.mode()
	if err != nil {
		return err
	}
	switch {
	case e.Write != nil:
		return overwrite(path, []byte(*e.Write), mode)
	case e.Base64 != nil:
		data, err := base64.StdEncoding.DecodeString(*e.Base64)
		if err != nil {
			return err
		}
		return overwrite(path, data, mode)
	case e.Replace != nil:
		return e.replace(path)
	case e.Symlink != "":
		return writeFile(path, File{Data: []byte(e.Symlink), Symlink: true})
	case e.Delete:
		return os.RemoveAll(path)
	case e.Mkdir:
		return os.MkdirAll(path, 0o755)
	case e.Run != nil:
		cmd := exec.Command(e.Run[0], e.Run[1:]...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return errors.Wrapf(err, "%s: %s", strings.Join(e.Run, " "), out)
	}
	return os.Chmod(path, mode)
}

func (e Effect) mode() (fs.FileMode, error) {
	if e.Mode == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(e.Mode, 8, 32)
	return fs.FileMode(n), err
}

// overwrite writes as an editor does: an existing file keeps its mode unless
// one is named.
func overwrite(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	perm := mode
	if perm == 0 {
		perm = 0o644
	}
	if err := os.WriteFile(path, data, perm); err != nil {
		return err
	}
	if mode == 0 {
		return nil
	}
	return os.Chmod(path, mode)
}

func (e Effect) replace(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for _, r := range e.Replace {
		if n := bytes.Count(data, []byte(r.Old)); n != 1 {
			return errors.Newf("%.80q is there %d times, not once", r.Old, n)
		}
		data = bytes.Replace(data, []byte(r.Old), []byte(r.New), 1)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, info.Mode().Perm())
}
