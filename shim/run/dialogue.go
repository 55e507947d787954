package run

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/process"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/gitrepo"
)

const (
	// diagnosticLines is how many lines that are not JSON are kept.
	diagnosticLines = 200
	// estimateEvery is how often a usage that only estimates may be sent.
	estimateEvery = 250 * time.Millisecond
)

// dialogue is one agent process and the talk with it. Lines are read by the
// run's goroutine; timers and the snapshot come from others: mu holds them
// apart.
type dialogue struct {
	run    *Run
	fam    *process.Family
	conv   agent.Conversation
	mapper agent.Mapper

	mu       sync.Mutex
	ready    bool // the agent takes the prompt
	snapshot bool // the snapshot "before" exists and is kept
	sent     bool // the prompt was written
	lines    int
	result   chan struct{} // closed at the first result line
	resulted bool
	released bool // its input was closed after a result
	timers   []*time.Timer
	diag     []string
	lastEst  time.Time
	tools    toolTimes
}

func newDialogue(r *Run, fam *process.Family, conv agent.Conversation, mapper agent.Mapper) *dialogue {
	return &dialogue{run: r, fam: fam, conv: conv, mapper: mapper, result: make(chan struct{}), tools: newToolTimes(r.m.o.Now)}
}

// open starts the talk: the agent's own greeting, and the clocks.
func (d *dialogue) open() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.do(d.conv.Open())
	wait := d.conv.PromptAfter()
	if t := d.run.m.o.Timing.PromptAfter; wait > 0 && t > 0 {
		wait = t
	}
	if wait > 0 {
		d.after(wait, func() { d.ready = true; d.maybePrompt() })
	} else {
		d.ready = true
	}
	for _, wait := range d.run.m.o.Timing.Silences {
		d.after(wait, d.silent)
	}
}

// after runs f under the mutex, unless the talk is over by then.
func (d *dialogue) after(wait time.Duration, f func()) {
	d.timers = append(d.timers, time.AfterFunc(wait, func() {
		defer d.run.rescue()
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.timers != nil {
			f()
		}
	}))
}

// snapshotReady says that the prompt may be sent.
func (d *dialogue) snapshotReady() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.snapshot = true
	d.maybePrompt()
}

func (d *dialogue) maybePrompt() {
	if d.sent || !d.ready || !d.snapshot || d.run.isStopping() {
		return
	}
	d.sent = true
	d.do(d.conv.Prompt())
}

// do carries out what the conversation wants.
func (d *dialogue) do(s agent.Step) {
	for _, line := range s.Write {
		d.fam.WriteLine(line)
	}
	if s.Ready {
		d.ready = true
		d.maybePrompt()
	}
	if s.Result && !d.resulted {
		d.resulted = true
		close(d.result)
	}
	if s.Result {
		if wait := d.conv.CloseAfterResult(); wait > 0 {
			d.after(wait, d.release)
		}
	}
	if s.Close {
		d.release()
	}
	if s.Abort {
		go d.run.abort(d.fam)
	}
}

// release closes the agent's input: it has nothing more to do. One that goes
// on all the same is ended after a while.
func (d *dialogue) release() {
	d.fam.CloseStdin()
	if d.released || !d.resulted {
		return
	}
	d.released = true
	linger := d.conv.Linger()
	if linger == 0 {
		linger = d.run.m.o.Timing.Linger
	}
	d.after(linger, func() {
		d.run.note("lingers", event.Warning, d.run.agent.Name()+" has finished but does not end; it is ended now")
		go d.run.endAgent(d.fam) // not under our mutex: it takes seconds, and lines are still read
	})
}

// silent tells the user that nothing has come yet.
func (d *dialogue) silent() {
	if d.lines > 0 || d.run.isStopping() {
		return
	}
	msg := d.run.agent.Name() + " has not answered yet"
	if tail := d.fam.Stderr(); len(tail) > 0 {
		msg += ": " + tail[len(tail)-1]
	}
	d.run.note("silent", event.Warning, msg)
}

// read maps line after line until the agent closes its stdout.
func (d *dialogue) read() {
	for {
		line, err := d.fam.ReadLine()
		if line.Skipped > 0 {
			d.run.note("line_skipped", event.Warning, fmt.Sprintf("%s wrote a line of %d MiB; it was skipped", d.run.agent.Name(), line.Skipped>>20))
		} else if len(line.Bytes) > 0 {
			d.line(line.Bytes)
		}
		if !line.More {
			d.run.journal.publish()
		}
		if err != nil {
			if err != io.EOF {
				d.diagnose(err.Error())
			}
			return
		}
	}
}

// line maps one line and answers it.
func (d *dialogue) line(b []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines++
	if w := d.run.m.o.Wire; w != nil {
		fmt.Fprintf(w, "%s\n", b)
	}
	events, err := d.mapper.Map(b)
	if err != nil {
		d.diagnose(string(b))
	}
	if w := d.run.m.o.Debug; w != nil {
		debugLine(w, d.run.agent.Name(), b)
	}
	d.emit(events)
	clear(events) // the mapper would keep a huge text until the next line
	d.do(d.conv.Line(b))
}

