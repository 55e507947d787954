package state

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/errors"
)

func ids(records []Record) []string {
	var out []string
	for _, r := range records {
		out = append(out, r.ID)
	}
	return out
}

func put(t *testing.T, s *Store, id, state string, started time.Time) {
	t.Helper()
	check(t, s.Put(Record{ID: id, Kind: KindDesign, State: state, StartedAt: started}))
	check(t, os.WriteFile(s.JournalPath(id), []byte("{}\n"), 0o600))
}

func TestPutGetList(t *testing.T) {
	s := open(t)
	if all, err := s.List(); err != nil || len(all) != 0 {
		t.Fatalf("%v, %v", all, err)
	}
	if _, err := s.Get("no-run"); !errors.Is(err, ErrNoRecord) {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 30, 13, 53, 1, 5, time.UTC)
	want := Record{
		ID: "run-1", Kind: KindUndo, State: Failed, Provider: "anthropic", Session: "s", Prompt: "a\u2028\"\n<b>",
		StartedAt: at, EndedAt: at.Add(time.Second), Before: json.RawMessage(`{"tree":"a"}`), After: json.RawMessage(`{"tree":"b"}`),
		Files: json.RawMessage(`[{"path":"x"}]`), SHA: "abc", Undone: true, UndoOf: "run-0", Intent: json.RawMessage(`{"kind":"commit"}`), PID: 12,
	}
	check(t, s.Put(want))
	got, err := s.Get("run-1")
	check(t, err)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	want.State, want.Intent, want.PID = Done, nil, 0
	check(t, s.Put(want))
	if got, _ := s.Get("run-1"); got.State != Done || got.Intent != nil || got.PID != os.Getpid() {
		t.Errorf("%+v", got)
	}
	put(t, s, "run-0", Done, at.Add(-time.Hour))
	put(t, s, "run-3", Done, at)
	put(t, s, "run-2", Done, at.Add(time.Hour))
	all, err := s.List()
	check(t, err)
	if got := ids(all); !slices.Equal(got, []string{"run-2", "run-3", "run-1", "run-0"}) {
		t.Errorf("%v, want newest first", got)
	}
	other, err := Open(s.Dir(), t.TempDir())
	check(t, err)
	if all, _ := other.List(); len(all) != 0 {
		t.Errorf("another repository sees %v", ids(all))
	}
	if err := s.Put(Record{ID: "run-4", Kind: KindDesign, State: Done, Files: json.RawMessage("{half")}); err == nil {
		t.Error("a record that is no JSON was written")
	}
}

