package claude

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/agenttest"
	"github.com/slidewrite/slidewrite/shim/event"
)

const (
	idA = "11111111-2222-4333-8444-555555555555"
	idB = "AAAAAAAA-2222-4333-8444-555555555555"
)

// rec is a record of testRepo; rest are its members before the common ones.
func rec(rest string) string { return recIn(testRepo, rest) }

func recIn(cwd, rest string) string {
	return `{"parentUuid":null,` + rest + `,"timestamp":"2026-11-30T07:53:01.152Z","cwd":"` + cwd + `","gitBranch":"main"}`
}

func userRec(text string) string {
	return rec(`"isSidechain":false,"type":"user","message":{"role":"user","content":"` + text + `"}`)
}

func answerRec(id, text string) string {
	return rec(`"isSidechain":false,"message":{"id":"` + id + `","role":"assistant","content":[{"type":"text","text":"` + text + `"}],"stop_reason":"end_turn"},"type":"assistant"`)
}

// scanned reads lines as the list does, in two parts with a Save between them.
func scanned(t testing.TB, h agent.History, lines ...string) agent.Scan {
	t.Helper()
	whole, err := Claude{}.NewScan(h, agent.Transcript{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		whole.Line([]byte(l))
	}
	for at := range len(lines) + 1 {
		first, err := Claude{}.NewScan(h, agent.Transcript{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lines[:at] {
			first.Line([]byte(l))
		}
		second, err := Claude{}.NewScan(h, agent.Transcript{}, first.Save())
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lines[at:] {
			second.Line([]byte(l))
		}
		if second.Row() != whole.Row() || second.Verdict() != whole.Verdict() {
			t.Errorf("saved before line %d: %+v, %v; in one go %+v, %v", at, second.Row(), second.Verdict(), whole.Row(), whole.Verdict())
		}
	}
	return whole
}

func TestScan(t *testing.T) {
	prompt := userRec("Make the button green")
	at := time.Date(2026, 11, 30, 7, 53, 1, 152e6, time.UTC)
	row := agent.Row{FirstPrompt: "Make the button green", StartedAt: at, EndedAt: at, Branch: "main", Messages: 1}
	with := func(change func(*agent.Row)) agent.Row {
		r := row
		change(&r)
		return r
	}
	for _, c := range []struct {
		name    string
		lines   []string
		verdict agent.Verdict
		row     agent.Row
	}{
		{"a prompt", []string{prompt}, agent.Ours, row},
		{"the blocks of an answer are one message", []string{prompt, answerRec("m1", "a"), answerRec("m1", "b"), answerRec("m2", "c")},
			agent.Ours, with(func(r *agent.Row) { r.Messages = 3 })},
		{"a title of the agent's", []string{`{"type":"ai-title","aiTitle":"Green button"}`, prompt}, agent.Ours, with(func(r *agent.Row) { r.Title = "Green button" })},
		{"the human's own title is better, the last one best", []string{prompt, `{"type":"custom-title","customTitle":"Mine"}`, `{"type":"ai-title","aiTitle":"Its"}`, `{"type":"custom-title","customTitle":"Mine \"2\""}`},
			agent.Ours, with(func(r *agent.Row) { r.Title = `Mine "2"` })},
		{"a title in the text of a prompt", []string{userRec(`{\"type\":\"custom-title\",\"customTitle\":\"No\"}`)},
			agent.Ours, with(func(r *agent.Row) { r.FirstPrompt = `{"type":"custom-title","customTitle":"No"}` })},
		{"words of a record in a text", []string{userRec(`\"isMeta\":true,\"isSidechain\":true,\"cwd\":\"/other\" \\\\`)},
			agent.Ours, with(func(r *agent.Row) { r.FirstPrompt = `"isMeta":true,"isSidechain":true,"cwd":"/other" \\` })},
		{"members in another order, with spaces", []string{`{"cwd": "` + testRepo + `", "gitBranch": "main", "timestamp": "2026-11-30T07:53:01.152Z", "message": {"content": "Make the button green", "role": "user"}, "type": "user"}`}, agent.Ours, row},
		{"a torn line and what is no JSON", []string{prompt[:60], "", "garbage", `{"type":`, `{"type":"user","message":`, prompt}, agent.Ours, row},
		{"another folder", []string{recIn("/other", `"isSidechain":false,"type":"user","message":{"role":"user","content":"x"}`)}, agent.Foreign, agent.Row{}},
		{"a folder that begins like it", []string{recIn(testRepo+"2", `"type":"user","message":{"role":"user","content":"x"}`)}, agent.Foreign, agent.Row{}},
		{"a later record of another folder: the session stays", []string{prompt, recIn("/other", `"isSidechain":false,"message":{"id":"m","role":"assistant","content":[]},"type":"assistant"`)},
			agent.Ours, with(func(r *agent.Row) { r.Messages = 2 })},
		{"a turn in another folder", []string{
			prompt, answerRec("m1", "a"),
			strings.Replace(recIn("/other", `"isSidechain":false,"type":"user","message":{"role":"user","content":"theirs"}`), "07:53:01", "08:00:00", 1),
			strings.Replace(recIn("/other", `"isSidechain":false,"message":{"id":"m2","role":"assistant","content":[]},"type":"assistant"`), "07:53:01", "08:00:00", 1),
			rec(`"isSidechain":false,"attachment":{"type":"queued_command","prompt":"theirs","commandMode":"prompt"},"type":"attachment"`),
		}, agent.Ours, with(func(r *agent.Row) { r.Messages = 2 })},
		{"a turn below, and one after another's", []string{
			prompt, recIn(testRepo+"/web", `"type":"user","message":{"role":"user","content":"x"}`),
			recIn("/other", `"type":"user","message":{"role":"user","content":"theirs"}`), userRec("ours"),
		}, agent.Ours, with(func(r *agent.Row) { r.Messages = 3 })},
		{"a sub-agent's", []string{rec(`"isSidechain":true,"type":"user","message":{"role":"user","content":"x"}`)}, agent.Hidden, agent.Row{}},
		{"a sub-agent's records within", []string{prompt, rec(`"isSidechain":true,"type":"user","message":{"role":"user","content":"x"}`)}, agent.Ours, row},
		{"no prompt yet", []string{`{"type":"queue-operation","operation":"enqueue","content":"x"}`, rec(`"isSidechain":false,"attachment":{"type":"environment"},"type":"attachment"`)}, agent.Undecided, agent.Row{}},
		{"what the CLI says in the human's name", []string{
			rec(`"type":"user","message":{"role":"user","content":"caveat"},"isMeta":true`),
			rec(`"type":"user","message":{"role":"user","content":"summary"},"isCompactSummary":true`),
			rec(`"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}`),
			rec(`"type":"user","message":{"role":"user","content":"<task-notification>x"},"origin":{"kind":"task-notification"}`),
			rec(`"type":"user","message":{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":"x"}]}`),
			prompt,
		}, agent.Ours, row},
		{"blocks with an image", []string{rec(`"type":"user","message":{"role":"user","content":[{"type":"text","text":"Make the button green"},{"type":"image","source":{"data":"xx"}}]}`)}, agent.Ours, row},
		{"an image alone", []string{rec(`"type":"user","message":{"role":"user","content":[{"type":"image","source":{"data":"xx"}}]}`)}, agent.Ours, with(func(r *agent.Row) { r.FirstPrompt = "[image]" })},
		{"a command of the CLI's", []string{userRec(`<command-name>/usage</command-name>\n <command-message>usage</command-message>\n <command-args>now</command-args>`)},
			agent.Ours, with(func(r *agent.Row) { r.FirstPrompt = "/usage now" })},
		{"a request behind a command", []string{
			userRec(`<command-name>/clear</command-name>\n  <command-message>clear</command-message>\n  <command-args></command-args>`), prompt,
			userRec(`<command-name>/compact</command-name>`),
		}, agent.Ours, with(func(r *agent.Row) { r.Messages = 3 })},
		{"a command with arguments is a request", []string{userRec(`<command-message>init</command-message>\n<command-name>/init</command-name>\n<command-args>all</command-args>`), prompt},
			agent.Ours, with(func(r *agent.Row) { r.FirstPrompt, r.Messages = "/init all", 2 })},
		{"times in other forms", []string{
			strings.Replace(prompt, "07:53:01.152Z", "07:53:01Z", 1), strings.Replace(answerRec("m", "x"), "07:53:01.152Z", "09:00:00.123456+01:00", 1),
		}, agent.Ours, with(func(r *agent.Row) {
			r.StartedAt, r.EndedAt, r.Messages = at.Truncate(time.Second), time.Date(2026, 11, 30, 8, 0, 0, 123456e3, time.UTC), 2
		})},
		{"said while the agent worked", []string{prompt, rec(`"isSidechain":false,"attachment":{"type":"queued_command","prompt":"and blue","commandMode":"prompt"},"type":"attachment"`)},
			agent.Ours, with(func(r *agent.Row) { r.Messages = 2 })},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scanned(t, agent.History{Repo: testRepo}, c.lines...)
			if s.Verdict() != c.verdict {
				t.Fatalf("verdict %v, want %v", s.Verdict(), c.verdict)
			}
			got := s.Row()
			if c.verdict != agent.Ours {
				got = agent.Row{}
			}
			if got != c.row {
				t.Errorf("got  %+v\nwant %+v", got, c.row)
			}
		})
	}
}

// TestTyped tells the human's words from what the CLI writes in their name,
// which is all of a record.
func TestTyped(t *testing.T) {
	for text, want := range map[string]string{
		"<task-notification> is a tag I want rendered":                                                                        "=",
		"<bash-stdout> should be styled":                                                                                      "=",
		"<bash-stdout>a</bash-stdout> should be styled":                                                                       "=",
		"[Request interrupted by user] is the text on my button":                                                              "=",
		"<command-name>foo</command-name> appears in my page, fix":                                                            "=",
		"<local-command-stdout></local-command-stdoutx>":                                                                      "=",
		"[Request interrupted by user]":                                                                                       "",
		"[Request interrupted by user for tool use]":                                                                          "",
		"<task-notification>\n<task-id>a</task-id>\n<summary>b</summary>\n</task-notification>":                               "",
		"<local-command-stdout>Compacted </local-command-stdout>":                                                             "",
		"<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>\n":                                                           "",
		"<local-command-stdout>" + strings.Repeat("x", 20<<10):                                                                "",
		"<command-name>/usage</command-name>\n  <command-message>usage</command-message>\n  <command-args>now</command-args>": "/usage now",
		"<command-message>init</command-message>\n<command-name>/init</command-name>":                                         "/init",
	} {
		got, ok := typed(text, 0, true)
		if want == "=" {
			want = text
		}
		if got != want || ok != (want != "") {
			t.Errorf("%.60q: %.60q, %v", text, got, ok)
		}
	}
}

func TestScanAsksWhatWasSaid(t *testing.T) {
	h := agent.History{Repo: testRepo, Said: func(p string) string { return strings.TrimSuffix(p, " (context)") }}
	if got := scanned(t, h, userRec("blue (context)")).Row().FirstPrompt; got != "blue" {
		t.Errorf("first prompt %q", got)
	}
}

// TestScanOfACutLine gives the scan what it gets of a line that is too long.
func TestScanOfACutLine(t *testing.T) {
	for _, content := range []string{
		`"` + strings.Repeat("word ", 10_000) + `"`,
		`[{"type":"text","text":"` + strings.Repeat("word ", 10_000),
		`[{"type":"image","source":{"data":"AAAA"}},{"type":"text","text":"` + strings.Repeat(`word word \"`, 10_000),
		`[{"type":"text","text":"` + strings.Repeat("word ", 100) + `"},{"type":"image","source":{"data":"` + strings.Repeat("A", 40_000),
	} {
		line := `{"cwd":"` + testRepo + `","type":"user","message":{"role":"user","content":` + content
		s := scanned(t, agent.History{Repo: testRepo}, line[:20_000])
		if s.Verdict() != agent.Ours || !strings.HasPrefix(s.Row().FirstPrompt, "word word") {
			t.Errorf("verdict %v, first prompt %.30q", s.Verdict(), s.Row().FirstPrompt)
		}
	}
}

// TestScanOfEveryFixture compares what the skimming scan counts with what the
// decoder sees.
func TestScanOfEveryFixture(t *testing.T) {
	n := 0
	for _, f := range loadFixtures(t, "*") {
		_, data := diskOf(f)
		if data == nil {
			continue
		}
		n++
		s := scanned(t, agent.History{Repo: testRepo}, strings.Split(string(data), "\n")...)
		var prompts []string
		for _, e := range replayed(data) {
			if u, ok := e.(event.User); ok {
				prompts = append(prompts, u.Text)
			}
		}
		if s.Verdict() != agent.Ours || len(prompts) == 0 || s.Row().FirstPrompt != short(prompts[0]) {
			t.Errorf("%s: verdict %v, first prompt %q, replayed %q", f.Name, s.Verdict(), s.Row().FirstPrompt, prompts)
		}
		if s.Row().EndedAt.IsZero() || s.Row().Branch == "" && !strings.Contains(f.Name, "unborn") {
			t.Errorf("%s: %+v", f.Name, s.Row())
		}
	}
	if n < 100 {
		t.Errorf("%d fixtures with a transcript", n)
	}
}

func TestTranscripts(t *testing.T) {
	config := t.TempDir()
	repo := "/src/Shop.front_end"
	folder := filepath.Join(config, "projects", "-src-shop-Front-end") // another case
	for _, name := range []string{
		idA + ".jsonl", idB + ".jsonl", "notes.jsonl", idA + ".json", "agent-a0000001.jsonl",
		idA + "/subagents/agent-1.jsonl", "../-src-other/" + idA + ".jsonl",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Claude{}.Transcripts(agent.History{Repo: repo, Environ: []string{"HOME=/nowhere", "CLAUDE_CONFIG_DIR=" + config}})
	if err != nil {
		t.Fatal(err)
	}
	want := []agent.Transcript{{ID: idA, Path: filepath.Join(folder, idA+".jsonl")}, {ID: strings.ToLower(idB), Path: filepath.Join(folder, idB+".jsonl")}}
	slices.SortFunc(got, func(a, b agent.Transcript) int { return strings.Compare(a.ID, b.ID) })
	if !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	for _, environ := range [][]string{nil, {"HOME=" + t.TempDir()}, {"CLAUDE_CONFIG_DIR=" + filepath.Join(folder, "notes.jsonl")}} {
		if got, err := (Claude{}).Transcripts(agent.History{Repo: repo, Environ: environ}); err != nil || len(got) > 0 {
			t.Errorf("%v: %v, %v", environ, got, err)
		}
	}
}

func TestBegins(t *testing.T) {
	r := Claude{}.NewReplay(agent.History{Repo: testRepo})
	for line, want := range map[string]bool{
		userRec("x"):         true,
		answerRec("m", "x"):  false,
		userRec("")[:40]:     false,
		"":                   false,
		`{"type":"summary"}`: false,
		rec(`"type":"user","message":{"role":"user","content":"x"},"isMeta":true`):                                                                                             false,
		rec(`"isSidechain":true,"type":"user","message":{"role":"user","content":"x"}`):                                                                                        false,
		rec(`"type":"user","message":{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":"\"type\":\"text\""}]}`):                                      false,
		rec(`"isSidechain":false,"attachment":{"type":"queued_command","prompt":"and blue","commandMode":"prompt"},"type":"attachment"`):                                       false,
		rec(`"type":"user","message":{"role":"user","content":[{"type":"image","source":{"data":"xx"}},{"type":"text","text":"\"tool_use_id\":1,\"type\":\"tool_result\""}]}`): true,
	} {
		if got := r.Begins([]byte(line)); got != want {
			t.Errorf("%v for %s", got, line)
		}
	}
}

// TestReplayWhileTheAgentWorks ends a file in the middle of a turn: what is
// there is replayed, and no result is made up.
func TestReplayWhileTheAgentWorks(t *testing.T) {
	tool := rec(`"isSidechain":false,"message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}],"stop_reason":"tool_use"},"type":"assistant"`)
	queued := rec(`"isSidechain":false,"attachment":{"type":"queued_command","prompt":"and blue","commandMode":"prompt"},"type":"attachment"`)
	got := lined(t, replayed([]byte(userRec("green")+"\n"+tool+"\n"+queued+"\n")))
	want := lined(t, []event.Event{
		event.User{Text: "green"}, event.Tool{Tool: "Bash", Detail: "ls", ID: "t1"}, event.User{Text: "and blue"},
	})
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestReplayLeavesOtherReposOut has a session that was resumed in another
// folder: its turns there are not shown, from wherever a page begins.
func TestReplayLeavesOtherReposOut(t *testing.T) {
	theirs := recIn("/other", `"isSidechain":false,"type":"user","message":{"role":"user","content":"theirs"}`)
	answer := recIn("/other", `"isSidechain":false,"message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"theirs"}],"stop_reason":"end_turn"},"type":"assistant"`)
	left := recIn("/elsewhere", `"isSidechain":false,"message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"there"}],"stop_reason":"end_turn"},"type":"assistant"`)
	lines := []string{userRec("green"), left, theirs, answer, userRec("blue"), answerRec("m3", "done")}
	var got []string
	for _, e := range replayed([]byte(strings.Join(lines, "\n") + "\n")) {
		switch e := e.(type) {
		case event.User:
			got = append(got, e.Text)
		case event.Delta:
			got = append(got, e.Text)
		case event.Result:
			got = append(got, e.Subtype)
		}
	}
	if want := []string{"green", "there", "success", "blue", "done", "success"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	r := Claude{}.NewReplay(agent.History{Repo: testRepo}).(*replay)
	if r.Begins([]byte(theirs)) || r.Step([]byte(answer)) != "" || r.Step([]byte(answerRec("m3", "x"))) != "m3" {
		t.Error("a page may begin in a turn of another folder")
	}
}

// TestReplayedResult looks at how a turn ends on disk.
func TestReplayedResult(t *testing.T) {
	tool := rec(`"isSidechain":false,"message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}],"stop_reason":"tool_use"},"type":"assistant"`)
	output := rec(`"isSidechain":false,"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"x"}]}`)
	paused := rec(`"isSidechain":false,"message":{"id":"m9","role":"assistant","content":[{"type":"text","text":"x"}],"stop_reason":"pause_turn"},"type":"assistant"`)
	task := rec(`"isSidechain":false,"type":"user","message":{"role":"user","content":"<task-notification>done"},"origin":{"kind":"task-notification"}`)
	limit := rec(`"isSidechain":false,"attachment":{"type":"max_turns_reached","maxTurns":1,"turnCount":2},"type":"attachment"`)
	stop := rec(`"isSidechain":false,"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}`)
	for _, c := range []struct {
		name    string
		lines   []string
		subtype string // "" = no result
		turns   int
		isError bool
	}{
		{"an answer", []string{answerRec("m1", "x")}, "success", 1, false},
		{"a tool and an answer", []string{tool, output, answerRec("m2", "x")}, "success", 2, false},
		{"at work", []string{tool, output}, "", 0, false},
		{"a pause", []string{paused}, "success", 1, false},
		{"a task in the background", []string{tool, output, answerRec("m2", "x"), task, answerRec("m3", "y")}, "success", 1, false},
		{"the limit", []string{tool, output, output, limit}, "error_max_turns", 2, true},
		{"stopped by the human", []string{tool, output, stop}, "error_during_execution", 3, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []event.Result
			for _, e := range replayed([]byte(strings.Join(append([]string{userRec("go")}, c.lines...), "\n") + "\n")) {
				if r, ok := e.(event.Result); ok {
					got = append(got, r)
				}
			}
			if c.subtype == "" && len(got) == 0 {
				return
			}
			if len(got) != 1 || got[0].Subtype != c.subtype || got[0].NumTurns != c.turns || got[0].IsError != c.isError {
				t.Errorf("%+v", got)
			}
		})
	}
}

// FuzzHistory feeds the readers any bytes: no panic, the same row however the
// scan is interrupted, and a replay that knows where its turns begin.
func FuzzHistory(f *testing.F) {
	for _, seed := range []string{
		userRec("x") + "\n" + answerRec("m", "y"), `{"type":"custom-title","customTitle":"\ud800"}`, `{"a":[{"b":"\\"}],"type":"user","message":{"content":[{},[],1`,
		`{"type":"user","message":{"content":"\`, `{"attachment":{"type":"queued_command","prompt":[{"type":"text","text":"a"}]}}`, "{{{[[[", `{"":,,}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h := agent.History{Repo: testRepo, Said: strings.TrimSpace}
		s := scanned(t, h, strings.SplitN(string(data), "\n", 8)...)
		if s.Verdict() == agent.Ours && s.Row().Messages == 0 {
			t.Errorf("a session of nobody's: %+v", s.Row())
		}
		agenttest.CheckReplay(t, Claude{}.NewReplay(agent.History{Repo: testRepo}), data, "error", "user")
	})
}
