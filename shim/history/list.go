package history

import (
	"cmp"
	"context"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// List returns the sessions, newest first. What cannot be read is left out.
func (h *History) List(ctx context.Context, from agent.Historian) ([]Session, error) {
	transcripts, err := from.Transcripts(h.opts.History)
	if err != nil {
		return nil, errors.Wrap(err, "look for sessions")
	}
	if err := h.lock(ctx); err != nil {
		return nil, err
	}
	defer h.unlock()
	entries, err := h.look(ctx, from, transcripts)
	if err != nil {
		return nil, err
	}
	h.keep(transcripts, entries)
	return rows(entries), nil
}

// Find returns the transcript of the session id, or ErrNotFound.
func (h *History) Find(ctx context.Context, from agent.Historian, id string) (agent.Transcript, error) {
	if !agent.UUIDPattern.MatchString(id) {
		return agent.Transcript{}, ErrNotFound
	}
	id = strings.ToLower(id)
	transcripts, err := from.Transcripts(h.opts.History)
	if err != nil {
		return agent.Transcript{}, errors.Wrap(err, "look for the session")
	}
	transcripts = slices.DeleteFunc(transcripts, func(t agent.Transcript) bool { return t.ID != id })
	if len(transcripts) == 0 {
		return agent.Transcript{}, ErrNotFound
	}
	if err := h.lock(ctx); err != nil {
		return agent.Transcript{}, err
	}
	defer h.unlock()
	entries, err := h.look(ctx, from, transcripts)
	if err != nil {
		return agent.Transcript{}, err
	}
	found := -1
	for i, e := range entries {
		if e == nil {
			continue
		}
		h.index[transcripts[i].Path] = e
		if e.verdict == agent.Ours && (found < 0 || newer(e.row, entries[found].row)) {
			found = i
		}
	}
	if found < 0 {
		return agent.Transcript{}, ErrNotFound
	}
	return transcripts[found], nil
}

// lock waits for the index; the wait ends with ctx.
func (h *History) lock(ctx context.Context) error {
	select {
	case h.busy <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if h.index == nil {
		h.index = map[string]*entry{}
		if h.opts.Cache != "" {
			sweep(h.opts.Cache)
			h.index = readIndex(h.opts.Cache, h.opts.key())
		}
	}
	return nil
}

func (h *History) unlock() { <-h.busy }

// keep makes the entries of a list the index. It is written when it has news
// that were dear to get: a tail of a running session can be read again.
func (h *History) keep(transcripts []agent.Transcript, entries []*entry) {
	const dear = 1 << 20 // bytes
	known, same, anew := 0, 0, false
	for i, e := range entries {
		if e == nil {
			continue
		}
		known++
		switch before := h.index[transcripts[i].Path]; {
		case before == e:
			same++
		case before == nil || before.inode != e.inode || e.offset < before.offset:
			anew = true
		default:
			h.unsaved += e.offset - before.offset
		}
	}
	vanished := known < len(h.index)
	if same == known && !vanished {
		return
	}
	index := make(map[string]*entry, known)
	for i, e := range entries {
		if e != nil {
			index[transcripts[i].Path] = e
		}
	}
	h.index = index
	if h.opts.Cache == "" || !anew && !vanished && h.unsaved < dear {
		return
	}
	if writeIndex(h.opts.Cache, h.opts.key(), index) == nil { // without it the next start is slower, no more
		h.unsaved = 0
	}
}

// rows are the listed sessions, each once, newest first.
func rows(entries []*entry) []Session {
	ours := make([]*entry, 0, len(entries))
	for _, e := range entries {
		if e != nil && e.verdict == agent.Ours {
			ours = append(ours, e)
		}
	}
	slices.SortFunc(ours, func(a, b *entry) int {
		return cmp.Or(b.row.EndedAt.Compare(a.row.EndedAt), strings.Compare(a.row.ID, b.row.ID))
	})
	seen := make(map[string]bool, len(ours))
	out := make([]Session, 0, len(ours))
	for _, e := range ours {
		if !seen[e.row.ID] {
			seen[e.row.ID] = true
			out = append(out, e.row)
		}
	}
	return out
}

func newer(a, b Session) bool { return a.EndedAt.After(b.EndedAt) }

// look returns an entry for each transcript, nil for one that cannot be read.
// Those that changed are read, several at once.
func (h *History) look(ctx context.Context, from agent.Historian, transcripts []agent.Transcript) ([]*entry, error) {
	entries := make([]*entry, len(transcripts))
	var next atomic.Int64
	var workers sync.WaitGroup
	const share = 64 // transcripts a worker takes at once
	for range min(runtime.GOMAXPROCS(0), (len(transcripts)+share-1)/share) {
		workers.Go(func() {
			w := reader{h: h, from: from}
			for ctx.Err() == nil {
				end := int(next.Add(share))
				if end-share >= len(transcripts) {
					return
				}
				for i := end - share; i < min(end, len(transcripts)) && ctx.Err() == nil; i++ {
					entries[i] = w.entry(ctx, transcripts[i], h.index[transcripts[i].Path])
				}
			}
		})
	}
	workers.Wait()
	return entries, ctx.Err()
}

// reader reads transcripts for the index, one after the other.
type reader struct {
	h     *History
	from  agent.Historian
	lines lines
}

// entry returns what is known of a transcript: before, when its stamp is the
// same, else what is read now. nil is one that cannot be read.
func (r *reader) entry(ctx context.Context, t agent.Transcript, before *entry) *entry {
	info, err := agent.Lstat(t.Path)
	if err != nil {
		return nil
	}
	if before != nil && !before.racy && before.stamp == stampOf(info) && before.row.ID == t.ID {
		return before
	}
	const tries = 3
	for try := range tries {
		e, torn := r.read(ctx, t, before)
		if e == nil || !torn {
			return e
		}
		before = nil
		if try == tries-1 {
			e.racy = true
			return e
		}
	}
	return nil
}

// read opens and scans a transcript. torn is whether it was rewritten
// meanwhile: the entry may be of both.
func (r *reader) read(ctx context.Context, t agent.Transcript, before *entry) (e *entry, torn bool) {
	now := time.Now().UnixNano()
	f, s, err := open(t.Path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	e = &entry{stamp: s, racy: s.unsettled(now)}
	scan := r.resume(f, t, s, before)
	if scan != nil {
		e.offset = before.offset
	} else if scan, err = r.from.NewScan(r.h.opts.History, t, nil); err != nil {
		return nil, false
	}
	e.offset, err = r.scan(ctx, f, t, scan, e.offset, s.size)
	if err != nil && !errors.Is(err, errChanged) {
		return nil, false
	}
	torn = err != nil
	e.verdict = scan.Verdict()
	e.row.ID = t.ID
	if e.verdict == agent.Ours || e.verdict == agent.Undecided {
		e.row = session(t, scan.Row(), s)
		e.save = string(scan.Save())
	}
	if w, ok := scan.(agent.Waiting); ok && w.Waits() {
		e.racy = true
	}
	if e.print, err = fingerprint(f, e.offset, r.lines.buffer()); err != nil {
		torn = true
	}
	after, err := f.Stat()
	if err != nil {
		return nil, false
	}
	if now := stampOf(after); now != s && now.size <= s.size {
		torn = true
	}
	return e, torn
}

// resume returns the scan that goes on where the one before ended; nil when
// the file is not the one of then with something behind it.
func (r *reader) resume(f *os.File, t agent.Transcript, s stamp, before *entry) agent.Scan {
	switch {
	case before == nil, before.row.ID != t.ID, t.Whole,
		before.verdict == agent.Foreign, before.verdict == agent.Hidden,
		before.inode != s.inode, before.dev != s.dev, s.size <= before.size, before.offset == 0:
		return nil
	}
	if print, err := fingerprint(f, before.offset, r.lines.buffer()); err != nil || print != before.print {
		return nil
	}
	scan, err := r.from.NewScan(r.h.opts.History, t, []byte(before.save))
	if err != nil {
		return nil
	}
	return scan
}

// scan gives the lines between two offsets to a scan and returns the offset
// behind the last one. It ends early when the verdict is final.
func (r *reader) scan(ctx context.Context, f *os.File, t agent.Transcript, scan agent.Scan, start, end int64) (int64, error) {
	if t.Whole {
		return r.scanWhole(f, scan, end)
	}
	r.lines.openBrief(ctx, f, start, end)
	decided := false
	for {
		line, _, _, err := r.lines.next()
		if errors.Is(err, io.EOF) {
			return r.lines.start, nil
		}
		if err != nil {
			return r.lines.start, err
		}
		scan.Line(line)
		if !decided {
			switch scan.Verdict() {
			case agent.Foreign, agent.Hidden:
				return r.lines.start, nil
			case agent.Ours:
				decided = true // it is asked again at the end
			}
		}
	}
}

// scanWhole gives a whole file to a scan as one line.
func (r *reader) scanWhole(f *os.File, scan agent.Scan, size int64) (int64, error) {
	data := make([]byte, min(size, agent.ScanLimit))
	if _, err := f.ReadAt(data, 0); err != nil {
		return 0, shorter(err)
	}
	scan.Line(data)
	return size, nil
}

// session makes a row of the list.
func session(t agent.Transcript, row agent.Row, s stamp) Session {
	const title, prompt = 80, 140 // characters
	first := Mask(row.FirstPrompt)
	out := Session{
		ID: t.ID, Title: short(Mask(row.Title), title), FirstPrompt: short(first, prompt),
		StartedAt: row.StartedAt, EndedAt: row.EndedAt, Branch: short(row.Branch, 200), Messages: row.Messages,
	}
	if out.Title == "" {
		out.Title = short(first, title)
	}
	if out.EndedAt.IsZero() {
		out.EndedAt = time.Unix(0, s.mtime).UTC()
	}
	if out.StartedAt.IsZero() {
		out.StartedAt = out.EndedAt
	}
	return out
}

// short is s on one line of at most most characters, without what turns the
// direction of text: a list would show other words than are there.
func short(s string, most int) string {
	s = s[:min(len(s), 64*most)] // it may be megabytes
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > most {
		return strings.TrimRight(string(r[:most-1]), " ") + "…"
	}
	return string(r)
}
