package gitrepo

import (
	"context"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// MinVersion is the oldest git that has all we use: `git hook run` of
// --commit-verify came with 2.36, `git add --sparse` with 2.34. Tests run with
// 2.39.
const MinVersion = "2.36"

// versionPattern finds the number in "git version 2.39.5 (Apple Git-154)" and
// "git version 2.51.0.windows.1".
var versionPattern = lazyregexp.New(`\d+\.\d+(\.\d+)?`)

// Version returns the version of the git that runs with environ, as in
// "2.39.5". dir is any folder that exists.
func Version(ctx context.Context, dir string, environ []string) (string, error) {
	r := &Repo{dir: dir, env: gitEnv(environ)}
	out, err := r.git(ctx, call{dir: dir}, "--version")
	if err != nil {
		return "", openError(err, dir, []string{""})
	}
	v := versionPattern.FindString(string(out))
	if v == "" {
		return "", errors.Newf("git does not tell its version: %.80q", out)
	}
	return v, nil
}
