package shim_test

import (
	"bufio"
	"bytes"
	"context"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// BenchmarkOneEdit is a whole run over HTTP, from POST to done with its
// commit, in a small repository and with an agent that answers at once. The
// baselines, in the same run: one `git status` there, and the agent alone
// (its start and end; the rest is the shim's).
func BenchmarkOneEdit(b *testing.B) {
	s := shimtest.New(b)
	s.Fixture(edit)
	s.Play(edit, shim.Config{})
	status := timed(b, 10, func() { s.Git("status", "--porcelain") })
	agent := timed(b, 10, func() {
		cmd := exec.Command("claude", "--version")
		cmd.Env = s.Environ()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("claude --version: %v\n%s", err, out)
		}
	})
	s.Design(ask()) // warm: the version of the agent is known from here on
	var spent time.Duration
	n := 0
	for b.Loop() {
		s.Git("reset", "-q", "--hard", "HEAD~1")
		began := time.Now()
		s.Design(ask())
		spent += time.Since(began)
		n++
	}
	each := spent / time.Duration(n)
	b.ReportMetric(float64(each.Microseconds())/1000, "ms/edit")
	b.ReportMetric(float64((each-agent).Microseconds())/1000, "ms/edit-less-agent")
	b.ReportMetric(float64(each-agent)/float64(status), "x-git-status")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkThroughput is small delta lines from the agent's stdout to a
// client's socket, three processes over TCP. The baseline, in the same run, is
// a scan for newlines of the bytes the client got.
func BenchmarkThroughput(b *testing.B) {
	const lines = 300_000
	s := shimtest.New(b)
	s.Fixture(edit)
	s.Play(edit, shim.Config{}, "flood="+strconv.Itoa(lines))
	var spent, scan time.Duration
	n := 0
	for b.Loop() {
		res := s.Do(s.Request(context.Background(), "POST", "/design", ask()))
		began := time.Now()
		var body bytes.Buffer
		if _, err := body.ReadFrom(res.Body); err != nil {
			b.Fatal(err)
		}
		spent += time.Since(began)
		if got := bytes.Count(body.Bytes(), []byte(`"type":"delta"`)); got < lines {
			b.Fatalf("%d deltas arrived, want %d", got, lines)
		}
		began = time.Now()
		for sc := bufio.NewScanner(&body); sc.Scan(); {
		}
		scan += time.Since(began)
		s.Git("reset", "-q", "--hard", "HEAD~1")
		n++
	}
	b.ReportMetric(float64(n*lines)/spent.Seconds(), "lines/s")
	b.ReportMetric(float64(spent)/float64(scan), "x-newline-scan")
	b.ReportMetric(0, "ns/op")
}

// timed is the average time of f.
func timed(b *testing.B, n int, f func()) time.Duration {
	b.Helper()
	began := time.Now()
	for range n {
		f()
	}
	return time.Since(began) / time.Duration(n)
}
