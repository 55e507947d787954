package fakeagents

import (
	"embed"
	"io/fs"
	"path"
	"sort"
	"strings"

	"github.com/cockroachdb/errors"
)

//go:embed fixtures/claude/real/2.1.332/demo.txtar
//go:embed fixtures/claude/real/2.1.332/initialize.txtar
//go:embed fixtures/claude/made/2.1.332/auth-status-plan.txtar
var demoFiles embed.FS

// DemoCase is the name of the fixture that "slidewrite demo" plays.
const DemoCase = "claude/real/2.1.332/demo"

// Demo is the corpus of the product binary: DemoCase, and what the fake
// answers when it is asked for models and sign-in.
func Demo() Corpus {
	sub, err := fs.Sub(demoFiles, "fixtures")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return NewCorpus(sub)
}

// Corpus is a set of fixtures in folders <agent>/<provenance>/<version>.
type Corpus struct{ trees []fs.FS }

// NewCorpus returns the fixtures of all trees together.
func NewCorpus(trees ...fs.FS) Corpus { return Corpus{trees} }

// With returns the fixtures of both.
func (c Corpus) With(other Corpus) Corpus {
	return Corpus{append(append([]fs.FS{}, c.trees...), other.trees...)}
}

// Load reads one fixture by its name.
func (c Corpus) Load(name string) (*Fixture, error) {
	for _, tree := range c.trees {
		data, err := fs.ReadFile(tree, name+".txtar")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, errors.Wrapf(err, "fixture %s", name)
		}
		return Parse(name, data)
	}
	return nil, errors.Newf("no fixture %q", name)
}

// Names lists all fixtures, sorted. A folder without one, and a file that is
// not one, are errors: a runner that walks nothing proves nothing.
func (c Corpus) Names() ([]string, error) {
	var names []string
	for _, tree := range c.trees {
		found, err := namesIn(tree)
		if err != nil {
			return nil, err
		}
		names = append(names, found...)
	}
	sort.Strings(names)
	return names, nil
}

func namesIn(tree fs.FS) ([]string, error) {
	var names []string
	err := fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			entries, err := fs.ReadDir(tree, p)
			if err == nil && len(entries) == 0 {
				err = errors.Newf("fixtures: folder %s is empty", p)
			}
			return err
		}
		name, ok := strings.CutSuffix(p, ".txtar")
		if !ok {
			if path.Dir(p) == "." && strings.HasSuffix(p, ".go") {
				return nil // the package that embeds the tree
			}
			return errors.Newf("fixtures: %s is not a .txtar", p)
		}
		names = append(names, name)
		return nil
	})
	if err == nil && len(names) == 0 {
		err = errors.New("fixtures: there are none")
	}
	return names, err
}

// All loads every fixture for which keep is true; nil keeps all.
func (c Corpus) All(keep func(name string) bool) ([]*Fixture, error) {
	names, err := c.Names()
	if err != nil {
		return nil, err
	}
	var all []*Fixture
	for _, name := range names {
		if keep != nil && !keep(name) {
			continue
		}
		f, err := c.Load(name)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}
