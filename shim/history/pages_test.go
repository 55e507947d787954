package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	crdb "github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// get returns a page as lines of JSON.
func (s *stage) get(p Page) (out []string, c Cursors) {
	s.t.Helper()
	c, err := s.h.Events(s.t.Context(), s.plain, id(1), p, func(e event.Event) error {
		b, err := event.Encode(e)
		out = append(out, string(b))
		return err
	})
	if err != nil {
		s.t.Fatalf("%+v: %v", p, err)
	}
	return out, c
}

// session makes lines of a session with turns of random lengths.
func randomSession(r *rand.Rand) []string {
	lines := []string{"repo " + testRepo, "noise"}
	if r.IntN(2) == 0 {
		lines = append(lines, "say before any prompt")
	}
	for turn := range 1 + r.IntN(6) {
		lines = append(lines, fmt.Sprintf("user %d", turn))
		for n := range r.IntN(8) {
			lines = append(lines, []string{"noise", "", fmt.Sprintf("say %d.%d", turn, n), "say " + strings.Repeat("long ", r.IntN(50_000))}[r.IntN(4)])
		}
		if r.IntN(3) > 0 {
			lines = append(lines, "over")
		}
	}
	return lines
}

// TestPagesMakeTheWhole reads sessions in pages of random sizes, from the end
// and from the beginning: no event twice, none missing.
func TestPagesMakeTheWhole(t *testing.T) {
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newStage(t)
		s.write(1, randomSession(r)...)
		whole, ends := s.get(Page{})
		if ends.Before != "" {
			t.Fatalf("seed %d: something is before everything: %+v", seed, ends)
		}

		var back []string
		first := true
		for p := (Page{Limit: 1 + r.IntN(9)}); first || p.Before != ""; p.Limit = 1 + r.IntN(9) {
			page, c := s.get(p)
			if len(page) > p.Limit || len(page) == 0 && len(whole) > 0 || first && c.After != ends.After {
				t.Fatalf("seed %d: %+v gave %d events, %+v", seed, p, len(page), c)
			}
			again, _ := s.get(Page{Limit: p.Limit, After: c.Before, Before: c.After})
			if c.Before != "" && !slices.Equal(again, page) {
				t.Fatalf("seed %d: between %+v\n%q\nwant\n%q", seed, c, again, page)
			}
			back = append(slices.Clone(page), back...)
			p.Before, first = c.Before, false
		}
		if !slices.Equal(back, whole) {
			t.Fatalf("seed %d: from the end\n%q\nwant\n%q", seed, back, whole)
		}

		start := s.begin()
		forth := []string{}
		for p := (Page{Limit: 1 + r.IntN(9), After: start}); ; p.Limit = 1 + r.IntN(9) {
			page, c := s.get(p)
			forth = append(forth, page...)
			if len(page) == 0 {
				if c.After != p.After {
					t.Fatalf("seed %d: the end moved from %s to %s", seed, p.After, c.After)
				}
				break
			}
			p.After = c.After
		}
		if !slices.Equal(forth, whole) {
			t.Fatalf("seed %d: from the beginning\n%q\nwant\n%q", seed, forth, whole)
		}
	}
}

// begin is the cursor before everything.
func (*stage) begin() string { return place{}.String() }

// TestPagesOfAGrowingSession goes on after the last event while the turn gets
// longer: what was said once is not said again, nor is anything left out.
func TestPagesOfAGrowingSession(t *testing.T) {
	s := newStage(t)
	s.write(1, "repo "+testRepo, "user a", "say b")
	all, c := s.get(Page{})
	for _, more := range []string{"say c\n", "over\n", "say d\nov", "er\nuser e\n", "say f\nover\n", "user g\n"} {
		s.add(1, more)
		var page []string
		page, c = s.get(Page{After: c.After})
		all = append(all, page...)
	}
	// The turn of a was over twice: once before d was said.
	texts := strings.Join(all, "\n")
	for _, once := range []string{`"text":"a"`, `"text":"c","messageId":"b"`, `"text":"d","messageId":"a"`, `"text":"e"`, `"text":"f","messageId":"a"`, `"text":"g"`} {
		if n := strings.Count(texts, once); n != 1 {
			t.Errorf("%s came %d times in\n%s", once, n, texts)
		}
	}
}

func TestPageOfNothing(t *testing.T) {
	s := newStage(t)
	s.write(1, "repo "+testRepo)
	for _, p := range []Page{{}, {Limit: 5}} {
		if page, c := s.get(p); len(page) > 0 || c != (Cursors{}) {
			t.Errorf("%+v: %q, %+v", p, page, c)
		}
	}
}

