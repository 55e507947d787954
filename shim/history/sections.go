package history

import (
	"bytes"
	"io"
	"sync"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// A session is read in sections. One begins with each turn, and in the middle
// of a long one where the agent's replay can be taken up (agent.Parted): at the
// first record in a cell of the file where an answer begins that did not begin
// before it in that cell. So a look at one cell tells where its sections begin,
// and they stay there while the file grows.

const cellSize = 128 << 10 // bytes

// joints finds where sections begin, record after record of a cell.
type joints struct {
	replay agent.Replay
	parted agent.Parted // nil = only with turns
	cell   int64
	answer string // the first one in the cell, "" = none yet
	done   bool   // the cell has no further joint
}

func (s *opened) joints(at int64, done bool) joints {
	j := joints{replay: s.replay, cell: at / cellSize, done: done}
	j.parted, _ = s.replay.(agent.Parted)
	return j
}

// next tells what begins with the record at an offset.
func (j *joints) next(at int64, line []byte) (section, turn bool) {
	if cell := at / cellSize; cell != j.cell {
		j.cell, j.answer, j.done = cell, "", false
	}
	if j.replay.Begins(line) {
		j.done = true
		return true, true
	}
	if j.done || j.parted == nil {
		return false, false
	}
	switch id := j.parted.Step(line); {
	case id == "" || id == j.answer:
		return false, false
	case j.answer == "":
		j.answer = id
		return false, false
	}
	j.done = true
	return true, false
}

// records visits the records from the section at start to the offset end, and
// tells what begins with each but the first.
func (s *opened) records(start, end int64, visit func(at int64, line []byte, section, turn bool) error) error {
	s.lines.open(s.ctx, s.file, start, end, maxLine)
	j := s.joints(start, true)
	for {
		line, at, cut, err := s.lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errors.Wrap(err, "read the session")
		}
		if cut {
			continue
		}
		section, turn := false, false
		if at != start {
			section, turn = j.next(at, s.brief(line))
		}
		if err := visit(at, line, section, turn); err != nil {
			return err
		}
	}
}

// starts visits, in order, where sections begin in a cell before the offset end.
func (s *opened) starts(cell, end int64, visit func(at int64, turn bool)) error {
	from, to := cell*cellSize, min(end, (cell+1)*cellSize)
	if cell == 0 {
		visit(0, true)
	} else {
		var err error
		if from, err = s.lineFrom(from, to); err != nil || from == to {
			return err
		}
	}
	s.lines.openBrief(s.ctx, s.file, from, s.end)
	s.lines.want = int(to-from) + firstBlock // most likely all that is needed
	j := s.joints(from, cell == 0)
	for {
		line, at, _, err := s.lines.next()
		if errors.Is(err, io.EOF) || err == nil && at >= to {
			return nil
		}
		if err != nil {
			return errors.Wrap(err, "read the session")
		}
		if at == 0 || s.lines.start-at-1 > maxLine {
			continue
		}
		if section, turn := j.next(at, line); section {
			visit(at, turn)
		}
	}
}

// lineFrom is the offset of the first line that begins at from or behind it, to
// where none does before that.
func (s *opened) lineFrom(from, to int64) (int64, error) {
	const part = 8 << 10 // bytes; most lines are shorter
	if s.part == nil {
		s.part = make([]byte, part)
	}
	for from < to {
		some := s.part[:min(part, to-from)]
		if _, err := s.file.ReadAt(some, from-1); err != nil {
			return 0, errors.Wrap(shorter(err), "read the session")
		}
		if i := bytes.IndexByte(some, '\n'); i >= 0 {
			return from + int64(i), nil
		}
		from += int64(len(some))
	}
	return to, nil
}

// before is where the last section begins before the offset end, or with turns
// the last turn; what comes before the first prompt counts as one. turn is
// whether it is a turn that begins there.
func (s *opened) before(end int64, turns bool) (at int64, turn bool, err error) {
	at = -1
	for cell := (end - 1) / cellSize; at < 0; cell-- {
		err := s.starts(cell, end, func(start int64, begins bool) {
			if begins || !turns {
				at, turn = start, begins
			}
		})
		if err != nil {
			return 0, false, err
		}
	}
	return at, turn, nil
}

// ending are the events that close a turn of which only the part from start to
// its end was replayed. Of the rest every record is looked at, once.
func (s *opened) ending(start, end int64) ([]event.Event, error) {
	key := endingKey{s.stamp, end}
	if events, ok := s.endings.get(key); ok {
		return events, nil
	}
	o := opened{ctx: s.ctx, file: s.file, end: s.end, replay: s.begin()} // s goes on from where it is
	turn, _, err := o.before(start, true)
	if err != nil {
		return nil, err
	}
	parted := o.replay.(agent.Parted) // or there was no part
	err = o.records(turn, end, func(at int64, line []byte, section, _ bool) error {
		if section {
			parted.Part()
		}
		if at < start {
			parted.Pass(line)
		} else {
			parted.Map(line)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	events := parted.End()
	s.endings.put(key, events)
	return events, nil
}

// endings are how the turns ended that pages were shown of.
type endings struct {
	mu    sync.Mutex
	known map[endingKey][]event.Event
}

// endingKey is a state of a file, and where in it a turn ends.
type endingKey struct {
	stamp
	end int64
}

func (e *endings) get(key endingKey) ([]event.Event, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	events, ok := e.known[key]
	return events, ok
}

func (e *endings) put(key endingKey, events []event.Event) {
	const most = 64
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known == nil || len(e.known) >= most {
		e.known = map[endingKey][]event.Event{}
	}
	e.known[key] = events
}
