package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
)

// looksOf are those that a state of the panel is seen in: light and dark, one
// of them narrow, in turn. SLIDEWRITE_E2E_LOOKS=all has every state in all four.
func looksOf(number int) []Look {
	if os.Getenv("SLIDEWRITE_E2E_LOOKS") == "all" {
		return []Look{{Dark: false, Width: 360}, {Dark: false, Width: 260}, {Dark: true, Width: 260}, {Dark: true, Width: 360}}
	}
	if number%2 == 0 {
		return []Look{{Dark: false, Width: 260}, {Dark: true, Width: 360}}
	}
	return []Look{{Dark: false, Width: 360}, {Dark: true, Width: 260}}
}

// shown are the numbers of the states that stories have shown.
var shown = struct {
	sync.Mutex
	numbers map[int]bool
}{numbers: map[int]bool{}}

// focused are the states that have every kind of control there is; in them
// each is looked at with the focus.
var focused = map[int]bool{3: true, 6: true, 14: true, 15: true, 22: true, 28: true, 30: true, 36: true, 42: true, 47: true, 49: true, 51: true, 53: true, 57: true}

// Shows looks at the panel in the state that docs/panel-states.md numbers so:
// light and dark, at its own width and at the narrowest, a screenshot each;
// nothing may stick out, and nothing may keep people out. What passes by
// itself is brought back before each look.
func (p *Page) Shows(number int, again ...func()) {
	p.T.Helper()
	name, ok := panelStates()[number]
	if !ok {
		p.T.Fatalf("docs/panel-states.md has no number %d", number)
	}
	for _, look := range looksOf(number) {
		p.Wear(look)
		for _, bring := range again {
			bring()
		}
		p.Shot(fmt.Sprintf("states/%02d-%s", number, look))
		if wide := Get[int64](p, `document.documentElement.scrollWidth`); wide > look.Width {
			p.T.Errorf("%d %s, %s: the panel is %d wide", number, name, look, wide)
		}
		p.Accessible(fmt.Sprintf("%d %s, %s", number, name, look))
		if focused[number] {
			p.FocusRings(fmt.Sprintf("%d %s, %s", number, name, look))
		}
	}
	shown.Lock()
	defer shown.Unlock()
	shown.numbers[number] = true
}

var stateRow = regexp.MustCompile(`(?m)^\| *(\d+) *\| *([^|]+?) *\|`)

// panelStates are the rows of docs/panel-states.md: number and name.
var panelStates = sync.OnceValue(func() map[int]string {
	states := map[int]string{}
	data, err := os.ReadFile(filepath.Join("..", "docs", "panel-states.md"))
	if err != nil {
		panic(err)
	}
	for _, row := range stateRow.FindAllStringSubmatch(string(data), -1) {
		number, _ := strconv.Atoi(row[1])
		states[number] = row[2]
	}
	return states
})

// notShown are the states that no story has shown.
func notShown() []string {
	shown.Lock()
	defer shown.Unlock()
	var missing []string
	states := panelStates()
	for _, number := range slices.Sorted(maps.Keys(states)) {
		if !shown.numbers[number] {
			missing = append(missing, fmt.Sprintf("%d %s", number, states[number]))
		}
	}
	return missing
}
