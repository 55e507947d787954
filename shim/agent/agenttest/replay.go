package agenttest

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
)

// Replay replays the records of a whole session.
func Replay(r agent.Replay, lines [][]byte) (all []event.Event) {
	for _, line := range lines {
		if r.Begins(line) {
			all = append(all, r.End()...)
		}
		all = append(all, r.Map(line)...)
	}
	return append(all, r.End()...)
}

// CheckReplay replays any bytes as records: tools are announced before their
// results, a record begins a turn where it says so, a turn ends once, and
// there are only events that a history has. more are types of events that this
// one has, too; "user" there means: also in the middle of a turn.
func CheckReplay(t *testing.T, r agent.Replay, data []byte, more ...string) {
	t.Helper()
	announced := map[string]bool{}
	check := func(events []event.Event) {
		for _, e := range events {
			switch e := e.(type) {
			case event.Tool:
				announced[e.ID] = true
			case event.FileEdit:
				announced[e.ID] = true
			case event.ToolResult:
				if !announced[e.ID] {
					t.Fatalf("tool_result %q was not announced", e.ID)
				}
			case event.User, event.Delta, event.ThinkingDelta, event.Result:
			default:
				if !slices.Contains(more, e.Type()) {
					t.Fatalf("%s is not replayed", e.Type())
				}
			}
			if _, err := event.Encode(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, line := range bytes.Split(data, []byte("\n")) {
		begins := r.Begins(line)
		if begins {
			check(r.End())
		}
		events := r.Map(line)
		check(events)
		users := 0
		for _, e := range events {
			if e.Type() == "user" {
				users++
			}
		}
		midTurn := !begins && slices.Contains(more, "user")
		if users > 1 || begins != (users == 1) && !midTurn {
			t.Fatalf("begins %v, %d users: %q", begins, users, line)
		}
	}
	check(r.End())
	if again := r.End(); len(again) > 0 {
		t.Fatalf("a turn ends twice: %v", again)
	}
}

// Wire encodes events for comparison: ids are numbered as they come, and
// result takes away what one side's result cannot have.
func Wire(t *testing.T, events []event.Event, result func(*event.Result)) (out []string) {
	t.Helper()
	ids := map[string]string{}
	number := func(id *string) {
		if ids[*id] == "" {
			ids[*id] = strconv.Itoa(len(ids))
		}
		*id = ids[*id]
	}
	for _, e := range events {
		switch d := e.(type) {
		case event.Delta:
			number(&d.MessageID)
			e = d
		case event.ThinkingDelta:
			number(&d.MessageID)
			e = d
		case event.Tool:
			number(&d.ID)
			e = d
		case event.FileEdit:
			number(&d.ID)
			e = d
		case event.ToolResult:
			number(&d.ID)
			e = d
		case event.Result:
			result(&d)
			e = d
		}
		b, err := event.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

// Diff is the shortest edit from a to b, by the longest common subsequence:
// lines with "-" are of a, with "+" of b.
func Diff(a, b []string) (diff []string) {
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			diff = append(diff, "-"+a[i])
			i++
		default:
			diff = append(diff, "+"+b[j])
			j++
		}
	}
	return diff
}

// LinkedFolders makes two folders, repo of that name and other, and a symbolic
// link to the first. root, which holds them, is a real path.
func LinkedFolders(t *testing.T, name string) (root, repo, link, other string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo, link, other = filepath.Join(root, name), filepath.Join(root, "link"), filepath.Join(root, "other")
	for _, dir := range []string{repo, other} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(repo, link); err != nil {
		t.Fatal(err)
	}
	return root, repo, link, other
}
