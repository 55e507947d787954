package extension

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/errors"
)

// tree is a folder's files, without ours of the bookkeeping.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == recordName || name == lockName {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		found[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func wrote(t *testing.T, dir, version string) Written {
	t.Helper()
	w, err := Write(dir, version)
	if err != nil {
		t.Fatal(err)
	}
	got := tree(t, w.Dir)
	want, err := contents(version)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(a, b) {
		t.Errorf("the folder has %q\nwant %q", a, b)
	}
	for name, data := range want {
		if got[name] != string(data) {
			t.Errorf("%s: other bytes", name)
		}
	}
	if state, err := Look(dir, version); err != nil || state != (State{version, true, true}) {
		t.Errorf("Look: %+v, %v", state, err)
	}
	return w
}

func put0(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := put(filepath.Join(dir, filepath.FromSlash(name)), []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// age makes a folder as an older version had left it: with a file that is no
// more, and other bytes in one that still is.
func age(t *testing.T, dir string) {
	t.Helper()
	wrote(t, dir, "0.0.9")
	r, err := readRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"old/er/gone.js", "lib/gone.js", "lib/messages.js"} {
		put0(t, dir, name, "// of old")
		r.Files[name] = []string{hash([]byte("// of old"))}
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	put0(t, dir, recordName, string(data))
}

// refused expects Write to leave a folder as it is, and to say why.
func refused(t *testing.T, dir string, said ...string) {
	t.Helper()
	before := tree(t, dir)
	_, err := Write(dir, "9.9.9")
	if !errors.Is(err, ErrForeign) {
		t.Fatalf("got %v", err)
	}
	for _, s := range said {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q is not in %q", s, err)
		}
	}
	if hints := errors.GetAllHints(err); len(hints) != 1 || !strings.Contains(hints[0], "slidewrite extension --dir") {
		t.Errorf("fix: %q", hints)
	}
	if after := tree(t, dir); !maps.Equal(before, after) {
		t.Errorf("the folder was touched: %q, before %q", after, before)
	}
}

func TestWrite(t *testing.T) {
	for name, dir := range map[string]string{
		"folder that is not there": filepath.Join(t.TempDir(), "a", "b"),
		"empty folder":             t.TempDir(),
		"folder with a space":      filepath.Join(t.TempDir(), "Slide Write"),
	} {
		t.Run(name, func(t *testing.T) {
			w := wrote(t, dir, "1.2.3")
			if real, _ := filepath.EvalSymlinks(dir); w != (Written{Dir: real, Version: "1.2.3", Changed: true}) {
				t.Errorf("got %+v", w)
			}
		})
	}
}

// A second time nothing is written, nor touched.
func TestWriteAgain(t *testing.T) {
	dir := t.TempDir()
	wrote(t, dir, "1.2.3")
	times := func() map[string]string {
		found := map[string]string{}
		for name := range tree(t, dir) {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			found[name] = info.ModTime().String()
		}
		return found
	}
	before := times()
	if w := wrote(t, dir, "1.2.3"); w.Changed || w.Was != "1.2.3" {
		t.Errorf("got %+v", w)
	}
	if !maps.Equal(before, times()) {
		t.Error("files were written anew")
	}
}

// A newer version takes the place of an older one; what that had beside goes,
// with the folders it was in.
func TestWriteOverOlder(t *testing.T) {
	dir := t.TempDir()
	age(t, dir)
	if state, err := Look(dir, "1.2.3"); err != nil || state != (State{Version: "0.0.9", Whole: true}) {
		t.Errorf("Look before: %+v, %v", state, err)
	}
	w := wrote(t, dir, "1.2.3")
	if !w.Changed || w.Was != "0.0.9" {
		t.Errorf("got %+v", w)
	}
	if _, err := os.Stat(filepath.Join(dir, "old")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder of old is left: %v", err)
	}
}

// What is missing is put back.
func TestWriteRepairs(t *testing.T) {
	dir := t.TempDir()
	wrote(t, dir, "1.2.3")
	for _, gone := range []string{"manifest.json", "lib"} {
		if err := os.RemoveAll(filepath.Join(dir, gone)); err != nil {
			t.Fatal(err)
		}
	}
	if state, err := Look(dir, "1.2.3"); err != nil || state.Whole || state.Current || state.Version != "1.2.3" {
		t.Errorf("Look: %+v, %v", state, err)
	}
	if w := wrote(t, dir, "1.2.3"); !w.Changed {
		t.Errorf("got %+v", w)
	}
}

// Of a process that died in the middle, half is left: files of both versions,
// and the folder they were made in.
func TestWriteAfterACrash(t *testing.T) {
	dir := t.TempDir()
	age(t, dir)
	w, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	next, err := contents("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	write, remove, err := w.compare(next)
	if err != nil {
		t.Fatal(err)
	}
	if len(write) < 2 || write[len(write)-1] != manifestName || !slices.Equal(remove, []string{"lib/gone.js", "old/er/gone.js"}) {
		t.Fatalf("write %q, remove %q", write, remove)
	}
	// The manifest cannot take its place, the last of all.
	if err := os.Remove(w.at(manifestName)); err != nil {
		t.Fatal(err)
	}
	put0(t, dir, manifestName+"/in-the-way", "")
	if err := w.replace("1.2.3", next, write, remove); err == nil {
		t.Fatal("it went well")
	}
	w.close()
	if err := os.RemoveAll(w.at(manifestName)); err != nil {
		t.Fatal(err)
	}
	put0(t, dir, stageName+"/lib/half.js", "half")
	if state, err := Look(dir, "1.2.3"); err != nil || state.Whole || state.Version != "0.0.9" {
		t.Errorf("Look: %+v, %v", state, err)
	}
	wrote(t, dir, "1.2.3")
}

// What fails while the new files are made leaves the old ones.
func TestWriteChangesNothingBeforeAllIsThere(t *testing.T) {
	dir := t.TempDir()
	age(t, dir)
	before := tree(t, dir)
	w, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	next := map[string][]byte{"manifest.json": nil, "manifest.json/cannot": nil}
	if err := w.replace("1.2.3", next, []string{"manifest.json", "manifest.json/cannot"}, nil); err == nil {
		t.Fatal("it went well")
	}
	if after := tree(t, dir); !maps.Equal(before, after) {
		t.Errorf("the folder was touched: %q", slices.Sorted(maps.Keys(after)))
	}
}

func TestWriteRefusesForeignFiles(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(dir string)
		said string
	}{
		{"a project", func(dir string) { put0(t, dir, "package.json", "{}"); put0(t, dir, "src/a.js", "") }, "package.json, src in it are not the extension's"},
		{"one file", func(dir string) { put0(t, dir, "a.txt", "mine") }, "a.txt in it is not the extension's"},
		{"many files", func(dir string) {
			for _, n := range []string{"a", "b", "c", "d", "e"} {
				put0(t, dir, n, "")
			}
		}, "a, b, c and 2 more in it are not"},
		{"an extension without a record", func(dir string) { put0(t, dir, "manifest.json", "{}") }, "manifest.json in it is not"},
		{"beside ours", func(dir string) { wrote(t, dir, "1.0.0"); put0(t, dir, "lib/mine.js", "mine") }, "lib/mine.js in it is not"},
		{"a folder beside ours", func(dir string) { wrote(t, dir, "1.0.0"); os.Mkdir(filepath.Join(dir, "mine"), 0o755) }, "mine in it is not"},
		{"one of ours, edited", func(dir string) { wrote(t, dir, "1.0.0"); put0(t, dir, "lib/messages.js", "mine") }, "lib/messages.js in it was changed since slidewrite wrote it"},
		{"an old one of ours, edited", func(dir string) { age(t, dir); put0(t, dir, "lib/gone.js", "mine") }, "lib/gone.js in it was changed"},
		{"a folder in a file's place", func(dir string) {
			wrote(t, dir, "1.0.0")
			os.Remove(filepath.Join(dir, "manifest.json"))
			put0(t, dir, "manifest.json/mine", "")
		}, "manifest.json in it is not"},
		{"a record that is none", func(dir string) { put0(t, dir, recordName, "{") }, recordName + " in it cannot be read"},
		{"a record of elsewhere", func(dir string) { put0(t, dir, recordName, `{"version":"1","files":{"../a":[]}}`) }, "was not written by slidewrite"},
		{"a record of itself", func(dir string) { put0(t, dir, recordName, `{"version":"1","files":{"`+recordName+`":[]}}`) }, "was not written by slidewrite"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			c.make(dir)
			refused(t, dir, c.said)
		})
	}
}