func TestBadCursors(t *testing.T) {
	s := newStage(t)
	s.write(1, "repo "+testRepo, "user a", "say b", "user c")
	for _, c := range []string{"x", "-", "1", "-1-0", "0-", "0--1", "+0-0", "00-0", "0-0.0", "0-0.", "1-0", "5-1", "99999-0", "99999999999999999999-0", "9223372036854775807-0", " 0-0", "0-0 "} {
		for _, p := range []Page{{Before: c}, {After: c}, {Before: c, Limit: 1}} {
			_, err := s.h.Events(t.Context(), s.plain, id(1), p, func(event.Event) error { return nil })
			if !errors.Is(err, ErrBadCursor) {
				t.Errorf("%+v: %v, want ErrBadCursor", p, err)
			}
		}
	}
	if _, err := s.h.Events(t.Context(), s.plain, id(1), Page{Limit: -1}, nil); !errors.Is(err, ErrBadCursor) {
		t.Errorf("a negative limit: %v", err)
	}
}

// TestCursorsOfARewrittenSession are refused with what to do, where the session
// does not reach as far any more, in its first turn or a later one.
func TestCursorsOfARewrittenSession(t *testing.T) {
	s := newStage(t)
	s.write(1, "repo "+testRepo, "user a", "say b", "over", "user c", "say d", "over")
	first := len("repo " + testRepo + "\n")
	second := first + len("user a\nsay b\nover\n")
	at := func(turn int, rest string) string { return fmt.Sprint(turn, rest) }
	for _, c := range []string{"0-99999999", "0-1", "0-7.1", at(first, "-4"), at(first, "-4.1"), at(second, "-4"), at(second, "-9.1")} {
		for _, p := range []Page{{Before: c}, {After: c}, {Before: c, Limit: 2}, {After: c, Limit: 2}} {
			n := 0
			_, err := s.h.Events(t.Context(), s.plain, id(1), p, func(event.Event) error { n++; return nil })
			if !errors.Is(err, ErrBadCursor) || n > 0 || len(crdb.GetAllHints(err)) == 0 {
				t.Errorf("%+v: %v after %d events, want ErrBadCursor with a hint", p, err, n)
			}
		}
	}
	for _, c := range []string{"0-0", at(first, "-3"), at(first, "-3.2"), at(first, "-3.7"), at(second, "-3.2")} {
		for _, p := range []Page{{Before: c}, {After: c}, {Before: c, Limit: 2}, {After: c, Limit: 2}} {
			s.get(p)
		}
	}
}

