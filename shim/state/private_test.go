package state

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/errors"
)

// Every folder of ours says to git that nothing in it is to be added, also a
// run's folder that had to go elsewhere; what a person wrote there stays.
func TestHiddenFromGit(t *testing.T) {
	needUnix(t)
	s := open(t)
	config := t.TempDir()
	_, err := tokenIn(config, s.Top())
	check(t, err)
	long, err := Open(filepath.Join(t.TempDir(), strings.Repeat("long", 20)), t.TempDir())
	check(t, err)
	id := NewRunID()
	far, err := long.RunDir(id)
	check(t, err)
	if strings.HasPrefix(far, long.Dir()) {
		t.Fatalf("%s is not elsewhere", far)
	}
	near, err := s.RunDir(id)
	check(t, err)
	for _, dir := range []string{s.Dir(), tokensDir(config), far} {
		if b, err := os.ReadFile(filepath.Join(dir, ".gitignore")); err != nil || string(b) != "*\n" {
			t.Errorf("%s: %q, %v", dir, b, err)
		}
	}
	if left := below(t, near); len(left) > 0 { // the one above counts
		t.Errorf("in the run's folder: %q", left)
	}
	check(t, s.RemoveRunDir(id))
	check(t, long.RemoveRunDir(id))
	if _, err := os.Lstat(far); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", far, err)
	}

	write(t, filepath.Join(s.Dir(), ".gitignore"), "tmp/\n")
	_, err = Open(s.Dir(), s.Top())
	check(t, err)
	if b, err := os.ReadFile(filepath.Join(s.Dir(), ".gitignore")); err != nil || string(b) != "tmp/\n" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestPrivate(t *testing.T) {
	needUnix(t)
	s := open(t)
	home, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	tokens := filepath.Join(home, "dotfiles", "slidewrite", "tokens")
	check(t, os.MkdirAll(tokens, 0o700))
	check(t, os.Symlink("dotfiles", filepath.Join(home, ".config")))
	for _, tc := range []struct {
		environ []string
		want    []string
	}{
		{[]string{"XDG_CONFIG_HOME=" + home + "/.config"}, []string{s.Dir(), tokens}},
		{[]string{"XDG_CONFIG_HOME=" + home + "/nowhere"}, []string{s.Dir(), home + "/nowhere/slidewrite/tokens"}},
		{nil, []string{s.Dir()}},
	} {
		if got := s.Private(tc.environ); !slices.Equal(got, tc.want) {
			t.Errorf("%q: %q, want %q", tc.environ, got, tc.want)
		}
	}
}

// A repository in the state directory would be ours altogether.
func TestOpenInside(t *testing.T) {
	dir := t.TempDir()
	for _, top := range []string{dir, filepath.Join(dir, "r", "repo")} {
		check(t, os.MkdirAll(top, 0o700))
		_, err := Open(dir, top)
		if err == nil || !strings.Contains(err.Error(), "lies in slidewrite's own state directory") || len(errors.GetAllHints(err)) != 1 {
			t.Errorf("%s: %v (%v)", top, err, errors.GetAllHints(err))
		}
	}
	beside := dir + "-of-mine"
	check(t, os.Mkdir(beside, 0o700))
	defer os.Remove(beside)
	if _, err := Open(dir, beside); err != nil {
		t.Error(err)
	}
	if _, err := Open(filepath.Join(beside, "state"), beside); err != nil {
		t.Errorf("the state directory in the repository: %v", err)
	}
	check(t, os.RemoveAll(filepath.Join(beside, "state")))
}

// What cannot be written is told by its own name, with what helps.
func TestCannotWrite(t *testing.T) {
	const path = "/state/repos/x/holder.json"
	for _, tc := range []struct {
		err  error
		want string
		fix  string
	}{
		{&fs.PathError{Op: "open", Path: "/state/repos/x/.new-123", Err: syscall.EROFS}, syscall.EROFS.Error(), "make /state/repos/x writable, or set XDG_STATE_HOME"},
		{&fs.PathError{Op: "open", Path: "/state/repos/x/.new-123", Err: syscall.EACCES}, syscall.EACCES.Error(), "make /state/repos/x writable, or set XDG_STATE_HOME"},
		{&fs.PathError{Op: "write", Path: "/state/repos/x/.new-123", Err: syscall.ENOSPC}, syscall.ENOSPC.Error(), "make room on the disk that holds /state/repos/x"},
		{&os.LinkError{Op: "rename", Old: "/state/repos/x/.new-123", New: path, Err: syscall.EISDIR}, syscall.EISDIR.Error(), ""},
	} {
		err := cannotWrite(path, tc.err)
		if got, want := err.Error(), path+" cannot be written: "+tc.want; filepath.Separator == '/' && got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if fix := errors.FlattenHints(err); filepath.Separator == '/' && (!strings.HasPrefix(fix, tc.fix) || fix == "" != (tc.fix == "")) {
			t.Errorf("%v: fix %q", tc.err, fix)
		}
		if !errors.Is(err, errors.UnwrapAll(tc.err)) {
			t.Errorf("%v is not %v any more", err, tc.err)
		}
	}
}

// Who cannot say that it holds the lock lets go of it, leaves no temporary file
// and names none.
func TestLockCannotSay(t *testing.T) {
	s := open(t)
	note := filepath.Join(s.own, "holder.json")
	write(t, filepath.Join(note, "in the way"), "")
	_, err := s.Lock(s.Top(), Holder{RunID: NewRunID()})
	if err == nil || !strings.Contains(err.Error(), note+" cannot be written: ") || strings.Contains(err.Error(), tempPrefix) {
		t.Errorf("%v", err)
	}
	if got := below(t, s.own); slices.ContainsFunc(got, func(p string) bool { return strings.Contains(p, tempPrefix) }) {
		t.Errorf("left: %q", got)
	}
	check(t, os.RemoveAll(note))
	lock, err := s.Lock(s.Top(), Holder{RunID: NewRunID()})
	check(t, err)
	lock.Release()
}
