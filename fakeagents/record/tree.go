package record

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/fakeagents"
)

// tree is what a working directory holds, by slash-separated path; files
// beside it have a path that begins with "../". head is the commit it is at.
type tree struct {
	files map[string]fakeagents.File
	head  string
}

// readTree reads the repository at dir and the plain files next to it.
func readTree(dir string) (tree, error) {
	t := tree{files: map[string]fakeagents.File{}}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone while we looked: the next look will tell
		}
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		return t.add(dir, path)
	})
	if err != nil {
		return t, err
	}
	beside, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		return t, err
	}
	for _, e := range beside {
		if e.Type().IsRegular() {
			if err := t.add(dir, filepath.Join(filepath.Dir(dir), e.Name())); err != nil {
				return t, err
			}
		}
	}
	t.head = headOf(dir)
	return t, nil
}

// headOf reads the commit without starting git: it is asked at every line.
func headOf(dir string) string {
	head, err := os.ReadFile(filepath.Join(dir, ".git", "HEAD"))
	if err != nil {
		return ""
	}
	ref, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: ")
	if !ok {
		return strings.TrimSpace(string(head))
	}
	commit, err := os.ReadFile(filepath.Join(dir, ".git", filepath.FromSlash(ref)))
	if err != nil {
		return "" // unborn
	}
	return strings.TrimSpace(string(commit))
}

func (t tree) add(dir, path string) error {
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f := fakeagents.File{Path: rel, Mode: info.Mode().Perm()}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		f.Data, f.Symlink, f.Mode = []byte(target), true, 0
	} else if f.Data, err = os.ReadFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	t.files[rel] = f
	return nil
}

// list returns the files inside the repository, sorted.
func (t tree) list() []fakeagents.File {
	var files []fakeagents.File
	for _, f := range t.files {
		if !strings.HasPrefix(f.Path, "../") {
			files = append(files, f)
		}
	}
	sort.Slice(files, func(i, j int) bool { return files[i].Path < files[j].Path })
	return files
}

// sighting is one change of one path as it was seen: after how many lines,
// and what stood there before and after. A nil file was not there.
type sighting struct {
	lines         int
	path          string
	before, after *fakeagents.File
	run           []string // a git command instead
}

// changes returns what turns old into t, seen after that many lines. dir is
// asked for the commit when HEAD moved.
func (t tree) changes(old tree, dir string, lines int) ([]sighting, error) {
	var out []sighting
	for _, path := range union(old.files, t.files) {
		s := sighting{lines: lines, path: path}
		if f, ok := old.files[path]; ok {
			s.before = &f
		}
		if f, ok := t.files[path]; ok {
			s.after = &f
		}
		if !sameFile(s.before, s.after) {
			out = append(out, s)
		}
	}
	if t.head != old.head {
		commands, err := commitCommands(dir, old.head)
		if err != nil {
			return nil, err
		}
		for _, run := range commands {
			out = append(out, sighting{lines: lines, run: run})
		}
	}
	return out, nil
}

// commitCommands says how the agent's own commit is made again.
func commitCommands(dir, old string) ([][]string, error) {
	git := func(args ...string) (string, error) {
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		out, err := cmd.Output()
		return strings.TrimSuffix(string(out), "\n"), errors.Wrapf(err, "git %s", strings.Join(args, " "))
	}
	subject, err := git("log", "-1", "--format=%B")
	if err != nil {
		return nil, err
	}
	from := old
	if from == "" {
		from = "4b825dc642cb6eb9a060e54bf8d69288fbee4904" // git's empty tree
	}
	names, err := git("diff", "--name-only", "-z", from, "HEAD")
	if err != nil {
		return nil, err
	}
	paths := strings.Split(strings.TrimSuffix(names, "\x00"), "\x00")
	commit := []string{"git", "-c", "user.name=Agent", "-c", "user.email=a@b.c", "commit", "-q", "-m", strings.TrimSpace(subject), "--"}
	return [][]string{append([]string{"git", "add", "--"}, paths...), append(commit, paths...)}, nil
}

func union(a, b map[string]fakeagents.File) []string {
	var paths []string
	for p := range a {
		paths = append(paths, p)
	}
	for p := range b {
		if _, both := a[p]; !both {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

func sameFile(a, b *fakeagents.File) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Symlink == b.Symlink && a.Mode == b.Mode && bytes.Equal(a.Data, b.Data)
}

// effect says how before becomes after.
func (s sighting) effect() fakeagents.Effect {
	e := fakeagents.Effect{Path: s.path}
	before, after := s.before, s.after
	switch {
	case s.run != nil:
		e.Run = s.run
		return e
	case after == nil:
		e.Delete = true
		return e
	case after.Symlink:
		e.Symlink = string(after.Data)
		return e
	}
	was := before != nil && !before.Symlink // a plain file stood there
	if was && before.Mode != after.Mode || !was && after.Mode != 0o644 {
		e.Mode = fmt.Sprintf("%04o", after.Mode)
	}
	if was && bytes.Equal(before.Data, after.Data) {
		return e // the mode alone
	}
	if !utf8.Valid(after.Data) || bytes.IndexByte(after.Data, 0) >= 0 {
		data := base64.StdEncoding.EncodeToString(after.Data)
		e.Base64 = &data
		return e
	}
	if was && e.Mode == "" {
		if r, ok := replacement(string(before.Data), string(after.Data)); ok {
			e.Replace = []fakeagents.Replace{r}
			return e
		}
	}
	text := string(after.Data)
	e.Write = &text
	return e
}

// replacement finds the smallest run of whole lines that differs, widened
// until it occurs once: it then applies as well where the rest of the file
// is different, as the agent's own edit did.
func replacement(before, after string) (fakeagents.Replace, bool) {
	if before == "" || after == "" {
		return fakeagents.Replace{}, false
	}
	a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	for {
		r := fakeagents.Replace{Old: strings.Join(a[start:len(a)-end], ""), New: strings.Join(b[start:len(b)-end], "")}
		if r.Old != "" && strings.Count(before, r.Old) == 1 {
			return r, r.Old != before
		}
		if start == 0 && end == 0 {
			return fakeagents.Replace{}, false
		}
		start, end = max(0, start-1), max(0, end-1)
	}
}
