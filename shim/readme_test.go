package shim

import (
	"os"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/event"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEveryEventIsInTheREADME: a client reads that table to know what can
// come.
func TestEveryEventIsInTheREADME(t *testing.T) {
	text := readme(t)
	for _, e := range event.All() {
		if !strings.Contains(text, "\n| `"+e.Type()+"` |") {
			t.Errorf("the event table of README.md has no row for %s", e.Type())
		}
	}
}

// TestEveryDependencyHasItsReason: a direct dependency says in the README
// what it is for.
func TestEveryDependencyHasItsReason(t *testing.T) {
	direct := map[string]bool{}
	for _, imports := range sourcesWithTests(t) {
		for name := range imports {
			if first, _, _ := strings.Cut(name, "/"); strings.Contains(first, ".") && !strings.HasPrefix(name, module) {
				direct[name] = true
			}
		}
	}
	text := readme(t)
	for name := range direct {
		if !mentioned(text, name) {
			t.Errorf("README.md gives no reason for the dependency %s", name)
		}
	}
}

// mentioned looks for an import path or the module above it in backquotes.
func mentioned(text, name string) bool {
	for parts := strings.Split(name, "/"); len(parts) > 1; parts = parts[:len(parts)-1] {
		if strings.Contains(text, "`"+strings.Join(parts, "/")+"`") {
			return true
		}
	}
	return false
}