// In a folder that is somebody's not even a lock is left.
func TestWriteLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	put0(t, dir, "a.txt", "mine")
	refused(t, dir)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// A link out of the folder is not followed.
func TestWriteRefusesLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege there")
	}
	elsewhere := t.TempDir()
	for _, name := range []string{"lib", "lib/messages.js"} {
		dir := t.TempDir()
		wrote(t, dir, "1.0.0")
		at := filepath.Join(dir, name)
		put0(t, elsewhere, "messages.js", "mine")
		to := elsewhere
		if name != "lib" {
			to = filepath.Join(elsewhere, "messages.js")
		}
		if err := errors.CombineErrors(os.RemoveAll(at), os.Symlink(to, at)); err != nil {
			t.Fatal(err)
		}
		if _, err := Write(dir, "1.0.1"); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), name+" in it is not") {
			t.Errorf("%s: %v", name, err)
		}
		if got := tree(t, elsewhere)["messages.js"]; got != "mine" {
			t.Errorf("%s: the link was followed", name)
		}
	}
	// The folder itself may be one: that is where the user wants it.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	wrote(t, link, "1.0.0")
}

// What a file manager leaves stands in nobody's way.
func TestWriteLeavesLitter(t *testing.T) {
	dir := t.TempDir()
	put0(t, dir, ".DS_Store", "x")
	for _, version := range []string{"1.0.0", "1.0.1"} {
		if _, err := Write(dir, version); err != nil {
			t.Fatal(err)
		}
		put0(t, dir, "lib/.DS_Store", "x")
	}
	if got := tree(t, dir); got[".DS_Store"] != "x" || got["lib/.DS_Store"] != "x" {
		t.Error("they are gone")
	}
}

