package golden

import "testing"

// TestComparable: what depends on the clock of a real CLI is no difference, and
// nothing else is.
func TestComparable(t *testing.T) {
	stream := func(frames ...string) string {
		s := ""
		for _, f := range frames {
			s += "id: 1\ndata: " + f + "\n\n"
		}
		return s
	}
	delta := func(text string) string { return `{"type":"delta","text":"` + text + `","messageId":"m"}` }
	result := func(id string) string {
		return `{"type":"tool_result","tool":"Read","id":"` + id + `","text":"","isError":false,"truncated":false}`
	}
	const stopped = `{"type":"stopped","by":"user"}`
	for _, tt := range []struct {
		name string
		a, b string
		same bool
	}{
		{"a text cut elsewhere", stream(delta("one "), delta("two")), stream(delta("one two")), true},
		{"another text", stream(delta("one two")), stream(delta("one too")), false},
		{"results in another order", stream(result("a"), result("b")), stream(result("b"), result("a")), true},
		{"a result missing", stream(result("a"), result("b")), stream(result("b")), false},
		{"stopped later", stream(delta("slow slow "), stopped), stream(delta("slow slow "), delta("slow "), stopped), true},
		{"stopped before a word", stream(stopped), stream(delta("slow slow "), stopped), false},
		{"another beginning", stream(delta("slow slow "), stopped), stream(delta("fast fast "), stopped), false},
		{"on the day of the reset", stream(`{"type":"error","message":"try again at Dec 1st, 2026 4:40 AM"}`), stream(`{"type":"error","message":"try again at 4:40 AM"}`), true},
		{"another hour", stream(`{"type":"error","message":"try again at Dec 1st, 2026 4:40 AM"}`), stream(`{"type":"error","message":"try again at 5:40 AM"}`), false},
		{"longer, but not stopped", stream(delta("slow slow ")), stream(delta("slow slow "), delta("slow ")), false},
	} {
		if same := Comparable(tt.a) == Comparable(tt.b); same != tt.same {
			t.Errorf("%s: same = %v\n%s\n%s", tt.name, same, Comparable(tt.a), Comparable(tt.b))
		}
	}
}
