package shim_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/run"
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// The main promise: the commit holds the agent's lines and nothing of the
// user's, whose work looks as it did.
func TestUsersWorkStaysAndTheCommitHoldsTheAgentsLinesOnly(t *testing.T) {
	s := setup(t, edit, map[string]string{
		"a.txt":     "hello\n" + numbered(40),
		"mixed.txt": numbered(40),
		"gone.txt":  "to be deleted\n",
	})
	s.Write("a.txt", strings.Replace(s.Read("a.txt"), "line 20\n", "staged by me\n", 1))
	s.Write("mixed.txt", strings.Replace(numbered(40), "line 3\n", "three\n", 1))
	s.Git("add", "a.txt", "mixed.txt")
	s.Write("a.txt", strings.Replace(s.Read("a.txt"), "line 35\n", "not staged\n", 1))
	s.Write("mixed.txt", strings.Replace(s.Read("mixed.txt"), "line 30\n", "thirty\n", 1))
	s.Write("b.txt", "my world\n")
	s.Write("untracked ü.txt", "mine\n")
	s.Write("intended.txt", "soon\n")
	s.Git("add", "-N", "intended.txt")
	s.Git("rm", "-q", "--cached", "gone.txt")
	before, index := work(s), indexBut(s, "a.txt")

	s.Play(edit, shim.Config{Timing: quick})
	events := s.Design(ask())

	wantWords(t, events, "result, change, commit, done")
	if after := work(s); after != before {
		t.Errorf("the user's work looks different\nbefore:\n%s\nafter:\n%s", before, after)
	}
	if after := indexBut(s, "a.txt"); after != index {
		t.Errorf("index entries the run did not touch\nbefore:\n%s\nafter:\n%s", index, after)
	}
	if got, want := lines(s.Git("show", "--format=", "HEAD")), "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n-hello\n+goodbye"; got != want {
		t.Errorf("the commit\n%s\nwant\n%s", got, want)
	}
	if got := s.Read("a.txt"); !strings.HasPrefix(got, "goodbye\n") || !strings.Contains(got, "staged by me\n") || !strings.Contains(got, "not staged\n") {
		t.Errorf("a.txt is %q", got)
	}
	s.Clean()
}

