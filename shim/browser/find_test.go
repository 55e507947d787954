package browser

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

func TestFind(t *testing.T) {
	t.Parallel()
	for goos, want := range map[string]string{
		"linux":   "/opt/google-chrome",
		"darwin":  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
		"windows": "/pf/Google/Chrome/Application/chrome.exe",
	} {
		all := places(goos, []string{"PATH=/opt", "ProgramFiles=/pf"})
		if !slices.Contains(all, filepath.FromSlash(want)) {
			t.Errorf("%s: %q is not in %q", goos, want, all)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	bin := t.TempDir()
	environ := []string{"PATH=relative" + string(filepath.ListSeparator) + bin}
	if found := Find(environ); found != "" {
		t.Errorf("found %s where there is none", found)
	}
	if err := os.Mkdir(filepath.Join(bin, "google-chrome"), 0o700); err != nil { // a folder is none
		t.Fatal(err)
	}
	want := filepath.Join(bin, "chromium")
	if err := os.WriteFile(want, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if found := Find(environ); found != want {
		t.Errorf("found %s, want %s", found, want)
	}
}