func TestWriteWhereItCannot(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	places := map[string]string{file: "is a file, not a folder", filepath.Join(file, "below"): "write the extension to "}
	if runtime.GOOS != "windows" && os.Geteuid() != 0 {
		shut := t.TempDir()
		if err := os.Chmod(shut, 0o500); err != nil {
			t.Fatal(err)
		}
		places[shut], places[filepath.Join(shut, "below")] = "permission denied", "permission denied"
	}
	for dir, said := range places {
		_, err := Write(dir, "1.0.0")
		if err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("%s: %v", dir, err)
		}
		if hints := errors.GetAllHints(err); len(hints) != 1 || !strings.Contains(hints[0], "slidewrite extension --dir FOLDER") {
			t.Errorf("%s: fix %q", dir, hints)
		}
	}
}

// Several at the same time, of two versions: one of them stands there whole.
func TestWriteAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 8 {
		version := []string{"1.0.0", "2.0.0"}[i%2]
		wg.Go(func() {
			if _, err := Write(dir, version); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	r, err := readRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	if w := wrote(t, dir, r.Version); w.Changed {
		t.Errorf("it was not whole: %+v", w)
	}
}

func TestLookWhereNothingIs(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "nowhere")} {
		if state, err := Look(dir, "1.0.0"); err != nil || state != (State{}) {
			t.Errorf("%+v, %v", state, err)
		}
	}
	dir := t.TempDir()
	put0(t, dir, recordName, "nonsense")
	if _, err := Look(dir, "1.0.0"); err == nil {
		t.Error("a record that cannot be read is no error")
	}
}
