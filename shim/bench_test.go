package shim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/shimtest"
	"github.com/slidewrite/slidewrite/shim/shimtest/benchrepo"
)

// The benchmarks here have the shim in a process of its own: agent, shim and
// client are three, as they are for a user. Each reports its baseline, measured
// in the same rounds, and the two in relation. `make bench` puts them in a
// table; hold_test.go asserts the relations that hold on a busy machine, too.

// largeRepo is how many files the large repository has when nobody made one
// of 50,000 for us.
const largeRepo = 2000

// timings are those of one thing, again and again.
type timings []time.Duration

// quantile is the time that a part of them (0 to 1) does not exceed.
func (ts timings) quantile(part float64) time.Duration {
	sorted := slices.Sorted(slices.Values(ts))
	return sorted[min(int(part*float64(len(sorted))), len(sorted)-1)]
}

func (ts timings) median() time.Duration { return ts.quantile(0.5) }

func (ts timings) best() time.Duration { return slices.Min(ts) }

func (ts *timings) add(f func()) {
	began := time.Now()
	f()
	*ts = append(*ts, time.Since(began))
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// benchStage is a stage with the files of the edit fixture, alone or in a
// large repository.
func benchStage(tb testing.TB, large bool) *shimtest.Stage {
	tb.Helper()
	s := shimtest.New(tb)
	if !large {
		s.Fixture(edit)
		return s
	}
	s.Repo = benchrepo.Open(tb, largeRepo)
	s.Lay(edit)
	s.Git("add", "-A")
	s.Git("commit", "-q", "--allow-empty", "-m", "sample")
	return s
}

// sizes runs a benchmark in a small repository and in a large one.
func sizes(b *testing.B, f func(b *testing.B, s *shimtest.Stage)) {
	b.Run("small", func(b *testing.B) { f(b, benchStage(b, false)) })
	b.Run("large", func(b *testing.B) { f(b, benchStage(b, true)) })
}

// fakeAlone starts the fake agent without a shim, and waits for its end.
func fakeAlone(s *shimtest.Stage) {
	s.T.Helper()
	cmd := exec.Command("claude", "--version")
	cmd.Env = s.Environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		s.T.Fatalf("claude --version: %v\n%s", err, out)
	}
}

// agentStart is the time from a request to the agent's first instruction, and
// that of a bare fork and exec of the same program to the same place.
type agentStart struct{ bare, run timings }

func (m *agentStart) take(s *shimtest.Stage) {
	s.T.Helper()
	began := time.Now()
	fakeAlone(s)
	all := s.Agents()
	for _, e := range all {
		if e.Started.After(began) {
			m.bare = append(m.bare, e.Started.Sub(began))
		}
	}
	began = time.Now()
	s.Design(ask())
	turns := s.Turns()
	m.run = append(m.run, turns[len(turns)-1].Started.Sub(began))
}

// BenchmarkAgentStart: POST /design to the start of the agent, less what any
// start of that program takes.
func BenchmarkAgentStart(b *testing.B) {
	sizes(b, func(b *testing.B, s *shimtest.Stage) {
		s.PlayChild(text, shim.Config{})
		s.Design(ask()) // warm: the version of the agent is known from here on
		var m agentStart
		for b.Loop() {
			m.take(s)
		}
		bare, run := m.bare.median(), m.run.median()
		b.ReportMetric(millis(run-bare), "ms/agent-start-less-bare")
		b.ReportMetric(millis(bare), "ms/bare-exec")
		b.ReportMetric(float64(run)/float64(bare), "x-bare-exec")
		b.ReportMetric(0, "ns/op")
	})
}

// oneEdit is the time of a whole run, and its yardsticks.
type oneEdit struct{ run, agent, status timings }

func (m *oneEdit) take(s *shimtest.Stage) {
	s.T.Helper()
	m.status.add(func() { s.Git("status", "--porcelain") })
	m.agent.add(func() { fakeAlone(s) })
	m.run.add(func() {
		if got := words(s.Design(ask())); got != "result, change, commit, done" {
			s.T.Fatalf("the run went %q", got)
		}
	})
	s.Git("reset", "-q", "--hard", "HEAD~1")
}

