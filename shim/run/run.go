package run

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/process"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/prompt"
	"github.com/slidewrite/slidewrite/shim/state"
)

// Run is one prompt carried out, going on or ended.
type Run struct {
	m       *Manager
	agent   agent.Agent
	req     prompt.Request
	id      string
	kind    string
	undoOf  string
	started time.Time
	dir     string // private folder, mode 0700, gone when the run has ended
	lock    *state.Lock
	journal *journal

	stopOnce sync.Once
	stopBy   string        // valid once stopping is closed; "" = we gave up ourselves
	stopping chan struct{} // closed when somebody wants the run to end
	finished chan struct{} // closed after done

	mu      sync.Mutex
	record  state.Record
	failed  bool // an error event was emitted, or would have been
	stopped bool // the agent was ended by a stop
	clients int
	leaving *time.Timer // ends the run when no client comes back
}

// ID is the run's id.
func (r *Run) ID() string { return r.id }

// Follow reads the run's events after the one numbered after (0 = all).
func (r *Run) Follow(after int64) *Follower { return r.journal.follow(after) }

// Finished is closed when the run has ended and everything of it is cleaned
// up.
func (r *Run) Finished() <-chan struct{} { return r.finished }

// Attach says that a client is there; the returned function that it went
// away. When the last one has been gone for a while (5 s) a run that was not asked to
// be detached is stopped.
func (r *Run) Attach() (release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clients++
	if r.leaving != nil {
		r.leaving.Stop()
		r.leaving = nil
	}
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.clients--
		if r.clients == 0 && !r.req.Detach && !r.journal.ended() {
			r.leaving = time.AfterFunc(r.m.o.Timing.Grace, func() { r.stop("disconnect") })
		}
	})
}

// stop asks the run to end. The first reason counts.
func (r *Run) stop(by string) {
	r.stopOnce.Do(func() {
		r.stopBy = by
		close(r.stopping)
	})
}

func (r *Run) isStopping() bool {
	select {
	case <-r.stopping:
		return true
	default:
		return false
	}
}

func (r *Run) provider() string {
	if r.agent == nil {
		return ""
	}
	return r.agent.Provider()
}

func (r *Run) note(code, level, message string) {
	r.journal.append(event.Note{Message: message, Level: level, Code: code})
}

func (r *Run) notes(notes []gitrepo.Note) {
	for _, n := range notes {
		r.note(n.Code, event.Warning, n.Message)
	}
}

func (r *Run) fail(e event.Error) {
	r.failed = true
	r.journal.append(e)
}

// update changes the run's record and notes it in the ledger. A power cut can
// take the note: what must survive one is in the record of the snapshot before
// and of each intent, from which recovery finds out the rest.
func (r *Run) update(f func(*state.Record)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.record)
	if err := r.m.o.Store.Note(r.record); err != nil {
		r.journal.append(event.Note{Code: "ledger", Level: event.Warning, Message: "the run could not be noted in the ledger: " + err.Error()})
	}
}

// began is called when the agent reported its session.
func (r *Run) began(e event.Start) {
	r.update(func(rec *state.Record) { rec.Session = e.SessionID })
}

// execute is the run, from the lock that Start took to done.
func (r *Run) execute() {
	// Stopping ends the agent, not our own bookkeeping: git works on a
	// context of its own, so that a run that was stopped still has its change.
	ctx := context.Background()
	defer r.end()
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(os.Stderr, "slidewrite: run %s: %v\n%s", r.id, p, debug.Stack())
			r.fail(event.Error{Message: fmt.Sprintf("slidewrite failed: %v", p), Code: event.CodeInternal})
		}
	}()
	for _, n := range r.req.Notes {
		r.note(n.Code, event.Warning, n.Message)
	}
	repo := r.openRepo(ctx)
	before, tools, ok := r.converse(ctx, repo)
	// A stop that comes from here on is too late: the run ends as it would.
	stopping := r.isStopping()
	if r.stopped = stopping && r.stopBy != ""; r.stopped {
		r.journal.append(event.Stopped{By: r.stopBy})
	}
	if before != nil {
		r.settle(ctx, repo, before, tools, ok && !r.failed && !stopping)
	}
}

