package drift

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// Class is what a finding means for us. docs/drift.md says what to do.
type Class string

// The classes, the worst first.
const (
	LostMapped   Class = "lost-mapped"   // our output hung on it, and it is gone
	NewUnmapped  Class = "new-unmapped"  // it is new where our code reads, and nothing reads it
	Counts       Class = "counts"        // it comes more or less often, or counts on over a session
	Values       Class = "values"        // words of an enumeration came or went
	Order        Class = "order"         // lines or keys come in another order
	NewMapped    Class = "new-mapped"    // it is new, and our code reads it already
	NewIgnored   Class = "new-ignored"   // it is new where our code does not look
	LostUnmapped Class = "lost-unmapped" // it is gone, and nothing hung on it
)

// Classes in the order of the report.
var Classes = []Class{LostMapped, NewUnmapped, Counts, Values, Order, NewMapped, NewIgnored, LostUnmapped}

// shownAlways tells whether a class is one that somebody should look at.
func (c Class) shownAlways() bool {
	return c != NewMapped && c != NewIgnored && c != LostUnmapped
}

// Finding is one difference of two sides.
type Finding struct {
	Class    Class    `json:"class"`
	What     string   `json:"what"`            // added, gone, retyped, values, keys, lines, more, fewer, cumulative, per-run
	Where    string   `json:"where"`           // stdout, or the kind of file
	Path     string   `json:"path"`            // of the line and in it
	Detail   string   `json:"detail"`          // for people, "" where added or gone says it all
	Mapped   bool     `json:"mapped"`          // our output changes without it
	Added    []string `json:"added,omitempty"` // words that came
	Gone     []string `json:"gone,omitempty"`  // words that went
	Example  string   `json:"example"`         // a scenario that shows it
	Examples int      `json:"scenarios"`       // how many have the place

	place   place
	parent  string
	example int
	in      int
	mapped  bool
}

// Report is what Compare found.
type Report struct {
	A         SideInfo  `json:"a"`
	B         SideInfo  `json:"b"`
	Compared  int       `json:"compared"` // scenarios
	OnlyA     []string  `json:"onlyA"`    // scenarios that the other side does not have
	OnlyB     []string  `json:"onlyB"`
	Findings  []Finding `json:"findings"`
	Scenarios []Row     `json:"events"` // what clients are told, where it differs
}

// SideInfo says what a side is.
type SideInfo struct {
	Name      string `json:"name"`
	Agent     string `json:"agent"`
	Version   string `json:"version"`
	Scenarios int    `json:"scenarios"`
}

func (s *Side) info() SideInfo {
	return SideInfo{s.Name, s.Agent, s.Version, len(s.scenarios)}
}

// Lost tells whether something that we rely on is gone.
func (r *Report) Lost() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Class == LostMapped })
}

// diff is one comparison.
type diff struct {
	a, b *shape
	read struct{ a, b *reader }
	out  []Finding
}

// Compare compares the scenarios that both sides have. adapters are ours, of
// all agents.
func Compare(a, b *Side, adapters []agent.Agent) (*Report, error) {
	if a.Agent != b.Agent {
		return nil, wrong("compare two versions of one CLI", "%s is of %s, %s of %s", a.Name, a.Agent, b.Name, b.Agent)
	}
	adapter, err := adapterOf(a.Agent, adapters)
	if err != nil {
		return nil, err
	}
	r := &Report{A: a.info(), B: b.info(), Findings: []Finding{}, Scenarios: []Row{}}
	var ofA, ofB []*scenario
	ofA, ofB, r.OnlyA, r.OnlyB = pair(a, b)
	if r.Compared = len(ofA); r.Compared == 0 {
		return nil, wrong("record or capture the same scenarios on both sides",
			"%s and %s have no scenario in common: %s there, %s here", a.Name, b.Name, some(r.OnlyA), some(r.OnlyB))
	}
	d := &diff{}
	d.a, d.b = shapesOf(ofA, ofB)
	d.read.a, d.read.b = newReader(adapter, d.a), newReader(adapter, d.b)
	d.placeDrift()
	d.orderDrift()
	d.countDrift()
	d.totalDrift()
	r.Findings = append(r.Findings, d.finish()...)
	for i := range ofA {
		row, err := compareEvents(adapter, ofA[i], ofB[i])
		if err != nil {
			return nil, err
		}
		if row.Verdict != Same {
			r.Scenarios = append(r.Scenarios, row)
		}
	}
	return r, nil
}

