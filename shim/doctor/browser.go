package doctor

import (
	"context"
	"fmt"

	"github.com/slidewrite/slidewrite/shim/browser"
)

// browser is a warning at most: it may be on another machine.
func (d *doctor) browser(context.Context) Result {
	if path := browser.Find(d.Environ); path != "" {
		return Result{Status: OK, Detail: d.short(path)}
	}
	return Result{
		Status: Warning, Detail: "no Chrome or Chromium was found; one on another machine will do",
		Fix: "install Chrome (https://www.google.com/chrome/) or Chromium",
	}
}

// extension is a warning at most: another folder may be the one in use.
func (d *doctor) extension(context.Context) Result {
	const fix = "slidewrite extension"
	e, err := d.Options.Extension()
	at := d.short(e.Dir)
	order := compare(e.Written, e.Version)
	switch {
	case err != nil:
		return failed(Warning, err, fix)
	case e.Written == "":
		return Result{Status: Warning, Detail: "not written to " + at + " yet", Fix: fix}
	case !e.Whole:
		return Result{Status: Warning, Detail: fmt.Sprintf("%s in %s is not whole: writing it was cut short, or files are gone", e.Written, at), Fix: fix}
	case order < 0:
		return Result{Status: Warning, Detail: fmt.Sprintf("%s in %s is older than slidewrite, which has %s", e.Written, at, e.Version), Fix: fix}
	case order > 0:
		return Result{Status: Warning, Detail: fmt.Sprintf("%s in %s is newer than slidewrite, which has %s", e.Written, at, e.Version), Fix: fix}
	case !e.Current:
		return Result{Status: Warning, Detail: fmt.Sprintf("%s in %s has other files than this slidewrite of the same version", e.Written, at), Fix: fix}
	}
	return Result{Status: OK, Detail: e.Version + " in " + at}
}