func TestEventsStops(t *testing.T) {
	s := newStage(t)
	s.write(1, "repo "+testRepo, "user a", "say b", "user c")
	n, enough := 0, errors.New("enough of it")
	_, err := s.h.Events(t.Context(), s.plain, id(1), Page{}, func(event.Event) error { n++; return enough })
	if n != 1 || !errors.Is(err, enough) {
		t.Errorf("%d events, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.h.Events(ctx, s.plain, id(1), Page{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := s.h.List(ctx, s.plain); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := s.h.Events(t.Context(), s.plain, id(2), Page{}, nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
}

// TestLongLineIsSkipped has a record that is longer than any of an agent's.
func TestLongLineIsSkipped(t *testing.T) {
	s := newStage(t)
	s.write(1, "repo "+testRepo, "user a", "say "+strings.Repeat("x", maxLine), "say b", "user c")
	whole, _ := s.get(Page{})
	if len(whole) != 4 {
		t.Errorf("%d events, want 4", len(whole))
	}
	if last, _ := s.get(Page{Limit: 3}); !slices.Equal(last, whole[1:]) {
		t.Errorf("last 3: %q", last)
	}
}

// TestAppendedWhileManyRead has an agent write, in halves of lines, while
// others list and read: no error, no event torn, none missing.
func TestAppendedWhileManyRead(t *testing.T) {
	const clients, records = 50, 40
	s := newStage(t)
	s.write(1, "repo "+testRepo, "user a")
	var wg sync.WaitGroup
	errs := make(chan error, 2*clients)
	read := make(chan struct{}, 1) // somebody has, since the last half line
	for range clients {
		wg.Go(func() {
			next, cursor := 0, place{}.String()
			for next < records {
				if rows, err := s.h.List(t.Context(), s.plain); err != nil || len(rows) != 1 {
					errs <- fmt.Errorf("list: %v, %w", rows, err)
					return
				}
				c, err := s.h.Events(t.Context(), s.plain, id(1), Page{After: cursor}, func(e event.Event) error {
					d, isDelta := e.(event.Delta)
					if !isDelta || d.MessageID == "b" {
						return nil
					}
					if want := fmt.Sprint("record ", next); d.Text != want {
						return fmt.Errorf("got %q, want %q", d.Text, want)
					}
					next++
					return nil
				})
				if err != nil {
					errs <- err
					return
				}
				cursor = c.After
				select {
				case read <- struct{}{}:
				default:
				}
			}
		})
	}
	gone := make(chan struct{})
	go func() { wg.Wait(); close(gone) }()
	for n := range records {
		line := fmt.Sprintf("say record %d\n", n)
		for _, half := range []string{line[:6], line[6:]} {
			select {
			case <-read:
			case <-gone: // each with an error
			}
			s.add(1, half)
		}
	}
	<-gone
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}

// FuzzPages reads any bytes in pages and as a whole.
func FuzzPages(f *testing.F) {
	f.Add([]byte("user a\nsay b\nover\nuser c\n"), uint8(2), "0-0")
	f.Add([]byte("\n\nsay x\nuser \nover"), uint8(1), "9-1.1")
	f.Add([]byte(""), uint8(0), "")
	f.Fuzz(func(t *testing.T, data []byte, limit uint8, cursor string) {
		s := newStage(t)
		s.write(1, "repo "+testRepo, string(data))
		whole, _ := s.get(Page{})
		var back []string
		for p := (Page{Limit: max(1, int(limit))}); ; {
			page, c := s.get(p)
			back = append(slices.Clone(page), back...)
			if p.Before = c.Before; p.Before == "" {
				break
			}
		}
		if !slices.Equal(back, whole) {
			t.Errorf("in pages of %d\n%q\nwant\n%q", limit, back, whole)
		}
		for _, p := range []Page{{Before: cursor, Limit: int(limit)}, {After: cursor, Limit: int(limit)}} {
			_, err := s.h.Events(t.Context(), s.plain, id(1), p, func(event.Event) error { return nil })
			if err != nil && !errors.Is(err, ErrBadCursor) {
				t.Errorf("%+v: %v", p, err)
			}
		}
	})
}

// FuzzLines compares the readers of lines, at small limits, with strings.Split.
func FuzzLines(f *testing.F) {
	f.Add("a\nbb\n\nccc", uint16(2))
	f.Add(strings.Repeat("x", 300_000)+"\n"+strings.Repeat("y\n", 100), uint16(10))
	f.Fuzz(func(t *testing.T, text string, limit uint16) {
		most := 1 + int(limit)
		want := strings.Split(text, "\n")
		want = want[:len(want)-1] // not ended
		var l lines
		l.open(t.Context(), strings.NewReader(text), 0, int64(len(text)), most)
		offset := 0
		for _, w := range want {
			line, at, cut, err := l.next()
			if err != nil || string(line) != w[:min(len(w), most)] || int(at) != offset || cut != (len(w) > most) {
				t.Fatalf("%q at %d, cut %v, %v; want %q at %d", line, at, cut, err, w, offset)
			}
			offset += len(w) + 1
		}
		if line, _, _, err := l.next(); err == nil {
			t.Fatalf("one more: %q", line)
		}
		end, err := lastLine(t.Context(), strings.NewReader(text), int64(len(text)))
		if err != nil || int(end) != offset {
			t.Fatalf("the last line ends at %d, %v; want %d", end, err, offset)
		}
	})
}

// FuzzIndex decodes any bytes; what it takes, it writes again the same.
func FuzzIndex(f *testing.F) {
	some := map[string]*entry{"/a": {stamp: stamp{size: 9, mtime: 1, ctime: -1, inode: 7, dev: 1}, racy: true, verdict: agent.Ours, offset: 9, print: 1 << 63, save: "s", row: Session{ID: id(1), Title: "t", Messages: 3}}}
	f.Add(string(encodeIndex("key", some)))
	f.Add(string(encodeIndex("key", nil)))
	f.Add(indexMagic + "\x03key\xff\xff\xff\xff\x0f")
	f.Fuzz(func(t *testing.T, data string) {
		entries, err := decodeIndex(data, "key")
		if err != nil {
			return
		}
		again, err := decodeIndex(string(encodeIndex("key", entries)), "key")
		if err != nil || len(again) != len(entries) {
			t.Fatalf("%d entries, then %d, %v", len(entries), len(again), err)
		}
		for path, e := range entries {
			if *again[path] != *e {
				t.Errorf("%q: %+v, then %+v", path, *e, *again[path])
			}
		}
	})
}
