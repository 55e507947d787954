package doctor

import (
	"context"
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

func (d *doctor) extension(context.Context) Result {
	if d.Extension == "" {
		return Result{Status: Warning, Detail: "this version has none yet: runs start in the terminal (slidewrite design) or over HTTP"}
	}
	return Result{Status: OK, Detail: d.Extension}
}
