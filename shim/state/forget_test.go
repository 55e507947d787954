package state

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/errors"
)

func nobody(string) bool { return false }

// write makes a file, with the folders above it.
func write(t *testing.T, path, text string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(path), 0o700))
	check(t, os.WriteFile(path, []byte(text), 0o600))
}

// below lists the files below a folder, relative to it, sorted.
func below(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	check(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		found = append(found, filepath.ToSlash(rel))
		return err
	}))
	return found
}

// fill stores n runs with their journals and returns their ids.
func fill(t *testing.T, s *Store, n int) []string {
	t.Helper()
	var ids []string
	for range n {
		id := NewRunID()
		check(t, s.Note(Record{ID: id, Kind: KindDesign, State: Done, Prompt: "secret", StartedAt: time.Now()}))
		write(t, s.JournalPath(id), "secret\n")
		ids = append(ids, id)
	}
	return ids
}

func wantForgotten(t *testing.T, want int, got int, err error) {
	t.Helper()
	if err != nil || got != want {
		t.Fatalf("%d runs were wiped, %v; want %d", got, err, want)
	}
}

// Everything with a prompt in it goes, and the runs of other repositories stay.
func TestForget(t *testing.T) {
	s := open(t)
	other, err := Open(s.Dir(), t.TempDir())
	check(t, err)
	theirs := fill(t, other, 1)
	kept := fill(t, s, 3)[1]
	for _, path := range []string{
		s.recordPath("bad-1") + ".bad", filepath.Join(s.runsDir(), tempPrefix+"1"), s.JournalPath("left-over"),
		filepath.Join(s.runsDir(), "somebody's backup~"), filepath.Join(s.TempDir(), "deep", "er", "index"), filepath.Join(s.own, tempPrefix+"2"),
	} {
		write(t, path, "secret\n")
	}
	check(t, s.Update(kept, func(*Record) {})) // makes ledger.lock
	lock, err := s.Lock(s.Top(), Holder{RunID: NewRunID()})
	check(t, err)
	n, err := s.Forget(func(id string) bool { return id == kept })
	wantForgotten(t, 4, n, err)
	lock.Release()
	want := []string{"journals/" + kept + ".jsonl", "ledger.lock", "lock", "path", "runs/" + kept + ".json"}
	if got := below(t, s.own); !slices.Equal(got, want) {
		t.Errorf("left: %q, want %q", got, want)
	}

	n, err = s.Forget(nobody)
	wantForgotten(t, 1, n, err)
	n, err = s.Forget(nobody)
	wantForgotten(t, 0, n, err)
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := other.Get(theirs[0]); err != nil {
		t.Errorf("the run of another repository: %v", err)
	}
	next := fill(t, s, 1)
	if list, err := s.List(); err != nil || len(list) != 1 || list[0].ID != next[0] {
		t.Errorf("the next run: %v, %v", list, err)
	}
}

// Nothing outside of the state directory is touched, wherever links lead.
func TestForgetFollowsNoLink(t *testing.T) {
	needUnix(t)
	s := open(t)
	outside := t.TempDir()
	write(t, outside+"/runs/precious-1.json", "precious")
	write(t, outside+"/precious-2.jsonl", "precious")
	before := below(t, outside)

	// Links among the files go, what they name stays.
	fill(t, s, 1)
	check(t, os.Symlink(outside+"/precious-2.jsonl", s.JournalPath("link-1")))
	check(t, os.Symlink(outside, filepath.Join(s.TempDir(), "link")))
	check(t, os.Symlink(outside, s.recordPath("link-2")))
	n, err := s.Forget(nobody)
	wantForgotten(t, 3, n, err)
	if left := slices.DeleteFunc(below(t, s.own), func(p string) bool { return p == "path" }); len(left) > 0 {
		t.Errorf("left: %q", left)
	}

	// A link in the place of a folder is refused, and the rest is wiped.
	ids := fill(t, s, 1)
	check(t, os.Rename(s.journalsDir(), s.journalsDir()+"-of-before"))
	check(t, os.Symlink(outside, s.journalsDir()))
	n, err = s.Forget(nobody)
	if n != 1 || err == nil || !strings.Contains(err.Error(), s.journalsDir()+" is not a folder") || len(errors.GetAllHints(err)) != 1 {
		t.Errorf("%d, %v (%v)", n, err, errors.GetAllHints(err))
	}
	if _, err := s.Get(ids[0]); !errors.Is(err, ErrNoRecord) {
		t.Errorf("the record: %v", err)
	}

	// So is one in the place of the repository's folder, within the state
	// directory, too.
	other, err := Open(s.Dir(), t.TempDir())
	check(t, err)
	fill(t, other, 1)
	for _, to := range []string{outside, other.own} {
		check(t, os.RemoveAll(s.own))
		check(t, os.Symlink(to, s.own))
		if n, err := s.Forget(nobody); n != 0 || err == nil || !strings.Contains(err.Error(), s.own+" is not a folder") {
			t.Errorf("%d, %v", n, err)
		}
	}
	if list, err := other.List(); err != nil || len(list) != 1 {
		t.Errorf("the other repository: %v, %v", list, err)
	}
	if after := below(t, outside); !slices.Equal(after, before) {
		t.Errorf("outside there was %q, now %q", before, after)
	}
}

