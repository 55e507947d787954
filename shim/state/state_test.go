package state

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/errors"
)

func TestDefaultDir(t *testing.T) {
	tests := []struct {
		goos    string
		environ []string
		want    string // "" = an error
	}{
		{"linux", []string{"HOME=/home/u"}, "/home/u/.local/state/slidewrite"},
		{"linux", []string{"HOME=/home/u", "XDG_STATE_HOME=/s"}, "/s/slidewrite"},
		{"linux", []string{"HOME=/home/u", "XDG_STATE_HOME=relative"}, "/home/u/.local/state/slidewrite"},
		{"linux", []string{"HOME=/home/u", "XDG_STATE_HOME="}, "/home/u/.local/state/slidewrite"},
		{"linux", []string{"HOME=/a", "HOME=/b"}, "/b/.local/state/slidewrite"},
		{"linux", nil, ""},
		{"darwin", []string{"HOME=/Users/u"}, "/Users/u/Library/Application Support/slidewrite"},
		{"darwin", []string{"HOME=/Users/u", "XDG_STATE_HOME=/s"}, "/s/slidewrite"},
		{"windows", []string{`LOCALAPPDATA=C:\u`}, filepath.Join(`C:\u`, "slidewrite")},
		{"windows", []string{"HOME=/home/u"}, ""},
	}
	for _, tt := range tests {
		got, err := defaultDir(tt.goos, tt.environ)
		if filepath.ToSlash(got) != filepath.ToSlash(tt.want) || (err == nil) != (tt.want != "") {
			t.Errorf("%s %v: %q, %v; want %q", tt.goos, tt.environ, got, err, tt.want)
		}
		if err != nil && len(errors.GetAllHints(err)) == 0 {
			t.Errorf("%s %v: no hint with %v", tt.goos, tt.environ, err)
		}
	}
}

func TestConfigDir(t *testing.T) {
	for _, tt := range []struct {
		goos    string
		environ []string
		want    string // "" = an error
	}{
		{"linux", []string{"HOME=/home/u"}, "/home/u/.config/slidewrite"},
		{"linux", []string{"HOME=/home/u", "XDG_CONFIG_HOME=/c"}, "/c/slidewrite"},
		{"linux", []string{"HOME=/home/u", "XDG_CONFIG_HOME=relative"}, "/home/u/.config/slidewrite"},
		{"linux", nil, ""},
		{"darwin", []string{"HOME=/Users/u"}, "/Users/u/Library/Application Support/slidewrite"},
		{"windows", []string{`APPDATA=C:\u`}, filepath.Join(`C:\u`, "slidewrite")},
		{"windows", []string{"HOME=/home/u"}, ""},
	} {
		got, err := configDir(tt.goos, tt.environ)
		if filepath.ToSlash(got) != filepath.ToSlash(tt.want) || (err == nil) != (tt.want != "") {
			t.Errorf("%s %v: %q, %v; want %q", tt.goos, tt.environ, got, err, tt.want)
		}
	}
}

// Everything is 0700 and 0600, and is made so again.
func TestModes(t *testing.T) {
	needUnix(t)
	dir, repo := t.TempDir()+"/a/b/state", t.TempDir()
	s, err := Open(dir, repo)
	check(t, err)
	id := NewRunID()
	check(t, s.Put(Record{ID: id, Kind: KindDesign, State: Done}))
	lock, err := s.Lock(repo, Holder{RunID: id})
	check(t, err)
	_, err = s.RunDir(id)
	check(t, err)
	remove, err := s.Announce(Shim{PID: 1, Addr: "127.0.0.1:1", Repo: repo})
	check(t, err)
	assertPrivate(t, dir, 9)
	assertPrivate(t, filepath.Dir(dir), 9) // folders above it that we made
	remove()
	lock.Release()

	for _, d := range []string{dir, s.runsDir(), s.foldersDir()} {
		check(t, os.Chmod(d, 0o777))
	}
	check(t, os.Chmod(s.recordPath(id), 0o644))
	s, err = Open(dir, repo)
	check(t, err)
	_, err = s.Get(id)
	check(t, err)
	assertPrivate(t, dir, 6)
}

// assertPrivate walks dir and wants at least that many files and folders.
func assertPrivate(t *testing.T, dir string, atLeast int) {
	t.Helper()
	n := 0
	check(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		n++
		if want := map[bool]os.FileMode{true: 0o700, false: 0o600}[d.IsDir()]; fi.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", path, fi.Mode().Perm(), want)
		}
		return nil
	}))
	if n < atLeast {
		t.Errorf("%d files and folders below %s, want %d", n, dir, atLeast)
	}
}

