package gitrepo

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/errors"
)

// atStep is called between any two steps of a commit or an undo; the tests
// end the process there.
var atStep = func(step string) {}

// recomputes is how often a commit is computed anew when HEAD moves between
// our look at it and the move of the ref.
const recomputes = 3

// Author of our commits, unless the user wants them under their own name.
const (
	authorName  = "Slide Write"
	authorEmail = "slide-write@local"
)

// signPatience is how long commit-tree -S may wait for a signing program.
const signPatience = 20 * time.Second

// commitIntent is what recovery needs of a commit, the Data of an Intent.
type commitIntent struct {
	Head  Head                   `json:"head"`            // on top of which
	New   string                 `json:"new,omitempty"`   // the commit; "" = there is only the lock yet
	Index map[string]indexChange `json:"index,omitempty"` // keys are raw bytes, see rawKeys

	// For whoever is told of the commit.
	Count        int       `json:"count,omitempty"`
	HooksSkipped bool      `json:"hooksSkipped,omitempty"`
	Runs         []HeldRun `json:"runs,omitempty"` // that the commit holds; none = the one that makes it
}

// Commit makes one commit of exactly the run's change on top of HEAD. The
// user's own staged, unstaged and untracked work, in other files and in the
// same ones, stays what it was; the working tree is not touched (but by the
// repository's hooks, with Verify: then req.Change is made to hold what they
// rewrote).
//
// A *Refusal says that no commit was made and why, in words for the user; any
// other error is git or the disk failing. In both cases HEAD and the index are
// as they were. Once it has begun it is not cancelled by ctx (but while a hook
// runs).
func (r *Repo) Commit(ctx context.Context, req CommitRequest) (*CommitResult, error) {
	return r.commit(ctx, req, nil)
}

// commit is Commit, limited to some paths of the change (nil = all).
func (r *Repo) commit(ctx context.Context, req CommitRequest, only map[string]bool) (*CommitResult, error) {
	c, err := r.committer(ctx, req)
	if err != nil {
		return nil, err
	}
	c.only = only
	return c.commit(ctx)
}

// committer returns one that has done nothing yet.
func (r *Repo) committer(ctx context.Context, req CommitRequest) (*committer, error) {
	c := &committer{r: r, req: req}
	c.message = withoutNUL(req.Message)
	if req.Record == nil {
		c.req.Record = func(Intent) error { return nil }
	}
	var err error
	if c.lock, err = r.lockFor(req.RunID); err != nil {
		return nil, err
	}
	c.settings = sync.OnceValues(func() (settings, error) { return r.commitSettings(context.WithoutCancel(ctx)) })
	go c.settings() // asked for while we compute
	return c, nil
}

// withoutNUL is a message that commit-tree takes.
func withoutNUL(message string) string { return strings.ReplaceAll(message, "\x00", "") }

// commit is the whole of a commit, from what the hooks say to the index.
func (c *committer) commit(ctx context.Context) (*CommitResult, error) {
	if state, detail := c.r.operation(ctx); state != "" && state != "locked" {
		return nil, inOperation(detail)
	}
	if err := c.record("lock", commitIntent{Head: c.req.Change.Before.Head}); err != nil {
		return nil, err
	}
	defer c.lock.release()
	for range recomputes {
		verified, err := "", error(nil)
		if c.req.Verify {
			if verified, err = c.verify(ctx); err != nil {
				return nil, err
			}
		}
		result, err := c.locked(context.WithoutCancel(ctx), verified)
		if !errors.Is(err, errUnverified) {
			return result, err
		}
	}
	return nil, &Refusal{Message: "HEAD keeps moving while the hooks run; nothing was committed", Fix: "commit the edits yourself"}
}

// errUnverified: the tree to commit is not the one the hooks saw.
var errUnverified = errors.New("the tree is not the one that the hooks saw")

