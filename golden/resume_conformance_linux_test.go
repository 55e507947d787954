package golden

import (
	"slices"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents/scriptmodel"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/shimtest"
	"github.com/slidewrite/slidewrite/shim/sse"
)

// TestConformanceResume goes on with sessions that the real CLI wrote, after a
// restart of the shim.
func TestConformanceResume(t *testing.T) {
	for _, cli := range realCLIs(t) {
		t.Run(cli.String()+"/known", func(t *testing.T) { resumeKnown(newTrial(t, cli)) })
		t.Run(cli.String()+"/lost", func(t *testing.T) { resumeLost(newTrial(t, cli)) })
	}
}

// past is a row of GET /history.
type past struct {
	ID, FirstPrompt string
	Runs            []run.Summary
}

func (tr *trial) past() []past {
	tr.T.Helper()
	var list struct{ Sessions []past }
	if status := tr.JSON("GET", "/history?provider="+providers[tr.agent], nil, &list); status != 200 {
		tr.T.Fatalf("GET /history: %d", status)
	}
	return list.Sessions
}

// turn is one run: its stream as it was sent, and the events of it.
func (tr *trial) turn(prompt, session string) (stream string, events []event.Event) {
	tr.T.Helper()
	tr.discovered()
	body := map[string]any{"provider": providers[tr.agent], "prompt": prompt}
	if session != "" {
		body["resume"] = session
	}
	stream = tr.design(body)
	for frame, err := range sse.Read(strings.NewReader(stream)) {
		if err != nil {
			tr.T.Fatal(err)
		}
		e, err := event.Decode(frame.Data)
		if err != nil {
			tr.T.Fatal(err)
		}
		events = append(events, e)
	}
	return stream, events
}

// renewed are the notes that tell of a new session in place of a lost one.
func renewed(events []event.Event) []event.Note {
	return slices.DeleteFunc(shimtest.All[event.Note](events), func(n event.Note) bool { return n.Code != "session_new" })
}

// committed wants HEAD to be a commit on parent that does nothing but put one
// line of a.txt in another's place.
func (tr *trial) committed(parent, old, new string) (sha string) {
	tr.T.Helper()
	if got := tr.Git("rev-parse", "HEAD^"); got != parent {
		tr.T.Errorf("HEAD^ is %s, want %s", got, parent)
	}
	if got := tr.Git("diff", "--numstat", "HEAD^", "HEAD"); strings.Join(strings.Fields(got), " ") != "1 1 a.txt" {
		tr.T.Errorf("the commit changes %q", got)
	}
	if got := tr.Git("diff", "-U0", "HEAD^", "HEAD"); !strings.Contains(got, "\n-"+old+"\n+"+new) {
		tr.T.Errorf("the commit is\n%s\nwant %s → %s", got, old, new)
	}
	return tr.Git("rev-parse", "HEAD")
}

const firstAnswer = "I have changed the greeting to goodbye."

