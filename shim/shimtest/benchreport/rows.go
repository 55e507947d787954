package main

// suite is a group of benchmarks that are run so many times.
type suite struct {
	pkg   string // folder
	bench string // pattern, as go test -bench takes it
	times int
}

var suites = []suite{
	{"testscripts", "StartToListening", 20},
	{"testscripts", "IdleMemory", 3},
	{"testscripts", "Binary", 1},
	{"shim", "AgentStart", 15},
	{"shim", "OneEdit", 10},
	{"shim", "LineToEvent", 2},
	{"shim", "Throughput", 5},
	{"shim", "LargeLines", 3},
	{"shim", "RunMemory", 2},
	{"shim", "StalledClient", 2},
	{"shim/gitrepo", "Snapshot", 8},
	{"shim/agent/claude", "MapTextDelta/largeEscaped", 30},
	{"shim/agent/claude", "MapLargeLine", 30},
	{"shim/history", "HistoryListCold", 2},
	{"shim/history", "HistoryListWarm", 10},
	{"shim/history", "HistoryRollouts", 5},
	{"shim/history", "HistoryDetailFirstPage", 10},
	{"shim/history", "HistoryDetailLongTurn", 10},
	{"shim/history", "HistoryDetailStream", 1},
	{"e2e", "PickHover", 200},
	{"e2e", "PanelDeltas", 3},
	{"e2e", "PanelEvents", 3},
	{"e2e", "PanelLarge", 1},
	{"e2e", "PanelMemory", 1},
	{"e2e", "PanelLongSession", 5},
}

// row is a line of the table. value and base are units of the benchmark's
// metrics.
type row struct {
	what  string
	bench string // its name, without Benchmark
	value string

	base     string
	baseOf   string // the benchmark of base, bench when empty
	baseWhat string

	target  float64
	atLeast bool // target is a lower bound
	byRatio bool // target is of the ratio
}

