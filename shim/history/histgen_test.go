package history

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/claude"
	"github.com/slidewrite/slidewrite/shim/agent/codex"
	"github.com/slidewrite/slidewrite/shim/event"
)

// The generator writes transcripts as claude 2.1.332 does: one record per
// block, answers of prose, outputs of tools that are source code and stand in
// the record twice, a schema of the tools that makes a short session 100 KB.
// HISTORY_SCALE=1 makes the sizes of the performance contract: 5,000
// transcripts of 2 GB together, a session of 50 MB, one of 500 MB; the default
// is a hundredth.

// scale is the part of the contract's sizes that is generated.
func scale(b testing.TB) float64 {
	s := os.Getenv("HISTORY_SCALE")
	if s == "" {
		return 0.01
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f <= 0 {
		b.Fatalf("HISTORY_SCALE=%q is no number over 0", s)
	}
	return f
}

const genRepo = "/src/shop"

// generator writes transcripts of one repository.
type generator struct {
	rand   *rand.Rand
	n      int // records
	steps  int // answers in a turn, 0 = 2 to 7
	schema string
	code   string
}

func newGenerator() *generator {
	g := &generator{rand: rand.New(rand.NewPCG(1, 2))}
	var schema, code strings.Builder
	for i := range 90 {
		fmt.Fprintf(&schema, `{"name":"Tool%d","description":"%s","input_schema":{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer","minimum":1}},"required":["path"],"additionalProperties":false}},`,
			i, strings.Repeat("What the tool does, and when. ", 20))
		fmt.Fprintf(&code, `\t\t<button class=\"primary-%d\" onClick={() => set({ \"on\": true, n: %d })}>\n\t\t\t{label}\n`, i, i)
	}
	g.schema = strings.TrimSuffix(schema.String(), ",")
	g.code = code.String()
	return g
}

// common is what ends each record of the chain.
func (g *generator) common() string {
	g.n++
	return fmt.Sprintf(`"uuid":"%08x-0000-4000-8000-000000000000","timestamp":"2026-11-%02dT%02d:%02d:%02d.%03dZ","userType":"external","entrypoint":"sdk-cli","cwd":"`+genRepo+`","sessionId":"s","version":"2.1.332","gitBranch":"main"}`+"\n",
		g.n, 1+g.n/86400%28, g.n/3600%24, g.n/60%60, g.n%60, g.rand.IntN(1000))
}

// session writes a transcript of about size bytes.
func (g *generator) session(w io.Writer, size int) {
	var b bytes.Buffer
	written := 0
	chain := func(format string, args ...any) {
		fmt.Fprintf(&b, `{"parentUuid":"%08x-0000-4000-8000-000000000000","isSidechain":false,`, g.n)
		fmt.Fprintf(&b, format, args...)
		b.WriteString(g.common())
	}
	fmt.Fprintf(&b, `{"type":"queue-operation","operation":"enqueue","timestamp":"2026-11-01T00:00:00.000Z","sessionId":"s"}`+"\n")
	for turn := 0; written == 0 || written < size; turn++ {
		chain(`"type":"user","message":{"role":"user","content":[{"type":"text","text":"\nMake button %d green, please."}]},`, turn)
		if turn == 0 {
			chain(`"attachment":{"type":"prompt_snapshot","tools":[%s]},"type":"attachment",`, g.schema)
		}
		steps := g.steps
		if steps == 0 {
			steps = 2 + g.rand.IntN(6)
		}
		for step := range steps {
			if written += b.Len(); g.steps > 0 && written > size {
				break
			}
			if _, err := w.Write(b.Bytes()); err != nil {
				panic(err) // of a test's own folder
			}
			b.Reset()
			id := fmt.Sprintf("msg_%d_%d", turn, step)
			usage := `"stop_reason":"tool_use","usage":{"input_tokens":100,"cache_creation_input_tokens":20,"cache_read_input_tokens":3000,"output_tokens":40,"service_tier":"standard","cache_creation":{"ephemeral_1h_input_tokens":0}}`
			head := `"message":{"id":"` + id + `","type":"message","role":"assistant","model":"claude-opus-5-5","content":`
			chain(`%s[{"type":"text","text":"%s"}],%s},"type":"assistant",`, head, strings.Repeat("I will look at the button first. ", 1+g.rand.IntN(30)), usage)
			chain(`%s[{"type":"tool_use","id":"toolu_%d","name":"Read","input":{"file_path":"`+genRepo+`/src/Button%d.jsx"}}],%s},"type":"assistant",`, head, g.n, step, usage)
			output := g.code[:g.rand.IntN(len(g.code))]
			output = strings.TrimRight(output, `\`)
			chain(`"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%d","type":"tool_result","content":"%s"}]},"toolUseResult":{"type":"text","file":{"filePath":"`+genRepo+`/src/Button%d.jsx","content":"%s","numLines":3}},`,
				g.n-1, output, step, output)
		}
		chain(`"message":{"id":"msg_%d_end","type":"message","role":"assistant","content":[{"type":"text","text":"The button is green."}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}},"type":"assistant",`, turn)
		n, err := w.Write(b.Bytes())
		if err != nil {
			panic(err) // of a test's own folder
		}
		written += n
		b.Reset()
	}
	fmt.Fprintf(w, `{"type":"ai-title","aiTitle":"Green buttons","sessionId":"s"}`+"\n")
}

// corpus writes a claude folder with sessions of about size bytes each and
// returns what asks for it, and the bytes written.
func corpus(b testing.TB, sessions, size int) (h agent.History, total int64) {
	b.Helper()
	return newGenerator().corpus(b, sessions, size)
}

// oneTurn writes a session of one turn, in which the agent works for long.
func oneTurn(b testing.TB, size int) (h agent.History, total int64) {
	b.Helper()
	g := newGenerator()
	g.steps = size // more than fit
	return g.corpus(b, 1, size)
}

func (g *generator) corpus(b testing.TB, sessions, size int) (h agent.History, total int64) {
	b.Helper()
	config := b.TempDir()
	dir := filepath.Join(config, "projects", "-src-shop")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(nil, 1<<20)
	for i := range sessions {
		f, err := os.Create(filepath.Join(dir, id(i)+".jsonl"))
		if err != nil {
			b.Fatal(err)
		}
		w.Reset(f)
		g.session(w, size)
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			b.Fatal(err)
		}
		total += info.Size()
		f.Close()
	}
	return agent.History{Repo: genRepo, Environ: []string{"CLAUDE_CONFIG_DIR=" + config}}, total
}

// readEverything is what every list is measured against: each byte is read
// once, with as many readers, and its newlines are counted.
func readEverything(b testing.TB, h agent.History) time.Duration {
	b.Helper()
	start := time.Now()
	transcripts, err := claude.New().Transcripts(h)
	if err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			buf := make([]byte, block)
			for i := next.Add(1) - 1; int(i) < len(transcripts); i = next.Add(1) - 1 {
				f, err := os.Open(transcripts[i].Path)
				if err != nil {
					b.Error(err)
					return
				}
				for {
					n, err := f.Read(buf)
					for rest := buf[:n]; ; {
						at := bytes.IndexByte(rest, '\n')
						if at < 0 {
							break
						}
						rest = rest[at+1:]
					}
					if err != nil {
						break
					}
				}
				f.Close()
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}

func list(b testing.TB, h *History, sessions int) {
	b.Helper()
	rows, err := h.List(context.Background(), claude.New())
	if err != nil || len(rows) != sessions {
		b.Fatalf("%d rows, %v; want %d", len(rows), err, sessions)
	}
}

// BenchmarkHistoryListCold lists without an index, and writes one.
func BenchmarkHistoryListCold(b *testing.B) {
	sessions := int(5000 * scale(b))
	opts, total := corpus(b, sessions, 400<<10)
	readEverything(b, opts) // what is cached, is
	b.SetBytes(total)
	var bare time.Duration
	for b.Loop() {
		b.StopTimer()
		bare += readEverything(b, opts)
		cache := b.TempDir()
		b.StartTimer()
		list(b, New(Options{History: opts, Cache: cache}), sessions)
	}
	b.ReportMetric(perOp(b, b.Elapsed()), "ms/list")
	b.ReportMetric(perOp(b, bare), "ms/newline-scan")
}

// perOp is a time in ms of one round.
func perOp(b *testing.B, d time.Duration) float64 { return float64(d) / float64(b.N) / 1e6 }

// looked is how long the names and an lstat of each file take.
func looked(b *testing.B, from agent.Historian, h agent.History) time.Duration {
	start := time.Now()
	transcripts, err := from.Transcripts(h)
	if err != nil {
		b.Fatal(err)
	}
	for _, t := range transcripts {
		if _, err := os.Lstat(t.Path); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}

// warm measures lists of a History that has the index in memory.
func warm(b *testing.B, from agent.Historian, opts agent.History, once func()) {
	var bare time.Duration
	for b.Loop() {
		b.StopTimer()
		bare += looked(b, from, opts)
		b.StartTimer()
		once()
	}
	b.ReportMetric(perOp(b, b.Elapsed()), "ms/list")
	b.ReportMetric(perOp(b, bare), "ms/lstat")
}

// BenchmarkHistoryListWarm lists what the index in memory knows.
func BenchmarkHistoryListWarm(b *testing.B) {
	sessions := int(5000 * scale(b))
	opts, _ := corpus(b, sessions, 4<<10)
	h := New(Options{History: opts, Cache: b.TempDir()})
	list(b, h, sessions)
	warm(b, claude.New(), opts, func() { list(b, h, sessions) })
}

// rollouts writes n rollouts as codex 0.171.0 begins them, of which one in 500
// is of the repository.
func rollouts(b *testing.B, n int) (h agent.History, ours int) {
	b.Helper()
	home := b.TempDir()
	instructions := strings.Repeat("You are a coding agent, and work with care. ", 500) // 22 KB
	for i := range n {
		cwd := "/src/other"
		if i%500 == 0 {
			cwd = genRepo
			ours++
		}
		day := filepath.Join(home, "sessions", "2026", "11", fmt.Sprintf("%02d", 1+i%28))
		if err := os.MkdirAll(day, 0o700); err != nil {
			b.Fatal(err)
		}
		const now = "2026-11-03T10:00:00.000Z"
		text := fmt.Sprintf(`{"timestamp":%q,"ordinal":0,"type":"session_meta","payload":{"session_id":%q,"id":%q,"timestamp":%q,"cwd":%q,"originator":"codex_exec","cli_version":"0.171.0","source":"exec","thread_source":"user","base_instructions":{"text":%q}}}`+"\n",
			now, id(i), id(i), now, cwd, instructions) +
			fmt.Sprintf(`{"timestamp":%q,"ordinal":1,"type":"event_msg","payload":{"type":"item_completed","thread_id":%q,"turn_id":"t","item":{"type":"UserMessage","id":"u","content":[{"type":"text","text":"Make the button green.","text_elements":[]}]}}}`+"\n", now, id(i)) +
			fmt.Sprintf(`{"timestamp":%q,"ordinal":2,"type":"event_msg","payload":{"type":"item_completed","thread_id":%q,"turn_id":"t","item":{"type":"AgentMessage","id":"m","content":[{"type":"Text","text":"It is green."}]}}}`+"\n", now, id(i))
		if err := os.WriteFile(filepath.Join(day, "rollout-2026-11-03T10-00-00-"+id(i)+".jsonl"), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return agent.History{Repo: genRepo, Environ: []string{"CODEX_HOME=" + home}}, ours
}

// BenchmarkHistoryRollouts lists 10,000 rollouts of codex, 20 of them ours.
func BenchmarkHistoryRollouts(b *testing.B) {
	opts, ours := rollouts(b, max(500, int(10_000*scale(b))))
	from := codex.New(codex.Options{})
	once := func(h *History) {
		rows, err := h.List(context.Background(), from)
		if err != nil || len(rows) != ours {
			b.Fatalf("%d rows, %v; want %d", len(rows), err, ours)
		}
	}
	b.Run("cold", func(b *testing.B) {
		warm(b, from, opts, func() {
			b.StopTimer()
			cache := b.TempDir()
			b.StartTimer()
			once(New(Options{History: opts, Cache: cache}))
		})
	})
	b.Run("warm", func(b *testing.B) {
		h := New(Options{History: opts, Cache: b.TempDir()})
		once(h)
		warm(b, from, opts, func() { once(h) })
	})
}

// BenchmarkHistoryListRestart lists with the index on disk.
func BenchmarkHistoryListRestart(b *testing.B) {
	sessions := int(5000 * scale(b))
	opts, _ := corpus(b, sessions, 4<<10)
	cache := b.TempDir()
	list(b, New(Options{History: opts, Cache: cache}), sessions)
	for b.Loop() {
		list(b, New(Options{History: opts, Cache: cache}), sessions)
	}
}

// heap is the largest heap while f runs, over what there was, in bytes.
func heap(f func()) int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before, most := int64(m.HeapInuse), int64(0)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		var m runtime.MemStats
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-stop:
				return
			case <-tick.C:
				runtime.ReadMemStats(&m)
				most = max(most, int64(m.HeapInuse)-before)
			}
		}
	}()
	f()
	close(stop)
	<-done
	return most
}

func events(b testing.TB, h *History, p Page) (n int, c Cursors) {
	b.Helper()
	c, err := h.Events(context.Background(), claude.New(), id(0), p, func(event.Event) error { n++; return nil })
	if err != nil || n == 0 {
		b.Fatalf("%d events, %v", n, err)
	}
	return n, c
}

// BenchmarkHistoryDetailFirstPage gives the last 200 events of a 50 MB session
// that the list knows.
func BenchmarkHistoryDetailFirstPage(b *testing.B) {
	opts, total := corpus(b, 1, int(50e6*scale(b)))
	h := New(Options{History: opts, Cache: b.TempDir()})
	list(b, h, 1)
	most := heap(func() { events(b, h, Page{Limit: 200}) })
	for b.Loop() {
		events(b, h, Page{Limit: 200})
	}
	b.ReportMetric(float64(total)/1e6, "MB")
	b.ReportMetric(perOp(b, b.Elapsed()), "ms/page")
	b.ReportMetric(float64(most)/(1<<20), "MiB/heap")
}

// BenchmarkHistoryDetailLongTurn gives the last 200 events of a 50 MB session
// that is one turn, and pages further back. The first one after each change of
// the file looks at all of the turn, once, for how it ended.
func BenchmarkHistoryDetailLongTurn(b *testing.B) {
	opts, total := oneTurn(b, int(50e6*scale(b)))
	h := New(Options{History: opts, Cache: b.TempDir()})
	list(b, h, 1)
	most := heap(func() { events(b, h, Page{Limit: 200}) })
	var first, older time.Duration
	for b.Loop() {
		h.endings = endings{}
		start := time.Now()
		_, c := events(b, h, Page{Limit: 200})
		first += time.Since(start)
		start = time.Now()
		events(b, h, Page{Limit: 200, Before: c.Before})
		older += time.Since(start)
	}
	b.ReportMetric(float64(total)/1e6, "MB")
	b.ReportMetric(perOp(b, first), "ms/page")
	b.ReportMetric(perOp(b, older), "ms/older-page")
	b.ReportMetric(float64(most)/(1<<20), "MiB/heap")
}

// BenchmarkHistoryDetailStream gives all events of a 500 MB session.
func BenchmarkHistoryDetailStream(b *testing.B) {
	opts, total := corpus(b, 1, int(500e6*scale(b)))
	h := New(Options{History: opts, Cache: b.TempDir()})
	list(b, h, 1)
	b.SetBytes(total)
	var most int64
	for b.Loop() {
		most = max(most, heap(func() { events(b, h, Page{}) }))
	}
	b.ReportMetric(float64(most)/(1<<20), "MiB/heap")
	b.ReportMetric(float64(total)/1e6/(perOp(b, b.Elapsed())/1e3), "MB/s-replay")
}

// TestStreamNeedsConstantMemory replays two sessions, one of ten times the
// size of the other.
func TestStreamNeedsConstantMemory(t *testing.T) {
	var most [2]int64
	for i, size := range []int{3e6, 30e6} {
		opts, _ := corpus(t, 1, size)
		h := New(Options{History: opts})
		list(t, h, 1)
		most[i] = heap(func() { events(t, h, Page{}) })
	}
	const slack = 16 << 20 // bytes: what the collector leaves lying
	if most[1] > most[0]+slack {
		t.Errorf("3 MB need %d bytes, 30 MB need %d", most[0], most[1])
	}
}

// TestPagesOfALongTurn reads a session of one turn in pages, both ways: they
// are the whole, with the end of the turn, and none costs what the whole does.
func TestPagesOfALongTurn(t *testing.T) {
	opts, _ := oneTurn(t, 6e6)
	h := New(Options{History: opts})
	get := func(p Page) (out []string, c Cursors) {
		t.Helper()
		c, err := h.Events(t.Context(), claude.New(), id(0), p, func(e event.Event) error {
			b, err := event.Encode(e)
			out = append(out, string(b))
			return err
		})
		if err != nil {
			t.Fatalf("%+v: %v", p, err)
		}
		return out, c
	}
	start := time.Now()
	whole, _ := get(Page{})
	all := time.Since(start)
	if n := len(whole); n < 1500 || !strings.Contains(whole[n-1], `"type":"result"`) || strings.Count(strings.Join(whole, "\n"), `"type":"user"`) != 1 {
		t.Fatalf("%d events, last %s", n, whole[n-1])
	}
	var back []string
	pages, quick := 0, 0
	for p := (Page{Limit: 200}); pages == 0 || p.Before != ""; pages++ {
		h.endings = endings{}
		start := time.Now()
		get(Page{Limit: 30, Before: p.Before})
		if time.Since(start) < all/2 {
			quick++
		}
		page, c := get(p)
		again, _ := get(Page{Limit: p.Limit, After: c.Before, Before: c.After})
		if c.Before != "" && !slices.Equal(again, page) {
			t.Fatalf("between %+v\n%q\nwant\n%q", c, again, page)
		}
		back = append(slices.Clone(page), back...)
		p.Before = c.Before
	}
	if !slices.Equal(back, whole) {
		t.Errorf("from the end %d events, want %d", len(back), len(whole))
	}
	if quick < pages/2 {
		t.Errorf("%d of %d pages took less than half the time of all (%v)", quick, pages, all)
	}
	var forth []string
	for p := (Page{Limit: 333, After: place{}.String()}); ; {
		page, c := get(p)
		if forth = append(forth, page...); len(page) == 0 {
			break
		}
		p.After = c.After
	}
	if !slices.Equal(forth, whole) {
		t.Errorf("from the beginning %d events, want %d", len(forth), len(whole))
	}
}

// TestGeneratedSession holds the generator to what it is for: every record is
// one that the reader knows.
func TestGeneratedSession(t *testing.T) {
	opts, total := corpus(t, 3, 100<<10)
	h := New(Options{History: opts})
	rows, err := h.List(t.Context(), claude.New())
	if err != nil || len(rows) != 3 || total < 300<<10 {
		t.Fatalf("%d rows of %d bytes, %v", len(rows), total, err)
	}
	for _, row := range rows {
		if row.Title != "Green buttons" || row.FirstPrompt != "Make button 0 green, please." || row.Branch != "main" || row.Messages < 3 || !row.EndedAt.After(row.StartedAt) {
			t.Errorf("%+v", row)
		}
	}
	seen := map[string]int{}
	_, err = h.Events(t.Context(), claude.New(), id(0), Page{}, func(e event.Event) error {
		seen[e.Type()]++
		return nil
	})
	if err != nil || seen["user"] == 0 || seen["user"] != seen["result"] || seen["tool"] == 0 || seen["tool"] != seen["tool_result"] || seen["delta"] <= seen["tool"] {
		t.Errorf("%v, %v", seen, err)
	}
}
