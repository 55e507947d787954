package drift

import (
	"strings"

	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// shape is what was seen of a side, place by place.
type shape struct {
	scenarios []*scenario
	maps      map[string]map[string]bool // by stream: paths of objects whose keys are data
	places    map[place]*seen
	paths     []place // in the order they were first seen in
	orders    map[place]*orders
}

// seen is what was seen at one place.
type seen struct {
	parent string
	in     []int          // scenarios, ascending
	kinds  map[kind][]int // scenarios by what the value was
	values map[string]int // short words, with the first scenario that has them
	free   bool           // the text is no word of a few: a name, an id, prose
}

// aWord is a value that can be one of a few. What has an id, a path, a number
// or a space in it is none.
var aWord = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_.:\[\]-]{0,39}$`)

// anID is what tells an id from a word: long numbers, and digits among letters.
var anID = lazyregexp.New(`[0-9]{5}|[0-9a-f]{8}-|[a-z][0-9]+[a-z]|[0-9][a-z]+[0-9]|_[0-9]+$|^req_`)

// mostWords is how many different words a place may have, a member of an
// object and an element of a list.
const mostWords, mostElements = 24, 80

// shapesOf takes the shapes of two sides' scenarios.
func shapesOf(a, b []*scenario) (shapeA, shapeB *shape) {
	// Whether an object's keys are data is known when all of them were seen.
	maps := map[string]map[string]bool{}
	for _, c := range append(append([]*scenario{}, a...), b...) {
		c.walk(maps, func(place, string, *node) {})
	}
	return shapeOf(a, maps), shapeOf(b, maps)
}

func shapeOf(scenarios []*scenario, maps map[string]map[string]bool) *shape {
	s := &shape{scenarios: scenarios, maps: maps, places: map[place]*seen{}, orders: map[place]*orders{}}
	for i, c := range scenarios {
		c.walk(maps, func(p place, parent string, n *node) { s.note(p, parent, i, n) })
		s.noteOrders(i, c)
	}
	return s
}

// walk visits every place of a scenario.
func (c *scenario) walk(maps map[string]map[string]bool, visit func(p place, parent string, n *node)) {
	for _, st := range c.streams {
		w := st.walker(maps)
		w.visit = func(path, parent string, n *node) { visit(place{st.where, path}, parent, n) }
		w.visit(wholeFile, "", nil)
		for _, l := range st.lines {
			w.line(l.tree)
		}
	}
}

func (st *stream) walker(maps map[string]map[string]bool) *walker {
	if maps[st.where] == nil {
		maps[st.where] = map[string]bool{}
	}
	return &walker{maps: maps[st.where], tools: st.tools}
}

func (s *shape) note(p place, parent string, scenario int, n *node) {
	at := s.places[p]
	if at == nil {
		at = &seen{parent: parent, kinds: map[kind][]int{}, values: map[string]int{}}
		s.places[p] = at
		s.paths = append(s.paths, p)
	}
	at.in = addLast(at.in, scenario)
	if n == nil {
		return
	}
	at.kinds[n.kind] = addLast(at.kinds[n.kind], scenario)
	if n.kind != text && n.kind != boolean || at.free {
		return
	}
	word := strings.Trim(string(n.raw), `"`)
	if !aWord.MatchString(word) || anID.MatchString(word) || len(at.values) > mostElements {
		at.free = true
		return
	}
	if _, known := at.values[word]; !known {
		at.values[word] = scenario
	}
}

// addLast adds n to ascending numbers that end with n or less.
func addLast(list []int, n int) []int {
	if len(list) > 0 && list[len(list)-1] == n {
		return list
	}
	return append(list, n)
}

// isEnum tells whether a place has one of a few words.
func (at *seen) isEnum(p place) bool {
	most := mostWords
	if strings.HasSuffix(p.path, "[]") {
		most = mostElements
	}
	return !at.free && len(at.values) > 0 && len(at.values) <= most
}
