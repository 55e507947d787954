package drift

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// reader runs our own code over the scenarios of a side, as they were recorded
// and with something taken out.
type reader struct {
	agent  agent.Agent
	shape  *shape
	plain  map[*stream]string // output of the stream as it was recorded
	cached map[place]bool
}

func newReader(a agent.Agent, s *shape) *reader {
	return &reader{agent: a, shape: s, plain: map[*stream]string{}, cached: map[place]bool{}}
}

// values stand for the placeholders.
func values() fakeagents.Values {
	return fakeagents.Values{
		Repo: "/srv/repo", Session: "5e551011-0000-4000-8000-000000000001", Home: "/home/dev", Tmp: "/tmp/t",
		Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), PID: 4711,
	}
}

// relies tells whether our output changes when the place is not there.
func (r *reader) relies(p place) bool {
	relied, known := r.cached[p]
	if !known {
		relied = r.reliesOn(p)
		r.cached[p] = relied
	}
	return relied
}

func (r *reader) reliesOn(p place) bool {
	at := r.shape.places[p]
	if at == nil {
		return false
	}
	if lineLabel, isLine := lineOf(p.path); !isLine && !r.relies(place{p.where, lineLabel}) {
		return false // of such a line nothing is read
	}
	return r.reliesIn(p, at.in)
}

// lineOf is the label of the line that a path is in.
func lineOf(path string) (label string, isLine bool) {
	label, _, inside := strings.Cut(path, ":")
	return label, !inside
}

// reliesIn is relies, in the given scenarios alone.
func (r *reader) reliesIn(p place, in []int) bool {
	return slices.ContainsFunc(r.tried(in), func(i int) bool {
		c := r.shape.scenarios[i]
		return slices.ContainsFunc(c.streams, func(st *stream) bool { return r.differs(c, st, p) })
	})
}

// long is how many bytes make a scenario a long one.
const long = 64 << 10

// tried are the scenarios that are tried: long ones only where there are no
// others.
func (r *reader) tried(in []int) []int {
	short := slices.DeleteFunc(slices.Clone(in), func(i int) bool { return r.shape.scenarios[i].size > long })
	if len(short) == 0 {
		return in
	}
	return short
}

// learn finds out about many places, in all scenarios: most streams are alike
// without any of them, and that is one look.
func (r *reader) learn(places []place) {
	for _, p := range places {
		r.cached[p] = false
	}
	for _, c := range r.shape.scenarios {
		for _, st := range c.streams {
			if r.differs(c, st, places...) {
				r.blame(c, st, places)
			}
		}
	}
}

// blame marks the places that make the output of a stream differ: each that
// does so alone; of some that stand in for one another, each that keeps the
// output as it is when it alone stays; and where there is no telling, all.
func (r *reader) blame(c *scenario, st *stream, places []place) {
	found := false
	mark := func(matters func(i int, p place) bool) {
		if found {
			return
		}
		for i, p := range places {
			if p.where == st.where && matters(i, p) {
				r.cached[p], found = true, true
			}
		}
	}
	mark(func(_ int, p place) bool { return r.differs(c, st, p) })
	mark(func(i int, _ place) bool { return !r.differs(c, st, slices.Delete(slices.Clone(places), i, i+1)...) })
	mark(func(_ int, p place) bool {
		_, changed := r.take(st, []place{p})
		return changed
	})
}

// differs tells whether our output of a stream changes without places of it.
func (r *reader) differs(c *scenario, st *stream, places ...place) bool {
	lines, changed := r.take(st, places)
	if !changed {
		return false
	}
	if _, done := r.plain[st]; !done {
		all, _ := r.take(st, nil)
		r.plain[st] = r.output(c, st, all)
	}
	return r.output(c, st, lines) != r.plain[st]
}

// take returns a stream's lines without places of it, and whether any was
// there.
func (r *reader) take(st *stream, places []place) (lines [][]byte, changed bool) {
	labels, paths := map[string]bool{}, map[string]bool{}
	for _, p := range places {
		if p.where == st.where {
			l, _ := lineOf(p.path)
			labels[l], paths[p.path] = true, true
		}
	}
	w := st.walker(r.shape.maps)
	for _, l := range st.lines {
		switch {
		case paths[wholeFile]:
			changed = true
		case !labels[l.label]:
			lines = append(lines, l.raw)
		case paths[l.label]:
			changed = true
		default:
			out := map[*node]bool{}
			w.visit = func(at, _ string, n *node) {
				if paths[at] {
					out[n] = true
				}
			}
			w.line(l.tree)
			if len(out) == 0 {
				lines = append(lines, l.raw)
				continue
			}
			lines, changed = append(lines, l.tree.without(out)), true
		}
	}
	return lines, changed
}

// output is all that our code makes of a stream, as text.
func (r *reader) output(c *scenario, st *stream, lines [][]byte) string {
	if st.file {
		return r.history(st, lines)
	}
	return r.live(c, lines)
}

