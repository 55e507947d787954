package testscripts

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim/shimtest/benchrepo"
)

// maxBinary is what the program may weigh, in bytes.
const maxBinary = 15 << 20

// build makes the program as the Makefile does, but with the paths in it, which
// weigh nothing: so it is compiled from what the tests have compiled already.
func build(tb testing.TB) string {
	tb.Helper()
	return buildProgram(tb, "../cmd/slidewrite")
}

func buildProgram(tb testing.TB, source string) string {
	tb.Helper()
	bin := filepath.Join(tb.TempDir(), "program")
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	cmd := exec.Command("go", "build", "-tags", "nethttpomithttp2", "-ldflags", "-s -w", "-o", bin, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// TestBinary: one file, small, without cgo, and it carries the demo's fixture
// but not the corpus.
func TestBinary(t *testing.T) {
	t.Parallel()
	bin := build(t)
	info, err := os.Stat(bin)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxBinary {
		t.Errorf("the program has %d bytes, the limit is %d", info.Size(), maxBinary)
	}
	t.Logf("%.1f MiB", float64(info.Size())/(1<<20))
	out, err := exec.Command("go", "list", "-deps", "../cmd/slidewrite").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	for _, dep := range deps {
		if dep == "testing" || strings.HasSuffix(dep, "/fakeagents/fixtures") || strings.HasSuffix(dep, "/shimtest") || strings.Contains(dep, "/chromedp/") {
			t.Errorf("the program holds %s, which is for tests", dep)
		}
	}
	if len(deps) < 50 {
		t.Errorf("go list named %d packages only", len(deps))
	}
}

// buildBare makes a program that does no more than serve HTTP and say so.
func buildBare(tb testing.TB) string {
	tb.Helper()
	source := filepath.Join(tb.TempDir(), "bare.go")
	if err := os.WriteFile(source, []byte(bareServer), 0o600); err != nil {
		tb.Fatal(err)
	}
	return buildProgram(tb, source)
}

const bareServer = `package main

import (
	"fmt"
	"net"
	"net/http"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("listening")
	panic(http.Serve(l, nil))
}
`

// server is a program that serves and says on stdout how far it is.
type server struct {
	tb    testing.TB
	cmd   *exec.Cmd
	lines *bufio.Scanner // of its stdout
}

// start starts a server that sees nothing of the developer's own.
func start(tb testing.TB, home, bin string, args ...string) *server {
	tb.Helper()
	s := &server{tb: tb, cmd: exec.Command(bin, args...)}
	s.cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	s.lines = bufio.NewScanner(out)
	if err := s.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	return s
}

// await reads up to the line that begins with a word.
func (s *server) await(word string) {
	s.tb.Helper()
	for s.lines.Scan() {
		if strings.HasPrefix(strings.TrimSpace(s.lines.Text()), word) {
			return
		}
	}
	s.tb.Fatalf("it ended without saying %q", word)
}

func (s *server) end() {
	_ = s.cmd.Process.Kill() // it has nothing to lose, and may have ended
	_ = s.cmd.Wait()
}

// smallRepo is a repository of one file.
func smallRepo(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := benchrepo.Make(dir, 1); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// startTimes are those from fork to the line that says that it listens, in a
// small and a large repository, and those of a whole `slidewrite version`: the
// program's bare start.
type startTimes struct{ version, small, large []time.Duration }

func (ts *startTimes) take(tb testing.TB, bin, home, small, large string) {
	tb.Helper()
	began := time.Now()
	version := exec.Command(bin, "version")
	version.Env = []string{"HOME=" + home}
	if out, err := version.CombinedOutput(); err != nil {
		tb.Fatalf("slidewrite version: %v\n%s", err, out)
	}
	ts.version = append(ts.version, time.Since(began))
	for _, in := range []struct {
		repo  string
		times *[]time.Duration
	}{{small, &ts.small}, {large, &ts.large}} {
		began := time.Now()
		s := start(tb, home, bin, "--port", "0", "--repo", in.repo)
		s.await("listening")
		*in.times = append(*in.times, time.Since(began))
		s.end()
	}
}

// BenchmarkStartToListening is the time from the start of the process to the
// line that says it listens, whatever the repository's size.
func BenchmarkStartToListening(b *testing.B) {
	bin, home := build(b), b.TempDir()
	small, large := smallRepo(b), benchrepo.Open(b, 2000)
	var ts startTimes
	for b.Loop() {
		ts.take(b, bin, home, small, large)
	}
	ms := func(all []time.Duration) float64 {
		slices.Sort(all)
		return float64(all[len(all)/2].Microseconds()) / 1000
	}
	b.ReportMetric(ms(ts.version), "ms/version")
	b.ReportMetric(ms(ts.small), "ms/start")
	b.ReportMetric(ms(ts.small)/ms(ts.version), "x-version")
	b.ReportMetric(ms(ts.large), "ms/start-large")
	b.ReportMetric(ms(ts.large)/ms(ts.small), "x-start-small")
	b.ReportMetric(0, "ns/op")
}

// rss is a process's resident memory in MiB, by /proc: pages of its file, and
// all others (heap, stacks, what the runtime notes about them, data).
func rss(tb testing.TB, pid int) (program, anonymous float64) {
	tb.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if os.IsNotExist(err) {
		tb.Skip("memory is read from /proc")
	}
	if err != nil {
		tb.Fatal(err)
	}
	mib := map[string]float64{}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 3 && f[2] == "kB" {
			kib, err := strconv.Atoi(f[1])
			if err != nil {
				tb.Fatal(err)
			}
			mib[f[0]] = float64(kib) / 1024
		}
	}
	if mib["Rss:"] == 0 {
		tb.Fatalf("no Rss in %s", data)
	}
	return mib["Rss:"] - mib["Anonymous:"], mib["Anonymous:"]
}

// BenchmarkIdleMemory is the resident memory of a shim that listens and has
// greeted, and what it consists of. The baseline is a program that does no
// more than serve HTTP.
func BenchmarkIdleMemory(b *testing.B) {
	bin, bare, home, repo := build(b), buildBare(b), b.TempDir(), smallRepo(b)
	var program, anonymous, baseline float64
	for b.Loop() {
		s := start(b, home, bin, "--port", "0", "--repo", repo)
		s.await("stop") // the last word of the greeting
		if p, a := rss(b, s.cmd.Process.Pid); p+a > program+anonymous {
			program, anonymous = p, a
		}
		s.end()
		s = start(b, home, bare)
		s.await("listening")
		p, a := rss(b, s.cmd.Process.Pid)
		s.end()
		baseline = max(baseline, p+a)
	}
	b.ReportMetric(program+anonymous, "MiB/idle")
	b.ReportMetric(program, "MiB/program")
	b.ReportMetric(anonymous, "MiB/anonymous")
	b.ReportMetric(baseline, "MiB/bare-server")
	b.ReportMetric((program+anonymous)/baseline, "x-bare-server")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkBinary is the program's size. The baseline is a program that does
// no more than serve HTTP.
func BenchmarkBinary(b *testing.B) {
	size := func(path string) float64 {
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		return float64(info.Size()) / (1 << 20)
	}
	var ours, bare float64
	for b.Loop() {
		ours, bare = size(build(b)), size(buildBare(b))
	}
	b.ReportMetric(ours, "MiB/binary")
	b.ReportMetric(bare, "MiB/bare-server")
	b.ReportMetric(ours/bare, "x-bare-server")
	b.ReportMetric(0, "ns/op")
}
