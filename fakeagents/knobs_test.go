package fakeagents_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/fakeagents/fixtures"
)

// knobbed is a bench whose fake has the knobs.
func knobbed(t *testing.T, fixture, knobs string) *bench {
	t.Helper()
	b := newBench(t, fixture)
	b.set(fakeagents.EnvKnobs, knobs)
	return b
}

// opened starts a turn and sends its prompt.
func (b *bench) opened(args ...string) *talk {
	b.t.Helper()
	k := b.start(args...)
	k.initialize()
	k.until("control_response")
	k.say("\nGo.")
	return k
}

func count(lines []string, text string) int {
	n := 0
	for _, l := range lines {
		n += strings.Count(l, text)
	}
	return n
}

const (
	textCase = "claude/real/2.1.332/text"
	editCase = "claude/real/2.1.332/edit"
)

func TestKnobPace(t *testing.T) {
	b := knobbed(t, textCase, "pace=10ms")
	began := time.Now()
	o := b.run("\nGo.", args()...)
	if want := time.Duration(len(o.lines)-1) * 10 * time.Millisecond; time.Since(began) < want {
		t.Errorf("%d lines took %v, less than %v", len(o.lines), time.Since(began), want)
	}
}

func TestKnobLinger(t *testing.T) {
	k := knobbed(t, textCase, "linger=100ms").opened(args()...)
	k.until(`"state":"idle"`)
	began := time.Now()
	if o := k.end(); o.code != 0 || time.Since(began) < 100*time.Millisecond {
		t.Errorf("exit %d after %v", o.code, time.Since(began))
	}
}

func TestKnobHangBeforeInitialize(t *testing.T) {
	k := knobbed(t, textCase, "hang=initialize").start(args()...)
	k.initialize()
	if o := k.end(); o.code != 0 || len(o.lines) != 0 {
		t.Errorf("exit %d, lines %q", o.code, o.lines)
	}
}

// Interrupting a turn that hangs gives the tidy end of the recorded cases.
func TestKnobHangAndInterrupt(t *testing.T) {
	announced := lineOf(t, editCase, `"content":[{"type":"tool_use"`)
	tests := []struct {
		name, version, hang, reason, text string
		lines                             int // written before it hangs
	}{
		{"before the first line", "2.1.332", "first", "aborted_streaming", "[Request interrupted by user]", 1},
		{"197", "2.1.197", "first", "aborted_streaming", "[Request interrupted by user]", 1},
		{"within a tool call", "2.1.332", strconv.Itoa(announced), "aborted_tools", "[Request interrupted by user for tool use]", announced},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := knobbed(t, "claude/real/"+tt.version+"/edit", "hang="+tt.hang).opened(args()...)
			for len(k.lines) < tt.lines && k.until("\n") {
				continue
			}
			k.interrupt()
			k.until(`"state":"idle"`)
			o := k.end()
			last := o.lines[len(o.lines)-2]
			if o.code != 1 || !o.has(`"request_id":"stop1"`) || !o.has(tt.text) ||
				!strings.Contains(last, `"terminal_reason":"`+tt.reason+`"`) || !strings.Contains(last, `"error_during_execution"`) {
				t.Errorf("exit %d, stderr %q, last line %s", o.code, o.stderr, last)
			}
			if o.has(`"still_queued"`) != (tt.version == "2.1.332") {
				t.Error("the answer to the interrupt is not this version's")
			}
			checkKeys(t, tt.version, last)
		})
	}
}

