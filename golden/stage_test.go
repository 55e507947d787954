package golden

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim"
)

// stage is a throw-away repository, home and shim for one fixture.
type stage struct {
	t       *testing.T
	fixture *fakeagents.Fixture
	root    string // everything is below it
	repo    string
	home    string
	shim    *shim.Shim
	url     string
	stop    func() // ends the shim; called again it does nothing
}

// newStage lays out the fixture's repository as the recorder did: all that is
// not ignored is committed; no files at all is an unborn branch.
func newStage(t *testing.T, f *fakeagents.Fixture) *stage {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, fixture: f, root: root, repo: filepath.Join(root, "repo"), home: filepath.Join(root, "home")}
	for _, dir := range []string{s.repo, s.home, filepath.Join(root, "tmp")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.WriteRepo(s.repo); err != nil {
		t.Fatal(err)
	}
	s.git("init", "-q", "-b", "main")
	if len(f.Repo) > 0 {
		s.git("add", "-A")
		s.git("-c", "user.name=Sample", "-c", "user.email=sample@example.invalid", "commit", "-q", "-m", "sample")
	}
	return s
}

func (s *stage) git(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = s.repo, s.environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// environ is what shim and agent see: nothing of the developer's own.
func (s *stage) environ(extra ...string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "TMPDIR=" + filepath.Join(s.root, "tmp"), "LANG=C.UTF-8", "TERM=dumb",
		"XDG_STATE_HOME=" + filepath.Join(s.root, "state"),
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
	}
	return append(env, extra...)
}

// flag is the value of a flag in the fixture's command line.
func flag(f *fakeagents.Fixture, name string) string {
	for i, arg := range f.Argv {
		if arg == name && i+1 < len(f.Argv) {
			return f.Argv[i+1]
		}
	}
	return ""
}

// request is the body of POST /design that makes the shim say to the agent
// what the recorder said.
func request(t *testing.T, f *fakeagents.Fixture, session string) map[string]any {
	t.Helper()
	body := map[string]any{"prompt": strings.TrimPrefix(f.Prompt(), "\n"), "detach": true}
	for key, name := range map[string]string{"model": "--model", "effort": "--effort"} {
		if v := flag(f, name); v != "" {
			body[key] = v
		}
	}
	if flag(f, "--resume") != "" {
		body["resume"] = session
	}
	var elements []any
	for _, in := range f.Stdin {
		var msg struct {
			Message struct {
				Content []struct {
					Type   string
					Source struct {
						MediaType string `json:"media_type"`
						Data      string
					}
				}
			}
		}
		if json.Unmarshal(in.Line, &msg) != nil {
			continue
		}
		for _, block := range msg.Message.Content {
			if block.Type == "image" {
				if _, err := base64.StdEncoding.DecodeString(block.Source.Data); err != nil {
					t.Fatalf("the fixture's image: %v", err)
				}
				url := "data:" + block.Source.MediaType + ";base64," + block.Source.Data
				elements = append(elements, map[string]any{"pasted": true, "screenshotDataUrl": url})
			}
		}
	}
	if elements != nil {
		body["elements"] = elements
	}
	return body
}

// start serves the stage's repository on a free port.
func (s *stage) start(cfg shim.Config) {
	s.t.Helper()
	cfg.Repo = s.repo
	if n, err := strconv.Atoi(flag(s.fixture, "--max-turns")); err == nil {
		cfg.MaxTurns = n
	}
	ctx, cancel := context.WithCancel(context.Background())
	sh, err := shim.New(ctx, cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	addr, err := sh.Listen()
	if err != nil {
		s.t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- sh.Serve(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			s.t.Errorf("serve: %v", err)
		}
	})
	s.t.Cleanup(s.stop)
	s.shim, s.url = sh, "http://"+addr
}

// do sends one request with the token.
func (s *stage) do(method, path string, body any) *http.Response {
	s.t.Helper()
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, s.url+path, r)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.shim.Token())
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { res.Body.Close() })
	return res
}

// design posts a run and returns its whole stream. A fixture whose recorder
// interrupted the agent is stopped at the same place: at its first output.
func (s *stage) design(body map[string]any) string {
	s.t.Helper()
	res := s.do("POST", "/design", body)
	if res.StatusCode != 200 {
		b, _ := io.ReadAll(res.Body)
		s.t.Fatalf("POST /design: %s: %s", res.Status, b)
	}
	var stream bytes.Buffer
	stopAt := interruption(s.fixture)
	buf := make([]byte, 64<<10)
	for {
		n, err := res.Body.Read(buf)
		stream.Write(buf[:n])
		if stopAt != "" && strings.Contains(stream.String(), stopAt) {
			stopAt = ""
			s.do("POST", "/runs/"+runID(s.t, stream.String())+"/stop", map[string]any{})
		}
		if err == io.EOF {
			return stream.String()
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

// interruption is what in the stream the recorder's interrupt followed; "" when
// it let the agent work.
func interruption(f *fakeagents.Fixture) string {
	for _, in := range f.Stdin {
		if bytes.Contains(in.Line, []byte(`"subtype":"interrupt"`)) {
			if strings.Contains(f.Case(), "bash") {
				return `"type":"tool","tool":"Bash"`
			}
			return `"type":"delta"`
		}
	}
	return ""
}

func runID(t *testing.T, stream string) string {
	t.Helper()
	_, rest, ok := strings.Cut(stream, `"runId":"`)
	id, _, ok2 := strings.Cut(rest, `"`)
	if !ok || !ok2 {
		t.Fatalf("no run id in %.300s", stream)
	}
	return id
}

// dirs are the paths of this stage for Normalise.
func (s *stage) dirs() [][2]string {
	return [][2]string{{fakeagents.ProjectFolder(s.repo), "{{REPO_ENC}}"}, {s.repo, "{{REPO}}"}, {s.home, "{{HOME}}"}, {s.root, "{{ROOT}}"}}
}
