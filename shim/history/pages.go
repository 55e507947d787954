package history

import (
	"context"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// maxLine is the longest record that is replayed, in bytes (spec "transcript
// line"); a longer one is skipped.
const maxLine = 32 << 20

// place is where an event stands in a session: the offset of its turn, the
// number of events of records before it in the turn, and for those that close
// the turn (Replay.End) the number of those before it. A turn that grows
// leaves the places of its records as they are.
type place struct {
	turn    int64
	records int
	closing int
}

var theEnd = place{turn: math.MaxInt64}

// spot is the place of one event.
type spot struct {
	place
	closes bool // it comes from Replay.End
}

// before tells whether the event comes before a place. An event of a record
// that came after a cursor was given is behind it, closing events or not.
func (e spot) before(p place) bool {
	switch {
	case e.turn != p.turn:
		return e.turn < p.turn
	case e.records != p.records:
		return e.records < p.records
	}
	return e.closes && e.closing < p.closing
}

// next is the place behind the event.
func (e spot) next() place {
	if e.closes {
		e.closing++
	} else {
		e.records++
	}
	return e.place
}

// String is the cursor of a place: "1234-5", "1234-5.1" behind the first
// closing event.
func (p place) String() string {
	s := strconv.FormatInt(p.turn, 10) + "-" + strconv.Itoa(p.records)
	if p.closing > 0 {
		s += "." + strconv.Itoa(p.closing)
	}
	return s
}

func parseCursor(s string) (p place, err error) {
	turn, index, ok := strings.Cut(s, "-")
	records, closing, closes := strings.Cut(index, ".")
	p.turn, err = strconv.ParseInt(turn, 10, 64)
	ok = ok && err == nil
	p.records, err = strconv.Atoi(records)
	ok = ok && err == nil
	if closes {
		p.closing, err = strconv.Atoi(closing)
		ok = ok && err == nil
	}
	ok = ok && p.turn >= 0 && p.turn < theEnd.turn && p.records >= 0 && p.closing >= 0
	if !ok || p.String() != s { // nothing but what String writes
		return place{}, errors.Wrapf(ErrBadCursor, "%.40q", s)
	}
	return p, nil
}

// Events emits the events of a page in order, through the mask of secrets. An
// error of emit ends it and is returned. With Limit alone it is the last
// events; with After the first behind the cursor; with Before the last in
// front of it. Memory does not depend on the page or the file: one record is
// held at a time.
func (h *History) Events(ctx context.Context, from agent.Historian, id string, p Page, emit func(event.Event) error) (Cursors, error) {
	first, last, err := p.places()
	if err != nil {
		return Cursors{}, err
	}
	t, err := h.Find(ctx, from, id)
	if err != nil {
		return Cursors{}, err
	}
	s, err := h.openSession(ctx, from, t)
	if err != nil {
		return Cursors{}, err
	}
	defer s.file.Close()
	for _, c := range []place{first, last} {
		if err := s.check(c); err != nil {
			return Cursors{}, err
		}
	}
	if p.Limit > 0 && p.After == "" {
		if first, _, err = s.back(last, p.Limit); err != nil {
			return Cursors{}, err
		}
		_, older, err := s.back(first, 1)
		if err != nil {
			return Cursors{}, err
		}
		if older == 0 {
			first = place{}
		}
	}
	return s.page(first, last, p, emit)
}

// places are where a page begins at the earliest and ends at the latest.
func (p Page) places() (first, last place, err error) {
	last = theEnd
	if p.Limit < 0 {
		return first, last, errors.Wrapf(ErrBadCursor, "limit %d", p.Limit)
	}
	if p.After != "" {
		if first, err = parseCursor(p.After); err != nil {
			return first, last, err
		}
	}
	if p.Before != "" {
		last, err = parseCursor(p.Before)
	}
	return first, last, err
}

// opened is a session that is being read.
type opened struct {
	ctx    context.Context
	file   *os.File
	end    int64 // offset behind the last whole line
	begin  func() agent.Replay
	replay agent.Replay // of the walk that is on; any tells where turns begin
	lines  lines
	short  []byte // a long record, shortened
}

func (h *History) openSession(ctx context.Context, from agent.Historian, t agent.Transcript) (*opened, error) {
	path := t.Events
	if path == "" {
		path = t.Path
	}
	f, stamp, err := open(path)
	if err != nil {
		return nil, errors.WithSecondaryError(ErrNotFound, err) // it went, or cannot be read
	}
	end, err := lastLine(ctx, f, stamp.size)
	if err != nil {
		f.Close()
		return nil, errors.Wrap(err, "read the session")
	}
	begin := func() agent.Replay { return from.NewReplay(h.opts.History) }
	return &opened{ctx: ctx, file: f, end: end, begin: begin, replay: begin()}, nil
}

// check refuses a cursor that points to no turn of the file: it is of another
// session, or the file was rewritten.
func (s *opened) check(p place) error {
	if p.turn == 0 || p == theEnd {
		return nil
	}
	bad := errors.Wrapf(ErrBadCursor, "no turn begins at %d", p.turn)
	if p.turn >= s.end {
		return bad
	}
	var before [1]byte
	if _, err := s.file.ReadAt(before[:], p.turn-1); err != nil || before[0] != '\n' {
		return bad
	}
	begins, err := s.begins(p.turn)
	if err == nil && !begins {
		err = bad
	}
	return err
}

// begins tells whether a turn begins with the record at start, which may be
// longer than what is held in memory.
func (s *opened) begins(start int64) (bool, error) {
	s.lines.openBrief(s.ctx, s.file, start, s.end)
	line, _, _, err := s.lines.next()
	if err != nil {
		return false, errors.Wrap(err, "read the session")
	}
	return s.lines.start-start-1 <= maxLine && s.replay.Begins(line), nil
}

// page emits what lies between two places, at most p.Limit events.
func (s *opened) page(first, last place, p Page, emit func(event.Event) error) (Cursors, error) {
	c := Cursors{Before: first.String(), After: first.String()}
	if p.After == "" && p.Before != "" {
		c.After = last.String() // should there be no event
	}
	n := 0
	err := s.walk(first.turn, s.end, func(at spot, e event.Event) error {
		switch {
		case at.before(first):
			return nil
		case !at.before(last) || p.Limit > 0 && n == p.Limit:
			return errEnough
		}
		if n == 0 {
			c.Before = at.place.String()
		}
		n++
		c.After = at.next().String()
		return emit(masked(e))
	})
	if first == (place{}) {
		c.Before = ""
	}
	if n == 0 && p.After == "" && p.Before == "" {
		c.After = ""
	}
	return c, err
}

// errEnough ends a walk early.
var errEnough = errors.New("enough")

// walk visits the events from the turn at start to the offset end.
func (s *opened) walk(start, end int64, visit func(at spot, e event.Event) error) error {
	s.replay = s.begin() // the one before may have been left in the middle of a turn
	err := s.walkAll(start, end, visit)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (s *opened) walkAll(start, end int64, visit func(at spot, e event.Event) error) error {
	at := spot{place: place{turn: start}}
	each := func(events []event.Event) error {
		for _, e := range events {
			if err := visit(at, e); err != nil {
				return err
			}
			at.place = at.next()
		}
		return nil
	}
	closeTurn := func() error {
		at.closes = true
		return each(s.replay.End())
	}
	s.lines.open(s.ctx, s.file, start, end, maxLine)
	for {
		line, offset, cut, err := s.lines.next()
		if errors.Is(err, io.EOF) {
			return closeTurn()
		}
		if err != nil {
			return errors.Wrap(err, "read the session")
		}
		if cut { // it begins no turn either
			continue
		}
		if offset != start && s.replay.Begins(s.brief(line)) {
			if err := closeTurn(); err != nil {
				return err
			}
			at = spot{place: place{turn: offset}}
		}
		if err := each(s.replay.Map(line)); err != nil {
			return err
		}
	}
}

// brief is a record as an agent.Scan gets to see it.
func (s *opened) brief(line []byte) []byte {
	if len(line) <= agent.ScanLimit {
		return line
	}
	const part = 64 << 10 // bytes
	var short agent.Shortener
	s.short = s.short[:0]
	for len(line) > 0 && len(s.short) <= agent.ScanLimit {
		n := len(s.short)
		s.short = append(s.short, line[:min(len(line), part)]...)
		s.short = s.short[:n+len(short.Shorten(s.short[n:]))]
		line = line[min(len(line), part):]
	}
	return s.short[:min(len(s.short), agent.ScanLimit)]
}

// back is the place that limit events stand between and last, and how many do:
// fewer from the beginning on. It reads backwards, turn by turn, and counts.
func (s *opened) back(last place, limit int) (first place, found int, err error) {
	end := min(last.turn, s.end)
	if last != theEnd { // some of its own turn come before it
		first, n, err := s.count(last.turn, s.end, last, limit)
		found += n
		if err != nil || n == limit {
			return first, found, err
		}
		limit -= n
	}
	b := backward{ctx: s.ctx, file: s.file, end: end}
	for b.end > 0 {
		until := b.end
		start, err := s.turnBefore(&b)
		if err != nil {
			return place{}, found, err
		}
		first, n, err := s.count(start, until, theEnd, limit)
		found += n
		if err != nil || n == limit {
			return first, found, err
		}
		limit -= n
	}
	return place{}, found, nil
}

// turnBefore is the offset of the turn that ends at b.end; what comes before
// the first prompt counts as one.
func (s *opened) turnBefore(b *backward) (int64, error) {
	for {
		end := b.end
		start, head, err := b.line(agent.ScanLimit)
		if err != nil {
			return 0, errors.Wrap(err, "read the session")
		}
		begins := false
		if end-start-1 <= agent.ScanLimit {
			begins = s.replay.Begins(head)
		} else if begins, err = s.begins(start); err != nil {
			return 0, err
		}
		if start == 0 || begins {
			return start, nil
		}
	}
}

// count counts the events from the turn at start to the offset end that come
// before last, up to limit, and returns the place of the first counted: those
// nearest to last count.
func (s *opened) count(start, end int64, last place, limit int) (first place, n int, err error) {
	records, closing := 0, 0
	err = s.walk(start, end, func(at spot, _ event.Event) error {
		switch {
		case !at.before(last):
			return errEnough
		case at.closes:
			closing++
		default:
			records++
		}
		return nil
	})
	if err != nil {
		return place{}, 0, err
	}
	n = min(limit, records+closing)
	first = place{turn: start, records: records + closing - n}
	if over := first.records - records; over > 0 {
		first.records, first.closing = records, over
	}
	return first, n, nil
}
