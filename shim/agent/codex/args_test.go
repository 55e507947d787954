package codex

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/prompt"
)

func TestCommand(t *testing.T) {
	base := agent.Spec{Bin: "/opt/codex", Repo: "/repo", RunDir: "/run/r1", System: "SYS", Prompt: "make it green", MaxTurns: 40, MCP: "project", UseSkills: true}
	head := []string{"exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", "-C", "/repo", "-c", "analytics.enabled=false", "-c", `developer_instructions="SYS"`}
	image := func(path string) agent.Image { return agent.Image{Path: path, MIME: "image/png", Data: []byte("x")} }
	tests := []struct {
		name string
		with func(*agent.Spec)
		tail []string
	}{
		{"plain", func(*agent.Spec) {}, []string{"-"}},
		{"model and effort", func(s *agent.Spec) { s.Model, s.Effort = "gpt-6.2-sol", "xhigh" }, []string{"-m", "gpt-6.2-sol", "-c", `model_reasoning_effort="xhigh"`, "-"}},
		{"default effort adds no override", func(s *agent.Spec) { s.Effort = "default" }, []string{"-"}},
		{"images", func(s *agent.Spec) {
			s.Images = []agent.Image{image("/run/r1/shot-1.png"), image("/run/r1/shot 2.png")}
		}, []string{"--image=/run/r1/shot-1.png", "--image=/run/r1/shot 2.png", "-"}},
		{"a path that codex would split", func(s *agent.Spec) { s.Images = []agent.Image{image("/a,b/shot-1.png")} }, []string{"-"}},
		{"resume", func(s *agent.Spec) {
			s.Resume, s.Images = strings.ToUpper(testSession), []agent.Image{image("/s.png")}
		}, []string{"--image=/s.png", "resume", testSession, "-"}},
		{"resume with the session's model", func(s *agent.Spec) { s.Resume, s.Session.Model = testSession, "gpt-5.5" }, []string{"-m", "gpt-5.5", "resume", testSession, "-"}},
		{"resume with another model", func(s *agent.Spec) { s.Resume, s.Session.Model, s.Model = testSession, "gpt-5.5", "o3" }, []string{"-m", "o3", "resume", testSession, "-"}},
		{"what could be a flag", func(s *agent.Spec) {
			s.Resume, s.Session.Model, s.Model, s.Effort = "--last", "-x", "-m", `low" -c x="`
		}, []string{"-"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := base
			tt.with(&s)
			inv := New(Options{}).Command(s)
			if want := slices.Concat(head, tt.tail); !slices.Equal(inv.Args, want) {
				t.Errorf("got  %q\nwant %q", inv.Args, want)
			}
			if inv.Bin != "/opt/codex" || inv.Dir != "/repo" || inv.Env != nil || inv.Files != nil {
				t.Errorf("%+v", inv)
			}
		})
	}
	if env := New(Options{Home: "/h"}).Command(base).Env; !slices.Equal(env, []string{"CODEX_HOME=/h"}) {
		t.Errorf("Env %q", env)
	}
}

// The real 0.171.0 was given the first of these and sent its model exactly the
// text that went in.
func TestTOMLString(t *testing.T) {
	for in, want := range map[string]string{
		"a \"q\" 'sq' \\ back \n\r\n\ttab \u2028 \u0085 \x7f \x1b[31m \x00 😀 \ufeff \u202e = # ''' \"\"\" end  ": `"a \"q\" 'sq' \\ back \u000A\u000D\u000A\u0009tab ` + "\u2028 \u0085" + ` \u007F \u001B[31m \u0000 😀 ` + "\ufeff \u202e" + ` = # ''' \"\"\" end  "`,
		"":        `""`,
		"a\xffb":  "\"a\ufffdb\"",
		"\\u0041": `"\\u0041"`,
	} {
		if got := tomlString(in); got != want {
			t.Errorf("%q:\n got %s\nwant %s", in, got, want)
		}
	}
}

// FuzzTOMLString: no text breaks out of its quotes, and each comes back.
func FuzzTOMLString(f *testing.F) {
	for _, s := range []string{"", `"`, `\`, `\"`, "a\nb", "\x7f", "\u2028", `" -c x="y`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		// Basic strings escape as JSON strings do, as far as we use it.
		var back string
		if err := json.Unmarshal([]byte(tomlString(s)), &back); err != nil || back != strings.ToValidUTF8(s, "\ufffd") && !strings.Contains(back, "\ufffd") {
			t.Errorf("%q came back as %q, %v", s, back, err)
		}
		if strings.ContainsFunc(tomlString(s), func(r rune) bool { return r < 0x20 || r == 0x7f }) {
			t.Errorf("%q has control characters", tomlString(s))
		}
	})
}

// What a request may name as a model reaches the command line as it is
// written; what it may not is left out.
func TestEveryModelOfARequestReachesTheCommandLine(t *testing.T) {
	names := []string{"a+b", "@cf/meta", "gpt-6.2-sol", "openai/gpt-oss:20b", "-m", "--model", strings.Repeat("a", 200), strings.Repeat("a", 201)}
	for c := rune(1); c < 0x100; c++ {
		names = append(names, string(c)+"x", "x"+string(c))
	}
	for _, name := range names {
		body, err := json.Marshal(map[string]string{"prompt": "make it green", "model": name})
		if err != nil {
			t.Fatal(err)
		}
		_, err = prompt.Decode(body)
		args := New(Options{}).Command(agent.Spec{Model: name}).Args
		i := slices.Index(args, "-m")
		if passed := i >= 0 && args[i+1] == name; passed != (err == nil) {
			t.Errorf("%q: on the command line %v, but the request's error is %v", name, passed, err)
		}
	}
}

func TestRefuse(t *testing.T) {
	tests := []struct {
		name string
		spec agent.Spec
		code string // "" = taken
		says string
	}{
		{"an ordinary prompt", agent.Spec{Prompt: "make it green", MCP: "project"}, "", ""},
		{"odd characters", agent.Spec{Prompt: "/x \x00 \r\n \u202e \ufeff \ufffd"}, "", ""},
		{"no MCP servers", agent.Spec{Prompt: "x", MCP: "none"}, event.CodeUnsupported, "MCP"},
		{"not UTF-8", agent.Spec{Prompt: "a\xffb"}, event.CodeBadRequest, "UTF-8"},
		{"the longest", agent.Spec{Prompt: strings.Repeat("é", 999_999)}, "", ""},
		{"one more", agent.Spec{Prompt: strings.Repeat("é", 1_000_000)}, event.CodePromptTooLong, "1000001 characters"},
		{"the longest instructions", agent.Spec{System: strings.Repeat("x", maxArgument-1-len(`developer_instructions=""`))}, "", ""},
		{"one more byte of instructions", agent.Spec{System: strings.Repeat("x", maxArgument-len(`developer_instructions=""`))}, event.CodePromptTooLong, "system prompt"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := New(Options{}).Refuse(tt.spec)
			if tt.code == "" {
				if e != nil {
					t.Errorf("refused: %+v", e)
				}
				return
			}
			if e == nil || e.Code != tt.code || !strings.Contains(e.Message, tt.says) || e.Fix == "" {
				t.Fatalf("got %+v", e)
			}
			fits(t, e.Message, e.Fix)
		})
	}
}
