package gitrepo

import (
	"bytes"
	"strings"
	"testing"
)

// merged is a helper for rows: it stores three texts and merges them.
func mergeTexts(t *testing.T, r *testRepo, base, ours, theirs string) (string, bool) {
	t.Helper()
	m := r.open().merger(t.Context())
	defer m.close()
	var ids [3]string
	for i, text := range []string{base, ours, theirs} {
		id, err := m.store([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = id
	}
	oid, ok, err := m.mergeText(ids[0], ids[1], ids[2])
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return "", false
	}
	if err := m.load(oid); err != nil {
		t.Fatal(err)
	}
	return string(m.blobs[oid]), true
}

// TestMergeText: what merges, and what counts as overlap.
func TestMergeText(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.git("config", "merge.conflictStyle", "diff3")
	for name, row := range map[string]struct {
		base, ours, theirs, want string
		overlap                  bool
	}{
		"apart":                           {base: "a\nb\nc\n", ours: "A\nb\nc\n", theirs: "a\nb\nC\n", want: "A\nb\nC\n"},
		"adjacent":                        {base: "a\nb\nc\n", ours: "A\nb\nc\n", theirs: "a\nB\nc\n", overlap: true},
		"same line":                       {base: "a\nb\nc\n", ours: "a\nx\nc\n", theirs: "a\ny\nc\n", overlap: true},
		"two insertions there":            {base: "a\nb\n", ours: "a\nx\nb\n", theirs: "a\ny\nb\n", overlap: true},
		"theirs takes ours away too":      {base: "a\nmine\nb\nc\nd\n", ours: "a\nb\nc\nd\n", theirs: "a\nb\nc\nD\n", overlap: true},
		"CRLF":                            {base: "a\r\nb\r\nc\r\n", ours: "A\r\nb\r\nc\r\n", theirs: "a\r\nb\r\nC\r\n", want: "A\r\nb\r\nC\r\n"},
		"no newline at the end":           {base: "a\nb\nc", ours: "A\nb\nc", theirs: "a\nb\nC", want: "A\nb\nC"},
		"newline added at the end by one": {base: "a\nb\nc", ours: "A\nb\nc", theirs: "a\nb\nc\n", want: "A\nb\nc\n"},
		"binary":                          {base: "\x00a\nb\nc\n", ours: "\x00A\nb\nc\n", theirs: "\x00a\nb\nC\n", overlap: true},
		"empty base":                      {base: "", ours: "a\n", theirs: "b\n", overlap: true},
		"conflict markers as text":        {base: "<<<<<<< x\nb\n=======\nd\n>>>>>>> y\n", ours: "<<<<<<< x\nB\n=======\nd\n>>>>>>> y\n", theirs: "<<<<<<< x\nb\n=======\nD\n>>>>>>> y\n", want: "<<<<<<< x\nB\n=======\nD\n>>>>>>> y\n"},
	} {
		got, ok := mergeTexts(t, r, row.base, row.ours, row.theirs)
		if ok == row.overlap || got != row.want {
			t.Errorf("%s: got %q, %v", name, got, ok)
		}
	}
}

// TestMerge3Entries: modes merge apart from content; kinds do not mix.
func TestMerge3Entries(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"a": "a\n", "b": "b\n"})
	m := r.open().merger(t.Context())
	defer m.close()
	a, b := r.git("rev-parse", "HEAD:a"), r.git("rev-parse", "HEAD:b")
	file := func(oid string) Entry { return Entry{"100644", oid} }
	exec := func(oid string) Entry { return Entry{"100755", oid} }
	link, none := Entry{"120000", a}, Entry{}
	for name, row := range map[string]struct {
		base, ours, theirs, want Entry
		overlap                  bool
	}{
		"only theirs":              {file(a), file(a), exec(b), exec(b), false},
		"only ours":                {file(a), exec(b), file(a), exec(b), false},
		"mode and content apart":   {file(a), exec(a), file(b), exec(b), false},
		"content and mode apart":   {exec(a), exec(b), file(a), file(b), false},
		"both absent at first":     {none, none, file(a), file(a), false},
		"mode taken back":          {exec(a), file(a), file(b), none, true},
		"content taken back":       {file(b), file(a), exec(a), none, true},
		"both delete":              {file(a), none, none, none, false},
		"edit and delete":          {file(a), file(b), none, none, true},
		"delete and edit":          {file(a), none, file(b), none, true},
		"both add, differently":    {none, file(a), file(b), none, true},
		"link and edit":            {file(a), link, file(b), none, true},
		"link over an edited file": {file(a), file(b), link, none, true},
	} {
		got, ok, err := m.merge3(row.base, row.ours, row.theirs)
		if err != nil || ok == row.overlap || ok && got != row.want {
			t.Errorf("%s: %+v %v %v", name, got, ok, err)
		}
	}
}