// checkKeys holds the written aborted result against the recorded one: no key
// of another name.
func checkKeys(t *testing.T, version, line string) {
	t.Helper()
	f, err := fixtures.Load("claude/real/" + version + "/interrupt-text")
	if err != nil {
		t.Fatal(err)
	}
	recorded, written := map[string]any{}, map[string]any{}
	for _, l := range f.Lines() {
		if strings.Contains(string(l), `"type":"result"`) {
			if err := json.Unmarshal(l, &recorded); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := json.Unmarshal([]byte(line), &written); err != nil {
		t.Fatal(err)
	}
	for key := range written {
		if _, ok := recorded[key]; !ok {
			t.Errorf("key %q is not in the recorded result", key)
		}
	}
}

// lineOf is the number of the fixture's first line that holds text.
func lineOf(t *testing.T, fixture, text string) int {
	t.Helper()
	f, err := fixtures.Load(fixture)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range f.Lines() {
		if strings.Contains(string(l), text) {
			return i + 1
		}
	}
	t.Fatalf("no line of %s holds %q", fixture, text)
	return 0
}

func TestKnobHalfLine(t *testing.T) {
	o := knobbed(t, textCase, "half_line=8").run("\nGo.", args()...)
	last := o.lines[len(o.lines)-1]
	if o.code != 0 || len(o.lines) != 8 || json.Valid([]byte(last)) {
		t.Errorf("exit %d, %d lines, last %q", o.code, len(o.lines), last)
	}
}

func TestKnobBigLine(t *testing.T) {
	o := knobbed(t, textCase, "big_line=3MiB").run("\nGo.", args()...)
	longest := 0
	for _, l := range o.lines {
		longest = max(longest, len(l))
	}
	if o.code != 0 || longest < 3<<20 {
		t.Errorf("exit %d, longest line %d", o.code, longest)
	}
}

func TestKnobNoResult(t *testing.T) {
	o := knobbed(t, textCase, "no_result=1").run("\nGo.", args()...)
	if o.code != 0 || o.has(`"type":"result"`) || !o.has("text_delta") {
		t.Errorf("exit %d, lines %q", o.code, o.lines)
	}
}

func TestKnobCrash(t *testing.T) {
	o := knobbed(t, textCase, "crash=9,crash_exit=134,crash_stderr=boom").run("\nGo.", args()...)
	if o.code != 134 || len(o.lines) != 9 || o.stderr != "boom\n" {
		t.Errorf("exit %d, %d lines, stderr %q", o.code, len(o.lines), o.stderr)
	}
}

func TestKnobFlood(t *testing.T) {
	o := knobbed(t, textCase, "flood=5000").run("\nGo.", args()...)
	if n := count(o.lines, "flooding it "); o.code != 0 || n != 5000 {
		t.Errorf("exit %d, %d deltas", o.code, n)
	}
}

// Lines of a size are that long, and still JSON.
func TestKnobFloodOfLargeLines(t *testing.T) {
	for kind, marker := range map[string]string{"text_delta": `"text":"flooding it`, "tool_result": `"tool_use_id":"toolu_flood_`} {
		o := knobbed(t, textCase, "flood=3,flood_line=64KiB,flood_kind="+kind).run("\nGo.", args()...)
		if n := count(o.lines, marker); o.code != 0 || n != 3 {
			t.Errorf("%s: exit %d, %d lines", kind, o.code, n)
		}
		for _, l := range o.lines {
			if strings.Contains(l, marker) && (len(l) < 63<<10 || len(l) > 64<<10 || !json.Valid([]byte(l))) {
				t.Errorf("%s: a line of %d bytes, valid: %v", kind, len(l), json.Valid([]byte(l)))
			}
		}
	}
	o := knobbed(t, textCase, "flood=1,flood_kind=rain").run("\nGo.", args()...)
	if o.code != 2 || !strings.Contains(o.stderr, "rain") {
		t.Errorf("an unknown kind: exit %d, stderr %q", o.code, o.stderr)
	}
}

func TestKnobStamp(t *testing.T) {
	began := time.Now()
	o := knobbed(t, textCase, "stamp=20").run("\nGo.", args()...)
	if n := count(o.lines, `"text_delta","text":"1`); o.code != 0 || n < 20 {
		t.Errorf("exit %d, %d deltas", o.code, n)
	}
	last := began.UnixNano()
	for _, l := range o.lines {
		_, rest, ok := strings.Cut(l, `"text_delta","text":"`)
		digits, _, _ := strings.Cut(rest, `"`)
		at, err := strconv.ParseInt(digits, 10, 64)
		if !ok || err != nil {
			continue
		}
		if at < last || at > time.Now().UnixNano() {
			t.Errorf("%d does not follow %d", at, last)
		}
		last = at
	}
}

// TestKnobMisfit: an edit that was made before is an error, or left out.
func TestKnobMisfit(t *testing.T) {
	const demo = "claude/real/2.1.332/demo"
	for knobs, fails := range map[string]bool{"": true, "misfit=skip": false} {
		b := knobbed(t, demo, knobs)
		ask := func() outcome { return b.run("\nMake the primary button green.", args()...) }
		if o := ask(); o.code != 0 {
			t.Fatalf("%q: exit %d: %s", knobs, o.code, o.stderr)
		}
		if o := ask(); (o.code != 0) != fails {
			t.Errorf("%q, the second time: exit %d: %s", knobs, o.code, o.stderr)
		}
	}
}

// "emit unknown types between known ones": every real line is still there,
// with a field more.
func TestKnobGrease(t *testing.T) {
	plain := newBench(t, textCase).run("\nGo.", args()...)
	o := knobbed(t, textCase, "grease=1").run("\nGo.", args()...)
	if o.code != 0 || len(o.lines) <= len(plain.lines)+10 || !o.has(`"grease_delta"`) || !o.has(`{"type":"grease"`) {
		t.Errorf("exit %d, %d lines instead of %d", o.code, len(o.lines), len(plain.lines))
	}
	if count(o.lines, `"text_delta"`) != count(plain.lines, `"text_delta"`) {
		t.Error("the real lines are not all there")
	}
	for _, l := range o.lines {
		if !json.Valid([]byte(l)) {
			t.Errorf("not JSON: %s", l)
		}
	}
}

func TestKnobsThatLeaveThingsOut(t *testing.T) {
	o := knobbed(t, textCase, "no_state_events=1").opened(args()...)
	o.until(`"type":"result"`)
	if got := o.end(); got.code != 0 || got.has("session_state_changed") {
		t.Errorf("exit %d, lines %q", got.code, got.lines)
	}
	k := knobbed(t, textCase, "no_init_answer=1").start(args()...)
	k.initialize()
	k.say("\nGo.")
	k.until(`"state":"idle"`)
	if got := k.end(); got.code != 0 || got.has("control_response") || !got.has(`"type":"result"`) {
		t.Errorf("exit %d, lines %q", got.code, got.lines)
	}
}

func TestKnobBanner(t *testing.T) {
	o := knobbed(t, textCase, "banner=1").run("\nGo.", args()...)
	if o.code != 0 || !o.has("warning: this line is not JSON") {
		t.Errorf("exit %d, lines %q", o.code, o.lines)
	}
}

func TestKnobsThatPickAnotherCase(t *testing.T) {
	for _, v := range []string{"2.1.332", "2.1.197"} {
		o := knobbed(t, "claude/real/"+v+"/text", "signed_out=1").run("\nGo.", args()...)
		if o.code != 1 || !o.has("Not logged in") {
			t.Errorf("%s signed out: exit %d, stderr %q", v, o.code, o.stderr)
		}
		o = knobbed(t, "claude/real/"+v+"/text", "rate_limited=1").run("\nGo.", args()...)
		if o.code != 1 || !o.has(`"rate_limit_event"`) {
			t.Errorf("%s rate limited: exit %d, stderr %q", v, o.code, o.stderr)
		}
		o = knobbed(t, "claude/real/"+v+"/text", "refuse_root=1").start(args()...).end()
		if o.code != 1 || !strings.Contains(o.stderr, "cannot be used with root") {
			t.Errorf("%s as root: exit %d, stderr %q", v, o.code, o.stderr)
		}
	}
}

func TestKnobSpawnMarker(t *testing.T) {
	path := filepath.Join(t.TempDir(), "started")
	k := knobbed(t, textCase, "spawn_marker="+path).start("--version")
	k.end()
	data, err := os.ReadFile(path)
	if err != nil || strings.TrimSpace(string(data)) != strconv.Itoa(k.cmd.Process.Pid) {
		t.Errorf("%q, %v", data, err)
	}
}

// A fixture's own knobs count, and those of the environment more.
func TestFixtureKnobs(t *testing.T) {
	knobs, err := fakeagents.ParseKnobs("pace=5ms\ngrease=1")
	if err != nil || knobs["pace"] != "5ms" || knobs["grease"] != "1" {
		t.Errorf("%v, %v", knobs, err)
	}
	if _, err := fakeagents.ParseKnobs("speed=9"); err == nil {
		t.Error("an unknown knob is accepted")
	}
	for name, what := range fakeagents.KnobNames() {
		if what == "" {
			t.Errorf("knob %s is not described", name)
		}
	}
}
