package gitrepo

import (
	"slices"
	"time"

	"github.com/cockroachdb/errors"
)

// Errors of Open.
var (
	// ErrNone: the folder is in no git repository. Runs work; there is no
	// change list, commit or undo.
	ErrNone = errors.New("not a git repository")
	// ErrUnsafe: git refuses the repository because somebody else owns it
	// (safe.directory). The hint is the command that allows it.
	ErrUnsafe = errors.New("git does not trust this repository")
	// ErrBare: a repository without a working tree.
	ErrBare = errors.New("a bare repository has no working tree")
	// ErrNoGit: there is no git program. No run works: nobody would see what it
	// changes.
	ErrNoGit = errors.New("git is not installed or not on PATH")
)

// Head is where HEAD stood.
type Head struct {
	Ref    string `json:"ref"`    // refs/heads/main; "" when detached
	Commit string `json:"commit"` // object id; "" when unborn
}

// State is the repository as /meta shows it.
type State struct {
	State  string // ok none unborn detached merging rebasing reverting bisecting am locked unsafe bare (cherry-pick counts as merging)
	Branch string // short name, "" when detached or none
	Dirty  bool   // tracked changes or untracked files
	Hooks  bool   // the repo has commit hooks (they are skipped unless asked for)
	Detail string // a sentence for people, "" when there is nothing to say
	Fix    string // the command that cures it, "" when there is none
	Broken bool   // none: git could not be asked, and no run can work
}

// Entry is one side of a changed path: a tree entry.
type Entry struct {
	Mode string `json:"mode"` // 100644 100755 120000 160000; "" = absent
	OID  string `json:"oid"`
}

// Absent tells whether the path does not exist on that side.
func (e Entry) Absent() bool { return e.Mode == "" }

// Stat identifies a file that is too large to be stored: known by size and
// time only.
type Stat struct {
	Size  int64 `json:"size"`  // bytes
	MTime int64 `json:"mtime"` // ns since 1970
}

// Snapshot is the working tree as it was: a git tree plus what a tree cannot
// say. It is plain data and lives in the ledger as JSON.
type Snapshot struct {
	Tree    string          `json:"tree"`
	Head    Head            `json:"head"`
	Taken   time.Time       `json:"taken"`             // when it was complete, by the clock that stamps the repository's files
	Unknown []string        `json:"unknown,omitempty"` // paths that could not be read or filtered, nested repositories
	Large   map[string]Stat `json:"large,omitempty"`   // untracked files over the limits
	Cleared []string        `json:"cleared,omitempty"` // assume-unchanged or skip-worktree paths that were on disk
	Exclude string          `json:"exclude,omitempty"` // patterns of the repository's info/exclude
	Notes   []Note          `json:"-"`

	headTree string      // tree of Head's commit, "" when unborn or not known
	diff     *treeDiff   // from before, where SnapshotAfter has compared already
	index    *indexImage // the index that stands for Tree, where Commit can use it
	clock    time.Time   // Taken by this process's monotonic clock
}

// Note is one sentence for the user, with a machine word.
type Note struct {
	Code    string // unknown_path, large_file, ignored_now, ignored_before, older_than_run, overlap, left_out, head_moved, agent_committed, eol, …
	Message string
}

// File is one path of a change.
type File struct {
	Path    string `json:"path"`   // relative to the repository's top level, "/" separators, raw bytes as git has them
	Status  string `json:"status"` // added modified deleted typechange
	Old     Entry  `json:"old"`
	New     Entry  `json:"new"`
	Added   int    `json:"added"`   // lines
	Removed int    `json:"removed"` // lines
	Binary  bool   `json:"binary"`
	Large   bool   `json:"large,omitempty"`   // known by size and time only: reported, never committed
	Yours   bool   `json:"yours,omitempty"`   // the user's own edit during the run: left out of commit and undo
	Held    bool   `json:"held,omitempty"`    // the user's uncommitted work, which the run moved here: left out of the commit, undone as usual
	LeftOut bool   `json:"leftOut,omitempty"` // not in the run's commit; only told where that holds other runs, too
}

// Change is before → after.
type Change struct {
	Before, After *Snapshot
	Files         []File // sorted by path
	Notes         []Note
}

// ToolLog is what the run knows of the agent's tool calls, to tell whose a
// changed path is.
type ToolLog struct {
	Complete bool     // the provider shows every tool call on its stream
	Windows  []Window // each call from its announcement to its result (or the end of the run)
	Paths    []string // every path a tool named, relative to the top level
	Edited   []string // the subset named by edit tools
}

