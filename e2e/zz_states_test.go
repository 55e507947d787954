package e2e

import (
	"flag"
	"testing"
)

// TestZEveryStateWasShown is the last one: each state of docs/panel-states.md
// has its screenshots. A part of the tests (-run) shows a part of the states.
func TestZEveryStateWasShown(t *testing.T) {
	if flag.Lookup("test.run").Value.String() != "" || len(shown.numbers) == 0 {
		return
	}
	for _, state := range notShown() {
		t.Errorf("no story has shown the panel's state %s", state)
	}
}
