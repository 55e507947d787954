package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// TestRecordsShortensLongStrings has what stands behind long strings come
// whole, in few bytes, however the reader cuts them.
func TestRecordsShortensLongStrings(t *testing.T) {
	picture := strings.Repeat("iVBORw0KGgo/", 100_000)
	text := strings.Repeat(`é "quoted" \ and 😀`+"\n", 100_000)
	record := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	input := "short \"\n" + record(map[string]any{"a": picture, "b": []string{picture, text}, "c": "the end"}) + "\n" +
		record(map[string]string{"small": "as it is"}) + "\n" + strings.Repeat("no JSON ", 500_000) + "\n\nthe last"
	var got [][]byte
	err := Records(t.Context(), iotest.OneByteReader(strings.NewReader(input)), func(line []byte) bool {
		got = append(got, bytes.Clone(line))
		return true
	})
	if err != nil || len(got) != 6 {
		t.Fatalf("%d records, %v", len(got), err)
	}
	var long struct {
		A string
		B []string
		C string
	}
	if err := json.Unmarshal(got[1], &long); err != nil || len(got[1]) > ScanLimit || long.C != "the end" ||
		len(long.A) != keptWord || len(long.B) != 2 || len(long.B[0]) != keptWord || len(long.B[1]) < keptText/2 ||
		!strings.HasPrefix(text, strings.TrimRight(long.B[1], "\uFFFD")) {
		t.Errorf("%d bytes, %v, a %d, c %q", len(got[1]), err, len(long.A), long.C)
	}
	if string(got[0]) != `short "` || string(got[2]) != `{"small":"as it is"}` || len(got[3]) != ScanLimit || len(got[4]) > 0 || string(got[5]) != "the last" {
		t.Errorf("%q, %q, %d bytes, %q, %q", got[0], got[2], len(got[3]), got[4], got[5])
	}
}

// FuzzShortener cuts any bytes into parts: what is left does not depend on the
// parts, and JSON stays JSON.
func FuzzShortener(f *testing.F) {
	f.Add([]byte(`{"a":"`+strings.Repeat(`\u00e9\\\"`, 9000)+`","b":[1]}`), uint16(7))
	f.Add([]byte(`"`+strings.Repeat("x", keptWord-1)+`\ud83d\ude00 y"`), uint16(1))
	f.Add([]byte(`"\`), uint16(1))
	f.Fuzz(func(t *testing.T, data []byte, part uint16) {
		var whole, parts Shortener
		want := whole.Shorten(bytes.Clone(data))
		var got []byte
		for rest := bytes.Clone(data); len(rest) > 0; {
			n := min(len(rest), 1+int(part))
			got = append(got, parts.Shorten(rest[:n])...)
			rest = rest[n:]
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("in parts of %d: %d bytes, whole %d", part, len(got), len(want))
		}
		if json.Valid(data) != json.Valid(want) && json.Valid(data) {
			t.Fatalf("JSON became %q", want)
		}
	})
}

// TestNamesOfOddFolders lists what is no folder, or must not be read, as empty.
func TestNamesOfOddFolders(t *testing.T) {
	dir := t.TempDir()
	file, closed := filepath.Join(dir, "file"), filepath.Join(dir, "closed")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Mkdir(closed, 0), os.Mkdir(filepath.Join(dir, "empty"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, odd := range []string{"file", "file/below", "closed", "empty", "missing"} {
		if names, err := Names(filepath.Join(dir, odd)); len(names) > 0 || err != nil {
			t.Errorf("%s: %q, %v", odd, names, err)
		}
	}
	names, err := Names(dir)
	slices.Sort(names)
	if err != nil || !slices.Equal(names, []string{"closed", "empty", "file"}) {
		t.Errorf("%q, %v", names, err)
	}
}
