package golden

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sebdah/goldie/v2"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

func TestMain(m *testing.M) { shimtest.Main(m) }

// TestGolden plays every fixture through the real HTTP handler and compares
// what a client sees, live and in the history, byte for byte but for the list
// in normalise.go. With -short, which the round with the race detector has, it
// plays some.
func TestGolden(t *testing.T) {
	g := goldie.New(t, goldie.WithDiffEngine(goldie.ColoredDiff), goldie.WithNameSuffix(".golden"))
	for i, f := range played(t) {
		if testing.Short() && i%8 != 0 {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			s, stream := play(t, f)
			g.Assert(t, f.Name, []byte(stream))
			checkHistory(t, s)
		})
	}
}

// play answers one request from a fixture and returns its stage, which still
// serves, and the normalised stream.
func play(t *testing.T, f *fakeagents.Fixture) (*stage, string) {
	s := newStage(t, f)
	session, played := "", f.Name
	if lost(f) {
		// The fake does not know the session either; what it is started anew
		// with is another case.
		session, played = lostSession, strings.TrimSuffix(f.Name, f.Case())+afterLost
	}
	if len(f.Before) > 0 {
		session = "5e551011-0000-4000-8000-000000000001"
		if err := f.SeedDisk(filepath.Join(s.Home, "."+f.Agent()), fakeagents.Values{Repo: s.Repo, Session: session, Home: s.Home, Now: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	s.start(shim.Config{Environ: s.Environ(fakeagents.EnvFixture + "=" + played)})
	got, err := Normalise(s.design(request(t, f, session)), s.dirs()...)
	if err != nil {
		t.Fatal(err)
	}
	return s, got
}

// A golden whose fixture is gone would look like a check and be none.
func TestEveryGoldenHasItsFixture(t *testing.T) {
	have := map[string]bool{}
	for _, f := range played(t) {
		have[goldenPath(f)], have[historyPath(f)] = true, true
	}
	err := filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".golden") && !have[path] {
			t.Errorf("%s belongs to no fixture: delete it", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
