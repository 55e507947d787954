package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"

	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// The benchmarks here have the real panel take what a shim sends all at once.
// Their baseline is a bare page that reads the same stream and appends its
// texts as they are. A task's time is by the clock, which other work on the
// machine falsifies, and by the processor's time of the page's thread.

// heavy is a panel whose stub has everything at once.
type heavy struct {
	*Page
	b    *Browser
	shim *stub
	site *httptest.Server
}

// heavily opens a panel beside a page, connected to a stub.
func heavily(tb testing.TB) *heavy {
	tb.Helper()
	stub := newStub()
	srv := httptest.NewServer(stub)
	tb.Cleanup(srv.Close)
	tb.Cleanup(srv.CloseClientConnections)
	h := panelOf(tb, srv.URL, "secret")
	h.shim = stub
	return h
}

// panelOf opens a panel beside a page, connected to a shim. What is below
// /runs/last the site has from the stub.
func panelOf(tb testing.TB, url, token string) *heavy {
	tb.Helper()
	h := &heavy{}
	h.site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/runs/") {
			h.shim.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><html lang=en><title>Corner Café</title><link rel=icon href=data:,><pre></pre>")
	}))
	tb.Cleanup(h.site.Close)
	tb.Cleanup(h.site.CloseClientConnections)
	h.b = Share(tb)
	h.b.Blank.Name = "tab"
	h.b.Blank.Go(h.site.URL + "/")
	h.b.worker().Do(`chrome.storage.local.set({ settings: { version: 1, origins: { ` + js(h.site.URL) + `: ` + js(map[string]any{"shimUrl": url, "token": token, "project": "cafe"}) + ` }, global: {} } })`)
	h.Page = h.b.OpenPanel(h.b.Blank)
	h.Await(`!document.querySelector('[data-sw="state"]') && document.querySelector(".welcome")`)
	return h
}

// weight is what a page's thread did for something. Times are in ms.
type weight struct {
	wall       float64
	long       float64 // tasks of more than 50 ms, as the page itself was told
	longest    float64 // task
	longestCPU float64 // the same in the processor's time
	cpu        float64 // of all tasks, in the processor's time
	script     float64 // the part of it that is scripts
	layout     float64 // and that is style and layout
	nodes      float64 // of the page, when it is done and garbage is collected
	heap       float64 // MiB, likewise
}

// weigh measures what a page does until an expression, which is asked in each
// frame, is true.
func (p *Page) weigh(act func(), until string) weight {
	p.T.Helper()
	call(p, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	var mu sync.Mutex
	var trace []json.RawMessage
	complete := make(chan struct{})
	ctx, leave := context.WithCancel(p.ctx)
	defer leave()
	if err := chromedp.Listen(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *tracing.EventDataCollected:
			mu.Lock()
			defer mu.Unlock()
			for _, v := range ev.Value {
				trace = append(trace, json.RawMessage(v))
			}
		case *tracing.EventTracingComplete:
			close(complete)
		}
	}); err != nil {
		p.T.Fatal(err)
	}
	p.Do(`(() => {
		globalThis.longTasks = [];
		globalThis.longWatch ??= new PerformanceObserver((list) => longTasks.push(...list.getEntries().map((e) => e.duration)));
		longWatch.observe({ type: "longtask" });
	})()`)
	call(p, heapprofiler.CollectGarbage, cdp.Empty{})
	categories := []string{"toplevel", "blink.user_timing"}
	if os.Getenv("SLIDEWRITE_E2E_TRACE") != "" {
		categories = append(categories, "devtools.timeline", "disabled-by-default-devtools.timeline")
	}
	call(p, tracing.Start, tracing.StartParams{TraceConfig: &tracing.TraceConfig{IncludedCategories: categories, ExcludedCategories: []string{"*"}}})
	p.Do(`performance.mark("weigh-begin")`)
	before := p.metrics()
	began := time.Now()
	act()
	p.Do(`void (globalThis.weighed = new Promise((done) => {
		const ask = () => ((` + until + `) ? requestAnimationFrame(() => setTimeout(done)) : requestAnimationFrame(ask));
		ask();
	}))`)
	for deadline := began.Add(10 * patience); ; {
		if Get[bool](p, `Promise.race([weighed.then(() => true), new Promise((done) => setTimeout(done, 2_000, false))])`) {
			break
		}
		if time.Now().After(deadline) {
			p.T.Fatalf("%s: this did not come true: %s", p.Name, until)
		}
	}
	var w weight
	w.wall = float64(time.Since(began).Microseconds()) / 1000
	after := p.metrics()
	p.Do(`performance.mark("weigh-end")`)
	call(p, tracing.End, cdp.Empty{})
	select {
	case <-complete:
	case <-time.After(10 * patience):
		p.T.Fatal("the trace did not end")
	}
	w.script = 1000 * (after["ScriptDuration"] - before["ScriptDuration"])
	for _, part := range []string{"LayoutDuration", "RecalcStyleDuration"} {
		w.layout += 1000 * (after[part] - before[part])
	}
	w.cpu = 1000 * (after["TaskDuration"] - before["TaskDuration"])
	keepTrace(p.T, trace)
	w.longest, w.longestCPU = longestTask(p.T, trace)
	w.long = float64(len(Get[[]float64](p, `new Promise((done) => setTimeout(() => done(longTasks)))`)))
	call(p, heapprofiler.CollectGarbage, cdp.Empty{})
	rest := p.metrics()
	w.nodes, w.heap = rest["Nodes"], rest["JSHeapUsedSize"]/(1<<20)
	p.T.Logf("%+v", w)
	return w
}

