//go:build !race

package gitrepo

import (
	"slices"
	"testing"
	"time"
)

// TestSnapshotHolds fails when a snapshot has become twice as slow as it was,
// by the yardstick of git status. The best of some rounds counts: other work
// on the machine makes each of them only slower.
func TestSnapshotHolds(t *testing.T) {
	// Measured in 2,000 files, where starting git is most of it; the targets
	// are for 50,000, see docs/performance.md.
	const before, after = 5.0, 5.0
	repo, first := snapshotRepo(t, 2000)
	var ts snapshotTimes
	end := time.Now().Add(2 * time.Second)
	for n := 0; n < 3 || n < 10 && time.Now().Before(end); n++ {
		ts.take(t, repo, first)
	}
	status := slices.Min(ts.status).Seconds()
	for _, r := range []struct {
		name          string
		got, recorded float64
	}{
		{"the first snapshot", slices.Min(ts.before).Seconds() / status, before},
		{"the second snapshot", slices.Min(ts.after).Seconds() / status, after},
	} {
		t.Logf("%s takes %.1f git status", r.name, r.got)
		if r.got > 2*r.recorded {
			t.Errorf("%s takes %.1f git status, recorded were %.1f", r.name, r.got, r.recorded)
		}
	}
}
