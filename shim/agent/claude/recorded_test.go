package claude

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/agent"
)

// recordedRuns are the runs that the recorder made with our own command line
// and conversation.
func recordedRuns(t *testing.T) []*fakeagents.Fixture {
	t.Helper()
	runs := slices.DeleteFunc(loadFixtures(t, "real"), func(f *fakeagents.Fixture) bool {
		return len(f.Argv) == 0 || f.Argv[0] != "-p" || len(f.Stdin) == 0
	})
	if len(runs) < 40 {
		t.Errorf("%d recorded runs, want at least 40", len(runs))
	}
	return runs
}

// specOf reads what a run asked for from its command line and its message.
func specOf(t *testing.T, f *fakeagents.Fixture) agent.Spec {
	t.Helper()
	value := func(flag string) string {
		if i := slices.Index(f.Argv, flag); i >= 0 && i+1 < len(f.Argv) {
			return placeholders.Replace(f.Argv[i+1])
		}
		return ""
	}
	s := agent.Spec{
		Version: f.Version(), System: value("--system-prompt"), Model: value("--model"), Effort: value("--effort"), Resume: value("--resume"),
		ProjectSettings: value("--setting-sources") == "project",
		UseSkills:       !slices.Contains(f.Argv, "--disable-slash-commands"),
	}
	if slices.Contains(f.Argv, "--strict-mcp-config") {
		s.MCP = "none"
	}
	var err error
	if s.MaxTurns, err = strconv.Atoi(value("--max-turns")); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRecordedCommand: both real CLIs took exactly the command line that
// Command builds for their version.
func TestRecordedCommand(t *testing.T) {
	for _, f := range recordedRuns(t) {
		want := make([]string, len(f.Argv))
		for i, arg := range f.Argv {
			want[i] = placeholders.Replace(arg)
		}
		if got := New().Command(specOf(t, f)).Args; !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", f.Name, got, want)
		}
	}
}

// addMessage puts the prompt and images of a recorded user message into s.
func addMessage(t *testing.T, s *agent.Spec, line []byte) {
	t.Helper()
	var m struct {
		Message struct {
			Content []struct {
				Type, Text string
				Source     struct {
					MediaType string `json:"media_type"`
					Data      string
				}
			}
		}
	}
	if err := json.Unmarshal(line, &m); err != nil {
		t.Fatal(err)
	}
	for _, b := range m.Message.Content {
		if b.Type == "text" {
			s.Prompt = b.Text[1:] // without our newline
			continue
		}
		data, err := base64.StdEncoding.DecodeString(b.Source.Data)
		if err != nil {
			t.Fatal(err)
		}
		s.Images = append(s.Images, agent.Image{MIME: b.Source.MediaType, Data: data})
	}
}

// TestRecordedConversation: fed with the recorded lines, the conversation
// writes what was written then, is ready before the message went in, and
// closes stdin where it was closed.
func TestRecordedConversation(t *testing.T) {
	for _, f := range recordedRuns(t) {
		t.Run(f.Version()+"/"+f.Case(), func(t *testing.T) {
			s := specOf(t, f)
			closedAfter, messageAfter := -1, -1
			for _, in := range f.Stdin {
				switch {
				case in.Close:
					closedAfter = in.After
				case messageAfter < 0 && json.Valid(in.Line) && isUser(in.Line):
					messageAfter = in.After
					addMessage(t, &s, in.Line)
				}
			}
			c := New().Converse(s)
			if got := only(t, c.Open()); got != string(f.Stdin[0].Line)+"\n" {
				t.Errorf("Open wrote %s", got)
			}
			readyAfter, idleAfter := -1, -1
			for i, line := range f.Lines() {
				if i == messageAfter {
					c.Prompt()
				}
				step := c.Line(line)
				if step.Ready && readyAfter < 0 {
					readyAfter = i + 1
				}
				if step.Close {
					idleAfter = i + 1
				}
			}
			if messageAfter >= 0 && (readyAfter < 0 || readyAfter > messageAfter) {
				t.Errorf("ready after line %d, the message went in after %d", readyAfter, messageAfter)
			}
			if idleAfter >= 0 && closedAfter != idleAfter {
				t.Errorf("stdin was closed after line %d, idle was line %d", closedAfter, idleAfter)
			}
		})
	}
}

func isUser(line []byte) bool {
	var m struct{ Type string }
	return json.Unmarshal(line, &m) == nil && m.Type == "user"
}

// TestRecordedMessage: the message of every recorded run is byte for byte what
// Prompt writes.
func TestRecordedMessage(t *testing.T) {
	seen := 0
	for _, f := range recordedRuns(t) {
		for _, in := range f.Stdin {
			if in.Close || !isUser(in.Line) {
				continue
			}
			seen++
			s := specOf(t, f)
			addMessage(t, &s, in.Line)
			if got := only(t, New().Converse(s).Prompt()); got != string(in.Line)+"\n" {
				t.Errorf("%s: Prompt wrote\n%.300s\nwant\n%.300s", f.Name, got, in.Line)
			}
		}
	}
	if seen < 40 {
		t.Errorf("%d messages, want at least 40", seen)
	}
}