// committer is one Commit under way.
type committer struct {
	r       *Repo
	req     CommitRequest
	only    map[string]bool // the paths that may be committed, nil = all
	several *several        // the runs whose changes are committed, nil = the one of req
	lock    *indexLock
	message string // as the commit-msg hook left it

	settings func() (settings, error)
}

// settings are what the configuration says about commits.
type settings struct {
	signing []string // options of commit-tree
	hooks   string   // the folder of the hooks
}

// inOperation refuses to commit in the middle of the user's merge, rebase and
// so on: it would conclude or disturb it.
func inOperation(detail string) *Refusal {
	return &Refusal{
		Message: detail + "; the edits are in the working tree, but were not committed",
		Fix:     "finish or abort it, then commit the edits yourself",
	}
}

// commitSettings reads the configuration. Costs one git process.
func (r *Repo) commitSettings(ctx context.Context) (settings, error) {
	out, _, err := r.gitExit(ctx, call{hooks: true, okExits: []int{1}}, "config", "-z", "--get-regexp",
		`^(core\.hookspath|commit\.gpgsign|user\.signingkey|user\.email|gpg\.format)$`)
	if err != nil {
		return settings{}, err
	}
	config := parseConfig(out)
	return settings{signing: signOptions(config), hooks: r.hooksFolder(config["core.hookspath"])}, nil
}

// hooksFolder is where the repository's hooks are, as core.hooksPath says.
func (r *Repo) hooksFolder(configured string) string {
	dir := filepath.FromSlash(configured)
	if rest, ok := strings.CutPrefix(configured, "~/"); ok {
		dir = filepath.Join(r.home(), filepath.FromSlash(rest))
	}
	switch {
	case dir == "":
		return filepath.Join(r.common, "hooks")
	case !filepath.IsAbs(dir):
		return filepath.Join(r.top, dir)
	}
	return dir
}

// home is what git takes ~ for.
func (r *Repo) home() string {
	for _, kv := range slices.Backward(r.env) {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok {
			return home
		}
	}
	home, _ := os.UserHomeDir() // Windows: git finds it itself
	return home
}

// anyHook tells whether `git commit` would run a hook of a folder.
func anyHook(dir string) bool {
	for _, name := range commitHooks {
		if isHook(filepath.Join(dir, name)) {
			return true
		}
	}
	return false
}

// signOptions are commit-tree's options where commit.gpgSign asks for a
// signature. Our committer is no key's owner: without user.signingKey the
// user's own address picks the key.
func signOptions(config map[string]string) []string {
	if !configTrue(config, "commit.gpgsign") {
		return nil
	}
	if format := config["gpg.format"]; config["user.signingkey"] == "" && (format == "" || format == "openpgp") {
		return []string{"-S" + config["user.email"]}
	}
	return []string{"-S"}
}

// parseConfig reads `git config -z --get-regexp`: "key LF value" or a bare
// "key" (which means true), each ended by NUL; the last one of a key holds.
func parseConfig(out []byte) map[string]string {
	config := map[string]string{}
	for _, rec := range splitNUL(out) {
		key, value, ok := strings.Cut(rec, "\n")
		if !ok {
			value = "true"
		}
		config[key] = value
	}
	return config
}

// configTrue is git's idea of a true value.
func configTrue(config map[string]string, key string) bool {
	switch strings.ToLower(config[key]) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}

// locked makes the commit under the index lock: from here on git refuses to
// check out and to commit, so HEAD is compared only now.
func (c *committer) locked(ctx context.Context, verified string) (*CommitResult, error) {
	if err := c.lock.take(ctx); err != nil {
		return nil, err
	}
	defer c.lock.release()
	atStep("locked")
	if state, detail := c.r.operation(ctx); state != "" && state != "locked" {
		return nil, inOperation(detail)
	}
	var failed error
	for range recomputes {
		p, notes, err := c.plan(ctx)
		if err != nil {
			return nil, err
		}
		tree, err := c.build(ctx, p)
		if err != nil {
			return nil, err
		}
		if c.req.Verify && tree != verified {
			return nil, errUnverified
		}
		sha, err := c.commitTree(ctx, p, tree)
		if err != nil {
			return nil, err
		}
		result := c.result(p, notes, sha)
		if failed = c.land(ctx, p, result); failed == nil {
			return result, nil
		}
		if now, err := c.r.head(ctx); err != nil || now.Head == p.head {
			break // it is not HEAD's move that made it fail
		}
	}
	return nil, c.refusedRef(failed)
}

