package event

import (
	"math/rand/v2"
	"testing"
)

// TestEscapesAreCounted: a large text is given the room that it takes as JSON.
func TestEscapesAreCounted(t *testing.T) {
	pieces := []rune{'a', '"', '\\', '/', '\n', '\r', '\t', '\b', '\f', '\v', 0, 0x1f, 0x7f, 'é', '\u2027', '\u2028', '\u2029', '\u202a', '日', '😀', '<', '&'}
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		text := make([]rune, r.IntN(12))
		for i := range text {
			text[i] = pieces[r.IntN(len(pieces))]
		}
		s := string(text)
		if got, want := len(s)+escapes(s)+2, len(appendString(nil, s)); got != want {
			t.Fatalf("%q: room for %d bytes, it takes %d", s, got, want)
		}
	}
}
