// Package extension is the browser extension: the files as they are loaded
// into a browser, embedded in the binary, and what writes them to a folder for
// "Load unpacked".
//
// Everything in the folders named below ships. What is for development only
// (type check, its dependencies, this file) lies beside them.
package extension

import (
	"bytes"
	"embed"
	"encoding/json"
	"io/fs"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors"
)

//go:embed manifest.json background icons lib options pairing panel picker
var files embed.FS

const manifestName = "manifest.json"

// Files are the extension as it stands in the source tree: its manifest has
// the version of that, not the binary's.
func Files() fs.FS { return files }

// contents are the files as they are written out for a binary of version, by
// their slash-separated paths.
func contents(version string) (map[string][]byte, error) {
	all := map[string][]byte{}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		all[name], err = files.ReadFile(name)
		return err
	})
	if err != nil {
		return nil, errors.Wrap(err, "read the embedded extension")
	}
	all[manifestName], err = manifest(all[manifestName], version)
	return all, err
}

// manifest puts a version into a manifest: its numbers as version, which is
// all that Chromium takes there, and the whole of it as version_name.
func manifest(source []byte, version string) ([]byte, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(source, &m); err != nil {
		return nil, errors.Wrap(err, "read the embedded manifest")
	}
	if n := numbers(version); n != "" {
		m["version"] = quoted(n)
	}
	m["version_name"] = quoted(version)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(m)
	return out.Bytes(), err
}

func quoted(s string) json.RawMessage {
	b, _ := json.Marshal(s) // a string always encodes
	return b
}

// numbers is the part of a version that Chromium takes: one to four whole
// numbers up to 65535, not all of them zero. "v1.2.3-rc.1+abc" has 1.2.3, and
// "devel" has none: "".
func numbers(version string) string {
	var kept []string
	sum := 0
	version = strings.TrimPrefix(version, "v")
	if i := strings.IndexFunc(version, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); i >= 0 {
		version = version[:i]
	}
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil || len(kept) == 4 {
			break
		}
		kept = append(kept, strconv.FormatUint(n, 10))
		sum += int(n)
	}
	if sum == 0 {
		return ""
	}
	return strings.Join(kept, ".")
}