// refusedRef says why the ref did not move.
func (c *committer) refusedRef(err error) error {
	var failed *Error
	if !errors.As(err, &failed) {
		return err
	}
	return &Refusal{Message: "git did not move the branch: " + lastLines(failed.Stderr, 3), Fix: "commit the edits yourself"}
}

// plan compares HEAD with what the change was computed for and decides what
// goes into the commit. The facts are gathered beside the look at HEAD, for a
// HEAD that has not moved; if it has, once more.
func (c *committer) plan(ctx context.Context) (*plan, []Note, error) {
	if c.several != nil {
		return c.planSeveral(ctx)
	}
	change := c.req.Change
	var head headState
	var f facts
	err := together(
		func() (err error) { head, err = c.r.head(ctx); return },
		func() (err error) {
			f, err = c.r.gather(ctx, change, change.Before.treeish(), false)
			return
		},
	)
	if err != nil {
		return nil, nil, err
	}
	notes, agent, refused, err := c.r.headMoved(ctx, change, c.req.Tools, head.Head)
	if err != nil {
		return nil, nil, err
	}
	if refused != nil {
		return nil, nil, refused
	}
	moved := head.Commit != change.Before.Head.Commit || change.Before.headTree != "" && head.tree != change.Before.headTree
	if moved {
		if f, err = c.r.gather(ctx, change, head.treeish(change.Before.Tree), agent); err != nil {
			return nil, nil, err
		}
	}
	p, err := c.r.planCommit(ctx, change, head.Head, f, agent, c.only)
	if err != nil {
		return nil, nil, err
	}
	notes = append(notes, p.notes...)
	if len(p.tree) == 0 {
		return nil, nil, nothingLeft(p, notes)
	}
	return p, notes, nil
}

// nothingLeft is the refusal of an empty commit.
func nothingLeft(p *plan, notes []Note) *Refusal {
	if len(p.leftOut) == 0 {
		return &Refusal{Message: "nothing left to commit: HEAD has the change already", Fix: "git log -1 --stat", Notes: notes}
	}
	return &Refusal{
		Message: "nothing left to commit: every changed path is left out",
		Fix:     "look at `git status` and commit the edits yourself",
		Notes:   notes,
	}
}

// wholeChange is the index of the second snapshot, if the commit is HEAD
// becoming just that snapshot and the user's index is HEAD's: the whole of the
// change is committed, and the tree and the index are there already.
func (c *committer) wholeChange(p *plan) *indexImage {
	before, after := c.req.Change.Before, c.req.Change.After
	image, diff := after.index, after.diff
	if !p.plain || image == nil || diff == nil || image.tree != after.Tree || diff.to != after.Tree || diff.from != before.Tree ||
		before.Tree != before.headTree || before.Head.Commit != p.head.Commit {
		return nil
	}
	if len(p.tree) != len(diff.files) || len(p.index) != len(diff.files) {
		return nil
	}
	for _, f := range diff.files {
		if e, ok := p.tree[f.Path]; !ok || e != f.New || p.index[f.Path].New != f.New {
			return nil
		}
	}
	return image
}

