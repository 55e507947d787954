package claude

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent"
)

func TestProjectName(t *testing.T) {
	long := "/" + strings.Repeat("ab/", 80) // 241 characters
	for _, c := range []struct{ cwd, want string }{
		{"/home/u/my_app.v2", "-home-u-my-app-v2"},
		{"/x/é😀Z", "-x----Z"}, // an emoji is two UTF-16 units
		{"/" + strings.Repeat("a", 199), "-" + strings.Repeat("a", 199)},
	} {
		if got := projectName(c.cwd); got != c.want {
			t.Errorf("%q: got %q, want %q", c.cwd, got, c.want)
		}
	}
	got := projectName(long)
	if !strings.HasPrefix(got, strings.ReplaceAll(long, "/", "-")[:200]+"-") || len(got) < 203 || len(got) > 208 {
		t.Errorf("long name: %q", got)
	}
	if got == projectName(long+"x") {
		t.Error("two long folders share one name")
	}
}

func TestFindSession(t *testing.T) {
	const id = "0b6b0f6c-7a59-4a3c-9a0e-6d1b8f0e2c11"
	config := t.TempDir()
	write := func(folder, text string) {
		t.Helper()
		dir := filepath.Join(config, "projects", projectName(folder))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	find := func(repo, resume string) string {
		return New().FindSession(t.Context(), agent.Spec{Repo: repo, Resume: resume}, []string{"HOME=/nowhere", "CLAUDE_CONFIG_DIR=" + config}).Folder
	}
	if got := find("/p/app", id); got != "" {
		t.Errorf("no transcript, and yet it was found in %q", got)
	}
	write("/p/other", "{\"type\":\"mode\"}\nnot json\n{\"type\":\"user\",\"cwd\":\"/p/other\"}\n")
	if got := find("/p/app", id); got != "/p/other" {
		t.Errorf("a session of another folder: got %q", got)
	}
	if got := find("/p/other", strings.ToUpper(id)); got != "/p/other" {
		t.Errorf("in its own folder: got %q", got)
	}
	// a.b and a_b share one folder: the record decides.
	write("/p/a.b", `{"cwd":"/p/a.b"}`)
	if got := find("/p/a_b", id); got != "/p/a.b" {
		t.Errorf("a shared folder: got %q", got)
	}
	if got := find("/p/app", "../../etc/passwd"); got != "" {
		t.Errorf("not a UUID: got %q", got)
	}
}

// TestFindSessionBehindALongRecord has the folder stand where claude writes it:
// behind a message of any length.
func TestFindSessionBehindALongRecord(t *testing.T) {
	const id = "0b6b0f6c-7a59-4a3c-9a0e-6d1b8f0e2c11"
	picture := `{"type":"image","source":{"type":"base64","data":"` + strings.Repeat("iVBORw0KGgo/", 300_000) + `"}}`
	said := func(content string) string {
		return `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":` + content + `}`
	}
	tail := `,"timestamp":"2026-11-30T07:53:01.152Z","cwd":"/p/other","sessionId":"` + id + `"}` + "\n"
	for name, c := range map[string]struct {
		text    string
		folder  string
		unknown bool
	}{
		"a text":                      {said(`"`+strings.Repeat(`word \" \u00e9\\ `, 200_000)+`"`) + tail, "/p/other", false},
		"pictures":                    {said(`[`+picture+`,`+picture+`,{"type":"text","text":"green"}]`) + tail, "/p/other", false},
		"a text without a blank":      {said(`"`+strings.Repeat(`x`, 5<<20)+`"`) + tail, "/p/other", false},
		"many texts":                  {said(`[`+strings.Repeat(`{"type":"text","text":"a"},`, 100_000)+`{}]`) + "}\n" + said(`"x"`) + tail, "/p/other", false},
		"being written":               {said(`"` + strings.Repeat("word ", 400_000)), "", true},
		"none in a conversation":      {said(`"x"`) + "}\n", "", true},
		"none, and nothing was said":  {`{"type":"queue-operation","operation":"enqueue"}` + "\n", "", false},
		"a torn record, nothing else": {`{"type":"us`, "", false},
	} {
		config := t.TempDir()
		dir := filepath.Join(config, "projects", projectName("/p/app"))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := New().FindSession(t.Context(), agent.Spec{Repo: "/p/app", Resume: id}, []string{"CLAUDE_CONFIG_DIR=" + config})
		if got.Folder != c.folder || got.Unknown != c.unknown {
			t.Errorf("%s: %+v, want %q, unknown %v", name, got, c.folder, c.unknown)
		}
	}
}
