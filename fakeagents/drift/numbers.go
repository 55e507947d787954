package drift

import (
	"fmt"
	"strconv"
	"strings"
)

// Two things that no single line shows: how often a line comes that came once
// in a run, and which numbers go on counting where a session is resumed.

// counts is how often a line comes in each scenario.
func (s *shape) counts(p place) []int {
	n := make([]int, len(s.scenarios))
	for i, c := range s.scenarios {
		for _, st := range c.streams {
			for _, l := range st.lines {
				if st.where == p.where && l.label == p.path {
					n[i]++
				}
			}
		}
	}
	return n
}

// once tells whether a line is one that comes once in most runs that have it.
func once(counts []int) bool {
	ones, runs := 0, 0
	for _, n := range counts {
		if n > 0 {
			runs++
		}
		if n == 1 {
			ones++
		}
	}
	return 4*ones >= 3*runs && runs > 1
}

// countDrift lists lines that came once in a run and come several times, or
// the other way round.
func (d *diff) countDrift() {
	for _, p := range d.a.linePlaces() {
		if p.where != stdout || d.b.places[p] == nil || p.path == notJSON {
			continue
		}
		a, b := d.a.counts(p), d.b.counts(p)
		if !once(a) && !once(b) {
			continue
		}
		var more, fewer []int
		for i := range a {
			switch {
			case b[i] > a[i] && a[i] > 0:
				more = append(more, i)
			case b[i] < a[i] && b[i] > 0:
				fewer = append(fewer, i)
			}
		}
		for _, change := range []struct {
			word string
			in   []int
		}{{"more", more}, {"fewer", fewer}} {
			if len(change.in) == 0 {
				continue
			}
			i := change.in[0]
			d.add(Finding{Class: Counts, What: change.word, place: p, example: i, in: len(change.in), mapped: d.read.b.relies(p),
				Detail: fmt.Sprintf("comes %d times in a run where it came %d", b[i], a[i])})
		}
	}
}

// numbersIn are the numbers of the first line of its kind in a scenario that
// has any above zero: path → value. Where keys are data it is their sum.
func (s *shape) numbersIn(i int, p place) map[string]float64 {
	found := map[string]float64{}
	for _, st := range s.scenarios[i].streams {
		if st.where != p.where {
			continue
		}
		w := st.walker(s.maps)
		w.visit = func(path, _ string, n *node) {
			if n == nil || n.kind != number || strings.Contains(path, "[]") {
				return
			}
			if v, err := strconv.ParseFloat(string(n.raw), 64); err == nil && v != 0 {
				found[path] += v
			}
		}
		for _, l := range st.lines {
			if l.label == p.path {
				w.line(l.tree)
				return found
			}
		}
	}
	return found
}

// runningTotal is a number that goes on counting over a session.
type runningTotal struct {
	own     string // the number it equals in a fresh run
	example int    // the first resumed scenario, where it is larger
}

// runningTotals are the numbers of a line that go on counting over a session:
// in a fresh run each equals another number of the line, in a resumed one it is
// larger than that.
func (s *shape) runningTotals(p place) map[string]runningTotal {
	type pair struct{ total, own string }
	type evidence struct {
		fresh, equal    int
		resumed, larger int
		example         int
		values          map[float64]bool // that were equal
	}
	pairs := map[pair]*evidence{}
	for i, c := range s.scenarios {
		numbers := s.numbersIn(i, p)
		for total, x := range numbers {
			for own, y := range numbers {
				if total == own {
					continue
				}
				e := pairs[pair{total, own}]
				if e == nil {
					e = &evidence{values: map[float64]bool{}}
					pairs[pair{total, own}] = e
				}
				switch {
				case c.resumed:
					e.resumed++
					if x > y {
						if e.larger == 0 {
							e.example = i
						}
						e.larger++
					}
				case x == y:
					e.fresh, e.equal = e.fresh+1, e.equal+1
					e.values[x] = true
				default:
					e.fresh++
				}
			}
		}
	}
	totals := map[string]runningTotal{}
	for p, e := range pairs {
		// Numbers that are equal by chance are so for one value, or now and then.
		if e.resumed > 0 && 5*e.larger >= 4*e.resumed && 5*e.equal >= 4*e.fresh && len(e.values) > 2 {
			if have, found := totals[p.total]; !found || p.own < have.own {
				totals[p.total] = runningTotal{p.own, e.example}
			}
		}
	}
	return totals
}

// totalDrift lists numbers that became running totals, or no longer are.
func (d *diff) totalDrift() {
	for _, p := range d.a.linePlaces() {
		if p.where != stdout || d.b.places[p] == nil || !once(d.a.counts(p)) {
			continue
		}
		was, is := d.a.runningTotals(p), d.b.runningTotals(p)
		for _, change := range []struct {
			from, to map[string]runningTotal
			what     string
			says     string
		}{
			{was, is, "cumulative", "adds up over the session now where one is resumed"},
			{is, was, "per-run", "is of the run alone now where a session is resumed"},
		} {
			for _, path := range sortedKeys(change.to) {
				at := place{p.where, path}
				if _, both := change.from[path]; both || d.a.places[at] == nil || d.b.places[at] == nil {
					continue
				}
				total := change.to[path]
				d.add(Finding{Class: Counts, What: change.what, place: at, parent: p.path, mapped: d.read.b.relies(at),
					Detail:  fmt.Sprintf("%s (a run's own: %s)", change.says, strings.TrimPrefix(total.own, p.path+":")),
					example: total.example, in: len(d.b.places[at].in)})
			}
		}
	}
}
