package run

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/prompt"
	"github.com/slidewrite/slidewrite/shim/state"
)

// Summary is one run as GET /runs lists it.
type Summary struct {
	ID        string     `json:"id"`
	Kind      string     `json:"kind"`  // design, image, undo
	State     string     `json:"state"` // running, done, failed, stopped, interrupted
	Provider  string     `json:"provider"`
	Session   string     `json:"session"` // the agent's, "" before it has told
	Prompt    string     `json:"prompt"`
	StartedAt time.Time  `json:"startedAt"`
	EndedAt   *time.Time `json:"endedAt"` // null while it runs
	Files     []string   `json:"files"`
	SHA       string     `json:"sha"` // of its commit, "" when there is none
	Undone    bool       `json:"undone"`
	Undoable  bool       `json:"undoable"` // an undo would do something, unless later edits stand in its way
}

// List returns the running and recent runs, newest first.
func (m *Manager) List(ctx context.Context) ([]Summary, error) {
	recoverErr := m.Recover(ctx)
	records, err := m.ledger.list()
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(records, m.elsewhere) { // a run whose shim died is not running
		if recoverErr == nil {
			recoverErr = m.recover(ctx, true)
		}
		if recoverErr != nil {
			return nil, errors.Wrap(recoverErr, "put a run in order that was cut short")
		}
		if records, err = m.ledger.list(); err != nil {
			return nil, err
		}
	}
	list := make([]Summary, 0, len(records))
	for _, rec := range records {
		list = append(list, summary(rec))
	}
	return list, nil
}

// BySession groups the runs of one provider by the session they were made in.
func BySession(list []Summary, provider string) map[string][]Summary {
	by := map[string][]Summary{}
	for _, s := range list {
		if s.Provider == provider && s.Session != "" {
			id := strings.ToLower(s.Session)
			by[id] = append(by[id], s)
		}
	}
	return by
}

func summary(rec state.Record) Summary {
	s := Summary{
		ID: rec.ID, Kind: rec.Kind, State: rec.State, Provider: rec.Provider, Session: rec.Session, Prompt: rec.Prompt,
		StartedAt: rec.StartedAt, Files: []string{}, SHA: rec.SHA, Undone: rec.Undone,
	}
	if !rec.EndedAt.IsZero() {
		s.EndedAt = &rec.EndedAt
	}
	s.Undoable = unsettled(rec)
	for _, f := range filesOf(rec) {
		s.Files = append(s.Files, changedFile(f).Path)
		if rec.State != state.Running && !rec.Undone && !f.Yours && !f.Large {
			s.Undoable = true
		}
	}
	return s
}

// filesOf are the paths of a run's change; none when it has none or the
// record does not hold them readably.
func filesOf(rec state.Record) []gitrepo.File {
	var files []gitrepo.File
	if json.Unmarshal(rec.Files, &files) != nil {
		return nil
	}
	return files
}

// DiffReply is the change of a run, for reading.
type DiffReply struct {
	Diff    string              `json:"diff"` // unified, UTF-8 (other bytes as U+FFFD)
	Files   []event.ChangedFile `json:"files"`
	Added   int                 `json:"added"`
	Removed int                 `json:"removed"`
}

// Diff returns the unified diff of a run's change, of one path or ("") of
// all. A path that is not in the change is ErrNotFound; snapshots that are
// gone are gitrepo.ErrGone.
func (m *Manager) Diff(ctx context.Context, id, path string) (DiffReply, error) {
	rec, err := m.stored(id)
	if err != nil {
		return DiffReply{}, err
	}
	reply := DiffReply{Files: []event.ChangedFile{}}
	var paths []string
	for _, f := range filesOf(rec) {
		cf := changedFile(f)
		if path != "" && path != f.Path && path != cf.Path {
			continue
		}
		paths = append(paths, f.Path)
		reply.Files = append(reply.Files, cf)
		reply.Added += f.Added
		reply.Removed += f.Removed
	}
	if len(paths) == 0 {
		if path != "" {
			return DiffReply{}, errors.WithHintf(errors.Mark(errors.Newf("this run did not change %s", path), ErrNotFound),
				"GET /runs/%s/diff names what it changed", id)
		}
		return reply, nil
	}
	repo, err := m.Repo(ctx)
	if err != nil {
		return DiffReply{}, err
	}
	var before, after gitrepo.Snapshot
	if err := json.Unmarshal(rec.Before, &before); err != nil {
		return DiffReply{}, err
	}
	if err := json.Unmarshal(rec.After, &after); err != nil {
		return DiffReply{}, err
	}
	diff, err := repo.Diff(ctx, before.Tree, after.Tree, paths)
	if err != nil {
		return DiffReply{}, err
	}
	reply.Diff = string(diff)
	return reply, nil
}

// Preview is exactly what the agent would receive. The nonce of the fence and
// the folder of the attachments are fresh in every run.
type Preview struct {
	System      string       `json:"system"`
	Prompt      string       `json:"prompt"`
	Attachments []Attachment `json:"attachments"`
}

// Attachment is a picture that goes with the prompt.
type Attachment struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

// previewDir stands for the run's private folder in a preview.
const previewDir = "(a private folder, fresh per run)"

// previewNonce stands for the fence's nonce in a preview.
const previewNonce = "fresh-per-run"

// Preview builds the prompt of a request and runs nothing.
func (m *Manager) Preview(req prompt.Request) Preview {
	shots := shotsOf(previewDir, req)
	built := m.build(req, shots, previewNonce)
	p := Preview{System: built.System, Prompt: built.User, Attachments: []Attachment{}}
	for _, s := range shots {
		p.Attachments = append(p.Attachments, Attachment{Name: filepath.Base(s.Path), Bytes: len(s.Data)})
	}
	return p
}