func adapterOf(name string, adapters []agent.Agent) (agent.Agent, error) {
	for _, a := range adapters {
		if a.Name() == name {
			return a, nil
		}
	}
	return nil, wrong("claude, codex and grok are known", "there is no agent %q", name)
}

// pair brings the scenarios of both sides together by name, in the order of
// their names. One scenario on each side is compared whatever it is called.
func pair(a, b *Side) (ofA, ofB []*scenario, onlyA, onlyB []string) {
	onlyA, onlyB = []string{}, []string{}
	if len(a.scenarios) == 1 && len(b.scenarios) == 1 {
		return a.scenarios, b.scenarios, onlyA, onlyB
	}
	left := map[string]*scenario{}
	for _, c := range b.scenarios {
		left[c.key] = c
	}
	byKey := slices.SortedFunc(slices.Values(a.scenarios), func(x, y *scenario) int { return strings.Compare(x.key, y.key) })
	for _, c := range byKey {
		if other := left[c.key]; other != nil {
			ofA, ofB = append(ofA, c), append(ofB, other)
			delete(left, c.key)
			continue
		}
		onlyA = append(onlyA, c.key)
	}
	return ofA, ofB, onlyA, append(onlyB, sortedKeys(left)...)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// some names the first of a list.
func some(list []string) string {
	const most = 3
	if len(list) == 0 {
		return "none"
	}
	if len(list) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
	}
	return strings.Join(list, ", ")
}

func (d *diff) add(f Finding) {
	d.out = append(d.out, f)
}

// finish fills in what findings say to others, and sorts them.
func (d *diff) finish() []Finding {
	for i := range d.out {
		f := &d.out[i]
		f.Where, f.Path, f.Mapped, f.Examples = f.place.where, f.place.path, f.mapped, f.in
		f.Example = d.b.scenarios[f.example].key // both sides have it
	}
	sort.SliceStable(d.out, func(i, j int) bool {
		x, y := d.out[i], d.out[j]
		if x.Class != y.Class {
			return slices.Index(Classes, x.Class) < slices.Index(Classes, y.Class)
		}
		if x.Where != y.Where { // stdout before files
			return y.Where != stdout && (x.Where == stdout || x.Where < y.Where)
		}
		return x.Path < y.Path
	})
	return d.out
}

// linePlaces are the places of whole lines.
func (s *shape) linePlaces() (lines []place) {
	for _, p := range s.paths {
		if _, isLine := lineOf(p.path); isLine {
			lines = append(lines, p)
		}
	}
	return lines
}

// streams are the streams that there are.
func (s *shape) streams() map[string]bool {
	all := map[string]bool{}
	for p := range s.places {
		all[p.where] = true
	}
	return all
}

// placeDrift lists places that came, went or changed. What is inside of one
// that came or went is not told of.
func (d *diff) placeDrift() {
	gone, added := missing(d.a, d.b), missing(d.b, d.a)
	d.read.a.learn(gone)
	d.read.b.learn(added)
	for _, p := range gone {
		d.gone(p, d.a.places[p])
	}
	for _, p := range added {
		d.new(p, d.b.places[p])
	}
	for _, p := range d.b.paths {
		if was, is := d.a.places[p], d.b.places[p]; was != nil {
			d.retyped(p, was, is)
			d.words(p, was, is)
		}
	}
}

