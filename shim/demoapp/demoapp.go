// Package demoapp is the app that `slidewrite demo` changes: the files of a
// small page, and a server on loopback that keeps what a browser shows of them
// up to date.
//
//	demoapp.go  the files
//	serve.go    the server
//	watch.go    what changes in a folder
//	reload.js   the server's part in the page
//
// Flow: Write → Serve → a file changes → the page follows.
package demoapp

import (
	"embed"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

//go:embed cafe
var files embed.FS

// Write writes the app's files into a folder, over what stands there. The
// button's stylesheet is not among them: it is the file that the recorded
// agent changes, and comes with the recording.
func Write(dir string) error {
	return fs.WalkDir(files, "cafe", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel("cafe", filepath.FromSlash(name))
		if err != nil {
			return err
		}
		at := filepath.Join(dir, rel)
		if d.IsDir() {
			return os.MkdirAll(at, 0o755)
		}
		data, err := files.ReadFile(path.Clean(name))
		if err != nil {
			return err
		}
		return os.WriteFile(at, data, 0o644)
	})
}
