package gitrepo

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/errors"
)

// move is one entry of HEAD's reflog: where HEAD went, when and why.
type move struct {
	commit  string
	at      time.Time // one second granularity
	why     string    // "commit: subject", "checkout: moving from a to b", …
	parents []string
	tree    string
}

// reflogFormat is commit, selector (HEAD@{unix time}), message, parents, tree.
const reflogFormat = "%H%x1f%gd%x1f%gs%x1f%P%x1f%T"

// reflogLimit bounds how far back a run's moves of HEAD are looked for.
const reflogLimit = 500

// moves lists HEAD's reflog, newest first. No reflog is no moves.
func (r *Repo) moves(ctx context.Context) ([]move, error) {
	out, err := r.git(ctx, call{}, "log", "-g", "-z", "--no-show-signature", "--no-decorate", "--date=unix",
		"-n", strconv.Itoa(reflogLimit), "--format="+reflogFormat, "HEAD", "--")
	if err != nil {
		var failed *Error
		if errors.As(err, &failed) {
			return nil, nil
		}
		return nil, err
	}
	return parseReflog(out)
}

// parseReflog parses `git log -g -z --date=unix --format=<reflogFormat>`.
func parseReflog(out []byte) ([]move, error) {
	var moves []move
	for _, line := range strings.Split(string(out), "\x00") {
		if line == "" {
			continue
		}
		f := strings.Split(line, "\x1f")
		if len(f) < 5 {
			return nil, errors.Newf("git log -g: %.80q has %d fields", line, len(f))
		}
		_, stamp, _ := strings.Cut(f[1], "@{")
		seconds, err := strconv.ParseInt(strings.TrimSuffix(stamp, "}"), 10, 64)
		if err != nil {
			return nil, errors.Wrapf(err, "git log -g: time of %.80q", line)
		}
		n := len(f)
		moves = append(moves, move{
			commit: f[0], at: time.Unix(seconds, 0),
			why:     strings.Join(f[2:n-2], "\x1f"), // a message may hold the separator
			parents: strings.Fields(f[n-2]), tree: f[n-1],
		})
	}
	return moves, nil
}

// between returns the moves that led HEAD from one commit to another, oldest
// first, out of a reflog that is newest first. ok is false when the reflog
// does not show the way.
func between(reflog []move, from, to string) (way []move, ok bool) {
	if from == to {
		return nil, true
	}
	start := 0
	for start < len(reflog) && reflog[start].commit != to {
		start++
	}
	if start == len(reflog) {
		return nil, false
	}
	for _, m := range reflog[start:] {
		if m.commit == from {
			ok = true
			break
		}
		way = append(way, m)
	}
	for i, j := 0, len(way)-1; i < j; i, j = i+1, j-1 {
		way[i], way[j] = way[j], way[i]
	}
	return way, ok || from == ""
}

// plainCommit tells whether the move is a commit made on top of (or, amended,
// in the place of) where HEAD stood. A merge or a pull is not: it brings work
// that is neither the agent's nor in the change.
func (m move) plainCommit(from string) bool {
	if !strings.HasPrefix(m.why, "commit") || len(m.parents) > 1 {
		return false
	}
	if strings.HasPrefix(m.why, "commit (amend)") {
		return true
	}
	if from == "" {
		return len(m.parents) == 0
	}
	return len(m.parents) == 1 && m.parents[0] == from
}

// running tells whether an agent's tool was running at a reflog time, which is
// in whole seconds.
func (l ToolLog) running(at time.Time) bool {
	for _, w := range l.Windows {
		ended := !w.End.IsZero() && at.After(w.End.Add(toolSlack))
		if !ended && !at.Before(w.Start.Truncate(time.Second).Add(-toolSlack)) {
			return true
		}
	}
	return false
}

// switched is the refusal for a HEAD that somebody else moved.
func switched(from, to Head, why string) *Refusal {
	detail := fmt.Sprintf("HEAD was at %s and is at %s", describe(from), describe(to))
	if why != "" {
		detail += " (" + why + ")"
	}
	return &Refusal{
		Message: "the branch was switched during the run",
		Fix:     "look at `git status` and commit the edits yourself",
		Notes:   []Note{{Code: "head_moved", Message: detail}},
	}
}

// describe names a HEAD for people.
func describe(h Head) string {
	name := strings.TrimPrefix(h.Ref, "refs/heads/")
	switch {
	case h.Commit == "":
		return name + " without a commit"
	case name == "":
		return Short(h.Commit)
	}
	return name + " " + Short(h.Commit)
}

// Short cuts an object id for people. Nine digits are unique in all but the
// largest repositories (10 million objects: one chance in 6,000 that another
// begins the same), and cost no process.
func Short(id string) string {
	if len(id) > 9 {
		return id[:9]
	}
	return id
}