// BenchmarkOneEdit is a whole run over HTTP, from POST to done with its
// commit, with an agent that answers at once: less the agent alone (its start
// and end; the rest is the shim's), and in relation to one git status.
func BenchmarkOneEdit(b *testing.B) {
	sizes(b, func(b *testing.B, s *shimtest.Stage) {
		s.PlayChild(edit, shim.Config{})
		var m oneEdit
		m.take(s) // warm
		m = oneEdit{}
		for b.Loop() {
			m.take(s)
		}
		run, status := m.run.median()-m.agent.median(), m.status.median()
		b.ReportMetric(millis(run), "ms/edit-less-agent")
		b.ReportMetric(millis(status), "ms/git-status")
		b.ReportMetric(float64(run)/float64(status), "x-git-status")
		b.ReportMetric(0, "ns/op")
	})
}

// lineToEvent are the times from a line on the agent's stdout to its event on
// the client's socket, and those of a bare relay.
type lineToEvent struct{ shim, relay timings }

func (m *lineToEvent) take(s *shimtest.Stage, lines int) {
	s.T.Helper()
	const digits = 19 // of nanoseconds since 1970
	age := func(stamp string) time.Duration {
		at, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil {
			s.T.Fatal(err)
		}
		return time.Duration(time.Now().UnixNano() - at)
	}
	stream := s.Open("POST", "/design", ask())
	n := len(m.shim)
	for e := stream.Next(); e != nil; e = stream.Next() {
		if d, ok := e.(event.Delta); ok && len(d.Text) == digits {
			m.shim = append(m.shim, age(d.Text))
		}
	}
	if len(m.shim)-n != lines {
		s.T.Fatalf("%d of %d lines arrived", len(m.shim)-n, lines)
	}
	relay := s.Relay(lines)
	line := make([]byte, digits+1)
	for range lines {
		if _, err := io.ReadFull(relay, line); err != nil {
			s.T.Fatal(err)
		}
		m.relay = append(m.relay, age(string(line[:digits])))
	}
}

// BenchmarkLineToEvent is the delay of single lines. The baseline is a process
// that copies its pipe to its socket.
func BenchmarkLineToEvent(b *testing.B) {
	const lines = 1000
	s := benchStage(b, false)
	s.PlayChild(text, shim.Config{}, fmt.Sprint("stamp=", lines))
	var m lineToEvent
	for b.Loop() {
		m.take(s, lines)
	}
	b.ReportMetric(millis(m.shim.median()), "ms/median")
	b.ReportMetric(millis(m.relay.median()), "ms/relay-median")
	b.ReportMetric(float64(m.shim.median())/float64(m.relay.median()), "x-relay-median")
	b.ReportMetric(millis(m.shim.quantile(0.99)), "ms/p99")
	b.ReportMetric(millis(m.relay.quantile(0.99)), "ms/relay-p99")
	b.ReportMetric(float64(m.shim.quantile(0.99))/float64(m.relay.quantile(0.99)), "x-relay-p99")
	b.ReportMetric(0, "ns/op")
}

// flood is a run whose agent writes many equal lines as fast as they are
// taken.
type flood struct {
	lines int
	size  int    // bytes of a line; 0 for a small one
	kind  string // text_delta or tool_result
}

func (f flood) knobs() []string {
	knobs := []string{fmt.Sprint("flood=", f.lines), "flood_kind=" + f.kind}
	if f.size > 0 {
		knobs = append(knobs, fmt.Sprint("flood_line=", f.size))
	}
	return knobs
}

