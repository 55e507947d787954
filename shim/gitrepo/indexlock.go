package gitrepo

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/cockroachdb/errors"
)

// indexLock is git's own lock of the index, held by a run. While it stands,
// git refuses to check out and to commit.
type indexLock struct {
	index string // the index file, symbolic links resolved as git does
	run   string
}

// lockPatience is how long another git command may hold the index.
const lockPatience = 3 * time.Second

// indexPath is `git rev-parse --git-path index`, which needs no process: the
// index of a linked worktree lies in that worktree's own git folder, and
// GIT_INDEX_FILE is never passed on to us.
func (r *Repo) indexPath() string {
	index := filepath.Join(r.gitDir, "index")
	if real, err := filepath.EvalSymlinks(index); err == nil {
		return real
	}
	return index
}

// lockFor names the lock of a run without taking it.
func (r *Repo) lockFor(run string) (*indexLock, error) {
	if !runIDPattern.MatchString(run) {
		return nil, errors.Newf("run id %.80q cannot be part of a file name", run)
	}
	return &indexLock{index: r.indexPath(), run: run}, nil
}

func (l *indexLock) lockFile() string { return l.index + ".lock" }

// copyFile is the run's copy of the user's index, which takes its place.
func (l *indexLock) copyFile() string { return l.index + ".slidewrite-" + l.run }

// treeFile is a temporary index that only makes the commit's tree, and the
// index that the hooks see.
func (l *indexLock) treeFile() string { return l.copyFile() + ".tree" }

// nameFile becomes the lock file.
func (l *indexLock) nameFile() string { return l.copyFile() + ".name" }

// messageFile is the commit message, for the commit-msg hook.
func (l *indexLock) messageFile() string { return l.copyFile() + ".msg" }

// content is what the lock file says.
func (l *indexLock) content() string { return "slidewrite " + l.run }

