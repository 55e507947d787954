package gitrepo

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim/shimtest/benchrepo"
)

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

// snapshotTimes are those of git status and of both snapshots of a run.
type snapshotTimes struct{ status, before, after []time.Duration }

// take takes each of them once in a repository with edits and untracked
// files.
func (ts *snapshotTimes) take(tb testing.TB, repo *Repo, first *Snapshot) {
	tb.Helper()
	took := func(into *[]time.Duration, f func() error) {
		began := time.Now()
		if err := f(); err != nil {
			tb.Fatalf("%+v", err)
		}
		*into = append(*into, time.Since(began))
	}
	ctx := context.Background()
	took(&ts.status, func() error {
		cmd := exec.Command("git", "status", "--porcelain", "-z", "-uall")
		cmd.Dir = repo.Top()
		cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0")
		return cmd.Run()
	})
	took(&ts.before, func() error { _, err := repo.Snapshot(ctx); return err })
	took(&ts.after, func() error {
		after, err := repo.SnapshotAfter(ctx, first)
		if err == nil {
			_, err = repo.Change(ctx, first, after)
		}
		return err
	})
}

// snapshotRepo is a repository to measure in. The first snapshot, which stores
// the blobs once, was taken.
func snapshotRepo(tb testing.TB, files int) (*Repo, *Snapshot) {
	tb.Helper()
	dir := benchrepo.Open(tb, files)
	benchrepo.Dirty(tb, dir)
	repo, err := Open(context.Background(), dir)
	if err != nil {
		tb.Fatal(err)
	}
	first, err := repo.Snapshot(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	return repo, first
}

// BenchmarkSnapshot reports how much longer a snapshot takes than git status in
// the same repository and the same run, untracked files included. after is
// the second snapshot of a run, with the change between the two.
func BenchmarkSnapshot(b *testing.B) {
	repo, first := snapshotRepo(b, benchFiles(b))
	var ts snapshotTimes
	for b.Loop() {
		ts.take(b, repo, first)
	}
	ms := func(all []time.Duration) float64 {
		slices.Sort(all)
		return float64(all[len(all)/2].Microseconds()) / 1000
	}
	status, before, after := ms(ts.status), ms(ts.before), ms(ts.after)
	b.ReportMetric(status, "ms/git-status")
	b.ReportMetric(before, "ms/before")
	b.ReportMetric(before/status, "x-git-status-before")
	b.ReportMetric(after, "ms/after")
	b.ReportMetric(after/status, "x-git-status-after")
	b.ReportMetric(0, "ns/op")
}
