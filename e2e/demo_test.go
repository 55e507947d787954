package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// slidewrite is the program, built once.
var slidewrite = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "sw")
	if err != nil {
		return "", err
	}
	removeSlidewrite = func() { os.RemoveAll(dir) }
	bin := filepath.Join(dir, "slidewrite")
	cmd := exec.Command("go", "build", "-ldflags", "-X github.com/slidewrite/slidewrite/shim/cli.version="+version(), "-o", bin, "../cmd/slidewrite")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %v\n%s", err, out)
	}
	return bin, nil
})

var removeSlidewrite = func() {}

// demo is `slidewrite demo` in a home of its own, which it must leave as it
// found it.
type demo struct {
	t    *testing.T
	cmd  *exec.Cmd
	dir  string
	said bytes.Buffer // on stdout, as far as it was read
	out  *bufio.Scanner
	err  bytes.Buffer
}

// startDemo starts it. browser is the program of the browser, "" = Chromium.
func startDemo(t *testing.T, browser string, args ...string) *demo {
	t.Helper()
	if chromium() == "" {
		Need(t, "Chromium is not installed")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the demo in a browser does not run on Windows")
	}
	bin, err := slidewrite()
	if err != nil {
		t.Fatal(err)
	}
	d := &demo{t: t}
	if d.dir, err = os.MkdirTemp("", "sw"); err != nil { // short: the path of a socket has 108 bytes
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(d.dir) })
	if browser == "" {
		browser = chromium()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	d.cmd = exec.CommandContext(ctx, bin, append([]string{"demo", "--browser", browser}, args...)...)
	d.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + d.dir, "TMPDIR=" + d.dir, "DISPLAY=:none"}
	d.cmd.Stderr = &d.err
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.out = bufio.NewScanner(out)
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return d
}

// await reads up to a line that holds a text.
func (d *demo) await(text string) {
	d.t.Helper()
	for d.out.Scan() {
		fmt.Fprintln(&d.said, d.out.Text())
		if strings.Contains(d.out.Text(), text) {
			return
		}
	}
	d.t.Fatalf("it ended without saying %q: %v\n%s%s", text, d.cmd.Wait(), &d.said, &d.err)
}

// ends waits for its end, and looks for what it left.
func (d *demo) ends(code int) {
	d.t.Helper()
	for d.out.Scan() {
		fmt.Fprintln(&d.said, d.out.Text())
	}
	_ = d.cmd.Wait() // its code is looked at
	if got := d.cmd.ProcessState.ExitCode(); got != code {
		d.t.Errorf("exit code %d, want %d\n%s%s", got, code, &d.said, &d.err)
	}
	if left := d.family(); len(left) > 0 {
		d.t.Errorf("it left processes behind: %q", left)
	}
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range entries {
		d.t.Errorf("it left %s behind", e.Name())
	}
}

// family are the command lines of all processes that know the demo's folder.
// Only Linux shows them. One that has ended and was not waited for has none.
func (d *demo) family() (lines []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range all {
		env, _ := os.ReadFile(filepath.Join(p, "environ"))
		cmd, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		if len(cmd) > 0 && bytes.Contains(append(env, cmd...), []byte(d.dir+"/slidewrite-demo-")) {
			lines = append(lines, strings.TrimSpace(strings.ReplaceAll(string(cmd), "\x00", " ")))
		}
	}
	return lines
}

// secrets are the tokens of the shims among them.
func (d *demo) secrets() (found []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range all {
		env, _ := os.ReadFile(p)
		if !bytes.Contains(env, []byte(d.dir+"/slidewrite-demo-")) {
			continue
		}
		for kv := range strings.SplitSeq(string(env), "\x00") {
			if token, ok := strings.CutPrefix(kv, "SLIDEWRITE_TOKEN="); ok {
				found = append(found, token)
			}
		}
	}
	return found
}

