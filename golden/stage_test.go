package golden

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"mime"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/fakeagents"
	"github.com/slidewrite/slidewrite/fakeagents/fixtures"
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
	if n, err := strconv.Atoi(flag(s.fixture, turnsFlag)); err == nil {
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
	stopAt := interruption(s.T, s.fixture)
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

// providers are what a request names, by the agents of fixtures.
var providers = map[string]string{"claude": "anthropic", "codex": "openai", "grok": "grok"}

// played are all fixtures that can be played as runs.
func played(t *testing.T) []*fakeagents.Fixture {
	t.Helper()
	var all []*fakeagents.Fixture
	for agent := range providers {
		runs, err := fixtures.Playable(agent)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, runs...)
	}
	return all
}

// The flags of a command line that a request decides, in every agent's words.
var (
	modelFlag  = []string{"--model", "-m"}
	effortFlag = []string{"--effort", "model_reasoning_effort="}
	resumeFlag = []string{"--resume", "-r", "resume"}
	turnsFlag  = []string{"--max-turns"}
)

// flag is the value of a flag in the fixture's command line, "" without one.
// A name that ends in = is a setting of codex's -c, whose value is quoted.
func flag(f *fakeagents.Fixture, names []string) string {
	for i, arg := range f.Argv {
		for _, name := range names {
			if value, ok := strings.CutPrefix(arg, name); ok && strings.HasSuffix(name, "=") {
				return strings.Trim(value, `"`)
			}
		}
		if slices.Contains(names, arg) && i+1 < len(f.Argv) {
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
func lost(f *fakeagents.Fixture) bool {
	return flag(f, resumeFlag) != "" && len(f.Before) == 0 && f.Exit > 0
}

// request is the body of POST /design that makes the shim say to the agent
// what the recorder said.
func request(t *testing.T, f *fakeagents.Fixture, session string) map[string]any {
	t.Helper()
	body := map[string]any{"provider": providers[f.Agent()], "prompt": strings.TrimPrefix(f.Prompt(), "\n"), "detach": true}
	if f.Prompt() == "" { // the agent refused to begin
		body["prompt"] = "Say hello."
	}
	for key, names := range map[string][]string{"model": modelFlag, "effort": effortFlag} {
		if v := flag(f, names); v != "" {
			body[key] = v
		}
	}
	if flag(f, resumeFlag) != "" {
		body["resume"] = session
	}
	var elements []any
	for _, url := range append(blockImages(t, f), fileImages(t, f)...) {
		elements = append(elements, map[string]any{"pasted": true, "screenshotDataUrl": url})
	}
	if elements != nil {
		body["elements"] = elements
	}
	return body
}

// blockImages are the pictures in the messages that went in, as data URLs.
func blockImages(t *testing.T, f *fakeagents.Fixture) (urls []string) {
	t.Helper()
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
				urls = append(urls, "data:"+block.Source.MediaType+";base64,"+block.Source.Data)
			}
		}
	}
	return urls
}

// fileImages are the pictures that the command line names, as data URLs.
func fileImages(t *testing.T, f *fakeagents.Fixture) (urls []string) {
	t.Helper()
	for _, arg := range f.Argv {
		name, ok := strings.CutPrefix(arg, "--image={{REPO}}/")
		if !ok {
			continue
		}
		i := slices.IndexFunc(f.Repo, func(file fakeagents.File) bool { return file.Path == name })
		if i < 0 {
			t.Fatalf("the fixture's repository has no %s", name)
		}
		urls = append(urls, "data:"+mime.TypeByExtension(path.Ext(name))+";base64,"+base64.StdEncoding.EncodeToString(f.Repo[i].Data))
	}
	return urls
}

// interruptions are what in the stream the recorder's interrupt followed, by
// agent and case. Of an answer codex shows nothing before its end.
var interruptions = map[string]string{
	"claude/interrupt-bash":  `"type":"tool","tool":"Bash"`,
	"claude/interrupt-text":  `"type":"delta"`,
	"codex/interrupt-bash":   `"type":"tool","tool":"shell"`,
	"codex/interrupt-text":   `"type":"start"`,
	"grok/interrupt-command": `"type":"tool","tool":"run_terminal_command"`,
}

// interruption is where in the stream the run is stopped; "" when the recorder
// let the agent work.
func interruption(t testing.TB, f *fakeagents.Fixture) string {
	t.Helper()
	if !f.Interrupted() {
		return ""
	}
	at := interruptions[f.Agent()+"/"+f.Case()]
	if at == "" {
		t.Fatalf("%s was interrupted, and nothing says where", f.Name)
	}
	return at
}
