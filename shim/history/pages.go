package history

import (
	"context"
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

// place is where an event stands in a session: the offset of its section, the
// number of events of records before it in the section, and for those that
// close the turn (Replay.End) the number of those before it. A turn that grows
// leaves the places of its records as they are.
type place struct {
	section int64
	records int
	closing int
}

var theEnd = place{section: math.MaxInt64}

// spot is the place of one event.
type spot struct {
	place
	closes bool // it comes from Replay.End
}

// before tells whether the event comes before a place. An event of a record
// that came after a cursor was given is behind it, closing events or not.
func (e spot) before(p place) bool {
	switch {
	case e.section != p.section:
		return e.section < p.section
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
	s := strconv.FormatInt(p.section, 10) + "-" + strconv.Itoa(p.records)
	if p.closing > 0 {
		s += "." + strconv.Itoa(p.closing)
	}
	return s
}

func parseCursor(s string) (p place, err error) {
	turn, index, ok := strings.Cut(s, "-")
	records, closing, closes := strings.Cut(index, ".")
	p.section, err = strconv.ParseInt(turn, 10, 64)
	ok = ok && err == nil
	p.records, err = strconv.Atoi(records)
	ok = ok && err == nil
	if closes {
		p.closing, err = strconv.Atoi(closing)
		ok = ok && err == nil
	}
	ok = ok && p.section >= 0 && p.section < theEnd.section && p.records >= 0 && p.closing >= 0
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
	if p.Before != "" && p.After == "" && p.Limit == 0 { // else it is found out before the first event
		if _, _, err := s.count(last.section, s.end, true, last, math.MaxInt); err != nil {
			return Cursors{}, err
		}
	}
	if p.Limit > 0 && p.After == "" {
		if first, _, err = s.back(last, p.Limit); err != nil {
			return Cursors{}, err
		}
		older, err := s.older(first)
		if err != nil {
			return Cursors{}, err
		}
		if !older {
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
	part   []byte

	stamp   stamp
	endings *endings
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
	return &opened{ctx: ctx, file: f, end: end, begin: begin, replay: begin(), stamp: stamp, endings: &h.endings}, nil
}

// check refuses a cursor that points to no section of the file: it is of
// another session, or the file was rewritten.
func (s *opened) check(p place) error {
	if p.section == 0 || p == theEnd {
		return nil
	}
	begins := false
	if p.section < s.end {
		err := s.starts(p.section/cellSize, s.end, func(at int64, _ bool) { begins = begins || at == p.section })
		if err != nil {
			return err
		}
	}
	if !begins {
		return errors.Wrapf(ErrBadCursor, "nothing begins at %d", p.section)
	}
	return nil
}

// tooFar is a cursor behind all that its section has.
func (p place) tooFar() error {
	return errors.Wrapf(ErrBadCursor, "%s is behind the last event there", p)
}

// page emits what lies between two places, at most p.Limit events.
func (s *opened) page(first, last place, p Page, emit func(event.Event) error) (Cursors, error) {
	c := Cursors{Before: first.String(), After: first.String()}
	if p.After == "" && p.Before != "" {
		c.After = last.String() // should there be no event
	}
	n, passed := 0, 0 // events of records before first, in its section
	err := s.walk(first.section, s.end, true, func(at spot, e event.Event) error {
		if at.section == first.section && !at.closes {
			passed = at.records + 1
		}
		switch {
		case at.before(first):
			return nil
		case passed < first.records:
			return first.tooFar()
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
	if err == nil && passed < first.records {
		err = first.tooFar()
	}
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

// walk visits the events from the section at start to the offset end, where
// with closes a turn ends.
func (s *opened) walk(start, end int64, closes bool, visit func(at spot, e event.Event) error) error {
	whole, err := s.turnAt(start)
	if err != nil {
		return err
	}
	s.replay = s.begin() // the one before may have been left in the middle of a turn
	err = s.walkAll(start, end, whole, closes, visit)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// turnAt tells whether a turn begins at an offset; before the first prompt, one
// counts as begun.
func (s *opened) turnAt(start int64) (begins bool, err error) {
	if start == 0 || start >= s.end {
		return true, nil
	}
	s.lines.openBrief(s.ctx, s.file, start, s.end)
	line, _, _, err := s.lines.next()
	if err != nil {
		return false, errors.Wrap(err, "read the session")
	}
	return s.lines.start-start-1 <= maxLine && s.replay.Begins(line), nil
}

// walkAll is walk; whole is whether a turn begins at start.
func (s *opened) walkAll(start, end int64, whole, closes bool, visit func(at spot, e event.Event) error) error {
	at := spot{place: place{section: start}}
	each := func(events []event.Event) error {
		for _, e := range events {
			if err := visit(at, e); err != nil {
				return err
			}
			at.place = at.next()
		}
		return nil
	}
	closeTurn := func(end int64) (err error) {
		at.closes = true
		events := s.replay.End()
		if !whole {
			if events, err = s.ending(start, end); err != nil {
				return err
			}
		}
		return each(events)
	}
	err := s.records(start, end, func(offset int64, line []byte, section, turn bool) error {
		switch {
		case turn:
			if err := closeTurn(offset); err != nil {
				return err
			}
			whole = true
			at = spot{place: place{section: offset}}
		case section:
			s.replay.(agent.Parted).Part() // or there would be none
			at = spot{place: place{section: offset}}
		}
		return each(s.replay.Map(line))
	})
	if err != nil || !closes {
		return err
	}
	return closeTurn(end)
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
// fewer from the beginning on. It reads backwards, section by section, and
// counts.
func (s *opened) back(last place, limit int) (first place, found int, err error) {
	end, closes := min(last.section, s.end), last.section >= s.end
	if last != theEnd { // some of its own section come before it
		first, n, err := s.count(last.section, s.end, true, last, limit)
		found += n
		if err != nil || n == limit {
			return first, found, err
		}
		limit -= n
		if closes, err = s.turnAt(last.section); err != nil {
			return place{}, found, err
		}
	}
	for end > 0 {
		start, turn, err := s.before(end, false)
		if err != nil {
			return place{}, found, err
		}
		first, n, err := s.count(start, end, closes, theEnd, limit)
		found += n
		if err != nil || n == limit {
			return first, found, err
		}
		limit -= n
		end, closes = start, turn
	}
	return place{}, found, nil
}

// older tells whether an event comes before first.
func (s *opened) older(first place) (found bool, err error) {
	if first.records > 0 || first.closing > 0 {
		return true, nil
	}
	end := first.section
	closes, err := s.turnAt(end)
	for end > 0 && err == nil && !found {
		var start int64
		var turn bool
		if start, turn, err = s.before(end, false); err != nil {
			return false, err
		}
		err = s.walk(start, end, closes, func(spot, event.Event) error {
			found = true
			return errEnough
		})
		end, closes = start, turn
	}
	return found, err
}

// count counts the events from the section at start to the offset end that
// come before last, up to limit, and returns the place of the first counted:
// those nearest to last count.
func (s *opened) count(start, end int64, closes bool, last place, limit int) (first place, n int, err error) {
	records, closing := 0, 0
	err = s.walk(start, end, closes, func(at spot, _ event.Event) error {
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
	if last != theEnd && records < last.records {
		return place{}, 0, last.tooFar()
	}
	n = min(limit, records+closing)
	first = place{section: start, records: records + closing - n}
	if over := first.records - records; over > 0 {
		first.records, first.closing = records, over
	}
	return first, n, nil
}
