package gitrepo

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func TestSweepRemovesWhatAKilledProcessLeft(t *testing.T) {
	r := newRepo(t)
	temp := t.TempDir()
	left := []string{r.path(".git/slidewrite-clock-1"), filepath.Join(temp, "slidewrite-git-1", "index")}
	kept := []string{r.path(".git/HEAD"), r.path("slidewrite-clock-1")}
	for _, path := range append(left, kept[1]) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	repo, err := Open(context.Background(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	repo.SetTemp(temp)
	if _, err := repo.Snapshot(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := repo.Sweep(); err != nil {
		t.Fatal(err)
	}
	for _, path := range left {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there (%v)", path, err)
		}
	}
	for _, path := range kept {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
