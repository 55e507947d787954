package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/slidewrite/slidewrite/shim/event"
)

// collect follows j from after to its end and returns the texts of its deltas.
func collect(j *journal, after int64) ([]string, error) {
	f := j.follow(after)
	defer f.Close()
	var texts []string
	want := after + 1
	for {
		frames, err := f.Next(context.Background())
		if err == io.EOF {
			return texts, nil
		}
		if err != nil {
			return texts, err
		}
		for _, fr := range frames {
			if fr.Seq != want {
				return texts, fmt.Errorf("frame %d where %d was due", fr.Seq, want)
			}
			want++
			if text, ok := strings.CutPrefix(string(fr.Data), `{"type":"delta","text":"`); ok {
				texts = append(texts, text[:min(len(text), 20)])
			}
		}
	}
}

// fill appends n deltas of size bytes each, and done.
func fill(j *journal, n, size int) {
	for i := range n {
		j.append(event.Delta{Text: fmt.Sprintf("%d:%s", i, strings.Repeat("x", size))})
	}
	j.append(event.Done{})
}

func checkAll(t *testing.T, texts []string, from, n int) {
	t.Helper()
	if len(texts) != n-from {
		t.Fatalf("%d deltas, want %d", len(texts), n-from)
	}
	for i, s := range texts {
		if !strings.HasPrefix(s, fmt.Sprintf("%d:", from+i)) {
			t.Fatalf("delta %d is %.20q", from+i, s)
		}
	}
}

func TestFollowersReadEverythingAtTheirOwnPace(t *testing.T) {
	const n, size = 3000, 5000 // 15 MB: more than the memory window
	j := newJournal(filepath.Join(t.TempDir(), "j"))
	delta := func(i int) { j.append(event.Delta{Text: fmt.Sprintf("%d:%s", i, strings.Repeat("x", size))}) }
	for i := range 100 { // nobody has seen an event that is not there
		delta(i)
	}
	var wg sync.WaitGroup
	results := make([][]string, 8)
	errs := make([]error, len(results))
	for i := range results {
		wg.Add(1)
		go func() {
			defer wg.Done()
			results[i], errs[i] = collect(j, int64(i*10))
		}()
	}
	for i := 100; i < n; i++ {
		delta(i)
	}
	j.append(event.Done{})
	wg.Wait()
	for i := range results {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		checkAll(t, results[i], i*10, n)
	}
}

func TestMemoryIsBoundedAndTheRestComesFromTheFile(t *testing.T) {
	const n, size = 4000, 5000
	j := newJournal(filepath.Join(t.TempDir(), "j"))
	most := 0
	for i := range n {
		j.append(event.Delta{Text: fmt.Sprintf("%d:%s", i, strings.Repeat("x", size))})
		most = max(most, j.bytes)
	}
	if most > memoryWindow+2*size {
		t.Errorf("%d bytes were held, the window is %d", most, memoryWindow)
	}
	j.append(event.Done{})
	if j.bytes > endedWindow {
		t.Errorf("an ended journal holds %d bytes", j.bytes)
	}
	for _, from := range []int{0, 1, indexEvery - 1, indexEvery, indexEvery + 1, n - 2, n} {
		texts, err := collect(j, int64(from))
		if err != nil {
			t.Fatal(err)
		}
		checkAll(t, texts, from, n)
	}
}

// Long events that fell out of the window come back whole, from every place on.
func TestLongEventsComeBackFromTheFile(t *testing.T) {
	j := newJournal(filepath.Join(t.TempDir(), "journal"))
	sizes := []int{10, 5 << 20, 60 << 10, 64<<10 - 40, 64 << 10, 3 << 20, 10, 9 << 20, 10}
	var want []string
	for i, size := range sizes {
		e := event.Delta{Text: fmt.Sprintf("%d:%s", i, strings.Repeat("x", size))}
		data, err := event.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, string(data))
		j.append(e)
	}
	for after := range sizes {
		f := j.follow(int64(after))
		for n := after; n < len(sizes); {
			frames, err := f.Next(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for _, fr := range frames {
				if fr.Seq != int64(n+1) || string(fr.Data) != want[n] {
					t.Fatalf("from %d: event %d is number %d of %d bytes", after, n+1, fr.Seq, len(fr.Data))
				}
				n++
			}
		}
		f.Close()
	}
	j.append(event.Done{})
}

