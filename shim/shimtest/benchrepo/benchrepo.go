// Package benchrepo makes the repositories that benchmarks measure in: as
// large as a test says, or one of 50,000 files that `make bench` made for all
// of them.
package benchrepo

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/errors"
)

// Env names the folder of a repository that Make made, for Open.
const Env = "SLIDEWRITE_BENCH_REPO"

const perFolder = 100

// name is where file number i lies.
func name(i int) string { return fmt.Sprintf("d%03d/f%05d.txt", i/perFolder, i) }

// content is a file of about 1 KiB.
func content(i int, text string) []byte {
	return fmt.Appendf(nil, "%d %s\n%s", i, text, strings.Repeat("a line of some text, 32 bytes...\n", 31))
}

// Make fills an empty folder with a repository of n files of 1 KiB, in folders
// of 100: one commit, packed, nothing uncommitted.
func Make(dir string, n int) error {
	if err := git(dir, nil, "init", "-q", "-b", "main"); err != nil {
		return err
	}
	var commit bytes.Buffer
	w := bufio.NewWriter(&commit)
	fmt.Fprintf(w, "commit refs/heads/main\ncommitter Ada <ada@example.invalid> 1700000000 +0000\ndata 4\nbase\n")
	for i := range n {
		data := content(i, "base")
		fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n%s\n", name(i), len(data), data)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := git(dir, commit.Bytes(), "fast-import", "--quiet"); err != nil {
		return err
	}
	if err := git(dir, nil, "reset", "-q", "--hard"); err != nil {
		return err
	}
	return aged(dir)
}

// aged makes the index older than it is. git reads files that are as young as
// the index anew every time.
func aged(dir string) error {
	later := time.Now().Add(2 * time.Second)
	return os.Chtimes(filepath.Join(dir, ".git", "index"), later, later)
}

// Open returns the folder that Env names, or else a repository of n files that
// goes away with the test. It is clean, and is to be left so.
func Open(tb testing.TB, n int) string {
	tb.Helper()
	if dir := os.Getenv(Env); dir != "" {
		return dir
	}
	dir, err := filepath.EvalSymlinks(tb.TempDir())
	if err == nil {
		err = Make(dir, n)
	}
	if err != nil {
		tb.Fatalf("%+v", err)
	}
	return dir
}

// Dirty edits one file in a thousand, which changes its size (git may compare
// times by the second), and adds an untracked folder for every
// ten thousand files, until the end of the test.
func Dirty(tb testing.TB, dir string) {
	tb.Helper()
	write := func(i int, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name(i)))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, content(i, text), 0o644)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	folders, err := filepath.Glob(filepath.Join(dir, "d*"))
	if err != nil || len(folders) == 0 {
		tb.Fatalf("%s holds no repository of this package: %v", dir, err)
	}
	n := len(folders) * perFolder
	for i := 1; i < n; i += 1000 {
		write(i, "edited")
	}
	more := max(1, n/10_000)
	for i := n; i < n+more*perFolder; i++ {
		write(i, "untracked")
	}
	tb.Cleanup(func() {
		if err := git(dir, nil, "reset", "-q", "--hard"); err != nil {
			tb.Error(err)
		}
		for i := n; i < n+more*perFolder; i += perFolder {
			if err := os.RemoveAll(filepath.Join(dir, filepath.Dir(name(i)))); err != nil {
				tb.Error(err)
			}
		}
		if err := aged(dir); err != nil {
			tb.Error(err)
		}
	})
}

func git(dir string, stdin []byte, args ...string) error {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	return errors.Wrapf(err, "git %s: %s", strings.Join(args, " "), out)
}
