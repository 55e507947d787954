package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// Scrubber replaces what differs from run to run by placeholders, the same
// value always by the same one. Bytes of one fixture go through one Scrubber,
// in the order in which they are to be numbered.
type Scrubber struct {
	literals [][2]string // old, new; longest first
	session  string
	seen     map[string]string
	counts   map[string]int
}

// NewScrubber takes literal replacements (paths, ports), placeholder by
// value; they are applied longest first. session is the run's own session id,
// "" when there is none.
func NewScrubber(literals map[string]string, session string) *Scrubber {
	s := &Scrubber{session: session, seen: map[string]string{}, counts: map[string]int{}}
	for old, placeholder := range literals {
		if old != "" {
			s.literals = append(s.literals, [2]string{old, placeholder})
		}
	}
	sort.Slice(s.literals, func(i, j int) bool {
		a, b := s.literals[i][0], s.literals[j][0]
		return len(a) > len(b) || len(a) == len(b) && a < b
	})
	return s
}

var (
	uuidRE   = lazyregexp.New(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)
	timeRE   = lazyregexp.New(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	dayRE    = lazyregexp.New(`\b2026-\d\d-\d\d\b`)
	epochRE  = lazyregexp.New(`(:\s*|=)(1[78]\d{11})\b`)
	emailRE  = lazyregexp.New(`[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[a-z]{2,}\b`)
	msRE     = lazyregexp.New(`"([A-Za-z_]*(?:_ms|Ms))":\s*[0-9.]+`)
	totalRE  = lazyregexp.New(`"(total[A-Za-z]*Duration[A-Za-z]*)":\s*[0-9.]+`)
	pidRE    = lazyregexp.New(`"pid":\s*[0-9]+`)
	sockRE   = lazyregexp.New(`cc-socks/[0-9]+\.sock`)
	lengthRE = lazyregexp.New(`"description":"((?:[^"\\]|\\.){160,})"`)
	idREs    = []struct {
		re     *lazyregexp.Regexp
		format string
	}{
		{lazyregexp.New(`\bmsg_lab_[0-9a-f]{16}\b`), "msg_%06d"},
		{lazyregexp.New(`\btoolu_lab_[0-9a-f]{12}\b`), "toolu_%06d"},
		{lazyregexp.New(`\ba[0-9a-f]{16}\b`), "a%016d"},               // sub-agents
		{lazyregexp.New(`\bb[0-9a-z]{8}\b`), "b%08d"},                 // shell tasks
		{lazyregexp.New(`\b0m[0-9a-z]{7}-[0-9a-f]{8}\b`), "run_%06d"}, // runs of sub-agents
		{lazyregexp.New(`\breq_[0-9A-Za-z]{12,}\b`), "req_%d"},        // requests
	}
)

// Scrub returns b with everything volatile replaced.
func (s *Scrubber) Scrub(b []byte) []byte {
	for _, l := range s.literals {
		b = bytes.ReplaceAll(b, []byte(l[0]), []byte(l[1]))
	}
	b = emailRE.ReplaceAll(b, []byte("{{EMAIL}}"))
	b = timeRE.ReplaceAll(b, []byte("{{TIME}}"))
	b = dayRE.ReplaceAll(b, []byte("{{DATE}}"))
	b = epochRE.ReplaceAll(b, []byte("${1}1764500000000"))
	b = uuidRE.ReplaceAllFunc(b, s.uuid)
	for _, id := range idREs {
		b = id.re.ReplaceAllFunc(b, func(m []byte) []byte { return s.number(m, id.format) })
	}
	b = msRE.ReplaceAllFunc(b, fixedDuration)
	b = totalRE.ReplaceAll(b, []byte(`"${1}":100`))
	b = pidRE.ReplaceAll(b, []byte(`"pid":1`))
	return sockRE.ReplaceAll(b, []byte("cc-socks/1.sock"))
}

func (s *Scrubber) uuid(m []byte) []byte {
	if string(m) == s.session {
		return []byte("{{SESSION}}")
	}
	return s.number(m, "{{UUID:%d}}")
}

// number gives each value of one kind a number, in order of appearance.
func (s *Scrubber) number(m []byte, format string) []byte {
	key := format + string(m)
	if _, ok := s.seen[key]; !ok {
		s.counts[format]++
		s.seen[key] = fmt.Sprintf(format, s.counts[format])
	}
	return []byte(s.seen[key])
}

// fixedDuration gives every measured time one value, so that recording again
// changes nothing; what the fixture shows is that the field is there.
func fixedDuration(m []byte) []byte {
	sub := msRE.FindSubmatch(m)
	switch string(sub[1]) {
	case "retry_delay_ms":
		return []byte(`"retry_delay_ms":500`)
	case "duration_ms":
		return []byte(`"duration_ms":1000`)
	case "timeout_ms", "timeoutMs", "started_at_ms", "completed_at_ms":
		return m
	}
	return []byte(`"` + string(sub[1]) + `":100`)
}

// Elide shortens the vendor's own long texts in stdout lines: descriptions of
// built-in commands and agents in the answer to initialize.
func Elide(stdout []byte) []byte {
	lines := bytes.SplitAfter(stdout, []byte("\n"))
	for i, line := range lines {
		if bytes.Contains(line, []byte(`"type":"control_response"`)) {
			lines[i] = lengthRE.ReplaceAll(line, []byte(`"description":"{{ELIDED}}"`))
		}
	}
	return bytes.Join(lines, nil)
}

// JoinSplit puts text that is split over several deltas of one content block
// back into the delta where it starts: pattern is looked for in the block's
// whole text and each match is replaced there by with.
func JoinSplit(stdout []byte, pattern *lazyregexp.Regexp, with string) ([]byte, error) {
	lines := bytes.SplitAfter(stdout, []byte("\n"))
	var run []int // lines of the block so far
	flush := func() error {
		err := joinRun(lines, run, pattern, with)
		run = nil
		return err
	}
	for i, line := range lines {
		if deltaRE.Match(line) {
			run = append(run, i)
			continue
		}
		if bytes.Contains(line, []byte(`"type":"content_block_`)) {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	if err := flush(); err != nil {
		return nil, err
	}
	return bytes.Join(lines, nil), nil
}

// deltaRE finds the text of a delta line, whatever the key order around it.
var deltaRE = lazyregexp.New(`"delta":\{"type":"(?:text_delta|input_json_delta|thinking_delta)","(?:text|partial_json|thinking)":"((?:[^"\\]|\\.)*)"`)

func joinRun(lines [][]byte, run []int, pattern *lazyregexp.Regexp, with string) error {
	texts := make([]string, len(run))
	for k, i := range run {
		at := deltaRE.FindSubmatchIndex(lines[i])
		if err := json.Unmarshal(lines[i][at[2]-1:at[3]+1], &texts[k]); err != nil {
			return errors.Wrapf(err, "delta %.80q", lines[i])
		}
	}
	whole := strings.Join(texts, "")
	matches := pattern.FindAllStringIndex(whole, -1)
	if matches == nil {
		return nil
	}
	pos := 0
	for k, i := range run {
		start, end := pos, pos+len(texts[k])
		pos = end
		text := without(whole, start, end, matches, with)
		if text == texts[k] {
			continue
		}
		quoted, err := quoteJSON(text)
		if err != nil {
			return err
		}
		at := deltaRE.FindSubmatchIndex(lines[i])
		lines[i] = bytes.Join([][]byte{lines[i][:at[2]-1], quoted, lines[i][at[3]+1:]}, nil)
	}
	return nil
}

// without returns whole[start:end] where each match that starts there is
// replaced by with, and each that started before is left out.
func without(whole string, start, end int, matches [][]int, with string) string {
	var b strings.Builder
	for p := start; p < end; {
		next := end
		for _, m := range matches {
			if p >= m[0] && p < m[1] {
				if p == m[0] {
					b.WriteString(with)
				}
				next = min(m[1], end)
				p = next
				break
			}
			if m[0] > p {
				next = min(next, m[0])
			}
		}
		if p < next {
			b.WriteString(whole[p:next])
			p = next
		}
	}
	return b.String()
}

func quoteJSON(s string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// leaks are patterns that must never be in a committed fixture.
var leaks = []struct {
	what string
	re   *lazyregexp.Regexp
}{
	{"an API key", lazyregexp.New(`sk-[A-Za-z0-9-]{16,}|AKIA[A-Z0-9]{12,}|gh[pousr]_[A-Za-z0-9]{20,}|AIza[A-Za-z0-9_-]{30,}`)},
	{"a private key", lazyregexp.New(`-----BEGIN [A-Z ]*PRIVATE KEY`)},
	{"a bearer token", lazyregexp.New(`(?i)bearer [A-Za-z0-9._-]{16,}`)},
	{"an e-mail address", emailRE},
	{"an account id", lazyregexp.New(`"(?:accountUuid|organizationUuid|account_uuid|organization_uuid|emailAddress)":\s*"[^"{]`)},
	{"a home path", lazyregexp.New(`/(?:home|Users)/[a-z][A-Za-z0-9_-]*|/root/|C:\\Users\\`)},
	{"a path of the recording machine", lazyregexp.New(`/tmp/|/var/folders/|\blab/run/|-tmp-|/private/`)},
	{"a UUID", uuidRE},
}

// allowed are the few matches that are no leak: paths that scripts name on
// purpose and sample addresses.
var allowed = []string{"a@b.c"}

// Leaks returns an error naming the first thing in b that must not be there.
func Leaks(b []byte) error {
	for _, l := range leaks {
		for _, at := range l.re.FindAllIndex(b, -1) {
			found := string(b[at[0]:at[1]])
			if !contains(allowed, found) {
				from, to := max(0, at[0]-40), min(len(b), at[1]+40)
				return errors.Newf("%s: %q in %q", l.what, found, b[from:to])
			}
		}
	}
	return nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
