package codex

import (
	"reflect"
	"testing"
	"time"

	"github.com/slidewrite/slidewrite/shim/agent"
)

func TestConversation(t *testing.T) {
	// The real 0.171.0 was given this text and sent its model exactly it.
	const text = "/slash @x \x00nul \r\nCRLF \r lone \ufeffbom \u2028 \u202e \x1b \U0001F600 e\u0301 \u0085  \n\n"
	c := New(Options{}).Converse(agent.Spec{Prompt: text})
	if got := c.Open(); !reflect.DeepEqual(got, agent.Step{}) {
		t.Errorf("Open = %+v", got)
	}
	if got := c.Prompt(); len(got.Write) != 1 || string(got.Write[0]) != "\n"+text || !got.Close || got.Result {
		t.Errorf("Prompt = %+v", got)
	}
	if got := c.Prompt(); !reflect.DeepEqual(got, agent.Step{}) {
		t.Errorf("a second Prompt = %+v", got)
	}
	if step, ok := c.Interrupt(); ok || !reflect.DeepEqual(step, agent.Step{}) {
		t.Errorf("Interrupt = %+v, %v: there is no such request", step, ok)
	}
	end := agent.Step{Result: true, Close: true}
	for _, tt := range []struct {
		line string
		want agent.Step
	}{
		{`{"type":"turn.completed","usage":{}}`, end},
		{`{"usage":{},"type":"turn.completed"}`, end},
		{`{"type":"turn.failed","error":{"message":"x"}}`, end},
		{`{"id":"1","msg":{"type":"task_complete"}}`, end},
		{`{"type":"item.completed","item":{"type":"agent_message","text":"turn.completed"}}`, agent.Step{}},
		{`{"type":"error","message":"Reconnecting... 1/5"}`, agent.Step{}},
		{`{"type":"turn.started"}`, agent.Step{}},
		{`turn.completed`, agent.Step{}},
	} {
		if got := c.Line([]byte(tt.line)); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v", tt.line, got)
		}
	}
	if c.PromptAfter() != 0 || c.CloseAfterResult() != 0 || c.Linger() != time.Second {
		t.Error("waits")
	}
}

// Before the prompt, empty input ends codex; the prompt must not come after.
func TestInterruptBeforeThePrompt(t *testing.T) {
	c := New(Options{}).Converse(agent.Spec{Prompt: "x"})
	if step, ok := c.Interrupt(); !ok || !step.Close || len(step.Write) != 0 {
		t.Errorf("Interrupt = %+v, %v", step, ok)
	}
	if got := c.Prompt(); !reflect.DeepEqual(got, agent.Step{}) {
		t.Errorf("Prompt = %+v", got)
	}
}

// Every captured run ends its turn where the mapper sees an end.
func TestEveryResultIsSeen(t *testing.T) {
	for _, f := range loadFixtures(t, "captured") {
		c, m := New(Options{}).Converse(agent.Spec{}), newMapper(options(f))
		seen := false
		for _, line := range f.Lines() {
			_, _ = m.Map(line)
			seen = c.Line(line).Result || seen
		}
		if seen != m.ended {
			t.Errorf("%s: seen %v, mapped %v", f.Name, seen, m.ended)
		}
	}
}
