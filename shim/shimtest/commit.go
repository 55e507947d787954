package shimtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/cockroachdb/errors"
)

// Most tests begin with one of a few repositories, and to make one takes three
// processes: the .git folder of each is kept for the next test that wants it.
var (
	gitDirs string   // where they are; "" = nowhere
	keeping sync.Map // name of what the folder holds → func() error, which keeps its .git folder
)

// Commit makes the folder a repository and commits all that is not ignored;
// an empty folder stays without a commit.
func (s *Stage) Commit() {
	s.T.Helper()
	key, plain := s.content()
	if gitDirs == "" || !plain {
		s.commit()
		return
	}
	kept, mine := filepath.Join(gitDirs, key), filepath.Join(s.Repo, ".git")
	first := false
	keep, _ := keeping.LoadOrStore(key, sync.OnceValue(func() error {
		first = true
		s.commit()
		return os.CopyFS(kept, os.DirFS(mine))
	}))
	err := keep.(func() error)()
	if err == nil && !first {
		err = os.CopyFS(mine, os.DirFS(kept))
		if _, noIndex := os.Stat(filepath.Join(mine, "index")); err == nil && noIndex == nil {
			s.Git("update-index", "--refresh") // the index knows the files by their times
		}
	}
	if err != nil {
		s.T.Fatal(err)
	}
}

func (s *Stage) commit() {
	s.T.Helper()
	s.Git("init", "-q", "-b", "main", "--template=")
	if entries, err := os.ReadDir(s.Repo); err == nil && len(entries) > 1 {
		s.Git("add", "-A")
		s.Git("commit", "-q", "-m", "sample")
	}
}

// content is a name for what the folder holds; false if that is more than
// folders, files and links, or a repository already.
func (s *Stage) content() (key string, plain bool) {
	sum := sha256.New()
	err := filepath.WalkDir(s.Repo, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var data []byte
		switch {
		case d.Name() == ".git":
			return errors.New("a repository")
		case info.Mode().IsRegular():
			data, err = os.ReadFile(path)
		case info.Mode()&fs.ModeSymlink != 0:
			var target string
			target, err = os.Readlink(path)
			data = []byte(target)
		case !d.IsDir():
			return errors.Newf("%s: neither file, link nor folder", path)
		}
		fmt.Fprintf(sum, "%q %v %d\n%s\n", path[len(s.Repo):], info.Mode(), len(data), data)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)), err == nil
}