// openRepo returns the repository, or nil with a note that says what that
// means.
func (r *Run) openRepo(ctx context.Context) *gitrepo.Repo {
	repo, err := r.m.Repo(ctx)
	if err != nil {
		git := r.m.GitState(ctx)
		msg := git.Detail
		if git.Fix != "" {
			msg += " (" + git.Fix + ")"
		}
		r.note("no_repo", event.Warning, msg)
		return nil
	}
	return repo
}

// converse starts the agent, gives it the prompt once the snapshot is there,
// and returns when the process has ended. A session that turns out not to
// exist is begun anew, once. before is nil when there is nothing to compare.
func (r *Run) converse(ctx context.Context, repo *gitrepo.Repo) (before *gitrepo.Snapshot, tools gitrepo.ToolLog, ok bool) {
	spec, err := r.spec(ctx, repo)
	if err != nil {
		r.fail(startError(r.agent.Name(), err))
		return nil, tools, false
	}
	if e := r.foreign(spec, repo); e != nil {
		r.fail(*e)
		return nil, tools, false
	}
	for {
		var facts agent.Facts
		before, tools, facts = r.attempt(ctx, repo, spec, before)
		if !facts.SessionLost || spec.Resume == "" || r.isStopping() {
			return before, tools, facts.Succeeded
		}
		r.note("session_new", event.Warning, "the session "+spec.Resume+" no longer exists; this is a new one")
		spec.Resume = ""
	}
}

// foreign refuses to resume a session of another folder: claude would go on
// with it here, with the other project in its memory.
func (r *Run) foreign(spec agent.Spec, repo *gitrepo.Repo) *event.Error {
	finder, ok := r.agent.(agent.SessionFinder)
	if !ok || spec.Resume == "" {
		return nil
	}
	folder := finder.SessionFolder(spec, r.m.o.Environ)
	top := spec.Repo
	if repo != nil {
		top = repo.Top()
	}
	if folder == "" || folder == spec.Repo {
		return nil
	}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	if folder == top || strings.HasPrefix(folder, top+string(filepath.Separator)) {
		return nil
	}
	return &event.Error{
		Message: "the session " + spec.Resume + " belongs to another folder (" + folder + ")", Code: event.CodeBadRequest,
		Fix: "start a new session here, or run slidewrite in that folder",
	}
}

// attempt is one agent process. The snapshot is taken beside its start-up
// unless the agent could touch files before it has the prompt.
func (r *Run) attempt(ctx context.Context, repo *gitrepo.Repo, spec agent.Spec, have *gitrepo.Snapshot) (*gitrepo.Snapshot, gitrepo.ToolLog, agent.Facts) {
	before, snapErr := have, error(nil)
	if before == nil && startHooks(spec) {
		before, snapErr = r.before(ctx, repo)
	}
	if snapErr != nil {
		r.fail(snapshotError(snapErr))
		return nil, gitrepo.ToolLog{}, agent.Facts{}
	}
	env, scrubbed := r.agent.Scrub(r.m.o.Environ, r.m.o.KeepEnv)
	inv := r.agent.Command(spec)
	fam, err := process.Start(process.Options{
		Bin: inv.Bin, Args: inv.Args, Dir: inv.Dir, Env: append(env, inv.Env...),
		Marker: r.m.o.Store.Hash() + "." + r.id,
	})
	if err != nil {
		r.fail(startError(r.agent.Name(), err))
		return before, gitrepo.ToolLog{}, agent.Facts{}
	}
	top := spec.Repo
	if repo != nil {
		top = repo.Top()
	}
	mapper := r.agent.NewMapper(agent.MapOptions{
		Repo: spec.Repo, Top: top, RunID: r.id, Resume: spec.Resume, Scrubbed: scrubbed, Stopping: r.isStopping,
	})
	d := newDialogue(r, fam, r.agent.Converse(spec), mapper)
	d.open()

	snapped := make(chan struct{})
	go func() {
		defer close(snapped)
		if before == nil {
			before, snapErr = r.before(ctx, repo)
		}
		if snapErr != nil {
			r.stop("")
			return
		}
		d.snapshotReady()
	}()
	ended := make(chan struct{})
	ladder := make(chan struct{})
	go func() {
		defer close(ladder)
		select {
		case <-r.stopping:
			fam.End(ctx, process.DefaultLadder, d.interrupt, d.result)
		case <-ended:
		}
	}()
	d.read()
	facts, exit := d.finish()
	close(ended)
	<-ladder
	<-snapped
	if snapErr != nil {
		r.fail(snapshotError(snapErr))
		fam.Sweep(ctx, 0)
		fam.Close()
		return nil, gitrepo.ToolLog{}, agent.Facts{}
	}
	if !(facts.SessionLost && spec.Resume != "") {
		facts = d.close(exit)
	}
	r.sweep(ctx, fam)
	fam.Close()
	return before, d.tools.log(facts.ShowsEveryTool), facts
}

