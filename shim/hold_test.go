//go:build !race

package shim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim"
)

// rounds does something again and again for a second, but three times at least
// and ten at most.
func rounds(f func()) {
	end := time.Now().Add(time.Second)
	for n := 0; n < 3 || n < 10 && time.Now().Before(end); n++ {
		f()
	}
}

func part(a, b timings) float64 { return a.best().Seconds() / b.best().Seconds() }

// TestBenchmarksHold fails when something has become twice as slow as it was,
// by a yardstick of the same seconds and never by a clock. The best of some
// rounds counts, of both: other work on the machine makes each only slower.
// What is recorded is of a busy machine; what the benchmarks find on a quiet
// one is in docs/performance.md. The race detector would slow down the shim and
// not git, so it leaves this file out.
func TestBenchmarksHold(t *testing.T) {
	for _, row := range []struct {
		name, unit string
		recorded   float64
		measure    func(t *testing.T) float64
	}{
		{"OneEdit", "git status and the agent alone", 10, func(t *testing.T) float64 {
			s := benchStage(t, false)
			s.PlayChild(edit, shim.Config{})
			var m oneEdit
			rounds(func() { m.take(s) })
			return m.run.best().Seconds() / (m.status.best() + m.agent.best()).Seconds()
		}},
		{"Throughput", "encoding/json of the line", 0.6, flood{lines: 50_000, kind: "text_delta"}.relation},
		{"LargeLines/text_delta", "encoding/json of the line", 1.8, flood{lines: 16, size: 1 << 20, kind: "text_delta"}.relation},
		{"LargeLines/tool_result", "encoding/json of the line", 1.2, flood{lines: 16, size: 1 << 20, kind: "tool_result"}.relation},
		{"RunMemory/longest-line", "budgets", 0.8, func(t *testing.T) float64 {
			needsProc(t)
			f := flood{lines: 1, size: 32 << 20, kind: "text_delta"}
			peak, _ := f.peak(t)
			return peak / f.budget()
		}},
		{"RunMemory", "budgets", 0.9, func(t *testing.T) float64 {
			needsProc(t)
			f := flood{lines: 64, size: 1 << 20, kind: "text_delta"}
			var peaks []float64
			for range 2 {
				peak, _ := f.peak(t)
				peaks = append(peaks, peak)
			}
			return slices.Min(peaks) / f.budget()
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := row.measure(t)
			t.Logf("%.2f %s", got, row.unit)
			if got > 2*row.recorded {
				t.Errorf("it takes %.2f %s, recorded were %.2f", got, row.unit, row.recorded)
			}
		})
	}
}

// relation is what a line of the flood takes on its way, in encoding/json of
// that line.
func (f flood) relation(t *testing.T) float64 {
	s := benchStage(t, false)
	s.PlayChild(text, shim.Config{}, f.knobs()...)
	var runs, decodes timings
	rounds(func() { runs, decodes = append(runs, f.run(s)), append(decodes, f.decode(t)) })
	return part(runs, decodes)
}