var rows = []row{
	{what: "start to listening", bench: "StartToListening", value: "ms/start", base: "ms/version", baseWhat: "`slidewrite version`", target: 8},
	{what: "the same in a large repository", bench: "StartToListening", value: "ms/start-large", base: "ms/start", baseWhat: "in a small one", target: 8},
	{what: "idle memory", bench: "IdleMemory", value: "MiB/idle", base: "MiB/bare-server", baseWhat: "bare HTTP server", target: 12},
	{what: "idle memory: pages of the program", bench: "IdleMemory", value: "MiB/program", base: "MiB/idle", baseWhat: "all of it"},
	{what: "`POST /design` to the agent's start", bench: "AgentStart/small", value: "ms/agent-start-less-bare", base: "ms/bare-exec", baseWhat: "fork and exec, on top", target: 5},
	{what: "the same in a large repository", bench: "AgentStart/large", value: "ms/agent-start-less-bare", base: "ms/bare-exec", baseWhat: "fork and exec, on top", target: 5},
	{what: "first snapshot, large repository", bench: "Snapshot", value: "ms/before", base: "ms/git-status", baseWhat: "`git status`", target: 1.6, byRatio: true},
	{what: "second snapshot and change", bench: "Snapshot", value: "ms/after", base: "ms/git-status", baseWhat: "`git status`", target: 1.6, byRatio: true},
	{what: "agent's line to client's event, median", bench: "LineToEvent", value: "ms/median", base: "ms/relay-median", baseWhat: "bare relay", target: 1},
	{what: "agent's line to client's event, 99th percentile", bench: "LineToEvent", value: "ms/p99", base: "ms/relay-p99", baseWhat: "bare relay", target: 10},
	{what: "small text lines, agent to client", bench: "Throughput", value: "lines/s", base: "lines/s-json", baseWhat: "encoding/json alone", target: 1e6, atLeast: true},
	{what: "text lines of 1 MiB, agent to client", bench: "LargeLines/text_delta", value: "MB/s", base: "MB/s-json", baseWhat: "encoding/json alone", target: 200, atLeast: true},
	{what: "tool output of 1 MiB, agent to client", bench: "LargeLines/tool_result", value: "MB/s", base: "MB/s-json", baseWhat: "encoding/json alone", target: 120, atLeast: true},
	{what: "large text lines, mapper alone", bench: "MapTextDelta/largeEscaped", value: "MB/s", base: "MB/s-json", baseOf: "LargeLines/text_delta", baseWhat: "encoding/json alone", target: 200, atLeast: true},
	{what: "large assistant lines, mapper alone", bench: "MapLargeLine/assistant", value: "MB/s", base: "MB/s-json", baseOf: "LargeLines/tool_result", baseWhat: "encoding/json of tool output", target: 120, atLeast: true},
	{what: "large tool output, mapper alone", bench: "MapLargeLine/user", value: "MB/s", base: "MB/s-json", baseOf: "LargeLines/tool_result", baseWhat: "encoding/json alone", target: 120, atLeast: true},
	{what: "large file writes, mapper alone", bench: "MapLargeLine/write", value: "MB/s", base: "MB/s-json", baseOf: "LargeLines/tool_result", baseWhat: "encoding/json of tool output", target: 120, atLeast: true},
	{what: "peak memory, one line of 32 MiB", bench: "RunMemory/longest-line", value: "MiB/peak", base: "MiB/idle", baseWhat: "before the run", target: 64 + 4*32},
	{what: "peak memory, eight lines of 32 MiB", bench: "RunMemory/longest-lines", value: "MiB/peak", base: "MiB/idle", baseWhat: "before the run", target: 64 + 4*32},
	{what: "peak memory, 1 GiB in lines of 1 MiB", bench: "RunMemory/1GiB", value: "MiB/peak", base: "MiB/idle", baseWhat: "before the run", target: 64 + 4},
	{what: "what a stalled client adds to it", bench: "StalledClient", value: "MiB/client", base: "MiB/alone", baseWhat: "peak without", target: 8},
	{what: "one edit, `POST` to `done`, less the agent", bench: "OneEdit/small", value: "ms/edit-less-agent", base: "ms/git-status", baseWhat: "`git status`", target: 50},
	{what: "the same in a large repository", bench: "OneEdit/large", value: "ms/edit-less-agent", base: "ms/git-status", baseWhat: "`git status`", target: 3.2, byRatio: true},
	{what: "history: list of 5,000 transcripts, 2 GB, cold", bench: "HistoryListCold", value: "ms/list", base: "ms/newline-scan", baseWhat: "a newline scan", target: 1500},
	{what: "the same, warm", bench: "HistoryListWarm", value: "ms/list", base: "ms/lstat", baseWhat: "names and lstat", target: 30},
	{what: "history: list of 10,000 rollouts, 20 ours, cold", bench: "HistoryRollouts/cold", value: "ms/list", base: "ms/lstat", baseWhat: "names and lstat", target: 200},
	{what: "the same, warm", bench: "HistoryRollouts/warm", value: "ms/list", base: "ms/lstat", baseWhat: "names and lstat", target: 50},
	{what: "history: last 200 events of 50 MB", bench: "HistoryDetailFirstPage", value: "ms/page", target: 50},
	{what: "its heap", bench: "HistoryDetailFirstPage", value: "MiB/heap", target: 16},
	{what: "history: last 200 events of one turn of 50 MB", bench: "HistoryDetailLongTurn", value: "ms/page", target: 50},
	{what: "the 200 before those", bench: "HistoryDetailLongTurn", value: "ms/older-page", target: 50},
	{what: "its heap", bench: "HistoryDetailLongTurn", value: "MiB/heap", target: 16},
	{what: "heap of all events of 500 MB", bench: "HistoryDetailStream", value: "MiB/heap", target: 16},
	{what: "picker: scripts in a frame, 10,000 nodes", bench: "PickHover", value: "ms/frame", base: "ms/frame-asleep", baseWhat: "not armed", target: 1},
	{what: "panel: longest task, 60 KB in 1,000 pieces at once", bench: "PanelDeltas", value: "ms/longest", base: "ms/bare-longest", baseWhat: "a bare page", target: 50},
	{what: "the same in the processor's time", bench: "PanelDeltas", value: "ms/longest-cpu", base: "ms/bare-longest-cpu", baseWhat: "a bare page", target: 50},
	{what: "all of it in the processor's time", bench: "PanelDeltas", value: "ms/cpu", base: "ms/bare-cpu", baseWhat: "a bare page"},
	{what: "panel: longest task, 10,000 events at once", bench: "PanelEvents", value: "ms/longest", base: "ms/bare-longest", baseWhat: "a bare page", target: 50},
	{what: "the same in the processor's time", bench: "PanelEvents", value: "ms/longest-cpu", base: "ms/bare-longest-cpu", baseWhat: "a bare page", target: 50},
	{what: "all of it in the processor's time", bench: "PanelEvents", value: "ms/cpu", base: "ms/bare-cpu", baseWhat: "a bare page"},
	{what: "panel: longest task, a paragraph of 1 MB", bench: "PanelLarge/paragraph", value: "ms/longest", base: "ms/bare-longest", baseWhat: "a bare page", target: 50},
	{what: "the same in the processor's time", bench: "PanelLarge/paragraph", value: "ms/longest-cpu", base: "ms/bare-longest-cpu", baseWhat: "a bare page", target: 50},
	{what: "panel: longest task, a table of 5,000 rows", bench: "PanelLarge/table", value: "ms/longest", base: "ms/bare-longest", baseWhat: "a bare page", target: 50},
	{what: "the same in the processor's time", bench: "PanelLarge/table", value: "ms/longest-cpu", base: "ms/bare-longest-cpu", baseWhat: "a bare page", target: 50},
	{what: "panel: longest task, 20,000 lines of code", bench: "PanelLarge/code", value: "ms/longest", base: "ms/bare-longest", baseWhat: "a bare page", target: 50},
	{what: "the same in the processor's time", bench: "PanelLarge/code", value: "ms/longest-cpu", base: "ms/bare-longest-cpu", baseWhat: "a bare page", target: 50},
	{what: "panel: heap after 100,000 events", bench: "PanelMemory", value: "MiB/many", base: "MiB/some", baseWhat: "after 10,000", target: 1.5, byRatio: true},
	{what: "its nodes", bench: "PanelMemory", value: "nodes/many", base: "nodes/some", baseWhat: "after 10,000", target: 1.5, byRatio: true},
	{what: "panel: last page of a session of 50 MB, click to paint", bench: "PanelLongSession", value: "ms/painted", base: "ms/fetched", baseWhat: "fetching it", target: 300},
	{what: "the program", bench: "Binary", value: "MiB/binary", base: "MiB/bare-server", baseWhat: "bare HTTP server", target: 15},
}