// call is a command to a page, for what it does.
func call[P, R any](p *Page, cmd cdp.Command[P, R], params P) R {
	p.T.Helper()
	res, err := chromedp.Call(p.ctx, cmd, params)
	if err != nil {
		p.T.Fatalf("%s: %s: %v", p.Name, cmd.Method, err)
	}
	return res
}

// longestTask finds the longest task of the marked thread between the marks,
// by the clock and by the processor's time, in ms.
func longestTask(tb testing.TB, trace []json.RawMessage) (wall, cpu float64) {
	tb.Helper()
	type record struct {
		Name, Ph, Cat string
		Pid, Tid      int
		Ts, Dur, Tdur float64 // µs
	}
	var all []record
	var begin, end record
	for _, data := range trace {
		var r record
		if err := json.Unmarshal(data, &r); err != nil {
			tb.Fatal(err)
		}
		switch {
		case r.Name == "weigh-begin":
			begin = r
		case r.Name == "weigh-end":
			end = r
		case strings.HasSuffix(r.Name, "RunTask"):
			all = append(all, r)
		}
	}
	n := 0
	for _, r := range all {
		if r.Pid == begin.Pid && r.Tid == begin.Tid && r.Ts >= begin.Ts && r.Ts <= end.Ts {
			n++
			wall, cpu = max(wall, r.Dur/1000), max(cpu, r.Tdur/1000)
		}
	}
	if n == 0 || cpu == 0 {
		tb.Fatalf("the trace of %d events has no tasks of the page", len(trace))
	}
	return wall, cpu
}

// keepTrace writes a trace into the folder that SLIDEWRITE_E2E_TRACE names, for
// the Performance panel of DevTools.
func keepTrace(tb testing.TB, trace []json.RawMessage) {
	tb.Helper()
	dir := os.Getenv("SLIDEWRITE_E2E_TRACE")
	if dir == "" {
		return
	}
	data, err := json.Marshal(map[string]any{"traceEvents": trace})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(tb.Name(), "/", "-")+".json"), data, 0o644)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// take sends a message and lets the agent say all of this at once, and Done.
func (h *heavy) take(events []event.Event, until string) weight {
	h.T.Helper()
	h.Fill(message, "Go on.")
	h.Click(send)
	h.There(stop)
	h.b.await("the run at the shim", func() bool {
		h.shim.mu.Lock()
		defer h.shim.mu.Unlock()
		return h.shim.id != "" && !h.shim.over
	})
	h.shim.Say(event.Start{SessionID: "11111111-1111-4111-8111-111111111111", Model: "opus", RunID: h.shim.id, Provider: "anthropic"})
	all := append(append([]event.Event{}, events...), finished, event.Done{})
	return h.weigh(func() { h.shim.Say(all...) }, until)
}

// settledRun is true when the panel has drawn all that it shows of a run.
const settledRun = `document.querySelector(".items[aria-busy=false] > :last-child.stats") && !document.querySelector('[data-sw="run-bar"]:not([hidden])')`

// bare reads the events of the last run in a page that appends what they say.
func (h *heavy) bare() weight {
	h.T.Helper()
	tab := h.b.Blank
	tab.Go(h.site.URL + "/bare")
	h.b.Front(tab)
	return tab.weigh(func() {
		tab.Do(`(async () => {
			const { body } = await fetch("/runs/last/events");
			const text = body.pipeThrough(new TextDecoderStream());
			let rest = "";
			for await (const piece of text) {
				const frames = (rest + piece).split("\n\n");
				rest = frames.pop();
				for (const frame of frames) {
					const event = JSON.parse(frame.slice(frame.indexOf("data: ") + 6));
					document.querySelector("pre").append(document.createTextNode(event.text ?? event.detail ?? event.path ?? ""));
				}
			}
			globalThis.read = true;
		})()`)
	}, `globalThis.read`)
}

