package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	f := figures{}
	f.read([]byte(`goos: linux
BenchmarkFast-2       	      20	       1.5 ms/start	         3.0 ms/version	         0 ns/op
BenchmarkFast/large-16	      20	      2000 ms/start	      1000 ms/version
BenchmarkMany         	       1	   1234567 lines/s	    500000 lines/s-json
ok  	example	1.2s
`))
	var got bytes.Buffer
	table(&got, []row{
		{what: "met", bench: "Fast", value: "ms/start", base: "ms/version", baseWhat: "bare", target: 8},
		{what: "missed", bench: "Fast/large", value: "ms/start", base: "ms/version", baseWhat: "bare", target: 8},
		{what: "by ratio", bench: "Fast/large", value: "ms/start", base: "ms/version", baseWhat: "bare", target: 2, byRatio: true},
		{what: "at least", bench: "Many", value: "lines/s", base: "lines/s-json", baseWhat: "json", target: 1e6, atLeast: true},
		{what: "other's", bench: "Many", value: "lines/s", base: "ms/version", baseOf: "Fast", baseWhat: "bare", target: 2e6, atLeast: true},
		{what: "no target", bench: "Fast", value: "ms/start"},
		{what: "did not run", bench: "Slow", value: "ms/start"},
	}, f)
	want := `| what | measured | baseline | ratio | target | |
| --- | --- | --- | --- | --- | --- |
| met | 1.5 ms | 3 ms (bare) | 0.50 × | ≤ 8 ms | met |
| missed | 2,000 ms | 1,000 ms (bare) | 2.00 × | ≤ 8 ms | **missed** |
| by ratio | 2,000 ms | 1,000 ms (bare) | 2.00 × | ≤ 2 × | met |
| at least | 1,234,567 lines/s | 500,000 lines/s (json) | 2.47 × | ≥ 1,000,000 lines/s | met |
| other's | 1,234,567 lines/s | 3 ms (bare) | 411522.33 × | ≥ 2,000,000 lines/s | **missed** |
| no target | 1.5 ms | – | – | – |  |
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.Bytes(), want)
	}
}

// TestRowsNameBenchmarks: each row's benchmark is run by a suite, is in that
// package, and reports what the row shows.
func TestRowsNameBenchmarks(t *testing.T) {
	source := map[string]string{} // package → its tests
	for _, s := range suites {
		tests, err := filepath.Glob(filepath.Join("..", "..", "..", s.pkg, "*_test.go"))
		if err != nil || len(tests) == 0 {
			t.Fatalf("%s has no tests: %v", s.pkg, err)
		}
		for _, path := range tests {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			source[s.pkg] += string(data)
		}
	}
	has := func(bench, unit string) bool {
		name, _, _ := strings.Cut(bench, "/")
		for _, s := range suites {
			ran, _, _ := strings.Cut(s.bench, "/")
			// MB/s is what testing makes of SetBytes, too.
			if ran == name && strings.Contains(source[s.pkg], "func Benchmark"+name+"(") &&
				(unit == "MB/s" || strings.Contains(source[s.pkg], `"`+unit+`"`)) {
				return true
			}
		}
		return false
	}
	for _, r := range rows {
		baseOf := r.baseOf
		if baseOf == "" {
			baseOf = r.bench
		}
		if !has(r.bench, r.value) {
			t.Errorf("%s: no suite runs a Benchmark%s that reports %s", r.what, r.bench, r.value)
		}
		if !has(baseOf, r.base) {
			t.Errorf("%s: no suite runs a Benchmark%s that reports %s", r.what, baseOf, r.base)
		}
	}
}
