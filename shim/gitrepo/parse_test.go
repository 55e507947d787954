package gitrepo

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestParseStatus(t *testing.T) {
	got, err := parseStatus([]byte(" M a b\x00?? new\nline\x00UU ->\x00D  gone\x00?? sub/\x00R  to\x00from\x00 A \x00"))
	// the last record has a name of no bytes
	if err == nil {
		t.Errorf("a record without a name was taken: %v", got)
	}
	got, err = parseStatus([]byte(" M a b\x00?? new\nline\x00UU ->\x00D  gone\x00?? sub/\x00R  to\x00from\x00 M last\x00"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "entries", got, []statusEntry{{' ', 'M', "a b"}, {'?', '?', "new\nline"}, {'U', 'U', "->"}, {'D', ' ', "gone"}, {'?', '?', "sub/"}, {'R', ' ', "to"}, {' ', 'M', "last"}})
}

// Every parser refuses output that is cut short or garbled, saying what it saw.
func TestParsersRefuseWhatTheyDoNotKnow(t *testing.T) {
	oid := strings.Repeat("1", 40)
	for _, tc := range []struct {
		name  string
		parse func() error
	}{
		{"status without NUL", func() error { _, err := parseStatus([]byte(" M a")); return err }},
		{"status without a space", func() error { _, err := parseStatus([]byte(" M:a\x00")); return err }},
		{"status rename cut short", func() error { _, err := parseStatus([]byte("R  to\x00fro")); return err }},
		{"raw cut short", func() error {
			_, _, err := parseRaw([]byte(":100644 100644 " + oid + " " + oid + " M\x00pat"))
			return err
		}},
		{"raw with a rename", func() error {
			_, _, err := parseRaw([]byte(":100644 100644 " + oid + " " + oid + " R100\x00a\x00b\x00"))
			return err
		}},
		{"raw of another shape", func() error { _, _, err := parseRaw([]byte(":100644 M\x00a\x00")); return err }},
		{"numstat cut short", func() error { _, err := parseNumstat([]byte("1\t2\ta")); return err }},
		{"numstat without a path", func() error { _, err := parseNumstat([]byte("1\t2\t\x00")); return err }},
		{"numstat with odd counts", func() error { _, err := parseNumstat([]byte("-1\t2\ta\x00")); return err }},
		{"tree cut short", func() error { _, err := parseTree([]byte("100644 blob " + oid + "\ta")); return err }},
		{"tree of another shape", func() error { _, err := parseTree([]byte("100644\ta\x00")); return err }},
	} {
		if tc.parse() == nil {
			t.Errorf("%s: no error", tc.name)
		}
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte(" M a.txt\x00?? b c\x00"))
	f.Add([]byte("R  to\x00from\x00UU x\x00D  y\x00?? nested/\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		entries, err := parseStatus(out)
		if err != nil {
			return
		}
		var again bytes.Buffer
		for _, e := range entries {
			if e.path == "" || strings.Contains(e.path, "\x00") {
				t.Fatalf("path %q", e.path)
			}
			if isRename(e.x) || isRename(e.y) {
				return // its origin is not kept
			}
			again.Write([]byte{e.x, e.y, ' '})
			again.WriteString(e.path + "\x00")
		}
		if again.String() != string(out) {
			t.Fatalf("%q reads as %q", out, again.String())
		}
	})
}

func FuzzParseRaw(f *testing.F) {
	one, two := strings.Repeat("1", 40), strings.Repeat("0", 40)
	f.Add([]byte(":100644 000000 " + one + " " + two + " D\x00a\x001\t2\ta\x00"))
	f.Add([]byte(":000000 120000 " + two + " " + one + " A\x00new\nline\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		entries, rest, err := parseRaw(out)
		if err != nil {
			return
		}
		if !bytes.HasSuffix(out, rest) || len(rest) > 0 && rest[0] == ':' {
			t.Fatalf("%q leaves %q", out, rest)
		}
		for _, e := range entries {
			if e.path == "" || statusWords[e.status] == "" {
				t.Fatalf("entry %+v", e)
			}
		}
	})
}

func FuzzParseNumstat(f *testing.F) {
	f.Add([]byte("1\t2\ta.txt\x00-\t-\tpic.png\x00"))
	f.Add([]byte("0\t0\ttab\there\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		stats, err := parseNumstat(out)
		if err != nil {
			return
		}
		for p, s := range stats {
			if p == "" || s.added < 0 || s.removed < 0 || s.binary && s.added+s.removed > 0 {
				t.Fatalf("%q: %+v", p, s)
			}
		}
	})
}

func FuzzParseTree(f *testing.F) {
	f.Add([]byte("100644 blob " + strings.Repeat("a", 40) + "\ta b\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		entries, err := parseTree(out)
		if err == nil && len(entries) > bytes.Count(out, []byte{0}) {
			t.Fatalf("%d entries of %q", len(entries), out)
		}
	})
}

// scanIndex must agree with git on every kind of index.
func TestScanIndexAgreesWithGit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		do      func(r *testRepo)
		hides   bool
		askGit  bool // an index we do not read ourselves
		noTree  bool // git keeps no tree of it
		objects string
	}{
		{name: "plain"},
		{name: "assume-unchanged", do: func(r *testRepo) { r.git("update-index", "--assume-unchanged", "z.txt") }, hides: true},
		{name: "skip-worktree", do: func(r *testRepo) { r.git("update-index", "--skip-worktree", "z.txt") }, hides: true},
		{name: "version 4", do: func(r *testRepo) { r.git("update-index", "--index-version", "4") }},
		{name: "version 4, skip-worktree", do: func(r *testRepo) {
			r.git("update-index", "--index-version", "4", "--skip-worktree", "z.txt")
		}, hides: true},
		{name: "intent to add", do: func(r *testRepo) { r.write("n.txt", "n\n"); r.git("add", "-N", "n.txt") }, noTree: true},
		{name: "staged", do: func(r *testRepo) { r.write("z.txt", "staged\n"); r.git("add", "z.txt") }, noTree: true},
		{name: "staged, tree written", do: func(r *testRepo) { r.write("z.txt", "staged\n"); r.git("add", "z.txt"); r.git("write-tree") }},
		{name: "unmerged", do: func(r *testRepo) {
			r.git("checkout", "-q", "-b", "side")
			r.write("z.txt", "side\n")
			r.commit("side")
			r.git("checkout", "-q", "-")
			r.write("z.txt", "ours\n")
			r.commit("ours")
			if _, err := r.tryGit("merge", "side"); err == nil {
				r.t.Fatal("no conflict")
			}
		}, noTree: true},
		{name: "split", do: func(r *testRepo) { r.git("update-index", "--split-index") }, askGit: true},
		{name: "untracked cache", do: func(r *testRepo) { r.git("update-index", "--force-untracked-cache"); r.git("status") }},
		{name: "sha256", objects: "sha256"},
		{name: "sha256, assume-unchanged", objects: "sha256", do: func(r *testRepo) { r.git("update-index", "--assume-unchanged", "z.txt") }, hides: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			format, hashLen := "sha1", 20
			if tc.objects == "sha256" {
				format, hashLen = "sha256", 32
			}
			r := newRepo(t, "--object-format="+format)
			for i := range 300 { // long common prefixes and names beyond the flag field
				r.write(fmt.Sprintf("dir/%s/%03d", strings.Repeat("long-name/", i%30), i), "x")
			}
			r.write(strings.Repeat(strings.Repeat("d", 200)+"/", 15)+strings.Repeat("n", 200), "long\n")
			r.write("z.txt", "z\n")
			r.write(".gitattributes", "*.bin binary\n")
			r.write("dir/.gitattributes", "")
			r.write("dir/not.gitattributes", "")
			r.commit("base")
			if tc.do != nil {
				tc.do(r)
			}
			data, err := os.ReadFile(r.path(".git/index"))
			if err != nil {
				t.Fatal(err)
			}
			facts, err := scanIndex(data, hashLen)
			equal(t, "left to git", err != nil, tc.askGit)
			equal(t, "hides", facts.hides, tc.hides)
			if err != nil || facts.hides {
				return
			}
			tree := ""
			if !tc.noTree {
				tree = r.git("write-tree")
			}
			equal(t, "tree", facts.tree, tree)
			attributes := []string(nil)
			if facts.attributesKnown {
				attributes = []string{".gitattributes", "dir/.gitattributes"}
			}
			equal(t, "attributes", facts.attributes, attributes)
		})
	}
}

func FuzzScanIndex(f *testing.F) {
	header := "DIRC\x00\x00\x00\x02\x00\x00\x00\x01"
	f.Add([]byte(header+strings.Repeat("\x00", 60)+"\x00\x05a.txt\x00\x00\x00\x00\x00"+strings.Repeat("\x00", 20)), false)
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x01"+strings.Repeat("\x00", 60)+"\x40\x05\x40\x00\x00a.txt\x00"+strings.Repeat("\x00", 20)), false)
	f.Fuzz(func(t *testing.T, data []byte, long bool) {
		hashLen := 20
		if long {
			hashLen = 32
		}
		facts, err := scanIndex(data, hashLen)
		if err != nil && (facts.hides || facts.tree != "") {
			t.Fatalf("an index that cannot be read says something: %+v", facts)
		}
		if facts.tree != "" && len(facts.tree) != 2*hashLen {
			t.Fatalf("tree %q", facts.tree)
		}
	})
}
