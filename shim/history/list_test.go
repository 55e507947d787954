package history

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/slidewrite/slidewrite/shim/agent"
)

func (s *stage) want(want ...string) {
	s.t.Helper()
	if got := s.rows(); !slices.Equal(got, want) {
		s.t.Errorf("rows %q, want %q", got, want)
	}
}

// wantScan wants that a session was scanned so often since it was asked last,
// and so many lines of it read.
func (s *stage) wantScan(n, scans, lines int) {
	s.t.Helper()
	if gotScans, gotLines := s.scanned(n); gotScans != scans || gotLines != lines {
		s.t.Errorf("session %d: %d scans of %d lines, want %d of %d", n, gotScans, gotLines, scans, lines)
	}
}

func TestListNewestFirst(t *testing.T) {
	s := newStage(t)
	s.write(1, "repo "+testRepo, "user one", "time 100")
	s.write(2, "repo "+testRepo, "user two", "time 300")
	s.write(3, "repo "+testRepo, "user three", "time 200", "say x")
	s.write(4, "repo /other", "user four", "time 400")
	s.write(5, "repo "+testRepo, "side", "user five")
	s.write(6, "user nobody knows whose")
	s.write(7)
	s.want("2 two 1", "3 three 2", "1 one 1")
}

func TestRowIsOneShortLine(t *testing.T) {
	s := newStage(t)
	long := strings.Repeat("é wörd ", 100)
	s.write(1, "repo "+testRepo, "user "+long)
	s.write(2, "repo "+testRepo, "title  a \t\u202e\u2066 b\u200f", "user use ghp_0123456789abcdefghijABCDEFGHIJ012345 here")
	got, err := s.h.List(t.Context(), s.plain)
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	for _, row := range got {
		if row.ID == id(1) {
			if n := utf8.RuneCountInString(row.Title); n > 80 || n < 75 || !strings.HasPrefix(long, strings.TrimSuffix(row.Title, "…")) {
				t.Errorf("title of %d characters: %q", n, row.Title)
			}
			if n := utf8.RuneCountInString(row.FirstPrompt); n > 140 || n < 135 {
				t.Errorf("prompt of %d characters: %q", n, row.FirstPrompt)
			}
			continue
		}
		if row.Title != "a b" || row.FirstPrompt != "use [secret hidden] here" {
			t.Errorf("title %q, prompt %q", row.Title, row.FirstPrompt)
		}
	}
}

// TestWarmListOpensNothing lists twice, and again after a restart.
func TestWarmListOpensNothing(t *testing.T) {
	s := newStage(t)
	s.write(1, "repo "+testRepo, "user one")
	s.write(2, "repo /other", "user two", "say much", "say more")
	s.settle()
	s.want("1 one 1")
	s.wantScan(1, 1, 2)
	s.wantScan(2, 1, 1) // a foreign one is left at its first line
	s.want("1 one 1")
	s.restart()
	s.want("1 one 1")
	s.wantScan(1, 0, 0)
	s.wantScan(2, 0, 0)
}

// TestEveryDateIsKept has dates at the ends of what JSON, and of what an int64
// of nanoseconds can hold: a warm list has those of a cold one.
func TestEveryDateIsKept(t *testing.T) {
	for _, began := range []string{"0001-01-02T00:00:00Z", "1677-01-01T00:00:00.5Z", "1969-12-31T23:59:59.999999999Z", "1970-01-01T00:00:00Z", "2262-05-01T00:00:00Z", "9999-12-31T23:59:59Z"} {
		s := newStage(t)
		s.write(1, "repo "+testRepo, "user one", "began "+began)
		s.settle()
		for _, list := range []string{"cold", "warm", "restarted"} {
			rows, err := s.h.List(t.Context(), s.plain)
			if err != nil || len(rows) != 1 || rows[0].StartedAt.Format(time.RFC3339Nano) != began {
				t.Errorf("%s: %s: %+v, %v", began, list, rows, err)
			}
			if list == "warm" {
				s.restart()
			}
		}
		s.wantScan(1, 1, 3)
	}
}

