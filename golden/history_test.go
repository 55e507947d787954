package golden

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sebdah/goldie/v2"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/sse"
)

// historyOf is what GET /history and GET /history/{id} tell after a fixture
// was played, normalised as its stream is; "" when the run left no session.
func historyOf(t testing.TB, s *stage) string {
	t.Helper()
	provider := providers[s.fixture.Agent()]
	var list struct {
		Sessions []struct {
			ID, Title, FirstPrompt, Branch string
			MessageCount                   int
			Runs                           []struct{ State string }
		}
	}
	if status := s.JSON("GET", "/history?provider="+provider, nil, &list); status != 200 {
		t.Fatalf("GET /history: %d", status)
	}
	var out strings.Builder
	for _, row := range list.Sessions {
		var states []string
		for _, r := range row.Runs {
			states = append(states, r.State)
		}
		fmt.Fprintf(&out, "title: %q\nfirst prompt: %q\nbranch: %s, messages: %d, runs: %s\n\n",
			row.Title, row.FirstPrompt, row.Branch, row.MessageCount, strings.Join(states, ", "))
		var page struct{ Events []json.RawMessage }
		if status := s.JSON("GET", "/history/"+row.ID+"?provider="+provider, nil, &page); status != 200 {
			t.Fatalf("GET /history/%s: %d", row.ID, status)
		}
		var stream strings.Builder
		for i, data := range page.Events {
			fmt.Fprintf(&stream, "id: %d\ndata: %s\n\n", i+1, data)
		}
		text, err := Normalise(stream.String(), s.dirs()...)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(text)
	}
	return out.String()
}

// historyPath is the golden of a fixture's history.
func historyPath(f *fakeagents.Fixture) string {
	return strings.TrimSuffix(goldenPath(f), ".golden") + ".history.golden"
}

// checkHistory compares the history with its golden. A run that leaves no
// session has none.
func checkHistory(t *testing.T, s *stage) {
	t.Helper()
	got := historyOf(t, s)
	if _, err := os.Stat(historyPath(s.fixture)); got == "" {
		if err == nil {
			t.Errorf("no session is left, and %s says otherwise", historyPath(s.fixture))
		}
		return
	}
	goldie.New(t, goldie.WithDiffEngine(goldie.ColoredDiff), goldie.WithNameSuffix(".history.golden")).Assert(t, s.fixture.Name, []byte(got))
}

// retold are the fixtures whose session on disk tells something otherwise than
// its stream, beside what only one of the two has at all (see told), with the
// reason.
var retold = map[string]string{
	"claude/real/2.1.197/big-answer":     inPieces,
	"claude/real/2.1.332/big-answer":     inPieces,
	"claude/real/2.1.197/subagent":       subagents,
	"claude/real/2.1.332/subagent":       subagents,
	"codex/real/0.171.0/big-answer":      elided,
	"codex/real/0.171.0/big-output":      elided,
	"codex/real/0.171.0/interrupt-bash":  "the command that was stopped has its end on disk only",
	"codex/real/0.171.0/yield":           "the command that was still running has its end on disk only",
	"codex/real/0.171.0/patch-all":       "where a file was moved to is on disk only",
	"grok/made/1.0.6/command-timeout":    failed,
	"grok/made/1.0.6/edit-nomatch":       failed,
	"grok/made/1.0.6/mcp-error":          failed,
	"grok/made/1.0.6/tool-error":         failed,
	"grok/made/1.0.6/unfinished":         failed,
	"grok/made/1.0.6/bg-command":         modelText,
	"grok/made/1.0.6/bytes":              modelText,
	"grok/made/1.0.6/cancelled":          modelText,
	"grok/made/1.0.6/outside":            modelText,
	"grok/made/1.0.6/preflight-split":    modelText,
	"grok/made/1.0.6/read-file":          modelText,
	"grok/made/1.0.6/read-image":         modelText,
	"grok/made/1.0.6/subagent":           modelText,
	"grok/made/1.0.6/web-search":         modelText,
	"grok/made/1.0.6/web-search-error":   modelText,
	"grok/made/1.0.6/write-exists":       modelText,
	"grok/made/1.0.6/interrupt-command":  cutShort,
	"grok/made/1.0.6/no-result":          cutShort,
	"grok/made/1.0.6/apply-patch-unread": "a patch that cannot be read names its files in the result on stdout only",
}

const (
	inPieces  = "two megabytes come in many pieces, which the golden shortens one by one"
	elided    = "the recorder has left megabytes out of the session on disk"
	subagents = "what a sub-agent did is in a file of its own"
	failed    = "grok's session does not say whether a tool failed"
	cutShort  = "grok's session has a message when it is whole; this one was cut short"
	modelText = "the fake puts no text for the model into the session where the output is bytes or a list"
)

// TestHistoryTellsWhatWasStreamed compares the golden of each fixture's
// history with that of its stream: the same texts, tools and answers, in the
// same order. A session that was resumed has more in front.
func TestHistoryTellsWhatWasStreamed(t *testing.T) {
	compared := 0
	for _, f := range played(t) {
		past, err := os.ReadFile(historyPath(f))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		live, err := os.ReadFile(goldenPath(f))
		if err != nil {
			t.Fatal(err)
		}
		compared++
		was, is := told(t, string(live)), told(t, string(past))
		same := strings.HasSuffix("\n"+is, "\n"+was)
		reason, known := retold[f.Name]
		switch {
		case !same && !known:
			t.Errorf("%s: the history differs from the stream:\n%s", f.Name, diff(t, was, is))
		case same && known:
			t.Errorf("%s: nothing differs, but the table says %q", f.Name, reason)
		}
	}
	if compared < 200 {
		t.Errorf("only %d sessions were compared", compared)
	}
	for name := range retold {
		if _, err := os.Stat(filepath.Join("testdata", filepath.FromSlash(name)+".history.golden")); err != nil {
			t.Errorf("%s is in the table, and has no history", name)
		}
	}
}

// told is what was said and done in a normalised stream: texts as they stood
// in the end, tools, and what those answered. The life of a run and what the
// human said are left out, and with it ids, which a disk may not have.
func told(t testing.TB, normalised string) string {
	t.Helper()
	type piece struct{ kind, message, text string }
	var all []piece
	_, stream, _ := strings.Cut("\n"+normalised, "\nid: ")
	for frame, err := range sse.Read(strings.NewReader("id: " + stream)) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := event.Decode(frame.Data)
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case event.Delta:
			if n := len(all); n > 0 && all[n-1].kind == "text" && all[n-1].message == e.MessageID {
				all[n-1].text += e.Text
			} else {
				all = append(all, piece{"text", e.MessageID, e.Text})
			}
		case event.DeltaReset:
			for i := range all {
				if all[i].kind == "text" && all[i].message == e.MessageID {
					all[i] = piece{}
				}
			}
		case event.Tool:
			all = append(all, piece{"tool", "", e.Tool + " " + e.Detail})
		case event.FileEdit:
			all = append(all, piece{"edit", "", e.Tool + " " + e.Path})
		case event.ToolResult:
			all = append(all, piece{"answer", "", fmt.Sprintf("%s %v %s", e.Tool, e.IsError, strings.TrimSpace(e.Text))})
		}
	}
	var out strings.Builder
	for _, p := range all {
		text := strings.TrimSpace(p.text)
		if len(text) >= longText { // as Normalise has it
			text = fmt.Sprintf("%s…(%d bytes)…%s", text[:100], len(text), text[len(text)-100:])
		}
		if text != "" {
			fmt.Fprintf(&out, "%s %q\n", p.kind, text)
		}
	}
	return out.String()
}
