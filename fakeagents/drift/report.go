package drift

import (
	"fmt"
	"slices"
	"strings"
)

// headings say what a class means, one line each.
var headings = map[Class]string{
	LostMapped:   "our output hung on it, and it is gone",
	NewUnmapped:  "new where our code reads, and nothing reads it",
	Counts:       "comes more or less often, or counts on over a session",
	Values:       "words that came (+) or went (-)",
	Order:        "comes in another order",
	NewMapped:    "new, and read already",
	NewIgnored:   "new where our code does not look, or known and left out",
	LostUnmapped: "gone, and nothing hung on it",
}

// Text is the report for people: one line a finding, what is alike on one
// line. all shows also what nobody has to look at.
func (r *Report) Text(all bool) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s -> %s: %s compared\n", r.A.Agent, r.A.Version, r.B.Version, counted(r.Compared, "scenario"))
	for _, only := range []struct {
		side SideInfo
		list []string
	}{{r.A, r.OnlyA}, {r.B, r.OnlyB}} {
		switch n := len(only.list); {
		case n == 0:
		case all:
			fmt.Fprintf(&out, "only in %s: %s\n", only.side.Name, strings.Join(only.list, ", "))
		default:
			fmt.Fprintf(&out, "only in %s: %s, not compared (%s)\n", only.side.Name, counted(n, "scenario"), some(only.list))
		}
	}
	hidden := 0
	for _, class := range Classes {
		lines, n := r.lines(class)
		if n == 0 {
			continue
		}
		if !all && !class.shownAlways() {
			hidden += n
			continue
		}
		fmt.Fprintf(&out, "\n%s: %s\n", class, headings[class])
		for _, l := range lines {
			fmt.Fprintf(&out, "  %s\n", l)
		}
	}
	if len(r.Scenarios) > 0 {
		fmt.Fprintf(&out, "\nevents: what clients are told differs in %s\n", counted(len(r.Scenarios), "scenario"))
		for _, row := range r.Scenarios {
			fmt.Fprintf(&out, "  %s: %s\n", row.Scenario, row)
		}
	}
	if len(r.Findings) == 0 && len(r.Scenarios) == 0 {
		out.WriteString("no difference\n")
	}
	if hidden > 0 {
		fmt.Fprintf(&out, "\nand %s that nobody has to look at: --all\n", counted(hidden, "finding"))
	}
	return out.String()
}

// lines are the findings of a class, and how many there are. Members of one
// object that came or went stand on one line.
func (r *Report) lines(class Class) (lines []string, n int) {
	type group struct{ what, where, parent string }
	members := map[group][]Finding{}
	var order []group
	for i, f := range r.Findings {
		if f.Class != class {
			continue
		}
		n++
		g := group{f.What, f.Where, f.parent}
		if !slices.Contains(foldable, f.What) {
			g.parent = fmt.Sprint("(alone) ", i)
		}
		if members[g] == nil {
			order = append(order, g)
		}
		members[g] = append(members[g], f)
	}
	for _, g := range order {
		lines = append(lines, together(members[g]))
	}
	return lines, n
}

// foldable are findings of which those in one object stand on one line.
var foldable = []string{"added", "gone", "cumulative", "per-run"}

// together is one line for findings that are alike.
func together(all []Finding) string {
	f := all[0]
	where := ""
	if f.Where != stdout {
		where = "on disk, " + f.Where + ": "
	}
	name := f.Path
	if len(all) > 1 {
		var rest []string
		for _, m := range all {
			rest = append(rest, strings.TrimLeft(strings.TrimPrefix(m.Path, m.parent), ".:"))
		}
		slices.Sort(rest)
		name = strings.Join(rest, ", ")
		if f.parent != wholeFile {
			name = f.parent + ": " + name
		}
	}
	return where + name + f.says() + " (" + f.Example + f.more() + ")"
}

func (f Finding) says() string {
	switch f.What {
	case "values":
		var parts []string
		for _, list := range []struct {
			sign  string
			words []string
		}{{"+", f.Added}, {"-", f.Gone}} {
			for _, w := range list.words {
				parts = append(parts, list.sign+w)
			}
		}
		if f.Mapped {
			return " (read by us): " + strings.Join(parts, " ")
		}
		return ": " + strings.Join(parts, " ")
	case "added", "gone":
		return ""
	}
	return ": " + f.Detail
}

func (f Finding) more() string {
	if f.Examples < 2 {
		return ""
	}
	return fmt.Sprintf(" and %d more", f.Examples-1)
}
