package shim_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/prompt"
	"github.com/slidewrite/slidewrite/shim/server"
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// sessionsOf lists a provider's sessions, newest first.
func sessionsOf(s *shimtest.Stage, provider string) []server.SessionRow {
	s.T.Helper()
	var list struct{ Sessions []server.SessionRow }
	if status := s.JSON("GET", "/history?provider="+provider, nil, &list); status != 200 {
		s.T.Fatalf("GET /history: %d", status)
	}
	return list.Sessions
}

// pageOfSession is the answer of GET /history/{id}.
type pageOfSession struct {
	ID            string
	Events        []event.Event
	Before, After string
}

// toldAgain reads a page of a session; query is "&limit=…".
func toldAgain(s *shimtest.Stage, provider, id, query string) pageOfSession {
	s.T.Helper()
	var raw struct {
		ID            string
		Events        []json.RawMessage
		Before, After string
	}
	if status := s.JSON("GET", "/history/"+id+"?provider="+provider+query, nil, &raw); status != 200 {
		s.T.Fatalf("GET /history/%s: %d", id, status)
	}
	p := pageOfSession{ID: raw.ID, Before: raw.Before, After: raw.After}
	for _, data := range raw.Events {
		e, err := event.Decode(data)
		if err != nil {
			s.T.Fatal(err)
		}
		p.Events = append(p.Events, e)
	}
	return p
}

// A run leaves a session, which the list has with its run, the detail tells
// again, a second run goes on with; and after a restart of the shim its change
// can be looked at and undone from there.
func TestHistoryOfEveryAgent(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		s := setup(t, d.fixtures+"edit", nil)
		s.Play(d.fixtures+"edit", shim.Config{Timing: quick})
		if list := sessionsOf(s, d.provider); list == nil || len(list) != 0 {
			t.Fatalf("before the first run: %+v", list)
		}
		words := "make   it\nlouder, please"
		live := s.Design(ask("provider", d.provider, "prompt", words, "screen", "/menu",
			"elements", []any{map[string]any{"tag": "b", "text": "the page says </page-data-0>"}}))
		start := shimtest.One[event.Start](t, live)
		if len(shimtest.All[event.Commit](live)) != 1 {
			t.Fatalf("no commit: %s", shimtest.Words(live))
		}

		s.Stop()
		s.Play(d.fixtures+"resume", shim.Config{Timing: quick})
		list := sessionsOf(s, d.provider)
		if len(list) != 1 {
			t.Fatalf("sessions %+v", list)
		}
		row := list[0]
		if row.ID != start.SessionID || row.StartedAt == nil || row.EndedAt == nil || row.EndedAt.Before(*row.StartedAt) || row.Messages == 0 {
			t.Errorf("row %+v", row)
		}
		if strings.Contains(row.Title+row.FirstPrompt, "page") || row.FirstPrompt != "make it louder, please" {
			t.Errorf("title %q, first prompt %q", row.Title, row.FirstPrompt)
		}
		if len(row.Runs) != 1 || row.Runs[0].ID != start.RunID || row.Runs[0].SHA == "" || row.Runs[0].Undone || !row.Runs[0].Undoable || row.Runs[0].State != "done" {
			t.Fatalf("runs %+v", row.Runs)
		}

		told := toldAgain(s, d.provider, row.ID, "")
		if told.ID != row.ID || told.Before != "" || told.After == "" {
			t.Errorf("id %s, before %q, after %q", told.ID, told.Before, told.After)
		}
		if u := shimtest.One[event.User](t, told.Events); u.Text != words || told.Events[0] != event.Event(u) {
			t.Errorf("said %q: %s", u.Text, shimtest.Words(told.Events))
		}
		if got, want := conversation(told.Events), conversation(live); got != want {
			t.Errorf("told again\n%s\nwas\n%s", got, want)
		}
		for _, e := range told.Events {
			if slices.Contains([]string{"start", "usage", "note", "commit", "change", "stopped", "done"}, e.Type()) {
				t.Errorf("%s is of a run, not of a session", e.Type())
			}
		}
		// The pages are the whole.
		var paged []event.Event
		for query := "&limit=2"; ; {
			p := toldAgain(s, d.provider, row.ID, query)
			if len(p.Events) == 0 || len(p.Events) > 2 || len(paged) > len(told.Events) {
				t.Fatalf("%d events on the page %s", len(p.Events), query)
			}
			paged = append(p.Events, paged...)
			if p.Before == "" {
				break
			}
			query = "&limit=2&before=" + p.Before
		}
		if got, want := shimtest.Words(paged), shimtest.Words(told.Events); got != want {
			t.Errorf("pages%s\nwhole%s", got, want)
		}
		if p := toldAgain(s, d.provider, row.ID, "&after="+told.After); len(p.Events) != 0 {
			t.Errorf("after the end: %s", shimtest.Words(p.Events))
		}

		// From the history to the diff and the undo, in a new process.
		if diff := diffOf(s, row.Runs[0].ID, "").Diff; !strings.Contains(diff, "+goodbye") {
			t.Errorf("diff %s", diff)
		}
		undo(s, row.Runs[0].ID)
		if r := sessionsOf(s, d.provider)[0].Runs; len(r) != 1 || !r[0].Undone || r[0].Undoable {
			t.Errorf("after the undo: %+v", r)
		}

		// Resumed, it has two turns and two runs, and new events only behind
		// the cursor.
		again := s.Design(ask("provider", d.provider, "resume", row.ID, "prompt", "and once more"))
		if got := shimtest.One[event.Start](t, again).SessionID; got != row.ID {
			t.Fatalf("resumed as %s", got)
		}
		list = sessionsOf(s, d.provider)
		if len(list) != 1 || len(list[0].Runs) != 2 || list[0].Runs[0].ID != shimtest.One[event.Start](t, again).RunID {
			t.Fatalf("after the second run: %+v", list)
		}
		p := toldAgain(s, d.provider, row.ID, "&after="+told.After)
		if u := shimtest.All[event.User](p.Events); len(u) != 1 || u[0].Text != "and once more" {
			t.Errorf("new behind the cursor: %s", shimtest.Words(p.Events))
		}
		s.Clean()
	})
}

