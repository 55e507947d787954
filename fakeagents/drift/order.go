package drift

import (
	"fmt"
	"slices"
	"strings"
)

// orders are the sequences in which names were seen to come, each once.
type orders struct {
	known map[string]bool
	all   [][]string
	in    []int // the scenario that each was first seen in
}

func (o *orders) note(scenario int, names []string) {
	key := strings.Join(names, "\x00")
	if o.known[key] {
		return
	}
	if o.known == nil {
		o.known = map[string]bool{}
	}
	o.known[key] = true
	o.all = append(o.all, names)
	o.in = append(o.in, scenario)
}

// order is which of two names comes first in all sequences that have both.
type order int

const (
	apart order = iota // they are never together, or now this way, now that
	first
	second
)

func (o *orders) of(x, y string) order {
	was := apart
	for _, names := range o.all {
		i, j := slices.Index(names, x), slices.Index(names, y)
		if i < 0 || j < 0 {
			continue
		}
		now := first
		if j < i {
			now = second
		}
		if was != apart && was != now {
			return apart
		}
		was = now
	}
	return was
}

// names are all names, in the order of the first sequence that has them.
func (o *orders) names() (all []string) {
	for _, names := range o.all {
		for _, n := range names {
			if !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
	}
	return all
}

// turned are the pairs that came one way round in a and come the other in b.
func turned(a, b *orders) (pairs [][2]string) {
	names := a.names()
	for i, x := range names {
		for _, y := range names[i+1:] {
			if was, is := a.of(x, y), b.of(x, y); was != apart && is != apart && was != is {
				if was == second {
					x, y := y, x
					pairs = append(pairs, [2]string{x, y})
					continue
				}
				pairs = append(pairs, [2]string{x, y})
			}
		}
	}
	return pairs
}

// linesOf is the place under which the order of a run's lines is kept.
const linesOf = "(lines)"

// noteOrders notes in which order a scenario's lines first come, and the
// members of each.
func (s *shape) noteOrders(i int, c *scenario) {
	for _, st := range c.streams {
		var labels []string
		for _, l := range st.lines {
			if l.tree == nil {
				continue
			}
			if !slices.Contains(labels, l.label) {
				labels = append(labels, l.label)
			}
			keys := make([]string, 0, len(l.tree.members))
			for _, m := range l.tree.members {
				keys = append(keys, m.key)
			}
			s.order(place{st.where, l.label}).note(i, keys)
		}
		s.order(place{st.where, linesOf}).note(i, labels)
	}
}

func (s *shape) order(p place) *orders {
	if s.orders[p] == nil {
		s.orders[p] = &orders{}
	}
	return s.orders[p]
}

// orderDrift lists lines that come in another order, and lines whose members
// do.
func (d *diff) orderDrift() {
	for _, p := range d.a.linePlaces() {
		a, b := d.a.orders[p], d.b.orders[p]
		if a == nil || b == nil {
			continue
		}
		pairs := turned(a, b)
		if len(pairs) == 0 {
			continue
		}
		f := Finding{Class: Order, What: "keys", place: p, example: b.in[0], in: len(d.b.places[p].in)}
		if was, is := a.all[0][0], b.all[0][0]; was != is {
			f.Detail = fmt.Sprintf("its keys come in another order: %s is first now, %s was", is, was)
		} else {
			f.Detail = fmt.Sprintf("its keys come in another order: %s before %s, say", pairs[0][1], pairs[0][0])
		}
		d.add(f)
	}
	for where, st := range d.a.streams() {
		a, b := d.a.orders[place{where, linesOf}], d.b.orders[place{where, linesOf}]
		if !st || b == nil {
			continue
		}
		for _, pair := range turned(a, b) {
			p := place{where, pair[1]}
			d.add(Finding{Class: Order, What: "lines", place: p, example: b.with(pair[0], pair[1]), in: len(d.b.places[p].in),
				Detail: "comes before " + pair[0] + " now"})
		}
	}
}

// with is the scenario of the first sequence that has both names.
func (o *orders) with(x, y string) int {
	for i, names := range o.all {
		if slices.Contains(names, x) && slices.Contains(names, y) {
			return o.in[i]
		}
	}
	return 0
}
