//go:build !race

// What is measured here is memory and floods, neither of which is the shim's own
// under the race detector; the other tests run the same code there.

package shim_test

import (
	"bufio"
	"context"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/shimtest"
	"github.com/slidewrite/slidewrite/shim/sse"
)

// tape is what a client has of a stream: every frame once, in order.
type tape struct {
	last int64 // id of the last frame
	sum  hash.Hash64
	done bool
}

func newTape() *tape { return &tape{sum: fnv.New64a()} }

func (t *tape) add(f sse.Frame) error {
	if f.ID != t.last+1 || t.done {
		return fmt.Errorf("frame %d follows %d (done: %v)", f.ID, t.last, t.done)
	}
	t.last = f.ID
	fmt.Fprintf(t.sum, "%d %s\n", f.ID, f.Data)
	t.done = string(f.Data) == `{"type":"done"}`
	return nil
}

func (t *tape) String() string { return fmt.Sprintf("%d frames with sum %x", t.last, t.sum.Sum64()) }

// attach follows a run from behind the tape's last frame and takes in at most
// n frames (0 = all). A stream that is cut off is no error.
func (t *tape) attach(s *shimtest.Stage, id string, n int) error {
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	req := s.Request(ctx, "GET", "/runs/"+id+"/events", nil)
	req.Header.Set("Last-Event-ID", strconv.FormatInt(t.last, 10))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("attach: %s", res.Status)
	}
	return t.take(res.Body, n)
}

func (t *tape) take(r io.Reader, n int) error {
	for f, err := range sse.Read(r) {
		if err != nil {
			return nil // cut off
		}
		if err := t.add(f); err != nil {
			return err
		}
		if n--; n == 0 {
			return nil
		}
	}
	return nil
}

// replay is the whole run, read at once.
func replay(s *shimtest.Stage, id string) *tape {
	s.T.Helper()
	t := newTape()
	if err := t.attach(s, id, 0); err != nil {
		s.T.Fatal(err)
	}
	if !t.done {
		s.T.Fatalf("the replay ends without done, after %v", t)
	}
	return t
}

// stage lays out the repository of edit.
func stage(t *testing.T) *shimtest.Stage {
	t.Helper()
	s := shimtest.New(t)
	s.Fixture(edit)
	return s
}

// floodOf is the knob for n small deltas in the agent's first text, which
// begins with line 16.
func floodOf(n int) string { return "flood=" + strconv.Itoa(n) }

// aboutToFlood is an edit that nobody follows yet, whose agent stands at a
// gate before its first text.
func aboutToFlood(t *testing.T, knobs string, start func(s *shimtest.Stage, fixture, knobs string)) (s *shimtest.Stage, id string, gate *shimtest.Gate) {
	t.Helper()
	s = stage(t)
	gate = s.Gate("flood")
	early := "written before the flood\n"
	fixture := s.Variant(edit, func(f *fakeagents.Fixture) {
		f.Effects = append(f.Effects, fakeagents.Effect{After: 10, Path: "early.txt", Write: &early}, gate.After(15))
	})
	start(s, fixture, knobs)
	stream := s.Open("POST", "/design", ask("detach", true))
	gate.Reached()
	stream.Leave()
	return s, newest(s).ID, gate
}

func asChild(s *shimtest.Stage, fixture, knobs string) {
	s.PlayChild(fixture, shim.Config{Timing: quick}, knobs)
}

// slowClient is a connection with small buffers that reads when it is told to.
type slowClient struct {
	net.Conn
	in *bufio.Reader
}

func dialSlowly(s *shimtest.Stage) *slowClient {
	s.T.Helper()
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) {
			failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10)
		})
		if err != nil {
			return err
		}
		return failed
	}}
	conn, err := dialer.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() { conn.Close() })
	return &slowClient{conn, bufio.NewReader(conn)}
}

// say sends a request with the token and, when it is a POST, its body.
func (c *slowClient) say(s *shimtest.Stage, method, path, body string) {
	s.T.Helper()
	_, err := fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		method, path, s.Token, len(body), body)
	if err != nil {
		s.T.Fatal(err)
	}
}

