package gitrepo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// oneEditRepo is a repository of n small files, and a user's edit in some.
func oneEditRepo(b *testing.B, n int, dirty bool) *testRepo {
	b.Helper()
	r := newRepo(b)
	for i := range n {
		r.write(fmt.Sprintf("src/d%d/f%d.txt", i/100, i), numbered(20))
	}
	r.commit("base")
	if dirty {
		r.swap("src/d0/f0.txt", "line c\n", "mine\n")
		r.write("src/d0/f1.txt", "staged\n")
		r.git("add", "src/d0/f1.txt")
	}
	return r
}

// BenchmarkOneEdit is the git part of a run that edits one file: snapshot,
// second snapshot, change, commit. It reports the time as a multiple of one
// `git status` measured in the same loop.
func BenchmarkOneEdit(b *testing.B) {
	for _, dirty := range []bool{false, true} {
		b.Run(map[bool]string{false: "clean", true: "dirty"}[dirty], func(b *testing.B) {
			n := 100
			if os.Getenv("SLIDEWRITE_BENCH_FILES") != "" {
				n = benchFiles(b)
			}
			r := oneEditRepo(b, n, dirty)
			repo := r.open()
			ctx := context.Background()
			var status, snapshots, commits time.Duration
			for i := 0; b.Loop(); i++ {
				status += timed(b, func() error {
					cmd := exec.Command("git", "status", "--porcelain")
					cmd.Dir = r.dir
					return cmd.Run()
				})
				var before, after *Snapshot
				var change *Change
				snapshots += timed(b, func() (err error) { before, err = repo.Snapshot(ctx); return })
				if err := os.WriteFile(r.path("src/d0/f0.txt"), []byte(r.read("src/d0/f0.txt")+fmt.Sprintf("agent %d\n", i)), 0o644); err != nil {
					b.Fatal(err)
				}
				snapshots += timed(b, func() (err error) {
					if after, err = repo.SnapshotAfter(ctx, before); err == nil {
						change, err = repo.Change(ctx, before, after)
					}
					return
				})
				commits += timed(b, func() error {
					_, err := repo.Commit(ctx, CommitRequest{RunID: fmt.Sprintf("r%d", i), Change: change, Message: "slide-write: bench\n"})
					return err
				})
			}
			perRun := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.N) / 1000 }
			b.ReportMetric(perRun(status), "status-ms")
			b.ReportMetric(perRun(snapshots), "snapshots-ms")
			b.ReportMetric(perRun(commits), "commit-ms")
			b.ReportMetric(float64(snapshots+commits)/float64(status), "x-status")
		})
	}
}

// timed runs fn and returns how long it took.
func timed(b *testing.B, fn func() error) time.Duration {
	b.Helper()
	began := time.Now()
	if err := fn(); err != nil {
		b.Fatalf("%+v", err)
	}
	return time.Since(began)
}
