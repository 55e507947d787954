package gitrepo

import "context"

// LimitToEdits keeps, of a change during which somebody other than the agent
// moved HEAD (a checkout by the user, a pull), only the paths that edit tools
// named: the rest is most likely what HEAD brought along. It tells whether it
// did; Commit will refuse such a change.
func (r *Repo) LimitToEdits(ctx context.Context, c *Change, tools ToolLog) (bool, error) {
	if c.Before.Head == c.After.Head {
		return false, nil
	}
	_, _, refused, err := r.headMoved(ctx, c, tools, c.After.Head)
	if err != nil || refused == nil {
		return false, err
	}
	var kept []File
	for _, f := range c.Files {
		if names(tools.Edited, f.Path) {
			kept = append(kept, f)
		}
	}
	c.Files = kept
	return true, nil
}