// take creates the lock, waiting up to lockPatience for another git command.
// The file appears with its content at once (a hard link to a finished file),
// so that a run killed at any moment leaves no lock without a name in it.
func (l *indexLock) take(ctx context.Context) error {
	name := l.nameFile()
	if err := os.WriteFile(name, []byte(l.content()), 0o600); err != nil {
		return errors.Wrap(err, "lock the index")
	}
	defer os.Remove(name)
	atStep("lock named")
	for deadline := time.Now().Add(lockPatience); ; {
		err := os.Link(name, l.lockFile())
		if err != nil && !os.IsExist(err) {
			err = l.create() // a file system without hard links
		}
		if err == nil || l.held() {
			return nil
		}
		if !os.IsExist(err) {
			return errors.Wrap(err, "lock the index")
		}
		if time.Now().After(deadline) {
			return &Refusal{
				Message: "another git command holds the index",
				Fix:     "wait for it to end, or, if no git command is running, remove " + l.lockFile(),
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// create makes the lock file in two steps.
func (l *indexLock) create() error {
	f, err := os.OpenFile(l.lockFile(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(l.content())
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// held tells whether the lock stands and is this run's.
func (l *indexLock) held() bool {
	data, err := os.ReadFile(l.lockFile())
	return err == nil && strings.TrimSpace(string(data)) == l.content()
}

// release removes what the run left beside the index, and its lock; never
// somebody else's.
func (l *indexLock) release() {
	for _, file := range []string{l.copyFile(), l.treeFile()} {
		os.Remove(file)
		os.Remove(file + ".lock") // of a git command of ours that was killed
	}
	os.Remove(l.nameFile())
	os.Remove(l.messageFile())
	if l.held() {
		os.Remove(l.lockFile())
	}
}

// copyIndex copies the user's index to where git will write the next one.
func (l *indexLock) copyIndex() error {
	_, _, err := copyIndex(l.index, l.copyFile())
	return err
}

// copyIndex copies an index with its mode and mtime and returns its bytes and
// mtime, nil if nothing was ever staged. Git looks at the content of every
// file whose mtime is not older than the index (a "racily clean" entry), and a
// younger index would hide an edit of the same second and size.
func copyIndex(from, to string) ([]byte, time.Time, error) {
	f, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, time.Time{}, nil
	}
	if err != nil {
		return nil, time.Time{}, errors.Wrap(err, "copy the index")
	}
	defer f.Close()
	info, err := f.Stat() // of the file we read, even if git replaces it now
	if err != nil {
		return nil, time.Time{}, errors.Wrap(err, "copy the index")
	}
	var read bytes.Buffer
	read.Grow(int(info.Size()) + bytes.MinRead) // once: it may be many megabytes
	_, err = read.ReadFrom(f)
	data := read.Bytes()
	if err == nil {
		err = os.WriteFile(to, data, info.Mode().Perm())
	}
	if err == nil {
		err = os.Chtimes(to, info.ModTime(), info.ModTime())
	}
	return data, info.ModTime(), errors.Wrap(err, "copy the index")
}

// writeCopy makes the copy from an index that git wrote for a snapshot. Git may
// have left out the checksum at its end (see unhashed): the user's other tools
// want it.
func (l *indexLock) writeCopy(image *indexImage, hashLen int) error {
	info, err := os.Stat(l.index)
	if err != nil {
		return errors.Wrap(err, "write the index")
	}
	data := image.data
	body := data[:len(data)-hashLen]
	if hashLen == sha256.Size {
		sum := sha256.Sum256(body)
		copy(data[len(body):], sum[:])
	} else {
		sum := sha1.Sum(body)
		copy(data[len(body):], sum[:])
	}
	if err := os.WriteFile(l.copyFile(), data, info.Mode().Perm()); err != nil {
		return errors.Wrap(err, "write the index")
	}
	return errors.Wrap(os.Chtimes(l.copyFile(), image.mtime, image.mtime), "write the index")
}

// install puts the copy in the place of the user's index.
func (l *indexLock) install() error {
	var err error
	for range 20 { // Windows: a reader keeps the file from being replaced
		if err = os.Rename(l.copyFile(), l.index); err == nil || os.IsNotExist(err) {
			break
		}
		time.Sleep(25 * time.Millisecond)
	}
	return errors.Wrap(err, "replace the index")
}

// editCopy applies changes to the copy: entries, then the bits that git drops
// with an entry.
func (r *Repo) editCopy(ctx context.Context, l *indexLock, changes map[string]indexChange, hashLike string) error {
	env := []string{"GIT_INDEX_FILE=" + l.copyFile()}
	if len(changes) > 0 {
		if _, err := r.git(ctx, call{env: env, stdin: indexInfo(indexTargets(changes), hashLike)}, "update-index", "-z", "--index-info"); err != nil {
			return err
		}
	}
	return nil
}

// finishCopy gives the changed entries of the copy their stat data (else the
// next `git diff-files` takes them for modified) and their bits back.
func (r *Repo) finishCopy(ctx context.Context, l *indexLock, changes map[string]indexChange) error {
	env := []string{"GIT_INDEX_FILE=" + l.copyFile()}
	var present, assume, skip []string
	for path, change := range changes {
		if change.New.Absent() {
			continue
		}
		if !change.Skip {
			present = append(present, path)
		}
		if change.Assume {
			assume = append(assume, path)
		}
		if change.Skip {
			skip = append(skip, path)
		}
	}
	if len(present) > 0 {
		sort.Strings(present)
		// Best effort: without stat data the next `git status` reads the files.
		_, err := r.git(ctx, call{env: env, stdin: joinNUL(present)}, "add", "--refresh", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul")
		var failed *Error
		if err != nil && !errors.As(err, &failed) {
			return err
		}
	}
	for _, bit := range []struct {
		flag  string
		paths []string
	}{{"--assume-unchanged", assume}, {"--skip-worktree", skip}} {
		if len(bit.paths) > 0 {
			if _, err := r.git(ctx, call{env: env, stdin: joinNUL(bit.paths)}, "update-index", "-z", bit.flag, "--stdin"); err != nil {
				return err
			}
		}
	}
	return nil
}
