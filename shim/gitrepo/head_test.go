package gitrepo

import (
	"strings"
	"testing"
	"time"
)

// during is a tool log with one call that is running now.
func during() ToolLog {
	return ToolLog{Complete: true, Windows: []Window{{Start: time.Now().Add(-time.Second), End: time.Now().Add(time.Minute)}}}
}

// longAgo is a tool log whose calls had all ended.
func longAgo() ToolLog {
	return ToolLog{Complete: true, Windows: []Window{{Start: time.Now().Add(-time.Hour), End: time.Now().Add(-time.Minute)}}}
}

// TestHeadMoved: HEAD is not where it was when the run began. Each row moves it
// in its own way; refused rows leave HEAD and the index alone, the others say
// what happened and commit the rest.
func TestHeadMoved(t *testing.T) {
	t.Parallel()
	const switched = "the branch was switched during the run"
	agentCommits := func(r *testRepo) {
		r.swap("a.txt", "line a\n", "agent one\n")
		r.git("add", "a.txt")
		r.git("commit", "-q", "-m", "the agent's own")
	}
	branches := newRepoWith(t, map[string]string{"a.txt": numbered(9), "b.txt": "b\n"})
	branches.git("checkout", "-q", "-b", "other")
	branches.write("other.txt", "o\n")
	branches.commit("other")
	branches.git("checkout", "-q", "main")
	branches.commit("second")
	branches.git("checkout", "-q", "-b", "ahead")
	branches.write("ahead.txt", "a\n")
	branches.commit("ahead")
	branches.git("checkout", "-q", "main")
	for name, row := range map[string]struct {
		tools     func() ToolLog
		run       func(r *testRepo) // HEAD moves while the run is on
		later     func(r *testRepo) // and between its end and the commit
		refused   string
		committed []string
		ref       string
		notes     []string // codes
	}{
		"user switches to another branch": {
			tools: longAgo, run: func(r *testRepo) { r.git("checkout", "-q", "other") }, refused: switched,
		},
		"user makes a branch": {
			tools: longAgo, run: func(r *testRepo) { r.git("checkout", "-q", "-b", "new") }, refused: switched,
		},
		"user commits": {
			tools: longAgo, run: func(r *testRepo) { r.git("commit", "-q", "--allow-empty", "-m", "user") }, refused: switched,
		},
		"no tool ran at all": {
			tools: func() ToolLog { return ToolLog{} }, run: func(r *testRepo) { r.git("commit", "-q", "--allow-empty", "-m", "user") }, refused: switched,
		},
		"agent makes a branch": {
			tools: during, run: func(r *testRepo) { r.git("switch", "-q", "-c", "new") },
			committed: []string{"M b.txt"}, ref: "refs/heads/new", notes: []string{"head_moved"},
		},
		"agent detaches": {
			tools: during, run: func(r *testRepo) { r.git("checkout", "-q", "--detach") },
			committed: []string{"M b.txt"}, ref: "", notes: []string{"head_moved"},
		},
		"agent makes a branch and commits there": {
			tools: during, run: func(r *testRepo) { r.git("checkout", "-q", "-b", "new"); agentCommits(r) },
			committed: []string{"M b.txt"}, ref: "refs/heads/new", notes: []string{"agent_committed", "head_moved"},
		},
		"agent switches to a branch with other content": {
			tools: during, run: func(r *testRepo) { r.git("checkout", "-q", "other") }, refused: switched,
		},
		"agent commits": {
			tools: during, run: agentCommits,
			committed: []string{"M b.txt"}, ref: "refs/heads/main", notes: []string{"agent_committed"},
		},
		"agent commits and edits the same line again": {
			tools: during, run: func(r *testRepo) { agentCommits(r); r.swap("a.txt", "agent one\n", "agent two\n") },
			committed: []string{"M a.txt", "M b.txt"}, ref: "refs/heads/main", notes: []string{"agent_committed"},
		},
		"agent commits and amends": {
			tools: during, run: func(r *testRepo) { agentCommits(r); r.git("commit", "-q", "--amend", "-m", "better") },
			committed: []string{"M b.txt"}, ref: "refs/heads/main", notes: []string{"agent_committed"},
		},
		"agent commits everything": {
			tools: during, run: func(r *testRepo) { r.write("b.txt", "agent\n"); r.git("commit", "-q", "-a", "-m", "all") },
			refused: "nothing left to commit: HEAD has the change already",
		},
		"agent resets": {
			tools: during, run: func(r *testRepo) { r.git("reset", "-q", "HEAD~1") }, refused: switched,
		},
		"agent merges": {
			tools: during, run: func(r *testRepo) { r.git("merge", "-q", "--no-edit", "other") }, refused: switched,
		},
		"agent fast-forwards": {
			tools: during, run: func(r *testRepo) { r.git("merge", "-q", "--ff-only", "ahead") }, refused: switched,
		},
		"user switches and switches back after the run": {
			tools: during, run: func(r *testRepo) { r.git("checkout", "-q", "other") },
			later: func(r *testRepo) { r.git("checkout", "-q", "main") }, refused: switched,
		},
		"user switches and switches back during the run": {
			tools: longAgo, run: func(r *testRepo) { r.git("checkout", "-q", "other"); r.git("checkout", "-q", "main") },
			committed: []string{"M b.txt"}, ref: "refs/heads/main",
		},
		"user commits after the run": {
			tools: longAgo, later: func(r *testRepo) { r.git("commit", "-q", "--allow-empty", "-m", "user") },
			committed: []string{"M b.txt"}, ref: "refs/heads/main",
		},
		"user commits the run's edit after the run": {
			tools: longAgo, later: func(r *testRepo) { r.git("commit", "-q", "-a", "-m", "user") },
			refused: "nothing left to commit: HEAD has the change already",
		},
		"user switches after the run": {
			tools: during, later: func(r *testRepo) { r.git("checkout", "-q", "-b", "new") }, refused: switched,
		},
		"user resets after the run": {
			tools: during, later: func(r *testRepo) { r.git("reset", "-q", "--soft", "HEAD~1") }, refused: switched,
		},
	} {
		if !sampled(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := branches.twin(t)
			run := r.begin()
			run.before.Taken = time.Now()
			run.tools = row.tools()
			if row.run != nil {
				row.run(r)
			}
			r.write("b.txt", "agent\n")
			run.request()
			if row.later != nil {
				row.later(r)
			}
			index, head, disk := r.stagedEntries(), r.git("rev-parse", "HEAD"), r.disk()
			if row.refused != "" {
				refused := run.refused()
				equal(t, "message", refused.Message, row.refused)
				if row.refused == switched && len(notesWith(refused.Notes, "head_moved")) != 1 {
					t.Errorf("no note says how HEAD moved: %+v", refused.Notes)
				}
				equal(t, "HEAD", r.git("rev-parse", "HEAD"), head)
				equal(t, "index", r.stagedEntries(), index)
			} else {
				result := run.commitRun()
				equal(t, "committed", r.committed(), row.committed)
				equal(t, "on top of", r.git("rev-parse", "HEAD~1"), head)
				ref, _ := r.tryGit("symbolic-ref", "-q", "HEAD")
				equal(t, "ref", strings.TrimSpace(ref), row.ref)
				for _, code := range row.notes {
					if len(notesWith(result.Notes, code)) != 1 {
						t.Errorf("no note %s: %+v", code, result.Notes)
					}
				}
				equal(t, "status", r.git("status", "--porcelain"), "")
			}
			equal(t, "working tree", r.disk(), disk)
			r.clean()
		})
	}
}