// flood measures a panel that takes events at once, beside a bare page.
func flood(b *testing.B, events []event.Event) {
	h := heavily(b)
	var worst, bare weight
	for b.Loop() {
		w := h.take(events, settledRun)
		worst.long, worst.longest, worst.longestCPU = max(worst.long, w.long), max(worst.longest, w.longest), max(worst.longestCPU, w.longestCPU)
		worst.cpu, worst.script, worst.nodes = max(worst.cpu, w.cpu), max(worst.script, w.script), max(worst.nodes, w.nodes)
		h.Click(Role("button", "New chat"))
	}
	bare = h.bare()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(worst.long, "tasks/long")
	b.ReportMetric(worst.longest, "ms/longest")
	b.ReportMetric(worst.longestCPU, "ms/longest-cpu")
	b.ReportMetric(worst.cpu, "ms/cpu")
	b.ReportMetric(worst.script, "ms/script")
	b.ReportMetric(bare.longest, "ms/bare-longest")
	b.ReportMetric(bare.longestCPU, "ms/bare-longest-cpu")
	b.ReportMetric(bare.cpu, "ms/bare-cpu")
	b.ReportMetric(worst.cpu/bare.cpu, "x-bare")
}

// BenchmarkPanelDeltas is an answer of 60 KB in 1,000 pieces at once.
func BenchmarkPanelDeltas(b *testing.B) { flood(b, deltas(60_000, 1_000)) }

// BenchmarkPanelEvents is 10,000 events of an agent at work, at once.
func BenchmarkPanelEvents(b *testing.B) { flood(b, work(10_000)) }

// BenchmarkPanelLarge is single things that are large.
func BenchmarkPanelLarge(b *testing.B) {
	row := func(i int) string { return fmt.Sprintf("| %d | some **text** |\n", i) }
	for _, bench := range []struct{ name, text string }{
		{"paragraph", strings.Repeat("word **bold** _it_ and more of it. ", 30_000)}, // 1 MB in one line
		{"table", "| a | b |\n|---|---|\n" + lines(5_000, row)},
		{"code", "```js\n" + lines(20_000, func(i int) string { return fmt.Sprintf("const x%d = 1;\n", i) }) + "```\n"},
	} {
		b.Run(bench.name, func(b *testing.B) { flood(b, []event.Event{event.Delta{MessageID: "m1", Text: bench.text}}) })
	}
}

func lines(n int, line func(i int) string) string {
	var all strings.Builder
	for i := range n {
		all.WriteString(line(i))
	}
	return all.String()
}

