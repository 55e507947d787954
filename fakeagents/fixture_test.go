package fakeagents_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slidewrite/slidewrite/fakeagents"
)

const minimal = "What happens.\n-- stdout.jsonl --\n-- exit --\n0\n"

// "unknown section = error, empty folder = error": a typo must not turn a
// check off, and a runner that walks nothing proves nothing.
func TestBadFixtures(t *testing.T) {
	const name = "claude/made/2.1.332/case"
	tests := []struct{ what, name, text, reason string }{
		{"unknown section", name, minimal + "-- efects --\n", "unknown section"},
		{"unknown folder", name, minimal + "-- files/a --\n", "unknown section"},
		{"unknown option", name, minimal + "-- repo/a;zip --\n", "unknown option"},
		{"section twice", name, minimal + "-- exit --\n0\n", "twice"},
		{"no comment", name, strings.TrimPrefix(minimal, "What happens.\n"), "no comment"},
		{"no exit", name, "What.\n-- stdout.jsonl --\n", "must be there"},
		{"bad exit", name, "What.\n-- stdout.jsonl --\n-- exit --\nfine\n", "exit"},
		{"bad stdin", name, minimal + "-- stdin --\n{}\n", "must be a number"},
		{"bad knob", name, minimal + "-- knobs --\nspeed=1\n", "unknown knob"},
		{"bad match", name, minimal + "-- match --\n(\n", "match"},
		{"effect of nothing", name, minimal + "-- effects --\n{\"after\":1,\"path\":\"a\"}\n", "exactly one"},
		{"effect of two", name, minimal + "-- effects --\n{\"after\":1,\"path\":\"a\",\"delete\":true,\"write\":\"x\"}\n", "exactly one"},
		{"effect with a typo", name, minimal + "-- effects --\n{\"after\":1,\"path\":\"a\",\"delet\":true}\n", "unknown field"},
		{"effects out of order", name, minimal + "-- effects --\n{\"after\":2,\"path\":\"a\",\"delete\":true}\n{\"after\":1,\"path\":\"b\",\"delete\":true}\n", "order"},
		{"bad base64", name, minimal + "-- repo/a;base64 --\n?\n", "base64"},
		{"endless repeat", name, "What.\n-- stdout.jsonl --\n{{REPEAT:x:99999999999}}\n-- exit --\n0\n", "too long"},
		{"wrong name", "claude/unreal/2.1.332/case", minimal, "the name must be"},
	}
	for _, tt := range tests {
		if _, err := fakeagents.Parse(tt.name, []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("%s: %v", tt.what, err)
		}
	}
}

// What txtar cannot hold as it is comes back byte for byte.
func TestFormatKeepsEveryByte(t *testing.T) {
	write, target, marked := "a\r\n", "../x y", "-- exit --\n"
	f := &fakeagents.Fixture{
		Name: "claude/made/2.1.332/case", Comment: "What happens.",
		Argv: []string{"-p", "--system-prompt", "two\nlines"},
		Stdin: []fakeagents.Input{
			{After: 0, Line: []byte(`{"type":"control_request"}`)}, {After: -1, Line: []byte(`{"type":"user"}`)}, {After: 7, Close: true},
		},
		Stdout: []byte(`{"text":"` + strings.Repeat("L", 50_000) + `"}` + "\n" + `{"cut`),
		Stderr: []byte("no newline"), Exit: -1, Signal: "SIGKILL",
		Knobs: map[string]string{"pace": "5ms"},
		Repo: []fakeagents.File{
			{Path: "plain", Data: []byte("x\n"), Mode: 0o644}, {Path: "empty", Mode: 0o644}, {Path: "nonl", Data: []byte("x"), Mode: 0o644},
			{Path: "crlf", Data: []byte("a\r\nb\r\n"), Mode: 0o644}, {Path: "bin", Data: []byte{0, 1, 255}, Mode: 0o755},
			{Path: "marker", Data: []byte("x\n" + marked), Mode: 0o644}, {Path: "new\nline; 100% ", Data: []byte("x\n"), Mode: 0o644},
			{Path: "link", Data: []byte(target), Symlink: true, Mode: 0o644}, {Path: "placeholder", Data: bytes.Repeat([]byte("y"), 5000), Mode: 0o644},
		},
		Effects: []fakeagents.Effect{
			{After: 1, Path: "ü", Write: &write, Mode: "0755"}, {After: 2, Path: "a", Replace: []fakeagents.Replace{{Old: "<", New: "&"}}},
			{After: 2, Path: "b", Delete: true}, {After: 3, Run: []string{"git", "status"}},
		},
		Disk:   []fakeagents.File{{Path: "{{SESSION}}.jsonl", Data: []byte("{}\n"), Mode: 0o644}},
		Before: []fakeagents.File{{Path: "{{SESSION}}.jsonl", Data: []byte("{}\n"), Mode: 0o644}},
	}
	out := f.Format()
	again, err := fakeagents.Parse(f.Name, out)
	if err != nil {
		t.Fatal(err)
	}
	f.Repo[1].Data = []byte{} // nothing and empty are the same
	if !reflect.DeepEqual(f, again) {
		t.Errorf("wrote\n%+v\nread\n%+v", f, again)
	}
	if len(out) > 10_000 {
		t.Errorf("%d bytes: the long run of one character is not shortened", len(out))
	}
}

