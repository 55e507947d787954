package gitrepo

import (
	"context"
	"os"
	"reflect"
	"testing"
)

func TestUncovered(t *testing.T) {
	r := newRepo(t)
	r.write(".gitignore", "*.log\nbuild/\n")
	r.write("a.txt", "a\n")
	r.write("kept.log", "tracked although ignored\n")
	r.git("add", "-f", ".")
	r.git("commit", "-q", "-m", "one")
	r.write("nested/.git/HEAD", "ref: refs/heads/main\n")
	if err := os.Symlink("/", r.path("link")); err != nil {
		t.Fatal(err)
	}
	repo, err := Open(context.Background(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := repo.Uncovered(context.Background(), []string{
		"a.txt", "new.txt", "kept.log", "*.txt", // these a snapshot can hold
		"debug.log", "build/out.js", "nested/x.txt", "link/etc/hosts", "../other/x", "/etc/hosts", "debug.log",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"../other/x", "/etc/hosts", "build/out.js", "debug.log", "link/etc/hosts", "nested/x.txt"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got, err := repo.Uncovered(context.Background(), []string{"a.txt"}); err != nil || got != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
