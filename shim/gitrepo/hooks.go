package gitrepo

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/errors"
)

// hookLines is how many of a rejecting hook's last lines are shown.
const hookLines = 8

// verify runs the repository's pre-commit and commit-msg hooks on the tree
// that is about to be committed and returns its id. Hooks may take minutes, so
// they run before the index is locked, against a temporary index.
//
// A hook that rewrites the run's files (a formatter) has its rewrite taken
// into the change and is asked once more.
func (c *committer) verify(ctx context.Context) (string, error) {
	for second := false; ; second = true {
		tree, err := c.verifyTree(ctx)
		if err != nil {
			return "", err
		}
		rejected := c.runHook(ctx, "pre-commit")
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if !second {
			rewritten, err := c.takeRewrite(ctx)
			if err != nil {
				return "", err
			}
			if rewritten {
				continue
			}
		}
		if rejected != nil {
			return "", rejected
		}
		return tree, c.commitMessage(ctx)
	}
}

// verifyTree computes the commit's tree and leaves it in the temporary index.
func (c *committer) verifyTree(ctx context.Context) (string, error) {
	p, _, err := c.plan(ctx)
	if err != nil {
		return "", err
	}
	return c.r.editTree(ctx, c.lock.treeFile(), p.treeish, p.tree, c.req.Change.Before.Tree)
}

// runHook runs one hook as `git commit` would: in the top level, its index the
// temporary one. nil = it passed or there is none.
func (c *committer) runHook(ctx context.Context, name string, args ...string) error {
	set, err := c.settings()
	if err != nil {
		return err
	}
	if !isHook(filepath.Join(set.hooks, name)) {
		return nil
	}
	cl := call{hooks: true, globs: true, env: []string{"GIT_INDEX_FILE=" + c.lock.treeFile(), "GIT_EDITOR=:"}}
	out, err := c.r.git(ctx, cl, append([]string{"hook", "run", name, "--"}, args...)...)
	var failed *Error
	if !errors.As(err, &failed) {
		return err
	}
	said := strings.TrimSpace(string(out) + "\n" + failed.Stderr)
	return &Refusal{
		Message: "the " + name + " hook rejected the commit: " + lastHookLines(said),
		Fix:     "mend what it says and commit the edits yourself, or run without --commit-verify",
	}
}

// lastHookLines keeps the end of a hook's output, line breaks included.
func lastHookLines(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-hookLines):], "\n")
}

// takeRewrite compares the run's files with what the run left. If a hook has
// rewritten some, the change becomes before → rewrite (of the run's paths
// only).
func (c *committer) takeRewrite(ctx context.Context) (bool, error) {
	if c.several != nil {
		return c.several.takeRewrite(ctx, c.r)
	}
	change := c.req.Change
	after, err := c.r.SnapshotAfter(ctx, change.Before)
	if err != nil {
		return false, err
	}
	rewritten, err := c.r.differences(ctx, change.After.Tree, after.Tree)
	if err != nil {
		return false, err
	}
	entries := map[string]Entry{}
	for _, file := range change.Files {
		if d, ok := rewritten[file.Path]; ok && !file.Yours && !file.Large {
			entries[file.Path] = d.new
		}
	}
	if len(entries) == 0 {
		return false, nil
	}
	tree, err := c.r.editTree(ctx, c.lock.treeFile(), change.After.Tree, entries, after.Tree)
	if err != nil {
		return false, err
	}
	adopted := *change.After
	adopted.Tree, adopted.Taken = tree, after.Taken
	return true, c.adopt(ctx, &adopted)
}

// adopt replaces the second snapshot of the change, for the caller too, and
// keeps it alive in the place of the first one.
func (c *committer) adopt(ctx context.Context, after *Snapshot) error {
	change := c.req.Change
	marks := map[string]File{}
	for _, file := range change.Files {
		marks[file.Path] = file
	}
	fresh, err := c.r.Change(ctx, change.Before, after)
	if err != nil {
		return err
	}
	for i := range fresh.Files {
		mark := marks[fresh.Files[i].Path]
		fresh.Files[i].Yours, fresh.Files[i].Held = mark.Yours, mark.Held
	}
	change.After, change.Files = fresh.After, fresh.Files
	return c.r.Keep(ctx, c.req.RunID, change.Before, change.After)
}

// commitMessage lets the commit-msg hook judge and edit the message.
func (c *committer) commitMessage(ctx context.Context) error {
	file := c.lock.messageFile()
	if err := os.WriteFile(file, []byte(c.message), 0o600); err != nil {
		return errors.Wrap(err, "write the commit message")
	}
	defer os.Remove(file)
	if err := c.runHook(ctx, "commit-msg", file); err != nil {
		return err
	}
	edited, err := os.ReadFile(file)
	if err == nil {
		c.message = string(bytes.ReplaceAll(edited, []byte{0}, nil))
	}
	return errors.Wrap(err, "read the commit message")
}
