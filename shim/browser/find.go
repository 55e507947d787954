package browser

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Find is the program of the first browser there is, "" when there is none.
func Find(environ []string) string {
	for _, path := range places(runtime.GOOS, environ) {
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0) {
			return path
		}
	}
	return ""
}

// places are where one may be, the likeliest first: its usual names on PATH,
// and the folders of installers.
func places(goos string, environ []string) []string {
	var paths []string
	below := func(base string, names ...string) {
		for _, name := range names {
			if base != "" {
				paths = append(paths, filepath.Join(base, filepath.FromSlash(name)))
			}
		}
	}
	switch goos {
	case "darwin":
		for _, base := range []string{"/", lookup(environ, "HOME")} {
			below(base, "Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "Applications/Chromium.app/Contents/MacOS/Chromium",
				"Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge", "Applications/Brave Browser.app/Contents/MacOS/Brave Browser")
		}
	case "windows":
		for _, name := range []string{"ProgramFiles", "ProgramFiles(x86)", "LocalAppData"} {
			below(lookup(environ, name), "Google/Chrome/Application/chrome.exe", "Chromium/Application/chrome.exe",
				"Microsoft/Edge/Application/msedge.exe", "BraveSoftware/Brave-Browser/Application/brave.exe")
		}
		return paths
	}
	for _, name := range []string{"google-chrome", "google-chrome-stable", "chromium", "chromium-browser", "chrome", "microsoft-edge", "brave-browser"} {
		for _, dir := range filepath.SplitList(lookup(environ, "PATH")) {
			if filepath.IsAbs(dir) {
				below(dir, name)
			}
		}
	}
	return paths
}

// lookup returns the last value of a variable; names are as on this system.
func lookup(environ []string, key string) string {
	value := ""
	for _, kv := range environ {
		k, v, _ := strings.Cut(kv, "=")
		if k == key || runtime.GOOS == "windows" && strings.EqualFold(k, key) {
			value = v
		}
	}
	return value
}
