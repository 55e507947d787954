package gitrepo

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/errors"
)

// oldSlack is how much older than the run's first snapshot a file's mtime must
// be for its content to be none of the run's, where the file system keeps no
// fractions of a second (FAT: two seconds).
const oldSlack = 2 * time.Second

// MarkLater marks as the user's every file of the change that was last touched
// (the later of mtime and ctime; mtime alone where there is no ctime) after a
// moment, and says so in one note; of a file that is gone its folder tells. It is for a run whose second snapshot was
// taken long after its end, because our process had died: what was edited in
// between is none of the run's. No git process.
func (r *Repo) MarkLater(c *Change, at time.Time) {
	var later []string
	for i := range c.Files {
		f := &c.Files[i]
		info, err := os.Lstat(r.file(f.Path))
		if errors.Is(err, os.ErrNotExist) {
			info, err = os.Lstat(filepath.Dir(r.file(f.Path)))
		}
		if err != nil || f.Yours {
			continue
		}
		if touched, _ := lastTouched(info); touched.After(at) {
			f.Yours = true
			later = append(later, f.Path)
		}
	}
	if len(later) > 0 {
		c.Notes = append(c.Notes, Note{Code: "after_crash", Message: "edited after the run had ended: " + nameSome(later) + "; left alone"})
	}
}

// MarkMoved marks the new files of a change whose content the run did not
// write: it moved them there, or copied them with their times (mtime older than
// the run). What HEAD has is committed work and stays the run's. What else the
// first snapshot has is uncommitted work of the user: Held. What neither has
// came from outside of git (an ignored file, another folder) and is the user's:
// Yours, for undo could bring it back nowhere.
//
// Costs no git process where no new file is old, else two (ls-tree of both
// trees, side by side).
func (r *Repo) MarkMoved(ctx context.Context, c *Change) error {
	old := r.oldFiles(c)
	if len(old) == 0 {
		return nil
	}
	var head, before map[string]bool
	err := together(
		func() (err error) { head, err = r.blobs(ctx, c.Before.Head.treeish(c.Before.Tree)); return },
		func() (err error) { before, err = r.blobs(ctx, c.Before.Tree); return },
	)
	if err != nil {
		return err
	}
	var foreign []string
	for _, f := range old {
		switch {
		case head[f.New.OID]:
		case before[f.New.OID]:
			f.Held = true
		default:
			f.Yours = true
			foreign = append(foreign, f.Path)
		}
	}
	if len(foreign) > 0 {
		c.Notes = append(c.Notes, Note{Code: "moved_in",
			Message: nameSome(foreign) + " is older than the run and was not in git: moved or copied there; left alone"})
	}
	return nil
}

// oldFiles are the new regular files of a change whose content is older than
// the run. None where the clock was set back: then every file may look old.
func (r *Repo) oldFiles(c *Change) []*File {
	if clockWentBack(c.Before, c.After) {
		return nil
	}
	var old []*File
	for i := range c.Files {
		f := &c.Files[i]
		if f.Status != "added" || f.Yours || f.Large || !f.New.regular() {
			continue
		}
		if info, err := os.Lstat(r.file(f.Path)); err == nil && info.Mode().IsRegular() && writtenBefore(info.ModTime(), c.Before.Taken) {
			old = append(old, f)
		}
	}
	return old
}

// writtenBefore tells whether a file with this mtime was last written before a
// moment of the file system's own clock.
func writtenBefore(mtime, at time.Time) bool {
	if mtime.Nanosecond() == 0 {
		at = at.Add(-oldSlack)
	}
	return mtime.Before(at)
}

// blobs are the ids of everything in a tree.
func (r *Repo) blobs(ctx context.Context, treeish string) (map[string]bool, error) {
	entries, err := r.lsTree(ctx, treeish)
	ids := make(map[string]bool, len(entries))
	for _, e := range entries {
		ids[e.OID] = true
	}
	return ids, err
}