// headMoved judges a HEAD that is not where it was when the run began. A nil
// refusal means that the commit may go on top of now; agent tells that the
// agent made commits of its own, and the notes say what happened.
func (r *Repo) headMoved(ctx context.Context, c *Change, tools ToolLog, now Head) (notes []Note, agent bool, refused *Refusal, err error) {
	before, after := c.Before.Head, c.After.Head
	if now == before && after == before {
		return nil, false, nil, nil
	}
	reflog, err := r.moves(ctx)
	if err != nil {
		return nil, false, nil, err
	}
	// While the run was on: only what the agent's tools did.
	way, ok := between(reflog, before.Commit, after.Commit)
	if !ok {
		return nil, false, switched(before, now, "the reflog does not say who moved it"), nil
	}
	if after.Ref != before.Ref && len(way) == 0 {
		// A new branch at the same commit: the newest move to it is the switch.
		way = sameCommitSwitch(reflog, after.Commit)
		if len(way) == 0 {
			return nil, false, switched(before, now, ""), nil
		}
	}
	tree := emptyTree(c.Before.Tree)
	if before.Commit != "" {
		if tree, err = r.treeOf(ctx, before.Commit); err != nil {
			return nil, false, nil, err
		}
	}
	commits, why := agentMoves(before.Commit, tree, way, tools)
	if why != "" {
		return nil, false, switched(before, now, why), nil
	}
	// After the run: a commit on the same branch is the user's and stays below ours.
	if now != after {
		way, ok := between(reflog, after.Commit, now.Commit)
		if why := laterMoves(after, now, way, ok); why != "" {
			return nil, false, switched(before, now, why), nil
		}
	}
	return movedNotes(before, after, commits), len(commits) > 0, nil, nil
}

// sameCommitSwitch finds the newest `git checkout` or `git switch` that ended
// at commit.
func sameCommitSwitch(reflog []move, commit string) []move {
	for _, m := range reflog {
		if m.commit != commit {
			continue
		}
		if strings.HasPrefix(m.why, "checkout: ") {
			return []move{m}
		}
	}
	return nil
}

// agentMoves walks the moves made during the run, from a commit and its tree,
// and returns the agent's commits, or why the moves were not (only) the
// agent's.
func agentMoves(from, tree string, way []move, tools ToolLog) (commits []move, why string) {
	for _, m := range way {
		switch {
		case !tools.running(m.at):
			return nil, m.why
		case m.plainCommit(from):
			commits = append(commits, m)
		case !strings.HasPrefix(m.why, "checkout: ") || m.tree != tree:
			return nil, m.why
		}
		from, tree = m.commit, m.tree
	}
	return commits, ""
}

// laterMoves says why HEAD's moves after the run forbid the commit, "" if they
// do not.
func laterMoves(after, now Head, way []move, known bool) string {
	if after.Ref != now.Ref {
		return "after the run"
	}
	if !known {
		return "after the run, and the reflog does not say how"
	}
	at := after.Commit
	for _, m := range way {
		if !m.plainCommit(at) || strings.HasPrefix(m.why, "commit (amend)") {
			return m.why
		}
		at = m.commit
	}
	return ""
}

// movedNotes tells the user what the agent did to HEAD.
func movedNotes(before, after Head, commits []move) []Note {
	var notes []Note
	if after.Ref != before.Ref {
		notes = append(notes, Note{Code: "head_moved",
			Message: fmt.Sprintf("the agent switched the branch: the commit is on %s, not on %s", describe(after), describe(before))})
	}
	if len(commits) > 0 {
		var list []string
		for _, m := range commits {
			_, subject, _ := strings.Cut(m.why, ": ")
			list = append(list, Short(m.commit)+" "+subject)
		}
		notes = append(notes, Note{Code: "agent_committed",
			Message: "the agent committed itself: " + strings.Join(list, ", ") + "; only the rest is in this commit"})
	}
	return notes
}

// treeOf returns the tree of a commit.
func (r *Repo) treeOf(ctx context.Context, commit string) (string, error) {
	out, err := r.git(ctx, call{}, "rev-parse", "--verify", "-q", commit+"^{tree}")
	return strings.TrimSpace(string(out)), err
}

// Ids of the empty tree, which git knows without storing it.
const (
	emptyTreeSHA1   = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	emptyTreeSHA256 = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
)

// emptyTree returns the empty tree's id in the hash of another id.
func emptyTree(like string) string {
	if len(like) == len(emptyTreeSHA256) {
		return emptyTreeSHA256
	}
	return emptyTreeSHA1
}
