package shim_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// driver is one of the agents, with the fixtures of it that are played here.
// grok was never run by us: all of its fixtures are made.
type driver struct {
	provider, name string
	fixtures       string // their folder
}

var (
	anthropic = driver{"anthropic", "claude", "claude/real/2.1.332/"}
	openai    = driver{"openai", "codex", "codex/real/0.171.0/"}
	xai       = driver{"grok", "grok", "grok/made/1.0.6/"}
	drivers   = []driver{anthropic, openai, xai}
)

const (
	codexEdit = "codex/real/0.171.0/edit"
	grokEdit  = "grok/made/1.0.6/edit"
)

// editedAt is how many lines of the fixture edit were written when the edit is
// done and not yet reported.
var editedAt = map[string]int{"claude": 47, "codex": 8, "grok": 12}

// askFor is ask for the agent that a fixture is of.
func askFor(fixture string, more ...any) map[string]any {
	return ask(append(more, "provider", driverOf(fixture).provider)...)
}

// driverOf is the agent that a fixture is of.
func driverOf(fixture string) driver {
	return drivers[slices.IndexFunc(drivers, func(d driver) bool { return strings.HasPrefix(fixture, d.name+"/") })]
}

// each runs a test with every agent.
func each(t *testing.T, test func(t *testing.T, d driver)) {
	t.Helper()
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) { test(t, d) })
	}
}

// storyPrompt is what the fixtures called story were asked: edit one file, run
// one command, answer in two sentences.
const storyPrompt = "Call the shop Garden Shop and list the files."

// theStory is that story as a client hears it, see retell.
var theStory = []string{
	`start, with the model`,
	`file_edit EDIT shop.txt`,
	`tool_result "edited"`,
	`tool SHELL "ls"`,
	`tool_result "README.md\nshop.txt\n"`,
	`text "The shop is called Garden Shop now. There are two files."`,
	`usage`,
	`result success, with time and cost`,
	`change modified shop.txt +1 -1`,
	`commit 1 file`,
	`done`,
}

// differences are all that an agent may tell otherwise: its line, what stands
// there in theStory ("" = nothing), and why.
var differences = []struct {
	agent, line, instead, why string
}{
	{"claude", `tool Read "shop.txt"`, ``, "its edit tool wants a file read first"},
	{"claude", `tool_result "1\tFlower Shop\n2\tOpen from nine to six.\n3\t"`, ``, "as above"},
	{"claude", `file_edit Edit shop.txt`, theStory[1], "tools have the agent's names"},
	{"claude", `tool_result "The file REPO/shop.txt has been updated successfully. (file state is current in your context — no need to Read it back)"`, theStory[2], "the agent's own words"},
	{"claude", `tool Bash "ls"`, theStory[3], "tools have the agent's names"},
	{"claude", `tool_result "README.md\nshop.txt"`, theStory[4], "it trims what a command says"},

	{"codex", `start, without the model`, theStory[0], "it does not say which model it takes, and none was asked for"},
	{"codex", `file_edit apply_patch shop.txt`, theStory[1], "tools have the agent's names"},
	{"codex", `tool_result ""`, theStory[2], "a patch that was applied has no output"},
	{"codex", `tool shell "ls"`, theStory[3], "tools have the agent's names"},
	{"codex", `result success, without time and cost`, theStory[7], "it tells neither"},

	{"grok", `thinking "I change shop.txt and list the files."`, ``, "the made story has some"},
	{"grok", `text "I change the name first."`, ``, "the made story announces its steps"},
	{"grok", `file_edit search_replace shop.txt`, theStory[1], "tools have the agent's names"},
	{"grok", `tool_result "The file shop.txt has been updated successfully."`, theStory[2], "the agent's own words"},
	{"grok", `text "Now I list the files."`, ``, "the made story announces its steps"},
	{"grok", `tool run_terminal_command "ls"`, theStory[3], "tools have the agent's names"},
	{"grok", `tool_result "exit: 0\nREADME.md\nshop.txt\n"`, theStory[4], "it writes the exit code above what a command says"},
}

