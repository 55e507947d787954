package shim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// gitState is what /meta says about the repository.
func gitState(s *shimtest.Stage) (state, fix string) {
	s.T.Helper()
	var meta struct{ Git struct{ State, Fix string } }
	if status := s.JSON("GET", "/meta", nil, &meta); status != 200 {
		s.T.Fatalf("GET /meta: %d", status)
	}
	return meta.Git.State, meta.Git.Fix
}

func wantState(s *shimtest.Stage, want string) {
	s.T.Helper()
	if got, _ := gitState(s); got != want {
		s.T.Errorf("git.state %q, want %q", got, want)
	}
}

// bare is a stage whose repository the test makes itself.
func bare(t *testing.T, fixture string) *shimtest.Stage {
	t.Helper()
	t.Parallel()
	s := shimtest.New(t)
	s.Lay(fixture)
	return s
}

func TestGitUnborn(t *testing.T) {
	const fixture = "claude/real/2.1.332/unborn"
	s := bare(t, fixture)
	s.Commit()
	s.Write("mine.txt", "not committed\n")
	s.Play(fixture, shim.Config{Timing: quick})
	wantState(s, "unborn")
	wantWords(t, s.Design(ask()), "result, change, commit, done")
	if got := s.Git("ls-tree", "-r", "--name-only", "HEAD"); got != "hello.txt\n" {
		t.Errorf("the first commit holds %q", got)
	}
	if got := s.Git("status", "--porcelain"); got != "?? mine.txt\n" {
		t.Errorf("status %q", got)
	}
	undo(s, newest(s).ID)
	if got := s.Git("ls-tree", "-r", "--name-only", "HEAD"); got != "" {
		t.Errorf("after undo HEAD holds %q", got)
	}
	s.Clean()
}

func TestGitNoRepository(t *testing.T) {
	s := bare(t, edit)
	s.Play(edit, shim.Config{Timing: quick})
	if state, fix := gitState(s); state != "none" || fix != "git init" {
		t.Errorf("git.state %q, fix %q", state, fix)
	}
	events := s.Design(ask())
	wantWords(t, events, "result, done")
	if n := note(t, events, "no_repo"); !strings.Contains(n.Message, "git init") {
		t.Errorf("note %q", n.Message)
	}
	if got := s.Read("a.txt"); !strings.HasPrefix(got, "goodbye\n") {
		t.Errorf("a.txt is %q", got)
	}
	refused(s, "POST", "/runs/"+newest(s).ID+"/undo", nil, 409, "conflict")
	s.Commit() // as the fix says, while the shim is running
	wantState(s, "ok")
	s.Clean()
}

// While git is in the middle of something nothing is committed and nothing of
// it is concluded.
func TestGitInTheMiddleOfSomething(t *testing.T) {
	for _, tt := range []struct {
		state string
		begin [][]string
		sign  string // file in .git that says git is still in the middle
	}{
		{"merging", [][]string{{"merge", "-q", "--no-commit", "--no-ff", "other"}}, "MERGE_HEAD"},
		{"reverting", [][]string{{"revert", "--no-commit", "HEAD"}}, "REVERT_HEAD"},
		{"merging", [][]string{{"cherry-pick", "conflicting"}}, "CHERRY_PICK_HEAD"},
		{"rebasing", [][]string{{"rebase", "-q", "conflicting"}}, "rebase-merge"},
		{"bisecting", [][]string{{"bisect", "start"}}, "BISECT_LOG"},
	} {
		if !sampled(tt.state + " by " + tt.begin[0][0]) {
			continue
		}
		t.Run(tt.state+" by "+tt.begin[0][0], func(t *testing.T) {
			s := setup(t, edit, nil)
			s.Git("switch", "-q", "-c", "other")
			s.Write("other.txt", "other\n")
			s.Git("add", "other.txt")
			s.Git("commit", "-q", "-m", "other")
			s.Git("switch", "-q", "-c", "conflicting", "main")
			s.Write("b.txt", "theirs\n")
			s.Git("commit", "-q", "-am", "theirs")
			s.Git("switch", "-q", "main")
			s.Write("b.txt", "ours\n")
			s.Git("commit", "-q", "-am", "ours")
			for _, args := range tt.begin {
				tryGit(s, args...)
			}
			head := s.Git("rev-parse", "HEAD")
			s.Play(edit, shim.Config{Timing: quick})
			wantState(s, tt.state)
			events := s.Design(ask())
			wantWords(t, events, "result, change, commit_error, done")
			if e := shimtest.One[event.CommitError](t, events); e.Message == "" {
				t.Errorf("%+v", e)
			}
			if s.Git("rev-parse", "HEAD") != head {
				t.Error("HEAD moved")
			}
			if _, err := os.Stat(filepath.Join(s.Repo, ".git", tt.sign)); err != nil {
				t.Errorf("git's own state was concluded: %v", err)
			}
			undo(s, newest(s).ID)
			if got := s.Read("a.txt"); got != "hello\nsecond line\n" {
				t.Errorf("a.txt is %q", got)
			}
		})
	}
}