// indexBut lists the index without one path.
func indexBut(s *shimtest.Stage, path string) string {
	s.T.Helper()
	var kept []string
	for line := range strings.SplitSeq(s.Git("ls-files", "--stage"), "\n") {
		if !strings.HasSuffix(line, "\t"+path) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

func TestCommitSaysWhatItIs(t *testing.T) {
	s := setup(t, edit, nil)
	s.Play(edit, shim.Config{Timing: quick})
	events := s.Design(map[string]any{"prompt": "\n  Change hello to goodbye in a.txt.\nand more"})
	start := shimtest.One[event.Start](t, events)
	got := s.Git("log", "-1", "--format=%an <%ae>%n%B")
	want := "Slide Write <slide-write@local>\nslide-write: Change hello to goodbye in a.txt.\n\nSlide-Write-Run: " + start.RunID +
		"\nSlide-Write-Session: anthropic/" + start.SessionID + "\n\n"
	if got != want {
		t.Errorf("commit\n%q\nwant\n%q", got, want)
	}
	commit := shimtest.One[event.Commit](t, events)
	if full := s.Git("rev-parse", "HEAD"); !strings.HasPrefix(full, commit.SHA) || commit.Count != 1 || len(commit.SHA) < 7 {
		t.Errorf("commit event %+v, HEAD is %s", commit, full)
	}
	list := runs(s)
	if len(list) != 1 || list[0].ID != start.RunID || list[0].State != "done" || list[0].Kind != "design" ||
		list[0].Provider != "anthropic" || list[0].EndedAt == nil || list[0].Undone || !slices.Equal(list[0].Files, []string{"a.txt"}) ||
		strings.TrimSpace(s.Git("rev-parse", "HEAD")) != list[0].SHA {
		t.Errorf("runs %+v", list)
	}
}

func TestAutoCommit(t *testing.T) {
	for _, tt := range []struct {
		name   string
		value  any
		commit bool
	}{
		{"false", false, false},
		{"true", true, true},
		{"absent", nil, true},
		{"null", json.RawMessage("null"), true},
		{"the word", "false", true},
		{"zero", 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := setup(t, edit, nil)
			s.Play(edit, shim.Config{Timing: quick})
			body := ask()
			if tt.value != nil {
				body["autoCommit"] = tt.value
			}
			events := s.Design(body)
			want := "result, change, done"
			if tt.commit {
				want = "result, change, commit, done"
			}
			wantWords(t, events, want)
			if got := s.Read("a.txt"); !strings.HasPrefix(got, "goodbye\n") {
				t.Errorf("a.txt is %q", got)
			}
			if dirty := s.Git("status", "--porcelain"); (dirty == "") != tt.commit {
				t.Errorf("status %q", dirty)
			}
		})
	}
}

// A failed run that changed files sends the change, does not commit it, and
// can be undone.
func TestFailedRunIsNotCommittedAndCanBeUndone(t *testing.T) {
	for _, fixture := range []string{"claude/real/2.1.332/err-after-edit", "claude/made/2.1.332/crash-after-edit"} {
		t.Run(filepath.Base(fixture), func(t *testing.T) {
			s := setup(t, fixture, nil)
			before, head := s.Read("a.txt"), s.Git("rev-parse", "HEAD")
			s.Play(fixture, shim.Config{Timing: quick})
			events := s.Design(ask())
			if got := words(events); !strings.Contains(got, "error ") || !strings.HasSuffix(got, "change, done") {
				t.Fatalf("the run went %q", got)
			}
			if s.Git("rev-parse", "HEAD") != head {
				t.Error("a failed run was committed")
			}
			r := newest(s)
			if r.State != "failed" || r.SHA != "" || !slices.Equal(r.Files, []string{"a.txt"}) {
				t.Errorf("listed as %+v", r)
			}
			undo(s, r.ID)
			if s.Read("a.txt") != before || s.Git("rev-parse", "HEAD") != head || s.Git("status", "--porcelain") != "" {
				t.Error("undo did not restore the state before the run")
			}
			s.Clean()
		})
	}
}

func TestNoChangeLeavesNothing(t *testing.T) {
	const fixture = "claude/real/2.1.332/no-change"
	s := setup(t, fixture, nil)
	s.Write("b.txt", "my own edit\n")
	s.Play(fixture, shim.Config{Timing: quick})
	events := s.Design(ask())
	wantWords(t, events, "result, done")
	if refs := s.Git("for-each-ref", "refs/slidewrite"); refs != "" {
		t.Errorf("refs left behind: %s", refs)
	}
	f := refused(s, "POST", "/runs/"+newest(s).ID+"/undo", nil, 409, "conflict")
	if !strings.Contains(f.Error, "changed nothing") {
		t.Errorf("undo of nothing: %q", f.Error)
	}
	s.Clean()
}

// The user edits another file while no tool is running: it is not the run's.
func TestUsersEditDuringTheRunIsTheUsers(t *testing.T) {
	s := setup(t, edit, nil)
	gate := s.Gate("before-the-first-tool")
	fixture := s.Variant(edit, func(f *fakeagents.Fixture) {
		// Tool windows are taken with a second of slack on either side.
		f.Effects = append(f.Effects, gate.After(14), fakeagents.Effect{After: 15, Run: []string{"sh", "-c", "sleep 1.3"}})
	})
	s.Play(fixture, shim.Config{Timing: quick})
	stream := s.Open("POST", "/design", ask())
	gate.Reached()
	s.Write("b.txt", "edited by the user meanwhile\n")
	gate.Open()
	events := stream.Rest()
	wantWords(t, events, "result, change, commit, done")
	change := shimtest.One[event.Change](t, events)
	wantPaths(t, paths(change), "a.txt", "b.txt")
	if change.Files[0].Yours || !change.Files[1].Yours {
		t.Errorf("whose is it: %+v", change.Files)
	}
	if got := s.Git("show", "--format=", "--name-only", "HEAD"); got != "a.txt\n" {
		t.Errorf("committed %q", got)
	}
	named := slices.ContainsFunc(shimtest.All[event.Note](events), func(n event.Note) bool { return strings.Contains(n.Message, "b.txt") })
	if !named {
		t.Errorf("no note names b.txt%s", shimtest.Words(events))
	}
	undo(s, newest(s).ID)
	if got := s.Read("b.txt"); got != "edited by the user meanwhile\n" {
		t.Errorf("undo took the user's own edit: %q", got)
	}
	if got := s.Read("a.txt"); got != "hello\nsecond line\n" {
		t.Errorf("a.txt is %q", got)
	}
}

const session = "5e551011-0000-4000-8000-000000000001"

// seed writes the transcript of an earlier session in the folder repo.
func seed(s *shimtest.Stage, f *fakeagents.Fixture, repo string) {
	s.T.Helper()
	v := fakeagents.Values{Repo: repo, Session: session, Home: s.Home, Now: time.Now()}
	if err := f.SeedDisk(filepath.Join(s.Home, "."+f.Agent()), v); err != nil {
		s.T.Fatal(err)
	}
}

func TestResume(t *testing.T) {
	const fixture = "claude/real/2.1.332/resume"
	t.Run("known", func(t *testing.T) {
		s := setup(t, fixture, nil)
		f := s.Lay(fixture)
		seed(s, f, s.Repo)
		s.Play(fixture, shim.Config{Timing: quick})
		events := s.Design(ask("resume", session))
		wantWords(t, events, "result, change, commit, done")
		if start := shimtest.One[event.Start](t, events); start.SessionID != session {
			t.Errorf("session %s", start.SessionID)
		}
		if argv := s.Turns()[0].Argv; !slices.Contains(argv, session) {
			t.Errorf("argv %q", argv)
		}
	})
	t.Run("unknown", func(t *testing.T) {
		s := setup(t, edit, nil)
		s.Play(edit, shim.Config{Timing: quick})
		events := s.Design(ask("resume", session))
		note(t, events, "session_new")
		wantWords(t, events, "result, change, commit, done")
		if start := shimtest.One[event.Start](t, events); start.SessionID == session {
			t.Error("the lost session's id was given to the new one")
		}
		if turns := s.Turns(); len(turns) != 2 || slices.Contains(turns[1].Argv, "--resume") {
			t.Errorf("agents started: %d", len(turns))
		}
		s.Clean()
	})
	t.Run("of another folder", func(t *testing.T) {
		s := setup(t, fixture, nil)
		f := s.Lay(fixture)
		seed(s, f, filepath.Join(s.Root, "elsewhere"))
		s.Play(fixture, shim.Config{Timing: quick})
		events := s.Design(ask("resume", session))
		wantWords(t, events, "error bad_request, done")
		if e := shimtest.One[event.Error](t, events); !strings.Contains(e.Message, "elsewhere") || e.Fix == "" {
			t.Errorf("error %+v", e)
		}
		if len(s.Turns()) != 0 {
			t.Error("an agent was started")
		}
		s.Clean()
	})
	// The folder stands behind the message; where it is not told, it may be any.
	for name, tail := range map[string]string{"of another folder, told late": `,"cwd":"/elsewhere"}` + "\n", "of who knows which folder": "}\n"} {
		t.Run(name, func(t *testing.T) {
			s := setup(t, fixture, nil)
			dir := filepath.Join(s.Home, ".claude", "projects", "-elsewhere")
			record := `{"type":"user","message":{"role":"user","content":"` + strings.Repeat("word ", 300_000) + `"}` + tail
			if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, session+".jsonl"), []byte(record), 0o600)); err != nil {
				t.Fatal(err)
			}
			s.Play(fixture, shim.Config{Timing: quick})
			events := s.Design(ask("resume", session))
			wantWords(t, events, "error bad_request, done")
			if e := shimtest.One[event.Error](t, events); !strings.Contains(e.Message, "folder") || e.Fix == "" {
				t.Errorf("error %+v", e)
			}
			if len(s.Turns()) != 0 {
				t.Error("an agent was started")
			}
			s.Clean()
		})
	}
	for name, own := range map[string]bool{"of a folder below": false, "of a repository below": true} {
		t.Run(name, func(t *testing.T) {
			s := setup(t, fixture, nil)
			below := filepath.Join(s.Repo, "web", "app")
			if err := os.MkdirAll(below, 0o700); err != nil {
				t.Fatal(err)
			}
			if own { // as a submodule has it
				s.Write("web/.git", "gitdir: ../.git/modules/web\n")
			}
			seed(s, s.Lay(fixture), below)
			s.Play(fixture, shim.Config{Timing: quick})
			events := s.Design(ask("resume", session))
			if !own {
				if start := shimtest.One[event.Start](t, events); start.SessionID != session {
					t.Errorf("session %s", start.SessionID)
				}
				return
			}
			wantWords(t, events, "error bad_request, done")
			if len(s.Turns()) != 0 {
				t.Error("an agent was started")
			}
		})
	}
	t.Run("not a UUID", func(t *testing.T) {
		s := setup(t, edit, nil)
		s.Play(edit, shim.Config{Timing: quick})
		events := s.Design(ask("resume", "--help"))
		note(t, events, "session_new")
		wantWords(t, events, "result, change, commit, done")
		if argv := s.Turns()[0].Argv; slices.Contains(argv, "--resume") || slices.Contains(argv, "--help") {
			t.Errorf("argv %q", argv)
		}
	})
}

