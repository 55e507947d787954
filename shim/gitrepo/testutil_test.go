package gitrepo

import (
	"context"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain gives every test a HOME and a git configuration of its own, so that
// the developer's settings never matter and tests may run in parallel. The
// child of a kill test has its parent's: it does not live to remove its own.
func TestMain(m *testing.M) {
	if os.Getenv(killVariable) != "" {
		os.Exit(m.Run())
	}
	home, err := os.MkdirTemp("", "gitrepo-test-home")
	if err != nil {
		panic(err)
	}
	for _, kv := range os.Environ() {
		if key, _, _ := strings.Cut(kv, "="); strings.HasPrefix(key, "GIT_") {
			os.Unsetenv(key)
		}
	}
	config := filepath.Join(home, "gitconfig")
	must(os.WriteFile(config, []byte("[user]\n\tname = Ada User\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n[core]\n\tautocrlf = false\n\tcommitGraph = false\n\tmultiPackIndex = false\n[protocol \"file\"]\n\tallow = always\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"), 0o600))
	for key, value := range map[string]string{
		"HOME": home, "USERPROFILE": home, "XDG_CONFIG_HOME": filepath.Join(home, "config"),
		"XDG_STATE_HOME": filepath.Join(home, "state"), "GIT_CONFIG_GLOBAL": config, "GIT_CONFIG_NOSYSTEM": "1",
	} {
		must(os.Setenv(key, value))
	}
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// testRepo is a repository in a temporary folder, driven by the user's own git
// (no option of ours) and by plain file writes. Every method fails the test on
// an error.
type testRepo struct {
	t   testing.TB
	dir string // real path of the working tree's top level

	opened  *Repo  // by open, under environ
	environ string // this process's, as it was then
}

// newRepo makes an empty repository on branch main; initArgs go to git init.
func newRepo(t testing.TB, initArgs ...string) *testRepo {
	t.Helper()
	r := &testRepo{t: t, dir: realTempDir(t)}
	if len(initArgs) > 0 {
		r.git(append([]string{"init", "-q"}, initArgs...)...)
		return r
	}
	made, err := initialised()
	if err == nil {
		err = os.CopyFS(r.dir, os.DirFS(made))
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// initialised is a folder with what git init makes, which is copied: that is
// several times faster than a process.
var initialised = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(os.Getenv("HOME"), "initialised")
	out, err := exec.Command("git", "init", "-q", "--template=", dir).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git init: %w: %s", err, out)
	}
	return dir, nil
})

// newRepoWith is newRepo with the given files committed as "base".
func newRepoWith(t testing.TB, files map[string]string) *testRepo {
	t.Helper()
	r := newRepo(t)
	for name, content := range files {
		r.write(name, content)
	}
	r.commit("base")
	return r
}

// twin is another repository with the same content: files, index, history.
func (r *testRepo) twin(t testing.TB) *testRepo {
	t.Helper()
	twin := &testRepo{t: t, dir: realTempDir(t)}
	if err := os.CopyFS(twin.dir, os.DirFS(r.dir)); err != nil {
		t.Fatal(err)
	}
	twin.git("update-index", "--refresh") // the index knows the files by their times
	return twin
}

// realTempDir is t.TempDir without symlinks in the path.
func realTempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// path joins a slash-separated name to the top level.
func (r *testRepo) path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

// tryGit runs the user's git in the top level: stdout, stderr joined to the error.
func (r *testRepo) tryGit(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("git %q: %w: %s", args, err, stderr.String())
	}
	return stdout.String(), nil
}

// git runs the user's git and returns its stdout without the last newline.
func (r *testRepo) git(args ...string) string {
	r.t.Helper()
	out, err := r.tryGit(args...)
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSuffix(out, "\n")
}

