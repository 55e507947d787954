package record

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/slidewrite/slidewrite/fakeagents"
)

// fixture completes f from a transcript, everything scrubbed.
func (w *workshop) fixture(f *fakeagents.Fixture, t *transcript, resume string) (*fakeagents.Fixture, error) {
	stdout := bytes.Join(t.lines, nil)
	session := resume
	if session == "" || session == lostSession {
		session = firstSession(stdout)
	}
	if session == "" {
		session = resume
	}
	literals := map[string]string{
		w.repo: "{{REPO}}", w.home: "{{HOME}}", w.run: "{{TMP}}", w.tmp: "{{TMP}}", w.root: "{{TMP}}", dummyKey: "{{KEY}}",
		"127.0.0.1:" + strconv.Itoa(t.port): "127.0.0.1:{{PORT}}",
		w.bin:                               "{{BIN}}",
	}
	maps.Copy(literals, w.cli.literals(w))
	s := NewScrubber(literals, session)
	f.Plain = t.plain
	f.Stdout = s.Scrub(w.cli.elide(stdout, t.plain))
	if t.piped != nil {
		f.Piped = s.Scrub(t.piped)
	}
	f.Stderr = s.Scrub(t.stderr)
	f.Exit, f.Signal = t.exit, t.signal
	for _, arg := range t.args {
		f.Argv = append(f.Argv, string(s.Scrub([]byte(arg))))
	}
	for _, in := range t.stdin {
		if in.Line != nil {
			in.Line = s.Scrub(in.Line)
		}
		f.Stdin = append(f.Stdin, in)
	}
	for _, files := range [][]fakeagents.File{f.Before, f.Disk} {
		for i := range files {
			files[i].Path = string(s.Scrub([]byte(files[i].Path)))
			files[i].Data = s.Scrub(files[i].Data)
		}
	}
	f.Effects = placed(t.seen, w.cli.reporter(t.lines))
	return f, nil
}

// placed turns sightings into effects, each right before the line that
// reports it. Recording again then gives the same numbers although the moment
// of seeing differs; a file that was seen half written is one effect.
func placed(seen []sighting, reports func(sighting) int) []fakeagents.Effect {
	var merged []sighting
	for _, s := range seen {
		line := reports(s)
		if line == 0 {
			line = max(s.lines, 1) // nothing reports it: where it was seen
		}
		s.lines = line - 1
		if i := sameSpot(merged, s); i >= 0 {
			merged[i].after = s.after
			continue
		}
		merged = append(merged, s)
	}
	slices.SortStableFunc(merged, func(a, b sighting) int {
		if a.lines != b.lines || a.run != nil && b.run != nil {
			return cmp.Compare(a.lines, b.lines)
		}
		if (a.run == nil) != (b.run == nil) { // a commit comes after the files it holds
			return cmp.Compare(len(a.run), len(b.run))
		}
		return cmp.Compare(a.path, b.path)
	})
	var out []fakeagents.Effect
	for _, s := range merged {
		if s.run == nil && sameFile(s.before, s.after) {
			continue // it came and went
		}
		e := s.effect()
		e.After = s.lines
		out = append(out, e)
	}
	return out
}

// sameSpot finds an earlier sighting of the path at the same line.
func sameSpot(merged []sighting, s sighting) int {
	for i, m := range merged {
		if s.run == nil && m.run == nil && m.path == s.path && m.lines == s.lines {
			return i
		}
	}
	return -1
}

func jsonText(s string) string {
	q, err := quoteJSON(s)
	if err != nil {
		return s
	}
	return string(q[1 : len(q)-1])
}