// missing are the places of a shape that other does not have, while it has what
// they are in: an object where they are members, a list where they are elements.
func missing(s, other *shape) (places []place) {
	for _, p := range s.paths {
		parent := s.places[p].parent
		around := other.places[place{p.where, parent}]
		switch {
		case other.places[p] != nil || around == nil && parent != "":
			continue
		case parent != "" && parent != wholeFile:
			container := object
			if strings.HasSuffix(p.path, "[]") {
				container = array
			}
			if len(around.kinds[container]) == 0 { // it was of another kind: retyped
				continue
			}
		}
		places = append(places, p)
	}
	return places
}

func (d *diff) gone(p place, at *seen) {
	f := Finding{Class: LostUnmapped, What: "gone", place: p, parent: at.parent, example: at.in[0], in: len(at.in), mapped: d.read.a.relies(p)}
	if f.mapped {
		f.Class = LostMapped
	}
	if p.path == notJSON {
		f.Class = LostUnmapped
	}
	d.add(f)
}

func (d *diff) new(p place, at *seen) {
	f := Finding{Class: NewIgnored, What: "added", place: p, parent: at.parent, example: at.in[0], in: len(at.in)}
	label, isLine := lineOf(p.path)
	parent := place{p.where, at.parent}
	switch {
	case d.read.b.relies(p):
		f.Class, f.mapped = NewMapped, true
	case isLine && p.where != stdout || label == notJSON:
		f.Class = NewUnmapped // of files nothing tells which records are known
	default:
		familiar := silent
		if isLine || strings.HasSuffix(p.path, "]") && !strings.HasSuffix(p.path, "[]") {
			familiar = d.read.b.knows(p)
		}
		if familiar == unknown || familiar == silent && !isLine && (d.read.a.relies(parent) || d.read.b.relies(parent)) {
			f.Class = NewUnmapped
		}
	}
	d.add(f)
}

// retyped lists a place whose values are of another kind.
func (d *diff) retyped(p place, was, is *seen) {
	var from, to []string
	var in []int
	for k := object; k < null; k++ {
		a, b := was.kinds[k], is.kinds[k]
		switch {
		case len(a) > 0 && len(b) == 0:
			from = append(from, kindNames[k])
		case len(b) > 0 && len(a) == 0:
			to = append(to, kindNames[k])
			in = append(in, b...)
		}
	}
	if len(to) == 0 { // what never came again is in the events, if it matters
		return
	}
	slices.Sort(in)
	f := Finding{Class: NewIgnored, What: "retyped", place: p, parent: is.parent, example: in[0], in: len(in), mapped: d.read.a.relies(p)}
	f.Detail = "can be " + strings.Join(to, " or ") + " now"
	if len(from) > 0 {
		f.Detail = "was " + strings.Join(from, " or ") + ", is " + strings.Join(to, " or ")
	}
	switch {
	case d.read.b.reliesIn(p, in):
		f.Class, f.mapped = NewMapped, true
	case f.mapped && len(from) > 0:
		f.Class = LostMapped
	case f.mapped:
		f.Class = NewUnmapped
	}
	d.add(f)
}

// words lists an enumeration whose words changed.
func (d *diff) words(p place, was, is *seen) {
	sameKind := (len(was.kinds[text]) > 0) == (len(is.kinds[text]) > 0)
	if !was.isEnum(p) || !is.isEnum(p) || !sameKind {
		return
	}
	f := Finding{Class: Values, What: "values", place: p, parent: is.parent, example: is.in[0], in: len(is.in)}
	for _, word := range sortedKeys(is.values) {
		if _, known := was.values[word]; !known {
			f.Added = append(f.Added, word)
		}
	}
	for _, word := range sortedKeys(was.values) {
		if _, known := is.values[word]; !known {
			f.Gone = append(f.Gone, word)
		}
	}
	if len(f.Added)+len(f.Gone) == 0 {
		return
	}
	if len(f.Added) > 0 {
		f.example = is.values[f.Added[0]]
	} else {
		f.example = was.values[f.Gone[0]]
	}
	f.mapped = d.read.b.relies(p)
	d.add(f)
}