// line is one of its lines, as the agent writes it, for baselines.
func (f flood) line() []byte {
	const id = `"session_id":"5e551011-0000-4000-8000-000000000000","parent_tool_use_id":null,"uuid":"5e551011-0000-4000-8000-000000000001"`
	if f.kind == "tool_result" {
		out := strings.Repeat(`flooding it with lines of text\n`, max(1, f.size/64))
		return []byte(`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_flood","type":"tool_result","content":"` + out + `","is_error":false}]},` + id +
			`,"tool_use_result":{"stdout":"` + out + `","stderr":"","interrupted":false}}`)
	}
	out := "flooding it "
	if f.size > 0 {
		out = strings.Repeat(`flooding it with lines of text\n`, max(1, f.size/32))
	}
	return []byte(`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + out + `"}},` + id + `,"api_message_id":"msg_000001"}`)
}

// marker is what each event of the flood holds once, near its beginning.
func (f flood) marker() []byte {
	if f.kind == "tool_result" {
		return []byte(`"type":"tool_result"`)
	}
	return []byte(`"text":"flooding it`)
}

// run does it once and returns how long one line took.
func (f flood) run(s *shimtest.Stage) time.Duration {
	s.T.Helper()
	return f.read(s, s.Do(s.Request(context.Background(), "POST", "/design", ask())))
}

// read reads the answer to its end and returns how long one line took: from
// the first that arrives to the last, without start and end of the run (0 when
// all of them come at once).
func (f flood) read(s *shimtest.Stage, res *http.Response) time.Duration {
	s.T.Helper()
	defer res.Body.Close()
	marker := f.marker()
	var first, last time.Time
	atFirst, count, kept := 0, 0, 0
	for buf := make([]byte, 1<<20); ; {
		n, err := res.Body.Read(buf[kept:])
		n += kept
		if got := bytes.Count(buf[:n], marker); got > 0 {
			last = time.Now()
			if count += got; first.IsZero() {
				first, atFirst = last, count
			}
		}
		kept = copy(buf, buf[max(0, n-len(marker)+1):n]) // half a marker, perhaps
		if err == io.EOF {
			break
		}
		if err != nil {
			s.T.Fatal(err)
		}
	}
	if count != f.lines {
		s.T.Fatalf("%d lines arrived, want %d", count, f.lines)
	}
	return last.Sub(first) / time.Duration(max(1, count-atFirst))
}

// decode is how long encoding/json takes for one line, with a struct of no
// more than what is wanted of it.
func (f flood) decode(tb testing.TB) time.Duration {
	tb.Helper()
	line := f.line()
	n := max(1, min(f.lines, 32<<20/len(line)))
	began := time.Now()
	for range n {
		var msg struct {
			Type  string
			Event struct {
				Type  string
				Delta struct{ Type, Text string }
			}
			Message struct {
				Content []struct{ Type, Content string }
			}
		}
		if err := json.Unmarshal(line, &msg); err != nil {
			tb.Fatal(err)
		}
		if msg.Event.Delta.Text == "" && len(msg.Message.Content) == 0 {
			tb.Fatalf("nothing was decoded of %.200s", line)
		}
	}
	return time.Since(began) / time.Duration(n)
}

// scan is how long a scan for newlines takes for one line.
func (f flood) scan() time.Duration {
	line := append(f.line(), '\n')
	n := max(1, 32<<20/len(line))
	all := bytes.Repeat(line, n)
	began := time.Now()
	for len(all) > 0 {
		all = all[bytes.IndexByte(all, '\n')+1:]
	}
	return time.Since(began) / time.Duration(n)
}

// measure is the middle of each over the rounds of a benchmark.
func (f flood) measure(b *testing.B) (run, decode, scan time.Duration) {
	s := benchStage(b, false)
	s.PlayChild(text, shim.Config{}, f.knobs()...)
	var runs, decodes, scans timings
	for b.Loop() {
		runs = append(runs, f.run(s))
		decodes = append(decodes, f.decode(b))
		scans = append(scans, f.scan())
	}
	b.ReportMetric(0, "ns/op")
	return runs.median(), decodes.median(), scans.median()
}

// BenchmarkThroughput is small delta lines from the agent's stdout to a
// client's socket. The baselines are encoding/json, and a scan for newlines,
// of such lines.
func BenchmarkThroughput(b *testing.B) {
	f := flood{lines: 500_000, kind: "text_delta"}
	run, decode, scan := f.measure(b)
	b.ReportMetric(1/run.Seconds(), "lines/s")
	b.ReportMetric(1/decode.Seconds(), "lines/s-json")
	b.ReportMetric(float64(decode)/float64(run), "x-json")
	b.ReportMetric(float64(scan)/float64(run), "x-newline-scan")
}

// BenchmarkLargeLines is the same for lines of 1 MiB: of text that goes on to
// the client, and of a tool's output, of which the beginning does.
func BenchmarkLargeLines(b *testing.B) {
	for _, kind := range []string{"text_delta", "tool_result"} {
		b.Run(kind, func(b *testing.B) {
			f := flood{lines: 256, size: 1 << 20, kind: kind}
			run, decode, _ := f.measure(b)
			megabytes := float64(len(f.line())) / 1e6
			b.ReportMetric(megabytes/run.Seconds(), "MB/s")
			b.ReportMetric(megabytes/decode.Seconds(), "MB/s-json")
			b.ReportMetric(float64(decode)/float64(run), "x-json")
		})
	}
}

// memory is a figure of /proc/<pid>/status, in MiB.
func memory(s *shimtest.Stage, field string) float64 {
	s.T.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.ChildPID()))
	if err != nil {
		s.T.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(data), "\n"+field+":")
	if !ok {
		s.T.Fatalf("no %s in %s", field, data)
	}
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		s.T.Fatal(err)
	}
	return float64(kib) / 1024
}

