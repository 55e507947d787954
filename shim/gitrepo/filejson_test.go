package gitrepo

import (
	"encoding/json"
	"testing"
)

// TestFileJSON: a file of a change comes back from the ledger as it was, its
// path too where that is not UTF-8.
func TestFileJSON(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"a.txt", "ümläut", "new\nline", "\xff\xfe.bin", "a/\x80"} {
		want := File{Path: path, Status: "modified", Old: Entry{"100644", "aa"}, New: Entry{"100755", "bb"}, Added: 1, Removed: 2, Yours: true}
		data, err := json.Marshal([]File{want})
		if err != nil {
			t.Fatal(err)
		}
		var got []File
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		equal(t, string(data), got, []File{want})
	}
	data, err := json.Marshal(File{Path: "a.txt", Status: "added"})
	equal(t, "error", err, nil)
	equal(t, "plain path", string(data), `{"path":"a.txt","status":"added","old":{"mode":"","oid":""},"new":{"mode":"","oid":""},"added":0,"removed":0,"binary":false}`)
}