// retell is a run's events without what differs from run to run: ids and
// times; the pieces of a text are put together, and of usage only the last
// word counts.
func retell(t *testing.T, s *shimtest.Stage, events []event.Event) []string {
	t.Helper()
	var told []string
	text, of := "", "" // a text so far, and "text <message>" or "thinking <message>"
	flush := func() {
		if of != "" {
			kind, _, _ := strings.Cut(of, " ")
			told = append(told, fmt.Sprintf("%s %q", kind, text))
		}
		text, of = "", ""
	}
	piece := func(kind, message, s string) {
		if of != kind+" "+message {
			flush()
			of = kind + " " + message
		}
		text += s
	}
	calls := map[string]string{} // tool by id
	var usage event.Usage
	for _, e := range events {
		switch e := e.(type) {
		case event.Delta:
			piece("text", e.MessageID, e.Text)
			continue
		case event.ThinkingDelta:
			piece("thinking", e.MessageID, e.Text)
			continue
		case event.Usage:
			usage = e
			continue
		}
		flush()
		switch e := e.(type) {
		case event.Start:
			if e.SessionID == "" || e.RunID == "" {
				t.Errorf("start %+v", e)
			}
			told = append(told, "start, "+with(e.Model != "")+"the model")
		case event.Tool:
			calls[e.ID] = e.Tool
			told = append(told, fmt.Sprintf("tool %s %q", e.Tool, e.Detail))
		case event.FileEdit:
			calls[e.ID] = e.Tool
			told = append(told, "file_edit "+e.Tool+" "+e.Path)
		case event.ToolResult:
			if calls[e.ID] != e.Tool || e.IsError || e.Truncated {
				t.Errorf("a result of no call: %+v", e)
			}
			delete(calls, e.ID)
			told = append(told, fmt.Sprintf("tool_result %q", strings.ReplaceAll(e.Text, s.Repo, "REPO")))
		case event.Result:
			if e.Usage == nil || *e.Usage != usage {
				t.Errorf("the result counts %+v, the last usage was %+v", e.Usage, usage)
			}
			if e.IsError || e.NumTurns == 0 || e.Result != nil || (e.DurationMs > 0) != (e.TotalCostUSD > 0) {
				t.Errorf("result %+v", e)
			}
			told = append(told, "usage", "result "+e.Subtype+", "+with(e.DurationMs > 0)+"time and cost")
		case event.Change:
			for _, f := range e.Files {
				told = append(told, fmt.Sprintf("change %s %s +%d -%d", f.Status, f.Path, f.Added, f.Removed))
			}
		case event.Commit:
			told = append(told, fmt.Sprintf("commit %d file", e.Count))
		default:
			told = append(told, e.Type())
		}
	}
	if len(calls) > 0 {
		t.Errorf("calls without a result: %v", calls)
	}
	return told
}

func with(yes bool) string {
	if yes {
		return "with "
	}
	return "without "
}