// A process that is killed in the middle leaves what the next call finishes.
func TestForgetKilled(t *testing.T) {
	s := open(t)
	const n = 400
	fill(t, s, n)
	o := start(t, "forget", s.Dir(), s.Top())
	for deadline := time.Now().Add(20 * time.Second); len(below(t, s.journalsDir())) == n; {
		if time.Now().After(deadline) {
			t.Fatal("the process does not begin")
		}
	}
	o.kill()
	list, err := s.List()
	check(t, err)
	lock, err := s.Lock(s.Top(), Holder{RunID: NewRunID()})
	check(t, err)
	runs, err := s.Forget(nobody)
	wantForgotten(t, len(list), runs, err)
	lock.Release()
	if left := below(t, s.own); !slices.Equal(left, []string{"lock", "path"}) {
		t.Errorf("left: %q", left)
	}
}

// away opens a repository with two runs and takes its folder away.
func away(t *testing.T, dir string) *Store {
	t.Helper()
	repo := filepath.Join(t.TempDir(), "repo")
	check(t, os.Mkdir(repo, 0o700))
	s, err := Open(dir, repo)
	check(t, err)
	fill(t, s, 2)
	check(t, os.Rename(repo, repo+"-moved"))
	return s
}

// find returns what All knows of a repository.
func find(t *testing.T, a *All, path string) (Known, bool) {
	t.Helper()
	known, err := a.Repos()
	check(t, err)
	i := slices.IndexFunc(known, func(k Known) bool { return k.Path == path })
	if i < 0 {
		return Known{}, false
	}
	return known[i], true
}