func snapshotError(err error) event.Error {
	return event.Error{
		Message: "the state of the working tree could not be recorded, so nothing was asked of the agent: " + err.Error(),
		Code:    event.CodeInternal, Fix: hint(err),
	}
}

// before takes the first snapshot and keeps it, so that the agent never works
// without one.
func (r *Run) before(ctx context.Context, repo *gitrepo.Repo) (*gitrepo.Snapshot, error) {
	if repo == nil {
		return nil, nil
	}
	snap, err := repo.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if err := repo.Keep(ctx, r.id, snap, nil); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(snap) // its notes come with the change's
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.record.Before = raw
	return snap, r.m.o.Store.Put(r.record)
}

// sweep ends what the run left behind and names what it lets live.
func (r *Run) sweep(ctx context.Context, fam *process.Family) {
	grace := r.m.o.Timing.Stray
	if r.isStopping() {
		grace = 0
	}
	for _, p := range fam.Sweep(ctx, grace).Left {
		r.note("left_running", event.Info, fmt.Sprintf("%s (pid %d) was started by this run and goes on: it listens on %s", p.Name, p.PID, strings.Join(p.Listens, ", ")))
	}
}

// spec is what this run asks of the agent. Pictures are written to the run's
// folder.
func (r *Run) spec(ctx context.Context, repo *gitrepo.Repo) (agent.Spec, error) {
	bin, err := r.m.o.LookPath(r.agent.Name())
	if err != nil {
		return agent.Spec{}, err
	}
	s := agent.Spec{
		Bin: bin, Version: r.m.o.Version(ctx, bin), Repo: r.m.o.Dir, RunDir: r.dir,
		Model: r.req.Model, Effort: r.req.Effort, Resume: r.req.Resume,
		MaxTurns: r.m.o.MaxTurns, UseSkills: r.m.o.UseSkills, MCP: r.m.o.MCP, ProjectSettings: !r.m.o.NoProjectSettings,
	}
	if s.Model == "" && r.agent == r.m.o.Agents[0] {
		s.Model = r.m.o.Model
	}
	shots, err := writeShots(r.dir, r.req)
	if err != nil {
		return agent.Spec{}, err
	}
	s.Images = shots
	built := r.m.build(r.req, shots, prompt.NewNonce())
	s.System, s.Prompt = built.System, built.User
	return s, nil
}

// writeShots stores the request's pictures in dir.
func writeShots(dir string, req prompt.Request) ([]agent.Image, error) {
	images := shotsOf(dir, req)
	for _, img := range images {
		if err := os.WriteFile(img.Path, img.Data, 0o600); err != nil {
			return nil, errors.Wrap(err, "store a screenshot")
		}
	}
	return images, nil
}

