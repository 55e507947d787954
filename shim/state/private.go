package state

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/cockroachdb/errors"
)

// Private are the folders of ours that may lie in the user's repository, as
// where a home folder is one: the state directory and that of the tokens.
// Absolute, real where they exist. They are none of the user's work.
func (s *Store) Private(environ []string) []string {
	dirs := []string{s.dir}
	if config, err := configDir(runtime.GOOS, environ); err == nil {
		tokens := tokensDir(config)
		if real, err := realPath(tokens); err == nil {
			tokens = real
		}
		dirs = append(dirs, tokens)
	}
	return dirs
}

// hideFromGit keeps every git, the user's and the agent's, from adding what is
// in a folder of ours.
func hideFromGit(dir string) error {
	path := filepath.Join(dir, ".gitignore")
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return noteFile(path, []byte("*\n"))
}

// refuseInside refuses a repository that lies in the state directory: all its
// files would be ours.
func refuseInside(dir, top string) error {
	rel, err := filepath.Rel(dir, top)
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	return errors.WithHint(errors.Newf("the repository %s lies in slidewrite's own state directory %s", top, dir),
		"work in a repository outside of it, or set XDG_STATE_HOME to a folder outside of this one")
}
