package grok

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// writeSession records a session below home as grok does.
func writeSession(t *testing.T, home, folder, id, summary string) {
	t.Helper()
	dir := filepath.Join(home, "sessions", folder, id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "summary.json"), []byte(summary), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFindSession(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a[b]*") // no pattern
	home := filepath.Join(base, ".grok")
	writeSession(t, home, "%2Frepo", testSession, `{"info":{"id":"x","cwd":"/repo"},"current_model_id":"grok-4.5"}`)
	const elsewhereID, brokenID, twiceID = "0198c0de-0000-7000-8000-000000000001", "0198c0de-0000-7000-8000-000000000002", "0198c0de-0000-7000-8000-000000000003"
	writeSession(t, home, "app-0123456789abcdef", elsewhereID, `{"info":{"cwd":"/elsewhere/app"}}`)
	writeSession(t, home, "%2Frepo", brokenID, `{"info":{"cwd":`)
	writeSession(t, home, "%2Fa", twiceID, `{"info":{"cwd":"/a"}}`)
	writeSession(t, home, "%2Frepo", twiceID, `{"info":{"cwd":"/repo"}}`)
	other := t.TempDir()
	tests := []struct {
		name, home, resume string
		environ            []string
		want               agent.Session
	}{
		{"found", "", testSession, []string{"HOME=" + base}, agent.Session{Folder: "/repo", Model: "grok-4.5"}},
		{"upper case", "", strings.ToUpper(testSession), []string{"HOME=" + base}, agent.Session{Folder: "/repo", Model: "grok-4.5"}},
		{"GROK_HOME", "", testSession, []string{"HOME=" + other, "GROK_HOME=" + home}, agent.Session{Folder: "/repo", Model: "grok-4.5"}},
		{"our own home", home, testSession, []string{"GROK_HOME=" + other}, agent.Session{Folder: "/repo", Model: "grok-4.5"}},
		{"of another folder, hashed", home, elsewhereID, nil, agent.Session{Folder: "/elsewhere/app"}},
		{"here and elsewhere", home, twiceID, nil, agent.Session{Folder: "/repo"}},
		{"torn", home, brokenID, nil, agent.Session{}},
		{"unknown", home, "0198c0de-0000-7000-8000-00000000ffff", nil, agent.Session{}},
		{"no id", home, "../%2Frepo/" + testSession, nil, agent.Session{}},
		{"no home", "", testSession, nil, agent.Session{}},
		{"no sessions", other, testSession, nil, agent.Session{}},
	}
	for _, tt := range tests {
		got := New(Options{Home: tt.home}).FindSession(t.Context(), agent.Spec{Repo: testRepo, Resume: tt.resume}, tt.environ)
		if got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
