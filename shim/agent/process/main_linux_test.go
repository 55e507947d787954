package process

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// roleVar makes the test binary play a program that a run could start.
const roleVar = "PROCESS_TEST_ROLE"

// roles are the programs; their arguments are os.Args[1:].
var roles = map[string]func(args []string){
	"listen": listen,
	"deaf":   deaf,
	"lines":  printLines,
	"long":   printLongLine,
}

func TestMain(m *testing.M) {
	if role := roles[os.Getenv(roleVar)]; role != nil {
		role(os.Args[1:])
		return
	}
	os.Setenv("LANG", "C.UTF-8") // the agents of the tests get it, too
	os.Exit(m.Run())
}

// listen listens on args[0] ("tcp", "unix") and writes its pid to args[2].
func listen(args []string) {
	l, err := net.Listen(args[0], args[1])
	if err != nil {
		panic(err)
	}
	writePID(args[2])
	l.Accept()
}

// deaf ignores every signal that can be ignored, and writes its pid.
func deaf(args []string) {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	writePID(args[0])
	select {}
}

// writePID makes the file appear with its content.
func writePID(path string) {
	os.WriteFile(path+".new", []byte(strconv.Itoa(os.Getpid())), 0o600)
	os.Rename(path+".new", path)
}

// printLines prints args[0] short lines.
func printLines(args []string) {
	n, _ := strconv.Atoi(args[0])
	line := []byte(`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"word "}}}` + "\n")
	block := []byte(strings.Repeat(string(line), 500))
	for ; n >= 500; n -= 500 {
		os.Stdout.Write(block)
	}
	os.Stdout.Write(block[:n*len(line)])
}

// printLongLine prints one line of args[0] MiB between two short ones.
func printLongLine(args []string) {
	n, _ := strconv.Atoi(args[0])
	fmt.Println("before")
	mib := []byte(strings.Repeat("x", 1<<20))
	for range n {
		os.Stdout.Write(mib)
	}
	fmt.Println("\nafter")
}

// role returns Options that run the test binary in a role.
func role(t testing.TB, name string, args ...string) Options {
	o := options(t, os.Args[0], args...)
	o.Env = append(o.Env, roleVar+"="+name)
	return o
}

// sh returns Options that run a shell script with $1, $2 … as args. $TEST is
// the test binary; the pid files it may write are below $DIR.
func sh(t testing.TB, script string, args ...string) Options {
	return options(t, "/bin/sh", append([]string{"-c", script, "agent"}, args...)...)
}

func options(t testing.TB, bin string, args ...string) Options {
	dir := t.TempDir()
	return Options{
		Bin: bin, Args: args, Dir: dir,
		Env:    []string{"PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0", "HOME=" + dir, "LANG=C.UTF-8", "DIR=" + dir, "TEST=" + os.Args[0]},
		linger: 50 * time.Millisecond,
		Marker: "test." + filepath.Base(filepath.Dir(dir)) + "-" + strconv.Itoa(os.Getpid()),
	}
}

// start starts a family and checks at the end of the test that nothing of it
// is left: no process, zombies included, no open file, no goroutine.
func start(t testing.TB, o Options) *Family {
	t.Helper()
	noLeaks(t)
	f, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Close()
		EndMarked(o.Marker)
	})
	return f
}

func noLeaks(t testing.TB) {
	files, routines := countFiles(t), runtime.NumGoroutine()
	t.Cleanup(func() {
		await(t, "no child is left", func() bool { return len(children()) == 0 })
		await(t, "files are closed", func() bool { return countFiles(t) <= files })
		await(t, "goroutines have ended", func() bool { return runtime.NumGoroutine() <= routines })
	})
}

func countFiles(t testing.TB) int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// children are the child processes of the test, dead or alive.
func children() (pids []int) {
	for _, e := range processes() {
		if e.ppid == os.Getpid() {
			pids = append(pids, e.pid)
		}
	}
	return pids
}

// await waits until a fact holds.
func await(t testing.TB, what string, fact func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !fact() {
		if time.Now().After(deadline) {
			t.Fatalf("waited 10 s for: %s (children: %v)", what, children())
		}
		<-time.After(2 * time.Millisecond)
	}
}

// awaitPID waits for a pid file below the family's folder.
func awaitPID(t testing.TB, f *Family, name string) int {
	t.Helper()
	pid := 0
	await(t, "pid file "+name, func() bool {
		b, _ := os.ReadFile(filepath.Join(f.o.Dir, name))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		return pid != 0
	})
	return pid
}

// exists reports whether a process is there, as a zombie or alive.
func exists(pid int) bool { return syscall.Kill(pid, 0) == nil }

// readAll reads stdout to its end.
func readAll(t testing.TB, f *Family) []Line {
	t.Helper()
	var lines []Line
	for {
		line, err := f.ReadLine()
		if err == io.EOF {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		line.Bytes = append([]byte(nil), line.Bytes...)
		lines = append(lines, line)
	}
}

// quick is DefaultLadder made ten times as fast.
var quick = Ladder{
	CloseStdin: DefaultLadder.CloseStdin / 10,
	Interrupt:  DefaultLadder.Interrupt / 10,
	Kill:       DefaultLadder.Kill / 10,
	Swept:      DefaultLadder.Swept,
}

func opening(o Opening) func() Opening { return func() Opening { return o } }

func background() context.Context { return context.Background() }