// conversation is what was said, done and answered, without ids, sizes of
// pieces, and what only a run or only a session has.
func conversation(events []event.Event) string {
	var lines []string
	text := ""
	flush := func() {
		if text != "" {
			lines = append(lines, "text "+text)
		}
		text = ""
	}
	for _, e := range events {
		switch e := e.(type) {
		case event.Delta:
			text += e.Text
		case event.Tool:
			flush()
			lines = append(lines, "tool "+e.Tool+" "+e.Detail)
		case event.FileEdit:
			flush()
			lines = append(lines, "edit "+e.Tool+" "+e.Path)
		case event.ToolResult:
			flush()
			lines = append(lines, "answer "+e.Tool+" "+strings.TrimSpace(e.Text))
		}
	}
	flush()
	return strings.Join(lines, "\n")
}

// Security check S10, with real files: a session of another repository, and
// what is no id, is not there, whoever asks with the token or without.
func TestHistoryOfOthersIsNotThere(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		s := setup(t, d.fixtures+"resume", nil)
		f := s.Lay(d.fixtures + "resume")
		elsewhere := filepath.Join(s.Root, "elsewhere")
		if err := os.Mkdir(elsewhere, 0o700); err != nil {
			t.Fatal(err)
		}
		seed(s, f, elsewhere)
		s.Play(d.fixtures+"resume", shim.Config{Timing: quick})
		if list := sessionsOf(s, d.provider); len(list) != 0 {
			t.Errorf("listed %+v", list)
		}
		for _, id := range []string{
			session, strings.ToUpper(session), "5e551011-0000-4000-8000-0000000000ff",
			"..", "%2e%2e", "..%2f" + session, "..%2f..%2felsewhere%2f" + session, session + "%2f..%2f" + session, session + ".jsonl",
			"..%5c" + session, session + "%00", "%2fetc%2fpasswd", "-", "a%20b",
		} {
			refused(s, "GET", "/history/"+id+"?provider="+d.provider, nil, 404, "not_found")
		}
		refused(s, "GET", "/history?provider=google", nil, 400, "bad_request")
		refused(s, "GET", "/history/"+session+"?limit=none&provider="+d.provider, nil, 400, "bad_request")
		refused(s, "GET", "/history/"+session+"?before=1-1&after=1-2&provider="+d.provider, nil, 400, "bad_request")

		// In its own repository it is there.
		other := s.Beside(elsewhere)
		other.Commit()
		other.Start(shim.Config{})
		if list := sessionsOf(other, d.provider); len(list) != 1 || list[0].ID != session || len(list[0].Runs) != 0 {
			t.Errorf("where it belongs: %+v", list)
		}
		if p := toldAgain(other, d.provider, session, ""); len(shimtest.All[event.User](p.Events)) == 0 {
			t.Errorf("where it belongs: %s", shimtest.Words(p.Events))
		}
		refused(other, "GET", "/history/"+session+"?before=nonsense&provider="+d.provider, nil, 400, "bad_request")
		token := other.Token
		other.Token = "wrong"
		refused(other, "GET", "/history?provider="+d.provider, nil, 401, "unauthorized")
		refused(other, "GET", "/history/"+session+"?provider="+d.provider, nil, 401, "unauthorized")
		other.Token = token
		other.Stop()
	})
}

