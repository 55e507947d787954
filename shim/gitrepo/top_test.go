package gitrepo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestTopOf: it finds what git finds, without git; a bare repository is never
// taken for the one whose working tree it lies in.
func TestTopOf(t *testing.T) {
	t.Parallel()
	r := newRepoWith(t, map[string]string{"sub/a.txt": "a\n"})
	r.git("init", "-q", "--bare", "store/app.git")
	r.git("init", "-q", "--bare", "detached.git")
	head := r.git("rev-parse", "HEAD")
	r.write("detached.git/HEAD", head+"\n")
	r.write("lookalike/HEAD", "not a head\n")
	r.write("lookalike/objects/x", "")
	r.write("lookalike/refs/x", "")
	r.write("parts/HEAD", "ref: refs/heads/main\n")
	r.write("parts/refs/x", "")
	r.git("worktree", "add", "-q", "linked", "-b", "linked")
	if err := os.MkdirAll(r.path("linked/deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		".": ".", "sub": ".", "store": ".", "lookalike": ".", "lookalike/refs": ".", "parts/refs": ".",
		"linked/deep": "linked", "linked": "linked",
		"store/app.git": "store/app.git", "store/app.git/refs/heads": "store/app.git", "detached.git/hooks": "detached.git",
		".git": ".git", ".git/refs": ".git",
	} {
		got, err := TopOf(r.path(dir))
		if err != nil || got != filepath.Clean(r.path(want)) {
			t.Errorf("%s: %s, %v; want %s", dir, got, err, want)
			continue
		}
		repo, err := Open(context.Background(), r.path(dir))
		switch {
		case err == nil && repo.Top() != got:
			t.Errorf("%s: git says %s, not %s", dir, repo.Top(), got)
		case err != nil && !errors.Is(err, ErrBare) && !errors.Is(err, ErrNone):
			t.Errorf("%s: %v", dir, err)
		case err != nil && got == r.dir:
			t.Errorf("%s: %s, but git says: %v", dir, got, err)
		}
	}
	nowhere := realTempDir(t)
	if got, err := TopOf(nowhere); err != nil || got != nowhere {
		t.Errorf("%s, %v", got, err)
	}
}
