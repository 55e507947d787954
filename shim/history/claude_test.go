package history

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/claude"
)

// TestReposThatShareAFolder has claude keep the sessions of a-b, a.b and a_b
// in one folder: each sees its own, in the list and by id.
func TestReposThatShareAFolder(t *testing.T) {
	config := t.TempDir()
	dir := filepath.Join(config, "projects", "-src-a-b")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	repos := []string{"/src/a-b", "/src/a.b", "/src/a_b"}
	for n, repo := range repos {
		line := fmt.Sprintf(`{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"of %s"},"timestamp":"2026-11-30T07:53:01.152Z","cwd":"%s"}`+"\n", repo, repo)
		if err := os.WriteFile(filepath.Join(dir, id(n)+".jsonl"), []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for n, repo := range repos {
		h := New(Options{History: agent.History{Repo: repo, Environ: []string{"CLAUDE_CONFIG_DIR=" + config}}, Cache: t.TempDir()})
		for range 2 {
			rows, err := h.List(t.Context(), claude.New())
			if err != nil || len(rows) != 1 || rows[0].ID != id(n) || rows[0].Title != "of "+repo {
				t.Errorf("%s: %+v, %v", repo, rows, err)
			}
		}
		for other := range repos {
			if _, err := h.Find(t.Context(), claude.New(), id(other)); (err == nil) != (other == n) {
				t.Errorf("%s: session %d: %v", repo, other, err)
			}
		}
	}
}