// build makes the copy that becomes the user's index, and the commit's tree:
// HEAD's, with only the plan's entries replaced. Where the user has staged
// nothing, the new index is that tree.
func (c *committer) build(ctx context.Context, p *plan) (tree string, err error) {
	like := c.req.Change.Before.Tree
	if p.image = c.wholeChange(p); p.image != nil {
		err := c.lock.writeCopy(p.image, c.r.hashLen())
		atStep("index copied")
		return p.image.tree, err
	}
	if err := c.lock.copyIndex(); err != nil {
		return "", err
	}
	atStep("index copied")
	if p.clean {
		if err := c.r.editCopy(ctx, c.lock, p.index, like); err != nil {
			return "", err
		}
		return c.r.writeTree(ctx, c.lock.copyFile())
	}
	err = together(
		func() error { return c.r.editCopy(ctx, c.lock, p.index, like) },
		func() (err error) { tree, err = c.r.editTree(ctx, c.lock.treeFile(), p.treeish, p.tree, like); return },
	)
	return tree, err
}

// editTree returns a tree with some entries replaced, made in a temporary
// index file that it leaves behind.
func (r *Repo) editTree(ctx context.Context, file, treeish string, entries map[string]Entry, hashLike string) (string, error) {
	env := []string{"GIT_INDEX_FILE=" + file}
	if _, err := r.git(ctx, call{env: env}, "read-tree", treeish); err != nil {
		return "", err
	}
	if _, err := r.git(ctx, call{env: env, stdin: indexInfo(entries, hashLike)}, "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	return r.writeTree(ctx, file)
}

// writeTree writes an index file as a tree. Missing objects are all right: a
// partial clone has not fetched every blob that HEAD names.
func (r *Repo) writeTree(ctx context.Context, indexFile string) (string, error) {
	out, err := r.git(ctx, call{env: []string{"GIT_INDEX_FILE=" + indexFile}}, "write-tree", "--missing-ok")
	return strings.TrimSpace(string(out)), err
}

// commitTree writes the commit object, while the copy gets its stat data.
func (c *committer) commitTree(ctx context.Context, p *plan, tree string) (sha string, err error) {
	atStep("tree written")
	err = together(
		func() error {
			if p.image != nil { // git has put them in
				return nil
			}
			return c.r.finishCopy(ctx, c.lock, p.index)
		},
		func() (err error) { sha, err = c.commitObject(ctx, p, tree); return },
	)
	atStep("commit written")
	return sha, err
}

// commitObject writes the commit object.
func (c *committer) commitObject(ctx context.Context, p *plan, tree string) (string, error) {
	set, err := c.settings()
	if err != nil {
		return "", err
	}
	args := append([]string{"commit-tree", "-F", "-"}, set.signing...)
	if p.head.Commit != "" {
		args = append(args, "-p", p.head.Commit)
	}
	var env []string
	if !c.req.AsUser {
		env = []string{
			"GIT_AUTHOR_NAME=" + authorName, "GIT_AUTHOR_EMAIL=" + authorEmail,
			"GIT_COMMITTER_NAME=" + authorName, "GIT_COMMITTER_EMAIL=" + authorEmail,
		}
	}
	limited := ctx
	if len(set.signing) > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, signPatience)
		defer cancel()
	}
	out, err := c.r.git(limited, call{asks: len(set.signing) > 0, env: env, stdin: []byte(c.message), config: []string{"i18n.commitEncoding=UTF-8"}}, append(args, tree)...)
	if err != nil {
		return "", c.refusedCommit(limited, err, len(set.signing) > 0)
	}
	return strings.TrimSpace(string(out)), nil
}

// refusedCommit puts a commit-tree that failed into words.
func (c *committer) refusedCommit(limited context.Context, err error, signed bool) error {
	if signed {
		why := "the signing program did not answer within " + signPatience.String()
		var failed *Error
		if limited.Err() == nil && errors.As(err, &failed) {
			why = lastLines(failed.Stderr, 3)
		}
		return &Refusal{
			Message: "the commit could not be signed (commit.gpgSign): " + why,
			Fix:     "unlock your signing key or set user.signingKey; or `git config commit.gpgSign false`",
		}
	}
	var failed *Error
	if errors.As(err, &failed) && c.req.AsUser && strings.Contains(failed.Stderr, "ident") {
		return &Refusal{
			Message: "git does not know your name: " + lastLines(failed.Stderr, 1),
			Fix:     `git config --global user.name "Your Name" && git config --global user.email you@example.com`,
		}
	}
	return err
}