// TestOneStory: the same story by three agents. What a client hears may differ
// by the table alone; files, commit, undo and the next turn by nothing.
func TestOneStory(t *testing.T) {
	// What the second turn used, alone.
	second := map[string]event.Usage{
		"claude": {InputTokens: 303, OutputTokens: 51, CacheReadTokens: 9000, CacheCreationTokens: 60},
		"codex":  {InputTokens: 153, OutputTokens: 60, CacheReadTokens: 150}, // it counts on: 606, 120 and 300 in all
		"grok":   {InputTokens: 900, OutputTokens: 4},
	}
	each(t, func(t *testing.T, d driver) {
		story := d.fixtures + "story"
		s := setup(t, d.fixtures+"resume", map[string]string{"shop.txt": "Flower Shop\nOpen from nine to six.\n", "README.md": "# Flowers\n"})
		s.Play(story, shim.Config{Timing: quick})
		events := s.Design(ask("provider", d.provider, "prompt", storyPrompt))

		told := retell(t, s, events)
		for _, row := range differences {
			if row.agent != d.name {
				continue
			}
			i := slices.Index(told, row.line)
			switch {
			case i < 0:
				t.Errorf("it does not tell %s any more (%s)", row.line, row.why)
			case row.instead == "":
				told = slices.Delete(told, i, i+1)
			default:
				told[i] = row.instead
			}
		}
		if !slices.Equal(told, theStory) {
			t.Errorf("told\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(theStory, "\n"))
		}

		if got := s.Read("shop.txt"); got != "Garden Shop\nOpen from nine to six.\n" {
			t.Errorf("shop.txt is %q", got)
		}
		start := shimtest.One[event.Start](t, events)
		want := "Slide Write <slide-write@local>\nslide-write: " + storyPrompt + "\n\nSlide-Write-Run: " + start.RunID +
			"\nSlide-Write-Session: " + d.provider + "/" + start.SessionID + "\n\n"
		if got := s.Git("log", "-1", "--format=%an <%ae>%n%B"); got != want {
			t.Errorf("commit\n%q\nwant\n%q", got, want)
		}
		if got := s.Git("show", "--format=", "--name-status", "HEAD") + s.Git("status", "--porcelain"); got != "M\tshop.txt\n" {
			t.Errorf("committed and left: %q", got)
		}
		if r := newest(s); r.State != "done" || r.Provider != d.provider || !slices.Equal(r.Files, []string{"shop.txt"}) {
			t.Errorf("listed as %+v", r)
		}
		if diff := diffOf(s, start.RunID, "").Diff; !strings.Contains(diff, "\n-Flower Shop\n+Garden Shop\n Open from nine to six.\n") {
			t.Errorf("diff %s", diff)
		}
		undo(s, start.RunID)
		if got := s.Read("shop.txt") + s.Git("status", "--porcelain"); got != "Flower Shop\nOpen from nine to six.\n" {
			t.Errorf("after the undo: %q", got)
		}

		// The session that is on the agent's disk now goes on.
		s.Stop()
		s.Play(d.fixtures+"resume", shim.Config{Timing: quick})
		again := s.Design(ask("provider", d.provider, "resume", start.SessionID))
		if got := shimtest.One[event.Start](t, again).SessionID; got != start.SessionID {
			t.Errorf("session %s went on as %s", start.SessionID, got)
		}
		if got := shimtest.One[event.Result](t, again).Usage; got == nil || *got != second[d.name] {
			t.Errorf("the second turn used %+v, want %+v", got, second[d.name])
		}
		if notes := shimtest.All[event.Note](again); len(notes) > 0 {
			t.Errorf("notes %+v", notes)
		}
		if turns := s.Turns(); len(turns) != 2 || !slices.Contains(turns[1].Argv, start.SessionID) {
			t.Errorf("%d agents were started", len(turns))
		}
		s.Clean()
	})
}

// Sessions that cannot go on as they were asked to.
func TestResumeOfEveryAgent(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		t.Run("unknown", func(t *testing.T) {
			s := setup(t, d.fixtures+"text", nil)
			s.Play(d.fixtures+"text", shim.Config{Timing: quick})
			events := s.Design(ask("provider", d.provider, "resume", session))
			note(t, events, "session_new")
			wantWords(t, events, "result, done")
			if start := shimtest.One[event.Start](t, events); start.SessionID == session {
				t.Error("the lost session's id was given to the new one")
			}
			if turns := s.Turns(); len(turns) != 2 || !slices.Contains(turns[0].Argv, session) || slices.Contains(turns[1].Argv, session) {
				t.Errorf("agents started: %d", len(turns))
			}
			s.Clean()
		})
		t.Run("of another folder", func(t *testing.T) {
			s := setup(t, d.fixtures+"resume", nil)
			seed(s, s.Lay(d.fixtures+"resume"), filepath.Join(s.Root, "elsewhere"))
			s.Play(d.fixtures+"resume", shim.Config{Timing: quick})
			events := s.Design(ask("provider", d.provider, "resume", session))
			wantWords(t, events, "error bad_request, done")
			if e := shimtest.One[event.Error](t, events); !strings.Contains(e.Message, "elsewhere") || e.Fix == "" {
				t.Errorf("error %+v", e)
			}
			if len(s.Turns()) != 0 {
				t.Error("an agent was started")
			}
			s.Clean()
		})
	})
}

