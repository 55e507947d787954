package run

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

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/process"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
	"github.com/slidewrite/slidewrite/shim/prompt"
)

// converse starts the agent, gives it the prompt once the snapshot is there,
// and returns when the process has ended. A session that turns out not to
// exist is begun anew, once. before is nil when there is nothing to compare.
func (r *Run) converse(ctx context.Context, repo *gitrepo.Repo) (before *gitrepo.Snapshot, tools gitrepo.ToolLog, ok bool) {
	spec, err := r.spec(ctx, repo)
	if err != nil {
		r.fail(startError(r.agent.Name(), err))
		return nil, tools, false
	}
	if finder, ok := r.agent.(agent.SessionFinder); ok && spec.Resume != "" {
		lookup, cancel := r.untilStopped(ctx)
		spec.Session = finder.FindSession(lookup, spec, r.m.o.Environ)
		cancel()
		if r.isStopping() {
			return nil, tools, false
		}
	}
	if e := r.refuse(spec, repo); e != nil {
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
		spec.Resume, spec.Session = "", agent.Session{}
	}
}

// refuse tells why this request cannot be given to this agent, or nil.
func (r *Run) refuse(spec agent.Spec, repo *gitrepo.Repo) *event.Error {
	if e := foreign(spec, repo); e != nil {
		return e
	}
	if refuser, ok := r.agent.(agent.Refuser); ok {
		return refuser.Refuse(spec)
	}
	return nil
}

// foreign refuses to resume a session of another folder: claude would go on
// with it here, with the other project in its memory. One whose folder cannot
// be told may be of any.
func foreign(spec agent.Spec, repo *gitrepo.Repo) *event.Error {
	folder := spec.Session.Folder
	top := spec.Repo
	if repo != nil {
		top = repo.Top()
	}
	if spec.Session.Unknown && folder == "" {
		return &event.Error{
			Message: "the session " + spec.Resume + " does not tell which folder it belongs to", Code: event.CodeBadRequest,
			Fix: "start a new session here",
		}
	}
	if folder == "" || folder == spec.Repo {
		return nil
	}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	if folder == top || strings.HasPrefix(folder, top+string(filepath.Separator)) && !nested(folder, top) {
		return nil
	}
	return &event.Error{
		Message: "the session " + spec.Resume + " belongs to another folder (" + folder + ")", Code: event.CodeBadRequest,
		Fix: "start a new session here, or run slidewrite in that folder",
	}
}

// nested tells whether a folder below top is in a repository of its own.
func nested(folder, top string) bool {
	for ; len(folder) > len(top); folder = filepath.Dir(folder) {
		if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil {
			return true
		}
	}
	return false
}

