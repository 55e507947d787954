package e2e

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// app is the sample app of this package's tests: one folder that Vite serves
// while they run, filled anew for each story.
type app struct {
	URL   string
	Dir   string // real path of the copy; the repository of the stories
	root  string
	stdin io.Closer
	done  chan struct{}
}

// served is what runs since the first story that needed it; stopServing ends
// it.
var (
	served      *app
	stopServing = func() {}
)

// App is the served app, its files as in the tree. Without Node or the app's
// modules the test is skipped. A test that fails takes Vite with it.
func App(t testing.TB) *app {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		Need(t, "Node is not installed")
	}
	if _, err := os.Stat(filepath.Join("app", "node_modules", "vite")); err != nil {
		Need(t, "the modules of e2e/app are not installed")
	}
	if served == nil {
		a, err := startApp()
		if err != nil {
			stopServing()
			t.Fatalf("serve e2e/app: %v", err)
		}
		served = a
	}
	a := served
	if err := a.fill(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			stopServing()
			served = nil
		}
	})
	return a
}

func startApp() (*app, error) {
	root, err := os.MkdirTemp("", "sw-app")
	if err != nil {
		return nil, err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	a := &app{root: root, Dir: filepath.Join(root, "cafe"), done: make(chan struct{})}
	stopServing = func() { os.RemoveAll(root) }
	if err := a.fill(); err != nil {
		return nil, err
	}
	cmd := exec.Command("node", "serve.js", a.Dir, filepath.Join(root, "cache"))
	cmd.Dir = "app"
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "NODE_ENV=development")
	var said output
	cmd.Stderr = &said
	if a.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait()
		close(a.done)
	}()
	stopServing = func() {
		a.stdin.Close()
		select {
		case <-a.done:
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			<-a.done
		}
		os.RemoveAll(root)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, &viteError{said.String()}
	}
	a.URL = strings.TrimSpace(line)
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return a, nil
}

type viteError struct{ said string }

func (e *viteError) Error() string { return "vite did not start" + e.said }

// fill makes the copy's files those of the tree, without a repository. A file
// that is as it should be is not touched, so that Vite has nothing to tell.
func (a *app) fill() error {
	if err := os.MkdirAll(a.Dir, 0o755); err != nil {
		return err
	}
	want := map[string]bool{"node_modules": true}
	err := filepath.WalkDir("app", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel("app", path)
		switch {
		case rel == "node_modules":
			return filepath.SkipDir
		case rel == "serve.js": // ours, not the app's
			return nil
		case d.IsDir():
			want[rel] = true
			return os.MkdirAll(filepath.Join(a.Dir, rel), 0o755)
		}
		want[rel] = true
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		to := filepath.Join(a.Dir, rel)
		if have, err := os.ReadFile(to); err == nil && string(have) == string(data) {
			return nil
		}
		return os.WriteFile(to, data, 0o644)
	})
	if err != nil {
		return err
	}
	modules, err := filepath.Abs(filepath.Join("app", "node_modules"))
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(a.Dir, "node_modules")); err != nil {
		if err := os.Symlink(modules, filepath.Join(a.Dir, "node_modules")); err != nil {
			return err
		}
	}
	return filepath.WalkDir(a.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == a.Dir {
			return err
		}
		rel, _ := filepath.Rel(a.Dir, path)
		if want[rel] {
			return nil
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		if d.IsDir() {
			return filepath.SkipDir
		}
		return nil
	})
}