func TestIndexIsPrivate(t *testing.T) {
	s := newStage(t)
	s.write(1, "repo "+testRepo, "user one")
	s.want("1 one 1")
	for path, mode := range map[string]os.FileMode{s.cache: os.ModeDir | 0o700, filepath.Join(s.cache, indexName): 0o600} {
		if info, err := os.Lstat(path); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, mode)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(s.cache, tempPrefix+"*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestGrownFileIsReadFromItsTail appends, a line in two halves.
func TestGrownFileIsReadFromItsTail(t *testing.T) {
	s := newStage(t)
	s.write(1, "repo "+testRepo, "user one")
	s.settle()
	s.want("1 one 1")
	s.wantScan(1, 1, 2)
	s.add(1, "say a\nsa")
	s.settle()
	s.want("1 one 2")
	s.wantScan(1, 1, 1)
	s.add(1, "y b\n")
	s.want("1 one 3")
	s.wantScan(1, 1, 1)
	s.restart()
	s.add(1, "say c\n")
	s.want("1 one 4")
}

// TestRaces changes files behind the index's back.
func TestRaces(t *testing.T) {
	old := []string{"repo " + testRepo, "user one", "say a"}
	for _, c := range []struct {
		name   string
		change func(s *stage)
		want   []string
	}{
		{"rewritten with the same size and mtime", func(s *stage) {
			info, _ := os.Lstat(s.path(1))
			s.write(1, "repo "+testRepo, "user two", "say a")
			if err := os.Chtimes(s.path(1), info.ModTime(), info.ModTime()); err != nil {
				s.t.Fatal(err)
			}
		}, []string{"1 two 2"}},
		{"replaced by another of the same size and mtime", func(s *stage) {
			info, _ := os.Lstat(s.path(1))
			if err := os.Rename(s.path(1), s.path(1)+".old"); err != nil { // its inode stays taken
				s.t.Fatal(err)
			}
			s.write(1, "repo "+testRepo, "user two", "say a")
			if err := os.Chtimes(s.path(1), info.ModTime(), info.ModTime()); err != nil {
				s.t.Fatal(err)
			}
		}, []string{"1 two 2"}},
		{"removed, its inode reused by a longer one", func(s *stage) {
			if err := os.Remove(s.path(1)); err != nil {
				s.t.Fatal(err)
			}
			s.write(1, "repo "+testRepo, "user other", "say a", "say b")
		}, []string{"1 other 3"}},
		{"rewritten in place, longer, with another beginning", func(s *stage) {
			s.write(1, "repo "+testRepo, "user xxx", "say a", "say b")
		}, []string{"1 xxx 3"}},
		{"rewritten in place to another folder's", func(s *stage) { s.write(1, "repo /other", "user xxx", "say a", "say b", "say c") }, nil},
		{"shrunk", func(s *stage) { s.write(1, "repo "+testRepo, "user one") }, []string{"1 one 1"}},
		{"emptied", func(s *stage) { s.write(1, "") }, nil},
		{"vanished", func(s *stage) { _ = os.Remove(s.path(1)) }, nil},
		{"became a folder", func(s *stage) { _ = os.Remove(s.path(1)); _ = os.Mkdir(s.path(1), 0o700) }, nil},
		{"became a link out of the folder", func(s *stage) {
			outside := filepath.Join(s.t.TempDir(), "x")
			if err := errors.Join(os.Rename(s.path(1), outside), os.Symlink(outside, s.path(1))); err != nil {
				s.t.Fatal(err)
			}
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, settled := range []bool{true, false} {
				s := newStage(t)
				s.write(1, old...)
				if settled {
					s.settle()
				}
				s.want("1 one 2")
				c.change(s)
				s.want(c.want...)
				s.restart()
				s.want(c.want...)
				if _, err := s.h.Find(t.Context(), s.plain, id(1)); (err == nil) != (c.want != nil) {
					t.Errorf("find: %v", err)
				}
			}
		})
	}
}

// TestRewrittenInTheMiddle has a file rewritten in place, in a few bytes or in
// all behind them, its ends as they were, and appended to.
func TestRewrittenInTheMiddle(t *testing.T) {
	filler := strings.Repeat("x "+strings.Repeat("y", 100)+"\n", 100) // 10 KB
	for _, c := range []struct {
		name    string
		fillers int
		new     string
	}{
		{"some bytes of a small file", 1, "user other"},
		{"some bytes of a session", 100, "user other"},
		{"a long file, moved", 2000, "user longer than it was"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			around := strings.Repeat(filler, c.fillers)
			s.write(1, "repo "+testRepo, around+"user first\n"+around+"x")
			s.settle()
			s.want("1 first 1")
			s.write(1, "repo "+testRepo, around+c.new+"\n"+around+"x")
			s.add(1, "say a\n")
			s.want("1 " + c.new[len("user "):] + " 2")
			s.scanned(1)
			s.settle()
			s.add(1, "say b\n")
			s.want("1 " + c.new[len("user "):] + " 3")
			s.wantScan(1, 1, 1)
		})
	}
}

// swap replaces the file under the feet of whoever scans it.
type swap struct {
	*plain
	once func()
}

func (w *swap) NewScan(h agent.History, t agent.Transcript, saved []byte) (agent.Scan, error) {
	if w.once != nil {
		w.once()
		w.once = nil
	}
	return w.plain.NewScan(h, t, saved)
}

func TestReplacedWhileRead(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s *stage)
		first  string // what the list that was reading says
		then   string
	}{
		{"rewritten in place", func(s *stage) { s.write(1, "repo "+testRepo, "user new") }, "new", "1 new 1"},
		{"truncated", func(s *stage) { _ = os.Truncate(s.path(1), int64(len("repo "+testRepo+"\nuser one\nsay a\n"))) }, "one", "1 one 2"},
		{"replaced", func(s *stage) {
			_ = os.Remove(s.path(1))
			s.write(1, "repo "+testRepo, "user new")
		}, "new", "1 new 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			s.write(1, "repo "+testRepo, "user one", strings.Repeat("say a\n", 50_000))
			s.settle()
			got, err := s.h.List(t.Context(), &swap{plain: s.plain, once: func() { c.change(s) }})
			if err != nil || len(got) != 1 || got[0].FirstPrompt != c.first {
				t.Fatalf("%+v, %v; want the prompt %q", got, err, c.first)
			}
			s.want(c.then)
		})
	}
}

