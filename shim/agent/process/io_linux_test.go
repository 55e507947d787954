package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/errors"
)

func TestReadLine(t *testing.T) {
	big := strings.Repeat("y", readBuffer+10)
	for _, c := range []struct {
		name, script string
		max          int
		want         []string
	}{
		{"nothing", `:`, 0, nil},
		{"lines", `printf 'a\nb\n'`, 0, []string{"a", "b"}},
		{"an empty line", `printf 'a\n\nb\n'`, 0, []string{"a", "", "b"}},
		{"only \\n ends a line", "printf 'a\u2028b\\r\\nc\\n'", 0, []string{"a\u2028b\r", "c"}},
		{"a NUL is data", `printf 'a\0b\n'`, 0, []string{"a\x00b"}},
		{"a last line without newline", `printf 'a\nb'`, 0, []string{"a", "b partial"}},
		{"exactly the limit", `printf '12345\nb\n'`, 5, []string{"12345", "b"}},
		{"one byte over the limit", `printf '123456\nb\n'`, 5, []string{"skipped 6", "b"}},
		{"a partial line over the limit", `printf 'b\n123456'`, 5, []string{"b", "skipped 6 partial"}},
		{"longer than the buffer", `printf "` + big[:1000] + `"; head -c ` + fmt.Sprint(len(big)-1000) + ` /dev/zero | tr '\0' y; printf '\nb\n'`, 0, []string{big, "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := sh(t, c.script)
			o.MaxLine = c.max
			f := start(t, o)
			var got []string
			for _, line := range readAll(t, f) {
				s := string(line.Bytes)
				if line.Skipped > 0 {
					s += fmt.Sprintf("skipped %d", line.Skipped)
				}
				if line.Partial {
					s += " partial"
				}
				got = append(got, s)
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("lines = %.200q, want %.200q", got, c.want)
			}
			f.Wait()
		})
	}
}

// Spec 30: "Lines up to 32 MiB are mapped; a longer one is skipped to its
// newline with a note".
func TestLinesAround32MiB(t *testing.T) {
	for _, c := range []struct {
		mib     string
		length  int
		skipped int64
	}{{"32", 32 << 20, 0}, {"33", 0, 33 << 20}} {
		f := start(t, role(t, "long", c.mib))
		lines := readAll(t, f)
		if len(lines) != 3 || string(lines[0].Bytes) != "before" || string(lines[2].Bytes) != "after" {
			t.Fatalf("%s MiB: %d lines", c.mib, len(lines))
		}
		if got := lines[1]; len(got.Bytes) != c.length || got.Skipped != c.skipped {
			t.Errorf("%s MiB: %d bytes, %d skipped; want %d, %d", c.mib, len(got.Bytes), got.Skipped, c.length, c.skipped)
		}
		f.Wait()
	}
}

// claude 2.1.197 loses what is not drained when it exits.
func TestReadsWhatWasWrittenBeforeAHeldPipe(t *testing.T) {
	o := sh(t, `head -c 900000 /dev/zero | tr '\0' 'z'; echo; echo last; setsid sleep 1000 & echo $! >a`)
	o.linger = time.Nanosecond // the deadline has passed before the first read
	f := start(t, o)
	awaitPID(t, f, "a")
	<-f.exited
	lines := readAll(t, f)
	if len(lines) != 2 || len(lines[0].Bytes) != 900000 || string(lines[1].Bytes) != "last" {
		t.Errorf("%d lines; want all that was in the pipe", len(lines))
	}
	f.Sweep(background(), 0)
}

func TestGrandchildHoldingThePipesDoesNotDelayTheEnd(t *testing.T) {
	o := sh(t, `echo out; echo err >&2; setsid sleep 1000 & echo $! >a; exit 7`)
	o.linger = 0 // as in a real run
	f := start(t, o)
	begin := time.Now()
	lines := readAll(t, f)
	exit := f.Wait()
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("the end took %v", took)
	}
	if exit.Code != 7 || exit.Stderr != "err" || len(lines) != 1 {
		t.Errorf("exit %+v, %d lines", exit, len(lines))
	}
	if swept := f.Sweep(background(), 0); len(swept.Ended) != 1 {
		t.Errorf("swept %+v", swept)
	}
}