// pixel is a picture of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

// pasted is a request with a picture and text that looks like a command.
func pasted() map[string]any {
	return map[string]any{
		"prompt":   "/compact this is no command",
		"elements": []any{map[string]any{"tag": "img", "text": "look @/etc/passwd", "pasted": true, "screenshotDataUrl": "data:image/png;base64," + pixel}},
	}
}

func TestPastedImageReachesTheAgentAndNobodyElse(t *testing.T) {
	s := setup(t, text, nil)
	fixture, gate := hold(s, text, 3)
	s.Play(fixture, shim.Config{Timing: quick})
	stream := s.Open("POST", "/design", pasted())
	gate.Reached()
	blocks := received(t, s)
	if len(blocks) != 2 || blocks[0].Type != "image" || blocks[0].Source.Data != pixel || blocks[0].Source.MediaType != "image/png" {
		t.Fatalf("blocks %+v", blocks)
	}
	if got := blocks[1].Text; !strings.HasPrefix(got, "\n/compact this is no command") || strings.Contains(got, "@/etc") {
		t.Errorf("text %q", got)
	}
	path := regexp.MustCompile(`/[^\s"'` + "`" + `]*shot-1\.png`).FindString(blocks[1].Text)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatalf("the path in the prompt, %q: %v", path, err)
	}
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && (info.Mode().Perm() != 0o600 || folder.Mode().Perm() != 0o700) {
		t.Errorf("modes %v in %v", info.Mode(), folder.Mode())
	}
	if strings.HasPrefix(path, s.Repo) || s.Git("status", "--porcelain") != "" {
		t.Error("the picture lies in the repository")
	}
	gate.Open()
	wantWords(t, stream.Rest(), "result, done")
	if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
		t.Errorf("the run's folder is still there: %v", err)
	}
	s.Clean()
}