// Window is one tool call in time.
type Window struct{ Start, End time.Time }

// CommitRequest is one commit of a change.
type CommitRequest struct {
	RunID   string
	Change  *Change
	Tools   ToolLog // decides who moved HEAD during the run
	Message string  // whole message: subject, blank line, trailers
	AsUser  bool    // --commit-author user; else Slide Write <slide-write@local>
	Verify  bool    // --commit-verify: run the repo's hooks
	// Record is called before each irreversible step with what recovery needs
	// (Intent), and must be durable when it returns. nil = none.
	Record func(Intent) error
}

// CommitResult is a commit that was made.
type CommitResult struct {
	SHA          string // full object id
	Short        string // abbreviated, for people
	Count        int    // files in the commit
	HooksSkipped bool
	LeftOut      []string // paths of the change that are not in the commit
	Notes        []Note
}

// RunChange is the change of one run among several.
type RunChange struct {
	ID     string
	Change *Change
}

// HeadMoved tells whether HEAD moved between the snapshots.
func (c *Change) HeadMoved() bool { return c.Before.Head != c.After.Head }

// CommitRunsRequest is one commit of the changes of several runs.
type CommitRunsRequest struct {
	RunID   string                    // of the commit itself, which is none of these runs
	Runs    []RunChange               // oldest first, at least one; none whose HeadMoved
	Message func(ids []string) string // of a commit that holds these runs, oldest first
	AsUser  bool
	Verify  bool
	Record  func(Intent) error
}

// CommitRunsResult is such a commit.
type CommitRunsResult struct {
	CommitResult
	Runs []HeldRun // those of whose change something is in it, oldest first
}

// HeldRun is a run that a commit of several holds.
type HeldRun struct {
	ID      string   `json:"id"`
	LeftOut [][]byte `json:"leftOut,omitempty"` // paths of its change that are not in the commit; raw bytes
}

// Mark marks in the change of the run what is not in the commit.
func (h HeldRun) Mark(files []File) {
	for i := range files {
		files[i].LeftOut = slices.ContainsFunc(h.LeftOut, func(path []byte) bool { return string(path) == files[i].Path })
	}
}

// SquashRequest makes several commits one.
type SquashRequest struct {
	RunID   string    // of the squash itself
	Commits []string  // full ids, in any order
	Runs    []HeldRun // the runs that made them
	Message string
	AsUser  bool
	Verify  bool
	Record  func(Intent) error
}

// SquashResult is the commit that took their place.
type SquashResult struct {
	SHA          string
	Short        string
	Count        int // files in it
	HooksSkipped bool
	Replaced     []string // full ids of the commits it stands for, oldest first
}

// Refusal is a commit (or undo) that was not made, in words for the user. The
// working tree and the index are as they were. Notes may name paths.
type Refusal struct {
	Message string
	Fix     string
	Paths   []string // undo: the paths that overlap
	Notes   []Note
}

func (r *Refusal) Error() string { return r.Message }

// UndoRequest takes the change of a run back.
type UndoRequest struct {
	RunID     string // id of the undo run itself
	Of        string // id of the run being undone
	Before    string // its before tree
	After     string // its after tree
	Files     []File // its change; entries marked Yours or Large are skipped
	Committed bool   // the run was committed: make one commit "Undo: …"
	Message   string // of that commit
	AsUser    bool
	Verify    bool
	Record    func(Intent) error
}

// UndoResult is an undo that was made.
type UndoResult struct {
	Change *Change // what the undo did: itself undoable
	Commit *CommitResult
	// CommitRefused says why there is no commit although one was wanted.
	CommitRefused *Refusal
}

// Intent is what recovery needs to finish or roll back a half-done commit or
// undo after the process died. Plain data, stored in the ledger as JSON.
type Intent struct {
	Kind  string `json:"kind"` // commit or undo
	Step  string `json:"step"` // the one about to be taken, such as "ref"; see the order in commit.go
	RunID string `json:"runId"`
	Data  []byte `json:"data"` // the rest, as gitrepo wrote it
}

// Recovery is what Recover did.
type Recovery struct {
	Finished     bool   // the commit or undo is done; false = rolled back
	SHA          string // of the commit that stands
	Short        string // abbreviated, for people
	Count        int    // files in that commit
	HooksSkipped bool
	Runs         []HeldRun // that the commit holds, where those are others than the one that made it
	Notes        []Note
	Change       *Change // of a finished undo: what it did, itself undoable
}