func TestRepos(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	a, err := OpenAll(dir)
	check(t, err)
	if known, err := a.Repos(); err != nil || len(known) != 0 {
		t.Errorf("%v, %v", known, err)
	}
	here, err := Open(dir, t.TempDir())
	check(t, err)
	moved := away(t, dir)
	file := away(t, dir)
	write(t, file.Top(), "a file is in its place")
	inFile := away(t, dir)
	check(t, os.RemoveAll(filepath.Dir(inFile.Top())))
	write(t, filepath.Dir(inFile.Top()), "a file is in the place of the folder it was in")
	lost, err := Open(dir, t.TempDir())
	check(t, err)
	write(t, filepath.Join(lost.own, "path"), here.Top()+"\n") // not what its key says
	// What is none of ours is no repository.
	repos := filepath.Join(a.dir, "repos")
	write(t, filepath.Join(repos, "notes.txt"), "x")
	write(t, filepath.Join(repos, "notes", "runs", "a-1.json"), "x")
	write(t, filepath.Join(repos, strings.Repeat("a", 24)), "x")
	if os.PathSeparator == '/' {
		check(t, os.Symlink(t.TempDir(), filepath.Join(repos, strings.Repeat("b", 24))))
	}
	known, err := a.Repos()
	check(t, err)
	var got []string
	for _, k := range known {
		got = append(got, fmt.Sprint(k.Path, " ", k.Gone))
	}
	gone := []string{moved.Top() + " true", file.Top() + " true", inFile.Top() + " true"}
	slices.Sort(gone)
	if want := append(gone, " false", here.Top()+" false"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRunsElsewhere(t *testing.T) {
	s := open(t)
	fill(t, s, 2)
	other, err := Open(s.Dir(), t.TempDir())
	check(t, err)
	theirs := fill(t, other, 1)[0]
	away(t, s.Dir())
	ids, err := s.RunsElsewhere()
	check(t, err)
	if len(ids) != 1 || !ids[theirs] {
		t.Errorf("%v, want %s alone", ids, theirs)
	}
}

// Of a repository that is gone nothing is left, unless somebody may use it.
func TestForgetGone(t *testing.T) {
	s := open(t)
	fill(t, s, 1)
	a, err := OpenAll(s.Dir())
	check(t, err)
	t.Run("gone", func(t *testing.T) {
		gone := away(t, s.Dir())
		write(t, filepath.Join(gone.own, "ledger.lock"), "")
		k, ok := find(t, a, gone.Top())
		if !ok || !k.Gone {
			t.Fatalf("%+v", k)
		}
		n, err := a.Forget(k)
		wantForgotten(t, 2, n, err)
		if _, err := os.Lstat(gone.own); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("left: %q", below(t, gone.own))
		}
	})
	t.Run("killed before", func(t *testing.T) {
		gone := away(t, s.Dir())
		for _, d := range []string{gone.runsDir(), gone.journalsDir(), gone.TempDir()} {
			check(t, os.RemoveAll(d))
		}
		k, _ := find(t, a, gone.Top())
		n, err := a.Forget(k)
		wantForgotten(t, 0, n, err)
		if _, ok := find(t, a, gone.Top()); ok {
			t.Errorf("left: %q", below(t, gone.own))
		}
	})
	t.Run("a run is on", func(t *testing.T) {
		gone := away(t, s.Dir())
		check(t, os.Mkdir(gone.Top(), 0o700))
		holder := second(t, "lock", s.Dir(), gone.Top(), "held-1")
		check(t, os.Remove(gone.Top()))
		k, _ := find(t, a, gone.Top())
		n, err := a.Forget(k)
		var held *Held
		if n != 0 || !errors.As(err, &held) || held.RunID != "held-1" || held.Prompt != "from the helper" {
			t.Errorf("%d, %v", n, err)
		}
		if list, err := gone.List(); err != nil || len(list) != 2 {
			t.Errorf("%v, %v", list, err)
		}
		holder.kill()
		n, err = a.Forget(k)
		wantForgotten(t, 2, n, err)
	})
	t.Run("served", func(t *testing.T) {
		gone := away(t, s.Dir())
		check(t, os.Mkdir(gone.Top(), 0o700))
		remove, err := gone.Announce(Shim{PID: os.Getpid(), Addr: "127.0.0.1:1", Repo: gone.Top()})
		check(t, err)
		check(t, os.Remove(gone.Top()))
		k, _ := find(t, a, gone.Top())
		n, err := a.Forget(k)
		wantForgotten(t, 2, n, err)
		check(t, os.Mkdir(gone.Top(), 0o700)) // it comes back, and the shim goes on
		lock, err := gone.Lock(gone.Top(), Holder{RunID: NewRunID()})
		check(t, err)
		fill(t, gone, 1)
		lock.Release()
		remove()
	})
	t.Run("its place is not known", func(t *testing.T) {
		lost, err := Open(s.Dir(), t.TempDir())
		check(t, err)
		fill(t, lost, 1)
		write(t, filepath.Join(lost.own, "path"), "") // a power cut
		k, ok := find(t, a, "")
		if !ok || k.Gone {
			t.Fatalf("%+v", k)
		}
		n, err := a.Forget(k)
		wantForgotten(t, 1, n, err)
		fill(t, lost, 1) // it may well be there
	})
	if list, err := s.List(); err != nil || len(list) != 1 {
		t.Errorf("the repository that is there: %v, %v", list, err)
	}
}

func TestSweepOfAll(t *testing.T) {
	needUnix(t)
	s := open(t)
	a, err := OpenAll(s.Dir())
	check(t, err)
	remove, err := s.Announce(Shim{PID: os.Getpid(), Addr: "127.0.0.1:1", Repo: s.Top()})
	check(t, err)
	defer remove()
	second(t, "announce", s.Dir(), s.Top(), "127.0.0.1:2").kill()
	second(t, "run", s.Dir(), s.Top(), "dead-1").kill()
	scratch, err := s.ScratchDir()
	check(t, err)
	now := time.Now()
	write(t, filepath.Join(scratch, "old", "x"), "")
	check(t, os.Chtimes(filepath.Join(scratch, "old"), now, now.Add(-2*time.Hour)))
	write(t, filepath.Join(scratch, "new"), "")
	check(t, a.Sweep(now))
	if got := below(t, scratch); !slices.Equal(got, []string{"new"}) {
		t.Errorf("scratch files: %q", got)
	}
	if got := below(t, s.shimsDir()); len(got) != 2 { // ours: .json and .lock
		t.Errorf("shims: %q", got)
	}
	if got := below(t, s.foldersDir()); !slices.Equal(got, []string{"lock"}) {
		t.Errorf("run folders: %q", got)
	}

	outside := t.TempDir()
	write(t, outside+"/precious", "")
	check(t, os.Chtimes(outside+"/precious", now, now.Add(-2*time.Hour)))
	check(t, os.RemoveAll(scratch))
	check(t, os.Symlink(outside, scratch))
	if err := a.Sweep(now); err == nil || !strings.Contains(err.Error(), "is not a folder") {
		t.Errorf("a link for a folder: %v", err)
	}
	if got := below(t, outside); !slices.Equal(got, []string{"precious"}) {
		t.Errorf("outside: %q", got)
	}
}