// tryGit runs a git command that may stop at a conflict.
func tryGit(s *shimtest.Stage, args ...string) {
	cmd := exec.Command("git", append([]string{"-c", "user.name=Ada User", "-c", "user.email=ada@example.invalid"}, args...)...)
	cmd.Dir, cmd.Env = s.Repo, s.Environ()
	_ = cmd.Run()
}

func TestGitDetached(t *testing.T) {
	s := setup(t, edit, nil)
	s.Git("switch", "-q", "--detach")
	old := s.Git("rev-parse", "HEAD")
	s.Play(edit, shim.Config{Timing: quick})
	wantState(s, "detached")
	wantWords(t, s.Design(ask()), "result, change, commit, done")
	if s.Git("rev-parse", "HEAD^") != old || s.Git("rev-parse", "main") != old {
		t.Error("the commit must go on the detached HEAD and leave main alone")
	}
}

// In a subfolder the whole repository is the run's, and paths are relative to
// its top.
func TestGitSubfolder(t *testing.T) {
	t.Parallel()
	s := shimtest.New(t)
	top := s.Repo
	s.Repo = filepath.Join(top, "web")
	if err := os.Mkdir(s.Repo, 0o700); err != nil {
		t.Fatal(err)
	}
	s.Lay(multiFile)
	s.Git("init", "-q", "-b", "main", top)
	s.Git("add", "-A")
	s.Git("commit", "-q", "-m", "sample")
	if err := os.WriteFile(filepath.Join(top, "above.txt"), []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Play(multiFile, shim.Config{Timing: quick})
	events := s.Design(ask())
	wantWords(t, events, "result, change, commit, done")
	wantPaths(t, paths(shimtest.One[event.Change](t, events)), "web/a.txt", "web/src/app.js", "web/src/farewell.js")
	for _, e := range shimtest.All[event.FileEdit](events) {
		if !strings.HasPrefix(e.Path, "web/") {
			t.Errorf("file_edit %q is not relative to the top", e.Path)
		}
	}
	if got := s.Git("status", "--porcelain"); got != "?? above.txt\n" {
		t.Errorf("status %q", got)
	}
	if turn := s.Turns()[0]; turn.Dir != s.Repo {
		t.Errorf("the agent worked in %s", turn.Dir)
	}
	undo(s, newest(s).ID)
	if got := s.Read("a.txt"); got != "hello\nsecond line\n" {
		t.Errorf("a.txt is %q", got)
	}
}

func TestGitLinkedWorktree(t *testing.T) {
	s := setup(t, edit, nil)
	main := s.Repo
	s.Git("worktree", "add", "-q", "-b", "linked", filepath.Join(s.Root, "linked"))
	s.Write("b.txt", "of the main worktree\n")
	s.Git("add", "b.txt")
	s.Repo = filepath.Join(s.Root, "linked")
	s.Write("b.txt", "staged here\n")
	s.Git("add", "b.txt")
	before := work(s)
	s.Play(edit, shim.Config{Timing: quick})
	wantWords(t, s.Design(ask()), "result, change, commit, done")
	if after := work(s); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	s.Repo = main
	if got := s.Git("diff", "--cached", "--name-only"); got != "b.txt\n" {
		t.Errorf("staged in the main worktree: %q", got)
	}
	if got := s.Git("log", "--format=%s", "main"); got != "sample\n" {
		t.Errorf("main: %q", got)
	}
}

func TestGitSHA256(t *testing.T) {
	s := bare(t, edit)
	s.Git("init", "-q", "-b", "main", "--object-format=sha256")
	s.Commit()
	s.Write("b.txt", "mine\n")
	before := work(s)
	s.Play(edit, shim.Config{Timing: quick})
	wantWords(t, s.Design(ask()), "result, change, commit, done")
	if sha := newest(s).SHA; len(sha) != 64 || work(s) != before {
		t.Errorf("sha %q, work\n%s", sha, work(s))
	}
	undo(s, newest(s).ID)
	if got := s.Read("a.txt"); got != "hello\nsecond line\n" {
		t.Errorf("a.txt is %q", got)
	}
	s.Clean()
}

func TestGitSymlinkedGitFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	s := setup(t, edit, nil)
	if err := os.Rename(filepath.Join(s.Repo, ".git"), filepath.Join(s.Root, "git")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(s.Root, "git"), filepath.Join(s.Repo, ".git")); err != nil {
		t.Fatal(err)
	}
	s.Play(edit, shim.Config{Timing: quick})
	wantWords(t, s.Design(ask()), "result, change, commit, done")
	if got := s.Git("status", "--porcelain"); got != "" {
		t.Errorf("status %q", got)
	}
}