// TestHeadMovedUnborn: in a repository without a commit the agent makes the
// first one itself.
func TestHeadMovedUnborn(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	run := r.begin()
	run.tools = during()
	r.write("a.txt", "agent\n")
	r.commit("the agent's own")
	r.write("b.txt", "agent\n")
	result := run.commitRun()
	equal(t, "committed", r.committed(), []string{"A b.txt"})
	equal(t, "notes", len(notesWith(result.Notes, "agent_committed")), 1)
}

// TestHeadMovesUnderUs: the ref moves between our look at HEAD and our move of
// it (by something that does not heed the index lock): computed anew.
func TestHeadMovesUnderUs(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a.txt": "a\n"})
	run := r.begin()
	r.write("a.txt", "agent\n")
	moved := 0
	move := func(times int) func(*CommitRequest) {
		return func(req *CommitRequest) {
			req.Record = func(in Intent) error {
				if in.Step == "ref" && moved < times {
					moved++
					user := r.git("commit-tree", "-p", "HEAD", "-m", "user", "HEAD^{tree}")
					r.git("update-ref", "-m", "commit: user", "HEAD", user)
				}
				return nil
			}
		}
	}
	run.commitRun(move(2))
	equal(t, "commits", r.git("log", "--format=%s"), "slide-write: make it green\nuser\nuser\nbase")
	equal(t, "committed", r.committed(), []string{"M a.txt"})
	r.clean()

	run = r.begin()
	run.id = "r2"
	r.write("a.txt", "again\n")
	moved = -3
	refused := run.refused(move(10))
	if !strings.Contains(refused.Message, "git did not move the branch") {
		t.Errorf("message %q", refused.Message)
	}
	r.clean()
}

// TestParseReflog: a message may hold the separator; anything else unexpected
// is an error.
func TestParseReflog(t *testing.T) {
	got, err := parseReflog([]byte("aa\x1fHEAD@{1700000000}\x1fcommit: x\x1fy\x1fbb cc\x1fdd\x00"))
	if err != nil || len(got) != 1 {
		t.Fatalf("%v %v", got, err)
	}
	equal(t, "move", got[0], move{commit: "aa", at: time.Unix(1700000000, 0), why: "commit: x\x1fy", parents: []string{"bb", "cc"}, tree: "dd"})
	for _, bad := range []string{"aa", "aa\x1fHEAD@{x}\x1f\x1f\x1fdd"} {
		if got, err := parseReflog([]byte(bad)); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
