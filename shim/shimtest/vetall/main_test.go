package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCheck: what is wrong on one system alone is found for that system, in
// code and in tests; with a type error the analyzers are not asked.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, file, code string
		want             string // part of the one problem on Windows
	}{
		{"types", "a_windows.go", "package m\n\nfunc f() { missing() }\n", "a_windows.go:3:12: undefined: missing"},
		{"types in a test", "a_windows_test.go", "package m\n\nvar n int = \"\"\n", "a_windows_test.go:3:13: cannot use"},
		{"an import", "a_windows.go", "package m\n\nimport \"example.invalid/m/nothing\"\n\nvar _ = nothing.X\n", "nothing"},
		{"an analyzer", "a_windows.go", "package m\n\nfunc f(x int) { x = x }\n", "a_windows.go:3:17: self-assignment of x"},
		{"an analyzer in a test", "a_windows_test.go", "package m_test\n\nfunc f(x int) { x = x }\n", "a_windows_test.go:3:17: self-assignment of x"},
		{"embedded files", "a_windows.go", "package m\n\nimport _ \"embed\"\n\n//go:embed nothing\nvar s string\n", "no matching files found"},
		{"nothing", "a_windows.go", "package m\n\nimport \"unsafe\"\n\nvar n = unsafe.Sizeof(0)\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, data := range map[string]string{"go.mod": "module example.invalid/m\n\ngo 1.26\n", "m.go": "package m\n", c.file: c.code} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got := check("linux", dir, "./..."); len(got) > 0 {
				t.Errorf("on Linux: %q", got)
			}
			got := check("windows", dir, "./...")
			if c.want == "" && len(got) > 0 || c.want != "" && !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, c.want) }) {
				t.Errorf("on Windows: %q, want %q", got, c.want)
			}
		})
	}
}