// live is what the mapper and the conversation make of a run's lines.
func (r *reader) live(c *scenario, lines [][]byte) string {
	var out strings.Builder
	m := r.agent.NewMapper(c.mapOptions())
	talk := r.agent.Converse(agent.Spec{Prompt: c.fixture.Prompt(), Repo: values().Repo})
	talk.Open()
	asked := false
	for _, l := range lines {
		events, _ := m.Map(l)
		write(&out, events)
		step := talk.Line(l)
		if s := step; s.Ready || s.Result || s.Close || s.Abort || len(s.Write) > 0 {
			write(&out, s)
		}
		if step.Ready && !asked {
			asked = true
			talk.Prompt()
		}
	}
	write(&out, m.Finish(c.exit()))
	facts := m.Facts()
	facts.Unknown = 0 // a line nobody knows is not one that is relied on
	write(&out, facts)
	return out.String()
}

// history is what the list and the replay of sessions make of a file.
func (r *reader) history(st *stream, lines [][]byte) string {
	h, ok := r.agent.(agent.Historian)
	if !ok {
		return ""
	}
	v := values()
	about := agent.History{Repo: v.Repo, Environ: []string{"HOME=" + v.Home}}
	var out strings.Builder
	scan, err := h.NewScan(about, agent.Transcript{ID: v.Session, Path: path.Join("/nowhere", v.Session), Whole: st.whole}, nil)
	if err != nil {
		return ""
	}
	replay := h.NewReplay(about)
	for _, l := range lines {
		scan.Line(l)
		if !st.whole {
			if replay.Begins(l) {
				write(&out, replay.End())
			}
			write(&out, replay.Map(l))
		}
	}
	write(&out, replay.End())
	write(&out, scan.Verdict())
	write(&out, scan.Row())
	return out.String()
}

// write appends a value as a line of JSON; events are written with their types.
func write(out *strings.Builder, v any) {
	events, are := v.([]event.Event)
	for _, e := range events {
		b, _ := event.Encode(e) // what cannot be encoded is the same both times
		out.Write(append(b, '\n'))
	}
	if !are {
		b, _ := json.Marshal(v)
		out.Write(append(b, '\n'))
	}
}

// mapOptions are the mapper's for a run.
func (c *scenario) mapOptions() agent.MapOptions {
	v := values()
	o := agent.MapOptions{Repo: v.Repo, RunID: "run"}
	if c.resumed {
		o.Resume = c.resumes(v)
	}
	if i := slices.Index(c.fixture.Argv, "-m"); i >= 0 && i+1 < len(c.fixture.Argv) {
		o.Model = c.fixture.Argv[i+1]
	}
	return o
}

// resumes is the session that the run went on with.
func (c *scenario) resumes(v fakeagents.Values) string {
	for _, arg := range c.fixture.Argv {
		if id := string(v.FillText([]byte(arg))); agent.UUIDPattern.MatchString(id) {
			return id
		}
	}
	return v.Session
}

// exit is how the run's process ended. What was interrupted or killed was
// stopped on purpose.
func (c *scenario) exit() agent.Exit {
	f := c.fixture
	return agent.Exit{Code: f.Exit, Signal: f.Signal, Stderr: string(f.Stderr), Stopped: f.Interrupted() || f.Signal != ""}
}

// What our code says of a line's type.
type familiarity int

const (
	silent  familiarity = iota // it does not count unknown types there
	known                      // it knows the type
	unknown                    // it counts it as unknown
)

// knows tells whether the mapper knows the type of the objects at p.
func (r *reader) knows(p place) familiarity {
	for _, i := range r.shape.places[p].in {
		c := r.shape.scenarios[i]
		for _, st := range c.streams {
			if st.where != p.where || st.file {
				continue
			}
			if f := r.familiar(c, st, p.path); f != silent {
				return f
			}
		}
	}
	return silent
}

// familiar compares what is unknown about the lines with a path, with what is
// once the types there are ones that no CLI has.
func (r *reader) familiar(c *scenario, st *stream, path string) familiarity {
	w := st.walker(r.shape.maps)
	lineLabel, _ := lineOf(path)
	for _, l := range st.lines {
		if l.label != lineLabel {
			continue
		}
		var typed *node
		w.visit = func(at, _ string, n *node) {
			if at == path {
				typed = n
			}
		}
		w.line(l.tree)
		if typed == nil {
			continue
		}
		if r.unknownIn(c, l.raw) > 0 {
			return unknown
		}
		if r.unknownIn(c, l.tree.retyped(typed)) > 0 {
			return known
		}
		return silent
	}
	return silent
}

func (r *reader) unknownIn(c *scenario, raw []byte) int {
	m := r.agent.NewMapper(c.mapOptions())
	_, _ = m.Map(raw) // a line alone: only what is unknown about it counts
	return m.Facts().Unknown
}

// nobody is a type that no CLI has.
var nobody = []byte(`"drift_no_such_type"`)

// retyped writes n with the type of one of its objects changed: its subtype
// where it has one and is a system line.
func (n *node) retyped(typed *node) []byte {
	key := "type"
	if strings.HasPrefix(label(typed), "system/") {
		key = "subtype"
	}
	t := typed.get(key)
	if t == nil {
		return n.raw
	}
	was := t.raw
	t.raw = nobody
	defer func() { t.raw = was }()
	return n.without(nil)
}