// shotsOf names the request's pictures: shot-1.png …, in the order of the
// elements.
func shotsOf(dir string, req prompt.Request) []agent.Image {
	var images []agent.Image
	for _, el := range req.Elements {
		if el.Shot == nil {
			continue
		}
		_, ext, _ := strings.Cut(el.Shot.MIME, "/")
		name := fmt.Sprintf("shot-%d.%s", len(images)+1, ext)
		images = append(images, agent.Image{Path: filepath.Join(dir, name), MIME: el.Shot.MIME, Data: el.Shot.Data})
	}
	return images
}

// build makes the prompt. With --no-project-settings the agent does not load
// the project's own instructions, so we put them in.
func (m *Manager) build(req prompt.Request, shots []agent.Image, nonce string) prompt.Built {
	o := prompt.BuildOptions{Nonce: nonce}
	for _, s := range shots {
		o.ShotPaths = append(o.ShotPaths, s.Path)
	}
	if m.o.NoProjectSettings {
		o.ProjectDoc = readDoc(m.o.Dir, "CLAUDE.md")
	}
	return prompt.Build(req, o)
}

// readDoc reads a file of the repository that is meant for the agent; one
// that is missing, not regular, or out of proportion is left out.
func readDoc(dir, name string) string {
	const most = 256 << 10
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return ""
	}
	b, err := root.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(b)
}

// startHooks tells whether the agent runs commands of the repository before
// it has the prompt (claude: SessionStart hooks of the project's settings).
func startHooks(s agent.Spec) bool {
	if !s.ProjectSettings {
		return false
	}
	b, err := os.ReadFile(filepath.Join(s.Repo, ".claude", "settings.json"))
	return err == nil && strings.Contains(string(b), "SessionStart")
}

// settle takes the second snapshot, tells what changed, and commits it.
func (r *Run) settle(ctx context.Context, repo *gitrepo.Repo, before *gitrepo.Snapshot, tools gitrepo.ToolLog, commit bool) {
	change, err := r.change(ctx, repo, before, tools)
	if err != nil {
		r.fail(event.Error{Message: "what the run changed could not be found out: " + err.Error(), Code: event.CodeInternal, Fix: hint(err)})
		return
	}
	r.notes(change.Notes)
	r.noteUncovered(ctx, repo, change, tools)
	if len(change.Files) == 0 {
		return
	}
	r.journal.append(changeEvent(change))
	if !commit || !r.req.AutoCommit {
		return
	}
	res, err := repo.Commit(ctx, gitrepo.CommitRequest{
		RunID: r.id, Change: change, Tools: tools, Message: r.message(),
		AsUser: r.m.o.CommitAsUser, Verify: r.m.o.CommitVerify, Record: r.intent,
	})
	if err == nil && r.m.o.CommitVerify { // a hook may have rewritten files of the change
		if err := r.remember(change); err != nil {
			r.note("ledger", event.Warning, "what the hooks rewrote could not be noted: "+err.Error())
		}
	}
	r.committed(res, err)
}

// noteUncovered names the edits that no snapshot can hold.
func (r *Run) noteUncovered(ctx context.Context, repo *gitrepo.Repo, change *gitrepo.Change, tools gitrepo.ToolLog) {
	held := map[string]bool{}
	for _, f := range change.Files {
		held[f.Path] = true
	}
	var others []string
	for _, p := range tools.Edited {
		if !held[p] {
			others = append(others, p)
		}
	}
	if len(others) == 0 {
		return
	}
	uncovered, err := repo.Uncovered(ctx, others)
	if err != nil || len(uncovered) == 0 {
		return
	}
	r.note("uncovered", event.Warning, "edited, but not part of the change and cannot be undone (outside the repository, ignored, or in a repository of its own): "+strings.Join(uncovered, ", "))
}

// change is before → now, kept and noted in the ledger.
func (r *Run) change(ctx context.Context, repo *gitrepo.Repo, before *gitrepo.Snapshot, tools gitrepo.ToolLog) (*gitrepo.Change, error) {
	after, err := repo.SnapshotAfter(ctx, before)
	if err != nil {
		return nil, err
	}
	change, err := repo.Change(ctx, before, after)
	if err != nil {
		return nil, err
	}
	limited, err := repo.LimitToEdits(ctx, change, tools)
	if err != nil {
		return nil, err
	}
	if limited {
		change.Notes = append(change.Notes, gitrepo.Note{Code: "head_moved", Message: "the branch was switched during the run: only files that the agent's edit tools named count as its change"})
	}
	repo.MarkYours(change, tools)
	if len(change.Files) == 0 {
		return change, repo.Drop(ctx, r.id)
	}
	return change, r.keep(ctx, repo, change)
}