func TestBrokenIndexIsMadeAnew(t *testing.T) {
	s := newStage(t)
	s.write(1, "repo "+testRepo, "user one")
	s.settle()
	s.want("1 one 1")
	path := filepath.Join(s.cache, indexName)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(good)
	flipped[len(flipped)/2] ^= 1
	for name, bad := range map[string][]byte{
		"empty": nil, "truncated": good[:len(good)-9], "flipped": flipped, "text": []byte("{}\n{}\n{}"), "longer": append(slices.Clone(good), 0),
	} {
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		s.restart()
		s.want("1 one 1")
		if got, _ := os.ReadFile(path); !slices.Equal(got, good) {
			t.Errorf("%s: the index was not written anew", name)
		}
		s.wantScanned(name)
	}
	s.h = New(Options{History: agent.History{Repo: testRepo}, Cache: s.cache, Version: "2"})
	s.want("1 one 1")
	s.wantScanned("another version")
	s.h = New(Options{History: agent.History{Repo: "/other"}, Cache: s.cache, Version: "2"})
	s.want()
}

func (s *stage) wantScanned(why string) {
	s.t.Helper()
	if n, _ := s.scanned(1); n == 0 {
		s.t.Errorf("%s: the session was not read", why)
	}
}

// TestCacheThatCannotBeWritten serves all the same.
func TestCacheThatCannotBeWritten(t *testing.T) {
	s := newStage(t)
	s.cache = filepath.Join(s.dir, id(1)+".log", "below a file")
	s.restart()
	s.write(1, "repo "+testRepo, "user one")
	s.want("1 one 1")
	s.cache = ""
	s.restart()
	s.want("1 one 1")
}

// TestVanishedEntriesAreDropped looks into the file of the index.
func TestVanishedEntriesAreDropped(t *testing.T) {
	s := newStage(t)
	s.write(1, "repo "+testRepo, "user one")
	s.write(2, "repo /other")
	s.rows()
	if err := os.Remove(s.path(2)); err != nil {
		t.Fatal(err)
	}
	s.rows()
	if got := readIndex(s.cache, s.h.opts.key()); len(got) != 1 || got[s.path(1)] == nil {
		t.Errorf("entries %v", got)
	}
}