// Damaged files are skipped and kept aside; others are not touched.
func TestDamagedLedger(t *testing.T) {
	s := open(t)
	put(t, s, "run-1", Done, time.Now())
	b, err := os.ReadFile(s.recordPath("run-1"))
	check(t, err)
	for name, data := range map[string][]byte{
		"run-2.json": b[:len(b)/2], "run-3.json": {}, "run-4.json": b /* says it is run-1 */, "run-5.json": []byte(`{"id":"run-5"}`),
		"run-6.json": []byte("\x00\x00\x00"), "notes.txt": []byte("hello"), tempPrefix + "123": b[:9],
	} {
		check(t, os.WriteFile(filepath.Join(s.runsDir(), name), data, 0o600))
	}
	check(t, os.Mkdir(s.recordPath("run-7"), 0o700))
	all, err := s.List()
	check(t, err)
	if got := ids(all); !slices.Equal(got, []string{"run-1"}) {
		t.Errorf("%v", got)
	}
	for i := 2; i <= 6; i++ {
		path := s.recordPath(fmt.Sprintf("run-%d", i))
		if _, err := os.Stat(path + ".bad"); err != nil {
			t.Errorf("not kept aside: %v", err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := os.Stat(filepath.Join(s.runsDir(), "notes.txt")); err != nil {
		t.Error(err)
	}
	put(t, s, "run-2", Done, time.Now()) // its name is free again
	if all, _ := s.List(); len(all) != 2 {
		t.Errorf("%v", ids(all))
	}
}

// Killed at any moment, a writer leaves the old record or the new one.
func TestPutSurvivesKill(t *testing.T) {
	s := open(t)
	for range 5 {
		o := second(t, "put", s.Dir(), s.Top(), "run-1")
		seen := 0
		for seen < 30 { // while it is writing
			if r, err := s.Get("run-1"); err == nil {
				seen++
				if len(r.Prompt) != 20_000 {
					t.Fatalf("a mixture: %d bytes", len(r.Prompt))
				}
			} else if !errors.Is(err, ErrNoRecord) {
				t.Fatal(err)
			}
		}
		o.kill()
		r, err := s.Get("run-1")
		check(t, err)
		if strings.Trim(r.Prompt, r.Prompt[:1]) != "" {
			t.Fatal("a mixture of two records")
		}
	}
}

func TestConcurrentPutAndList(t *testing.T) {
	s := open(t)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 15 {
				id := fmt.Sprintf("run-%d-%d", w, i)
				if err := s.Put(Record{ID: id, Kind: KindDesign, State: Done}); err != nil {
					t.Error(err)
				}
				if _, err := s.List(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	all, err := s.List()
	check(t, err)
	left, _ := filepath.Glob(filepath.Join(s.runsDir(), "*.bad"))
	temps, _ := filepath.Glob(filepath.Join(s.runsDir(), tempPrefix+"*"))
	if len(all) != 60 || len(left)+len(temps) != 0 {
		t.Errorf("%d records, left over %v %v", len(all), left, temps)
	}
}

// No update of two processes is lost.
func TestUpdateAcrossProcesses(t *testing.T) {
	s := open(t)
	put(t, s, "run-1", Done, time.Now())
	both := []*other{start(t, "count", s.Dir(), s.Top(), "run-1"), start(t, "count", s.Dir(), s.Top(), "run-1")}
	for _, o := range both {
		o.await()
		o.end()
	}
	if r, err := s.Get("run-1"); err != nil || len(r.Prompt) != 40 {
		t.Errorf("%d of 40 updates, %v", len(r.Prompt), err)
	}
	if err := s.Update("no-run", func(*Record) {}); !errors.Is(err, ErrNoRecord) {
		t.Error(err)
	}
}

func TestInterrupted(t *testing.T) {
	s := open(t)
	interrupted := func(want ...string) {
		t.Helper()
		got, err := s.Interrupted()
		check(t, err)
		if !slices.Equal(ids(got), want) {
			t.Errorf("interrupted %v, want %v", ids(got), want)
		}
	}
	put(t, s, "done-run", Done, time.Now())
	o := second(t, "run", s.Dir(), s.Top(), "helper-run")
	interrupted() // it lives
	put(t, s, "older-run", Running, time.Now().Add(-time.Hour))
	interrupted("older-run") // one run per repository: the holder is another one

	check(t, os.Remove(filepath.Join(s.own, "holder.json")))
	interrupted() // nobody says who holds it, and both processes live
	o.kill()
	interrupted("helper-run", "older-run")

	l := lockNow(t, s) // as recovery does
	defer l.Release()
	put(t, s, "my-run", Running, time.Now())
	interrupted("helper-run", "older-run")
}

func TestPrune(t *testing.T) {
	s := open(t)
	now := time.Now()
	put(t, s, "old-running", Running, now.Add(-2*MaxAge))
	put(t, s, "old-done", Done, now.Add(-MaxAge-time.Minute))
	put(t, s, "young-done", Done, now.Add(-MaxAge+time.Hour))
	old := now.Add(-MaxAge - time.Hour)
	lost := map[string]bool{ // file → still wanted
		s.JournalPath("lost-journal"):                    false,
		s.recordPath("bad-run") + ".bad":                 false,
		filepath.Join(s.runsDir(), tempPrefix+"1"):       false,
		filepath.Join(s.runsDir(), "something-else.txt"): true,
	}
	for path := range lost {
		check(t, os.WriteFile(path, nil, 0o600))
		check(t, os.Chtimes(path, old, old))
	}
	fresh := s.JournalPath("fresh-journal") // its record may be about to come
	check(t, os.WriteFile(fresh, nil, 0o600))
	lost[fresh] = true

	gone, err := s.Prune(now)
	check(t, err)
	if !slices.Equal(gone, []string{"old-done"}) {
		t.Errorf("removed %v", gone)
	}
	for path, want := range lost {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", path, err, want)
		}
	}
	for id, want := range map[string]bool{"old-running": true, "old-done": false, "young-done": true} {
		_, record := os.Stat(s.recordPath(id))
		_, journal := os.Stat(s.JournalPath(id))
		if (record == nil) != want || (journal == nil) != want {
			t.Errorf("%s: %v, %v, want it there: %v", id, record, journal, want)
		}
	}
}

func TestPruneKeepsTheNewest(t *testing.T) {
	s := open(t)
	now := time.Now()
	for i := range MaxRuns + 3 {
		id := fmt.Sprintf("run-%03d", i)
		b := fmt.Sprintf(`{"id":%q,"kind":"design","state":"done","startedAt":%q}`, id, now.Add(time.Duration(i)*time.Second).Format(time.RFC3339))
		check(t, os.WriteFile(s.recordPath(id), []byte(b), 0o600))
	}
	gone, err := s.Prune(now)
	check(t, err)
	if !slices.Equal(gone, []string{"run-002", "run-001", "run-000"}) {
		t.Errorf("removed %v", gone)
	}
	if all, _ := s.List(); len(all) != MaxRuns {
		t.Errorf("%d left", len(all))
	}
}

// BenchmarkPut is what each durable step of a run costs.
func BenchmarkPut(b *testing.B) {
	s, err := Open(b.TempDir()+"/state", b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := s.Put(Record{ID: "run-1", Kind: KindDesign, State: Running}); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzDecodeRecord(f *testing.F) {
	for _, s := range []string{
		`{"id":"run-1","kind":"design","state":"done","startedAt":"2026-11-30T13:53:01Z","pid":1}`,
		`{"id":"run-1","kind":"undo","state":"running","before":{"a":[1]},"files":[],"intent":null,"undone":true,"later":"field"}`,
		`{"id":"../x","kind":"design","state":"done"}`, `{"id":"run-1"}`, `{}`, `[]`, `null`, ``, `{"id":"run-1","kind":"design","sta`,
		`{"id":1}`, `{"id":"a-b","kind":"k","state":"s","startedAt":"yesterday"}`, "\x00\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := DecodeRecord(b)
		if err != nil {
			return
		}
		if !ValidRunID(r.ID) || r.Kind == "" || r.State == "" {
			t.Fatalf("%+v", r)
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		r2, err := DecodeRecord(again)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if r2.ID != r.ID || r2.State != r.State || !r2.StartedAt.Equal(r.StartedAt) || r2.Undone != r.Undone {
			t.Fatalf("%+v became %+v", r, r2)
		}
	})
}

func TestPruneClearsScratch(t *testing.T) {
	s := open(t)
	dir, err := s.ScratchDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"discovery-old/cc-socks", "discovery-new"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "discovery-old"), past, past); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prune(time.Now()); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "discovery-new" {
		t.Errorf("left: %v, %v", left, err)
	}
}