func resumeKnown(tr *trial) {
	second := "SCN:second Now change goodbye to farewell."
	steps := tr.edit()
	model, err := scriptmodel.Start(&scriptmodel.Scenario{
		Prompt: tr.prompt, Steps: append(steps, says(firstAnswer)),
		Sub: map[string][]scriptmodel.Step{"second": append(tr.swap("goodbye", "farewell"), says("It is farewell now."))},
	}, scriptmodel.Options{Repo: tr.Repo})
	if err != nil {
		tr.T.Fatal(err)
	}
	tr.T.Cleanup(func() { model.Close() })

	tr.serve(tr.realCLI, &scriptmodel.Scenario{}, model.URL())
	stream1, events := tr.turn(tr.prompt, "")
	session := shimtest.One[event.Start](tr.T, events).SessionID
	shimtest.One[event.Commit](tr.T, events)
	head := tr.committed(tr.head, "hello", "goodbye")
	tr.Stop()

	// The user goes on, too, in the file of both runs.
	tr.Write("a.txt", tr.Read("a.txt")+"mine, later\n")
	asked := len(model.Requests())
	tr.serve(tr.realCLI, &scriptmodel.Scenario{}, model.URL())
	stream2, events := tr.turn(second, strings.ToUpper(session))
	if got := shimtest.One[event.Start](tr.T, events).SessionID; got != session {
		tr.T.Errorf("the second run is in session %s, want %s", got, session)
	}
	if n := renewed(events); len(n) > 0 {
		tr.T.Errorf("the session was there, and notes say %v", n)
	}
	knew := slices.ContainsFunc(model.Requests()[asked:], func(r scriptmodel.Request) bool {
		said := strings.Join(r.Said, "\n")
		first, answer, again := strings.Index(said, tr.prompt), strings.Index(said, firstAnswer), strings.Index(said, second)
		return 0 <= first && first < answer && answer < again
	})
	if !knew {
		tr.T.Error("the model was not told what was said in the first run")
	}
	shimtest.One[event.Commit](tr.T, events)
	tr.committed(head, "goodbye", "farewell")
	want := strings.Replace(tr.before, "hello", "farewell", 1) + "mine, later\n"
	if got := tr.Read("a.txt"); got != want {
		tr.T.Errorf("a.txt is %q, want %q", got, want)
	}
	if got := tr.Git("diff", "--cached", "--name-only"); got != "staged.txt\n" {
		tr.T.Errorf("staged: %q", got)
	}
	tr.Stop()

	// A third shim knows it all from disk.
	tr.serve(tr.realCLI, &scriptmodel.Scenario{}, model.URL())
	list := tr.past()
	if len(list) != 1 || list[0].ID != session || list[0].FirstPrompt != tr.prompt || len(list[0].Runs) != 2 {
		tr.T.Fatalf("GET /history: %+v", list)
	}
	for _, r := range list[0].Runs {
		if r.SHA == "" || !slices.Equal(r.Files, []string{"a.txt"}) {
			tr.T.Errorf("a run of the session: %+v", r)
		}
	}
	tr.replayed(session, []string{tr.prompt, second}, stream1, stream2)
	newest := slices.MaxFunc(list[0].Runs, func(a, b run.Summary) int { return a.StartedAt.Compare(b.StartedAt) })
	if status := tr.JSON("POST", "/runs/"+newest.ID+"/undo", nil, nil); status != 200 {
		tr.T.Errorf("undo from history: %d", status)
	}
	if got, want := tr.Read("a.txt"), strings.Replace(want, "farewell", "goodbye", 1); got != want {
		tr.T.Errorf("after the undo a.txt is %q, want %q", got, want)
	}
}

// replayed wants the session to tell what the streams of its runs told, and
// what the user asked.
func (tr *trial) replayed(session string, prompts []string, streams ...string) {
	tr.T.Helper()
	live := ""
	for _, stream := range streams {
		text, err := Normalise(stream, tr.dirs()...)
		if err != nil {
			tr.T.Fatal(err)
		}
		live += told(tr.T, text)
	}
	text := historyOf(tr.T, tr.stage)
	if was, is := live, told(tr.T, text); was != is {
		tr.T.Errorf("the history of %s differs from the streams:\n%s", session, diff(tr.T, was, is))
	}
	var page struct {
		Events []struct{ Type, Text string }
	}
	if status := tr.JSON("GET", "/history/"+session+"?provider="+providers[tr.agent], nil, &page); status != 200 {
		tr.T.Fatalf("GET /history/%s: %d", session, status)
	}
	var asked []string
	for _, e := range page.Events {
		if e.Type == "user" {
			asked = append(asked, e.Text)
		}
	}
	if !slices.Equal(asked, prompts) {
		tr.T.Errorf("the user asked %q, want %q", asked, prompts)
	}
}

// resumeLost goes on with a session that nobody has: a new one is begun, once.
func resumeLost(tr *trial) {
	tr.real(&scriptmodel.Scenario{Prompt: tr.prompt, Steps: append(tr.edit(), says(firstAnswer))}, tr.realCLI)
	stream, events := tr.turn(tr.prompt, lostSession)
	session := shimtest.One[event.Start](tr.T, events).SessionID
	if session == lostSession {
		tr.T.Errorf("the run claims to be in the session that is lost")
	}
	if n := renewed(events); len(n) != 1 {
		tr.T.Errorf("notes of a new session: %v, want one", n)
	}
	shimtest.One[event.Commit](tr.T, events)
	tr.committed(tr.head, "hello", "goodbye")
	if list := tr.past(); len(list) != 1 || list[0].ID != session || len(list[0].Runs) != 1 {
		tr.T.Errorf("GET /history: %+v", list)
	}
	tr.replayed(session, []string{tr.prompt}, stream)
}