// BenchmarkPanelMemory is what a panel holds after 10,000 events, and after
// ten times as many.
func BenchmarkPanelMemory(b *testing.B) {
	for b.Loop() {
		h := heavily(b)
		some := h.take(work(10_000), settledRun)
		many := h.take(work(100_000), settledRun)
		b.ReportMetric(some.heap, "MiB/some")
		b.ReportMetric(many.heap, "MiB/many")
		b.ReportMetric(some.nodes, "nodes/some")
		b.ReportMetric(many.nodes, "nodes/many")
		b.ReportMetric(many.longestCPU, "ms/longest-cpu")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkPanelLongSession is the last page of a session of 50 MB, from the
// click on it until it is painted; the real shim reads a real file. The
// baseline is a client that only fetches the page.
func BenchmarkPanelLongSession(b *testing.B) {
	s := shimtest.New(b)
	s.Fixture(green)
	const id = "00000001-0000-4000-8000-000000000000"
	dir := filepath.Join(s.Home, ".claude", "projects", regexp.MustCompile(`[^a-zA-Z0-9]`).ReplaceAllString(s.Repo, "-"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(session(s.Repo, 50<<20)), 0o600); err != nil {
		b.Fatal(err)
	}
	s.Play(green, config())
	h := panelOf(b, s.URL, s.Token)
	var first, whole, fetched []float64
	for b.Loop() {
		began := time.Now()
		if status := s.JSON("GET", "/history/"+id+"?provider=anthropic&limit=200", nil, &struct{ Events []json.RawMessage }{}); status != 200 {
			b.Fatalf("the page has status %d", status)
		}
		fetched = append(fetched, float64(time.Since(began).Microseconds())/1000)
		h.Click(Role("button", "History"))
		h.Await(`document.querySelector('[data-sw="session"]')`)
		took := Get[[]float64](h.Page, `(async () => {
			const began = performance.now();
			document.querySelector('[data-sw="session"]').click();
			for (let first = 0;;) {
				await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
				const items = document.querySelector(".replay .items");
				if (!items?.childElementCount) continue;
				first ||= performance.now() - began;
				if (items.ariaBusy === "false") return [first, performance.now() - began];
			}
		})()`)
		first, whole = append(first, took[0]), append(whole, took[1])
		h.Click(Role("button", "Back to the list"))
		h.Click(Role("button", "Back to the chat"))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(slices.Min(first), "ms/painted")
	b.ReportMetric(slices.Min(whole), "ms/whole")
	b.ReportMetric(slices.Min(fetched), "ms/fetched")
}

// session is a transcript of about size bytes, as claude writes them.
func session(repo string, size int) string {
	var all strings.Builder
	n := 0
	record := func(format string, args ...any) {
		n++
		fmt.Fprintf(&all, `{"parentUuid":"%08x-0000-4000-8000-000000000000","isSidechain":false,%s,"uuid":"%08x-0000-4000-8000-000000000000","timestamp":"2026-11-01T%02d:%02d:%02d.000Z","userType":"external","cwd":%s,"sessionId":"s","version":"2.1.332","gitBranch":"main"}`+"\n",
			n-1, fmt.Sprintf(format, args...), n, n/3600%24, n/60%60, n%60, js(repo))
	}
	output := strings.Repeat(`\t<button class=\"primary\" onClick={() => set({ on: true })}>{label}</button>\n`, 60)
	for turn := 0; all.Len() < size; turn++ {
		record(`"type":"user","message":{"role":"user","content":"Make button %d green, please."}`, turn)
		for step := range 5 {
			head := fmt.Sprintf(`"type":"assistant","message":{"id":"msg_%d_%d","type":"message","role":"assistant","model":"claude-opus-5-5","content":`, turn, step)
			record(`%s[{"type":"text","text":"%s"}],"usage":{"input_tokens":100,"output_tokens":40}}`, head, strings.Repeat("I will look at **the button** in `src/Button.css` first. ", 10))
			record(`%s[{"type":"tool_use","id":"toolu_%d","name":"Read","input":{"file_path":"src/Button%d.jsx"}}],"usage":{"input_tokens":100,"output_tokens":40}}`, head, n, step)
			record(`"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%d","type":"tool_result","content":"%s"}]},"toolUseResult":{"type":"text","content":"%s"}`, n-1, output, output)
		}
		record(`"type":"assistant","message":{"id":"msg_%d_end","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"The button is green."}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}`, turn)
	}
	return all.String()
}

// deltas is an answer of n characters in so many pieces.
func deltas(n, pieces int) []event.Event {
	var text strings.Builder
	for i := 0; text.Len() < n; i++ {
		fmt.Fprintf(&text, "## Part %d\n\nSome **text** with `code`, a [link](https://example.com/%d) and words to the end of the line, as an answer has them.\n\n- one of it\n- two of `it`\n\n```css\n.a%d { color: red }\n.b { color: blue }\n```\n\n| token | before |\n| --- | --- |\n| `--a` | %d |\n\n", i, i, i, i)
	}
	all := text.String()[:n]
	var events []event.Event
	for i := range pieces {
		events = append(events, event.Delta{MessageID: "m1", Text: all[i*n/pieces : (i+1)*n/pieces]})
	}
	return events
}

// work is n events of an agent at work: thinking, words, calls with their
// output.
func work(n int) []event.Event {
	var events []event.Event
	output := strings.Repeat("a line of what the command printed\n", 20)
	for i := 0; len(events) < n; i++ {
		id, m := fmt.Sprint("t", i), fmt.Sprint("m", i)
		events = append(events,
			event.ThinkingDelta{MessageID: m, Text: "The button is what was picked, "}, event.ThinkingDelta{MessageID: m, Text: "and it is blue."},
			event.Delta{MessageID: m, Text: fmt.Sprintf("Part %d: I look at **the button** ", i)}, event.Delta{MessageID: m, Text: "in `src/Button.css` first.\n"},
			event.Usage{InputTokens: int64(i), OutputTokens: int64(i)},
			event.Tool{Tool: "Bash", Detail: fmt.Sprint("npm test -- ", i), ID: id}, event.ToolResult{Tool: "Bash", ID: id, Text: output},
			event.FileEdit{Tool: "Edit", Path: fmt.Sprintf("src/Button%d.css", i), ID: id + "e"}, event.ToolResult{Tool: "Edit", ID: id + "e", Text: "updated"},
			event.Delta{MessageID: m + "b", Text: "Done with it."})
	}
	return events[:n]
}
