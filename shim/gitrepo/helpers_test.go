package gitrepo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// run is one run on a test repository: its first snapshot, then what the test
// does as the agent, then commit or undo.
type testRun struct {
	*testRepo
	id     string
	before *Snapshot
	change *Change
	tools  ToolLog
	result *CommitResult
	err    error
}

// begin takes the first snapshot of a run.
func (r *testRepo) begin() *testRun {
	r.t.Helper()
	return &testRun{testRepo: r, id: "r1", before: r.snapshot()}
}

// request is the commit of the run as it is now.
func (r *testRun) request() CommitRequest {
	r.t.Helper()
	if r.change == nil {
		r.change = r.testRepo.change(r.before)
	}
	return CommitRequest{RunID: r.id, Change: r.change, Tools: r.tools, Message: "slide-write: make it green\n\nSlide-Write-Run: " + r.id + "\n"}
}

// commitRun commits and fails the test if there is no commit.
func (r *testRun) commitRun(edit ...func(*CommitRequest)) *CommitResult {
	r.t.Helper()
	if r.tryCommit(edit...); r.err != nil {
		var refused *Refusal
		if errors.As(r.err, &refused) {
			r.t.Fatalf("commit refused: %v %v", refused, refused.Notes)
		}
		r.t.Fatalf("commit: %+v", r.err)
	}
	return r.result
}

// tryCommit commits; the outcome is in r.result and r.err.
func (r *testRun) tryCommit(edit ...func(*CommitRequest)) {
	r.t.Helper()
	req := r.request()
	for _, fn := range edit {
		fn(&req)
	}
	r.result, r.err = r.open().Commit(context.Background(), req)
}

// refused commits and returns the refusal that must come.
func (r *testRun) refused(edit ...func(*CommitRequest)) *Refusal {
	r.t.Helper()
	r.tryCommit(edit...)
	var refused *Refusal
	if !errors.As(r.err, &refused) {
		r.t.Fatalf("commit: want a refusal, got %+v, %v", r.result, r.err)
	}
	if refused.Message == "" || refused.Fix == "" {
		r.t.Errorf("refusal without a message or a fix: %+v", refused)
	}
	return refused
}

// undoRequest is the undo of the run.
func (r *testRun) undoRequest() UndoRequest {
	return UndoRequest{RunID: "u" + r.id, Of: r.id, Before: r.before.Tree, After: r.change.After.Tree, Files: r.change.Files,
		Committed: r.result != nil, Message: "Undo: make it green\n\nSlide-Write-Run: u" + r.id + "\n"}
}

// undo takes the run back and fails the test if that is refused.
func (r *testRun) undo() *UndoResult {
	r.t.Helper()
	result, err := r.open().Undo(context.Background(), r.undoRequest())
	if err != nil {
		r.t.Fatalf("undo: %+v", err)
	}
	return result
}

// undoRefused undoes and returns the refusal that must come.
func (r *testRun) undoRefused() *Refusal {
	r.t.Helper()
	disk := r.disk()
	result, err := r.open().Undo(context.Background(), r.undoRequest())
	var refused *Refusal
	if !errors.As(err, &refused) {
		r.t.Fatalf("undo: want a refusal, got %+v, %v", result, err)
	}
	equal(r.t, "working tree after a refused undo", r.disk(), disk)
	return refused
}

// work is the user's work as git shows it: every file's diff without line
// numbers, context and object ids, keyed by its header line.
type work struct{ unstaged, staged map[string]string }

func (r *testRepo) work() work {
	r.t.Helper()
	return work{unstaged: r.diffBodies("diff"), staged: r.diffBodies("diff", "--cached")}
}

func (r *testRepo) diffBodies(args ...string) map[string]string {
	r.t.Helper()
	args = append([]string{"-c", "core.quotepath=off"}, args...)
	out := r.git(append(args, "-U0", "--no-renames", "--no-color", "--ignore-submodules=all")...)
	bodies := map[string]string{}
	for _, section := range strings.Split("\n"+out, "\ndiff --git ")[1:] {
		head, body, _ := strings.Cut(section, "\n")
		var kept []string
		for _, line := range strings.Split(body, "\n") {
			switch {
			case strings.HasPrefix(line, "@@"):
				kept = append(kept, "@@")
			case strings.HasPrefix(line, "index "):
			default:
				kept = append(kept, line)
			}
		}
		bodies[head] = strings.Join(kept, "\n")
	}
	return bodies
}

