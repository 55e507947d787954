package run

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/prompt"
	"github.com/slidewrite/slidewrite/shim/state"
)

// panicky is an agent whose adapter panics at one place. Its process writes
// one line and would go on for long.
type panicky struct{ at, pidFile string }

func (p panicky) Provider() string { return "panicky" }
func (p panicky) Label() string    { return "Panicky" }
func (p panicky) Name() string     { return "sh" }
func (p panicky) Command(s agent.Spec) agent.Invocation {
	return agent.Invocation{Bin: s.Bin, Args: []string{"-c", "echo $$ >" + p.pidFile + "; echo '{}'; exec sleep 600"}, Dir: s.Repo}
}
func (p panicky) Converse(agent.Spec) agent.Conversation          { return p }
func (p panicky) NewMapper(agent.MapOptions) agent.Mapper         { return p }
func (p panicky) Scrub(env []string, _ bool) ([]string, []string) { return env, nil }

func (p panicky) here(place string) {
	if p.at == place {
		panic("at " + place)
	}
}

func (p panicky) Map([]byte) ([]event.Event, error) { p.here("map"); return nil, nil }
func (p panicky) Finish(agent.Exit) []event.Event   { return nil }
func (p panicky) Facts() agent.Facts                { return agent.Facts{} }
func (p panicky) Open() agent.Step                  { p.here("open"); return agent.Step{Ready: true} }
func (p panicky) Line([]byte) agent.Step            { p.here("line"); return agent.Step{} }
func (p panicky) Prompt() agent.Step                { p.here("prompt"); return agent.Step{} }
func (p panicky) Interrupt() (agent.Step, bool)     { return agent.Step{Close: true}, true }
func (p panicky) PromptAfter() time.Duration        { return 0 }
func (p panicky) CloseAfterResult() time.Duration   { return 0 }
func (p panicky) Linger() time.Duration             { return 0 }

// A bug of ours ends the run with a word, exactly one done, and no process.
func TestAPanicEndsTheRunWithAWord(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the agent is a shell script")
	}
	for _, at := range []string{"open", "map", "line", "prompt"} {
		t.Run(at, func(t *testing.T) {
			repo := t.TempDir()
			store, err := state.Open(t.TempDir(), repo)
			if err != nil {
				t.Fatal(err)
			}
			pidFile := filepath.Join(t.TempDir(), "pid")
			m := NewManager(Options{
				Dir: store.Top(), Agents: []agent.Agent{panicky{at, pidFile}}, Store: store, Environ: os.Environ(),
				LookPath: func(string) (string, error) { return "/bin/sh", nil },
				Version:  func(context.Context, string) string { return "" },
			})
			defer m.Close()
			r, err := m.Start(context.Background(), prompt.Request{Prompt: "x"})
			if err != nil {
				t.Fatal(err)
			}
			var types []string
			for f := r.Follow(0); ; {
				frames, err := f.Next(context.Background())
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, frame := range frames {
					e, err := event.Decode(frame.Data)
					if err != nil {
						t.Fatal(err)
					}
					if e, ok := e.(event.Error); ok && (e.Code != event.CodeInternal || !strings.Contains(e.Message, "at "+at)) {
						t.Errorf("error %+v", e)
					}
					types = append(types, e.Type())
				}
			}
			if got := strings.Join(types, " "); got != "note error done" { // the note: no repository
				t.Errorf("events: %s", got)
			}
			<-r.Finished()
			if pid, err := os.ReadFile(pidFile); err == nil {
				// Its exit status may not have been asked for yet.
				stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
				if err == nil && !strings.Contains(string(stat), ") Z ") {
					t.Errorf("the agent is still there: %s", stat)
				}
			}
		})
	}
}
