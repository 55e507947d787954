package claude

import (
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// benchMap maps one line again and again; perLine also reports lines/s.
func benchMap(b *testing.B, line string, perLine bool) {
	m := newMapper(agent.MapOptions{Repo: testRepo})
	for _, l := range prelude {
		if _, err := m.Map([]byte(l)); err != nil {
			b.Fatal(err)
		}
	}
	in := []byte(line)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if events, err := m.Map(in); err != nil || len(events) == 0 {
			b.Fatalf("%d events, %v", len(events), err)
		}
	}
	if perLine {
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lines/s")
	}
}

// BenchmarkMapTextDelta: small deltas must leave room for 1,000,000 lines/s
// end to end; large ones are wanted at 200 MB/s and more.
func BenchmarkMapTextDelta(b *testing.B) {
	b.Run("small332", func(b *testing.B) { benchMap(b, delta332("Hello from t"), true) })
	b.Run("small197", func(b *testing.B) { benchMap(b, delta197("Hello from t"), true) })
	b.Run("escaped", func(b *testing.B) { benchMap(b, delta332(`a \"line\"\n`), true) })
	b.Run("decoder", func(b *testing.B) {
		benchMap(b, strings.Replace(delta332("Hello from t"), `"uuid"`, `"grease":1,"uuid"`, 1), true)
	})
	b.Run("large", func(b *testing.B) { benchMap(b, delta332(strings.Repeat("some words of text ", 100_000)), false) })
	b.Run("largeEscaped", func(b *testing.B) { benchMap(b, delta332(strings.Repeat(`a line of some text\n`, 100_000)), false) })
}

// BenchmarkMapLargeLine: other lines of megabytes, wanted at 120 MB/s.
func BenchmarkMapLargeLine(b *testing.B) {
	text := strings.Repeat(`a line of some text\n`, 100_000)
	b.Run("assistant", func(b *testing.B) { benchMap(b, saidLine("other", "1", text), false) })
	b.Run("user", func(b *testing.B) {
		m := newMapper(agent.MapOptions{Repo: testRepo})
		in := []byte(answerLine("t", `"`+text+`"`, `,"tool_use_result":{"stdout":"`+text+`"}`))
		b.SetBytes(int64(len(in)))
		for b.Loop() {
			if _, err := m.Map(in); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("write", func(b *testing.B) {
		m := newMapper(agent.MapOptions{Repo: testRepo})
		in := []byte(callLine("t", "Write", `{"file_path":"/repo/a","content":"`+text+`"}`))
		b.SetBytes(int64(len(in)))
		for b.Loop() {
			if _, err := m.Map(in); err != nil {
				b.Fatal(err)
			}
		}
	})
}