// TestTwoShimsOnOneCache has them list in turn, each with news the other does
// not know.
func TestTwoShimsOnOneCache(t *testing.T) {
	s := newStage(t)
	s.write(1, "repo "+testRepo, "user one", "time 100")
	first := s.h
	s.restart()
	second := s.h
	for _, h := range []*History{first, second, first, second} {
		s.h = h
		s.add(1, "say a\n")
		s.write(2, "repo "+testRepo, "user two", "time 50")
		s.rows()
		_ = os.Remove(s.path(2))
	}
	s.restart()
	s.want("1 one 5")
}

func TestTwoReposInOneFolder(t *testing.T) {
	s := newStage(t)
	s.write(1, "repo "+testRepo, "user one")
	s.write(2, "repo /other", "user two")
	s.want("1 one 1")
	s.h = New(Options{History: agent.History{Repo: "/other"}, Cache: filepath.Join(t.TempDir(), "other")})
	s.want("2 two 1")
}

func TestFind(t *testing.T) {
	s := newStage(t)
	s.write(0xabc, "repo "+testRepo, "user one")
	s.write(2, "repo /other", "user two")
	s.write(3, "repo "+testRepo, "side")
	if err := os.WriteFile(filepath.Join(s.dir, "secret.log"), []byte("repo "+testRepo), 0o600); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{
		id(0xabc): true, strings.ToUpper(id(0xabc)): true,
		id(2): false, id(3): false, id(9): false,
		"": false, "secret": false, "..": false, "../" + id(0xabc): false, id(0xabc) + "/": false, id(0xabc) + "\n": false, id(0xabc) + ".log": false,
	} {
		got, err := s.h.Find(t.Context(), s.plain, id)
		if want && (err != nil || got.Path != s.path(0xabc)) {
			t.Errorf("%q: %v, %v", id, got, err)
		}
		if !want && !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v, %v; want ErrNotFound", id, got, err)
		}
	}
}

func TestWholeFile(t *testing.T) {
	s := newStage(t)
	s.whole = true
	s.write(1, "repo "+testRepo, "user one", "say x")
	s.settle()
	s.want("1 one 2")
	s.wantScan(1, 1, 1)
	s.want("1 one 2")
	s.wantScan(1, 0, 0)
	s.add(1, "say y\n")
	s.want("1 one 3")
	s.wantScan(1, 1, 1)
}

// TestWaitingSession is read anew until it tells all.
func TestWaitingSession(t *testing.T) {
	s := newStage(t)
	wait := strings.TrimSuffix(s.path(1), ".log") + ".wait"
	s.write(1, "repo "+testRepo, "user one")
	if err := os.WriteFile(wait, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.settle()
	for _, scans := range []int{1, 1} {
		s.want("1 one 1")
		s.wantScan(1, scans, 2*scans)
	}
	if err := os.Remove(wait); err != nil {
		t.Fatal(err)
	}
	s.want("1 one 1")
	s.wantScan(1, 1, 2)
	s.want("1 one 1")
	s.wantScan(1, 0, 0)
}

func TestStampUnsettled(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 5e6, time.UTC).UnixNano()
	second := at - 5e6
	for _, c := range []struct {
		stamp stamp
		after time.Duration
		want  bool
	}{
		{stamp{mtime: at, ctime: at}, 0, true},
		{stamp{mtime: at, ctime: at}, 10 * time.Millisecond, true},
		{stamp{mtime: at, ctime: at}, 30 * time.Millisecond, false},
		{stamp{mtime: at - 1e12, ctime: at}, 0, true}, // the file's own clock was set
		{stamp{mtime: at + 1e12, ctime: at}, time.Second, false},
		{stamp{mtime: at}, 0, true}, // no ctime
		{stamp{mtime: second, ctime: second}, time.Second, true},
		{stamp{mtime: second, ctime: second}, 3 * time.Second, false},
	} {
		base := max(c.stamp.ctime, c.stamp.mtime)
		if c.stamp.ctime > 0 {
			base = c.stamp.ctime
		}
		if got := c.stamp.unsettled(base + int64(c.after)); got != c.want {
			t.Errorf("%+v after %v: %v", c.stamp, c.after, got)
		}
	}
}