// attempt is one agent process. The snapshot is taken beside its start-up
// unless the agent could touch files before it has the prompt.
func (r *Run) attempt(ctx context.Context, repo *gitrepo.Repo, spec agent.Spec, have *gitrepo.Snapshot) (*gitrepo.Snapshot, gitrepo.ToolLog, agent.Facts) {
	before, snapErr := have, error(nil)
	if before == nil && r.eager(spec) {
		before, snapErr = r.before(ctx, repo)
	}
	if snapErr != nil {
		r.fail(snapshotError(snapErr))
		return nil, gitrepo.ToolLog{}, agent.Facts{}
	}
	if r.isStopping() { // before there was anything to end
		return before, gitrepo.ToolLog{}, agent.Facts{}
	}
	env, scrubbed := r.agent.Scrub(r.m.o.Environ, r.m.o.KeepEnv)
	inv := r.agent.Command(spec)
	if err := writeFiles(inv.Files); err != nil {
		r.fail(startError(r.agent.Name(), err))
		return before, gitrepo.ToolLog{}, agent.Facts{}
	}
	fam, err := process.Start(process.Options{
		Bin: inv.Bin, Args: inv.Args, Dir: inv.Dir, Env: append(env, inv.Env...),
		Marker: r.m.o.Store.Hash() + "." + r.id, Marks: marks(inv.Env, spec.RunDir),
	})
	if err != nil {
		r.fail(startError(r.agent.Name(), err))
		return before, gitrepo.ToolLog{}, agent.Facts{}
	}
	swept := false
	defer func() {
		if !swept { // there is no snapshot, or something of ours panicked
			_ = fam.Kill() // who may not be signalled is left, as in every sweep
			fam.Sweep(ctx, 0)
		}
		fam.Close()
	}()
	top := spec.Repo
	if repo != nil {
		top = repo.Top()
	}
	mapper := r.agent.NewMapper(agent.MapOptions{
		Repo: spec.Repo, Top: top, RunID: r.id, Resume: spec.Resume, Session: spec.Session, Model: spec.Model,
		Scrubbed: scrubbed, Stopping: r.isStopping,
	})
	d := newDialogue(r, fam, r.agent.Converse(spec), mapper)
	d.open()

	snapped := make(chan struct{})
	go func() {
		defer close(snapped)
		defer r.rescue()
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
	end := sync.OnceFunc(func() { close(ended) })
	defer end()
	ladder := make(chan struct{})
	var stopped *process.Swept
	go func() {
		defer close(ladder)
		defer r.rescue()
		select {
		case <-r.stopping:
		case <-ended:
		}
		if r.isStopping() {
			swept := fam.End(ctx, process.DefaultLadder, d.interrupt, d.result)
			stopped = &swept
		}
	}()
	d.read()
	// It will say nothing more: an agent that lives on all the same is ended.
	mute := time.AfterFunc(r.m.o.Timing.Mute, func() { r.endAgent(fam) })
	closing, facts := d.finish()
	mute.Stop()
	<-snapped
	if snapErr == nil && (!facts.SessionLost || spec.Resume == "") {
		d.close(closing)
	}
	// A stop that comes while this waits reaches it through the ladder.
	left := fam.Sweep(ctx, r.m.o.Timing.Stray)
	end()
	<-ladder
	if stopped != nil {
		left = *stopped
	}
	r.remains(left)
	swept = true
	if snapErr != nil {
		r.fail(snapshotError(snapErr))
		return nil, gitrepo.ToolLog{}, agent.Facts{}
	}
	return before, d.tools.log(facts.ShowsEveryTool), facts
}

// eager tells whether the agent may touch files before it has the prompt.
func (r *Run) eager(spec agent.Spec) bool {
	a, ok := r.agent.(agent.Eager)
	return ok && a.ActsBeforePrompt(spec)
}

// writeFiles writes what an agent reads at its start.
func writeFiles(files []agent.File) error {
	for _, f := range files {
		if err := os.WriteFile(f.Path, f.Data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// marks are the variables that nothing but this run's processes can have.
func marks(env []string, runDir string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return !strings.Contains(kv, runDir) })
}

// endAgent ends an agent that has nothing more to say. The run itself goes
// on, and so do the servers it started.
func (r *Run) endAgent(fam *process.Family) {
	defer r.rescue()
	fam.EndAgent(context.Background(), process.DefaultLadder)
}

// abort ends an agent that must not go on, with all it started.
func (r *Run) abort(fam *process.Family) {
	defer r.rescue()
	fam.End(context.Background(), process.DefaultLadder, func() process.Opening { return process.Signal }, nil)
}

func snapshotError(err error) event.Error {
	return event.Error{
		Message: "the state of the working tree could not be recorded, so nothing was asked of the agent: " + err.Error(),
		Code:    event.CodeInternal, Fix: Hint(err),
	}
}

// untilStopped is ctx, ended also by a stop of the run.
func (r *Run) untilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-r.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// before takes the first snapshot and keeps it, so that the agent never works
// without one. It is nil when the run is stopped meanwhile.
func (r *Run) before(ctx context.Context, repo *gitrepo.Repo) (*gitrepo.Snapshot, error) {
	if repo == nil {
		return nil, nil
	}
	limited, cancel := r.untilStopped(ctx)
	defer cancel()
	snap, err := repo.Snapshot(limited)
	if r.isStopping() { // the agent will not get its prompt
		return nil, nil
	}
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
	return snap, r.m.ledger.put(r.record)
}

// remains names what the run left behind and still lives.
func (r *Run) remains(swept process.Swept) {
	for _, p := range swept.Stuck {
		r.note("not_ended", event.Warning, fmt.Sprintf("%s (pid %d) was started by this run and could not be ended: it belongs to another user", p.Name, p.PID))
	}
	for _, p := range swept.Left {
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
		Bin: bin, Repo: r.m.o.Dir, RunDir: r.dir,
		Model: r.req.Model, Effort: r.req.Effort, Resume: r.req.Resume,
		MaxTurns: r.m.o.MaxTurns, UseSkills: r.m.o.UseSkills, MCP: r.m.o.MCP, ProjectSettings: !r.m.o.NoProjectSettings,
	}
	if s.Resume != "" { // the only flags that not every version has go with it
		s.Version = r.m.o.Version(ctx, bin)
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
	var files []agent.File
	for _, img := range images {
		files = append(files, agent.File{Path: img.Path, Data: img.Data})
	}
	if err := writeFiles(files); err != nil {
		return nil, errors.Wrap(err, "store a screenshot")
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

// build makes the prompt, with the project's own instructions where the agent
// does not load them because of --no-project-settings.
func (m *Manager) build(req prompt.Request, shots []agent.Image, nonce string) prompt.Built {
	o := prompt.BuildOptions{Nonce: nonce}
	for _, s := range shots {
		o.ShotPaths = append(o.ShotPaths, s.Path)
	}
	if a, ok := m.agentFor(req.Provider).(agent.Documented); ok && m.o.NoProjectSettings {
		o.ProjectDoc = readDoc(m.o.Dir, a.ProjectDoc())
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