func TestNamesOfACorpus(t *testing.T) {
	ok := fstest.MapFS{"claude/made/2.1.332/b.txtar": {Data: []byte(minimal)}, "claude/made/2.1.332/a.txtar": {Data: []byte(minimal)}}
	names, err := fakeagents.NewCorpus(ok).Names()
	if err != nil || !reflect.DeepEqual(names, []string{"claude/made/2.1.332/a", "claude/made/2.1.332/b"}) {
		t.Errorf("%v, %v", names, err)
	}
	all, err := fakeagents.NewCorpus(ok).All(func(name string) bool { return strings.HasSuffix(name, "/b") })
	if err != nil || len(all) != 1 || all[0].Case() != "b" || all[0].Version() != "2.1.332" || all[0].Agent() != "claude" || all[0].Provenance() != fakeagents.Made {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := fakeagents.NewCorpus(ok).Load("claude/made/2.1.332/c"); err == nil {
		t.Error("a fixture that is not there loads")
	}
	stray := fstest.MapFS{"claude/made/2.1.332/notes.txt": {Data: []byte("x")}}
	if _, err := fakeagents.NewCorpus(stray).Names(); err == nil {
		t.Error("a file that is no fixture is passed over")
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "claude", "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := fakeagents.NewCorpus(os.DirFS(dir)).Names(); err == nil {
		t.Error("an empty folder is passed over")
	}
}

func TestDemoCorpusStandsAlone(t *testing.T) {
	f, err := fakeagents.Demo().Load(fakeagents.DemoCase)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Effects) != 1 || f.Effects[0].Path != "src/Button.css" || !f.IsRun() {
		t.Errorf("effects %+v", f.Effects)
	}
	names, err := fakeagents.Demo().Names()
	if err != nil || len(names) > 3 {
		t.Errorf("the product binary carries %v (%v)", names, err)
	}
}