// block is one block of a user message.
type block struct {
	Type, Text string
	Source     struct {
		MediaType string `json:"media_type"`
		Data      string
	}
}

// received are the blocks of the last message that an agent got.
func received(t *testing.T, s *shimtest.Stage) []block {
	t.Helper()
	prompts := s.Prompts()
	if len(prompts) == 0 {
		t.Fatal("no agent received a prompt")
	}
	var m struct{ Message struct{ Content []block } }
	if err := json.Unmarshal([]byte(prompts[len(prompts)-1]), &m); err != nil {
		t.Fatal(err)
	}
	return m.Message.Content
}

func TestPreviewIsWhatTheAgentReceives(t *testing.T) {
	s := setup(t, text, nil)
	s.Play(text, shim.Config{Timing: quick})
	var preview run.Preview
	if status := s.JSON("POST", "/prompt/preview", pasted(), &preview); status != 200 {
		t.Fatalf("preview: %d", status)
	}
	if len(s.Turns()) != 0 || len(runs(s)) != 0 {
		t.Error("a preview started something")
	}
	s.Design(pasted())
	blocks := received(t, s)
	got := blocks[len(blocks)-1].Text
	// What is fresh per run: the fence's nonce and the folder.
	nonce := regexp.MustCompile(`[0-9a-zA-Z_-]{16,}`)
	folder := regexp.MustCompile(`/[^\s"'` + "`" + `]*/(shot-1\.png)`)
	got = folder.ReplaceAllString(got, "(a private folder, fresh per run)/$1")
	for _, word := range nonce.FindAllString(got, -1) {
		if !strings.Contains(preview.Prompt, word) {
			got = strings.ReplaceAll(got, word, "fresh-per-run")
		}
	}
	if got != "\n"+strings.TrimPrefix(preview.Prompt, "\n") {
		t.Errorf("received\n%q\npreviewed\n%q", got, preview.Prompt)
	}
	argv := s.Turns()[0].Argv
	if i := slices.Index(argv, "--system-prompt"); i < 0 || argv[i+1] != preview.System {
		t.Error("the system prompt is not the previewed one")
	}
	if len(preview.Attachments) != 1 || preview.Attachments[0].Name != "shot-1.png" {
		t.Errorf("attachments %+v", preview.Attachments)
	}
}

