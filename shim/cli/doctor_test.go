package cli

import (
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/doctor"
)

// TestTellResult: aligned, a fix below what it cures, colours only where they
// are wanted, and nothing that steers a terminal.
func TestTellResult(t *testing.T) {
	checks := []doctor.Check{{Name: "git"}, {Name: "extension"}, {Name: "codex"}}
	results := []doctor.Result{
		{Name: "git", Status: doctor.OK, Detail: "git 2.39.5"},
		{Name: "extension", Status: doctor.Problem, Detail: "\x1b[2Jgone", Fix: "get it"},
		{Name: "codex", Status: doctor.Note, Detail: "not found", Fix: "npm install"},
	}
	for colour, want := range map[bool]string{
		false: "" +
			"git        ok       git 2.39.5\n" +
			"extension  problem  ·[2Jgone\n" +
			"                    fix: get it\n" +
			"codex      note     not found\n" +
			"                    to have it: npm install\n",
		true: "" +
			"git        \x1b[32mok     \x1b[0m  git 2.39.5\n" +
			"extension  \x1b[31mproblem\x1b[0m  ·[2Jgone\n" +
			"                    fix: get it\n" +
			"codex      \x1b[2mnote   \x1b[0m  not found\n" +
			"                    to have it: npm install\n",
	} {
		var out strings.Builder
		tell := tellResult(&out, colour, checks)
		for _, r := range results {
			tell(r)
		}
		if out.String() != want {
			t.Errorf("colour %v:\n%q\nwant\n%q", colour, out.String(), want)
		}
	}
}

func TestSummary(t *testing.T) {
	note := doctor.Result{Status: doctor.Note}
	ok, warning, problem := doctor.Result{Status: doctor.OK}, doctor.Result{Status: doctor.Warning}, doctor.Result{Status: doctor.Problem}
	for _, row := range []struct {
		ok      bool
		results []doctor.Result
		want    string
	}{
		{true, []doctor.Result{ok, ok}, "ready to serve"},
		{true, []doctor.Result{ok, warning}, "ready to serve: 1 warning"},
		{true, []doctor.Result{note, ok, note}, "ready to serve: 2 notes"},
		{true, []doctor.Result{note, warning}, "ready to serve: 1 warning, 1 note"},
		{false, []doctor.Result{problem, warning, problem}, "not ready to serve: 2 problems, 1 warning"},
	} {
		if got := summary(row.ok, row.results); got != row.want {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}