// queued is how much the server has written that the client's system has not
// taken; open is whether the server still holds the connection.
func (c *slowClient) queued(t testing.TB) (bytes int, open bool) {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	port := func(a net.Addr) string { return fmt.Sprintf(":%04X", a.(*net.TCPAddr).Port) }
	for row := range strings.Lines(string(table)) {
		f := strings.Fields(row) // sl local remote state tx:rx …
		const established = "01"
		if strings.HasSuffix(f[1], port(c.RemoteAddr())) && strings.HasSuffix(f[2], port(c.LocalAddr())) && f[3] == established {
			if _, err := fmt.Sscanf(f[4], "%x:", &bytes); err != nil {
				t.Fatal(err)
			}
			return bytes, true
		}
	}
	return 0, false
}

// stuck waits until the server cannot write any more: its side of the
// connection is full and stays as it is.
func (c *slowClient) stuck(t testing.TB) {
	t.Helper()
	before, same := -1, 0
	shimtest.Await(t, "a full connection", func() bool {
		now, _ := c.queued(t)
		if same++; now == 0 || now != before {
			same = 0
		}
		before = now
		return same == 10
	})
}

// read takes in what comes until the stream ends or is cut off.
func (c *slowClient) read(tape *tape) error {
	if err := c.Conn.(*net.TCPConn).SetReadBuffer(1 << 20); err != nil {
		return err
	}
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("attach: %s", res.Status)
	}
	return tape.take(res.Body, 0)
}

// floodWith is a flood of n deltas, read by one client at once and by others
// that stop reading, for as long as hold waits. took is from the first delta
// to done, peak the memory that the shim needed.
func floodWith(t *testing.T, n, stalled int, hold func(*slowClient)) (took time.Duration, peak int) {
	t.Helper()
	s, id, gate := aboutToFlood(t, floodOf(n), asChild)
	clients := make([]*slowClient, stalled)
	for i := range clients {
		clients[i] = dialSlowly(s)
		clients[i].say(s, "GET", "/runs/"+id+"/events", "")
	}
	gate.Open()
	began := time.Now()
	live := newTape()
	if err := live.attach(s, id, 0); err != nil {
		t.Fatal(err)
	}
	took = time.Since(began)
	if !live.done || live.last < int64(n) {
		t.Fatalf("the quick client got %v", live)
	}
	// The run has ended while they had not read a byte: nobody waited for them.
	for _, c := range clients {
		c.stuck(t)
	}
	for _, c := range clients {
		hold(c)
	}
	want := replay(s, id)
	if live.String() != want.String() {
		t.Errorf("live: %v, replayed: %v", live, want)
	}
	for i, c := range clients {
		_, open := c.queued(t)
		got := newTape()
		if err := c.read(got); err != nil {
			t.Fatal(err)
		}
		if open != got.done {
			t.Errorf("client %d: connected %v, done %v", i, open, got.done)
		}
		if !got.done {
			if err := got.attach(s, id, 0); err != nil {
				t.Fatal(err)
			}
		}
		if got.String() != want.String() {
			t.Errorf("client %d got %v, want %v", i, got, want)
		}
	}
	return took, vitalsOf(t, s.PID()).Peak
}

// A client that does not read neither slows the agent nor fills the shim's
// memory, and has lost nothing when it reads on; one that is cut off comes
// back for the rest.
func TestSoakStalledClients(t *testing.T) {
	t.Parallel()
	const clients, each = 4, 8 << 20 // bytes of memory
	n := size(t, 50_000, 500_000)
	alone, least := floodWith(t, n, 0, nil)
	holds := map[string]func(*slowClient){"at once": func(*slowClient) {}}
	if soaking(t) > 0 {
		holds = map[string]func(*slowClient){
			"after 10 s": func(*slowClient) { time.Sleep(10 * time.Second / clients) },
			"cut off": func(c *slowClient) {
				what := func() string { return "the connection of a client that does not read is closed" }
				shimtest.AwaitWithin(t, 2*sse.StallAfter, what, func() bool {
					_, open := c.queued(t)
					return !open
				})
			},
		}
	}
	for name, hold := range holds {
		took, peak := floodWith(t, n, clients, hold)
		t.Logf("%d deltas: alone %v, %.1f MiB; with %d clients that read on %s %v, %.1f MiB", n, alone, mib(least), clients, name, took, mib(peak))
		if peak > least+clients*each {
			t.Errorf("%s: each client took %.1f MiB", name, mib(peak-least)/clients)
		}
		if soaking(t) > 0 && took > 3*alone { // held back, it would take until they read
			t.Errorf("%s: the run took %v, %v without", name, took, alone)
		}
	}
}