// An agent that misbehaves: what the client hears, and that nothing is left.
func TestAgentThatMisbehaves(t *testing.T) {
	const (
		noResult = "**No `result`**, whatever the exit code: `error` with `code:\"crashed\"` and the tail of stderr, never a clean-looking end."
		unknown  = "**Unknown lines** never stop a run"
		notJSON  = "**Not JSON** (a banner, a warning): kept in a 200-line diagnostics ring, shown with a failed run."
		long     = "Lines up to 32 MiB are mapped; a longer one is skipped to its newline with a `note`."
		failed   = "A failed or stopped run that changed files still sends `change`; it is not committed by default, and can be undone."
		initial  = "An agent that never answers `initialize` still gets its message after 2 s."
		states   = "or 1 s after a `result` when the CLI sends no states."
		root     = "As root without `IS_SANDBOX` it refuses bypass: the `error` says so with both ways out."
		limit    = "429 → `rate_limited`"
	)
	for _, tt := range []struct {
		quote             string // the sentence that says what such an agent gets
		name, knobs, want string
		message           string // part of the error's message or fix
		note              string // code of a note
	}{
		{noResult, "crashes", "crash=20,crash_exit=3,crash_stderr=out of cheese", "error crashed, done", "out of cheese", ""},
		{failed, "crashes after the edit", "crash=50", "error crashed, change, done", "", ""},
		{noResult, "ends without a result", "no_result=1", "error crashed, change, done", "", ""},
		{noResult, "stops in half a line", "half_line=30", "error crashed, done", "", ""},
		{notJSON, "writes a banner", "banner=1", "result, change, commit, done", "", ""},
		{notJSON, "writes a banner and crashes", "banner=1,crash=20", "error crashed, done", "this line is not JSON", ""},
		{unknown, "speaks a newer dialect", "grease=1", "result, change, commit, done", "", ""},
		{long, "writes a line of 50 MiB", "big_line=50MiB", "result, change, commit, done", "", "line_skipped"},
		{long, "writes a line of 31 MiB", "big_line=31MiB", "result, change, commit, done", "", ""},
		{initial, "never answers initialize", "no_init_answer=1", "result, change, commit, done", "", ""},
		{states, "sends no states", "no_state_events=1", "result, change, commit, done", "", ""},
		{root, "refuses to be root", "refuse_root=1", "error unsupported, done", "IS_SANDBOX", ""},
		{limit, "reached its limit", "rate_limited=1", "error rate_limited, done", "", ""},
	} {
		if !sampled(tt.name) {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			s := setup(t, edit, nil)
			timing := quick
			timing.PromptAfter = 100 * time.Millisecond
			s.Play(edit, shim.Config{Timing: timing}, tt.knobs)
			events := s.Design(ask())
			got := words(events)
			if strings.HasPrefix(tt.want, "error") { // a failed turn has a result too
				got = strings.TrimPrefix(strings.ReplaceAll(got, "result, ", ""), ", ")
			}
			if got != tt.want {
				t.Fatalf("the run went %q, want %q%s", got, tt.want, shimtest.Words(events))
			}
			if e := shimtest.All[event.Error](events); tt.message != "" && !strings.Contains(e[0].Message+e[0].Fix, tt.message) {
				t.Errorf("error %+v", e)
			}
			if tt.note != "" {
				note(t, events, tt.note)
			}
			s.Clean()
		})
	}
}

