package gitrepo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// benchRepo is a packed repository of n files of 1 KiB in folders of 100: one
// folder in a hundred is untracked, one file in a thousand edited.
func benchRepo(b *testing.B, n int) *testRepo {
	b.Helper()
	r := newRepo(b)
	content := make([]byte, 1024)
	write := func(i int, text string) {
		copy(content, fmt.Sprintf("%d %s\n", i, text))
		name := r.path(fmt.Sprintf("d%03d/f%05d.txt", i/100, i))
		must(os.MkdirAll(filepath.Dir(name), 0o755))
		must(os.WriteFile(name, content, 0o644))
	}
	untracked := func(i int) bool { return i/100%100 == 1 }
	for i := range n {
		if !untracked(i) {
			write(i, "base")
		}
	}
	r.commit("base")
	r.git("repack", "-adq")
	r.git("prune-packed")
	for i := range n {
		if untracked(i) {
			write(i, "untracked")
		} else if i%1000 == 1 {
			write(i, "edited")
		}
	}
	// Files as young as the index are read anew every time, by git status too.
	later := time.Now().Add(2 * time.Second)
	must(os.Chtimes(r.path(".git/index"), later, later))
	return r
}

// benchFiles is the repository's size: 2,000 files, or what
// SLIDEWRITE_BENCH_FILES says (50,000 for the target in the docs).
func benchFiles(b *testing.B) int {
	b.Helper()
	env := os.Getenv("SLIDEWRITE_BENCH_FILES")
	if env == "" {
		return 2000
	}
	n, err := strconv.Atoi(env)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkSnapshot reports how much longer a snapshot takes than git status in
// the same repository and the same run, untracked files included.
func BenchmarkSnapshot(b *testing.B) {
	r := benchRepo(b, benchFiles(b))
	repo := r.open()
	ctx := context.Background()
	first, err := repo.Snapshot(ctx) // stores the blobs once
	if err != nil {
		b.Fatal(err)
	}
	status := func() {
		cmd := exec.Command("git", "status", "--porcelain", "-z", "-uall")
		cmd.Dir = r.dir
		cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0")
		if out, err := cmd.Output(); err != nil || len(out) == 0 {
			b.Fatal(err)
		}
	}
	for _, bench := range []struct {
		name string
		take func() error
	}{
		{"before", func() error { _, err := repo.Snapshot(ctx); return err }},
		{"after", func() error {
			after, err := repo.SnapshotAfter(ctx, first)
			if err == nil {
				_, err = repo.Change(ctx, first, after)
			}
			return err
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var ours, gits time.Duration
			for b.Loop() {
				start := time.Now()
				status()
				gits += time.Since(start)
				start = time.Now()
				if err := bench.take(); err != nil {
					b.Fatal(err)
				}
				ours += time.Since(start)
			}
			b.ReportMetric(float64(ours)/float64(gits), "x-status")
			b.ReportMetric(float64(ours.Microseconds())/float64(b.N)/1000, "ms/snapshot")
		})
	}
}
