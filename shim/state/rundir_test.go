package state

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestRunDir(t *testing.T) {
	s := open(t)
	id := NewRunID()
	dir, err := s.RunDir(id)
	check(t, err)
	assertPrivate(t, dir, 1)
	if real, _ := filepath.EvalSymlinks(dir); real != dir || !filepath.IsAbs(dir) {
		t.Errorf("%s is not a real path (%s)", dir, real)
	}
	if _, err := s.RunDir(id); err == nil {
		t.Error("made twice")
	}
	// What an agent may leave there: a folder nobody may write to, a symlink
	// that must not be followed.
	outside := t.TempDir()
	check(t, os.WriteFile(outside+"/keep", nil, 0o600))
	check(t, os.MkdirAll(dir+"/a/b", 0o700))
	check(t, os.WriteFile(dir+"/a/b/file", nil, 0o600))
	if err := os.Symlink(outside, dir+"/link"); err != nil {
		t.Log(err) // Windows without the right to make one
	}
	check(t, os.Chmod(dir+"/a/b", 0o500))
	check(t, s.RemoveRunDir(id))
	check(t, s.RemoveRunDir(id))
	if exists(dir) || !exists(outside+"/keep") {
		t.Error("removed too little or too much")
	}
	assertNoFolders(t, s)
}

func assertNoFolders(t *testing.T, s *Store) {
	t.Helper()
	left, err := os.ReadDir(s.foldersDir())
	check(t, err)
	for _, e := range left {
		if e.Name() != "lock" {
			t.Errorf("left over: %s", e.Name())
		}
	}
}

// The agent makes Unix sockets in the folder, whose paths have about 104 bytes.
func TestRunDirIsShort(t *testing.T) {
	needUnix(t)
	long := filepath.Join(t.TempDir(), strings.Repeat("long/", 20))
	s, err := Open(long, t.TempDir())
	check(t, err)
	t.Setenv("TMPDIR", long) // too long as well
	id := NewRunID()
	dir, err := s.RunDir(id)
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	if len(dir) > 79 {
		t.Errorf("%d bytes: %s", len(dir), dir)
	}
	assertPrivate(t, dir, 1)
	check(t, os.Mkdir(dir+"/cc-socks", 0o700))
	l, err := net.Listen("unix", dir+"/cc-socks/1234567.sock")
	check(t, err)
	l.Close()
	check(t, s.RemoveRunDir(id))
	if exists(dir) {
		t.Error("still there")
	}
	assertNoFolders(t, s)
}

// A pointer that names some other folder removes nothing.
func TestOddPointer(t *testing.T) {
	s := open(t)
	precious := t.TempDir()
	for i, at := range []string{precious, "", "sw-relative", "/"} {
		id := NewRunID()
		check(t, os.WriteFile(s.folderFile(id, ".at"), []byte(at), 0o600))
		if swept, err := s.SweepRunDirs(nil); err != nil || !slices.Equal(swept, []string{id}) {
			t.Errorf("%d: %v, %v", i, swept, err)
		}
	}
	if !exists(precious) {
		t.Error("removed a folder that is not ours")
	}
}

// "Swept at start": leftovers of dead runs only, of every repository.
func TestSweep(t *testing.T) {
	s := open(t)
	mine, err := s.RunDir("my-run")
	check(t, err)
	living := second(t, "run", s.Dir(), t.TempDir(), "living-run")
	dead := second(t, "run", s.Dir(), t.TempDir(), "dead-run")
	check(t, os.WriteFile(dead.said+"/shot-1.png", nil, 0o600))
	dead.kill()
	held := second(t, "run", s.Dir(), t.TempDir(), "held-run")
	held.kill()
	check(t, os.Mkdir(filepath.Join(s.foldersDir(), "lockless-run"), 0o700))

	if err := s.RemoveRunDir("living-run"); err == nil || !exists(living.said) {
		t.Errorf("removed the folder of a living process (%v)", err)
	}
	swept, err := s.SweepRunDirs(func(id string) bool { return id == "held-run" })
	check(t, err)
	if !slices.Equal(swept, []string{"dead-run", "lockless-run"}) {
		t.Errorf("swept %v", swept)
	}
	for path, want := range map[string]bool{mine: true, living.said: true, held.said: true, dead.said: false} {
		if exists(path) != want {
			t.Errorf("%s: there %v, want %v", path, !want, want)
		}
	}
	living.kill()
	check(t, s.RemoveRunDir("living-run")) // of a dead one: allowed
	check(t, s.RemoveRunDir("held-run"))
	check(t, s.RemoveRunDir("my-run"))
	assertNoFolders(t, s)
}

func TestShims(t *testing.T) {
	s := open(t)
	repo := t.TempDir()
	if _, ok := s.FindShim(repo); ok {
		t.Fatal("found one in an empty list")
	}
	o := second(t, "announce", s.Dir(), repo, "127.0.0.1:4040")
	remove, err := s.Announce(Shim{PID: os.Getpid(), Addr: "[::1]:4041", Repo: s.Top(), StartedAt: time.Now()})
	check(t, err)
	sh, ok := s.FindShim(repo + "/.")
	if !ok || sh.PID != o.cmd.Process.Pid || sh.Addr != "127.0.0.1:4040" {
		t.Errorf("%+v, %v", sh, ok)
	}
	if sh, ok := s.ShimOnPort(4040); !ok || sh.PID != o.cmd.Process.Pid {
		t.Errorf("%+v, %v", sh, ok)
	}
	if sh, ok := s.ShimOnPort(4041); !ok || sh.Repo != s.Top() {
		t.Errorf("%+v, %v", sh, ok)
	}
	if _, ok := s.ShimOnPort(40); ok {
		t.Error("found one on another port")
	}
	// The newer one of a repository counts.
	again, err := s.Announce(Shim{PID: 1, Addr: "127.0.0.1:5", Repo: repo, StartedAt: time.Now().Add(time.Minute)})
	check(t, err)
	if sh, _ := s.FindShim(repo); sh.Addr != "127.0.0.1:5" {
		t.Errorf("%+v", sh)
	}
	again()
	remove()

	o.kill()
	check(t, os.WriteFile(filepath.Join(s.shimsDir(), "1-x.json"), []byte(`{"addr":"x","repo":"`+repo+`"}`), 0o600))
	if sh, ok := s.FindShim(repo); ok {
		t.Errorf("a dead one was found: %+v", sh)
	}
	left, err := os.ReadDir(s.shimsDir())
	check(t, err)
	if len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
}
