package cli

import (
	"testing"

	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// TestEveryPatternCompiles: patterns are compiled at their first use, and one
// that does not compile must not wait for that to be found.
func TestEveryPatternCompiles(t *testing.T) {
	all := lazyregexp.All()
	if len(all) < 50 {
		t.Errorf("only %d patterns: the test looks at few", len(all))
	}
	for _, re := range all {
		_ = re.String() // panics where it does not compile
	}
}