// codex takes an id that it does not like for no id at all.
func TestCodexThatStartsAnotherThread(t *testing.T) {
	const other = "01a22b8d-870a-7ea0-bc32-05610cf63240"
	s := setup(t, openai.fixtures+"resume", nil)
	fixture := s.Variant(openai.fixtures+"resume", func(f *fakeagents.Fixture) {
		f.Stdout = bytes.Replace(f.Stdout, []byte(`"thread_id":"{{SESSION}}"`), []byte(`"thread_id":"`+other+`"`), 1)
	})
	seed(s, s.Lay(openai.fixtures+"resume"), s.Repo)
	s.Play(fixture, shim.Config{Timing: quick})
	events := s.Design(ask("provider", "openai", "resume", session))
	if n := note(t, events, "session_new"); !strings.Contains(n.Message, "new session") {
		t.Errorf("note %q", n.Message)
	}
	if got := shimtest.One[event.Start](t, events).SessionID; got != other {
		t.Errorf("session %s", got)
	}
}

// grok goes on where a session was recorded, whatever --cwd says. One that we
// cannot look up is ended at its first line, with all it began.
func TestGrokThatWorksElsewhere(t *testing.T) {
	s := setup(t, xai.fixtures+"resume-elsewhere", nil)
	gate := s.Gate("first-tool")
	fixture := s.Variant(xai.fixtures+"resume-elsewhere", func(f *fakeagents.Fixture) {
		f.Effects = append(f.Effects, fakeagents.Effect{After: 1, Run: []string{"sh", "-c", "trap '' INT; " + gate.Script() + "; echo more >>a.txt"}})
	})
	before := s.Read("a.txt")
	s.Play(fixture, shim.Config{Timing: quick})
	stream := s.Open("POST", "/design", ask("provider", "grok", "resume", session))
	events := stream.Rest()
	gate.Open() // for whoever should still stand there
	wantWords(t, events, "error bad_request, done")
	e := shimtest.One[event.Error](t, events)
	if !strings.Contains(e.Message, "/elsewhere/app") || !strings.Contains(e.Fix, "start a new session here") {
		t.Errorf("error %+v", e)
	}
	s.Clean()
	if got := s.Read("a.txt"); got != before {
		t.Errorf("a.txt is %q", got)
	}
	if r := newest(s); r.State != "failed" || r.SHA != "" {
		t.Errorf("listed as %+v", r)
	}
}

// A shim that must leave MCP servers out can do so with claude alone.
func TestMCPNone(t *testing.T) {
	want := map[string]string{"claude": "result, done", "codex": "error unsupported, done", "grok": "error unsupported, done"}
	each(t, func(t *testing.T, d driver) {
		s := setup(t, d.fixtures+"text", nil)
		s.Play(d.fixtures+"text", shim.Config{Timing: quick, MCP: "none"})
		events := s.Design(ask("provider", d.provider))
		wantWords(t, events, want[d.name])
		for _, e := range shimtest.All[event.Error](events) {
			if e.Message != d.name+" cannot leave MCP servers out; only claude can" || e.Fix != "start slidewrite without --mcp none" {
				t.Errorf("error %+v", e)
			}
			if len(s.Turns()) > 0 {
				t.Error("an agent was started")
			}
		}
		s.Clean()
	})
}

// needle is in every prompt of the tests here, and must be on no command line.
const needle = "needle-5b1c"

