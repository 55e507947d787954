package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// browser is a warning at most: it may be on another machine.
func (d *doctor) browser(context.Context) Result {
	for _, path := range browsers(runtime.GOOS, d.Environ) {
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0) {
			return Result{Status: OK, Detail: d.short(path)}
		}
	}
	return Result{
		Status: Warning, Detail: "no Chrome or Chromium was found; one on another machine will do",
		Fix: "install Chrome (https://www.google.com/chrome/) or Chromium",
	}
}

// browsers are the places where one may be, the likeliest first: its usual
// names on PATH, and the folders of installers.
func browsers(goos string, environ []string) []string {
	var paths []string
	places := func(base string, below ...string) {
		for _, p := range below {
			if base != "" {
				paths = append(paths, filepath.Join(base, filepath.FromSlash(p)))
			}
		}
	}
	switch goos {
	case "darwin":
		for _, base := range []string{"/", agent.Lookup(environ, "HOME")} {
			places(base, "Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "Applications/Chromium.app/Contents/MacOS/Chromium",
				"Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge", "Applications/Brave Browser.app/Contents/MacOS/Brave Browser")
		}
	case "windows":
		for _, name := range []string{"ProgramFiles", "ProgramFiles(x86)", "LocalAppData"} {
			places(agent.Lookup(environ, name), "Google/Chrome/Application/chrome.exe", "Chromium/Application/chrome.exe",
				"Microsoft/Edge/Application/msedge.exe", "BraveSoftware/Brave-Browser/Application/brave.exe")
		}
		return paths
	}
	for _, name := range []string{"google-chrome", "google-chrome-stable", "chromium", "chromium-browser", "chrome", "microsoft-edge", "brave-browser"} {
		for _, dir := range filepath.SplitList(agent.Lookup(environ, "PATH")) {
			if filepath.IsAbs(dir) {
				places(dir, name)
			}
		}
	}
	return paths
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