// sameWork checks that git diff and git diff --cached show what they showed.
func (r *testRepo) sameWork(before work) {
	r.t.Helper()
	now := r.work()
	equal(r.t, "git diff", now.unstaged, before.unstaged)
	equal(r.t, "git diff --cached", now.staged, before.staged)
}

// committed is the diff of HEAD against its parent, as names and statuses.
func (r *testRepo) committed() []string {
	r.t.Helper()
	out := r.git("diff-tree", "--root", "-r", "-z", "--no-commit-id", "--name-status", "--no-renames", "HEAD")
	fields := splitNUL([]byte(out))
	list := []string{}
	for i := 0; i+1 < len(fields); i += 2 {
		list = append(list, fields[i]+" "+fields[i+1])
	}
	return list
}

// head returns the content of a file in HEAD.
func (r *testRepo) inHead(path string) string {
	r.t.Helper()
	out, err := r.tryGit("cat-file", "blob", "HEAD:"+path)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// clean checks what no run may leave behind: a broken object, a lock, a
// temporary file, a ref that is neither the user's nor a kept snapshot.
func (r *testRepo) clean() {
	r.t.Helper()
	if out, err := r.tryGit("fsck", "--strict", "--no-dangling", "--no-progress"); err != nil {
		r.t.Errorf("git fsck: %s %v", out, err)
	}
	r.tidy()
}

// tidy is clean without a look at the objects.
func (r *testRepo) tidy() {
	r.t.Helper()
	repo := r.open()
	entries, err := os.ReadDir(repo.gitDir)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, entry := range entries {
		if strings.Contains(entry.Name(), "slidewrite") || strings.HasSuffix(entry.Name(), ".lock") {
			r.t.Errorf("left behind: %s", filepath.Join(repo.gitDir, entry.Name()))
		}
	}
	if list, _ := filepath.Glob(filepath.Join(r.dir, ".slidewrite*")); len(list) > 0 {
		r.t.Errorf("left behind: %v", list)
	}
	for _, ref := range r.refs(repo) {
		if strings.Contains(ref, "slide") && !strings.HasPrefix(ref, runRefs) {
			r.t.Errorf("stray ref %s", ref)
		}
	}
}

// refs are the names of all refs, without a process: those that have a file,
// and those that are packed.
func (r *testRepo) refs(repo *Repo) (names []string) {
	r.t.Helper()
	err := filepath.WalkDir(filepath.Join(repo.common, "refs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(repo.common, path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	packed, err := os.ReadFile(filepath.Join(repo.common, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.t.Fatal(err)
	}
	for line := range strings.Lines(string(packed)) {
		if oid, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok && !strings.HasPrefix(oid, "#") {
			names = append(names, name)
		}
	}
	return names
}

// mergeFile merges three texts with the user's git, in a folder of its own.
func (r *testRepo) mergeFile(base, ours, theirs string) (string, bool) {
	r.t.Helper()
	dir := r.t.TempDir()
	for name, content := range map[string]string{"base": base, "ours": ours, "theirs": theirs} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	cmd := exec.Command("git", "merge-file", "-p", "-q", "ours", "base", "theirs")
	cmd.Dir = dir
	out, err := cmd.Output()
	return string(out), err == nil
}

// numbered is a text of n different lines.
func numbered(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		b.WriteString("line " + string(rune('a'+i-1)) + "\n")
	}
	return b.String()
}

// swap replaces one text in a file, which must be there.
func (r *testRepo) swap(name, from, to string) {
	r.t.Helper()
	content := r.read(name)
	if !strings.Contains(content, from) {
		r.t.Fatalf("%s has no %q", name, from)
	}
	r.write(name, strings.Replace(content, from, to, 1))
}