// write puts content into a file, making its folders.
func (r *testRepo) write(name, content string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(r.path(name)), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(r.path(name), []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// read returns a file's content.
func (r *testRepo) read(name string) string {
	r.t.Helper()
	data, err := os.ReadFile(r.path(name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

// remove deletes files or whole folders.
func (r *testRepo) remove(names ...string) {
	r.t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(r.path(name)); err != nil {
			r.t.Fatal(err)
		}
	}
}

// symlink makes name a symbolic link to target.
func (r *testRepo) symlink(target, name string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(r.path(name)), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Symlink(target, r.path(name)); err != nil {
		r.t.Skipf("no symbolic links here: %v", err)
	}
}

// chmod sets the permission bits of a file.
func (r *testRepo) chmod(name string, mode os.FileMode) {
	r.t.Helper()
	if err := os.Chmod(r.path(name), mode); err != nil {
		r.t.Fatal(err)
	}
}

// setTime sets a file's mtime (its ctime becomes now).
func (r *testRepo) setTime(name string, at time.Time) {
	r.t.Helper()
	if err := os.Chtimes(r.path(name), at, at); err != nil {
		r.t.Fatal(err)
	}
}

// commit stages everything and commits it.
func (r *testRepo) commit(message string) {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", message)
}

// open opens the repository with the code under test, once, as a shim does;
// each caller has a copy of its own to set up.
func (r *testRepo) open() *Repo {
	r.t.Helper()
	if environ := strings.Join(os.Environ(), "\x00"); r.opened == nil || r.environ != environ {
		repo, err := Open(context.Background(), r.dir)
		if err != nil {
			r.t.Fatal(err)
		}
		r.opened, r.environ = repo, environ
	}
	repo := *r.opened
	return &repo
}

// snapshot takes a first snapshot.
func (r *testRepo) snapshot() *Snapshot {
	r.t.Helper()
	s, err := r.open().Snapshot(context.Background())
	if err != nil {
		r.t.Fatalf("snapshot: %v", err)
	}
	return s
}

// after takes the second snapshot of a run.
func (r *testRepo) after(before *Snapshot) *Snapshot {
	r.t.Helper()
	s, err := r.open().SnapshotAfter(context.Background(), before)
	if err != nil {
		r.t.Fatalf("snapshot after: %v", err)
	}
	return s
}

// change takes the second snapshot and compares.
func (r *testRepo) change(before *Snapshot) *Change {
	r.t.Helper()
	c, err := r.open().Change(context.Background(), before, r.after(before))
	if err != nil {
		r.t.Fatalf("change: %v", err)
	}
	return c
}

// tree returns every path of a tree (or commit) as "mode content"; a gitlink
// as "160000 <commit>".
func (r *testRepo) tree(treeish string) map[string]string {
	r.t.Helper()
	files := map[string]string{}
	for _, line := range strings.Split(r.git("ls-tree", "-r", "-z", treeish), "\x00") {
		meta, name, ok := strings.Cut(line, "\t")
		if !ok {
			continue
		}
		f := strings.Fields(meta) // mode, type, id
		content := f[2]
		if f[1] == "blob" {
			out, err := r.tryGit("cat-file", "blob", f[2])
			if err != nil {
				r.t.Fatal(err)
			}
			content = out
		}
		files[name] = f[0] + " " + content
	}
	return files
}

// paths lists the paths of a change as "status path", in its order.
func paths(c *Change) []string {
	list := []string{}
	for _, f := range c.Files {
		list = append(list, f.Status+" "+f.Path)
	}
	return list
}

// notesWith returns the messages of the notes that have a code.
func notesWith(notes []Note, code string) []string {
	var list []string
	for _, n := range notes {
		if n.Code == code {
			list = append(list, n.Message)
		}
	}
	return list
}

// indexState is what must not change in the user's index: bytes and mtime.
func (r *testRepo) indexState() string {
	r.t.Helper()
	name := r.git("rev-parse", "--git-path", "index")
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.dir, name)
	}
	info, err := os.Stat(name)
	if os.IsNotExist(err) {
		return "no index"
	}
	if err != nil {
		r.t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprintf("%d %x", info.ModTime().UnixNano(), data)
}

// disk lists everything below the top level but .git: files as "mode content",
// links as "link target", other kinds by their mode.
func (r *testRepo) disk() map[string]string {
	r.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(r.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		name, _ := filepath.Rel(r.dir, path)
		name = filepath.ToSlash(name)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			files[name] = "link " + target
			return err
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			files[name] = fmt.Sprintf("%o %s", info.Mode().Perm(), data)
			return err
		default:
			files[name] = info.Mode().String()
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return files
}

// equal compares two plain values by their Go syntax and shows both.
func equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if g, w := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}

// sorted returns the keys of a map in order.
func sorted[V any](m map[string]V) []string {
	keys := []string{}
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// sampled tells whether a row of a table is tried: all are, but with -short,
// which the round with the race detector has, only a quarter.
func sampled(name string) bool {
	return !testing.Short() || crc32.ChecksumIEEE([]byte(name))%4 == 0
}