// A client that never reads and never goes away is the only one: its run ends
// all the same, and the shim too.
func TestSoakDeadClient(t *testing.T) {
	t.Parallel()
	s := stage(t)
	s.Play(edit, shim.Config{Timing: quick}, floodOf(size(t, 50_000, 500_000)))
	c := dialSlowly(s)
	c.say(s, "POST", "/design", `{"prompt":"Change hello to goodbye in a.txt."}`)
	shimtest.Await(t, "the run", func() bool { return len(runs(s)) == 1 })
	replay(s, newest(s).ID) // to done
	c.stuck(t)
	if r := newest(s); r.State != "done" || r.SHA == "" {
		t.Errorf("listed as %+v", r)
	}
	began := time.Now()
	s.Stop()
	if took := time.Since(began); took > sse.StallAfter/2 {
		t.Errorf("the shim took %v to end", took)
	}
	s.Clean()
}

// Clients that drop and come back at any place have every event once: live,
// after the end, and from a new shim.
func TestSoakDroppingClients(t *testing.T) {
	t.Parallel()
	n, clients := size(t, 20_000, 500_000), size(t, 4, 16)
	var fixture string
	s, id, gate := aboutToFlood(t, floodOf(n), func(s *shimtest.Stage, f, knobs string) {
		fixture = f
		s.Play(f, shim.Config{Timing: quick}, knobs)
	})
	all := func(when string) (tapes []*tape, wait func()) {
		var wg sync.WaitGroup
		tapes = make([]*tape, clients)
		for i := range tapes {
			tapes[i] = newTape()
			rng := rand.New(rand.NewPCG(uint64(i), uint64(len(when))))
			wg.Go(func() {
				for !tapes[i].done {
					if err := tapes[i].attach(s, id, 1+rng.IntN(n/10)); err != nil {
						t.Errorf("%s, client %d: %v", when, i, err)
						return
					}
				}
			})
		}
		return tapes, wg.Wait
	}
	check := func(when string, tapes []*tape, want *tape) {
		for i, got := range tapes {
			if got.String() != want.String() {
				t.Errorf("%s, client %d: %v, want %v", when, i, got, want)
			}
		}
	}
	live, wait := all("live")
	gate.Open()
	wait()
	want := replay(s, id)
	check("live", live, want)
	s.Stop()
	gate.Close()
	s.Play(fixture, shim.Config{Timing: quick})
	check("at once from a new shim", []*tape{replay(s, id)}, want)
	again, wait := all("from a new shim")
	wait()
	check("from a new shim", again, want)
}

// What any client has seen outlives a kill -9 of the shim in the middle of a
// flood; those that come back hear how the run ended. (The agent can be
// through with the flood by then: it hangs behind it.)
func TestSoakKilledShim(t *testing.T) {
	t.Parallel()
	n := size(t, 100_000, 2_000_000)
	var fixture string
	s, id, gate := aboutToFlood(t, floodOf(n)+",hang=17", func(s *shimtest.Stage, f, knobs string) {
		fixture = f
		asChild(s, f, knobs)
	})
	tapes := make([]*tape, size(t, 4, 8))
	var wg sync.WaitGroup
	var far atomic.Int64 // clients that have read some of the flood
	rng := rand.New(rand.NewPCG(uint64(n), 2))
	for i := range tapes {
		tapes[i] = newTape()
		some := 1 + rng.IntN(n/10)
		wg.Go(func() {
			if err := tapes[i].attach(s, id, some); err != nil {
				t.Error(err)
			}
			far.Add(1)
			_ = tapes[i].attach(s, id, 0) // the shim may be gone before it is attached again
		})
	}
	gate.Open()
	shimtest.Await(t, "clients in the flood", func() bool { return far.Load() == int64(len(tapes)) })
	s.Kill()
	wg.Wait()
	s.Play(fixture, shim.Config{Timing: quick})
	whole := reattach(s, id, 0)
	if got := words(whole); got != "error crashed, change, done" {
		t.Fatalf("the run went %q", got)
	}
	wantPaths(t, paths(shimtest.One[event.Change](t, whole)), "early.txt")
	t.Logf("killed when %d of %d deltas were stored", len(shimtest.All[event.Delta](whole)), n)
	want := replay(s, id)
	for i, got := range tapes {
		seen := got.last
		if got.done {
			t.Errorf("client %d had seen done", i)
		}
		if err := got.attach(s, id, 0); err != nil || got.String() != want.String() {
			t.Errorf("client %d, behind frame %d: %v, want %v (%v)", i, seen, got, want, err)
		}
	}
	s.Clean()
}