// lastLines are the last n lines of what a program printed, joined for a
// sentence.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}

// land moves the ref and puts the new index in place. After the ref has
// moved, nothing is an error any more: the commit stands.
func (c *committer) land(ctx context.Context, p *plan, result *CommitResult) error {
	intent := commitIntent{Head: p.head, New: result.SHA, Index: rawKeys(p.index), Count: result.Count, HooksSkipped: result.HooksSkipped}
	if c.several != nil {
		intent.Runs = c.several.held
	}
	if err := c.moveRef(ctx, intent); err != nil {
		return err
	}
	if err := c.r.finishIndex(ctx, c.lock, commitIntent{Head: p.head, New: result.SHA, Index: p.index}); err != nil {
		result.Notes = append(result.Notes, Note{Code: "index_stale",
			Message: "the commit is made, but the index could not be updated: " + err.Error() + "; `git reset -q` brings it up to date (and unstages)"})
	}
	return nil
}

// moveRef makes the commit that an intent names the one that HEAD is at, if HEAD
// is where the intent says.
func (c *committer) moveRef(ctx context.Context, in commitIntent) error {
	if err := c.record("ref", in); err != nil {
		return err
	}
	atStep("recorded")
	old := in.Head.Commit
	if old == "" {
		old = zeroID(in.New)
	}
	subject, _, _ := strings.Cut(c.message, "\n")
	reflog := "slide-write: " + strings.TrimPrefix(subject, "slide-write: ")
	if _, err := c.r.git(ctx, call{}, "update-ref", "-m", reflog, "HEAD", in.New, old); err != nil {
		return err
	}
	atStep("ref moved")
	return nil
}

// finishIndex puts the copy in the place of the user's index. If somebody
// removed our lock in the meantime, the index may have changed since it was
// copied: then the update is made anew, path by path.
func (r *Repo) finishIndex(ctx context.Context, l *indexLock, in commitIntent) error {
	if !l.held() {
		return r.redoIndex(ctx, l, in)
	}
	if err := l.install(); err != nil {
		return err
	}
	atStep("index in place")
	l.release()
	atStep("lock gone")
	return nil
}

// result is what Commit answers.
func (c *committer) result(p *plan, notes []Note, sha string) *CommitResult {
	set, err := c.settings()
	return &CommitResult{
		SHA: sha, Short: Short(sha), Count: len(p.tree),
		HooksSkipped: err == nil && !c.req.Verify && anyHook(set.hooks),
		LeftOut:      p.leftOut, Notes: notes,
	}
}

// record makes an intent durable.
func (c *committer) record(step string, data commitIntent) error {
	raw, err := json.Marshal(data)
	if err == nil {
		err = c.req.Record(Intent{Kind: "commit", Step: step, RunID: c.req.RunID, Data: raw})
	}
	return errors.Wrap(err, "record the commit")
}

// rawKeys and fromRawKeys keep paths that are not UTF-8 whole in JSON, which
// would replace their bytes.
func rawKeys(m map[string]indexChange) map[string]indexChange {
	out := make(map[string]indexChange, len(m))
	for path, change := range m {
		out[fmt.Sprintf("%x", path)] = change
	}
	return out
}

func fromRawKeys(m map[string]indexChange) (map[string]indexChange, error) {
	out := make(map[string]indexChange, len(m))
	for key, change := range m {
		var path []byte
		if _, err := fmt.Sscanf(key, "%x", &path); err != nil {
			return nil, errors.Wrapf(err, "path %.80q", key)
		}
		out[string(path)] = change
	}
	return out, nil
}
