// Benchreport runs the benchmarks that have a target, in a large repository
// made for them and removed again, and prints their figures as a Markdown
// table: each beside a baseline of the same run. It is what `make bench` runs,
// at the top of the module. What goes on is told on stderr.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/shimtest/benchrepo"
)

func main() {
	files := flag.Int("files", 50_000, "files of the large repository")
	only := flag.String("only", "", "regular expression on the benchmarks to run")
	flag.Parse()
	if err := report(os.Stdout, *files, *only); err != nil {
		fmt.Fprintf(os.Stderr, "benchreport: %v\n", err)
		os.Exit(1)
	}
}

func report(w io.Writer, files int, only string) error {
	chosen, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "slidewrite-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	began, before := time.Now(), load()
	fmt.Fprintf(os.Stderr, "making a repository of %d files in %s\n", files, dir)
	repo := filepath.Join(dir, "repo")
	if err := os.Mkdir(repo, 0o755); err != nil {
		return err
	}
	if err := benchrepo.Make(repo, files); err != nil {
		return err
	}
	found := figures{}
	for _, s := range suites {
		if !chosen.MatchString(s.bench) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s, %d times\n", s.bench, s.times)
		out, err := s.run(ctx, dir, repo)
		if found.read(out) == 0 && err == nil {
			fmt.Fprintf(os.Stderr, "%s: no figures\n%s", s.bench, out) // a browser is missing, perhaps: it tells
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s\n", out)
			return errors.Wrap(err, s.bench)
		}
	}
	fmt.Fprintf(w, "%d cores, %s/%s, %s; a large repository has %d files (%s); load average %s before and %s after, %.0f s in all.\n\n",
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), files, fileSystem(dir), before, load(), time.Since(began).Seconds())
	table(w, rows, found)
	return nil
}

// run runs the benchmarks of a suite and returns what they print. dir keeps
// the test programs, so that each is linked once.
func (s suite) run(ctx context.Context, dir, repo string) ([]byte, error) {
	program := filepath.Join(dir, strings.ReplaceAll(s.pkg, "/", "-")+".test")
	if _, err := os.Stat(program); err != nil {
		if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", program, "./"+s.pkg).CombinedOutput(); err != nil {
			return out, err
		}
	}
	cmd := exec.CommandContext(ctx, program, "-test.run=^$", "-test.v", "-test.timeout=10m", "-test.bench=^Benchmark"+strings.ReplaceAll(s.bench, "/", "$/^")+"$", fmt.Sprintf("-test.benchtime=%dx", s.times))
	cmd.Dir = filepath.FromSlash(s.pkg)
	cmd.Env = append([]string{"HISTORY_SCALE=1"}, os.Environ()...) // the sizes of the targets
	cmd.Env = append(cmd.Env, benchrepo.Env+"="+repo)
	return cmd.CombinedOutput()
}

// figures are the metrics of benchmarks: name without Benchmark → unit → value.
type figures map[string]map[string]float64

// result is a line that go test -bench prints: the name, the number of rounds,
// then pairs of value and unit.
var result = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?[ \t]+\d+[ \t]+(.*)$`)

// read takes the figures of an output, and returns of how many benchmarks.
func (f figures) read(out []byte) int {
	all := result.FindAllStringSubmatch(string(out), -1)
	for _, m := range all {
		metrics := map[string]float64{}
		fields := strings.Fields(m[2])
		for i := 0; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				metrics[fields[i+1]] = v
			}
		}
		f[m[1]] = metrics
	}
	return len(all)
}

// table prints the rows whose benchmarks ran.
func table(w io.Writer, rows []row, f figures) {
	fmt.Fprintln(w, "| what | measured | baseline | ratio | target | |")
	fmt.Fprintln(w, "| --- | --- | --- | --- | --- | --- |")
	for _, r := range rows {
		value, ok := f[r.bench][r.value]
		if !ok {
			continue
		}
		baseOf := r.baseOf
		if baseOf == "" {
			baseOf = r.bench
		}
		baseline, ratio := "–", "–"
		base, ok := f[baseOf][r.base]
		if ok {
			baseline, ratio = quantity(base, r.base)+" ("+r.baseWhat+")", fmt.Sprintf("%.2f ×", value/base)
		}
		target, verdict := r.verdict(value, value/base)
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s |\n", r.what, quantity(value, r.value), baseline, ratio, target, verdict)
	}
}

// verdict is the target in words, and whether it is met.
func (r row) verdict(value, ratio float64) (target, verdict string) {
	if r.target == 0 {
		return "–", ""
	}
	sign, text := "≤", quantity(r.target, r.value)
	if r.atLeast {
		sign = "≥"
	}
	if r.byRatio {
		value, text = ratio, fmt.Sprintf("%g ×", r.target)
	}
	if r.atLeast && value >= r.target || !r.atLeast && value <= r.target {
		return sign + " " + text, "met"
	}
	return sign + " " + text, "**missed**"
}

// quantity is a value with the part of a metric's unit that people read:
// "ms/start" is milliseconds, "lines/s-json" lines per second.
func quantity(v float64, unit string) string {
	unit, _, _ = strings.Cut(unit, "-")
	if name, per, _ := strings.Cut(unit, "/"); per != "s" {
		unit = name
	}
	if v < 100 {
		return fmt.Sprintf("%.3g %s", v, unit)
	}
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits + " " + unit
}

// load is the number of processes that wanted a processor in the last minute.
func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(data))[0]
}

// fileSystem is the kind of file system that a folder is in.
func fileSystem(dir string) string {
	out, err := exec.Command("stat", "-f", "-c", "%T", dir).Output()
	if err != nil {
		return "unknown file system"
	}
	return strings.TrimSpace(string(out))
}
