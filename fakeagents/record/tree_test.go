package record

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
)

// A replacement covers whole lines, occurs once, and is as small as can be.
func TestReplacement(t *testing.T) {
	tests := []struct {
		what, before, after string
		want                fakeagents.Replace
		ok                  bool
	}{
		{"one line", "a\nb\nc\n", "a\nB\nc\n", fakeagents.Replace{Old: "b\n", New: "B\n"}, true},
		{"a line that is there twice", "x\na\nx\nb\n", "x\na\nX\nb\n", fakeagents.Replace{Old: "a\nx\nb\n", New: "a\nX\nb\n"}, true},
		{"an added line", "a\nb\n", "a\nnew\nb\n", fakeagents.Replace{}, false},
		{"a removed line", "a\nb\nc\n", "a\nc\n", fakeagents.Replace{Old: "b\n", New: ""}, true},
		{"everything", "a\n", "b\n", fakeagents.Replace{Old: "a\n", New: "b\n"}, false},
		{"emptied", "a\n", "", fakeagents.Replace{}, false},
	}
	for _, tt := range tests {
		got, ok := replacement(tt.before, tt.after)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("%s: %+v %v", tt.what, got, ok)
		}
	}
}

func TestEffectsOfATree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "repo")
	if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	put := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("a", "one\ntwo\n")
	put("gone", "x")
	put(".git/HEAD", "ref: refs/heads/main\n")
	before, err := readTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	put("a", "one\n2\n")
	put("bin", "\x00")
	put("../beside", "x")
	put(".git/index", "not looked at")
	if err := os.Remove(filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
	after, err := readTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := after.changes(before, dir, 3)
	if err != nil {
		t.Fatal(err)
	}
	var got []fakeagents.Effect
	for _, s := range seen {
		got = append(got, s.effect())
	}
	x, zero := "x", "AA=="
	want := []fakeagents.Effect{
		{Path: "../beside", Write: &x}, {Path: "a", Replace: []fakeagents.Replace{{Old: "two\n", New: "2\n"}}},
		{Path: "bin", Base64: &zero}, {Path: "gone", Delete: true},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

// An effect stands right before the tool result that names its file, however
// early or late it was seen; what was only read is no reason.
func TestPlaced(t *testing.T) {
	lines := [][]byte{
		[]byte(`{"type":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read"}]}`),
		[]byte(`{"type":"tool_result","tool_use_id":"t1","content":"read a.txt"}`),
		[]byte(`{"type":"assistant","content":[{"type":"tool_use","id":"t2","name":"Bash"}]}`),
		[]byte(`{"type":"tool_result","tool_use_id":"t2","content":"wrote b.txt"}`),
		[]byte(`{"type":"tool_result","tool_use_id":"t3","content":"wrote a.txt"}`),
		[]byte(`{"type":"result"}`),
	}
	file := func(path, text string) *fakeagents.File {
		return &fakeagents.File{Path: path, Data: []byte(text), Mode: 0o644}
	}
	tests := []struct {
		seen int
		path string
		want int
	}{{1, "a.txt", 4}, {2, "a.txt", 4}, {5, "a.txt", 4}, {1, "b.txt", 3}, {1, "c.txt", 3}, {6, "late.txt", 5}}
	for _, tt := range tests {
		got := placed([]sighting{{lines: tt.seen, path: tt.path, after: file(tt.path, "x")}}, claudeCLI{}.reporter(lines))
		if len(got) != 1 || got[0].After != tt.want {
			t.Errorf("%s seen after %d lines: %+v, want after %d", tt.path, tt.seen, got, tt.want)
		}
	}

	half := []sighting{
		{lines: 1, path: "a.txt", before: file("a.txt", "1\n2\n"), after: file("a.txt", "")},
		{lines: 2, path: "a.txt", before: file("a.txt", ""), after: file("a.txt", "1\n3\n")},
		{lines: 1, path: "tmp", after: file("tmp", "x")},
		{lines: 2, path: "tmp", before: file("tmp", "x")},
	}
	got := placed(half, claudeCLI{}.reporter(lines))
	if len(got) != 1 || len(got[0].Replace) != 1 || got[0].Replace[0].New != "3\n" {
		t.Errorf("a file seen half written: %+v", got)
	}
}

// Of codex a patch that names the file reports it, else a command that does,
// else what comes first and can have changed anything.
func TestPlacedCodex(t *testing.T) {
	lines := [][]byte{
		[]byte(`{"type":"item.completed","item":{"type":"command_execution","command":"cat a.txt"}}`),
		[]byte(`{"type":"item.completed","item":{"type":"agent_message","text":"a.txt and d.txt"}}`),
		[]byte(`{"type":"item.started","item":{"type":"file_change","changes":[{"path":"/r/a.txt"}]}}`),
		[]byte(`{"type":"item.completed","item":{"type":"file_change","changes":[{"path":"/r/a.txt"}]}}`),
		[]byte(`{"type":"item.completed","item":{"type":"command_execution","command":"touch b.txt"}}`),
		[]byte(`{"type":"turn.completed"}`),
	}
	tests := []struct {
		seen int
		path string
		want int
	}{{1, "a.txt", 3}, {4, "a.txt", 3}, {1, "b.txt", 4}, {2, "c.txt", 3}, {5, "c.txt", 4}, {6, "late.txt", 5}}
	for _, tt := range tests {
		file := &fakeagents.File{Path: tt.path, Data: []byte("x"), Mode: 0o644}
		got := placed([]sighting{{lines: tt.seen, path: tt.path, after: file}}, codexCLI{}.reporter(lines))
		if len(got) != 1 || got[0].After != tt.want {
			t.Errorf("%s seen after %d lines: %+v, want after %d", tt.path, tt.seen, got, tt.want)
		}
	}
}

// Of a rollout the chat stays, the vendor's texts and what differs each time
// do not.
func TestElideRollout(t *testing.T) {
	long, huge := strings.Repeat("x", vendorText+1), strings.Repeat("y", chatText+1)
	in := `{"type":"session_meta","payload":{"cwd":"/r","base_instructions":{"text":"` + long + `"},"git":{"commit_hash":"0123456789012345678901234567890123456789"}}}
{"type":"response_item","payload":{"role":"developer","content":[{"text":"` + long + `"}]}}
{"type":"response_item","payload":{"role":"assistant","content":[{"text":"` + long + `"}]}}
{"type":"event_msg","payload":{"item":{"aggregated_output":"` + huge + `","process_id":"4711"},"started_at":1796025853,"agent_path":"/root/sub"}}
`
	want := `{"type":"session_meta","payload":{"cwd":"/r","base_instructions":{"text":"{{ELIDED}}"},"git":{"commit_hash":"` + strings.Repeat("0", 40) + `"}}}
{"type":"response_item","payload":{"role":"developer","content":[{"text":"{{ELIDED}}"}]}}
{"type":"response_item","payload":{"role":"assistant","content":[{"text":"` + long + `"}]}}
{"type":"event_msg","payload":{"item":{"aggregated_output":"{{ELIDED}}","process_id":"1"},"started_at":1764500000,"agent_path":"/main/sub"}}
`
	if got := string(elideRollout([]byte(in))); got != want {
		t.Errorf("got %s", got)
	}
}
