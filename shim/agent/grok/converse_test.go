package grok

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/slidewrite/slidewrite/shim/agent"
)

func TestConversation(t *testing.T) {
	c := New(Options{}).Converse(agent.Spec{Repo: testRepo, Prompt: "x"})
	if got := c.Open(); !reflect.DeepEqual(got, agent.Step{Close: true}) {
		t.Errorf("Open: %+v; its input is closed at once", got)
	}
	if got := c.Prompt(); !reflect.DeepEqual(got, agent.Step{}) {
		t.Errorf("Prompt: %+v; it has its prompt from a file", got)
	}
	if _, ok := c.Interrupt(); ok {
		t.Error("there is no request to interrupt grok")
	}
	if c.PromptAfter() != 0 || c.CloseAfterResult() != 0 || c.Linger() != 0 {
		t.Error("there is nothing to wait for")
	}
}

func TestLines(t *testing.T) {
	tests := []struct {
		name, line string
		want       agent.Step
	}{
		{"result", `{"type":"result","subtype":"success"}`, agent.Step{Result: true, Close: true}},
		{"result with its keys in another order", `{"is_error":true,"type":"result"}`, agent.Step{Result: true, Close: true}},
		{"init", `{"type":"system","subtype":"init","cwd":"/repo"}`, agent.Step{}},
		{"init below", `{"type":"system","subtype":"init","cwd":"/repo/app/"}`, agent.Step{}},
		{"init without a session", `{"type":"system","subtype":"init","cwd":""}`, agent.Step{}},
		{"init elsewhere", `{"type":"system","subtype":"init","cwd":"/elsewhere"}`, agent.Step{Abort: true}},
		{"init beside", `{"type":"system","subtype":"init","cwd":"/repo2"}`, agent.Step{Abort: true}},
		{"init above", `{"type":"system","subtype":"init","cwd":"/"}`, agent.Step{Abort: true}},
		{"another line with a cwd", `{"type":"system","subtype":"other","cwd":"/elsewhere"}`, agent.Step{}},
		{"text that speaks of a result", `{"type":"assistant","message":{"type":"result"}}`, agent.Step{}},
		{"not JSON", `result`, agent.Step{}},
	}
	for _, tt := range tests {
		c := New(Options{}).Converse(agent.Spec{Repo: testRepo})
		if got := c.Line([]byte(tt.line)); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// A session of another folder of the same repository was accepted by the run.
func TestSessionOfTheRepositoryIsNotElsewhere(t *testing.T) {
	in := []byte(`{"type":"system","subtype":"init","cwd":"/top"}`)
	c := New(Options{}).Converse(agent.Spec{Repo: "/top/app", Session: agent.Session{Folder: "/top"}})
	if got := c.Line(in); got.Abort {
		t.Error("the folder that the session was found in is taken for another")
	}
	if got := New(Options{}).Converse(agent.Spec{Repo: "/top/app"}).Line(in); !got.Abort {
		t.Error("a folder nobody knows of is taken for the run's")
	}
}

func TestPlacesAreComparedByRealPath(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip("no symbolic links here")
	}
	other := t.TempDir()
	for _, tt := range []struct {
		repo, cwd string
		want      bool
	}{{dir, link, false}, {link, dir, false}, {link, other, true}, {dir, other, true}} {
		if got := elsewhere(tt.repo, agent.Session{}, tt.cwd); got != tt.want {
			t.Errorf("%s in %s: elsewhere %v, want %v", tt.cwd, tt.repo, got, tt.want)
		}
	}
}