func TestRateLimitSaysWhenItEnds(t *testing.T) {
	s := setup(t, edit, nil)
	s.Play(edit, shim.Config{Timing: quick}, "rate_limited=1")
	events := s.Design(ask())
	when := false
	for _, n := range shimtest.All[event.Note](events) {
		when = when || n.ResetsAt != ""
	}
	if e := shimtest.One[event.Error](t, events); !when && e.ResetsAt == "" {
		t.Errorf("nothing says when the limit ends%s", shimtest.Words(events))
	}
}

// Unknown types, subtypes and fields change nothing.
func TestGreaseChangesNothing(t *testing.T) {
	play := func(knobs ...string) string {
		s := shimtest.New(t)
		s.Fixture(edit)
		s.Play(edit, shim.Config{Timing: quick}, knobs...)
		var said []string
		for _, e := range s.Design(ask()) {
			data, err := event.Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			line := strings.ReplaceAll(string(data), newest(s).ID, "RUN")
			line = strings.ReplaceAll(line, s.Root, "ROOT")
			line = regexp.MustCompile(`"sessionId":"[^"]*"|"sha":"[^"]*"|"durationMs":\d+`).ReplaceAllString(line, "X")
			said = append(said, line)
		}
		return strings.Join(said, "\n")
	}
	t.Parallel()
	if plain, greased := play(), play("grease=1"); plain != greased {
		t.Errorf("plain\n%s\ngreased\n%s", plain, greased)
	}
}

func TestSilenceIsSaid(t *testing.T) {
	s := setup(t, edit, nil)
	timing := quick
	timing.Silences = []time.Duration{20 * time.Millisecond, 60 * time.Millisecond}
	s.Play(edit, shim.Config{Timing: timing}, "hang=initialize")
	stream := s.Open("POST", "/design", ask())
	for range 2 {
		if n := shimtest.Until[event.Note](stream); n.Code != "silent" || !strings.Contains(n.Message, "claude has not answered yet") {
			t.Fatalf("note %+v", n)
		}
	}
	stop(s)
	wantWords(t, stream.Rest(), "stopped user, done")
}

func TestAgentThatIsNotThere(t *testing.T) {
	s := setup(t, edit, nil)
	s.Play(edit, shim.Config{Timing: quick, Environ: []string{"PATH=" + onlyGit(t, s)}})
	events := s.Design(ask())
	wantWords(t, events, "error not_found, done")
	if e := shimtest.One[event.Error](t, events); !strings.Contains(e.Fix, "--claude-bin") || !strings.Contains(e.Message, "claude") {
		t.Errorf("error %+v", e)
	}
	if r := newest(s); r.State != "failed" {
		t.Errorf("listed as %+v", r)
	}
	s.Clean()
}

