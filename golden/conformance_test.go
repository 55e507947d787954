package golden

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/fakeagents/fixtures"
	"github.com/slidewrite/slidewrite/fakeagents/record"
	"github.com/slidewrite/slidewrite/fakeagents/scriptmodel"
)

// conformanceVar names the real CLIs to compare with, as
// "claude@2.1.332=/path/to/claude,codex@0.171.0=…". `make conformance` fetches
// them and sets it; without it nothing here runs and nothing is counted as
// skipped: the fixtures themselves are checked by TestGolden.
const conformanceVar = "SLIDEWRITE_CONFORMANCE"

// realCLI is a CLI to compare with.
type realCLI struct {
	agent   string // claude, codex
	version string
	bin     string
}

func (c realCLI) String() string { return c.agent + "@" + c.version }

// TestConformance drives the real CLI with the shim, a scripted model in
// place of the vendor's, and wants the events that the fake's golden has.
func TestConformance(t *testing.T) {
	for _, cli := range realCLIs(t) {
		runs, err := fixtures.Playable(cli.agent)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range runs {
			if f.Provenance() != fakeagents.Real || f.Version() != cli.version {
				continue
			}
			if f.Case() == "root-refused" && os.Geteuid() != 0 { // it would run
				continue
			}
			t.Run(cli.String()+"/"+f.Case(), func(t *testing.T) { conform(t, f, cli) })
		}
	}
}

// realCLIs are the CLIs that conformanceVar names.
func realCLIs(t *testing.T) []realCLI {
	t.Helper()
	var all []realCLI
	for _, one := range strings.FieldsFunc(os.Getenv(conformanceVar), func(r rune) bool { return r == ',' }) {
		name, bin, ok := strings.Cut(one, "=")
		agent, version, ok2 := strings.Cut(name, "@")
		if !ok || !ok2 {
			t.Fatalf("%s: %q is not agent@version=path", conformanceVar, one)
		}
		all = append(all, realCLI{agent, version, bin})
	}
	return all
}

func conform(t *testing.T, f *fakeagents.Fixture, cli realCLI) {
	want, err := os.ReadFile(goldenPath(f))
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scriptmodel.Load(cli.agent, f.Case())
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, f)
	session := ""
	if sc.Before != "" {
		before, err := scriptmodel.Load(cli.agent, sc.Before)
		if err != nil {
			t.Fatal(err)
		}
		s.real(before, cli)
		session = between(t, s.design(map[string]any{"provider": providers[cli.agent], "prompt": before.Prompt}), `"sessionId":"`, `"`)
		s.Git("reset", "-q", "--hard")
		s.Stop()
	}
	if sc.Lost {
		session = lostSession
		if sc, err = scriptmodel.Load(cli.agent, afterLost); err != nil {
			t.Fatal(err)
		}
	}
	s.real(sc, cli)
	got, err := Normalise(s.design(request(t, f, session)), s.dirs()...)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := Comparable(string(want)), Comparable(got); a != b {
		t.Errorf("the real %s differs from its recording:\n%s", cli, diff(t, a, b))
	}
}

// real starts the shim with the real CLI and a model that says sc.
func (s *stage) real(sc *scriptmodel.Scenario, cli realCLI) *scriptmodel.Server {
	s.T.Helper()
	model, err := scriptmodel.Start(sc, scriptmodel.Options{Repo: s.Repo})
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() { model.Close() })
	s.serve(cli, sc, model.URL())
	return model
}

// serve starts the command a user starts, built from this tree, with the real
// CLI, whose model is at url.
func (s *stage) serve(cli realCLI, sc *scriptmodel.Scenario, url string) {
	s.T.Helper()
	env := s.Environ()
	lead, err := record.Lead(cli.agent, s.Home, sc, url)
	if err != nil {
		s.T.Fatal(err)
	}
	for k, v := range lead {
		if v != "" {
			env = append(env, k+"="+v)
		}
	}
	s.Token = "conformance-conformance-conformance"
	args := []string{"serve", "--repo", s.Repo, "--port", "0", "--" + cli.agent + "-bin", cli.bin, "--keep-env"}
	if cli.agent == scriptmodel.Codex {
		args = append(args, "--codex-home", filepath.Join(s.Home, ".codex"))
	}
	if turns := flag(s.fixture, turnsFlag); turns != "" {
		args = append(args, "--max-turns", turns)
	}
	path, err := binary()
	if err != nil {
		s.T.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(env, "SLIDEWRITE_TOKEN="+s.Token)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.T.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.T.Fatal(err)
	}
	s.pid = cmd.Process.Pid
	var once sync.Once
	end := func(sig os.Signal) (err error) {
		once.Do(func() {
			err = cmd.Process.Signal(sig)
			_, _ = io.Copy(io.Discard, out) // to its end, before Wait closes it
			err = errors.CombineErrors(err, cmd.Wait())
		})
		return err
	}
	s.Stop = func() {
		if err := end(os.Interrupt); err != nil {
			s.T.Errorf("slidewrite serve: %v", err)
		}
	}
	s.kill = func() { _ = end(os.Kill) } // what it exits with then says nothing
	s.T.Cleanup(s.Stop)
	r := bufio.NewReader(out)
	for s.URL = ""; s.URL == ""; {
		line, err := r.ReadString('\n')
		if err != nil {
			s.T.Fatalf("slidewrite serve ended before it listened: %v", err)
		}
		if _, rest, ok := strings.Cut(line, "http://"); ok {
			s.URL = "http://" + strings.TrimSpace(rest)
		}
	}
}

// binary builds slidewrite once.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "slidewrite-under-test")
	out, err := exec.Command("go", "build", "-o", path, "../cmd/slidewrite").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

func goldenPath(f *fakeagents.Fixture) string {
	return filepath.Join("testdata", filepath.FromSlash(f.Name)+".golden")
}

// diff is a unified diff of two texts, for a failure message.
func diff(t testing.TB, want, got string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"want": want, "got": got} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(context.Background(), "git", "diff", "--no-index", "--no-color", "want", "got")
	cmd.Dir = dir
	out, _ := cmd.Output() // exit 1 says that they differ
	return string(out)
}
