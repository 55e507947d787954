package codex

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// foreignHead is the first line of another folder's rollout, as long as those
// of 0.171.0: 21,459 characters of instructions.
func foreignHead(cwd string) []byte {
	return fmt.Appendf(nil, `{"timestamp":"2026-11-30T08:04:14.147Z","ordinal":0,"type":"session_meta","payload":{"account_scoped":true,"session_id":"%[1]s","id":"%[1]s","timestamp":"2026-11-30T08:04:14.114Z","cwd":%[2]q,"runtime_workspace_roots":[%[2]q],"originator":"codex_exec","cli_version":"0.171.0","source":"exec","thread_source":"user","model_provider":"openai","base_instructions":{"text":%[3]q}}}`,
		testSession, cwd, strings.Repeat("You are careful.\n", 21459/17))
}

// BenchmarkHistoryScanForeign is what a rollout of another folder costs, its
// file read apart: of a folder that is there, and of one that is gone.
func BenchmarkHistoryScanForeign(b *testing.B) {
	repo := b.TempDir()
	for name, cwd := range map[string]string{"there": b.TempDir(), "gone": filepath.Join(repo, "gone")} {
		b.Run(name, func(b *testing.B) {
			line := foreignHead(cwd)
			s := scanOf(b, repo, [][]byte{line})
			if s.Verdict() != agent.Foreign {
				b.Fatalf("verdict %d", s.Verdict())
			}
			b.ReportMetric(float64(bytes.Index(line, []byte(`,"runtime`))), "bytes-looked-at")
			b.ReportAllocs()
			for b.Loop() {
				s, _ := New(Options{}).NewScan(agent.History{Repo: repo}, agent.Transcript{}, nil)
				s.Line(line)
			}
		})
	}
}

// BenchmarkHistoryHeads reads the heads of 1,000 foreign rollouts from disk,
// in blocks of 4 and 32 KiB: the price of one of 10,000.
func BenchmarkHistoryHeads(b *testing.B) {
	home, repo := b.TempDir(), b.TempDir()
	dir := filepath.Join(home, "sessions", "2026", "11", "30")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		name := fmt.Sprintf("rollout-2026-11-30T08-04-14-01a22b7b-a88e-78d3-b27d-%012x.jsonl", i)
		data := append(foreignHead(filepath.Join(home, "projects", fmt.Sprint(i))), '\n')
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	c := New(Options{Home: home})
	h := agent.History{Repo: repo}
	for _, block := range []int{4 << 10, 32 << 10} {
		b.Run(fmt.Sprintf("%dKiB", block>>10), func(b *testing.B) {
			buf := make([]byte, block)
			for b.Loop() {
				found, err := c.Transcripts(h)
				if err != nil || len(found) != 1000 {
					b.Fatal(len(found), err)
				}
				for _, tr := range found {
					f, err := os.Open(tr.Path)
					if err != nil {
						b.Fatal(err)
					}
					n, _ := f.Read(buf)
					_ = f.Close() // it was only read
					s, _ := c.NewScan(h, tr, nil)
					head, _, _ := bytes.Cut(buf[:n], []byte("\n"))
					if s.Line(head); s.Verdict() != agent.Foreign {
						b.Fatalf("verdict %d", s.Verdict())
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/rollout")
		})
	}
}

// BenchmarkHistoryScanOurs is the scan of a rollout of ours, line by line.
func BenchmarkHistoryScanOurs(b *testing.B) {
	lines := recordsOf(twoTurns(b))
	size := 0
	for _, line := range lines {
		size += len(line)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		scanOf(b, testRepo, lines)
	}
}