func TestOpenRefuses(t *testing.T) {
	needUnix(t)
	const stranger = 54321
	chown := func(t *testing.T, path string) {
		t.Helper()
		if os.Geteuid() != 0 {
			t.Skip("only root can give files to another user")
		}
		check(t, os.Lchown(path, stranger, stranger))
	}
	tests := []struct {
		name string
		make func(t *testing.T, base string) (dir string)
		says string // "" = accepted
	}{
		{"a folder of another user", func(t *testing.T, base string) string {
			check(t, os.Mkdir(base+"/s", 0o700))
			chown(t, base+"/s")
			return base + "/s"
		}, "belongs to user 54321"},
		{"a folder inside of another user", func(t *testing.T, base string) string {
			check(t, os.MkdirAll(base+"/s/shims", 0o700))
			chown(t, base+"/s/shims")
			return base + "/s"
		}, "belongs to user 54321"},
		{"a parent that everybody may write to", func(t *testing.T, base string) string {
			check(t, os.Mkdir(base+"/open", 0o700))
			check(t, os.Chmod(base+"/open", 0o777))
			return base + "/open/x/s"
		}, "everybody may write to"},
		{"a parent like /tmp", func(t *testing.T, base string) string {
			check(t, os.Mkdir(base+"/tmp", 0o700))
			check(t, os.Chmod(base+"/tmp", 0o777|os.ModeSticky))
			return base + "/tmp/s"
		}, ""},
		{"a symlink of a stranger in a folder like /tmp", func(t *testing.T, base string) string {
			check(t, os.Mkdir(base+"/mine", 0o700))
			check(t, os.Mkdir(base+"/tmp", 0o700))
			check(t, os.Chmod(base+"/tmp", 0o777|os.ModeSticky))
			check(t, os.Symlink(base+"/mine", base+"/tmp/link"))
			chown(t, base+"/tmp/link")
			return base + "/tmp/link/s"
		}, "was made by user 54321"},
		{"a symlink of the user's own", func(t *testing.T, base string) string {
			check(t, os.Mkdir(base+"/disk", 0o700))
			check(t, os.Symlink(base+"/disk", base+"/link"))
			return base + "/link/s"
		}, ""},
		{"a symlink into a folder that everybody may write to", func(t *testing.T, base string) string {
			check(t, os.MkdirAll(base+"/open/s", 0o700))
			check(t, os.Chmod(base+"/open", 0o777))
			check(t, os.Symlink(base+"/open/s", base+"/s"))
			return base + "/s"
		}, "everybody may write to"},
		{"a file in its place", func(t *testing.T, base string) string {
			check(t, os.WriteFile(base+"/s", nil, 0o600))
			return base + "/s"
		}, "not a directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Open(tt.make(t, t.TempDir()), t.TempDir())
			if tt.says == "" {
				check(t, err)
				assertPrivate(t, s.Dir(), 5)
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) || len(errors.GetAllHints(err)) == 0 {
				t.Errorf("%v (hints %v), want %q and a hint", err, errors.GetAllHints(err), tt.says)
			}
		})
	}
}

// One directory, one repository: the same names by whatever path.
func TestRealPaths(t *testing.T) {
	base, repo := t.TempDir(), t.TempDir()
	a, err := Open(base+"/state", repo)
	check(t, err)
	check(t, os.Symlink(base, repo+"-link"))
	t.Cleanup(func() { os.Remove(repo + "-link") })
	b, err := Open(repo+"-link/state", repo+"/.")
	check(t, err)
	if a.Hash() != b.Hash() || a.own != b.own || a.Top() != b.Top() {
		t.Errorf("%s %s, %s %s", a.Hash(), b.Hash(), a.own, b.own)
	}
	if !regexp.MustCompile(`^[0-9a-f]{12}$`).MatchString(a.Hash()) {
		t.Errorf("hash %q", a.Hash())
	}
	c, err := Open(base+"/state", t.TempDir())
	check(t, err)
	if c.own == a.own || c.Hash() != a.Hash() {
		t.Error("two repositories of one state directory must differ, their directory not")
	}
	path, err := os.ReadFile(filepath.Join(a.own, "path"))
	check(t, err)
	if strings.TrimSpace(string(path)) != a.Top() {
		t.Errorf("path says %q, want %q", path, a.Top())
	}
}

func TestRunID(t *testing.T) {
	a, b := NewRunID(), NewRunID()
	if a == b || !regexp.MustCompile(`^\d{8}t\d{6}-[0-9a-f]{8}$`).MatchString(a) {
		t.Errorf("%q, %q", a, b)
	}
	for id, want := range map[string]bool{
		a: true, "run-1": true,
		"": false, "..": false, "a/b": false, `a\b`: false, "a.b-c": false, "A-b": false, "-a": false, "a-": false, "a--b": false, "con": false,
		"a-b\n": false, "ä-b": false, "a-%2e": false, strings.Repeat("a", 63) + "-b": false,
	} {
		if ValidRunID(id) != want {
			t.Errorf("ValidRunID(%q) = %v", id, !want)
		}
	}
	s := open(t)
	for _, id := range []string{"", "../x", "..", "a/../b-c"} {
		if s.JournalPath(id) != "" {
			t.Errorf("JournalPath(%q) = %q", id, s.JournalPath(id))
		}
		if _, err := s.RunDir(id); err == nil {
			t.Errorf("RunDir(%q) made one", id)
		}
		if _, err := s.Get(id); !errors.Is(err, ErrNoRecord) {
			t.Errorf("Get(%q): %v", id, err)
		}
		if s.Put(Record{ID: id, Kind: KindDesign, State: Done}) == nil || s.Remove(id) == nil {
			t.Errorf("%q was accepted", id)
		}
	}
}

func needUnix(t *testing.T) {
	t.Helper()
	if os.PathSeparator != '/' {
		t.Skip("Windows has no modes")
	}
}
