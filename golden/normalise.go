// Package golden holds every fixture up to the real HTTP handler and compares
// what a client sees with a stored file.
//
// normalise.go is the one list of what is replaced in such a file; what is
// not in it must be the same in every run.
package golden

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
	"github.com/slidewrite/slidewrite/shim/sse"
)

// replacements are applied to the JSON of each event, in this order.
var replacements = []struct {
	pattern *lazyregexp.Regexp
	with    string
}{
	// Ours: times and chance.
	{lazyregexp.New(`"durationMs":[0-9]+`), `"durationMs":0`},
	{lazyregexp.New(`("type":"commit","sha":")[0-9a-f]{7,64}`), `${1}SHA`},
	{lazyregexp.New(`\b20[0-9]{6}t[0-9]{6}-[0-9a-f]{8}\b`), `RUN`},
	{lazyregexp.New(`(committed itself: )[0-9a-f]{7,40}`), `${1}SHA`},
	{lazyregexp.New(`next try in [0-9.]+m?s`), `next try in TIME`},
	// claude's.
	{lazyregexp.New(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), `UUID`},
	{lazyregexp.New(`duration_ms: [0-9]+`), `duration_ms: 0`},
	{lazyregexp.New(`(agentId: |to: ')a[0-9a-f]{16}\b`), `${1}AGENT`},
	{lazyregexp.New(`(with ID: |tasks/)b[0-9a-z]{8}\b`), `${1}TASK`},
	{lazyregexp.New(`this conversation is only ~[0-9]+ tokens`), `this conversation is only ~0 tokens`},
	{lazyregexp.New(`127\.0\.0\.1:[0-9]+`), `127.0.0.1:PORT`},
	// git's own words in a tool's output.
	{lazyregexp.New(`(\[main )[0-9a-f]{7,40}\]`), `${1}SHA]`},
}

// longText is the length over which a text is replaced by what it is made of.
const longText = 2000

// Normalise returns the frames of an SSE stream with everything replaced that
// differs from run to run, one frame after the other as they were sent. dirs
// are paths that are replaced by their names, longest first.
//
// Estimates of usage depend on the clock and are left out; so are the ids'
// gaps that this makes: frames are numbered anew, after a check that they
// were 1, 2, 3 … without a gap.
func Normalise(stream string, dirs ...[2]string) (string, error) {
	var out strings.Builder
	var last event.Usage
	n, due := 0, int64(1)
	for frame, err := range sse.Read(strings.NewReader(stream)) {
		if err != nil {
			return "", err
		}
		if frame.ID != due {
			return "", fmt.Errorf("frame %d where %d was due", frame.ID, due)
		}
		due++
		e, err := event.Decode(frame.Data)
		if err != nil {
			return "", err
		}
		if u, ok := e.(event.Usage); ok {
			estimate := u
			estimate.ThinkingTokens = last.ThinkingTokens
			if n > 0 && estimate == last && u.ThinkingTokens != 0 {
				continue
			}
			last = u
			last.ThinkingTokens = 0
		}
		text := string(frame.Data)
		for _, dir := range dirs {
			text = strings.ReplaceAll(text, dir[0], dir[1])
		}
		for _, r := range replacements {
			text = r.pattern.ReplaceAllString(text, r.with)
		}
		n++
		fmt.Fprintf(&out, "id: %d\ndata: %s\n\n", n, shorten(text))
	}
	return out.String(), nil
}

// shorten replaces long strings in an event by their length and ends.
func shorten(data string) string {
	if len(data) < longText {
		return data
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(data), &fields) != nil {
		return data
	}
	for _, raw := range fields {
		var s string
		if json.Unmarshal(raw, &s) != nil || len(s) < longText {
			continue
		}
		short, _ := json.Marshal(fmt.Sprintf("%s…(%d bytes)…%s", s[:100], len(s), s[len(s)-100:]))
		data = strings.Replace(data, string(raw), string(short), 1)
	}
	return data
}

// beginning is how much of an interrupted text is compared, in bytes: less than
// one delta of the scripted model holds.
const beginning = 8

var dayOfReset = lazyregexp.New(`try again at [A-Z][a-z]{2} \d{1,2}(st|nd|rd|th), \d{4} `)

// Comparable is a normalised stream as it is compared between two runs of the
// same real CLI. Four things depend on its clock: where deltas are cut, so
// that consecutive ones of a message are joined and the frames' numbers left
// out; which of several tools at once is done first, so that results in a row
// are sorted; and how much was said when a stop came, so that of a stopped run
// only the beginning of a text is compared; and whether codex names the day of a
// reset, which it does not on that day.
func Comparable(normalised string) string {
	normalised = dayOfReset.ReplaceAllString(normalised, "try again at ")
	var out strings.Builder
	var typ, id, text string
	var results []string
	stopped := strings.Contains(normalised, `data: {"type":"stopped"`)
	flush := func() {
		if stopped && len(text) > beginning {
			text = text[:beginning]
		}
		slices.Sort(results)
		out.WriteString(strings.Join(results, ""))
		results = nil
		if typ != "" {
			fmt.Fprintf(&out, "%s %s %q\n", typ, id, text)
		}
		typ, id, text = "", "", ""
	}
	for _, line := range strings.Split(normalised, "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		e, err := event.Decode([]byte(data))
		if d, isDelta := e.(event.Delta); err == nil && isDelta {
			if typ != "delta" || id != d.MessageID {
				flush()
			}
			typ, id, text = "delta", d.MessageID, text+d.Text
			continue
		}
		if d, isDelta := e.(event.ThinkingDelta); err == nil && isDelta {
			if typ != "thinking_delta" || id != d.MessageID {
				flush()
			}
			typ, id, text = "thinking_delta", d.MessageID, text+d.Text
			continue
		}
		if _, isResult := e.(event.ToolResult); err == nil && isResult && typ == "" {
			results = append(results, data+"\n")
			continue
		}
		flush()
		out.WriteString(data + "\n")
	}
	flush()
	return out.String()
}
