package fakeagents

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	"github.com/cockroachdb/errors"
)

// knobNames lists every knob with what it does; an unknown one is an error. One
// on what an agent does not have (initialize, states, root) changes nothing in
// its fake.
var knobNames = map[string]string{
	"pace":            "duration to wait before each stdout line",
	"misfit":          "skip: leave an edit out that does not fit the files any more, which is an error otherwise",
	"hang":            "stop for ever: \"initialize\" (before it is answered), \"first\" (before the first line of the turn) or the number of a stdout line (after it)",
	"ignore_signals":  "1: ignore SIGINT, SIGTERM and SIGHUP, and the interrupt request",
	"ignore_close":    "1: do not exit when stdin is closed",
	"linger":          "duration to live on after stdin was closed, as the CLI does after a command with children",
	"grandchild":      "leave a process behind: \"setsid\" (own session), \"stdout\" (own session, holding our stdout), \"stderr\" (the same with stderr), \"noise\" (holding both and writing to them without end once we have ended), \"daemon\" (double fork), \"unmarked\" (own session, empty environment), \"listener\" (own session, listening on a TCP port), \"unix-listener\" (the same on a Unix socket)",
	"grandchild_pid":  "file that the grandchild writes its process id to; a second line holds the address it listens on",
	"half_line":       "number of the stdout line of which only the first half is written, then the process exits with 0",
	"big_line":        "size of one text_delta line written before the last line, as in 50MiB",
	"no_result":       "1: leave the result lines out and exit with 0",
	"signed_out":      "1: answer as the CLI does without a login",
	"rate_limited":    "1: answer as the CLI does at a limit of the plan",
	"banner":          "1: a first line that is not JSON",
	"grease":          "1: unknown types, subtypes and fields between the real lines",
	"crash":           "number of the stdout line after which the process ends",
	"crash_exit":      "exit code of crash, 1 when absent",
	"crash_stderr":    "what crash writes to stderr",
	"flood":           "number of extra lines written in the first message",
	"flood_kind":      "what the lines of flood are: \"text_delta\" (when absent) or \"tool_result\"",
	"flood_line":      "size that each line of flood just does not exceed, as in 1MiB; a small one when absent",
	"no_init_answer":  "1: never answer initialize, go on otherwise",
	"no_state_events": "1: leave system/session_state_changed lines out, as CLIs before them",
	"refuse_root":     "1: refuse to run as root, as the CLI does without IS_SANDBOX",
	"stamp":           "number of extra text_delta lines written in the first message, one a millisecond; the text of each is the time, in nanoseconds since 1970",
	"spawn_marker":    "file that is written when the fake starts, with its process id",
}

// KnobNames returns the names of all knobs with one line on each.
func KnobNames() map[string]string {
	out := make(map[string]string, len(knobNames))
	for k, v := range knobNames {
		out[k] = v
	}
	return out
}

// ParseKnobs reads "key=value" pairs, separated by newlines or commas.
func ParseKnobs(s string) (map[string]string, error) {
	knobs := map[string]string{}
	for _, pair := range strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == ',' }) {
		pair = strings.TrimSpace(pair)
		if pair == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		if _, known := knobNames[key]; !known || !ok {
			return nil, errors.Newf("unknown knob %q", pair)
		}
		knobs[key] = value
	}
	return knobs, nil
}

func formatKnobs(knobs map[string]string) []byte {
	keys := make([]string, 0, len(knobs))
	for k := range knobs {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var b bytes.Buffer
	for _, k := range keys {
		fmt.Fprintf(&b, "%s=%s\n", k, knobs[k])
	}
	return b.Bytes()
}