// keep holds on to a change, so that it can be read and undone: its snapshots
// in the repository, the rest in the ledger.
func (r *Run) keep(ctx context.Context, repo *gitrepo.Repo, change *gitrepo.Change) error {
	if err := repo.Keep(ctx, r.id, change.Before, change.After); err != nil {
		return err
	}
	return r.remember(change)
}

// remember is keep for a change whose snapshots are kept already.
func (r *Run) remember(change *gitrepo.Change) error {
	var parts [3]json.RawMessage
	for i, part := range []any{change.Before, change.After, change.Files} {
		raw, err := json.Marshal(part)
		if err != nil {
			return err
		}
		parts[i] = raw
	}
	r.update(func(rec *state.Record) { rec.Before, rec.After, rec.Files = parts[0], parts[1], parts[2] })
	return nil
}

// message is the commit's message.
func (r *Run) message() string {
	subject := "slide-write: " + prompt.Title(r.req.Prompt)
	msg := subject + "\n\nSlide-Write-Run: " + r.id + "\n"
	if s := r.record.Session; s != "" {
		msg += "Slide-Write-Session: " + r.provider() + "/" + s + "\n"
	}
	return msg
}

// intent makes what recovery needs durable before an irreversible step.
func (r *Run) intent(in gitrepo.Intent) error {
	raw, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.record.Intent = raw
	return r.m.o.Store.Put(r.record)
}

// committed tells how the commit went.
func (r *Run) committed(res *gitrepo.CommitResult, err error) {
	var refusal *gitrepo.Refusal
	switch {
	case err == nil:
		r.notes(res.Notes)
		r.update(func(rec *state.Record) { rec.SHA, rec.Intent = res.SHA, nil })
		r.journal.append(event.Commit{SHA: res.Short, Count: res.Count, HooksSkipped: res.HooksSkipped})
	case errors.As(err, &refusal):
		r.notes(refusal.Notes)
		r.update(func(rec *state.Record) { rec.Intent = nil })
		r.journal.append(event.CommitError{Message: refusal.Message, Fix: refusal.Fix})
	default:
		r.journal.append(event.CommitError{Message: err.Error(), Fix: hint(err)})
	}
}

// end closes the run: the ledger, the private folder, the lock, done. The
// lock goes before done, so that a client that has seen done can start the
// next run.
func (r *Run) end() {
	r.journal.flushNow() // the ledger must not say done before the events are there
	r.update(func(rec *state.Record) {
		rec.EndedAt = r.m.o.Now()
		rec.State = state.Done
		switch {
		case r.stopped:
			rec.State = state.Stopped
		case r.failed:
			rec.State = state.Failed
		}
	})
	if err := r.m.o.Store.RemoveRunDir(r.id); err != nil {
		r.note("temp", event.Warning, "the run's private folder could not be removed: "+err.Error())
	}
	r.lock.Release()
	r.journal.append(event.Done{})
	r.m.ended(r)
	close(r.finished)
}

// changeEvent is a change as clients are told.
func changeEvent(c *gitrepo.Change) event.Change {
	e := event.Change{Files: []event.ChangedFile{}}
	for _, f := range c.Files {
		e.Files = append(e.Files, changedFile(f))
		e.Added += f.Added
		e.Removed += f.Removed
	}
	return e
}

func changedFile(f gitrepo.File) event.ChangedFile {
	return event.ChangedFile{
		Path: strings.ToValidUTF8(f.Path, "\uFFFD"), Status: f.Status,
		Added: f.Added, Removed: f.Removed, Binary: f.Binary, Yours: f.Yours,
	}
}
