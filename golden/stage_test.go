package golden

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/shim"
	"github.com/slidewrite/slidewrite/shim/shimtest"
)

// stage is a throw-away repository and shim for one fixture.
type stage struct {
	*shimtest.Stage
	fixture *fakeagents.Fixture

	// Of a shim that is a process of its own.
	pid  int
	kill func() // ends it without a word, as a power cut does
}

// newStage lays out the fixture's repository as the recorder did.
func newStage(t *testing.T, f *fakeagents.Fixture) *stage {
	t.Helper()
	s := &stage{Stage: shimtest.New(t), fixture: f}
	if err := f.WriteRepo(s.Repo); err != nil {
		t.Fatal(err)
	}
	s.Commit()
	return s
}

// start serves the repository with what the fixture's command line asks for.
func (s *stage) start(cfg shim.Config) {
	s.T.Helper()
	if n, err := strconv.Atoi(flag(s.fixture, "--max-turns")); err == nil {
		cfg.MaxTurns = n
	}
	s.Start(cfg)
}

// dirs are the paths of this stage for Normalise.
func (s *stage) dirs() [][2]string {
	return [][2]string{{fakeagents.ProjectFolder(s.Repo), "{{REPO_ENC}}"}, {s.Repo, "{{REPO}}"}, {s.Home, "{{HOME}}"}, {s.Root, "{{ROOT}}"}}
}

// design posts a run and returns its whole stream as it was sent. A fixture
// whose recorder interrupted the agent is stopped at the same place.
func (s *stage) design(body map[string]any) string {
	s.T.Helper()
	res := s.Do(s.Request(context.Background(), "POST", "/design", body))
	if res.StatusCode != 200 {
		b, _ := io.ReadAll(res.Body)
		s.T.Fatalf("POST /design: %s: %s", res.Status, b)
	}
	var stream bytes.Buffer
	stopAt := interruption(s.fixture)
	buf := make([]byte, 64<<10)
	for {
		n, err := res.Body.Read(buf)
		stream.Write(buf[:n])
		if stopAt != "" && strings.Contains(stream.String(), stopAt) {
			stopAt = ""
			id := between(s.T, stream.String(), `"runId":"`, `"`)
			s.JSON("POST", "/runs/"+id+"/stop", map[string]any{}, nil)
		}
		if err == io.EOF {
			return stream.String()
		}
		if err != nil {
			s.T.Fatal(err)
		}
	}
}

func between(t testing.TB, s, left, right string) string {
	t.Helper()
	_, rest, ok := strings.Cut(s, left)
	found, _, ok2 := strings.Cut(rest, right)
	if !ok || !ok2 {
		t.Fatalf("no %s in %.300s", left, s)
	}
	return found
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

// A session that nobody has, and the case that is played after the agent said
// so and was started anew.
const (
	lostSession = "1057f11d-0000-4000-8000-000000000001"
	afterLost   = "text"
)

// lost tells whether the fixture resumes a session that does not exist.
func lost(f *fakeagents.Fixture) bool { return flag(f, "--resume") != "" && len(f.Before) == 0 }

// request is the body of POST /design that makes the shim say to the agent
// what the recorder said.
func request(t *testing.T, f *fakeagents.Fixture, session string) map[string]any {
	t.Helper()
	body := map[string]any{"prompt": strings.TrimPrefix(f.Prompt(), "\n"), "detach": true}
	if f.Prompt() == "" { // the agent refused to begin
		body["prompt"] = "Say hello."
	}
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