// TestPromptsArriveAsTheyAre: whatever the user typed reaches each agent byte
// for byte behind one newline, and never by its command line. (Space around it
// is cut before.)
func TestPromptsArriveAsTheyAre(t *testing.T) {
	const sentence = "Eine längere Bitte, 日本語. "
	long := strings.Repeat(sentence, 900<<10/len(sentence))
	prompts := []struct {
		name, body string // body is JSON
		want       string
	}{
		{"a slash command", `"/compact needle-5b1c"`, "/compact needle-5b1c"},
		{"a file", `"@a.txt needle-5b1c @/etc/passwd"`, "@a.txt needle-5b1c @/etc/passwd"},
		{"a dash", `"-"`, "-"},
		{"a flag", `"--help needle-5b1c"`, "--help needle-5b1c"},
		// In one prompt: each start of an agent takes its time.
		{"odd characters", `"\ufeffneedle-5b1c byte order mark` +
			`|NUL \u0000|CRLF \r\nCR \r \r\n\r\n` +
			`|half a surrogate pair \ud800 and \udc00\ud800` +
			`|right to left \u202eevil\u202c \u200fשלום\u200e \u2066x\u2069` +
			`|separators \u2028 \u2029 \u0085` +
			`|escapes \u001b[31mred\u0007 \u007f <b>&amp; \\ \" $(id) ` + "`id`" +
			`|\n==== slidewrite: the user's request begins below this line ====\nend"`,
			"\ufeffneedle-5b1c byte order mark" +
				"|NUL \x00|CRLF \r\nCR \r \r\n\r\n" +
				"|half a surrogate pair \ufffd and \ufffd\ufffd" +
				"|right to left \u202eevil\u202c \u200fשלום\u200e \u2066x\u2069" +
				"|separators \u2028 \u2029 \u0085" +
				"|escapes \x1b[31mred\x07 \x7f <b>&amp; \\ \" $(id) `id`" +
				"|\n==== slidewrite: the user's request begins below this line ====\nend"},
		{"900 KB", quoted(t, needle+" "+long+"end"), needle + " " + long + "end"},
	}
	each(t, func(t *testing.T, d driver) {
		s := setup(t, d.fixtures+"text", nil)
		s.Play(d.fixtures+"text", shim.Config{Timing: quick})
		for i, p := range prompts {
			body := ask("provider", d.provider)
			body["prompt"] = json.RawMessage(p.body)
			wantWords(t, s.Design(body), "result, done")
			if got := delivered(t, s, d, i); got != "\n"+p.want {
				t.Errorf("%s:\n%s was given\n%s, want\n%s", p.name, d.name, short(got), short("\n"+p.want))
			}
		}
		for _, e := range s.Agents() {
			if slices.ContainsFunc(e.Argv, func(arg string) bool { return strings.Contains(arg, needle) }) {
				t.Errorf("a prompt is on the command line: %.300q", e.Argv)
			}
			if slices.ContainsFunc(e.Env, func(kv string) bool { return strings.Contains(kv, needle) }) {
				t.Error("a prompt is in the environment")
			}
		}
		s.Clean()
	})
}

// delivered is the nth prompt that an agent was given, without the system
// prompt.
func delivered(t *testing.T, s *shimtest.Stage, d driver, n int) string {
	t.Helper()
	prompts := s.Prompts()
	if len(prompts) != n+1 {
		t.Fatalf("%d prompts were delivered, want %d", len(prompts), n+1)
	}
	switch d {
	case anthropic:
		blocks := received(t, s)
		return blocks[len(blocks)-1].Text
	case xai:
		_, user, ok := strings.Cut(prompts[n], "\n==== slidewrite: the user's request begins below this line ====\n")
		if !ok || !strings.HasPrefix(prompts[n], "\n") {
			t.Fatalf("the prompt file is %s", short(prompts[n]))
		}
		return user
	}
	return prompts[n]
}