func TestAStoredJournalIsReadBackWithoutItsHalfLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j := newJournal(path)
	fill(j, 2500, 10)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"type":"delta","te`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	old, err := openJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []int{0, 1500, 2500} {
		texts, err := collect(old, int64(from))
		if err != nil {
			t.Fatal(err)
		}
		checkAll(t, texts, from, 2500)
	}
}

// A journal that cannot be stored loses nothing: it stays in memory.
func TestAJournalWithoutAFileKeepsEverything(t *testing.T) {
	j := newJournal(filepath.Join(t.TempDir(), "no", "such", "folder"))
	const n = 3000
	fill(j, n, 5000)
	texts, err := collect(j, 0)
	if err != nil {
		t.Fatal(err)
	}
	checkAll(t, texts, 0, n)
}

func TestNextEndsWithItsContext(t *testing.T) {
	j := newJournal(filepath.Join(t.TempDir(), "j"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := j.follow(0).Next(ctx); err != context.Canceled {
		t.Errorf("got %v", err)
	}
	j.append(event.Done{})
	j.append(event.Delta{Text: "late"})
	if texts, _ := collect(j, 0); len(texts) != 0 {
		t.Error("something was appended after done")
	}
}

func BenchmarkAppendFollow(b *testing.B) {
	j := newJournal(filepath.Join(b.TempDir(), "j"))
	done := make(chan error)
	go func() {
		f := j.follow(0)
		for {
			if _, err := f.Next(context.Background()); err != nil {
				done <- err
				return
			}
		}
	}()
	e := event.Delta{Text: "Hello from t", MessageID: "msg_01"}
	for b.Loop() {
		j.append(e)
	}
	j.append(event.Done{})
	if err := <-done; err != io.EOF {
		b.Fatal(err)
	}
}

// A shim can die when the ledger says that the run has ended and the journal
// does not yet: whoever reads it still comes to done, once.
func TestJournalWithoutItsDone(t *testing.T) {
	for _, ended := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "j.jsonl")
		j := newJournal(path)
		j.append(event.Start{RunID: "r"})
		j.append(event.Delta{Text: "x"})
		if ended {
			j.append(event.Done{})
		}
		j.flushNow()
		opened, err := openJournal(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := opened.conclude(); err != nil {
			t.Fatal(err)
		}
		f := opened.follow(1)
		var got []string
		for {
			frames, err := f.Next(context.Background())
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, frame := range frames {
				got = append(got, fmt.Sprint(frame.Seq, " ", string(frame.Data)))
			}
		}
		f.Close()
		if want := []string{`2 {"type":"delta","text":"x","messageId":""}`, `3 {"type":"done"}`}; !slices.Equal(got, want) {
			t.Errorf("with done %v: got %q, want %q", ended, got, want)
		}
	}
}

// heldBytes is how much memory is in use.
func heldBytes() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// What a client was given and has not read yet keeps no more than itself: not
// the events around it, which the journal has let go of long since.
func TestABatchHoldsOnlyItself(t *testing.T) {
	j := newJournal(filepath.Join(t.TempDir(), "j"))
	text := strings.Repeat("x", 60)
	grow := func(bytes int) {
		for range bytes / len(text) {
			j.append(event.Delta{Text: text})
		}
	}
	const clients = 8
	var held [clients][]Frame
	for i := range held {
		grow(memoryWindow / 2)
		f := j.follow(j.last - 5000)
		frames, err := f.Next(context.Background())
		if err != nil || f.file != nil {
			t.Fatalf("%v, from the file: %v", err, f.file != nil)
		}
		held[i] = frames
	}
	grow(2 * memoryWindow)
	with := heldBytes()
	runtime.KeepAlive(held)
	held = [clients][]Frame{}
	if each := (with - heldBytes()) / clients; each > 1<<20 {
		t.Errorf("each client holds %d KiB", each>>10)
	}
	runtime.KeepAlive(j)
}

// The window bounds the memory of small events, too, whose bookkeeping is as
// large as they are.
func TestTheWindowCountsItsBookkeeping(t *testing.T) {
	before := heldBytes()
	j := newJournal(filepath.Join(t.TempDir(), "j"))
	most := 0
	for i := range 600_000 {
		j.append(event.Delta{Text: "flooding it ", MessageID: "msg_000001"})
		if i%50_000 == 0 {
			most = max(most, heldBytes()-before)
		}
	}
	if most > memoryWindow*3/2 {
		t.Errorf("%d KiB are held, the window is %d KiB", most>>10, memoryWindow>>10)
	}
	j.append(event.Done{})
	if ended := heldBytes() - before; ended > 4*endedWindow {
		t.Errorf("%d KiB are held after the end", ended>>10)
	}
	runtime.KeepAlive(j)
}

// ready is how many frames a follower is given without waiting.
func ready(j *journal, after int64) int {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f := j.follow(after)
	defer f.Close()
	frames, _ := f.Next(ctx)
	return len(frames)
}

// What is only added waits for publish, for a further event, or until there is
// a chunk of it: however long a burst is, a client need not wait for its end.
func TestAddedEventsAreShownByPublish(t *testing.T) {
	j := newJournal(filepath.Join(t.TempDir(), "j"))
	e := event.Delta{Text: "some words of text"}
	j.append(e)
	j.add(e)
	j.add(e)
	if n := ready(j, 0); n != 1 {
		t.Errorf("%d frames before publish", n)
	}
	j.publish()
	if n := ready(j, 0); n != 3 {
		t.Errorf("%d frames after publish", n)
	}
	j.add(e)
	j.append(e)
	if n := ready(j, 3); n != 2 {
		t.Errorf("%d frames after a further event", n)
	}
	for j.bytes < 2*chunkBytes {
		j.add(e)
	}
	if j.shown < j.last/3 {
		t.Errorf("of %d events, %d are shown", j.last, j.shown)
	}
	j.add(event.Done{})
	if texts, err := collect(j, 0); err != nil || int64(len(texts)) != j.last-1 {
		t.Errorf("%d deltas of %d events, %v", len(texts), j.last, err)
	}
}

// A follower that waits is woken by publish, and not before.
func TestPublishWakesAFollower(t *testing.T) {
	j := newJournal(filepath.Join(t.TempDir(), "j"))
	got := make(chan int)
	go func() {
		frames, _ := j.follow(0).Next(context.Background())
		got <- len(frames)
	}()
	for waits := false; !waits; runtime.Gosched() {
		j.mu.Lock()
		waits = j.wake != nil
		j.mu.Unlock()
	}
	j.add(event.Delta{Text: "a"})
	j.add(event.Delta{Text: "b"})
	j.publish()
	if n := <-got; n != 2 {
		t.Errorf("%d frames", n)
	}
}

// Who has seen more than there is begins anew.
func TestFollowPastTheEnd(t *testing.T) {
	j := newJournal(filepath.Join(t.TempDir(), "j"))
	fill(j, 3, 10)
	for after, want := range map[int64]int{0: 4, 3: 1, 4: 0, 5: 4, 1 << 60: 4, -1: 4} {
		n := 0
		f := j.follow(after)
		for frames, err := f.Next(t.Context()); err == nil; frames, err = f.Next(t.Context()) {
			n += len(frames)
		}
		f.Close()
		if n != want {
			t.Errorf("after %d: %d events, want %d", after, n, want)
		}
	}
}
