package history

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/agent/claude"
	"github.com/slidewrite/slidewrite/shim/event"
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

// TestLongPromptsAreSessions has a prompt that is longer than what a scan gets
// to see at once: it is listed as any other, and begins a page.
func TestLongPromptsAreSessions(t *testing.T) {
	picture := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + strings.Repeat("iVBORw0KGgo/", 100_000) + `"}},`
	words := strings.Repeat(`Make it green, \"please\". `, 50_000)
	for name, c := range map[string]struct{ content, title string }{
		"typed":          {`"` + words + `"`, "Make it green"},
		"a block":        {`[{"type":"text","text":"` + words + `"}]`, "Make it green"},
		"three pictures": {`[` + picture + picture + picture + `{"type":"text","text":"\nMake it green"}]`, "Make it green"},
		"many pictures":  {`[` + strings.Repeat(picture, 20) + `{"type":"text","text":"\nMake it green"}]`, "Make it green"},
		"both":           {`[` + picture + `{"type":"text","text":"` + words + `"},` + picture + `{"type":"text","text":"x"}]`, "Make it green"},
		"too long":       {`"` + strings.Repeat("Make it green ", maxLine/14+1) + `"`, ""}, // not replayed, listed all the same
	} {
		if testing.Short() && len(c.content) > 8<<20 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			config := t.TempDir()
			dir := filepath.Join(config, "projects", "-src-shop")
			record := func(kind, content, at string) string {
				return `{"parentUuid":null,"isSidechain":false,"type":"` + kind + `","message":{"role":"` + kind + `","id":"m","content":` + content +
					`},"uuid":"u","timestamp":"2026-11-30T07:53:` + at + `.152Z","cwd":"/src/shop","gitBranch":"main"}` + "\n"
			}
			text := record("user", c.content, "01") + record("assistant", `[{"type":"text","text":"Done."}]`, "02")
			for n, text := range []string{text, record("user", `"before"`, "00") + text} {
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, id(n)+".jsonl"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			h := New(Options{History: agent.History{Repo: "/src/shop", Environ: []string{"CLAUDE_CONFIG_DIR=" + config}, Said: strings.TrimSpace}})
			rows, err := h.List(t.Context(), claude.New())
			if err != nil || len(rows) != 2 {
				t.Fatalf("%+v, %v", rows, err)
			}
			at := time.Date(2026, 11, 30, 7, 53, 1, 152e6, time.UTC)
			if r := rows[0]; !strings.HasPrefix(r.Title, "Make it green") || !strings.HasPrefix(r.FirstPrompt, "Make it green") ||
				r.Branch != "main" || !r.StartedAt.Equal(at) || !r.EndedAt.Equal(at.Add(time.Second)) || r.Messages != 2 {
				t.Errorf("%+v", r)
			}
			if rows[1].Messages != 3 {
				t.Errorf("%+v", rows[1])
			}
			users := []string{}
			each := func(e event.Event) error {
				if u, ok := e.(event.User); ok {
					users = append(users, u.Text[:min(len(u.Text), 13)])
				}
				return nil
			}
			for _, p := range []Page{{}, {Limit: 2}} {
				users = nil
				if _, err := h.Events(t.Context(), claude.New(), id(1), p, each); err != nil {
					t.Fatal(err)
				}
				want := []string{"before", c.title}
				if c.title == "" {
					want = want[:1]
				} else if p.Limit > 0 {
					want = want[1:]
				}
				if !slices.Equal(users, want) {
					t.Errorf("%+v: prompts %q, want %q", p, users, want)
				}
			}
		})
	}
}