// windowless is a browser that takes itself to have a window.
func windowless(t *testing.T, more string) string {
	t.Helper()
	if chromium() == "" {
		Need(t, "Chromium is not installed")
	}
	path := filepath.Join(t.TempDir(), "chromium")
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' --headless=new --disable-gpu %s \"$@\"\n", chromium(), more)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDemoPlaysItself: picks, sends, shows the change, and is gone.
func TestDemoPlaysItself(t *testing.T) {
	d := startDemo(t, "", "--autoplay", "--headless")
	d.ends(0)
	at := 0
	for _, line := range []string{
		"panel      beside it, connected to the shim", "before     the button is rgb(37, 99, 235)", "picked     button.btn", "New order",
		"asked      Make the primary button green.", "after      the button is rgb(22, 163, 74): its stylesheet was swapped in place", "committed  ", "slide-write: Make the primary button green.",
	} {
		i := strings.Index(d.said.String()[at:], line)
		if i < 0 {
			t.Fatalf("it does not say %q there:\n%s%s", line, &d.said, &d.err)
		}
		at += i + len(line)
	}
	if d.err.Len() > 0 {
		t.Errorf("it said on stderr: %s", &d.err)
	}
}

// TestDemoStays until Ctrl-C; the token is on no command line meanwhile.
func TestDemoStays(t *testing.T) {
	d := startDemo(t, windowless(t, ""))
	d.await("panel      beside it, connected to the shim")
	d.await("ends everything and removes it")
	if runtime.GOOS == "linux" {
		secrets := d.secrets()
		if len(secrets) == 0 {
			t.Error("no shim runs")
		}
		for _, line := range d.family() {
			for _, secret := range secrets {
				if strings.Contains(line, secret) {
					t.Errorf("the token is on the command line %.60s…", line)
				}
			}
		}
	}
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	d.ends(0)
	if d.err.Len() > 0 {
		t.Errorf("it said on stderr: %s", &d.err)
	}
}

// TestDemoEndsWithTheBrowser: who closes it has seen enough.
func TestDemoEndsWithTheBrowser(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the browser is found by /proc")
	}
	d := startDemo(t, windowless(t, ""))
	d.await("ends everything and removes it")
	closeBrowser(t, d.dir+"/slidewrite-demo-")
	d.ends(0)
}

// closeBrowser ends the browser whose profile is below a folder.
func closeBrowser(t *testing.T, dir string) {
	t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range all {
		cmd, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		if !bytes.Contains(cmd, []byte("--user-data-dir="+dir)) || bytes.Contains(cmd, []byte("--type=")) || !bytes.Contains(cmd, []byte("--remote-debugging-pipe")) {
			continue
		}
		var pid int
		if _, err := fmt.Sscan(filepath.Base(p), &pid); err != nil {
			t.Fatal(err)
		}
		browser, err := os.FindProcess(pid)
		if err == nil {
			err = browser.Signal(os.Interrupt) // Chromium ends as if it were closed
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("no browser runs")
}

// TestDemoInterrupted while it plays.
func TestDemoInterrupted(t *testing.T) {
	d := startDemo(t, "", "--autoplay", "--headless")
	d.await("before ")
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	d.ends(130)
	if d.err.Len() > 0 {
		t.Errorf("it said on stderr: %s", &d.err)
	}
}

// TestDemoWithADeadDisplay is told in the terminal, and says why in one line.
func TestDemoWithADeadDisplay(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no X11")
	}
	d := startDemo(t, "")
	d.ends(0)
	why := "# " + filepath.Base(chromium()) + " did not start (Missing X server or $DISPLAY): this is the demo in the terminal. For a browser: slidewrite demo --autoplay --headless\n"
	if said := d.said.String(); !strings.Contains(said, why) || !strings.Contains(said, "\nundone: run ") {
		t.Errorf("it said:\n%s", said)
	}
	if d.err.Len() > 0 {
		t.Errorf("it said on stderr: %s", &d.err)
	}
}

// TestDemoByHand: a browser that loads no extension is told of, with the
// three clicks and the link.
func TestDemoByHand(t *testing.T) {
	d := startDemo(t, windowless(t, "--disable-extensions"))
	d.await("chrome://extensions")
	d.await("/extension")
	d.await("/pair#")
	d.await("ends everything and removes it")
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	d.ends(0)
	if !strings.Contains(d.err.String(), "the browser did not load the extension by itself") {
		t.Errorf("it said on stderr: %s", &d.err)
	}
}
