package gitrepo

import (
	"encoding/json"
	"unicode/utf8"
)

// plainFile is File without its methods.
type plainFile File

// fileJSON is a File in JSON. A path need not be UTF-8 for git, but a JSON
// string must be: the bytes of such a path are kept beside it, in base64.
type fileJSON struct {
	plainFile
	RawPath []byte `json:"rawPath,omitempty"`
}

// MarshalJSON keeps the bytes of a path that is not UTF-8.
func (f File) MarshalJSON() ([]byte, error) {
	out := fileJSON{plainFile: plainFile(f)}
	if !utf8.ValidString(f.Path) {
		out.RawPath = []byte(f.Path)
	}
	return json.Marshal(out)
}

// UnmarshalJSON is the other way round.
func (f *File) UnmarshalJSON(data []byte) error {
	var in fileJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*f = File(in.plainFile)
	if in.RawPath != nil {
		f.Path = string(in.RawPath)
	}
	return nil
}