// Somebody else owns the repository: git refuses it, runs work, /meta says
// what to do.
func TestGitForeignOwner(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() != 0 {
		t.Skip("needs the right to give files away")
	}
	s := setup(t, edit, nil)
	if err := os.Chown(s.Repo, 4711, 4711); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Join(s.Repo, ".git"), 4711, 4711); err != nil {
		t.Fatal(err)
	}
	s.Play(edit, shim.Config{Timing: quick})
	state, fix := gitState(s)
	if state != "unsafe" || fix != "git config --global --add safe.directory "+s.Repo {
		t.Errorf("git.state %q, fix %q", state, fix)
	}
	events := s.Design(ask())
	wantWords(t, events, "result, done")
	note(t, events, "no_repo")
}

// untouched pauses the fake for longer than the slack around tool windows and
// the second that reflogs count in.
func untouched(after int) fakeagents.Effect {
	return fakeagents.Effect{After: after, Run: []string{"sh", "-c", "sleep 2.2"}}
}

// The user switches the branch during the run: no commit, and only what the
// edit tools named is the run's.
func TestGitBranchSwitchedByTheUser(t *testing.T) {
	s := setup(t, edit, nil)
	s.Git("switch", "-q", "-c", "other")
	s.Write("b.txt", "of the other branch\n")
	s.Git("commit", "-q", "-am", "other")
	s.Git("switch", "-q", "main")
	gate := s.Gate("before-the-first-tool")
	fixture := s.Variant(edit, func(f *fakeagents.Fixture) {
		f.Effects = append(f.Effects, gate.After(14), untouched(15))
	})
	s.Play(fixture, shim.Config{Timing: quick})
	stream := s.Open("POST", "/design", ask())
	gate.Reached()
	s.Git("switch", "-q", "other")
	head := s.Git("rev-parse", "HEAD")
	gate.Open()
	events := stream.Rest()
	wantWords(t, events, "result, change, commit_error, done")
	if e := shimtest.One[event.CommitError](t, events); !strings.Contains(e.Message, "the branch was switched during the run") {
		t.Errorf("%+v", e)
	}
	wantPaths(t, paths(shimtest.One[event.Change](t, events)), "a.txt")
	if s.Git("rev-parse", "HEAD") != head || s.Git("log", "-1", "--format=%s", "main") != "sample\n" {
		t.Error("something was committed")
	}
	undo(s, newest(s).ID)
	if s.Read("a.txt") != "hello\nsecond line\n" || s.Read("b.txt") != "of the other branch\n" {
		t.Errorf("undo: a.txt %q, b.txt %q", s.Read("a.txt"), s.Read("b.txt"))
	}
}

// The agent switches to a new branch: the commit goes there.
func TestGitBranchSwitchedByTheAgent(t *testing.T) {
	s := setup(t, bashSed, nil)
	fixture := s.Variant(bashSed, func(f *fakeagents.Fixture) {
		f.Effects = append(f.Effects, fakeagents.Effect{After: f.Effects[0].After, Run: []string{"git", "switch", "-q", "-c", "agents-own"}})
	})
	s.Play(fixture, shim.Config{Timing: quick})
	events := s.Design(ask())
	wantWords(t, events, "result, change, commit, done")
	if got := s.Git("log", "--format=%an", "main.."+"agents-own"); got != "Slide Write\n" {
		t.Errorf("commits on the new branch by %q", got)
	}
	note(t, events, "head_moved")
}

