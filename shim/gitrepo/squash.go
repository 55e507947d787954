package gitrepo

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors"
)

// Squash makes the newest commits of HEAD one: its parent is that of the oldest,
// its tree that of the newest, so that nothing else changes. Working tree and
// index are not touched.
//
// A *Refusal says why not: the commits are not exactly the newest of HEAD, one
// after the other, or something else holds them (a remote has them, another
// branch, a tag). Then all is as it was. Of the hooks, with Verify, commit-msg
// judges the new message; what pre-commit would see has been committed already.
func (r *Repo) Squash(ctx context.Context, req SquashRequest) (*SquashResult, error) {
	c, err := r.committer(ctx, CommitRequest{
		RunID: req.RunID, Message: req.Message, AsUser: req.AsUser, Verify: req.Verify, Record: req.Record,
	})
	if err != nil {
		return nil, err
	}
	if state, detail := r.operation(ctx); state != "" && state != "locked" {
		return nil, squashInOperation(detail)
	}
	if err := c.record("lock", commitIntent{}); err != nil {
		return nil, err
	}
	defer c.lock.release()
	if req.Verify {
		if err := c.verifyMessage(ctx); err != nil {
			return nil, err
		}
	}
	return c.squash(context.WithoutCancel(ctx), req)
}

func squashInOperation(detail string) *Refusal {
	return &Refusal{Message: detail + "; the commits stay as they are", Fix: "finish or abort it, then try again"}
}

// verifyMessage lets the commit-msg hook judge the message, with an index that
// holds what the commit will.
func (c *committer) verifyMessage(ctx context.Context) error {
	env := []string{"GIT_INDEX_FILE=" + c.lock.treeFile()}
	if _, err := c.r.git(ctx, call{env: env}, "read-tree", "HEAD"); err != nil {
		return err
	}
	err := c.commitMessage(ctx)
	var refused *Refusal
	if errors.As(err, &refused) {
		refused.Fix = "make them one yourself with git rebase -i, or run without --commit-verify"
	}
	return err
}

// squash does it under the index lock: from here on git refuses to check out
// and to commit, so HEAD is looked at only now.
func (c *committer) squash(ctx context.Context, req SquashRequest) (*SquashResult, error) {
	if err := c.lock.take(ctx); err != nil {
		return nil, err
	}
	atStep("locked")
	if state, detail := c.r.operation(ctx); state != "" && state != "locked" {
		return nil, squashInOperation(detail)
	}
	head, err := c.r.head(ctx)
	if err != nil {
		return nil, err
	}
	ch, err := c.r.newest(ctx, head, req.Commits)
	if err != nil {
		return nil, err
	}
	if err := c.r.heldElsewhere(ctx, head, ch); err != nil {
		return nil, err
	}
	below := Head{Ref: head.Ref, Commit: ch.parent}
	changed, err := c.r.differences(ctx, below.treeish(head.tree), head.tree)
	if err != nil {
		return nil, err
	}
	if len(changed) == 0 {
		return nil, &Refusal{Message: "together these commits change nothing: each is taken back by another",
			Fix: ch.fixByHand("to drop them", "git reset --soft "+Short(ch.parent))}
	}
	sha, err := c.commitObject(ctx, &plan{head: below}, head.tree)
	if err != nil {
		return nil, err
	}
	atStep("commit written")
	set, err := c.settings()
	if err != nil {
		return nil, err
	}
	result := &SquashResult{SHA: sha, Short: Short(sha), Count: len(changed), Replaced: ch.commits, HooksSkipped: !req.Verify && anyHook(set.hooks)}
	err = c.moveRef(ctx, commitIntent{Head: head.Head, New: sha, Count: result.Count, HooksSkipped: result.HooksSkipped, Runs: req.Runs})
	var failed *Error
	if errors.As(err, &failed) {
		return nil, &Refusal{Message: "git did not move the branch: " + lastLines(failed.Stderr, 3), Fix: "look at git log, then try again"}
	}
	return result, err
}

// chain is a row of commits, each the only parent of the next.
type chain struct {
	commits []string // full ids, oldest first
	parent  string   // of the oldest, "" = it is the first commit of all
}

// fixByHand is what the user can do with git alone; the first commit of all has
// no parent to name.
func (ch chain) fixByHand(what, command string) string {
	if ch.parent == "" {
		return "leave them as they are"
	}
	return what + ": " + command
}

// newest puts commits in order, which must be the newest of HEAD without
// another between them; a *Refusal says what is in the way.
func (r *Repo) newest(ctx context.Context, head headState, commits []string) (chain, error) {
	where := strings.TrimPrefix(head.Ref, "refs/heads/")
	if where == "" {
		where = "HEAD"
	}
	parents, err := r.parentsOf(ctx, commits)
	if err != nil {
		return chain{}, err
	}
	var ch chain
	at := head.Commit
	for len(ch.commits) < len(parents) {
		of, ours := parents[at]
		if !ours {
			return chain{}, r.inTheWay(ctx, at, where, ch, parents)
		}
		if len(of) > 1 {
			return chain{}, &Refusal{Message: "the commit " + Short(at) + " is a merge", Fix: "leave them as they are"}
		}
		ch.commits = append(ch.commits, at)
		if at = ""; len(of) == 1 {
			at = of[0]
		}
	}
	ch.parent = at
	slices.Reverse(ch.commits)
	return ch, nil
}