func TestAgentThatIsNotExecutable(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no executable bit")
	}
	s := setup(t, edit, nil)
	bin := filepath.Join(s.Root, "claude")
	if err := os.WriteFile(bin, []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.Play(edit, shim.Config{Timing: quick, ClaudeBin: bin})
	events := s.Design(ask())
	e := shimtest.One[event.Error](t, events)
	if !strings.Contains(e.Message, "not executable") || e.Fix == "" {
		t.Errorf("error %+v", e)
	}
	s.Clean()
}

func TestNotSignedIn(t *testing.T) {
	for _, tt := range []struct{ name, env, fix string }{
		{"nothing scrubbed", "X=1", "claude auth login"},
		{"a key was scrubbed", "ANTHROPIC_API_KEY=sk-ant-secret", "--keep-env"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := setup(t, edit, nil)
			s.Play(edit, shim.Config{Timing: quick, Environ: []string{tt.env}}, "signed_out=1")
			events := s.Design(ask())
			e := shimtest.One[event.Error](t, events)
			if e.Code != event.CodeNotSignedIn || !strings.Contains(e.Fix, tt.fix) {
				t.Errorf("error %+v", e)
			}
			s.Clean()
		})
	}
}

func TestProviderThatCannotRun(t *testing.T) {
	s := setup(t, edit, nil)
	s.Play(edit, shim.Config{Timing: quick})
	for _, provider := range []string{"google", "acme", "Anthropic"} {
		events := s.Design(ask("provider", provider))
		wantWords(t, events, "error unsupported, done")
	}
	if len(runs(s)) != 0 || len(s.Turns()) != 0 {
		t.Error("a run that cannot be was noted in the ledger, or started an agent")
	}
	wantWords(t, s.Design(ask()), "result, change, commit, done")
}

// The prompt is not sent before the snapshot exists and is kept.
func TestPromptWaitsForTheSnapshot(t *testing.T) {
	s := setup(t, edit, map[string]string{".gitattributes": "slow.txt filter=slow\n"})
	gate := s.Gate("clean-filter")
	s.Write("slow.txt", "x\n")
	s.Git("config", "filter.slow.clean", gate.Script()+"; cat")
	s.Play(edit, shim.Config{Timing: quick})
	stream := s.Open("POST", "/design", ask())
	gate.Reached()
	// The agent is up and has answered initialize; only the prompt is missing.
	shimtest.Await(t, "the agent's start", func() bool { return len(s.Agents()) > 0 && len(s.Turns()) > 0 })
	if refs := s.Git("for-each-ref", "refs/slidewrite/runs"); refs != "" {
		t.Errorf("the snapshot is there already: %s", refs)
	}
	if got := s.Prompts(); len(got) != 0 {
		t.Errorf("the prompt was sent before the snapshot: %q", got)
	}
	gate.Open()
	wantWords(t, stream.Rest(), "result, change, commit, done")
}

// A repository whose settings run commands at the agent's start: the snapshot
// comes before the agent.
func TestStartHooksComeAfterTheSnapshot(t *testing.T) {
	s := setup(t, edit, map[string]string{
		".gitattributes":        "slow.txt filter=slow\n",
		".claude/settings.json": `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"date >b.txt"}]}]}}`,
	})
	gate := s.Gate("clean-filter")
	s.Write("slow.txt", "x\n")
	s.Git("config", "filter.slow.clean", gate.Script()+"; cat")
	s.Play(edit, shim.Config{Timing: quick})
	stream := s.Open("POST", "/design", ask())
	gate.Reached()
	if len(s.Turns()) != 0 {
		t.Error("the agent was started before the snapshot")
	}
	gate.Open()
	wantWords(t, stream.Rest(), "result, change, commit, done")
}