// The agent commits by itself: its commit stands and is told; only the rest
// would be committed, and there is none.
func TestGitAgentCommits(t *testing.T) {
	const fixture = "claude/real/2.1.332/agent-commits"
	s := setup(t, fixture, nil)
	s.Write("b.txt", "mine\n")
	before := work(s)
	s.Play(fixture, shim.Config{Timing: quick})
	events := s.Design(ask())
	wantPaths(t, paths(shimtest.One[event.Change](t, events)), "a.txt")
	note(t, events, "agent_committed")
	wantWords(t, events, "result, change, commit_error, done")
	if got := s.Git("log", "--format=%an"); got != "Agent\nAda User\n" {
		t.Errorf("commits by %q", got)
	}
	if work(s) != before {
		t.Errorf("work\n%s", work(s))
	}
	undo(s, newest(s).ID)
	if s.Read("a.txt") != "hello\nsecond line\n" || s.Read("b.txt") != "mine\n" {
		t.Errorf("undo: a.txt %q, b.txt %q", s.Read("a.txt"), s.Read("b.txt"))
	}
}

func TestGitIndexHeldByAnotherCommand(t *testing.T) {
	s := setup(t, edit, nil)
	lock := filepath.Join(s.Repo, ".git", "index.lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.Play(edit, shim.Config{Timing: quick})
	wantState(s, "locked")
	begin := time.Now()
	events := s.Design(ask())
	wantWords(t, events, "result, change, commit_error, done")
	if e := shimtest.One[event.CommitError](t, events); !strings.Contains(e.Message, "another git command holds the index") || time.Since(begin) < 3*time.Second {
		t.Errorf("%+v after %v", e, time.Since(begin))
	}
	if _, err := os.Stat(lock); err != nil {
		t.Errorf("the other command's lock: %v", err)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	undo(s, newest(s).ID)
	if got := s.Git("status", "--porcelain"); got != "" {
		t.Errorf("status after undo %q", got)
	}
}

// An agent that drops a line of .gitignore does not make us commit what the
// line hid.
func TestGitAgentEditsIgnoreRules(t *testing.T) {
	const fixture = "claude/real/2.1.332/gitignore"
	s := setup(t, fixture, nil)
	s.Write("dist/secret.js", "ignored still\n")
	s.Play(fixture, shim.Config{Timing: quick})
	events := s.Design(ask())
	wantWords(t, events, "result, change, commit, done")
	wantPaths(t, paths(shimtest.One[event.Change](t, events)), ".gitignore")
	if got := s.Git("ls-files", "local.env"); got != "" {
		t.Error("local.env was committed")
	}
	if !strings.Contains(shimtest.Words(events), "local.env") {
		t.Errorf("no note names local.env%s", shimtest.Words(events))
	}
}

func TestGitOddNames(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("names that Windows does not have")
	}
	const fixture = "claude/real/2.1.332/odd-names"
	s := setup(t, fixture, nil)
	s.Play(fixture, shim.Config{Timing: quick})
	events := s.Design(ask())
	wantWords(t, events, "result, change, commit, done")
	want := []string{"-dash.txt", "glob[*]?.txt", "new\nline.txt", "quo\"te's.txt", "with space.txt", "ünïcode 😀.txt"}
	wantPaths(t, paths(shimtest.One[event.Change](t, events)), want...)
	if got := s.Git("show", "-z", "--format=", "--name-only", "HEAD"); got != strings.Join(want, "\x00")+"\x00" {
		t.Errorf("committed %q", got)
	}
	for _, path := range want {
		reply := diffOf(s, newest(s).ID, path)
		if len(reply.Files) != 1 || reply.Files[0].Path != path || !strings.Contains(reply.Diff, "+x") {
			t.Errorf("diff of %q: %+v", path, reply)
		}
	}
	undo(s, newest(s).ID)
	if got := s.Git("status", "--porcelain"); got != "" {
		t.Errorf("status after undo %q", got)
	}
}