// newPeak starts VmHWM anew, which is else that of the process so far.
func newPeak(s *shimtest.Stage) {
	s.T.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.ChildPID()), []byte("5"), 0); err != nil {
		s.T.Fatal(err)
	}
}

// peak is the most memory that a shim of its own has during the run, and what
// it had before, in MiB.
func (f flood) peak(tb testing.TB) (peak, idle float64) {
	tb.Helper()
	s := benchStage(tb, false)
	s.PlayChild(text, shim.Config{}, f.knobs()...)
	idle = memory(s, "VmRSS")
	newPeak(s)
	f.run(s)
	peak = memory(s, "VmHWM")
	s.Stop()
	return peak, idle
}

// budget is what a run may take, in MiB: 64 and four times the longest line.
func (f flood) budget() float64 { return 64 + 4*float64(f.size)/(1<<20) }

// BenchmarkRunMemory is the peak of a shim that carries out a run: with a line
// of 32 MiB, the longest there are, with some of them in a row, and with 1 GiB
// in all. The baseline is the
// shim before the run.
func BenchmarkRunMemory(b *testing.B) {
	needsProc(b)
	for _, bench := range []struct {
		name string
		flood
	}{
		{"longest-line", flood{lines: 1, size: 32 << 20, kind: "text_delta"}},
		{"longest-lines", flood{lines: 8, size: 32 << 20, kind: "text_delta"}},
		{"1GiB", flood{lines: 1024, size: 1 << 20, kind: "text_delta"}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var peak, idle float64
			for b.Loop() {
				p, i := bench.peak(b)
				peak, idle = max(peak, p), max(idle, i)
			}
			b.ReportMetric(peak, "MiB/peak")
			b.ReportMetric(idle, "MiB/idle")
			b.ReportMetric(bench.budget(), "MiB/budget")
			b.ReportMetric(peak/idle, "x-idle")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// stalled does it once with further clients that attach and read nothing, and
// returns the shim's peak, in MiB, and how long one line took. gate holds the
// agent before the flood.
func (f flood) stalled(s *shimtest.Stage, gate *shimtest.Gate, clients int) (peak float64, line time.Duration) {
	s.T.Helper()
	gate.Close()
	newPeak(s)
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	res := s.Do(s.Request(ctx, "POST", "/design", ask()))
	gate.Reached()
	id := newest(s).ID
	for range clients {
		if res := s.Do(s.Request(ctx, "GET", "/runs/"+id+"/events", nil)); res.StatusCode != 200 {
			s.T.Fatalf("GET events: %s", res.Status)
		}
	}
	gate.Open()
	line = f.read(s, res)
	return memory(s, "VmHWM"), line
}

// BenchmarkStalledClient is what a client that stops reading adds to the peak
// of a run, and to the time the agent's lines take. There are eight at once,
// which makes the noise of one peak an eighth.
func BenchmarkStalledClient(b *testing.B) {
	needsProc(b)
	const clients = 8
	f := flood{lines: 256, size: 1 << 20, kind: "text_delta"}
	s := benchStage(b, false)
	name, gate := hold(s, text, beforeText)
	s.PlayChild(name, shim.Config{}, f.knobs()...)
	f.stalled(s, gate, 0) // warm
	var alone, with float64
	var alones, withs timings
	for b.Loop() {
		peak, line := f.stalled(s, gate, 0)
		alone, alones = max(alone, peak), append(alones, line)
		peak, line = f.stalled(s, gate, clients)
		with, withs = max(with, peak), append(withs, line)
	}
	b.ReportMetric(max(0, with-alone)/clients, "MiB/client")
	b.ReportMetric(alone, "MiB/alone")
	b.ReportMetric(with/alone, "x-alone")
	b.ReportMetric(float64(withs.median())/float64(alones.median()), "x-time-alone")
	b.ReportMetric(0, "ns/op")
}

// beforeText is how many lines of the text fixture come before its first
// message of text.
const beforeText = 5

// needsProc skips where memory cannot be read.
func needsProc(tb testing.TB) {
	tb.Helper()
	if _, err := os.Stat("/proc/self/clear_refs"); err != nil {
		tb.Skip("memory is read from /proc")
	}
}
