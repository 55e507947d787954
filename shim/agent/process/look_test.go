package process

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cockroachdb/errors"
)

func TestLookPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("file modes")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(path string) string { return filepath.Join(root, path) }
	program := func(path string, mode os.FileMode) {
		os.MkdirAll(filepath.Dir(at(path)), 0o700)
		if err := os.WriteFile(at(path), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	program("bin/agentx", 0o755)
	program("later/agentx", 0o755)
	program("plain/agentx", 0o644)
	program("bin/agentx-next", 0o755)
	program("home/.local/bin/agentx", 0o755)
	program("home2/.agentx/local/agentx", 0o755)
	program("repo/agentx", 0o755)
	program("repo/node_modules/.bin/agentx", 0o755)
	os.Mkdir(at("folder"), 0o700)
	os.Mkdir(at("folder/agentx"), 0o700)
	if err := os.Symlink(at("repo/node_modules/.bin"), at("link")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(at("repo"))

	for _, c := range []struct {
		name, explicit, path, home string
		want, message              string
	}{
		{name: "PATH in order", path: at("bin") + ":" + at("later"), want: at("bin/agentx")},
		{name: "not executable is passed over", path: at("plain") + ":" + at("later"), want: at("later/agentx")},
		{name: "a folder is passed over", path: at("folder") + ":" + at("later"), want: at("later/agentx")},
		{name: "PATH before install folders", path: at("bin"), home: at("home"), want: at("bin/agentx")},
		{name: "~/.local/bin", path: "/nowhere", home: at("home"), want: at("home/.local/bin/agentx")},
		{name: "its own folder", path: "/nowhere", home: at("home2"), want: at("home2/.agentx/local/agentx")},
		{name: "explicit path", explicit: at("later/agentx"), path: at("bin"), want: at("later/agentx")},
		{name: "explicit relative path", explicit: "./agentx", path: at("bin"), want: at("repo/agentx")},
		{name: "explicit name", explicit: "agentx-next", path: at("bin"), want: at("bin/agentx-next")},
		{name: "explicit but missing", explicit: at("none"), path: at("bin"), message: "no such file"},
		{name: "explicit but plain", explicit: at("plain/agentx"), path: at("bin"), message: "is not executable"},
		{name: "nowhere", path: at("folder"), message: "agentx not found; searched " + at("folder")},
		{name: "nowhere on a long PATH", path: "/1:/2:/1:/3:/4:/2:/5:/6", message: "agentx not found; searched /1:/2:/3:/4:/5 and "},
		{name: "nowhere on a wide PATH", path: "/" + strings.Repeat("a", 40) + ":/" + strings.Repeat("b", 40) + ":/c", message: "agentx not found; searched /" + strings.Repeat("a", 40) + " and "},
		// S14: the repo's own files never choose a binary.
		{name: "S14 .", path: ".:" + at("later"), want: at("later/agentx")},
		{name: "S14 empty entry", path: ":" + at("later"), want: at("later/agentx")},
		{name: "S14 relative entry", path: "node_modules/.bin:" + at("later"), want: at("later/agentx")},
		{name: "S14 absolute entry in the repo", path: at("repo/node_modules/.bin") + ":" + at("later"), want: at("later/agentx")},
		{name: "S14 the repo itself", path: at("repo") + ":" + at("later"), want: at("later/agentx")},
		{name: "S14 through a link", path: at("link") + ":" + at("later"), want: at("later/agentx")},
		{name: "S14 only in the repo", path: ".:" + at("link"), message: "not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := []string{"PATH=" + c.path, "HOME=" + c.home}
			got, searched, err := LookPath("agentx", c.explicit, env, at("repo"))
			if c.message == "" {
				if got != c.want || err != nil || len(searched) == 0 {
					t.Errorf("LookPath = %q, %v, %v; want %q", got, searched, err, c.want)
				}
				return
			}
			hint := "--agentx-bin"
			if c.message == "is not executable" {
				hint = "chmod +x " + c.explicit
			}
			if err == nil || !strings.Contains(err.Error(), c.message) || !strings.Contains(errors.FlattenHints(err), hint) {
				t.Errorf("error %v, hint %q; want %q and %s", err, errors.FlattenHints(err), c.message, hint)
			}
			if strings.Contains(c.message, "not found") && !errors.Is(err, ErrNotFound) {
				t.Error("it is not ErrNotFound")
			}
		})
	}
}