// debugLine logs the type and subtype of an agent message.
func debugLine(w io.Writer, name string, b []byte) {
	var head struct{ Type, Subtype string }
	if json.Unmarshal(b, &head) != nil {
		fmt.Fprintf(w, "%s: not JSON: %.200q\n", name, b)
		return
	}
	fmt.Fprintf(w, "%s: %s\n", name, strings.TrimSpace(head.Type+" "+head.Subtype))
}

func (d *dialogue) diagnose(line string) {
	if len(line) > 2000 {
		line = line[:2000]
	}
	d.diag = append(d.diag, line)
	if len(d.diag) > diagnosticLines {
		d.diag = d.diag[1:]
	}
}

// emit adds events to the journal: estimates of usage at most every 250
// ms, and no failure of a run that we stopped ourselves.
func (d *dialogue) emit(events []event.Event) {
	for _, e := range events {
		switch e := e.(type) {
		case event.Usage:
			if e.Estimate {
				if now := d.run.m.o.Now(); now.Sub(d.lastEst) < estimateEvery {
					continue
				} else {
					d.lastEst = now
				}
			}
		case event.Start:
			d.run.began(e)
		case event.Error:
			if d.run.isStopping() {
				continue
			}
			d.run.failed.Store(true)
		}
		d.tools.see(e)
		d.run.journal.add(e)
	}
}

// finish waits for the process and maps its end. The closing events are not
// emitted yet: of a session that turns out to be lost they are not the end.
func (d *dialogue) finish() ([]event.Event, agent.Facts) {
	exit := d.fam.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.timers {
		t.Stop()
	}
	d.timers = nil
	exit.Stopped = d.run.isStopping()
	exit.Stderr = tail(append(d.diag, d.fam.Stderr()...))
	events := d.mapper.Finish(exit)
	facts := d.mapper.Facts()
	d.run.m.unknown.Add(int64(facts.Unknown))
	return events, facts
}

// close emits the closing events.
func (d *dialogue) close(events []event.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.emit(events)
	d.run.journal.publish()
}

// tail is the end of the diagnostics that goes into an error message.
func tail(lines []string) string {
	const most = 20
	if len(lines) > most {
		lines = lines[len(lines)-most:]
	}
	return strings.Join(lines, "\n")
}

// interrupt is the first move of a stop: the agent's own request where it has
// one; before the prompt, the end of its input.
func (d *dialogue) interrupt() process.Opening {
	d.mu.Lock()
	defer d.mu.Unlock()
	step, ok := d.conv.Interrupt()
	switch {
	case !ok:
		return process.Signal
	case step.Close:
		return process.CloseStdin
	}
	d.do(step)
	return process.Asked
}

// toolTimes records when the agent's tools ran and which paths they named.
type toolTimes struct {
	now   func() time.Time
	open  map[string]time.Time
	done  []gitrepo.Window
	paths []string
	edits []edit
}

// edit is a path that an edit tool named.
type edit struct {
	id, path string
	failed   bool
}

func newToolTimes(now func() time.Time) toolTimes {
	return toolTimes{now: now, open: map[string]time.Time{}}
}

func (t *toolTimes) see(e event.Event) {
	switch e := e.(type) {
	case event.Tool:
		t.begin(e.ID) // what it reads or searches is not named as its own
	case event.FileEdit:
		t.begin(e.ID)
		t.paths = append(t.paths, e.Path)
		t.edits = append(t.edits, edit{id: e.ID, path: e.Path})
	case event.ToolResult:
		t.end(e.ID)
		for i := range t.edits {
			if t.edits[i].id == e.ID {
				t.edits[i].failed = e.IsError
			}
		}
	}
}

func (t *toolTimes) begin(id string) {
	if _, ok := t.open[id]; !ok {
		t.open[id] = t.now()
	}
}

func (t *toolTimes) end(id string) {
	if start, ok := t.open[id]; ok {
		t.done = append(t.done, gitrepo.Window{Start: start, End: t.now()})
		delete(t.open, id)
	}
}

// log is what gitrepo needs; calls that were never answered end now.
func (t *toolTimes) log(complete bool) gitrepo.ToolLog {
	windows := append([]gitrepo.Window(nil), t.done...)
	for _, start := range t.open {
		windows = append(windows, gitrepo.Window{Start: start, End: t.now()})
	}
	log := gitrepo.ToolLog{Complete: complete, Windows: windows, Paths: t.paths}
	for _, e := range t.edits {
		if !e.failed {
			log.Edited = append(log.Edited, e.path)
		}
	}
	return log
}

// startError turns a failure to start the agent into the error event.
func startError(name string, err error) event.Error {
	e := event.Error{Message: errors.Wrapf(err, "start %s", name).Error(), Code: event.CodeCrashed, Fix: Hint(err)}
	if errors.Is(err, process.ErrNotFound) {
		e.Code = event.CodeNotFound
	}
	return e
}