func TestStderrRing(t *testing.T) {
	f := start(t, sh(t, `i=0; while [ $i -lt 250 ]; do echo "line $i" >&2; i=$((i+1)); done
		head -c 100000 /dev/zero | tr '\0' x >&2; printf '\r\n\nno newline' >&2`))
	exit := f.Wait()
	lines := f.Stderr()
	if len(lines) != 200 || lines[0] != "line 52" || lines[199] != "no newline" {
		t.Errorf("%d lines from %q to %q", len(lines), lines[0], lines[len(lines)-1])
	}
	if lines[198] != strings.Repeat("x", 2000) {
		t.Errorf("a long line is kept as %d bytes", len(lines[198]))
	}
	if exit.Stderr != strings.Join(lines, "\n") {
		t.Error("the exit's stderr is not the ring")
	}
}

func TestCutKeepsRunesWhole(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"abc", "abc"}, {"abcd", "abcd"}, {"abcde", "abcd"}, {"abcé", "abc"}, {"ab\xffde", "ab\uFFFDd"}, {"ééé", "éé"},
	} {
		if got := cut([]byte(c.in), 4); got != c.want {
			t.Errorf("cut(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestWriteLine(t *testing.T) {
	f := start(t, sh(t, `while read line; do echo "got $line"; done; echo eof`))
	for _, s := range []string{"one\n", "two\n"} {
		if err := f.WriteLine([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	f.CloseStdin()
	if err := f.WriteLine([]byte("three\n")); !errors.Is(err, ErrStdinClosed) {
		t.Errorf("after CloseStdin: %v", err)
	}
	var got []string
	for _, line := range readAll(t, f) {
		got = append(got, string(line.Bytes))
	}
	if want := "got one,got two,eof"; strings.Join(got, ",") != want {
		t.Errorf("the agent read %q, want %q", got, want)
	}
	f.Wait()
}

// Spec 40: "EPIPE on stdin is not an error".
func TestWriteToAnAgentThatIsGone(t *testing.T) {
	f := start(t, sh(t, `exec <&-; echo closed; read line <"$DIR/gate"`))
	if err := os.WriteFile(filepath.Join(f.o.Dir, "gate"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.ReadLine()
	for range 3 {
		if err := f.WriteLine(make([]byte, 1<<20)); err != nil {
			t.Errorf("WriteLine: %v", err)
		}
	}
	f.Wait()
	if err := f.WriteLine([]byte("late\n")); err != nil {
		t.Errorf("WriteLine after the end: %v", err)
	}
}

func TestWriteToAnAgentThatNeverReads(t *testing.T) {
	f := start(t, sh(t, `echo up; exec sleep 1000`))
	f.ReadLine()
	for range 64 {
		if err := f.WriteLine(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	f.CloseStdin()
	f.End(background(), quick, opening(Asked), nil)
	if exit := f.Wait(); exit.Signal != "SIGINT" {
		t.Errorf("exit = %+v, want SIGINT", exit)
	}
}

func TestCloseWithoutSweepEndsAll(t *testing.T) {
	noLeaks(t)
	f, err := Start(sh(t, `sleep 1000 & echo $! >a; wait`))
	if err != nil {
		t.Fatal(err)
	}
	child := awaitPID(t, f, "a")
	f.Close()
	await(t, "the child is dead", func() bool { e, ok := lookup(child); return !ok || e.zombie })
	f.Sweep(background(), 0)
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	noLeaks(t)
	for _, c := range []struct {
		name, message, hint string
		o                   Options
		missing             bool
	}{
		{"missing", "gone does not exist", "--claude-bin", Options{Bin: filepath.Join(dir, "gone"), Dir: dir}, true},
		{"not executable", "is not executable", "chmod +x", Options{Bin: write("plain", "x", 0o600), Dir: dir}, false},
		{"wrong machine", "is not a program for this machine", "reinstall", Options{Bin: write("arch", "\x7fELF\x02\x01\x01\x00nonsense", 0o700), Dir: dir}, false},
		{"no interpreter", "interpreter or loader it names is missing", "reinstall", Options{Bin: write("script", "#!/no/such/node\n", 0o700), Dir: dir}, false},
		{"no folder", "working directory", "existing folder", Options{Bin: "/bin/sh", Dir: filepath.Join(dir, "none")}, false},
		{"too long", "too long", "environment", Options{Bin: "/bin/sh", Dir: dir, Env: []string{"A=" + strings.Repeat("x", 1<<20)}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Start(c.o)
			if err == nil {
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), c.message) || !strings.Contains(errors.FlattenHints(err), c.hint) {
				t.Errorf("error %q, hint %q; want %q, %q", err, errors.FlattenHints(err), c.message, c.hint)
			}
			if errors.Is(err, ErrNotFound) != c.missing {
				t.Errorf("ErrNotFound: %v", !c.missing)
			}
		})
	}
}

func TestOutput(t *testing.T) {
	noLeaks(t)
	out, exit, err := Output(background(), sh(t, `read word; echo "$word"; printf two; sleep 1000 & exit 4`), []byte("hello\n"))
	if string(out) != "hello\ntwo" || exit.Code != 4 || err != nil {
		t.Errorf("Output = %q, %+v, %v", out, exit, err)
	}
}

func TestOutputIsBounded(t *testing.T) {
	noLeaks(t)
	for _, script := range []string{`yes 0123456789`, `tr '\0' x </dev/zero`} {
		out, _, err := Output(background(), sh(t, script), nil)
		if out != nil || err == nil || !strings.Contains(err.Error(), "printed more than 8 MiB") {
			t.Errorf("%s: %d bytes, error %v", script, len(out), err)
		}
	}
}

// A command that ends at the end of its input is answered first.
func TestAskWaitsForTheAnswer(t *testing.T) {
	noLeaks(t)
	enough := func(line []byte) bool { return string(line) == "answer" }
	out, exit, err := Ask(background(), sh(t, `read q; echo "$q"; echo answer; cat; echo end; exit 3`), []byte("question\n"), enough)
	if string(out) != "question\nanswer\nend\n" || exit.Code != 3 || err != nil {
		t.Errorf("Ask = %q, %+v, %v", out, exit, err)
	}
}

func TestOutputEndsWithItsContext(t *testing.T) {
	noLeaks(t)
	ctx, cancel := context.WithCancel(background())
	o := sh(t, `trap '' INT TERM; setsid sleep 1000 & echo $! >a; wait`)
	done := make(chan error)
	go func() { _, _, err := Output(ctx, o, nil); done <- err }()
	child := awaitPID(t, &Family{o: o}, "a")
	cancel()
	if err := <-done; !errors.Is(err, ctx.Err()) || err == nil {
		t.Errorf("error = %v", err)
	}
	if exists(child) {
		t.Error("its child is left")
	}
}

func BenchmarkReadLine(b *testing.B) {
	f, err := Start(role(b, "lines", fmt.Sprint(b.N)))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	b.ResetTimer()
	n := 0
	for {
		if _, err := f.ReadLine(); err != nil {
			break
		}
		n++
	}
	if n != b.N {
		b.Fatalf("%d lines, want %d", n, b.N)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "lines/s")
}

// BenchmarkLook is one look at the process table for the members of a family:
// what a run's normal end costs when nothing is left.
func BenchmarkLook(b *testing.B) {
	f, err := Start(sh(b, `read line`))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for b.Loop() {
		f.remember()
	}
}
