package server

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
)

// TestEveryRouteIsInTheREADME: its table is what a client is written from.
func TestEveryRouteIsInTheREADME(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	routes := 0
	err = chi.Walk(New(Options{}).(*server).router, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if method == http.MethodHead {
			return nil // of every GET
		}
		routes++
		if !strings.Contains(string(readme), "\n| `"+method+" "+route+"` |") {
			t.Errorf("README.md has no row for %s %s", method, route)
		}
		return nil
	})
	if err != nil || routes < 5 {
		t.Fatalf("%d routes, %v", routes, err)
	}
}