// The memory of a run does not grow with the transcript, only with its
// longest line; one beyond the limit is skipped and said.
func TestSoakMemoryOfARun(t *testing.T) {
	t.Parallel()
	const limit = 32 << 20              // bytes of a line; see agent/process
	longest := size(t, 8<<20, limit)    // bytes
	lines := size(t, 40_000, 3_700_000) // 290 bytes each: 1 GiB
	for _, tt := range []struct {
		name string
		line int // bytes of the longest line; 0 = only small ones
	}{{"small lines", 0}, {"a long line", longest}, {"a line too long", limit + 2<<10}} {
		s := stage(t)
		knobs := floodOf(lines)
		if tt.line > 0 {
			knobs += ",big_line=" + strconv.Itoa(tt.line-1<<10) // and what is around the text
		}
		s.PlayChild(edit, shim.Config{Timing: quick}, knobs)
		began := time.Now()
		res := s.Do(s.Request(t.Context(), "POST", "/design", ask()))
		deltas, notes, longestSeen := 0, 0, 0
		for f, err := range sse.Read(res.Body) {
			if err != nil {
				t.Fatal(err)
			}
			longestSeen = max(longestSeen, len(f.Data))
			switch {
			case strings.HasPrefix(string(f.Data[:min(len(f.Data), 30)]), `{"type":"delta"`):
				deltas++
			case strings.Contains(string(f.Data), `"line_skipped"`):
				notes++
			}
		}
		took, v := time.Since(began), vitalsOf(t, s.PID())
		t.Logf("%s: %d deltas in %v, longest event %d bytes; %v", tt.name, deltas, took, longestSeen, v)
		skipped, most := 0, 64<<20+4*tt.line
		if tt.line > limit {
			skipped, most = 1, 64<<20+4*limit
		}
		if deltas < lines || notes != skipped || skipped == 0 && longestSeen < tt.line-1<<11 {
			t.Errorf("%s: %d deltas, %d notes, longest event %d bytes", tt.name, deltas, notes, longestSeen)
		}
		if v.Peak > most {
			t.Errorf("%s: the shim needed %.1f MiB, want %.1f at most", tt.name, mib(v.Peak), mib(most))
		}
		s.Stop()
		s.Clean()
	}
}

// The places for streams are all given, and given back.
func TestSoakAllStreams(t *testing.T) {
	t.Parallel()
	const most = 256
	s, id, gate := aboutToFlood(t, "hang=17", asChild)
	gate.Open()
	target := "/runs/" + id + "/events"
	http.DefaultClient.CloseIdleConnections()
	before := vitalsOf(t, s.PID())
	for range 2 {
		var streams []*shimtest.Stream
		for range most {
			streams = append(streams, s.Open("GET", target, nil))
		}
		refused(s, "GET", target, nil, 503, "too_many_streams")
		refused(s, "POST", "/design", ask(), 503, "too_many_streams")
		for _, st := range streams {
			st.Leave()
		}
		shimtest.Await(t, "the descriptors", func() bool {
			http.DefaultClient.CloseIdleConnections() // of the refusals
			return vitalsOf(t, s.PID()).FDs <= before.FDs
		})
	}
	stop(s)
	if got := strings.TrimPrefix(words(reattach(s, id, 0)), "result, "); got != "stopped user, change, done" {
		t.Errorf("the run went %q", got)
	}
}
