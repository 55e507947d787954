package shim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

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