func TestEffects(t *testing.T) {
	text, bin := "new\n", "AAH/"
	tests := []struct {
		what   string
		before string // content of f, "" = absent
		effect fakeagents.Effect
		after  string // "" = absent
		fails  bool
	}{
		{"write", "", fakeagents.Effect{Path: "f", Write: &text}, text, false},
		{"write over", "old\n", fakeagents.Effect{Path: "f", Write: &text}, text, false},
		{"bytes", "", fakeagents.Effect{Path: "f", Base64: &bin}, "\x00\x01\xff", false},
		{"delete", "old\n", fakeagents.Effect{Path: "f", Delete: true}, "", false},
		{"replace", "mine\nold\n", fakeagents.Effect{Path: "f", Replace: []fakeagents.Replace{{Old: "old", New: "new"}}}, "mine\nnew\n", false},
		{"replace what is not there", "mine\n", fakeagents.Effect{Path: "f", Replace: []fakeagents.Replace{{Old: "old", New: "new"}}}, "mine\n", true},
		{"replace what is there twice", "old old\n", fakeagents.Effect{Path: "f", Replace: []fakeagents.Replace{{Old: "old", New: "new"}}}, "old old\n", true},
		{"run", "old\n", fakeagents.Effect{Run: []string{"git", "--version"}}, "old\n", false},
		{"run that fails", "old\n", fakeagents.Effect{Run: []string{"git", "no-such-command"}}, "old\n", true},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		if tt.before != "" {
			if err := os.WriteFile(path, []byte(tt.before), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := tt.effect.Apply(dir); (err != nil) != tt.fails {
			t.Errorf("%s: %v", tt.what, err)
		}
		data, err := os.ReadFile(path)
		if string(data) != tt.after || (err != nil) != (tt.after == "") {
			t.Errorf("%s: %q, %v", tt.what, data, err)
		}
	}
}

func TestEffectsOnModesAndLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no executable bit")
	}
	dir := t.TempDir()
	script := "#!/bin/sh\n"
	for _, e := range []fakeagents.Effect{
		{Path: "sub/run", Write: &script, Mode: "0755"}, {Path: "sub/link", Symlink: "run"}, {Path: "sub/run", Mode: "0700"}, {Path: "made", Mkdir: true},
	} {
		if err := e.Apply(dir); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "sub", "link"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

// "every UTF-16 code unit outside [A-Za-z0-9] becomes a dash", as measured on
// 24 paths and both versions.
func TestProjectFolder(t *testing.T) {
	long := "/" + strings.Repeat("a", 250)
	tests := []struct{ dir, want string }{
		{"/tmp/repo", "-tmp-repo"},
		{"/a.b/a_b/a-b", "-a-b-a-b-a-b"},
		{"/x/ü", "-x--"},
		{"/x/\U0001F600", "-x---"},
		{"/Keep/CASE9", "-Keep-CASE9"},
		{`C:\Users\me`, "C--Users-me"},
		{long, "-" + strings.Repeat("a", 199) + "-" + hash(long)},
	}
	for _, tt := range tests {
		if got := fakeagents.ProjectFolder(tt.dir); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.dir, got, tt.want)
		}
	}
}

// hash is abs(int32 h*31+c) in base 36, written another way than the code
// under test.
func hash(s string) string {
	var h uint64
	for _, c := range s {
		h = (h*31 + uint64(c)) % (1 << 32)
	}
	if h >= 1<<31 {
		h = 1<<32 - h
	}
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	out := ""
	for ; h > 0; h /= 36 {
		out = string(digits[h%36]) + out
	}
	return out
}

// A path with characters that JSON escapes is escaped once in a line, twice
// in JSON within JSON.
func TestFillEscapes(t *testing.T) {
	v := fakeagents.Values{Repo: `/a "b"\c`, Session: "s", PID: 7}
	tests := []struct{ in, want string }{
		{`{"cwd":"{{REPO}}"}`, `{"cwd":"/a \"b\"\\c"}`},
		{`{"partial_json":"{\"p\":\"{{REPO}}/x\"}"}`, `{"partial_json":"{\"p\":\"/a \\\"b\\\"\\\\c/x\"}"}`},
		{`{"session_id":"{{SESSION}}","x":"{{ELIDED}} {{NOPE}}"}`, `{"session_id":"s","x":"{{ELIDED}} {{NOPE}}"}`},
	}
	for _, tt := range tests {
		if got := string(v.Fill([]byte(tt.in))); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.in, got, tt.want)
		}
	}
	one, two := string(v.Fill([]byte("{{UUID:1}}"))), string(v.Fill([]byte("{{UUID:2}}")))
	if one == two || len(one) != 36 || one != string(v.Fill([]byte("{{UUID:1}}"))) {
		t.Errorf("ids %s %s", one, two)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte(minimal + "-- repo/a;base64;mode=0755 --\nAAAA\n-- effects --\n{\"after\":1,\"path\":\"a\",\"delete\":true}\n"))
	f.Add([]byte(minimal + "-- stdin --\n- close\n-- repo/%0a --\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fx, err := fakeagents.Parse("claude/made/2.1.332/case", data)
		if err != nil {
			return
		}
		out := fx.Format()
		again, err := fakeagents.Parse(fx.Name, out)
		if err != nil {
			t.Fatalf("what was read does not read again: %v\n%s", err, out)
		}
		if !bytes.Equal(again.Format(), out) {
			t.Errorf("%q\nreads as\n%q", out, again.Format())
		}
	})
}