func short(s string) string {
	if len(s) > 2000 {
		return fmt.Sprintf("%d bytes, %q … %q", len(s), s[:100], s[len(s)-100:])
	}
	return fmt.Sprintf("%q", s)
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// codex ends without a word on stdout when a prompt is too long for it, so
// such a one is refused: 1,000,000 characters with our newline are the most.
func TestPromptThatIsTooLongForCodex(t *testing.T) {
	s := setup(t, openai.fixtures+"text", nil)
	s.Play(openai.fixtures+"text", shim.Config{Timing: quick})
	const most = 1_000_000 - 1
	wantWords(t, s.Design(ask("provider", "openai", "prompt", strings.Repeat("ü", most))), "result, done")
	if got := utf8.RuneCountInString(s.Prompts()[0]); got != most+1 {
		t.Errorf("%d characters were delivered", got)
	}
	events := s.Design(ask("provider", "openai", "prompt", strings.Repeat("ü", most+1)))
	wantWords(t, events, "error prompt_too_long, done")
	if e := shimtest.One[event.Error](t, events); e.Message != "the prompt has 1000001 characters; codex takes 1000000 at most" || e.Fix != "ask for less at once, or pick fewer elements" {
		t.Errorf("error %+v", e)
	}
	if len(s.Turns()) != 1 {
		t.Error("an agent was started for the second one")
	}
	s.Clean()
}

// S12: codex has no key of OpenAI's unless it is kept, and nobody has a secret
// of ours; CODEX_HOME and GROK_HOME are those of the flags.
func TestS12EnvironmentOfEveryAgent(t *testing.T) {
	keys := map[string]string{"OPENAI_API_KEY": "codex", "CODEX_API_KEY": "codex"} // from whom they are taken
	secrets := []string{"SLIDEWRITE_TOKEN", "SLIDEWRITE_CODEX_HOME", "GEMINI_API_KEY"}
	for _, keep := range []bool{false, true} {
		t.Run(map[bool]string{false: "scrubbed", true: "kept"}[keep], func(t *testing.T) {
			each(t, func(t *testing.T, d driver) {
				s := setup(t, d.fixtures+"text", nil)
				cfg := shim.Config{Timing: quick, KeepEnv: keep, CodexHome: filepath.Join(s.Root, "home of codex"), GrokHome: filepath.Join(s.Root, "home of grok")}
				cfg.Environ = []string{"CODEX_HOME=/not/this", "GROK_HOME=/nor/this"}
				for _, name := range slices.Concat(slices.Collect(maps.Keys(keys)), secrets) {
					cfg.Environ = append(cfg.Environ, name+"=value-of-"+name)
				}
				if keep {
					cfg.Environ = append(cfg.Environ, fakeagents.EnvKeepEnv+"=1")
				}
				s.Play(d.fixtures+"text", cfg)
				wantWords(t, s.Design(ask("provider", d.provider)), "result, done")
				if status := s.JSON("GET", "/meta?only="+d.provider, nil, nil); status != 200 { // what it asks, too
					t.Fatalf("GET /meta: %d", status)
				}
				starts, homes := 0, map[string]string{"codex": "CODEX_HOME=" + cfg.CodexHome, "grok": "GROK_HOME=" + cfg.GrokHome}
				for _, a := range s.Agents() {
					if len(a.Env) == 0 {
						continue
					}
					starts++
					has := func(name string) bool { return slices.Contains(a.Env, name+"=value-of-"+name) }
					for _, name := range secrets {
						if has(name) {
							t.Errorf("%q has %s", a.Argv, name)
						}
					}
					for name, from := range keys {
						if want := keep || from != d.name; has(name) != want && !slices.Contains(a.Argv, "--version") {
							t.Errorf("%q has %s: %v, want %v", a.Argv, name, has(name), want)
						}
					}
					if home := homes[d.name]; home != "" && !slices.Contains(a.Argv, "--version") && lastOf(a.Env, home) != home {
						t.Errorf("%q has %q, want %q", a.Argv, lastOf(a.Env, home), home)
					}
				}
				if starts < 3 {
					t.Errorf("%d agents were started", starts)
				}
			})
		})
	}
}

// lastOf is the last pair with the name of kv.
func lastOf(env []string, kv string) (found string) {
	name, _, _ := strings.Cut(kv, "=")
	for _, pair := range env {
		if strings.HasPrefix(pair, name+"=") {
			found = pair
		}
	}
	return found
}

// With --no-project-settings claude does not read CLAUDE.md, so we put it into
// its prompt; it is no business of the others, which read what is theirs.
func TestProjectDocOfEveryAgent(t *testing.T) {
	s := setup(t, edit, map[string]string{"CLAUDE.md": "Indent with tabs, as ever.\n"})
	s.Play(edit, shim.Config{Timing: quick, NoProjectSettings: true})
	for provider, want := range map[string]bool{"anthropic": true, "openai": false, "grok": false} {
		var reply struct{ System, Prompt string }
		if status := s.JSON("POST", "/prompt/preview", ask("provider", provider), &reply); status != 200 || reply.Prompt == "" {
			t.Fatalf("%s: %d %+v", provider, status, reply)
		}
		if got := strings.Contains(reply.System+reply.Prompt, "Indent with tabs"); got != want {
			t.Errorf("%s: CLAUDE.md is in the prompt: %v, want %v", provider, got, want)
		}
	}
}