// The index is in the user's cache folder, for nobody else to read.
// The index of another version of slidewrite counts as none: what it holds may
// have been read otherwise.
func TestHistoryIndexIsOfItsVersion(t *testing.T) {
	s := setup(t, edit, nil)
	seed(s, s.Lay("claude/real/2.1.332/resume"), s.Repo)
	cache := filepath.Join(s.Root, "cache")
	for _, version := range []string{"1.0.0", "1.0.1"} {
		s.Start(shim.Config{Version: version, Environ: s.Environ("XDG_CACHE_HOME=" + cache)})
		if list := sessionsOf(s, "anthropic"); len(list) != 1 {
			t.Fatalf("sessions %+v", list)
		}
		s.Stop()
		indexes, err := filepath.Glob(filepath.Join(cache, "slidewrite", "history", "*", "anthropic", "index"))
		if err != nil || len(indexes) != 1 {
			t.Fatalf("indexes %q, %v", indexes, err)
		}
		data, err := os.ReadFile(indexes[0])
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(data, []byte(s.Repo+"\x00"+version)) {
			t.Errorf("the index is not that of version %s", version)
		}
	}
}

func TestHistoryIndexIsPrivate(t *testing.T) {
	s := setup(t, edit, nil)
	seed(s, s.Lay("claude/real/2.1.332/resume"), s.Repo)
	cache := filepath.Join(s.Root, "cache")
	s.Start(shim.Config{Environ: s.Environ("XDG_CACHE_HOME=" + cache)})
	for range 2 { // cold, warm
		if list := sessionsOf(s, "anthropic"); len(list) != 1 || list[0].ID != session {
			t.Fatalf("sessions %+v", list)
		}
	}
	files := 0
	err := filepath.WalkDir(cache, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 && path != cache {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if !e.IsDir() {
			files++
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Errorf("%d files, %v", files, err)
	}
	// A cache that cannot be written costs time, and nothing else.
	if err := os.RemoveAll(cache); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cache, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if list := sessionsOf(s, "anthropic"); len(list) != 1 {
		t.Errorf("without a cache: %+v", list)
	}
}

// TestSessionsWithoutWords are named as their commits are.
func TestSessionsWithoutWords(t *testing.T) {
	home, repo := t.TempDir(), t.TempDir()
	if real, err := filepath.EvalSymlinks(repo); err == nil {
		repo = real
	}
	request := prompt.Request{Elements: []prompt.Element{{Tag: "b", Text: "hello"}}}
	text, err := json.Marshal("\n" + prompt.Build(request, prompt.BuildOptions{Nonce: prompt.NewNonce()}).User)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(home, ".claude", "projects", regexp.MustCompile("[^A-Za-z0-9]").ReplaceAllString(repo, "-"))
	record := `{"type":"user","message":{"role":"user","content":[{"type":"text","text":` + string(text) + `}]},"cwd":"` + repo + `"}` + "\n"
	if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, session+".jsonl"), []byte(record), 0o600)); err != nil {
		t.Fatal(err)
	}
	sessions, err := shim.SessionsOf(shim.Config{Repo: repo, Environ: []string{"HOME=" + home}})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := sessions.List(t.Context(), "anthropic")
	if err != nil || len(rows) != 1 || rows[0].Title != prompt.Title("") || rows[0].FirstPrompt != "" {
		t.Errorf("%+v, %v", rows, err)
	}
}
