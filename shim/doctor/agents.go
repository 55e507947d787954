package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/catalog"
)

// found is what is known about one agent CLI.
type found struct {
	bin      string // "" = not there
	version  string // "" = it does not tell
	provider catalog.Provider
}

// usable tells whether a run could be started with it.
func (f found) usable() bool { return f.provider.Error == "" && !f.provider.Pending }

// agents is a check for each agent. They are asked side by side and judged
// together: one that cannot be used is a problem when no other can.
func (d *doctor) agents() []Check {
	all := make([]found, len(d.Agents))
	var asked sync.Once
	ask := func(ctx context.Context) {
		var wg sync.WaitGroup
		for i, a := range d.Agents {
			wg.Go(func() { all[i] = d.ask(ctx, a) })
		}
		wg.Wait()
	}
	var checks []Check
	for i, a := range d.Agents {
		checks = append(checks, Check{a.Name(), func(ctx context.Context) Result {
			asked.Do(func() { ask(ctx) })
			return d.judge(a, all[i], i == 0, slices.ContainsFunc(all, found.usable))
		}})
	}
	return checks
}

// ask waits for the answer of one agent, which comes by the catalog's
// deadline at the latest.
func (d *doctor) ask(ctx context.Context, a agent.Agent) (f found) {
	var err error
	if f.bin, err = d.LookPath(a.Name()); err != nil {
		f.bin = ""
	}
	var wg sync.WaitGroup
	if f.bin != "" {
		wg.Go(func() { f.version = d.Catalog.Version(ctx, f.bin) })
	}
	for {
		f.provider = d.Catalog.Providers(ctx, a.Provider(), false)[0]
		if !f.provider.Pending || ctx.Err() != nil {
			break
		}
	}
	wg.Wait()
	return f
}

// judge puts what was found into one line. isDefault is of the agent that
// serves when none is named: nobody has to have the others. otherwise tells that
// at least one agent is usable.
func (d *doctor) judge(a agent.Agent, f found, isDefault, otherwise bool) Result {
	untested, fix := d.untested(a, f.version)
	r := Result{Status: OK, Detail: d.describe(f, untested), Fix: fix}
	switch {
	case f.provider.Missing != "" && !isDefault:
		r.Status = Note
	case !f.usable() && !otherwise:
		r.Status = Problem
	case !f.usable() || untested != "":
		r.Status = Warning
	}
	if !f.usable() {
		r.Fix = f.provider.Fix
	}
	if len(d.Recorded[a.Name()]) == 0 && f.provider.Missing == "" {
		if r.Status == OK {
			r.Status = Warning
		}
		r.Detail = "never run by us: " + r.Detail
	}
	return r
}

// untested says how a version stands to those whose transcripts the tests
// play, "" when it is among or between them.
func (d *doctor) untested(a agent.Agent, version string) (says, fix string) {
	recorded := slices.SortedFunc(slices.Values(d.Recorded[a.Name()]), compare)
	if len(recorded) == 0 || version == "" {
		return "", ""
	}
	switch oldest, newest := recorded[0], recorded[len(recorded)-1]; {
	case compare(version, newest) > 0:
		return "newer than what was tested, " + newest, ""
	case compare(version, oldest) < 0:
		return "older than what was tested, " + oldest, a.Name() + " update"
	}
	return "", ""
}

// describe says where it is and what it offers, or why it cannot be used; what
// matters most stands first.
func (d *doctor) describe(f found, untested string) string {
	p := f.provider
	if f.bin == "" {
		return p.Error // names what was searched
	}
	at := d.short(f.bin)
	if f.version != "" {
		at += " " + f.version
	}
	switch {
	case p.Pending:
		return at + ": has not answered"
	case strings.Contains(p.Error, f.bin):
		return p.Error // says where it is
	case p.Error != "":
		return at + ": " + p.Error
	}
	if untested != "" {
		at += " (" + untested + ")"
	}
	if len(p.Models) == 0 {
		return at // it cannot be asked
	}
	at += ", signed in"
	if p.Billing != "" {
		at += " (" + p.Billing + ")"
	}
	if len(p.Models) == 1 {
		return at + ", 1 model"
	}
	return fmt.Sprintf("%s, %d models", at, len(p.Models))
}
