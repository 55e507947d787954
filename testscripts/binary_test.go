package testscripts

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// maxBinary is what the program may weigh, in bytes.
const maxBinary = 15 << 20

// build makes the program as the Makefile does.
func build(tb testing.TB) string {
	tb.Helper()
	bin := filepath.Join(tb.TempDir(), "slidewrite")
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, "../cmd/slidewrite")
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
		if dep == "testing" || strings.HasSuffix(dep, "/fakeagents/fixtures") || strings.HasSuffix(dep, "/shimtest") {
			t.Errorf("the program holds %s, which is for tests", dep)
		}
	}
	if len(deps) < 50 {
		t.Errorf("go list named %d packages only", len(deps))
	}
}

// BenchmarkStartToListening is the time from the start of the process to the
// line that says it listens. Target: 8 ms on an idle machine.
func BenchmarkStartToListening(b *testing.B) {
	bin := build(b)
	home := b.TempDir()
	for b.Loop() {
		cmd := exec.Command(bin, "--port", "0", "--repo", home)
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for lines.Scan() && !strings.Contains(lines.Text(), "listening") {
		}
		if lines.Text() == "" {
			b.Fatal("it ended without listening")
		}
		b.StopTimer()
		cmd.Process.Kill()
		cmd.Wait()
		b.StartTimer()
	}
}
