package fakeagents

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/cockroachdb/errors"
)

// grandchildFlag starts the fake as a process that a run leaves behind:
// <flag> <kind> <file for its process id>.
const grandchildFlag = "--fakeagent-grandchild"

// grandchildLife bounds a process that nobody ended.
const grandchildLife = 10 * time.Minute

func grandchildKind(args []string) (string, bool) {
	if len(args) == 3 && args[0] == grandchildFlag {
		return args[1], true
	}
	return "", false
}

// startGrandchild leaves a process behind and returns when it runs.
func startGrandchild(kind, pidFile, dir string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if pidFile == "" {
		return errors.New("knob grandchild: grandchild_pid must name a file")
	}
	cmd := exec.Command(exe, grandchildFlag, kind, pidFile)
	cmd.Args[0] = os.Args[0] // the name decides what a test binary is
	cmd.Dir = dir
	switch kind {
	case "stdout":
		cmd.Stdout = os.Stdout
	case "stderr":
		cmd.Stderr = os.Stderr
	case "noise":
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	case "unmarked":
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	case "setsid", "daemon", "listener", "unix-listener":
	default:
		return errors.Newf("knob grandchild: unknown kind %q", kind)
	}
	ownSession(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	if kind == "daemon" {
		if err := cmd.Wait(); err != nil { // the middle one ends at once
			return err
		}
	}
	return awaitFile(pidFile)
}

// awaitFile waits until the grandchild has said who it is.
func awaitFile(path string) error {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
	}
	return errors.Newf("grandchild: %s did not appear", path)
}

// beGrandchild is the process that is left behind.
func beGrandchild(kind, pidFile string) int {
	if kind == "daemon" {
		cmd := exec.Command(os.Args[0], grandchildFlag, "setsid", pidFile)
		if exe, err := os.Executable(); err == nil {
			cmd.Path, cmd.Err = exe, nil
		}
		ownSession(cmd)
		if err := cmd.Start(); err != nil {
			return 1
		}
		return 0
	}
	address, ln, err := listen(kind, pidFile)
	if err != nil {
		fmt.Fprintln(os.Stderr, "grandchild:", err)
		return 1
	}
	if ln != nil {
		defer ln.Close()
	}
	parent := os.Getppid()
	if err := writePID(pidFile, address); err != nil {
		return 1
	}
	if kind == "noise" {
		makeNoise(parent)
	}
	time.Sleep(grandchildLife)
	return 0
}

// makeNoise writes to stdout and stderr as long as somebody reads them. It
// begins when the parent has ended, so as not to tear its long lines apart.
func makeNoise(parent int) {
	for end := time.Now().Add(grandchildLife); time.Now().Before(end); {
		if os.Getppid() == parent {
			time.Sleep(time.Millisecond)
			continue
		}
		for _, f := range []*os.File{os.Stdout, os.Stderr} {
			if _, err := f.WriteString("noise of a grandchild\n"); err != nil {
				return
			}
		}
	}
}

func listen(kind, pidFile string) (address string, ln net.Listener, err error) {
	switch kind {
	case "listener":
		ln, err = net.Listen("tcp", "127.0.0.1:0")
	case "unix-listener":
		ln, err = net.Listen("unix", pidFile+".sock")
	default:
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	return ln.Addr().String(), ln, nil
}

// writePID writes in one step: who waits for the file finds it whole.
func writePID(path, address string) error {
	tmp := filepath.Join(filepath.Dir(path), fmt.Sprintf(".pid-%d", os.Getpid()))
	if err := os.WriteFile(tmp, fmt.Appendf(nil, "%d\n%s\n", os.Getpid(), address), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