// parentsOf reads the parents of commits from the objects themselves: no graft,
// no replacement and no shallow end of the history may be taken for one. One
// that is not there has no entry.
func (r *Repo) parentsOf(ctx context.Context, commits []string) (map[string][]string, error) {
	out, err := r.git(ctx, call{env: []string{"GIT_NO_REPLACE_OBJECTS=1"}, stdin: []byte(strings.Join(commits, "\n") + "\n")}, "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	parents := map[string][]string{}
	for _, commit := range commits {
		line, rest, _ := bytes.Cut(out, []byte("\n"))
		f := strings.Fields(string(line)) // id type size, or id "missing"
		if len(f) == 2 && f[1] == "missing" {
			return nil, gone(commit, "in the repository")
		}
		if len(f) != 3 || f[1] != "commit" {
			return nil, errors.Newf("git cat-file: no commit %s: %.80q", commit, line)
		}
		size, err := strconv.Atoi(f[2])
		if err != nil || size < 0 || size >= len(rest) {
			return nil, errors.Newf("git cat-file: unexpected size %.80q", line)
		}
		object := rest[:size]
		out = rest[size+1:]
		header, _, _ := bytes.Cut(object, []byte("\n\n"))
		parents[f[0]] = []string{}
		for _, field := range strings.Split(string(header), "\n") {
			if id, ok := strings.CutPrefix(field, "parent "); ok {
				parents[f[0]] = append(parents[f[0]], id)
			}
		}
	}
	return parents, nil
}

// gone refuses because a commit is not where it was made.
func gone(commit, where string) *Refusal {
	return &Refusal{Message: "the commit " + Short(commit) + " is not " + where + " any more", Fix: "git log shows what is there now"}
}

// inTheWay says why the commits are not the newest: one of them is not in the
// history of HEAD, or the one at a place where one of them should be is another.
func (r *Repo) inTheWay(ctx context.Context, at, where string, found chain, parents map[string][]string) error {
	for commit := range parents {
		if !r.contains(ctx, "HEAD", commit) {
			return gone(commit, "in the history of "+where)
		}
	}
	out, err := r.git(ctx, call{}, append([]string{"merge-base", "--octopus"}, slices.Collect(maps.Keys(parents))...)...)
	if err != nil {
		return err
	}
	oldest := strings.TrimSpace(string(out)) // they are in one line
	name, err := r.git(ctx, call{}, "log", "-1", "--no-show-signature", "--format=%s", at, "--")
	if err != nil {
		return err
	}
	what := fmt.Sprintf("the commit %s “%s” is ", Short(at), strings.TrimSpace(string(name)))
	if len(found.commits) == 0 {
		what += "newer than these"
	} else {
		what += "between them"
	}
	fix := "git rebase -i " + Short(oldest) + "^"
	if len(parents[oldest]) == 0 {
		fix = "git rebase -i --root"
	}
	return &Refusal{Message: what + ", so they are not the newest in a row", Fix: fix}
}

// heldElsewhere refuses where a ref other than HEAD's branch has the commits: a
// remote (they are pushed), another branch, a tag. Rewritten, they would be
// there twice. A stash on top of one keeps working without its branch.
func (r *Repo) heldElsewhere(ctx context.Context, head headState, ch chain) error {
	out, err := r.git(ctx, call{}, "for-each-ref", "--format=%(refname)", "--contains="+ch.commits[0])
	if err != nil {
		return err
	}
	var refs []string
	for _, ref := range strings.Fields(string(out)) {
		if ref != head.Ref && ref != "refs/stash" && !strings.HasPrefix(ref, runRefs) {
			refs = append(refs, ref)
		}
	}
	if len(refs) == 0 {
		return nil
	}
	// What is pushed counts most: no command takes that back.
	slices.SortStableFunc(refs, func(a, b string) int { return strings.Compare(kindOfRef(a), kindOfRef(b)) })
	ref, commit := refs[0], "the commit "+Short(ch.commits[0])
	switch kind, name := kindOfRef(ref), shortRef(ref); kind {
	case "branch":
		return &Refusal{Message: commit + " is on the branch " + name + ", too", Fix: "leave them as they are, or, if you need that branch no more: git branch -d " + name}
	case "tag":
		return &Refusal{Message: commit + " has the tag " + name + ", or a commit after it does", Fix: "leave them as they are, or, if you need that tag no more: git tag -d " + name}
	default:
		return &Refusal{Message: commit + " is pushed already: " + name + " has it", Fix: "leave them as they are: who has pulled them would get them twice"}
	}
}

// kindOfRef is branch, tag, or "" for what comes from elsewhere.
func kindOfRef(ref string) string {
	switch {
	case strings.HasPrefix(ref, "refs/heads/"):
		return "branch"
	case strings.HasPrefix(ref, "refs/tags/"):
		return "tag"
	}
	return ""
}

// shortRef is a ref's name for people.
func shortRef(ref string) string {
	for _, prefix := range []string{"refs/heads/", "refs/tags/", "refs/remotes/", "refs/"} {
		if name, ok := strings.CutPrefix(ref, prefix); ok {
			return name
		}
	}
	return ref
}