// TestBlocker: a path's folder or the files in its place.
func TestBlocker(t *testing.T) {
	t.Parallel()
	held := map[string]bool{"a": true, "b/c/d": true, "b-x": true, "b.x": true}
	keys := sorted(held)
	for path, want := range map[string]string{
		"a": "", "a/x": "a", "a/x/y": "a", "b": "b/c/d", "b/c": "b/c/d", "b/c/d": "", "b/c/e": "", "ab": "", "b/c/d/e": "b/c/d",
	} {
		if got := blocker(path, held, keys); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// FuzzParseBlobs: any output either gives blobs of the announced sizes or is
// an error.
func FuzzParseBlobs(f *testing.F) {
	f.Add([]byte("aa blob 3\nx\ny\nbb blob 0\n\n"))
	f.Add([]byte("aa missing\n"))
	f.Add([]byte("aa blob 99999999999\nx"))
	f.Add([]byte("aa blob -1\n\n"))
	f.Add([]byte("aa tree 1\nx\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		got := map[string][]byte{}
		if parseBlobs(out, []string{"aa", "bb"}, got) == nil && len(got["aa"])+len(got["bb"]) > len(out) {
			t.Errorf("%q: blobs of %d and %d bytes", out, len(got["aa"]), len(got["bb"]))
		}
	})
}

// FuzzParseIndexDiff: no panic, and never a path or an id that was not there.
func FuzzParseIndexDiff(f *testing.F) {
	zero := strings.Repeat("0", 40)
	f.Add([]byte(":100644 100644 " + zero + " " + zero + " M\x00a b\x00"))
	f.Add([]byte(":000000 000000 " + zero + " " + zero + " U\x00a\x00:100644 100644 " + zero + " " + zero + " M\x00a\x00"))
	f.Add([]byte(":100644 000000 " + zero + " " + zero + " D\x00\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		diff, err := parseIndexDiff(out)
		if err != nil {
			return
		}
		for path, e := range diff {
			if path == "" || !bytes.Contains(out, []byte(path)) || e.Mode != unmergedMode && !bytes.Contains(out, []byte(e.OID)) {
				t.Errorf("%q: %q %+v", out, path, e)
			}
		}
	})
}

// FuzzParseIndexEntries: no panic, and a stage above 0 is never lost.
func FuzzParseIndexEntries(f *testing.F) {
	debug := "  ctime: 0:0\n  mtime: 0:0\n  dev: 0\tino: 0\n  uid: 0\tgid: 0\n  size: 0\tflags: 20004000\n"
	f.Add([]byte("100644 aa 0\ta\nb\x00" + debug))
	f.Add([]byte("100644 aa 1\ta\x00" + debug + "100644 bb 2\ta\x00" + debug))
	f.Add([]byte("100644 aa 0\ta\x00  flags: zz\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		entries, err := parseIndexEntries(out)
		if err != nil {
			return
		}
		for path, e := range entries {
			staged := bytes.Contains(out, []byte(" 0\t"+path+"\x00"))
			if path == "" || !staged && !e.unmerged {
				t.Errorf("%q: %q %+v", out, path, e)
			}
		}
	})
}

// FuzzParseReflog: no panic on anything.
func FuzzParseReflog(f *testing.F) {
	f.Add([]byte("aa\x1fHEAD@{1700000000}\x1fcommit: x\x1fbb\x1fcc\x00"))
	f.Add([]byte("aa\x1fHEAD@{1}\x1f\x1f\x1f\x00\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		moves, err := parseReflog(out)
		if err == nil && len(moves) > bytes.Count(out, []byte{0})+1 {
			t.Errorf("%q: %d moves", out, len(moves))
		}
	})
}

// FuzzParseConfig: every key is one that was printed.
func FuzzParseConfig(f *testing.F) {
	f.Add([]byte("commit.gpgsign\x00user.email\na@b\n\x00user.email\nc\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		for key := range parseConfig(out) {
			if !bytes.Contains(out, []byte(key)) {
				t.Errorf("%q: key %q", out, key)
			}
		}
	})
}
